"""Moves of Java files and packages."""

from pathlib import Path

import pytest

from codeplane.refactor.move import plan_move
from refactoring.planning import MoveCase, check_move, files_of, move, refused
from support.repositories import make_repository

POM = {"pom.xml": "<project/>\n"}
S = "src/main/java"
FOO = "package com.a;\n\npublic class Foo {\n    public int f() { return 1; }\n}\n"
MOVED_FOO = FOO.replace("com.a", "com.b")
CASES = (
    MoveCase(
        "imports, names in full and neighbours follow",
        {
            **POM,
            f"{S}/com/a/Foo.java": FOO,
            f"{S}/com/a/Near.java": "package com.a;\n\nclass Near {\n    Foo foo;\n}\n",
            f"{S}/com/c/Far.java": (
                "package com.c;\n\nimport com.a.Foo;\n\nclass Far {\n    Foo foo = new com.a.Foo();\n}\n"
            ),
            f"{S}/com/c/Star.java": "package com.c;\n\nimport com.a.*;\n\nclass Star {\n    Foo foo;\n}\n",
        },
        f"{S}/com/a/Foo.java",
        f"{S}/com/b/Foo.java",
        {
            f"{S}/com/a/Foo.java": None,
            f"{S}/com/b/Foo.java": MOVED_FOO,
            f"{S}/com/a/Near.java": "package com.a;\n\nimport com.b.Foo;\n\nclass Near {\n    Foo foo;\n}\n",
            f"{S}/com/c/Far.java": (
                "package com.c;\n\nimport com.b.Foo;\n\nclass Far {\n    Foo foo = new com.b.Foo();\n}\n"
            ),
            f"{S}/com/c/Star.java": (
                "package com.c;\n\nimport com.a.*;\nimport com.b.Foo;\n\nclass Star {\n    Foo foo;\n}\n"
            ),
        },
    ),
    MoveCase(
        "the moved file imports what it left behind",
        {
            **POM,
            f"{S}/com/a/Base.java": "package com.a;\n\npublic class Base {}\n",
            f"{S}/com/a/Foo.java": "package com.a;\n\npublic class Foo extends Base {}\n",
        },
        f"{S}/com/a/Foo.java",
        f"{S}/com/b/Foo.java",
        {
            f"{S}/com/a/Foo.java": None,
            f"{S}/com/b/Foo.java": "package com.b;\n\nimport com.a.Base;\n\npublic class Foo extends Base {}\n",
        },
    ),
    MoveCase(
        "a whole package moves",
        {
            **POM,
            f"{S}/com/a/Foo.java": FOO,
            f"{S}/com/a/Near.java": "package com.a;\n\nclass Near {\n    Foo foo;\n}\n",
            f"{S}/com/c/Star.java": (
                "package com.c;\n\nimport com.a.*;\nimport static com.a.Foo.*;\n\nclass Star {\n    Foo foo;\n}\n"
            ),
        },
        f"{S}/com/a",
        f"{S}/org/x",
        {
            f"{S}/com/a/Foo.java": None,
            f"{S}/com/a/Near.java": None,
            f"{S}/org/x/Foo.java": FOO.replace("com.a", "org.x"),
            f"{S}/org/x/Near.java": "package org.x;\n\nclass Near {\n    Foo foo;\n}\n",
            f"{S}/com/c/Star.java": (
                "package com.c;\n\nimport org.x.*;\nimport static org.x.Foo.*;\n\nclass Star {\n    Foo foo;\n}\n"
            ),
        },
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_packages_and_imports_follow_a_java_move(case: MoveCase, tmp_path: Path) -> None:
    check_move(case, tmp_path)


def test_a_package_and_its_way_back_give_every_byte(tmp_path: Path) -> None:
    case = CASES[2]
    root = make_repository(tmp_path / "repo", dict(case.files))
    move(root, case.source, case.target)
    move(root, case.target, case.source)
    assert files_of(root) == case.files


def test_what_only_its_package_sees_keeps_a_file_where_it_is(tmp_path: Path) -> None:
    files = {
        **POM,
        f"{S}/com/a/Foo.java": "package com.a;\n\npublic class Foo {\n    int secret;\n}\n",
        f"{S}/com/a/Near.java": "package com.a;\n\nclass Near {\n    int f(Foo foo) { return foo.secret; }\n}\n",
    }
    root = make_repository(tmp_path / "repo", dict(files))
    error = refused(root, lambda reader: plan_move(reader, f"{S}/com/a/Foo.java", f"{S}/com/b/Foo.java"))
    assert error.details["places"] == [f"{S}/com/a/Near.java:4"]


def test_a_java_file_keeps_the_name_of_its_type(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**POM, f"{S}/com/a/Foo.java": FOO})
    error = refused(root, lambda reader: plan_move(reader, f"{S}/com/a/Foo.java", f"{S}/com/a/Bar.java"))
    assert "rename the type instead" in error.message
