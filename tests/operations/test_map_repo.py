"""The map of a repository: short by default, everything by section, paged, and saying what is not in it."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import make_repository, write

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'shop'\n[project.scripts]\nshop = 'shop.cli:main'\n",
    "src/shop/__init__.py": "from .store import Store\n__all__ = ['Store']\n",
    "src/shop/store.py": "import json\nimport requests\n\n\nclass Store:\n    pass\n",
    "src/shop/cli.py": "from shop import Store\nimport numpy.linalg\n\n\ndef main():\n    return Store()\n",
    "src/shop/deep/er/x.py": "x = 1\n",
    "tests/test_store.py": "import shop\n\n\ndef test_it():\n    pass\n",
    "web/package.json": '{"name": "web", "main": "dist/index.js"}\n',
    "web/src/index.ts": "export function start() {}\nexport default start\n",
    "web/src/app.test.ts": "import { start } from './index'\n",
    "web/schema.proto": "message M {}\n",
    "logo.png": b"\x89PNG\0\0",
    ".env": "SECRET=1\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Door:
    root = make_repository(tmp_path / "shop", FILES)
    return Door(open_test_workspace(root), OPERATIONS)


def section(door: Door, name: str, **arguments: object) -> object:
    return result_of(call(door, "map_repo", {"include": [name], **arguments}))[name]


def test_the_default_is_short_and_says_what_is_missing(shop: Door) -> None:
    answer = call(shop, "map_repo", {}).text()
    assert answer.splitlines() == [
        "shop: 11 files",
        " src/ 4: shop 4",
        " tests/ 1",
        " web/ 4: src 2",
        " logo.png, pyproject.toml",
        "contexts: ., web",
        "languages: python 5, typescript 2, json 1, proto 1 (as text), toml 1",
        "entry points:",
        " src/shop/cli.py:5 main (script shop)",
        " web/src/index.ts:1 index.ts (index of package web)",
        "not searched: 1 binary",
        "left out: 1 .codeplane/ (always), 1 .env (built-in secrets), 1 .git/ (always)",
    ]


def test_structure_goes_as_deep_as_asked(shop: Door) -> None:
    structure = section(shop, "structure", depth=5, path="src")
    assert isinstance(structure, dict)
    tree = structure["tree"]
    assert [node["path"] for node in tree] == ["src/shop"]
    below = {node["path"]: node for node in tree[0]["children"]}
    assert below["src/shop/store.py"]["line_count"] == 6
    assert below["src/shop/deep"]["children"][0]["children"][0]["path"] == "src/shop/deep/er/x.py"
    assert structure["file_count"] == 4


def test_languages_have_shares_that_make_a_whole(shop: Door) -> None:
    languages = section(shop, "languages")
    assert isinstance(languages, list)
    assert languages[0] == {"language": "python", "file_count": 5, "percentage": 50.0, "is_text_only": False}
    assert sum(one["percentage"] for one in languages) == pytest.approx(100)


def test_dependencies_leave_out_the_standard_library_and_the_repository_itself(shop: Door) -> None:
    dependencies = section(shop, "dependencies")
    assert isinstance(dependencies, dict)
    assert sorted(dependencies["external_modules"]) == ["numpy", "requests"]


def test_tests_are_listed_by_path(shop: Door) -> None:
    assert section(shop, "test_layout") == {
        "test_files": ["tests/test_store.py", "web/src/app.test.ts"],
        "test_count": 2,
    }


def test_the_public_api_is_what_packages_offer_by_their_manifests(shop: Door) -> None:
    api = section(shop, "public_api")
    assert isinstance(api, list)
    assert [(one["module"], one["name"]) for one in api] == [
        ("shop", "Store"),
        ("web", "start"),
        ("web", "default"),
        ("shop.cli", "main"),
        ("shop.deep.er.x", "x"),
    ]
    assert all(one["def_uid"] for one in api)


def test_sections_are_paged(shop: Door) -> None:
    arguments: dict[str, object] = {"include": ["test_layout"], "limit": 1}
    first = result_of(call(shop, "map_repo", arguments))
    assert first["test_layout"]["test_files"] == ["tests/test_store.py"]
    cursor = first["pagination"]["next_cursor"]
    second = result_of(call(shop, "map_repo", {**arguments, "cursor": cursor}))
    assert second["test_layout"]["test_files"] == ["web/src/app.test.ts"]
    assert "next_cursor" not in second["pagination"]
    assert error_of(call(shop, "map_repo", {"include": ["public_api"], "cursor": cursor})) == "CURSOR_INVALID"
    write(shop.workspace.root, {"new.py": "x = 1\n"})
    assert error_of(call(shop, "map_repo", {**arguments, "cursor": cursor})) == "CURSOR_EXPIRED"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "nowhere"}, "FILE_NOT_FOUND"),
        ({"path": "../out"}, "FILE_NOT_FOUND"),
        ({"include": ["everything"]}, "INVALID_ARGUMENTS"),
        ({"depth": 0}, "INVALID_ARGUMENTS"),
        ({"limit": "many"}, "INVALID_ARGUMENTS"),
        ({"cursor": "forged"}, "CURSOR_INVALID"),
    ],
)
def test_what_cannot_be_shown_is_an_error_that_says_why(shop: Door, arguments: dict[str, object], code: str) -> None:
    assert error_of(call(shop, "map_repo", arguments)) == code


def test_the_default_stays_short_for_a_large_tree(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"dir{i:02}/sub{j}/file{k}.py": "def main(): pass\n" for i in range(30) for j in range(6) for k in range(3)
    }
    root = make_repository(tmp_path / "large", files)
    with open_test_workspace(root) as workspace:
        answer = call(Door(workspace, OPERATIONS), "map_repo", {}).text()
    assert len(answer) <= 500 * 4
    assert "more" in answer


@pytest.mark.parametrize("path", ["src/", "./src", "./src/"])
def test_a_directory_may_be_written_in_any_usual_way(shop: Door, path: str) -> None:
    assert section(shop, "structure", path=path) == section(shop, "structure", path="src")


def test_every_section_tells_about_the_given_directory_only(shop: Door) -> None:
    every = ["structure", "languages", "entry_points", "dependencies", "test_layout", "public_api"]
    found = result_of(call(shop, "map_repo", {"include": every, "path": "web"}))
    assert found["structure"]["file_count"] == 4
    assert found["structure"]["contexts"] == [".", "web"]
    assert {one["language"] for one in found["languages"]} == {"typescript", "json", "proto"}
    assert [one["path"] for one in found["entry_points"]] == ["web/src/index.ts"]
    assert found["dependencies"] == {"external_modules": [], "import_count": 1}
    assert found["test_layout"]["test_files"] == ["web/src/app.test.ts"]
    assert {one["path"] for one in found["public_api"]} == {"web/src/index.ts"}
    assert found["not_indexed"] == {}
    assert found["left_out"] == {}


def test_the_structure_is_limited_as_a_whole_and_goes_on_with_a_cursor(shop: Door) -> None:
    arguments: dict[str, object] = {"include": ["structure"], "depth": 5, "limit": 4}
    seen: list[str] = []
    cursor = None
    while True:
        answer = result_of(call(shop, "map_repo", {**arguments, "cursor": cursor}))
        page = [path for path, is_repeated in walk_nodes(answer["structure"]["tree"]) if not is_repeated]
        assert len(page) <= 4
        seen += page
        cursor = answer["pagination"].get("next_cursor")
        if cursor is None:
            break
    whole = result_of(call(shop, "map_repo", {"include": ["structure"], "depth": 5}))["structure"]["tree"]
    assert sorted(seen) == sorted(path for path, _ in walk_nodes(whole))
    assert len(seen) == len(set(seen)) == 18


def walk_nodes(nodes: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Return the paths of a tree, and whether each only leads to others that are on this page."""
    found = []
    for node in nodes:
        found.append((node["path"], node["is_dir"] and node.get("file_count") is None))
        found += walk_nodes(node.get("children") or [])
    return found


def test_a_cursor_of_another_directory_is_refused(shop: Door) -> None:
    first = result_of(call(shop, "map_repo", {"include": ["structure"], "limit": 1}))
    cursor = first["pagination"]["next_cursor"]
    answer = call(shop, "map_repo", {"include": ["structure"], "path": "src", "cursor": cursor})
    assert error_of(answer) == "CURSOR_INVALID"
