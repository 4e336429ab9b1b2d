"""Renames by example: in the texts ⟦name⟧ must change, ⟬name⟭ must be asked about, and everything else must stay.

The asked definition is the one marked ⟦*name⟧.
"""

from typing import NamedTuple


class RenameCase(NamedTuple):
    """One repository, and the files it has, with marks."""

    title: str
    files: dict[str, str]


GO_MOD = "module example.com/m\n\ngo 1.21\n"
CARGO = '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n'
POM = "<project><modelVersion>4.0.0</modelVersion></project>\n"

PYTHON = (
    RenameCase(
        "function with imports, a re-export, __all__ and an alias",
        {
            "pkg/__init__.py": "from .a import ⟦old⟧\nfrom .a import ⟦old⟧ as other\n__all__ = ['⟦old⟧']\n",
            "pkg/a.py": "def ⟦*old⟧():\n    return ⟦old⟧\n\n\nx = {'old': 1}\n",
            "use.py": "import pkg\nfrom pkg import ⟦old⟧, other\n\n⟦old⟧()\npkg.⟦old⟧()\nother()\npkg.a.⟦old⟧\n",
            "apart.py": "def old():\n    return old\n\n\nbolder = old\n",
        },
    ),
    RenameCase(
        "only the asked one of three that have the name",
        {
            "store.py": (
                "def ⟦*get⟧(key):\n    return getter()[key]\n\n\ndef getter():\n    return {}\n\n\n"
                "class Cache:\n    def get(self, key):\n        return ⟦get⟧(key)\n"
            ),
            "mem.py": "def get(key):\n    return {}.get(key)\n",
            "use.py": "from store import ⟦get⟧\nimport mem\n\nmem_get = mem.get\nprint(⟦get⟧('get'), mem.get(1), {}.get(2))\n",
        },
    ),
    RenameCase(
        "method with its overrides and super",
        {
            "a.py": (
                "class A:\n    def ⟦*go⟧(self):\n        return self.⟦go⟧()\n\n\n"
                "class B(A):\n    def ⟦go⟧(self):\n        return super().⟦go⟧()\n\n\n"
                "class C:\n    def go(self):\n        return self.go()\n"
            ),
            "use.py": "from a import B\n\n\ndef f(b: B, x):\n    b.⟦go⟧()\n    x.⟬go⟭()\n",
        },
    ),
    RenameCase(
        "attribute set in a constructor, with slots",
        {
            "a.py": (
                "class A:\n    __slots__ = ('⟦size⟧', 'other')\n\n    def __init__(self, size):\n        self.⟦*size⟧ = size\n\n"
                "    def grow(self):\n        self.⟦size⟧ += 1\n        return self.⟦size⟧\n"
            )
        },
    ),
    RenameCase(
        "parameter with keyword arguments",
        {
            "a.py": "def f(⟦*size⟧, other=1):\n    size_2 = ⟦size⟧\n    return lambda: ⟦size⟧\n\n\nf(⟦size⟧=1)\nf(2, other=f(⟦size⟧=3))\n",
            "use.py": "from a import f as g\nimport a\n\ng(⟦size⟧=2)\na.f(⟦size⟧=3)\ndict(size=4)\n",
        },
    ),
    RenameCase(
        "parameter of a constructor",
        {
            "a.py": "class A:\n    def __init__(self, ⟦*size⟧):\n        self.size = ⟦size⟧\n\n\nclass B(A):\n    pass\n\n\nA(⟦size⟧=1)\nB(⟦size⟧=2)\n"
        },
    ),
    RenameCase(
        "field of a dataclass",
        {
            "a.py": (
                "from dataclasses import dataclass\n\n\n@dataclass\nclass P:\n    ⟦*x⟧: int\n    y: int = 0\n\n\n"
                "p = P(⟦x⟧=1)\n\n\ndef f(p: P):\n    return p.⟦x⟧\n"
            )
        },
    ),
    RenameCase(
        "local variable and its closure",
        {"a.py": "def f():\n    ⟦*x⟧ = 1\n\n    def g():\n        nonlocal ⟦x⟧\n        ⟦x⟧ = 2\n        return f'{⟦x⟧}'\n\n    return g, [x for x in (⟦x⟧,)]\n\n\nx = 3\n"},
    ),
    RenameCase(
        "class with annotations in quotes",
        {
            "a.py": "from __future__ import annotations\n\n\nclass ⟦*A⟧:\n    def me(self) -> '⟦A⟧ | None':\n        x: 'list[⟦A⟧]' = []\n        return x\n",
            "use.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a import ⟦A⟧\n\n\ndef f(a: '⟦A⟧', b: 'A.B'.__class__):\n    return 'A'\n",
        },
    ),
    RenameCase(
        "definition under a condition and its substitute",
        {
            "a.py": "import sys\n\nif sys.platform == 'win32':\n    def ⟦*f⟧():\n        return 1\nelse:\n    def ⟦f⟧():\n        return 2\n",
            "b.py": "try:\n    from a import ⟦f⟧\nexcept ImportError:\n    def ⟦f⟧():\n        return 3\n\n⟦f⟧()\n",
        },
    ),
    RenameCase(
        "property with its setter",
        {"a.py": "class A:\n    @property\n    def ⟦*p⟧(self):\n        return 1\n\n    @⟦p⟧.setter\n    def ⟦p⟧(self, value):\n        self.⟦p⟧\n"},
    ),
    RenameCase(
        "name used through an import of everything",
        {"a.py": "def ⟦*f⟧():\n    pass\n", "b.py": "from a import *\n\n⟦f⟧()\n", "c.py": "from b import ⟦f⟧\n\n⟦f⟧()\n"},
    ),
    RenameCase(
        "module variable with a global statement",
        {"a.py": "⟦*count⟧ = 0\n\n\ndef up():\n    global ⟦count⟧\n    ⟦count⟧ += 1\n", "b.py": "import a\n\na.⟦count⟧ = 2\n"},
    ),
    RenameCase(
        "alias of an outside module that others import",
        {
            "pkg/__init__.py": "",
            "pkg/compat.py": "from http import cookiejar as ⟦*cookielib⟧\n\n⟦cookielib⟧.x\n",
            "pkg/a.py": "from .compat import ⟦cookielib⟧, other\n\n⟦cookielib⟧.y\n",
            "pkg/b.py": "from .compat import ⟦cookielib⟧ as mine\n\nmine.z\n",
            "pkg/c.py": "from .a import ⟦cookielib⟧\n",
            "d.py": "import http as cookielib\n",
        },
    ),
    RenameCase(
        "alias of the same name as what it imports",
        {
            "pkg/__init__.py": "from .a import load as ⟦*load⟧\n",
            "pkg/a.py": "def load():\n    pass\n",
            "use.py": "from pkg import ⟦load⟧\nfrom pkg.a import load as mine\n\n⟦load⟧()\nmine()\n",
        },
    ),
    RenameCase(
        "method looked up by a string is asked about",
        {"a.py": "class A:\n    def ⟦*run⟧(self):\n        return getattr(self, '⟬run⟭')\n"},
    ),
)  # fmt: skip

JAVASCRIPT = (
    RenameCase(
        "export through barrels, default and namespace imports",
        {
            "package.json": "{}\n",
            "src/a.ts": "export function ⟦*load⟧(x: number) { return ⟦load⟧(x - 1) }\nexport default ⟦load⟧\n",
            "src/b.ts": "export { ⟦load⟧ } from './a'\nexport { ⟦load⟧ as fetch } from './a'\n",
            "src/index.ts": "export * from './b'\n",
            "use.ts": (
                "import { ⟦load⟧, fetch } from './src/index'\nimport * as all from './src/index'\nimport mine from './src/a'\n"
                "⟦load⟧(1); all.⟦load⟧(2); fetch(3); mine(4)\nconst o = { load: 1 }; o.load\n"
            ),
        },
    ),
    RenameCase(
        "variable in shorthand keeps the key",
        {"package.json": "{}\n", "a.js": "const ⟦*size⟧ = 1\nconst o = { ⟦size⟧, other: ⟦size⟧ }\nmodule.exports = { o }\n"},
    ),
    RenameCase(
        "destructured variable keeps the key",
        {"package.json": "{}\n", "a.ts": "export function f({ ⟦*name⟧, b: c }: { name: string; b: number }) { return ⟦name⟧ + c }\n"},
    ),
    RenameCase(
        "method of an interface with its implementations",
        {
            "package.json": "{}\n",
            "a.ts": (
                "export interface Shape { ⟦*area⟧(n: number): number }\n"
                "export class Disc implements Shape { ⟦area⟧(n: number) { return this.⟦area⟧(n) } }\n"
                "export class Coin extends Disc { ⟦area⟧(n: number) { return super.⟦area⟧(n) } static area() {} }\n"
                "export function f(s: Shape, x: any) { s.⟦area⟧(1); x.⟬area⟭(2) }\n"
            ),
        },
    ),
    RenameCase(
        "members of objects and keys of types are asked about",
        {
            "package.json": "{}\n",
            "a.ts": (
                "export interface Opt { ⟦*name⟧?: string }\nexport const o = { ⟬name⟭: 'x' }\nconst p: Opt = { ⟬name⟭: 'y' }\n"
                "type N = Opt['⟬name⟭']\nexport function f(q: Opt) { return q.⟦name⟧ }\n"
                "export const g = (name: string): Opt => ({ ⟬name⟭ })\n"
            ),
        },
    ),
    RenameCase(
        "parameter property",
        {"package.json": "{}\n", "a.ts": "export class A { constructor(private ⟦*dep⟧: number) { ⟦dep⟧ } get() { return this.⟦dep⟧ } }\n"},
    ),
    RenameCase(
        "private member and type parameter",
        {"package.json": "{}\n", "a.ts": "export class A<⟦*T⟧> { #x = 1; y?: ⟦T⟧; get(): ⟦T⟧[] { this.#x; return [] } }\nexport type T = string\n"},
    ),
    RenameCase(
        "class used as a type and a value",
        {
            "package.json": "{}\n",
            "a.ts": "export class ⟦*Box⟧<T> { static make(): ⟦Box⟧<number> { return new ⟦Box⟧() } }\n",
            "b.tsx": "import { ⟦Box⟧ } from './a'\nimport type { ⟦Box⟧ as Kind } from './a'\nlet b: ⟦Box⟧<string> | Kind<number>; ⟦Box⟧.make(); const e = <⟦Box⟧ />\n",
        },
    ),
    RenameCase(
        "object of exports in shorthand",
        {
            "package.json": "{}\n",
            "a.js": "function ⟦*run⟧() {}\nfunction go() {}\nmodule.exports = { ⟦run⟧, go, x: ⟦run⟧ }\n",
            "b.js": "const { ⟦run⟧, go } = require('./a')\n⟦run⟧()\n",
        },
    ),
    RenameCase(
        "require and exports",
        {
            "package.json": "{}\n",
            "a.js": "function ⟦*run⟧() {}\nexports.other = 1\nmodule.exports.⟦run⟧ = ⟦run⟧\n",
            "b.js": "const a = require('./a')\na.⟦run⟧()\n",
            "c.js": "const { ⟦run⟧ } = require('./a')\n⟦run⟧()\n",
        },
    ),
)  # fmt: skip

GO = (
    RenameCase(
        "function of a package used by another",
        {
            "go.mod": GO_MOD,
            "store/a.go": "package store\n\nfunc ⟦*Load⟧(n int) int { return ⟦Load⟧(n) }\n",
            "store/b.go": "package store\n\nvar F = ⟦Load⟧\n",
            "main.go": 'package main\n\nimport (\n\tst "example.com/m/store"\n)\n\nfunc main() { st.⟦Load⟧(1) }\n\nfunc Load() {}\n',
        },
    ),
    RenameCase(
        "method of an interface with the types that satisfy it",
        {
            "go.mod": GO_MOD,
            "a.go": (
                "package m\n\ntype Shape interface{ ⟦*Area⟧() int }\n\ntype Disc struct{}\n\nfunc (d Disc) ⟦Area⟧() int { return 1 }\n\n"
                "type Line struct{}\n\nfunc (l Line) Area(n int) int { return n }\n\n"
                "func F(s Shape, d *Disc, l Line) { s.⟦Area⟧(); d.⟦Area⟧(); l.Area(1) }\n"
            ),
        },
    ),
    RenameCase(
        "field in literals, selectors and through embedding",
        {
            "go.mod": GO_MOD,
            "a.go": "package m\n\ntype P struct{ ⟦*X⟧, Y int }\n\ntype Q struct{ P }\n\nfunc F(q Q) int {\n\tp := P{⟦X⟧: 1, Y: 2}\n\treturn p.⟦X⟧ + q.⟦X⟧ + q.P.⟦X⟧\n}\n",
        },
    ),
    RenameCase(
        "local that hides a package name, and a type parameter",
        {"go.mod": GO_MOD, "a.go": "package m\n\nvar x = 1\n\nfunc F[⟦*K⟧ any](k ⟦K⟧) ⟦K⟧ {\n\tx := k\n\treturn x\n}\n\nfunc K() {}\n"},
    ),
)  # fmt: skip

JAVA = (
    RenameCase(
        "class with its constructors",
        {
            "pom.xml": POM,
            "src/main/java/a/Box.java": "package a;\n\npublic class ⟦*Box⟧ {\n    public ⟦Box⟧() { this(1); }\n\n    ⟦Box⟧(int n) { }\n\n    static ⟦Box⟧ make() { return new ⟦Box⟧(); }\n}\n",
            "src/main/java/b/Use.java": 'package b;\n\nimport a.⟦Box⟧;\nimport static a.⟦Box⟧.make;\n\nclass Use {\n    ⟦Box⟧ box = new ⟦Box⟧();\n    String s = "Box";\n}\n',
        },
    ),
    RenameCase(
        "one overload and its overrides",
        {
            "pom.xml": POM,
            "A.java": 'class A {\n    void ⟦*go⟧(int n) { ⟦go⟧(1); go("s", 2); }\n\n    void go(String s, int k) { }\n}\n\nclass B extends A {\n    @Override\n    void ⟦go⟧(int n) { super.⟦go⟧(n); }\n}\n',
        },
    ),
    RenameCase(
        "field hidden by a parameter",
        {"pom.xml": POM, "A.java": "class A {\n    private int ⟦*n⟧;\n\n    A(int n) { this.⟦n⟧ = n; }\n\n    int get() { return ⟦n⟧; }\n}\n"},
    ),
    RenameCase(
        "constant of an enumeration",
        {"pom.xml": POM, "C.java": "enum C {\n    ⟦*RED⟧, BLUE;\n\n    static C first() { return ⟦RED⟧; }\n}\n\nclass U {\n    C c = C.⟦RED⟧;\n}\n"},
    ),
)  # fmt: skip

RUST = (
    RenameCase(
        "method of a trait with its implementations",
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "pub trait Shape { fn ⟦*area⟧(&self) -> i32; }\n\npub struct Disc;\n\n"
                "impl Shape for Disc { fn ⟦area⟧(&self) -> i32 { 1 } }\n\npub struct Line;\n\n"
                "impl Line { pub fn area(&self) -> i32 { 2 } }\n\npub fn f(d: &Disc, l: &Line) { d.⟦area⟧(); l.area(); }\n"
            ),
        },
    ),
    RenameCase(
        "field in shorthand and patterns",
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": "pub struct P { pub ⟦*x⟧: i32, y: i32 }\n\npub fn make(x: i32, y: i32) -> P { P { ⟦x⟧, y } }\n\npub fn read(p: &P) -> i32 { let P { ⟦x⟧, y } = p; x + y + p.⟦x⟧ }\n",
        },
    ),
    RenameCase(
        "variable in shorthand and in a format string",
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": 'pub struct P { pub x: i32 }\n\npub fn make() -> P { let ⟦*x⟧ = 1; println!("{⟦x⟧} {}", ⟦x⟧); P { ⟦x⟧ } }\n',
        },
    ),
    RenameCase(
        "arguments of macros are asked about",
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": "pub fn ⟦*load⟧() -> i32 { 1 }\n\npub fn f() { assert_it!(⟬load⟭()); ⟦load⟧(); }\n",
        },
    ),
    RenameCase(
        "function used through a path and a use",
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": "mod store;\nuse crate::store::⟦load⟧;\nuse crate::store::⟦load⟧ as fetch;\n\npub fn f() { ⟦load⟧(); store::⟦load⟧(); fetch(); }\n",
            "src/store.rs": "pub fn ⟦*load⟧() { ⟦load⟧() }\n",
        },
    ),
)  # fmt: skip

CASES = (*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST)
