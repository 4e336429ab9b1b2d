"""Moves of Python modules, packages and files around them."""

from pathlib import Path

import pytest

from refactoring.planning import MoveCase, check_move, files_of, move
from support.repositories import make_repository

PKG = {"pyproject.toml": "[project]\nname = 'p'\n", "p/__init__.py": ""}
A = "def f():\n    return 1\n"
CASES = (
    MoveCase(
        "absolute imports follow",
        {**PKG, "p/a.py": A, "p/q/__init__.py": "", "m.py": "from p.a import f\n\nf()\n"},
        "p/a.py",
        "p/q/b.py",
        {"p/a.py": None, "p/q/b.py": A, "m.py": "from p.q.b import f\n\nf()\n"},
    ),
    MoveCase(
        "relative imports follow in their style",
        {
            **PKG,
            "p/a.py": A,
            "p/c.py": "from .a import f\nf()\n",
            "p/q/__init__.py": "",
            "p/q/d.py": "from ..a import f\nf()\n",
        },
        "p/a.py",
        "p/q/b.py",
        {
            "p/a.py": None,
            "p/q/b.py": A,
            "p/c.py": "from .q.b import f\nf()\n",
            "p/q/d.py": "from .b import f\nf()\n",
        },
    ),
    MoveCase(
        "relative imports of the moved file itself",
        {**PKG, "p/c.py": A, "p/a.py": "from .c import f\nfrom . import c\n\nf()\nc.f()\n", "p/q/__init__.py": ""},
        "p/a.py",
        "p/q/a.py",
        {"p/a.py": None, "p/q/a.py": "from ..c import f\nfrom .. import c\n\nf()\nc.f()\n"},
    ),
    MoveCase(
        "dotted uses follow a plain import",
        {**PKG, "p/a.py": A, "m.py": "import p.a\n\nprint(p.a.f(), p.a . f)\n"},
        "p/a.py",
        "p/b.py",
        {"p/a.py": None, "p/b.py": A, "m.py": "import p.b\n\nprint(p.b.f(), p.b . f)\n"},
    ),
    MoveCase(
        "an alias of a module stays",
        {**PKG, "p/a.py": A, "m.py": "import p.a as x\n\nx.f()\n"},
        "p/a.py",
        "p/b.py",
        {"p/a.py": None, "p/b.py": A, "m.py": "import p.b as x\n\nx.f()\n"},
    ),
    MoveCase(
        "a module imported by name is renamed with its uses",
        {**PKG, "p/a.py": A, "m.py": "from p import a\n\na.f()\n"},
        "p/a.py",
        "p/b.py",
        {"p/a.py": None, "p/b.py": A, "m.py": "from p import b\n\nb.f()\n"},
    ),
    MoveCase(
        "a module imported by name keeps its name where the new one is taken",
        {**PKG, "p/a.py": A, "m.py": "from p import a\n\nb = 1\na.f()\n"},
        "p/a.py",
        "p/b.py",
        {"p/a.py": None, "p/b.py": A, "m.py": "from p import b as a\n\nb = 1\na.f()\n"},
    ),
    MoveCase(
        "one name of several leaves its statement",
        {**PKG, "p/a.py": A, "p/c.py": A, "p/q/__init__.py": "", "m.py": "from p import a, c\n\na.f()\nc.f()\n"},
        "p/a.py",
        "p/q/a.py",
        {"p/a.py": None, "p/q/a.py": A, "m.py": "from p import c\nfrom p.q import a\n\na.f()\nc.f()\n"},
    ),
    MoveCase(
        "the surface of a package follows and its users stay",
        {**PKG, "p/__init__.py": "from .a import f as f\n", "p/a.py": A, "m.py": "from p import f\nf()\n"},
        "p/a.py",
        "p/b.py",
        {"p/a.py": None, "p/b.py": A, "p/__init__.py": "from .b import f as f\n"},
    ),
    MoveCase(
        "the first part of a plain import stays imported while it is used",
        {
            **PKG,
            "p/__init__.py": "x = 1\n",
            "p/a.py": A,
            "r/__init__.py": "",
            "m.py": "import p.a\n\nprint(p.a.f(), p.x)\n",
        },
        "p/a.py",
        "r/a.py",
        {"p/a.py": None, "r/a.py": A, "m.py": "import p, r.a\n\nprint(r.a.f(), p.x)\n"},
    ),
    MoveCase(
        "a package moves with everything in it",
        {
            **PKG,
            "p/q/__init__.py": "from .a import f\n",
            "p/q/a.py": "from ..base import g\n\n\ndef f():\n    return g()\n",
            "p/q/data.bin.txt": "data",
            "p/base.py": "def g():\n    return 1\n",
            "p/r/__init__.py": "",
            "m.py": "from p.q.a import f\nimport p.q\nfrom p import q\n\nf()\np.q.f()\nq.f()\n",
        },
        "p/q",
        "p/r/q",
        {
            "p/q/__init__.py": None,
            "p/q/a.py": None,
            "p/q/data.bin.txt": None,
            "p/r/q/__init__.py": "from .a import f\n",
            "p/r/q/a.py": "from ...base import g\n\n\ndef f():\n    return g()\n",
            "p/r/q/data.bin.txt": "data",
            "m.py": "from p.r.q.a import f\nimport p.r.q\nfrom p.r import q\n\nf()\np.r.q.f()\nq.f()\n",
        },
    ),
    MoveCase(
        "a module becomes a package",
        {**PKG, "p/a.py": "from .c import f\n\nf()\n", "p/c.py": A, "m.py": "import p.a\nprint(p.a.f)\n"},
        "p/a.py",
        "p/a/__init__.py",
        {"p/a.py": None, "p/a/__init__.py": "from ..c import f\n\nf()\n"},
    ),
    MoveCase(
        "imports inside functions and conditions follow",
        {
            **PKG,
            "p/a.py": A,
            "m.py": (
                "try:\n    from p.a import f\nexcept ImportError:\n    f = None\n\n\n"
                "def g():\n    import p.a\n    return p.a.f()\n"
            ),
        },
        "p/a.py",
        "p/b.py",
        {
            "p/a.py": None,
            "p/b.py": A,
            "m.py": (
                "try:\n    from p.b import f\nexcept ImportError:\n    f = None\n\n\n"
                "def g():\n    import p.b\n    return p.b.f()\n"
            ),
        },
    ),
    MoveCase(
        "line ends and names in brackets are kept",
        {**PKG, "p/a.py": A, "p/c.py": A, "m.py": "from p import (\r\n    a,\r\n    c,\r\n)\r\n\r\na.f(c)\r\n"},
        "p/a.py",
        "r/a.py",
        {"p/a.py": None, "r/a.py": A, "m.py": "from p import (\r\n    c,\r\n)\r\nfrom r import a\r\n\r\na.f(c)\r\n"},
    ),
    MoveCase(
        "a script finds its neighbour by the directory",
        {"s/a.py": A, "s/m.py": "import a\nfrom a import f\n\na.f()\n"},
        "s/a.py",
        "s/b.py",
        {"s/a.py": None, "s/b.py": A, "s/m.py": "import b\nfrom b import f\n\nb.f()\n"},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_imports_follow_a_python_move(case: MoveCase, tmp_path: Path) -> None:
    check_move(case, tmp_path)


# A statement that was split is not put together again.
SPLIT = ("leaves its statement", "brackets", "stays imported")
WAY_BACK = [case for case in CASES if not any(word in case.title for word in SPLIT)]


@pytest.mark.parametrize("case", WAY_BACK, ids=lambda case: case.title)
def test_a_move_and_its_way_back_give_every_byte(case: MoveCase, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(case.files))
    move(root, case.source, case.target)
    move(root, case.target, case.source)
    assert files_of(root) == case.files
