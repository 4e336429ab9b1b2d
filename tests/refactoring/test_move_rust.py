"""Moves of Rust modules."""

from pathlib import Path

import pytest

from codeplane.refactor.move import plan_move
from refactoring.planning import MoveCase, check_move, files_of, move, refused
from support.repositories import make_repository

CARGO = {"Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'}
B = "pub fn f() -> i32 {\n    1\n}\n"
CASES = (
    MoveCase(
        "a module gets another name",
        {
            **CARGO,
            "src/lib.rs": "mod b;\nmod user;\n\npub fn g() -> i32 {\n    b::f()\n}\n",
            "src/b.rs": B,
            "src/user.rs": "use crate::b::f;\n\npub fn h() -> i32 {\n    f() + crate::b::f() + super::b::f()\n}\n",
        },
        "src/b.rs",
        "src/c.rs",
        {
            "src/b.rs": None,
            "src/c.rs": B,
            "src/lib.rs": "mod c;\nmod user;\n\npub fn g() -> i32 {\n    c::f()\n}\n",
            "src/user.rs": "use crate::c::f;\n\npub fn h() -> i32 {\n    f() + crate::c::f() + crate::c::f()\n}\n",
        },
    ),
    MoveCase(
        "a field of the same name stays",
        {
            **CARGO,
            "src/lib.rs": (
                "mod b;\n\npub struct S {\n    b: i32,\n}\n\npub fn g(s: S) -> S {\n    S { b: s.b + b::f() }\n}\n"
            ),
            "src/b.rs": B,
        },
        "src/b.rs",
        "src/c.rs",
        {
            "src/b.rs": None,
            "src/c.rs": B,
            "src/lib.rs": (
                "mod c;\n\npub struct S {\n    b: i32,\n}\n\npub fn g(s: S) -> S {\n    S { b: s.b + c::f() }\n}\n"
            ),
        },
    ),
    MoveCase(
        "a module goes to another parent with its `mod` line",
        {
            **CARGO,
            "src/lib.rs": "pub mod a;\npub mod c;\n",
            "src/a/mod.rs": "/// About b.\npub mod b;\n\npub fn g() -> i32 {\n    b::f() + self::b::f()\n}\n",
            "src/a/b.rs": "use super::g;\n\n" + B + "\npub fn again() -> i32 {\n    g()\n}\n",
            "src/c/mod.rs": "pub mod x;\n",
            "src/c/x.rs": "use crate::a::{b::f, g};\n\npub fn y() -> i32 {\n    f() + g()\n}\n",
        },
        "src/a/b.rs",
        "src/c/b.rs",
        {
            "src/a/b.rs": None,
            "src/c/b.rs": "use crate::a::g;\n\n" + B + "\npub fn again() -> i32 {\n    g()\n}\n",
            "src/a/mod.rs": "\npub fn g() -> i32 {\n    crate::c::b::f() + crate::c::b::f()\n}\n",
            "src/c/mod.rs": "pub mod x;\n/// About b.\npub mod b;\n",
            "src/c/x.rs": "use crate::a::{g};\nuse crate::c::b::f;\n\npub fn y() -> i32 {\n    f() + g()\n}\n",
        },
    ),
    MoveCase(
        "a directory of modules",
        {
            **CARGO,
            "src/lib.rs": "pub mod a;\npub mod c;\n",
            "src/a/mod.rs": "pub mod b;\n",
            "src/a/b.rs": B
            + "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn t() {\n        f();\n    }\n}\n",
            "src/c.rs": "use crate::a::b::f;\n\npub fn y() -> i32 {\n    f()\n}\n",
        },
        "src/a",
        "src/z",
        {
            "src/a/mod.rs": None,
            "src/a/b.rs": None,
            "src/z/mod.rs": "pub mod b;\n",
            "src/z/b.rs": B
            + "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn t() {\n        f();\n    }\n}\n",
            "src/lib.rs": "pub mod z;\npub mod c;\n",
            "src/c.rs": "use crate::z::b::f;\n\npub fn y() -> i32 {\n    f()\n}\n",
        },
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_paths_follow_a_rust_module(case: MoveCase, tmp_path: Path) -> None:
    check_move(case, tmp_path)


def test_a_directory_and_its_way_back_give_every_byte(tmp_path: Path) -> None:
    case = CASES[3]
    root = make_repository(tmp_path / "repo", dict(case.files))
    move(root, case.source, case.target)
    move(root, case.target, case.source)
    assert files_of(root) == case.files


def test_a_use_of_private_names_keeps_a_module_where_it_is(tmp_path: Path) -> None:
    files = {
        **CARGO,
        "src/lib.rs": "pub mod a;\npub mod c;\n",
        "src/a/mod.rs": "pub mod b;\n\nfn secret() -> i32 {\n    1\n}\n",
        "src/a/b.rs": "pub fn f() -> i32 {\n    super::secret()\n}\n",
        "src/c/mod.rs": "\n",
    }
    root = make_repository(tmp_path / "repo", dict(files))
    error = refused(root, lambda reader: plan_move(reader, "src/a/b.rs", "src/c/b.rs"))
    assert error.details["places"] == ["src/a/b.rs:2"]


def test_a_crate_root_stays(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**CARGO, "src/lib.rs": B})
    error = refused(root, lambda reader: plan_move(reader, "src/lib.rs", "src/other.rs"))
    assert error.code == "REFACTOR_CONFLICT"


def test_a_directory_that_no_module_declares_is_refused(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**CARGO, "src/lib.rs": "mod b;\n", "src/b.rs": B})
    error = refused(root, lambda reader: plan_move(reader, "src/b.rs", "src/deep/b.rs"))
    assert "no module of the crate" in error.message
