"""What a file imports and exports."""

import pytest

from codeplane.languages.facts import BindTarget, Certainty, FileFacts, ReferenceRole
from codeplane.languages.javascript.extract import extract_javascript, extract_typescript

Row = tuple[str, str | None, str | None, str]


def js(source: str) -> FileFacts:
    return extract_javascript(source.encode())


def ts(source: str) -> FileFacts:
    return extract_typescript(source.encode())


def imports(facts: FileFacts) -> list[Row]:
    return [(one.source, one.imported_name, one.alias, one.kind) for one in facts.imports]


def exports(facts: FileFacts) -> list[str]:
    """Return `name -> target` of each export; `?` for a doubt, `import` before the name of an import."""
    found = []
    for one in facts.exports:
        target = "unknown"
        if one.target_kind is BindTarget.DEF:
            target = facts.definitions[one.target].lexical_path
        elif one.target_kind is BindTarget.IMPORT:
            imported = facts.imports[one.target]
            target = f"import {imported.imported_name} of {imported.source}"
        found.append(f"{one.name} -> {target}{'?' if one.certainty is Certainty.UNCERTAIN else ''}")
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a from 'm'", [("m", "default", "a", "js_import")]),
        ("import { a, b as c } from 'm'", [("m", "a", None, "js_import"), ("m", "b", "c", "js_import")]),
        ("import * as n from 'm'", [("m", None, "n", "js_import")]),
        ("import { default as d } from 'm'", [("m", "default", "d", "js_import")]),
        ("import { 'x y' as e } from 'm'", [("m", "x y", "e", "js_import")]),
        ("import 'm'", [("m", None, None, "js_import")]),
        ("import j from 'm' with { type: 'json' }", [("m", "default", "j", "js_import")]),
        ("export { a as b } from 'm'", [("m", "a", "b", "js_reexport")]),
        ("export { default } from 'm'", [("m", "default", None, "js_reexport")]),
        ("export * from 'm'", [("m", "*", None, "js_export_star")]),
        ("export * as n from 'm'", [("m", None, "n", "js_reexport")]),
        ("const a = require('m')", [("m", None, "a", "js_require")]),
        ("const { a, b: c } = require('m')", [("m", "a", None, "js_require"), ("m", "b", "c", "js_require")]),
        ("const a = require('m').b", [("m", "b", "a", "js_require")]),
        ("const { a = 1 } = require('m')", [("m", None, None, "js_require")]),
        ("require('m')()", [("m", None, None, "js_require")]),
        ("import('m').then(f)", [("m", None, None, "js_dynamic_import")]),
        ("const { a } = await import('m')", [("m", "a", None, "js_dynamic_import")]),
        ("require(`m`)", [("m", None, None, "js_require")]),
        ("require('a' + b); import(`${c}`); foo.require('m')", []),
    ],
)
def test_imports_are_read(source: str, expected: list[Row]) -> None:
    assert imports(js(source)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import type A from 'm'", [("m", "default", "A", "ts_import_type")]),
        ("import type { A } from 'm'", [("m", "A", None, "ts_import_type")]),
        ("import { type A as B, c } from 'm'", [("m", "A", "B", "ts_import_type"), ("m", "c", None, "js_import")]),
        ("import a = require('m')", [("m", None, "a", "js_require")]),
        ("type A = import('m').B", [("m", None, None, "js_dynamic_import")]),
        ("export type { A } from 'm'", [("m", "A", None, "js_reexport")]),
        ("export type * from 'm'", [("m", "*", None, "js_export_star")]),
    ],
)
def test_typescript_imports_are_read(source: str, expected: list[Row]) -> None:
    assert imports(ts(source)) == expected


def test_imports_inside_of_functions_are_conditional() -> None:
    facts = js("const a = require('a')\nfunction f() { const b = require('b') }\nif (c) { require('d') }\n")
    assert {one.source: one.is_conditional for one in facts.imports} == {"a": False, "b": True, "d": True}


def test_require_made_by_create_require_loads_modules() -> None:
    source = (
        "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\n"
        "const a = require('a')\n"
    )
    found = js(source).imports[-1]
    assert (found.source, found.certainty) == ("a", Certainty.CERTAIN)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("export const a = 1, { b, c: [d] } = e", ["a -> a", "b -> b", "d -> d"]),
        ("export function f() {}\nexport class K {}", ["f -> f", "K -> K"]),
        ("const a = 1\nexport { a, a as b, a as default }", ["a -> a", "b -> a", "default -> a"]),
        ("export { f }\nfunction f() {}", ["f -> f"]),
        ("export { a }", ["a -> unknown?"]),
        ("import { a } from 'm'\nexport { a as b }", ["b -> import a of m"]),
        ("export { a as b } from 'm'", ["b -> import a of m"]),
        ("export * as n from 'm'", ["n -> import None of m"]),
        ("export * from 'm'", []),
        ("export default function f() {}", ["default -> f"]),
        ("export default class {}", ["default -> default"]),
        ("export default function () {}", ["default -> default"]),
        ("const a = 1\nexport default a", ["default -> a"]),
        ("export default a.b", ["default -> unknown?"]),
        ("export default { a: 1 }", ["default -> unknown?"]),
        ("let a = 1\nlet a = 2\nexport { a }", ["a -> a?"]),
    ],
)
def test_exports_are_read(source: str, expected: list[str]) -> None:
    assert exports(js(source)) == expected
    assert exports(ts(source)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("export interface I {}\nexport type T = 1\nexport enum E {}", ["I -> I", "T -> T", "E -> E"]),
        ("export namespace A.B {}", ["A -> A"]),
        ("export declare const a: 1\nexport abstract class K {}", ["a -> a", "K -> K"]),
        ("export type T = 1\nexport const T = 1", ["T -> T"]),
        ("type T = 1\nconst T = 1\nexport type { T as U }", ["U -> T"]),
        ("export function f(a: 1): 1\nexport function f(a: any) {}", ["f -> f"]),
        ("class K {}\nexport = K", ["default -> K"]),
        ("export = f()", ["default -> unknown?"]),
        ("namespace N { export const a = 1 }", []),
        ("declare module 'm' { export const a: 1 }", []),
        ("export as namespace N", []),
    ],
)
def test_typescript_exports_are_read(source: str, expected: list[str]) -> None:
    assert exports(ts(source)) == expected


def test_a_type_and_a_value_exported_together_are_the_value() -> None:
    facts = ts("type T = 1\nconst T = 1\nexport { T }\n")
    assert [facts.definitions[one.target].kind.label for one in facts.exports] == ["constant"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("function a() {}\nmodule.exports = { a, b: a }", ["a -> a", "b -> a", "default -> unknown?"]),
        ("module.exports = { a() {}, b: () => 1, c: 2 }", ["a -> a", "b -> b", "c -> c", "default -> unknown?"]),
        ("class K {}\nmodule.exports = K\nmodule.exports.a = 1", ["default -> K", "a -> a"]),
        ("exports.a = function () {}\nexports.b = exports.c = 1", ["a -> a", "b -> b", "c -> c"]),
        ("module.exports = function f() {}", ["default -> f"]),
        ("module.exports = class {}", ["default -> exports"]),
        ("exports = module.exports = f\nfunction f() {}", ["default -> f"]),
        ("var app = exports = module.exports = {}", ["default -> app"]),
        ("module.exports = require('./a')", ["default -> import None of ./a"]),
        ("module.exports = { a: require('./a') }", ["a -> import None of ./a", "default -> unknown?"]),
        ("const a = require('./a')\nexports.a = a", ["a -> import None of ./a"]),
        ("exports.a = void 0\nconst a = 1\nexports.a = a", ["a -> a"]),
        ("exports.a = 1\nexports.a = 2", ["a -> a?", "a -> a?"]),
        ("if (x) { module.exports = f }\nfunction f() {}", ["default -> f?"]),
        ("module.exports = { ...a }", [" -> unknown?", "default -> unknown?"]),
        ("(function (module, exports) { exports.a = 1; module.exports = 2 })()", []),
        ("exports.__esModule = true", []),
    ],
)
def test_commonjs_exports_are_read(source: str, expected: list[str]) -> None:
    assert exports(js(source)) == expected


def test_exports_say_why_they_are_there() -> None:
    facts = js("export const a = 1\nexports.b = 1\n")
    assert [one.evidence for one in facts.exports] == ["explicit_export", "commonjs"]
    assert [one.evidence for one in ts("class K {}\nexport = K\n").exports] == ["export_assignment"]


def test_names_in_imports_and_exports_have_their_role() -> None:
    facts = js("import { a as b } from 'm'\nexport { b as c }\nexport { d as e } from 'n'\n")
    roles = {one[1]: ReferenceRole(one[3]).label for one in facts.references[2:]}
    assert [ReferenceRole(one[3]).label for one in facts.references[:2]] == ["IMPORT", "IMPORT"]
    assert roles == {"b": "EXPORT", "c": "EXPORT", "d": "IMPORT", "e": "EXPORT"}
