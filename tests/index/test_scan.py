"""A scan that builds on an earlier one finds what a scan that lists everything finds."""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeplane.git.repository import TrackedPaths
from codeplane.index import scan as scanning
from codeplane.index.ignore_rules import IGNORE_FILE, CompiledFiles, IgnoreRules
from codeplane.index.scan import Listing, Scan, Tree, directories_tell, scan, scan_from_text, scan_to_text
from support.effort import repeated
from support.repositories import write

_AN_HOUR_NS = 3_600 * 10**9


def _tree(root: Path, *, trusts_listings: bool = True, later_ns: int = _AN_HOUR_NS) -> Tree:
    compiled = CompiledFiles(root)

    def rules() -> IgnoreRules:
        return IgnoreRules(root, lambda: TrackedPaths(frozenset(), frozenset()), compiled)

    # Seen from an hour later, no directory has changed for long.
    return Tree(root, rules, lambda: 0, lambda: time.time_ns() + later_ns, directories_tell=trusts_listings)


def _check(root: Path, found: Scan) -> Scan:
    """Compare a scan with one that lists everything; return it."""
    expected = scan(_tree(root, trusts_listings=False), None)
    assert (found.files, found.left_out) == (expected.files, expected.left_out)
    return found


def _listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that the directories which are listed from now on are added to."""
    listed: list[str] = []
    real = os.scandir

    def scandir(location: str) -> object:
        listed.append(Path(location).name)
        return real(location)

    monkeypatch.setattr(os, "scandir", scandir)
    return listed


def _next_tick(root: Path) -> None:
    """Wait until the file system's clock has gone on, as it has when somebody changes a file later."""
    probe = root.parent / "tick"
    probe.touch()
    first = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == first:
        probe.touch()


def _create(root: Path, place: random.Random) -> None:
    write(root, {f"{_some_directory(root, place)}new{place.randrange(10**9)}.py": "x = 1\n"})


def _change(root: Path, place: random.Random) -> None:
    _some_file(root, place).write_text(f"x = {place.randrange(10**6)}\n", encoding="utf-8")


def _remove(root: Path, place: random.Random) -> None:
    _some_file(root, place).unlink()


def _rename(root: Path, place: random.Random) -> None:
    file = _some_file(root, place)
    file.rename(file.with_name(f"moved{place.randrange(10**9)}.py"))


def _move_directory(root: Path, place: random.Random) -> None:
    name = _some_directory(root, place)
    if name:
        (root / name).rename((root / name).with_name(f"d{place.randrange(10**6)}"))


def _file_to_directory(root: Path, place: random.Random) -> None:
    file = _some_file(root, place)
    file.unlink()
    write(file, {"inner.py": "y = 2\n"})


def _directory_to_link(root: Path, place: random.Random) -> None:
    name = _some_directory(root, place)
    if name:
        shutil.rmtree(root / name)
        (root / name.rstrip("/")).symlink_to(root.parent, target_is_directory=True)


def _file_to_fifo(root: Path, place: random.Random) -> None:
    file = _some_file(root, place)
    file.unlink()
    os.mkfifo(file)


def _ignore(root: Path, place: random.Random) -> None:
    pattern = place.choice(["new*.py", "moved*.py", "d*/", "inner.py", "!new1*.py"])
    (root / _some_directory(root, place) / IGNORE_FILE).write_text(f"{pattern}\n", encoding="utf-8")


_ACTIONS: tuple[Callable[[Path, random.Random], None], ...] = (
    *(_create, _create, _create, _change, _remove, _rename, _move_directory),
    *(_file_to_directory, _directory_to_link, _file_to_fifo, _ignore),
)


def _some_file(root: Path, place: random.Random) -> Path:
    files = sorted(path for path in root.rglob("*.py") if path.is_file() and not path.is_symlink())
    if not files:
        spare = root / f"spare{place.randrange(10**9)}.py"
        spare.write_text("s = 1\n", encoding="utf-8")
        return spare
    return place.choice(files)


def _some_directory(root: Path, place: random.Random) -> str:
    found = sorted(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())
    inside = [f"{path.relative_to(root).as_posix()}/" for path in found if root in path.resolve().parents]
    return place.choice(["", *inside])


def _some_tree(root: Path) -> Path:
    write(root, {f"{name}/f{number}.py": "x = 0\n" for name in ("a", "a/b", "c") for number in range(3)})
    return root


def _act(root: Path, place: random.Random) -> None:
    _next_tick(root)
    for _ in range(place.randint(0, 2)):
        place.choice(_ACTIONS)(root, place)


@pytest.mark.parametrize("seed", range(repeated(8)))
def test_kept_listings_hide_nothing(tmp_path: Path, seed: int) -> None:
    place = random.Random(seed)
    root = _some_tree(tmp_path / "tree")
    tree = _tree(root)
    found = None
    for _ in range(12):
        _act(root, place)
        found = _check(root, scan(tree, found))


@pytest.mark.parametrize("seed", range(repeated(8)))
def test_what_an_earlier_process_kept_hides_nothing(tmp_path: Path, seed: int) -> None:
    place = random.Random(seed)
    root = _some_tree(tmp_path / "tree")
    kept = scan_to_text(scan(_tree(root), None))
    for _ in range(8):
        _act(root, place)
        found = _check(root, scan(_tree(root), scan_from_text(kept)))
        _act(root, place)
        found = _check(root, scan(_tree(root), found))
        if place.random() < 0.7:
            # Otherwise the process ends before it keeps the scan, and the next one has that of an earlier state.
            kept = scan_to_text(found)


def test_a_new_process_lists_only_directories_that_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n", "c/d/h.py": "z\n"})
    known = scan(_tree(root), None)
    _next_tick(root)
    (root / "b" / "g.py").write_text("changed\n", encoding="utf-8")
    (root / "a" / "f.py").rename(root / "a" / "moved.py")
    (root / "a" / "moved.py").rename(root / "a" / "f.py")
    listed = _listings(monkeypatch)
    found = scan(_tree(root), scan_from_text(scan_to_text(known)))
    assert listed == ["a"]
    assert found.files["b/g.py"] != known.files["b/g.py"]
    assert found.files.keys() == known.files.keys()


def test_a_directory_that_has_not_changed_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n"})
    known = scan(_tree(root), None)
    listed = _listings(monkeypatch)
    write(root, {"b/h.py": "z\n"})
    assert set(scan(_tree(root), known).files) == {"a/f.py", "b/g.py", "b/h.py"}
    assert set(listed) == {"b"}


def test_a_directory_that_changed_a_moment_ago_is_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n"})
    tree = _tree(root, later_ns=10**9)
    before = (root / "a").stat()
    known = scan(tree, None)
    # As a file system with coarse times would show it: another name, the same stamp.
    write(root, {"a/g.py": "y\n"})
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda place: before if place == str(root / "a") else real(place))
    assert set(scan(tree, known).files) == {"a/f.py", "a/g.py"}


def test_whether_directories_tell_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert directories_tell(tmp_path)
    assert list(tmp_path.iterdir()) == []
    # A file system on which a new name leaves the directory's time alone.
    monkeypatch.setattr(Path, "touch", lambda _path: None)
    assert not directories_tell(tmp_path)
    assert not directories_tell(tmp_path / "missing")


@pytest.mark.parametrize(("age_seconds", "n_passes"), [(60, 1), (0, 2)])
def test_the_first_scan_decides_once_unless_rules_are_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_seconds: int, n_passes: int
) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n", IGNORE_FILE: "b/\n", f"a/{IGNORE_FILE}": "# nothing\n"})
    listed = _listings(monkeypatch)
    found = scan(_tree(root, later_ns=age_seconds * 10**9), None)
    assert set(found.files) == {"a/f.py", IGNORE_FILE, f"a/{IGNORE_FILE}"}
    assert listed == ["tree", "a"] * n_passes


def test_rules_that_change_during_the_first_scan_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n", "a/h.txt": "z\n", IGNORE_FILE: "# nothing\n"})
    tree = _tree(root, later_ns=0)
    real = scanning._list

    def change_meanwhile(tree: Tree, prefix: str, *rest: Any) -> Listing:
        listing = real(tree, prefix, *rest)
        if not prefix:
            write(root, {IGNORE_FILE: "b/\n*.txt\n"})
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(scanning, "_list", change_meanwhile)
        found = scan(tree, None)
    assert set(scan(tree, found).files) == {"a/f.py", IGNORE_FILE}
