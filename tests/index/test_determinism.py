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
_state = st.fixed_dictionaries({path: st.sampled_from(states) for path, states in STATES.items()})


def put(root: Path, state: dict[str, str | None]) -> None:
    """Make the tree hold exactly this state."""
    for path, text in state.items():
        if text is None:
            (root / path).unlink(missing_ok=True)
        else:
            write(root, {path: text})


@examples(60)
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
    shutil.rmtree(root / ".codeplane")
    with open_test_workspace(root) as cold:
        cold.index.refresh()
        assert dump_facts(cold) == incremental
    shutil.rmtree(root)


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
