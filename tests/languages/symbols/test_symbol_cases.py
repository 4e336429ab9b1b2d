"""The labelled cases, each as its own test."""

from importlib import import_module

import pytest

from codeplane.languages.catalog import Depth, Language, load_language
from languages.symbols.labels import Case, differences

LANGUAGES = (*("c", "cpp", "csharp", "elixir", "haskell", "kotlin", "lua", "php", "ruby", "scala", "shell", "swift"),)
CASES = tuple((name, case) for name in LANGUAGES for case in import_module(f"languages.symbols.cases_{name}").CASES)


def _language(name: str) -> Language:
    language = load_language(name)
    assert language is not None
    return language


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}: {case.title}" for name, case in CASES])
def test_the_facts_are_what_the_label_says(name: str, case: Case) -> None:
    assert differences(case, _language(name).extract(case.source.encode())) == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_knows_its_name_and_depth(name: str) -> None:
    language = _language(name)
    assert (language.name, language.depth, language.linking) == (name, Depth.SYMBOLS, None)
