"""Nothing in a file may stop the extraction of its structure."""

import pytest

from codeplane.languages.catalog import Language, load_language
from codeplane.languages.facts import NONE, FileFacts
from codeplane.languages.parsing import TIMED_OUT
from languages.consistency import RunawayClock, damaged, random_bytes
from languages.structure.structure_cases import CASES
from languages.structure.test_structure_facts import LANGUAGES

# What opens one level, and what closes it, many times.
NESTED = {
    "css": (b"a{", b"}"),
    "dockerfile": (b"FROM a\n", b""),
    "graphql": (b"{a", b"}"),
    "hcl": (b"a {\n", b"}\n"),
    "html": (b"<my-x id=a>", b"</my-x>"),
    "json": (b'{"a":[', b"]}"),
    "markdown": (b"> ", b""),
    "nix": (b"{a=", b";}"),
    "sql": (b"(select ", b")"),
    "svelte": (b"<Foo>", b"</Foo>"),
    "toml": (b"a=[{", b"}]"),
    "yaml": (b"{a: ", b"}"),
}


def _extract(name: str, source: bytes) -> FileFacts:
    return _language(name).extract(source)


def _language(name: str) -> Language:
    language = load_language(name)
    assert language is not None
    return language


def _check(facts: FileFacts, source: bytes) -> None:
    assert len(facts.scopes) == 1
    assert facts.scopes[0].parent == NONE
    for part in facts.definitions:
        assert part.name
        assert part.lexical_path
        assert 0 <= part.start <= part.name_start <= part.end <= len(source)


@pytest.mark.parametrize("name", LANGUAGES)
def test_damaged_files_give_consistent_facts(name: str) -> None:
    good = "\n".join(case.source for case in CASES if case.language == name).encode()
    for source in [*damaged(good, 60, seed=1), *random_bytes(20, seed=2), b"", b"\xef\xbb\xbf", b"\x00" * 100]:
        _check(_extract(name, source), source)


@pytest.mark.parametrize("name", LANGUAGES)
def test_deep_nesting_gives_facts_or_a_problem(name: str) -> None:
    opening, closing = NESTED[name]
    # The time that these grammars take grows with the square of the depth.
    depth = 1_500 if name in {"html", "svelte"} else 5_000
    source = opening * depth + closing * depth
    _check(_extract(name, source), source)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_file_that_takes_too_long_has_no_facts_at_all(name: str) -> None:
    facts = _language(name).extract(b"a", RunawayClock())
    assert facts.problem == TIMED_OUT
    assert facts.definitions == []
