"""The tasks: data in `tasks.toml`, read once."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TASKS_FILE = Path(__file__).resolve().parent / "tasks.toml"


@dataclass(frozen=True, slots=True)
class Source:
    """A public repository: how to get it, and how its programs run."""

    url: str
    packages: str = ""
    pythonpath: str = ""
    setup: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One task. A task with `fix` or `check` changes code; a task with `answer` asks a question."""

    id: str
    source: Source
    prompt: str
    start: str
    fix: str = ""
    tests: tuple[str, ...] = ()
    run: str = ""
    check: str = ""
    answer: frozenset[str] = frozenset()

    def full_prompt(self) -> str:
        """Return the text that a player reads, the same in both arms."""
        ends = (
            "Finish with the answer: one entry per line in the form stated above, nothing else."
            if self.answer
            else "Finish with one sentence on what you changed. Tests that you cannot see will check the change."
        )
        return f"{self.prompt.strip()}\n\n{ends}\n"


def load_tasks(path: Path = TASKS_FILE) -> dict[str, Task]:
    """Read all tasks by id."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    sources = {name: Source(**table) for name, table in data["source"].items()}
    return {task.id: task for task in (_task(table, sources) for table in data["task"])}


def _task(table: dict[str, Any], sources: dict[str, Source]) -> Task:
    given = {**table, "source": sources[table["source"]]}
    for name, kind in (("tests", tuple), ("answer", frozenset)):
        if name in given:
            given[name] = kind(given[name])
    if "fix" in given:
        given.setdefault("start", f"{given['fix']}^")
    return Task(**given)
