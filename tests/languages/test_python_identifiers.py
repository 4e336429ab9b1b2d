"""Which words of a Python file are identifiers, and which are parts of strings, numbers and statements."""

import pytest

from codeplane.languages.python.extract import extract


def check_names(source: str, names: str) -> None:
    facts = extract(source.encode())
    assert facts.n_errors == 0
    assert " ".join(reference[1] for reference in facts.references) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = 0xff + 0b1 + 0o17 + 1_000j + 1e5 + 1E5j + 10L\n", "a"),
        ("a = 1.e5 + 1.j + .5e3 + 1_0.0_1e1_0\n", "a"),
        ("a = 0xff.real + 1e5.e5 + 1..j + .5.imag\n", "a real e5 j imag"),
        ("a = x1.e5 + x1.j\n", "a x1 e5 x1 j"),
        ("a = 1if b else 0or c\n", "a b c"),
    ],
)
def test_letters_of_numbers_are_no_names(source: str, names: str) -> None:
    check_names(source, names)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("match = case = type\nmatch(type).case\n", "match case type match type case"),
        ("match a:\n    case _: b\n", "a b"),
        ("match a:\n    case [_, *_] | {'k': _, **_}: _\n", "a _"),
        ("match a:\n    case match: case\n", "a match case"),
        ("for _ in a: _(b)\n", "_ a _ b"),
        ("type A = type[a]\n", "A type a"),
        ("type(a).b = type\n", "type a b type"),
        ("print(a)\nprint.b\n", "print a print b"),
        ("print >>a, b\n", "print a b"),
        ("exec a in b\n", "a b"),
        ("exec(a)\n", "exec a"),
        ("async = await\n", "async await"),
        ("async def a():\n    await b\n    async for c in d: pass\n", "a b c d"),
        ("from __future__ import a\n__future__.b\n", "a __future__ b"),
        ("True, None, False, a\n", "a"),
    ],
)
def test_words_that_are_keywords_in_some_places_only(source: str, names: str) -> None:
    check_names(source, names)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = rb'b' + u'c' + br'd' # e\n", "a"),
        ("a = f'b {c} {{d}} {e!r} {g:>{h}.{i}x} {j=}'\n", "a c e g h i j"),
        ('a = f\'{b["c"]} {f"{d} e"}\'\n', "a b d"),
        ('a = f"""{\n    b # c\n    + d:e}"""\n', "a b d"),
        ("a = 'b' f'{c}' 'd'\n", "a c"),
    ],
)
def test_only_code_inside_of_strings_has_names(source: str, names: str) -> None:
    check_names(source, names)


def test_names_go_on_after_continued_lines() -> None:
    check_names("a = b. \\\n c + \\\n d\n", "a b c d")


def test_names_may_be_written_in_any_letters() -> None:
    check_names("größe = é.ü + 'ß' # ö\nª = x1\n", "größe é ü ª x1")
