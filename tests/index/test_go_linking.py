"""What names mean across Go files: each case is a small repository and questions about places in it."""

from pathlib import Path

import pytest

from index.linking_cases import Case, check

MOD = {"go.mod": "module m\n\ngo 1.22\n"}
CASES = (
    Case(
        "a method of a struct stands in another file of the package",
        {
            **MOD,
            "a.go": "package m\n\ntype T struct{ X int }\n",
            "b.go": "package m\n\nfunc (t *T) F() { t.X = 1 }\n",
            "c.go": "package m\n\nfunc g(t T) { t.F() }\n",
        },
        "c.go:3 F -> b.go:3 STRONG\nb.go:3 X -> a.go:3 STRONG",
    ),
    Case(
        "the shallowest of two promoted members is meant, whatever the order of embedding",
        {
            **MOD,
            "a.go": "package m\n\ntype C struct{ X int }\ntype A struct{ C }\ntype B struct{ X int }\n"
            "type D struct {\n\tA\n\tB\n}\n\nfunc f(d D) { d.X = 1 }\n",
        },
        "a.go:11 X -> a.go:5 STRONG",
    ),
    Case(
        "two promoted members of the same depth are open",
        {
            **MOD,
            "a.go": "package m\n\ntype A struct{ X int }\ntype B struct{ X int }\n"
            "type D struct {\n\tA\n\tB\n}\n\nfunc f(d D) { d.X = 1 }\n",
        },
        "a.go:10 X -> -",
    ),
    Case(
        "an embedded type of another repository may have the member less deep",
        {
            **MOD,
            "a.go": 'package m\n\nimport "ext/e"\n\ntype C struct{ X int }\ntype A struct{ C }\n'
            "type D struct {\n\tA\n\te.E\n}\n\nfunc f(d D) { d.X = 1 }\n",
        },
        "a.go:12 X -> -",
    ),
    Case(
        "an embedded type of another repository would make a member of its depth ambiguous, so it has none",
        {
            **MOD,
            "a.go": 'package m\n\nimport "ext/e"\n\ntype C struct{ X int }\n'
            "type D struct {\n\te.E\n\tC\n}\n\nfunc f(d D) { d.X = 1 }\n",
        },
        "a.go:11 X -> a.go:5 STRONG",
    ),
    Case(
        "a method of a type that is no struct",
        {
            **MOD,
            "a.go": "package m\n\ntype N int\n\nfunc (n N) F() {}\n\ntype S []N\n\nfunc (s S) G() {}\n",
            "b.go": "package m\n\nfunc g(n N, s S) {\n\tn.F()\n\ts.G()\n}\n",
        },
        "b.go:4 F -> a.go:5 STRONG\nb.go:5 G -> a.go:9 STRONG",
    ),
    Case(
        "a type made of another has its fields but not its methods",
        {
            **MOD,
            "a.go": "package m\n\ntype A struct{ X int }\n\nfunc (a A) F() {}\n\ntype B A\n\nfunc (b B) G() {}\n\n"
            "func g(b B) {\n\tb.X = 1\n\tb.F()\n\tb.G()\n}\n",
        },
        "a.go:12 X -> a.go:3 STRONG\na.go:13 F -> -\na.go:14 G -> a.go:9 STRONG",
    ),
    Case(
        "a type made of an interface has its methods",
        {**MOD, "a.go": "package m\n\ntype I interface{ F() }\ntype B I\n\nfunc g(b B) { b.F() }\n"},
        "a.go:6 F -> a.go:3 STRONG",
    ),
    Case(
        "an alias is the type itself",
        {
            **MOD,
            "a.go": "package m\n\ntype A struct{ X int }\n\nfunc (a A) F() {}\n\ntype B = A\n\n"
            "func g(b B) {\n\tb.X = 1\n\tb.F()\n}\n",
        },
        "a.go:10 X -> a.go:3 STRONG\na.go:11 F -> a.go:5 STRONG",
    ),
    Case(
        "a method may be declared on an alias",
        {
            **MOD,
            "a.go": "package m\n\ntype A struct{}\ntype B = A\n\nfunc (b B) F() {}\n\nfunc g(a A) { a.F() }\n",
        },
        "a.go:8 F -> -",
    ),
    Case(
        "a type parameter has the methods of its constraint",
        {**MOD, "a.go": "package m\n\ntype I interface{ F() }\n\nfunc g[T I](t T) { t.F() }\n"},
        "a.go:5 F -> a.go:3 STRONG",
    ),
    Case(
        "methods of embedded interfaces count as the interface's own",
        {
            **MOD,
            "a.go": "package m\n\ntype K interface{ F() }\ntype J interface{ K }\ntype I interface{ J }\n"
            "type U struct{}\n\nfunc (u U) F() {}\n\ntype T struct{ U }\ntype S struct {\n\tI\n\tT\n}\n\n"
            "func g(s S) { s.F() }\n",
        },
        "a.go:16 F -> a.go:3 STRONG",
    ),
    Case(
        "a method belongs to the type of the package, not to one of a function",
        {
            **MOD,
            "a.go": "package m\n\ntype T struct{}\n\nfunc (t T) F() {}\n\nfunc g() {\n\ttype T struct{ X int }\n"
            "\tvar t T\n\tt.F()\n\tt.X = 1\n}\n",
        },
        "a.go:10 F -> -\na.go:11 X -> a.go:8 STRONG",
    ),
    Case(
        "the result of a function has its declared type",
        {
            **MOD,
            "a.go": "package m\n\ntype T struct{}\n\nfunc New() (*T, error) { return nil, nil }\n"
            "func (t *T) Next() *T { return t }\n"
            "func (t *T) F()     {}\nfunc Id[U I](u U) U { return u }\n\ntype I interface{ F() }\n",
            "b.go": "package m\n\nfunc g() {\n\tt, err := New()\n\tt.F()\n\terr.F()\n\tu := t.Next()\n\tu.F()\n"
            "\tv := Id(t)\n\tv.F()\n\tw := T(x)\n\tw.F()\n}\n",
        },
        "b.go:5 F -> a.go:7 STRONG\nb.go:6 F -> -\nb.go:8 F -> a.go:7 STRONG\nb.go:10 F -> -\n"
        "b.go:12 F -> a.go:7 STRONG",
    ),
    Case(
        "results that need each other have no type",
        {**MOD, "a.go": "package m\n\nvar a = b.F()\nvar b = a.F()\n\nfunc g() { a.F() }\n"},
        "a.go:6 F -> -",
    ),
    Case(
        "a file that says which packages are needed is no Go file",
        {**MOD, "a.go": "package m\n\nfunc f() {}\n", "b.go": "package m\n\nfunc g() { f() }\n"},
        "b.go:3 f -> a.go:3 STRONG",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_names_mean_what_the_case_says(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
