"""The table of markers of §8.4.2, row by row, and the families that have a context without markers."""

import pytest

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.markers import AMBIENT_FAMILIES, MARKER_ROWS, find_markers
from codeplane.index.contexts.membership import UniversalExcludes
from codeplane.index.contexts.model import ContextStatus, Tier
from index.contexts.sample_trees import contexts_at, statuses, tree_view

# Family, tier 1 markers, tier 2 markers, as the specification writes them.
TABLE = """
javascript | pnpm-workspace.yaml lerna.json nx.json turbo.json rush.json yarn.lock pnpm-lock.yaml |\
 package.json deno.json deno.jsonc tsconfig.json jsconfig.json
python | uv.lock poetry.lock Pipfile.lock | pyproject.toml setup.py setup.cfg requirements.txt Pipfile
go | go.work | go.mod
rust | Cargo.lock | Cargo.toml
jvm | settings.gradle settings.gradle.kts .mvn/wrapper/maven-wrapper.properties |\
 build.gradle build.gradle.kts pom.xml build.sbt
dotnet | Shop.sln | Shop.csproj Shop.fsproj Shop.vbproj
terraform | .terraform.lock.hcl | main.tf versions.tf
ruby | Gemfile.lock | Gemfile
php | composer.lock | composer.json
config | flake.lock | flake.nix
protobuf | buf.work.yaml | buf.yaml
"""
CELLS = [[cell.split() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
CASES = [
    (family, tier, marker)
    for (family,), *columns in CELLS
    for tier, markers in zip((Tier.WORKSPACE, Tier.PACKAGE), columns, strict=True)
    for marker in markers
]
DECLARING = [
    ("javascript", "package.json", '{"workspaces": ["packages/*"]}'),
    ("javascript", "package.json", '{"workspaces": {"packages": ["packages/*"]}}'),
    ("rust", "Cargo.toml", "[workspace]\nmembers = []\n"),
    ("rust", "Cargo.toml", '[package]\nname = "a"\n[workspace]\n'),
]
CODE_FAMILIES = (
    "c", "dotnet", "elixir", "go", "haskell", "javascript", "jvm", "lua", "php", "python", "ruby", "rust", "shell",
    "swift", "web",
)  # fmt: skip
PLAIN_TEXT = {"package.json": "{}", "Cargo.toml": ""}


def test_the_table_has_a_row_for_every_family_with_markers() -> None:
    assert {family for family, _, _ in CASES} == {row.family for row in MARKER_ROWS}
    n_markers = sum(len(row.workspace) + len(row.package) for row in MARKER_ROWS)
    assert len(CASES) == n_markers


@pytest.mark.parametrize("root", ["", "services/shop"])
@pytest.mark.parametrize(("family", "tier", "marker"), CASES)
def test_each_marker_makes_a_context_of_its_tier_where_it_stands(
    family: str, tier: Tier, marker: str, root: str
) -> None:
    path = f"{root}/{marker}".lstrip("/")
    found = discover_contexts(tree_view({path: PLAIN_TEXT.get(marker, "")}))
    assert contexts_at(found, family)[root or "."].tier is tier


@pytest.mark.parametrize(("family", "marker", "text"), DECLARING)
def test_a_package_file_that_declares_a_workspace_is_a_workspace_marker(family: str, marker: str, text: str) -> None:
    found = discover_contexts(tree_view({f"shop/{marker}": text}))
    assert contexts_at(found, family)["shop"].tier is Tier.WORKSPACE


def test_several_markers_of_a_family_in_a_directory_make_one_context_of_the_higher_tier() -> None:
    files = dict.fromkeys(["api/pyproject.toml", "api/uv.lock", "api/setup.cfg", "api/app.py"], "")
    found = discover_contexts(tree_view(files))
    assert [(root, context.tier) for root, context in contexts_at(found, "python").items()] == [
        (".", Tier.FALLBACK),
        ("api", Tier.WORKSPACE),
    ]


def test_markers_of_several_families_make_contexts_side_by_side() -> None:
    found = discover_contexts(tree_view({"app/pyproject.toml": "", "app/package.json": "{}", "app/go.mod": ""}))
    roots = [context.family for context in found if context.root_path == RepoPath("app")]
    assert roots == ["go", "javascript", "python"]


@pytest.mark.parametrize("family", CODE_FAMILIES)
def test_every_code_family_has_a_fallback_at_the_root(family: str) -> None:
    (context,) = contexts_at(discover_contexts(tree_view({})), family).values()
    assert (context.root_path, context.tier, context.status) == (RepoPath.ROOT, Tier.FALLBACK, ContextStatus.EMPTY)


@pytest.mark.parametrize("family", ["sql", "docker", "markdown", "json_yaml", "graphql"])
def test_ambient_families_have_exactly_one_context_at_the_root(family: str) -> None:
    files = {"a/b.sql": "", "c/Dockerfile": "", "d/e.md": "", "f/g.json": "{}", "h/i.gql": "", "a/package.json": "{}"}
    assert family in AMBIENT_FAMILIES
    assert statuses(discover_contexts(tree_view(files)), family) == {".": "valid"}


@pytest.mark.parametrize("family", ["terraform", "config"])
def test_other_data_families_have_no_context_without_a_marker(family: str) -> None:
    files = {"infra/network.tf": "", "nix/shell.nix": ""}
    assert statuses(discover_contexts(tree_view(files)), family) == {}


def test_protobuf_is_ambient_until_a_buf_yaml_is_there() -> None:
    files = {"proto/a.proto": "", "b.proto": ""}
    assert statuses(discover_contexts(tree_view(files)), "protobuf") == {".": "valid"}
    with_marker = discover_contexts(tree_view({**files, "proto/buf.yaml": ""}))
    assert statuses(with_marker, "protobuf") == {"proto": "valid"}


def test_a_protobuf_workspace_without_packages_leaves_the_fallback() -> None:
    found = discover_contexts(tree_view({"api/buf.work.yaml": "", "api/a.proto": "", "b.proto": ""}))
    assert statuses(found, "protobuf") == {".": "valid", "api": "valid"}


@pytest.mark.parametrize(
    "path", ["xpackage.json", "package.json.bak", "mvn/x", ".mvn", "a.mvn/b", "sln", "go.mod/x", "Cargo.TOML", "a.slnx"]
)
def test_a_name_that_only_looks_like_a_marker_marks_nothing(path: str) -> None:
    assert find_markers([RepoPath(path)], UniversalExcludes(lambda _: False)) == ()


def test_markers_in_excluded_directories_mark_nothing() -> None:
    files = dict.fromkeys(["node_modules/left-pad/package.json", "a/venv/x/setup.py", "target/p/Cargo.toml"], "")
    found = discover_contexts(tree_view(files))
    assert {context.root_path.text for context in found} == {"."}


def test_a_maven_directory_marks_the_directory_that_holds_it() -> None:
    found = discover_contexts(tree_view({"java/.mvn/wrapper/a.properties": "", "java/.mvn/jvm.config": ""}))
    assert list(contexts_at(found, "jvm")) == [".", "java"]
