"""The operator token: what shows that a REST call comes from the person who owns this machine's account."""

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
    """Return the token, making one on first use; only the owner can read the file.

    Raises:
        CodePlaneError: PERMISSION_DENIED when the user state directory cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read_token(path)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        return _read_token(path)
    except OSError as error:
        raise CodePlaneError("PERMISSION_DENIED", f"The operator token cannot be kept: {error.strerror}") from error


def _read_token(path: Path) -> str:
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if len(text) < 32:
        raise CodePlaneError("CONFIG_INVALID", "The operator token file is damaged; delete it to get a new one.")
    return text


def is_operator(authorization: str | None, token: str) -> bool:
    """Tell whether an Authorization header carries the token; compared in constant time."""
    scheme, _, given = (authorization or "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("utf-8"), token.encode("utf-8"))
