"""How long the trace takes, beside the plain work that it rests on.

python bench/trace.py [--records N] [--files N] [--commands N] [--writes N]

Verify: a file of N records with its ledger, over reading its lines as JSON. Blame: a file of 5,000 lines with 300
traced edits, over `git blame` of the same file. Write: what a traced edit adds, over the edit without the trace steps.
Shell: N commands in a repository of many files, with how many changed lines reach the right call, over `git status`
twice.
"""

# ruff: noqa: A005 - a script that nobody imports.

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.ids import RandomIds
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.govern.approvals import PersonsAnswer
from codeplane.govern.trace.files import TRACE_FILE
from codeplane.govern.trace.ledger_records import FIELD, TRACED_KIND
from codeplane.govern.trace.records import Cause, TracedFile
from codeplane.ledger.chain import NewEvent, RowFilter
from codeplane.operations.agent_calls import answer_event
from codeplane.operations.agent_events import AgentEvent, EventKind, ToolKind, ToolUse
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

INTENTS = "active_intents:\n  - {id: INT-001, name: Work, status: active, owned_scope: ['**']}\n"
ENDED = RowFilter(kinds=("finished",), limit=5)
AGENT = Caller(CallerKind.AGENT, "mcp", "bench", "bench")


def main() -> int:
    """Print the numbers."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--records", type=int, default=100_000)
    arguments.add_argument("--files", type=int, default=20_000)
    arguments.add_argument("--commands", type=int, default=100)
    arguments.add_argument("--writes", type=int, default=200)
    options = arguments.parse_args()
    for measure in (
        lambda root: measure_verify(root, options.records),
        measure_blame,
        lambda root: measure_writes(root, options.writes),
        lambda root: measure_shell(root, options.files, options.commands),
    ):
        with tempfile.TemporaryDirectory() as directory:
            measure(Path(directory) / "repo")
    return 0


def git(root: Path, *arguments: str) -> None:
    """Run git with an identity."""
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
    run_process(ProcessRequest(("git", *identity, *arguments), root, 600))


def make(root: Path, files: dict[str, str]) -> Workspace:
    """Make a repository with intents and return its workspace."""
    root.mkdir()
    for name, text in {**files, ".orchestration/active_intents.yaml": INTENTS, TRACE_FILE: ""}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    return open_workspace(WorkspaceRequest(root, ids=RandomIds()))


def cause(workspace: Workspace, call_id: str) -> Cause:
    """Return the cause of a change."""
    return Cause(
        call_id=call_id, session="s-bench", contributor="ai", tool_name="Edit", tool_origin="native", action="write",
        now_ms=workspace.clock.now_ms(), intent="INT-001", revision=workspace.repo_version().head,
    )  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    """Return how many milliseconds something takes."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def measure_verify(root: Path, n_records: int) -> None:
    """Verify many records."""
    with make(root, {"a.py": "first = 1\n"}) as workspace:
        events = []
        for number in range(n_records):
            name = f"pkg/file_{number % 500}.py"
            file = TracedFile(name, None, f"value_number_{number} = 1\nanother_line_{number} = 2\n".encode())
            record = workspace.trace.record_of(file, cause(workspace, f"call_{number}"))
            events.append(NewEvent(TRACED_KIND, "s-bench", {FIELD: [record]}, f"call_{number}"))
            if len(events) == 5_000:
                workspace.chain.append(*events)
                events = []
        if events:
            workspace.chain.append(*events)
        workspace.trace.project()
        place = root / TRACE_FILE
        floor = timed(lambda: [json.loads(line) for line in place.open(encoding="utf-8")])
        took = timed(workspace.trace.verify)
        report = workspace.trace.verify()
        size = place.stat().st_size / 1e6
        print(
            f"verify {report.n_records} records ({size:.0f} MB): {took:.0f} ms, {took / floor:.1f}x reading the JSON;"
            f" sound={report.is_sound}"
        )


def measure_blame(root: Path) -> None:
    """Blame a long file."""
    rng = random.Random(1)
    lines = [f"value_of_line_{i} = {i}" for i in range(5_000)]
    with make(root, {"big.py": "\n".join(lines) + "\n"}) as workspace:
        place = root / "big.py"
        for number in range(300):
            at = rng.randrange(len(lines))
            before = place.read_bytes()
            lines[at : at + 1] = [f"changed_in_call_{number}_{j} = 1" for j in range(2)]
            place.write_text("\n".join(lines) + "\n", encoding="utf-8")
            workspace.trace.record([TracedFile("big.py", before, place.read_bytes())], cause(workspace, f"c{number}"))
            if number % 30 == 0:
                git(root, "commit", "--quiet", "--all", "-m", f"commit {number}")
        git(root, "commit", "--quiet", "--all", "-m", "last")
        place.write_text(place.read_text(encoding="utf-8") + "by_hand_at_the_end = 1\n", encoding="utf-8")
        door = Door(workspace, OPERATIONS)
        workspace.trace.index()
        floor = [timed(lambda: git(root, "blame", "--porcelain", "big.py")) for _ in range(7)]
        for name, path in (("all lines", "big.py"), ("one line", "big.py:2500")):
            ask = partial(dispatch, door, "trace_blame", {"path": path, "limit": 5000}, AGENT)
            took = [timed(ask) for _ in range(7)]
            ratio = statistics.median(took) / statistics.median(floor)
            print(f"blame {name} of {len(lines)}: {statistics.median(took):.0f} ms, {ratio:.1f}x git blame of the file")


def measure_writes(root: Path, n_writes: int) -> None:
    """Edit files through the door and count what the trace steps take."""
    files = {f"pkg/file_{i}.py": "".join(f"value_{i}_{j} = {j}\n" for j in range(400)) for i in range(20)}
    with make(root, files) as workspace:
        spent: dict[str, float] = {}
        last = [0.0]

        def note(step: str) -> None:
            now = time.perf_counter()
            spent[step] = (now - last[0]) * 1000
            last[0] = now

        door = Door(workspace, OPERATIONS, note)
        dispatch(door, "select_active_intent", {"intent_id": "INT-001"}, AGENT)
        added, whole = [], []
        for number in range(n_writes):
            name = f"pkg/file_{number % 20}.py"
            old = f"value_{number % 20}_{number // 20} = {number // 20}\n"
            edit = {"path": name, "expected_content": old, "new_content": f"changed_{number}_{old}"}
            last[0] = begun = time.perf_counter()
            answer = dispatch(door, "write_source", {"edits": [edit]}, AGENT)
            assert answer.error is None, answer.error
            whole.append((time.perf_counter() - begun) * 1000)
            added.append(spent["trace"] + spent["project_trace"])
        tail = sorted(added)[int(len(added) * 0.95)]
        print(
            f"write: the trace adds {statistics.median(added):.1f} ms, p95 {tail:.1f} ms, to an edit of"
            f" {statistics.median(whole):.1f} ms ({statistics.median(added) / statistics.median(whole):.0%})"
        )


PATCH = (
    "printf -- '--- a/d{d}/file_{f}.py\\n+++ b/d{d}/file_{f}.py\\n@@ -5,0 +6 @@\\n+applied_line_{n} = 1\\n'"
    " | git apply --unidiff-zero"
)
COMMANDS = (
    "sed -i '3s/.*/sed_line_{n} = 1/' d{d}/file_{f}.py",
    "printf 'generated_line_{n} = 1\\nsecond_generated_{n} = 2\\n' > d{d}/generated_{n}.py",
    "mv d{d}/file_{g}.py d{d}/moved_{n}.py && printf 'line_after_move_{n} = 1\\n' >> d{d}/moved_{n}.py",
    "rm d{d}/file_{g}.py && printf 'after_removal_{n} = 1\\n' >> d{d}/file_{f}.py",
    PATCH,
)


def event_of(root: Path, command: str, call_id: str) -> AgentEvent:
    """Return the event before a shell command of an agent."""
    tool = ToolUse("Bash", "claude:Bash", ToolKind.COMMAND, {"command": command}, command=command)
    return AgentEvent("claude", EventKind.BEFORE_TOOL, "", "bench", call_id, cwd=str(root), tool=tool)


def trust(door: Door, root: Path) -> None:
    """Select the intent in the agent's shell, and let a person approve its commands for the session."""
    answer_event(door, event_of(root, "cpl intent select INT-001", "select"))
    held = answer_event(door, event_of(root, "rm nothing", "first"))
    door.workspace.gate.approvals.decide(held.hold_id, PersonsAnswer(approves=True, by="bench", scope="session"))


def measure_shell(root: Path, n_files: int, n_commands: int) -> None:
    """Watch shell commands in a large repository."""
    rng = random.Random(2)
    files = {
        f"d{i // 100}/file_{i % 100}.py": "".join(f"value_{i}_{j} = {j}\n" for j in range(10)) for i in range(n_files)
    }
    with make(root, files) as workspace:
        door = Door(workspace, OPERATIONS)
        trust(door, root)
        workspace.refresh_index()
        added, floors, calls, right, wanted = [], [], {}, 0, 0
        unused = rng.sample(range(50, 100), 50)
        for number in range(n_commands):
            command = COMMANDS[number % len(COMMANDS)].format(
                n=number, d=rng.randrange(n_files // 100), f=rng.randrange(50), g=unused[number % 50]
            )
            event = event_of(root, command, f"shell_{number}")
            took = timed(partial(answer_event, door, event))
            subprocess.run(("bash", "-c", command), cwd=root, check=False, timeout=60)
            after = replace(event, kind=EventKind.AFTER_TOOL)
            took += timed(partial(answer_event, door, after))
            added.append(took)
            ended = next(row for row in workspace.chain.rows(ENDED) if row.operation == "claude:Bash")
            calls[f"shell_{number}"] = str(ended.call_id)
            floors.append(2 * timed(lambda: git(root, "status", "--porcelain")))
        index = workspace.trace.index()
        for path in sorted(root.rglob("*.py")):
            text = path.read_bytes()
            if not any(mark in text for mark in (b"sed_", b"_line_", b"generated", b"after_")):
                continue
            owners, _ = workspace.trace.owners_of(path.relative_to(root).as_posix(), text)
            for line, owned in zip(text.decode().splitlines(), owners, strict=True):
                if line.startswith("value"):
                    continue
                wanted += 1
                entry = index.entry(owned.number) if owned.number > 0 else None
                call_id = "shell_" + line.split(" ")[0].rsplit("_", 1)[1]
                right += entry is not None and entry.call_id == calls[call_id]
        tail = sorted(added)[int(len(added) * 0.95)]
        ratio = statistics.median(added) / statistics.median(floors)
        print(
            f"shell: {right} of {wanted} changed lines traced to their call ({right / max(1, wanted):.1%}); adds"
            f" {statistics.median(added):.0f} ms, p95 {tail:.0f} ms, {ratio:.1f}x"
            f" two git status, {n_files} files"
        )


if __name__ == "__main__":
    sys.exit(main())
