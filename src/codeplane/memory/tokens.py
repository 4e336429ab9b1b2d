"""Signed tokens in `.codeplane/tokens`: one file each, used once, checked by signature, type, session and time.

Version 1 is what the public system wrote. It carries no signature, so it is listed and authorises nothing.
"""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from codeplane.core.canonical_json import canonical_text
from codeplane.core.errors import CodePlaneError

OPERATION: Final = "operation"
SESSION: Final = "session"
_PREFIXES: Final = {OPERATION: "op", SESSION: "session"}
_ID: Final = re.compile(r"(?:op|session)-[0-9]{1,17}-[0-9a-z]{9}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES: Final = 16_384
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class SigningKey(Protocol):
    """The key of this repository's ledger."""

    @property
    def key_id(self) -> str:
        """Return a name for the key that gives nothing away."""
        ...

    def sign(self, label: str, text: str) -> str:
        """Return the signature of a text in hexadecimal."""
        ...


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What a token is for; the signature covers all of it."""

    type: str
    session_id: str
    phase: str
    action: str
    ttl_ms: int
    now_ms: int
    call_id: str
    context_hash: str | None
    invocation_chain_head: str
    compliance_version: str
    scope: str = "project"
    permissions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is stored: the signed payload, who signed it, and the signature."""

    payload: Mapping[str, Any]
    key_id: str = ""
    signature: str = ""

    @property
    def token_id(self) -> str:
        """Return its name, which is also that of its file."""
        return str(self.payload.get("token_id", ""))

    @property
    def version(self) -> int:
        """Return 2 for a signed token, 1 for one of the public system."""
        return 2 if self.payload.get("token_version") == 2 else 1

    def expires_in_ms(self, now_ms: int) -> int:
        """Return how long it is valid; without a time it never was."""
        expires = self.payload.get("expires_at")
        return expires - now_ms if isinstance(expires, int) and not isinstance(expires, bool) else 0

    def as_text(self) -> str:
        """Return the file's content."""
        return canonical_text({**self.payload, "key_id": self.key_id, "signature": self.signature})


class TokenBox:
    """The tokens of one repository.

    Invariant: a path is made only from an id that fits the pattern; a token is used by moving its file away, so one
    of several callers gets it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def issue(self, key: SigningKey, wanted: TokenRequest) -> Token:
        """Sign a token and write its file."""
        token = mint(key, wanted)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(token.token_id)
        descriptor = os.open(path.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(token.as_text())
            file.flush()
            os.fsync(file.fileno())
        path.with_suffix(".new").replace(path)
        return token

    def read(self, token_id: str) -> Token:
        """Return a token as its file says, not yet checked.

        Raises:
            CodePlaneError: TOKEN_INVALID.
        """
        return self._read(self._path(token_id))

    def claim(self, token_id: str) -> None:
        """Use a token up.

        Raises:
            CodePlaneError: TOKEN_INVALID when another caller was faster.
        """
        path = self._path(token_id)
        try:
            path.rename(path.with_suffix(".used"))
        except FileNotFoundError:
            raise _invalid("it was used already") from None
        path.with_suffix(".used").unlink(missing_ok=True)

    def all(self) -> tuple[Token, ...]:
        """Return the tokens whose files can be read, by name."""
        found = []
        for path in sorted(self.directory.glob("*.json")) if self.directory.is_dir() else ():
            with suppress(CodePlaneError):
                found.append(self._read(path))
        return tuple(found)

    def remove_expired(self, now_ms: int) -> int:
        """Remove tokens whose time is over, whoever they belong to; return how many."""
        expired = [one for one in self.all() if one.expires_in_ms(now_ms) <= 0]
        for one in expired:
            self._path(one.token_id).unlink(missing_ok=True)
        return len(expired)

    def _path(self, token_id: str) -> Path:
        if not _ID.fullmatch(token_id):
            raise _invalid("that is not the id of a token")
        return self.directory / f"{token_id}.json"

    def _read(self, path: Path) -> Token:
        try:
            # A link could lead to any file of this user.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                document = json.loads(file.read(_MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            raise _invalid("there is no such token") from None
        if not isinstance(document, dict) or document.get("token_id") != path.stem or not _ID.fullmatch(path.stem):
            raise _invalid("its file does not belong to it")
        payload = {name: value for name, value in document.items() if name not in {"key_id", "signature"}}
        return Token(payload, str(document.get("key_id", "")), str(document.get("signature", "")))


def mint(key: SigningKey, wanted: TokenRequest) -> Token:
    """Return a signed token; its id follows from the key and the call."""
    seed = key.sign("token-id", "\n".join((wanted.call_id, wanted.type, wanted.session_id, str(wanted.now_ms))))
    payload = {
        "token_id": f"{_PREFIXES[wanted.type]}-{wanted.now_ms}-{_base36(seed)}",
        "token_version": 2,
        "created_at": wanted.now_ms,
        "expires_at": wanted.now_ms + wanted.ttl_ms,
        "type": wanted.type,
        "session_id": wanted.session_id,
        "phase": wanted.phase,
        "action": wanted.action,
        "context_hash": wanted.context_hash,
        "invocation_chain_head": wanted.invocation_chain_head,
        "compliance_version": wanted.compliance_version,
        "scope": wanted.scope,
        "permissions": list(wanted.permissions),
    }
    return Token(payload, key.key_id, sign_payload(key, "token", payload))


def check(key: SigningKey, token: Token, wanted_type: str, session_id: str, now_ms: int) -> None:
    """Check that a token may be used here and now.

    Raises:
        CodePlaneError: TOKEN_INVALID or TOKEN_EXPIRED.
    """
    if token.version != 2:
        raise _invalid("version 1 has no signature and authorises nothing")
    if not is_signed(key, "token", token.payload, token.signature):
        other = " with this key" if token.key_id != key.key_id else ""
        raise _invalid(f"it was not signed{other}, or it was changed")
    if token.payload["type"] != wanted_type:
        raise _invalid(f"it is a token of type {token.payload['type']}, not {wanted_type}")
    if token.payload["session_id"] != session_id:
        raise _invalid("it belongs to another session")
    created = token.payload.get("created_at")
    if token.expires_in_ms(now_ms) <= 0 or not isinstance(created, int) or created > now_ms:
        raise CodePlaneError("TOKEN_EXPIRED", f"The token {token.token_id} is not valid at this time.")


def sign_payload(key: SigningKey, label: str, payload: Mapping[str, Any]) -> str:
    """Return the signature over a payload."""
    return key.sign(label, canonical_text(dict(payload)))


def is_signed(key: SigningKey, label: str, payload: Mapping[str, Any], signature: Any) -> bool:
    """Tell whether a payload was signed with this key; anything but 64 hexadecimal digits is refused first."""
    if not isinstance(signature, str) or not _HEX.fullmatch(signature):
        return False
    try:
        expected = sign_payload(key, label, payload)
    except CodePlaneError:
        return False
    return hmac.compare_digest(bytes.fromhex(signature), bytes.fromhex(expected))


def _base36(seed: str) -> str:
    number = int(hashlib.sha256(seed.encode()).hexdigest(), 16)
    return "".join(_BASE36[number // 36**place % 36] for place in range(9))


def _invalid(reason: str) -> CodePlaneError:
    return CodePlaneError("TOKEN_INVALID", f"The token was refused: {reason}.")
