"""Which files a hook's JSON names, in every form in which the agent would write them."""

import json

import pytest

from codeplane.operations.agent_events import ToolUse
from codeplane.surfaces.agent_hooks.translation import read_event


def tool_of(agent: str, event: str, name: str, given: object) -> ToolUse:
    document = {"session_id": "s", "hook_event_name": event, "cwd": "/repo", "tool_name": name, "tool_input": given}
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
