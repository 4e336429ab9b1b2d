"""Read labelled binding cases and say what the facts of a file answer to each label.

A file of cases is text: `### title` starts a case, the lines after it are its source. A line may end in
`//@tag: labels`, both parts optional. A label is `name -> answer` or `name#2 -> answer` for the second identifier of
that name on the line. Answers:

- `tag`: bound for certain to the definition of that name on the tagged line (`tag#2`: to the second such name there),
  `tag?` the same with a doubt, `import tag` to an import on that line
- `-`: a plain name that is bound to nothing in this file; `?`: one that is known to be unknown
- `.x`: a member of the reference `x` before it; `()`, `key`, `this`, `super`: the receivers that are no references
- `absent`: no fact at all
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
    Reference,
)

_NOTE = re.compile(r"//(?:@(\w+))?(?:: (.*))?$")
_CODES = {EXPRESSION: "()", KEYWORD: "key", THIS: "this", SUPER: "super"}


class Label(NamedTuple):
    """What one identifier is expected to mean."""

    line: int
    name: str
    nth: int
    answer: str


class BindingCase(NamedTuple):
    """One snippet with what its names mean; `tags` gives the line of each tag."""

    title: str
    source: str
    labels: tuple[Label, ...]
    tags: dict[str, int]


def read_cases(path: Path) -> list[BindingCase]:
    """Return the cases of a file."""
    _, *parts = re.split(r"^### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_read_case(part) for part in parts]


def answers(case: BindingCase, facts: FileFacts) -> tuple[list[str], list[str]]:
    """Return what is expected and what the facts say, as two lists of lines that should be equal."""
    lines = Lines(case.source)
    expected, said = [], []
    for label in case.labels:
        place = f"{label.line}: {label.name}#{label.nth} -> "
        found = [one for one in facts.references if one[1] == label.name and lines.line_of(one[0]) == label.line]
        expected.append(place + label.answer)
        answer = "absent" if len(found) < label.nth else _answer(case, facts, lines, found[label.nth - 1])
        said.append(place + (label.answer if _agrees(label.answer, answer) else answer))
    return expected, said


class Lines:
    """Turn byte offsets into line numbers."""

    def __init__(self, source: str) -> None:
        self._source = source.encode()

    def line_of(self, offset: int) -> int:
        """Return the number of the line at an offset, counted from 1."""
        return self._source.count(b"\n", 0, offset) + 1


def _agrees(expected: str, answer: str) -> bool:
    return answer == expected or ("#" not in expected and re.sub(r"#\d+", "", answer) == expected)


def _answer(case: BindingCase, facts: FileFacts, lines: Lines, reference: Reference) -> str:
    _, _, _, _, receiver, bind = reference
    if receiver >= 0:
        return "." + next(one[1] for one in facts.references if one[0] == receiver)
    if receiver != NO_RECEIVER:
        return _CODES[receiver]
    if bind == NONE:
        return "-"
    fact = facts.binds[bind]
    doubt = "?" if fact.certainty is Certainty.UNCERTAIN else ""
    if fact.target_kind is BindTarget.IMPORT:
        return f"import {_tag(case, lines.line_of(facts.imports[fact.target].start))}{doubt}"
    if fact.target_kind is BindTarget.UNKNOWN:
        return "?"
    target = facts.definitions[fact.target]
    line = lines.line_of(target.name_start)
    starts = [one[0] for one in facts.references if one[1] == target.name and lines.line_of(one[0]) == line]
    nth = f"#{starts.index(target.name_start) + 1}" if target.name_start in starts else ""
    return f"{_tag(case, line)}{nth}{doubt}"


def _tag(case: BindingCase, line: int) -> str:
    return next((tag for tag, number in case.tags.items() if number == line), f"line {line}")


def _read_case(part: str) -> BindingCase:
    title, _, source = part.partition("\n")
    labels: list[Label] = []
    tags: dict[str, int] = {}
    for number, line in enumerate(source.split("\n"), 1):
        note = _NOTE.search(line)
        if note is None:
            continue
        if note[1]:
            assert note[1] not in tags, f"{title}: the tag {note[1]} stands twice"
            tags[note[1]] = number
        labels.extend(_read_labels(number, note[2] or ""))
    for label in labels:
        tag = label.answer.removeprefix("import ").rstrip("?").partition("#")[0]
        assert tag in tags or tag in {"", "-", "absent", *_CODES.values()} or tag.startswith("."), (
            f"{title}: no tag {tag}"
        )
    return BindingCase(title.strip(), source, tuple(labels), tags)


def _read_labels(line: int, text: str) -> Iterator[Label]:
    for part in filter(None, text.split(", ")):
        place, _, answer = part.partition(" -> ")
        name, _, nth = place.partition("#")
        yield Label(line, name, int(nth or 1), answer)
