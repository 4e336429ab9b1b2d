"""Changing files through the door: only what is meant, all or nothing, and one answer that says everything."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_bytes
from codeplane.edit.disk import Disk
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import write

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop/__init__.py": "",
    "shop/store.py": (
        "LIMIT = 3\n\n\nclass Store:\n    def get(self, key):\n        return key\n\n"
        "    def put(self, key):\n        return LIMIT\n"
    ),
    "tests/test_store.py": "from shop.store import Store\n\n\ndef test_get():\n    assert Store().get(1) == 1\n",
    ".gitignore": "build/\n*.log\n",
}


@pytest.fixture
def shop(repo: Path) -> Door:
    """Return the door of a small package."""
    write(repo, FILES)
    return Door(open_test_workspace(repo), OPERATIONS)


def edit(door: Door, *edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make edits that succeed; return the result."""
    return result_of(call(door, "write_source", {"edits": list(edits), **more}))


def refused(door: Door, *edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make edits that are refused; return the error."""
    before = {
        path: path.read_bytes()
        for path in door.workspace.root.rglob("*")
        if path.is_file() and ".codeplane" not in path.parts and ".git" not in path.parts
    }
    answer = call(door, "write_source", {"edits": list(edits), **more})
    assert answer.error is not None, answer.result
    assert {path: path.read_bytes() for path in before} == before
    return {"code": answer.error.error, "details": answer.error.details, "message": answer.error.message}


def text(door: Door, path: str) -> str:
    """Return a file as it is."""
    return (door.workspace.root / path).read_bytes().decode()


def test_an_edit_of_a_file_that_is_not_utf8_is_answered_when_its_text_is_not_found(shop: Door) -> None:
    (shop.workspace.root / "latin.txt").write_bytes("caf\u00e9 one\ncaf\u00e9 two\n".encode("latin-1"))
    change = {"path": "latin.txt", "expected_content": "caf\u00e9 one\n", "new_content": "tea\n"}
    answer = call(shop, "write_source", {"edits": [change]})
    assert error_of(answer) == "CONTENT_NOT_FOUND"
    assert "caf\\xe9 one" in answer.envelope_text().encode("utf-8").decode().replace("\\\\", "\\")
    assert answer.text().encode("utf-8")


def test_an_edit_does_not_mix_encodings(shop: Door) -> None:
    place = shop.workspace.root / "latin.txt"
    place.write_bytes("caf\u00e9\nplain\n".encode("latin-1"))
    change = {"path": "latin.txt", "expected_content": "plain\n"}
    found = refused(shop, {**change, "new_content": "na\u00efve\n"})
    assert (found["code"], found["message"]) == (
        "INVALID_ARGUMENTS",
        "latin.txt is not UTF-8 and the new text is not ASCII: the file would mix encodings.",
    )
    edit(shop, {**change, "new_content": "simple\n"})
    assert place.read_bytes() == "caf\u00e9\nsimple\n".encode("latin-1")


def test_a_whole_file_is_converted_to_utf8_and_that_is_said(shop: Door) -> None:
    place = shop.workspace.root / "latin.txt"
    place.write_bytes("caf\u00e9\n".encode("latin-1"))
    change = {"path": "latin.txt", "content": "th\u00e9\n", "expected_file_sha256": sha256_bytes(place.read_bytes())}
    answer = call(shop, "write_source", {"edits": [change]})
    assert result_of(answer)["applied"]
    assert answer.meta.warnings == ("latin.txt was not UTF-8; it is now",)
    assert place.read_bytes() == "th\u00e9\n".encode()


def test_a_file_and_a_directory_change_places_in_one_call_and_undo_takes_it_back(shop: Door) -> None:
    root = shop.workspace.root
    write(root, {"one": "file\n", "two/deep/in.txt": "inside\n"})
    found = edit(
        shop,
        {"path": "one", "action": "delete", "expected_file_sha256": sha256_bytes(b"file\n")},
        {"path": "one/in.txt", "action": "create", "content": "inside\n"},
        {"path": "two/deep/in.txt", "action": "delete", "expected_file_sha256": sha256_bytes(b"inside\n")},
        {"path": "two", "action": "create", "content": "file\n"},
    )
    assert (text(shop, "one/in.txt"), text(shop, "two")) == ("inside\n", "file\n")
    result_of(call(shop, "undo", {"operation": found["delta"]["mutation_id"]}))
    assert (text(shop, "one"), text(shop, "two/deep/in.txt")) == ("file\n", "inside\n")


def test_the_repository_fingerprint_covers_the_content_of_files(shop: Door) -> None:
    def written(content: str) -> str:
        change = {"path": "shop/__init__.py", "new_content": content}
        sha256 = sha256_bytes((shop.workspace.root / "shop/__init__.py").read_bytes())
        fingerprint: str = edit(shop, {**change, "expected_file_sha256": sha256})["delta"]["repo_fingerprint"]
        return fingerprint

    first, second, again = written("A = 1\n"), written("A = 2\n"), written("A = 1\n")
    assert first != second
    assert first == again


def test_a_failed_call_is_recorded_with_the_class_of_its_failure(shop: Door) -> None:
    call(shop, "write_source", {"edits": [{"path": "none", "new_content": "x", "expected_content": "y"}]})
    call(shop, "no_such_operation", {})
    shop.workspace.chain.flush()
    with shop.workspace.chain.database.read() as connection:
        found = connection.execute("SELECT failure_class FROM operations WHERE NOT success").fetchall()
    assert [row[0] for row in found] == ["Repository and files", "Requests and configuration"]


def test_one_answer_says_everything(shop: Door) -> None:
    before = sha256_bytes((shop.workspace.root / "shop/store.py").read_bytes())
    change = {
        "path": "shop/store.py",
        "expected_content": "        return key\n",
        "new_content": "        return key or LIMIT\n",
    }
    found = edit(shop, change)
    after = sha256_bytes((shop.workspace.root / "shop/store.py").read_bytes())
    delta = found["delta"]
    file = delta["files"][0]
    assert (found["applied"], found["dry_run"], delta["files_changed"]) == (True, False, 1)
    assert (delta["insertions"], delta["deletions"]) == (1, 1)
    assert (file["old_hash"], file["new_hash"], file["file_sha256"]) == (before, after, after)
    assert file["edits"][0]["range"] == {"start": {"line": 6, "char": 0}, "end": {"line": 7, "char": 0}}
    assert file["edits"][0]["new_lines"] == [6, 6]
    assert delta["symbols_changed"] == ["Store.get"]
    assert [one["path"] for one in delta["tests_affected"]] == ["tests/test_store.py"]
    assert delta["mutation_id"]
    assert delta["repo_fingerprint"]
    assert found["repository"]["index_epoch"] == 1 or found["repository"]["index_epoch"] == 2
    assert file["new_syntax_errors"] == []


def test_the_index_knows_the_change_at_once(shop: Door) -> None:
    edit(shop, {"path": "shop/new.py", "action": "create", "content": "def fresh_name(): pass\n"})
    found = result_of(call(shop, "search", {"query": "fresh_name", "mode": "definitions"}))["results"]
    assert [hit["path"] for hit in found] == ["shop/new.py"]


def test_several_files_happen_together_or_not_at_all(shop: Door) -> None:
    edits = [
        {"path": "shop/a.py", "action": "create", "content": "A = 1\n"},
        {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 4"},
        {"path": "tests/test_store.py", "action": "delete"},
    ]
    bad = {"path": "shop/store.py", "expected_content": "nowhere", "new_content": "x"}
    assert refused(shop, *edits[:1], bad, edits[2])["code"] == "CONTENT_NOT_FOUND"
    assert not (shop.workspace.root / "shop/a.py").exists()
    delta = edit(shop, *edits)["delta"]
    assert [(one["path"], one["action"]) for one in delta["files"]] == [
        ("shop/a.py", "created"), ("shop/store.py", "updated"), ("tests/test_store.py", "deleted"),
    ]  # fmt: skip
    assert text(shop, "shop/store.py").startswith("LIMIT = 4\n")
    assert not (shop.workspace.root / "tests/test_store.py").exists()


def test_a_dry_run_says_what_would_change_and_changes_nothing(shop: Door) -> None:
    before = text(shop, "shop/store.py")
    found = edit(
        shop, {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 4"}, dry_run=True
    )
    assert (found["applied"], found["dry_run"], found["delta"]["insertions"]) == (False, True, 1)
    assert text(shop, "shop/store.py") == before


def test_a_dry_run_answers_the_tests_that_the_change_would_affect(shop: Door) -> None:
    change = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 4"}
    planned, done = edit(shop, change, dry_run=True)["delta"], edit(shop, change)["delta"]
    assert (
        planned["tests_affected"] == done["tests_affected"] == [{"path": "tests/test_store.py", "confidence": "high"}]
    )
    assert planned["tests_confidence"] == done["tests_confidence"] == "complete"


def test_a_deleted_file_affects_the_tests_that_used_it(shop: Door) -> None:
    delta = edit(shop, {"path": "shop/store.py", "action": "delete"})["delta"]
    assert delta["tests_affected"] == [{"path": "tests/test_store.py", "confidence": "high"}]


def test_tests_that_may_be_missing_are_told_with_the_reason(shop: Door) -> None:
    write(shop.workspace.root, {"tests/test_cli.py": "import subprocess\n"})
    change = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 4"}
    answer = call(shop, "write_source", {"edits": [change]})
    delta = result_of(answer)["delta"]
    reason = "tests/test_cli.py starts programs (subprocess)"
    assert (delta["tests_confidence"], delta["tests_unknown"]) == ("partial", [reason])
    assert f"more may be affected: {reason}" in answer.text()


def test_a_hash_that_is_given_must_fit_whatever_else_is_given(shop: Door) -> None:
    change = {
        "path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "x",
        "expected_file_sha256": "0" * 64, "start_line": 1,
    }  # fmt: skip
    error = refused(shop, change)
    assert error["code"] == "STALE_FILE"
    assert error["details"]["current"][0]["text"].startswith("LIMIT = 3")
    assert error["details"]["file_sha256"] in error["message"]


def test_a_stale_file_is_told_with_who_changed_it(shop: Door) -> None:
    old = sha256_bytes((shop.workspace.root / "shop/store.py").read_bytes())
    first = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 5"}
    result_of(call(shop, "write_source", {"edits": [first]}, connection="c1"))
    late = {"path": "shop/store.py", "start_line": 1, "new_content": "LIMIT = 6\n", "expected_file_sha256": old}
    answer = call(shop, "write_source", {"edits": [late]}, connection="c2")
    assert answer.error is not None
    who = answer.error.details["changed_by"]
    assert who["operation"] == "write_source"
    assert who["session"] in answer.error.message
    assert text(shop, "shop/store.py").startswith("LIMIT = 5\n")


def test_a_text_that_another_session_changed_is_told_with_that_session(shop: Door) -> None:
    first = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 5"}
    result_of(call(shop, "write_source", {"edits": [first]}, connection="c1"))
    answer = call(shop, "write_source", {"edits": [{**first, "new_content": "LIMIT = 6"}]}, connection="c2")
    assert answer.error is not None
    assert answer.error.error == "CONTENT_NOT_FOUND"
    assert answer.error.details["changed_by"]["session"] in answer.error.message
    # What the next call needs is there.
    assert answer.error.details["candidates"][0]["text"] == "LIMIT = 5"


def test_lines_that_drifted_are_corrected_and_said(shop: Door) -> None:
    change = {
        "path": "shop/store.py",
        "start_line": 1,
        "end_line": 2,
        "expected_content": "    def put(self, key):\n        return LIMIT\n",
        "new_content": "    pass\n",
    }
    file = edit(shop, change)["delta"]["files"][0]
    assert file["line_corrections"] == [
        {"original": {"start_line": 1, "end_line": 2}, "corrected": {"start_line": 8, "end_line": 9}}
    ]


def test_what_no_longer_parses_is_said_with_its_line(shop: Door) -> None:
    change = {"path": "shop/store.py", "expected_content": "def get(self, key):", "new_content": "def get(self, key:"}
    assert edit(shop, change)["delta"]["files"][0]["new_syntax_errors"] == [5]


def test_an_edit_that_changes_nothing_writes_nothing(shop: Door) -> None:
    found = edit(shop, {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 3"})
    assert (found["applied"], found["delta"]["files_changed"]) == (False, 0)
    assert "already" in found["summary"]


def test_a_symlink_inside_the_tree_is_edited_at_its_target(shop: Door) -> None:
    (shop.workspace.root / "link.py").symlink_to("shop/store.py")
    file = edit(shop, {"path": "link.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 9"})["delta"][
        "files"
    ][0]
    assert file["real_path"] == "shop/store.py"
    assert (shop.workspace.root / "link.py").is_symlink()
    assert text(shop, "shop/store.py").startswith("LIMIT = 9\n")


def test_a_file_with_several_names_is_refused_unless_that_is_meant(shop: Door) -> None:
    os.link(shop.workspace.root / "shop/store.py", shop.workspace.root / "twin.py")
    change = {"path": "twin.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 9"}
    assert refused(shop, change)["code"] == "HARD_LINKED"
    edit(shop, change, break_hardlink=True)
    assert text(shop, "shop/store.py").startswith("LIMIT = 3\n")


CREATE = {"action": "create", "content": "x\n"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"path": "../out.py", **CREATE}, "PATH_OUTSIDE_REPOSITORY"),
        ({"path": "/etc/passwd", **CREATE}, "PATH_OUTSIDE_REPOSITORY"),
        ({"path": "out/x.py", **CREATE}, "PATH_OUTSIDE_REPOSITORY"),
        ({"path": ".git/config", "expected_content": "core", "new_content": "x"}, "PROTECTED_PATH"),
        ({"path": ".GIT/hooks/pre-commit", **CREATE}, "PROTECTED_PATH"),
        ({"path": ".codeplane/config.yaml", **CREATE}, "PROTECTED_PATH"),
        ({"path": ".claude/settings.json", **CREATE}, "PROTECTED_PATH"),
        ({"path": ".orchestration/active_intents.yaml", **CREATE}, "PROTECTED_PATH"),
        ({"path": ".cplignore", **CREATE}, "PROTECTED_PATH"),
        ({"path": "hooks/pre-commit", **CREATE}, "PROTECTED_PATH"),
        ({"path": ".env", **CREATE}, "SECRET_FILE"),
        ({"path": "build/x.py", **CREATE}, "FILE_IGNORED"),
        ({"path": "a.log", **CREATE}, "FILE_IGNORED"),
        ({"path": "shop/store.py", **CREATE}, "FILE_EXISTS"),
        ({"path": "shop", "action": "delete"}, "NOT_A_FILE"),
        ({"path": ".", "action": "delete"}, "NOT_A_FILE"),
        ({"path": "shop/missing.py", "action": "delete"}, "FILE_NOT_FOUND"),
        ({"path": "shop/missing.py", "expected_content": "x", "new_content": "y"}, "FILE_NOT_FOUND"),
        ({"path": "shop/store.py/x.py", **CREATE}, "NOT_A_DIRECTORY"),
        ({"path": "shop/store.py", "new_content": "x"}, "EXPECTATION_MISSING"),
        ({"path": "shop/store.py", "start_line": 1, "new_content": "x"}, "EXPECTATION_MISSING"),
        ({"path": "shop/store.py", "expected_content": "", "new_content": "x"}, "EXPECTATION_MISSING"),
        (
            {"path": "shop/store.py", "start_line": 3, "end_line": 2, "expected_content": "", "new_content": "x"},
            "EXPECTATION_MISSING",
        ),
        ({"path": "shop/store.py", "expected_content": "key", "new_content": "x"}, "CONTENT_AMBIGUOUS"),
        ({"path": "shop/store.py", "start_line": 5, "end_line": 2, "new_content": "x"}, "INVALID_ARGUMENTS"),
        ({"path": "shop/n.py", "action": "create"}, "INVALID_ARGUMENTS"),
        ({"path": "shop/n.py", "action": "create", "content": "a\0b"}, "INVALID_ARGUMENTS"),
        ({"path": "shop/n.py", "action": "create", "content": "a\ud800b"}, "INVALID_ARGUMENTS"),
        ({"path": "shop/n.py", "action": "create", "content": 7}, "INVALID_ARGUMENTS"),
        ({"path": "shop/store.py", "action": "rename"}, "INVALID_ARGUMENTS"),
        ({"action": "delete"}, "INVALID_ARGUMENTS"),
        ({"path": "fifo", "expected_content": "x", "new_content": "y"}, "NOT_A_FILE"),
        ({"path": "binary", "expected_content": "x", "new_content": "y"}, "FILE_BINARY"),
    ],
)
def test_what_may_not_or_cannot_be_done_is_refused_and_changes_nothing(
    shop: Door, change: dict[str, Any], code: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = shop.workspace.root
    (root / "out").symlink_to(tmp_path_factory.mktemp("outside"))
    (root / "hooks").symlink_to(".git/hooks")
    (root / "binary").write_bytes(b"\0\1\2")
    if change.get("path") == "fifo":
        os.mkfifo(root / "fifo")
        assert error_of(call(shop, "write_source", {"edits": [change]})) == code
        return
    assert refused(shop, change)["code"] == code


def test_ignored_files_are_written_when_that_is_meant(shop: Door) -> None:
    edit(shop, {"path": "build/x.py", **CREATE}, allow_ignored=True)
    assert text(shop, "build/x.py") == "x\n"


def test_only_the_files_that_the_settings_allow_are_changed(repo: Path) -> None:
    write(repo, FILES)
    door = Door(open_test_workspace(repo, overrides=("edits.allowed=shop/**,*.md",)), OPERATIONS)
    edit(door, {"path": "shop/new.py", **CREATE}, {"path": "docs/a.md", **CREATE})
    assert refused(door, {"path": "other/new.py", **CREATE})["code"] == "SCOPE_VIOLATION"
    assert refused(door, {"path": "tests/test_store.py", "action": "delete"})["code"] == "SCOPE_VIOLATION"


def test_two_edits_of_one_place_are_refused(shop: Door) -> None:
    one = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "a"}
    assert refused(shop, one, {**one, "new_content": "b"})["code"] == "EDITS_OVERLAP"
    assert refused(shop, one, {"path": "shop/store.py", "action": "delete"})["code"] == "EDITS_OVERLAP"
    assert refused(shop, {"path": "n", **CREATE}, {"path": "./n", **CREATE})["code"] == "EDITS_OVERLAP"


def test_common_other_names_of_arguments_are_understood(shop: Door) -> None:
    edit(shop, {"file_path": "shop/store.py", "old_string": "LIMIT = 3", "new_string": "LIMIT = 8"})
    assert text(shop, "shop/store.py").startswith("LIMIT = 8\n")


def test_the_text_of_the_answer_is_short(shop: Door) -> None:
    change = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 4"}
    answer = call(shop, "write_source", {"edits": [change]}).text()
    assert answer.startswith("1 file changed, +1 -1\n shop/store.py updated +1 -1; lines 1-1")
    assert "tests: tests/test_store.py" in answer


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EACCES, "PERMISSION_DENIED"), (errno.EROFS, "PERMISSION_DENIED"), (errno.ENOSPC, "DISK_FULL"),
     (errno.EIO, "FILE_WRITE_FAILED")],
)  # fmt: skip
def test_what_the_system_refuses_is_told_and_nothing_changes(
    shop: Door, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Disk, "stage", refuse)
    change = {"path": "shop/store.py", "expected_content": "LIMIT = 3", "new_content": "LIMIT = 4"}
    assert refused(shop, change, {"path": "deep/er/n.py", **CREATE})["code"] == code
    assert not (shop.workspace.root / "deep").exists()
