"""The labelled scoping cases, each as its own test for each grammar it is read by."""

from collections.abc import Callable

import pytest

from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    SUPER,
    THIS,
    BindTarget,
    Certainty,
    FileFacts,
    LocalBind,
)
from codeplane.languages.javascript.extract import extract_javascript, extract_tsx, extract_typescript
from languages.javascript.binding_cases import BINDING_CASES, BindingCase

EXTRACT: dict[str, Callable[[bytes], FileFacts]] = {
    "js": extract_javascript,
    "ts": extract_typescript,
    "tsx": extract_tsx,
}
GRAMMARS = {"all": ("js", "ts", "tsx"), "jsx": ("js", "tsx")}
CODES = {NO_RECEIVER: "-", EXPRESSION: ".?", KEYWORD: ".=", THIS: ".this", SUPER: ".super"}
RUNS = [
    pytest.param(case, grammar, id=f"{case.title} ({grammar})")
    for case in BINDING_CASES
    for grammar in GRAMMARS.get(case.languages, tuple(case.languages.split()))
]


@pytest.mark.parametrize(("case", "grammar"), RUNS)
def test_names_mean_what_the_label_says(case: BindingCase, grammar: str) -> None:
    facts = EXTRACT[grammar](case.source.encode())
    assert facts.n_errors == 0
    labels = [label.split(" -> ") for label in case.expected.split("; ")]
    assert [f"{name} -> {_answer(facts, case.source, name)}" for name, _ in labels] == [
        f"{name} -> {answer}" for name, answer in labels
    ]


def _answer(facts: FileFacts, source: str, label: str) -> str:
    name, _, position = label.rpartition("@")
    line, _, nth = position.partition(".")
    found = [one for one in facts.references if one[1] == name and _line(source, one[0]) == int(line)]
    if len(found) < int(nth or 1):
        return "none"
    *_, receiver, bind = found[int(nth or 1) - 1]
    if bind != NONE:
        return _place(facts, source, facts.binds[bind])
    if receiver >= 0:
        return "." + next(one[1] for one in facts.references if one[0] == receiver)
    return CODES[receiver]


def _place(facts: FileFacts, source: str, bind: LocalBind) -> str:
    doubt = "?" if bind.certainty is Certainty.UNCERTAIN else ""
    if bind.target_kind is BindTarget.IMPORT:
        return f"i{_line(source, facts.imports[bind.target].start)}{doubt}"
    target = facts.definitions[bind.target]
    line = _line(source, target.name_start)
    starts = sorted(
        {
            one.name_start
            for one in facts.definitions
            if one.name == target.name and _line(source, one.name_start) == line
        }
    )
    number = starts.index(target.name_start) + 1
    return f"{line}{f'.{number}' if number > 1 else ''}{doubt}"


def _line(source: str, offset: int) -> int:
    return source.encode().count(b"\n", 0, offset) + 1
