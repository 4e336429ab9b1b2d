"""Working files as git sees them: which differ from the index, and what git would write for an entry."""

import os
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.repository import Repository, run_git

_EXECUTABLE: Final = "100755"
_ATTRIBUTES: Final = ".gitattributes"
# Git LFS keeps the contents of its files itself; they may be too large for another copy.
_NO_CONVERSION: Final = frozenset({"unspecified", "unset", "lf", "lfs"})
# The letter of `git ls-files -v` for an entry whose file is not to be in the working tree.
SKIPPED: Final = "S"
_STATUS: Final = Path("/proc/self/status")

Entries = Mapping[str, tuple[tuple[str, str, int], ...]]


def untracked_paths(root: Path) -> list[str]:
    """Return the files that git neither tracks nor ignores."""
    listing = ask_git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [path for path in os.fsdecode(listing).split("\0") if path]


def hidden_paths(
    root: Path, touched: Entries, entries: Entries, marks: Mapping[str, str], dirty: Collection[str] = ()
) -> list[str]:
    """Return files that git considers unchanged although it could not restore them exactly.

    Among the `touched` ones these are files with other line ends or another mode than git gives, and those that a
    filter cleans; among all entries those that git was told not to look at.
    """
    there = {path for path in marks if os.path.lexists(root / path)}
    # Most skipped entries have no file; among the others only the exceptions matter.
    found = {path for path in there if path in touched or marks[path].upper() == SKIPPED}
    found.update(path for path in marks if path not in there and marks[path].upper() != SKIPPED)
    found.update(_changed_unseen(root, entries, sorted(there - found)))
    if any(path == _ATTRIBUTES or path.endswith(f"/{_ATTRIBUTES}") for path in touched):
        # They change how files are written.
        return [*found, *(path for path in touched if path not in found)]
    plain = {path: kept[0] for path, kept in touched.items() if len(kept) == 1 and path not in found}
    plain = {path: kept for path, kept in plain.items() if path not in dirty}
    if not plain:
        return list(found)
    sizes = _sizes(root, {oid for _, oid, _ in plain.values()})
    umask = _umask()
    for path, (mode, oid, _) in plain.items():
        try:
            status = (root / path).lstat()
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        usual = (0o777 if mode == _EXECUTABLE else 0o666) & ~umask
        if status.st_size != sizes.get(oid, status.st_size) or stat.S_IMODE(status.st_mode) != usual:
            found.add(path)
    conversions = _conversions(root, plain)
    is_converting = _converts_line_endings(root)
    found.update(path for path, values in conversions.items() if is_converting or values - _NO_CONVERSION)
    return [path for path in found if "lfs" not in conversions.get(path, ()) or path in marks]


def _changed_unseen(root: Path, entries: Entries, marked: list[str]) -> list[str]:
    """Return the files of marked entries that are other than the entry says."""
    there: list[tuple[str, bytes | None]] = []
    for path in marked:
        place = root / path
        if place.is_symlink():
            there.append((path, None))
        elif place.is_file() and os.access(place, os.R_OK):
            there.append((path, b'"' + b"".join(b"\\%03o" % byte for byte in os.fsencode(path)) + b'"\n'))
    quoted = b"".join(line for _, line in there if line is not None)
    hashed = iter(ask_git(root, "hash-object", "--stdin-paths", stdin=quoted).decode().split() if quoted else ())
    found = []
    for path, line in there:
        known = {oid for _, oid, _ in entries.get(path, ())}
        if line is None or next(hashed) not in known:
            found.append(path)
    return found


def _sizes(root: Path, oids: set[str]) -> dict[str, int]:
    asked = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    if not asked:
        return {}
    answer = ask_git(root, "cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", stdin=asked)
    rows = (line.split(" ") for line in answer.decode().splitlines())
    return {oid: int(size) for oid, size in rows if size.isdigit()}


def _conversions(root: Path, paths: Iterable[str]) -> dict[str, set[str]]:
    """Return the attributes that make git write files differently from how it stores them."""
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    if not asked:
        return {}
    names = ("filter", "eol", "ident", "working-tree-encoding")
    parts = os.fsdecode(ask_git(root, "check-attr", "-z", "--stdin", *names, stdin=asked)).split("\0")
    found: dict[str, set[str]] = {}
    for path, value in zip(parts[0::3], parts[2::3], strict=False):
        found.setdefault(path, set()).add(value)
    return found


def _converts_line_endings(root: Path) -> bool:
    settings = run_git(root, "config", "-z", "--get-regexp", r"^core\.(autocrlf|eol)$").stdout_text.lower()
    return any(item.endswith(("\ntrue", "\ncrlf", "autocrlf")) for item in settings.split("\0"))


def _umask() -> int:
    """Return the umask of this process; asking the system would change it for a moment."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0o022
    return next((int(line.split()[1], 8) for line in lines if line.startswith("Umask:")), 0o022)


@contextmanager
def exported(repository: Repository, entries: Mapping[str, tuple[str, str]]) -> Iterator[Path]:
    """Write what git would check out for entries (path to mode and object) into a separate directory.

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
