"""Tokens: read from files that only their owner can read, sent to one place, taken out of every text."""

import base64
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact

REDACTED: Final = "«redacted»"
_MAX_BYTES: Final = 4_096
_MIN_CHARACTERS: Final = 8
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port: where a token may go."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> "Origin":
        """Return the origin of an address.

        Raises:
            ValueError: it is no address of HTTP.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url[:200]!r} is not an address of HTTP")
        return cls(parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))

    @property
    def text(self) -> str:
        """Return the origin for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Credential:
    """A token and the one origin that it is sent to; it never appears in the object's text."""

    origin: Origin
    secret: str = field(repr=False)

    @property
    def header(self) -> str:
        """Return the value of `Authorization`: Basic for `user:token`, Bearer for a token alone."""
        if ":" in self.secret:
            return "Basic " + base64.b64encode(self.secret.encode("utf-8")).decode("ascii")
        return f"Bearer {self.secret}"

    @property
    def digest(self) -> str:
        """Return what distinguishes two users in the cache."""
        return sha256_text(f"{self.origin.text} {self.secret}")

    def without_secret(self, text: str) -> str:
        """Return a text without any spelling of the token."""
        for spelling in self._spellings():
            text = text.replace(spelling, REDACTED)
        return text

    def _spellings(self) -> Iterator[str]:
        token = self.secret.rpartition(":")[2]
        for secret in (self.secret, token):
            encoded = base64.b64encode(secret.encode("utf-8")).decode("ascii")
            yield from (secret, encoded, encoded.rstrip("="), quote(secret, safe=""), quote_plus(secret))


def read_credential(directory: Path, name: str, origin: Origin) -> Credential:
    """Return the token in a file of the user's state directory.

    Raises:
        ConnectorError: TOKEN_UNUSABLE when it is missing, others can read it, or it holds no token.
    """
    shown = f"The token file {name}"
    try:
        descriptor = os.open(directory / name, _READ)
        try:
            _check_private(os.fstat(descriptor), directory.stat(), shown)
            data = os.read(descriptor, _MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        where = "Write the token into it, in the directory `auth` of the user state directory, with mode 600."
        message = f"{shown} cannot be read: {error.strerror}. {where}"
        raise ConnectorError(FailureKind.TOKEN_UNUSABLE, message) from error
    try:
        secret = data.decode("ascii").strip()
    except UnicodeDecodeError:
        secret = ""
    is_token = len(secret.rpartition(":")[2]) >= _MIN_CHARACTERS and len(data) <= _MAX_BYTES
    if not is_token or not secret.isprintable() or " " in secret:
        message = f"{shown} must hold one token, or `mail:token`, on one line."
        raise ConnectorError(FailureKind.TOKEN_UNUSABLE, message)
    return Credential(origin, secret)


def clean(text: str, credential: Credential | None) -> str:
    """Return a text without the token and without anything that looks like a secret."""
    return redact(text if credential is None else credential.without_secret(text))


def _check_private(file: os.stat_result, directory: os.stat_result, shown: str) -> None:
    if not stat.S_ISREG(file.st_mode):
        raise ConnectorError(FailureKind.TOKEN_UNUSABLE, f"{shown} is not a regular file.")
    if file.st_uid != os.getuid() or directory.st_uid != os.getuid():
        raise ConnectorError(FailureKind.TOKEN_UNUSABLE, f"{shown} or its directory belongs to another user.")
    if file.st_mode & 0o077 or directory.st_mode & 0o022:
        message = f"{shown} is open to other users. Run `chmod 600` on it and `chmod 700` on its directory."
        raise ConnectorError(FailureKind.TOKEN_UNUSABLE, message)
