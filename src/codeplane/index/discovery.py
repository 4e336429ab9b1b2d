"""Walk the working tree in a fixed order, saying what is left out."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.ignore_rules import IgnoreRules


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, directory or symbolic link that is there."""

    path: RepoPath
    kind: str
    size: int
    depth: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is there but not shown, and the rule or reason."""

    path: str
    rule: str
    source: str
    is_directory: bool


def walk(root: Path, start: RepoPath, rules: IgnoreRules, max_depth: int | None) -> Iterator[Entry | LeftOut]:
    """Yield everything below `start`, directories before their content, names in byte order; links are not followed."""
    base = root if start == RepoPath.ROOT else root / start.text
    prefix = "" if start == RepoPath.ROOT else f"{start.text}/"
    yield from _walk_directory(base, prefix, rules, 1, max_depth)


def _walk_directory(
    directory: Path, prefix: str, rules: IgnoreRules, depth: int, max_depth: int | None
) -> Iterator[Entry | LeftOut]:
    try:
        with os.scandir(directory) as scan:
            found = sorted(scan, key=lambda item: os.fsencode(item.name))
    except OSError as error:
        yield LeftOut(prefix.rstrip("/"), f"unreadable: {error.strerror}", "file system", is_directory=True)
        return
    for item in found:
        is_directory = item.is_dir(follow_symlinks=False)
        entry = _entry_for(item, prefix, rules, depth, is_directory=is_directory)
        yield entry
        if is_directory and isinstance(entry, Entry) and (max_depth is None or depth < max_depth):
            yield from _walk_directory(directory / item.name, f"{prefix}{item.name}/", rules, depth + 1, max_depth)


def _entry_for(
    item: "os.DirEntry[str]", prefix: str, rules: IgnoreRules, depth: int, *, is_directory: bool
) -> Entry | LeftOut:
    text = f"{prefix}{item.name}"
    rule = rules.exclusion_of_entry(text, is_directory=is_directory)
    if rule is not None:
        return LeftOut(_printable(text), rule.line, rule.source, is_directory)
    try:
        path = RepoPath.parse(text)
        status = item.stat(follow_symlinks=False)
    except CodePlaneError as error:
        return LeftOut(_printable(text), error.message, "name", is_directory)
    except OSError as error:
        return LeftOut(_printable(text), f"unreadable: {error.strerror}", "file system", is_directory)
    return Entry(path, _kind(status.st_mode), 0 if is_directory else status.st_size, depth)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    return "file" if stat.S_ISREG(mode) else "special"


def _printable(text: str) -> str:
    return os.fsencode(text).decode("utf-8", errors="backslashreplace")
