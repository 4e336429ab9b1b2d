"""Whatever the history, the same tree gives the same facts."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.facts_dump import dump_facts
from support.doors import open_test_workspace
from support.effort import examples
from support.repositories import make_repository, write

# Files that refer to each other in every way that links follow, each in several states; None means that it is absent.
STATES: dict[str, list[str | None]] = {
    "pyproject.toml": ["[project]\nname = 'p'\n", None, "[tool.x]\n"],
    "p/__init__.py": ["", "from .a import *\nfrom .b import B\n", "from .a import f as g\n__all__ = ['g']\n", None],
    "p/a.py": [
        "def f(): pass\nclass A:\n    x = 1\n    def m(self): return self.x\n",
        "from .b import *\nclass A: pass\n",
        "from p import B as f\n__all__ = ['f', 'A']\nclass A(f):\n    def m(self): return self.n()\n",
        "def f(a): pass\n",
        None,
    ],
    "p/b.py": [
        "from .a import A\nclass B(A):\n    def n(self): return self.m() + self.x\n",
        "from .a import *\nclass B(A): pass\n",
        "import p.a\nclass B(p.a.A):\n    def n(self): return super().m()\n",
        None,
    ],
    "p/sub/__init__.py": ["", None, "from .. import B\n"],
    "p/sub/c.py": ["from ..a import f\nfrom ..b import B\nf()\nB().n()\n", "import p.b\np.b.B.n\n", None],
    "src/q.py": ["import p\nfrom p import a, B\np.g()\na.f()\nB.n\n", "from p.sub.c import B\nB\n", "p = 1\n", None],
    "tests/test_p.py": ["import p.a\nfrom p.sub import c\np.a.f()\nc.f()\n", None],
    "sub/pyproject.toml": [None, "[project]\nname = 's'\n"],
    "sub/s.py": ["from p.a import f\nf()\nimport q\nq.a\n", None],
}
# The same for languages whose configuration, declared packages or texts say what imports mean.
MIXED: dict[str, list[str | None]] = {
    "web/package.json": ['{"name": "web"}\n', '{"name": "w", "imports": {"#x": "./lib/b.ts"}}\n'],
    "web/tsconfig.json": ['{"extends": "./base.json"}\n', "{}\n"],
    "web/base.json": [
        '{"compilerOptions": {"paths": {"@/*": ["./lib/*"]}}}\n',
        '{"compilerOptions": {"paths": {"@/*": ["./other/*"]}}}\n',
        None,
    ],
    "web/lib/a.ts": ["export function f() {}\n", "export * from './b';\nexport class C { m() {} }\n", None],
    "web/lib/b.ts": ["export function f() {}\nexport const v = 1;\n", "export { f } from './a';\n"],
    "web/other/a.ts": ["export function f(x: number) {}\n", None],
    "web/main.ts": ["import { f } from '@/a';\nimport { v } from '#x';\nf(); v;\n", "import './lib/a';\n"],
    "go/go.mod": ["module example.com/m\n", "module example.com/n\n"],
    "go/k/k.go": ["package k\nfunc F() {}\n", "package other\nfunc F() {}\n", "package k\ntype T struct{}\n"],
    "go/main.go": ['package main\nimport "example.com/m/k"\nfunc main() { k.F() }\n', "package main\n"],
    "rs/Cargo.toml": ["[package]\nname = 'rs'\n"],
    "rs/src/lib.rs": ["mod a;\npub use a::f;\n", "pub mod b { pub fn g() {} }\n", "mod a;\nfn h() { a::f(); }\n"],
    "rs/src/a.rs": ["pub fn f() {}\n", "pub fn f() { crate::h() }\n", None],
    "jv/src/main/java/p/A.java": ["package p;\npublic class A { void m() {} }\n", "package q;\npublic class A {}\n"],
    "jv/src/main/java/p/B.java": ["package p;\nclass B extends A { void n() { m(); } }\n", None],
}
_state = st.fixed_dictionaries({path: st.sampled_from(states) for path, states in STATES.items()})


def put(root: Path, state: dict[str, str | None]) -> None:
    """Make the tree hold exactly this state."""
    for path, text in state.items():
        if text is None:
            (root / path).unlink(missing_ok=True)
        else:
            write(root, {path: text})


def steps_of(states: dict[str, list[str | None]]) -> "st.SearchStrategy[list[tuple[str, str | None]]]":
    """Draw edits of single files, most of which change only a content."""
    one = st.sampled_from(sorted(states)).flatmap(lambda path: st.tuples(st.just(path), st.sampled_from(states[path])))
    return st.lists(one, min_size=1, max_size=8)


def facts_of_a_cold_build(root: Path) -> object:
    """Return the facts of an index that is built anew, and remove the tree."""
    shutil.rmtree(root / ".codeplane")
    with open_test_workspace(root) as cold:
        cold.index.refresh()
        facts = dump_facts(cold)
    shutil.rmtree(root)
    return facts


@examples(15)
@given(history=st.lists(_state, min_size=2, max_size=5))
def test_an_incremental_history_ends_with_the_facts_of_a_cold_build(
    history: list[dict[str, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = make_repository(tmp_path_factory.mktemp("grown") / "repo", {"README.md": "x\n"})
    with open_test_workspace(root) as grown:
        for state in history:
            put(root, state)
            grown.index.refresh()
        incremental = dump_facts(grown)
    assert incremental == facts_of_a_cold_build(root)


@pytest.mark.parametrize("states", [STATES, MIXED], ids=["python", "mixed"])
@examples(8)
@given(data=st.data())
def test_edits_of_single_files_end_with_the_facts_of_a_cold_build(
    states: dict[str, list[str | None]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = make_repository(tmp_path_factory.mktemp("edited") / "repo", {"README.md": "x\n"})
    put(root, {path: texts[0] for path, texts in states.items()})
    with open_test_workspace(root) as grown:
        grown.index.refresh()
        for path, text in data.draw(steps_of(states)):
            put(root, {path: text})
            grown.index.refresh()
        incremental = dump_facts(grown)
    assert incremental == facts_of_a_cold_build(root)


def test_two_cold_builds_are_equal(tmp_path: Path) -> None:
    dumps = []
    for name in ("one", "two"):
        state = {path: states[0] for path, states in STATES.items()}
        root = make_repository(tmp_path / name / "repo", {"README.md": "x\n"})
        put(root, state)
        with open_test_workspace(root) as workspace:
            workspace.index.refresh()
            dumps.append(dump_facts(workspace))
    assert dumps[0] == dumps[1]


def test_classes_that_are_bases_of_each_other_are_open_whoever_was_linked_first(tmp_path: Path) -> None:
    first = {
        "p/__init__.py": "",
        "p/b.py": "from .a import A\nclass B(A):\n    def n(self): return self.m()\n",
        "c.py": "from p.b import B\nclass C(B):\n    def o(self): return self.n()\n",
    }
    circle = "from p.b import B\nclass A(B):\n    def m(self): return self.n()\n"
    root = make_repository(tmp_path / "repo", {"pyproject.toml": "[project]\nname = 'p'\n"})
    put(root, dict(first))
    with open_test_workspace(root) as grown:
        grown.index.refresh()
        put(root, {"p/a.py": circle})
        grown.index.refresh()
        incremental = dump_facts(grown)
    assert "ref 3:29 m REFERENCE ANCHORED None []" in incremental["p/b.py"]
    assert "ref 3:29 n REFERENCE ANCHORED None []" in incremental["p/a.py"]
    assert any("ref 3:29 n REFERENCE STRONG" in row for row in incremental["c.py"])
    assert incremental == facts_of_a_cold_build(root)


def test_a_base_that_appears_is_found_by_those_who_look_through_another_file(tmp_path: Path) -> None:
    files: dict[str, str | None] = {
        "p/__init__.py": "",
        "p/b.py": "from .a import A\nclass B(A): pass\n",
        "c.py": "from p.b import B\nclass C(B):\n    def o(self): return self.m()\n",
    }
    root = make_repository(tmp_path / "repo", {"pyproject.toml": "[project]\nname = 'p'\n"})
    put(root, files)
    with open_test_workspace(root) as grown:
        grown.index.refresh()
        assert "ref 3:29 m REFERENCE ANCHORED None []" in dump_facts(grown)["c.py"]
        put(root, {"p/a.py": "class A:\n    def m(self): pass\n"})
        grown.index.refresh()
        assert any("ref 3:29 m REFERENCE STRONG" in row for row in dump_facts(grown)["c.py"])
        put(root, {"p/a.py": None})
        grown.index.refresh()
        assert "ref 3:29 m REFERENCE ANCHORED None []" in dump_facts(grown)["c.py"]
