"""Discovery as a whole: repositories as people build them, and workspace files as people break them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.authority import MAX_CHARACTERS
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.model import ContextStatus, context_id_of
from codeplane.languages.families import FAMILY_BY_NAME
from index.contexts.sample_trees import check_owners, contexts_at, statuses, tree_view
from support.effort import examples


def test_a_pnpm_monorepo() -> None:
    files = {
        "pnpm-workspace.yaml": "packages:\n  - 'apps/*'\n  - 'packages/**'\n  - '!**/__fixtures__/**'\n",
        "pnpm-lock.yaml": "",
        "package.json": '{"private": true}',
        "turbo.json": "{}",
        "apps/web/package.json": "{}",
        "apps/web/tsconfig.json": "{}",
        "apps/web/src/index.tsx": "",
        "packages/ui/package.json": "{}",
        "packages/ui/src/button.vue": "",
        "packages/ui/icons/package.json": "{}",
        "packages/ui/icons/all.ts": "",
        "packages/cli/__fixtures__/app/package.json": "{}",
        "packages/cli/__fixtures__/app/main.js": "",
        "scripts/release.mjs": "",
        "node_modules/react/package.json": "{}",
        "node_modules/react/index.js": "",
    }
    owners = {
        "apps/web/src/index.tsx": "apps/web",
        "packages/ui/src/button.vue": "packages/ui",
        "packages/ui/icons/all.ts": "packages/ui/icons",
        "packages/cli/__fixtures__/app/main.js": None,
        "scripts/release.mjs": ".",
        "node_modules/react/index.js": None,
    }
    tracked = [path for path in files if not path.startswith("node_modules/")]
    check_owners(tree_view(files, tracked=tracked), "javascript", owners)


def test_a_yarn_monorepo_with_the_object_form() -> None:
    files = {
        "package.json": '{"workspaces": {"packages": ["packages/*"], "nohoist": ["**/react-native"]}}',
        "yarn.lock": "",
        "lerna.json": "{}",
        "packages/app/package.json": "{}",
        "packages/app/index.js": "",
        "examples/demo/package.json": "{}",
        "examples/demo/yarn.lock": "",
        "examples/demo/index.js": "",
        "website/docs/intro.mdx": "",
    }
    owners = {"packages/app/index.js": "packages/app", "examples/demo/index.js": None, "jest.config.js": "."}
    check_owners(tree_view({**files, "jest.config.js": ""}), "javascript", owners)
    check_owners(tree_view(files), "markdown", {"website/docs/intro.mdx": "."})


def test_an_nx_monorepo_without_workspaces() -> None:
    files = {
        "nx.json": "{}",
        "package.json": '{"devDependencies": {"nx": "19"}}',
        "tsconfig.base.json": "{}",
        "apps/shop/project.json": "{}",
        "apps/shop/tsconfig.json": "{}",
        "apps/shop/src/main.ts": "",
        "libs/cart/jsconfig.json": "{}",
        "libs/cart/src/index.js": "",
        "tools/gen.ts": "",
    }
    owners = {"apps/shop/src/main.ts": "apps/shop", "libs/cart/src/index.js": "libs/cart", "tools/gen.ts": "."}
    check_owners(tree_view(files), "javascript", owners)


def test_a_go_workspace() -> None:
    files = {
        "go.work": "go 1.22\n\nuse (\n\t./services/api\n\t./pkg\n)\n",
        "go.work.sum": "",
        "services/api/go.mod": "",
        "services/api/cmd/main.go": "",
        "pkg/go.mod": "",
        "pkg/log/log.go": "",
        "tools/go.mod": "",
        "tools/lint.go": "",
        "hack/run.go": "",
    }
    owners = {
        "services/api/cmd/main.go": "services/api",
        "pkg/log/log.go": "pkg",
        "tools/lint.go": None,
        "hack/run.go": ".",
    }
    check_owners(tree_view(files), "go", owners)


def test_a_cargo_workspace_with_globs() -> None:
    files = {
        "Cargo.toml": '[workspace]\nresolver = "2"\nmembers = ["crates/*", "xtask"]\nexclude = ["crates/legacy"]\n',
        "Cargo.lock": "",
        "crates/core/Cargo.toml": "",
        "crates/core/src/lib.rs": "",
        "crates/core/fuzz/Cargo.toml": "[workspace]\n",
        "crates/core/fuzz/main.rs": "",
        "crates/legacy/Cargo.toml": "",
        "crates/legacy/src/lib.rs": "",
        "xtask/Cargo.toml": "",
        "xtask/src/main.rs": "",
        "target/debug/build/out.rs": "",
    }
    owners = {
        "crates/core/src/lib.rs": "crates/core",
        "crates/core/fuzz/main.rs": "crates/core/fuzz",
        "crates/legacy/src/lib.rs": None,
        "xtask/src/main.rs": "xtask",
        "target/debug/build/out.rs": None,
        "build.rs": None,
    }
    view = tree_view(files)
    check_owners(view, "rust", owners)
    assert statuses(discover_contexts(view), "rust")["."] == "empty"


GRADLE = {
    "build.gradle.kts": "",
    "app/build.gradle.kts": "",
    "app/src/main/kotlin/App.kt": "",
    "core/util/build.gradle": "",
    "core/util/Util.java": "",
    "core/Shared.java": "",
    "samples/demo/build.gradle": "",
    "samples/demo/Demo.java": "",
    "buildSrc/build.gradle.kts": "",
    "buildSrc/src/Plugin.kt": "",
}


def test_a_strict_gradle_build() -> None:
    files = {**GRADLE, "settings.gradle.kts": 'rootProject.name = "x"\ninclude(":app")\ninclude(":core:util")\n'}
    owners = {
        "app/src/main/kotlin/App.kt": "app",
        "core/util/Util.java": "core/util",
        "core/Shared.java": ".",
        "samples/demo/Demo.java": None,
        "buildSrc/src/Plugin.kt": "buildSrc",
    }
    check_owners(tree_view(files), "jvm", owners)


def test_a_permissive_gradle_build() -> None:
    files = {
        **GRADLE,
        "settings.gradle": "include ':app'\nfile('samples').eachDir { include \":samples:${it.name}\" }\n",
    }
    check_owners(
        tree_view(files), "jvm", {"samples/demo/Demo.java": "samples/demo", "core/util/Util.java": "core/util"}
    )


def test_a_uv_workspace() -> None:
    files = {
        "pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
        "uv.lock": "",
        "src/app/main.py": "",
        "packages/core/pyproject.toml": "",
        "packages/core/src/core/__init__.py": "",
        "packages/core/src/core/fast.pyx": "",
        "docs/requirements.txt": "",
        "docs/conf.py": "",
        "tests/test_app.py": "",
        "venv/lib/site.py": "",
    }
    owners = {
        "src/app/main.py": ".",
        "packages/core/src/core/fast.pyx": "packages/core",
        "docs/conf.py": "docs",
        "tests/test_app.py": ".",
        "venv/lib/site.py": None,
    }
    check_owners(tree_view(files), "python", owners)


def test_a_mixed_repository() -> None:
    files = {
        "backend/pyproject.toml": "", "backend/app.py": "", "backend/migrations/1.sql": "", "backend/Dockerfile": "",
        "frontend/package.json": "{}", "frontend/app.ts": "", "frontend/index.html": "", "frontend/gen.py": "",
        "native/engine.cpp": "", "native/engine.h": "", "scripts/run.sh": "", "nvim/init.lua": "",
        "api/buf.yaml": "", "api/v1.proto": "", "infra/main.tf": "", "infra/net/vpc.tf": "", "other.tf": "",
        "Shop.sln": "", "src/Shop/Shop.csproj": "", "src/Shop/A.cs": "", "ios/App.swift": "", "flake.nix": "",
    }  # fmt: skip
    view = tree_view(files)
    check_owners(view, "python", {"backend/app.py": "backend", "frontend/gen.py": "."})
    check_owners(view, "javascript", {"frontend/app.ts": "frontend"})
    check_owners(view, "web", {"frontend/index.html": "."})
    check_owners(view, "sql", {"backend/migrations/1.sql": "."})
    check_owners(view, "docker", {"backend/Dockerfile": "."})
    check_owners(view, "c", {"native/engine.cpp": ".", "native/engine.h": "."})
    check_owners(view, "shell", {"scripts/run.sh": "."})
    check_owners(view, "lua", {"nvim/init.lua": "."})
    check_owners(view, "protobuf", {"api/v1.proto": "api"})
    check_owners(view, "terraform", {"infra/net/vpc.tf": "infra", "other.tf": None})
    check_owners(view, "dotnet", {"src/Shop/A.cs": "src/Shop"})
    check_owners(view, "swift", {"ios/App.swift": "."})
    check_owners(view, "config", {"flake.nix": "."})


def test_contexts_are_ordered_and_know_their_family() -> None:
    files = {"b/package.json": "{}", "a/package.json": "{}", "go.mod": "", "a/x.ts": ""}
    found = discover_contexts(tree_view(files))
    keys = [(context.family, context.root_path) for context in found]
    assert keys == sorted(keys)
    assert all(context.include == FAMILY_BY_NAME[context.family].include for context in found)


def test_an_id_follows_from_family_and_root_only() -> None:
    first = discover_contexts(tree_view({"a/go.mod": "", "a/x.go": ""}))
    second = discover_contexts(tree_view({"a/go.mod": "", "a/x.go": "", "b/go.mod": ""}, broken=["a/x.go"]))
    before, after = contexts_at(first, "go")["a"], contexts_at(second, "go")["a"]
    assert (before.status, after.status) == (ContextStatus.VALID, ContextStatus.FAILED)
    assert before.context_id == after.context_id == context_id_of("go", RepoPath("a"))
    # Ids are stored, so the way to make them must not change.
    assert before.context_id == "05a2df56eab9d37d"
    ids = [context.context_id for context in second]
    assert len(set(ids)) == len(ids)


MALFORMED = [
    ("javascript", "package.json", '{"workspaces": ["a"'),
    ("javascript", "package.json", ""),
    ("javascript", "package.json", "[" * 100_000),
    ("javascript", "package.json", '{"a": ' + "1" * 5000 + "}"),
    ("javascript", "package.json", "[]"),
    ("javascript", "package.json", '{"workspaces": 3}'),
    ("javascript", "package.json", '{"workspaces": "a/*"}'),
    ("javascript", "package.json", '{"workspaces": ["a", 1]}'),
    ("javascript", "package.json", '{"workspaces": {"packages": {}}}'),
    ("javascript", "package.json", '{"workspaces": ["a[z-a]"]}'),
    ("javascript", "pnpm-workspace.yaml", "packages: [a"),
    ("javascript", "pnpm-workspace.yaml", "packages:\n\t- a"),
    ("javascript", "pnpm-workspace.yaml", "[" * 20_000),
    ("javascript", "pnpm-workspace.yaml", "a: \x00"),
    ("javascript", "pnpm-workspace.yaml", "a: *b"),
    ("javascript", "pnpm-workspace.yaml", "? [a]\n: b"),
    ("javascript", "pnpm-workspace.yaml", "a: 1\n---\nb: 2"),
    ("javascript", "pnpm-workspace.yaml", "- a\n- b"),
    ("javascript", "pnpm-workspace.yaml", "packages: a/*"),
    ("javascript", "pnpm-workspace.yaml", "packages: [[a]]"),
    ("go", "go.work", "use (\n\t./a\n"),
    ("go", "go.work", "<<<<<<< HEAD\nuse ./a\n"),
    ("go", "go.work", "use ./a ./b\n"),
    ("go", "go.work", "use\n"),
    ("go", "go.work", 'go 1.22\nuse "./a b\n'),
    ("go", "go.work", ")\n"),
    ("rust", "Cargo.toml", "[workspace\nmembers = []"),
    ("rust", "Cargo.toml", "a = " + "[" * 20_000),
    ("rust", "Cargo.toml", "workspace = 3"),
    ("rust", "Cargo.toml", "[[workspace]]"),
    ("rust", "Cargo.toml", "[workspace]\nmembers = 'a'"),
    ("rust", "Cargo.toml", "[workspace]\nexclude = [1]"),
    ("rust", "Cargo.toml", "[workspace]\nmembers = ['[z-a]']"),
    ("jvm", "settings.gradle", "include 'a"),
    ("jvm", "settings.gradle", "include 'a' /* and so on"),
    ("jvm", "settings.gradle", 'include """a'),
    ("jvm", "settings.gradle.kts", 'include("a)\n'),
]
PACKAGE_FILES = {"javascript": "package.json", "go": "go.mod", "rust": "Cargo.toml", "jvm": "pom.xml"}
SOURCES = {"javascript": "x.ts", "go": "x.go", "rust": "x.rs", "jvm": "x.java"}


@pytest.mark.parametrize(("family", "name", "text"), MALFORMED)
def test_a_broken_workspace_file_detaches_nothing(family: str, name: str, text: str) -> None:
    package, source = PACKAGE_FILES[family], SOURCES[family]
    files = {f"zone/{package}": "{}" if package == "package.json" else "", f"zone/{name}": text}
    files |= {f"zone/sub/{package}": "{}" if package == "package.json" else "", f"zone/sub/{source}": ""}
    found = discover_contexts(tree_view({**files, f"zone/{source}": ""}))
    assert {root: status for root, status in statuses(found, family).items() if root != "."} == {
        "zone": "valid",
        "zone/sub": "valid",
    }


@pytest.mark.parametrize(
    "name", ["package.json", "pnpm-workspace.yaml", "go.work", "Cargo.toml", "settings.gradle", "settings.gradle.kts"]
)
def test_a_workspace_file_that_is_unreadable_or_huge_detaches_nothing(name: str) -> None:
    view = tree_view({name: " " * (MAX_CHARACTERS + 1), "a/package.json": "{}", "a/go.mod": "", "a/Cargo.toml": ""})
    for found in (discover_contexts(view), discover_contexts(replace(view, read_text=lambda _: None))):
        assert all(context.status is not ContextStatus.DETACHED for context in found)


def test_a_byte_order_mark_is_skipped() -> None:
    found = discover_contexts(tree_view({"package.json": '\ufeff{"workspaces": ["a"]}', "b/package.json": "{}"}))
    assert statuses(found, "javascript")["b"] == "detached"


@pytest.mark.parametrize(
    "text", ["/*" * 100_000, '"' * 100_001, "include '" * 50_000, "(" * 200_000, "include " * 60_000]
)
def test_a_hostile_gradle_file_is_read_in_linear_time(text: str) -> None:
    found = discover_contexts(tree_view({"settings.gradle": text, "a/pom.xml": ""}))
    assert "a" in statuses(found, "jvm")


PIECES = st.sampled_from(
    [
        "{", "}", "[", "]", '"', "'", "workspaces", ":", ",", "packages", "\n", "  ", "- ", "a/*", "!", "use", "(", ")",
        "./a", "//", "/*", "*/", "include", "members", "=", "[workspace]", "exclude", "&a ", "*a", "!!int ''", "<<: ",
        "\t", "\\", "$", "#", "\x00", "é", "\ud800", "%", "|", "@", "1e999", "0x", "2024-99-99",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
@examples(150)
def test_no_text_makes_discovery_raise(text: str) -> None:
    names = ["package.json", "pnpm-workspace.yaml", "go.work", "Cargo.toml", "settings.gradle", "settings.gradle.kts"]
    files = dict.fromkeys(names, text) | {
        f"a/{name}": "" for name in ("package.json", "go.mod", "Cargo.toml", "pom.xml")
    }
    found = discover_contexts(tree_view(files))
    assert len(found) >= len(FAMILY_BY_NAME) - 2
