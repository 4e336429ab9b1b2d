"""One pass over the working tree: which files exist, which are left out, and the stamp of each.

`scan(tree, before)` is a function of the tree and of the scan before it. It asks every file for its stamp each time.
It lists a directory again only when the directory's own stamp differs, which happens whenever a name in it appears,
disappears or is replaced: on Django (6,900 files) a pass takes 65 ms, and 200 ms when every directory is listed.
Ignore rules cost more than both, so a listing also holds what was decided about each of its names.

Most passes find the names of the pass before. They read all stamps at once and look only at those that differ.
"""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.index.discovery import LeftOut
from codeplane.index.ignore_rules import IGNORE_FILE, IgnoreRules

# File systems keep times in steps: a file written within this distance of its reading may have changed unseen.
RACY_NS: Final = 1_000_000_000
# Some file systems keep the times of directories in steps of two seconds.
_RACY_LISTING_NS: Final = 3_000_000_000
_KIND_MASK: Final = 0o170000

Stamp = tuple[int, int, int, int, int, int]
"""Times of content and of attributes, size, inode, device, mode."""
_STAMP_OF: Final = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_dev", "st_mode")


class FileStamp(NamedTuple):
    """What `stat` says about a file; equal stamps mean equal content unless the file was read too soon after.

    A tuple, because a scan makes one for every file.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    def is_racy(self, checked_ns: int) -> bool:
        """Tell whether the file could have been written again after it was read at `checked_ns`."""
        return max(self.mtime_ns, self.ctime_ns) > checked_ns - RACY_NS


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree to scan, and what decides which of its files are indexed.

    `tracking_stamps` differ when git may track other files. `directories_tell` says that the file system changes a
    directory's stamp when a name in it appears or disappears. `policy` names the rules that do not come from files.
    """

    root: Path
    rules: Callable[[], IgnoreRules]
    tracking_stamps: Callable[[], object]
    now_ns: Callable[[], int]
    directories_tell: bool = True
    policy: str = ""


class Listing(NamedTuple):
    """The names in one directory, each with its path in the index or the reason why it is left out.

    Names of directories end with a slash. `stamp` is the directory's own, taken before it was listed; None when a
    later change might not alter it. `asked_git` says that a decision depended on what git tracks.
    """

    stamp: Stamp | None
    entries: dict[str, str | LeftOut]
    asked_git: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one pass: files with their stamps, and everything that is left out, by path.

    Invariant: `places` and `stamps` run parallel; `names` gives for each the prefix of a directory or the path of a
    file. `is_whole` says that every directory could be read and the next pass may build on these lists.
    """

    files: dict[str, FileStamp]
    left_out: tuple[LeftOut, ...]
    listings: dict[str, Listing]
    decided_by: tuple[str, str]
    begun_ns: int = 0
    places: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    stamps: tuple[Stamp | None, ...] = ()
    is_whole: bool = False


def scan(tree: Tree, before: Scan | None) -> Scan:
    """Return what the tree holds; `before` is the last scan, or one that `scan_from_text` restored."""
    decided_by = (tree.policy, repr(tree.tracking_stamps()))
    begun_ns = tree.now_ns()
    if before is not None and before.decided_by != decided_by:
        before = _without_tracking(before) if before.decided_by[0] == tree.policy else None
    found = _look_again(tree, before) if before is not None and before.is_whole else None
    if found is None:
        found = _walk(tree, before.listings if before is not None else {}, {})
    if _must_decide_again(before, found, begun_ns):
        found = _walk(tree, {}, {})
    return replace(found, decided_by=decided_by, begun_ns=begun_ns)


def scan_to_text(scanned: Scan) -> str:
    """Return the listings of a scan and the stamps of ignore files, for the next process."""
    listings = {
        prefix: (one.stamp, {name: _stored(prefix, name, entry) for name, entry in one.entries.items()}, one.asked_git)
        for prefix, one in scanned.listings.items()
    }
    return json.dumps((scanned.decided_by, _rule_stamps(scanned.files), listings), separators=(",", ":"))


def scan_from_text(text: str) -> Scan | None:
    """Return a scan that the next one can build on; None when the text is not what `scan_to_text` returned."""
    try:
        (policy, tracking), rules, stored = json.loads(text)
        listings = {prefix: _restored(prefix, *one) for prefix, one in stored.items()}
        files = {path: FileStamp(*stamp) for path, stamp in rules.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return Scan(files, (), listings, (policy, tracking))


def directories_tell(directory: Path) -> bool:
    """Tell whether the file system changes a directory's stamp when a name in it appears or disappears.

    Everything meant for working trees does. Where one does not, a kept listing would hide new files.
    """
    probe = directory / f".listing-{os.getpid()}"
    try:
        os.utime(directory, ns=(0, 0))
        probe.touch()
        has_told = directory.stat().st_mtime_ns > 0
        os.utime(directory, ns=(0, 0))
        probe.unlink()
    except OSError:
        return False
    return has_told and directory.stat().st_mtime_ns > 0


def _look_again(tree: Tree, before: Scan) -> Scan | None:
    """Return the result when all names are those of the scan before; otherwise walk, reusing the stamps just read."""
    stamps = _read_stamps(before.places)
    files, listings = before.files, before.listings
    relisted: list[str] = [prefix for prefix, one in listings.items() if one.stamp is None]
    if stamps != before.stamps:
        files = dict(files)
        for name, stamp, old in zip(before.names, stamps, before.stamps, strict=True):
            if stamp == old:
                continue
            if _is_directory(name):
                relisted.append(name)
            elif stamp is None or stamp[-1] & _KIND_MASK != stat.S_IFREG or name not in files:
                return _walk(tree, listings, dict(zip(before.places, stamps, strict=True)))
            else:
                files[name] = FileStamp(*stamp[:4])
    if relisted:
        rules = tree.rules()
        listings = dict(listings)
        is_same = True
        for prefix in dict.fromkeys(relisted):
            known = listings[prefix]
            try:
                listings[prefix] = _list(tree, prefix, _stamp_of(_place(tree, prefix)), rules, known)
            except OSError:
                is_same = False
            is_same = is_same and listings[prefix].entries == known.entries
        if not is_same:
            return _walk(tree, listings, dict(zip(before.places, stamps, strict=True)))
    return replace(before, files=files, listings=listings, stamps=stamps)


def _walk(tree: Tree, known: Mapping[str, Listing], stamps: Mapping[str, Stamp | None]) -> Scan:
    """Return what the tree holds; kept listings are used where they hold, and stamps that were just read."""
    rules = tree.rules()
    files: dict[str, FileStamp] = {}
    left_out: list[LeftOut] = []
    listings: dict[str, Listing] = {}
    seen: list[tuple[str, str, Stamp | None]] = []
    is_whole = tree.directories_tell
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        place = _place(tree, prefix)
        try:
            stamp = stamps.get(place) or _stamp_of(place)
            listing = known.get(prefix)
            if listing is None or listing.stamp != stamp:
                listing = _list(tree, prefix, stamp, rules, listing)
        except (FileNotFoundError, NotADirectoryError):
            # Removed or replaced since it was listed.
            continue
        except OSError as error:
            reason = f"unreadable: {error.strerror}"
            left_out.append(LeftOut(printable_name(prefix[:-1]), reason, "file system", is_directory=True))
            is_whole = False
            continue
        listings[prefix] = listing
        seen.append((place, prefix, stamp))
        waiting += [
            f"{prefix}{name}" for name, one in listing.entries.items() if name[-1] == "/" and isinstance(one, str)
        ]
        left_out += [one for one in listing.entries.values() if isinstance(one, LeftOut)]
        for place, path in _files_in(tree, prefix, listing):
            file_stamp = stamps.get(place) or _stamp_or_none(place)
            if file_stamp is None:
                # Removed since it was listed.
                continue
            seen.append((place, path, file_stamp))
            kind = file_stamp[-1] & _KIND_MASK
            if kind == stat.S_IFREG:
                files[path] = FileStamp(*file_stamp[:4])
            elif kind not in {stat.S_IFLNK, stat.S_IFDIR}:
                left_out.append(LeftOut(path, "not a regular file", "file system", is_directory=False))
    left_out.sort(key=lambda item: item.path)
    places, names, read = zip(*seen, strict=True) if seen else ((), (), ())
    return Scan(files, tuple(left_out), listings, ("", ""), 0, places, names, read, is_whole and bool(seen))


def _files_in(tree: Tree, prefix: str, listing: Listing) -> list[tuple[str, str]]:
    """Return the files of a directory: their places on disk, and the paths they are indexed under."""
    entries = listing.entries.items()
    return [(f"{tree.root}/{prefix}{name}", one) for name, one in entries if name[-1] != "/" and isinstance(one, str)]


def _list(tree: Tree, prefix: str, stamp: Stamp, rules: IgnoreRules, known: Listing | None) -> Listing:
    """List one directory; names that a kept listing holds are not decided again."""
    if stamp[-1] & _KIND_MASK != stat.S_IFDIR:
        # A symlink in its place would lead out of the tree.
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), prefix)
    # The stamp is older than the listing: a change in between makes the next pass list again.
    is_settled = tree.directories_tell and max(stamp[0], stamp[1]) < tree.now_ns() - _RACY_LISTING_NS
    decided = known.entries if known is not None else {}
    asked_git = known is not None and known.asked_git
    entries: dict[str, str | LeftOut] = {}
    with os.scandir(f"{tree.root}/{prefix}"[:-1]) as found:
        for item in found:
            is_directory = item.is_dir(follow_symlinks=False)
            # A directory and a file of the same name are decided apart, for one may become the other.
            name = f"{item.name}/" if is_directory else item.name
            entry = decided.get(name)
            if entry is None:
                rules.tracking_decided = False
                entry = _decide(tree.root, f"{prefix}{item.name}", rules, is_directory=is_directory)
                asked_git = asked_git or rules.tracking_decided
            entries[name] = entry
    return Listing(stamp if is_settled else None, entries, asked_git)


def _decide(root: Path, text: str, rules: IgnoreRules, *, is_directory: bool) -> str | LeftOut:
    """Return the path under which a name on disk is indexed, or why it is left out."""
    rule = rules.exclusion_of_entry(text, is_directory=is_directory)
    if rule is not None:
        return LeftOut(printable_name(text), rule.line, rule.source, is_directory)
    try:
        path = RepoPath.parse(text).text
    except CodePlaneError as error:
        return LeftOut(printable_name(text), error.message, "name", is_directory)
    if path != text and os.path.lexists(root / path):
        reason = "its name is that of another file, written in another form of Unicode"
        return LeftOut(f"{printable_name(text)} (decomposed)", reason, "name", is_directory)
    return path


def _must_decide_again(before: Scan | None, found: Scan, begun_ns: int) -> bool:
    """Tell whether an ignore file is not what kept decisions were made with, or may have changed during the pass."""
    if before is None:
        return any(stamp.is_racy(begun_ns) for stamp in _rule_stamps(found.files).values())
    return found.files is not before.files and _rule_stamps(found.files) != _rule_stamps(before.files)


def _without_tracking(before: Scan) -> Scan:
    """Return a scan without the directories in which a decision depended on what git tracks."""
    kept = {prefix: one for prefix, one in before.listings.items() if not one.asked_git}
    return replace(before, listings=kept, is_whole=False)


def _rule_stamps(files: Mapping[str, FileStamp]) -> dict[str, FileStamp]:
    return {path: files[path] for path in sorted(path for path in files if path.endswith(IGNORE_FILE))}


def _place(tree: Tree, prefix: str) -> str:
    # The root may be a link; what counts is the directory it leads to.
    return f"{tree.root}/{prefix[:-1] or '.'}"


def _is_directory(name: str) -> bool:
    return not name or name.endswith("/")


def _stored(prefix: str, name: str, entry: str | LeftOut) -> object:
    """Return an entry as it is kept, 0 for a name that is indexed as it is."""
    if isinstance(entry, str):
        return 0 if entry == f"{prefix}{name}".removesuffix("/") else entry
    return entry.path, entry.rule, entry.source, entry.is_directory


def _restored(prefix: str, stamp: Iterable[int] | None, entries: Mapping[str, object], asked_git: object) -> Listing:
    """Return a kept listing.

    Raises:
        ValueError: it has a name that no directory can hold and that may lead out of the tree.
    """
    if prefix.startswith("/") or "//" in prefix or ".." in prefix.split("/"):
        raise ValueError(prefix)
    found: dict[str, str | LeftOut] = {}
    for name, one in entries.items():
        plain = name.removesuffix("/")
        if "/" in plain or plain in {"", ".", ".."}:
            raise ValueError(name)
        found[name] = prefix + plain if one == 0 else one if isinstance(one, str) else LeftOut(*one)  # type: ignore[misc]  # checked where it is used
    return Listing(tuple(stamp) if stamp is not None else None, found, bool(asked_git))  # type: ignore[arg-type]  # as above


def _stamp_of(place: str) -> Stamp:
    """Return the stamp at a place, of a link and not of its target.

    Raises:
        OSError: nothing is there, or it cannot be read.
    """
    return _STAMP_OF(os.lstat(place))


def _read_stamps(places: Iterable[str]) -> tuple[Stamp | None, ...]:
    try:
        return tuple(map(_STAMP_OF, map(os.lstat, places)))
    except OSError:
        return tuple(_stamp_or_none(place) for place in places)


def _stamp_or_none(place: str) -> Stamp | None:
    try:
        return _stamp_of(place)
    except OSError:
        return None
