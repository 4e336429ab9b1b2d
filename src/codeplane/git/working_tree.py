"""Working files in git's eyes: which differ from the index, and what git would write for an index entry."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.repository import Repository

_CHANGED, _UNMERGED = "1", "u"


def dirty_paths(root: Path) -> list[str]:
    """Return the tracked paths whose working file differs from the index, conflicts among them."""
    arguments = ("--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=all")
    found = []
    for item in os.fsdecode(ask_git(root, "status", *arguments)).split("\0"):
        if item.startswith(f"{_CHANGED} "):
            fields = item.split(" ", 8)
            if fields[1][1] != ".":
                found.append(fields[8])
        elif item.startswith(f"{_UNMERGED} "):
            found.append(item.split(" ", 10)[10])
    return found


def untracked_paths(root: Path) -> list[str]:
    """Return the files that git neither tracks nor ignores."""
    listing = ask_git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [path for path in os.fsdecode(listing).split("\0") if path]


@contextmanager
def exported(repository: Repository, entries: Mapping[str, tuple[str, str]]) -> Iterator[Path]:
    """Write what git would check out for entries (path to mode and object) into a directory of their own.

    Line endings and filters are applied as in a checkout.
    """
    with tempfile.TemporaryDirectory(prefix="codeplane-") as name:
        target = Path(name).resolve() / "files"
        target.mkdir()
        environment = {"GIT_INDEX_FILE": str(Path(name).resolve() / "index")}
        lines = b"".join(
            f"{mode} {oid} 0\t".encode() + os.fsencode(path) + b"\0" for path, (mode, oid) in entries.items()
        )
        conditions = Conditions(stdin=lines, environment=environment, runs_hooks=False)
        must_change(repository.root, "update-index", "-z", "--index-info", conditions=conditions)
        conditions = Conditions(environment=environment, runs_hooks=False)
        must_change(repository.root, "checkout-index", "-a", "-f", "-q", f"--prefix={target}/", conditions=conditions)
        yield target
