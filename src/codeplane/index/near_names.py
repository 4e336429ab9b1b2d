"""Suggest existing files for a path that does not exist."""

import difflib
from collections.abc import Iterable


def near_paths(wanted: str, existing: Iterable[str], count: int = 3) -> list[str]:
    """Return the paths that were most likely meant: same or similar names, the nearest path first."""
    directory, _, name = wanted.rpartition("/")
    by_name: dict[str, list[str]] = {}
    for path in existing:
        by_name.setdefault(path.rpartition("/")[2].lower(), []).append(path)
    names = [name.lower(), *difflib.get_close_matches(name.lower(), by_name, n=8, cutoff=0.7)]
    found = [path for near in dict.fromkeys(names) for path in by_name.get(near, ())]
    found.sort(key=lambda path: (-_similarity(wanted, path), path))
    return [path for path in found if path != wanted][:count] if directory or name else []


def _similarity(wanted: str, path: str) -> float:
    return difflib.SequenceMatcher(None, wanted.lower(), path.lower()).ratio()
