"""What definitions say besides their kind and path, and where scopes are."""

from codeplane.languages.catalog import load_language
from codeplane.languages.facts import (
    NONE,
    BindReason,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    FileFacts,
    ReferenceRole,
)


def _facts(name: str, source: str) -> FileFacts:
    language = load_language(name)
    assert language is not None
    return language.extract(source.encode())


def _definition(facts: FileFacts, path: str) -> Definition:
    """Return the first definition of a path."""
    return next(definition for definition in facts.definitions if definition.lexical_path == path)


def _name_at(facts: FileFacts, start: int) -> str:
    return next(row[1] for row in facts.references if row[0] == start)


def _signature(name: str, source: str, path: str) -> str:
    return _definition(_facts(name, source), path).signature


def test_a_signature_has_parameters_and_result_on_one_line() -> None:
    c = "static char *f(int a, /* why */\n  char **b) { return 0; }\n"
    assert _signature("c", c, "f") == "(int a, char **b) -> char *"
    assert _signature("cpp", "int A::m(int x) const { return x; }\n", "A.m") == "(int x) const -> int"
    csharp = "class C { public int M<T>(T t,\n int b = 1) where T : X { return 1; } }\n"
    assert _signature("csharp", csharp, "C.M") == "<T>(T t, int b = 1) where T : X"
    assert _signature("kotlin", "fun f(a: Int): String = g(a)\n", "f") == "(a: Int): String"
    assert _signature("scala", "object O { def f(a: Int)(b: Int): Int = a }\n", "O.f") == "(a: Int)(b: Int): Int"
    assert _signature("ruby", "def f(a, b = 1)\n  a\nend\n", "f") == "(a, b = 1)"
    assert _signature("php", "<?php\nfunction f(int $a): ?int { return $a; }\n", "f") == "(int $a): ?int"
    assert _signature("swift", "func f(_ a: Int) throws -> Int { a }\n", "f") == "(_ a: Int) throws -> Int"
    assert _signature("lua", "local function f(a, ...) end\n", "f") == "(a, ...)"
    assert _signature("elixir", "defmodule A do\n  def f(a, b), do: a\nend\n", "A.f") == "(a, b)"
    assert _signature("haskell", "f :: Int -> Int\nf n = n\n", "f") == "Int -> Int"


def test_a_class_has_its_bases_in_the_signature_and_as_references() -> None:
    cases = {
        "cpp": ("class A : public ns::B, C<int> {};\n", ": public ns::B, C<int>", ["B", "C"]),
        "csharp": ("class A : B, I<int> { }\n", ": B, I<int>", ["B", "I"]),
        "kotlin": ("class A : B(1), I\n", ": B(1), I", ["B", "I"]),
        "scala": ("class A extends B with C[Int]\n", "extends B with C[Int]", ["B", "C"]),
        "ruby": ("class A < B::C\nend\n", "< B::C", ["C"]),
        "php": ("<?php\nclass A extends B implements N\\C {}\n", "extends B implements N\\C", ["B", "C"]),
        "swift": ("class A: B, C {}\n", ": B, C", ["B", "C"]),
    }
    for name, (source, signature, bases) in cases.items():
        facts = _facts(name, source)
        definition = _definition(facts, "A")
        assert definition.signature == signature
        assert [_name_at(facts, start) for start in definition.bases] == bases


def test_the_documentation_is_the_first_paragraph_of_the_comment_above() -> None:
    c = "/* other */\n\n/**\n * Adds two\n * numbers.\n *\n * Twice.\n */\nint add(int a) { return a; }\n"
    assert _definition(_facts("c", c), "add").documentation == "Adds two numbers."
    csharp = "/// <summary>\n/// Says <b>so</b>.\n/// </summary>\nclass A { }\n"
    assert _definition(_facts("csharp", csharp), "A").documentation == "Says so."
    assert _definition(_facts("ruby", "# One.\n# Two.\ndef f; end\n"), "f").documentation == "One. Two."
    assert _definition(_facts("haskell", "-- | Says so.\nf :: Int\nf = 1\n"), "f").documentation == "Says so."
    assert _definition(_facts("lua", "--- Says so.\nfunction f() end\n"), "f").documentation == "Says so."
    elixir = 'defmodule A do\n  @doc """\n  Says\n  so.\n\n  More.\n  """\n  def f, do: 1\nend\n'
    assert _definition(_facts("elixir", elixir), "A.f").documentation == "Says so."


def test_a_comment_that_belongs_to_something_else_is_no_documentation() -> None:
    assert _definition(_facts("c", "int x; /* of x */\nint f(void);\n"), "f").documentation == ""
    assert _definition(_facts("c", "// far away\n\nint f(void);\n"), "f").documentation == ""
    assert _definition(_facts("shell", "#!/bin/sh\nf() { :; }\n"), "f").documentation == ""


def test_a_variable_says_where_its_type_is_named() -> None:
    cases = {
        "c": ("struct s *a; struct s **b; struct s c[2];\n", {"a": "s", "b": "", "c": ""}),
        "cpp": ("ns::T a; T<int> &b = x;\n", {"a": "T", "b": "T"}),
        "csharp": ("class C { N.T a; T? b; T[] c; }\n", {"C.a": "T", "C.b": "T", "C.c": ""}),
        "kotlin": ("val a: n.T? = x\nval b: List<T> = y\n", {"a": "T", "b": "List"}),
        "scala": ("object O { val a: T = x\n val b: List[T] = y }\n", {"O.a": "T", "O.b": "List"}),
        "php": ("<?php\nfunction f(?T $a, A|B $b, self $c) {}\n", {"f.$a": "T", "f.$b": "", "f.$c": ""}),
        "swift": ("let a: T? = x\nlet b: [T] = y\n", {"a": "T", "b": ""}),
    }
    for name, (source, expected) in cases.items():
        facts = _facts(name, source)
        for path, type_name in expected.items():
            start = _definition(facts, path).type_ref
            assert ("" if start == NONE else _name_at(facts, start)) == type_name


def test_a_typedef_of_a_struct_shares_its_members() -> None:
    facts = _facts("c", "typedef struct node { int a; } node_t;\n")
    struct, alias, member = (_definition(facts, path) for path in ("node", "node_t", "node.a"))
    assert struct.body_scope == alias.body_scope == member.scope


def test_members_are_in_the_scope_that_their_type_opens() -> None:
    cases = {
        "cpp": "class A { int m; };\n",
        "csharp": "class A { int m; }\n",
        "kotlin": "class A {\n  val m = 1\n}\n",
        "php": "<?php\nclass A { public $m; }\n",
        "ruby": "class A\n  def m; end\nend\n",
        "scala": "class A { val m = 1 }\n",
        "swift": "class A { var m = 1 }\n",
    }
    for name, source in cases.items():
        facts = _facts(name, source)
        assert _definition(facts, "A.m").scope == _definition(facts, "A").body_scope != NONE


def test_what_stands_outside_of_its_type_names_it_as_owner() -> None:
    assert _definition(_facts("cpp", "void n::A::m() {}\n"), "n.A.m").owner == "A"
    assert _definition(_facts("kotlin", "fun a.A.m() = 1\n"), "A.m").owner == "A"
    assert _definition(_facts("swift", "extension n.A {\n  func m() {}\n}\n"), "n.A.m").owner == "A"
    assert _definition(_facts("lua", "function a.A.m() end\n"), "a.A.m").owner == "A"
    assert _definition(_facts("haskell", "instance Show A where\n  show x = x\n"), "A.show").owner == "A"


def test_a_template_begins_at_its_word() -> None:
    source = "int x;\ntemplate <class T>\nclass A {};\n"
    assert source[_definition(_facts("cpp", source), "A").start :].startswith("template")


def test_a_namespace_after_a_macro_is_understood() -> None:
    source = "namespace a {\nA_NAMESPACE_BEGIN\nnamespace a_internal {\nint x;\n}\nA_NAMESPACE_END\n}\n"
    facts = _facts("cpp", source)
    assert facts.n_errors > 0
    assert _definition(facts, "a.a_internal").kind is DefinitionKind.MODULE
    assert _definition(facts, "a.a_internal.x").kind is DefinitionKind.VARIABLE


def test_a_file_knows_what_it_belongs_to() -> None:
    cases = {
        "csharp": ("namespace A.B;\nclass C { }\n", "A.B"),
        "kotlin": ("package a.b\nclass C\n", "a.b"),
        "scala": ("package a.b\npackage c\nclass C\n", "a.b.c"),
        "php": ("<?php\nnamespace A\\B;\nclass C {}\n", "A\\B"),
        "haskell": ("module A.B where\nx = 1\n", "A.B"),
        "elixir": ("defmodule A.B do\nend\n", "A.B"),
        "c": ("int x;\n", ""),
    }
    for name, (source, package) in cases.items():
        assert _facts(name, source).package == package


def test_a_namespace_without_braces_ends_with_the_file() -> None:
    source = "namespace A.B;\n" + "class C { void M() { int x = 1; } }\n" * 50
    facts = _facts("csharp", source)
    (namespace,) = (definition for definition in facts.definitions if definition.kind is DefinitionKind.MODULE)
    assert namespace.end == len(source)
    assert facts.scopes[namespace.body_scope].kind == "module"
    assert facts.scopes[namespace.body_scope].end == len(source)


def test_two_namespaces_without_braces_do_not_nest() -> None:
    facts = _facts("php", "<?php\nnamespace A;\nclass X {}\nnamespace B;\nclass Y {}\n")
    assert {definition.lexical_path for definition in facts.definitions} == {"A", "A.X", "B", "B.Y"}


def test_parameters_and_locals_say_why_they_are_bound() -> None:
    facts = _facts("c", "int f(int a) { int b = a; return b; }\n")
    reasons = {bind.name: bind.reason for bind in facts.binds}
    assert reasons == {"f": BindReason.DEF_IN_SCOPE, "a": BindReason.PARAM, "b": BindReason.LOCAL_ASSIGN}


def test_an_import_binds_its_alias() -> None:
    facts = _facts("kotlin", "import a.B as C\nval x: C = 1\n")
    (bind,) = (bind for bind in facts.binds if bind.target_kind is BindTarget.IMPORT)
    assert (bind.name, bind.certainty, bind.reason) == ("C", Certainty.CERTAIN, BindReason.IMPORT_ALIAS)
    roles = [(row[1], row[3]) for row in facts.references if row[3] == ReferenceRole.IMPORT]
    assert roles == [("B", ReferenceRole.IMPORT), ("C", ReferenceRole.IMPORT)]


def test_facts_in_errors_are_left_out_and_the_rest_is_kept() -> None:
    facts = _facts("c", "int a;\n) junk ]\nint d(void) { return a; }\n")
    assert facts.n_errors > 0
    assert [row[1] for row in facts.references] == ["a", "d", "a"]


def test_equations_of_a_function_make_one_span() -> None:
    source = "f :: Int -> Int\nf 0 = 1\nf n = n\n\ng = f\n"
    definition = _definition(_facts("haskell", source), "f")
    assert source[definition.start : definition.end] == "f :: Int -> Int\nf 0 = 1\nf n = n"


def test_a_conditional_import_is_marked() -> None:
    (first, second) = _facts("c", '#include "a.h"\n#ifdef X\n#include "b.h"\n#endif\n').imports
    assert (first.is_conditional, second.is_conditional) == (False, True)


def test_a_chain_over_several_lines_with_comments_is_one_chain() -> None:
    source = "fun f(a: A) {\n  a\n    .b() // then\n    .c()\n  a // first\n    .d\n}\n"
    facts = _facts("kotlin", source)
    receivers = {row[1]: row[4] for row in facts.references}
    assert _name_at(facts, receivers["b"]) == "a"
    assert receivers["c"] < 0
    assert _name_at(facts, receivers["d"]) == "a"


def test_a_full_stop_at_the_end_of_a_comment_is_no_separator() -> None:
    facts = _facts("cpp", "int a; // the first.\nint b; /* the second. */ int c;\n")
    assert {row[4] for row in facts.references} == {NONE}
