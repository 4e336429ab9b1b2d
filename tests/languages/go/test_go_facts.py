"""What the facts of a Go file say beside the meaning of names."""

from codeplane.languages.catalog import UNKNOWN, language_of
from codeplane.languages.facts import (
    NONE,
    STAR,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    FileFacts,
    ReferenceRole,
)
from codeplane.languages.go.extract import extract


def test_a_file_of_module_requirements_is_no_go_file() -> None:
    assert (language_of("a/b.go"), language_of("a/go.mod")) == ("go", UNKNOWN)


def facts_of(source: str) -> FileFacts:
    return extract(("package p\n" + source).encode())


def definition(facts: FileFacts, path: str) -> Definition:
    (found,) = [one for one in facts.definitions if one.lexical_path == path]
    return found


def named_at(facts: FileFacts, start: int) -> str:
    return next((one[1] for one in facts.references if one[0] == start), "")


def type_of(source: str, path: str) -> str:
    facts = facts_of(source)
    return named_at(facts, definition(facts, path).type_ref)


def test_the_package_is_what_the_clause_says() -> None:
    assert extract(b"// Package q.\npackage q_test\n").package == "q_test"


def test_a_mod_file_has_no_facts_and_no_problem() -> None:
    facts = extract(b"// a comment\nmodule example.com/m\n\ngo 1.22\n")
    assert (facts.references, facts.definitions, facts.problem) == ([], [], "")


def test_imports_say_source_name_and_alias() -> None:
    facts = facts_of('import (\n"a/b"\nc "d"\n. "e"\n_ "f"\n"g/go-h"\n)\n')
    assert [(one.source, one.imported_name, one.alias) for one in facts.imports] == [
        ("a/b", None, None),
        ("d", None, "c"),
        ("e", STAR, None),
        ("f", None, "_"),
        ("g/go-h", None, None),
    ]
    assert {one.kind for one in facts.imports} == {"go_import"}
    assert [one.name for one in facts.binds] == ["b", "c"]
    assert [(one[1], one[3]) for one in facts.references] == [("c", ReferenceRole.IMPORT)]


def test_kinds_and_paths_of_definitions() -> None:
    facts = facts_of(
        "type S struct{ f int }\ntype I interface{ M() }\ntype N int\nvar v = 1\nconst c = 1\n"
        "func g(p int) (r int) { x := p; type L int; return x }\nfunc (s *S) m() { y := 1; use(y) }\n"
    )
    assert {one.lexical_path: one.kind.label for one in facts.definitions} == {
        "S": "struct",
        "S.f": "field",
        "I": "interface",
        "I.M": "method",
        "N": "type",
        "v": "variable",
        "c": "constant",
        "g": "function",
        "g.p": "parameter",
        "g.r": "parameter",
        "g.x": "variable",
        "g.L": "type",
        "S.m": "method",
        "S.m.s": "parameter",
        "S.m.y": "variable",
    }


def test_a_method_has_its_type_as_owner_and_no_bind() -> None:
    facts = facts_of("type T[K any] struct{}\nfunc (t *T[K]) M() {}\n")
    method = definition(facts, "T.M")
    assert (method.owner, method.scope) == ("T", 0)
    assert all(one.name != "M" for one in facts.binds)


def test_fields_are_definitions_in_the_scope_of_their_type() -> None:
    facts = facts_of("type T struct {\n\ta, b int\n}\n")
    body = definition(facts, "T").body_scope
    assert facts.scopes[body].kind == "struct"
    assert [one.name for one in facts.definitions if one.scope == body] == ["a", "b"]
    assert all(bind.scope != body for bind in facts.binds)


def test_embedded_types_are_bases_and_fields() -> None:
    facts = facts_of("type T struct {\n\t*B\n\tq.C\n\tD[int]\n}\n")
    assert [named_at(facts, start) for start in definition(facts, "T").bases] == ["B", "C", "D"]
    assert [definition(facts, f"T.{name}").kind for name in "BCD"] == [DefinitionKind.FIELD] * 3


def test_embedded_interfaces_are_bases_and_unions_are_not() -> None:
    facts = facts_of("type I interface {\n\tJ\n\tq.K\n\tA | B\n\t~int\n}\n")
    assert [named_at(facts, start) for start in definition(facts, "I").bases] == ["J", "K"]


def test_a_struct_in_place_gives_its_members_to_the_field_and_the_variable() -> None:
    facts = facts_of("type T struct{ in struct{ x int } }\nvar v struct{ y int }\n")
    assert definition(facts, "T.in.x").scope == definition(facts, "T.in").body_scope
    assert definition(facts, "v.y").scope == definition(facts, "v").body_scope


def test_declared_types_are_known() -> None:
    assert type_of("var x T\n", "x") == "T"
    assert type_of("var x *T\n", "x") == "T"
    assert type_of("var x q.T\n", "x") == "T"
    assert type_of("var x *q.T[int]\n", "x") == "T"
    assert type_of("func f(x *T) {}\n", "f.x") == "T"
    assert type_of("func f() (x T) { return }\n", "f.x") == "T"
    assert type_of("func (x *T) m() {}\n", "T.m.x") == "T"
    assert type_of("type S struct { x *T }\n", "S.x") == "T"


def test_types_of_plain_values_are_known() -> None:
    for value in ("T{}", "&T{a: 1}", "q.T{}", "new(T)", "new(q.T)", "y.(T)", "y.(*T)", "T[int]{}"):
        assert type_of(f"func f() {{ x := {value} }}\n", "f.x") == "T", value
        assert type_of(f"var x = {value}\n", "x") == "T", value
    assert type_of("func f() { x, ok := y.(T) }\n", "f.x") == "T"
    assert type_of("func f() { x, z := T{}, U{} }\n", "f.z") == "U"


def test_other_types_are_not_guessed() -> None:
    for declared in ("[]T", "map[string]T", "**T", "chan T", "func() T", "[3]T", "*[]T"):
        assert type_of(f"var x {declared}\n", "x") == "", declared
    for value in ("[]T{}", "*y", "-T{}", "new(T, 1)", "y.x", "y", "func() T { return t }()"):
        assert type_of(f"func f() {{ x := {value} }}\n", "f.x") == "", value
    assert type_of("func f(x ...T) {}\n", "f.x") == ""
    assert type_of("func f() { x, z := g() }\n", "f.z") == ""
    assert type_of("func f() { for _, x := range []T{} { use(x) } }\n", "f.x") == ""
    assert type_of("func f(y any) { switch x := y.(type) { case T: use(x) } }\n", "f.x") == ""


def test_the_type_of_a_call_is_what_is_called_and_that_of_a_function_its_first_result() -> None:
    for value in ("T(y)", "y.T()", "T()"):
        assert type_of(f"func f() {{ x := {value} }}\n", "f.x") == "T", value
    assert type_of("func f() { x, z := T() }\n", "f.x") == "T"
    for result in ("T", "*T", "(T, error)", "(t *p.T, err error)", "T[int]"):
        assert type_of(f"func f() {result} {{}}\n", "f") == "T", result
        assert type_of(f"type I interface{{ f() {result} }}\n", "I.f") == "T", result
    for result in ("", "[]T", "()"):
        assert type_of(f"func f() {result} {{}}\n", "f") == "", result


def test_signatures_are_folded() -> None:
    facts = facts_of(
        "func f[T any](\n\ta int, // first\n\tb ...string,\n) (n int,  err error) { return }\n"
        "type S[K any] struct { a int }\ntype A = B\ntype F func(a  int)\ntype I interface { M(a int)  error }\n"
    )
    assert definition(facts, "f").signature == "[T any](a int, b ...string) (n int, err error)"
    assert definition(facts, "S").signature == "[K any] struct"
    assert definition(facts, "A").signature == "= B"
    assert definition(facts, "F").signature == "func(a int)"
    assert definition(facts, "I.M").signature == "(a int) error"


def test_documentation_is_the_first_paragraph_above() -> None:
    facts = facts_of(
        "// F does\n// things.\n//\n// More.\nfunc F() {}\n\n// lost\n\nfunc G() {}\n/* H helps. */\nfunc H() {}\n"
        "// T is a type.\ntype T struct {\n\t// a counts.\n\ta int\n}\n// C is one.\nconst C = 1\n"
    )
    documentation = {one.lexical_path: one.documentation for one in facts.definitions}
    assert documentation == {
        "F": "F does things.",
        "G": "",
        "H": "H helps.",
        "T": "T is a type.",
        "T.a": "a counts.",
        "C": "C is one.",
    }


def test_two_definitions_of_a_package_name_are_uncertain() -> None:
    facts = facts_of("func f() {}\nfunc f() {}\nfunc g() {}\n")
    assert [(one.name, one.certainty) for one in facts.binds] == [
        ("f", Certainty.UNCERTAIN),
        ("f", Certainty.UNCERTAIN),
        ("g", Certainty.CERTAIN),
    ]


def test_binds_point_to_what_they_name() -> None:
    facts = facts_of('import "a/b"\nvar x = b.C\nfunc f(x int) { x := x; use(x) }\n')
    for bind in facts.binds:
        if bind.target_kind is BindTarget.DEF:
            assert facts.definitions[bind.target].name == bind.name
        else:
            assert facts.imports[bind.target].source == "a/b"


def test_lookups_by_text_are_dynamic() -> None:
    facts = facts_of('import "reflect"\nfunc f(v V, n string) {\n\tv.FieldByName("Name")\n\tv.MethodByName(n)\n}\n')
    assert [(one.pattern, one.literals, one.has_non_literal_key) for one in facts.dynamic] == [
        ("reflect", ("Name",), False),
        ("reflect", (), True),
    ]
    assert facts_of('func f(v V) { v.FieldByName("Name") }\n').dynamic == []


def test_every_definition_has_its_scope() -> None:
    facts = facts_of("func f(a int) { if b := a; b > 0 { c := b; use(c) } }\n")
    kinds = {one.name: facts.scopes[one.scope].kind for one in facts.definitions}
    assert kinds == {"f": "file", "a": "function", "b": "block", "c": "block"}
    assert definition(facts, "f").body_scope != NONE
