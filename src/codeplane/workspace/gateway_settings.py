"""Settings of the gateway: the MCP servers of others behind it, in the words of `.mcp.json`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from codeplane.core.canonical_json import digest
from codeplane.core.redaction import redact
from codeplane.core.settings import names, setting

UpstreamType = Literal["", "stdio", "http", "sse"]


_HIDDEN: Final = "[not shown]"
# A reference says where a secret is; one with a default may say the secret.
_REFERENCE: Final = re.compile(r"\$\{[^}:]*\}|\$\{file:[^}:]*\}")


@dataclass(frozen=True, slots=True, repr=False)
class UpstreamSettings:
    """One MCP server: a program of this machine, or an address.

    Invariant: its text, wherever it is printed, has no value of a variable or a header.
    """

    type: UpstreamType = setting("", doc="stdio, http or sse; empty: stdio with a command, http with a url.")
    command: str = setting("", doc="The program to start.")
    args: tuple[str, ...] = setting((), doc="Its arguments.")
    env: Mapping[str, str] = names(doc="Variables of its environment, beside PATH, HOME and the language.")
    cwd: str = setting("", doc="Where it runs, below the working tree; empty: at its top.")
    url: str = setting("", doc="The address of a server that runs elsewhere.")
    headers: Mapping[str, str] = names(doc="Headers of each request to it.")

    def __post_init__(self) -> None:
        """Refuse an entry that is neither or both."""
        if self.type not in get_args(UpstreamType):
            raise ValueError(f"the type of an upstream is stdio, http or sse, not {self.type!r}")
        if bool(self.command) == bool(self.url):
            raise ValueError("an upstream has either a command or a url")
        if self.kind == "stdio" and not self.command:
            raise ValueError("an upstream of type stdio has a command")
        if self.kind != "stdio" and not self.url.startswith(("http://", "https://", "${")):
            raise ValueError(f"the url of an upstream of type {self.kind} begins with http:// or https://")

    def __repr__(self) -> str:
        """Return what may be shown."""
        return str(self.shown())

    def shown(self) -> dict[str, Any]:
        """Return the form of `.mcp.json` for people: values of variables and headers only where they are references."""
        document = self.as_dict()
        for group in ("env", "headers"):
            for name, value in document.get(group, {}).items():
                document[group][name] = value if _REFERENCE.fullmatch(value) else _HIDDEN
        for name in ("command", "url"):
            if name in document:
                document[name] = redact(document[name])
        return {**document, **({"args": [redact(one) for one in self.args]} if self.args else {})}

    @property
    def kind(self) -> str:
        """Return how it is reached: stdio, http or sse."""
        return self.type or ("stdio" if self.command else "http")

    @property
    def digest(self) -> str:
        """Return a digest of everything here, references unresolved; a person accepts exactly this."""
        return digest(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return it in the form of `.mcp.json`; what is as by default is left out."""
        found = {name: value for name, value in _plain_fields(self).items() if value}
        return {**found, "type": self.kind}


def _plain_fields(settings: UpstreamSettings) -> dict[str, Any]:
    """Return the fields as plain data."""
    plain = {name: getattr(settings, name) for name in UpstreamSettings.__dataclass_fields__}
    return {
        name: dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
        for name, value in plain.items()
    }


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """MCP servers of others behind CodePlane."""

    servers: Mapping[str, UpstreamSettings] = names(
        doc="MCP servers by name; none starts before a person has accepted it (`cpl gateway accept`)."
    )
    in_core: tuple[str, ...] = setting(
        (), doc="Tools of upstreams that profile core offers too, such as github__get_issue; `*` matches anything."
    )
    start_timeout_sec: float = setting(
        30.0, doc="How long an upstream may take to start and list its tools.", minimum=0.1, maximum=600.0
    )
    call_timeout_sec: float = setting(
        120.0, doc="How long one call of an upstream's tool may take.", minimum=0.1, maximum=86_400.0
    )
    max_answer_bytes: int = setting(
        400_000, doc="Largest answer of an upstream that is passed on; the rest is cut.", minimum=1_000,
        maximum=8_000_000,
    )  # fmt: skip
