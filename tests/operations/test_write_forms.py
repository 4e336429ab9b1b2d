"""The forms in which agents send edits: each means one thing, and what does not fit is refused with what to do."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.operations.tool_list import stored_cards, tool_documents
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import write

STORE = """\
import os


@cached
def total(lines):
    return sum(lines)


class Store:
    limit = 3

    def get(self, key):
        return key

    def put(self, key):
        return self.limit
"""


@pytest.fixture
def shop(repo: Path) -> Door:
    """Return the door of a small package."""
    write(repo, {"shop/store.py": STORE, "shop/other.py": "limit = 1\nlimit_all = limit\n", "notes.txt": "limit\n"})
    return Door(open_test_workspace(repo), OPERATIONS)


def text(door: Door, path: str = "shop/store.py") -> str:
    return (door.workspace.root / path).read_text(encoding="utf-8")


def edited(door: Door, **change: Any) -> str:
    result_of(call(door, "write_source", {"edits": [{"path": "shop/store.py", **change}]}))
    return text(door)


def test_old_and_new_are_enough(shop: Door) -> None:
    assert "return key or None" in edited(shop, old="return key", new="return key or None")


def test_all_occurrences_are_replaced_when_that_is_said(shop: Door) -> None:
    found = edited(shop, old="limit", new="most", all=True)
    assert (found.count("most"), "limit" in found) == (2, False)


def test_a_count_is_asserted(shop: Door) -> None:
    assert edited(shop, old="key", new="name", count=3).count("name") == 3
    answer = call(shop, "write_source", {"edits": [{"path": "shop/store.py", "old": "limit", "new": "x", "count": 5}]})
    assert error_of(answer) == "CONTENT_AMBIGUOUS"
    assert "2 occurrences, not 5: at lines 10, 16" in answer.text()


def test_an_expression_replaces_with_groups(shop: Door) -> None:
    assert "def fetch_get(self" in edited(
        shop, old=r"def (get|put)\\(".replace("\\\\", "\\"), new=r"def fetch_\1(", regex=True, all=True
    )


def test_a_glob_means_every_file_that_holds_the_text(shop: Door) -> None:
    change = {"path": "shop/**/*.py", "old": "limit", "new": "most"}
    found = result_of(call(shop, "write_source", {"edits": [change]}))
    assert [file["path"] for file in found["delta"]["files"]] == ["shop/other.py", "shop/store.py"]
    assert "limit" not in text(shop) + text(shop, "shop/other.py")
    assert text(shop, "notes.txt") == "limit\n"


def test_a_count_over_a_glob_is_that_of_all_files_together(shop: Door) -> None:
    change = {"path": "shop/**/*.py", "old": "limit", "new": "most", "count": 4}
    refused = call(shop, "write_source", {"edits": [change]})
    assert error_of(refused) == "CONTENT_AMBIGUOUS"
    assert "5 occurrences, not 4: shop/other.py 3, shop/store.py 2" in refused.text()
    result_of(call(shop, "write_source", {"edits": [{**change, "count": 5}]}))
    assert "limit" not in text(shop) + text(shop, "shop/other.py")


def test_a_definition_is_replaced_by_its_name_and_keeps_its_decorators(shop: Door) -> None:
    found = edited(shop, definition="total", new="def total(lines):\n    return 0\n")
    assert "@cached\ndef total(lines):\n    return 0\n\n\nclass Store" in found


def test_a_decorator_over_several_lines_belongs_to_its_definition(shop: Door) -> None:
    old = '@mark(\n    "name",\n    [1, 2],\n)\n@plain\ndef test_it(name):\n    assert name\n'
    write(shop.workspace.root, {"deco.py": f"x = 1\n\n\n{old}"})
    read = result_of(call(shop, "read_source", {"targets": ["deco.py::test_it"]}))["files"][0]
    assert (read["range"], read["content"]) == ([4, 10], old)
    shown = result_of(call(shop, "search", {"query": "test_it", "mode": "definitions", "show": "code"}))["code"]
    assert [piece["start_line"] for piece in shown] == [4]
    new = "@other\ndef test_it():\n    pass\n"
    result_of(call(shop, "write_source", {"edits": [{"path": "deco.py", "definition": "test_it", "new": new}]}))
    assert text(shop, "deco.py") == f"x = 1\n\n\n{new}"


def test_a_method_is_inserted_after_another(shop: Door) -> None:
    found = edited(shop, after="Store.get", new="    def has(self, key):\n        return True\n")
    assert "        return key\n\n    def has(self, key):\n        return True\n\n    def put" in found


def test_a_function_is_inserted_before_a_decorated_one(shop: Door) -> None:
    found = edited(shop, before="total", new="def first():\n    return 1\n")
    assert "import os\n\n\ndef first():\n    return 1\n\n\n@cached\ndef total" in found


def test_a_name_that_is_not_defined_is_answered_with_those_that_are(shop: Door) -> None:
    answer = call(shop, "write_source", {"edits": [{"path": "shop/store.py", "definition": "nope", "new": "x"}]})
    assert error_of(answer) == "CONTENT_NOT_FOUND"
    assert "it defines" in answer.text()
    assert "Store" in answer.text()


def test_what_the_session_has_read_needs_no_expectation(shop: Door) -> None:
    change = {"path": "shop/store.py", "start_line": 10, "end_line": 10, "new_content": "    limit = 4"}
    refused = call(shop, "write_source", {"edits": [change]})
    assert error_of(refused) == "EXPECTATION_MISSING"
    assert "10\t    limit = 3" in refused.text()
    call(shop, "read_source", {"targets": ["shop/store.py"]})
    assert result_of(call(shop, "write_source", {"edits": [change]}))["applied"]
    assert "    limit = 4\n" in text(shop)


def test_what_changed_since_it_was_read_is_refused_with_the_present_text(shop: Door) -> None:
    call(shop, "read_source", {"targets": ["shop/store.py"]})
    write(shop.workspace.root, {"shop/store.py": STORE.replace("limit = 3", "limit = 9")})
    change = {"path": "shop/store.py", "start_line": 10, "end_line": 10, "new_content": "    limit = 4"}
    refused = call(shop, "write_source", {"edits": [change]})
    assert error_of(refused) == "EXPECTATION_MISSING"
    assert "limit = 9" in refused.text()


def test_the_beginning_of_a_hash_is_enough(shop: Door) -> None:
    read = call(shop, "read_source", {"targets": ["shop/store.py"]}).text()
    sha256 = read.partition("sha256=")[2][:12]
    change = {"path": "shop/store.py", "start_line": 1, "end_line": 1, "new_content": "import re"}
    answer = call(shop, "write_source", {"edits": [{**change, "expected_file_sha256": sha256}]}, "another client")
    assert result_of(answer)["applied"]


def test_an_edit_by_rule_shows_its_diff_and_what_is_left(shop: Door) -> None:
    answer = call(shop, "write_source", {"edits": [{"path": "shop/*.py", "old": "limit", "new": "most"}]})
    assert "  -limit = 1\n  -limit_all = limit\n  +most = 1\n" in answer.text()
    assert " still `limit`: notes.txt:1" in answer.text()


UNIFIED = """\
--- a/shop/store.py
+++ b/shop/store.py
@@ -12,2 +12,3 @@ class Store:
     def get(self, key):
-        return key
+        key = str(key)
+        return key
--- /dev/null
+++ b/shop/new.py
@@ -0,0 +1,1 @@
+NEW = 1
--- a/notes.txt
+++ /dev/null
@@ -1 +0,0 @@
-limit
"""
BEGIN_PATCH = """\
*** Begin Patch
*** Update File: shop/store.py
@@ class Store:
     def get(self, key):
-        return key
+        key = str(key)
+        return key
*** Add File: shop/new.py
+NEW = 1
*** Delete File: notes.txt
*** End Patch
"""


@pytest.mark.parametrize("patch", [UNIFIED, BEGIN_PATCH], ids=["unified", "begin patch"])
def test_a_patch_is_applied(shop: Door, patch: str) -> None:
    call(shop, "read_source", {"targets": ["notes.txt"]})
    result_of(call(shop, "write_source", {"patch": patch}))
    assert "        key = str(key)\n        return key\n" in text(shop)
    assert text(shop, "shop/new.py") == "NEW = 1\n"
    assert not (shop.workspace.root / "notes.txt").exists()


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("not a patch", "INVALID_FORMAT"),
        (UNIFIED.replace("-        return key", "-        return value"), "CONTENT_NOT_FOUND"),
        (BEGIN_PATCH.replace("-        return key", "-        return value"), "CONTENT_NOT_FOUND"),
        (BEGIN_PATCH.replace("shop/store.py", "../store.py"), "PATH_OUTSIDE_REPOSITORY"),
        (BEGIN_PATCH + BEGIN_PATCH, "EDITS_OVERLAP"),
    ],
)
def test_a_patch_that_does_not_apply_changes_nothing(shop: Door, patch: str, code: str) -> None:
    assert error_of(call(shop, "write_source", {"patch": patch})) == code
    assert (text(shop), text(shop, "notes.txt")) == (STORE, "limit\n")


@pytest.mark.parametrize(
    "change",
    [
        {"all": True, "new": "x"},
        {"definition": "total", "old": "x", "new": "y"},
        {"definition": "total", "before": "Store", "new": "y"},
        {"old": "(", "new": "x", "regex": True},
    ],
)
def test_forms_that_contradict_themselves_are_refused(shop: Door, change: dict[str, Any]) -> None:
    answer = call(shop, "write_source", {"edits": [{"path": "shop/store.py", **change}]})
    assert error_of(answer) == "INVALID_ARGUMENTS"
    assert text(shop) == STORE


def test_a_glob_that_matches_nothing_says_so(shop: Door) -> None:
    answer = call(shop, "write_source", {"edits": [{"path": "lib/*.py", "old": "limit", "new": "x"}]})
    assert "None of 0 files" in answer.text()


def test_references_that_lose_their_definition_are_named(shop: Door) -> None:
    write(shop.workspace.root, {"shop/user.py": "from shop.store import total\n\nprint(total([1]))\n"})
    answer = call(shop, "write_source", {"edits": [{"path": "shop/store.py", "old": "def total(", "new": "def add("}]})
    assert result_of(answer)["broken"] == [
        "shop/user.py:1: from shop.store import total",
        "shop/user.py:3: print(total([1]))",
    ]
    assert "references without a definition now" in answer.text()


def test_a_definition_that_moves_with_its_imports_breaks_nothing(shop: Door) -> None:
    write(shop.workspace.root, {"shop/user.py": "from shop.store import total\n\nprint(total([1]))\n"})
    edits = [
        {"path": "shop/store.py", "old": "@cached\ndef total(lines):\n    return sum(lines)\n", "new": ""},
        {"path": "shop/sums.py", "action": "create", "content": "def total(lines):\n    return sum(lines)\n"},
        {"path": "shop/user.py", "old": "from shop.store", "new": "from shop.sums"},
    ]
    assert result_of(call(shop, "write_source", {"edits": edits}))["broken"] == []


def test_a_deleted_file_breaks_what_refers_to_it(shop: Door) -> None:
    write(shop.workspace.root, {"shop/user.py": "from shop.other import limit_all\n"})
    sha = result_of(call(shop, "read_source", {"targets": ["shop/other.py"]}))["files"][0]["file_sha256"]
    edit = {"path": "shop/other.py", "action": "delete", "expected_file_sha256": sha}
    broken = result_of(call(shop, "write_source", {"edits": [edit]}))["broken"]
    assert broken == ["shop/user.py:1: from shop.other import limit_all"]


def test_every_name_of_the_small_tool_list_is_accepted() -> None:
    """A field may be shown under its short name; the door must know that name."""
    for tool in tool_documents("core", stored_cards()) or []:
        known = OPERATIONS[tool["name"]].request_type
        names = {*known.model_fields, *(alias for aliases in known.ALIASES.values() for alias in aliases)}
        assert set(tool["inputSchema"]["properties"]) <= names
    edit = next(one for one in tool_documents("core", stored_cards()) or [] if one["name"] == "write_source")
    shown = edit["inputSchema"]["properties"]["edits"]["items"]["properties"]
    assert {"old", "new"} <= set(shown)


def test_lines_say_which_of_several_occurrences_is_meant(shop: Door) -> None:
    write(shop.workspace.root, {"a.py": "x = TypeError, 1\ny = TypeError, 2\nz = TypeError, TypeError\n"})
    edit = {"path": "a.py", "start_line": 2, "end_line": 2, "old": "TypeError,", "new": "UsageError,"}
    result_of(call(shop, "write_source", {"edits": [edit]}))
    assert text(shop, "a.py") == "x = TypeError, 1\ny = UsageError, 2\nz = TypeError, TypeError\n"
    twice = {**edit, "start_line": 3, "end_line": 3, "old": "TypeError"}
    assert error_of(call(shop, "write_source", {"edits": [twice]})) == "CONTENT_AMBIGUOUS"


def test_a_glob_leaves_out_what_git_ignores(shop: Door) -> None:
    write(shop.workspace.root, {".gitignore": "made/\n", "made/gen.py": "limit = 9\n"})
    found = result_of(call(shop, "write_source", {"edits": [{"path": "**/*.py", "old": "limit", "new": "most"}]}))
    assert [file["path"] for file in found["delta"]["files"]] == ["shop/other.py", "shop/store.py"]
    assert text(shop, "made/gen.py") == "limit = 9\n"


def test_a_replacement_by_the_same_text_changes_nothing(shop: Door) -> None:
    found = result_of(
        call(shop, "write_source", {"edits": [{"path": "shop/store.py", "old": "limit = 3", "new": "limit = 3"}]})
    )
    assert (found["applied"], found["summary"]) == (False, "nothing changed: the files already have this content")


def test_a_name_that_several_definitions_have_is_refused_with_their_lines(shop: Door) -> None:
    write(shop.workspace.root, {"twice.py": "def f():\n    return 1\n\n\ndef f():\n    return 2\n"})
    answer = call(shop, "write_source", {"edits": [{"path": "twice.py", "definition": "f", "new": "def f(): ...\n"}]})
    assert error_of(answer) == "CONTENT_AMBIGUOUS"
    assert "2 times: at lines 1, 5" in answer.text()
