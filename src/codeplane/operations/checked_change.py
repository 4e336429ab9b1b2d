"""The verdict of `check` in the answer of a change."""

from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import CallControls, RunningProgram
from codeplane.operations.dispatch import dispatch
from codeplane.operations.operation import CallContext
from codeplane.operations.perform import Door


def checked_after(context: CallContext) -> str:
    """Check what differs from HEAD, by a call of its own: the gate judges the programs that it starts.

    The change stays, whatever the verdict is, and also when the check is refused.
    """
    controls = CallControls(
        report_progress=context.report_progress,
        is_cancelled=context.is_cancelled,
        program=RunningProgram(context.call_id, is_index_fresh=context.is_index_fresh),
    )
    answer = dispatch(Door(context.workspace, context.operations), "check", {}, context.caller, controls)
    if answer.error is None:
        return answer.text()
    verb = "is held" if answer.outcome is Outcome.HELD else "was not made"
    return f"The change is written; its check {verb}: {answer.error.as_text()}"
