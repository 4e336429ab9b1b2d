"""Test runs through the door against the bare runner on the same targets, in one run, and how long the answers are.

    python bench/test_runs.py [--repo DIRECTORY --python PROGRAM --tests PATH] [--rounds N]

Without a repository a suite of pytest is made whose tests compute. Overhead is measured on one core, for both sides;
the gain of all cores against one bare process. Tokens are counted as four characters each.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codeplane.core.callers import Caller, CallerKind
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

FILES = 40
TEST = "def test_{n}():\n    total = 0\n    for i in range({turns}):\n        total += i * i\n    assert total\n"
FAILING = "from app import price\n\n\ndef test_price():\n    assert price(2) == 7\n"


def git(root: Path, *arguments: str) -> None:
    """Run git in a made repository."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def made_suite(root: Path, turns: int) -> None:
    """Write a repository whose suite takes a while."""
    (root / "tests").mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    (root / ".gitignore").write_text(".venv\n__pycache__\n", encoding="utf-8")
    (root / "app.py").write_text("def price(n):\n    return 3 * n\n", encoding="utf-8")
    for number in range(FILES):
        test = TEST.format(n=number, turns=turns)
        (root / f"tests/test_{number}.py").write_text(test, encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "a suite")
    (root / ".venv").symlink_to(sys.prefix)


def call(door: Door, name: str, **arguments: Any) -> Answer:
    """Make a call that has to succeed."""
    answer = dispatch(door, name, arguments, Caller(CallerKind.AGENT, "bench", "bench", "bench", None))
    if answer.error is not None:
        raise SystemExit(f"{name}: {answer.error.as_text()}")
    return answer


def seconds(action: Callable[[], object]) -> float:
    """Return how long an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def cpu_seconds(action: Callable[[], object]) -> float:
    """Return the processor time of an action and its processes, which other work on the machine hardly changes."""
    before = os.times()
    action()
    return sum(os.times()[:4]) - sum(before[:4])


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and its children on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def compare(door: Door, python: str, tests: str, rounds: int) -> None:
    """Print overhead on one core, and the gain of all cores."""
    paths = sorted(str(one.relative_to(door.workspace.root)) for one in (door.workspace.root / tests).glob("test_*.py"))

    def ours() -> None:
        call(door, "run_test_targets", target_filter=[tests])

    def bare() -> None:
        subprocess.run(
            [python, "-m", "pytest", "-q", *paths], cwd=door.workspace.root, capture_output=True, check=False
        )

    ours()  # Fills the index and the costs, as every run but the first has them.
    with one_core():
        mine, theirs = in_turns(ours, bare, rounds)
    print(f"one core: ours {mine:.2f} s, bare {theirs:.2f} s, ratio {mine / theirs:.2f} (goal <= 1.15)")
    mine, theirs = cpu_seconds(ours), cpu_seconds(bare)
    print(f"processor time: ours {mine:.2f} s, bare {theirs:.2f} s, ratio {mine / theirs:.2f}")
    mine, theirs = in_turns(ours, bare, rounds)
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores: ours {mine:.2f} s, one bare process {theirs:.2f} s, ", end="")
    print(f"gain {theirs / mine:.2f} (goal >= 1.5 for more than 30 s on two cores)")


def in_turns(ours: Callable[[], object], bare: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the shortest time of each, measured in turns, so that what disturbs one disturbs the other."""
    pairs = [(seconds(ours), seconds(bare)) for _ in range(rounds)]
    return min(one for one, _ in pairs), min(one for _, one in pairs)


def tokens(door: Door) -> None:
    """Print how long answers are."""
    root = door.workspace.root
    (root / "tests/test_price.py").write_text(FAILING.replace("7", "6"), encoding="utf-8")
    for state in ("green", "one failure"):
        for name in ("run_test_targets", "check"):
            length = len(call(door, name).text())
            print(f"{name}, {state}: {length // 4} tokens")
        (root / "tests/test_price.py").write_text(FAILING, encoding="utf-8")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tests", default="tests")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--turns", type=int, default=22_000_000, help="Work of each made test.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = given.repo or Path(scratch) / "suite"
        if given.repo is None:
            made_suite(root, given.turns)
        with open_workspace(WorkspaceRequest(root)) as workspace:
            door = Door(workspace, OPERATIONS)
            compare(door, given.python, given.tests, given.rounds)
            if given.repo is None:
                tokens(door)


if __name__ == "__main__":
    main()
