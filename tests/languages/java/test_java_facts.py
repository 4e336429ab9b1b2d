"""What the facts of a Java file say beside the meaning of names."""

from codeplane.languages.facts import (
    AS_TYPE,
    CALLED,
    NONE,
    READ,
    STAR,
    Definition,
    DefinitionKind,
    FileFacts,
    ReferenceRole,
)
from codeplane.languages.java.extract import extract


def facts_of(source: str) -> FileFacts:
    return extract(source.encode())


def definition(facts: FileFacts, path: str) -> Definition:
    (found,) = [one for one in facts.definitions if one.lexical_path == path]
    return found


def named_at(facts: FileFacts, start: int) -> str:
    return next((one[1] for one in facts.references if one[0] == start), "")


def type_of(source: str, path: str) -> str:
    facts = facts_of(source)
    return named_at(facts, definition(facts, path).type_ref)


def test_the_package_is_what_the_file_declares() -> None:
    assert facts_of("package a.b.c;\nclass A {}\n").package == "a.b.c"
    assert facts_of("class A {}\n").package == ""


def test_imports_say_source_and_name() -> None:
    facts = facts_of("import a.b.C;\nimport a.b.*;\nimport static a.b.C.m;\nimport static a.b.C.*;\nimport X;\n")
    assert [(one.source, one.imported_name, one.kind) for one in facts.imports] == [
        ("a.b", "C", "java_import"),
        ("a.b", STAR, "java_import"),
        ("a.b.C", "m", "java_import_static"),
        ("a.b.C", STAR, "java_import_static"),
        ("", "X", "java_import"),
    ]


def test_imports_are_not_names_of_the_file() -> None:
    facts = facts_of("import a.b.C;\nclass A { C c; }\n")
    assert [one.name for one in facts.binds if one.scope == 0 and one.name != STAR] == ["A"]
    assert [facts.scopes[one.scope].kind for one in facts.binds if one.name == "C"] == ["imports"]
    assert definition(facts, "A").scope == 0


def test_identifiers_of_imports_have_the_role() -> None:
    facts = facts_of("import a.b.C;\n")
    assert [(one[1], ReferenceRole(one[3])) for one in facts.references] == [
        ("a", ReferenceRole.IMPORT),
        ("b", ReferenceRole.IMPORT),
        ("C", ReferenceRole.IMPORT),
    ]


def test_kinds_and_paths_of_definitions() -> None:
    facts = facts_of(
        "class A<T> { int f; static final int K = 1; A(int p) { int v; } void m() { L: for (;;) {} class B {} } }\n"
        "interface I { int C = 1; void n(); }\nenum E { X; }\nrecord R(int c) {}\n@interface An { int value(); }\n"
    )
    assert {one.lexical_path: one.kind.label for one in facts.definitions} == {
        "A": "class",
        "A.T": "type",
        "A.f": "field",
        "A.K": "constant",
        "A.A": "method",
        "A.A.p": "parameter",
        "A.A.v": "variable",
        "A.m": "method",
        "A.m.L": "statement",
        "A.m.B": "class",
        "I": "interface",
        "I.C": "constant",
        "I.n": "method",
        "E": "enum",
        "E.X": "constant",
        "R": "class",
        "R.c": "property",
        "An": "interface",
        "An.value": "method",
    }


def test_members_are_definitions_in_the_body_of_their_class() -> None:
    facts = facts_of("class A { int x; void m() {} class B {} A() {} }\n")
    body = definition(facts, "A").body_scope
    assert [one.name for one in facts.definitions if one.scope == body] == ["x", "m", "B"]


def test_a_constructor_is_no_member_that_a_name_can_mean() -> None:
    facts = facts_of("class A { A() {} }\n")
    constructor = definition(facts, "A.A")
    assert constructor.scope == constructor.body_scope
    assert [one.name for one in facts.binds if one.name != STAR] == ["A"]


def test_bases_are_what_a_type_extends_and_implements() -> None:
    facts = facts_of(
        "class A extends q.B<C> implements I, J<K> {}\ninterface X extends Y, Z {}\nenum E implements I {}\n"
        "record R() implements I {}\nclass G<T extends B & C> {}\n"
    )
    bases = {
        one.lexical_path: [named_at(facts, start) for start in one.bases] for one in facts.definitions if one.bases
    }
    assert bases == {"A": ["B", "I", "J"], "X": ["Y", "Z"], "E": ["I"], "R": ["I"], "G.T": ["B", "C"]}


def test_a_constant_of_an_enum_is_an_instance_of_it() -> None:
    facts = facts_of("enum E { X, Y { void m() {} } }\n")
    assert facts.definitions[definition(facts, "E.X").instance_of].name == "E"


def test_declared_types_are_known() -> None:
    for declared in ("T", "q.T", "T<String>", "final T", "@N T"):
        assert type_of(f"class A {{ {declared} x; }}\n", "A.x") == "T", declared
        assert type_of(f"class A {{ void f({declared} x) {{}} }}\n", "A.f.x") == "T", declared
        assert type_of(f"class A {{ void f() {{ {declared} x = g(); }} }}\n", "A.f.x") == "T", declared
    assert type_of("class A { void f() { for (T x : y) {} } }\n", "A.f.x") == "T"
    assert type_of("class A { void f() { try (T x = y) {} } }\n", "A.f.x") == "T"
    assert type_of("class A { void f() { try {} catch (T x) {} } }\n", "A.f.x") == "T"
    assert type_of("class A { void f() { if (o instanceof T x) {} } }\n", "A.f.x") == "T"
    assert type_of("class A { Object f = (T x) -> x; }\n", "A.x") == "T"
    assert type_of("record R(T x) {}\n", "R.x") == "T"


def test_the_type_of_var_is_what_is_created() -> None:
    assert type_of("class A { void f() { var x = new T(1); } }\n", "A.f.x") == "T"
    assert type_of("class A { void f() { var x = g(); } }\n", "A.f.x") == ""
    assert type_of("class A { void f() { for (var x : y) {} } }\n", "A.f.x") == ""


def test_other_types_are_not_guessed() -> None:
    assert type_of("class A { T[] x; }\n", "A.x") == ""
    assert type_of("class A { T x[]; }\n", "A.x") == ""
    assert type_of("class A { int x; }\n", "A.x") == ""
    assert type_of("class A { void f(T... x) {} }\n", "A.f.x") == ""
    assert type_of("class A { void f() { try {} catch (T | U x) {} } }\n", "A.f.x") == ""
    assert type_of("class A { Object f = x -> x; }\n", "A.x") == ""


def test_signatures_are_folded() -> None:
    facts = facts_of(
        "class A<T>\n    extends B {\n    <U> int f(\n        int a, // first\n        U b)\n        throws E { }\n"
        "    A() {}\n    abstract void g();\n}\n"
    )
    assert definition(facts, "A").signature == "<T> extends B"
    assert definition(facts, "A.f").signature == "(int a, U b) throws E: int"
    assert definition(facts, "A.A").signature == "()"
    assert definition(facts, "A.g").signature == "(): void"


def test_documentation_and_annotations() -> None:
    facts = facts_of(
        "/**\n * A does\n * things.\n *\n * More.\n */\n@X(1)\n@Y\nclass A {\n    /** f counts. @see B */\n    int f;\n"
        "    /**\n     * m runs.\n     * @param a it\n     */\n    void m(int a) {}\n    // plain\n    void n() {}\n}\n"
    )
    assert definition(facts, "A").documentation == "A does things."
    assert definition(facts, "A").decorators == ("X(1)", "Y")
    assert definition(facts, "A.f").documentation == "f counts. @see B"
    assert definition(facts, "A.m").documentation == "m runs."
    assert definition(facts, "A.n").documentation == ""


def test_members_say_whether_they_are_called_and_with_how_many_arguments() -> None:
    facts = facts_of("class A { void f(A a) { a.n(1, b(/* x */)); a.n++; this.n(); A::n; q(2).n(3); a.b.C c; } }\n")
    uses = [(one[1], facts.usages.get(one[0])) for one in facts.references if one[3] == 0 and one[1] != "a"]
    assert uses == [
        ("A", None), ("n", 2), ("b", 0), ("n", READ), ("n", 0), ("A", None), ("n", CALLED), ("q", 1), ("n", 1),
        ("b", AS_TYPE), ("C", AS_TYPE),
    ]  # fmt: skip


def test_lookups_by_text_are_dynamic() -> None:
    facts = facts_of('class A { void f(String s) { Class.forName("a.B"); c.getMethod(s); getField("x"); } }\n')
    assert [(one.pattern, one.literals, one.has_non_literal_key) for one in facts.dynamic] == [
        ("reflect", ("a.B",), False),
        ("reflect", (), True),
    ]


def test_the_declaration_of_a_module_says_nothing() -> None:
    facts = facts_of("module a.b { requires c.d; exports e.f; }\n")
    assert facts.references == []


def test_every_definition_but_the_embedded_has_a_defining_reference() -> None:
    facts = facts_of("class A<T> { int x; A(int p) { int v; } void m() {} enum E { X } record R(int c) {} }\n")
    defining = {one[0] for one in facts.references if one[3] == ReferenceRole.DEFINITION}
    assert {one.name_start for one in facts.definitions} == defining
    assert all(one.kind is not DefinitionKind.METHOD or one.body_scope != NONE for one in facts.definitions)
