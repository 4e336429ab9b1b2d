"""Walk the working tree in a fixed order, saying what is left out."""

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.index.ignore_rules import IgnoreRules


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, directory or symbolic link in the tree."""

    path: RepoPath
    kind: str
    size: int
    depth: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that exists but is not shown, and the rule or reason."""

    path: str
    rule: str
    source: str
    is_directory: bool


def count_left_out(items: Iterable[LeftOut]) -> dict[str, int]:
    """Return how many paths each rule leaves out, by the rule and its source."""
    found: dict[str, int] = {}
    for item in items:
        key = f"{item.rule} ({item.source})"
        found[key] = found.get(key, 0) + 1
    return dict(sorted(found.items()))


def walk(root: Path, start: RepoPath, rules: IgnoreRules, max_depth: int | None) -> Iterator[Entry | LeftOut]:
    """Yield everything below `start`, directories before their content, names in byte order; links are not followed."""
    base, prefix = _start_on_disk(root, start)
    # A stack of open directories instead of recursion: trees may be deeper than Python's call stack.
    stack = [_directory_items(base, prefix, rules, 1)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        entry, directory = found
        yield entry
        if directory is not None and (max_depth is None or len(stack) < max_depth):
            stack.append(_directory_items(directory, f"{directory.relative_to(root)}/", rules, len(stack) + 1))


def _start_on_disk(root: Path, start: RepoPath) -> tuple[Path, str]:
    """Return where to start and what to put before names there; names on disk may be in decomposed form."""
    if start == RepoPath.ROOT:
        return root, ""
    spellings = (start.text, unicodedata.normalize("NFD", start.text))
    text = next((spelling for spelling in spellings if os.path.lexists(root / spelling)), start.text)
    return root / text, f"{text}/"


def _directory_items(
    directory: Path, prefix: str, rules: IgnoreRules, depth: int
) -> Iterator[tuple[Entry | LeftOut, Path | None]]:
    """Yield what one directory holds, each with its location if it is a directory to descend into."""
    try:
        with os.scandir(directory) as scan:
            found = sorted(scan, key=_order)
    except OSError as error:
        yield LeftOut(printable_name(prefix.rstrip("/")), f"unreadable: {error.strerror}", "file system", True), None
        return
    for item in found:
        is_directory = item.is_dir(follow_symlinks=False)
        entry = _entry_for(item, prefix, rules, depth, is_directory=is_directory)
        yield entry, directory / item.name if is_directory and isinstance(entry, Entry) else None


def _order(item: "os.DirEntry[str]") -> tuple[bytes, bytes]:
    """Order by the bytes of the name as it is shown, so that a cursor made of shown names finds its place."""
    return os.fsencode(unicodedata.normalize("NFC", item.name)), os.fsencode(item.name)


def _entry_for(
    item: "os.DirEntry[str]", prefix: str, rules: IgnoreRules, depth: int, *, is_directory: bool
) -> Entry | LeftOut:
    text = f"{prefix}{item.name}"
    rule = rules.exclusion_of_entry(text, is_directory=is_directory)
    if rule is not None:
        return LeftOut(printable_name(text), rule.line, rule.source, is_directory)
    try:
        path = RepoPath.parse(text)
        status = item.stat(follow_symlinks=False)
    except CodePlaneError as error:
        return LeftOut(printable_name(text), error.message, "name", is_directory)
    except OSError as error:
        return LeftOut(printable_name(text), f"unreadable: {error.strerror}", "file system", is_directory)
    return Entry(path, _kind(status.st_mode), 0 if is_directory else status.st_size, depth)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    return "file" if stat.S_ISREG(mode) else "special"
