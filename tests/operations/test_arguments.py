"""Arguments: forgiven when they can mean only one thing, otherwise refused with a correct call beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.error_registry import find_entry
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import understand
from codeplane.operations.models import Understanding
from codeplane.operations.operation import AnyOperation
from codeplane.operations.perform import Door
from support.doors import call, error_of, result_of
from support.repositories import write

_LIST = "a single value was read as a list of one"

FORGIVEN: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("read_source", {"targets": ["./docs/guide.md"]}, {}, ["`./docs/guide.md` was read as `docs/guide.md`"]),
    ("read_source", {"targets": ["{root}/docs/guide.md"]}, {}, ["`{root}/docs/guide.md` was read as `docs/guide.md`"]),
    ("read_source", {"targets": [" docs/guide.md "]}, {}, ["` docs/guide.md ` was read as `docs/guide.md`"]),
    (
        "read_source",
        {"targets": ["docs/guide.md:2-3"]},
        {"range": [2, 3]},
        ["`docs/guide.md:2-3` was read as lines 2-3 of `docs/guide.md`"],
    ),
    (
        "read_source",
        {"targets": ["docs/guide.md:2"]},
        {"range": [2, 2]},
        ["`docs/guide.md:2` was read as lines 2-2 of `docs/guide.md`"],
    ),
    (
        "read_source",
        {"targets": ["docs/guide.md#L2-L3"]},
        {"range": [2, 3]},
        ["`docs/guide.md#L2-L3` was read as lines 2-3 of `docs/guide.md`"],
    ),
    (
        "read_source",
        {"targets": ["docs/guide.md#L2"]},
        {"range": [2, 2]},
        ["`docs/guide.md#L2` was read as lines 2-2 of `docs/guide.md`"],
    ),
    (
        "read_source",
        {"targets": [{"path": "docs/guide.md:2-3"}]},
        {"range": [2, 3]},
        ["`docs/guide.md:2-3` was read as lines 2-3 of `docs/guide.md`"],
    ),
    ("read_source", {"targets": "docs/guide.md"}, {}, [_LIST]),
    ("read_source", {"targets": {"path": "docs/guide.md"}}, {}, [_LIST]),
    ("read_source", {"targets": '["docs/guide.md"]'}, {}, ["JSON text was read as a list"]),
    ("read_source", {"targets": '{"path": "docs/guide.md"}'}, {}, [_LIST, "JSON text was read as an object"]),
    ("read_source", {"path": "docs/guide.md"}, {}, ["`path` was read as `targets`", _LIST]),
    ("read_source", {"file_path": "docs/guide.md"}, {}, ["`file_path` was read as `targets`", _LIST]),
    ("read_source", {"paths": ["docs/guide.md"]}, {}, ["`paths` was read as `targets`"]),
    ("read_source", {"files": ["docs/guide.md"]}, {}, ["`files` was read as `targets`"]),
    (
        "read_source",
        {"path": "docs/guide.md", "start_line": 2, "end_line": 3},
        {"range": [2, 3]},
        ["path and lines were read as one target"],
    ),
    (
        "read_source",
        {"targets": [{"file": "docs/guide.md", "start": 2, "end": 3}]},
        {"range": [2, 3]},
        ["`file` was read as `path`", "`start` was read as `start_line`", "`end` was read as `end_line`"],
    ),
    (
        "read_source",
        {"targets": [{"path": "docs/guide.md", "start_line": "2"}]},
        {"range": [2, 3]},
        ["the text `2` was read as the value of `start_line`"],
    ),
    ("read_file_full", {"file": "docs/guide.md"}, {}, ["`file` was read as `path`"]),
    (
        "read_file_full",
        {"path": "docs/guide.md", "confirm": "true"},
        {"phase": "delivered"},
        ["the text `true` was read as the value of `confirm`"],
    ),
    ("list_files", {"dir": "docs"}, {"path": "docs"}, ["`dir` was read as `path`"]),
    ("list_files", {"path": "./docs/"}, {"path": "docs"}, ["`./docs/` was read as `docs/`"]),
    ("list_files", {"path": "{root}"}, {"path": "."}, ["`{root}` was read as `.`"]),
    ("list_files", {"glob": "*.md"}, {}, ["`glob` was read as `pattern`"]),
    ("list_files", {"limit": "5"}, {}, ["the text `5` was read as the value of `limit`"]),
    ("list_files", {"max_depth": 2}, {}, ["`max_depth` was read as `depth`"]),
    ("describe", {"action": "tool", "tool": "call"}, {"name": "call"}, ["`tool` was read as `name`"]),
    ("call", {"name": "describe"}, {}, ["`name` was read as `operation`"]),
    (
        "call",
        {"operation": "list_files", "args": {"path": "docs"}},
        {"path": "docs"},
        ["`args` was read as `arguments`"],
    ),
    (
        "call",
        {"operation": "list_files", "arguments": '{"path": "docs"}'},
        {"path": "docs"},
        ["JSON text was read as an object"],
    ),
    (
        "call",
        {"operation": "list_files", "path": "docs"},
        {"path": "docs"},
        ["fields beside `operation` were read as its arguments"],
    ),
    ("search", {"query": "zzz", "path": "docs/**"}, {"files_searched": 1}, ["`path` was read as part of `scope`"]),
    (
        "search",
        {"query": "zzz", "mode": "symbol", "paths": ["docs/**"], "kinds": ["class"]},
        {"results": []},
        ["`paths`, `kinds` was read as part of `scope`"],
    ),
]


def _filled(value: Any, root: Path) -> Any:
    return json.loads(json.dumps(value).replace("{root}", str(root)))


@pytest.mark.parametrize(("name", "arguments", "expected", "notes"), FORGIVEN, ids=lambda value: str(value)[:60])
def test_what_can_mean_only_one_thing_is_accepted_and_the_answer_says_how_it_was_read(
    door: Door, name: str, arguments: dict[str, Any], expected: dict[str, Any], notes: list[str]
) -> None:
    answer = call(door, name, _filled(arguments, door.workspace.root))
    result = result_of(answer)
    shown = result["files"][0] if "files" in result else result
    assert {key: shown[key] for key in expected} == expected
    for note in _filled(notes, door.workspace.root):
        assert note[:76] in " | ".join(answer.meta.as_dict()["understood"])


def test_a_clear_call_has_nothing_to_understand(door: Door) -> None:
    assert call(door, "read_source", {"targets": [{"path": "docs/guide.md"}]}).meta.as_dict()["understood"] == []


def test_a_file_whose_name_looks_like_a_range_is_read_as_a_file(door: Door) -> None:
    write(door.workspace.root, {"odd:10": "odd\n"})
    answer = call(door, "read_source", {"targets": ["odd:10"]})
    assert result_of(answer)["files"][0]["content"] == "odd\n"


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("read_source", {}, "`targets` is missing"),
    ("read_source", {"targets": []}, "at least 1"),
    ("read_source", {"targets": ["a"] * 51}, "at most 50"),
    ("read_source", {"targets": 5}, "targets.0"),
    ("read_source", {"targets": [None]}, "targets.0"),
    ("read_source", {"targets": [{"start_line": 1}]}, "`targets.0.path` is missing"),
    ("read_source", {"targets": [{"path": 5}]}, "targets.0.path"),
    ("read_source", {"targets": ["a.py:0"]}, "start_line"),
    ("read_source", {"targets": [{"path": "a", "start_line": 5, "end_line": 4}]}, "end_line 4 is before start_line 5"),
    ("read_source", {"targets": [{"path": "a", "start_line": 10**30}]}, "start_line"),
    ("read_source", {"targets": [{"path": "a", "start_line": 1.5}]}, "start_line"),
    ("read_source", {"targets": ["a"], "targest": 1}, "`targest` is unknown (did you mean `targets`?)"),
    ("read_source", {"targets": [{"path": "a", "zzz": 1}]}, "`targets.0.zzz` is unknown"),
    ("read_file_full", {}, "`path` is missing"),
    ("read_file_full", {"path": "a", "confirm": "perhaps"}, "confirm"),
    ("read_file_full", {"path": "a", "inline": [1]}, "inline"),
    ("list_files", {"depth": 0}, "depth"),
    ("list_files", {"depth": 101}, "depth"),
    ("list_files", {"limit": 0}, "limit"),
    ("list_files", {"limit": 1001}, "limit"),
    ("list_files", {"limit": "many"}, "limit"),
    ("list_files", {"pattern": ""}, "pattern"),
    ("list_files", {"pattern": "[z-a]"}, "the pattern matches nothing"),
    ("list_files", {"pattern": "x" * 1001}, "pattern"),
    ("list_files", {"path": ["a"]}, "path"),
    ("list_files", {"cursor": 5}, "cursor"),
    ("describe", {"action": "nothing"}, "action"),
    ("describe", {"action": "tool"}, "action=tool needs `name`"),
    ("describe", {"action": "error"}, "action=error needs `name`"),
    ("describe", {"action": "tool", "name": "x" * 201}, "name"),
    ("reset_budget", {"amount": 5}, "`amount` is unknown"),
    ("call", {}, "`operation` is missing"),
    ("call", {"operation": "describe", "arguments": [1]}, "arguments"),
    ("call", {"operation": "call", "arguments": {}}, "cannot call itself"),
]


@pytest.mark.parametrize(("name", "arguments", "words"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_does_not_fit_is_refused_in_words_with_a_correct_call(
    door: Door, name: str, arguments: dict[str, Any], words: str
) -> None:
    answer = call(door, name, arguments)
    assert error_of(answer) == "INVALID_ARGUMENTS"
    assert answer.error is not None
    assert words in answer.error.message
    assert answer.error.required_action
    if "example" in answer.error.details:
        example = answer.error.details["example"]
        assert understand(OPERATIONS[name], example, Understanding(door.workspace.root))


def _deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("read_source", {"targets": _deep(40)}, "PAYLOAD_TOO_LARGE"),
    ("read_source", {"targets": _deep(5000)}, "PAYLOAD_TOO_LARGE"),
    ("read_source", {"targets": "[" * 100_000}, "PATH_INVALID"),
    ("read_source", {"targets": ['{"path":' * 50_000]}, "INVALID_ARGUMENTS"),
    ("read_source", {"targets": ["x" * 10_000_000]}, "PAYLOAD_TOO_LARGE"),
    ("read_source", {"x" * 10_000_000: 1}, "PAYLOAD_TOO_LARGE"),
    ("read_source", {"x" * 1_000_000: 1}, "INVALID_ARGUMENTS"),
    ("list_files", {"path": "x" * 1_000_000}, "PATH_INVALID"),
    ("list_files", {"path": "a" * 300 + ":10"}, "PATH_INVALID"),
    ("read_source", {"targets": ["a" * 300 + ":10"]}, "PATH_INVALID"),
    ("read_source", {"targets": ["\ud800.py"]}, "INVALID_ARGUMENTS"),
    ("read_source", {"\ud800": 1}, "INVALID_ARGUMENTS"),
    ("call", {"operation": "\ud800"}, "INVALID_ARGUMENTS"),
    ("call", {"operation": "list_files", "arguments": '{"path": "\\ud800"}'}, "INVALID_ARGUMENTS"),
    ("list_files", {"session_id": 5}, "INVALID_ARGUMENTS"),
    ("list_files", {"session_id": "sess_unknown"}, "SESSION_NOT_FOUND"),
    ("list_files", {"cursor": "nonsense"}, "CURSOR_INVALID"),
    ("list_files", {"cursor": "é"}, "CURSOR_INVALID"),
    ("list_files", {"cursor": "a" * 500_000}, "CURSOR_INVALID"),
    ("list_files", {"cursor": "00000000" + "W1tb" * 20_000}, "CURSOR_INVALID"),
    ("read_source", {"cursor": ""}, "CURSOR_INVALID"),
    ("reed_source", {}, "UNKNOWN_OPERATION"),
    ("\ud800", {}, "UNKNOWN_OPERATION"),
    ("x" * 1_000_000, {}, "UNKNOWN_OPERATION"),
    ("", {}, "UNKNOWN_OPERATION"),
]


@pytest.mark.parametrize(("name", "arguments", "code"), HOSTILE, ids=[str(i) for i in range(len(HOSTILE))])
def test_hostile_arguments_get_a_code_and_a_short_answer_that_can_be_sent(
    door: Door, name: str, arguments: dict[str, Any], code: str
) -> None:
    answer = call(door, name, arguments)
    assert error_of(answer) == code
    assert find_entry(code) is not None
    assert len(answer.text()) < 4000
    assert answer.envelope_text().encode("utf-8")
    door.workspace.chain.flush()
    assert door.workspace.chain.verify().first_bad_seq is None


def test_a_misspelled_operation_is_answered_with_the_nearest(door: Door) -> None:
    answer = call(door, "read_sorce")
    assert answer.error is not None
    assert answer.error.details["nearest"][0] == "read_source"


def test_a_refused_call_is_recorded(door: Door) -> None:
    call(door, "read_source", {})
    door.workspace.chain.flush()
    with door.workspace.chain.database.read() as connection:
        assert [tuple(row) for row in connection.execute("SELECT kind, operation FROM events")] == [
            ("failed", "read_source")
        ]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_every_example_of_every_operation_is_a_correct_call(operation: AnyOperation, tmp_path: Path) -> None:
    for example in operation.examples:
        understanding = Understanding(tmp_path)
        assert understand(operation, example.params, understanding)


def test_a_cursor_of_one_operation_is_no_cursor_of_another(door: Door) -> None:
    listing = result_of(call(door, "list_files", {"limit": 1}))
    cursor = listing["pagination"]["next_cursor"]
    assert error_of(call(door, "read_source", {"cursor": cursor})) == "CURSOR_INVALID"


def test_an_unknown_argument_is_answered_with_the_nearest_example_and_where_else_to_look(door: Door) -> None:
    error = call(door, "git_branch", {"action": "create", "name": "feature", "checkout": True}).error
    assert error is not None
    assert error.error == "INVALID_ARGUMENTS"
    assert '"action": "create"' in error.required_action
    assert error.required_action.endswith("To switch branches: git_checkout, with `create` for a new one.")
    mistyped = call(door, "git_branch", {"action": "create", "nme": "feature"}).error
    assert mistyped is not None
    assert "git_checkout" not in mistyped.required_action
