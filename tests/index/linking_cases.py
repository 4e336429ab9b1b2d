"""Ask an index of a small repository what names mean, in text."""

from dataclasses import dataclass, field
from pathlib import Path

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.reader import FactReader, line_and_column
from codeplane.index.linking.stored_links import Tier
from index.evidence import evidence_words
from support.doors import open_test_workspace
from support.repositories import make_repository


@dataclass(frozen=True)
class Case:
    """`asked` has lines `path:line name[#nth] -> path:line TIER`, or `-> -` where nothing may be said."""

    title: str
    files: dict[str, str]
    asked: str
    proof: dict[str, list[str]] = field(default_factory=dict)


def check(case: Case, directory: Path) -> None:
    """Index the files of a case and compare what is said with what should be."""
    root = make_repository(directory / "repo", dict(case.files))
    expected, said = [], []
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            for line in case.asked.splitlines():
                question = line.partition(" -> ")[0]
                answer, proof = meaning(reader, question)
                expected.append(line)
                said.append(f"{question} -> {answer}")
                if question in case.proof:
                    expected.append(f"{question}: {case.proof[question]}")
                    said.append(f"{question}: {proof}")
    assert said == expected, "\n".join(["", *said, "should be", *expected])


def meaning(reader: FactReader, question: str) -> tuple[str, list[str]]:
    """Return what the index says about a place, `-` for nothing sure, and the chain that proves it."""
    place, _, label = question.rpartition(" ")
    path, _, wanted_line = place.rpartition(":")
    name, _, nth = label.partition("#")
    file = reader.file_at(path)
    assert file is not None
    view = FileView(reader, file)
    found = [
        position
        for position, start in enumerate(view.columns.starts)
        if view.columns.names[view.columns.name_numbers[position]] == name
        and line_and_column(view.text, start)[0] == int(wanted_line)
    ]
    position = found[int(nth or 1) - 1]
    tier, target = view.meaning(position)
    if tier not in {Tier.PROVEN, Tier.STRONG} or target is None:
        return "-", []
    holder = reader.file(target[0])
    assert holder is not None
    line = reader.outline(holder.facts_id or 0).lines[target[1]][1]
    linked = view.target(position)
    return f"{holder.path}:{line} {tier.name}", evidence_words(reader, linked.chain) if linked else []
