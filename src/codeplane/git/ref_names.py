"""Which branches and tags point at which commits, read from git's files as far as they tell."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from codeplane.git.object_store import TAG, ObjectStore, UnreadableError
from codeplane.git.repository import Repository

_KINDS: Final = ("refs/heads/", "refs/remotes/", "refs/tags/")
_HEX: Final = frozenset("0123456789abcdef")


def names_of(repository: Repository, commits: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the short names of the branches, remote branches and tags that lead to some commits."""
    wanted = frozenset(commits)
    common = repository.common_dir
    loose = {name: oid for kind in _KINDS for name, oid in _loose(common / kind, kind)}
    found: dict[str, list[str]] = {}
    for oid, name in _packed(common / "packed-refs", wanted):
        if name not in loose:
            found.setdefault(oid, []).append(name)
    with ObjectStore(common) as store:
        for name, oid in loose.items():
            commit = _peeled(store, oid) if name.startswith("refs/tags/") and oid not in wanted else oid
            if commit in wanted:
                found.setdefault(commit, []).append(name)
    return {oid: tuple(_short(name) for name in sorted(names)) for oid, names in found.items()}


def _short(name: str) -> str:
    kind = next(kind for kind in _KINDS if name.startswith(kind))
    short = name.removeprefix(kind)
    return f"tag: {short}" if kind == "refs/tags/" else short


def _packed(path: Path, wanted: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield commits and the names that lead to them; below an annotated tag stands what it leads to."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return
    sought = {oid.encode("ascii") for oid in wanted}
    length = max(map(len, sought), default=0)
    hits = [i for i, line in enumerate(lines) if line[:length] in sought or line[1 : length + 1] in sought]
    for number in hits:
        is_below_its_name = lines[number].startswith(b"^")
        oid = lines[number][1:] if is_below_its_name else lines[number][:length]
        name = lines[number - is_below_its_name].partition(b" ")[2]
        if name.startswith((b"refs/heads/", b"refs/remotes/", b"refs/tags/")):
            yield oid.decode("ascii"), os.fsdecode(name)


def _loose(directory: Path, prefix: str) -> Iterator[tuple[str, str]]:
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place) / name
            try:
                content = path.read_text(encoding="ascii").strip()
            except (OSError, ValueError):
                continue
            if len(content) in {40, 64} and _HEX.issuperset(content):
                yield prefix + path.relative_to(directory).as_posix(), content


def _peeled(store: ObjectStore, oid: str) -> str:
    """Return what a tag leads to; a tag that cannot be read here stands for itself."""
    for _ in range(5):
        try:
            kind, content = store.read(oid)
        except UnreadableError:
            return oid
        if kind != TAG:
            return oid
        oid = content[7:].partition(b"\n")[0].decode("ascii", "replace")
    return oid
