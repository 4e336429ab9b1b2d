"""Workflow tools: which steps of the applied preset this session has taken, and signed tokens for what follows."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from codeplane.core.errors import CodePlaneError
from codeplane.core.version import VERSION
from codeplane.ledger.chain import RowFilter
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory.presets import GATES, token_ttl_ms
from codeplane.memory.tokens import OPERATION, SESSION, Token, TokenBox, TokenRequest, check
from codeplane.memory.workflow_gates import RESET_KIND, GateState, active_preset, called_tools, gate_states
from codeplane.operations.memory_access import memory_of, memory_writing
from codeplane.operations.memory_cycle import FAMILY, PROFILES, MemoryRequest, notary_of
from codeplane.operations.models import Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan, planned

WorkflowId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,120}$")]
_Phase = Literal["teach", "learn", "reason"]
_Action = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class ComplianceRequest(MemoryRequest):
    """What is about to be done, and in which phase."""

    current_phase: _Phase = Field(description="The gates up to this one must be passed.")
    action: _Action = Field(description="What is about to be done.")
    session_id: WorkflowId | None = Field(None, description="A name for the workflow; the gates are this session's.")


class CheckComplianceResult(Result):
    """Whether the gates are passed; nothing is changed."""

    compliant: bool
    missing_requirements: list[str]
    next_steps: list[str]
    would_block: bool
    mode: str = "dry-run"
    current_phase: str
    action: str
    active_preset: str | None


def _gates(context: CallContext, session: str | None = None) -> tuple[Mapping[str, Any] | None, tuple[GateState, ...]]:
    chain = context.workspace.chain
    preset = active_preset(chain)
    called = called_tools(chain, session or context.session.label) if preset is not None else frozenset()
    return preset, gate_states(preset, called)


def _missing(states: tuple[GateState, ...], phase: str) -> list[str]:
    """Return what the gates up to a phase still ask for."""
    wanted = GATES[: GATES.index(phase) + 1]
    return [f"{state.name}: {tool}" for state in states if state.name in wanted for tool in state.missing]


def _check(context: CallContext, request: ComplianceRequest) -> CheckComplianceResult:
    preset, states = _gates(context)
    missing = _missing(states, request.current_phase)
    is_open = any(not state.is_passed for state in states)
    return CheckComplianceResult(
        compliant=not missing,
        missing_requirements=missing,
        next_steps=[f"Call {one.split(': ')[1]}." for one in missing],
        would_block=is_open and preset is not None and preset.get("enforcement") != "lenient",
        current_phase=request.current_phase,
        action=request.action,
        active_preset=str(preset["name"]) if preset is not None else None,
    )


CHECK_COMPLIANCE = Operation(
    name="check_compliance",
    family=FAMILY,
    summary="Tell which steps of the applied workflow preset are missing; changes nothing.",
    request_type=ComplianceRequest,
    result_type=CheckComplianceResult,
    effect=EffectClass.READ,
    plan=planned(_check),
    render=lambda result: "Compliant." if result.compliant else f"Missing: {', '.join(result.missing_requirements)}.",
    profiles=PROFILES,
    when_to_use=("A change was refused with WORKFLOW_VIOLATION.",),
    when_not_to_use=("No preset is applied: then every step is free.",),
    examples=(Example("Before an edit", {"current_phase": "reason", "action": "edit src/app.py"}),),
)


class VerifyComplianceResult(Result):
    """A single-use token for the action."""

    compliant: bool
    operation_token: str
    session_id: str
    current_phase: str
    message: str


def _verify(context: CallContext, request: ComplianceRequest) -> VerifyComplianceResult:
    preset, states = _gates(context)
    missing = _missing(states, request.current_phase)
    if missing:
        raise CodePlaneError(
            "COMPLIANCE_FAILED",
            f"Steps are missing before {request.current_phase} is passed: {', '.join(missing)}.",
            details={"missing_requirements": missing, "current_phase": request.current_phase},
        )
    workflow = request.session_id or context.session.label
    ttl = token_ttl_ms(preset, OPERATION)
    token = _issue(context, OPERATION, ttl, request.current_phase, request.action)
    passed = [state.name for state in states if state.is_passed]
    steps = sorted({tool for state in states for tool in state.required if tool not in state.missing})
    name = str(preset["name"]) if preset is not None else None
    with memory_writing(context) as writing:
        writing.connection.execute(
            "INSERT INTO workflow_sessions VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT (session_id) DO UPDATE SET"
            " preset = excluded.preset, gates_passed = excluded.gates_passed,"
            " steps_completed = excluded.steps_completed, expires_at = excluded.expires_at, active = 1",
            (workflow, name, json.dumps(passed), json.dumps(steps), writing.now_ms, writing.now_ms + ttl),
        )
    return VerifyComplianceResult(
        compliant=True,
        operation_token=token.token_id,
        session_id=workflow,
        current_phase=request.current_phase,
        message=f"The token is valid for {ttl // 1000} seconds and one use.",
    )


def _issue(context: CallContext, kind: str, ttl_ms: int, phase: str, action: str) -> Token:
    notary = notary_of(context)
    _, head = notary.head()
    wanted = TokenRequest(
        kind, notary.session, phase, action, ttl_ms, notary.now_ms, notary.call_id, None, head, VERSION
    )
    return notary.tokens.issue(notary.key, wanted)


VERIFY_COMPLIANCE = Operation(
    name="verify_compliance",
    family=FAMILY,
    summary="Check the workflow gates and, if they are passed, get a single-use token for an action.",
    request_type=ComplianceRequest,
    result_type=VerifyComplianceResult,
    effect=EffectClass.RECORD,
    plan=planned(_verify),
    render=lambda result: f"{result.operation_token}. {result.message}",
    profiles=PROFILES,
    when_to_use=("Before authorize_operation.",),
    when_not_to_use=("To see what is missing: check_compliance tells.",),
    examples=(Example("Before an edit", {"current_phase": "reason", "action": "edit src/app.py"}),),
)


class AuthorizeOperationRequest(MemoryRequest):
    """The token to use up."""

    operation_token: str = Field(min_length=1, max_length=200, description="From verify_compliance.")
    create_session_token: bool = Field(False, description="Also get a token for the session.")


class AuthorizeOperationResult(Result):
    """The action is authorised, once."""

    authorized: bool
    session_token: str | None = None
    token_path: str | None = None
    message: str


def _authorize(context: CallContext, request: AuthorizeOperationRequest) -> AuthorizeOperationResult:
    notary = notary_of(context)
    token = notary.tokens.read(request.operation_token)
    check(notary.key, token, OPERATION, notary.session, notary.now_ms)
    used = RowFilter(
        kinds=("finished",), operation="authorize_operation", session=notary.session,
        body_holds=f'"used_token":"{token.token_id}"', limit=1,
    )  # fmt: skip
    if notary.chain.rows(used):
        raise CodePlaneError("TOKEN_INVALID", "The token was used already; its file was put back.")
    notary.tokens.claim(token.token_id)
    context.noted["used_token"] = token.token_id
    action = str(token.payload["action"])
    if not request.create_session_token:
        return AuthorizeOperationResult(authorized=True, message=f"Authorised once: {action}.")
    preset = active_preset(context.workspace.chain)
    session = _issue(context, SESSION, token_ttl_ms(preset, SESSION), str(token.payload["phase"]), action)
    return AuthorizeOperationResult(
        authorized=True,
        session_token=session.token_id,
        token_path=f".codeplane/tokens/{session.token_id}.json",
        message=f"Authorised: {action}.",
    )


AUTHORIZE_OPERATION = Operation(
    name="authorize_operation",
    family=FAMILY,
    summary="Use up an operation token; optionally get a token for the session.",
    request_type=AuthorizeOperationRequest,
    result_type=AuthorizeOperationResult,
    effect=EffectClass.RECORD,
    plan=planned(_authorize),
    render=lambda result: result.message,
    profiles=PROFILES,
    when_to_use=("After verify_compliance.",),
    when_not_to_use=("To get past a gate or a policy: tokens open neither.",),
    examples=(Example("Use it", {"operation_token": "op-1700000000000-0a1b2c3d4"}),),
)


class WorkflowStatusRequest(MemoryRequest):
    """Which workflow."""

    session_id: WorkflowId | None = Field(None, description="A name from verify_compliance; usually left out.")


class WorkflowStatusResult(Result):
    """Where this session is."""

    session_id: str
    current_phase: str
    active_session: bool
    gates_status: dict[str, str]
    steps_completed: list[str]
    active_tokens: list[dict[str, Any]]
    fast_track_active: bool
    active_preset: str | None


def _status(context: CallContext, request: WorkflowStatusRequest) -> WorkflowStatusResult:
    workspace = context.workspace
    session = context.session.label
    row = None
    with memory_of(context).read() as connection:
        name = request.session_id or session
        row = connection.execute("SELECT * FROM workflow_sessions WHERE session_id = ?", (name,)).fetchone()
    if row is None and name != session:
        raise CodePlaneError("SESSION_NOT_FOUND", f"There is no workflow session {name}.")
    preset, states = _gates(context)
    now = workspace.clock.now_ms()
    tokens = [
        one
        for one in TokenBox(workspace.places.tokens).all()
        if one.expires_in_ms(now) > 0 and one.payload.get("session_id") in {session, None}
    ]
    shown = [
        {
            "token_id": one.token_id,
            "type": str(one.payload.get("type")),
            "expires_in_seconds": one.expires_in_ms(now) // 1000,
            "version": one.version,
        }
        for one in tokens
    ]
    unpassed = next((state.name for state in states if not state.is_passed), "act")
    passed = {state.name: "passed" if state.is_passed else "open" for state in states}
    is_running = row is not None and bool(row["active"]) and (row["expires_at"] or 0) > now
    return WorkflowStatusResult(
        session_id=name,
        current_phase=unpassed,
        active_session=is_running,
        gates_status=passed or dict.fromkeys(GATES, "not_configured"),
        steps_completed=sorted({tool for one in states for tool in one.required if tool not in one.missing}),
        active_tokens=shown,
        fast_track_active=any(one.version == 2 and one.payload.get("type") == SESSION for one in tokens),
        active_preset=str(preset["name"]) if preset is not None else None,
    )


GET_WORKFLOW_STATUS = Operation(
    name="get_workflow_status",
    family=FAMILY,
    summary="Show the gates, steps and tokens of this session.",
    request_type=WorkflowStatusRequest,
    result_type=WorkflowStatusResult,
    effect=EffectClass.READ,
    plan=planned(_status),
    render=lambda result: "\n".join(
        [f"Preset: {result.active_preset or 'none'}", *(f"{gate}: {how}" for gate, how in result.gates_status.items())]
    ),
    profiles=PROFILES,
    when_to_use=("To see which step comes next.",),
    when_not_to_use=("For the phases of a guarded cycle: its answers name the next one.",),
    examples=(Example("This session", {}),),
)


class ResetWorkflowRequest(MemoryRequest):
    """What to reset."""

    session_id: WorkflowId | None = Field(None, description="The workflow; without it that of this session.")
    cleanup_only: bool = Field(False, description="Only remove expired tokens.")


class ResetWorkflowResult(Result):
    """What was reset."""

    reset: bool
    cleanup_only: bool
    session_id: str | None = None
    cleaned_up: int
    message: str


def _plan_reset(context: CallContext, request: ResetWorkflowRequest) -> Plan[ResetWorkflowResult]:
    def work() -> ResetWorkflowResult:
        workspace = context.workspace
        n_removed = TokenBox(workspace.places.tokens).remove_expired(workspace.clock.now_ms())
        if request.cleanup_only:
            message = f"{n_removed} expired tokens removed."
            return ResetWorkflowResult(reset=False, cleanup_only=True, cleaned_up=n_removed, message=message)
        name = request.session_id or context.session.label
        with memory_writing(context) as writing:
            writing.connection.execute("DELETE FROM workflow_sessions WHERE session_id = ?", (name,))
        notary_of(context).append(RESET_KIND, {"workflow": name, "call": context.call_id})
        message = "The steps of this session start again."
        return ResetWorkflowResult(
            reset=True, cleanup_only=False, session_id=name, cleaned_up=n_removed, message=message
        )

    what = "remove expired tokens" if request.cleanup_only else "start the steps of the workflow again"
    return Plan(work, Effects(reserved=what))


RESET_WORKFLOW = Operation(
    name="reset_workflow",
    family=FAMILY,
    summary="Start the workflow steps of this session again, or remove expired tokens; a person decides.",
    request_type=ResetWorkflowRequest,
    result_type=ResetWorkflowResult,
    effect=EffectClass.RECORD,
    plan=_plan_reset,
    render=lambda result: result.message,
    profiles=PROFILES,
    when_to_use=("A person wants the steps to be taken again.",),
    when_not_to_use=("To get past a gate.",),
    examples=(Example("Remove expired tokens", {"cleanup_only": True}),),
)
