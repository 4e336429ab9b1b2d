"""Stamps are those the system tells, whoever reads them and whatever becomes of the second process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from codeplane.index import stamps
from codeplane.index.stamps import Stamps, read_stamps

_PROGRAM = """
import sys, time
from pathlib import Path
from codeplane.index import stamps
stamps.MANY_PLACES = 1
one = stamps.Stamps(Path(sys.argv[1]))
one.arrange(sys.argv[2:], [None] * len(sys.argv[2:]))
while not one.is_shared:
    one.read()
    time.sleep(0.01)
print("shared", flush=True)
time.sleep(600)
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(stamps, "MANY_PLACES", 1)
    names = [f"f{number}" for number in range(9)] + [os.fsdecode(b"odd \xff"), "gone"]
    for name in names[:-1]:
        (tmp_path / name).write_text("x\n")
    return [str(tmp_path / name) for name in names]


@pytest.fixture
def shared(tmp_path: Path, places: list[str]) -> Iterator[Stamps]:
    with closing(Stamps(tmp_path)) as found:
        found.arrange(places, read_stamps(places))
        _share(found)
        yield found


def _share(found: Stamps) -> None:
    for _ in range(1000):
        assert found.read() == []
        if found.is_shared:
            return
        time.sleep(0.005)
    raise AssertionError("no second process")


def _change(place: str) -> None:
    with open(place, "a", encoding="utf-8") as file:  # noqa: PTH123 - the names are strings here
        file.write("more\n")


def _helper(directory: Path) -> int:
    """Return the process that reads for another one, by the directory it was started in."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            if b"codeplane.index.stamps" in words and (entry / "cwd").resolve() == directory.resolve():
                return int(entry.name)
        except OSError:
            continue
    return 0


@pytest.mark.parametrize("number", range(11))
def test_a_change_is_told_wherever_it_is(shared: Stamps, places: list[str], number: int) -> None:
    _change(places[number])
    assert shared.read() == [number]
    assert shared.values == read_stamps(places)
    assert shared.read() == []


def test_what_goes_and_comes_is_told(shared: Stamps, places: list[str]) -> None:
    Path(places[0]).unlink()
    Path(places[9]).unlink()
    Path(places[10]).mkdir()
    assert shared.read() == [0, 9, 10]
    assert (shared.values[0], shared.values[9]) == (None, None)
    assert shared.values == read_stamps(places)
    assert shared.is_shared


def test_a_link_has_a_stamp_of_its_own(shared: Stamps, places: list[str]) -> None:
    Path(places[10]).symlink_to(places[8])
    assert shared.read() == [10]
    _change(places[8])
    assert shared.read() == [8]


def test_other_places_are_read_from_then_on(shared: Stamps, places: list[str]) -> None:
    fewer = places[::2]
    shared.arrange(fewer, read_stamps(fewer))
    assert not shared.is_shared
    _share(shared)
    _change(fewer[-2])
    assert shared.read() == [len(fewer) - 2]


def test_what_changed_before_the_second_process_was_ready_is_told_once(tmp_path: Path, places: list[str]) -> None:
    with closing(Stamps(tmp_path)) as found:
        found.arrange(places, read_stamps(places))
        found.read()
        _change(places[8])
        told = found.read()
        for _ in range(1000):
            if found.is_shared:
                break
            time.sleep(0.005)
        assert told + found.read() == [8]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_without_the_second_process_everything_is_read(
    shared: Stamps, places: list[str], tmp_path: Path, number: signal.Signals
) -> None:
    os.kill(_helper(tmp_path), number)
    _change(places[1])
    _change(places[8])
    assert shared.read() == [1, 8]
    _change(places[9])
    assert shared.read() == [9]
    assert not shared.is_shared


def test_a_second_process_that_hangs_is_ended(
    shared: Stamps, places: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "_PATIENCE_S", 0.2)
    helper = _helper(tmp_path)
    os.kill(helper, signal.SIGSTOP)
    _change(places[8])
    assert shared.read() == [8]
    assert _helper(tmp_path) == 0


def test_one_that_cannot_be_started_is_not_missed(
    tmp_path: Path, places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with closing(Stamps(tmp_path)) as found:
        found.arrange(places, read_stamps(places))
        for number in range(9):
            _change(places[number])
            assert found.read() == [number]
        assert not found.is_shared


def test_an_answer_that_was_not_taken_is_never_taken_for_the_next(
    shared: Stamps, places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_places: list[str]) -> list[object]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stamps, "read_stamps", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shared.read()
    _change(places[9])
    assert shared.read() == [9]


def test_closing_ends_the_second_process(shared: Stamps, places: list[str], tmp_path: Path) -> None:
    assert _helper(tmp_path)
    shared.close()
    assert _helper(tmp_path) == 0
    _change(places[9])
    assert shared.read() == [9]


def test_it_ends_with_the_one_it_works_for(places: list[str], tmp_path: Path) -> None:
    words = [place for place in places if place.isprintable()]
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path), *words], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"shared\n"
        assert _helper(tmp_path)
        owner.kill()
    for _ in range(500):
        if not _helper(tmp_path):
            return
        time.sleep(0.01)
    raise AssertionError("it goes on alone")
