"""The reading git tools against git itself, started as a process with its output thrown away, in one run.

    python bench/git.py --repo DIRECTORY [--file PATH] [--rounds N]

Each tool runs in this process, through the door, in a workspace that is open. Ratios are of the medians and of the
95th percentiles. The repository is cloned first, so that the given one stays as it is. A file history says what the
file was called and what became of it in each commit, as `git log --name-status` does.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from codeplane.core.callers import Caller, CallerKind
from codeplane.operations.dispatch import dispatch
from codeplane.operations.git_diff import GIT_DIFF
from codeplane.operations.git_history import GIT_HISTORY
from codeplane.operations.git_inspect import GIT_INSPECT
from codeplane.operations.git_log import GIT_LOG
from codeplane.operations.git_status import GIT_STATUS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

OPERATIONS = {one.name: one for one in (GIT_STATUS, GIT_DIFF, GIT_LOG, GIT_INSPECT, GIT_HISTORY)}


def times_ms(actions: tuple[Callable[[], object], ...], rounds: int) -> list[list[float]]:
    """Return the times of actions that take turns, so that whatever disturbs the machine disturbs all of them."""
    found: list[list[float]] = [[] for _ in actions]
    for number in range(rounds + 2):
        for action, times in zip(actions, found, strict=True):
            started = time.perf_counter()
            action()
            if number >= 2:
                times.append((time.perf_counter() - started) * 1000)
    return [sorted(times) for times in found]


def quantile(times: list[float], share: float) -> float:
    """Return the time that this share of the rounds did not exceed."""
    return times[min(len(times) - 1, int(len(times) * share))]


def measure(door: Door, title: str, call: tuple[str, Mapping[str, Any]], command: list[str], rounds: int) -> None:
    """Print one row: ours against git's own command."""
    caller = Caller(CallerKind.AGENT, "bench", "bench", "bench", None)

    def ours() -> None:
        answer = dispatch(door, call[0], call[1], caller)
        if answer.error is not None:
            raise SystemExit(f"{title}: {answer.error.as_text()}")

    def peer() -> None:
        subprocess.run(["git", *command], cwd=door.workspace.root, stdout=subprocess.DEVNULL, check=True)

    mine, theirs = times_ms((ours, peer), rounds)
    ratios = [quantile(mine, share) / quantile(theirs, share) for share in (0.5, 0.95)]
    times = f"{quantile(mine, 0.5):.1f} ms against {quantile(theirs, 0.5):.1f} ms"
    print(f"{title}: p50 {ratios[0]:.2f} x, p95 {ratios[1]:.2f} x git   ({times})")


def largest_file(root: Path) -> str:
    """Return the tracked text file that most commits of the last ones changed, and that is long."""
    listing = _git(root, "log", "-3000", "--format=", "--name-only", "--no-renames").split("\n")
    counts: dict[str, int] = {}
    for name in listing:
        counts[name] = counts.get(name, 0) + 1
    known = [name for name in counts if name and (root / name).is_file()]
    return max(known, key=lambda name: min(counts[name], 50) * (root / name).stat().st_size)


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--file", default="", help="for blame and file history; default one that changed often")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cpl-bench-") as scratch:
        root = Path(scratch) / "repo"
        subprocess.run(["git", "clone", "--quiet", str(options.repo.resolve()), str(root)], check=True)
        measure_all(root, options.file or largest_file(root), options.rounds)


def measure_histories(door: Door, path: str, n_lines: int, rounds: int) -> None:
    """Print the rows of blame and file history."""
    few = max(5, rounds // 8)
    for count in (min(2000, n_lines), 100):
        wanted: dict[str, Any] = {"action": "blame", "path": path, "limit": count}
        measure(door, f"blame of {count} lines (goal <= 1.3)", ("git_inspect", wanted),
                ["blame", f"-L1,{count}", "--", path], few)  # fmt: skip
    for count in (20, 200):
        for title, follow, option in (("", False, []), (", renames followed", True, ["--follow"])):
            wanted = {"path": path, "limit": count, "follow": follow}
            measure(door, f"file history of {count}{title} (goal <= 1.3)", ("git_history", wanted),
                    ["log", *option, "--name-status", f"-{count}", "--", path], rounds)  # fmt: skip


def measure_all(root: Path, path: str, rounds: int) -> None:
    """Print every row."""
    n_lines = len((root / path).read_bytes().splitlines())
    n_commits = _git(root, "rev-list", "--count", "HEAD").strip()
    print(f"{n_commits} commits; {path}, {n_lines} lines")
    few = max(5, rounds // 8)
    tags = _git(root, "tag", "--sort=-creatordate", "--merged", "HEAD").split()
    with open_workspace(WorkspaceRequest(root)) as workspace:
        door = Door(workspace, OPERATIONS)
        measure(door, "status (goal p95 <= 1.3)", ("git_status", {}), ["status"], rounds)
        measure(door, "log of 50", ("git_log", {"limit": 50}), ["log", "-50"], rounds)
        measure_histories(door, path, n_lines, rounds)
        measure(door, "file history of 20 against a log without paths", ("git_history", {"path": path, "limit": 20}),
                ["log", "--follow", "-20", "--", path], rounds)  # fmt: skip
        counted = {"path": path, "limit": 20, "stats": True}
        measure(door, "file history of 20 with counts", ("git_history", counted),
                ["log", "--follow", "--stat", "-20", "--", path], few)  # fmt: skip
        if len(tags) > 1:
            measure(door, f"first page of {tags[1]}..{tags[0]}", ("git_diff", {"base": tags[1], "target": tags[0]}),
                    ["diff", tags[1], tags[0]], few)  # fmt: skip


if __name__ == "__main__":
    main()
