"""Both sides of a semantic diff, read: git refs, the working tree, or epochs of the index.

What may not be shown is left out on both sides and said; files without a grammar are listed, not read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.core.secrets import holds_private_key
from codeplane.diff.model import FilePair
from codeplane.git.contents import empty_tree_beside, read_blobs
from codeplane.git.differences import Comparison, RawChange, list_changes
from codeplane.git.history import merge_base
from codeplane.git.inspection import find_in_tree
from codeplane.git.revisions import resolve, resolve_range
from codeplane.index.epoch_texts import check_kept, texts_between
from codeplane.index.facts.encoded import MAX_SOURCE_BYTES
from codeplane.index.tree_reader import TreeReader
from codeplane.languages.catalog import dialect_of, load_language
from codeplane.operations.file_access import check_readable
from codeplane.operations.git_status import check_known
from codeplane.operations.history_access import check_no_private_key, path_unknown, rule_for_name
from codeplane.workspace.workspace import Workspace

MAX_FILES: Final = 2_000
_MAX_BYTES: Final = 64 * 1024 * 1024
_SNIFF: Final = 8192
_EPOCH: Final = re.compile(r"^epoch:(\d{1,12})$")
_LINK: Final = "120000"
_REGULAR: Final = "10"
_STATUSES: Final = {"copied": "added", "type-changed": "modified", "unmerged": "modified"}


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared: two commits, a commit and the working tree (`target` is None) or the index, or two epochs."""

    base: str
    target: str | None
    base_words: str
    target_words: str
    epochs: tuple[int, int] | None = None
    staged: bool = False

    @property
    def is_current(self) -> bool:
        """Tell whether the new side is the working tree."""
        return self.target is None and not self.staged


@dataclass(slots=True)
class ReadSides:
    """The changed files with their texts; `unread` has those that were not read, `notes` say why."""

    pairs: list[FilePair] = field(default_factory=list)
    unread: list[FilePair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def leave_out(self, change: RawChange, why: str = "") -> None:
        """List a file without reading it; what needs no words is a file without a grammar."""
        self.unread.append(_pair(change, None, None))
        if why:
            self.notes.append(why)


def find_sides(workspace: Workspace, base: str, target: str | None, *, staged: bool = False) -> Sides:
    """Return what two names mean.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for an epoch beside a ref; EPOCH_NOT_KEPT; as `resolve`.
    """
    epochs = [_EPOCH.match(name) for name in (base, target) if name is not None]
    if any(epochs):
        return _epoch_sides(workspace, [int(one[1]) if one else None for one in epochs])
    root = workspace.root
    span = resolve_range(root, base) if target is None else None
    if span is not None:
        first = merge_base(root, span.base, span.tip) if span.is_symmetric else span.base
        if first is None:
            raise CodePlaneError("GIT_UNRELATED")
        return Sides(first, span.tip, first[:12], span.tip[:12])
    try:
        old = resolve(root, base)
    except CodePlaneError as error:
        if error.code != "GIT_NO_COMMITS" or target is not None:
            raise
        old, base = empty_tree_beside(None), "nothing, there is no commit yet"
    if target is None:
        new_words = "index (staged)" if staged else "working tree"
        return Sides(old, None, f"{base} ({old[:12]})", new_words, staged=staged)
    new = resolve(root, target)
    return Sides(old, new, f"{base} ({old[:12]})", f"{target} ({new[:12]})")


def _epoch_sides(workspace: Workspace, epochs: list[int | None]) -> Sides:
    if None in epochs:
        message = "An epoch can only be compared with an epoch or with the working tree."
        raise CodePlaneError("INVALID_ARGUMENTS", message, hint='Use base="epoch:N" and target="epoch:M".')
    numbers = [one for one in epochs if one is not None]
    with workspace.index.facts() as reader:
        for one in numbers:
            check_kept(reader, one)
        newest = reader.epoch
    old, new = (*numbers, newest)[:2]
    words = f"epoch {new}" if len(numbers) > 1 else f"working tree (epoch {new})"
    return Sides("", None if new == newest else str(new), f"epoch {old}", words, (old, new))


def read_sides(workspace: Workspace, sides: Sides, paths: tuple[RepoPath, ...]) -> ReadSides:
    """Read both versions of every changed file.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN for a path that neither side has; git failed.
    """
    if sides.epochs is not None:
        return _read_epochs(workspace, sides.epochs, paths)
    comparison = Comparison(sides.base, sides.target, sides.staged, paths)
    changes = list(list_changes(workspace.root, comparison))
    if sides.is_current:
        check_known(workspace, paths)
        changes += _untracked(workspace, paths, {one.path for one in changes})
    elif paths and not changes:
        _check_in_trees(workspace, sides, paths)
    return _read_changes(workspace, sides, sorted(changes, key=lambda one: one.path))


def _untracked(workspace: Workspace, paths: tuple[RepoPath, ...], known: set[str]) -> Iterator[RawChange]:
    for name in workspace.new_files():
        if name not in known and _is_below(name, paths):
            is_link = (workspace.root / name).is_symlink()
            yield RawChange(name, "added", new_mode=_LINK if is_link else "100644")


def _is_below(name: str, paths: tuple[RepoPath, ...]) -> bool:
    return not paths or any(
        path == RepoPath.ROOT or name == path.text or name.startswith(f"{path.text}/") for path in paths
    )


def _check_in_trees(workspace: Workspace, sides: Sides, paths: tuple[RepoPath, ...]) -> None:
    for path in paths:
        for tree in (sides.base, sides.target or "HEAD"):
            try:
                find_in_tree(workspace.root, tree, path)
                break
            except CodePlaneError:
                continue
        else:
            raise path_unknown(workspace, path, f"Neither side has {path}.")


def _read_changes(workspace: Workspace, sides: Sides, changes: list[RawChange]) -> ReadSides:
    found = ReadSides()
    wanted = _wanted(workspace, changes, found)
    is_kept = not sides.is_current
    oids = [oid for one in wanted for oid in (one.old_oid, one.new_oid if is_kept else None) if oid is not None]
    blobs = read_blobs(workspace.root, oids, MAX_SOURCE_BYTES)
    n_bytes = 0
    with TreeReader(workspace.root, MAX_SOURCE_BYTES) as reader:
        for change in wanted:
            try:
                old = _blob(workspace, change.old_path or change.path, change.old_oid, blobs)
                new = (
                    _blob(workspace, change.path, change.new_oid, blobs)
                    if is_kept
                    else _file(workspace, reader, change)
                )
            except CodePlaneError as error:
                found.leave_out(change, error.message)
                continue
            n_bytes += len(old or b"") + len(new or b"")
            if n_bytes > _MAX_BYTES:
                found.leave_out(change, f"{change.path} was not analysed: there is too much text to compare at once")
            elif b"\0" in (old or b"")[:_SNIFF] or b"\0" in (new or b"")[:_SNIFF]:
                found.leave_out(change)
            else:
                found.pairs.append(_pair(change, old, new))
    return found


def _wanted(workspace: Workspace, changes: list[RawChange], found: ReadSides) -> list[RawChange]:
    """Return the changes whose files are read; the others are left out, with the reason."""
    rules = workspace.ignore_rules()
    wanted: list[RawChange] = []
    n_left = 0
    for change in changes:
        names = [name for name in (change.path, change.old_path) if name is not None]
        rule = next((one for name in names if (one := rule_for_name(rules, name)) is not None), None)
        if rule is not None:
            found.leave_out(change, f"{change.path} is withheld by the rule `{rule.line}` ({rule.source})")
        elif not _is_readable(change):
            found.leave_out(change)
        elif len(wanted) >= MAX_FILES:
            found.leave_out(change)
            n_left += 1
        else:
            wanted.append(change)
    if n_left:
        found.notes.append(f"{counted(n_left, 'changed file')} not analysed: {MAX_FILES} at once; name paths")
    return wanted


def _is_readable(change: RawChange) -> bool:
    """Tell whether a change is of a regular file whose language has a grammar."""
    modes = [mode for mode in (change.old_mode, change.new_mode) if mode.strip("0")]
    names = [name for name in (change.path, change.old_path) if name is not None]
    return all(mode.startswith(_REGULAR) for mode in modes) and any(
        load_language(dialect_of(name)) is not None for name in names
    )


def _pair(change: RawChange, old: bytes | None, new: bytes | None) -> FilePair:
    status = _STATUSES.get(change.status, change.status)
    old_path = change.old_path if change.status == "renamed" else None
    return FilePair(change.path, status, old, new, old_path)


def _blob(workspace: Workspace, path: str, oid: str | None, blobs: dict[str, bytes]) -> bytes | None:
    if oid is None:
        return None
    data = blobs.get(oid)
    if data is None:
        raise CodePlaneError("FILE_TOO_LARGE", f"{path} was not analysed: one version is missing or too large.")
    check_no_private_key(workspace.ignore_rules(), RepoPath.known(path), data)
    return data


def _file(workspace: Workspace, reader: TreeReader, change: RawChange) -> bytes | None:
    """Return the bytes of a file in the working tree, None when it is not there."""
    if change.status == "deleted":
        return None
    path = RepoPath.known(change.path)
    check_readable(workspace.ignore_rules(), path)
    data, problem = reader.read(change.path)
    if problem:
        raise CodePlaneError("FILE_READ_FAILED", f"{path} was not analysed: {problem}.")
    if data is not None and len(data) > MAX_SOURCE_BYTES:
        raise CodePlaneError("FILE_TOO_LARGE", f"{path} was not analysed: it is too large.")
    return data


def _read_epochs(workspace: Workspace, epochs: tuple[int, int], paths: tuple[RepoPath, ...]) -> ReadSides:
    found = ReadSides()
    rules = workspace.ignore_rules()
    with workspace.index.facts() as reader:
        for one in texts_between(reader, *epochs):
            if not _is_below(one.path, paths) or rule_for_name(rules, one.path) is not None:
                continue
            pair = FilePair(one.path, one.status, one.old, one.new)
            is_text = one.old is None and one.new is None
            is_key = any(holds_private_key(text) for text in (one.old or b"", one.new or b""))
            if is_text or is_key or len(found.pairs) >= MAX_FILES:
                found.unread.append(replace(pair, old=None, new=None))
            else:
                found.pairs.append(pair)
    return found
