"""The two secrets of HTTP, each in a file that only its owner can read.

The operator token shows that a call comes from the person who owns the account. The access secret only opens MCP and
reading REST; it may be in an agent's configuration and never makes its caller a person.
"""

import hmac
import os
import secrets
from pathlib import Path

from codeplane.core.errors import CodePlaneError

TOKEN_VARIABLE = "CODEPLANE_OPERATOR_TOKEN"  # noqa: S105 - the name of a variable.


def has_token(path: Path) -> bool:
    """Tell whether the environment holds the operator token."""
    given = os.environ.get(TOKEN_VARIABLE)
    return given is not None and is_operator(f"Bearer {given}", operator_token(path))


def operator_token(path: Path) -> str:
    """Return the operator token, made on first use.

    Raises:
        CodePlaneError: as `kept_secret` does.
    """
    return kept_secret(path, "operator token")


def token_in_force(path: Path) -> str:
    """Return the operator token as it is at this moment; an empty text, which nobody can match, where it is damaged."""
    try:
        return operator_token(path)
    except CodePlaneError:
        return ""


def kept_secret(path: Path, name: str) -> str:
    """Return the secret in a file, made on first use; only the owner can read the file.

    Raises:
        CodePlaneError: PERMISSION_DENIED when the user state directory cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read_secret(path, name)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        return _read_secret(path, name)
    except OSError as error:
        raise CodePlaneError("PERMISSION_DENIED", f"The {name} cannot be kept: {error.strerror}") from error


def _read_secret(path: Path, name: str) -> str:
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if len(text) < 32:
        raise CodePlaneError("CONFIG_INVALID", f"The {name} file is damaged; delete {path} to get a new one.")
    return text


def is_operator(authorization: str | None, token: str) -> bool:
    """Tell whether an Authorization header carries the token; compared in constant time."""
    return is_same_secret(bearer_of(authorization), token)


def bearer_of(authorization: str | None) -> str:
    """Return the secret in an Authorization header, or an empty text."""
    scheme, _, given = (authorization or "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def is_same_secret(given: str, secret: str) -> bool:
    """Compare in constant time; an empty secret is never right."""
    return bool(given and secret) and hmac.compare_digest(given.encode("utf-8"), secret.encode("utf-8"))
