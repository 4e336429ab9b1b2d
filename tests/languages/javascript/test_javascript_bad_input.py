"""Whatever the bytes are, extraction returns, and says when it left something out."""

from collections.abc import Callable

import pytest

from codeplane.languages.facts import FileFacts
from codeplane.languages.javascript.extract import extract_javascript, extract_tsx, extract_typescript
from languages.consistency import RunawayClock, check_consistent, damaged, random_bytes
from support.effort import repeated

EXTRACT = (extract_javascript, extract_typescript, extract_tsx)
GOOD = b"""#!/usr/bin/env node
import d, { a as b, type C } from './m'
export * from './n'; export { x as default } from './o'
/** Doc. */
@dec({ k: 1 }) export abstract class A<T> extends N.B<T> implements I, J {
  static #p = 1; readonly 'q': Foo | null = null; [k]() { return this.#p }
  constructor(private readonly r: R, @inject(s) s?: S) { super(r); this.r = s; super.m() }
  get v(): V { return this.v! } static { var w = 1 } m(a: string): void; m(a: any) { label: for (;;) break label }
}
enum E { F = 1, 'G' } namespace O.P { export import Q = O.R } declare global { interface Window { h: 1 } }
type U<K> = K extends (infer V)[] ? { [X in keyof V]: V[X] } : [first: K, ...rest: K[]]
function f(this: A, { g, h: [i = 1], ...j }, ...l) { try { with (o) x } catch ({ e }) { for (const [y] of z) y } }
const fn = async function* n(t) { await using u = t; yield* t?.[0]?.u }, { req } = require('./r')
module.exports = { f, g: fn, ...rest }; exports.h = class {}
let t = `a ${b} ${`${d}`}`, v = <Foo a-b={c} {...d}><div>{e}</div></Foo>, re = /[/]\\/g/
switch (a) { case 1: let s = x as const satisfies Y; default: delete a[b], a.b ??= c++ }
"""
ODD_SOURCES = {
    "empty": b"",
    "one newline": b"\n",
    "NUL": b"var x = 1\x00\nvar y = 2\n",
    "invalid UTF-8": b"const x = '\xff\xfe'\n\xff\xfe = 1\nx\n",
    "byte order mark": b"\xef\xbb\xbfconst x = 1\nx\n",
    "carriage returns": b"const x = 1\r\nx\rx",
    "ends in a dot": b"x.",
    "starts with a dot": b".x",
    "binary": bytes(range(256)) * 20,
    "unclosed": b"function f(a, b = [() => {",
    "half imports": b"import\nimport {\nimport { a as } from\nexport {\nexport * from\nimport x from 'y",
    "half class": b"class\nclass A extends\nclass { get",
    "lone surrogate bytes": b"const \xed\xa0\x80 = 1\n",
    "missing names": b"function () {}\nclass {}\nenum {}\ninterface {}\ntype = 1\nnamespace {}\n",
    "empty patterns": b"const {} = a, [] = b; function f({}, []) {}\n",
    "private outside": b"this.#x; #y in z\n",
    "decorators only": b"@a\n@b\n",
    "empty texts": b"import '' ; import ``; require(''); declare module '' {}; class A { ''() {} }\n",
}


@pytest.mark.parametrize("extract", EXTRACT)
@pytest.mark.parametrize("source", ODD_SOURCES.values(), ids=ODD_SOURCES.keys())
def test_odd_bytes_give_consistent_facts(source: bytes, extract: Callable[[bytes], FileFacts]) -> None:
    check_consistent(extract(source), source)


@pytest.mark.parametrize("extract", EXTRACT)
def test_random_damage_gives_consistent_facts(extract: Callable[[bytes], FileFacts]) -> None:
    words = (b"function ", b"class ", b"=>", b"import ", b"export ", b"infer ", b"?", b"require(", b"/*", b"${", b"@")
    for source in damaged(GOOD, 250, 7, words):
        check_consistent(extract(source), source)


@pytest.mark.parametrize("extract", EXTRACT)
def test_truncated_files_give_consistent_facts(extract: Callable[[bytes], FileFacts]) -> None:
    for end in range(0, len(GOOD), 7):
        check_consistent(extract(GOOD[:end]), GOOD[:end])


@pytest.mark.parametrize("extract", EXTRACT)
def test_random_bytes_give_consistent_facts(extract: Callable[[bytes], FileFacts]) -> None:
    for source in random_bytes(150, 3):
        check_consistent(extract(source), source)


DEEP_SOURCES = {
    "parentheses": b"(" * 5000 + b"x" + b")" * 5000,
    "unclosed": b"[" * 5000,
    "members": b"x = " + b"a." * 5000 + b"b",
    "calls": b"x = " + b"f(" * 5000 + b")" * 5000,
    "arrows": b"x = " + b"a => " * 5000 + b"y",
    "blocks": b"{" * 5000 + b"}" * 5000,
    "functions": b"function f(a) {" * 2000 + b"}" * 2000,
    "classes": b"class A { m() { " * 1500 + b"} }" * 1500,
    "assignments": b"a.b = " * 5000 + b"1;",
    "objects": b"x = " + b"{a: " * 5000 + b"1" + b"}" * 5000,
    "templates": b"`${" * 2500 + b"}`" * 2500,
    "elements": b"x = " + b"<A b={" * 2000 + b"1" + b"} />" * 2000,
    "patterns": b"const " + b"{a: " * 4000 + b"b" + b"}" * 4000 + b" = c",
    "conditional types": b"type A = " + b"T extends (infer U) ? " * 2500 + b"1" + b" : 2" * 2500,
    "unions": b"let x: " + b"A | " * 5000 + b"B",
    "conditions": b"x = " + b"a ? b : " * 5000 + b"c",
}


@pytest.mark.parametrize("extract", EXTRACT)
@pytest.mark.parametrize("source", DEEP_SOURCES.values(), ids=DEEP_SOURCES.keys())
def test_deep_nesting_needs_no_recursion(source: bytes, extract: Callable[[bytes], FileFacts]) -> None:
    check_consistent(extract(source), source)


def test_what_cannot_be_parsed_safely_is_said() -> None:
    facts = extract_javascript(b"[" * 50_000 + b"x" + b"]" * 50_000)
    assert facts.problem == "nested too deeply"
    assert facts.references == []


@pytest.mark.parametrize("extract", EXTRACT)
def test_a_file_that_takes_too_long_gives_no_facts_but_a_problem(extract: Callable[..., FileFacts]) -> None:
    facts = extract(b"const x = 1\n", RunawayClock())
    assert facts.problem == "timed out"
    assert (facts.references, facts.definitions, facts.binds, facts.imports) == ([], [], [], [])


@pytest.mark.slow
@pytest.mark.parametrize("extract", EXTRACT)
@pytest.mark.parametrize("piece", [b"a.b(c,{d:'e'});", b"require(a);", b"{a:b\n"])
def test_a_very_long_line_returns(piece: bytes, extract: Callable[[bytes], FileFacts]) -> None:
    assert extract(piece * (repeated(50_000) // len(piece))).problem in {"", "timed out", "nested too deeply"}
