"""The single call of a command's process."""

from collections.abc import Mapping
from typing import Any

from codeplane.core.callers import Caller
from codeplane.ledger.tasks import TaskState
from codeplane.operations.answer import Answer
from codeplane.operations.call_record import CallControls
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door


def run_once(
    door: Door, name: str, arguments: Mapping[str, Any], caller: Caller, controls: CallControls | None = None
) -> Answer:
    """Make one call; a task that it opened ends with the same outcome."""
    answer = dispatch(door, name, arguments, caller, controls)
    state = TaskState.CLOSED_FAILED if answer.is_error else TaskState.CLOSED_SUCCESS
    workspace = door.workspace
    workspace.tasks.close_own(workspace.ownership.owner, state, "its command ended")
    return answer
