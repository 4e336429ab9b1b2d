"""What the languages that are read for their structure find."""

import pytest

from codeplane.languages.catalog import LANGUAGE_ROWS, Depth, Language, load_language
from codeplane.languages.facts import BindTarget, FileFacts
from codeplane.languages.queries import outline
from languages.structure.structure_cases import CASES, Case

LANGUAGES = tuple(row.name for row in LANGUAGE_ROWS if row.depth is Depth.STRUCTURE)


def _facts(name: str, source: str) -> FileFacts:
    return _language(name).extract(source.encode())


def _language(name: str) -> Language:
    language = load_language(name)
    assert language is not None
    return language


def _text_of(source: str, facts: FileFacts, path: str) -> str:
    part = next(part for part in facts.definitions if part.lexical_path == path)
    return source.encode()[part.start : part.end].decode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language}: {case.title}")
def test_the_parts_are_what_the_label_says(case: Case) -> None:
    facts = _facts(case.language, case.source)
    assert facts.n_errors == 0
    assert "; ".join(f"{part.kind.label} {part.lexical_path}" for part in facts.definitions) == case.expected


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_knows_its_name_and_depth(name: str) -> None:
    language = _language(name)
    assert (language.name, language.depth, language.linking) == (name, Depth.STRUCTURE, None)


def test_a_section_reaches_to_the_next_heading_of_its_level_or_above() -> None:
    source = "# A\none\n## B\ntwo\n### C\nthree\n## D\nfour\n# E\n"
    facts = _facts("markdown", source)
    assert _text_of(source, facts, "A") == "# A\none\n## B\ntwo\n### C\nthree\n## D\nfour\n"
    assert _text_of(source, facts, "A.B") == "## B\ntwo\n### C\nthree\n"
    assert _text_of(source, facts, "A.D") == "## D\nfour\n"


def test_an_underlined_heading_ends_the_section_before() -> None:
    source = "# A\none\n\nB\n=\ntwo\n"
    facts = _facts("markdown", source)
    assert _text_of(source, facts, "A") == "# A\none\n\n"
    assert _text_of(source, facts, "B") == "B\n=\ntwo\n"


def test_a_quoted_heading_ends_with_its_quotation() -> None:
    source = "# A\n\n> # Q\n> text\n\nmore\n"
    assert _text_of(source, _facts("markdown", source), "A.Q") == "# Q\n> text\n"


def test_a_key_spans_its_pair_and_begins_at_its_text() -> None:
    source = '{"a": {"b": 1}}'
    facts = _facts("json", source)
    assert _text_of(source, facts, "a") == '"a": {"b": 1}'
    assert [source[part.name_start :][:1] for part in facts.definitions] == ["a", "b"]


def test_a_stage_reaches_to_the_next() -> None:
    source = "FROM a AS one\nRUN x\nFROM b AS two\nRUN y\n"
    assert _text_of(source, _facts("dockerfile", source), "one") == "FROM a AS one\nRUN x\n"


def test_what_is_said_besides_the_name_is_the_signature() -> None:
    (stage, *_) = _facts("dockerfile", "FROM a:1 AS one\n").definitions
    (table, column) = _facts("sql", "CREATE TABLE t (id int NOT NULL);\n").definitions
    (_, field) = _facts("graphql", "type A { f(x: Int): B! }\n").definitions
    (element,) = _facts("html", "<my-el id='x'></my-el>").definitions
    assert stage.signature == "a:1"
    assert (table.signature, column.signature) == ("CREATE TABLE", "int NOT NULL")
    assert field.signature == "(x: Int): B!"
    assert element.signature == "my-el#x"


def test_what_the_grammar_does_not_understand_is_counted_and_the_rest_kept() -> None:
    facts = _facts("json", '{"a": 1, "b": , "c": 2}')
    assert facts.n_errors > 0
    assert {"a", "c"} <= {part.name for part in facts.definitions}


def test_a_long_name_is_cut_and_stands_on_one_line() -> None:
    (rule,) = _facts("css", ".a,\n" * 1000 + ".b { }").definitions
    assert len(rule.name) == 200
    assert "\n" not in rule.name


def test_too_many_keys_lose_their_deepest_levels_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MAX_PARTS", 20)
    pairs = ", ".join(f'"k{number}": {{"x": 1}}' for number in range(15))
    facts = _facts("json", "{" + pairs + "}")
    assert [part.lexical_path for part in facts.definitions] == [f"k{number}" for number in range(15)]
    (cut,) = facts.exports
    assert (cut.name, cut.target_kind, cut.evidence) == ("", BindTarget.UNKNOWN, "15 of 30 parts left out")


def test_lists_in_lists_have_an_end() -> None:
    depth = 5_000
    facts = _facts("json", "[" * depth + '{"a": 1}' + "]" * depth)
    assert facts.definitions == []
    assert facts.problem == ""
