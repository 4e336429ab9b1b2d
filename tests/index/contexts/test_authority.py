"""Which packages a workspace file keeps and which it detaches: §8.4.3, rule by rule."""

import pytest

from codeplane.index.contexts.discover import discover_contexts
from index.contexts.sample_trees import check_owners, contexts_at, statuses, tree_view

NPM = '{"workspaces": ["packages/*"]}'


def check_detached(family: str, files: dict[str, str], pending: set[str], detached: set[str]) -> None:
    """Check what became of the packages; directories without files of the family count as pending."""
    found = discover_contexts(tree_view(files))
    actual = {root for root, status in statuses(found, family).items() if status == "detached"}
    assert actual == detached
    assert set(statuses(found, family)) - actual == pending


def npm_packages(*roots: str) -> dict[str, str]:
    return {f"{root}/package.json": "{}" for root in roots}


JAVASCRIPT = [
    ('{"workspaces": ["packages/*"]}', "packages/a packages/b", "tools packages packages/a/deep"),
    ('{"workspaces": {"packages": ["packages/*"], "nohoist": ["x"]}}', "packages/a", "tools"),
    ('{"workspaces": ["packages/**"]}', "packages packages/a packages/a/deep", "tools"),
    ('{"workspaces": ["./packages/a/", "tools"]}', "packages/a tools", "packages/b"),
    ('{"workspaces": ["packages/{a,b}"]}', "packages/a packages/b", "packages/c"),
    ('{"workspaces": ["packages/*", "!packages/b"]}', "packages/a", "packages/b"),
    ('{"workspaces": ["packages/lib-?"]}', "packages/lib-a", "packages/lib-ab"),
    ('{"workspaces": ["*"]}', "a b", "a/b"),
    ('{"workspaces": []}', "", "a"),
    ('{"workspaces": ["../other", "/abs"]}', "", "other"),
]


@pytest.mark.parametrize(("text", "pending", "detached"), JAVASCRIPT)
def test_package_json_keeps_what_its_workspaces_list(text: str, pending: str, detached: str) -> None:
    files = {"package.json": text, **npm_packages(*pending.split(), *detached.split())}
    check_detached("javascript", files, {".", *pending.split()}, set(detached.split()))


PNPM = [
    ("packages:\n  - 'packages/*'\n", "packages/a", "tools"),
    ("packages:\n  - packages/**\n  - '!**/test/**'\n", "packages/a packages/a/lib", "packages/a/test packages/test/x"),
    ("packages: ['!packages/old', 'packages/*']\n", "packages/a", "packages/old"),
    ('packages:\n  - "."\n  - apps/*\ncatalog:\n  react: ^18\n', "apps/web", "packages/a"),
    ("packages: []\n", "", "packages/a"),
    ("onlyBuiltDependencies:\n  - esbuild\n", "packages/a tools", ""),
    ("", "packages/a", ""),
    ("# nothing\n", "packages/a", ""),
]


@pytest.mark.parametrize(("text", "pending", "detached"), PNPM)
def test_pnpm_keeps_what_its_packages_list(text: str, pending: str, detached: str) -> None:
    files = {"pnpm-workspace.yaml": text, "package.json": "{}", **npm_packages(*pending.split(), *detached.split())}
    check_detached("javascript", files, {".", *pending.split()}, set(detached.split()))


def test_two_workspace_files_in_a_directory_keep_what_either_lists() -> None:
    files = {
        "package.json": NPM,
        "pnpm-workspace.yaml": "packages: [apps/*]",
        **npm_packages("packages/a", "apps/b", "c"),
    }
    check_detached("javascript", files, {".", "packages/a", "apps/b"}, {"c"})


@pytest.mark.parametrize("marker", ["yarn.lock", "pnpm-lock.yaml", "lerna.json", "nx.json", "turbo.json", "rush.json"])
def test_other_workspace_markers_detach_nothing(marker: str) -> None:
    files = {marker: "", "package.json": "{}", **npm_packages("a", "b/c")}
    check_detached("javascript", files, {".", "a", "b/c"}, set())


def test_a_lock_file_gives_an_unlisted_package_no_standing() -> None:
    files = {"package.json": NPM, "examples/a/yarn.lock": "", **npm_packages("examples/a")}
    check_detached("javascript", files, {"."}, {"examples/a"})


def test_a_workspace_marker_without_a_package_is_not_filtered() -> None:
    check_detached("javascript", {"package.json": NPM, "tools/nx.json": ""}, {".", "tools"}, set())


def test_packages_are_filtered_and_directories_that_only_configure_a_compiler_are_not() -> None:
    files = {
        "package.json": NPM,
        "packages/a/tsconfig.json": "",
        "packages/a/test/tsconfig.json": "",
        "d/deno.json": "",
    }
    check_detached("javascript", files, {".", "packages/a", "packages/a/test"}, {"d"})


GO = [
    ("go 1.22\n\nuse ./a\n", "a", "b a/c"),
    ("go 1.22\nuse (\n\t./a\n\t./b/c // why\n\t// ./d\n)\n", "a b/c", "b d"),
    ('use "./a"\nuse `b`\nuse ./with//comment\n', "a b with", "c"),
    ("use .\nuse ./a\nreplace example.org/x => ./b\n", "a", "b"),
    ("replace (\n\tx => ./b\n)\nuse a\ntoolchain go1.22.1\ngodebug default=go1.21\n", "a", "b"),
    ("use (\r\n\t./a\r\n)\r\n", "a", "b"),
    ("use ../sibling\nuse /abs/b\nuse ./a/../c\n", "c", "b abs/b a"),
    ("go 1.22\n", "", "a"),
    ("", "", "a"),
]


@pytest.mark.parametrize(("text", "pending", "detached"), GO)
def test_go_work_keeps_the_modules_it_uses(text: str, pending: str, detached: str) -> None:
    files = {"go.work": text} | {f"{root}/go.mod": "" for root in (*pending.split(), *detached.split())}
    check_detached("go", files, {".", *pending.split()}, set(detached.split()))


def test_a_go_module_beside_go_work_has_to_be_listed_like_the_others() -> None:
    files = {"go.work": "use ./a\n", "go.mod": "", "a/go.mod": ""}
    check_detached("go", files, {"a"}, {"."})
    check_detached("go", {**files, "go.work": "use .\nuse ./a\n"}, {".", "a"}, set())


CARGO = [
    ('[workspace]\nmembers = ["crates/*"]\n', "crates/a crates/b", "tools crates/a/fuzz"),
    ('[workspace]\nmembers = ["crates/**"]\n', "crates crates/a crates/a/fuzz", "tools"),
    ('[workspace]\nmembers = ["./a/", "b"]\n', "a b", "c"),
    ('[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/old"]\n', "crates/a", "crates/old crates/old/x"),
    ('[workspace]\nmembers = ["crates/**"]\nexclude = ["crates/old"]\n', "crates/a", "crates/old crates/old/x"),
    ('[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/x*"]\n', "crates/a", "crates/x crates/x2"),
    ('[workspace]\nmembers = ["old/a", "old/*"]\nexclude = ["old"]\n', "old/a", "old/b"),
    ('[workspace]\nmembers = ["lib-[ab]"]\n', "lib-a lib-b", "lib-c"),
    ("[workspace]\n", "", "a"),
    ('[package]\nname = "x"\n', "a b/c", ""),
]


@pytest.mark.parametrize(("text", "pending", "detached"), CARGO)
def test_cargo_keeps_the_members_of_its_workspace(text: str, pending: str, detached: str) -> None:
    files = {"Cargo.toml": text} | {f"{root}/Cargo.toml": "" for root in (*pending.split(), *detached.split())}
    check_detached("rust", files, {".", *pending.split()}, set(detached.split()))


def test_a_cargo_lock_detaches_nothing() -> None:
    check_detached("rust", {"Cargo.lock": "", "Cargo.toml": "", "a/Cargo.toml": ""}, {".", "a"}, set())


# What is included; strict files detach `other`, permissive ones do not.
GRADLE_STRICT = [
    ("include('app')", "app"),
    ('include("app")', "app"),
    ("include ':app', ':core:util'", "app core core/util"),
    ("include(\n  ':app',\n  \":lib\", // the library\n)", "app lib"),
    ("include 'app',\n        'lib'\nrootProject.name = 'x'", "app lib"),
    ("include ':app'; include ':lib'", "app lib"),
    ("settings.include(':app')\nthis.include ':lib'", "app lib"),
    ("include '''app'''\ninclude \"\"\"lib\"\"\"", "app lib"),
    ("include 'a$b'", "a$b"),
    ("// include(x)\n/* include y */ include('app')", "app"),
    ("include 'libs/inner'", "libs libs/inner"),
    ("pluginManagement { includeBuild('logic') }\ninclude(':app')", "app logic"),
    ("include(':app')", "app buildSrc"),
    ("if (x) { include 'app' }", "app"),
    ("def url = 'http://a/b'\ninclude 'app'", "app"),
    ("fileTree(dir: '.', include: 'x')\ninclude 'app'", "app"),
    ("tree.include('x')\nfun include(a: String) {}\ninclude(\"app\")", "app"),
]
GRADLE_PERMISSIVE = [
    'include(":$name")',
    'include("${prefix}:app")',
    "include(name)",
    "include 'a' + suffix",
    "include('a' + suffix)",
    "include ':app', name",
    "include(*names)",
    "include([':a', ':b'] as String[])",
    "include ':ok'\n['a', 'b'].each { include it }",
    "file('x').eachDir { dir -> include \":${dir.name}\" }",
    "include 'libs/*'",
    "include ':app'\nproject(':app').projectDir = file('other')",
    "rootProject.name = 'x'",
    "",
    "include 'a' 'b'",
    "include 'a\\tb'",
]


@pytest.mark.parametrize("name", ["settings.gradle", "settings.gradle.kts"])
@pytest.mark.parametrize(("text", "listed"), GRADLE_STRICT)
def test_gradle_with_literal_includes_detaches_the_rest(text: str, listed: str, name: str) -> None:
    files = {name: text, "build.gradle": "", "other/pom.xml": ""}
    files |= {f"{root}/build.gradle": "" for root in listed.split()}
    check_detached("jvm", files, {".", *listed.split()}, {"other"})


@pytest.mark.parametrize("name", ["settings.gradle", "settings.gradle.kts"])
@pytest.mark.parametrize("text", GRADLE_PERMISSIVE)
def test_gradle_with_computed_includes_detaches_nothing(text: str, name: str) -> None:
    files = {name: text, "app/build.gradle": "", "other/build.gradle.kts": "", "x/build.sbt": ""}
    check_detached("jvm", files, {".", "app", "other", "x"}, set())


def test_a_maven_directory_detaches_nothing() -> None:
    check_detached("jvm", {".mvn/jvm.config": "", "pom.xml": "", "a/pom.xml": ""}, {".", "a"}, set())


@pytest.mark.parametrize("family", ["python", "dotnet", "ruby", "php", "terraform"])
def test_families_without_authority_detach_nothing(family: str) -> None:
    files = {"uv.lock": "", "pyproject.toml": '[tool.uv.workspace]\nmembers = ["a"]\n', "b/pyproject.toml": ""}
    files |= {"All.sln": "", "b/B.csproj": "", "Gemfile.lock": "", "b/Gemfile": "", "composer.lock": ""}
    files |= {"b/composer.json": "{}", ".terraform.lock.hcl": "", "b/main.tf": ""}
    assert "detached" not in statuses(discover_contexts(tree_view(files)), family).values()


def test_the_closest_fence_decides() -> None:
    files = {"package.json": NPM, "packages/a/package.json": '{"workspaces": ["libs/*"]}'}
    files |= npm_packages("packages/b", "packages/a/libs/x", "packages/a/other", "packages/a/libs/x/deep")
    pending = {".", "packages/a", "packages/b", "packages/a/libs/x"}
    check_detached("javascript", files, pending, {"packages/a/other", "packages/a/libs/x/deep"})


def test_a_nested_workspace_is_pending_even_if_the_outer_one_does_not_list_it() -> None:
    files = {"package.json": NPM, "tools/package.json": '{"workspaces": ["*"]}', **npm_packages("tools/x", "tools/x/y")}
    check_detached("javascript", files, {".", "tools", "tools/x"}, {"tools/x/y"})


def test_three_fences_each_decide_for_what_is_closest() -> None:
    files = {"Cargo.toml": '[workspace]\nmembers = ["a/**"]', "a/b/Cargo.toml": "[workspace]\nmembers = ['c']"}
    files |= {"a/b/c/Cargo.toml": '[workspace]\nmembers = ["d"]', "a/b/c/d/Cargo.toml": "", "a/b/c/e/Cargo.toml": ""}
    files |= {"a/x/Cargo.toml": "", "a/b/x/Cargo.toml": ""}
    check_detached("rust", files, {".", "a/b", "a/b/c", "a/b/c/d", "a/x"}, {"a/b/c/e", "a/b/x"})


def test_a_permissive_fence_shields_from_a_strict_one_above() -> None:
    files = {"settings.gradle": "include ':app'", "inner/settings.gradle": "include(name)"}
    files |= {"app/build.gradle": "", "inner/x/build.gradle": "", "other/build.gradle": ""}
    check_detached("jvm", files, {".", "app", "inner", "inner/x"}, {"other"})


def test_a_fence_of_another_family_decides_nothing() -> None:
    files = {"package.json": NPM, "tools/go.mod": "", "tools/Cargo.toml": "", "tools/pom.xml": ""}
    found = discover_contexts(tree_view(files))
    assert all("detached" not in statuses(found, family).values() for family in ("go", "rust", "jvm"))


def test_a_fence_beside_a_package_decides_nothing_for_it() -> None:
    check_detached(
        "javascript", {"web/package.json": NPM, **npm_packages("web2", "docs")}, {".", "web", "web2", "docs"}, set()
    )


def test_a_detached_context_says_which_file_does_not_list_it() -> None:
    files = {"sub/package.json": NPM, **npm_packages("sub/tools")}
    context = contexts_at(discover_contexts(tree_view(files)), "javascript")["sub/tools"]
    assert context.reason == "It is not listed in `sub/package.json`."


def test_files_of_a_detached_package_belong_to_nobody() -> None:
    files = {"package.json": NPM, "src/a.ts": "", "tools/src/b.ts": "", "tools/c.go": "", **npm_packages("tools")}
    check_owners(tree_view(files), "javascript", {"src/a.ts": ".", "tools/src/b.ts": None})
    check_owners(tree_view(files), "go", {"tools/c.go": "."})
