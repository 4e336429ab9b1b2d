"""Finalising a response: rules over the draft, labels for what is only inferred, conflicts, and the integrity line.

A pure function of the draft and the cells it may rest on. Invariant: finalising a response again changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

INFERENCE: Final = "[Inference]"
CONFLICT: Final = "[Conflict]"
OK, NEEDS_VERIFICATION, BLOCKED = "OK", "NEEDS_VERIFICATION", "BLOCKED"
_INTEGRITY_LINE: Final = re.compile(r"^[ \t]*\[INTEGRITY: [A-Z_]*\][ \t]*$\n?", re.MULTILINE)
_CONFLICT_LINE: Final = re.compile(rf"^{re.escape(CONFLICT)} .*$\n?", re.MULTILINE)
_SENTENCE: Final = re.compile(r"(?:^|(?<=[.!?])[ \t]+)(?=\S)", re.MULTILINE)
_LIST_MARK: Final = re.compile(r"(?:[ \t]*(?:[-*+>]|\d+[.)]|#{1,6})[ \t]+)*[ \t]*")
_CITATION: Final = re.compile(r"\[\d+\]|https?://|\bdoi:|\barxiv:", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"^[ \t]*\d+[.)][ \t]", re.MULTILINE)
_TITLE_CHARS: Final = 30
_MIN_TITLE_CHARS: Final = 4
_MIN_HEDGES: Final = 3
_PROCEDURE_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class CellFact:
    """What finalising needs to know of a cell, as the store has it."""

    id: int
    title: str
    trust: int
    state: str = "observed"
    contradiction_count: int = 0
    is_superseded: bool = False

    @property
    def is_retired(self) -> bool:
        """Tell whether the cell must not be used as a fact."""
        return self.is_superseded or self.state == "archived"


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that the draft breaks, with the places as [start, end) in the draft."""

    rule: str
    severity: str
    message: str
    spans: tuple[tuple[int, int], ...] = ()
    cells: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the form of the answer."""
        found = {"rule": self.rule, "severity": self.severity, "message": self.message}
        return {**found, "spans": [list(span) for span in self.spans], "cells": list(self.cells)}


@dataclass(frozen=True, slots=True)
class Finalised:
    """The response, how far it can be relied on, and why."""

    response: str
    integrity: str
    violations: tuple[Violation, ...]

    @property
    def integrity_line(self) -> str:
        """Return the line that ends the response."""
        return f"[INTEGRITY: {self.integrity}]"


def finalise(draft: str, cells: Sequence[CellFact], problems: Mapping[str, str] | None = None) -> Finalised:
    """Check a draft, label what it infers and append the integrity line; `problems` block it, by rule."""
    body = own_text(draft)
    blocking = [Violation(rule, "error", message) for rule, message in (problems or {}).items()]
    violations = (*blocking, *_text_rules(body), *_cell_rules(body, cells))
    worst = {one.severity for one in violations}
    integrity = BLOCKED if "error" in worst else NEEDS_VERIFICATION if "warning" in worst else OK
    return Finalised(_response(body, cells, f"[INTEGRITY: {integrity}]"), integrity, violations)


def own_text(draft: str) -> str:
    """Return a draft without the lines that only this module writes."""
    return _CONFLICT_LINE.sub("", _INTEGRITY_LINE.sub("", draft.replace("\r\n", "\n"))).rstrip()


@dataclass(frozen=True, slots=True)
class _TextRule:
    """A rule on words: it fires at `minimum` places unless the draft has what `excused_by` finds."""

    rule: str
    severity: str
    pattern: re.Pattern[str]
    message: str
    excused_by: re.Pattern[str] | None = None
    minimum: int = 1
    longer_than: int = 0


def _words(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_RULES: Final = (
    _TextRule(
        "no_implied_research", "warning",
        _words(r"\b(?:research shows|studies (?:indicate|show)|according to|experts say|evidence suggests)\b"),
        "Research is implied without a citation.", _CITATION,
    ),
    _TextRule(
        "no_false_precision", "warning",
        _words(r"\b\d+\.\d+ ?%|\b(?:\d{4,}|\d{1,3}(?:,\d{3})+) (?:users|people|cases|instances)\b"),
        "An exact number has no source.", _CITATION,
    ),
    _TextRule(
        "no_guessing", "warning",
        _words(r"\b(?:maybe|perhaps|possibly|probably|presumably|might|could be|i think|i guess|i assume|not sure)\b"),
        "Three or more guesses: ask instead.", minimum=_MIN_HEDGES,
    ),
    _TextRule(
        "unsafe_assumption", "warning",
        _words(r"\balways works\b|\bguaranteed\b|(?<![\d.])100 ?%|\bnever fails\b|\bimpossible to\b"),
        "A promise that nothing proves.",
    ),
    _TextRule(
        "procedural_numbering", "info",
        _words(r"\b(?:steps?|first|then|next|afterwards|finally)\b"),
        "Steps are easier to follow with numbers.", _NUMBERED, longer_than=_PROCEDURE_CHARS,
    ),
)  # fmt: skip


def _text_rules(body: str) -> Iterator[Violation]:
    for rule in _RULES:
        spans = tuple(found.span() for found in rule.pattern.finditer(body))
        is_excused = rule.excused_by is not None and rule.excused_by.search(body) is not None
        if len(spans) >= rule.minimum and not is_excused and len(body) > rule.longer_than:
            yield Violation(rule.rule, rule.severity, rule.message, spans)


def _cell_rules(body: str, cells: Sequence[CellFact]) -> Iterator[Violation]:
    used = [(cell, _places(body, cell)) for cell in cells]
    mentioned = [(cell, spans) for cell, spans in used if spans]
    unlabelled = [
        (cell, spans)
        for cell, spans in mentioned
        if cell.trust < 2 and any(INFERENCE not in body[slice(*_sentence(body, start))] for start, _ in spans)
    ]
    tables = (
        ("superseded_fact", "error", "A superseded or archived memory is used as a fact.",
         [(cell, spans) for cell, spans in mentioned if cell.is_retired]),
        ("inference_labeling", "info", "It rests on memories that nothing confirms; they were labelled.", unlabelled),
        ("contradiction_notice", "info", "Memories contradict each other here; a notice was added.",
         [(cell, spans) for cell, spans in used if cell.contradiction_count]),
    )  # fmt: skip
    for rule, severity, message, found in tables:
        if found:
            spans = tuple(sorted({span for _, places in found for span in places}))
            yield Violation(rule, severity, message, spans, tuple(cell.id for cell, _ in found))


def _places(body: str, cell: CellFact) -> tuple[tuple[int, int], ...]:
    """Return where the draft repeats the beginning of a cell's title."""
    head = " ".join(cell.title[:_TITLE_CHARS].split())
    if len(head) < _MIN_TITLE_CHARS:
        return ()
    pattern = r"(?<!\w)" + r"\s+".join(re.escape(word) for word in head.split())
    return tuple(found.span() for found in re.finditer(pattern, body, re.IGNORECASE))


def _sentence(body: str, place: int) -> tuple[int, int]:
    """Return where the sentence around a place starts and ends; a line break ends one, too."""
    starts = [found.end() for found in _SENTENCE.finditer(body)]
    start = max((one for one in starts if one <= place), default=0)
    # A mark of a list or a number belongs to the sentence that it introduces.
    line = body.rfind("\n", 0, place) + 1
    after_mark = _LIST_MARK.match(body, line)
    if after_mark is not None and line <= start <= after_mark.end():
        start = line
    return start, min((one for one in starts if one > place), default=len(body))


def _response(body: str, cells: Sequence[CellFact], integrity_line: str) -> str:
    places = {start for cell in cells if cell.trust < 2 for start, _ in _places(body, cell)}
    sentences = {_sentence(body, place) for place in places}
    for start, end in sorted(sentences, reverse=True):
        if INFERENCE not in body[start:end]:
            mark = _LIST_MARK.match(body, start)
            at = min(mark.end() if mark is not None else start, end)
            body = f"{body[:at]}{INFERENCE} {body[at:]}"
    notices = [
        f"{CONFLICT} Memory {cell.id} is contradicted {_times(cell.contradiction_count)}: {_one_line(cell.title)}"
        for cell in _unique(cells)
        if cell.contradiction_count
    ]
    parts = [body, *(["\n".join(notices)] if notices else []), integrity_line]
    return "\n\n".join(part for part in parts if part)


def _unique(cells: Iterable[CellFact]) -> list[CellFact]:
    return sorted({cell.id: cell for cell in cells}.values(), key=lambda cell: cell.id)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
