"""Whatever the bytes are, extraction returns, and says when it left something out."""

import pytest

from codeplane.languages.rust.extract import extract
from languages.consistency import RunawayClock, check_consistent, damaged, random_bytes
from support.effort import repeated

GOOD = b"""//! A good file.
use std::{fmt::{self, Display}, io as inout};
use super::*;
pub use self::inner::E::*;
extern crate alloc as heap;
mod other;

/// A macro.
macro_rules! twice { ($x:expr) => { $x + $x } }

#[derive(Debug)]
pub struct S<'a, T: Display + 'a, const N: usize> where T: Clone { pub x: &'a T, y: [u8; N] }
struct Unit;
struct Pair(i32, Unit);

mod inner {
    use super::Unit;
    pub enum E<T> { A, B(T), C { x: i32 } }
    impl<T> E<T> { const K: u8 = 1; fn new() -> Self { Self::A } }
}

trait Tr: Display + fmt::Debug { type Out: Clone; fn m(&self, x: i32) -> Self::Out; fn d() {} }

impl<'a, T, const N: usize> Tr for S<'a, T, N> where T: Clone {
    type Out = u8;
    fn m(&self, x: i32) -> Self::Out {
        let (a, mut b): (i32, i32) = (x, 1);
        let Some(z) = self.x.find(|q: &i32| *q > a) else { return twice!(b) };
        if let Some(v) = z && let E::C { x, .. } = v { b = x } else { panic!("{}", a) }
        'outer: for (i, j) in [(1, 2)].iter() {
            match *i { 0 => break 'outer, n @ 1..=5 if n > b => continue, ref r => drop(r), }
        }
        while let Some(w) = inout::stdin().lines().next() { println!("{w} {}", S { x: &w, ..*self }.y.len()); }
        crate::a::b::<u8>(super::c, Vec::<T>::new(), <T as Tr>::d) as u8
    }
}
"""
ODD_SOURCES = {
    "empty": b"",
    "one newline": b"\n",
    "NUL": b"const X: u8 = 1\x00;\nconst Y: u8 = X;\n",
    "invalid UTF-8": b'const X: &str = "\xff\xfe";\nfn \xff\xfe() {}\nfn z() { X }\n',
    "byte order mark": b"\xef\xbb\xbffn f() { f() }\n",
    "carriage returns": b"fn f() {}\r\nfn g() { f() }\r",
    "ends in a path": b"fn f() { a::",
    "starts with a path": b"::a::b",
    "starts with a quote": b"'a",
    "binary": bytes(range(256)) * 20,
    "unclosed": b"fn f(a: [T; { S { x: (\n",
    "half use": b"use\nuse a::{b, c::{;\nuse a as ;\nuse *;\nuse {};\nuse ::*;\nuse a::{self};\nuse self;\n",
    "names missing": b"fn () {}\nstruct {}\nmod ;\nmod {}\nconst : u8 = 1;\nimpl {}\nenum { A }\ntrait {}\nlet = 1;\n",
    "empty lists": b"struct A<>;\nfn f<>() {}\nimpl<> A<> {}\nenum E {}\nmatch x {}\n",
    "names beyond ASCII": "fn größe(é: T) { größe(é).ä }\n".encode(),
    "raw names": b"fn r#match(r#type: i32) { r#match(r#type) }\n",
    "supers without end": b"use super::super::super::super::x;\nfn f() { super::super::super::y() }\n",
    "a module inside a function": b"fn f() { mod m { use super::*; fn g() { h() } } }\nfn h() {}\n",
    "globs in a circle": b"mod a { use super::b::*; fn f() { x() } }\nmod b { use super::a::*; }\nuse a::*;\n",
    "an attribute at the end": b"fn f() {}\n#[cfg(x)]\n",
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
    words = (b"fn ", b"impl ", b"use ", b"mod ", b"::", b"let ", b"|", b"match ", b"enum ", b"!", b"#[", b"self", b"'a")
    for source in (*damaged(GOOD, 1000, 7, words), *random_bytes(300, 8)):
        check_consistent(extract(source), source)


@pytest.mark.parametrize(
    "source",
    [
        b"const X: u8 = " + b"(" * 5000 + b"y" + b")" * 5000 + b";",
        b"const X: u8 = " + b"[" * 5000,
        b"fn f() { " + b"a." * 5000 + b"b }",
        b"fn f() { " + b"a::" * 5000 + b"b }",
        b"fn f() { " + b"f(" * 5000 + b")" * 5000 + b" }",
        b"fn f() { " + b"S { a: " * 3000 + b"}" * 3000 + b" }",
        b"fn f(x: " + b"&" * 5000 + b"T) {}",
        b"fn f(x: " + b"V<" * 3000 + b"T" + b">" * 3000 + b") {}",
        b"fn f() " + b"{" * 5000 + b"}" * 5000,
        b"fn f() { let " + b"(" * 3000 + b"a" + b")" * 3000 + b" = b; }",
        b"fn f() { " + b"|a| " * 3000 + b"a }",
        b"use " + b"a::{" * 3000 + b"b" + b"}" * 3000 + b";",
        b"mod m {" * 2000 + b"use super::*; fn f() { g() }" + b"}" * 2000,
        b"fn f() {" * 2000 + b"x" + b"}" * 2000,
        b"fn f() { m!(" + b"(" * 5000 + b"a" + b")" * 5000 + b") }",
    ],
    ids=["parentheses", "unclosed", "members", "paths", "calls", "literals", "references", "generics", "blocks",
         "patterns", "closures", "use trees", "modules", "functions", "macros"],
)  # fmt: skip
def test_deep_nesting_needs_no_recursion(source: bytes) -> None:
    check_consistent(extract(source), source)


def test_what_is_nested_too_deeply_is_said() -> None:
    facts = extract(b"const X: u8 = " + b"(" * 50_000 + b"y" + b")" * 50_000 + b";")
    assert facts.problem == "nested too deeply"
    assert facts.references == []


def test_a_file_that_takes_too_long_gives_no_facts_but_a_problem() -> None:
    for source in (GOOD, GOOD * 1000):
        facts = extract(source, RunawayClock())
        assert facts.problem == "timed out"
        assert (facts.references, facts.definitions, facts.binds, facts.imports) == ([], [], [], [])


def test_facts_inside_errors_are_left_out() -> None:
    facts = extract(b"fn good() {}\n)))) broken ((((\nfn fine() {}\n")
    assert facts.n_errors > 0
    assert "good" in {one.name for one in facts.definitions}
    assert all(one[1] != "broken" for one in facts.references)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"a.b(c, 1); ", b"let x = T { a: x }; ", b"{", b"m!(a); "])
def test_a_very_long_line_returns(piece: bytes) -> None:
    source = b"fn f() {" + piece * (repeated(50_000) // len(piece)) + b"}"
    facts = extract(source)
    assert facts.problem in {"", "timed out", "nested too deeply"}
    check_consistent(facts, source)
