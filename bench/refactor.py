"""Sampled renames on repositories nobody here wrote, judged by other tools in the same run.

    python bench/refactor.py --repo DIRECTORY --language python --judge basedpyright,jedi,rope --count 60 --seed 1
    python bench/refactor.py --repo DIRECTORY --language typescript --judge typescript
    python bench/refactor.py --repo DIRECTORY --language go --judge gopls
    python bench/refactor.py --repo DIRECTORY --language rust --judge rust-analyzer
    JUDGE_CLASSPATH=JARS python bench/refactor.py --repo DIRECTORY --language java --judge javac

Definitions of every kind are renamed in preview, in a copy of the repository; nothing is applied. A wrong edit is one
that ours makes without a question and the judge does not make; the list says which of the judges agree with it. Judges
err too: read each line. `--tools` is a directory with the judges, made so:

    python -m venv TOOLS/py && TOOLS/py/bin/pip install jedi rope basedpyright
    npm install --prefix TOOLS/ts typescript@5
    GOBIN=TOOLS/bin go install golang.org/x/tools/gopls@v0.21.1
    rustup component add rust-analyzer
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codeplane.core.callers import Caller, CallerKind
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from judges.definitions import Definition, in_comment, sample
from judges.judges import NAMES, Judge, Place, opened
from repositories import copy_repository

CALLER = Caller(CallerKind.AGENT, "bench", "bench", "bench", None)
NEW_NAMES = {True: "ZzRenamed", False: "zzRenamed"}
MAX_LISTED = 20
# The judges together: what none of them would write is wrong with more certainty.
ANY = "any judge"


@dataclass(frozen=True, slots=True)
class Preview:
    """What ours would write, what it asks, and how long the first page took."""

    edits: set[Place]
    questions: set[Place]
    ms: float
    refused: str = ""


@dataclass
class Row:
    """The counts of one kind."""

    renames: int = 0
    refused: int = 0
    skipped: int = 0
    wrong: int = 0
    judged: int = 0
    edited: int = 0
    asked_or_edited: int = 0
    sites: int = 0
    questions: int = 0
    times: list[float] = field(default_factory=list)

    def text(self, label: str) -> str:
        """Return the line of the table."""
        times = sorted(self.times) or [0.0]
        p95 = times[min(len(times) - 1, int(len(times) * 0.95))]
        return (
            f"{label:15}{self.renames:8}{self.refused:9}{self.skipped:9}{self.wrong:7}"
            f"{self.edited / max(1, self.judged):9.3f}{self.asked_or_edited / max(1, self.judged):12.3f}"
            f"{self.questions / max(1, self.sites):11.3f}{statistics.median(times):9.0f}{p95:9.0f}"
        )


HEADER = (
    f"{'kind':15}{'renames':>8}{'refused':>9}{'skipped':>9}{'wrong':>7}"
    f"{'recall':>9}{'+questions':>12}{'asked':>11}{'p50 ms':>9}{'p95 ms':>9}"
)


def preview(door: Door, definition: Definition, new_name: str) -> Preview:
    """Ask ours for one rename, all pages of it."""
    symbol = f"{definition.path}:{definition.line}:{definition.column}"
    arguments: dict[str, Any] = {"symbol": symbol, "new_name": new_name}
    edits: set[Place] = set()
    questions: set[Place] = set()
    started = time.perf_counter()
    ms = 0.0
    while True:
        answer = dispatch(door, "refactor_rename", arguments, CALLER)
        ms = ms or (time.perf_counter() - started) * 1000
        if answer.error is not None:
            return Preview(set(), set(), ms, answer.error.as_text())
        result = answer.envelope()["result"]
        edits |= {_place(one) for one in result.get("edits", ()) if one.get("group", "code") == "code"}
        questions |= {_place(one) for one in result.get("questions", ())}
        cursor = result.get("pagination", {}).get("next_cursor")
        if cursor is None:
            status = result.get("status", "ready")
            return Preview(edits, questions - edits, ms, "" if status == "ready" else status)
        arguments = {"cursor": cursor}


def _place(one: dict[str, Any]) -> Place:
    return one["path"], one["line"], one["column"]


def count(row: Row, ours: Preview, judged: set[Place] | None) -> set[Place]:
    """Add one rename to a row and return its wrong edits."""
    row.renames += 1
    row.times.append(ours.ms)
    if ours.refused:
        row.refused += 1
        return set()
    if not judged:
        row.skipped += 1
        return set()
    row.judged += len(judged)
    row.edited += len(judged & ours.edits)
    row.asked_or_edited += len(judged & (ours.edits | ours.questions))
    row.sites += len(ours.edits) + len(ours.questions)
    row.questions += len(ours.questions)
    wrong = ours.edits - judged
    row.wrong += len(wrong)
    return wrong


class Table:
    """The rows of one judge, with the places to be read by a person."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[str, Row] = defaultdict(Row)
        self.wrong: list[str] = []
        self.missed: list[str] = []

    def add(self, root: Path, definition: Definition, ours: Preview, answers: dict[str, set[Place] | None]) -> None:
        """Count one rename, in the row of its kind and in the last one."""
        judged = answers[self.name]
        count(self.rows["all"], ours, judged)
        wrong = count(self.rows[definition.kind], ours, judged)
        self.wrong += [_listed(root, definition, place, answers) for place in sorted(wrong)]
        if judged and not ours.refused:
            missed = judged - ours.edits - ours.questions
            self.missed += [_listed(root, definition, place, answers) for place in sorted(missed)]

    def text(self) -> str:
        """Return the table and the lists."""
        all_kinds = self.rows.pop("all", Row())
        lines = [f"\n{self.name}", HEADER, *(self.rows[kind].text(kind) for kind in sorted(self.rows))]
        lines.append(all_kinds.text("all"))
        for title, places in (("wrong automatic edits", self.wrong), ("missed", self.missed)):
            lines += [f"{title}: {len(places)}", *(f"  {one}" for one in places[:MAX_LISTED])]
        return "\n".join(lines)


def _listed(root: Path, definition: Definition, place: Place, answers: dict[str, set[Place] | None]) -> str:
    path, line, column = place
    text = (root / path).read_text(encoding="utf-8", errors="replace").split("\n")[line - 1].strip()
    agree = ", ".join(name for name, found in answers.items() if found and place in found and name != ANY)
    renamed = f"{definition.kind} {definition.name} of {definition.path}:{definition.line}:{definition.column}"
    return f"{path}:{line}:{column}  [{renamed}; {agree or 'no judge'}]  {text[:120]}"


def measure(root: Path, language: str, definitions: Iterable[Definition], judges: dict[str, Judge]) -> list[Table]:
    """Rename each definition in preview and count against every judge."""
    tables = [Table(name) for name in (*judges, *([ANY] if len(judges) > 1 else []))]
    with open_workspace(WorkspaceRequest(root)) as workspace:
        workspace.index.refresh()
        door = Door(workspace, OPERATIONS)
        for definition in definitions:
            new_name = NEW_NAMES[definition.name[:1].isupper()]
            ours = preview(door, definition, new_name)
            if ours.refused:
                print(f"refused {definition}: {ours.refused.splitlines()[0][:160]}", file=sys.stderr)
            answers = {name: _asked(judge, definition, new_name) for name, judge in judges.items()}
            for name, found in answers.items():
                answers[name] = {one for one in found or () if not in_comment(root, language, *one)} or None
            if len(judges) > 1:
                answers[ANY] = set().union(*(found for found in answers.values() if found)) or None
            for table in tables:
                table.add(root, definition, ours, answers)
    return tables


def _asked(judge: Judge, definition: Definition, new_name: str) -> set[Place] | None:
    try:
        found = judge(definition, new_name)
    except (OSError, TimeoutError, ValueError) as error:
        print(f"judge failed on {definition}: {error}", file=sys.stderr)
        return None
    return found or None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--language", choices=("go", "java", "python", "rust", "typescript"), required=True)
    parser.add_argument("--judge", required=True, help=f"one or more with commas between: {', '.join(NAMES)}")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tools", type=Path, default=Path("tools"), help="where the judges are installed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cpl-bench-") as scratch, ExitStack() as stack:
        root = Path(scratch).resolve() / options.repo.resolve().name
        copy_repository(options.repo, root)
        names = options.judge.split(",")
        judges = {name: stack.enter_context(opened(name, root, options.tools.absolute())) for name in names}
        definitions = sample(root, options.language, options.count, options.seed)
        print(f"{root.name}: {len(definitions)} definitions, seed {options.seed}")
        for table in measure(root, options.language, definitions, judges):
            print(table.text())


if __name__ == "__main__":
    main()
