"""Open, close, list and show tasks, and reset the budget of a working tree."""

from dataclasses import asdict, fields
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictInt, StringConstraints

from codeplane.core.callers import CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.core.redaction import redact
from codeplane.ledger.effects import EffectClass
from codeplane.ledger.task_book import TaskFilter, TaskRequest
from codeplane.ledger.tasks import Task, TaskLimits, TaskSettings, TaskState
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown, Table
from codeplane.operations.models import Pagination, Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

_MAX_REASON = 200
_MAX_TASKS = 500
_RANGES = {item.name: (item.metadata["minimum"], item.metadata["maximum"]) for item in fields(TaskSettings)}
_STATES = {state.value.removeprefix("CLOSED_"): state for state in TaskState}

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _state(text: str) -> str:
    """Return the state that a word such as `success` or `CLOSED_SUCCESS` names."""
    found = _STATES.get(text.strip().upper().removeprefix("CLOSED_"))
    if found is None:
        raise ValueError(f"state is one of {', '.join(state.value for state in TaskState)}")
    return found.value


def _closed_state(text: str) -> str:
    found = _state(text)
    if found == TaskState.OPEN.value:
        raise ValueError("a task is closed as success, failed or interrupted")
    return found


def _limit(name: str, meaning: str) -> Any:
    low, high = _RANGES[name]
    return Field(None, ge=low, le=high, description=meaning)


class OpenTaskRequest(Request):
    """Whose task it is, and its limits; those that are not given come from the settings."""

    session: Text | None = Field(None, description="For this session only (`cpl status` shows labels).")
    max_mutations: StrictInt | None = _limit("max_mutations", "Changing calls it may make.")
    max_test_runs: StrictInt | None = _limit("max_test_runs", "Test runs it may make.")
    max_duration_sec: StrictInt | None = _limit("max_duration_sec", "Seconds it may take.")


class TaskIdRequest(Request):
    """Which task."""

    task_id: str = Field(description="The task's id.")


class CloseTaskRequest(TaskIdRequest):
    """Which task, how it ended and why."""

    state: Annotated[str, AfterValidator(_closed_state)] = Field(
        "success", validate_default=True, description="success, failed or interrupted."
    )
    reason: Text = Field("closed by a person", description="Why, for the record.")


class ListTasksRequest(Request):
    """Which tasks to list."""

    state: Annotated[str, AfterValidator(_state)] | None = Field(
        None, description="open, success, failed or interrupted."
    )
    session: str | None = Field(None, description="Only tasks of this session.")
    cursor: int | None = Field(None, ge=1, le=2**53 - 1, description="Continues the last page.")
    limit: int = Field(50, ge=1, le=_MAX_TASKS, description="How many.")


class TaskList(Result):
    """Tasks, newest first."""

    results: list[dict[str, Any]]
    more: bool
    pagination: Pagination


class ResetResult(Result):
    """What had been used."""

    reset: bool
    mutations_before: int
    test_runs_before: int


def _limits(workspace: Workspace, request: OpenTaskRequest) -> TaskLimits:
    given = {name: value for name in _RANGES if (value := getattr(request, name)) is not None}
    return TaskLimits(**(asdict(workspace.task_limits()) | given))


def _open(context: CallContext, request: OpenTaskRequest) -> Document:
    workspace, caller = context.workspace, context.caller
    if request.session is not None and not workspace.sessions.is_known(request.session):
        raise CodePlaneError(
            "SESSION_NOT_FOUND",
            f"There is no open session {request.session[:80]}.",
            hint="`cpl status` shows the sessions.",
        )
    opened_by = {"surface": caller.surface, "caller": caller.kind.value}
    if caller.kind is CallerKind.PERSON:
        opened_by["by"] = caller.proof
    owner = None
    if caller.surface == "rest":
        # The task lives as long as this server does.
        workspace.ownership.claim()
        owner = workspace.ownership.owner
    request_of_task = TaskRequest(
        worktree=workspace.repository.worktree_id,
        limits=_limits(workspace, request),
        repo_snapshot=workspace.snapshot(),
        session=request.session,
        owner=owner,
        opened_by=opened_by,
    )
    return _document(workspace, workspace.tasks.open(request_of_task))


def _needs_person_to_open(workspace: Workspace, request: OpenTaskRequest) -> str | None:
    """Only a person gives a task more than the settings do: a caller cannot enlarge its own budget."""
    wanted, configured = asdict(_limits(workspace, request)), asdict(workspace.task_limits())
    is_more = any(wanted[name] > configured[name] for name in _RANGES)
    return "open a task with larger limits" if is_more else None


def _close(context: CallContext, request: CloseTaskRequest) -> Document:
    reason = redact(request.reason[:_MAX_REASON])
    return _document(
        context.workspace, context.workspace.tasks.close(request.task_id, TaskState(request.state), reason)
    )


def _needs_person_to_close(workspace: Workspace, request: CloseTaskRequest) -> str | None:
    return f"close task {request.task_id[:80]}" if workspace.tasks.is_persons(request.task_id) else None


def _reset(context: CallContext, _request: NoArguments) -> ResetResult:
    workspace = context.workspace
    used = workspace.tasks.reset(workspace.repository.worktree_id, context.caller.proof).used
    return ResetResult(reset=True, mutations_before=used.mutations, test_runs_before=used.test_runs)


def _list(context: CallContext, request: ListTasksRequest) -> TaskList:
    workspace, limit = context.workspace, request.limit
    state = TaskState(request.state) if request.state is not None else None
    found = workspace.tasks.tasks(TaskFilter(state, request.session, request.cursor, limit + 1))
    has_more, now = len(found) > limit, workspace.clock.now_ms()
    cursor = str(found[limit - 1].opened_seq) if has_more else None
    tasks = [task.as_document(now) for task in found[:limit]]
    return TaskList(results=tasks, more=has_more, pagination=Pagination(next_cursor=cursor))


def _show(context: CallContext, request: TaskIdRequest) -> Document:
    return _document(context.workspace, context.workspace.tasks.find(request.task_id))


def _document(workspace: Workspace, task: Task) -> Document:
    return Document(**task.as_document(workspace.clock.now_ms()))


def _task_facts(result: Document) -> Shown:
    task: dict[str, Any] = result.model_dump()
    limits, counters = task["limits"], task["counters"]
    closed = f"{task['closed_at']} ({task['reason'] or ''})" if task["closed_at"] is not None else "still open"
    return (
        Facts(
            (
                ("task", task["task_id"]),
                ("state", task["state"]),
                ("of", task["session"] or f"every session of the working tree {task['worktree']}"),
                ("opened", f"{task['opened_at']}, {'by a person' if task['explicit'] else 'automatically'}"),
                ("closed", closed),
                ("mutations", f"{counters['mutation_count']} of {limits['max_mutations']}"),
                ("test runs", f"{counters['test_run_count']} of {limits['max_test_runs']}"),
                ("seconds", f"{task['elapsed_sec']} of {limits['max_duration_sec']}"),
                ("HEAD at opening", task["repo_snapshot"]["git_head"] or "unborn"),
                ("last mutation", task["last_mutation_fingerprint"] or "none"),
                ("last failure", task["last_failure_fingerprint"] or "none"),
            )
        ),
    )


def _task_table(result: TaskList) -> Shown:
    rows = tuple(
        (
            str(task["task_id"]),
            str(task["state"]),
            task["session"] or f"working tree {task['worktree']}",
            f"{task['counters']['mutation_count']}/{task['limits']['max_mutations']}",
            f"{task['counters']['test_run_count']}/{task['limits']['max_test_runs']}",
            str(task["opened_at"]),
        )
        for task in result.results
    )
    note = f"There are more than {len(rows)}; --limit shows more." if result.more else ""
    headers = ("task", "state", "of", "mutations", "test runs", "opened")
    return (Table(headers, rows, note if rows else "No matching tasks."),)


def _reset_text(result: ResetResult) -> Shown:
    used = f"{result.mutations_before} mutations and {result.test_runs_before} test runs were used"
    return (f"Budget reset; {used}.",)


OPEN_TASK = Operation(
    name="open_task",
    family="tasks",
    summary="Open a task.",
    request_type=OpenTaskRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_open),
    examples=(Example("At most ten changes", {"max_mutations": 10}),),
    audience=Audience.SHELL,
    only_a_person_can=_needs_person_to_open,
    command=Command(
        path=("task", "open"),
        help="""Open a task for one session or, without --session, for every session of this working tree.

        Later calls of a session count in its newest open task. Limits above those of the settings need a person. A task
        that a person opened has a separate budget; one that an agent opened also counts in the 24-hour budget of the
        working tree.""",
        shows=_task_facts,
    ),
    routes=(
        Route(
            method="POST",
            path="/tasks",
            summary="Open a task; fields session, max_mutations, max_test_runs, max_duration_sec.",
            status=201,
        ),
    ),
)

CLOSE_TASK = Operation(
    name="close_task",
    family="tasks",
    summary="Close a task.",
    request_type=CloseTaskRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_close),
    examples=(Example("It succeeded", {"task_id": "task_1", "state": "success"}),),
    audience=Audience.SHELL,
    only_a_person_can=_needs_person_to_close,
    command=Command(
        path=("task", "close"),
        help="Close an open task; the next changing call of its sessions opens another."
        " Only a person can close a person's task.",
        shows=_task_facts,
        arguments=("task_id",),
    ),
    routes=(
        Route(
            method="POST",
            path="/tasks/{task_id}/close",
            summary="Close a task; fields state (default: CLOSED_SUCCESS), reason.",
        ),
    ),
)

RESET_TASK_BUDGET = Operation(
    name="reset_task_budget",
    family="tasks",
    summary="Reset the budget of this working tree.",
    request_type=NoArguments,
    result_type=ResetResult,
    effect=EffectClass.RECORD,
    plan=planned(_reset),
    examples=(Example("Start again", {}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "reset the budget of this working tree",
    command=Command(
        path=("task", "reset"),
        help="""Let the 24-hour budget of this working tree start again. Only a person can do this.

        Calls outside a person's task count per working tree, whatever the session.""",
        shows=_reset_text,
    ),
)

LIST_TASKS = Operation(
    name="list_tasks",
    family="tasks",
    summary="List tasks, newest first.",
    request_type=ListTasksRequest,
    result_type=TaskList,
    effect=EffectClass.READ,
    plan=planned(_list),
    examples=(Example("Open ones", {"state": "open"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("task", "list"),
        help="List tasks with their counters, newest first.",
        shows=_task_table,
        flags={"cursor": ""},
        defaults={"limit": 20},
    ),
    routes=(Route(method="GET", path="/tasks", summary="Tasks, newest first; filters state, session, cursor, limit."),),
)

SHOW_TASK = Operation(
    name="show_task",
    family="tasks",
    summary="Show one task.",
    request_type=TaskIdRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("Show it", {"task_id": "task_1"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("task", "show"),
        help="Show one task: state, limits, counters, fingerprints.",
        shows=_task_facts,
        arguments=("task_id",),
    ),
    routes=(Route(method="GET", path="/tasks/{task_id}", summary="One task."),),
)
