"""Whatever the bytes are, extraction returns, and says when it left something out."""

import pytest

from codeplane.languages.go.extract import extract
from languages.consistency import RunawayClock, check_consistent, damaged, random_bytes
from support.effort import repeated

GOOD = b"""// Package p is good.
package p

import (
	"fmt"
	. "os"
	y "gopkg.in/yaml.v3"
)

type T[K comparable, V any] struct {
	*Base
	y.Node
	items map[K][]V `json:"items"`
	inner struct{ a, b int }
}

type I interface {
	Do(ctx C, n int) (err error)
	fmt.Stringer
	~int | string
}

const (
	A = iota
	B
)

var x, z = T[int, string]{items: nil}, []P{{a: 1}, {b: A}}

func (t *T[K, V]) M(a, b int, rest ...string) (n int, err error) {
loop:
	for i, v := range rest {
		switch w := any(v).(type) {
		case string, *P:
			if k, ok := t.items[w]; ok && k != nil {
				continue loop
			} else if q := 1; q > i {
				break loop
			}
		}
	}
	select {
	case c, ok := <-ch:
		go func(x int) { fmt.Println(x, c, ok) }(a)
	default:
	}
	return n, err
}
"""
ODD_SOURCES = {
    "empty": b"",
    "one newline": b"\n",
    "NUL": b"package p\nvar x = 1\x00\nvar y = 2\n",
    "invalid UTF-8": b'package p\nvar x = "\xff\xfe"\nvar \xff\xfe = 1\nvar z = x\n',
    "byte order mark": b"\xef\xbb\xbfpackage p\nvar x = 1\n",
    "carriage returns": b"package p\r\nvar x = 1\r\nvar y = x\r",
    "ends in a dot": b"package p\nvar x = a.",
    "starts with a dot": b".x",
    "binary": bytes(range(256)) * 20,
    "unclosed": b"package p\nfunc f(a, b []T{x: (\n",
    "half import": b'package p\nimport\nimport (\n"a\nimport "b"\n',
    "empty import": b'package p\nimport ""\nimport x ""\n',
    "names missing": b"package p\nfunc () {}\ntype struct{}\nvar = 1\nfunc (T) () {}\n",
    "empty type parameters": b"package p\ntype A[] struct{}\nfunc f[]() {}\nfunc (a *A[]) m() {}\n",
    "no package": b"func f(a int) { return a }\n",
    "names beyond ASCII": "package p\nvar größe = 1\nfunc f(é T) { größe.ä(é) }\n".encode(),
    "only a label": b"package p\nL: x",
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
    words = (b"func ", b"type ", b":=", b"case ", b"struct{", b"interface{", b"import ", b"range ", b"...")
    for source in (*damaged(GOOD, 1000, 7, words), *random_bytes(300, 8)):
        check_consistent(extract(source), source)


@pytest.mark.parametrize(
    "source",
    [
        b"package p\nvar x = " + b"(" * 5000 + b"y" + b")" * 5000,
        b"package p\nvar x = " + b"[" * 5000,
        b"package p\nvar x = " + b"a." * 5000 + b"b",
        b"package p\nvar x = " + b"f(" * 5000 + b")" * 5000,
        b"package p\nvar x = " + b"T{a: " * 5000 + b"}" * 5000,
        b"package p\nvar x = []T" + b"{" * 5000 + b"}" * 5000,
        b"package p\nvar x " + b"[]" * 5000 + b"T",
        b"package p\nvar x " + b"*" * 5000 + b"T",
        b"package p\ntype T " + b"struct{ a " * 5000 + b"}" * 5000,
        b"package p\nfunc f() " + b"{" * 5000 + b"}" * 5000,
        b"package p\nfunc f() {" + b"if a := b; a {" * 2000 + b"}" * 2001,
        b"package p\nvar x = " + b"func(a int) int { return " * 2000 + b"a" + b"}" * 2000,
    ],
    ids=["parentheses", "unclosed", "members", "calls", "literals", "bare literals", "slices", "pointers", "structs",
         "blocks", "ifs", "functions"],
)  # fmt: skip
def test_deep_nesting_needs_no_recursion(source: bytes) -> None:
    check_consistent(extract(source), source)


def test_what_is_nested_too_deeply_is_said() -> None:
    facts = extract(b"package p\nvar x = " + b"(" * 50_000 + b"y" + b")" * 50_000)
    assert facts.problem == "nested too deeply"
    assert facts.references == []


def test_a_file_that_takes_too_long_gives_no_facts_but_a_problem() -> None:
    for source in (GOOD, GOOD * 2000):
        facts = extract(source, RunawayClock())
        assert facts.problem == "timed out"
        assert (facts.references, facts.definitions, facts.binds, facts.imports) == ([], [], [], [])


def test_facts_inside_errors_are_left_out() -> None:
    facts = extract(b"package p\nfunc good() {}\n)))) broken ((((\nfunc fine() {}\n")
    assert facts.n_errors > 0
    assert "good" in {one.name for one in facts.definitions}
    assert all(one[1] != "broken" for one in facts.references)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"a.b(c, 1); ", b"x := T{a: 1}; ", b"{"])
def test_a_very_long_line_returns(piece: bytes) -> None:
    source = b"package p; func f() {" + piece * (repeated(50_000) // len(piece)) + b"}"
    facts = extract(source)
    assert facts.problem in {"", "timed out", "nested too deeply"}
    check_consistent(facts, source)
