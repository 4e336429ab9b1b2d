"""Which files a context takes: holes for those inside it, universal excludes that spare tracked files, includes."""

import pytest

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.membership import UNIVERSAL_EXCLUDES, UniversalExcludes
from index.contexts.sample_trees import check_owners, contexts_at, statuses, tree_view

EXCLUDED_NAMES = ["node_modules", "venv", "__pycache__", ".git", "target", "dist", "build", "vendor"]


def holes_of(files: dict[str, str], family: str) -> dict[str, tuple[str, ...]]:
    """Return the exclude globs beside the universal ones, by root."""
    found = contexts_at(discover_contexts(tree_view(files)), family)
    assert all(context.exclude[: len(UNIVERSAL_EXCLUDES)] == UNIVERSAL_EXCLUDES for context in found.values())
    return {root: context.exclude[len(UNIVERSAL_EXCLUDES) :] for root, context in found.items()}


def test_a_context_has_a_hole_for_each_context_inside_it() -> None:
    files = dict.fromkeys(["go.mod", "apps/go.mod", "apps/api/go.mod", "lib/go.mod"], "")
    assert holes_of(files, "go") == {
        ".": ("apps/**", "apps/api/**", "lib/**"),
        "apps": ("api/**",),
        "apps/api": (),
        "lib": (),
    }


def test_holes_are_made_by_contexts_of_the_same_family_only() -> None:
    files = dict.fromkeys(["pyproject.toml", "web/package.json", "ml/setup.py"], "")
    assert holes_of(files, "python")["."] == ("ml/**",)


def test_detached_failed_and_empty_contexts_make_holes_too() -> None:
    files = {"go.work": "use ./b\nuse ./e", "a/go.mod": "", "a/a.go": "", "b/go.mod": "", "b/b.go": "", "e/go.mod": ""}
    view = tree_view(files | {"main.go": ""}, broken=["b/b.go"])
    found = discover_contexts(view)
    assert statuses(found, "go") == {".": "valid", "a": "detached", "b": "failed", "e": "empty"}
    assert contexts_at(found, "go")["."].exclude[len(UNIVERSAL_EXCLUDES) :] == ("a/**", "b/**", "e/**")
    check_owners(view, "go", {"main.go": ".", "a/a.go": None, "b/b.go": None, "e/new.go": None})


def test_a_directory_named_like_a_glob_makes_a_hole_for_itself_only() -> None:
    files = {
        "app/[id]/package.json": "{}",
        "app/[id]/a.ts": "",
        "app/i/b.ts": "",
        "{x,y}/package.json": "{}",
        "x/c.ts": "",
    }
    owners = {"app/[id]/a.ts": "app/[id]", "app/i/b.ts": ".", "{x,y}/d.ts": None, "x/c.ts": "."}
    check_owners(tree_view(files), "javascript", owners)
    check_owners(tree_view({**files, "{x,y}/d.ts": ""}), "javascript", {**owners, "{x,y}/d.ts": "{x,y}"})


def test_a_hole_ends_at_a_segment() -> None:
    files = {"api/go.mod": "", "api/a.go": "", "api2/b.go": "", "api.go": ""}
    check_owners(tree_view(files), "go", {"api/a.go": "api", "api2/b.go": ".", "api.go": "."})


def test_the_universal_excludes_are_those_of_the_specification() -> None:
    assert tuple(f"**/{name}/**" for name in EXCLUDED_NAMES) == UNIVERSAL_EXCLUDES


@pytest.mark.parametrize("name", EXCLUDED_NAMES)
def test_each_universal_exclude_hides_what_git_does_not_track(name: str) -> None:
    hidden = [f"{name}/a.py", f"src/{name}/b.py", f"src/{name}/deep/c.py"]
    shown = [f"{name}.py", f"src/{name}s/a.py", f"x{name}/b.py"]
    files = dict.fromkeys([*hidden, *shown], "")
    check_owners(tree_view(files), "python", dict.fromkeys(hidden) | dict.fromkeys(shown, "."))


@pytest.mark.parametrize("name", EXCLUDED_NAMES)
def test_a_universal_exclude_spares_a_directory_that_holds_tracked_files(name: str) -> None:
    files = dict.fromkeys([f"{name}/a.py", f"{name}/sub/b.py", f"x/{name}/c.py"], "")
    view = tree_view(files, tracked=[f"{name}/a.py"])
    check_owners(view, "python", {f"{name}/a.py": ".", f"{name}/sub/b.py": ".", f"x/{name}/c.py": None})


def test_each_directory_of_that_kind_is_judged_by_itself() -> None:
    files = dict.fromkeys(["vendor/a.go", "vendor/build/b.go", "vendor/build/target/c.go"], "")
    view = tree_view(files, tracked=["vendor/a.go"])
    check_owners(view, "go", {"vendor/a.go": ".", "vendor/build/b.go": None, "vendor/build/target/c.go": None})


def test_git_is_asked_only_about_directories_with_such_a_name_and_once() -> None:
    asked: list[str] = []

    def holds_tracked(directory: RepoPath) -> bool:
        asked.append(directory.text)
        return True

    excludes = UniversalExcludes(holds_tracked)
    for directory in ("", "src", "src/build", "src/build/x", "src/build", "dist/vendor"):
        assert not excludes.covers(directory)
    assert asked == ["src/build", "dist", "dist/vendor"]


SOURCE_DIRECTORIES = ["pkg", "build", "bin", "env", "target", "vendor", "dist", "venv", "out", "lib"]


@pytest.mark.parametrize("name", SOURCE_DIRECTORIES)
def test_tracked_source_in_a_directory_with_an_unlucky_name_has_an_owner(name: str) -> None:
    files = {f"{name}/go.mod": "", f"{name}/main.go": "", f"{name}/tool.py": "", f"{name}/sub/pyproject.toml": ""}
    files |= {f"{name}/sub/x.py": "", f"src/{name}/y.py": ""}
    view = tree_view(files, tracked=files)
    check_owners(view, "go", {f"{name}/main.go": name})
    check_owners(view, "python", {f"{name}/tool.py": ".", f"{name}/sub/x.py": f"{name}/sub", f"src/{name}/y.py": "."})


def test_a_path_deeper_than_the_call_stack_has_an_owner() -> None:
    path = "d/" * 1500 + "a.py"
    check_owners(tree_view({path: ""}), "python", {path: "."})
