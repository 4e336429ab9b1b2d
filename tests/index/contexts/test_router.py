"""Who owns a file: §8.4.6, against the specification's own procedure and in examples."""

from collections.abc import Iterable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.globs import compile_globs
from codeplane.index.contexts.markers import marker_families
from codeplane.index.contexts.membership import UNIVERSAL_EXCLUDES
from codeplane.index.contexts.model import Context, ContextStatus, Tier, TreeView
from codeplane.index.contexts.router import ContextRouter
from codeplane.languages.families import FAMILY_BY_NAME, family_of
from index.contexts.sample_trees import check_owners, router_of, tree_view
from support.effort import examples

DIRECTORIES = st.lists(st.sampled_from(["a", "b", "apps", "build", "vendor", "[x]", ".mvn"]), max_size=3).map("/".join)
MARKERS = (
    "package.json", "pnpm-workspace.yaml", "go.mod", "go.work", "pyproject.toml", "Cargo.toml", "pom.xml", "buf.yaml",
    "settings.gradle", "main.tf", "uv.lock", "App.sln", "App.csproj",
)  # fmt: skip
PLAIN = ("x.py", "y.py", "x.ts", "x.go", "x.rs", "x.java", "x.tf", "x.md", "x.proto", "docker-compose.yml", "x.cs")
TEXTS = {
    "package.json": ["{}", '{"workspaces": ["a/*", "apps/**"]}', '{"workspaces": []}', "{broken"],
    "pnpm-workspace.yaml": ["packages: ['*', '!b']", "packages: 3", ""],
    "go.work": ["use ./a\nuse .", "use (\n", ""],
    "Cargo.toml": ["", '[workspace]\nmembers = ["a", "b/*"]\nexclude = ["b/a"]', "[workspace"],
    "settings.gradle": ["include ':a', ':apps:b'", "include(x)"],
}


def _joined(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


@st.composite
def trees(draw: st.DrawFn) -> TreeView:
    """Return a small tree with many markers, some tracked, some broken."""
    names = st.sampled_from(MARKERS + PLAIN)
    paths = draw(st.lists(st.builds(_joined, DIRECTORIES, names), max_size=14, unique=True))
    files = {path: draw(st.sampled_from(TEXTS.get(path.rpartition("/")[2], [""]))) for path in paths}
    some = st.sets(st.sampled_from(paths)) if paths else st.just(set[str]())
    return tree_view(files, tracked=draw(some), broken=draw(some))


PATHS = st.builds(_joined, DIRECTORIES, st.sampled_from(PLAIN)).map(RepoPath)


def owner_by_the_book(contexts: Iterable[Context], path: RepoPath, family: str, view: TreeView) -> Context | None:
    """Follow the specification's procedure step by step; universal excludes spare what git tracks."""
    candidates = [item for item in contexts if item.family == family and item.status is ContextStatus.VALID]
    candidates.sort(key=lambda item: len(item.root_path.parts), reverse=True)
    ancestors = [RepoPath("/".join(path.parts[:depth])) for depth in range(1, len(path.parts))]
    universal = {glob.split("/")[1] for glob in UNIVERSAL_EXCLUDES}
    if any(directory.name in universal and not view.holds_tracked(directory) for directory in ancestors):
        return None
    for context in candidates:
        if not path.is_inside(context.root_path):
            continue
        relative = "/".join(path.parts[len(context.root_path.parts) :])
        if compile_globs(set(context.exclude) - set(UNIVERSAL_EXCLUDES)).matches(relative):
            continue
        if compile_globs(context.include).matches(relative):
            return context
    return None


@given(trees(), st.lists(PATHS, min_size=1, max_size=5))
@examples(100)
def test_the_router_answers_as_the_specification_does(view: TreeView, asked: list[RepoPath]) -> None:
    contexts = discover_contexts(view)
    router = ContextRouter(contexts, view.holds_tracked)
    for path in (*view.files, *asked):
        for family in FAMILY_BY_NAME:
            assert router.context_for(path, family) == owner_by_the_book(contexts, path, family, view)


@given(trees())
@examples(80)
def test_a_file_has_at_most_one_context_per_family(view: TreeView) -> None:
    router = router_of(view)
    for path in view.files:
        owners = router.contexts_of(path)
        families = [owner.family for owner in owners]
        assert families == sorted(set(families))
        assert set(families) <= set(family_of(path))
        assert all(path.is_inside(owner.root_path) for owner in owners)
        assert all(owner.status is ContextStatus.VALID for owner in owners)


@given(trees(), PATHS | st.builds(_joined, DIRECTORIES, st.sampled_from(MARKERS)).map(RepoPath))
@examples(100)
def test_adding_an_unrelated_file_changes_no_other_owner(view: TreeView, added: RepoPath) -> None:
    """A file is unrelated to a family when it neither belongs to it nor marks anything for it."""
    related = {*family_of(added), *marker_families(added)}
    wider = TreeView((*view.files, added), view.read_text, view.holds_tracked, view.parse_quality)
    before, after = router_of(view), router_of(wider)
    for path in set(view.files) - {added}:
        for family in set(FAMILY_BY_NAME) - related:
            assert after.context_for(path, family) == before.context_for(path, family)


@given(trees(), st.randoms(use_true_random=False))
@examples(100)
def test_the_order_of_files_makes_no_difference(view: TreeView, random: Random) -> None:
    files = list(view.files)
    random.shuffle(files)
    shuffled = TreeView(tuple(files), view.read_text, view.holds_tracked, view.parse_quality)
    assert discover_contexts(shuffled) == discover_contexts(view)


def test_the_deepest_context_owns_a_file() -> None:
    files = dict.fromkeys(["go.mod", "a.go", "apps/api/go.mod", "apps/api/b.go", "apps/c.go"], "")
    check_owners(tree_view(files), "go", {"a.go": ".", "apps/api/b.go": "apps/api", "apps/c.go": "."})


def test_a_file_is_owned_by_several_contexts_only_in_different_families() -> None:
    files = {"deploy/docker-compose.yml": ""}
    owners = router_of(tree_view(files)).contexts_of(RepoPath("deploy/docker-compose.yml"))
    assert [owner.family for owner in owners] == ["docker", "json_yaml"]


def test_a_file_of_another_family_has_no_owner_in_this_one() -> None:
    check_owners(tree_view({"a.py": "", "b.go": ""}), "python", {"a.py": ".", "b.go": None})


def test_an_unknown_family_has_no_owners() -> None:
    check_owners(tree_view({"a.py": ""}), "cobol", {"a.py": None})


def test_a_file_that_is_not_indexed_yet_has_the_owner_it_will_have() -> None:
    check_owners(tree_view({"lib/pyproject.toml": "", "lib/a.py": ""}), "python", {"lib/new/b.py": "lib"})


def test_only_valid_contexts_own_files() -> None:
    files = dict.fromkeys(["a/pyproject.toml", "a/x.py", "b/pyproject.toml", "b/y.py", "c/pyproject.toml"], "")
    view = tree_view(files, broken=["a/x.py"])
    check_owners(view, "python", {"a/x.py": None, "b/y.py": "b", "c/z.py": None, "d/z.py": None})


def test_a_context_that_is_not_valid_is_passed_over_when_nobody_punched_a_hole() -> None:
    """Contexts may come from elsewhere; then the next one above owns the file, as in the specification."""

    def context(root: str, status: ContextStatus) -> Context:
        return Context(root, "go", RepoPath(root), Tier.PACKAGE, status, "", ("**/*.go",), UNIVERSAL_EXCLUDES)

    contexts = [context(".", ContextStatus.VALID), context("a", ContextStatus.FAILED)]
    router = ContextRouter(contexts, lambda _: False)
    assert router.context_for(RepoPath("a/b/x.go"), "go") == contexts[0]
