"""What a change of a definition is called, and whether it breaks others: one row per rule."""

from itertools import pairwise
from pathlib import Path

import pytest

from codeplane.diff.compare import all_changes, compare_files
from codeplane.diff.model import Comparison, EntityChange, FilePair, Risk
from codeplane.languages.catalog import LANGUAGES, dialect_of

SOURCES = Path(__file__).resolve().parents[2] / "src" / "codeplane"


def diff(path: str, old: str, new: str) -> Comparison:
    return compare_files([FilePair(path, "modified", old.encode(), new.encode())])


def told(comparison: Comparison) -> list[str]:
    """Return every change in one line: `!` when it is breaking, kind, name, and how it was called before."""
    lines = []
    for one in all_changes(comparison.changes):
        was = f" < {one.old.lexical_path}" if one.kind.value == "renamed" and one.old is not None else ""
        lines.append(f"{'!' if one.is_breaking else ''}{one.kind.value} {one.entity.lexical_path}{was}")
    return sorted(lines)


def only(comparison: Comparison) -> EntityChange:
    (change,) = all_changes(comparison.changes)
    return change


# Signatures of a Python function before and after, whether that is breaking, and a tag that must be told.
PYTHON_SIGNATURES = [
    ("(a)", "(a, b=1)", False, "parameters_changed"),
    ("(a)", "(a, *, b=1)", False, "parameters_changed"),
    ("(a)", "(a, *args, **kwargs)", False, "parameters_changed"),
    ("(a)", "(a, b)", True, "parameter_required"),
    ("(a)", "(a, *, b)", True, "parameter_required"),
    ("(a, b)", "(a)", True, "parameter_removed"),
    ("(a, b)", "(b, a)", True, "parameters_reordered"),
    ("(a)", "(z)", True, "parameter_removed"),
    ("(a, /)", "(z, /)", False, "parameters_changed"),
    ("(a)", "(a, /)", True, "keyword_calls_refused"),
    ("(a, /)", "(a)", False, "parameters_changed"),
    ("(a, b=1)", "(a, *, b=1)", True, "parameter_keyword_only"),
    ("(a, *, b=1)", "(a, b=1)", False, "parameters_changed"),
    ("(a, c=1)", "(a, b=2, c=1)", True, "parameters_reordered"),
    ("(a=1)", "(a)", True, "parameter_required"),
    ("(a)", "(a=1)", False, "parameters_changed"),
    ("(a=1)", "(a=2)", False, "default_changed"),
    ("(*args)", "()", True, "parameter_removed"),
    ("(**kwargs)", "()", True, "parameter_removed"),
    ("(a, b)", "(*args, **kwargs)", False, "parameters_changed"),
    ("(a: int)", "(a: str)", False, "parameter_type_changed"),
    ("(a) -> int", "(a) -> str", False, "return_type_changed"),
    ('(a={"x": (1, 2)}, b=",")', '(a={"x": (1, 2)}, b=",", c=")")', False, "parameters_changed"),
]


@pytest.mark.parametrize(("old", "new", "is_breaking", "tag"), PYTHON_SIGNATURES)
def test_a_python_signature_breaks_calls_or_does_not(old: str, new: str, is_breaking: bool, tag: str) -> None:
    change = only(diff("m.py", f"def f{old}:\n    pass\n", f"def f{new}:\n    pass\n"))
    assert (change.kind.value, change.is_breaking) == ("signature_changed", is_breaking)
    assert tag in change.tags


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(a,b)", "(\n    a,\n    b,\n)"),
        ("(a: 'int' = 'x')", '(a: int = "x")'),
        ("(a: Optional[int])", "(a: int | None)"),
        ("(a: t.List[str])", "(a: list[str])"),
    ],
)
def test_another_spelling_of_a_python_signature_is_not_a_change_of_it(old: str, new: str) -> None:
    changes = list(all_changes(diff("m.py", f"def f{old}: pass\n", f"def f{new}: pass\n").changes))
    assert all(one.kind.value == "body_changed" for one in changes)


# File name, texts before and after, and all that must be told.
CASES = [
    # TypeScript and JavaScript
    ("m.ts", "export function f(a: number) {}", "export function f(a: number, b?: string) {}", ["signature_changed f"]),
    ("m.ts", "export function f(a: number) {}", "export function f(a: number, b = 1) {}", ["signature_changed f"]),
    ("m.ts", "export function f(a: number) {}", "export function f(a: number, ...b: X[]) {}", ["signature_changed f"]),
    ("m.ts", "export function f(a: number) {}", "export function f(a: number, b: X) {}", ["!signature_changed f"]),
    ("m.ts", "export function f(a?: number) {}", "export function f(a: number) {}", ["!signature_changed f"]),
    ("m.ts", "export function f(a: number) {}", "export function f(b: number) {}", ["signature_changed f"]),
    ("m.ts", "export function f(a: A) {}", "export function f(a: A | B) {}", ["signature_changed f"]),
    ("m.ts", "export function f(a: A | B) {}", "export function f(a: A) {}", ["!signature_changed f"]),
    ("m.ts", "export function f(): A | B {}", "export function f(): A {}", ["signature_changed f"]),
    ("m.ts", "export function f(): A {}", "export function f(): B {}", ["!signature_changed f"]),
    ("m.ts", "export const f = (o: {a: X}) => 1", "export const f = (o: {a: X\n b?: Y}) => 1", ["signature_changed f"]),
    ("m.ts", "export const f = (o: {a: X}) => 1", "export const f = (o: {a: X; b: Y}) => 1", ["!signature_changed f"]),
    ("m.ts", "export function f() {}", "function f() {}", ["!signature_changed f"]),
    ("m.ts", "function f(a: A) {}", "function f() {}", ["signature_changed f"]),
    ("m.ts", "export type T = A", "export type T = A | B", ["signature_changed T"]),
    ("m.ts", "export type T = A | B", "export type T = A", ["!signature_changed T"]),
    ("m.ts", "export class C { a(): A {} }", "export class C { private a(): A {} }", ["!signature_changed C.a"]),
    ("m.ts", "export class C extends B {}", "export class C {}", ["!signature_changed C"]),
    ("m.ts", "export class C {}", "export class C implements I {}", ["signature_changed C"]),
    ("m.ts", "export class C { #a() {} }", "export class C { }", ["removed C.#a"]),
    ("m.js", "export function f(a, b) {}", "export function f(b, a) {}", ["!signature_changed f"]),
    ("m.js", "export function f(a, b) {}", "export function f(a) {}", ["!signature_changed f"]),
    ("m.js", "export function f({a, b}) {}", "export function f({a}) {}", ["!signature_changed f"]),
    ("m.js", "export function f({a}) {}", "export function f({a, b}) {}", ["signature_changed f"]),
    ("m.js", "export function f() {}", "export async function f() {}", ["!signature_changed f"]),
    # Go
    ("m.go", "package p\nfunc F(a, b int) {}", "package p\nfunc F(a int, b int) {}", ["body_changed F"]),
    ("m.go", "package p\nfunc F(a int) {}", "package p\nfunc F(x int) {}", ["signature_changed F"]),
    ("m.go", "package p\nfunc F(a int) {}", "package p\nfunc F(a int, o ...Opt) {}", ["signature_changed F"]),
    ("m.go", "package p\nfunc F(a int) {}", "package p\nfunc F(a int, b int) {}", ["!signature_changed F"]),
    ("m.go", "package p\nfunc F(a int) {}", "package p\nfunc F(a string) {}", ["!signature_changed F"]),
    ("m.go", "package p\nfunc F() (n int, e error) {}", "package p\nfunc F() (int, error) {}", ["signature_changed F"]),
    ("m.go", "package p\nfunc F() int {}", "package p\nfunc F() (int, error) {}", ["!signature_changed F"]),
    ("m.go", "package p\nfunc f(a int) {}", "package p\nfunc f() {}", ["signature_changed f"]),
    ("m.go", "package p\nfunc F() {}", "package p\n", ["!removed F"]),
    ("m.go", "package main\nfunc F() {}", "package main\n", ["removed F"]),
    ("internal/m.go", "package p\nfunc F() {}", "package p\n", ["removed F"]),
    ("m.go", "package p\nfunc (t *T) M() {}", "package p\nfunc (t T) M() {}", ["signature_changed T.M"]),
    ("m.go", "package p\nfunc (t T) M() {}", "package p\nfunc (t *T) M() {}", ["!signature_changed T.M"]),
    ("m.go", "package p\ntype T struct { X int }", "package p\ntype T struct { X string }", ["!signature_changed T.X"]),
    # Rust
    ("m.rs", "pub fn f(a: u8) {}", "pub fn f(mut a: u8) {}", ["body_changed f"]),
    ("m.rs", "pub fn f(a: u8) {}", "pub fn f(a: u16) {}", ["!signature_changed f"]),
    ("m.rs", "pub fn f() {}", "pub(crate) fn f() {}", ["!signature_changed f"]),
    ("m.rs", "fn f() {}", "pub fn f() {}", ["signature_changed f"]),
    ("m.rs", "pub fn f() -> u8 {}", "pub fn f() -> Option<u8> {}", ["!signature_changed f"]),
    ("m.rs", "fn f() {}", "", ["removed f"]),
    ("m.rs", "impl S { pub fn m(&self) {} }", "impl S { pub fn m(&mut self) {} }", ["!signature_changed S.m"]),
    (
        "m.rs",
        "pub struct S;\nimpl Default for S { fn default() -> S { S } }",
        "#[derive(Default)]\npub struct S;",
        ["removed S.default", "signature_changed S"],
    ),
    (
        "m.rs",
        "#[cfg(a)]\npub const X: u8 = 1;\n#[cfg(b)]\npub const X: u8 = 2;",
        "#[cfg(a)]\npub const X: u8 = 1;",
        ["removed X"],
    ),
    ("m.rs", "pub const fn f() {}", "pub fn f() {}", ["!signature_changed f"]),
    ("m.rs", "pub fn f() {}", "pub unsafe fn f() {}", ["!signature_changed f"]),
    # Java
    (
        "C.java",
        "public class C { public static void m() {} }",
        "public class C { public void m() {} }",
        ["!signature_changed C.m"],
    ),
    ("C.java", "public class C { }", "public final class C { }", ["!signature_changed C"]),
    ("C.java", "public final class C { }", "public class C { }", ["signature_changed C"]),
    (
        "C.java",
        "public class C { public void m(int a) {} }",
        "public class C { public void m(final int a) {} }",
        ["body_changed C.m"],
    ),
    (
        "C.java",
        "public class C { public int m() {} }",
        "public class C { public long m() {} }",
        ["!signature_changed C.m"],
    ),
    ("C.java", "public class C { void m() {} }", "public class C { }", ["removed C.m"]),
    (
        "C.java",
        "package p;\nimport q.D;\npublic class C { public void m() {} }",
        "package p;\nimport q.D;\npublic class C { }",
        ["!removed C.m"],
    ),
    ("C.java", "public class C { @Override public void m() {} }", "public class C { }", ["removed C.m"]),
    (
        "C.java",
        "public class C { public void m(int a) {} public void m(String a) {} }",
        "public class C { public void m(String a) {} public void m(int a, int b) {} }",
        ["!signature_changed C.m"],
    ),
    # Python
    ("m.py", "def f(): pass\n", "", ["!removed f"]),
    ("m.py", "def _f(): pass\n", "", ["removed _f"]),
    ("tests/test_m.py", "def test_f(): pass\n", "", ["removed test_f"]),
    ("m.py", "", "def f(): pass\n", ["added f"]),
    ("m.py", "def f(): pass\n", "async def f(): pass\n", ["!signature_changed f"]),
    ("m.py", "class A(B): pass\n", "class A: pass\n", ["!signature_changed A"]),
    ("m.py", "class A: pass\n", "class A(B): pass\n", ["signature_changed A"]),
    ("m.py", "def f(): return 1\n", "@cache\ndef f(): return 1\n", ["signature_changed f"]),
    (
        "m.py",
        "class A:\n    def f(self): return 1\n",
        "class A:\n    @property\n    def f(self): return 1\n",
        ["!signature_changed A.f"],
    ),
    (
        "m.py",
        "class A:\n    def f(self, a): return a\n",
        "class A:\n    @staticmethod\n    def f(a): return a\n",
        ["!signature_changed A.f"],
    ),
    ("m.py", "X = 1\n", "X = 2\n", ["body_changed X"]),
    ("m.py", "X = 1\n", "X: int = 1\n", ["signature_changed X"]),
    ("m.py", "def f(): return 1\n", "from .other import f\n", ["removed f"]),
    ("m.py", "__all__ = ['g']\ndef f(): pass\n", "__all__ = ['g']\n", ["removed f"]),
    (
        "m.py",
        "class A(B):\n    def get(self, k):\n        return super().get(k)\n",
        "class A(B):\n    pass\n",
        ["body_changed A", "removed A.get"],
    ),
    (
        "m.py",
        "class A:\n    def __init__(self):\n        self.x = 1\n",
        "class A:\n    def __init__(self):\n        pass\n",
        ["!removed A.x", "body_changed A.__init__"],
    ),
    (
        "m.py",
        "@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\ndef f(a): return a\n",
        "@overload\ndef f(a: str) -> str: ...\ndef f(a): return a\n",
        ["!removed f"],
    ),
    ("m.py", "if x:\n    def f(): pass\n", "if x:\n    def f(): return 2\n", ["body_changed f"]),
    ("m.py", "def f():\n    def g(): pass\n", "def f():\n    def g(): return 1\n", ["body_changed f"]),
    # Others, by definitions and text
    ("m.kt", "fun f(a: Int) {}", "fun f(a: Int, b: Int = 1) {}", ["signature_changed f"]),
    ("m.kt", "fun f(a: Int) {}", "fun f(b: Int) {}", ["!signature_changed f"]),
    ("m.c", "static int f(int a) { return a; }", "static int f(void) { return 1; }", ["signature_changed f"]),
    ("m.c", "int f(int a) { return a; }", "int f(long a) { return a; }", ["!signature_changed f"]),
    ("m.rb", "def f(a); end", "def f(a, b = 1); end", ["signature_changed f"]),
    ("m.php", "<?php function f(int $a) {}", "<?php function f(int $a, int $b) {}", ["!signature_changed f"]),
    ("m.sh", "f() { echo 1; }\n", "f() { echo 2; }\n", ["body_changed f"]),
]


@pytest.mark.parametrize(("path", "old", "new", "expected"), CASES)
def test_a_change_has_its_kind_and_severity(path: str, old: str, new: str, expected: list[str]) -> None:
    assert told(diff(path, old, new)) == expected


BODIES = [
    ("    x = a + 1\n    return x\n", "    # Why.\n    x = a + 1\n    return x\n", "comment_only", Risk.LOW),
    ('    """Doc."""\n    return a\n', '    """Other."""\n    return a\n', "comment_only", Risk.LOW),
    ("    return g(a, 'x')\n", '    return g(\n        a,\n        "x",\n    )\n', "formatting_only", Risk.LOW),
    ("    return g(a)\n", "    return h(a)\n", "body_logic_changed", Risk.MEDIUM),
    ("    return a\n", "    if a:\n        return a\n    return 0\n", "body_logic_changed", Risk.HIGH),
    ("    if a:\n        g()\n        h()\n", "    if a:\n        g()\n    h()\n", "body_logic_changed", Risk.MEDIUM),
]


@pytest.mark.parametrize(("old", "new", "tag", "risk"), BODIES)
def test_a_body_is_compared_by_tokens(old: str, new: str, tag: str, risk: Risk) -> None:
    change = only(diff("m.py", f"def f(a):\n{old}", f"def f(a):\n{new}"))
    assert (change.kind.value, change.is_breaking, change.risk) == ("body_changed", False, risk)
    assert tag in change.tags


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("m.go", "package p\nfunc F(a, b int) { g() }", "package p\nfunc F(a int, b int) { g() }"),
        ("C.java", "class C { void m(int a) { g(); } }", "class C { void m(final int a) { g(); } }"),
        ("m.py", "def f(a: Optional[int]): return a\n", "def f(a: int | None): return a\n"),
    ],
)
def test_a_declaration_in_another_spelling_is_layout(path: str, old: str, new: str) -> None:
    change = only(diff(path, old, new))
    assert (change.tags, change.risk) == (("formatting_only",), Risk.LOW)


def test_other_line_ends_are_not_a_change() -> None:
    text = 'def f(a):\n    """Doc\n    more."""\n    return a\n'
    assert told(diff("m.py", text, text.replace("\n", "\r\n"))) == []


LONG = "    total = 0\n    for item in items:\n        total += item.price * item.count\n    return round(total, 2)\n"
OTHER = "    with open(path) as file:\n        return [line.strip() for line in file if line]\n"


def test_a_renamed_function_is_recognised_by_its_structure_not_by_its_place() -> None:
    old = f"def price(items):\n{LONG}\n\ndef load(path):\n{OTHER}"
    new = f"def read_lines(path):\n{OTHER}\n\ndef total_price(items):\n{LONG}"
    assert told(diff("m.py", old, new)) == ["!renamed read_lines < load", "!renamed total_price < price"]


def test_the_most_similar_pair_is_taken_first() -> None:
    near = LONG.replace("round(total, 2)", "round(total, 3)")
    old = f"def a(items):\n{LONG}"
    new = f"def b(items):\n{near}\n\ndef c(items):\n{LONG}"
    assert told(diff("m.py", old, new)) == ["!renamed c < a", "added b"]


def test_a_function_moved_to_another_file_is_renamed_with_its_old_path() -> None:
    text = f"def price(items):\n{LONG}"
    pairs = [FilePair("a.py", "modified", text.encode(), b"X = 1\n"), FilePair("b.py", "added", None, text.encode())]
    change = next(one for one in all_changes(compare_files(pairs).changes) if one.entity.name == "price")
    assert (change.kind.value, change.is_breaking, change.entity.path) == ("renamed", True, "b.py")
    assert change.old is not None
    assert change.old.path == "a.py"
    assert "moved" in change.tags


MOVES = [
    ("a.py", "b.py", "from b import price\n", f"def price(items):\n{LONG}"),
    ("p/a.go", "p/b.go", "package p\n", "package p\nfunc Price(items []Item) int {\n  return sum(items, 1, 2, 3)\n}\n"),
]


@pytest.mark.parametrize(("source", "target", "left", "text"), MOVES)
def test_a_move_that_users_do_not_notice_is_not_breaking(source: str, target: str, left: str, text: str) -> None:
    pairs = [
        FilePair(source, "modified", text.encode(), left.encode()),
        FilePair(target, "added", None, text.encode()),
    ]
    change = only(compare_files(pairs))
    assert (change.kind.value, change.is_breaking) == ("renamed", False)


def test_members_of_a_renamed_class_are_compared_with_each_other() -> None:
    old = f"class Cart:\n    def total(self, items):\n    {LONG.replace(chr(10) + '    ', chr(10) + '        ')}"
    new = old.replace("Cart", "Basket").replace("2)", "3)")
    (change,) = diff("m.py", old, new).changes
    assert told(diff("m.py", old, new)) == ["!renamed Basket < Cart", "body_changed Basket.total"]
    assert [one.entity.name for one in change.nested] == ["total"]


def test_a_method_pulled_up_into_a_base_is_still_found() -> None:
    body = LONG.replace("    ", "        ", 1).replace("\n    ", "\n        ")
    old = f"class Base:\n    pass\n\nclass Cart(Base):\n    x = 1\n    def total(self, items):\n{body}"
    new = f"class Base:\n    def total(self, items):\n{body}\n\nclass Cart(Base):\n    x = 1\n"
    assert "renamed Base.total < Cart.total" in told(diff("m.py", old, new))


def test_overloads_of_typescript_do_not_collapse() -> None:
    old = "export function f(a: A): A\nexport function f(a: B): B\nexport function f(a: any) { return a }\n"
    new = "export function f(a: B): B\nexport function f(a: any) { return a }\n"
    assert told(diff("m.ts", old, new)) == ["!removed f"]


def test_changes_of_methods_hang_under_their_class() -> None:
    old = "class A:\n    def f(self): return 1\n    class B:\n        def g(self): return 1\n"
    (change,) = diff("m.py", old, old.replace("1", "2")).changes
    assert change.tags == ("members_changed",)
    assert [one.entity.lexical_path for one in change.nested] == ["A.f", "A.B"]
    assert [one.entity.lexical_path for one in change.nested[1].nested] == ["A.B.g"]


def test_a_side_with_syntax_errors_is_compared_and_said() -> None:
    found = diff("m.py", "def f():\n    return 1\n", "def f():\n    return 2\n\ndef g(:\n")
    assert any("syntax errors (new side)" in note for note in found.notes)
    assert "body_changed f" in told(found)
    assert all(one.risk is Risk.UNKNOWN for one in all_changes(found.changes) if one.new is not None)


@pytest.mark.parametrize("path", ["notes.md", "data.json", "conf.yaml"])
def test_formats_without_symbols_are_listed_as_files(path: str) -> None:
    found = diff(path, "# A\n" if path.endswith("md") else '{"a": 1}', "# B\n" if path.endswith("md") else '{"b": 1}')
    assert found.changes == ()
    assert [one.path for one in found.files] == [path]


def test_a_changed_file_whose_definitions_are_the_same_is_still_listed() -> None:
    found = diff("m.py", "import a\ndef f(): pass\n", "import b\ndef f(): pass\n")
    assert (found.changes, [one.path for one in found.files]) == ((), ["m.py"])


def test_a_renamed_file_is_compared_with_itself() -> None:
    pair = FilePair("b.py", "renamed", b"def f(): return 1\n", b"def f(): return 2\n", "a.py")
    assert told(compare_files([pair])) == ["body_changed f"]


def _states() -> list[tuple[str, bytes, bytes]]:
    """Return pairs of real texts: neighbouring files of our own sources as old and new side of one file."""
    paths = sorted(SOURCES.glob("core/*.py"))[:16]
    return [(f"{one.stem}.py", one.read_bytes(), two.read_bytes()) for one, two in pairwise(paths)]


def test_a_state_compared_with_itself_has_no_changes() -> None:
    texts = [(path, old) for path, old, _ in _states()] + [(path, old.encode()) for path, old, _, _ in CASES]
    for path, text in texts:
        found = compare_files([FilePair(path, "modified", text, text)])
        assert found.changes == (), path


def test_added_and_removed_are_exchanged_with_the_sides() -> None:
    rows = [*_states(), *((path, old.encode(), new.encode()) for path, old, new, _ in CASES)]
    for path, old, new in rows:
        forth = compare_files([FilePair(path, "modified", old, new)])
        back = compare_files([FilePair(path, "modified", new, old)])
        assert _names(forth, "added") == _names(back, "removed"), path
        assert _names(forth, "removed") == _names(back, "added"), path


def _names(found: Comparison, kind: str) -> list[str]:
    return sorted(one.entity.lexical_path for one in all_changes(found.changes) if one.kind.value == kind)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("m.py", f"def f(a: {'Optional[' * 2500}x{']' * 2500}): pass\n"),
        ("m.py", "".join(f"{'    ' * i}class A{i}:\n" for i in range(90)) + f"{'    ' * 90}x = 1\n"),
        ("m.ts", f"export function f(a: {'{a: ' * 2500}x{'}' * 2500}) {{}}"),
    ],
)
def test_deep_nesting_is_compared_without_a_crash(path: str, text: str) -> None:
    assert len(diff(path, text, text.replace("x", "y")).changes) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_damaged_text_of_every_language_is_compared_without_a_crash(language: str) -> None:
    suffix = {"dockerfile": "Dockerfile"}.get(language) or next(
        name for name in (f"m.{end}" for end in _SUFFIXES) if dialect_of(name) == language
    )
    compare_files([FilePair(suffix, "modified", b"def f(a {{ [ ( class \xff\xfe <", b"}} fn g(<T> 'x\n\n\t(a: b = ")])


_SUFFIXES = (
    "c", "cpp", "nix", "cs", "ex", "go", "graphql", "hs", "js", "svelte", "ts", "tsx", "json", "yaml", "toml", "java",
    "kt", "scala", "lua", "md", "php", "py", "rb", "rs", "sh", "sql", "swift", "tf", "html", "css",
)  # fmt: skip
