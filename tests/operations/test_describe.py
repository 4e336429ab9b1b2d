"""`describe`, profiles and schemas: everything that teaches a caller is complete and short."""

from pathlib import Path

import pytest

from codeplane.core.error_registry import ERROR_TABLE
from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import TOOLS
from codeplane.operations.perform import Door
from codeplane.operations.profiles import profile_for
from codeplane.operations.schema import input_schema, output_schema
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.repositories import git


def test_the_repository_is_described(door: Door) -> None:
    workspace = door.workspace
    result = result_of(call(door, "describe"))
    assert (result["repo_root"], result["branch"], result["language"]) == (str(workspace.root), "main", "python")
    assert (result["head_commit"], result["repo_id"]) == (workspace.head().commit, workspace.repo_id)
    assert [line["name"] for line in result["operations"]] == list(TOOLS)
    assert result["tool_count"] == len(TOOLS)


def test_a_repository_without_a_commit_is_described(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "fresh")
    with open_test_workspace(tmp_path / "fresh") as workspace:
        answer = call(door_with(workspace), "describe")
        assert "head_commit" not in result_of(answer)
        assert "on main at no commit yet," in answer.text()


@pytest.mark.parametrize("name", TOOLS)
def test_every_operation_is_described_with_its_schema_and_examples(door: Door, name: str) -> None:
    operation = TOOLS[name]
    result = result_of(call(door, "describe", {"action": "tool", "name": name}))
    assert (result["name"], result["description"], result["effect"]) == (
        name,
        operation.summary,
        operation.effect.value,
    )
    assert result["input_schema"] == input_schema(operation)
    assert set(result["input_schema"]["properties"]) == set(operation.request_type.model_fields)
    assert len(result["examples"]) == len(operation.examples)


@pytest.mark.parametrize("name", TOOLS)
def test_a_name_alone_means_the_operation(door: Door, name: str) -> None:
    assert result_of(call(door, "describe", {"name": name}))["name"] == name


@pytest.mark.parametrize("entry", ERROR_TABLE, ids=lambda entry: entry.name)
def test_every_error_is_described_by_name_and_by_number(door: Door, entry: object) -> None:
    name, number = getattr(entry, "name", ""), getattr(entry, "number", 0)
    by_name = result_of(call(door, "describe", {"action": "error", "name": name}))
    by_number = result_of(call(door, "describe", {"action": "error", "name": str(number)}))
    assert by_name == by_number == result_of(call(door, "describe", {"code": number}))
    assert (by_name["name"], by_name["code"]) == (name, number)
    assert by_name["required_action"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "tool", "name": "reed_source"}, "UNKNOWN_OPERATION"),
        ({"action": "error", "name": "STALE_FIEL"}, "INVALID_ARGUMENTS"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(door: Door, arguments: dict[str, str], code: str) -> None:
    answer = call(door, "describe", arguments)
    assert error_of(answer) == code
    assert answer.error is not None
    assert answer.error.required_action.startswith("Nearest: ")


@pytest.mark.parametrize("name", TOOLS)
def test_the_schema_of_every_answer_holds_result_and_meta(name: str) -> None:
    schema = output_schema(TOOLS[name])
    assert schema["required"] == ["result", "meta"]
    assert "$ref" not in str(schema)


def test_the_full_profile_holds_everything_and_core_is_small() -> None:
    assert profile_for("full", TOOLS).names == tuple(TOOLS)
    assert profile_for("core", TOOLS).names == (
        "call", "git_diff", "git_stage_and_commit", "read_source", "run",
        "search", "select_active_intent", "undo", "write_source",
    )  # fmt: skip
    assert {"git_status", "map_repo"} <= set(profile_for("classic", TOOLS).names)
    assert profile_for("", TOOLS).name == "core"


def test_a_profile_can_be_a_list_of_operations() -> None:
    profile = profile_for("describe, list_files", TOOLS)
    assert profile.names == ("describe", "list_files")


def test_a_list_that_can_change_something_has_the_selection_of_an_intent_too() -> None:
    profile = profile_for("write_source", TOOLS)
    assert profile.names == ("write_source", "select_active_intent")


@pytest.mark.parametrize("name", ["nothing", "core,nothing", ","])
def test_an_unknown_profile_is_refused(name: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        profile_for(name, TOOLS)
    assert caught.value.code == "UNKNOWN_PROFILE"
