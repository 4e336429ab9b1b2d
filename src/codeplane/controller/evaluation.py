"""Golden tasks and their metrics: scripted turns, what is expected of each, and what came of it."""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

GOLDEN: Final = Path(__file__).parent / "golden"
_PLACE: Final = re.compile(r"\{(\d+)\.([\w.]+)\}")
_RUN: Final = {"runSessionId": "golden", "workId": "golden", "agentId": "golden"}


@dataclass(frozen=True, slots=True)
class GoldenTask:
    """One task: the turns with their expectations, and what files and history must be at the end."""

    task_id: str
    title: str
    turns: tuple[Mapping[str, Any], ...]
    files: Mapping[str, str]
    n_commits: int


@dataclass(slots=True)
class TaskOutcome:
    """What a task showed; no problems means that it passed."""

    task_id: str
    title: str
    problems: list[str] = field(default_factory=list)
    n_turns: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    response_tokens: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the outcome with its metrics."""
        return {
            "id": self.task_id,
            "title": self.title,
            "passed": not self.problems,
            "problems": self.problems,
            "turns": self.n_turns,
            "denials": dict(sorted(self.codes.items())),
            "request_tokens": self.tokens,
            "response_tokens": self.response_tokens,
        }


def base() -> dict[str, Any]:
    """Return what all tasks share: the prompt, the files, the plan and named turns."""
    document: dict[str, Any] = json.loads((GOLDEN / "base.json").read_text(encoding="utf-8"))
    return document


def golden_tasks() -> tuple[GoldenTask, ...]:
    """Return the tasks that ship with the program."""
    rows = json.loads((GOLDEN / "tasks.json").read_text(encoding="utf-8"))
    return tuple(GoldenTask(row["id"], row["title"], tuple(row["turns"]), row["files"], row["commits"]) for row in rows)


def play(task: GoldenTask, turn: Callable[[dict[str, Any]], dict[str, Any]]) -> TaskOutcome:
    """Play a task with a function that makes turns, and compare each answer with what is expected."""
    shared, outcome = base(), TaskOutcome(task.task_id, task.title)
    answers: list[dict[str, Any]] = []
    for step in (*shared["reading"], *task.turns):
        given = _request(step, shared, answers)
        if not answers:
            given["originalPrompt"] = shared["prompt"]
        answers.append(turn({**_RUN, **given}))
        _count(outcome, answers[-1])
        outcome.problems += _differences(step, answers, len(answers))
    return outcome


def metrics(outcomes: list[TaskOutcome]) -> dict[str, Any]:
    """Return what all tasks add up to."""
    codes: Counter[str] = Counter()
    for one in outcomes:
        codes.update(one.codes)
    return {
        "tasks": len(outcomes),
        "passed": sum(not one.problems for one in outcomes),
        "turns": sum(one.n_turns for one in outcomes),
        "request_tokens": sum(one.tokens for one in outcomes),
        "response_tokens": sum(one.response_tokens for one in outcomes),
        "denials": dict(sorted(codes.items())),
    }


def _request(step: Mapping[str, Any], shared: Mapping[str, Any], answers: list[dict[str, Any]]) -> dict[str, Any]:
    if "plan" in step:
        plan = _filled(shared["plan"], answers)
        plan = {**plan.pop("envelope"), **plan}
        for change in step["plan"]:
            _put(plan, change["path"], _filled(change["value"], answers))
        return {"verb": "submit_execution_plan", "args": {"planGraph": plan}}
    named = shared["turns"][step["use"]] if "use" in step else step
    return {"verb": named["verb"], "args": _filled(named.get("args", {}), answers)}


def _filled(value: Any, answers: list[dict[str, Any]]) -> Any:
    """Return a value with `{3.traceRef}` replaced by that field of the third answer."""
    if isinstance(value, dict):
        return {name: _filled(one, answers) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, answers) for one in value]
    match = _PLACE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    found: Any = answers[int(match[1]) - 1]
    for name in match[2].split("."):
        found = found[name]
    return copy.deepcopy(found)


def _put(document: Any, pointer: str, value: Any) -> None:
    *parents, last = pointer.strip("/").split("/")
    for name in parents:
        document = document[int(name)] if isinstance(document, list) else document[name]
    document[int(last) if isinstance(document, list) else last] = value


def _differences(step: Mapping[str, Any], answers: list[dict[str, Any]], number: int) -> list[str]:
    answer, found = answers[-1], []
    expected = {"denyReasons": step.get("codes"), "state": step.get("state"), "outcome": step.get("outcome")}
    for name, value in expected.items():
        if value is not None and answer.get(name) != value:
            found.append(f"turn {number}: {name} is {answer.get(name)}, not {value}")
    for name, value in step.get("result", {}).items():
        if answer["result"].get(name) != value:
            found.append(f"turn {number}: {name} is {answer['result'].get(name)!r}, not {value!r}")
    if step.get("codes") == [] and "error" in answer["result"]:
        found.append(f"turn {number}: {answer['result']['error'].get('message')}")
    if "same" in step and len({json.dumps(one) for one in _filled(step["same"], answers)}) != 1:
        found.append(f"turn {number}: {' and '.join(step['same'])} differ")
    return found


def _count(outcome: TaskOutcome, answer: Mapping[str, Any]) -> None:
    outcome.n_turns += 1
    outcome.codes.update(answer["denyReasons"])
    outcome.tokens = answer["budgetStatus"]["usedTokens"]
    outcome.response_tokens += answer["budgetStatus"]["responseTokens"]
