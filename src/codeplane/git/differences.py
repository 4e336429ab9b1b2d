"""Differences between commits, the index and the working tree: which files, how they changed, and git's patch of each.

One process prints the list of files and the patches; patches are split into lines only as needed.
"""

import hashlib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import ask_git, decode
from codeplane.git.pathspecs import pathspecs
from codeplane.git.status import CHANGES

SUBMODULE_MODE: Final = "160000"
ABSENT_MODE: Final = "000000"
# A person's configuration may change the diff format; these options fix it.
_LISTED: Final = ("-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-relative", "-O/dev/null")
_OPTIONS: Final = (
    *_LISTED, "--raw", "--patch", "--no-abbrev", "--no-color", "--submodule=short", "--src-prefix=a/",
    "--dst-prefix=b/", "--inter-hunk-context=0", "--diff-algorithm=myers",
)  # fmt: skip
# The number of names that fit into a command line, whatever their length.
_MAX_NAMED: Final = 100
_PIECE: Final = re.compile(rb"^(?:diff --git |\* Unmerged path )", re.MULTILINE)
_HUNK_START: Final = re.compile(rb"^@@ -", re.MULTILINE)
_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_BINARY: Final = b"\nBinary files "
_COUNTS: Final = re.compile(rb"(\d+|-)\t(\d+|-)\t")
_BLOCK: Final = 4096


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared: two commits, or a commit or the index with the index or the working tree.

    Without `base` the index is the old side (or, `staged`, HEAD or nothing at all); without `target` the working tree
    is the new side (or, `staged`, the index). Both are full ids.
    """

    base: str | None = None
    target: str | None = None
    staged: bool = False
    paths: tuple[RepoPath, ...] = ()
    context_lines: int = 3


@dataclass(frozen=True, slots=True)
class RawChange:
    """One line of git's list of changed files, with its counts; a binary file has none."""

    path: str
    status: str
    old_path: str | None = None
    old_mode: str = ABSENT_MODE
    new_mode: str = ABSENT_MODE
    old_oid: str | None = None
    new_oid: str | None = None
    similarity: int | None = None
    insertions: int | None = None
    deletions: int | None = None

    @property
    def is_binary(self) -> bool:
        """Tell whether git counts no lines in it."""
        return self.insertions is None

    @property
    def n_pieces(self) -> int:
        """Return how many patches git prints for it: two where a file becomes a link or the other way round."""
        return 2 if self.status == "type-changed" and self.old_mode[:2] != self.new_mode[:2] else 1


@dataclass(frozen=True, slots=True)
class FileDifference:
    """How one file differs; `patch` is what git prints for it.

    `former_path` is the name that an added file had before, when that is not among the paths that were asked for.
    """

    change: RawChange
    patch: bytes = field(repr=False)
    former_path: str | None = None

    @property
    def has_same_content(self) -> bool:
        """Tell whether only its name or its mode changed."""
        change = self.change
        is_kept = change.status in {"modified", "renamed", "copied"} and change.new_mode != SUBMODULE_MODE
        return is_kept and next_hunk(self.patch, 0) is None and _BINARY not in self.patch


@dataclass(frozen=True, slots=True)
class Difference:
    """All files that differ, in git's order, with `digest` to compare with a later one."""

    files: tuple[FileDifference, ...]
    insertions: int
    deletions: int
    digest: str


@dataclass(frozen=True, slots=True)
class HunkHeader:
    """The place of a hunk on both sides, and the line that git shows beside it."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    heading: str
    end: int


def read_difference(root: Path, comparison: Comparison) -> Difference:
    """Return what differs; an unmerged file is compared with our side.

    Raises:
        CodePlaneError: git failed.
    """
    context = f"--unified={comparison.context_lines}"
    output = ask_git(root, "diff", *_OPTIONS, context, *_sides(comparison), *pathspecs(comparison.paths))
    reader = RawReader(output)
    changes = reader.changes()
    patches = output[reader.at + 1 :]
    starts = [found.start() for found in _PIECE.finditer(patches)]
    if len(starts) != sum(change.n_pieces for change in changes):
        raise CodePlaneError("GIT_FAILED", "git's patch does not fit its own list of files.")
    bounds = [*starts, len(patches)]
    files: list[FileDifference] = []
    at = 0
    for change in changes:
        pieces = [patches[bounds[i] : bounds[i + 1]] for i in range(at, at + change.n_pieces)]
        patch = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        change = _counted(change, pieces)  # noqa: PLW2901 - the same change, completed.
        at += change.n_pieces
        before = files[-1].change if files else None
        if before is not None and before.status == "unmerged" and before.path == change.path:
            # Git lists a conflicted file first and then compares it.
            files[-1] = FileDifference(replace(change, status="unmerged"), patch)
        else:
            files.append(FileDifference(change, patch))
    _mark_binary(root, comparison, files)
    former = _former_paths(root, comparison) if any(file.change.status == "added" for file in files) else {}
    return Difference(
        files=tuple(replace(file, former_path=former.get(file.change.path)) for file in files),
        insertions=sum(file.change.insertions or 0 for file in files),
        deletions=sum(file.change.deletions or 0 for file in files),
        digest=hashlib.blake2b(output, digest_size=16).hexdigest(),
    )


def list_changes(root: Path, comparison: Comparison) -> tuple[RawChange, ...]:
    """Return which files differ, renames recognised, without comparing their lines; an unmerged file comes once.

    Raises:
        CodePlaneError: git failed.
    """
    options = (*_LISTED, "--raw", "--no-abbrev", "--submodule=short", "-l5000")
    output = ask_git(root, "diff", *options, *_sides(comparison), *pathspecs(comparison.paths))
    # Git lists a conflicted file first and then compares it.
    return tuple({change.path: change for change in RawReader(output).changes()}.values())


def _counted(change: RawChange, pieces: list[bytes]) -> RawChange:
    """Return a change with the counts of its patch, which is cheaper than letting git compare everything twice."""
    insertions = deletions = 0
    if change.old_oid is not None and f"\n+Subproject commit {change.old_oid}-dirty".encode() in pieces[0]:
        # Git prints a line for a dirty submodule, but does not count it.
        return replace(change, insertions=0, deletions=0)
    for piece in pieces:
        hunk_at = next_hunk(piece, 0)
        if hunk_at is not None:
            insertions += piece.count(b"\n+", hunk_at)
            deletions += piece.count(b"\n-", hunk_at)
        elif _BINARY in piece:
            return change
    return replace(change, insertions=insertions, deletions=deletions)


def _mark_binary(root: Path, comparison: Comparison, files: list[FileDifference]) -> None:
    """Take the counts from binary files whose content is the same: no patch distinguishes those from text."""
    places = {file.change.path: i for i, file in enumerate(files) if file.has_same_content}
    if not places:
        return
    named = {name for i in places.values() for name in (files[i].change.path, files[i].change.old_path) if name}
    paths = tuple(RepoPath.known(name) for name in sorted(named)) if len(named) <= _MAX_NAMED else comparison.paths
    output = ask_git(root, "diff", *_LISTED, "--numstat", *_sides(comparison), *pathspecs(paths))
    for path in RawReader(output).binary_paths():
        if path in places:
            file = files[places[path]]
            files[places[path]] = replace(file, change=replace(file.change, insertions=None, deletions=None))


def next_hunk(patch: bytes, at: int) -> int | None:
    """Return where the next hunk begins; None when there is none."""
    found = _HUNK_START.search(patch, at)
    return found.start() if found else None


def read_hunk_header(patch: bytes, at: int) -> HunkHeader:
    """Return the header at a place of a patch.

    Raises:
        CodePlaneError: CURSOR_INVALID when there is none.
    """
    found = _HUNK.match(patch, at)
    if found is None:
        raise CodePlaneError("CURSOR_INVALID")
    old_start, old_lines, new_start, new_lines = (int(number) if number else 1 for number in found.groups()[:4])
    heading = found[5].decode("utf-8", "backslashreplace")
    return HunkHeader(old_start, old_lines, new_start, new_lines, heading, found.end() + 1)


class RawReader:
    """Reads git's list of changed files and, if they were asked for, the counts after it.

    Invariant: `at` is behind what was read.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def changes(self) -> tuple[RawChange, ...]:
        """Return the changes at this place; none when there is something else."""
        changes: list[RawChange] = []
        if self.data.startswith(b"\n:", self.at):
            self.at += 1
        while self.data.startswith(b":", self.at):
            changes.append(self._change())
        return tuple(changes)

    def counted(self, changes: tuple[RawChange, ...]) -> tuple[RawChange, ...]:
        """Return the changes with the counts at this place."""
        counts = [self._counts() for _ in changes]
        return tuple(
            replace(change, insertions=added, deletions=taken)
            for change, (_, added, taken) in zip(changes, counts, strict=True)
        )

    def binary_paths(self) -> frozenset[str]:
        """Return the new names of binary files in the counts from this place to the end."""
        found = set()
        while self.at < len(self.data):
            path, added, _ = self._counts()
            if added is None:
                found.add(path)
        return frozenset(found)

    def fields(self, count: int) -> list[bytes]:
        """Return the texts up to the next NULs, as many as wanted, and move past them."""
        # A block is large enough for nearly every commit; splitting the rest repeatedly would be quadratic.
        block = self.data[self.at : self.at + _BLOCK]
        texts = block.split(b"\0", count)
        if len(texts) <= count:
            return [self.field() for _ in range(count)]
        self.at += len(block) - len(texts.pop())
        return texts

    def field(self) -> bytes:
        """Return the text up to the next NUL and move past it."""
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text

    def _change(self) -> RawChange:
        old_mode, new_mode, old_oid, new_oid, status = decode(self.field()[1:]).split(" ")
        path = decode(self.field())
        old_path = None
        if status[0] in "RC":
            old_path, path = path, decode(self.field())
        return RawChange(
            path=path,
            status=CHANGES.get(status[0], status),
            old_path=old_path,
            old_mode=old_mode,
            new_mode=new_mode,
            old_oid=old_oid if old_oid.strip("0") else None,
            new_oid=new_oid if new_oid.strip("0") else None,
            similarity=int(status[1:]) if status[1:] else None,
        )

    def _counts(self) -> tuple[str, int | None, int | None]:
        """Return the new name of a file and its counts; a binary file has none."""
        found = _COUNTS.match(self.data, self.at)
        if found is None:
            raise CodePlaneError("GIT_FAILED", "git's counts do not fit its own list of files.")
        self.at = found.end()
        path = self.field()
        if not path:
            # Both names of a rename follow.
            self.field()
            path = self.field()
        return (decode(path), None, None) if found[1] == b"-" else (decode(path), int(found[1]), int(found[2]))


def _former_paths(root: Path, comparison: Comparison) -> dict[str, str]:
    """Return the names that files had before a rename; limited to paths, git only sees an added file."""
    if not comparison.paths:
        return {}
    options = ("-z", "--name-status", "--find-renames", "--diff-filter=R", "--no-ext-diff")
    parts = os.fsdecode(ask_git(root, "diff", *options, *_sides(comparison), "--")).split("\0")
    return dict(zip(parts[2::3], parts[1::3], strict=False))


def _sides(comparison: Comparison) -> tuple[str, ...]:
    base = (comparison.base,) if comparison.base is not None else ()
    if comparison.staged:
        return ("--cached", *base)
    if comparison.target is not None:
        return (*base, comparison.target)
    return base or ("--ours",)
