"""The settings of the controller; they are here because a workspace composes all settings and knows no controller."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from codeplane.core.settings import nested, setting

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_FIELD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class JiraSettings:
    """Where tickets are."""

    base_url: str = setting("", doc="Address of the Jira site, such as `https://team.example`; empty for no Jira.")
    flavour: str = setting("cloud", doc="Which Jira it is.", choices=("cloud", "datacenter"))
    token_file: str = setting(
        "jira.token",
        doc="File in the directory `auth` of the user state directory. "
        "It holds a personal access token, or an e-mail address and an API token as `mail:token`.",
    )
    criteria_fields: tuple[str, ...] = setting(
        (), doc="Custom fields with acceptance criteria; fields named `Acceptance criteria` need no entry."
    )

    def __post_init__(self) -> None:
        """Refuse an address that would send the token in the clear, and names that are paths."""
        if self.base_url:
            _check_address(self.base_url, has_token=True)
        _check_file_name(self.token_file)
        for name in self.criteria_fields:
            if not _FIELD.fullmatch(name):
                raise ValueError(f"criteria_fields: {name!r} is not a field's id")


@dataclass(frozen=True, slots=True)
class SpecSource:
    """An address from which API descriptions may be fetched."""

    url: str = setting(doc="Address of a description; one that ends in `/` stands for everything below it.")
    token_file: str = setting("", doc="File in the directory `auth` of the user state directory; empty for none.")

    def __post_init__(self) -> None:
        """Refuse what is not an address of HTTP."""
        _check_address(self.url, has_token=bool(self.token_file))
        if self.token_file:
            _check_file_name(self.token_file)


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """Systems outside of this machine; none is contacted unless it is configured here."""

    jira: JiraSettings = nested(JiraSettings, doc="Tickets.")
    specs: tuple[SpecSource, ...] = setting((), doc="Where API descriptions may be fetched.")
    requests_per_minute: int = setting(60, doc="Requests to one host.", minimum=1, maximum=6_000)
    attempts: int = setting(4, doc="How often a request is sent before it fails.", minimum=1, maximum=10)
    timeout_sec: float = setting(
        30.0, doc="Time for one answer, with all attempts and waits.", minimum=0.1, maximum=600.0
    )
    connect_timeout_sec: float = setting(10.0, doc="Time for one connection.", minimum=0.1, maximum=120.0)
    max_bytes: int = setting(10_000_000, doc="Largest answer that is read.", minimum=1_000, maximum=100_000_000)
    cache_sec: int = setting(
        60, doc="How long an answer is used again without asking the host.", minimum=0, maximum=86_400
    )


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """How many distinct sources a change needs; plans can ask for more, never for less."""

    min_requirement_sources: int = setting(1, doc="Requirements per change.", minimum=0, maximum=20)
    min_code_sources: int = setting(1, doc="Pieces of code per change.", minimum=0, maximum=20)
    min_policy_sources: int = setting(0, doc="Policies and memories per plan.", minimum=0, maximum=20)
    min_total_sources: int = setting(2, doc="Distinct sources per change.", minimum=0, maximum=40)
    allow_single_source: bool = setting(True, doc="Accept one source if a person reviews the node before it runs.")


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Plans, evidence and runs of profile `controller`."""

    max_tokens: int = setting(100_000, doc="Tokens of requests per run session.", minimum=1_000, maximum=100_000_000)
    threshold_percent: int = setting(
        60, doc="Percentage of max_tokens after which a run is blocked.", minimum=1, maximum=100
    )
    confidence_threshold: int = setting(50, doc="Smallest confidence of an accepted plan.", minimum=0, maximum=100)
    pack_tokens: int = setting(8_000, doc="Largest context pack.", minimum=500, maximum=200_000)
    include: tuple[str, ...] = setting(("**",), doc="Globs of files that plans may name.")
    exclude: tuple[str, ...] = setting((), doc="Globs of files that plans may not name.")
    turn_endpoint: bool = setting(False, doc="Serve turns at `POST /turn`.")
    evidence: EvidenceSettings = setting(EvidenceSettings(), doc="Evidence of plans.")
    connectors: ConnectorSettings = nested(ConnectorSettings, doc="Systems outside of this machine.")


def _check_address(url: str, *, has_token: bool) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is not an address") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise ValueError(f"{url!r} is not an address that starts with https:// or http://")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(f"{url!r} holds a character that addresses cannot have")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ValueError("an address must not hold a user or a password; use token_file")
    if parts.fragment or "#" in url:
        raise ValueError(f"{url!r} must not have a fragment")
    if has_token and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError(f"{url!r} would send a token in the clear; use https://")


def _check_file_name(name: str) -> None:
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"token_file {name!r} is not the name of a file")
