"""What the packages of a repository offer, by the rules of each language and by their manifests."""

from pathlib import Path

import pytest

from codeplane.index.facts.queries import FactQueries
from codeplane.index.public_api import public_api
from support.doors import open_test_workspace
from support.repositories import make_repository

Files = dict[str, str | bytes]


def api_of(root: Path, files: Files) -> tuple[set[str], list[str]]:
    with open_test_workspace(make_repository(root, files)) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            found = public_api(reader)
    return {f"{one.module}:{one.name}" for one in found.names}, found.unknown


PYTHON: Files = {
    "pyproject.toml": "[project]\nname = 'My-Shop'\n",
    "src/my_shop/__init__.py": "import os\nfrom .store import Store as Store\nfrom .store import _hidden\n"
    "from . import extra\n",
    "src/my_shop/store.py": "from typing import Any\nclass Store: pass\ndef _hidden(): pass\ndef tidy(x: Any): pass\n",
    "src/my_shop/extra.py": "__all__ = ['offered']\ndef offered(): pass\ndef kept_back(): pass\n",
    "src/my_shop/_inner.py": "def inner(): pass\n",
    "src/my_shop/sub/__init__.py": "from ..store import tidy\nfrom .part import *\n",
    "src/my_shop/sub/part.py": "def part(): pass\n",
    "src/my_shop/test/__init__.py": "class Client: pass\n",
    "src/my_shop/tests/test_it.py": "def test_it(): pass\n",
    "examples/demo/__init__.py": "def shown(): pass\n",
    "setup.py": "from setuptools import setup\nNAME = 1\nsetup()\n",
    "docs/conf.py": "project = 'x'\n",
}
PYTHON_API = {
    "my_shop:Store",
    "my_shop:extra",
    "my_shop.store:tidy",
    "my_shop.extra:offered",
    "my_shop.sub:part",
    "my_shop.test:Client",
}


def test_python_offers_public_names_of_the_distributed_package(tmp_path: Path) -> None:
    names, unknown = api_of(tmp_path / "r", PYTHON)
    assert names == PYTHON_API
    assert unknown == []


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ("pyproject.toml", "[tool.setuptools]\npackages = ['alpha']\n[tool.setuptools.package-dir]\n'' = 'lib'\n"),
        ("pyproject.toml", "[tool.setuptools.packages.find]\nwhere = ['lib']\ninclude = ['alpha*']\n"),
        ("pyproject.toml", "[tool.poetry]\nname = 'x'\npackages = [{include = 'alpha', from = 'lib'}]\n"),
        ("pyproject.toml", "[tool.hatch.build.targets.wheel]\npackages = ['lib/alpha']\n"),
        ("setup.cfg", "[options]\npackages = alpha\npackage_dir =\n    = lib\n"),
        ("setup.cfg", "[options]\npackages = find:\n[options.packages.find]\nwhere = lib\nexclude = beta\n"),
    ],
)
def test_python_manifests_say_which_packages_are_offered(tmp_path: Path, manifest: str, text: str) -> None:
    files: Files = {
        manifest: text,
        "lib/alpha/__init__.py": "def a(): pass\n",
        "lib/beta/__init__.py": "def b(): pass\n",
        "other/__init__.py": "def c(): pass\n",
    }
    assert api_of(tmp_path / "r", files)[0] == {"alpha:a"}


JAVASCRIPT: Files = {
    "package.json": '{"name": "kit", "exports": {".": {"types": "./dist/types/index.d.ts", "import":'
    ' "./dist/index.js"}, "./cookie": "./dist/helper/cookie/index.js", "./utils/*": "./dist/utils/*.js",'
    ' "./utils/secret": null, "./gone": "./dist/nowhere.js"}}\n',
    "src/index.ts": "export * from './core'\nexport { hidden as shown } from './inner'\nexport default 1\n",
    "src/core.ts": "export class Core {}\nexport type Options = {}\nfunction local() {}\nexport default local\n",
    "src/inner.ts": "export const hidden = 1\nexport const other = 2\n",
    "src/helper/cookie/index.ts": "export function getCookie() {}\n",
    "src/utils/url.ts": "export function join() {}\n",
    "src/utils/url.test.ts": "export const t = 1\n",
    "src/utils/secret.ts": "export const secret = 1\n",
    "build/pack.ts": "export function pack() {}\n",
    "eslint.config.mjs": "export default []\n",
    "app/package.json": '{"name": "app", "private": true}\n',
    "app/index.js": "export const run = 1\n",
}


def test_javascript_offers_what_its_manifest_leads_to(tmp_path: Path) -> None:
    names, unknown = api_of(tmp_path / "r", JAVASCRIPT)
    assert names == {
        "kit:Core",
        "kit:Options",
        "kit:shown",
        "kit:default",
        "kit/cookie:getCookie",
        "kit/utils/url:join",
    }
    assert unknown == ["public_api: no source file was found for kit/gone"]


def test_go_offers_capitals_of_packages_that_others_can_import(tmp_path: Path) -> None:
    files: Files = {
        "go.mod": "module example.com/kit\n",
        "kit.go": 'package kit\nimport "fmt"\ntype Engine struct{}\nfunc (e Engine) Run() {}\n'
        "func low() { fmt.Println() }\nconst Big, small = 1, 2\n",
        "kit_test.go": "package kit\nfunc TestIt() {}\n",
        "internal/deep/deep.go": "package deep\nfunc Deep() {}\n",
        "cmd/kit/main.go": "package main\nfunc Main() {}\nfunc main() {}\n",
        "examples/one/one.go": "package one\nfunc One() {}\n",
        "render/render.go": "package render\nfunc HTML() {}\n",
    }
    names, _ = api_of(tmp_path / "r", files)
    assert names == {"example.com/kit:Engine", "example.com/kit:Big", "example.com/kit/render:HTML"}


def test_rust_offers_what_is_public_from_the_library(tmp_path: Path) -> None:
    files: Files = {
        "Cargo.toml": "[package]\nname = 'my-kit'\nedition = '2021'\n",
        "src/lib.rs": "mod hidden;\npub mod shown;\npub use hidden::{Deep, inner::Deeper};\n"
        "pub(crate) use hidden::Kept;\nuse std::fmt;\npub struct A;\npub(crate) fn b() {}\nfn c() {}\n#[macro_export]\n"
        "macro_rules! mac { () => {} }\nmacro_rules! own { () => {} }\n"
        "pub mod inline { pub fn in_it() {} fn not_it() {} }\n",
        "src/hidden.rs": "pub struct Deep;\npub struct Kept;\npub struct Unreached;\n"
        "pub mod inner { pub struct Deeper; }\n",
        "src/shown.rs": "pub fn here() {}\nfn gone() {}\n",
        "src/main.rs": "pub fn helper() {}\nfn main() {}\n",
        "examples/x.rs": "pub fn shown() {}\nfn main() {}\n",
    }
    names, _ = api_of(tmp_path / "r", files)
    assert names == {
        "my_kit:Deep",
        "my_kit:Deeper",
        "my_kit:A",
        "my_kit:mac",
        "my_kit:inline",
        "my_kit::inline:in_it",
        "my_kit::shown:here",
    }


def test_java_offers_public_types_outside_of_tests(tmp_path: Path) -> None:
    files: Files = {
        "pom.xml": "<project/>\n",
        "src/main/java/a/b/Api.java": 'package a.b;\n@Note("public")\npublic final class Api {}\nclass Inner {}\n',
        "src/main/java/a/b/Own.java": 'package a.b;\n@Note("public") class Own {}\n',
        "src/test/java/a/b/Fixture.java": "package a.b;\npublic class Fixture {}\n",
    }
    assert api_of(tmp_path / "r", files)[0] == {"a.b:Api"}


def test_a_language_without_a_rule_is_said_to_be_unknown(tmp_path: Path) -> None:
    names, unknown = api_of(tmp_path / "r", {"Gemfile": "gem 'x'\n", "lib/a.rb": "def a; end\n"})
    assert names == set()
    assert unknown == ["public_api: no rule tells what ruby code offers (context .)"]


def test_export_entries_follow_the_rules_of_their_language(tmp_path: Path) -> None:
    files: Files = {
        "go.mod": "module m\n",
        "a.go": "package a\nfunc Up() {}\nfunc low() {}\n",
        "package.json": "{}\n",
        "a.ts": "export const shown = 1\nconst own = 2\n",
        "p/__init__.py": "import os\ndef f(): pass\ndef _g(): pass\n",
    }
    with open_test_workspace(make_repository(tmp_path / "r", files)) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            units = [row[0] for row in reader.connection.execute("SELECT unit_id FROM units WHERE status = 'valid'")]
            queries = FactQueries(reader)
            names = {one.exported_name for unit in units for one in queries.list_export_entries(unit, 100)}
    assert {"Up", "shown", "f"} <= names
    assert names.isdisjoint({"low", "own", "os", "_g"})
