"""Renames through the door: which places change, which are asked about, which names are refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from refactoring.rename_cases import CARGO, CASES, GO_MOD, POM, RenameCase
from support.doors import call, open_test_workspace, result_of
from support.repositories import make_repository

_MARK = re.compile(r"⟦(\*?)([^⟧]*)⟧|⟬([^⟭]*)⟭")
_NEW = "renamed_it"


class Marked:
    """The files of a case without marks, and where the marks were."""

    def __init__(self, case: RenameCase) -> None:
        self.files: dict[str, str | bytes] = {}
        self.code: set[tuple[str, int, int]] = set()
        self.questions: set[tuple[str, int, int]] = set()
        self.symbol = ""
        self.old = ""
        for path, text in case.files.items():
            self.files[path] = self._read(path, text)

    def _read(self, path: str, text: str) -> str:
        plain = ""
        at = 0
        for match in _MARK.finditer(text):
            plain += text[at : match.start()]
            line, column = plain.count("\n") + 1, len(plain) - plain.rfind("\n") - 1
            name = match[2] or match[3]
            (self.code if match[2] else self.questions).add((path, line, column))
            if match[1]:
                self.symbol, self.old = f"{path}:{line}:{column}", name
            plain += name
            at = match.end()
        return plain + text[at:]


def places(sites: list[dict[str, Any]]) -> set[tuple[str, int, int]]:
    """Return where sites are."""
    return {(one["path"], one["line"], one["column"]) for one in sites}


def plan(root: Path, symbol: str, new: str = _NEW, **more: object) -> dict[str, Any]:
    """Plan a rename in a repository."""
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        return result_of(
            call(Door(workspace, OPERATIONS), "refactor_rename", {"symbol": symbol, "new_name": new, **more})
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_exactly_the_marked_places_change(tmp_path: Path, case: RenameCase) -> None:
    marked = Marked(case)
    root = make_repository(tmp_path / "repo", marked.files)
    found = plan(root, marked.symbol, "RenamedIt" if marked.old[:1].isupper() else _NEW)

    assert (found["status"], found["reasons"]) == ("ready", [])
    assert places(found["edits"]) == marked.code
    assert places(found["questions"]) == marked.questions


REFUSED = [
    ("python keyword", {"a.py": "def f(): pass\n"}, "a.py::f", "class", "INVALID_ARGUMENTS"),
    ("not an identifier", {"a.py": "def f(): pass\n"}, "a.py::f", "a-b", "INVALID_ARGUMENTS"),
    ("the same name", {"a.py": "def f(): pass\n"}, "a.py::f", "f", "INVALID_ARGUMENTS"),
    ("a special method", {"a.py": "class A:\n    def __init__(self): pass\n"}, "a.py::A.__init__", "g", "REFACTOR_CONFLICT"),
    ("no such symbol", {"a.py": "def f(): pass\n"}, "a.py::g", "h", "CONTENT_NOT_FOUND"),
    ("clash in the scope", {"a.py": "def f(): pass\ndef g(): pass\n"}, "a.py::f", "g", "REFACTOR_CONFLICT"),
    ("captured by a local", {"a.py": "def f(): pass\ndef h(g):\n    f()\n"}, "a.py::f", "g", "REFACTOR_CONFLICT"),
    ("hides a builtin in use", {"a.py": "def f(): pass\nlen([])\n"}, "a.py::f", "len", "REFACTOR_CONFLICT"),
    ("local hides a module name in use", {"a.py": "g = 1\ndef h():\n    f = 2\n    return f + g\n"}, "a.py:3:4", "g", "REFACTOR_CONFLICT"),
    ("member of a subclass", {"a.py": "class A:\n    def f(self): pass\nclass B(A):\n    def g(self): pass\n"}, "a.py::A.f", "g", "REFACTOR_CONFLICT"),
    ("clash where it is imported", {"a.py": "def f(): pass\n", "b.py": "from a import f\ndef g(): f()\n"}, "a.py::f", "g", "REFACTOR_CONFLICT"),
    ("private outside of the class", {"a.py": "class A:\n    def f(self): pass\ndef h(a: A): a.f()\n"}, "a.py::A.f", "__f", "REFACTOR_CONFLICT"),
    ("go name that another package uses", {"go.mod": GO_MOD, "s/a.go": "package s\n\nfunc Load() {}\n", "m.go": 'package m\n\nimport "example.com/m/s"\n\nfunc F() { s.Load() }\n'}, "s/a.go::Load", "load", "REFACTOR_CONFLICT"),
    ("go keyword", {"go.mod": GO_MOD, "a.go": "package m\n\nfunc F() {}\n"}, "a.go::F", "func", "INVALID_ARGUMENTS"),
    ("java file that exists", {"pom.xml": POM, "A.java": "class A {}\n", "B.java": "interface C {}\n"}, "A.java::A", "B", "REFACTOR_CONFLICT"),
    ("private name without its sign", {"package.json": "{}", "a.ts": "export class A { #x = 1 }\n"}, "a.ts::A.#x", "y", "INVALID_ARGUMENTS"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "symbol", "new", "code"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED]
)
def test_a_name_that_would_break_something_is_refused(
    tmp_path: Path, files: dict[str, str | bytes], symbol: str, new: str, code: str
) -> None:
    root = make_repository(tmp_path / "repo", files)
    with open_test_workspace(root) as workspace:
        answer = call(Door(workspace, OPERATIONS), "refactor_rename", {"symbol": symbol, "new_name": new})

    assert answer.error is not None
    assert answer.error.error == code, answer.error


def test_a_refusal_names_the_place(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": "def f(): pass\ndef h(g):\n    return f()\n"})
    with open_test_workspace(root) as workspace:
        answer = call(Door(workspace, OPERATIONS), "refactor_rename", {"symbol": "a.py::f", "new_name": "g"})

    assert answer.error is not None
    assert "a.py:3" in answer.error.message


def test_a_bare_name_that_fits_several_definitions_is_answered_with_them(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": "def f(): pass\n", "b.py": "def f(): pass\n"})
    found = plan(root, "f")

    assert found["status"] == "needs_decision"
    assert [one["description"] for one in found["candidates"]] == ["function f in a.py:1", "function f in b.py:1"]
    assert found["witness"]["facts"][0]["location"] == {"file": "a.py", "line": 1}
    assert [one["type"] for one in found["decision_capsules"]] == ["scope_resolution"]


def test_a_method_that_may_belong_to_an_outside_base_needs_a_decision(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "from lib import Base\n\n\nclass A(Base):\n    def run(self): pass\n"}
    found = plan(make_repository(tmp_path / "repo", files), "a.py::A.run")

    assert found["status"] == "needs_decision"
    assert found["reasons"] == ["A inherits from Base, which may define `run` too"]
    assert found["candidates"][0]["apply_plan"] == {"edits": 1, "files": 1}


NAMED_BY_OTHERS = [
    (
        "test_a.py",
        "def test_it(tmp_path): pass\n",
        "test_a.py:1:12",
        "the test runner passes `tmp_path` to test_it by name",
    ),
    (
        "a.py",
        "@cli.option('--x')\ndef f(x): pass\n",
        "a.py:2:6",
        "the decorator `@cli.option('--x')` may pass `x` by name",
    ),
    (
        "conftest.py",
        "@pytest.fixture\ndef db(): pass\n",
        "conftest.py::db",
        "tests ask for the fixture `db` by the name of a parameter",
    ),
]


@pytest.mark.parametrize(("path", "text", "symbol", "reason"), NAMED_BY_OTHERS)
def test_a_name_that_a_framework_uses_needs_a_decision(
    tmp_path: Path, path: str, text: str, symbol: str, reason: str
) -> None:
    found = plan(make_repository(tmp_path / "repo", {path: text}), symbol)

    assert (found["status"], found["reasons"]) == ("needs_decision", [reason])


def test_an_overriding_method_of_an_outside_type_is_blocked(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "pom.xml": POM,
        "A.java": 'class A {\n  @Override public String toString() { return ""; }\n}\n',
    }

    assert plan(make_repository(tmp_path / "repo", files), "A.java::A.toString")["status"] == "blocked"


@pytest.mark.parametrize("item", ["fn fmt(&self) {}", "type Err = ();", "const C: i32 = 1;"])
def test_a_member_of_an_outside_trait_is_blocked(tmp_path: Path, item: str) -> None:
    name = item.split()[1].partition("(")[0].rstrip(":")
    text = f"pub struct S;\n\nimpl core::fmt::Debug for S {{ {item} }}\n"
    root = make_repository(tmp_path / "repo", {"Cargo.toml": CARGO, "src/lib.rs": text})
    column = text.split("\n")[2].index(f" {name}") + 1

    assert plan(root, f"src/lib.rs:3:{column}", "renamed" if name.islower() else "Renamed")["status"] == "blocked"


def test_a_file_with_syntax_errors_blocks(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "def f(): pass\n", "b.py": "from a import f\nf()\ndef (:\n"}
    found = plan(make_repository(tmp_path / "repo", files), "a.py::f")

    assert (found["status"], found["reasons"]) == ("blocked", ["b.py has syntax errors; its facts may be incomplete"])


def test_documentation_is_a_group_of_its_own_with_confidence(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "def load_all():\n    pass  # load_all is quick\n",
        "README.md": "Call `load_all` or load_all. Not preload_all.\n",
    }
    found = plan(make_repository(tmp_path / "repo", files), "a.py::load_all")

    assert [(one["path"], one["line"], one["confidence"]) for one in found["doc_edits"]["matches"]] == [
        ("README.md", 1, "high"), ("README.md", 1, "medium"), ("a.py", 2, "medium"),
    ]  # fmt: skip
    assert (found["matches"], found["doc_edits"]["review_recommended"]) == (1, True)


def test_included_documentation_joins_the_default_group(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "def load_all(): pass\n", "README.md": "Call `load_all`.\n"}
    found = plan(make_repository(tmp_path / "repo", files), "a.py::load_all", include_docs=True)

    assert places(found["edits"]) == {("a.py", 1, 4), ("README.md", 1, 6)}


def test_a_symbol_of_a_generated_file_needs_a_decision(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a_pb2.py": "# Generated by the protocol compiler.  DO NOT EDIT!\nclass A: pass\n"}
    found = plan(make_repository(tmp_path / "repo", files), "A")

    assert (found["status"], "generated" in found["reasons"][0]) == ("needs_decision", True)


def test_an_ignored_file_is_not_changed_and_a_symbol_of_one_is_blocked(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": "def f(): pass\n", ".gitignore": "made.py\nlocal.py\n"})
    (root / "made.py").write_text("from a import f\nf()\n")
    (root / "local.py").write_text("def h(): pass\n")
    found = plan(root, "a.py::f")

    assert ({one["path"] for one in found["edits"]}, found["warnings"]) == (
        {"a.py"},
        ["git ignores made.py: not changed"],
    )
    assert plan(root, "local.py::h")["status"] == "blocked"


def test_notebooks_are_asked_about(tmp_path: Path) -> None:
    notebook = '{"cells": [{"cell_type": "code", "source": ["from a import load_all\\n", "load_all()"]}]}'
    root = make_repository(tmp_path / "repo", {"a.py": "def load_all(): pass\n", "n.ipynb": notebook})

    assert [one["path"] for one in plan(root, "a.py::load_all")["questions"]] == ["n.ipynb", "n.ipynb"]


def test_a_language_without_links_is_renamed_inside_its_file_and_asked_about_elsewhere(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.lua": "local function f() end\nf()\n", "b.lua": "f()\n"}
    root = make_repository(tmp_path / "repo", files)

    assert places(plan(root, "a.lua:1:15")["edits"]) == {("a.lua", 1, 15), ("a.lua", 2, 0)}
    assert places(plan(root, "a.lua:1:15", force_syntactic=True)["questions"]) == {("b.lua", 1, 0)}


def test_an_import_alias_is_renamed_with_its_uses(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "import numpy as np\n\nnp.array(np)\nx = 'np'\n",
        "b.py": "import numpy as np\n",
    }
    found = plan(make_repository(tmp_path / "repo", files), "a.py:1:16", "num")

    assert places(found["edits"]) == {("a.py", 1, 16), ("a.py", 3, 0), ("a.py", 3, 9)}


def test_a_place_and_a_name_find_the_definition(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "def f(): pass\n", "b.py": "from a import f\n\nf()\n"}
    found = plan(make_repository(tmp_path / "repo", files), "f", at="b.py:3")

    assert found["symbol"] == "a.py::f"


TWO_CONTEXTS: dict[str, str | bytes] = {
    "one/pom.xml": POM, "one/src/main/java/x/B.java": "package x;\n\npublic class B {}\n",
    "two/pom.xml": POM, "two/src/main/java/x/B.java": "package x;\n\npublic class B {}\n",
}  # fmt: skip


def test_contexts_that_define_the_same_name_of_the_same_module_diverge(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", TWO_CONTEXTS)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        answer = call(Door(workspace, OPERATIONS), "refactor_rename", {"symbol": "B", "new_name": "C"})

    assert answer.error is not None
    assert answer.error.error == "REFACTOR_DIVERGENCE"
    assert answer.error.details["views"] == ["one/src/main/java/x/B.java:3", "two/src/main/java/x/B.java:3"]


def test_a_named_context_decides_between_them(tmp_path: Path) -> None:
    found = plan(make_repository(tmp_path / "repo", TWO_CONTEXTS), "B", "C", context_id="two")

    assert found["symbol"] == "two/src/main/java/x/B.java::B"


def test_divergence_can_be_a_question_instead(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", TWO_CONTEXTS)
    overrides = ("defaults.divergence_behavior=ask",)
    with open_test_workspace(root, ids=RandomIds(), overrides=overrides) as workspace:
        found = result_of(call(Door(workspace, OPERATIONS), "refactor_rename", {"symbol": "B", "new_name": "C"}))

    assert found["status"] == "needs_decision"
    assert found["witness"]["bounds"]["contexts_queried"] == ["jvm:one", "jvm:two"]
