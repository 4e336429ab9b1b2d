"""One pass over the working tree: which files are there, and which may have changed since they were last read.

Every file is asked for its stamp each time. What a directory holds is listed again only when the directory's own stamp
differs, which it does whenever a name in it comes, goes or is replaced: half of a pass would be listing. Ignore rules
cost more than both, so decisions about paths are kept as long as nothing that decides them has changed.
"""

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.index.discovery import LeftOut
from codeplane.index.ignore_rules import IGNORE_FILE, IgnoreRules

# File systems keep times in steps; a file written within this distance of its reading may have changed unseen.
RACY_NS = 1_000_000_000
# Directories are trusted later than files: some file systems keep the times of directories in steps of two seconds.
_RACY_LISTING_NS: Final = 3_000_000_000
# From so many files on it pays to prepare for much work.
MANY_FILES: Final = 1000
_KIND_OF_FILE: Final = 0o170000
_REGULAR: Final = stat.S_IFREG
_LINK: Final = stat.S_IFLNK
_DIRECTORY: Final = stat.S_IFDIR


class FileStamp(NamedTuple):
    """What `stat` says of a file; equal stamps mean the same content unless the file was read too soon after.

    A tuple, because a sweep makes one for every file.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    def is_racy(self, checked_ns: int) -> bool:
        """Tell whether the file could have been written again after it was read at `checked_ns`."""
        return max(self.mtime_ns, self.ctime_ns) > checked_ns - RACY_NS


ManyFiles = Callable[[Mapping[str, FileStamp]], None]


@dataclass(slots=True)
class Sweep:
    """What one pass found."""

    files: dict[str, FileStamp] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


_DirectoryStamp = tuple[int, int, int, int]


class _Listing(NamedTuple):
    """What one directory holds, as far as it is in.

    `stamp` is the directory's own, taken before it was listed; None when it was too fresh to tell a later change.
    Files come with their place on disk and the path they are indexed under, directories with their prefix and place.
    """

    stamp: _DirectoryStamp | None
    files: list[tuple[str, str]]
    directories: list[tuple[str, str]]
    left_out: list[LeftOut]


class Sweeper:
    """Walks the tree and remembers decisions about paths, and what directories hold.

    Invariant: a kept decision is used only while every `.cplignore` seen is as it was, and one that asked what git
    tracks only while `deciders()` (git's index) is as it was. Decisions map the name on disk to the path it is indexed
    under, None for what is left out. A kept listing is used only while its directory has the same stamp and all
    decisions in it hold; where directories do not tell (`keeps_listings`), each is listed every time.
    """

    def __init__(
        self,
        root: Path,
        rules: Callable[[], IgnoreRules],
        deciders: Callable[[], object],
        now_ns: Callable[[], int],
        *,
        keeps_listings: bool = True,
    ) -> None:
        self._root = root
        self._make_rules = rules
        self._deciders = deciders
        self._now_ns = now_ns
        self._keeps_listings = keeps_listings
        self._listings: dict[str, _Listing] = {}
        self._decided_by: object = None
        self._ignore_paths: set[str] = set()
        self._ignore_stamps: dict[str, FileStamp] = {}
        self._decisions: dict[str, str | None] = {}
        self._out: dict[str, LeftOut] = {}
        self._by_tracking: set[str] = set()

    def prime(
        self, files: Mapping[str, FileStamp], left_out: Iterable[LeftOut], decided_by: str, by_tracking: Iterable[str]
    ) -> None:
        """Take over the decisions of an earlier process, those by tracking only if git's index is still the same.

        A name on disk that is not shown as it is, or a directory without files, is simply decided again.
        """
        self._decided_by = self._deciders()
        self._by_tracking = set(by_tracking)
        self._ignore_paths = {path for path in files if path.endswith(IGNORE_FILE)}
        self._ignore_stamps = self._stamps_of_rules(files)
        for path in files:
            self._decisions[path] = path
            parent = path.rpartition("/")[0]
            while parent and f"{parent}/" not in self._decisions:
                self._decisions[f"{parent}/"] = parent
                parent = parent.rpartition("/")[0]
        for item in left_out:
            if item.source != "file system" and printable_name(item.path) == item.path:
                name = f"{item.path}/" if item.is_directory else item.path
                self._decisions[name] = None
                self._out[name] = item
        if repr(self._decided_by) != decided_by:
            self._forget_tracking()

    @property
    def by_tracking(self) -> frozenset[str]:
        """Return the names whose decision asked what git tracks."""
        return frozenset(self._by_tracking)

    @property
    def decided_by(self) -> str:
        """Return what the decisions rest on, to be kept for the next process."""
        return repr(self._decided_by)

    def sweep(self, expect_many: ManyFiles | None = None) -> Sweep:
        """Return every file that is in, with its stamp, and everything that is left out, in a fixed order.

        `expect_many` is told the files so far as soon as they are many, once.
        """
        deciders = self._deciders()
        if deciders != self._decided_by:
            self._forget_tracking()
        found = self._walk(expect_many)
        ignore_stamps = self._stamps_of_rules(found.files)
        if ignore_stamps != self._ignore_stamps:
            # An ignore file changed, so every decision is made anew.
            self._forget()
            found = self._walk()
            ignore_stamps = self._stamps_of_rules(found.files)
        self._decided_by, self._ignore_stamps = deciders, ignore_stamps
        found.left_out.sort(key=lambda item: item.path)
        return found

    def _stamps_of_rules(self, files: Mapping[str, FileStamp]) -> dict[str, FileStamp]:
        return {path: files[path] for path in sorted(self._ignore_paths) if path in files}

    def _forget(self) -> None:
        self._decisions, self._out, self._ignore_paths, self._by_tracking = {}, {}, set(), set()
        self._listings = {}

    def _forget_tracking(self) -> None:
        for name in self._by_tracking:
            self._decisions.pop(name, None)
            self._out.pop(name, None)
            self._listings.pop(name[: name.rstrip("/").rfind("/") + 1], None)
        self._by_tracking = set()

    def _walk(self, expect_many: ManyFiles | None = None) -> Sweep:
        rules = self._make_rules()
        found = Sweep()
        listings: dict[str, _Listing] = {}
        stack = [("", str(self._root))]
        while stack:
            prefix, location = stack.pop()
            try:
                status = os.lstat(location) if prefix else self._root.stat()
                stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
                listing = self._listings.get(prefix)
                if listing is None or listing.stamp != stamp:
                    listing = self._listed(prefix, location, stamp, rules)
                found.left_out.extend(listing.left_out)
                _take_stamps(listing.files, found)
            except (FileNotFoundError, NotADirectoryError):
                # Removed or replaced since it was listed.
                continue
            except OSError as error:
                reason = f"unreadable: {error.strerror}"
                found.left_out.append(LeftOut(printable_name(prefix[:-1]), reason, "file system", is_directory=True))
                continue
            listings[prefix] = listing
            stack.extend(listing.directories)
            if expect_many is not None and len(found.files) >= MANY_FILES:
                expect_many(found.files)
                expect_many = None
        self._listings = listings
        return found

    def _listed(self, prefix: str, location: str, stamp: _DirectoryStamp, rules: IgnoreRules) -> _Listing:
        # The stamp is older than the listing: what comes in between makes the next pass list again.
        is_settled = self._keeps_listings and max(stamp[0], stamp[1]) < self._now_ns() - _RACY_LISTING_NS
        listing = _Listing(stamp if is_settled else None, [], [], [])
        with os.scandir(location) as entries:
            for entry in entries:
                is_directory = entry.is_dir(follow_symlinks=False)
                # A directory and a file of the same name are decided apart, for one may become the other.
                name = f"{prefix}{entry.name}/" if is_directory else prefix + entry.name
                path = self._decisions.get(name, "")
                if path == "":
                    path = self._decisions[name] = self._decide(name, rules, is_directory=is_directory)
                if path is None:
                    listing.left_out.append(self._out[name])
                elif is_directory:
                    listing.directories.append((name, entry.path))
                else:
                    listing.files.append((entry.path, path))
        return listing

    def _decide(self, name: str, rules: IgnoreRules, *, is_directory: bool) -> str | None:
        text = name.rstrip("/")
        rules.tracking_decided = False
        rule = rules.exclusion_of_entry(text, is_directory=is_directory)
        if rules.tracking_decided:
            self._by_tracking.add(name)
        if rule is not None:
            self._out[name] = LeftOut(printable_name(text), rule.line, rule.source, is_directory)
            return None
        try:
            path = RepoPath.parse(text).text
        except CodePlaneError as error:
            self._out[name] = LeftOut(printable_name(text), error.message, "name", is_directory)
            return None
        if path != text and os.path.lexists(self._root / path):
            reason = "its name is that of another file, written in another form of Unicode"
            self._out[name] = LeftOut(f"{printable_name(text)} (decomposed)", reason, "name", is_directory)
            return None
        if path.endswith(IGNORE_FILE):
            self._ignore_paths.add(path)
        return path


def _take_stamps(files: list[tuple[str, str]], found: Sweep) -> None:
    # The innermost loop of every answer: one stat and one tuple per file.
    ask, stamps, new = os.lstat, found.files, tuple.__new__
    for place, path in files:
        try:
            status = ask(place)
        except FileNotFoundError:
            # Removed since it was listed; the others are still there.
            continue
        kind = status.st_mode & _KIND_OF_FILE
        if kind == _REGULAR:
            # Naming the fields would take as long as the look-up.
            stamps[path] = new(FileStamp, (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))
        elif kind not in {_LINK, _DIRECTORY}:
            found.left_out.append(LeftOut(path, "not a regular file", "file system", is_directory=False))


def directories_tell(directory: Path) -> bool:
    """Tell whether the file system changes a directory's stamp when a name in it comes and goes.

    All that are meant for working trees do; where one does not, a kept listing would hide new files.
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
