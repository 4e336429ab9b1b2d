"""The parts of the rename benchmark that need no judge."""

import sys
from pathlib import Path

import pytest

# Scripts find each other through their own directory. It must not stay on the path: its `index.py` and `edit.py` would
# hide test directories of these names.
_BENCH = str(Path(__file__).resolve().parents[2] / "bench")
sys.path.append(_BENCH)
try:
    import refactor
    from judge_python import Texts
    from judges.definitions import Definition, definitions
    from judges.judges import javac_judge
    from judges.rename_python import renamed_places
finally:
    sys.path.remove(_BENCH)


def test_a_reassigned_name_is_one_definition_and_columns_count_characters() -> None:
    source = 'def f(größe):\n    x = 1\n    x = 2\nclass C:\n    def m(self): self.é, self.a = "é", 1; self.a = 3\n'
    found = [(one.kind, one.name, one.line, one.column) for one in definitions(source.encode(), "a.py", "python")]
    assert found == [("function", "f", 1, 4), ("parameter", "größe", 1, 6), ("local", "x", 2, 4),
                     ("class", "C", 4, 6), ("method", "m", 5, 8), ("attribute", "a", 5, 47)]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "language", "source", "kinds"),
    [
        ("a.ts", "typescript", "import { a as b } from 'c'\nclass C<T> { x = 1; m(p: T) {} }", 6),
        (
            "a.go",
            "go",
            'package a\nimport f "fmt"\ntype T struct { X int }\nfunc (t T) M(p int) { v := p; f.Println(v) }',
            6,
        ),
        ("a.rs", "rust", "use a::b as c;\nstruct S<T> { x: T }\nconst K: u8 = 1;\nfn f(p: u8) { let v = p; }", 8),
        ("A.java", "java", "class A<T> { int x; T m(T p) { int v = 1; return p; } }", 6),
    ],
)
def test_every_language_has_definitions_of_its_kinds(path: str, language: str, source: str, kinds: int) -> None:
    assert len({one.kind for one in definitions(source.encode(), path, language)}) == kinds


def test_places_of_a_new_name_are_found_between_two_texts() -> None:
    old = "total = 1\nsubtotal = total\nprint(total, 'total')\n"
    new = "zz = 1\nsubtotal = zz\nprint(zz, 'total')\n"
    assert list(renamed_places(old, new, "total", "zz")) == [(1, 0), (2, 11), (3, 6)]


def test_javac_renames_a_method_with_its_family(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text("m\nm\nm\nx\n")
    places = [{"path": "A.java", "start": start} for start in (0, 2, 4, 6)]
    answers = [
        {**places[1], "kind": "family", "defs": [places[0]]},
        {**places[2], "kind": "name", "defs": [places[1]]},
        {**places[3], "kind": "name", "defs": [places[3]]},
    ]
    judge = javac_judge(answers, Texts(tmp_path))
    assert judge(Definition("method", "m", "A.java", 1, 0), "n") == {("A.java", line, 0) for line in (1, 2, 3)}


def test_an_edit_that_the_judge_does_not_make_is_wrong_and_a_question_is_not() -> None:
    row = refactor.Row()
    here, there, other = ("a", 1, 0), ("a", 2, 0), ("a", 3, 0)
    ours = refactor.Preview({here, other}, {there}, 5.0)
    assert refactor.count(row, ours, {here, there}) == {other}
    assert (row.wrong, row.judged, row.edited, row.asked_or_edited, row.questions) == (1, 2, 1, 2, 1)
    refactor.count(row, refactor.Preview(set(), set(), 1.0, "REFACTOR_CONFLICT"), {here})
    refactor.count(row, ours, None)
    assert (row.renames, row.refused, row.skipped, row.judged) == (3, 1, 1, 2)
