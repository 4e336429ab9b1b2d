"""Keep a whole working tree as a commit before it is removed; the index and the branch of that tree stay untouched."""

import os
import tempfile
from pathlib import Path
from typing import Final

from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.repository import run_git

_IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "CodePlane",
    "GIT_AUTHOR_EMAIL": "codeplane@localhost",
    "GIT_COMMITTER_NAME": "CodePlane",
    "GIT_COMMITTER_EMAIL": "codeplane@localhost",
}


def has_changes(root: Path) -> bool:
    """Tell whether a working tree holds anything that no commit has; ignored files do not count."""
    arguments = ("--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=none")
    return bool(ask_git(root, "status", *arguments))


def keep_working_tree(root: Path, ref: str, message: str) -> str:
    """Save all files of a working tree but the ignored ones under a ref, as a commit on top of its HEAD."""
    with tempfile.TemporaryDirectory(prefix="codeplane-") as name:
        environment = {**_IDENTITY, "GIT_INDEX_FILE": str(Path(name).resolve() / "index")}
        conditions = Conditions(environment=environment, runs_hooks=False, configuration=("commit.gpgsign=false",))
        head = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").stdout_text.strip()
        if head:
            must_change(root, "read-tree", head, conditions=conditions)
        must_change(root, "add", "--all", conditions=conditions)
        tree = must_change(root, "write-tree", conditions=conditions).stdout_text.strip()
        parents = ("-p", head) if head else ()
        made = must_change(root, "commit-tree", tree, *parents, "-m", message, conditions=conditions)
    commit = made.stdout_text.strip()
    must_change(root, "update-ref", ref, commit, conditions=Conditions(runs_hooks=False))
    return commit


def keep_commit(root: Path, ref: str, commit: str) -> None:
    """Keep a commit alive under a ref."""
    must_change(root, "update-ref", ref, commit, conditions=Conditions(runs_hooks=False))


def ignored_paths(root: Path) -> list[str]:
    """Return what git ignores in a working tree; whole directories end in a slash."""
    listing = ask_git(root, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    return [name for name in os.fsdecode(listing).split("\0") if name]
