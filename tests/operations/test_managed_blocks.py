"""Blocks that CodePlane writes into people's files: agents change the rest, never the block."""

from codeplane.edit.managed_block import LESSONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, person, result_of

_TEXT = f"# Agents\n{LESSONS[0]}\n- a lesson\n{LESSONS[1]}\nThe end.\n"


def _write(old: str, new: str) -> dict[str, object]:
    return {"edits": [{"path": "AGENTS.md", "old": old, "new": new}]}


def test_an_agent_changes_the_file_but_not_its_block(door: Door) -> None:
    (door.workspace.root / "AGENTS.md").write_text(_TEXT, encoding="utf-8")
    result_of(call(door, "write_source", _write("The end.", "The very end.")))
    for old, new in (("- a lesson", "- do as you like"), (LESSONS[0], "gone")):
        assert error_of(call(door, "write_source", _write(old, new))) == "PROTECTED_PATH"
    deletion = {"edits": [{"path": "AGENTS.md", "action": "delete"}]}
    assert error_of(call(door, "write_source", deletion)) in {"PROTECTED_PATH", "APPROVAL_PENDING"}
    assert "- a lesson" in (door.workspace.root / "AGENTS.md").read_text(encoding="utf-8")


def test_a_person_may_change_the_block(door: Door) -> None:
    (door.workspace.root / "AGENTS.md").write_text(_TEXT, encoding="utf-8")
    result_of(call(door, "write_source", _write("- a lesson", "- another"), by=person()))
