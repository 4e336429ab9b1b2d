"""Definitions that are alternatives of one symbol share their references, and nothing found says what is open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace, result_of
from support.repositories import write

PYTHON: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "p/__init__.py": "",
    "p/fast.py": "def g(): pass\n",
    "p/a.py": "import sys\nfrom typing import overload\nif sys.platform == 'win32':\n    def f(): pass\nelse:\n"
    "    def f(): pass\n\ntry:\n    from .fast import g\nexcept ImportError:\n    def g(): pass\n\n"
    "@overload\ndef h(x: int): ...\n@overload\ndef h(x: str): ...\ndef h(x): return g()\n",
    "m.py": "from p.a import f, g, h\nf(), f()\ng()\nh(1)\n",
}
GO: dict[str, str | bytes] = {
    "go.mod": "module ex.com/m\n",
    "b/a_linux.go": "package b\n\nfunc F() {}\n\nfunc (t T) M() {}\n\nfunc own() { F() }\n",
    "b/a_windows.go": "package b\n\nfunc F() {}\n\nfunc (t T) M() {}\n",
    "b/t.go": "package b\n\ntype T struct{}\n\nfunc use(t T) {\n\tF()\n\tt.M()\n}\n",
    "main.go": 'package main\n\nimport "ex.com/m/b"\n\nfunc main() {\n\tb.F()\n}\n',
}
RUST: dict[str, str | bytes] = {
    "Cargo.toml": "[package]\nname = 'm'\n",
    "src/lib.rs": "#[cfg(unix)]\npub fn f() {}\n#[cfg(not(unix))]\npub fn f() {}\nmod o;\n",
    "src/o.rs": "use crate::f;\nfn z() { f(); }\n",
}
TYPESCRIPT: dict[str, str | bytes] = {
    "package.json": "{}",
    "a.ts": "export function f(a: string): void;\nexport function f(a: number): void;\nexport function f(a: any) {}\n",
    "b.ts": "import { f } from './a';\nf(1);\n",
}


@pytest.fixture
def door(repo: Path) -> Iterator[Door]:
    """Return the door of an empty repository."""
    with open_test_workspace(repo) as workspace:
        yield Door(workspace, OPERATIONS)


def references(door: Door, query: str, **more: object) -> tuple[list[str], str]:
    """Return the references of a symbol as `path:line:column`, and the first lines of the answer."""
    found = result_of(call(door, "search", {"query": query, "mode": "references", **more}))
    return [f"{hit['path']}:{hit['line']}:{hit['column']}" for hit in found["results"]], found["about"]


@pytest.mark.parametrize(
    ("files", "alternatives", "expected"),
    [
        (PYTHON, ["p/a.py::f", "p/a.py:4", "p/a.py:6"], ["m.py:1:16", "m.py:2:0", "m.py:2:5"]),
        (PYTHON, ["p/a.py:14", "p/a.py:16", "p/a.py:17"], ["m.py:1:22", "m.py:4:0"]),
        (GO, ["b/a_linux.go::F", "b/a_windows.go::F"], ["b/a_linux.go:7:13", "b/t.go:6:1", "main.go:6:3"]),
        (GO, ["b/a_linux.go::T.M", "b/a_windows.go::T.M"], ["b/t.go:7:3"]),
        (RUST, ["src/lib.rs:2", "src/lib.rs:4"], ["src/o.rs:1:11", "src/o.rs:2:9"]),
        (TYPESCRIPT, ["a.ts::f"], ["a.ts:1:16", "a.ts:2:16", "b.ts:1:9", "b.ts:2:0"]),
    ],
)
def test_asking_for_any_alternative_gives_the_references_of_all(
    door: Door, files: dict[str, str | bytes], alternatives: list[str], expected: list[str]
) -> None:
    write(door.workspace.root, files)
    for query in alternatives:
        found, about = references(door, query)
        assert sorted(found) == expected
        assert f": {len(expected)} reference" in about


def test_a_definition_in_place_of_a_failed_import_has_its_uses_and_so_has_what_is_imported(door: Door) -> None:
    write(door.workspace.root, PYTHON)
    local, _ = references(door, "p/a.py::g")
    imported, _ = references(door, "p/fast.py::g")
    assert local == ["p/a.py:17:17", "m.py:1:19", "m.py:3:0"]
    assert sorted(imported) == sorted([*local, "p/a.py:9:22"])


def test_no_references_tells_how_many_uses_of_the_name_are_open(door: Door) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "class A:\n    def run(self): pass\n    def stay(self): pass\n",
        "b.py": "def f(x):\n    x.run()\n    x.run()\n",
    }
    write(door.workspace.root, files)
    found, about = references(door, "A.run")
    assert (found, about.splitlines()[-1]) == (
        [],
        "2 uses of the name could not be resolved: certainty=all lists them.",
    )
    assert references(door, "A.run", certainty="all")[0] == ["b.py:2:6", "b.py:3:6"]
    assert references(door, "A.stay")[1] == "method A.stay, a.py:3: 0 references"


def test_two_occurrences_in_a_line_are_two_hits(door: Door) -> None:
    write(door.workspace.root, PYTHON)
    found, about = references(door, "p/a.py::f")
    assert (found, about) == (
        ["m.py:1:16", "m.py:2:0", "m.py:2:5"],
        "function f, p/a.py:4 (also p/a.py:6): 3 references (1 import)",
    )
    shown = call(door, "search", {"query": "p/a.py::f", "mode": "references"}).text()
    assert shown.endswith("m.py\n 1: from p.a import f, g, h\n 2: f(), f()  (columns 0, 5)")


def test_the_name_of_a_field_is_not_a_use_of_a_function_of_that_name(door: Door) -> None:
    write(door.workspace.root, {**GO, "b/s.go": "package b\n\ntype S struct{ use int }\n"})
    assert references(door, "b/t.go::use") == ([], "function use, b/t.go:5: 0 references")
