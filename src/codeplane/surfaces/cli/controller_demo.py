"""`cpl demo controller` and `cpl controller eval`: scripted runs of the controller on temporary repositories."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from codeplane.controller.evaluation import GoldenTask, TaskOutcome, base, golden_tasks, metrics, play
from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_json, print_table
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

_IDENTITY: Final = (("user.name", "Demo"), ("user.email", "demo@example.invalid"))
# What the weak model of the demo tries, and why it is wrong.
_ATTEMPTS: Final = (
    ("It leaves the decision to the executor", "/nodes/0/editIntent/summary", "Change the rounding as needed."),
    ("It cites a turn that never was", "/nodes/0/codeEvidence/0/traceRef", "tr:demo:99"),
    ("Its check always passes", "/nodes/1/verificationHooks/0/command", ["echo", "ok"]),
)


@click.command("eval", short_help="Play the golden tasks and print their metrics.")
@json_option
def command(as_json: bool) -> int:  # noqa: FBT001 - click passes flags by name.
    """Play the golden tasks on temporary repositories; exit code 1 when one does not end as expected."""
    outcomes = [evaluate(task) for task in golden_tasks()]
    total = metrics(outcomes)
    if as_json:
        print_json({"tasks": [one.as_json() for one in outcomes], "metrics": total})
    else:
        rows = tuple(
            (one.task_id, "ok" if not one.problems else "; ".join(one.problems), str(one.n_turns), one.title)
            for one in outcomes
        )
        print_table(("task", "outcome", "turns", "title"), rows)
        print(
            f"{total['passed']} of {total['tasks']} passed; {total['turns']} turns,"
            f" {total['request_tokens']} tokens asked, {total['response_tokens']} answered."
        )
    return OK if total["passed"] == total["tasks"] else FINDINGS


def evaluate(task: GoldenTask) -> TaskOutcome:
    """Play one task in a repository of its own."""
    with _sample() as (root, turn):
        outcome = play(task, turn)
        for path, text in task.files.items():
            if text not in (root / path).read_text(encoding="utf-8"):
                outcome.problems.append(f"{path} does not hold {text!r}")
        n_commits = len(_git(root, "rev-list", "HEAD").split())
        if n_commits != task.n_commits:
            outcome.problems.append(f"there are {n_commits} commits, not {task.n_commits}")
    return outcome


def show_controller_demo(*, as_json: bool) -> int:
    """Play the demo and show it."""
    story: list[str] = []
    is_fine = _play_demo(story.append if as_json else print)
    if as_json:
        print_json({"story": story, "passed": is_fine})
    return OK if is_fine else FINDINGS


def _play_demo(say: Callable[[str], None]) -> bool:
    """A weak model gets it wrong three times, is told what to do, succeeds; its mistake becomes a memory."""
    codes: list[str] = []
    with _sample() as (root, turn):
        say("A weak model is asked: " + base()["prompt"])
        for number, (why, pointer, value) in enumerate(_ATTEMPTS, 1):
            answer = _submit(turn, f"demo{number}", [{"path": pointer, "value": value}])
            codes += answer["denyReasons"]
            action = answer["suggestedAction"]
            say(f"{number}. {why}: {', '.join(answer['denyReasons'])}")
            say(f"   {answer['result']['violations'][0]['message']}")
            say(f"   It is told to call {action['verb']}.")
        for number in (4, 5):
            _submit(turn, f"demo{number}", [{"path": _ATTEMPTS[0][1], "value": f"{_ATTEMPTS[0][2]} Try {number}."}])
        task = next(one for one in golden_tasks() if one.task_id == "G01")
        outcome = play(task, turn)
        say(f"4. It does what it was told: accepted, patched, checked and committed in {outcome.n_turns} turns.")
        say("   " + _git(root, "log", "-1", "--format=%h %s", "--stat").strip().replace("\n", "\n   "))
        pending = turn({"verb": "signal_task_complete", "runSessionId": "golden", "workId": "golden"})
        memories = pending["result"]["memoryStatus"]["pending"]
        say(f"5. The same mistake was made three times: {', '.join(one['id'] for one in memories)} waits for a person.")
        return len(set(codes)) == len(_ATTEMPTS) and not outcome.problems and bool(memories)


def _submit(turn: Callable[..., dict[str, Any]], run: str, changes: list[dict[str, Any]]) -> dict[str, Any]:
    """Read and submit a plan with a fault, as a run of its own."""
    answers: list[dict[str, Any]] = []

    def noted(given: dict[str, Any]) -> dict[str, Any]:
        answers.append(turn({**given, "runSessionId": run, "workId": run}))
        return answers[-1]

    play(GoldenTask(run, run, ({"plan": changes},), {}, 1), noted)
    return answers[-1]


@contextmanager
def _sample() -> Iterator[tuple[Path, Callable[[Mapping[str, Any]], dict[str, Any]]]]:
    """Give the sample repository of the golden tasks and a function that makes turns in it."""
    with tempfile.TemporaryDirectory(prefix="codeplane-controller-") as directory:
        root = Path(directory).resolve() / "billing"
        for name, text in base()["files"].items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _git(root, "init", "-q", "-b", "main")
        for name, value in _IDENTITY:
            _git(root, "config", name, value)
        _git(root, "add", "-A")
        _git(root, "commit", "-q", "-m", "First")
        with open_workspace(WorkspaceRequest(root, ("logging.level=error",))) as workspace:
            door = Door(workspace, OPERATIONS)

            def turn(given: Mapping[str, Any]) -> dict[str, Any]:
                answer = dispatch(door, "controller_turn", given, Caller(CallerKind.AGENT, "demo", "demo", "demo"))
                if answer.error is not None:
                    raise CodePlaneError(answer.error.error, answer.error.message)
                found: dict[str, Any] = answer.envelope()["result"]
                return found

            yield root, turn


def _git(root: Path, *arguments: str) -> str:
    result = run_process(ProcessRequest(argv=("git", *arguments), cwd=root, timeout_seconds=30))
    if result.returncode:
        raise CodePlaneError("GIT_FAILED", f"git {arguments[0]} failed: {result.stderr_text.strip()}")
    return result.stdout_text
