"""Repositories before and after: pictures that leave nothing out, and the same deed done by hand."""

import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeplane.core.ids import RandomIds
from codeplane.operations.answer import Answer
from codeplane.operations.git_checkout import GIT_CHECKOUT
from codeplane.operations.git_commit import GIT_COMMIT
from codeplane.operations.git_merge import GIT_MERGE
from codeplane.operations.git_rebase import GIT_REBASE
from codeplane.operations.git_reset import GIT_RESET
from codeplane.operations.git_stage import GIT_STAGE
from codeplane.operations.git_stage_and_commit import GIT_STAGE_AND_COMMIT
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.repositories import git, write

TOOLS = (GIT_CHECKOUT, GIT_COMMIT, GIT_MERGE, GIT_REBASE, GIT_RESET, GIT_STAGE, GIT_STAGE_AND_COMMIT)
_PROGRESS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "rebase-merge", "rebase-apply", "sequencer")


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything of a repository that a person could miss: HEAD, refs, index, status, files, work in progress."""

    head: str
    refs: Mapping[str, str]
    index: tuple[str, ...]
    status: tuple[str, ...]
    files: Mapping[str, tuple[int, bytes]]
    progress: tuple[str, ...]


def exact_picture(root: Path) -> Picture:
    """Return a picture with the names of commits, to be compared with a later one of the same repository."""
    return _picture(root, lambda oid: oid)


def alike_picture(root: Path) -> Picture:
    """Return a picture in which commits are told by what they say, not by when: trees, parents, authors, messages."""
    return _picture(root, _meanings(root))


def _picture(root: Path, name_of: Callable[[str], str]) -> Picture:
    git_dir = Path(git(root, "rev-parse", "--absolute-git-dir").strip())
    head = (git_dir / "HEAD").read_text(encoding="utf-8").strip()
    refs = {}
    for line in git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines():
        ref, oid = line.split(" ")
        if not ref.startswith("refs/codeplane/"):
            refs[ref] = name_of(oid)
    status = git(root, "status", "--porcelain=v2", "-z", "--untracked-files=all").split("\0")
    return Picture(
        head=head if head.startswith("ref: ") else name_of(head),
        refs=refs,
        index=tuple(git(root, "ls-files", "--stage", "-z").split("\0")),
        status=tuple(item for item in status if ".codeplane" not in item),
        files=_files(root),
        progress=tuple(name for name in _PROGRESS if (git_dir / name).exists()),
    )


def _files(root: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for directory, directories, names in os.walk(root):
        directories[:] = [name for name in directories if name not in {".git", ".codeplane"}]
        for name in [*names, *(one for one in directories if (Path(directory) / one).is_symlink())]:
            place = Path(directory) / name
            mode = place.lstat().st_mode
            if name == ".git":
                continue
            data = os.fsencode(place.readlink()) if stat.S_ISLNK(mode) else place.read_bytes()
            found[str(place.relative_to(root))] = (mode & 0o170100, data)
    return found


def _meanings(root: Path) -> Callable[[str], str]:
    """Return what tells commits apart whatever the time they were made at."""
    known: dict[str, str] = {}
    fields = "%H%x00%T%x00%P%x00%an <%ae>%x00%cn <%ce>%x00%B%x01"
    tips = [git(root, "rev-parse", "--verify", "-q", "HEAD").strip()] if _has_head(root) else []
    log = git(root, "log", "--all", "--reflog", *tips, "--topo-order", "--reverse", f"--format={fields}")
    for record in log.split("\x01"):
        if record.strip():
            oid, tree, parents, author, committer, message = record.lstrip("\n").split("\0")
            told = [tree, *(known.get(one, one) for one in parents.split()), author, committer, message.strip()]
            known[oid] = "commit " + hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]
    return lambda oid: known.get(oid, oid)


def _has_head(root: Path) -> bool:
    return bool(git(root, "rev-list", "--all", "--max-count=1"))


def identify(root: Path) -> None:
    """Give a repository an identity of its own, the one that `git` of the tests uses."""
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    git(root, "config", "commit.gpgsign", "false")


def commit_files(root: Path, message: str, files: Mapping[str, str | bytes | None]) -> str:
    """Commit by hand: files with their contents, None for those to delete; return the commit."""
    write(root, {name: data for name, data in files.items() if data is not None})
    for name, data in files.items():
        if data is None:
            (root / name).unlink()
    git(root, "add", "--force", "--all", "--", *files)
    git(root, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD").strip()


def install_hook(root: Path, name: str, script: str) -> None:
    """Install a hook written in sh."""
    hooks = Path(git(root, "rev-parse", "--path-format=absolute", "--git-path", "hooks").strip())
    hooks.mkdir(exist_ok=True)
    (hooks / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (hooks / name).chmod(0o755)


def copy_of(root: Path, name: str = "by-hand") -> Path:
    """Return a copy of a repository beside it, without CodePlane's own files."""
    target = root.parent / f"{root.name}-{name}"
    shutil.copytree(root, target, symlinks=True, ignore=shutil.ignore_patterns(".codeplane"))
    return target


def git_by_hand(root: Path, *arguments: str) -> bool:
    """Run git by hand where it may stop at conflicts; tell whether it did not."""
    try:
        git(root, *arguments)
    except AssertionError:
        return False
    return True


def by_git(*arguments: str) -> Callable[[Path], object]:
    """Return one git command to be run by hand."""
    return lambda root: git(root, *arguments)


def git_door(workspace: Workspace) -> Door:
    """Return a door with the catalog and the tools that make and move commits."""
    return door_with(workspace, *TOOLS)


def check_same_as_by_hand(
    workspace: Workspace, tool: str, arguments: Mapping[str, Any], by_hand: Callable[[Path], object]
) -> Answer:
    """Do something with a tool and by hand in a copy; both must end alike, and undo must bring the start back."""
    root = workspace.root
    before = exact_picture(root)
    other = copy_of(root)
    by_hand(other)
    answer = call(git_door(workspace), tool, arguments)
    result = result_of(answer)
    assert alike_picture(root) == alike_picture(other)
    assert_sound(root)
    check_undo(workspace, result["delta"]["mutation_id"], before)
    # The undo is taken back as well, so that what follows meets what the tool did.
    shutil.rmtree(other)
    return answer


def check_undo(workspace: Workspace, mutation_id: str, before: Picture) -> None:
    """Undo a call, compare with the picture from before, and undo the undo."""
    after = exact_picture(workspace.root)
    undone = result_of(call(git_door(workspace), "undo", {"operation": mutation_id})) if after != before else None
    assert exact_picture(workspace.root) == before
    assert_sound(workspace.root)
    if undone is not None:
        result_of(call(git_door(workspace), "undo", {"operation": undone["mutation_id"]}))
        assert exact_picture(workspace.root) == after


def check_refused(workspace: Workspace, tool: str, arguments: Mapping[str, Any], code: str) -> Answer:
    """Require an error, and that everything is as it was."""
    before = exact_picture(workspace.root)
    answer = call(git_door(workspace), tool, arguments)
    assert error_of(answer) == code, answer.error
    assert answer.meta.warnings == ()
    assert exact_picture(workspace.root) == before
    assert_sound(workspace.root)
    return answer


def assert_sound(root: Path) -> None:
    """Require that git finds nothing wrong with the repository."""
    git(root, "fsck", "--no-dangling", "--strict")


def main(arguments: Sequence[str]) -> None:
    """Be a child process: `ROOT TOOL ARGUMENTS` makes one call; whoever is to kill it finds its number."""
    os.environ["CODEPLANE_TEST_PID"] = str(os.getpid())
    root, tool, given = arguments
    with open_test_workspace(Path(root), ids=RandomIds()) as workspace:
        result_of(call(git_door(workspace), tool, json.loads(given)))


if __name__ == "__main__":
    main(sys.argv[1:])
