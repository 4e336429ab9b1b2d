"""What people may do with tasks, for the command line and REST alike: fields are checked once, here."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.core.redaction import redact
from codeplane.ledger.task_book import TaskRequest
from codeplane.ledger.tasks import Task, TaskLimits, TaskSettings, TaskState
from codeplane.workspace.workspace import Workspace

LIMIT_NAMES = tuple(item.name for item in fields(TaskSettings))
CLOSED_STATES = tuple(state for state in TaskState if state is not TaskState.OPEN)
_REASON_LIMIT = 200


def open_task(
    workspace: Workspace, given: Mapping[str, Any], opened_by: Mapping[str, str], owner: str | None = None
) -> Task:
    """Open a task with the given `session` and limits; what is not given is as the settings say.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS, or SESSION_NOT_FOUND for a session that is not there.
    """
    _refuse_unknown(given, ("session", *LIMIT_NAMES))
    session = _text(given.get("session"), "session")
    if session is not None and not workspace.sessions.is_known(session):
        raise CodePlaneError(
            "SESSION_NOT_FOUND", f"There is no open session {session[:80]}.", hint="`cpl status` shows the sessions."
        )
    request = TaskRequest(
        worktree=workspace.repository.worktree_id,
        limits=limits_given(workspace, given),
        repo_snapshot=workspace.snapshot(),
        session=session,
        owner=owner,
        opened_by=opened_by,
    )
    return workspace.tasks.open(request)


def limits_given(workspace: Workspace, given: Mapping[str, Any]) -> TaskLimits:
    """Return the limits that the fields and the settings make together.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS naming the field and what it takes.
    """
    limits = asdict(workspace.task_limits())
    for item in fields(TaskSettings):
        value = given.get(item.name)
        if value is None:
            continue
        low, high = item.metadata["minimum"], item.metadata["maximum"]
        # A truth value counts as a number in Python; nobody means it.
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise CodePlaneError("INVALID_ARGUMENTS", f"{item.name} is a whole number from {low} to {high}.")
        limits[item.name] = value
    return TaskLimits(**limits)


def close_task(workspace: Workspace, task_id: str, given: Mapping[str, Any]) -> Task:
    """Close a task with the given `state` (success unless said otherwise) and `reason`.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS, or NOT_FOUND.
    """
    _refuse_unknown(given, ("state", "reason"))
    state = closed_state(_text(given.get("state"), "state") or TaskState.CLOSED_SUCCESS.value)
    reason = redact((_text(given.get("reason"), "reason") or "closed by a person")[:_REASON_LIMIT])
    return workspace.tasks.close(task_id, state, reason)


def closed_state(text: str) -> TaskState:
    """Return the state that a word such as `success` or `CLOSED_SUCCESS` names.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS.
    """
    word = text.upper().removeprefix("CLOSED_")
    for state in CLOSED_STATES:
        if state.value == f"CLOSED_{word}":
            return state
    raise CodePlaneError("INVALID_ARGUMENTS", f"state is one of {', '.join(state.value for state in CLOSED_STATES)}.")


def any_state(text: str) -> TaskState:
    """Return the state that a word names, OPEN among them.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS.
    """
    if text.upper() == TaskState.OPEN.value:
        return TaskState.OPEN
    try:
        return closed_state(text)
    except CodePlaneError as error:
        names = ", ".join(state.value for state in TaskState)
        raise CodePlaneError("INVALID_ARGUMENTS", f"state is one of {names}.") from error


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise CodePlaneError(
            "INVALID_ARGUMENTS", f"There is no field `{unknown[0][:80]}`.", hint=f"Fields: {', '.join(known)}."
        )


def _text(value: object, name: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise CodePlaneError("INVALID_ARGUMENTS", f"{name} is a text.")
    # Half a surrogate pair can be neither recorded nor answered.
    return value.strip().encode("utf-8", "backslashreplace").decode("utf-8")
