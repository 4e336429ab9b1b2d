"""Nothing in a file may stop the extraction of its symbols."""

import subprocess
import sys

import pytest

from codeplane.languages.catalog import Language, load_language
from codeplane.languages.facts import FileFacts
from codeplane.languages.parsing import TIMED_OUT
from languages.consistency import RunawayClock, check_consistent, damaged, random_bytes
from languages.symbols.test_symbol_cases import CASES, LANGUAGES

# What opens one level, and what closes it, many times.
NESTED = {
    "c": (b"int f(int a){", b"}"),
    "cpp": (b"namespace a{", b"}"),
    "csharp": (b"class A{", b"}"),
    "elixir": (b"f(fn a -> ", b" end)"),
    "haskell": (b"f = let a = (", b") in a\n"),
    "kotlin": (b"fun f(){\n", b"}\n"),
    "lua": (b"function f(a) ", b" end "),
    "php": (b"<?php f(function($a){", b"});"),
    "ruby": (b"f { |a| ", b"}"),
    "scala": (b"object A { ", b"}"),
    "shell": (b"f() { echo $(", b") ; }"),
    "swift": (b"func f(a: Int) {\n", b"}\n"),
}


def _extract(name: str, source: bytes) -> FileFacts:
    return _language(name).extract(source)


def _language(name: str) -> Language:
    language = load_language(name)
    assert language is not None
    return language


@pytest.mark.parametrize("name", LANGUAGES)
def test_damaged_files_give_consistent_facts(name: str) -> None:
    # A companion without a name is called `Companion`, which is not in the text.
    texts = [case.source for language, case in CASES if language == name and "companion" not in case.source]
    for number, text in enumerate(texts):
        for source in damaged(text.encode(), 12, seed=number):
            check_consistent(_extract(name, source), source)
    for source in [*random_bytes(20, seed=1), b"", b"\xef\xbb\xbf", b"\x00" * 100, "é = ü".encode("utf-16")]:
        check_consistent(_extract(name, source), source)


@pytest.mark.parametrize("name", LANGUAGES)
def test_names_that_are_no_ascii_keep_their_places(name: str) -> None:
    for source in [case.source for language, case in CASES if language == name and "companion" not in case.source]:
        text = source.replace("x", "größe").replace("a", "á").encode()
        check_consistent(_extract(name, text), text)


@pytest.mark.parametrize("name", LANGUAGES)
def test_deep_nesting_gives_facts_or_a_problem(name: str) -> None:
    opening, closing = NESTED[name]
    source = opening * 2_000 + closing * 2_000
    check_consistent(_extract(name, source), source)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_file_that_takes_too_long_has_no_facts_at_all(name: str) -> None:
    facts = _language(name).extract(b"a", RunawayClock())
    assert facts.problem == TIMED_OUT
    assert facts.references == []


def test_a_file_on_which_the_grammar_never_ends_is_given_up() -> None:
    """The parser goes on asking for text without end; it is not asked for time alone, because it takes memory too."""
    lines = "".join(f"  val server{number} = field.get(test) as? Server ?: continue\n\n" for number in range(40))
    source = (
        f"{{r()\n2\n    \x00i,\n    one,\n    two,\n  )\n\n{lines}\n  survey.print()\n}}\n\nfun rest(a: Int): Int {{\n"
    )
    assert _extract("kotlin", source.encode()).problem in {"", TIMED_OUT}


def test_a_kotlin_file_that_ends_in_an_annotation_is_read() -> None:
    """The grammar's scanner never returned at such an end; a process of its own bounds the test."""
    code = (
        "from codeplane.languages.catalog import load_language as load\n"
        "for end in (b'@', b'@Foo', b'@Foo(x ', b'@Foo('):\n"
        "    facts = load('kotlin').extract(b'val a = 1\\n' + end)\n"
        "    print(facts.problem, *(one.name for one in facts.definitions))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=30, check=True
    )
    assert ended.stdout == " a\n" * 4
