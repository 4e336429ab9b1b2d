"""Does a coding agent do real tasks with fewer turns and less context with CodePlane than with a shell?

    python -m bench.agent_tasks list
    python -m bench.agent_tasks prepare --task ID --arm shell|codeplane --repo CLONE --venv VENV --into DIRECTORY
    DIRECTORY/turn < a turn      (or: python -m bench.agent_tasks turn --in DIRECTORY)
    DIRECTORY/finish < an answer (or: python -m bench.agent_tasks finish --in DIRECTORY)
    python -m bench.agent_tasks report DIRECTORY... [--json]
    python -m bench.agent_tasks verify --task ID --repo CLONE --venv VENV

See README.md beside this file.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .checkout import git, git_directory, prepare
from .grade import finish, grade
from .play import Play
from .report import as_table, report_rows
from .tasks import TASKS_FILE, Task, load_tasks
from .turn import take_turn


def main() -> None:
    """Run one action."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("list", "prepare", "verify"):
        action = actions.add_parser(name)
        action.add_argument("--tasks", type=Path, default=TASKS_FILE, help="another file of tasks")
        if name != "list":
            action.add_argument("--task", required=True)
            action.add_argument("--repo", type=Path, help="a clone of the task's repository, bare or not")
            action.add_argument("--venv", type=Path, help="the virtual environment that runs its tests")
    made = actions.choices["prepare"]
    made.add_argument("--arm", choices=("shell", "codeplane"), required=True)
    made.add_argument("--into", type=Path, required=True)
    for name in ("turn", "finish", "serve"):
        actions.add_parser(name).add_argument("--in", dest="directory", type=Path, required=True)
    shown = actions.add_parser("report")
    shown.add_argument("directories", type=Path, nargs="+")
    shown.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ACTIONS[options.action](options)


def list_tasks(options: argparse.Namespace) -> None:
    """Print each task with its repository and how to make its environment."""
    for task in load_tasks(options.tasks).values():
        kind = "question" if task.answer else "change"
        print(f"{task.id:32} {kind:9} {task.source.url}  pip install {task.source.packages}")


def prepare_play(options: argparse.Namespace) -> None:
    """Prepare a directory for one player."""
    _task(options)
    if options.into.exists() and any(options.into.iterdir()):
        raise SystemExit(f"{options.into} is not empty. Name a new directory.")
    options.into.mkdir(parents=True, exist_ok=True)
    prepare(_play(options, options.into, options.arm))
    print(f"Give the player {options.into / 'PROMPT.md'}.")


def _task(options: argparse.Namespace) -> Task:
    """Return the task, or say what is missing to play it."""
    tasks = load_tasks(options.tasks)
    if options.task not in tasks:
        raise SystemExit(f"There is no task {options.task}. Choose one of: {', '.join(tasks)}.")
    source = tasks[options.task].source
    if options.repo is None:
        raise SystemExit(f"Get the repository with `git clone {source.url} CLONE` and add --repo CLONE.")
    if source.packages and (options.venv is None or not (options.venv / "bin/python").exists()):
        made = f"`python3 -m venv VENV && VENV/bin/pip install {source.packages}` (Python 3.12 or newer)"
        raise SystemExit(f"Make an environment with {made} and add --venv VENV.")
    return tasks[options.task]


def _play(options: argparse.Namespace, directory: Path, arm: str) -> Play:
    venv = str(options.venv.resolve()) if options.venv else ""
    repo, tasks = str(options.repo.resolve()), str(options.tasks.resolve())
    return Play(directory.resolve(), options.task, arm, repo, venv, tasks)


def play_turn(options: argparse.Namespace) -> None:
    """Read a turn, play it, print what the model reads."""
    print(take_turn(Play.load(options.directory), sys.stdin.read()))


def finish_play(options: argparse.Namespace) -> None:
    """Read the final answer and grade the play, without telling the player what was hidden."""
    result = finish(Play.load(options.directory), sys.stdin.read())
    print(f"Finished: {result['calls']} calls in {result['turns']} turns, {result['context']} tokens of context.")


def print_report(options: argparse.Namespace) -> None:
    """Print both arms side by side."""
    rows = report_rows(options.directories)
    print(json.dumps(rows, indent=1) if options.json else as_table(rows))


def verify_task(options: argparse.Namespace) -> None:
    """Check that the hidden tests fail at the start commit and pass with the real fix."""
    task = _task(options)
    if not task.fix:
        raise SystemExit(f"{task.id} has no fix commit. Nothing was verified.")
    solved = []
    for is_fixed in (False, True):
        with tempfile.TemporaryDirectory() as directory:
            play = _play(options, Path(directory), "shell")
            prepare(play)
            if is_fixed:
                fixed = {"GIT_DIR": git_directory(options.repo), "GIT_WORK_TREE": str(play.checkout)}
                git(play.checkout, "checkout", "-q", task.fix, "--", ".", GIT_INDEX_FILE=f"{directory}/i", **fixed)
            result = grade(play, "")
            solved.append(result["solved"])
            if result["solved"] != is_fixed:
                print(result)
    print(f"{task.id}: solved before the fix: {solved[0]}, after: {solved[1]}")
    sys.exit(solved != [False, True])


def serve_session(options: argparse.Namespace) -> None:
    """Hold the MCP session of a play."""
    # Importing the MCP client takes about a second, which every other action would pay too.
    from .session_server import serve  # noqa: PLC0415  # See above.

    asyncio.run(serve(Play.load(options.directory)))


ACTIONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "list": list_tasks,
    "prepare": prepare_play,
    "turn": play_turn,
    "finish": finish_play,
    "report": print_report,
    "verify": verify_task,
    "serve": serve_session,
}

if __name__ == "__main__":
    main()
