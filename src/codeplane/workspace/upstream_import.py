"""From a `.mcp.json` to `gateway.servers`: what is written into the configuration, and which secrets stay outside."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from codeplane.core.errors import CodePlaneError
from codeplane.core.redaction import redact
from codeplane.workspace.gateway_settings import UpstreamSettings

_MAX_BYTES: Final = 1_000_000
_FIELDS: Final = ("type", "command", "args", "env", "cwd", "url", "headers")
_HTTP: Final = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http"})
_OWN: Final = "codeplane"
_SERVERS_LINE: Final = re.compile(
    r"^gateway:[ \t]*(?:#.*)?\n(?:(?:[ \t]+.*|[ \t]*)\n)*?(?P<indent>[ ]+)servers:[ \t]*(?:#.*)?\n", re.MULTILINE
)
_GATEWAY: Final = re.compile(r"^gateway[ \t]*:", re.MULTILINE)


@dataclass(slots=True)
class Imported:
    """Servers in the form of the configuration, secrets by file name, and what was not taken over."""

    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_servers(path: Path) -> Imported:
    """Return the servers of a file; texts that may be secrets become references to files.

    Raises:
        CodePlaneError: FILE_NOT_FOUND, or INVALID_FORMAT when it is not what its name says.
    """
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(_MAX_BYTES))
    except FileNotFoundError as error:
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no file {path.name} to import.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise CodePlaneError("INVALID_FORMAT", f"{path.name} cannot be read as JSON: {error}.") from error
    listed = document.get("mcpServers", document.get("servers")) if isinstance(document, dict) else None
    if not isinstance(listed, dict):
        raise CodePlaneError("INVALID_FORMAT", f"{path.name} has no `mcpServers`.")
    found = Imported()
    for name, entry in listed.items():
        _take(found, name, entry)
    return found


def _take(found: Imported, name: str, entry: Any) -> None:
    if name == _OWN:
        found.notes.append(f"{name} is CodePlane itself")
        return
    if not isinstance(entry, dict):
        found.notes.append(f"{name} is not an object")
        return
    kept = {key: entry[key] for key in _FIELDS if entry.get(key)}
    if kept.get("type") in _HTTP:
        kept["type"] = "http"
    left = sorted(set(entry) - set(_FIELDS))
    if left:
        found.notes.append(f"of {name} these are not taken over: {', '.join(left)}")
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    for group in ("env", "headers"):
        if isinstance(kept.get(group), dict):
            kept[group] = {key: _kept_outside(found, f"{stem}-{key}", str(value)) for key, value in kept[group].items()}
    if isinstance(kept.get("args"), list):
        kept["args"] = [
            _kept_outside(found, f"{stem}-arg{number}", str(one)) if redact(str(one)) != str(one) else str(one)
            for number, one in enumerate(kept["args"])
        ]
    if isinstance(kept.get("url"), str) and redact(kept["url"]) != kept["url"]:
        kept["url"] = _kept_outside(found, f"{stem}-url", kept["url"])
    found.servers[name] = kept


def _kept_outside(found: Imported, name: str, value: str) -> str:
    """Return a reference in place of a text; one that refers to something already stays."""
    if "${" in value or not value:
        return value
    file = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:200]
    found.secrets[file] = value
    return f"${{file:{file}}}"


def with_servers(text: str, servers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a configuration with more servers; everything else stays as it is written.

    Raises:
        CodePlaneError: CONFIG_INVALID when the text has servers in a form that cannot be added to.
    """
    if text and not text.endswith("\n"):
        text += "\n"
    place = _SERVERS_LINE.search(text)
    if place is not None:
        lines = yaml.safe_dump({name: dict(one) for name, one in servers.items()}, sort_keys=False, width=120)
        indent = place["indent"] * 2
        return text[: place.end()] + "".join(f"{indent}{line}\n" for line in lines.splitlines()) + text[place.end() :]
    if _GATEWAY.search(text):
        hint = "Write `servers:` on a line of its own below `gateway:`, then import again."
        raise CodePlaneError("CONFIG_INVALID", "The configuration has `gateway` in another form.", hint=hint)
    group = {"gateway": {"servers": {name: dict(one) for name, one in servers.items()}}}
    return text + yaml.safe_dump(group, sort_keys=False, width=120)


def checked(name: str, entry: Mapping[str, Any]) -> UpstreamSettings:
    """Return an entry as settings.

    Raises:
        CodePlaneError: INVALID_FORMAT naming the server.
    """
    try:
        values: dict[str, Any] = {key: tuple(map(str, one)) if key == "args" else one for key, one in entry.items()}
        return UpstreamSettings(**values)
    except (TypeError, ValueError) as error:
        raise CodePlaneError("INVALID_FORMAT", f"The MCP server {name} cannot be used: {error}.") from error


def write_privately(path: Path, text: str) -> None:
    """Replace a file that only its owner may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, staged = tempfile.mkstemp(dir=path.parent, prefix=".import-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(staged).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(staged).unlink()
        raise
