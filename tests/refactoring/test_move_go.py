"""Moves of Go packages."""

from pathlib import Path

import pytest

from codeplane.refactor.move import plan_move
from refactoring.planning import MoveCase, check_move, files_of, move, refused
from support.repositories import make_repository

MOD = {"go.mod": "module example.com/m\n\ngo 1.21\n"}
A = "package a\n\nfunc F() int { return 1 }\n"
CASES = (
    MoveCase(
        "the clause, the path and the qualifier follow",
        {**MOD, "a/a.go": A, "main.go": 'package main\n\nimport "example.com/m/a"\n\nfunc main() { println(a.F()) }\n'},
        "a",
        "internal/b",
        {
            "a/a.go": None,
            "internal/b/a.go": "package b\n\nfunc F() int { return 1 }\n",
            "main.go": 'package main\n\nimport "example.com/m/internal/b"\n\nfunc main() { println(b.F()) }\n',
        },
    ),
    MoveCase(
        "an alias stays",
        {
            **MOD,
            "a/a.go": A,
            "main.go": 'package main\n\nimport x "example.com/m/a"\n\nfunc main() { println(x.F()) }\n',
        },
        "a",
        "b",
        {
            "a/a.go": None,
            "b/a.go": "package b\n\nfunc F() int { return 1 }\n",
            "main.go": 'package main\n\nimport x "example.com/m/b"\n\nfunc main() { println(x.F()) }\n',
        },
    ),
    MoveCase(
        "a taken name gives an alias",
        {
            **MOD,
            "a/a.go": A,
            "main.go": 'package main\n\nimport "example.com/m/a"\n\nfunc main() { b := a.F(); println(b) }\n',
        },
        "a",
        "b",
        {
            "a/a.go": None,
            "b/a.go": "package b\n\nfunc F() int { return 1 }\n",
            "main.go": 'package main\n\nimport a "example.com/m/b"\n\nfunc main() { b := a.F(); println(b) }\n',
        },
    ),
    MoveCase(
        "external tests and packages inside move along",
        {
            **MOD,
            "a/a.go": A,
            "a/a_test.go": 'package a_test\n\nimport "example.com/m/a"\n\nvar _ = a.F\n',
            "a/in/in.go": 'package in\n\nimport "example.com/m/a"\n\nvar X = a.F()\n',
        },
        "a",
        "lib/c",
        {
            "a/a.go": None,
            "a/a_test.go": None,
            "a/in/in.go": None,
            "lib/c/a.go": "package c\n\nfunc F() int { return 1 }\n",
            "lib/c/a_test.go": 'package c_test\n\nimport "example.com/m/lib/c"\n\nvar _ = c.F\n',
            "lib/c/in/in.go": 'package in\n\nimport "example.com/m/lib/c"\n\nvar X = c.F()\n',
        },
    ),
    MoveCase(
        "a clause of its own stays, with an alias where the path no longer says it",
        {**MOD, "a/a.go": A, "m/m.go": 'package m\n\nimport "example.com/m/a"\n\nvar X = a.F()\n'},
        "a",
        "go-b",
        {
            "a/a.go": None,
            "go-b/a.go": A,
            "m/m.go": 'package m\n\nimport a "example.com/m/go-b"\n\nvar X = a.F()\n',
        },
    ),
    MoveCase(
        "a file gets another name in its package",
        {**MOD, "a/a.go": A},
        "a/a.go",
        "a/b.go",
        {"a/a.go": None, "a/b.go": A},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_go_package_moves_as_a_whole(case: MoveCase, tmp_path: Path) -> None:
    check_move(case, tmp_path)


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.title)
def test_a_move_and_its_way_back_give_every_byte(case: MoveCase, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(case.files))
    move(root, case.source, case.target)
    move(root, case.target, case.source)
    assert files_of(root) == case.files


def test_a_part_of_a_package_is_refused_with_what_would_stay(tmp_path: Path) -> None:
    files = {**MOD, "a/a.go": A, "a/b.go": "package a\n", "c/c.go": "package c\n"}
    root = make_repository(tmp_path / "repo", dict(files))
    error = refused(root, lambda reader: plan_move(reader, "a/a.go", "c/a.go"))
    assert error.code == "REFACTOR_CONFLICT"
    assert "a/b.go would stay behind" in error.message


def test_an_import_that_go_would_not_allow_is_refused(tmp_path: Path) -> None:
    files = {**MOD, "a/a.go": A, "m/m.go": 'package m\n\nimport "example.com/m/a"\n\nvar X = a.F()\n'}
    root = make_repository(tmp_path / "repo", dict(files))
    error = refused(root, lambda reader: plan_move(reader, "a", "c/internal/a"))
    assert error.details["places"] == ["m/m.go:3"]
