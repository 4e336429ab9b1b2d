"""Which branches and tags point at which commits."""

import os
from collections.abc import Collection
from typing import Final

from codeplane.git.commands import check_result
from codeplane.git.history import OUTPUT_LIMIT
from codeplane.git.repository import Repository, run_git

_KINDS: Final = ("refs/heads/", "refs/remotes/", "refs/tags/")
_FORMAT: Final = "--format=%(objectname)%00%(*objectname)%00%(refname)"


def names_of(repository: Repository, commits: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the short names of the branches, remote branches and tags that point to some commits."""
    wanted = frozenset(commits)
    arguments = ("for-each-ref", _FORMAT, *(f"--points-at={oid}" for oid in sorted(wanted)), *_KINDS)
    result = run_git(repository.root, *arguments, output_limit=OUTPUT_LIMIT)
    check_result(arguments, result)
    found: dict[str, list[str]] = {}
    for line in os.fsdecode(result.stdout).splitlines():
        # An annotated tag is a separate object; the commit that it points to follows it.
        oid, commit, name = line.split("\0")
        found.setdefault(commit or oid, []).append(_short(name))
    return {oid: tuple(names) for oid, names in found.items() if oid in wanted}


def _short(name: str) -> str:
    kind = next(kind for kind in _KINDS if name.startswith(kind))
    short = name.removeprefix(kind)
    return f"tag: {short}" if kind == "refs/tags/" else short
