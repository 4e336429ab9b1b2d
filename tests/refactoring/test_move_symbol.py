"""Moves of top-level symbols to other files."""

from pathlib import Path

import pytest

from codeplane.refactor.move import plan_move
from refactoring.planning import MoveCase, check_move, refused
from support.repositories import make_repository

PKG = {"pyproject.toml": "[project]\nname = 'p'\n", "p/__init__.py": ""}
JS = {"package.json": '{"name": "p"}\n'}
CASES = (
    MoveCase(
        "a function takes its imports along and its users follow",
        {
            **PKG,
            "p/a.py": (
                "import os\nimport sys\n\nLIMIT = 1\n\n\n# Where we are.\n@staticmethod\ndef here():\n"
                "    return os.getcwd()\n\n\ndef there():\n    return sys.path\n"
            ),
            "p/b.py": "import re\n\n\ndef other():\n    return re\n",
            "m.py": "from p.a import here, there\n\nhere()\nthere()\n",
            "n.py": "from p.a import here\n\nhere()\n",
            "o.py": "import p.a\n\np.a.here()\n",
        },
        "p/a.py::here",
        "p/b.py",
        {
            "p/a.py": "import sys\n\nLIMIT = 1\n\n\ndef there():\n    return sys.path\n",
            "p/b.py": (
                "import re\nimport os\n\n\ndef other():\n    return re\n\n\n# Where we are.\n@staticmethod\n"
                "def here():\n    return os.getcwd()\n"
            ),
            "m.py": "from p.a import there\nfrom p.b import here\n\nhere()\nthere()\n",
            "n.py": "from p.b import here\n\nhere()\n",
            "o.py": "import p.a\nfrom p.b import here\n\nhere()\n",
        },
    ),
    MoveCase(
        "a class goes to a file that does not exist, and its old module uses it",
        {
            **PKG,
            "p/a.py": "from .base import Base\n\n\nclass C(Base):\n    pass\n\n\ndef make():\n    return C()\n",
            "p/base.py": "class Base:\n    pass\n",
        },
        "p/a.py::C",
        "p/q/c.py",
        {
            "p/a.py": "from .q.c import C\n\n\ndef make():\n    return C()\n",
            "p/q/c.py": "from ..base import Base\n\n\nclass C(Base):\n    pass\n",
        },
    ),
    MoveCase(
        "what it needs of its old module is imported back",
        {**PKG, "p/a.py": "LIMIT = 1\n\n\ndef f():\n    return LIMIT\n", "p/b.py": "x = 1\n"},
        "p/a.py::f",
        "p/b.py",
        {"p/a.py": "LIMIT = 1\n", "p/b.py": "from p.a import LIMIT\n\nx = 1\n\n\ndef f():\n    return LIMIT\n"},
    ),
    MoveCase(
        "imports for type checkers stay such",
        {
            **PKG,
            "p/a.py": (
                "import typing as t\n\nif t.TYPE_CHECKING:\n    from .base import Base\n\n\n"
                'def f(base: "Base") -> None:\n    pass\n\n\ndef g(base: "Base") -> t.Any:\n    pass\n'
            ),
            "p/base.py": "class Base:\n    pass\n",
        },
        "p/a.py::f",
        "p/q/c.py",
        {
            "p/a.py": (
                "import typing as t\n\nif t.TYPE_CHECKING:\n    from .base import Base\n\n\n"
                'def g(base: "Base") -> t.Any:\n    pass\n'
            ),
            "p/q/c.py": (
                "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from ..base import Base\n\n\n"
                'def f(base: "Base") -> None:\n    pass\n'
            ),
        },
    ),
    MoveCase(
        "a surface hands it on from its new place",
        {
            **PKG,
            "p/__init__.py": "from .a import f as f\n",
            "p/a.py": "def f():\n    pass\n\n\ndef g():\n    pass\n",
            "p/b.py": "y = 1\n",
            "m.py": "from p import f\n\nf()\n",
        },
        "p/a.py::f",
        "p/b.py",
        {
            "p/__init__.py": "from .b import f as f\n",
            "p/a.py": "def g():\n    pass\n",
            "p/b.py": "y = 1\n\n\ndef f():\n    pass\n",
        },
    ),
    MoveCase(
        "an exported function of TypeScript with its imports and a barrel",
        {
            **JS,
            "src/a.ts": (
                "import { x, y } from './c';\n\nconst limit = 2;\n\n/** Adds. */\nexport function f() {\n"
                "  return x + limit;\n}\n\nexport const g = y;\n"
            ),
            "src/c.ts": "export const x = 1;\nexport const y = 2;\n",
            "src/deep/b.ts": "export const z = 1;\n",
            "src/index.ts": "export { f, g } from './a';\n",
            "src/m.ts": "import { f } from './a';\n\nf();\n",
        },
        "src/a.ts::f",
        "src/deep/b.ts",
        {
            "src/a.ts": "import { y } from './c';\n\nexport const limit = 2;\n\nexport const g = y;\n",
            "src/deep/b.ts": (
                "import { x } from '../c';\nimport { limit } from '../a';\n\nexport const z = 1;\n\n/** Adds. */\n"
                "export function f() {\n  return x + limit;\n}\n"
            ),
            "src/index.ts": "export { g } from './a';\nexport { f } from './deep/b';\n",
            "src/m.ts": "import { f } from './deep/b';\n\nf();\n",
        },
    ),
    MoveCase(
        "a Go function goes to another file of its package",
        {
            "go.mod": "module m\n",
            "a.go": (
                'package m\n\nimport "fmt"\n\n// F says x.\nfunc F() { fmt.Println(g()) }\n\n'
                "func g() int { return 1 }\n"
            ),
            "b.go": "package m\n\nvar X = 1\n",
        },
        "a.go::F",
        "b.go",
        {
            "a.go": "package m\n\nfunc g() int { return 1 }\n",
            "b.go": 'package m\n\nimport "fmt"\n\nvar X = 1\n\n// F says x.\nfunc F() { fmt.Println(g()) }\n',
        },
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_symbol_moves_with_what_it_needs(case: MoveCase, tmp_path: Path) -> None:
    check_move(case, tmp_path)


REFUSED = (
    (
        "a cycle is named",
        {**PKG, "p/a.py": "from p.b import x\n\nLIMIT = 1\n\n\ndef f():\n    return LIMIT, x\n", "p/b.py": "x = 1\n"},
        "p/b.py",
        "p/b.py -> p/a.py -> p/b.py",
    ),
    (
        "a name that the target has is not hidden",
        {**PKG, "p/a.py": "def f():\n    pass\n", "p/b.py": "f = 1\n"},
        "p/b.py",
        "has a `f` already",
    ),
    (
        "a statement of several names stays",
        {**PKG, "p/a.py": "f = g = 1\n", "p/b.py": ""},
        "p/b.py",
        "not a statement of its own",
    ),
    (
        "a function that changes a name of its module stays",
        {**PKG, "p/a.py": "n = 0\n\n\ndef f():\n    global n\n    n += 1\n", "p/b.py": ""},
        "p/b.py",
        "changes a name of its module",
    ),
    ("a name that is not there", {**PKG, "p/a.py": "", "p/b.py": ""}, "p/b.py", "has no `f` at its top"),
)


@pytest.mark.parametrize(("title", "files", "target", "said"), REFUSED, ids=[one[0] for one in REFUSED])
def test_a_move_of_a_symbol_that_cannot_be_proved_is_refused(
    title: str, files: dict[str, str], target: str, said: str, tmp_path: Path
) -> None:
    assert title
    root = make_repository(tmp_path / "repo", dict(files))
    error = refused(root, lambda reader: plan_move(reader, "p/a.py::f", target))
    assert said in error.message
