"""Definitions and references through the door."""

from pathlib import Path

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import write

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'shop'\n[project.scripts]\nshop = 'shop.cli:main'\n",
    "src/shop/__init__.py": "from .store import Store as Store, get\n__all__ = ['Store', 'get']\n",
    "src/shop/store.py": (
        "class Base:\n    def close(self):\n        pass\n\n\n"
        'class Store(Base):\n    """Keeps things."""\n\n    limit = 3\n\n'
        "    def get(self, key):\n        return self.limit\n\n"
        "    def stop(self):\n        self.close()\n        return self.get(1)\n\n\n"
        "def get(key, default=None):\n    return default\n"
    ),
    "src/shop/cli.py": (
        "from shop import Store, get\n\n\ndef main():\n    store = Store()\n    store.get(1)\n    return get('a')\n"
    ),
    "tests/test_store.py": "import shop\n\n\ndef test_get():\n    assert shop.get('x') is None\n",
    "web/app.proto": "message M {}\n",
}


@pytest.fixture
def shop(repo: Path) -> Door:
    """Return the door of a small package."""
    write(repo, FILES)
    return Door(open_test_workspace(repo), OPERATIONS)


def lines(door: Door, **arguments: object) -> list[str]:
    """Return the hits as `path:line`."""
    return [f"{hit['path']}:{hit['line']}" for hit in result_of(call(door, "search", arguments))["results"]]


def text(door: Door, **arguments: object) -> str:
    """Return the answer as a model gets it."""
    return call(door, "search", arguments).text()


def test_a_definition_is_one_line(shop: Door) -> None:
    assert text(shop, query="Store", mode="definitions") == "src/shop/store.py:6-16 class Store(Base)"


def test_a_dotted_name_means_the_member(shop: Door) -> None:
    assert lines(shop, query="Store.get", mode="definitions") == ["src/shop/store.py:11"]
    assert lines(shop, query="shop.store.get", mode="definitions") == ["src/shop/store.py:19"]
    assert lines(shop, query="src/shop/store.py::get", mode="definitions") == ["src/shop/store.py:19"]


@pytest.mark.parametrize(
    ("query", "how"),
    [("store", "other case or form"), ("STORE", "other case or form"), ("Stoer", "nearest spelling"),
     ("Storre", "nearest spelling"), ("Stre", "nearest spelling"), ("Stare", "nearest spelling")],
)  # fmt: skip
def test_symbol_search_forgives_and_says_so(shop: Door, query: str, how: str) -> None:
    hit = result_of(call(shop, "search", {"query": query, "mode": "symbol"}))["results"][0]
    assert (hit["symbol"]["name"], hit["matched"], hit["match_type"]) == ("Store", how, "fuzzy")


@pytest.mark.parametrize("query", ["grösse_der_flaeche", "größ_der_flaeche", "grüße_der_flaeche", "größe_der"])
def test_letters_beyond_ascii_are_forgiven_like_others(shop: Door, query: str) -> None:
    write(shop.workspace.root, {"src/shop/more.py": "def größe_der_flaeche(): pass\n"})
    assert lines(shop, query=query, mode="symbol") == ["src/shop/more.py:1"]


def test_snake_and_camel_forms_are_the_same_name(shop: Door) -> None:
    write(shop.workspace.root, {"src/shop/more.py": "def read_all_items(): pass\n"})
    assert lines(shop, query="readAllItems", mode="definitions") == ["src/shop/more.py:1"]


def test_parts_of_names_count_in_symbol_mode_only(shop: Door) -> None:
    write(shop.workspace.root, {"src/shop/more.py": "def read_all_items(): pass\n"})
    assert lines(shop, query="all_it", mode="symbol") == ["src/shop/more.py:1"]
    assert lines(shop, query="all_it", mode="definitions") == []


def test_kinds_and_paths_narrow_the_search(shop: Door) -> None:
    assert lines(shop, query="get", mode="definitions", scope={"kinds": ["method"]}) == ["src/shop/store.py:11"]
    assert lines(shop, query="get", mode="definitions", scope={"paths": ["tests/**"]}) == []
    assert error_of(call(shop, "search", {"query": "get", "mode": "symbol", "scope": {"kinds": ["thing"]}})) == (
        "INVALID_ARGUMENTS"
    )


def test_references_follow_imports_and_leave_other_symbols_alone(shop: Door) -> None:
    found = lines(shop, query="src/shop/store.py:19", mode="references")
    assert found == [
        "src/shop/__init__.py:1",
        "src/shop/__init__.py:2",
        "src/shop/cli.py:1",
        "src/shop/cli.py:7",
        "tests/test_store.py:5",
    ]


def test_self_members_and_inherited_ones_are_found(shop: Door) -> None:
    assert lines(shop, query="Store.get", mode="references") == ["src/shop/store.py:16"]
    assert lines(shop, query="Base.close", mode="references") == ["src/shop/store.py:15"]


def test_the_count_is_that_of_the_lines_and_does_not_hold_the_definition(shop: Door) -> None:
    assert text(shop, query="src/shop/store.py:19", mode="references").startswith(
        "function get, src/shop/store.py:19: 5 references (2 imports)\n"
    )
    assert text(shop, query="Base.close", mode="references").startswith(
        "method Base.close, src/shop/store.py:2: 1 reference\n"
    )


@pytest.mark.parametrize("query", ["src/shop/store.py", "./src/shop/store.py", "shop.store"])
def test_a_file_or_module_is_answered_with_its_imports(shop: Door, query: str) -> None:
    write(shop.workspace.root, {"src/shop/other.py": "from shop import store\nimport shop.store as s\n"})
    answer = text(shop, query=query, mode="references")
    assert answer == (
        "src/shop/store.py: imported by 2 files\n"
        "src/shop/__init__.py\n 1: from .store import Store as Store, get\n"
        "src/shop/other.py\n 1: from shop import store\n 2: import shop.store as s"
    )


def test_imports_are_paged_and_scoped(shop: Door) -> None:
    write(shop.workspace.root, {f"src/shop/u{i}.py": "from shop.store import get\n" for i in range(7)})
    arguments: dict[str, object] = {"query": "shop.store", "mode": "references", "limit": 3}
    found: list[str] = []
    while True:
        result = result_of(call(shop, "search", arguments))
        found += [hit["path"] for hit in result["results"]]
        if "next_cursor" not in result["pagination"]:
            break
        arguments["cursor"] = result["pagination"]["next_cursor"]
    assert found == ["src/shop/__init__.py", *(f"src/shop/u{i}.py" for i in range(7))]
    assert lines(shop, query="shop.store", mode="references", scope={"paths": ["u3.py"]}) == ["src/shop/u3.py:1"]


def test_a_setting_says_that_it_may_be_read_through_something_unknown(shop: Door) -> None:
    write(shop.workspace.root, {"src/shop/conf.py": "AGE = 1\n", "src/shop/use.py": "def f(s):\n    return s.AGE\n"})
    assert "certainty=all" in text(shop, query="AGE", mode="references")
    answer = text(shop, query="AGE", mode="references", certainty="all")
    assert " 2?: return s.AGE" in answer
    assert "marked ?" in answer


def test_uses_on_unknown_receivers_are_listed_when_all_are_asked_for(shop: Door) -> None:
    answer = text(shop, query="Store.get", mode="references", certainty="all")
    assert " 6?: store.get(1)" in answer
    assert "certainty=all" in text(shop, query="Store.get", mode="references")


def test_tiers_say_how_sure_a_reference_is(shop: Door) -> None:
    hits = result_of(call(shop, "search", {"query": "src/shop/store.py:19", "mode": "references"}))["results"]
    assert {hit["path"]: hit["tier"] for hit in hits}["src/shop/cli.py"] == "STRONG"


def test_a_use_by_place_means_its_definition(shop: Door) -> None:
    assert lines(shop, query="src/shop/cli.py:7:11", mode="definitions") == ["src/shop/store.py:19"]


def test_a_def_uid_is_a_query(shop: Door) -> None:
    uid = result_of(call(shop, "search", {"query": "Store", "mode": "definitions"}))["results"][0]["symbol"]["def_uid"]
    assert lines(shop, query=uid, mode="definitions") == ["src/shop/store.py:6"]


def test_a_name_with_many_definitions_is_answered_with_the_list(shop: Door) -> None:
    write(shop.workspace.root, {f"src/shop/m{i}.py": "def run(): pass\n" for i in range(6)})
    answer = text(shop, query="run", mode="references")
    assert answer.startswith("`run` has 6 definitions; search for one of them, as in query=src/shop/m0.py::run:")


def test_pages_hold_every_reference_once(shop: Door) -> None:
    write(shop.workspace.root, {f"src/shop/u{i}.py": "from shop import get\nget(1)\n" for i in range(9)})
    found: list[str] = []
    arguments: dict[str, object] = {"query": "src/shop/store.py:19", "mode": "references", "limit": 4}
    while True:
        result = result_of(call(shop, "search", arguments))
        found += [f"{hit['path']}:{hit['line']}" for hit in result["results"]]
        if "next_cursor" not in result["pagination"]:
            break
        arguments["cursor"] = result["pagination"]["next_cursor"]
    assert len(found) == len(set(found)) == 5 + 18


@pytest.mark.parametrize("mode", ["symbol", "references"])
def test_a_cursor_outlives_unrelated_changes_and_expires_with_what_it_showed(shop: Door, mode: str) -> None:
    arguments: dict[str, object] = {"query": "get", "mode": mode, "limit": 1}
    first = result_of(call(shop, "search", arguments))
    cursor = first["pagination"]["next_cursor"]
    write(shop.workspace.root, {"src/shop/more.py": "x = 1\n"})
    second = result_of(call(shop, "search", {**arguments, "cursor": cursor}))
    assert second["results"][0] != first["results"][0]
    shown = shop.workspace.root / first["results"][0]["path"]
    shown.write_text(f"# moved\n{shown.read_text()}")
    assert error_of(call(shop, "search", {**arguments, "cursor": cursor})) == "CURSOR_EXPIRED"


def test_nothing_found_says_where_was_looked(shop: Door) -> None:
    answer = text(shop, query="nowhere_at_all", mode="definitions")
    assert answer.startswith("No definition of `nowhere_at_all` in ")
    assert "indexed as text only" in answer


def test_an_edit_is_seen_by_the_next_question(shop: Door) -> None:
    lines(shop, query="get", mode="definitions")
    write(shop.workspace.root, {"src/shop/store.py": "def get(): pass\n"})
    assert lines(shop, query="get", mode="definitions") == ["src/shop/store.py:1"]
    assert "src/shop/cli.py:7" in lines(shop, query="get", mode="references")
    write(shop.workspace.root, {"src/shop/store.py": "def got(): pass\n"})
    assert lines(shop, query="got", mode="definitions") == ["src/shop/store.py:1"]
    assert lines(shop, query="got", mode="references") == []


@pytest.mark.parametrize(
    ("enrichment", "expected"),
    [("minimal", "[Store.stop]"), ("standard", "[Store.stop(self)]"), ("function", "    def stop(self):"),
     ("class", "class Store(Base):")],
)  # fmt: skip
def test_enrichment_says_what_a_line_stands_in(shop: Door, enrichment: str, expected: str) -> None:
    assert expected in text(shop, query="self.close()", enrichment=enrichment)


@pytest.mark.parametrize("mode", ["symbol", "references", "definitions"])
@pytest.mark.parametrize("query", ["", "   ", ".", "::", "a::", "\x00", "x" * 9000, "a:1", "0" * 16, "é.ü", "%", "_"])
def test_odd_queries_are_answered(shop: Door, mode: str, query: str) -> None:
    answer = call(shop, "search", {"query": query, "mode": mode})
    assert not answer.is_error or error_of(answer) == "INVALID_ARGUMENTS"
