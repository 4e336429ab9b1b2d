"""Contents of objects, and how many lines differ between them."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.repository import run_git

# The empty tree, by the length of an object's name.
_EMPTY_TREES: Final = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


def empty_tree_beside(oid: str | None) -> str:
    """Return the name of the empty tree in a repository whose objects have names like this one."""
    return _EMPTY_TREES[len(oid) if oid is not None and len(oid) in _EMPTY_TREES else 40]


def read_blobs(root: Path, oids: Iterable[str], largest: int) -> dict[str, bytes]:
    """Return the bytes of blobs by id; missing and larger ones are left out."""
    wanted = sorted(set(oids))
    if not wanted:
        return {}
    asked = "".join(f"{oid}\n" for oid in wanted).encode()
    read = run_git(root, "cat-file", "--batch", "--buffer", stdin=asked, output_limit=2 * largest)
    if read.returncode == 0 and not read.stdout_dropped:
        return {oid: data for oid, data in _blobs_in(read.stdout) if len(data) <= largest}
    # Some are so large that they must be skipped before reading.
    sizes = ask_git(
        root, "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", "--buffer", stdin=asked
    )
    rows = ((*line.split(" "), "", "")[:3] for line in sizes.decode().splitlines())
    small = "".join(f"{oid}\n" for oid, kind, size in rows if kind == "blob" and int(size) <= largest)
    return dict(_blobs_in(ask_git(root, "cat-file", "--batch", "--buffer", stdin=small.encode())))


def _blobs_in(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the blobs in what `git cat-file --batch` printed."""
    start = 0
    while start < len(data):
        end = data.index(b"\n", start)
        oid, kind, size = (*data[start:end].decode().split(" "), "", "0")[:3]
        start = end + 1
        if kind == "missing":
            continue
        if kind == "blob":
            yield oid, data[start : start + int(size)]
        start += int(size) + 1


def changed_lines_of_trees(root: Path, old: str, new: str) -> dict[str, tuple[str | None, str | None, int, int]]:
    """Return the objects and changed line counts of each path that differs between two trees."""
    listing = ask_git(root, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--numstat", "--no-abbrev", old, new)
    found: dict[str, tuple[str | None, str | None, int, int]] = {}
    parts = os.fsdecode(listing).split("\0")
    number = 0
    while number < len(parts) and parts[number].startswith(":"):
        _, _, before, after, _ = parts[number].split(" ")
        found[parts[number + 1]] = (_oid_or_none(before), _oid_or_none(after), 0, 0)
        number += 2
    for item in parts[number:]:
        if item:
            added, removed, path = item.split("\t", 2)
            before_oid, after_oid, _, _ = found[path]
            found[path] = (before_oid, after_oid, _count(added), _count(removed))
    return found


def changed_lines_of_blobs(
    root: Path, pairs: Mapping[str, tuple[str | None, str | None]]
) -> dict[str, tuple[int, int]]:
    """Return the numbers of added and removed lines between pairs of blobs, by the same keys."""
    keys = list(pairs)
    trees = []
    for side in (0, 1):
        lines = "".join(
            f"100644 blob {pairs[key][side]}\t{number}\0" for number, key in enumerate(keys) if pairs[key][side]
        )
        conditions = Conditions(stdin=lines.encode(), runs_hooks=False)
        trees.append(must_change(root, "mktree", "-z", "--missing", conditions=conditions).stdout_text.strip())
    counted = changed_lines_of_trees(root, trees[0], trees[1])
    return {key: counted.get(str(number), (None, None, 0, 0))[2:] for number, key in enumerate(keys)}


def _oid_or_none(oid: str) -> str | None:
    return oid if oid.strip("0") else None


def _count(text: str) -> int:
    return int(text) if text != "-" else 0
