"""One pass over the working tree: which files are there, and which may have changed since they were last read.

Every file is asked for its stamp each time. What a directory holds is listed again only when the directory's own stamp
differs, which it does whenever a name in it comes, goes or is replaced: half of a pass would be listing. Ignore rules
cost more than both, so decisions about paths are kept as long as nothing that decides them has changed.

Most passes find the same names as the one before. They read all stamps in one go and look only at those that differ;
when another name is there, or one is gone, the tree is walked.
"""

import errno
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
from codeplane.index.stamps import Stamp, Stamps, stamp_of

# File systems keep times in steps; a file written within this distance of its reading may have changed unseen.
RACY_NS = 1_000_000_000
# Directories are trusted later than files: some file systems keep the times of directories in steps of two seconds.
_RACY_LISTING_NS: Final = 3_000_000_000
# From so many files on it pays to prepare for much work.
MANY_FILES: Final = 1000
_KIND_OF_FILE: Final = 0o170000
# What stands between the policy that decisions follow and the stamps that they rest on.
_POLICY_END: Final = "|"
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
    """What one pass found, and when it began."""

    files: dict[str, FileStamp] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    begun_ns: int = 0


class _Listing(NamedTuple):
    """What one directory holds, as far as it is in.

    `stamp` is the directory's own, taken before it was listed; None when it was too fresh to tell a later change.
    Files come with their place on disk and the path they are indexed under, directories with their prefix.
    """

    stamp: Stamp | None
    files: list[tuple[str, str]]
    directories: list[str]
    left_out: list[LeftOut]

    def holds_the_same_as(self, other: "_Listing") -> bool:
        """Tell whether two listings are equal but for the order of names, which file systems do not promise."""
        return (
            set(self.files) == set(other.files)
            and set(self.directories) == set(other.directories)
            and set(self.left_out) == set(other.left_out)
        )


class _Primed(NamedTuple):
    """What an earlier process knew: directories with their stamps, all prefixes, files, and what was left out."""

    directories: Mapping[str, Stamp]
    prefixes: set[str]
    files: Mapping[str, FileStamp]
    left_out: list[LeftOut]


class Sweeper:
    """Walks the tree and remembers decisions about paths, and what directories hold.

    Invariant: a kept decision is used only while every `.cplignore` seen is as it was, and one that asked what git
    tracks only while `deciders()` (git's index) is as it was. Decisions map the name on disk to the path it is indexed
    under, None for what is left out. A kept listing is used only while its directory has the same stamp and all
    decisions in it hold; where directories do not tell (`keeps_listings`), each is listed every time. While `_last` is
    not None, it is what the last pass found, `stamps` has the places of all its directories and files, and `_names`
    what is there: the prefix of a directory or the path of a file.
    """

    def __init__(
        self,
        root: Path,
        rules: Callable[[], IgnoreRules],
        deciders: Callable[[], object],
        now_ns: Callable[[], int],
        *,
        keeps_listings: bool = True,
        policy: str = "",
    ) -> None:
        self._root = root
        self._policy = policy
        self._make_rules = rules
        self._deciders = deciders
        self._now_ns = now_ns
        self._keeps_listings = keeps_listings
        self._listings: dict[str, _Listing] = {}
        self.stamps = Stamps(root)
        self._names: list[str] = []
        self._unsettled: set[str] = set()
        self._last: Sweep | None = None
        self._primed: _Primed | None = None
        self._primed_decisions: tuple[Mapping[str, FileStamp], Iterable[LeftOut]] = ({}, ())
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
        self._primed_decisions = (files, left_out)
        if self.decided_by.partition(_POLICY_END)[0] != decided_by.partition(_POLICY_END)[0]:
            # Other files are in by another policy, whatever was decided.
            self._forget()
        elif self.decided_by != decided_by:
            self._forget_tracking()

    def _take_primed_decisions(self) -> None:
        """Take over what an earlier process decided, which a pass that lists nothing does not need."""
        files, left_out = self._primed_decisions
        self._primed_decisions = ({}, ())
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

    def prime_listings(
        self, directories: Mapping[str, Stamp], files: Mapping[str, FileStamp], left_out: Iterable[LeftOut]
    ) -> None:
        """Let the first pass look only at what is known: the files, and directories with the stamps they had.

        Whatever is not as it was then, in a name or a stamp, is listed again, everything if need be. To be called
        after `prime`, if no decision has to be made anew.
        """
        left_out = sorted(left_out, key=lambda item: item.path)
        is_odd = any(item.source == "file system" or printable_name(item.path) != item.path for item in left_out)
        if is_odd or not self._keeps_listings:
            return
        prefixes = {""}
        for name in (*directories, *files):
            prefix = name[: name.rfind("/") + 1]
            while prefix not in prefixes:
                prefixes.add(prefix)
                prefix = _above(prefix)
        self._primed = _Primed(directories, prefixes, files, left_out)
        self._listings = {}
        self._unsettled = prefixes.difference(directories)
        self._names = [*prefixes, *files]
        places = [*map(self._place_of, prefixes), *[f"{self._root}/{path}" for path in files]]
        # What files were is known by shorter stamps, which are compared apart.
        self.stamps.arrange(places, [*map(directories.get, prefixes), *([None] * len(files))])
        self._last = Sweep(dict(files), left_out)

    def settled_directories(self) -> dict[str, Stamp]:
        """Return the stamps of the directories that were listed and need not be again while they stay so."""
        if self._primed is not None:
            return dict(self._primed.directories)
        return {prefix: one.stamp for prefix, one in self._listings.items() if one.stamp is not None}

    def _take_primed_listings(self) -> None:
        """Make the listings that an earlier process left, which a pass that finds nothing changed does not need."""
        primed, self._primed = self._primed, None
        if primed is None:
            return
        listings = {prefix: _Listing(primed.directories.get(prefix), [], [], []) for prefix in primed.prefixes}
        for prefix in primed.prefixes - {""}:
            listings[_above(prefix)].directories.append(prefix)
        for path in primed.files:
            listings[path[: path.rfind("/") + 1]].files.append((f"{self._root}/{path}", path))
        for item in primed.left_out:
            prefix = item.path[: item.path.rfind("/") + 1]
            # Without its directory it comes from another state; that directory is listed when it is met.
            if prefix in listings:
                listings[prefix].left_out.append(item)
        self._listings = listings

    def _changed_since(self, primed: "_Primed", changed: list[int]) -> list[int]:
        """Return which of the places that an earlier process knew are not as they were."""
        n_directories = len(primed.prefixes)
        stamps = self.stamps.values[n_directories:]
        found = [number for number in changed if number < n_directories]
        for number, (known, stamp) in enumerate(zip(primed.files.values(), stamps, strict=True), n_directories):
            if stamp is None or stamp[:4] != known:
                found.append(number)
        return found

    @property
    def by_tracking(self) -> frozenset[str]:
        """Return the names whose decision asked what git tracks."""
        return frozenset(self._by_tracking)

    @property
    def decided_by(self) -> str:
        """Return what the decisions rest on, to be kept for the next process."""
        return f"{self._policy}{_POLICY_END}{self._decided_by!r}"

    def sweep(self, expect_many: ManyFiles | None = None) -> Sweep:
        """Return every file that is in, with its stamp, and everything that is left out, in a fixed order.

        `expect_many` is told the files so far as soon as they are many, once.
        """
        deciders = self._deciders()
        if deciders != self._decided_by:
            self._forget_tracking()
        begun_ns, had_decisions = self._now_ns(), bool(self._decisions or self._primed_decisions[0])
        found, read = self._look_again()
        if found is None:
            found = self._walk(read, expect_many)
        ignore_stamps = self._stamps_of_rules(found.files)
        is_settled = not any(stamp.is_racy(begun_ns) for stamp in ignore_stamps.values())
        if ignore_stamps != self._ignore_stamps and (had_decisions or not is_settled):
            # An ignore file changed, so every decision is made anew. Decisions that were all made in this pass stand,
            # unless the file may have changed while it went on.
            self._forget()
            found = self._walk({})
            ignore_stamps = self._stamps_of_rules(found.files)
        self._decided_by, self._ignore_stamps = deciders, ignore_stamps
        found.begun_ns = begun_ns
        return found

    def close(self) -> None:
        """End what helps to read stamps."""
        self.stamps.close()

    def _stamps_of_rules(self, files: Mapping[str, FileStamp]) -> dict[str, FileStamp]:
        return {path: files[path] for path in sorted(self._ignore_paths) if path in files}

    def _forget(self) -> None:
        self._decisions, self._out, self._ignore_paths, self._by_tracking = {}, {}, set(), set()
        self._primed_decisions = ({}, ())
        self._listings = {}
        self._last = self._primed = None

    def _forget_tracking(self) -> None:
        self._take_primed_listings()
        self._take_primed_decisions()
        self._last = None
        for name in self._by_tracking:
            self._decisions.pop(name, None)
            self._out.pop(name, None)
            self._listings.pop(name[: name.rstrip("/").rfind("/") + 1], None)
        self._by_tracking = set()

    def _look_again(self) -> tuple[Sweep | None, dict[str, Stamp | None]]:
        """Return what is there when the names are those of the last pass, None when the tree has to be walked.

        With it come the stamps that were read on the way, by place.
        """
        last, self._last = self._last, None
        if last is None:
            return None, {}
        changed = self.stamps.read()
        if self._primed is not None:
            changed = self._changed_since(self._primed, changed)
        files = self._updated(last.files, changed)
        suspects = self._unsettled.union(
            self._names[number] for number in changed if _is_directory(self._names[number])
        )
        if suspects or files is not last.files:
            # From here on it is as if this process had listed them.
            self._take_primed_listings()
        if files is None or not self._hold_the_same(suspects):
            return None, dict(zip(self.stamps.places, self.stamps.values, strict=True))
        self._last = Sweep(files, last.left_out)
        return Sweep(dict(files), list(last.left_out)), {}

    def _updated(self, before: dict[str, FileStamp], changed: list[int]) -> dict[str, FileStamp] | None:
        """Return files with their new stamps; None when one is gone or is no file any more."""
        files = before
        for number in changed:
            name, stamp = self._names[number], self.stamps.values[number]
            if not _is_directory(name):
                if stamp is None or stamp[-1] & _KIND_OF_FILE != _REGULAR or name not in before:
                    return None
                files = dict(before) if files is before else files
                files[name] = FileStamp(*stamp[:4])
        return files

    def _hold_the_same(self, prefixes: set[str]) -> bool:
        """List directories again; tell whether they hold what they held."""
        if not prefixes:
            return True
        rules = self._make_rules()
        for prefix in prefixes:
            try:
                listing = self._listed(prefix, stamp_of(self._place_of(prefix)), rules)
            except OSError:
                return False
            before = self._listings[prefix]
            self._keep(prefix, listing)
            if not listing.holds_the_same_as(before):
                return False
        return True

    def _place_of(self, prefix: str) -> str:
        # The root may be a link; what counts is the directory it leads to.
        return f"{self._root}/{prefix[:-1] or '.'}"

    def _keep(self, prefix: str, listing: _Listing) -> None:
        self._listings[prefix] = listing
        if listing.stamp is None:
            self._unsettled.add(prefix)
        else:
            self._unsettled.discard(prefix)

    def _walk(self, read: Mapping[str, Stamp | None], expect_many: ManyFiles | None = None) -> Sweep:
        """Return what is there; stamps that were read already are not read again."""
        rules = self._make_rules()
        found = Sweep()
        seen = _Seen([], [], [])
        is_whole = True
        self._take_primed_listings()
        listings, self._listings, self._unsettled = self._listings, {}, set()
        stack = [""]
        while stack:
            prefix = stack.pop()
            place = self._place_of(prefix)
            try:
                stamp = read.get(place) or stamp_of(place)
                listing = listings.get(prefix)
                if listing is None or listing.stamp != stamp:
                    listing = self._listed(prefix, stamp, rules)
                seen.add(place, stamp, prefix)
                _take_stamps(listing.files, found, seen, read)
                found.left_out.extend(listing.left_out)
            except (FileNotFoundError, NotADirectoryError):
                # Removed or replaced since it was listed.
                continue
            except OSError as error:
                reason = f"unreadable: {error.strerror}"
                found.left_out.append(LeftOut(printable_name(prefix[:-1]), reason, "file system", is_directory=True))
                is_whole = False
                continue
            self._keep(prefix, listing)
            stack.extend(listing.directories)
            if expect_many is not None and len(found.files) >= MANY_FILES:
                expect_many(found.files)
                expect_many = None
        found.left_out.sort(key=lambda item: item.path)
        if is_whole and self._keeps_listings:
            self.stamps.arrange(seen.places, seen.stamps)
            self._names = seen.names
            self._last = Sweep(dict(found.files), list(found.left_out))
        return found

    def _listed(self, prefix: str, stamp: Stamp, rules: IgnoreRules) -> _Listing:
        if stamp[-1] & _KIND_OF_FILE != _DIRECTORY:
            # A link that took its place would lead out of the tree.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), prefix)
        if self._primed_decisions[0]:
            self._take_primed_decisions()
        # The stamp is older than the listing: what comes in between makes the next pass list again.
        is_settled = self._keeps_listings and max(stamp[0], stamp[1]) < self._now_ns() - _RACY_LISTING_NS
        listing = _Listing(stamp if is_settled else None, [], [], [])
        with os.scandir(f"{self._root}/{prefix}"[:-1]) as entries:
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
                    listing.directories.append(name)
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


class _Seen(NamedTuple):
    """What a walk looked at: places, their stamps, and what is there."""

    places: list[str]
    stamps: list[Stamp | None]
    names: list[str]

    def add(self, place: str, stamp: Stamp, name: str) -> None:
        """Take one place more."""
        self.places.append(place)
        self.stamps.append(stamp)
        self.names.append(name)


def _above(prefix: str) -> str:
    """Return the prefix of the directory around one."""
    return prefix[: prefix.rfind("/", 0, -1) + 1]


def _is_directory(name: str) -> bool:
    return not name or name.endswith("/")


def _take_stamps(files: list[tuple[str, str]], found: Sweep, seen: _Seen, read: Mapping[str, Stamp | None]) -> None:
    for place, path in files:
        try:
            stamp = read.get(place) or stamp_of(place)
        except FileNotFoundError:
            # Removed since it was listed; the others are still there.
            continue
        seen.add(place, stamp, path)
        kind = stamp[-1] & _KIND_OF_FILE
        if kind == _REGULAR:
            found.files[path] = FileStamp(*stamp[:4])
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
