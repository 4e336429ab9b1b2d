"""Whatever the bytes are, extraction returns, and says when it left something out."""

import pytest

from codeplane.languages.java.extract import extract
from languages.consistency import RunawayClock, check_consistent, damaged, random_bytes
from support.effort import repeated

GOOD = b"""package a.b;
import a.b.C;
import c.d.*;
import static a.b.C.max;

/** A good class. */
@An(value = 1, other = {X.class})
public abstract class A<T extends B & C.D> extends q.Base<T> implements I, J<K> {
    private static final int X = 1, y[] = {2};
    List<? extends A>[] z;
    static { int q = 1; use(q); }
    A(int a, String... b) throws E { this(); this.x = a; super.foo(); A.this.x = 1; }
    @Override
    <U> U m(final A f, int[] g) {
        for (int i = 0, j = 1; i < j; i++) { continue; }
        for (final A x : xs) { L: while (true) { break L; } }
        try (R r = open(); R s = of(r)) { use(s); } catch (E1 | E2 e) { throw e; } finally { }
        int s = switch (o) { case A ff when ff.ok() -> 1; case P(int px, var py) -> px; case RED -> 3; default -> 4; };
        switch (s) { case 1: int k = 1; default: use(k); }
        if (o instanceof A p && p.x) { max(p, (a, b) -> a + b, c -> { return c; }, A::m, this::<T>n); }
        new A(1) { int w; void n() { use(w, this.w, X, m(null, null)); } };
        class Local { record R(int a) { R { use(a); } } enum LE { Q(1) { int f() { return Q.v; } }; int v; } }
        var v = new Outer.Inner<>(); outer.new Inner(); foo.<T>bar(v); java.util.@N List l;
        return null;
    }
    @interface An { int value() default 1; }
    interface If extends I { int K = 1; default void d() { m(K); } void m(int a); }
}
"""
ODD_SOURCES = {
    "empty": b"",
    "one newline": b"\n",
    "NUL": b"class A { int x = 1\x00; int y = x; }\n",
    "invalid UTF-8": b'class A { String x = "\xff\xfe"; int \xff\xfe = 1; int z = x; }\n',
    "byte order mark": b"\xef\xbb\xbfclass A {}\n",
    "carriage returns": b"class A {\r\n int x;\r\n int y = x;\r}",
    "ends in a dot": b"class A { int x = a.",
    "starts with a dot": b".x",
    "binary": bytes(range(256)) * 20,
    "unclosed": b"class A { void f(int a, B[] b = { new C() {\n",
    "half imports": b"import\nimport a.;\nimport static;\nimport a.*\nimport .b;\nimport *;\nclass A {}\n",
    "names missing": b"class {}\nenum { A }\nrecord (int x) {}\nclass A { void () {} int ; A( { } B; }\n",
    "empty type parameters": b"class A<> { <> void f() {} B<> b; }\n",
    "names beyond ASCII": "class Größe { int é; int f() { return é + this.é; } }\n".encode(),
    "statements without a class": b"void f(int a) { return a; }\nint x = 1;\nf(x);\n",
    "a class that extends itself": b"class A extends A { void f() { g(); x++; } }\n",
    "a module": b"module a.b { requires c.d; exports e.f to g; provides X with Y; }\n",
    "only an annotation": b"@A(b = 1)",
}


@pytest.mark.parametrize("source", ODD_SOURCES.values(), ids=ODD_SOURCES.keys())
def test_odd_bytes_give_consistent_facts(source: bytes) -> None:
    check_consistent(extract(source), source)


def test_a_good_file_has_no_errors() -> None:
    facts = extract(GOOD)
    assert facts.n_errors == 0
    check_consistent(facts, GOOD)


def test_every_beginning_of_a_file_gives_consistent_facts() -> None:
    for end in range(len(GOOD)):
        check_consistent(extract(GOOD[:end]), GOOD[:end])


def test_random_damage_gives_consistent_facts() -> None:
    words = (
        b"class ",
        b"import ",
        b"->",
        b"case ",
        b"new ",
        b"record ",
        b"enum ",
        b"instanceof ",
        b"@",
        b"this.",
        b"...",
    )
    for source in (*damaged(GOOD, 1000, 7, words), *random_bytes(300, 8)):
        check_consistent(extract(source), source)


@pytest.mark.parametrize(
    "source",
    [
        b"class A { int x = " + b"(" * 5000 + b"y" + b")" * 5000 + b"; }",
        b"class A { int x = " + b"[" * 5000,
        b"class A { int x = " + b"a." * 5000 + b"b; }",
        b"class A { int x = " + b"f(" * 5000 + b")" * 5000 + b"; }",
        b"class A { " + b"V<" * 3000 + b"T" + b">" * 3000 + b" x; }",
        b"class A { void f() " + b"{" * 5000 + b"}" * 5000 + b" }",
        b"class A { Object x = " + b"a -> " * 3000 + b"a; }",
        b"class A {" * 3000 + b"int f() { return x; }" + b"}" * 3000,
        b"class A { Object x = " + b"new B() { Object x = " * 2000 + b"y" + b"; }" * 2000 + b"; }",
        b"class A { int x[] = " + b"{" * 5000 + b"}" * 5000 + b"; }",
        b"class A { void f() {" + b"if (a) {" * 3000 + b"}" * 3000 + b"} }",
    ],
    ids=["parentheses", "unclosed", "members", "calls", "generics", "blocks", "lambdas", "classes", "anonymous classes",
         "arrays", "ifs"],
)  # fmt: skip
def test_deep_nesting_needs_no_recursion(source: bytes) -> None:
    check_consistent(extract(source), source)


def test_what_is_nested_too_deeply_is_said() -> None:
    facts = extract(b"class A { int x = " + b"(" * 50_000 + b"y" + b")" * 50_000 + b"; }")
    assert facts.problem == "nested too deeply"
    assert facts.references == []


def test_a_file_that_takes_too_long_gives_no_facts_but_a_problem() -> None:
    for source in (GOOD, GOOD * 1000):
        facts = extract(source, RunawayClock())
        assert facts.problem == "timed out"
        assert (facts.references, facts.definitions, facts.binds, facts.imports) == ([], [], [], [])


def test_facts_inside_errors_are_left_out() -> None:
    facts = extract(b"class Good {}\n)))) broken ((((\nclass Fine {}\n")
    assert facts.n_errors > 0
    assert "Good" in {one.name for one in facts.definitions}
    assert all(one[1] != "broken" for one in facts.references)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"a.b(c, 1); ", b"int x = y; ", b"{", b"f(x); "])
def test_a_very_long_line_returns(piece: bytes) -> None:
    source = b"class A { void f() {" + piece * (repeated(50_000) // len(piece)) + b"} }"
    facts = extract(source)
    assert facts.problem in {"", "timed out", "nested too deeply"}
    check_consistent(facts, source)
