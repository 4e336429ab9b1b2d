"""Every language of the catalog keeps its promises, whatever the bytes."""

import re
from importlib.resources import files

import pytest

from codeplane.index.facts.columns import decode_columns
from codeplane.index.facts.encoded import encode_facts
from codeplane.index.facts.outline_storage import decode_outline
from codeplane.languages.catalog import LANGUAGES, Depth, linking_rules, load_language

ODD: dict[str, bytes] = {
    "empty": b"",
    "a newline": b"\n",
    "invalid utf-8": b"\xff\xfe\xc3(",
    "zero bytes": b"\x00" * 50,
    "a byte order mark": b"\xef\xbb\xbfx\n",
    "carriage returns": b"a\r\nb\rc\r\n",
    "brackets": b"([{<" * 300,
    "quotes": b"\"'`" * 200,
    "words": b"if def class fn func import from package use namespace end " * 20,
}


def test_the_catalog_is_in_alphabetical_order() -> None:
    assert list(LANGUAGES) == sorted(LANGUAGES)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_is_what_its_folder_says(name: str) -> None:
    language = load_language(name)
    assert language is not None
    assert language.name == name
    assert (language.linking is not None) is (language.depth is Depth.FULL)


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("source", ODD.values(), ids=ODD.keys())
def test_odd_bytes_give_facts_that_can_be_stored(name: str, source: bytes) -> None:
    facts = encode_facts(source, name)
    assert facts is not None
    outline, columns = decode_outline(facts.outline), decode_columns(facts.columns)
    assert len(outline.lines) == len(outline.definition_rows)
    assert list(columns.starts) == sorted(set(columns.starts))
    assert encode_facts(source, name) == facts


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_rules_of_linking_are_the_same_without_the_grammar(name: str) -> None:
    language = load_language(name)
    assert language is not None
    assert linking_rules(name) is language.linking


@pytest.mark.parametrize("name", [name for name in LANGUAGES if linking_rules(name) is None])
def test_queries_use_only_predicates_that_can_see_the_text(name: str) -> None:
    """The parser reads by a callback, so that `#eq?` and `#match?` have no text to compare and silently never hold."""
    query = files("codeplane.languages").joinpath(name, "facts.scm").read_text("utf-8")
    code = re.sub(r"^\s*;.*", "", query, flags=re.MULTILINE)
    assert set(re.findall(r"#([\w-]+[?!])", code)) <= {"set!", "text?", "text-not?", "text-fits?"}
