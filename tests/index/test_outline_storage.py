"""Outlines come back from their bytes as they were."""

from dataclasses import fields

import pytest

from codeplane.index.facts.compiling import compile_facts
from codeplane.index.facts.outline import Outline
from codeplane.index.facts.outline_storage import decode_outline, encode_outline
from codeplane.languages.catalog import load_language
from codeplane.languages.facts import no_facts

SOURCES = {
    "python": b"import a\nfrom b import *\n\nclass C(a.B):\n    'Doc.'\n    x: int = 1\n    def m(self, n): return n\n",
    "typescript": b"export class A<T> { private f = 1; m(x: T): T { return x } }\nexport default A\n",
    "go": b"package p\n\ntype T struct{ F int }\n\nfunc (t *T) M() int { return t.F }\n",
    "rust": b"pub mod m { pub struct S; impl S { pub fn f(&self) {} } }\nuse m::*;\n",
    "java": b"package p; class A { int x; void m() { this.x = 1; } }\n",
    "markdown": b"# One\n\n## Two\n",
}


@pytest.mark.parametrize("dialect", SOURCES)
def test_an_outline_comes_back_as_it_was(dialect: str) -> None:
    language = load_language(dialect)
    assert language is not None
    outline = compile_facts(language.extract(SOURCES[dialect]), SOURCES[dialect]).outline
    assert len(outline.definition_rows)
    assert _values(decode_outline(encode_outline(outline))) == _values(outline)


def test_an_empty_outline_and_one_far_into_a_file_come_back() -> None:
    nothing = compile_facts(no_facts(b"", "too large"), b"").outline
    assert _values(decode_outline(encode_outline(nothing))) == _values(nothing)
    language = load_language("python")
    assert language is not None
    source = b"#" * 70_000 + b"\n" * 70_000 + "def é(): pass\n".encode() * 300
    far = compile_facts(language.extract(source), source).outline
    assert far.lines[0][0] > 0xFFFF
    assert _values(decode_outline(encode_outline(far))) == _values(far)


def _values(outline: Outline) -> dict[str, object]:
    """Return everything an outline says, whatever its columns are kept in."""
    sequences = {"definition_rows", "lines", "expression_uses", "expressions"}
    names = {field.name for field in fields(Outline)} - {"expression_columns"} | {"expressions"}
    return {
        name: list(getattr(outline, name)) if name in sequences else getattr(outline, name) for name in sorted(names)
    }
