"""Whatever the bytes are, extraction returns, and says when it left something out."""

import random
import sysconfig
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.languages.facts import NONE, FileFacts
from codeplane.languages.python.extract import extract
from support.effort import repeated

ODD_SOURCES = {
    "empty": b"",
    "one newline": b"\n",
    "NUL": b"x = 1\x00\ny = 2\n",
    "invalid UTF-8": b"x = '\xff\xfe'\n\xff\xfe = 1\nz = x\n",
    "byte order mark": b"\xef\xbb\xbfx = 1\nx\n",
    "carriage returns": b"x = 1\r\ny = x\r",
    "ends in a dot": b"x = a.",
    "starts with a name, ends in a dot": b"x\n.",
    "binary": bytes(range(256)) * 20,
    "unclosed": b"def f(a, b=[x for x in (\n",
    "only decorators": b"@a\n@b\n",
    "half import": b"from . import\nimport\nfrom x import (a,\n",
    "stray global": b"global x, \nnonlocal y\ndel\n",
    "class without a body": b"class A(\nclass B:\nx = 1\n",
    "error inside an import": b"import os\\x = a.replace(b)\nfrom a \\url = b.c import d\n",
    "empty type parameters": b"class A[]: pass\ndef f[*](a): pass\n",
    "missing names": b"def (a): pass\nclass : pass\n",
    "lone surrogate bytes": b"\xed\xa0\x80 = 1\n",
}


@pytest.mark.parametrize("source", ODD_SOURCES.values(), ids=ODD_SOURCES.keys())
def test_odd_bytes_give_consistent_facts(source: bytes) -> None:
    check_consistent(extract(source))


def test_random_damage_gives_consistent_facts() -> None:
    good = (
        b"import os\n@d\nclass A(B):\n    def m(self, x=[i for i in y]) -> int:\n"
        b"        self.z = f'{x}'\n        return lambda q: q\n"
    )
    chance = random.Random(7)
    for _ in range(400):
        damaged = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(damaged))
            if chance.random() < 0.5:
                del damaged[place : place + chance.randrange(1, 8)]
            else:
                damaged[place:place] = chance.choice([b"(", b")", b":", b"\n", b"'", b"\xff", b"def ", b".", b"\\"])
        check_consistent(extract(bytes(damaged)))


@pytest.mark.slow
def test_damaged_modules_give_consistent_facts() -> None:
    chance = random.Random(11)
    modules = [
        path for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")) if path.stat().st_size < 40_000
    ]
    pieces = [
        b"(",
        b")",
        b":",
        b"\n",
        b"'",
        b'"""',
        b"\xff",
        b"def ",
        b"class ",
        b".",
        b"\\",
        b"type ",
        b"import ",
        b"lambda ",
    ]
    for _ in range(repeated(150)):
        damaged = bytearray(chance.choice(modules).read_bytes())
        for _ in range(chance.randrange(1, 12)):
            place = chance.randrange(len(damaged) + 1)
            if chance.random() < 0.5:
                del damaged[place : place + chance.randrange(1, 60)]
            else:
                damaged[place:place] = chance.choice(pieces)
        check_consistent(extract(bytes(damaged)))


@pytest.mark.parametrize(
    "source",
    [
        b"(" * 5000 + b"x" + b")" * 5000,
        b"[" * 5000,
        b"x = " + b"a." * 5000 + b"b",
        b"x = " + b"f(" * 5000 + b")" * 5000,
        b"x = " + b"lambda: " * 5000 + b"y",
        b"x = " + b"not " * 5000 + b"y",
        b"".join(b" " * depth + b"if a:\n" for depth in range(1500)) + b" " * 1500 + b"x = 1\n",
        b"x = " + b"[a for a in " * 2000 + b"b" + b"]" * 2000,
        b"".join(b" " * depth + b"def f(a):\n" for depth in range(1000)) + b" " * 1000 + b"return a\n",
        b"(" * 5000 + b"x" + b"," + b")" * 5000 + b" = 1",
    ],
    ids=["parentheses", "unclosed", "members", "calls", "lambdas", "operators", "blocks", "comprehensions", "functions",
         "targets"],
)  # fmt: skip
def test_deep_nesting_needs_no_recursion(source: bytes) -> None:
    check_consistent(extract(source))


@pytest.mark.parametrize(
    "source",
    [
        b"".join(b" " * depth + b"if a:\n" for depth in range(1500)) + b" " * 1500 + b"x = 1\n",
        b"[" * 50_000 + b"x" + b"]" * 50_000,
        b"x = " + b"f(" * 50_000 + b")" * 50_000,
    ],
    ids=["blocks", "brackets", "calls"],
)
def test_what_cannot_be_parsed_safely_is_said(source: bytes) -> None:
    """Such files crashed the process or lost captures in silence inside the library."""
    facts = extract(source)
    assert facts.problem == "nested too deeply"
    assert facts.references == []


def test_wide_continuation_lines_are_not_deep() -> None:
    assert extract(b"x = [\n" + b" " * 500 + b"y,\n]\n").problem == ""


def test_facts_inside_errors_are_left_out() -> None:
    facts = extract(b"def good(): pass\n)))) broken ((((\ndef fine(): pass\n")
    assert facts.n_errors > 0
    assert {one.name for one in facts.definitions} >= {"good"}
    assert all(one[1] != "broken" for one in facts.references)


def test_a_name_that_the_grammar_misses_is_an_error_and_no_name() -> None:
    facts = extract(b"for x in : pass\n")
    assert facts.n_errors == 1
    assert [one[1] for one in facts.references] == ["x"]


def test_a_file_without_errors_has_none() -> None:
    assert extract(b"x = 1\n").n_errors == 0


class RunawayClock(ManualClock):
    """A clock on which each look takes ten seconds."""

    def monotonic(self) -> float:
        """Return a later time at each call."""
        self.advance(10)
        return super().monotonic()


def test_a_file_that_takes_too_long_gives_no_facts_but_a_problem() -> None:
    for source in (b"x = 1\n", b"x = 1\n" * 200_000):
        facts = extract(source, RunawayClock())
        assert facts.problem == "timed out"
        assert (facts.references, facts.definitions, facts.binds, facts.imports) == ([], [], [], [])
        assert len(facts.scopes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"a.b(c, d='e');", b"x = [1, 2, 'three'];", b"("])
def test_a_very_long_line_returns(piece: bytes) -> None:
    facts = extract(piece * (repeated(2_000_000) // len(piece)))
    assert facts.problem in {"", "timed out"}
    check_consistent(facts)


def check_consistent(facts: FileFacts) -> None:
    """Every index must point somewhere, and every span be ordered."""
    assert facts.scopes[0].parent == NONE
    for number, scope in enumerate(facts.scopes):
        assert scope.parent == NONE or 0 <= scope.parent < number
    for definition in facts.definitions:
        assert definition.scope < len(facts.scopes)
        assert definition.body_scope == NONE or definition.body_scope < len(facts.scopes)
    targets = {"DEF": len(facts.definitions), "IMPORT": len(facts.imports), "UNKNOWN": 0}
    for bind in facts.binds:
        assert bind.scope < len(facts.scopes)
        assert bind.target == NONE or bind.target < targets[bind.target_kind.label]
    starts = {row[0] for row in facts.references}
    for reference in facts.references:
        _, name, in_scope, _, receiver, bound = reference
        assert name
        assert in_scope < len(facts.scopes)
        assert bound == NONE or 0 <= bound < len(facts.binds)
        assert receiver < 0 or receiver in starts
    assert all(one.name for one in facts.definitions)
    assert [row[0] for row in facts.references] == sorted(starts)
