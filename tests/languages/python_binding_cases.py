"""Labelled cases of Python's scoping rules: which binding place a name means.

`expected` lists `name@line -> answer`, separated by `;`. `name@line.2` is the second occurrence on that line.
The answer is the line of the definition or import that the name is bound to; `?` after it says UNCERTAIN; `-` says
that the name is bound to nothing in this file (a builtin, an unknown name or an attribute).
"""

from typing import NamedTuple


class BindingCase(NamedTuple):
    """One snippet with what its names mean."""

    title: str
    source: str
    expected: str


BINDING_CASES = (
    BindingCase("module variable", "x = 1\nprint(x)\n", "x@2 -> 1; print@2 -> -; x@1 -> 1"),
    BindingCase("reassigned variable is one variable", "x = 1\nx = 2\nprint(x)\n", "x@3 -> 1; x@2 -> 1"),
    BindingCase("variable in if and else", "if a:\n    x = 1\nelse:\n    x = 2\nx\n", "x@5 -> 2; a@1 -> -"),
    BindingCase("function", "def f(): pass\nf()\n", "f@2 -> 1; f@1 -> 1"),
    BindingCase("class", "class A: pass\nA()\n", "A@2 -> 1"),
    BindingCase(
        "function used before it is defined, from a function", "def g():\n    f()\ndef f(): pass\n", "f@2 -> 3"
    ),
    BindingCase("two functions of one name", "if a:\n    def f(): pass\nelse:\n    def f(): pass\nf()\n", "f@5 -> 2?"),
    BindingCase("function then assignment", "def f(): pass\nf = dec(f)\nf()\n", "f@3 -> 1?; f@2.2 -> 1?"),
    BindingCase("parameter", "def f(a):\n    return a\n", "a@2 -> 1; a@1 -> 1"),
    BindingCase(
        "reassigned parameter is the parameter", "def f(a):\n    a = a or 1\n    return a\n", "a@2.2 -> 1; a@3 -> 1"
    ),
    BindingCase("default is evaluated outside", "a = 1\ndef f(a=a):\n    return a\n", "a@2.2 -> 1; a@3 -> 2"),
    BindingCase(
        "annotation is evaluated outside",
        "T = int\ndef f(T: T) -> T:\n    return T\n",
        "T@2.2 -> 1; T@2.3 -> 1; T@3 -> 2",
    ),
    BindingCase("star parameters", "def f(*args, **kw):\n    args\n    kw\n", "args@2 -> 1; kw@3 -> 1"),
    BindingCase(
        "keyword-only and positional-only", "def f(a, /, b, *, c=1):\n    a, b, c\n", "a@2 -> 1; b@2 -> 1; c@2 -> 1"
    ),
    BindingCase("closure", "def f():\n    x = 1\n    def g():\n        return x\n", "x@4 -> 2"),
    BindingCase(
        "class scope is skipped by methods",
        "x = 1\nclass A:\n    x = 2\n    def m(self):\n        return x\n",
        "x@5 -> 1",
    ),
    BindingCase("class scope is seen in the class body", "x = 1\nclass A:\n    x = 2\n    y = x\n", "x@4 -> 3"),
    BindingCase("class body reads before it binds", "x = 1\nclass A:\n    x = x\n", "x@3.2 -> 1"),
    BindingCase(
        "class body does not see an outer class", "class A:\n    x = 1\n    class B:\n        y = x\n", "x@4 -> -"
    ),
    BindingCase("class body sees the function around it", "def f(x):\n    class A:\n        y = x\n", "x@3 -> 1"),
    BindingCase(
        "method name is not a global", "class A:\n    def m(self): pass\n    def n(self):\n        m()\n", "m@4 -> -"
    ),
    BindingCase("global", "x = 1\ndef f():\n    global x\n    x = 2\n    return x\n", "x@3 -> 1; x@4 -> 1; x@5 -> 1"),
    BindingCase(
        "global binds in the module",
        "def f():\n    global x\n    x = 2\ndef g():\n    return x\n",
        "x@5 -> 3; x@2 -> 3",
    ),
    BindingCase("global without any assignment", "def f():\n    global x\n    return x\n", "x@3 -> -"),
    BindingCase(
        "global skips an enclosing function",
        "x = 1\ndef f():\n    x = 2\n    def g():\n        global x\n        return x\n",
        "x@6 -> 1",
    ),
    BindingCase(
        "nonlocal",
        "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n        return x\n",
        "x@4 -> 2; x@5 -> 2; x@6 -> 2",
    ),
    BindingCase("nonlocal of a parameter", "def f(x):\n    def g():\n        nonlocal x\n        x = 2\n", "x@4 -> 1"),
    BindingCase("assignment anywhere makes it local", "x = 1\ndef f():\n    print(x)\n    x = 2\n", "x@3 -> 4"),
    BindingCase("augmented assignment makes it local", "x = 1\ndef f():\n    x += 1\n", "x@3 -> 3"),
    BindingCase("annotation alone makes it local", "x = 1\ndef f():\n    x: int\n    return x\n", "x@4 -> 3"),
    BindingCase("comprehension target", "x = 1\ny = [x for x in z]\n", "x@2 -> 2; x@2.2 -> 2; z@2 -> -"),
    BindingCase("comprehension target does not leak", "y = [x for x in z]\nx\n", "x@2 -> -"),
    BindingCase("first iterable is evaluated outside", "x = []\ny = [x for x in x]\n", "x@2.3 -> 1"),
    BindingCase("second iterable is evaluated inside", "y = [b for a in c for b in a]\n", "a@1.2 -> 1; b@1 -> 1"),
    BindingCase("first iterable in a class", "class A:\n    x = 1\n    y = [z for z in x]\n", "x@3 -> 2"),
    BindingCase(
        "element in a class does not see the class", "class A:\n    x = 1\n    y = [x for z in q]\n", "x@3 -> -"
    ),
    BindingCase(
        "generator, set and dict",
        "a = (i for i in s)\nb = {j for j in s}\nc = {k: v for k, v in s}\n",
        "i@1 -> 1; j@2 -> 2; k@3 -> 3; v@3 -> 3",
    ),
    BindingCase("comprehension condition", "y = [i for i in s if i > n]\nn = 3\n", "i@1.3 -> 1; n@1 -> 2"),
    BindingCase(
        "walrus in a comprehension binds outside",
        "def f(s):\n    [y := i for i in s]\n    return y\n",
        "y@3 -> 2; y@2 -> 2",
    ),
    BindingCase("walrus in a module", "if (n := 10) > 5:\n    print(n)\n", "n@2 -> 1"),
    BindingCase("walrus in a lambda stays there", "f = lambda: (y := 1)\ny\n", "y@1 -> 1; y@2 -> -"),
    BindingCase("lambda parameter", "a = 1\nf = lambda a: a\n", "a@2.2 -> 2"),
    BindingCase("lambda default is evaluated outside", "a = 1\nf = lambda a=a: a\n", "a@2.2 -> 1; a@2.3 -> 2"),
    BindingCase("lambda in a class does not see the class", "class A:\n    x = 1\n    f = lambda: x\n", "x@3 -> -"),
    BindingCase("for target", "for i in range(3):\n    print(i)\ni\n", "i@2 -> 1; i@3 -> 1; range@1 -> -"),
    BindingCase("nested for targets", "for a, (b, *c) in s:\n    a, b, c\n", "a@2 -> 1; b@2 -> 1; c@2 -> 1"),
    BindingCase("with target", "with open(p) as f:\n    f.read()\n", "f@2 -> 1; read@2 -> -"),
    BindingCase("with tuple target", "with a as (b, c):\n    b, c\n", "b@2 -> 1; c@2 -> 1"),
    BindingCase("except target", "try:\n    pass\nexcept E as e:\n    print(e)\n", "e@4 -> 3; E@3 -> -"),
    BindingCase(
        "tuple assignment",
        "a, (b, c) = [d, *e] = 1, 2\na, b, c, d, e\n",
        "a@2 -> 1; b@2 -> 1; c@2 -> 1; d@2 -> 1; e@2 -> 1",
    ),
    BindingCase("subscript target binds nothing", "a[i] = 1\n", "a@1 -> -; i@1 -> -"),
    BindingCase("attribute target binds no name", "a.b = 1\nb\n", "a@1 -> -; b@2 -> -"),
    BindingCase("import", "import os\nos.getcwd()\n", "os@2 -> 1; getcwd@2 -> -"),
    BindingCase("import of a submodule binds the top", "import os.path\nos.path\n", "os@2 -> 1; path@2 -> -"),
    BindingCase("two submodules of one package", "import a.b\nimport a.c\na.b.x\n", "a@3 -> 1"),
    BindingCase("import with an alias", "import numpy as np\nnp.x\nnumpy\n", "np@2 -> 1; numpy@3 -> -"),
    BindingCase("from import", "from a import b, c as d\nb, d, c\n", "b@2 -> 1; d@2 -> 1; c@2 -> -"),
    BindingCase(
        "import in try and except", "try:\n    import a\nexcept ImportError:\n    import b as a\na\n", "a@5 -> 2?"
    ),
    BindingCase(
        "import with a fallback value", "try:\n    import a\nexcept ImportError:\n    a = None\na\n", "a@5 -> 2?"
    ),
    BindingCase("import in a function is local", "def f():\n    import os\n    os\nos\n", "os@3 -> 2; os@4 -> -"),
    BindingCase(
        "type-checking import",
        "from t import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import A\ndef f(x: A): pass\n",
        "A@4 -> 3",
    ),
    BindingCase("star import leaves names unbound", "from a import *\nfoo()\n", "foo@2 -> -"),
    BindingCase("star import may replace what came before", "x = 1\nfrom a import *\nx\n", "x@3 -> 1?"),
    BindingCase("star import does not replace what comes after", "from a import *\nx = 1\nx\n", "x@3 -> 2"),
    BindingCase("decorator", "def dec(f): return f\n@dec\ndef g(): pass\n", "dec@2 -> 1"),
    BindingCase(
        "decorator of a method sees the class",
        "class A:\n    def d(f): pass\n    @d\n    def m(self): pass\n",
        "d@3 -> 2",
    ),
    BindingCase("base class and metaclass", "class M: pass\nclass A(M, metaclass=M): pass\n", "M@2 -> 1; M@2.2 -> 1"),
    BindingCase("f-string", "x = 1\nw = 2\ny = f'{x!r:>{w}} {x}'\n", "x@3 -> 1; w@3 -> 2; x@3.2 -> 1"),
    BindingCase("string annotation is a use", "class A: pass\nx: 'A' = 1\n", "A@2 -> 1"),
    BindingCase(
        "string annotation sees later names", "def f(x: 'list[A] | m.A'): ...\nclass A: pass\n", "A@1 -> 2; A@1.2 -> -"
    ),
    BindingCase("string of a literal type is text", "class A: pass\nx: Literal['A'] = 'A'\n", "A@1 -> 1"),
    BindingCase(
        "match captures bind",
        "match s:\n    case [a, *b]:\n        a, b\n    case {'k': v, **r}:\n        v, r\n",
        "a@3 -> 2; b@3 -> 2; v@5 -> 4; r@5 -> 4",
    ),
    BindingCase(
        "match class pattern",
        "class P: pass\nmatch s:\n    case P(x, y=z) as q:\n        x, z, q\n",
        "P@3 -> 1; x@4 -> 3; z@4 -> 3; q@4 -> 3",
    ),
    BindingCase(
        "match value pattern is a use", "import m\nmatch s:\n    case m.A:\n        pass\n", "m@3 -> 1; A@3 -> -"
    ),
    BindingCase("match wildcard binds nothing", "match s:\n    case _:\n        pass\n_\n", "_@4 -> -"),
    BindingCase("soft keywords are names", "match = 1\ntype = 2\ncase = match + type\n", "match@3 -> 1; type@3 -> 2"),
    BindingCase("del is a use", "x = 1\ndel x\n", "x@2 -> 1"),
    BindingCase("del makes it local", "x = 1\ndef f():\n    del x\n", "x@3 -> -"),
    BindingCase("keyword argument is no local name", "a = 1\nf(a=a)\n", "a@2.2 -> 1"),
    BindingCase("attribute is no local name", "a = 1\nb.a\n", "a@2 -> -"),
    BindingCase(
        "self attribute is not a class name",
        "class A:\n    def m(self):\n        self.x = 1\n    y = x\n",
        "x@4 -> -; self@3 -> 2",
    ),
    BindingCase(
        "nested function shadows", "def f(): pass\ndef g():\n    def f(): pass\n    f()\nf()\n", "f@4 -> 3; f@5 -> 1"
    ),
    BindingCase("recursion", "def f():\n    f()\n", "f@2 -> 1"),
    BindingCase("class refers to itself in a method", "class A:\n    def m(self):\n        return A\n", "A@3 -> 1"),
    BindingCase("module reads before it binds", "str = str\n", "str@1.2 -> -"),
    BindingCase("private names are mangled", "__x = 1\nclass A:\n    def m(self):\n        return __x\n", "__x@4 -> -"),
    BindingCase("private names meet in their class", "class A:\n    __x = 1\n    y = __x\n", "__x@3 -> 2"),
    BindingCase(
        "property and setter",
        "class A:\n    @property\n    def x(self): pass\n    @x.setter\n    def x(self, v): pass\n",
        "x@4 -> 3?",
    ),
    BindingCase("type parameter", "def f[T](a: T) -> T:\n    x: T\n", "T@1.2 -> 1; T@1.3 -> 1; T@2 -> 1"),
    BindingCase(
        "type parameter of a class",
        "class A[T](B[T]):\n    def m(self) -> T: pass\nT\n",
        "T@1.2 -> 1; T@2 -> 1; T@3 -> -",
    ),
    BindingCase("type alias", "type X[T] = list[T]\ny: X\n", "T@1.2 -> 1; X@2 -> 1"),
    BindingCase(
        "type parameter scope sees the class",
        "class A:\n    B = int\n    def m[T](self, x: B) -> T: pass\n",
        "B@3 -> 2",
    ),
    BindingCase(
        "async",
        "async def f(s):\n    async with s as t:\n        async for u in t:\n            await u\n",
        "u@4 -> 3; t@3 -> 2",
    ),
    BindingCase("names that are equal after normalisation", "ﬁ = 1\nfi\n", "fi@2 -> 1"),
    BindingCase("non-ASCII before the name", "x = 'ä'; é = x\né\n", "x@1.2 -> 1; é@2 -> 1"),
    BindingCase("nested comprehensions", "y = [[a for a in b] for b in c]\n", "a@1 -> 1; b@1 -> 1"),
    BindingCase("chained attributes", "a = 1\na.b.c(a).d\n", "a@2 -> 1; a@2.2 -> 1; d@2 -> -"),
)
