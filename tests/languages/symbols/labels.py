"""Labelled cases: what a piece of text defines, what its names mean, what it imports.

`definitions` lists all of them as `kind path`, in the order of their names, separated by `; `; it is not compared when
it is None. `names` lists `name@line answer`; `name@line.2` is the second occurrence on that line. The answers are

- `-> 3`: bound to what is defined or imported on line 3, with `?` after it when UNCERTAIN; `-> -`: not bound;
- `of x`: a member, with the reference `x` before the dot; `of x.2`: the second reference of that name on the line;
- `of THIS`, `of SUPER`, `of EXPRESSION`, `of KEYWORD`, `of NOTHING`: the other receivers.

`imports` lists all of them as `kind source`, then ` : name` for an imported name and ` as name` for an alias.
"""

from typing import NamedTuple

from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    SUPER,
    THIS,
    BindTarget,
    Certainty,
    FileFacts,
    Reference,
)

_CODES = {EXPRESSION: "EXPRESSION", KEYWORD: "KEYWORD", NO_RECEIVER: "NOTHING", SUPER: "SUPER", THIS: "THIS"}


class Case(NamedTuple):
    """One text with what is true of it."""

    title: str
    source: str
    definitions: str | None = None
    names: str = ""
    imports: str | None = None


def differences(case: Case, facts: FileFacts) -> list[str]:
    """Return where the facts are not what the case says, empty when they agree."""
    wrong = [] if facts.n_errors == 0 else [f"{facts.n_errors} errors"]
    if case.definitions is not None:
        wrong += _compare("definitions", case.definitions, _definitions(facts))
    if case.imports is not None:
        wrong += _compare("imports", case.imports, _imports(facts))
    for label in filter(None, case.names.split("; ")):
        name, verb, answer = label.split(" ")
        found = _find(case, facts, name)
        actual = "no such name" if found is None else _answer(case, facts, found, verb)
        if actual != answer:
            wrong.append(f"{name} {verb} {actual}, expected {answer}")
    return wrong


def _compare(what: str, expected: str, actual: str) -> list[str]:
    return [] if actual == expected else [f"{what} {actual!r}, expected {expected!r}"]


def _definitions(facts: FileFacts) -> str:
    found = sorted(facts.definitions, key=lambda definition: (definition.name_start, definition.kind))
    return "; ".join(f"{definition.kind.label} {definition.lexical_path}" for definition in found)


def _imports(facts: FileFacts) -> str:
    return "; ".join(
        f"{fact.kind} {fact.source}"
        + (f" : {fact.imported_name}" if fact.imported_name is not None else "")
        + (f" as {fact.alias}" if fact.alias is not None else "")
        for fact in facts.imports
    )


def _line(case: Case, start: int) -> int:
    return case.source.encode().count(b"\n", 0, start) + 1


def _find(case: Case, facts: FileFacts, label: str) -> Reference | None:
    name, _, position = label.rpartition("@")
    line, _, nth = position.partition(".")
    found = [row for row in facts.references if row[1] == name and _line(case, row[0]) == int(line)]
    return found[int(nth or 1) - 1] if len(found) >= int(nth or 1) else None


def _answer(case: Case, facts: FileFacts, reference: Reference, verb: str) -> str:
    _, _, _, _, receiver, bind_number = reference
    if verb == "of":
        return _CODES.get(receiver) or _receiver(case, facts, receiver)
    if bind_number < 0:
        return "-"
    bind = facts.binds[bind_number]
    if bind.target_kind is BindTarget.IMPORT:
        line = _line(case, facts.imports[bind.target].start)
    else:
        line = _line(case, facts.definitions[bind.target].name_start)
    return f"{line}{'?' if bind.certainty is Certainty.UNCERTAIN else ''}"


def _receiver(case: Case, facts: FileFacts, start: int) -> str:
    """Return the name of a reference, with its number when the name stands on its line several times before."""
    row = next((row for row in facts.references if row[0] == start), None)
    if row is None:
        return "no reference"
    line = _line(case, start)
    same = [other for other in facts.references if other[1] == row[1] and _line(case, other[0]) == line]
    number = same.index(row) + 1
    return row[1] if number == 1 else f"{row[1]}.{number}"
