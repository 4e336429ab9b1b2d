"""One turn at work: the session, the files of its work, and calls of operations through the door."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from codeplane.controller.codes import Code, Violation
from codeplane.controller.execution import Owner
from codeplane.controller.knowledge import Knowledge
from codeplane.controller.plan import Node, Plan
from codeplane.controller.runs import NodeProgress, SessionRecord, WorkFiles
from codeplane.controller.scope import is_repo_path
from codeplane.controller.structure import read_plan
from codeplane.controller.verb import DeniedError, FaultError, Verb, denied
from codeplane.core.clock import iso_from_ms
from codeplane.core.error_registry import entry_for
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, resolve_inside
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.call_record import CallControls, RunningProgram
from codeplane.operations.dispatch import dispatch
from codeplane.operations.operation import CallContext
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace

# Errors of operations that mean that a turn asks for something outside its scope.
_SCOPE_ERRORS: Final = frozenset(
    {"PATH_OUTSIDE_REPOSITORY", "PATH_INVALID", "SECRET_FILE", "FILE_IGNORED", "PROTECTED_PATH", "SCOPE_VIOLATION"}
)
# A session of this profile selects its intent with a turn's arguments; it has no other tool.
_INTENT_ERRORS: Final = frozenset({"INTENT_REQUIRED", "INTENT_NOT_ACTIVE", "INTENT_MISMATCH"})
_ARGUMENT_ERRORS: Final = frozenset({"INVALID_ARGUMENTS", "PAYLOAD_TOO_LARGE", "CURSOR_INVALID"})


@dataclass
class TurnWork:
    """What a verb works with; `record` is the session as it will be stored after the turn."""

    context: CallContext
    files: WorkFiles
    record: SessionRecord
    verb: Verb | None
    capabilities: tuple[str, ...]
    program: RunningProgram = field(init=False)

    def __post_init__(self) -> None:
        self.program = RunningProgram(self.context.call_id, is_index_fresh=self.context.is_index_fresh)

    @property
    def workspace(self) -> Workspace:
        """The repository."""
        return self.context.workspace

    @property
    def now(self) -> str:
        """The time."""
        return iso_from_ms(self.workspace.clock.now_ms())

    @cached_property
    def knowledge(self) -> Knowledge:
        """What is known about the repository and this work."""
        return Knowledge(self.workspace, self.files, self.record)

    @cached_property
    def plan(self) -> Plan | None:
        """The accepted plan."""
        found = read_plan(self.record.plan) if self.record.plan is not None else None
        return found if isinstance(found, Plan) else None

    def save(self, record: SessionRecord) -> None:
        """Replace the session, durably: what follows must not happen twice."""
        self.record = record
        self.files.save_session(record)

    def call(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation as the caller of this turn, and return its result.

        Raises:
            DeniedError: the gate refuses it, or it is outside the scope.
            FaultError: it failed, or a person has to answer first.
        """
        answer = self.ask(operation, arguments)
        if answer.error is None:
            payload: dict[str, Any] = answer.envelope()["result"]
            return payload
        raise self.refusal(answer)

    def ask(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call an operation and return its answer, whatever it is."""
        self.context.check_cancelled()
        controls = CallControls(
            self.context.report_progress, is_cancelled=self.context.is_cancelled, program=self.program
        )
        door = Door(self.workspace, self.context.operations)
        given = {key: value for key, value in arguments.items() if value is not None}
        return dispatch(door, name, given, self.context.caller, controls)

    def refusal(self, answer: Answer) -> DeniedError | FaultError:
        """Return why a call did not succeed, in the words of the controller."""
        report = answer.error
        if report is None:
            return FaultError("internal_error", f"{answer.operation} ended without a result.")
        action = report.required_action or ""
        if report.error in _INTENT_ERRORS:
            active = action.replace("Active: ", "active: ").partition("active: ")[2]
            action = f"Send the turn again with args.intent_id{f', one of: {active}' if active else '.'}"
        message = f"{report.message} {action}".strip()
        if answer.outcome is Outcome.HELD:
            return FaultError("approval_pending", message, is_retryable=True, approval=dict(report.details))
        if report.error in _SCOPE_ERRORS:
            return denied(Code.SCOPE, report.error.lower(), message)
        if answer.outcome is Outcome.DENIED or report.error in _INTENT_ERRORS:
            return denied(Code.POLICY, "gate_denied", message, actual=report.error)
        if report.error in _ARGUMENT_ERRORS:
            return denied(Code.MISSING_FIELDS, "arg_type", message)
        return FaultError(report.error.lower(), message, is_retryable=entry_for(report.error).retryable)

    def scoped_path(self, text: str, name: str) -> RepoPath:
        """Return a path that an argument names, checked before the disk is touched and then on it.

        Raises:
            DeniedError: PLAN_SCOPE_VIOLATION.
        """
        pointer = f"/args/{name}"
        if text != "." and not is_repo_path(text):
            raise denied(Code.SCOPE, "path_invalid", f"{name} is not a path inside the repository.", pointer)
        try:
            path = RepoPath.parse(text)
            resolve_inside(self.workspace.root, path)
        except CodePlaneError as error:
            raise denied(Code.SCOPE, "path_outside", error.message, pointer) from error
        return path

    def scoped_file(self, text: str, name: str) -> RepoPath:
        """Return a file of the allowlist that an argument names.

        Raises:
            DeniedError: PLAN_SCOPE_VIOLATION.
        """
        path = self.scoped_path(text, name)
        if path.text not in self.knowledge.allowlist:
            message = f"{text[:200]} is not among the files in scope. list_scoped_files lists them."
            raise denied(Code.SCOPE, "outside_allowlist", message, f"/args/{name}")
        return path

    def node(self, node_id: str, *kinds: str) -> Node:
        """Return a node of the accepted plan that may run now.

        Raises:
            DeniedError: it does not exist, is of another kind, is exhausted, or waits for another node.
        """
        plan = self.plan
        node = plan.by_id.get(node_id) if plan is not None else None
        if plan is None or node is None:
            message = f"The accepted plan has no node {node_id[:64]!r}."
            raise denied(Code.SCOPE, "node_unknown", message, "/args/planNodeId")
        if node.kind not in kinds:
            message = f"{node_id} is a {node.kind} node; this verb takes {' or '.join(kinds)}."
            raise denied(Code.SCOPE, "node_kind", message, "/args/planNodeId", node_id=node_id)
        if self.progress(node_id).is_exhausted:
            message = f"{node_id} failed too often. Submit a new plan that replaces it."
            raise denied(Code.SCOPE, "node_exhausted", message, node_id=node_id)
        waiting = [one for one in node.depends_on if self.progress(one).state != "finished"]
        if waiting:
            message = f"{node_id} depends on {', '.join(waiting[:5])}, which must be finished first."
            raise denied(Code.SCOPE, "node_not_ready", message, node_id=node_id)
        return node

    def progress(self, node_id: str) -> NodeProgress:
        """Return how far a node is."""
        return self.record.nodes.get(node_id) or NodeProgress("")

    def owner(self, node_id: str) -> Owner:
        """Return who holds what this turn reserves."""
        return Owner(self.record.work_id, self.record.run_id, node_id)

    def changed(self, **values: Any) -> SessionRecord:
        """Return the session with other values; the turn's own copy is replaced, too."""
        self.record = replace(self.record, **values)
        return self.record


def violation_json(one: Violation) -> dict[str, Any]:
    """Return a violation as answers have it."""
    found = {
        "code": one.code.value,
        "detail": one.detail,
        "pointer": one.pointer,
        "nodeId": one.node_id,
        "message": one.message,
        "expected": one.expected,
        "actual": _plain(one.actual),
    }
    return {name: value for name, value in found.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Owner):
        return {"workId": value.work_id, "runSessionId": value.run_session_id, "planNodeId": value.node_id}
    return value
