"""The labelled scoping cases, each as its own test."""

import pytest

from codeplane.languages.facts import BindTarget, Certainty, FileFacts, Reference
from codeplane.languages.python.extract import extract
from languages.python_binding_cases import BINDING_CASES, BindingCase


@pytest.mark.parametrize("case", BINDING_CASES, ids=lambda case: case.title)
def test_names_mean_what_the_label_says(case: BindingCase) -> None:
    facts = extract(case.source.encode())
    assert [f"{name} -> {_answer(facts, name)}" for name, _ in _labels(case)] == [
        f"{name} -> {answer}" for name, answer in _labels(case)
    ]


def _labels(case: BindingCase) -> list[tuple[str, str]]:
    pairs = [label.split(" -> ") for label in case.expected.split("; ")]
    return [(name, answer) for name, answer in pairs]


def _answer(facts: FileFacts, label: str) -> str:
    name, _, position = label.partition("@")
    line, _, nth = position.partition(".")
    found = [
        reference for reference in facts.references if reference.name == name and reference.span.start_line == int(line)
    ]
    return _place(facts, found[int(nth or 1) - 1])


def _place(facts: FileFacts, reference: Reference) -> str:
    if reference.bind is None:
        return "-"
    bind = facts.binds[reference.bind]
    assert bind.target is not None
    if bind.target_kind is BindTarget.IMPORT:
        line = facts.imports[bind.target].span.start_line
    else:
        line = facts.definitions[bind.target].name_span.start_line
    return f"{line}{'?' if bind.certainty is Certainty.UNCERTAIN else ''}"
