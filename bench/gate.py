"""How long the policies take, with many sessions at once, beside an empty call of the same shape.

    python bench/gate.py [--sessions N] [--seconds N]

Fifty sessions send a hundred mutating calls a second together to one gate with an intents file of fifty intents and a
policy file of fifty rules; the time of step 3 of the door is taken, without ledger rows of calls and without the index.
The floor is reading the three files the rules come from.
"""

import argparse
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.paths import RepoPath
from codeplane.govern.intents import INTENTS_FILE
from codeplane.govern.policy_document import POLICY_FILE
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.policy import CallFacts
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

GOAL_MS = 10.0
CALLS_A_SECOND = 100


def main() -> int:
    """Print the times."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sessions", type=int, default=50)
    arguments.add_argument("--seconds", type=float, default=10.0)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "repo"
        root.mkdir()
        subprocess.run(("git", "init", "-q", str(root)), check=True)
        _write_rules(root)
        with open_workspace(WorkspaceRequest(root)) as workspace:
            floor = _floor(root)
            times = _measure(workspace, options.sessions, options.seconds)
    times.sort()
    p50, p95 = statistics.median(times) * 1e3, times[int(len(times) * 0.95)] * 1e3
    print(f"{len(times)} calls of {options.sessions} sessions: p50 {p50:.2f} ms, p95 {p95:.2f} ms (goal {GOAL_MS:.0f})")
    print(f"reading the rules' files alone: {floor * 1e3:.2f} ms; p50 is {p50 / (floor * 1e3):.1f} x that")
    return 0


def _write_rules(root: Path) -> None:
    intents = "".join(
        f"  - {{id: INT-{number}, name: n, status: active, owned_scope: ['src/part{number}/**']}}\n"
        for number in range(50)
    )
    rules = "".join(
        f"  - {{id: r{number}, decide: deny, paths: ['forbidden{number}/**'], operations: [write_source]}}\n"
        for number in range(50)
    )
    for name, text in ((INTENTS_FILE, f"active_intents:\n{intents}"), (POLICY_FILE, f"rules:\n{rules}")):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def _floor(root: Path) -> float:
    times = []
    for _ in range(500):
        begun = time.perf_counter()
        for name in (INTENTS_FILE, POLICY_FILE, POLICY_FILE):
            (root / name).read_text(encoding="utf-8")
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _measure(workspace: Workspace, n_sessions: int, seconds: float) -> list[float]:
    times: list[float] = []
    ends = time.perf_counter() + seconds
    pause = n_sessions / CALLS_A_SECOND

    def work(number: int) -> None:
        session = f"s-{number}"
        workspace.gate.memory.select(session, f"INT-{number % 50}")
        next_call = time.perf_counter() + pause * number / n_sessions
        while next_call < ends:
            time.sleep(max(0.0, next_call - time.perf_counter()))
            facts = _facts(session, number)
            begun = time.perf_counter()
            workspace.gate.decide(facts)
            times.append(time.perf_counter() - begun)
            next_call += pause

    threads = [threading.Thread(target=work, args=(number,)) for number in range(n_sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def _facts(session: str, number: int) -> CallFacts:
    path = RepoPath(f"src/part{number % 50}/file.py")
    caller = Caller(CallerKind.AGENT, "mcp", session, "bench")
    return CallFacts(
        "req_1", "write_source", EffectClass.WRITE, caller, session, Effects(writes=(path,), anchored=(path,)), {},
        "ab" * 32, time.time_ns() // 1_000_000, "cd" * 32,
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
