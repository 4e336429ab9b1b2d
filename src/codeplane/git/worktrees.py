"""The working trees of a repository."""

import os
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git, must_change


@dataclass(frozen=True, slots=True)
class Worktree:
    """One working tree; the first of a list is the main one."""

    path: str
    head: str | None
    branch: str | None
    is_main: bool
    is_detached: bool
    lock_reason: str | None
    prunable: str | None
    is_bare: bool

    @property
    def is_locked(self) -> bool:
        """Tell whether it is locked against removal."""
        return self.lock_reason is not None


def list_worktrees(root: Path) -> list[Worktree]:
    """Return the working trees, the main one first."""
    listing = os.fsdecode(ask_git(root, "worktree", "list", "--porcelain", "-z"))
    found = []
    for number, block in enumerate(part for part in listing.split("\0\0") if part):
        values: dict[str, str] = {}
        for line in block.strip("\0").split("\0"):
            word, _, rest = line.partition(" ")
            values[word] = rest
        found.append(
            Worktree(
                path=values["worktree"],
                head=values.get("HEAD") if set(values.get("HEAD", "0")) != {"0"} else None,
                branch=values["branch"].removeprefix("refs/heads/") if "branch" in values else None,
                is_main=number == 0,
                is_detached="detached" in values,
                lock_reason=values.get("locked"),
                prunable=values.get("prunable"),
                is_bare="bare" in values,
            )
        )
    return found


def find_worktree(root: Path, path: Path) -> Worktree:
    """Return the working tree at a path.

    Raises:
        CodePlaneError: GIT_WORKTREE_UNUSABLE with the paths there are.
    """
    worktrees = list_worktrees(root)
    wanted = _real(path)
    found = next((one for one in worktrees if _real(Path(one.path)) == wanted), None)
    if found is not None:
        return found
    paths = [one.path for one in worktrees]
    message = f"{path} is not a working tree of this repository. Working trees: {', '.join(paths)}."
    raise CodePlaneError("GIT_WORKTREE_UNUSABLE", message, details={"worktrees": paths})


def add_worktree(root: Path, path: Path, commit: str | None, conditions: Conditions, options: tuple[str, ...]) -> None:
    """Create a working tree."""
    must_change(
        root, "worktree", "add", *options, "--", str(path), *([commit] if commit else []), conditions=conditions
    )


def remove_worktree(root: Path, path: str, conditions: Conditions, *, force: bool) -> None:
    """Remove a working tree; with force also one with changes, or a locked one."""
    options = ("--force", "--force") if force else ()
    must_change(root, "worktree", "remove", *options, "--", path, conditions=conditions)


def lock_worktree(root: Path, path: str, reason: str | None, conditions: Conditions) -> None:
    """Protect a working tree from removal."""
    options = (f"--reason={reason}",) if reason is not None else ()
    must_change(root, "worktree", "lock", *options, "--", path, conditions=conditions)


def unlock_worktree(root: Path, path: str, conditions: Conditions) -> None:
    """Allow the removal of a working tree again."""
    must_change(root, "worktree", "unlock", "--", path, conditions=conditions)


def prune_worktrees(root: Path, conditions: Conditions) -> None:
    """Forget the working trees whose directories are gone."""
    must_change(root, "worktree", "prune", conditions=conditions)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
