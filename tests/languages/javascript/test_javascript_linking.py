"""Which file an import means."""

import json

import pytest

from codeplane.languages.javascript.linking import LINKING
from codeplane.languages.linking import Linker, UnitView

SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue")


def linker(*paths: str, **texts: object) -> Linker:
    """Return the linker of some files; texts are given by path with `__` for `/`, objects are written as JSON."""
    contents = dict.fromkeys(paths, "")
    for name, value in texts.items():
        path = name.replace("__", "/").replace("_json", ".json").replace("_yaml", ".yaml").replace("pnpm_", "pnpm-")
        contents[path] = value if isinstance(value, str) else json.dumps(value)
    return LINKING.build(
        UnitView(tuple(sorted(path for path in contents if path.endswith(SUFFIXES))), ("",), str, contents.get)
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("./b", "src/b.ts"),
        ("./b.js", "src/b.ts"),
        ("./b.ts", "src/b.ts"),
        ("./c", "src/c.tsx"),
        ("./c.jsx", "src/c.tsx"),
        ("./d", "src/d.d.ts"),
        ("./e.mjs", "src/e.mts"),
        ("./user.service", "src/user.service.ts"),
        ("./dir", "src/dir/index.ts"),
        ("./dir/", "src/dir/index.ts"),
        (".", "src/index.js"),
        ("..", "index.ts"),
        ("../src/b", "src/b.ts"),
        ("./x.vue", "src/x.vue"),
        ("./data.json", "src/data.json"),
        ("./missing", None),
        ("./missing.json", None),
        ("../../outside", None),
        ("/src/b", None),
        ("react", None),
        ("", None),
    ],
)
def test_relative_sources_are_files_beside(source: str, expected: str | None) -> None:
    found = linker(
        "src/a.ts",
        "src/b.ts",
        "src/c.tsx",
        "src/d.d.ts",
        "src/e.mts",
        "src/user.service.ts",
        "src/dir/index.ts",
        "src/index.js",
        "src/x.vue",
        "index.ts",
        src__data_json={"a": 1},
    )
    assert found.locate("src/a.ts", source) == expected


def test_javascript_means_the_file_it_names_and_typescript_its_source() -> None:
    found = linker("a.js", "a.ts", "b.js", "b.ts", "c.mts")
    assert [found.locate("b.js", "./a"), found.locate("b.js", "./a.js")] == ["a.js", "a.js"]
    assert [found.locate("b.ts", "./a"), found.locate("b.ts", "./a.js")] == ["a.ts", "a.ts"]
    assert found.locate("c.mts", "./a.js") == "a.ts"


def test_a_directory_may_name_its_entry() -> None:
    found = linker("a.ts", "lib/main.ts", "lib/index.ts", lib__package_json={"main": "./main.js"})
    assert found.locate("a.ts", "./lib") == "lib/main.ts"


def test_paths_of_the_nearest_configuration_are_tried_in_order() -> None:
    text = """{
      // the comment, and "quotes // inside"
      "compilerOptions": {
        "baseUrl": "./src", /* here */
        "paths": { "@/*": ["gone/*", "*"], "@/lib/*": ["library/*"], "exact": ["one.ts"], },
      },
    }"""
    found = linker("src/a.ts", "src/library/b.ts", "src/one.ts", "other/a.ts", tsconfig_json=text)
    assert found.locate("src/a.ts", "@/a") == "src/a.ts"
    assert found.locate("src/a.ts", "@/lib/b") == "src/library/b.ts"
    assert found.locate("src/a.ts", "exact") == "src/one.ts"
    assert found.locate("other/a.ts", "library/b") == "src/library/b.ts"
    assert found.locate("src/a.ts", "@/none") is None


def test_configurations_extend_others_in_the_repository() -> None:
    found = linker(
        "app/src/a.ts",
        "shared/b.ts",
        "app/own/c.ts",
        **{"tsconfig.base_json": {"compilerOptions": {"paths": {"shared/*": ["./shared/*"]}}}},
        app__tsconfig_json={"extends": "../tsconfig.base.json"},
        app__own__tsconfig_json={"extends": ["@outside/config", "../tsconfig"], "compilerOptions": {"baseUrl": "."}},
    )
    assert found.locate("app/src/a.ts", "shared/b") == "shared/b.ts"
    assert found.locate("app/own/c.ts", "c") == "app/own/c.ts"


def test_a_configuration_of_projects_leaves_the_paths_to_them() -> None:
    found = linker(
        "src/a.ts",
        tsconfig_json={"files": [], "references": [{"path": "./tsconfig.app.json"}, {"path": "./tsconfig.node.json"}]},
        **{
            "tsconfig.app_json": {"compilerOptions": {"paths": {"@/*": ["./src/*"]}}},
            "tsconfig.node_json": {"compilerOptions": {}},
        },
    )
    assert found.locate("src/a.ts", "@/a") == "src/a.ts"


def test_the_own_configuration_directory_can_be_named() -> None:
    found = linker(
        "app/src/a.ts",
        base_json={"compilerOptions": {"paths": {"~/*": ["${configDir}/src/*"]}}},
        app__tsconfig_json={"extends": "../base.json"},
    )
    assert found.locate("app/src/a.ts", "~/a") == "app/src/a.ts"


def test_a_configuration_that_extends_itself_is_harmless() -> None:
    assert linker("a.ts", tsconfig_json={"extends": "./tsconfig.json"}).locate("a.ts", "b") is None


def workspace(**texts: object) -> Linker:
    return linker(
        "packages/a/src/index.ts",
        "packages/a/src/util/index.ts",
        "packages/a/src/deep/x.ts",
        "packages/a/lib/real.js",
        "packages/b/index.ts",
        "packages/b/feature.ts",
        "fixtures/c/index.ts",
        package_json={"name": "root", "workspaces": ["packages/*"]},
        packages__b__package_json={"name": "b", "dependencies": {"@s/a": "*"}},
        fixtures__c__package_json={"name": "c"},
        **texts,
    )


@pytest.mark.parametrize(
    ("entries", "source", "expected"),
    [
        ({"main": "dist/index.js"}, "@s/a", "packages/a/src/index.ts"),
        ({"types": "./dist/index.d.ts", "main": "./dist/index.cjs"}, "@s/a", "packages/a/src/index.ts"),
        ({"main": "lib/real.js"}, "@s/a", "packages/a/lib/real.js"),
        ({"main": "lib/gone.js"}, "@s/a", None),
        ({}, "@s/a/src/deep/x", "packages/a/src/deep/x.ts"),
        ({"exports": "./src/index.ts"}, "@s/a", "packages/a/src/index.ts"),
        ({"exports": {".": {"types": "./dist/index.d.ts", "import": "./d/i.js"}}}, "@s/a", "packages/a/src/index.ts"),
        ({"exports": {".": {"import": {"default": "./dist/esm/index.js"}}}}, "@s/a", "packages/a/src/index.ts"),
        ({"exports": {"./util": "./dist/util.js"}}, "@s/a/util", "packages/a/src/util/index.ts"),
        ({"exports": {"./*": "./dist/*.js"}}, "@s/a/deep/x", "packages/a/src/deep/x.ts"),
        ({"exports": {"./d/*": ["./nothing/*", "./src/deep/*.ts"]}}, "@s/a/d/x", "packages/a/src/deep/x.ts"),
        ({"exports": {"./*": "./src/*.ts", "./deep/*": None}}, "@s/a/deep/x", None),
        ({"exports": {".": "./src/index.ts"}}, "@s/a/src/deep/x", None),
        ({"exports": {"browser": "./src/deep/x.ts", "default": "./src/index.ts"}}, "@s/a", "packages/a/src/index.ts"),
        ({"exports": {".": "../../outside.ts"}}, "@s/a", None),
    ],
)  # fmt: skip
def test_entries_of_a_workspace_package(entries: dict[str, object], source: str, expected: str | None) -> None:
    found = workspace(packages__a__package_json={"name": "@s/a", **entries})
    assert found.locate("packages/b/index.ts", source) == expected


def test_an_unbuilt_entry_with_two_possible_sources_is_not_located() -> None:
    found = linker(
        "packages/a/src/index.ts",
        "packages/a/src/esm/index.ts",
        "packages/b/index.ts",
        package_json={"workspaces": ["packages/*"]},
        packages__a__package_json={"name": "a", "main": "dist/esm/index.js"},
    )
    assert found.locate("packages/b/index.ts", "a") is None


def test_names_mean_only_packages_of_the_same_workspace() -> None:
    found = workspace(packages__a__package_json={"name": "@s/a", "main": "src/index.ts"})
    assert found.locate("packages/b/index.ts", "c") is None
    assert found.locate("fixtures/c/index.ts", "@s/a") is None
    assert found.locate("fixtures/c/index.ts", "c") == "fixtures/c/index.ts"


def test_two_packages_of_one_name_mean_none() -> None:
    found = workspace(packages__a__package_json={"name": "b"})
    assert found.locate("packages/x.ts", "b") is None


def test_pnpm_workspaces_are_read() -> None:
    found = linker(
        "apps/web/a.ts",
        "libs/deep/b/index.ts",
        "libs/skip/c/index.ts",
        pnpm_workspace_yaml="packages:\n  - 'apps/*'\n  - libs/**\n  - '!libs/skip/**'\n",
        package_json={},
        apps__web__package_json={"name": "web"},
        libs__deep__b__package_json={"name": "b"},
        libs__skip__c__package_json={"name": "c"},
    )
    assert found.locate("apps/web/a.ts", "b") == "libs/deep/b/index.ts"
    assert found.locate("apps/web/a.ts", "c") is None


def test_a_package_may_name_itself() -> None:
    found = linker("src/a.ts", "src/b.ts", package_json={"name": "me", "exports": {"./b": "./src/b.ts"}})
    assert found.locate("src/a.ts", "me/b") == "src/b.ts"


def test_names_with_a_hash_are_imports_of_the_package() -> None:
    imports = {"#b": "./src/b.js", "#lib/*": {"node": "./src/lib/*.ts"}, "#out": "react"}
    found = linker("src/a.ts", "src/b.ts", "src/lib/c.ts", package_json={"imports": imports})
    assert found.locate("src/a.ts", "#b") == "src/b.ts"
    assert found.locate("src/a.ts", "#lib/c") == "src/lib/c.ts"
    assert found.locate("src/a.ts", "#out") is None


def test_a_file_is_a_module_without_modules_inside() -> None:
    found = linker("a.ts", "a/b.ts")
    assert found.modules_of("a/b.ts") == ("a/b.ts",)
    assert found.submodule("a.ts", "b") is None
    assert found.implicit_modules("a.ts") == ()


def test_what_is_installed_is_not_the_repository() -> None:
    found = linker("a.ts", "node_modules/b/index.ts", "c/node_modules/d.ts")
    assert found.locate("a.ts", "./node_modules/b") is None
    assert found.locate("c/x.ts", "./node_modules/d") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"exports": 1, "name": 2, "workspaces": 3, "main": []}', "[" * 100_000]
)
def test_broken_configurations_say_nothing(text: str) -> None:
    found = linker("a.ts", "b/c.ts", package_json=text, tsconfig_json=text, pnpm_workspace_yaml="packages: [\n: {")
    for source in ("x", "#x", "@s/x", "./b"):
        assert found.locate("a.ts", source) is None
