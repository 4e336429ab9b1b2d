"""What the facts of a Rust file say beside the meaning of names."""

from codeplane.languages.facts import (
    CALLED,
    NONE,
    READ,
    STAR,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    FileFacts,
    ReferenceRole,
)
from codeplane.languages.rust.extract import extract


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


def imports_of(source: str) -> list[tuple[str, str | None, str | None]]:
    imports = [one for one in facts_of(source).imports if one.kind != "rust_path"]
    return [(one.source, one.imported_name, one.alias) for one in imports]


def test_use_trees_become_single_imports() -> None:
    assert imports_of("use a::b::{self, c, d as e, f::*};\nuse g;\nuse h as i;\nuse ::j::k;\nuse crate::l;\n") == [
        ("a", "b", None),
        ("a::b", "c", None),
        ("a::b", "d", "e"),
        ("a::b::f", STAR, None),
        ("g", None, None),
        ("h", None, "i"),
        ("::j", "k", None),
        ("crate", "l", None),
    ]


def test_sources_are_from_the_point_of_view_of_the_file() -> None:
    inline = "mod m { use super::a; use self::b::c; use super::super::d; mod n { use super::e; use crate::f; } }\n"
    assert imports_of(inline) == [
        ("self", "a", None),
        ("self::m::b", "c", None),
        ("super", "d", None),
        ("self::m", "e", None),
        ("crate", "f", None),
    ]


def test_a_path_that_starts_with_a_name_of_the_module_starts_with_self() -> None:
    assert imports_of("use E::A;\nenum E { A }\nuse x::y;\nuse y::z;\nuse foo::foo;\n") == [
        ("self::E", "A", None),
        ("x", "y", None),
        ("self::y", "z", None),
        ("foo", "foo", None),
    ]
    assert imports_of("mod m;\nuse m::a;\nuse m as n;\n")[1:] == [("self::m", "a", None), ("self", "m", "n")]


def test_modules_of_other_files_are_imports() -> None:
    facts = facts_of("mod a;\nmod b { mod c; }\n")
    assert [(one.source, one.kind) for one in facts.imports] == [("self::a", "rust_mod"), ("self::b::c", "rust_mod")]


def test_words_of_paths_are_bound_to_the_module_they_mean() -> None:
    facts = facts_of(
        "fn f() { crate::a::b(); crate::c(); super::super::d() }\nmod m { fn g() { super::f(); self::g() } }\n"
    )
    assert {(one.source, one.kind) for one in facts.imports} == {
        ("crate", "rust_path"),
        ("super", "rust_path"),
        ("super::super", "rust_path"),
        ("self", "rust_path"),
    }
    word = next(one for one in facts.references if one[1] == "self")
    bind = facts.binds[word[5]]
    assert (bind.target_kind, facts.definitions[bind.target].name) == (BindTarget.DEF, "m")


def test_identifiers_of_imports_have_the_role() -> None:
    facts = facts_of("use a::b;\nmod c;\nfn f() { b() }\n")
    roles = [(one[1], ReferenceRole(one[3])) for one in facts.references]
    assert roles == [
        ("a", ReferenceRole.IMPORT),
        ("b", ReferenceRole.IMPORT),
        ("c", ReferenceRole.IMPORT),
        ("f", ReferenceRole.DEFINITION),
        ("b", ReferenceRole.REFERENCE),
    ]


def test_kinds_and_paths_of_definitions() -> None:
    facts = facts_of(
        "struct S<T> { f: T }\nunion U { a: u8 }\nenum E { A, B(i32), C { x: i32 } }\n"
        "trait Tr { type O; const K: u8; fn m(); }\n"
        "type Al = S;\nconst C: u8 = 1;\nstatic ST: u8 = 1;\nmacro_rules! mac { () => {} }\n"
        "mod m { fn g(p: i32) { let x = p; 'l: loop {} } }\nimpl S { fn new(&self) {} const Z: u8 = 1; }\n"
    )
    assert {one.lexical_path: one.kind.label for one in facts.definitions} == {
        "S": "struct",
        "S.T": "type",
        "S.f": "field",
        "U": "struct",
        "U.a": "field",
        "E": "enum",
        "E.A": "constant",
        "E.B": "constant",
        "E.C": "struct",
        "E.C.x": "field",
        "Tr": "trait",
        "Tr.O": "type",
        "Tr.K": "constant",
        "Tr.m": "method",
        "Al": "type",
        "C": "constant",
        "ST": "variable",
        "mac": "macro",
        "m": "module",
        "m.g": "function",
        "m.g.p": "parameter",
        "m.g.x": "variable",
        "m.g.l": "statement",
        "S.new": "method",
        "S.new.self": "parameter",
        "S.Z": "constant",
    }


def test_members_of_an_impl_have_an_owner_and_no_bind() -> None:
    facts = facts_of("struct S;\nimpl<T> Tr for S<T> { fn m() {} }\n")
    method = definition(facts, "S.m")
    assert (method.owner, method.scope) == ("S", 0)
    assert all(one.name != "m" for one in facts.binds)


def test_owners_that_are_no_names_of_the_module_are_not_taken_for_them() -> None:
    facts = facts_of(
        "impl A for io::Error { fn a() {} }\nimpl<T> A for T { fn b() {} }\nimpl A for [u8] { fn c() {} }\n"
        "impl A for &S { fn d() {} }\n"
    )
    assert {one.name: one.owner for one in facts.definitions if one.kind is DefinitionKind.METHOD} == {
        "a": "io::Error",
        "b": "",
        "c": "",
        "d": "S",
    }


def test_members_of_two_types_of_one_name_are_told_apart() -> None:
    facts = facts_of("struct S;\nimpl S { fn a() {} }\nmod m { struct S; impl S { fn b() {} } }\n")
    assert {one.name: one.owner for one in facts.definitions if one.owner} == {"a": "S", "b": "m.S"}


def test_traits_of_an_impl_are_no_bases_and_those_of_a_trait_are() -> None:
    facts = facts_of("struct S;\nimpl Tr for S {}\ntrait A: B + c::D<E> {}\ntype X = y::Z<u8>;\nfn f<T: Q>() {}\n")
    assert definition(facts, "S").bases == ()
    assert [named_at(facts, one) for one in definition(facts, "A").bases] == ["B", "D"]
    assert [named_at(facts, one) for one in definition(facts, "X").bases] == ["Z"]
    assert [named_at(facts, one) for one in definition(facts, "f.T").bases] == ["Q"]


def test_self_is_an_instance_of_the_type_around_it() -> None:
    facts = facts_of("trait Tr { fn a(&self); }\nimpl q::S { fn b(self) {} }\n")
    trait = definition(facts, "Tr.a.self").instance_of
    assert facts.definitions[trait].name == "Tr"
    own = next(one for one in facts.definitions if one.name == "self" and one.instance_of == NONE)
    assert named_at(facts, own.type_ref) == "S"


def test_a_variant_is_a_value_of_its_enum() -> None:
    facts = facts_of("enum E { A, C { x: i32 } }\n")
    assert facts.definitions[definition(facts, "E.A").instance_of].name == "E"
    assert definition(facts, "E.C.x").scope == definition(facts, "E.C").body_scope


def test_declared_types_are_known() -> None:
    for declared in ("T", "&T", "&'a mut T", "q::T", "T<u8>", "&dyn T", "impl T", "Box<T>"):
        name = "Box" if declared.startswith("Box") else "T"
        assert type_of(f"fn f(x: {declared}) {{}}\n", "f.x") == name, declared
        assert type_of(f"fn f() {{ let x: {declared} = y; }}\n", "f.x") == name, declared
        assert type_of(f"struct S {{ x: {declared} }}\n", "S.x") == name, declared
    assert type_of("fn f() { let g = |x: &T| x; }\n", "f.x") == "T"
    assert type_of("static X: T = y;\n", "X") == "T"


def test_types_of_struct_literals_are_known() -> None:
    for value in ("T { a: 1 }", "&T { a: 1 }", "q::T { a: 1 }"):
        assert type_of(f"fn f() {{ let x = {value}; }}\n", "f.x") == "T", value


def test_other_types_are_not_guessed() -> None:
    for declared in ("[T]", "(T, U)", "fn(T)", "*const T", "impl Fn(T)", "u8"):
        assert type_of(f"fn f(x: {declared}) {{}}\n", "f.x") == "", declared
    for value in ("vec![T]", "*y", "y", "y.z", "y()()", "y()?", "y().await"):
        assert type_of(f"fn f() {{ let x = {value}; }}\n", "f.x") == "", value
    assert type_of("fn f((x, y): T) {}\n", "f.x") == ""
    assert type_of("fn f() { let Some(x): T = y; }\n", "f.x") == ""


def test_the_type_of_a_call_is_what_is_called_and_that_of_a_function_its_result() -> None:
    for value in ("T(1)", "a::T()", "y.T()", "A::<B>::T()", "T::<B>()", "&T()"):
        assert type_of(f"fn f() {{ let x = {value}; }}\n", "f.x") == "T", value
    for result in ("T", "&T", "a::T", "T<B>", "impl T", "&mut dyn T"):
        assert type_of(f"fn f() -> {result} {{}}\n", "f") == "T", result
    assert type_of("async fn f() -> T {}\n", "f") == ""
    assert type_of("fn f() -> [T] {}\n", "f") == ""


def test_signatures_are_folded() -> None:
    facts = facts_of(
        "fn f<T>(\n    a: i32, // first\n    b: T,\n) -> T\nwhere\n    T: A {}\n"
        "struct S<T>(T);\nstruct R<T> where T: A { x: T }\ntrait Tr: A + B {}\ntype X = Y;\n"
    )
    assert definition(facts, "f").signature == "<T>(a: i32, b: T) -> T where T: A"
    assert definition(facts, "S").signature == "<T>(T)"
    assert definition(facts, "R").signature == "<T> where T: A"
    assert definition(facts, "Tr").signature == ": A + B"
    assert definition(facts, "X").signature == "= Y"


def test_documentation_and_attributes() -> None:
    facts = facts_of(
        "/// F does\n/// things.\n///\n/// More.\n#[inline]\n#[cfg(unix)] // note\npub fn f() {}\n"
        "// no doc\nfn g() {}\n#[derive(Debug)]\n/// S holds.\nstruct S {\n    /// x counts.\n    x: i32,\n}\n"
        "/** E is. */\nenum E {}\n"
    )
    assert definition(facts, "f").documentation == "F does things."
    assert definition(facts, "f").decorators == ("inline", "cfg(unix)")
    assert definition(facts, "g").documentation == ""
    assert definition(facts, "S").documentation == "S holds."
    assert definition(facts, "E").documentation == "E is."


def test_a_name_of_two_name_spaces_is_open_to_others() -> None:
    facts = facts_of("mod m;\nfn m() {}\nfn f() { m(); m::x() }\nfn g() {}\n")
    own = [one for one in facts.binds if one.name == "m"]
    assert own[0].target_kind is BindTarget.UNKNOWN
    assert own[0].certainty is Certainty.UNCERTAIN
    assert all(one.certainty is Certainty.CERTAIN for one in own[1:])
    assert [one.certainty for one in facts.binds if one.name == "g"] == [Certainty.CERTAIN]


def test_a_unit_struct_is_one_thing() -> None:
    facts = facts_of("struct S;\n")
    assert {(one.target_kind, one.target) for one in facts.binds} == {(BindTarget.DEF, 0)}


def test_names_in_a_walled_module_are_not_looked_for_in_globs_of_the_file() -> None:
    facts = facts_of("use a::*;\nmod m { fn f() { g() } }\nmod n { use super::*; fn f() { g() } }\n")
    first, second = [one[5] for one in facts.references if one[1] == "g"]
    assert facts.binds[first].target_kind is BindTarget.UNKNOWN
    assert second == NONE


def test_members_say_whether_they_are_called() -> None:
    source = (
        "struct S { n: i32 }\n"
        "fn f(s: S) { s.n(); s.n::<i32>(); s.n; (s.n)(); S { n: 1 }; S::n(); let S { n: k } = s; }\n"
    )
    facts = facts_of(source)
    uses = [facts.usages.get(one[0]) for one in facts.references if one[1] == "n" and one[3] == 0]
    assert uses == [CALLED, CALLED, READ, READ, READ, None, READ]


def test_raw_names_are_names_as_written() -> None:
    facts = facts_of("fn r#match(r#type: i32) { r#match(r#type) }\n")
    assert [one.name for one in facts.definitions] == ["r#match", "r#type"]
    assert all(one[5] != NONE for one in facts.references)


def test_imports_in_functions_and_under_cfg_are_conditional() -> None:
    facts = facts_of("use a::b;\n#[cfg(unix)]\nuse c::*;\n#[allow(unused)]\nuse d::e;\nfn f() { use g::h; }\n")
    assert [one.is_conditional for one in facts.imports] == [False, True, False, True]
