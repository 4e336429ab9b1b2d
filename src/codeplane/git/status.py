"""`git status`: branch, changes, conflicts, and the operation in progress.

One process; everything else is read from small files in the git directory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import ask_git, decode
from codeplane.git.pathspecs import pathspecs
from codeplane.git.progress import progress_of
from codeplane.git.repository import Repository

CHANGES = {
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type-changed",
    "U": "unmerged",
}
_CONFLICTS = {
    "DD": "both deleted",
    "AU": "added by us",
    "UD": "deleted by them",
    "UA": "added by them",
    "DU": "deleted by us",
    "AA": "both added",
    "UU": "both modified",
}
_OPTIONS = ("--porcelain=v2", "-z", "--branch", "--show-stash", "--ahead-behind", "--untracked-files=normal")
_ABSENT_MODE = "000000"


@dataclass(frozen=True, slots=True)
class SubmoduleState:
    """What differs in a submodule: its commit, its tracked files, untracked files."""

    has_new_commit: bool
    has_changes: bool
    has_untracked: bool


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """One path that differs, either between HEAD and the index or between the index and the working tree."""

    path: str
    status: str
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    is_intent_to_add: bool = False
    submodule: SubmoduleState | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path with more than one version in the index; a side that has none is None."""

    path: str
    kind: str
    ancestor_oid: str | None
    ours_oid: str | None
    theirs_oid: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a working tree; no commit when HEAD is unborn, no branch when it is detached.

    `progress` is the operation in progress; `applies_mail` tells a rebase that is really `git am`.
    """

    branch: str | None
    head_commit: str | None
    upstream: str | None
    ahead: int | None
    behind: int | None
    n_stashes: int
    staged: tuple[ChangedPath, ...]
    modified: tuple[ChangedPath, ...]
    untracked: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    progress: str
    rebased_branch: str | None = None
    applies_mail: bool = False

    @property
    def is_clean(self) -> bool:
        """Tell whether nothing is staged, changed, untracked or in conflict."""
        return not (self.staged or self.modified or self.untracked or self.conflicts)


def read_status(repository: Repository, paths: tuple[RepoPath, ...] = ()) -> Status:
    """Return the state of the working tree, or of what lies under some paths.

    Raises:
        CodePlaneError: git failed.
    """
    output = ask_git(repository.root, "status", *_OPTIONS, *pathspecs(paths))
    found = _Collected()
    fields = iter(output.split(b"\0"))
    for field in fields:
        found.take(field, fields)
    headers = found.headers
    head_commit = headers.get("branch.oid", "(initial)")
    branch = headers.get("branch.head", "(detached)")
    ahead, behind = _ahead_behind(headers.get("branch.ab"))
    progress = progress_of(repository.git_dir)
    return Status(
        branch=None if branch == "(detached)" else branch,
        head_commit=None if head_commit == "(initial)" else head_commit,
        upstream=headers.get("branch.upstream"),
        ahead=ahead,
        behind=behind,
        n_stashes=int(headers["stash"]) if "stash" in headers else _stashes_in_log(repository),
        staged=tuple(found.staged),
        modified=tuple(found.modified),
        untracked=tuple(found.untracked),
        conflicts=tuple(found.conflicts),
        progress=progress,
        rebased_branch=_rebased_branch(repository.git_dir) if progress == "rebase" else None,
        applies_mail=progress == "rebase" and (repository.git_dir / "rebase-apply" / "applying").exists(),
    )


class _Collected:
    """The parts of a status, taken entry by entry.

    Invariant: every entry that git prints ends up in one of the lists; an unknown kind of entry is an error.
    """

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.staged: list[ChangedPath] = []
        self.modified: list[ChangedPath] = []
        self.untracked: list[str] = []
        self.conflicts: list[Conflict] = []

    def take(self, field: bytes, following: Iterator[bytes]) -> None:
        """Take one entry; a rename has its old name in the next field."""
        kind = field[:2]
        if kind == b"# ":
            name, _, value = decode(field[2:]).partition(" ")
            self.headers[name] = value
        elif kind == b"1 ":
            self._take_change(decode(field).split(" ", 8)[1:], None)
        elif kind == b"2 ":
            parts = decode(field).split(" ", 9)[1:]
            self._take_change([*parts[:7], parts[8]], decode(next(following)))
        elif kind == b"u ":
            self._take_conflict(decode(field).split(" ", 10)[1:])
        elif kind == b"? ":
            self.untracked.append(decode(field[2:]))
        elif field:
            raise CodePlaneError("GIT_FAILED", f"git status printed an unknown entry: {field[:80]!r}")

    def _take_change(self, parts: list[str], old_path: str | None) -> None:
        both, submodule_letters, head_mode, index_mode, tree_mode, _, _, path = parts
        submodule = _submodule(submodule_letters)
        in_index, in_tree = both[0], both[1]
        if in_index != ".":
            renamed_from = old_path if in_index in "RC" else None
            modes = _modes(head_mode, index_mode)
            self.staged.append(ChangedPath(path, CHANGES[in_index], renamed_from, *modes, submodule=submodule))
        if in_tree != ".":
            renamed_from = old_path if in_tree in "RC" else None
            is_intended = in_tree == "A"
            modes = _modes(index_mode, tree_mode)
            self.modified.append(
                ChangedPath(path, CHANGES[in_tree], renamed_from, *modes, is_intended, submodule),
            )

    def _take_conflict(self, parts: list[str]) -> None:
        both, _, *_modes_of_sides, ancestor, ours, theirs, path = parts
        sides = (oid if oid.strip("0") else None for oid in (ancestor, ours, theirs))
        self.conflicts.append(Conflict(path, _CONFLICTS.get(both, both), *sides))


def _modes(old: str, new: str) -> tuple[str | None, str | None]:
    """Return both modes where a file that stays changed its mode."""
    has_changed = old != new and _ABSENT_MODE not in {old, new}
    return (old, new) if has_changed else (None, None)


def _submodule(letters: str) -> SubmoduleState | None:
    if not letters.startswith("S"):
        return None
    return SubmoduleState(letters[1] == "C", letters[2] == "M", letters[3] == "U")


def _ahead_behind(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    ahead, _, behind = text.partition(" ")
    return int(ahead.removeprefix("+")), int(behind.removeprefix("-"))


def _stashes_in_log(repository: Repository) -> int:
    """Count stashes where git does not: before 2.35, and where there are none."""
    try:
        return (repository.common_dir / "logs" / "refs" / "stash").read_bytes().count(b"\n")
    except OSError:
        return 0


def _rebased_branch(git_dir: Path) -> str | None:
    for directory in ("rebase-merge", "rebase-apply"):
        name = _first_word(git_dir / directory / "head-name")
        if name:
            return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None
    return None


def _first_word(path: Path) -> str:
    try:
        words = decode(path.read_bytes()).split(None, 1)
    except OSError:
        return ""
    return words[0].strip() if words else ""
