"""Is a person at the other end of this command: the operator token, or somebody who types a code at a terminal."""

import os
import secrets
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.ledger.callers import CallerKind
from codeplane.surfaces.cli.call_command import TOKEN_VARIABLE, cli_caller
from codeplane.surfaces.server.operator_token import operator_token
from codeplane.workspace.workspace import Workspace

_TERMINAL = Path("/dev/tty")


def require_person(workspace: Workspace, action: str) -> str:
    """Return how the caller has shown to be a person.

    Raises:
        CodePlaneError: OPERATOR_TOKEN_REQUIRED when nobody has.
    """
    if cli_caller(workspace).kind is CallerKind.PERSON:
        return f"operator token, user {os.getuid()}"
    if types_code(action):
        return f"terminal, user {os.getuid()}"
    path = workspace.places.user.operator_token
    operator_token(path)
    raise CodePlaneError(
        "OPERATOR_TOKEN_REQUIRED",
        f"To {action} takes a person.",
        hint=f"Do it in a terminal, where a code is asked for, or set {TOKEN_VARIABLE} to what {path} holds.",
    )


def types_code(action: str) -> bool:
    """Ask at the controlling terminal for a code; false when there is none or another code was typed."""
    code = f"{secrets.randbelow(10_000):04d}"
    try:
        with _TERMINAL.open("r+b", buffering=0) as terminal:
            terminal.write(f"To {action}, type {code}: ".encode())
            typed = terminal.readline(100).decode("utf-8", "replace").strip()
    except OSError:
        return False
    return secrets.compare_digest(typed, code)
