"""Which lines each commit brought, file by file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codeplane.git.commands import OUTPUT_LIMIT, ask_git
from codeplane.git.quoted_names import unquoted

_HUNK: Final = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_INDEX: Final = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")


@dataclass(slots=True)
class CommittedFile:
    """One file of a commit; `added` are the numbers of new lines, a blob is None where there is no file."""

    path: str = ""
    old_path: str = ""
    old_blob: str | None = None
    new_blob: str | None = None
    added: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RangeCommit:
    """One commit of a range, oldest first; a merge brings no lines of its own."""

    oid: str
    is_merge: bool
    message: str


def commits_in(root: Path, base: str | None, tip: str) -> list[RangeCommit]:
    """Return the commits that lead from one to another, oldest first; without a base only the tip."""
    wanted = (f"{base}..{tip}",) if base is not None else ("-1", tip)
    listing = ask_git(root, "log", "--reverse", "-z", "--format=%H%n%P%n%B", *wanted, output_limit=OUTPUT_LIMIT)
    found = []
    for entry in listing.decode("utf-8", "replace").split("\0"):
        oid, _, rest = entry.partition("\n")
        parents, _, message = rest.partition("\n")
        if oid:
            found.append(RangeCommit(oid, len(parents.split()) > 1, message))
    return found


def files_of_commit(root: Path, commit: str) -> list[CommittedFile]:
    """Return the files that a commit changed against its only parent.

    Raises:
        CodePlaneError: git failed.
    """
    output = ask_git(
        root, "diff-tree", "--root", "-r", "-M", "-U0", "-p", "--full-index", "--no-ext-diff", "--no-textconv",
        "--no-commit-id", "--src-prefix=a/", "--dst-prefix=b/", commit, output_limit=OUTPUT_LIMIT,
    )  # fmt: skip
    return list(_parsed(output))


def _parsed(output: bytes) -> Iterator[CommittedFile]:
    file: CommittedFile | None = None
    n_left = 0
    for line in output.split(b"\n"):
        if n_left and line[:1] in {b"+", b"-", b"\\"}:
            # The text of a hunk may look like a header.
            n_left -= line[:1] != b"\\"
            continue
        if line.startswith(b"diff --git "):
            if file is not None:
                yield file
            file = _named(line)
            continue
        if file is None:
            continue
        n_left = _take(file, line)
    if file is not None:
        yield file


def _take(file: CommittedFile, line: bytes) -> int:
    """Read one header line; return how many lines of text follow."""
    hunk, index = _HUNK.match(line), _INDEX.match(line)
    if hunk is not None:
        first, count = int(hunk[1]), int(hunk[2] or 1)
        file.added += range(first, first + count)
        return count + _n_removed(line)
    if index is not None:
        old, new = (one.decode() if one.strip(b"0") else None for one in index.groups())
        file.old_blob, file.new_blob = old, new
    for mark, name in ((b"rename from ", "old_path"), (b"rename to ", "path")):
        if line.startswith(mark):
            setattr(file, name, unquoted(line.removeprefix(mark)))
    for mark, name in ((b"--- ", "old_path"), (b"+++ ", "path")):
        if line.startswith(mark) and line != mark + b"/dev/null":
            setattr(file, name, unquoted(line.removeprefix(mark).removesuffix(b"\t"))[2:])
    return 0


def _n_removed(line: bytes) -> int:
    count = line.split(b" ")[1].partition(b",")[2]
    return int(count or 1)


def _named(line: bytes) -> CommittedFile:
    """Return a file by its header, for changes without text: a mode, an empty file, a binary one."""
    names = line.removeprefix(b"diff --git ")
    if names.startswith(b'"'):
        old = names[: names.index(b'" ') + 1]
        name = unquoted(old)[2:]
    else:
        # Both names are equal unless it is a rename, which has lines of its own.
        name = unquoted(names[: len(names) // 2])[2:]
    return CommittedFile(name, name)
