"""The labelled scoping cases, each as its own test."""

from pathlib import Path

import pytest

from codeplane.languages.java.extract import extract
from languages.labelled import BindingCase, answers, read_cases

CASES = read_cases(Path(__file__).with_name("binding_cases.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_names_mean_what_the_label_says(case: BindingCase) -> None:
    expected, said = answers(case, extract(case.source.encode()))
    assert said == expected


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 50
