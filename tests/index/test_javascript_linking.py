"""What names mean across JavaScript files: each case is a small repository and questions about places in it."""

from pathlib import Path

import pytest

from index.linking_cases import Case, check

CASES = (
    Case(
        "a class that is the whole module",
        {
            "x.js": "module.exports = class X {\n  run() {}\n  static make() {}\n};\n",
            "m.js": "const Y = require('./x');\nnew Y();\nY.make();\nconst y = new Y();\ny.run();\n"
            "class Z extends Y {\n"
            "  go() { this.run(); }\n}\n",
        },
        "m.js:1 Y -> x.js:1 STRONG\nm.js:2 Y -> x.js:1 STRONG\nm.js:3 Y -> x.js:1 STRONG\n"
        "m.js:3 make -> x.js:3 STRONG\n"
        "m.js:5 run -> x.js:2 STRONG\nm.js:7 run -> x.js:2 STRONG",
    ),
    Case(
        "a function that is the whole module, with members",
        {
            "x.js": "function f() {}\nf.g = function () {};\nmodule.exports = f;\nmodule.exports.h = function () {};\n",
            "m.js": "const f = require('./x');\nf();\nf.g();\nf.h();\n",
        },
        "m.js:2 f -> x.js:1 STRONG\nm.js:3 g -> x.js:2 STRONG\nm.js:4 h -> x.js:4 STRONG",
    ),
    Case(
        "members of a function and of what it makes",
        {
            "m.js": "function F() {}\nF.a = function () {};\nF.prototype.b = function () {};\nF.a();\nF.b();\n"
            "const f = new F();\nf.a();\nf.b();\n",
        },
        "m.js:4 a -> m.js:2 PROVEN\nm.js:5 b -> -\nm.js:7 a -> -",
    ),
    Case(
        "the result of a function has its declared type",
        {
            "a.ts": "export class A { run() {} next(): A { return this } }\n"
            "export function make(): A { return new A() }\n"
            "export function both(x: string): A;\nexport function both(x: number): string;\n"
            "export function both(x: any): any {}\nexport const arrow = (): A => new A();\n"
            "type F = { run(): void; (): A };\nexport const typed: F = null!;\n"
            "export async function later(): Promise<A> {}\n",
            "m.ts": "import { make, both, arrow, typed, later } from './a';\nconst a = make();\na.run();\n"
            "const b = a.next();\n"
            "b.run();\nconst c = both(1);\nc.run();\nconst d = arrow();\nd.run();\nconst e = typed();\ne.run();\n"
            "const f = later();\nf.run();\nlet g = make();\ng.run();\n",
        },
        "m.ts:3 run -> a.ts:1 STRONG\nm.ts:5 run -> a.ts:1 STRONG\nm.ts:7 run -> -\nm.ts:9 run -> a.ts:1 STRONG\n"
        "m.ts:11 run -> -\nm.ts:13 run -> -\nm.ts:15 run -> -",
    ),
    Case(
        "a module that only has members stays a module",
        {"x.js": "exports.a = function () {};\n", "m.js": "const x = require('./x');\nx;\nx.a();\n"},
        "m.js:2 x -> -\nm.js:3 a -> x.js:1 STRONG",
    ),
    Case(
        "a whole module that passes another on",
        {
            "x.js": "module.exports = class X { run() {} };\n",
            "y.js": "module.exports = require('./x');\n",
            "m.js": "const X = require('./y');\nnew X();\n",
        },
        "m.js:2 X -> x.js:1 STRONG",
    ),
    Case(
        "a namespace import is no default",
        {
            "x.js": "export default function f() {}\nexport const a = 1;\n",
            "m.js": "import * as x from './x.js';\nx;\nx.a;\n",
        },
        "m.js:2 x -> -\nm.js:3 a -> x.js:2 STRONG",
    ),
    Case(
        "two stars that pass on different things pass on nothing",
        {
            "a.js": "export const x = 1;\nexport const y = 1;\n",
            "b.js": "export const x = 2;\n",
            "i.js": "export * from './a.js';\nexport * from './b.js';\n",
            "m.js": "import { x, y } from './i.js';\nx;\ny;\n",
        },
        "m.js:2 x -> -\nm.js:3 y -> a.js:2 STRONG",
    ),
    Case(
        "two stars that pass on one thing",
        {
            "a.js": "export const x = 1;\n",
            "b.js": "export * from './a.js';\n",
            "i.js": "export * from './a.js';\nexport * from './b.js';\n",
            "m.js": "import { x } from './i.js';\nx;\n",
        },
        "m.js:2 x -> a.js:1 STRONG",
    ),
    Case(
        "an own export comes before stars",
        {
            "a.js": "export const x = 1;\n",
            "i.js": "export const x = 2;\nexport * from './a.js';\n",
            "m.js": "import { x } from './i.js';\nx;\n",
        },
        "m.js:2 x -> i.js:1 STRONG",
    ),
    Case(
        "what adds to one of two namespaces of a name adds to that one",
        {
            "m.ts": "class T { x = 1; }\nnamespace T { export const k = 1; }\n"
            "namespace B { export class T { y = 1; } }\nB.T.k;\nT.k;\n",
        },
        "m.ts:4 k -> -\nm.ts:5 k -> m.ts:2 PROVEN",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_names_mean_what_the_case_says(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
