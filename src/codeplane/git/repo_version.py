"""The state of the repository (§5.2): HEAD, the git index, and the same of every initialised submodule.

Read from git's files without starting a program, because every answer needs it.
"""

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from codeplane.git.repository import Repository, TrackedPaths, index_stat, run_git, tracked_paths

_GIT_LINK = "gitdir: "
_LINK_MODE = "160000 "
_MAX_LISTING_BYTES = 512 * 1024 * 1024
_MAX_REFERENCES = 5


@dataclass(frozen=True, slots=True)
class SubmoduleVersion:
    """The state of one initialised submodule."""

    path: str
    head: str | None
    index: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RepoVersion:
    """The state of a repository: the commit of HEAD, time and size of the git index, the submodules by path."""

    head: str | None
    index: tuple[int, int] | None
    submodules: tuple[SubmoduleVersion, ...] = ()


class TrackedView:
    """What git tracks in a working tree and its submodules, listed again only when a git index changes.

    Invariant: `paths` is what git said when the indexes had the stamps that it was asked with, or later.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._known_links: dict[Path, tuple[tuple[int, int] | None, tuple[str, ...]]] = {}
        self._paths: tuple[tuple[object, ...], TrackedPaths] | None = None

    def version(self) -> RepoVersion:
        """Return the state of the repository as it is now."""
        found = tuple(
            SubmoduleVersion(self._place(one), head_commit(one), index_stat(one)) for one in self._initialised()
        )
        return RepoVersion(head_commit(self._repository), index_stat(self._repository), found)

    def stamps(self) -> tuple[object, ...]:
        """Return the stamps of the git indexes, which determine what is tracked."""
        return index_stat(self._repository), tuple((self._place(one), index_stat(one)) for one in self._initialised())

    def paths(self) -> TrackedPaths:
        """Return what git tracks, including files of initialised submodules."""
        key = self.stamps()
        with self._lock:
            if self._paths is not None and self._paths[0] == key:
                return self._paths[1]
        listed = tracked_paths(self._repository)
        files, directories = set(listed.files), set(listed.directories)
        for one in self._initialised():
            place = self._place(one)
            below = tracked_paths(one)
            files.update(f"{place}/{name}" for name in below.files)
            directories.add(place)
            directories.update(f"{place}/{name}" for name in below.directories)
        paths = TrackedPaths(frozenset(files), frozenset(directories))
        with self._lock:
            self._paths = (key, paths)
        return paths

    def _place(self, submodule: Repository) -> str:
        return submodule.root.relative_to(self._repository.root).as_posix()

    def _initialised(self) -> list[Repository]:
        """Return the submodules that are checked out, each before those inside it."""
        found: list[Repository] = []
        waiting = [self._repository]
        while waiting:
            outer = waiting.pop()
            inner = [one for path in self._links(outer) if (one := _opened(outer.root / path)) is not None]
            found.extend(inner)
            waiting.extend(inner)
        return sorted(found, key=self._place)

    def _links(self, repository: Repository) -> tuple[str, ...]:
        """Return where a repository has submodules; listed again only when its index has changed."""
        stat = index_stat(repository)
        with self._lock:
            known = self._known_links.get(repository.root)
        if known is not None and known[0] == stat:
            return known[1]
        links = _listed_links(repository)
        with self._lock:
            self._known_links[repository.root] = (stat, links)
        return links


def head_commit(repository: Repository) -> str | None:
    """Return the commit of HEAD, None when there is none yet or git's files cannot be read."""
    name = _read(repository.git_dir / "HEAD")
    for _ in range(_MAX_REFERENCES):
        if not name.startswith("ref: "):
            return name or None
        reference = name.removeprefix("ref: ")
        if reference == "refs/heads/.invalid":
            # References are stored in a format that only git can read.
            result = run_git(repository.root, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
            return result.stdout_text.strip() or None
        name = (
            _read(repository.git_dir / reference)
            or _read(repository.common_dir / reference)
            or _packed(repository.common_dir, reference)
        )
    return None


def _packed(common_dir: Path, reference: str) -> str:
    for line in _read(common_dir / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""


def _listed_links(repository: Repository) -> tuple[str, ...]:
    if not (repository.root / ".gitmodules").is_file():
        return ()
    listing = run_git(repository.root, "ls-files", "-s", "-z", output_limit=_MAX_LISTING_BYTES)
    entries = os.fsdecode(listing.stdout).split("\0")
    return tuple(entry.partition("\t")[2] for entry in entries if entry.startswith(_LINK_MODE))


def _opened(root: Path) -> Repository | None:
    """Return the repository of a submodule; None when it is not checked out."""
    git_dir = root / ".git"
    if git_dir.is_file():
        link = _read(git_dir)
        if not link.startswith(_GIT_LINK):
            return None
        git_dir = (root / link.removeprefix(_GIT_LINK)).resolve()
    return Repository(root, git_dir, git_dir) if (git_dir / "HEAD").is_file() else None
