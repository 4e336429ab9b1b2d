"""Everything that CodePlane stores for one repository, so it can be listed and removed."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import ask_git, must_change
from codeplane.git.worktrees import list_worktrees
from codeplane.ledger.seals import forget_place, was_sealed
from codeplane.workspace.places import Places
from codeplane.workspace.workspace import Workspace

_REFS = ("refs/codeplane/", "refs/notes/codeplane")


@dataclass(frozen=True, slots=True)
class Removable:
    """One place, or one group of git refs, and what it holds."""

    what: str
    path: Path | None = None
    refs: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Return where it is."""
        return str(self.path) if self.path is not None else f"{len(self.refs)} refs under refs/codeplane, refs/notes"


def removables(workspace: Workspace) -> tuple[Removable, ...]:
    """Return what `uninstall` removes: private directories of all working trees, keys, acceptances and refs."""
    user, repo_id = workspace.places.user, workspace.repo_id
    trees = [Path(tree.path) / ".codeplane" for tree in list_worktrees(workspace.root)]
    shared = [] if workspace.places.shared in trees else [workspace.places.shared]
    found = [Removable("index, ledger, undo and settings", path) for path in (*trees, *shared)]
    found += [
        Removable("the key and the newest head of the ledger", user.ledger_seals / repo_id),
        Removable("what a person has accepted", user.governance / f"{repo_id}.json"),
        Removable("which MCP servers a person has accepted", user.governance / f"{repo_id}.upstreams.json"),
        Removable("the secrets of MCP servers", workspace.upstream_secrets),
    ]
    refs = tuple(ask_git(workspace.root, "for-each-ref", "--format=%(refname)", *_REFS).decode().split())
    kept = [one for one in found if one.path is not None and one.path.exists()]
    return (*kept, *([Removable("objects that undo protects from garbage collection", refs=refs)] if refs else []))


def set_up_trees(workspace: Workspace) -> tuple[Path, ...]:
    """Return the working trees of the repository that have a private directory, this one first."""
    trees = [Path(tree.path) for tree in list_worktrees(workspace.root)]
    others = (tree for tree in trees if tree != workspace.root and (tree / ".codeplane").is_dir())
    return (workspace.root, *others)


def remove(root: Path, found: Sequence[Removable]) -> None:
    """Remove it for good; refs first, because git needs the tree."""
    for one in sorted(found, key=lambda one: not one.refs):
        for ref in one.refs:
            must_change(root, "update-ref", "-d", ref)
        if one.path is not None and one.path.is_dir():
            shutil.rmtree(one.path)
        elif one.path is not None:
            one.path.unlink(missing_ok=True)


def require_ledger(places: Places) -> None:
    """Refuse a repository that never had a ledger, so reading does not create one.

    Raises:
        CodePlaneError: NOT_FOUND.
    """
    is_there = places.ledger.exists() or places.ledger.with_name("ledger.sealed").exists()
    if not is_there and not was_sealed(places.user.ledger_seals, places.ledger, places.clone):
        raise CodePlaneError("NOT_FOUND", "This repository has no ledger yet.", hint="`cpl init` sets it up.")


def forget_ledger(places: Places) -> None:
    """Forget that a ledger was sealed here, when a person clears it."""
    forget_place(places.user.ledger_seals, places.ledger)
