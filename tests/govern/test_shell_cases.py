"""Every labelled command gets its verdict, and labels are proven by running."""

import os
from pathlib import Path
from typing import Any

import pytest

from codeplane.govern.shell_risk.classifier import classify
from support.effort import spread
from support.shell_cases import FILES, cases_of, confirm, context_of

PART_OF_PLAIN_READING = 0.97
N_CONFIRMED = 60
# So many cases of each file; `make soak` judges all of them.
N_JUDGED = 150


def _disagreements(file: str, tmp_path: Path) -> list[str]:
    found = []
    for case in spread(cases_of(file), N_JUDGED):
        text = confirm.command_text(case)
        report = classify(text, case["shell"], context_of(case, tmp_path / case["id"]))
        if report.verdict.value != case["verdict"] and not case.get("borderline"):
            told = f"{case['id']} is {case['verdict']}, told {report.verdict.value}"
            found.append(f"{told}: {text[:200]!r} {report.reasons[:1]}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_labelled_command_gets_its_verdict(file: str, tmp_path: Path) -> None:
    assert _disagreements(file, tmp_path) == []


def test_plain_reading_is_safe_borderline_forms_included() -> None:
    plain = [case for case in cases_of("plain_reading") if case["verdict"] == "SAFE"]
    sure = [case for case in plain if not case.get("borderline")]
    n_safe = sum(classify(confirm.command_text(one), one["shell"]).verdict.value == "SAFE" for one in sure)
    assert n_safe / len(sure) >= PART_OF_PLAIN_READING


def _fixed_part(cases: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return cases spread over the whole list; all of them in `make soak`."""
    if int(os.environ.get("CODEPLANE_SOAK", "1")) > 1:
        return cases
    return cases[:: max(1, len(cases) // count)][:count]


def _runnable(is_dangerous: bool) -> list[dict[str, Any]]:
    cases = [case for file in FILES for case in cases_of(file) if confirm.runnable(case)]
    if is_dangerous:
        return [case for case in cases if case.get("confirm")]
    return [case for case in cases if case["verdict"] == "SAFE" and not case.get("borderline")]


@pytest.mark.slow
@pytest.mark.parametrize("is_dangerous", [True, False], ids=["dangerous", "safe"])
def test_a_dangerous_command_leaves_a_trace_and_a_safe_one_leaves_none(is_dangerous: bool, tmp_path: Path) -> None:
    cases = _fixed_part(_runnable(is_dangerous), N_CONFIRMED)
    wrong = [case["id"] for case in cases if confirm.confirm(case, tmp_path / case["id"]) is not is_dangerous]
    assert (len(cases) >= N_CONFIRMED, wrong) == (True, [])
