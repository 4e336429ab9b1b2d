"""The standard library judges: its own modules, read by `ast` and `symtable`, against our facts."""

import random
import sysconfig
from pathlib import Path

import pytest

from languages.python_binding_cases import BINDING_CASES
from languages.python_judge import GRAMMAR_ERROR, judge
from support.effort import repeated

STDLIB = Path(sysconfig.get_paths()["stdlib"])
# `(name): int` annotates without binding; we take the parenthesised name for a target.
KNOWN = {"test/test_grammar.py"}


def _modules() -> list[Path]:
    found = (path for path in STDLIB.rglob("*.py") if "site-packages" not in path.parts)
    return sorted(path for path in found if path.relative_to(STDLIB).as_posix() not in KNOWN)


def _disagreements(paths: list[Path]) -> tuple[list[str], int, int]:
    """Return disagreements, the number of judged files, and of those that only the grammar does not understand."""
    found: list[str] = []
    n_judged = n_grammar = 0
    for path in paths:
        verdict = judge(path.read_bytes())
        if verdict is None:
            continue
        n_judged += 1
        if verdict == [GRAMMAR_ERROR]:
            n_grammar += 1
        else:
            found.extend(f"{path.relative_to(STDLIB)}: {one}" for one in verdict)
    return found, n_judged, n_grammar


def test_the_standard_library_agrees() -> None:
    modules = _modules()
    paths = random.Random(3).sample(modules, min(repeated(75), len(modules)))
    found, n_judged, n_grammar = _disagreements(paths)
    assert found == []
    assert n_judged > len(paths) * 0.8
    assert n_grammar <= 1 + n_judged // 100


@pytest.mark.parametrize("case", BINDING_CASES, ids=lambda case: case.title)
def test_the_labelled_cases_agree_where_python_compiles_them(case: tuple[str, str, str]) -> None:
    assert judge(case[1].encode()) in ([], None)
