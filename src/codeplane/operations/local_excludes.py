"""Files of agents that hold paths of this machine: git leaves out those that CodePlane made, in this clone alone."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from codeplane.edit.managed_block import ATTRIBUTES as MARKERS
from codeplane.edit.managed_block import block_in, with_block
from codeplane.git.ignored import ignored_paths
from codeplane.git.worktrees import list_worktrees
from codeplane.workspace.workspace import Workspace

EXCLUDE: Final = ".git/info/exclude"


def exclude_file(workspace: Workspace) -> Path:
    """Return the file; all working trees of a clone share it."""
    return workspace.repository.common_dir / "info" / "exclude"


def names_this_machine(content: bytes | None) -> bool:
    """Tell whether a file starts the program by its place on this machine."""
    return sys.executable.encode() in (content or b"")


def not_ignored(workspace: Workspace, places: Iterable[str]) -> list[str]:
    """Return those that a commit of everything would take."""
    wanted = list(places)
    return sorted(set(wanted) - ignored_paths(workspace.root, wanted))


def with_places(before: bytes | None, places: Iterable[str]) -> bytes | None:
    """Return the file with these places in its block."""
    return _with_lines(before, _lines(before) | {f"/{place}" for place in places})


def without_places(workspace: Workspace, before: bytes | None, places: Iterable[str]) -> bytes | None:
    """Return the file without these places, but for those that another working tree has."""
    others = [Path(one.path) for one in list_worktrees(workspace.root) if Path(one.path) != workspace.root]
    gone = {f"/{place}" for place in places if not any((tree / place).exists() for tree in others)}
    return _with_lines(before, _lines(before) - gone)


def _lines(before: bytes | None) -> set[str]:
    return set(block_in(_text(before), *MARKERS) or ())


def _with_lines(before: bytes | None, lines: set[str]) -> bytes | None:
    """Return the file with these lines as its block, None when nothing is left; unchanged where the lines are."""
    if lines == _lines(before):
        return before
    text = with_block(_text(before), *MARKERS, tuple(sorted(lines)))
    return text.encode("utf-8", "surrogateescape") if text else None


def _text(before: bytes | None) -> str:
    return (before or b"").decode("utf-8", "surrogateescape")
