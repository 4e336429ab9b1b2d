"""From an upstream's settings to what is started or sent: references resolved, secrets known by their text."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.workspace.gateway_settings import UpstreamSettings

# `${NAME}`, `${NAME:-default}`, and `${file:NAME}` for a file in the user's own directory of secrets.
_REFERENCE: Final = re.compile(r"\$\{(?P<file>file:)?(?P<name>[A-Za-z0-9_.-]{1,200})(?::-(?P<default>[^}]*))?\}")
_INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "SHELL", "TMPDIR", "TZ", "USER")
_TELLING: Final = re.compile(r"token|secret|passw|key|auth|credential|cookie|dsn|pat$", re.IGNORECASE)
_MIN_SECRET: Final = 6
_MAX_SECRET_FILE: Final = 64_000


@dataclass(frozen=True, slots=True)
class ResolvedUpstream:
    """What is started or reached. `secrets` are texts that no answer, log or record may show, by what they are."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path
    url: str
    headers: Mapping[str, str]
    secrets: tuple[tuple[str, str], ...]

    def without_secrets(self, text: str) -> str:
        """Return a text with every secret of this upstream taken out."""
        for name, value in self.secrets:
            if value in text:
                text = text.replace(value, f"[redacted:{name}]")
        return text


def resolved(
    settings: UpstreamSettings, root: Path, secrets: Path, environ: Mapping[str, str] | None = None
) -> ResolvedUpstream:
    """Return an upstream with its references resolved.

    Raises:
        CodePlaneError: CONFIG_INVALID for a variable that is not set, a secret that cannot be read, or a place outside
            of the working tree.
    """
    known = _Known(os.environ if environ is None else environ, secrets)
    environment = {name: known.expanded(value) for name, value in settings.env.items()}
    headers = {name: known.expanded(value) for name, value in settings.headers.items()}
    argv = tuple(map(known.expanded, (settings.command, *settings.args))) if settings.command else ()
    url = known.expanded(settings.url)
    for name, value in environment.items():
        if _TELLING.search(name):
            known.note(name, value)
    for name, value in headers.items():
        known.note(name, value)
        # What follows the scheme, such as `Bearer`, is the secret itself.
        known.note(name, value.rpartition(" ")[2])
    inherited = {name: known.environ[name] for name in _INHERITED if name in known.environ}
    found = sorted(set(known.secrets), key=lambda one: (-len(one[1]), one[0]))
    return ResolvedUpstream(
        argv, {**inherited, **environment}, _directory(root, settings.cwd), url, headers, tuple(found)
    )


def _directory(root: Path, cwd: str) -> Path:
    place = Path(os.path.realpath(root / cwd)) if cwd else root
    top = Path(os.path.realpath(root))
    if cwd and place != top and top not in place.parents:
        raise CodePlaneError(
            "CONFIG_INVALID", f"The cwd of an upstream lies in the working tree: `{cwd[:80]}` does not."
        )
    return place


class _Known:
    """What references mean; it notes the secrets that it hands out."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        self.environ = environ
        self.secrets: list[tuple[str, str]] = []
        self._directory = directory

    def expanded(self, text: str) -> str:
        return _REFERENCE.sub(self._meaning, text)

    def note(self, name: str, value: str) -> None:
        if len(value) >= _MIN_SECRET:
            self.secrets.append((name, value))

    def _meaning(self, found: re.Match[str]) -> str:
        name, default = found["name"], found["default"]
        value = self._from_file(name) if found["file"] else self.environ.get(name)
        if value is None or (value == "" and default is not None):
            value = default
        if value is None:
            where = f"the file {name} among the secrets" if found["file"] else f"the variable {name}"
            raise CodePlaneError("CONFIG_INVALID", f"An upstream needs {where}, and it is not there.")
        if found["file"] or _TELLING.search(name):
            self.note(name, value)
        return value

    def _from_file(self, name: str) -> str | None:
        if name in {".", ".."}:
            return None
        path = self._directory / name
        try:
            with path.open(encoding="utf-8") as file:
                return file.read(_MAX_SECRET_FILE).rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            return None
