"""What a commit made for an agent carries besides its files: the intent's trailer, and the trace of its lines."""

import re
from collections.abc import Sequence
from typing import Final

from codeplane.core.paths import RepoPath
from codeplane.govern.trace.files import MAP_FILE, TRACE_FILE
from codeplane.operations.operation import CallContext

_TRAILER: Final = "Intent"
# A last paragraph of `Name: value` lines.
_TRAILERS: Final = re.compile(r"\n\n(?:[A-Za-z][A-Za-z0-9-]*: [^\n]+\n?)+\Z")


def with_trailer(context: CallContext, message: str | None) -> str | None:
    """Return a message that names the intent under which it is committed, where intents are in force."""
    workspace = context.workspace
    intent = workspace.gate.memory.selected(context.session.label) if workspace.gate.rules().is_enforced else None
    line = f"{_TRAILER}: {intent}"
    if message is None or intent is None or line in message.splitlines():
        return message
    gap = "\n" if _TRAILERS.search(message.rstrip()) else "\n\n"
    return f"{message.rstrip()}{gap}{line}\n"


def trace_to_commit(unstaged: Sequence[str]) -> tuple[RepoPath, ...]:
    """Return the files of the trace that git tracks and that have grown: they belong to the commit of their lines."""
    return tuple(RepoPath.parse(name) for name in (TRACE_FILE, MAP_FILE) if name in unstaged)
