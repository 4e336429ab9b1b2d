"""What names mean across Python files: each case is a small repository and questions about places in it."""

from pathlib import Path

import pytest

from index.linking_cases import Case, check

PKG = {"pyproject.toml": "[project]\nname = 'p'\n", "p/__init__.py": ""}
CASES = (
    Case(
        "a name imported from a module",
        {**PKG, "p/a.py": "def f(): pass\n", "m.py": "from p.a import f\nf()\n"},
        "m.py:2 f -> p/a.py:1 STRONG\nm.py:1 f -> p/a.py:1 STRONG",
        {"m.py:2 f": ["m.py: import of f from p.a"]},
    ),
    Case(
        "an alias",
        {**PKG, "p/a.py": "def f(): pass\n", "m.py": "from p.a import f as g\ng()\n"},
        "m.py:1 f -> p/a.py:1 STRONG\nm.py:1 g -> p/a.py:1 STRONG\nm.py:2 g -> p/a.py:1 STRONG",
    ),
    Case(
        "a module and its member",
        {**PKG, "p/a.py": "def f(): pass\n", "m.py": "import p.a\np.a.f()\n"},
        "m.py:2 f -> p/a.py:1 STRONG\nm.py:2 p -> -",
    ),
    Case(
        "a module under another name",
        {**PKG, "p/a.py": "x = 1\n", "m.py": "import p.a as q\nq.x\n"},
        "m.py:2 x -> p/a.py:1 STRONG",
    ),
    Case(
        "a submodule imported by name",
        {**PKG, "p/a.py": "x = 1\n", "m.py": "from p import a\na.x\n"},
        "m.py:2 x -> p/a.py:1 STRONG",
    ),
    Case(
        "relative imports",
        {**PKG, "p/a.py": "x = 1\n", "p/b.py": "from .a import x\nfrom . import a\nx\na.x\n"},
        "p/b.py:3 x -> p/a.py:1 STRONG\np/b.py:4 x -> p/a.py:1 STRONG",
    ),
    Case(
        "relative imports that go up",
        {
            **PKG,
            "p/a.py": "x = 1\n",
            "p/s/__init__.py": "",
            "p/s/b.py": "from ..a import x\nfrom .. import a\nx\na.x\n",
        },
        "p/s/b.py:3 x -> p/a.py:1 STRONG\np/s/b.py:4 x -> p/a.py:1 STRONG",
    ),
    Case(
        "a relative import above the root means nothing",
        {"a.py": "x = 1\n", "b.py": "from ...a import x\nx\n"},
        "b.py:2 x -> -",
    ),
    Case(
        "re-exports of a package",
        {
            **PKG,
            "p/__init__.py": "from .a import f\n",
            "p/a.py": "def f(): pass\n",
            "m.py": "from p import f\nimport p\nf()\np.f()\n",
        },
        "m.py:3 f -> p/a.py:1 STRONG\nm.py:4 f -> p/a.py:1 STRONG",
        {"m.py:3 f": ["m.py: import of f from p", "p/__init__.py: import of f from .a"]},
    ),
    Case(
        "a chain of five re-exports",
        {
            **PKG,
            **{f"p/m{i}.py": f"from .m{i + 1} import f\n" for i in range(5)},
            "p/m5.py": "def f(): pass\n",
            "m.py": "from p.m0 import f\nf()\n",
        },
        "m.py:2 f -> p/m5.py:1 STRONG",
    ),
    Case(
        "a long chain of re-exports",
        {
            **PKG,
            **{f"p/m{i}.py": f"from .m{i + 1} import f\n" for i in range(150)},
            "p/m150.py": "def f(): pass\n",
            "m.py": "from p.m0 import f\nf()\n",
        },
        "m.py:2 f -> p/m150.py:1 STRONG",
    ),
    Case(
        "a name of the package hides the submodule",
        {**PKG, "p/__init__.py": "a = 1\n", "p/a.py": "x = 1\n", "m.py": "from p import a\na\na.x\n"},
        "m.py:2 a -> p/__init__.py:1 STRONG\nm.py:3 x -> -",
    ),
    Case(
        "a star import",
        {**PKG, "p/a.py": "x = 1\n_y = 2\n", "m.py": "from p.a import *\nx\n_y\n"},
        "m.py:2 x -> p/a.py:1 STRONG\nm.py:3 _y -> -",
    ),
    Case(
        "a star import takes what the list says",
        {**PKG, "p/a.py": "__all__ = ['_y']\nx = 1\n_y = 2\n", "m.py": "from p.a import *\nx\n_y\n"},
        "m.py:2 x -> -\nm.py:3 _y -> p/a.py:3 STRONG",
    ),
    Case(
        "a computed list offers what it names and leaves the rest open",
        {**PKG, "p/a.py": "__all__ = ['y'] + z\nx = 1\ny = 2\n", "m.py": "from p.a import *\nx\ny\n"},
        "m.py:2 x -> -\nm.py:3 y -> p/a.py:3 STRONG",
    ),
    Case(
        "stars through stars",
        {**PKG, "p/a.py": "x = 1\n", "p/b.py": "from .a import *\n", "m.py": "from p.b import *\nx\n"},
        "m.py:2 x -> p/a.py:1 STRONG",
    ),
    Case(
        "the last star wins",
        {**PKG, "p/a.py": "x = 1\n", "p/b.py": "x = 2\n", "m.py": "from p.a import *\nfrom p.b import *\nx\n"},
        "m.py:3 x -> p/b.py:1 STRONG",
    ),
    Case(
        "a star from outside may hide the name",
        {**PKG, "p/a.py": "x = 1\n", "m.py": "from p.a import *\nfrom elsewhere import *\nx\n"},
        "m.py:3 x -> -",
    ),
    Case(
        "a name before a star that does not offer it",
        {**PKG, "p/a.py": "x = 1\n", "p/b.py": "y = 1\n", "m.py": "from p.a import x\nfrom p.b import *\nx\n"},
        "m.py:3 x -> p/a.py:1 STRONG",
    ),
    Case(
        "a name before a star that offers it",
        {**PKG, "p/a.py": "x = 1\n", "p/b.py": "x = 1\n", "m.py": "from p.a import x\nfrom p.b import *\nx\n"},
        "m.py:3 x -> -",
    ),
    Case(
        "stars in a circle",
        {
            **PKG,
            "p/a.py": "from .b import *\nx = 1\n",
            "p/b.py": "from .a import *\ny = 1\n",
            "m.py": "from p.a import *\nfrom p.b import y as z\nx\ny\nz\n",
        },
        "m.py:3 x -> p/a.py:2 STRONG\nm.py:4 y -> p/b.py:2 STRONG\nm.py:5 z -> p/b.py:2 STRONG",
    ),
    Case(
        "a circle of re-exports ends",
        {**PKG, "p/a.py": "from .b import x\n", "p/b.py": "from .a import x\n", "m.py": "from p.a import x\nx\n"},
        "m.py:2 x -> -",
    ),
    Case(
        "an import with a fallback is open",
        {
            **PKG,
            "p/a.py": "x = 1\n",
            "p/b.py": "x = 2\n",
            "m.py": "try:\n    from p.a import x\nexcept ImportError:\n    from p.b import x\nx\n",
        },
        "m.py:5 x -> -",
    ),
    Case(
        "a type-checking import",
        {**PKG, "p/a.py": "class A: pass\n", "m.py": "if TYPE_CHECKING:\n    from p.a import A\ndef f(a: A): pass\n"},
        "m.py:3 A -> p/a.py:1 STRONG",
    ),
    Case(
        "an import inside a function",
        {**PKG, "p/a.py": "x = 1\n", "m.py": "def f():\n    from p.a import x\n    return x\nx\n"},
        "m.py:3 x -> p/a.py:1 STRONG\nm.py:4 x -> -",
    ),
    Case(
        "alternatives of a name are one symbol, which its first definition stands for",
        {
            **PKG,
            "p/a.py": "if c:\n    def f(): pass\nelse:\n    def f(): pass\nf()\n",
            "m.py": "from p.a import f\nf()\n",
        },
        "m.py:2 f -> p/a.py:2 STRONG\np/a.py:5 f -> p/a.py:2 PROVEN",
    ),
    Case(
        "alternatives inside a class and inside a function",
        {
            "m.py": "class A:\n if c:\n  def f(self): pass\n else:\n  def f(self): pass\n def g(self): self.f()\n"
            "def h():\n if c:\n  def i(): pass\n else:\n  def i(): pass\n i()\n",
        },
        "m.py:6 f -> m.py:3 PROVEN\nm.py:12 i -> m.py:9 PROVEN",
    ),
    Case(
        "members of a class with alternatives are open",
        {**PKG, "p/a.py": "if c:\n class A:\n  x = 1\nelse:\n class A: pass\n", "m.py": "from p.a import A\nA.x\n"},
        "m.py:2 A -> p/a.py:2 STRONG\nm.py:2 x -> -",
    ),
    Case(
        "a definition in place of an import that fails is not sure, the import is",
        {
            **PKG,
            "p/a.py": "def f(): pass\n",
            "m.py": "try:\n    from p.a import f\nexcept ImportError:\n    def f(): pass\nf()\n",
        },
        "m.py:2 f -> p/a.py:1 STRONG\nm.py:5 f -> -",
    ),
    Case(
        "an import of everything below alternatives may hide them",
        {**PKG, "p/a.py": "if c:\n def f(): pass\nelse:\n def f(): pass\nfrom os import *\nf()\n"},
        "p/a.py:6 f -> -",
    ),
    Case(
        "self members of the own class",
        {"m.py": "class A:\n x = 1\n def m(self):\n  self.y = self.x\n  self.n()\n def n(self): return self.y\n"},
        "m.py:4 x -> m.py:2 PROVEN\nm.py:5 n -> m.py:6 PROVEN\nm.py:6 y -> m.py:4 PROVEN",
    ),
    Case(
        "cls members",
        {"m.py": "class A:\n    x = 1\n    @classmethod\n    def m(cls): return cls.x\n"},
        "m.py:4 x -> m.py:2 PROVEN",
    ),
    Case(
        "a static method has no self",
        {"m.py": "class A:\n    x = 1\n    @staticmethod\n    def m(s): return s.x\n"},
        "m.py:4 x -> -",
    ),
    Case(
        "self in a nested function",
        {"m.py": "class A:\n    x = 1\n    def m(self):\n        return lambda: self.x\n"},
        "m.py:4 x -> m.py:2 PROVEN",
    ),
    Case(
        "self that is assigned anew",
        {"m.py": "class A:\n    x = 1\n    def m(self):\n        self = 3\n        self.x\n"},
        "m.py:5 x -> -",
    ),
    Case(
        "inherited members in the same file",
        {"m.py": "class A:\n    x = 1\nclass B(A):\n    def m(self): self.x\n"},
        "m.py:4 x -> m.py:2 STRONG",
    ),
    Case(
        "inherited members across files",
        {
            **PKG,
            "p/a.py": "class A:\n    def f(self): pass\n",
            "m.py": "from p.a import A\nclass B(A): pass\nclass C(B):\n    def m(self): self.f()\n",
        },
        "m.py:4 f -> p/a.py:2 STRONG",
        {"m.py:4 f": ["m.py: base of C"]},
    ),
    Case(
        "an unknown base hides what comes after it",
        {
            **PKG,
            "p/a.py": "class A:\n    x = 1\n",
            "m.py": "from p.a import A\nfrom els import E\nclass B(E, A):\n y = 2\n def m(self): self.x; self.y\n",
        },
        "m.py:5 x -> -\nm.py:5 y -> m.py:4 PROVEN",
    ),
    Case(
        "an unknown base after the one that has it",
        {
            **PKG,
            "p/a.py": "class A:\n    x = 1\n",
            "m.py": "from p.a import A\nfrom els import E\nclass B(A, E):\n    def m(self): self.x\n",
        },
        "m.py:4 x -> p/a.py:2 STRONG",
    ),
    Case(
        "a diamond follows the method resolution order",
        {"m.py": "class A:\n x = 1\nclass B(A): pass\nclass C(A):\n x = 2\nclass D(B, C):\n def m(self): self.x\n"},
        "m.py:7 x -> m.py:5 STRONG",
    ),
    Case(
        "super skips the own class",
        {"m.py": "class A:\n    def f(self): pass\nclass B(A):\n    def f(self): super().f()\n"},
        "m.py:4 f#2 -> m.py:2 STRONG",
    ),
    Case(
        "members of a class by its name",
        {**PKG, "p/a.py": "class A:\n    x = 1\n", "m.py": "from p.a import A\nA.x\n"},
        "m.py:2 x -> p/a.py:2 STRONG",
    ),
    Case(
        "members of an untyped receiver are open",
        {**PKG, "p/a.py": "class A:\n    x = 1\n", "m.py": "from p.a import A\na = A()\na.x\nA().x\n"},
        "m.py:3 x -> -\nm.py:4 x -> -",
    ),
    Case(
        "members of a parameter by its declared type",
        {
            **PKG,
            "p/a.py": "class A:\n    def f(self): pass\n    x = 1\n",
            "m.py": "import p.a\nfrom p.a import A\ndef g(a: A, b: p.a.A = None, c: A | None = None, *d: A):\n"
            "    a.f()\n    b.f()\n    c.x\n    d.x\n",
        },
        "m.py:4 f -> p/a.py:2 STRONG\nm.py:5 f -> p/a.py:2 STRONG\nm.py:6 x -> p/a.py:3 STRONG\nm.py:7 x -> -",
    ),
    Case(
        "a container is not what it holds",
        {
            **PKG,
            "p/a.py": "class A:\n    x = 1\n",
            "m.py": "from p.a import A\ndef g(a: list[A], b: type[A], c: Optional[A], d: A | int, e: 'A'):\n"
            "    a.x\n    b.x\n    c.x\n    d.x\n    e.x\nh = lambda i: A and i.x\n",
        },
        "m.py:3 x -> -\nm.py:4 x -> -\nm.py:5 x -> p/a.py:2 STRONG\nm.py:6 x -> -\n"
        "m.py:7 x -> p/a.py:2 STRONG\nm.py:8 x -> -",
    ),
    Case(
        "a parameter that is assigned or asked for its class is open",
        {
            **PKG,
            "p/a.py": "class A:\n    x = 1\nclass B(A):\n    x = 2\n",
            "m.py": "from p.a import A, B\ndef g(a: A):\n    a = B()\n    a.x\ndef h(a: A):\n"
            "    if isinstance(a, B):\n        a.x\n",
        },
        "m.py:4 x -> -\nm.py:7 x -> -",
    ),
    Case(
        "members of attributes by their declared types",
        {
            **PKG,
            "p/a.py": "class A:\n    def f(self): pass\n",
            "m.py": "from p.a import A\nclass B:\n    a: A\n    def __init__(self, c):\n        self.c: A = c\n"
            "    def g(self):\n        self.a.f()\n        self.c.f()\n",
        },
        "m.py:7 f -> p/a.py:2 STRONG\nm.py:8 f -> p/a.py:2 STRONG",
    ),
    Case(
        "a member also set by a literal name is open",
        {"m.py": "class A:\n x = 1\n y = 2\n def m(self):\n  setattr(self, 'x', 2)\n  self.x; self.y\n"},
        "m.py:6 x -> -\nm.py:6 y -> m.py:3 PROVEN",
    ),
    Case(
        "a property with a setter",
        {"m.py": "class A:\n @property\n def p(self): pass\n @p.setter\n def p(self, v): pass\n def m(self): self.p\n"},
        "m.py:6 p -> m.py:3 PROVEN",
    ),
    Case(
        "an assignment through self may call the setter of a base, and is open",
        {
            "b.py": "class A:\n @property\n def p(self): pass\n @p.setter\n def p(self, v): pass\n x = 1\n",
            "m.py": "from b import A\nclass M(A): pass\nclass B(M):\n def m(self):\n  self.p = 1\n  self.x = 2\n"
            "  self.p; self.x\n",
        },
        "m.py:7 p -> -\nm.py:7 x -> m.py:6 PROVEN",
    ),
    Case(
        "class scope is not seen by methods",
        {"m.py": "x = 1\nclass A:\n    x = 2\n    def m(self): return x\n"},
        "m.py:4 x -> m.py:1 PROVEN",
    ),
    Case(
        "comprehensions have their own names",
        {"m.py": "x = 1\ny = [x for x in z]\nx\n"},
        "m.py:2 x -> m.py:2 PROVEN\nm.py:3 x -> m.py:1 PROVEN",
    ),
    Case(
        "global and nonlocal",
        {"m.py": "x = 1\ndef f():\n global x\n x = 2\n y = 1\n def g():\n  nonlocal y\n  y = x\n"},
        "m.py:8 x -> m.py:1 PROVEN\nm.py:8 y -> m.py:5 PROVEN",
    ),
    Case(
        "decorators are uses",
        {**PKG, "p/a.py": "def d(f): pass\n", "m.py": "from p.a import d\n@d\ndef f(): pass\n"},
        "m.py:2 d -> p/a.py:1 STRONG",
    ),
    Case(
        "a name of the standard library is not ours",
        {"json.py": "def loads(): pass\n", "m.py": "import json\njson.loads\n"},
        "m.py:2 loads -> -",
    ),
    Case(
        "a src directory is a root",
        {"pyproject.toml": "[project]\n", "src/q/__init__.py": "x = 1\n", "tests/test_q.py": "from q import x\nx\n"},
        "tests/test_q.py:2 x -> src/q/__init__.py:1 STRONG",
    ),
    Case(
        "two roots that both have it mean nothing",
        {
            "pyproject.toml": "[project]\n",
            "a/pyproject.toml": "[project]\n",
            "a/src/q.py": "x = 1\n",
            "b/pyproject.toml": "[project]\n",
            "b/src/q.py": "x = 2\n",
            "m.py": "from q import x\nx\n",
        },
        "m.py:2 x -> -",
    ),
    Case(
        "a namespace package",
        {"pyproject.toml": "[project]\n", "n/s/a.py": "x = 1\n", "m.py": "import n.s.a\nn.s.a.x\n"},
        "m.py:2 x -> n/s/a.py:1 STRONG",
    ),
    Case(
        "a stub beside its source",
        {**PKG, "p/a.py": "def f(): pass\n", "p/a.pyi": "def f(): ...\n", "m.py": "from p.a import f\nf()\n"},
        "m.py:2 f -> p/a.py:1 STRONG",
    ),
    Case(
        "entries of __all__ mean what they name",
        {"m.py": "__all__ = ['f']\ndef f(): pass\n"},
        "m.py:1 f -> m.py:2 PROVEN",
    ),
    Case(
        "a class that is its own base",
        {"m.py": "class A(B):\n    def m(self): self.x\nclass B(A):\n    x = 1\n"},
        "m.py:2 x -> -",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_names_mean_what_the_case_says(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
