"""Which files a hook's JSON names, in every form in which the agent would write them."""

import json

import pytest

from codeplane.operations.agent_events import ToolKind, ToolUse
from codeplane.surfaces.agent_hooks.translation import read_event


def tool_of(agent: str, event: str, name: str, given: object) -> ToolUse:
    document = {"session_id": "s", "hook_event_name": event, "cwd": "/repo", "tool_name": name, "tool_input": given}
    document |= {"timestamp": 0} if agent == "copilot" else {}
    read = read_event(agent, event, json.dumps(document).encode())[1]
    assert read.tool is not None
    return read.tool


@pytest.mark.parametrize(
    "line",
    [
        "  *** Add File: b.py",
        "\t*** Add File: b.py",
        "\u00a0*** Add File: b.py",
        "\ufeff*** Add File: b.py",
        "*** Add File:b.py",
        "*** Add File:  b.py",
        "*** Add File: b.py\u00a0\r",
    ],
)
def test_a_patch_names_its_files_however_its_lines_are_spaced(line: str) -> None:
    patch = f"*** Begin Patch\n*** Add File: a.py\n+x\n{line}\n+x\n*** End Patch\n"
    assert set(tool_of("codex", "PreToolUse", "apply_patch", {"command": patch}).writes) >= {"a.py", "b.py"}


def test_a_name_that_begins_with_space_means_that_file_too() -> None:
    patch = "*** Begin Patch\n*** Delete File:  a.py\n*** End Patch\n"
    assert set(tool_of("codex", "PreToolUse", "apply_patch", {"command": patch}).deletes) == {" a.py", "a.py"}


@pytest.mark.parametrize(
    ("agent", "event", "name", "given"),
    [
        ("claude", "PreToolUse", "Write", {"file_path": "a.py", "filePath": "b.py", "content": ""}),
        ("claude", "PreToolUse", "Write", {"file_path": "", "filePath": ["a.py", "b.py"], "content": ""}),
        ("copilot", "PreToolUse", "Edit", {"path": "a.py", "file_path": "b.py", "old_str": "x", "new_str": ""}),
        ("gemini", "BeforeTool", "write_file", {"file_path": "@b.py", "filePath": "a.py", "content": ""}),
        ("gemini", "BeforeTool", "write_file", {"file_path": "@/b.py", "filePath": "a.py", "content": ""}),
        ("gemini", "BeforeTool", "write_file", {"file_path": "b\0.py", "filePath": "a.py", "content": ""}),
    ],
)
def test_a_file_is_judged_in_every_spelling_that_an_agent_may_take(
    agent: str, event: str, name: str, given: dict[str, object]
) -> None:
    assert set(tool_of(agent, event, name, given).writes) >= {"a.py", "b.py"}


def test_a_zero_byte_in_a_name_hides_no_read() -> None:
    assert tool_of("gemini", "BeforeTool", "read_file", {"file_path": "@.e\0nv"}).reads == ("@.env", ".env")


@pytest.mark.parametrize("hidden", [{"command": "rm -rf x"}, ["rm", "-rf", "x"], 7])
def test_a_command_beside_others_that_is_no_text_makes_the_call_unknown(hidden: object) -> None:
    document = {
        "taskId": "s",
        "workspaceRoots": ["/repo"],
        "tool_call": {"id": "1", "name": "run_commands", "input": {"commands": ["ls", hidden]}},
    }
    read = read_event("cline", "PreToolUse", json.dumps(document).encode())[1]
    assert read.tool is not None
    assert read.tool.kind is ToolKind.UNKNOWN


@pytest.mark.parametrize(
    "given",
    [
        {"files": [{"path": ".env"}]},
        {"files": [{"file_path": ".env"}]},
        {"file_paths": [".env"]},
        {"paths": [".env"]},
        {"path": ".env"},
        [".env"],
        [{"path": ".env"}],
        ".env",
    ],
)
def test_files_are_read_by_cline_in_every_form_that_it_takes(given: object) -> None:
    document = {"taskId": "s", "tool_call": {"id": "1", "name": "read_files", "input": given}}
    read = read_event("cline", "PreToolUse", json.dumps(document).encode())[1]
    assert read.tool is not None
    assert read.tool.reads == (".env",)
