"""The labelled scoping cases, each as its own test."""

import pytest

from codeplane.languages.facts import BindTarget, Certainty
from codeplane.languages.python.extract import extract
from languages.python_binding_cases import BINDING_CASES, BindingCase
from languages.reading import ReadFacts, ReadReference


@pytest.mark.parametrize("case", BINDING_CASES, ids=lambda case: case.title)
def test_names_mean_what_the_label_says(case: BindingCase) -> None:
    source = case.source.encode()
    facts = ReadFacts(extract(source), source)
    assert [f"{name} -> {_answer(facts, name)}" for name, _ in _labels(case)] == [
        f"{name} -> {answer}" for name, answer in _labels(case)
    ]


def _labels(case: BindingCase) -> list[tuple[str, str]]:
    pairs = [label.split(" -> ") for label in case.expected.split("; ")]
    return [(name, answer) for name, answer in pairs]


def _answer(facts: ReadFacts, label: str) -> str:
    name, _, position = label.partition("@")
    line, _, nth = position.partition(".")
    found = [
        reference for reference in facts.references if reference.name == name and reference.span.start_line == int(line)
    ]
    return _place(facts, found[int(nth or 1) - 1])


def _place(facts: ReadFacts, reference: ReadReference) -> str:
    if reference.bind is None:
        return "-"
    bind = facts.binds[reference.bind]
    assert bind.target >= 0
    if bind.target_kind is BindTarget.IMPORT:
        line = facts.line(facts.imports[bind.target].start)
    else:
        line = facts.line(facts.definitions[bind.target].name_start)
    return f"{line}{'?' if bind.certainty is Certainty.UNCERTAIN else ''}"
