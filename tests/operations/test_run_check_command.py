"""`run_check_command`: exit code and output, judged like a shell command."""

from codeplane.operations.answer import Outcome
from codeplane.operations.perform import Door
from support.doors import call, result_of
from support.governed import approve


def test_a_harmless_command_tells_exit_code_and_output(door: Door) -> None:
    assert result_of(call(door, "run_check_command", {"argv": ["git", "status", "--short"]}))["exit_code"] == 0
    assert result_of(call(door, "run_check_command", {"argv": ["false"]}))["exit_code"] == 1


def test_a_risky_command_waits_for_a_person_and_names_what_it_left(door: Door) -> None:
    arguments = {"argv": ["touch", "made.txt"]}
    held = call(door, "run_check_command", arguments)
    assert held.outcome is Outcome.HELD
    assert not (door.workspace.root / "made.txt").exists()
    assert held.error is not None
    approve(door.workspace, held.error.details["hold_id"])
    assert result_of(call(door, "run_check_command", arguments))["left_behind"] == ["made.txt"]
