"""Proof that a person runs a command: the operator token, or a code typed at a terminal."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.server.operator_token import TOKEN_VARIABLE, has_token, operator_token
from codeplane.workspace.config import loosened_settings
from codeplane.workspace.places import Places
from codeplane.workspace.workspace import Workspace, locate_places

_TERMINAL = Path("/dev/tty")


def require_person(at: Workspace | Places, action: str) -> str:
    """Return how the caller has shown to be a person.

    Raises:
        CodePlaneError: OPERATOR_TOKEN_REQUIRED without proof.
    """
    path = (at if isinstance(at, Places) else at.places).user.operator_token
    if has_token(path):
        return f"operator token, user {os.getuid()}"
    if types_code(action):
        return f"terminal, user {os.getuid()}"
    operator_token(path)
    raise CodePlaneError(
        "OPERATOR_TOKEN_REQUIRED",
        f"Only a person can {action}.",
        hint=f"Do it in a terminal, where a code is asked for, or set {TOKEN_VARIABLE} to the content of {path}.",
    )


def require_person_to_loosen(start: str, overrides: Sequence[str]) -> None:
    """Ask for a person when `--set` or the environment allows more than the settings files do.

    Raises:
        CodePlaneError: OPERATOR_TOKEN_REQUIRED.
    """
    try:
        places = locate_places(Path(start))
        keys = loosened_settings(places, overrides)
    except CodePlaneError:
        # The command itself says what is wrong with the place or the settings.
        return
    if keys:
        require_person(places, f"loosen {', '.join(keys)}")


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
