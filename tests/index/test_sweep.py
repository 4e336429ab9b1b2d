"""A pass that keeps what directories held finds what a pass that lists everything finds."""

import os
import random
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from codeplane.git.repository import TrackedPaths
from codeplane.index import stamps
from codeplane.index.ignore_rules import IGNORE_FILE, CompiledFiles, IgnoreRules
from codeplane.index.sweep import Sweep, Sweeper, directories_tell
from support.effort import repeated
from support.repositories import write

_AN_HOUR_NS = 3_600 * 10**9


def _sweeper(root: Path, *, keeps_listings: bool, later_ns: int = _AN_HOUR_NS) -> Sweeper:
    compiled = CompiledFiles(root)

    def rules() -> IgnoreRules:
        return IgnoreRules(root, lambda: TrackedPaths(frozenset(), frozenset()), compiled)

    # Seen from an hour later every directory has been as it is for long.
    return Sweeper(root, rules, lambda: 0, lambda: time.time_ns() + later_ns, keeps_listings=keeps_listings)


def _is_shared_soon(sweeper: Sweeper) -> bool:
    """Sweep until a second process knows its half of the places."""
    for _ in range(1000):
        sweeper.sweep()
        if sweeper.stamps.is_shared:
            return True
        time.sleep(0.005)
    return False


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


@pytest.mark.parametrize("seed", range(repeated(30)))
def test_kept_listings_hide_nothing(tmp_path: Path, seed: int) -> None:
    place = random.Random(seed)
    root = tmp_path / "tree"
    write(root, {f"{name}/f{number}.py": "x = 0\n" for name in ("a", "a/b", "c") for number in range(3)})
    keeping = _sweeper(root, keeps_listings=True)
    for _ in range(15):
        _next_tick(root)
        for _ in range(place.randint(0, 2)):
            place.choice(_ACTIONS)(root, place)
        found, expected = keeping.sweep(), _sweeper(root, keeps_listings=False).sweep()
        assert (found.files, found.left_out) == (expected.files, expected.left_out)


@pytest.mark.parametrize("seed", range(repeated(4)))
def test_a_second_process_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(stamps, "MANY_PLACES", 1)
    place = random.Random(seed)
    root = tmp_path / "tree"
    write(root, {f"{name}/f{number}.py": "x = 0\n" for name in ("a", "a/b", "c") for number in range(3)})
    keeping = _sweeper(root, keeps_listings=True)
    n_shared = 0
    with closing(keeping):
        for _ in range(12):
            n_shared += _is_shared_soon(keeping)
            _next_tick(root)
            for _ in range(place.randint(0, 2)):
                place.choice(_ACTIONS)(root, place)
            found, expected = keeping.sweep(), _sweeper(root, keeps_listings=False).sweep()
            assert (found.files, found.left_out) == (expected.files, expected.left_out)
    assert n_shared == 12


def _primed(root: Path, known: Sweep, earlier: Sweeper, directories: dict[str, stamps.Stamp]) -> Sweeper:
    """Return a sweeper that takes over what an earlier process kept."""
    sweeper = _sweeper(root, keeps_listings=True)
    sweeper.prime(known.files, known.left_out, earlier.decided_by, earlier.by_tracking)
    sweeper.prime_listings(directories, known.files, known.left_out)
    return sweeper


@pytest.mark.parametrize("seed", range(repeated(30)))
def test_what_an_earlier_process_listed_hides_nothing(tmp_path: Path, seed: int) -> None:
    place = random.Random(seed)
    root = tmp_path / "tree"
    write(root, {f"{name}/f{number}.py": "x = 0\n" for name in ("a", "a/b", "c") for number in range(3)})
    sweeper = _sweeper(root, keeps_listings=True)
    known = sweeper.sweep()
    directories = sweeper.settled_directories()
    for _ in range(15):
        _next_tick(root)
        for _ in range(place.randint(0, 2)):
            place.choice(_ACTIONS)(root, place)
        sweeper = _primed(root, known, sweeper, directories)
        for _ in range(2):
            known, expected = sweeper.sweep(), _sweeper(root, keeps_listings=False).sweep()
            assert (known.files, known.left_out) == (expected.files, expected.left_out)
            _next_tick(root)
            place.choice(_ACTIONS)(root, place)
        known = sweeper.sweep()
        if place.random() < 0.7:
            # Otherwise the process ends before it keeps them, and the next one has those of an earlier state.
            directories = sweeper.settled_directories()


def test_a_new_process_lists_only_directories_that_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n", "c/d/h.py": "z\n"})
    first = _sweeper(root, keeps_listings=True)
    known = first.sweep()
    _next_tick(root)
    (root / "b" / "g.py").write_text("changed\n", encoding="utf-8")
    (root / "a" / "f.py").rename(root / "a" / "moved.py")
    (root / "a" / "moved.py").rename(root / "a" / "f.py")
    listed = _listings(monkeypatch)
    found = _primed(root, known, first, first.settled_directories()).sweep()
    assert listed == ["a"]
    assert found.files["b/g.py"] != known.files["b/g.py"]
    assert found.files.keys() == known.files.keys()


def test_a_directory_that_has_not_changed_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n"})
    keeping = _sweeper(root, keeps_listings=True)
    keeping.sweep()
    listed = _listings(monkeypatch)
    write(root, {"b/h.py": "z\n"})
    assert set(keeping.sweep().files) == {"a/f.py", "b/g.py", "b/h.py"}
    assert listed == ["b"]


def test_a_directory_that_changed_a_moment_ago_is_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n"})
    keeping = _sweeper(root, keeps_listings=True, later_ns=10**9)
    before = (root / "a").stat()
    keeping.sweep()
    # As a file system with coarse times would show it: another name, the same stamp.
    write(root, {"a/g.py": "y\n"})
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda place: before if place == str(root / "a") else real(place))
    assert set(keeping.sweep().files) == {"a/f.py", "a/g.py"}


def test_whether_directories_tell_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert directories_tell(tmp_path)
    assert list(tmp_path.iterdir()) == []
    # A file system on which a new name leaves the directory's time alone.
    monkeypatch.setattr(Path, "touch", lambda _path: None)
    assert not directories_tell(tmp_path)
    assert not directories_tell(tmp_path / "missing")


@pytest.mark.parametrize(("age_seconds", "n_passes"), [(60, 1), (0, 2)])
def test_the_first_pass_decides_once_unless_rules_are_fresh(tmp_path: Path, age_seconds: int, n_passes: int) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n", IGNORE_FILE: "b/\n", f"a/{IGNORE_FILE}": "# nothing\n"})
    sweeper = _sweeper(root, keeps_listings=True, later_ns=age_seconds * 10**9)
    listed: list[str] = []
    real = sweeper._listed

    def count(prefix: str, stamp: stamps.Stamp, rules: IgnoreRules) -> object:
        listed.append(prefix)
        return real(prefix, stamp, rules)

    sweeper._listed = count  # type: ignore[assignment, method-assign]
    assert set(sweeper.sweep().files) == {"a/f.py", IGNORE_FILE, f"a/{IGNORE_FILE}"}
    assert listed == ["", "a/"] * n_passes


def test_rules_that_change_during_the_first_pass_are_followed(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(root, {"a/f.py": "x\n", "b/g.py": "y\n", "a/h.txt": "z\n", IGNORE_FILE: "# nothing\n"})
    sweeper = _sweeper(root, keeps_listings=True, later_ns=0)
    real = sweeper._listed

    def change_meanwhile(prefix: str, stamp: stamps.Stamp, rules: IgnoreRules) -> object:
        listing = real(prefix, stamp, rules)
        if not prefix:
            write(root, {IGNORE_FILE: "b/\n*.txt\n"})
        return listing

    sweeper._listed = change_meanwhile  # type: ignore[assignment, method-assign]
    sweeper.sweep()
    sweeper._listed = real  # type: ignore[method-assign]
    assert set(sweeper.sweep().files) == {"a/f.py", IGNORE_FILE}
