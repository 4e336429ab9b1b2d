"""What names mean across Rust files: each case is a small repository and questions about places in it."""

from pathlib import Path

import pytest

from index.linking_cases import Case, check

CARGO = {"Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'}
CASES = (
    Case(
        "two globs that offer different things are open",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod b;\nmod c;\n",
            "src/a.rs": "pub struct X;\npub struct Y;\n",
            "src/b.rs": "pub struct X;\n",
            "src/c.rs": "use crate::a::*;\nuse crate::b::*;\nfn f(x: X, y: Y) {}\n",
        },
        "src/c.rs:3 X -> -\nsrc/c.rs:3 Y -> src/a.rs:2 STRONG",
    ),
    Case(
        "two globs that lead to one thing give it",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod b;\nmod c;\n",
            "src/a.rs": "pub struct X;\n",
            "src/b.rs": "pub use crate::a::X;\n",
            "src/c.rs": "use crate::a::*;\nuse crate::b::*;\nfn f(x: X) {}\n",
        },
        "src/c.rs:3 X -> src/a.rs:1 STRONG",
    ),
    Case(
        "a glob of another crate hides nothing",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod c;\n",
            "src/a.rs": "pub struct X;\n",
            "src/c.rs": "use crate::a::*;\nuse ext::prelude::*;\nfn f(x: X) {}\n",
        },
        "src/c.rs:3 X -> src/a.rs:1 STRONG",
    ),
    Case(
        "a glob under a condition beside another that is not there is open",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod c;\n",
            "src/a.rs": "pub struct X;\n",
            "src/c.rs": '#[cfg(feature = "a")]\nuse crate::a::*;\n#[cfg(not(feature = "a"))]\nuse ext::*;\n'
            "fn f(x: X) {}\n",
        },
        "src/c.rs:5 X -> -",
    ),
    Case(
        "globs of two platforms passed on",
        {
            **CARGO,
            "src/lib.rs": "mod loom;\nmod c;\n",
            "src/loom/mod.rs": "#[cfg(not(loom))]\nmod std;\n#[cfg(not(loom))]\npub use self::std::*;\n"
            "#[cfg(loom)]\nmod mocked;\n#[cfg(loom)]\npub use self::mocked::*;\n",
            "src/loom/std.rs": "pub struct Mutex;\n",
            "src/loom/mocked.rs": "pub struct Mutex;\n",
            "src/c.rs": "use crate::loom::Mutex;\nfn f(x: Mutex) {}\n",
        },
        "src/c.rs:2 Mutex -> -",
    ),
    Case(
        "a name of the module hides what globs bring",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod b;\nmod c;\n",
            "src/a.rs": "pub struct X;\n",
            "src/b.rs": "pub struct X;\nuse crate::a::*;\n",
            "src/c.rs": "use crate::b::X;\nfn f(x: X) {}\n",
        },
        "src/c.rs:2 X -> src/b.rs:1 STRONG",
    ),
    Case(
        "a name under a condition beside a glob under another is open",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod b;\nmod c;\n",
            "src/a.rs": "pub struct X;\n",
            "src/b.rs": "#[cfg(unix)]\npub struct X;\n#[cfg(windows)]\npub use crate::a::*;\n",
            "src/c.rs": "use crate::b::X;\nfn f(x: X) {}\n",
        },
        "src/c.rs:2 X -> -",
    ),
    Case(
        "an item with two alternatives is one symbol",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod c;\n",
            "src/a.rs": "#[cfg(unix)]\npub fn f() {}\n#[cfg(windows)]\npub fn f() {}\n",
            "src/c.rs": "use crate::a::f;\nfn g() { f() }\n",
        },
        "src/c.rs:2 f -> src/a.rs:2 STRONG",
    ),
    Case(
        "a call means a method, a field is read",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod c;\n",
            "src/a.rs": "pub struct S { pub time: u8 }\nimpl S {\n    pub fn time(&self) -> u8 { self.time }\n}\n",
            "src/c.rs": "use crate::a::S;\nfn f(s: &S) {\n    s.time();\n    s.time;\n    (s.time)(1);\n}\n",
        },
        "src/c.rs:3 time -> src/a.rs:3 STRONG\nsrc/c.rs:4 time -> src/a.rs:1 STRONG\n"
        "src/a.rs:3 time#2 -> src/a.rs:1 STRONG",
    ),
    Case(
        "a field is never called and a method never read",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod c;\n",
            "src/a.rs": "pub struct S { pub run: fn() }\npub struct T;\nimpl T { pub fn run(&self) {} }\n",
            "src/c.rs": "use crate::a::{S, T};\nfn f(s: &S, t: &T) {\n    s.run();\n    t.run;\n}\n",
        },
        "src/c.rs:3 run -> -\nsrc/c.rs:4 run -> -",
    ),
    Case(
        "types of one name in different modules of a file",
        {
            **CARGO,
            "src/lib.rs": "pub struct S;\nimpl S { pub fn f(&self) {} pub fn g(&self) {} }\npub mod m {\n"
            "    pub struct S;\n"
            "    impl S { pub fn f(&self) {} }\n}\nfn h(a: &S, b: &m::S) {\n    a.f();\n    b.f();\n    b.g();\n}\n",
        },
        "src/lib.rs:8 f -> src/lib.rs:2 STRONG\nsrc/lib.rs:9 f -> src/lib.rs:5 STRONG\nsrc/lib.rs:10 g -> -",
    ),
    Case(
        "members for a type of another module belong to that one",
        {
            **CARGO,
            "src/lib.rs": "mod a;\npub struct S;\nmod m {\n    use crate::a::S;\n    impl S { pub fn f(&self) {} }\n}\n"
            "fn h(s: &S) { s.f(); }\n",
            "src/a.rs": "pub struct S;\n",
        },
        "src/lib.rs:7 f -> -",
    ),
    Case(
        "members in an inline module of a type of the file",
        {
            **CARGO,
            "src/lib.rs": "pub struct S;\nmod m {\n    use super::S;\n    use super::*;\n"
            "    impl S { pub fn f(&self) {} }\n}\nfn h(s: &S) { s.f(); }\n",
        },
        "src/lib.rs:7 f -> -",
    ),
    Case(
        "the type of an implementation is that of its trait",
        {
            **CARGO,
            "src/lib.rs": "trait Tr { type Out; fn f(&self) -> Self::Out; }\nstruct S;\nimpl Tr for S {\n"
            "    type Out = u8;\n"
            "    fn f(&self) -> Self::Out { 1 }\n}\n",
        },
        "src/lib.rs:5 Out -> -",
    ),
    Case(
        "a type parameter has the methods of its bound",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nuse a::Tr;\nfn f<T: Tr>(t: T) { t.run(); }\nfn g(t: &dyn Tr) { t.run(); }\n",
            "src/a.rs": "pub trait Tr { fn run(&self); }\n",
        },
        "src/lib.rs:3 run -> src/a.rs:1 STRONG\nsrc/lib.rs:4 run -> src/a.rs:1 STRONG",
    ),
    Case(
        "variants through a glob of an enum of another file",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nmod c;\n",
            "src/a.rs": "pub enum E { One, Two }\n",
            "src/c.rs": "use crate::a::E::*;\nfn f() -> u8 { match g() { One => 1, Two => 2 } }\n",
        },
        "src/c.rs:2 One -> src/a.rs:1 STRONG",
    ),
    Case(
        "the result of a function has its declared type",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nuse a::S;\nasync fn later() -> S { S::new() }\nfn f() {\n"
            "    let s = S::new();\n    s.run();\n"
            "    let t = s.next();\n    t.run();\n    let u = S::maybe();\n    u.run();\n    let v = later();\n"
            "    v.run();\n"
            "    let w = a::id(s);\n    w.run();\n}\n",
            "src/a.rs": "pub struct S;\nimpl S {\n    pub fn new() -> Self { S }\n"
            "    pub fn next(&self) -> &S { self }\n"
            "    pub fn maybe() -> Option<Self> { None }\n    pub fn run(&self) {}\n}\n"
            "pub trait Tr { fn run(&self); }\n"
            "pub fn id<T: Tr>(t: T) -> T { t }\n",
        },
        "src/lib.rs:6 run -> src/a.rs:6 STRONG\nsrc/lib.rs:8 run -> src/a.rs:6 STRONG\nsrc/lib.rs:10 run -> -\n"
        "src/lib.rs:12 run -> -\nsrc/lib.rs:14 run -> -",
    ),
    Case(
        "a package of the repository in the place of a published one",
        {
            "Cargo.toml": '[workspace]\nmembers = ["p", "q"]\n[patch.crates-io]\nq = { path = "q" }\n',
            "p/Cargo.toml": '[package]\nname = "p"\nedition = "2021"\n[dependencies]\nq = "1"\n',
            "p/src/lib.rs": "use q::f;\nfn g() { f() }\n",
            "q/Cargo.toml": '[package]\nname = "q"\nedition = "2021"\n',
            "q/src/lib.rs": "pub fn f() {}\n",
        },
        "p/src/lib.rs:2 f -> q/src/lib.rs:1 STRONG",
    ),
    Case(
        "a function called through the trait may be any implementation",
        {
            **CARGO,
            "src/lib.rs": "mod a;\nuse a::Tr;\nstruct S;\nimpl Tr for S { fn run(&self) {} }\n"
            "fn f(s: S) { Tr::run(&s); }\n",
            "src/a.rs": "pub trait Tr { fn run(&self); }\n",
        },
        "src/lib.rs:5 run -> -",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_names_mean_what_the_case_says(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
