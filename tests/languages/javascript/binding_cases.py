"""Labelled cases of the scoping rules of JavaScript, TypeScript and JSX: which place a name means.

`languages` says by which grammars the case is read: `all` three, `js`, `ts` (without JSX) or `tsx` (and, where the
source is no TypeScript, `jsx` for JavaScript and TSX).

`expected` lists `name@line -> answer`, separated by `; `. `name@line.2` is the second occurrence on that line. Answers:

- `3`: the definition whose name stands on line 3; `3?` says UNCERTAIN. `3.2` is the second definition of that name on
  the line.
- `i3`: the import on line 3.
- `-`: a plain name that is bound to nothing in this file.
- `.a`: a member without a bind; the name before the dot is `a`. `.this`, `.super`: of the class around it.
  `.?`: of an expression. `.=`: a key, an attribute, a name that belongs to something not written here.
- `none`: there is no reference at all.
"""

from typing import NamedTuple


class BindingCase(NamedTuple):
    """One snippet with what its names mean."""

    title: str
    languages: str
    source: str
    expected: str


BINDING_CASES = (
    # Variables and blocks.
    BindingCase("const", "all", "const x = 1\nx\n", "x@1 -> 1; x@2 -> 1"),
    BindingCase("unknown name", "all", "foo(bar.baz)\n", "foo@1 -> -; bar@1 -> -; baz@1 -> .bar"),
    BindingCase("let in a block does not leak", "all", "{\n  let x = 1\n  x\n}\nx\n", "x@3 -> 2; x@5 -> -"),
    BindingCase("inner let shadows", "all", "let x = 1\n{\n  let x = 2\n  x\n}\nx\n", "x@4 -> 3; x@6 -> 1"),
    BindingCase(
        "let before its declaration is still that let", "all", "let x = 1\n{\n  x\n  let x = 2\n}\n", "x@3 -> 4"
    ),
    BindingCase(
        "var is hoisted to the function",
        "all",
        "function f() {\n  x\n  if (a) {\n    var x = 1\n  }\n  x\n}\nx\n",
        "x@2 -> 4; x@6 -> 4; x@8 -> -",
    ),
    BindingCase("var declared twice is one variable", "all", "var x = 1\nvar x = 2\nx\n", "x@2 -> 1; x@3 -> 1"),
    BindingCase("var of a for loop", "all", "for (var i = 0; i < 3; i++) {}\ni\n", "i@1.2 -> 1; i@1.3 -> 1; i@2 -> 1"),
    BindingCase("let of a for loop", "all", "for (let i = 0; i < 3; i++) { i }\ni\n", "i@1.4 -> 1; i@2 -> -"),
    BindingCase("for of", "all", "for (const x of xs) {\n  x\n}\nx\n", "x@2 -> 1; x@4 -> -; xs@1 -> -"),
    BindingCase("for in without declaration", "all", "let k\nfor (k in o) k\n", "k@2 -> 1; k@2.2 -> 1"),
    BindingCase("assignment binds nothing", "all", "x = 1\nx\n", "x@1 -> -; x@2 -> -"),
    BindingCase("assignment to an outer let", "all", "let x\nfunction f() { x = 1 }\n", "x@2 -> 1"),
    BindingCase(
        "switch is one block",
        "all",
        "switch (a) {\n  case 1:\n    let x = 1\n  case 2:\n    x\n}\nx\n",
        "x@5 -> 3; x@7 -> -",
    ),
    BindingCase("two lets of one name", "all", "let x = 1\nlet x = 2\nx\n", "x@3 -> 1?"),
    BindingCase("several declarators", "all", "const a = 1, b = a\nb\n", "a@1.2 -> 1; b@2 -> 1"),
    BindingCase("closure sees a later const", "all", "const f = () => x\nconst x = 1\n", "x@1 -> 2"),
    BindingCase("with leaves names open", "js", "var x\nwith (o) {\n  x\n}\nx\n", "x@3 -> -; x@5 -> 1; o@2 -> -"),
    # Functions.
    BindingCase("function is hoisted", "all", "f()\nfunction f() {}\n", "f@1 -> 2"),
    BindingCase("function in a block", "all", "export {}\n{\n  f()\n  function f() {}\n}\nf()\n", "f@3 -> 4; f@6 -> -"),
    BindingCase(
        "function in a block of a sloppy script", "js", "{\n  function f() {}\n  f()\n}\nf()\n", "f@3 -> 2; f@5 -> 2?"
    ),
    BindingCase(
        "function in a block of a strict script", "js", "'use strict'\n{\n  function f() {}\n}\nf()\n", "f@5 -> -"
    ),
    BindingCase("two functions of one name", "js", "function f() {}\nfunction f() {}\nf()\n", "f@3 -> 1?"),
    BindingCase("function and var of one name", "js", "function f() {}\nvar f = 1\nf\n", "f@3 -> 1?"),
    BindingCase("parameter", "all", "function f(a) {\n  return a\n}\na\n", "a@2 -> 1; a@4 -> -"),
    BindingCase(
        "parameter and var are one variable",
        "all",
        "function f(a) {\n  var a = a || 1\n  return a\n}\n",
        "a@2 -> 1; a@2.2 -> 1; a@3 -> 1",
    ),
    BindingCase(
        "parameter named as the function",
        "all",
        "function f(f) {\n  f\n}\nf\n",
        "f@1 -> 1; f@1.2 -> 1.2; f@2 -> 1.2; f@4 -> 1",
    ),
    BindingCase("default sees earlier parameters", "all", "function f(a, b = a) {}\n", "a@1.2 -> 1"),
    BindingCase(
        "default does not see the body",
        "all",
        "const x = 1\nfunction f(a = x) {\n  const x = 2\n  return x\n}\n",
        "x@2 -> 1; x@4 -> 3",
    ),
    BindingCase(
        "var of a body with defaults is the parameter", "all", "function f(a = 1) {\n  var a\n  a\n}\n", "a@3 -> 1"
    ),
    BindingCase("rest parameter", "all", "function f(...args) {\n  args\n}\n", "args@2 -> 1"),
    BindingCase("arrow with one bare parameter", "all", "const f = a => a\na\n", "a@1.2 -> 1; a@2 -> -"),
    BindingCase("arrow with parameters", "all", "const f = (a, b) => {\n  return a + b\n}\n", "a@2 -> 1; b@2 -> 1"),
    BindingCase(
        "async arrow and generator",
        "all",
        "const f = async x => x\nfunction* g(y) { yield y }\n",
        "x@1.2 -> 1; y@2.2 -> 2",
    ),
    BindingCase("closure", "all", "function f() {\n  let x = 1\n  return function () { return x }\n}\n", "x@3 -> 2"),
    BindingCase(
        "named function expression is seen inside",
        "all",
        "const g = function f() {\n  f()\n}\nf()\n",
        "f@2 -> 1; f@4 -> -",
    ),
    BindingCase(
        "named function expression yields to a local",
        "all",
        "const g = function f() {\n  const f = 1\n  f\n}\n",
        "f@3 -> 2",
    ),
    BindingCase(
        "named function expression yields to a parameter", "all", "const g = function f(f) {\n  f\n}\n", "f@2 -> 1.2"
    ),
    BindingCase("function called at once", "all", "(function () {\n  var x\n  x\n})()\nx\n", "x@3 -> 2; x@5 -> -"),
    BindingCase("parameters in a callback", "all", "xs.map((x, i) => x + i)\n", "x@1.2 -> 1; i@1.2 -> 1; map@1 -> .xs"),
    # Destructuring.
    BindingCase(
        "object pattern",
        "all",
        "const { a, b: c, ...d } = o\na, b, c, d\n",
        "a@2 -> 1; b@2 -> -; c@2 -> 1; d@2 -> 1; b@1 -> .=",
    ),
    BindingCase("array pattern", "all", "const [a, , b = 1, ...c] = o\na, b, c\n", "a@2 -> 1; b@2 -> 1; c@2 -> 1"),
    BindingCase(
        "nested pattern",
        "all",
        "const { a: { b: [c] }, d = e } = o\nc, d\n",
        "c@2 -> 1; d@2 -> 1; a@1 -> .=; b@1 -> .=; e@1 -> -",
    ),
    BindingCase(
        "pattern as a parameter",
        "all",
        "function f({ a, b: { c } = {} }, [d]) {\n  a, c, d\n}\n",
        "a@2 -> 1; c@2 -> 1; d@2 -> 1",
    ),
    BindingCase("pattern in an arrow", "all", "const f = ({ a }, [b]) => a + b\n", "a@1.2 -> 1; b@1.2 -> 1"),
    BindingCase("pattern in for of", "all", "for (const [k, { v }] of m) {\n  k, v\n}\n", "k@2 -> 1; v@2 -> 1"),
    BindingCase("default in a pattern is a use", "all", "const x = 1\nconst { a = x } = o\n", "x@2 -> 1"),
    BindingCase(
        "computed key in a pattern is a use", "all", "const k = 'a'\nconst { [k]: v } = o\nv\n", "k@2 -> 1; v@3 -> 2"
    ),
    BindingCase(
        "destructuring assignment binds nothing",
        "all",
        "let a, b;\n({ a, x: b } = o)\n;[a, b] = [b, a]\n",
        "a@2 -> 1; b@2 -> 1; x@2 -> .=; a@3 -> 1; b@3.2 -> 1",
    ),
    BindingCase("var pattern is hoisted", "all", "function f() {\n  { var { a } = o }\n  a\n}\n", "a@3 -> 2"),
    # Catch, labels.
    BindingCase("catch binding", "all", "try {} catch (e) {\n  e\n}\ne\n", "e@2 -> 1; e@4 -> -"),
    BindingCase("catch pattern", "all", "try {} catch ({ message }) {\n  message\n}\n", "message@2 -> 1"),
    BindingCase("catch without binding", "all", "let e\ntry {} catch {\n  e\n}\n", "e@3 -> 1"),
    BindingCase("labels are no names", "all", "const a = 1\na: for (;;) {\n  break a\n}\n", "a@2 -> none; a@3 -> none"),
    # Classes.
    BindingCase("class declaration", "all", "class A {}\nnew A()\n", "A@2 -> 1"),
    BindingCase("class in a block", "all", "{\n  class A {}\n  A\n}\nA\n", "A@3 -> 2; A@5 -> -"),
    BindingCase(
        "class expression", "all", "const A = class B {\n  m() { return B }\n}\nA, B\n", "B@2 -> 1; A@4 -> 1; B@4 -> -"
    ),
    BindingCase("method name is no plain name", "all", "class A {\n  m() { m() }\n}\nm()\n", "m@2.2 -> -; m@4 -> -"),
    BindingCase("this in a method", "all", "class A {\n  x = 1\n  m() { return this.x }\n}\n", "x@3 -> .this"),
    BindingCase(
        "this in an arrow in a method", "all", "class A {\n  x = 1\n  m() { return () => this.x }\n}\n", "x@3 -> .this"
    ),
    BindingCase(
        "this in a function in a method",
        "all",
        "class A {\n  x = 1\n  m() { return function () { return this.x } }\n}\n",
        "x@3 -> .?",
    ),
    BindingCase("this outside of a class", "all", "this.x\nfunction f() { this.y }\n", "x@1 -> .?; y@2 -> .?"),
    BindingCase("this in a field", "all", "class A {\n  x = 1\n  y = this.x\n}\n", "x@3 -> .this"),
    BindingCase(
        "this in a static method finds static members",
        "all",
        "class A {\n  static x = 1\n  y = 2\n  static m() { this.x; this.y }\n  n() { this.x }\n}\n",
        "x@4 -> .this; y@4 -> .?; x@5 -> .?",
    ),
    BindingCase("super member", "all", "class A extends B {\n  m() { super.m() }\n}\n", "m@2.2 -> .super; B@1 -> -"),
    BindingCase(
        "private name", "all", "class A {\n  #x = 1\n  m(o) { return this.#x + o.#x }\n}\n", "#x@3 -> 2; #x@3.2 -> 2"
    ),
    BindingCase(
        "private name of the outer class",
        "all",
        "class A {\n  #x\n  m() { return class { n(a) { a.#x } } }\n}\n",
        "#x@3 -> 2",
    ),
    BindingCase(
        "getter, setter, static",
        "all",
        "class A {\n  get p() { return 1 }\n  static s() {}\n}\nA.s()\n",
        "p@2 -> -; s@3 -> -; s@5 -> .A",
    ),
    BindingCase(
        "static block", "all", "class A {\n  static {\n    var x = 1\n    x\n  }\n}\nx\n", "x@4 -> 3; x@7 -> -"
    ),
    BindingCase("base class", "all", "class B {}\nclass A extends B {}\n", "B@2 -> 1"),
    BindingCase("computed method", "all", "const k = 1\nclass A {\n  [k]() {}\n}\n", "k@3 -> 1"),
    BindingCase(
        "name of a class reads a builtin of functions", "all", "class A {\n  name = 1\n}\nA.name\n", "name@4 -> .?"
    ),
    # Objects and members.
    BindingCase("object shorthand is a use", "all", "const a = 1\nf({ a })\n", "a@2 -> 1"),
    BindingCase(
        "object keys are no names", "all", "const a = 1\nf({ a: 2, b: a })\n", "a@2 -> .=; a@2.2 -> 1; b@2 -> .="
    ),
    BindingCase("computed object key", "all", "const a = 1\nf({ [a]: 2 })\n", "a@2 -> 1"),
    BindingCase("method in an object", "all", "const a = 1\nf({ a() { a } })\n", "a@2.2 -> 1"),
    BindingCase("spread", "all", "const a = {}\nf({ ...a }, ...a)\n", "a@2 -> 1; a@2.2 -> 1"),
    BindingCase("member chain", "all", "a.b.c\n", "a@1 -> -; b@1 -> .a; c@1 -> .b"),
    BindingCase("member chain over lines", "all", "a\n  .b() // x.y\n  .c()\n", "b@2 -> .a; c@3 -> .?"),
    BindingCase(
        "members of expressions",
        "all",
        "f().x; a[0].y; (a || b).z; `${a}`.w\n",
        "x@1 -> .?; y@1 -> .?; z@1 -> .?; w@1 -> .?",
    ),
    BindingCase(
        "optional chaining", "all", "a?.b?.c; a?.[0].d; a?.().e\n", "b@1 -> .a; c@1 -> .b; d@1 -> .?; e@1 -> .?"
    ),
    BindingCase("import.meta and new.target", "all", "import.meta.env.X\n", "env@1 -> .?; X@1 -> .env"),
    BindingCase(
        "template literal",
        "all",
        "const x = 1\n`a ${x} ${`${x}`}`\ntag`${x}`\n",
        "x@2 -> 1; x@2.2 -> 1; x@3 -> 1; tag@3 -> -",
    ),
    BindingCase(
        "this in an object method", "all", "class A {\n  x\n  m() { return { n() { this.x } } }\n}\n", "x@3 -> .?"
    ),
    # Imports and exports.
    BindingCase("default import", "all", "import a from './a'\na()\n", "a@1 -> i1; a@2 -> i1"),
    BindingCase(
        "named imports",
        "all",
        "import { a, b as c } from './a'\na, b, c\n",
        "a@2 -> i1; b@2 -> -; c@2 -> i1; b@1 -> i1",
    ),
    BindingCase("namespace import", "all", "import * as ns from './a'\nns.x\n", "ns@2 -> i1; x@2 -> .ns"),
    BindingCase(
        "import of both",
        "all",
        "import d, { a } from './a'\nimport e, * as n from './b'\nd, a, e, n\n",
        "d@3 -> i1; a@3 -> i1; e@3 -> i2; n@3 -> i2",
    ),
    BindingCase("import for its effects", "all", "import './a'\na\n", "a@2 -> -"),
    BindingCase("import is hoisted", "all", "a()\nimport { a } from './a'\n", "a@1 -> i2"),
    BindingCase(
        "import shadowed by a parameter", "all", "import { a } from './a'\nfunction f(a) {\n  a\n}\n", "a@3 -> 2"
    ),
    BindingCase("import and a local of one name", "all", "import { a } from './a'\nlet a = 1\na\n", "a@3 -> i1?"),
    BindingCase(
        "export list", "all", "const a = 1\nexport { a, a as b, a as default }\n", "a@2 -> 1; a@2.2 -> 1; b@2 -> 1"
    ),
    BindingCase(
        "exported declarations",
        "all",
        "export const a = 1, [b] = c\nexport function f() { a }\nexport class K {}\nb, f, K\n",
        "a@2 -> 1; b@4 -> 1; f@4 -> 2; K@4 -> 3",
    ),
    BindingCase("default export of a name", "all", "const a = 1\nexport default a\n", "a@2 -> 1"),
    BindingCase("default export of a function", "all", "export default function f() {}\nf()\n", "f@2 -> 1"),
    BindingCase(
        "re-export binds no name in the file",
        "all",
        "export { a as b } from './a'\na, b\n",
        "a@1 -> i1; b@1 -> i1; a@2 -> -; b@2 -> -",
    ),
    BindingCase("star exports", "all", "export * from './a'\nexport * as ns from './b'\nns\n", "ns@2 -> i2; ns@3 -> -"),
    BindingCase("export of an import", "all", "import { a } from './a'\nexport { a }\n", "a@2 -> i1"),
    BindingCase("require", "all", "const a = require('./a')\na.x\n", "a@2 -> i1; x@2 -> .a"),
    BindingCase(
        "require with a pattern",
        "all",
        "const { a, b: c } = require('./a')\na, b, c\n",
        "a@2 -> i1; b@2 -> -; c@2 -> i1",
    ),
    BindingCase("require of one member", "all", "const a = require('./a').b\na\n", "a@2 -> i1; b@1 -> .?"),
    BindingCase("require in a var that is assigned again", "js", "var a = require('./a')\na = 2\na\n", "a@3 -> i1?"),
    BindingCase("require in a var", "js", "var a = require('./a')\na\n", "a@2 -> i1"),
    BindingCase(
        "require that is something else",
        "js",
        "function f(require) {\n  const a = require('./a')\n  a\n}\n",
        "a@3 -> i2?; require@2 -> 1",
    ),
    BindingCase(
        "require in a function", "all", "function f() {\n  const a = require('./a')\n  a\n}\na\n", "a@3 -> i2; a@5 -> -"
    ),
    BindingCase(
        "dynamic import",
        "all",
        "async function f() {\n  const { a } = await import('./a')\n  const m = await import('./b')\n  a, m.x\n}\n",
        "a@4 -> i2; m@4 -> i3; x@4 -> .m",
    ),
    BindingCase(
        "module.exports",
        "js",
        "function a() {}\nmodule.exports = { a, b: a }\nexports.c = a\n",
        "a@2 -> 1; a@2.2 -> 1; b@2 -> .=; module@2 -> -; exports@2 -> .module; "
        "exports@3 -> -; c@3 -> .exports; a@3 -> 1",
    ),
    # JSX.
    BindingCase(
        "component",
        "jsx",
        "const Foo = () => null\nconst x = <Foo a={Foo}></Foo>\n",
        "Foo@2 -> 1; Foo@2.2 -> 1; Foo@2.3 -> 1; a@2 -> .=",
    ),
    BindingCase(
        "lower-case tag is no reference",
        "jsx",
        "const div = 1\nconst x = <div><br /></div>\n",
        "div@2 -> none; br@2 -> none",
    ),
    BindingCase(
        "member as a component",
        "jsx",
        "import * as ui from './ui'\nconst x = <ui.Button kind='a' />\n",
        "ui@2 -> i1; Button@2 -> .ui; kind@2 -> .=",
    ),
    BindingCase(
        "expressions in JSX",
        "jsx",
        "const a = 1\nconst x = <div {...a} b={a}>{a} a</div>\n",
        "a@2 -> 1; a@2.2 -> 1; a@2.3 -> 1; a@2.4 -> none",
    ),
    BindingCase(
        "tag with a dash", "jsx", "const my = 1\nconst x = <my-tag data-a='1' />\n", "my@2 -> none; my-tag@2 -> none"
    ),
    BindingCase("fragment", "jsx", "const a = 1\nconst x = <>{a}</>\n", "a@2 -> 1"),
    # Types.
    BindingCase(
        "interface",
        "ts tsx",
        "interface A { x: B }\nconst a: A = f()\na.x\n",
        "A@2 -> 1; B@1 -> -; a@3 -> 2; x@3 -> .a",
    ),
    BindingCase("type alias", "ts tsx", "type A = string | B\ntype B = A[]\n", "B@1 -> 2; A@2 -> 1"),
    BindingCase(
        "enum",
        "ts tsx",
        "enum E { A = 1, B = A }\nE.A\nlet e: E.B\n",
        "A@1.2 -> 1; E@2 -> 1; A@2 -> .E; E@3 -> 1; B@3 -> .E",
    ),
    BindingCase(
        "interface and const of one name",
        "ts tsx",
        "interface Foo { a: string }\nconst Foo = 1\nlet x: Foo\nx = Foo\ntype T = typeof Foo\n",
        "Foo@1 -> 1; Foo@2 -> 2; Foo@3 -> 1; Foo@4 -> 2; Foo@5 -> 2",
    ),
    BindingCase(
        "value does not shadow a type",
        "ts tsx",
        "type Foo = 1\nfunction f(Foo: Foo) {\n  let x: Foo = Foo\n}\n",
        "Foo@2.2 -> 1; Foo@3 -> 1; Foo@3.2 -> 2",
    ),
    BindingCase("type does not shadow a value", "ts tsx", "const Foo = 1\n{\n  type Foo = 2\n  Foo\n}\n", "Foo@4 -> 1"),
    BindingCase("class is a type and a value", "ts tsx", "class A {}\nlet a: A = new A()\n", "A@2 -> 1; A@2.2 -> 1"),
    BindingCase(
        "interfaces of one name are one thing",
        "ts tsx",
        "interface A { x: 1 }\ninterface A { y: 1 }\nlet a: A\n",
        "A@3 -> 1; A@2 -> 1",
    ),
    BindingCase(
        "class and interface are one thing",
        "ts tsx",
        "interface A { x: 1 }\nclass A {}\nlet a: A = new A()\n",
        "A@3 -> 2; A@3.2 -> 2; A@1 -> 2",
    ),
    BindingCase(
        "function and namespace are one thing",
        "ts tsx",
        "function f() {}\nnamespace f { export const x = 1; export type T = 1 }\nf()\nlet t: f.T\n",
        "f@3 -> 1; f@4 -> 2; T@4 -> .f",
    ),
    BindingCase("class and alias of one name", "ts tsx", "class A {}\ntype A = 1\nlet a: A\n", "A@3 -> 1?"),
    BindingCase(
        "namespace",
        "ts tsx",
        "namespace N {\n  export const x = 1\n  x\n}\nN.x\nx\n",
        "x@3 -> 2; N@5 -> 1; x@5 -> .N; x@6 -> -",
    ),
    BindingCase(
        "namespaces of one name are one thing",
        "ts tsx",
        "namespace N { export const x = 1 }\nnamespace N { export const y = 1 }\nN.y\n",
        "N@3 -> 1; N@2 -> 1",
    ),
    BindingCase(
        "nested namespace",
        "ts tsx",
        "namespace A.B {\n  export type T = 1\n}\nlet t: A.B.T\n",
        "A@4 -> 1; B@4 -> .A; T@4 -> .B",
    ),
    BindingCase("enums of one name are one thing", "ts tsx", "enum E { A }\nenum E { B = 1 }\nE\n", "E@3 -> 1"),
    BindingCase(
        "overloads are one function",
        "ts tsx",
        "function f(a: string): void\nfunction f(a: number): void\nfunction f(a: any) { a }\nf(1)\n",
        "f@1 -> 3; f@2 -> 3; f@4 -> 3; a@3.2 -> 3",
    ),
    BindingCase(
        "ambient overloads are one function",
        "ts tsx",
        "declare function f(a: string): void\ndeclare function f(a: number): void\nf(1)\n",
        "f@3 -> 1",
    ),
    BindingCase(
        "type parameters",
        "ts tsx",
        "function f<T extends U, U>(a: T): T {\n  let b: T = a\n}\nlet c: T\n",
        "U@1 -> 1; T@1.2 -> 1; T@1.3 -> 1; T@2 -> 1; T@4 -> -",
    ),
    BindingCase(
        "type parameters of a class",
        "ts tsx",
        "class A<T> extends B<T> {\n  x: T\n  m<V>(v: V): T { let t: T }\n}\n",
        "T@1.2 -> 1; T@2 -> 1; V@3.2 -> 3; T@3 -> 1; T@3.2 -> 1",
    ),
    BindingCase(
        "type parameters of an alias and an interface",
        "ts tsx",
        "type A<T> = T[]\ninterface I<T, D = T> { x: D }\n",
        "T@1.2 -> 1; T@2.2 -> 2; D@2.2 -> 2",
    ),
    BindingCase(
        "type parameter shadows",
        "ts tsx",
        "type T = 1\nconst f = <T,>(x: T) => x\nlet y: T\n",
        "T@2.2 -> 2; T@3 -> 1; x@2.2 -> 2",
    ),
    BindingCase(
        "infer is seen in the true branch",
        "ts tsx",
        "type A<T> = T extends (infer U)[] ? U : U\n",
        "U@1 -> 1; U@1.2 -> 1; U@1.3 -> -",
    ),
    BindingCase(
        "infer twice is one type",
        "ts tsx",
        "type A<T> = T extends [infer U, infer U] ? U : 1\n",
        "U@1.2 -> 1; U@1.3 -> 1",
    ),
    BindingCase(
        "mapped type",
        "ts tsx",
        "type A<T> = { [K in keyof T as `x${K}`]: T[K] }\ntype B = K\n",
        "K@1.2 -> 1; K@1.3 -> 1; T@1.3 -> 1; K@2 -> -",
    ),
    BindingCase(
        "function type",
        "ts tsx",
        "type F = <T>(a: T, b: typeof a) => a is T\na\n",
        "T@1.2 -> 1; a@1.2 -> 1; a@1.3 -> 1; T@1.3 -> 1; a@2 -> -",
    ),
    BindingCase("index signature", "ts tsx", "interface A { [key: string]: B }\nkey\n", "key@2 -> -; key@1 -> 1"),
    BindingCase(
        "named tuple members", "ts tsx", "type A = [first: B, second?: C]\n", "first@1 -> .=; second@1 -> .=; B@1 -> -"
    ),
    BindingCase("as and satisfies", "ts tsx", "type A = 1\nconst x = y as A satisfies A\n", "A@2 -> 1; A@2.2 -> 1"),
    BindingCase("angle assertion", "ts", "type A = 1\nconst x = <A>y\n", "A@2 -> 1"),
    BindingCase("non-null", "ts tsx", "let a\na!.b\n", "a@2 -> 1; b@2 -> .a"),
    BindingCase(
        "type predicate",
        "ts tsx",
        "function f(x: any): x is A {}\nfunction g(x: any): asserts x is A {}\n",
        "x@1.2 -> 1; x@2.2 -> 2",
    ),
    BindingCase(
        "type-only import",
        "ts tsx",
        "import type { A } from './a'\nimport { type B, c } from './b'\nlet a: A, b: B = c\n",
        "A@3 -> i1; B@3 -> i2; c@3 -> i2",
    ),
    BindingCase(
        "import of a namespace in types",
        "ts tsx",
        "import * as ns from './a'\nlet a: ns.A<ns.B>\n",
        "ns@2 -> i1; A@2 -> .ns; ns@2.2 -> i1; B@2 -> .ns",
    ),
    BindingCase("import equals", "ts tsx", "import a = require('./a')\na.x\nlet b: a.B\n", "a@2 -> i1; a@3 -> i1"),
    BindingCase(
        "import alias",
        "ts tsx",
        "namespace N { export namespace M { export const x = 1 } }\nimport M = N.M\nM.x\n",
        "N@2 -> 1; M@3 -> 2; M@2.2 -> .N",
    ),
    BindingCase("export equals", "ts tsx", "class A {}\nexport = A\n", "A@2 -> 1"),
    BindingCase(
        "decorators",
        "ts tsx",
        "function d(x: any) {}\n@d class A {\n  @d x\n  @d m(@d p: any) {}\n}\n",
        "d@2 -> 1; d@3 -> 1; d@4 -> 1; d@4.2 -> 1",
    ),
    BindingCase(
        "decorator of a parameter does not see it",
        "ts tsx",
        "const p = 1\nclass A {\n  m(@d(p) p: any) { p }\n}\n",
        "p@3 -> 1; p@3.3 -> 3",
    ),
    BindingCase(
        "parameter property",
        "ts tsx",
        "class A {\n  constructor(private x: B, y: C) { x; y; this.x }\n}\n",
        "x@2.2 -> 2; y@2.2 -> 2; x@2.3 -> .this",
    ),
    BindingCase(
        "abstract class",
        "ts tsx",
        "abstract class A {\n  abstract m(): void\n  n() { this.m() }\n}\nclass B extends A {}\n",
        "m@3 -> .this; A@5 -> 1",
    ),
    BindingCase("declare", "ts tsx", "declare const x: number\ndeclare class K {}\nx, K\n", "x@3 -> 1; K@3 -> 2"),
    BindingCase(
        "ambient module",
        "ts tsx",
        "declare module 'm' {\n  export const x: T\n  type T = 1\n}\nx\n",
        "x@5 -> -; T@2 -> 3",
    ),
    BindingCase(
        "declare global",
        "ts tsx",
        "export {}\ndeclare global {\n  interface W { x: V }\n  type V = 1\n}\nlet w: W\n",
        "V@3 -> 4; W@6 -> -",
    ),
    BindingCase(
        "implements",
        "ts tsx",
        "interface I {}\nclass A implements I {}\ninterface J extends I {}\n",
        "I@2 -> 1; I@3 -> 1",
    ),
    BindingCase(
        "this parameter",
        "ts tsx",
        "class A {\n  x\n  m() { return function (this: A) { this.x } }\n}\n",
        "A@3 -> 1; x@3 -> .?",
    ),
    BindingCase(
        "export of a type and a value",
        "ts tsx",
        "type A = 1\nconst A = 1\nexport { A }\nexport type { A as B }\n",
        "A@3 -> 2",
    ),
    BindingCase(
        "generic component",
        "tsx",
        "const Foo = <T,>(p: T) => null\nconst x = <Foo<string> a={1} />\n",
        "Foo@2 -> 1; T@1.2 -> 1; a@2 -> .=",
    ),
    BindingCase("typeof in a type", "ts tsx", "const a = { b: 1 }\ntype A = typeof a.b\n", "a@2 -> 1; b@2 -> .a"),
    BindingCase(
        "keyof and lookup", "ts tsx", "interface A { x: 1 }\ntype B = A['x']\ntype C = keyof A\n", "A@2 -> 1; A@3 -> 1"
    ),
)
