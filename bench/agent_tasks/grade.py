"""Grade a play: run the hidden tests or compare the answer, and count what it took."""

import json
import sys
from pathlib import Path
from typing import Any

from .checkout import git, git_directory
from .play import Play, run_shell
from .session import stop_session
from .tasks import Task

CHARS_PER_TOKEN = 4


def grade(play: Play, answer: str) -> dict[str, Any]:
    """Return whether the task is solved, with the details of its kind."""
    if play.task.answer:
        return grade_answer(play.task, answer)
    return grade_change(play)


def grade_answer(task: Task, answer: str) -> dict[str, Any]:
    """Compare a list of lines with the right answer as sets."""
    lines = (line.strip().removeprefix("- ").strip("`") for line in answer.splitlines())
    given = {line for line in lines if line}
    right = len(given & task.answer)
    return {
        "solved": given == task.answer,
        "precision": right / len(given) if given else 0.0,
        "recall": right / len(task.answer),
        "missing": sorted(task.answer - given),
        "wrong": sorted(given - task.answer),
    }


def grade_change(play: Play) -> dict[str, Any]:
    """Put the hidden tests over what the player left, and run them and the check."""
    git(play.checkout, "add", "--all", "--intent-to-add")
    (play.state / "work.diff").write_text(git(play.checkout, "diff", "HEAD"), encoding="utf-8")
    for path in play.task.tests:
        text = git(Path(play.repo), "show", f"{play.task.fix}:{path}", GIT_DIR=git_directory(Path(play.repo)))
        (play.checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (play.checkout / path).write_text(text, encoding="utf-8")
    results = {}
    if play.task.run:
        results["tests"] = run_shell(play, play.task.run)
    if play.task.check:
        check = play.state / "check.py"
        check.write_text(play.task.check, encoding="utf-8")
        python = "python" if play.venv else f'"{sys.executable}"'
        results["check"] = run_shell(play, f'{python} "{check}"')
    passed = {name: not output.is_error for name, output in results.items()}
    output = {f"{name}_output": output.text[-2000:] for name, output in results.items()}
    return {"solved": all(passed.values()), **passed, **output}


def finish(play: Play, answer: str) -> dict[str, Any]:
    """Stop the session, grade, and write `result.json`."""
    if play.arm == "codeplane":
        stop_session(play)
    result = {"task": play.task_id, "arm": play.arm, **costs(play), "answer": answer, **grade(play, answer)}
    (play.directory / "result.json").write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
    return result


def costs(play: Play) -> dict[str, int]:
    """Count calls, turns, tokens and errors, and the context that the model read over all turns.

    Each turn, and the final answer, reads the tools, the prompt and all that was written and read before. The list of
    tools is the same in every turn and cached by most models, so that the context without it is told too.
    """
    calls = play.calls()
    turns = max((call["turn"] for call in calls), default=0)
    read = len(play.system_text()) + len(play.task.full_prompt())
    context = read
    for turn in range(1, turns + 1):
        read += sum(call["chars_in"] + call["chars_out"] for call in calls if call["turn"] == turn)
        context += read
    return {
        "calls": len(calls),
        "turns": turns,
        "tokens_in": sum(call["chars_in"] for call in calls) // CHARS_PER_TOKEN,
        "tokens_out": sum(call["chars_out"] for call in calls) // CHARS_PER_TOKEN,
        "context": context // CHARS_PER_TOKEN,
        "context_without_tools": (context - (turns + 1) * len(play.system_text())) // CHARS_PER_TOKEN,
        "tool_errors": sum(call["is_error"] for call in calls),
        "shell_calls": sum(call["tool"] == "shell" for call in calls),
    }
