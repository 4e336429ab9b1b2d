"""How often resolved references are right, judged by tools that know nothing of this index.

python bench/accuracy.py --repo DIRECTORY --language python --judge jedi --interpreter PYTHON_WITH_JEDI
python bench/accuracy.py --repo DIRECTORY --language typescript --answers JUDGE.jsonl

Precision is asked about a sample of references that the index calls PROVEN or STRONG; recall about a sample of all
identifier uses, of those the judge resolves inside the repository. Uses behind a dot are a row of their own. Every
disagreement is listed with file and line, to be read by a person: judges err too. `--answers` takes the lines that a
judge of all identifiers wrote (bench/judge_typescript.mjs, bench/judge_go); without it bench/judge_python.py is asked.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from codeplane.index.facts.columns import FIRST_EXPRESSION
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import Op
from codeplane.index.facts.reader import FactCache, FactReader, reading
from codeplane.index.linking.stored_links import Tier
from codeplane.languages.facts import ReferenceRole
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

SURE = (Tier.PROVEN, Tier.STRONG)
HERE = Path(__file__).resolve().parent
GROUPS = {"typescript": ("typescript", "javascript"), "python": ("python",), "go": ("go",), "java": ("java",),
          "rust": ("rust",)}  # fmt: skip


@dataclass(frozen=True)
class Use:
    """An identifier that is used, and what the index says it means."""

    path: str
    start: int
    name: str
    is_attribute: bool
    tier: Tier
    target: tuple[str, int] | None


@dataclass
class Row:
    """One line of the table."""

    label: str
    n_sure: int = 0
    n_judged: int = 0
    n_wrong: int = 0
    n_resolvable: int = 0
    n_found: int = 0
    disagreements: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the line."""
        precision = 1 - self.n_wrong / self.n_judged if self.n_judged else 0
        recall = self.n_found / self.n_resolvable if self.n_resolvable else 0
        return (
            f"{self.label:12} sure and judged {self.n_judged:6}  disagreements {self.n_wrong:4}"
            f"  agreement {precision:.4f}   judge resolves {self.n_resolvable:6}  recall {recall:.3f}"
        )


class Index:
    """What the index says about every identifier of one language in a repository."""

    def __init__(self, reader: FactReader, languages: Iterable[str]) -> None:
        self.uses: list[Use] = []
        self.meaning_at: dict[tuple[str, int], tuple[str, int]] = {}
        self.imports: dict[str, list[tuple[int, int]]] = {}
        marks = ", ".join("?" * len(tuple(languages)))
        rows = reader.connection.execute(
            f"SELECT file_id FROM files WHERE facts_id IS NOT NULL AND language IN ({marks}) ORDER BY path",
            tuple(languages),
        ).fetchall()
        for (file_id,) in rows:
            file = reader.file(file_id)
            if file is not None:
                self._read(reader, FileView(reader, file))

    def _read(self, reader: FactReader, view: FileView) -> None:
        columns = view.columns
        self.imports[view.file.path] = [(row[6], row[7]) for row in view.outline.import_rows]
        for position, start in enumerate(columns.starts):
            tier, target = view.meaning(position)
            place = self._place(reader, target)
            if place is not None:
                self.meaning_at[view.file.path, start] = place
            if columns.roles[position] == ReferenceRole.DEFINITION:
                continue
            name = columns.names[columns.name_numbers[position]]
            self.uses.append(Use(view.file.path, start, name, _is_attribute(view, position), tier, place))

    def is_import(self, place: tuple[str, int]) -> bool:
        """Tell whether a place is an import: a judge that stops there knows of no definition in the repository."""
        return any(start <= place[1] < end for start, end in self.imports.get(place[0], ()))

    @staticmethod
    def _place(reader: FactReader, target: tuple[int, int] | None) -> tuple[str, int] | None:
        file = reader.file(target[0]) if target is not None else None
        if file is None or target is None or file.facts_id is None:
            return None
        return file.path, int(reader.outline(file.facts_id).definition_rows[target[1]][5])


def _is_attribute(view: FileView, position: int) -> bool:
    link = view.columns.links[position]
    if link < FIRST_EXPRESSION:
        return link != 0
    return view.outline.expression(link - FIRST_EXPRESSION)[0] in {Op.MEMBER, Op.SUPER, Op.THIS}


def main() -> int:
    """Print the table and the disagreements."""
    options = _options()
    with open_workspace(WorkspaceRequest(options.repo)) as workspace:
        workspace.index.refresh()
        with reading(workspace.index.store, FactCache()) as reader:
            index = Index(reader, GROUPS[options.language])
    draw = random.Random(options.seed)
    sure = [use for use in index.uses if use.tier in SURE]
    precision = draw.sample(sure, min(options.sample, len(sure)))
    recall = draw.sample(index.uses, min(options.sample * 2, len(index.uses)))
    answers = _answers(options, {(use.path, use.start) for use in [*precision, *recall]})
    judged = {
        use: [place for place in defs if index.meaning_at.get(place) or not index.is_import(place)]
        for use, defs in answers.items()
        # What a judge calls its own definition, such as a key of an object literal, is no use.
        if use not in defs
    }
    tiers = {tier.name: sum(use.tier is tier for use in index.uses) for tier in Tier}
    print(f"{options.repo.name}: {len(index.uses)} uses, " + ", ".join(f"{n} {name}" for name, n in tiers.items()))
    rows = [
        _row("names", index, precision, recall, judged, False),
        _row("attributes", index, precision, recall, judged, True),
    ]
    for row in rows:
        print(row.text())
    total = Row(
        "all",
        *[
            sum(getattr(row, name) for row in rows)
            for name in ("n_sure", "n_judged", "n_wrong", "n_resolvable", "n_found")
        ],
    )
    print(total.text())
    for row in rows:
        for line in row.disagreements[: options.show]:
            print(line)
    return 0


Judged = dict[tuple[str, int], list[tuple[str, int]]]


def _row(
    label: str, index: Index, precision: list[Use], recall: list[Use], judged: Judged,
    attribute: bool,  # noqa: FBT001 - which row
) -> Row:  # fmt: skip
    row = Row(label)
    for use in precision:
        defs = judged.get((use.path, use.start))
        if use.is_attribute is not attribute or not defs:
            continue
        row.n_judged += 1
        if not _agrees(index, use, defs):
            row.n_wrong += 1
            row.disagreements.append(f"  {use.path}@{use.start} {use.name}: {use.tier.name} {use.target}, judge {defs}")
    for use in recall:
        defs = judged.get((use.path, use.start))
        if use.is_attribute is not attribute or not defs:
            continue
        row.n_resolvable += 1
        row.n_found += use.tier in SURE and _agrees(index, use, defs)
    return row


def _agrees(index: Index, use: Use, defs: list[tuple[str, int]]) -> bool:
    """Tell whether a judge's place is the target, or a place that means the same thing by the index itself."""
    return any(place == use.target or index.meaning_at.get(place) == use.target for place in defs)


def _answers(options: argparse.Namespace, wanted: set[tuple[str, int]]) -> "Judged":
    if options.answers:
        lines = options.answers.read_text().splitlines()
    else:
        with tempfile.TemporaryDirectory() as directory:
            asked, answered = Path(directory) / "asked", Path(directory) / "answered"
            asked.write_text("\n".join(json.dumps({"path": path, "start": start}) for path, start in sorted(wanted)))
            subprocess.run(
                [options.interpreter, HERE / "judge_python.py", options.judge, options.repo, asked, answered],
                check=True,
            )
            lines = answered.read_text().splitlines()
            if options.keep:
                options.keep.write_text("\n".join(lines))
    found = {}
    for line in lines:
        answer = json.loads(line)
        key = (answer["path"], answer["start"])
        if key in wanted:
            found[key] = [(one["path"], one["start"]) for one in answer["defs"]]
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--language", choices=GROUPS, default="python")
    parser.add_argument("--judge", choices=("jedi", "basedpyright"), default="jedi")
    parser.add_argument("--interpreter", default=sys.executable, help="a Python that has the judge installed")
    parser.add_argument("--answers", type=Path, help="what a judge of all identifiers wrote")
    parser.add_argument("--keep", type=Path, help="write the judge's answers here")
    parser.add_argument("--sample", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=40, help="list so many disagreements per row")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
