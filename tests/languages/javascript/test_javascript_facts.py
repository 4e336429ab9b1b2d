"""What the extractor writes down besides the meaning of names: definitions, types, members, dynamic accesses."""

import pytest

from codeplane.languages.facts import (
    EXPRESSION,
    NO_RECEIVER,
    NONE,
    THIS,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    FileFacts,
    ReferenceRole,
)
from codeplane.languages.javascript.extract import extract_javascript, extract_tsx, extract_typescript


def js(source: str) -> FileFacts:
    return extract_javascript(source.encode())


def ts(source: str) -> FileFacts:
    return extract_typescript(source.encode())


def definition(facts: FileFacts, path: str) -> Definition:
    return next(one for one in facts.definitions if one.lexical_path == path)


def outline(facts: FileFacts) -> list[str]:
    return [f"{one.kind.label} {one.lexical_path}" for one in facts.definitions]


def type_name(facts: FileFacts, path: str) -> str:
    """Return the name in the reference that a definition gives as its type."""
    start = definition(facts, path).type_ref
    return next((one[1] for one in facts.references if one[0] == start), "")


def test_definitions_have_kind_and_dotted_path() -> None:
    source = (
        "const LIMIT = 1\nlet name\nfunction f(a) { const b = 1 }\n"
        "class A {\n  x = 1\n  constructor() {}\n  get p() { return 1 }\n  static m(q) {}\n  #h() {}\n}\n"
        "const g = () => {}\nconst K = class { n() {} }\n"
    )
    assert outline(js(source)) == [
        "constant LIMIT",
        "variable name",
        "parameter f.a",
        "function f",
        "constant f.b",
        "class A",
        "field A.x",
        "method A.constructor",
        "property A.p",
        "parameter A.m.q",
        "method A.m",
        "method A.#h",
        "function g",
        "class K",
        "method K.n",
    ]


def test_typescript_definitions_have_kind_and_dotted_path() -> None:
    source = (
        "interface I<T> { x: T; m(a: T): void }\ntype P = { y: { z: 1 } }\nenum E { A, B = 2, 'C' }\n"
        "namespace N.M { export const v = 1 }\nabstract class K { abstract n(): void; constructor(private w: I) {} }\n"
        "declare module 'm' { function f(): void }\n"
    )
    assert outline(ts(source)) == [
        "type I.T",
        "interface I",
        "field I.x",
        "parameter I.m.a",
        "method I.m",
        "type P",
        "field P.y",
        "field P.y.z",
        "enum E",
        "constant E.A",
        "constant E.B",
        "constant E.C",
        "module N",
        "module N.M",
        "constant N.M.v",
        "class K",
        "method K.n",
        "parameter K.constructor.w",
        "field K.w",
        "method K.constructor",
        "module m",
        "function m.f",
    ]


def test_every_definition_has_a_reference_at_its_name() -> None:
    facts = ts("export default class {}\nclass A { 'b'() {} }\nenum E { 'C' }\ndeclare module 'm' {}\n")
    starts = {one[0]: one[1] for one in facts.references}
    assert [starts[one.name_start] for one in facts.definitions] == [one.name for one in facts.definitions]


@pytest.mark.parametrize(
    ("source", "path", "signature"),
    [
        ("function f(\n  a, // first\n  b = '//',\n) {}", "f", "(a, b = '//')"),
        ("const f = async (a, b) => a", "f", "(a, b)"),
        ("const f = a => a", "f", "a"),
        ("class A extends B.C {}", "A", "extends B.C"),
        ("class A {}", "A", ""),
        ("class A { m(a) {} }", "A.m", "(a)"),
    ],
)
def test_signatures_are_folded_and_without_comments(source: str, path: str, signature: str) -> None:
    assert definition(js(source), path).signature == signature


@pytest.mark.parametrize(
    ("source", "path", "signature"),
    [
        ("function f<T extends U>(a: T, b?: X): Promise<T> {}", "f", "<T extends U>(a: T, b?: X): Promise<T>"),
        ("class A<T> extends B<T> implements C, D {}", "A", "<T> extends B<T> implements C, D"),
        ("interface A<T>\n  extends B, C<T> {}", "A", "<T> extends B, C<T>"),
        ("type A<T, U = T> = T", "A", "<T, U = T>"),
    ],
)
def test_typescript_signatures_have_types(source: str, path: str, signature: str) -> None:
    assert definition(ts(source), path).signature == signature


def test_documentation_is_the_first_paragraph_of_the_comment_before() -> None:
    source = (
        "/**\n * Do it\n * well.\n *\n * More.\n * @param a no\n */\nexport async function f(a) {}\n"
        "/** A thing. */\nexport const g = () => 1\n/* not documentation */\nfunction h() {}\n"
        "/** Far. */\nconst other = 1\nclass K {\n  /** In it. */\n  static m() {}\n}\n"
    )
    facts = js(source)
    assert [definition(facts, path).documentation for path in ("f", "g", "h", "K", "K.m")] == [
        "Do it well.",
        "A thing.",
        "",
        "",
        "In it.",
    ]


def test_decorators_are_listed_and_static_stands_first() -> None:
    facts = ts("@a\n@b.c(\n  1)\nexport class A {\n  @d() x\n  @e static m() {}\n  static y = 1\n}\n")
    assert [definition(facts, path).decorators for path in ("A", "A.x", "A.m", "A.y")] == [
        ("a", "b.c(1)"),
        ("d()",),
        ("static", "e"),
        ("static",),
    ]


def test_bases_are_the_references_to_them() -> None:
    facts = ts(
        "class A extends N.B<T> implements C, D.E<F> {}\ninterface I extends J, K.L {}\nclass M extends f(B) {}\n"
    )
    names = {one[0]: one[1] for one in facts.references}
    assert [names[start] for start in definition(facts, "A").bases] == ["B", "C", "E"]
    assert [names[start] for start in definition(facts, "I").bases] == ["J", "L"]
    assert definition(facts, "M").bases == (NONE,)


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("let x: Foo", "Foo"),
        ("let x: n.Foo", "Foo"),
        ("let x: Foo<Bar>", "Foo"),
        ("let x: Foo | null | undefined", "Foo"),
        ("let x: Foo | Bar", ""),
        ("let x: Foo[]", ""),
        ("let x: Readonly<Foo>", "Readonly"),
        ("let x: string", ""),
        ("let x: typeof Foo", ""),
        ("const x = new Foo()", "Foo"),
        ("const x = new n.Foo(1)", "Foo"),
        ("let x = y as Foo", "Foo"),
        ("let x = y as const", ""),
        ("let x = (new Foo() satisfies Bar)!", "Foo"),
        ("let x = make()", ""),
    ],
)
def test_a_variable_has_a_type_only_where_one_name_says_it(declaration: str, expected: str) -> None:
    assert type_name(ts(f"{declaration}\n"), "x") == expected


def test_parameters_fields_getters_and_results_have_types() -> None:
    facts = ts(
        "class A {\n  f?: Foo\n  h = new Foo()\n  constructor(private p: Foo, q?: Foo, ...r: Foo) {}\n"
        "  get g(): Foo { return this.f! }\n  m(): Foo {}\n}\n"
    )
    paths = ["A.f", "A.h", "A.p", "A.constructor.p", "A.constructor.q", "A.constructor.r", "A.g", "A.m"]
    assert [type_name(facts, path) for path in paths] == ["Foo"] * 5 + ["", "Foo", "Foo"]


def test_a_constant_has_the_function_whose_result_it_is_and_overloads_have_no_result() -> None:
    facts = ts("const a = f()\nconst b = c.d()\nlet e = f()\nconst g = await f()\nconst h = f()()\nconst i = f?.()\n")
    assert [type_name(facts, path) for path in "abeghi"] == ["f", "d", "", "", "", "f"]
    facts = ts("function f(a: 1): Foo\nfunction f(a: 2): Bar\nfunction f(a: any): Foo {}\nconst g = (): Foo => 1\n")
    assert [type_name(facts, path) for path in "fg"] == ["", "Foo"]
    assert type_name(js("const a = f()\n"), "a") == ""


def test_javascript_variables_have_a_type_unless_assigned_again() -> None:
    facts = js("const a = new Foo()\nvar b = new Foo()\nlet c = new Foo()\nc = 1\n")
    assert [type_name(facts, path) for path in "abc"] == ["Foo", "Foo", ""]


def test_an_object_given_a_name_has_its_keys_as_members() -> None:
    facts = ts(
        "const a = {\n  b: 1,\n  c() {},\n  d: () => 1,\n  e,\n  f: { g: 2 },\n  [h]: 3,\n} as const\n"
        "const i: I = { j: 1 }\nconst k = { l: 1 } as I\nm({ n: 1 })\n"
    )
    body = definition(facts, "a").body_scope
    assert [one.lexical_path for one in facts.definitions if one.scope == body] == ["a.b", "a.d", "a.e", "a.f", "a.c"]
    assert definition(facts, "a.f.g").scope == definition(facts, "a.f").body_scope
    assert {one.name for one in facts.definitions} == {*"abcdefgik"}


def test_a_merged_declaration_gives_its_members_to_the_leading_one() -> None:
    facts = ts("interface A { x: 1 }\nclass A { y = 1 }\nnamespace A { export const z = 1 }\n")
    assert [(one.name, one.owner) for one in facts.definitions if one.name in "xyz"] == [
        ("x", "A"),
        ("y", ""),
        ("z", "A"),
    ]


def test_overloaded_methods_are_one_definition() -> None:
    facts = ts("class A {\n  m(a: string): void\n  m(a: number): void\n  m(a: any) { return a }\n}\n")
    methods = [one for one in facts.definitions if one.name == "m"]
    assert [one.signature for one in methods] == ["(a: any)"]
    assert [(one[3], one[4]) for one in facts.references if one[1] == "m"] == [
        (ReferenceRole.REFERENCE, THIS),
        (ReferenceRole.REFERENCE, THIS),
        (ReferenceRole.DEFINITION, NO_RECEIVER),
    ]


def test_accessors_are_two_definitions_of_one_property() -> None:
    facts = js("class A {\n  get p() { return 1 }\n  set p(v) {}\n}\n")
    assert [one.kind for one in facts.definitions if one.name == "p"] == [DefinitionKind.PROPERTY] * 2


def test_fields_are_defined_by_assignment_in_javascript_only() -> None:
    source = "class A {\n  constructor() { this.x = 1; this.x = 2; this.m = 3 }\n  m() {}\n}\n"
    assert [one.lexical_path for one in js(source).definitions if one.kind is DefinitionKind.FIELD] == ["A.x"]
    assert not [one for one in ts(source).definitions if one.kind is DefinitionKind.FIELD]


def test_a_field_assigned_in_a_subclass_may_be_the_one_of_a_base() -> None:
    source = (
        "class B { constructor() { this.x = 1 } }\n"
        "class C extends B { constructor() { this.x = 1; this.y = 2 } }\n"
        "class D extends imported { constructor() { this.z = 1 } }\n"
    )
    facts = js(source)
    fields = {one.lexical_path: one.scope for one in facts.definitions if one.kind is DefinitionKind.FIELD}
    assert fields.keys() == {"B.x", "C.y", "D.z"}
    assert fields["C.y"] == definition(facts, "C").body_scope
    assert fields["D.z"] == definition(facts, "D.constructor").body_scope


def test_functions_given_to_members_of_a_name_are_its_methods() -> None:
    facts = js("function A() {}\nA.prototype.m = function () {}\nA.s = () => 1\nA.t = 2\n")
    assert [(one.lexical_path, one.owner) for one in facts.definitions if one.kind is DefinitionKind.METHOD] == [
        ("A.m", "A"),
        ("A.s", "A"),
    ]


def test_this_of_a_class_without_a_definition_is_unknown() -> None:
    facts = js("class A {\n  m() { return f(class { x = 1; n() { this.x } }) }\n}\n")
    assert [one[4] for one in facts.references if one[1] == "x"][-1] == EXPRESSION


def test_dynamic_accesses_are_listed_with_their_literals() -> None:
    facts = js(
        "a['b']; a[c]; a[0]; eval('d'); new Function(e); Reflect.get(f, 'g'); require(h); import(i)\n"
        "function j(eval) { eval('k') }\n"
    )
    assert [(one.pattern, one.literals, one.has_non_literal_key) for one in facts.dynamic] == [
        ("bracket_read", ("b",), False),
        ("bracket_read", (), True),
        ("eval", ("d",), False),
        ("function_constructor", (), True),
        ("reflect", ("g",), False),
        ("require", (), True),
        ("dynamic_import", (), True),
    ]


def test_writes_by_a_computed_key_are_told_apart() -> None:
    assert [one.pattern for one in js("a[b] = 1; a[b]++; a[b].c = 1\n").dynamic] == [
        "bracket_write",
        "bracket_write",
        "bracket_read",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "interface A {\n  (a: string): B\n  <T>(a: T): T\n  <\n    U extends V,\n  >(b: U): C<U>\n}\n",
        "export type * from './a'\nconst b = 1\n",
    ],
)
def test_gaps_of_the_grammar_are_repaired(source: str) -> None:
    assert ts(source).n_errors == 0


def test_using_declares_a_constant() -> None:
    facts = ts("async function f() {\n  await using a = g()\n  using b = h()\n  a, b\n}\n")
    assert outline(facts)[1:] == ["constant f.a", "constant f.b"]
    assert [one[5] != NONE for one in facts.references if one[1] in "ab"] == [True] * 4


def test_facts_inside_errors_are_left_out() -> None:
    facts = js("function good() {}\n)))) broken ((((\nfunction fine() {}\n")
    assert facts.n_errors > 0
    assert "good" in {one.name for one in facts.definitions}


def test_names_may_be_of_any_script() -> None:
    facts = extract_tsx("const größe = 1\nconst x = <A b={größe} />\n".encode())
    found = [one for one in facts.references if one[1] == "größe"]
    assert [one[5] for one in found] == [0, 0]


def test_offsets_count_bytes() -> None:
    source = "// ä\nconst a = 1\n"
    assert js(source).references[0][0] == source.encode().index(b"a =")


def test_a_type_and_a_value_of_one_name_have_a_bind_each() -> None:
    facts = ts("interface A { x: 1 }\nconst A = 1\n")
    assert [(one.target_kind, one.certainty) for one in facts.binds if one.name == "A"] == [
        (BindTarget.DEF, Certainty.CERTAIN)
    ] * 2
