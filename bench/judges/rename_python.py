"""Answer where jedi or rope would write a new name, one JSON line for each on standard input.

    PYTHON_WITH_THE_JUDGE bench/judges/rename_python.py {jedi|rope} REPOSITORY

A question is {"path", "line", "column", "name", "new_name"}, the line from 1 and the column from 0 in characters. The
answer is {"edits": [[path, line, column], ...]}, or {"error": text} when the judge refuses or fails.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Place = tuple[str, int, int]


def ask_jedi(root: Path) -> Callable[[dict[str, Any]], list[Place]]:
    """Return a function that answers one question by jedi."""
    import jedi  # type: ignore[import-not-found]  # noqa: PLC0415 - only this judge's interpreter has it

    project = jedi.Project(root, added_sys_path=[str(root / "src")])

    def answer(question: dict[str, Any]) -> list[Place]:
        script = jedi.Script(path=root / question["path"], project=project)
        found = script.get_references(question["line"], question["column"], scope="project")
        return [
            (one.module_path.relative_to(root).as_posix(), one.line, one.column)
            for one in found
            if one.module_path and one.module_path.is_relative_to(root) and one.name == question["name"]
        ]

    return answer


def ask_rope(root: Path) -> Callable[[dict[str, Any]], list[Place]]:
    """Return a function that answers one question by rope."""
    from rope.base.project import Project  # type: ignore[import-not-found]  # noqa: PLC0415 - as above
    from rope.refactor.rename import Rename  # type: ignore[import-not-found]  # noqa: PLC0415 - as above

    project = Project(str(root), ropefolder=None)

    def answer(question: dict[str, Any]) -> list[Place]:
        resource = project.get_resource(question["path"])
        lines = resource.read().split("\n")
        offset = sum(len(line) + 1 for line in lines[: question["line"] - 1]) + question["column"]
        changes = Rename(project, resource, offset).get_changes(question["new_name"], docs=False)
        names = question["name"], question["new_name"]
        return [
            (change.resource.path, line, column)
            for change in changes.changes
            if getattr(change, "new_contents", None) is not None
            for line, column in renamed_places(change.resource.read(), change.new_contents, *names)
        ]

    return answer


def renamed_places(old: str, new: str, old_name: str, new_name: str) -> Iterator[tuple[int, int]]:
    """Yield where a name was replaced between two texts."""
    shift = 0
    at = old.find(old_name)
    while at >= 0:
        if new.startswith(new_name, at + shift):
            shift += len(new_name) - len(old_name)
            yield old.count("\n", 0, at) + 1, at - (old.rfind("\n", 0, at) + 1)
        at = old.find(old_name, at + len(old_name))


def main() -> None:
    """Answer until the input ends."""
    judge, root = sys.argv[1], Path(sys.argv[2]).resolve()
    ask = {"jedi": ask_jedi, "rope": ask_rope}[judge](root)
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"edits": ask(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - a judge that fails has no opinion
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
