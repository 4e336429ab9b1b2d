"""Deletions of definitions, files and directories."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codeplane.refactor.delete import plan_delete
from codeplane.refactor.plan import BLOCKED, NEEDS_DECISION, READY
from refactoring.planning import carry_out, files_of, planned, refused
from support.repositories import make_repository

PKG = {"pyproject.toml": "[project]\nname = 'p'\n", "p/__init__.py": ""}
JS = {"package.json": '{"name": "p"}\n'}


@dataclass(frozen=True)
class DeleteCase:
    """`after` has the files that differ afterwards, None for one that is gone."""

    title: str
    files: dict[str, str]
    target: str
    after: dict[str, str | None] = field(default_factory=dict)


CASES = (
    DeleteCase(
        "a function goes with its comment, its decorators and the imports that only it used",
        {
            **PKG,
            "p/a.py": (
                "import os\nimport sys\nfrom functools import cache, wraps\n\n\n# Says where.\n@cache\ndef f():\n"
                "    return os.getcwd()\n\n\ndef g():\n    return sys.path, wraps\n"
            ),
        },
        "p/a.py::f",
        {"p/a.py": "import sys\nfrom functools import wraps\n\n\ndef g():\n    return sys.path, wraps\n"},
    ),
    DeleteCase(
        "surfaces that only hand it on follow",
        {
            **PKG,
            "p/__init__.py": 'from .a import f as f, g as g\n\n__all__ = ["f", "g"]\n',
            "p/a.py": '__all__ = [\n    "f",\n    "g",\n]\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n',
        },
        "p/a.py::f",
        {
            "p/__init__.py": 'from .a import g as g\n\n__all__ = ["g"]\n',
            "p/a.py": '__all__ = [\n    "g",\n]\n\n\ndef g():\n    pass\n',
        },
    ),
    DeleteCase(
        "the last method leaves a body",
        {**PKG, "p/a.py": "class C:\n    def f(self):\n        pass\n"},
        "p/a.py::C.f",
        {"p/a.py": "class C:\n    pass\n"},
    ),
    DeleteCase(
        "overloads go together",
        {
            **PKG,
            "p/a.py": (
                "from typing import overload\n\nx = 1\n\n\n@overload\ndef f(a: int) -> int: ...\n@overload\n"
                "def f(a: str) -> str: ...\ndef f(a):\n    return a\n"
            ),
        },
        "p/a.py::f",
        {"p/a.py": "x = 1\n"},
    ),
    DeleteCase(
        "a file that nobody imports",
        {**PKG, "p/a.py": "def f():\n    pass\n", "p/b.py": "x = 1\n"},
        "p/a.py",
        {"p/a.py": None},
    ),
    DeleteCase(
        "a directory whose files use each other",
        {**PKG, "p/q/__init__.py": "from .a import f\n", "p/q/a.py": "def f():\n    pass\n"},
        "p/q",
        {"p/q/__init__.py": None, "p/q/a.py": None},
    ),
    DeleteCase(
        "an exported function and its barrel",
        {
            **JS,
            "src/a.ts": (
                "import { x, y } from './c';\n\n/** Does f. */\nexport function f() {\n  return x;\n}\n\n"
                "export const g = y;\n"
            ),
            "src/c.ts": "export const x = 1;\nexport const y = 2;\n",
            "src/index.ts": "export { f, g } from './a';\n",
        },
        "src/a.ts::f",
        {
            "src/a.ts": "import { y } from './c';\n\nexport const g = y;\n",
            "src/index.ts": "export { g } from './a';\n",
        },
    ),
    DeleteCase(
        "one of several constants",
        {**JS, "src/a.ts": "const a = 1, b = 2;\nexport { b };\n"},
        "src/a.ts::a",
        {"src/a.ts": "const b = 2;\nexport { b };\n"},
    ),
    DeleteCase(
        "a Go function and its import",
        {
            "go.mod": "module m\n",
            "a.go": (
                'package m\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n// f says x.\nfunc f() { fmt.Println() }\n\n'
                "func G() { os.Exit(1) }\n"
            ),
        },
        "a.go::f",
        {"a.go": 'package m\n\nimport (\n\t"os"\n)\n\nfunc G() { os.Exit(1) }\n'},
    ),
    DeleteCase(
        "a Java method and its import",
        {
            "pom.xml": "<project/>\n",
            "src/main/java/a/C.java": (
                "package a;\n\nimport java.util.List;\nimport java.util.Map;\n\nclass C {\n    Map m;\n\n"
                "    /** Old. */\n    @Deprecated\n    List f() { return null; }\n}\n"
            ),
        },
        "src/main/java/a/C.java::C.f",
        {"src/main/java/a/C.java": "package a;\n\nimport java.util.Map;\n\nclass C {\n    Map m;\n}\n"},
    ),
    DeleteCase(
        "a Rust function with its attribute",
        {
            "Cargo.toml": '[package]\nname = "d"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "/// Old.\n#[allow(dead_code)]\nfn f() {}\n\npub fn g() {}\n",
        },
        "src/lib.rs::f",
        {"src/lib.rs": "pub fn g() {}\n"},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_nobody_uses_goes_as_a_whole(case: DeleteCase, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(case.files))
    draft = planned(root, lambda reader: plan_delete(reader, case.target))
    assert draft.status == READY, draft.reasons
    carry_out(root, draft)
    assert files_of(root) == {path: text for path, text in {**case.files, **case.after}.items() if text is not None}


@pytest.mark.parametrize("target", ["p/a.py::f", "p/a.py", "p/a.py:1"])
def test_what_is_still_used_stays_and_the_users_are_named(target: str, tmp_path: Path) -> None:
    files = {**PKG, "p/a.py": "def f():\n    pass\n", "m.py": "from p.a import f\n\nf()\n"}
    root = make_repository(tmp_path / "repo", dict(files))
    draft = planned(root, lambda reader: plan_delete(reader, target))
    assert (draft.status, draft.edits, draft.deletes) == (BLOCKED, (), ())
    assert draft.reasons == ("m.py:3: still refers to it: f()",)
    assert draft.details is not None
    assert [one["line"] for one in draft.details["references"]["strong"]] == [1, 3]
    assert draft.details["importing_files"] == ["m.py"]


def test_a_name_of_several_definitions_gives_candidates(tmp_path: Path) -> None:
    files = {**PKG, "p/a.py": "def f():\n    pass\n", "p/b.py": "def f():\n    pass\n"}
    root = make_repository(tmp_path / "repo", dict(files))
    draft = planned(root, lambda reader: plan_delete(reader, "f"))
    assert draft.status == NEEDS_DECISION
    assert [one.name for one in draft.candidates] == ["p/a.py::f", "p/b.py::f"]


def test_an_import_of_the_module_itself_keeps_a_file(tmp_path: Path) -> None:
    files = {**JS, "a.js": "globalThis.x = 1;\n", "m.js": "import './a.js';\n"}
    root = make_repository(tmp_path / "repo", dict(files))
    draft = planned(root, lambda reader: plan_delete(reader, "a.js"))
    assert draft.reasons == ("m.js:1: still refers to it: import './a.js';",)


OVERRIDE = "class A:\n    def f(self):\n        pass\n\n\nclass B(A):\n    def f(self):\n        pass\n"


def test_an_override_that_its_own_type_calls_stays(tmp_path: Path) -> None:
    files = {**PKG, "p/a.py": OVERRIDE + "\n    def g(self):\n        self.f()\n"}
    root = make_repository(tmp_path / "repo", dict(files))
    draft = planned(root, lambda reader: plan_delete(reader, "p/a.py::B.f"))
    assert draft.reasons == ("p/a.py:11: still refers to it: self.f()",)


def test_what_is_overridden_and_what_is_unsure_is_said(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**PKG, "p/a.py": OVERRIDE + "\n\nB().f()\n"})
    draft = planned(root, lambda reader: plan_delete(reader, "p/a.py::B.f"))
    assert draft.warnings == (
        "It overrides p/a.py::A.f; calls of that may run it.",
        "1 use of the name could not be resolved and may mean it.",
    )


def test_affected_tests_are_named(tmp_path: Path) -> None:
    files = {
        **PKG,
        "p/a.py": "def f():\n    pass\n",
        "tests/test_a.py": "from p.a import f\n\n\ndef test_f():\n    f()\n",
    }
    root = make_repository(tmp_path / "repo", dict(files))
    draft = planned(root, lambda reader: plan_delete(reader, "p/a.py::f"))
    assert draft.details is not None
    assert draft.details["affected_tests"] == ["tests/test_a.py"]


def test_nothing_of_that_name_is_said(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PKG))
    assert refused(root, lambda reader: plan_delete(reader, "nothing_here")).code == "CONTENT_NOT_FOUND"
