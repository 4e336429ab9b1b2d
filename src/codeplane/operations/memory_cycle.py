"""The guarded cycle as tools: snapshot, router, phases, finalising, claimed invocations and governance."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact, redact_value
from codeplane.ledger.effects import EffectClass
from codeplane.memory.canonical import sha256
from codeplane.memory.cycle_steps import open_session, standing_of
from codeplane.memory.finalisation import own_text
from codeplane.memory.governance import INVOCATION_KIND, Notary, Terms
from codeplane.memory.guarded_cycle import (
    MAX_DRAFT,
    CycleParts,
    Stepped,
    finalised,
    govern,
    run_phase,
)
from codeplane.memory.tokens import TokenBox
from codeplane.operations.code_places import stale_places
from codeplane.operations.memory_access import memory_of, memory_writing
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned

PROFILES = frozenset({"memory"})
FAMILY = "memory"
_MAX_META = 4_000

SessionId = Annotated[int, Field(ge=1, le=2**53 - 1, description="The memory session.")]
Scope = Literal["project", "global"]
Key = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Keys = Annotated[list[Key], Field(max_length=100, description="Words under which memories are found.")]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Phase = Literal[
    "SNAPSHOT", "ROUTER", "CONTEXT_PACK", "DRAFT", "FINALIZE_RESPONSE", "GOVERNANCE_VALIDATE", "MEMORY_UPDATE"
]


class MemoryRequest(Request):
    """A request whose errors carry the codes of the specification."""

    FIELD_CODES: ClassVar[dict[str, str]] = {
        "phase": "INVALID_PHASE",
        "current_phase": "INVALID_PHASE",
        "scope": "INVALID_TYPE",
        "snapshot_hash": "INVALID_FORMAT",
        "input_hash": "INVALID_FORMAT",
        "output_hash": "INVALID_FORMAT",
        "context_hash": "INVALID_FORMAT",
        "session_id": "OUT_OF_RANGE",
        "expiry_minutes": "OUT_OF_RANGE",
        "confidence": "OUT_OF_RANGE",
        "thought_number": "OUT_OF_RANGE",
        "revises_thought": "OUT_OF_RANGE",
    }
    MISSING_CODE: ClassVar[str] = "MISSING_REQUIRED"


def notary_of(context: CallContext) -> Notary:
    """Return what signs receipts and tokens for this call.

    Raises:
        CodePlaneError: NO_SIGNING_KEY.
    """
    workspace = context.workspace
    return Notary(
        workspace.chain,
        workspace.signing_key(),
        TokenBox(workspace.places.tokens),
        context.session.label,
        workspace.repository.worktree_id,
        context.call_id,
        workspace.clock.now_ms(),
    )


def cycle_parts(context: CallContext) -> CycleParts:
    """Return what the cycle of this call uses.

    Raises:
        CodePlaneError: NO_SIGNING_KEY.
    """
    workspace = context.workspace
    return CycleParts(notary_of(context), workspace.settings.memory, lambda recorded: stale_places(workspace, recorded))


def _step(context: CallContext, session_id: int, phase: str, given: dict[str, Any]) -> Stepped:
    """Carry out a phase; a violation is stored before it is refused."""
    with memory_writing(context) as writing:
        stepped = run_phase(writing, session_id, phase, given, cycle_parts(context))
    _refuse_violation(stepped)
    if stepped.status in {"ok", "failed"}:
        context.noted["cycle_phase"] = phase
    return stepped


def _refuse_violation(stepped: Stepped) -> None:
    if stepped.violation:
        raise CodePlaneError(
            "PHASE_VIOLATION",
            f"{stepped.phase} is not the next phase; {stepped.violation} is.",
            hint=f"Call {stepped.violation}.",
            details={"expected": stepped.violation, "got": stepped.phase},
        )


class ComplianceSnapshotRequest(MemoryRequest):
    """Where to start."""

    session_id: SessionId | None = Field(None, description="Continue this memory session; without it one is started.")
    context: str = Field("", max_length=20_000, description="What the work is about.")
    scope: Scope = Field("project", description="project or global; fixed when the session starts.")
    context_keys: Keys = Field(default_factory=list)


class ComplianceSnapshotResult(Result):
    """The state that the cycle starts from."""

    snapshot_hash: str
    session_id: int
    phase: str
    status: str
    scope_mode: str
    flags: dict[str, Any]


def _snapshot(context: CallContext, request: ComplianceSnapshotRequest) -> ComplianceSnapshotResult:
    given = {"context": request.context, "context_keys": request.context_keys}
    with memory_writing(context) as writing:
        session_id = request.session_id or open_session(writing, request.scope)
        stepped = run_phase(writing, session_id, "SNAPSHOT", given, cycle_parts(context))
    _refuse_violation(stepped)
    output = stepped.output
    return ComplianceSnapshotResult(
        snapshot_hash=output["snapshot_hash"],
        session_id=session_id,
        phase="SNAPSHOT",
        status=stepped.status,
        scope_mode=output["scope_mode"],
        flags=output["flags"],
    )


COMPLIANCE_SNAPSHOT = Operation(
    name="compliance_snapshot",
    family=FAMILY,
    summary="Start a guarded cycle: record the state of memory and ledger.",
    request_type=ComplianceSnapshotRequest,
    result_type=ComplianceSnapshotResult,
    effect=EffectClass.RECORD,
    plan=planned(_snapshot),
    render=lambda result: f"Memory session {result.session_id}, snapshot {result.snapshot_hash}. Next: ROUTER.",
    profiles=PROFILES,
    when_to_use=("A task needs checked reasoning with a receipt.",),
    when_not_to_use=("In the middle of a cycle.",),
    examples=(Example("Start a session", {"context": "fix the flaky pool test", "context_keys": ["pool"]}),),
)


class ComplianceRouterRequest(MemoryRequest):
    """What the user asks."""

    session_id: SessionId
    snapshot_hash: str = Field(max_length=64, description="From compliance_snapshot.")
    user_input: str = Field("", max_length=20_000, description="What the user asked for.")
    scope: Scope | None = Field(None, description="Must be that of the session.")


class ComplianceRouterResult(Result):
    """The next phase."""

    route: str
    session_id: int
    phase: str
    status: str
    has_draft: bool


def _router(context: CallContext, request: ComplianceRouterRequest) -> ComplianceRouterResult:
    given = {"snapshot_hash": request.snapshot_hash, "user_input": request.user_input}
    if request.scope is not None:
        with memory_of(context).read() as connection:
            scope = standing_of(connection, request.session_id).scope
        if request.scope != scope:
            raise CodePlaneError("VALIDATION_ERROR", f"The session has the scope {scope}.")
    stepped = _step(context, request.session_id, "ROUTER", given)
    return ComplianceRouterResult(
        route=stepped.output["next_action"],
        session_id=request.session_id,
        phase="ROUTER",
        status=stepped.status,
        has_draft=stepped.output["has_draft"],
    )


COMPLIANCE_ROUTER = Operation(
    name="compliance_router",
    family=FAMILY,
    summary="Say what the user asked; answers with the next phase.",
    request_type=ComplianceRouterRequest,
    result_type=ComplianceRouterResult,
    effect=EffectClass.RECORD,
    plan=planned(_router),
    render=lambda result: f"{result.status}: next is {result.route}.",
    profiles=PROFILES,
    when_to_use=("After compliance_snapshot.",),
    when_not_to_use=("Without a snapshot_hash.",),
    examples=(Example("Route", {"session_id": 1, "snapshot_hash": "0" * 64, "user_input": "Why does it hang?"}),),
)


class GuardedCycleRequest(MemoryRequest):
    """Which phase, with its input."""

    session_id: SessionId
    phase: Phase = Field(description="The next phase of the session.")
    input: dict[str, Any] = Field(
        default_factory=dict,
        description="context, context_keys (SNAPSHOT); user_input, draft (ROUTER); query, paths, byte_budget, "
        "max_cells, max_experiences (CONTEXT_PACK); draft (DRAFT); context_hash (FINALIZE_RESPONSE and on).",
    )


class GuardedCycleResult(Result):
    """What the phase gave, and which comes next."""

    phase: str
    output: dict[str, Any]
    next_phase: str | None
    session_id: int
    status: str
    cycle: int


def _cycle(context: CallContext, request: GuardedCycleRequest) -> GuardedCycleResult:
    stepped = _step(context, request.session_id, request.phase, request.input)
    return GuardedCycleResult(
        phase=request.phase,
        output=dict(stepped.output),
        next_phase=stepped.next_phase,
        session_id=request.session_id,
        status=stepped.status,
        cycle=stepped.standing.cycle,
    )


def _render_cycle(result: GuardedCycleResult) -> str:
    lines = [f"{result.phase}: {result.status}. Next: {result.next_phase or 'none; the cycle is complete'}."]
    lines += [f"missing: {', '.join(result.output['missing'])}"] if "missing" in result.output else []
    lines += [str(result.output["response"])] if "response" in result.output else []
    lines += [str(one) for one in result.output.get("errors", ())]
    return "\n".join(lines)


GUARDED_CYCLE = Operation(
    name="guarded_cycle",
    family=FAMILY,
    summary="Carry out the next phase of a guarded cycle; the server finalises and validates.",
    request_type=GuardedCycleRequest,
    result_type=GuardedCycleResult,
    effect=EffectClass.RECORD,
    plan=planned(_cycle),
    render=_render_cycle,
    profiles=PROFILES,
    when_to_use=("After compliance_router, phase by phase.",),
    when_not_to_use=("To skip a phase: that is refused and remembered.",),
    examples=(Example("Hand in a draft", {"session_id": 1, "phase": "DRAFT", "input": {"draft": "The lock leaks."}}),),
)


class FinalizeResponseRequest(MemoryRequest):
    """The draft, and what it rests on."""

    session_id: SessionId
    draft: str = Field(min_length=1, max_length=MAX_DRAFT, description="The text to check.")
    context_hash: Hash | None = Field(None, description="From context_pack.")
    cells: list[int | dict[str, Any]] = Field(
        default_factory=list, max_length=500, description="Ids of cells that the draft rests on."
    )
    experiences: list[int | dict[str, Any]] = Field(default_factory=list, max_length=500, description="Ids, likewise.")


class FinalizeResponseResult(Result):
    """The response to show, and how far it can be relied on."""

    response: str
    integrity: str
    integrity_line: str
    violations: list[dict[str, Any]]


def _finalize(context: CallContext, request: FinalizeResponseRequest) -> FinalizeResponseResult:
    given = {"draft": request.draft, "cells": request.cells}
    given |= {"context_hash": request.context_hash} if request.context_hash is not None else {}
    with memory_writing(context) as writing:
        parts = cycle_parts(context)
        standing = standing_of(writing.connection, request.session_id)
        is_at_draft = standing.expected == "DRAFT" or standing.is_blocked_at("FINALIZE_RESPONSE")
        if is_at_draft:
            standing = run_phase(writing, request.session_id, "DRAFT", given, parts).standing
        stored = (standing.data("DRAFT") or {}).get("draft_hash")
        if standing.expected == "FINALIZE_RESPONSE" and stored == sha256_text(own_text(redact(request.draft.strip()))):
            output = run_phase(writing, request.session_id, "FINALIZE_RESPONSE", given, parts).output
            return FinalizeResponseResult(**{name: output[name] for name in FinalizeResponseResult.model_fields})
        found = finalised(writing.connection, standing, redact(request.draft), given, parts.notary)
    return FinalizeResponseResult(
        response=found.response,
        integrity=found.integrity,
        integrity_line=found.integrity_line,
        violations=[one.as_dict() for one in found.violations],
    )


FINALIZE_RESPONSE = Operation(
    name="finalize_response",
    family=FAMILY,
    summary="Check a draft, label what is only inferred, and append the integrity line.",
    request_type=FinalizeResponseRequest,
    result_type=FinalizeResponseResult,
    effect=EffectClass.RECORD,
    plan=planned(_finalize),
    render=lambda result: result.response,
    profiles=PROFILES,
    when_to_use=("Before a text that rests on memory is shown to a person.",),
    when_not_to_use=("For code.",),
    examples=(Example("Finalise", {"session_id": 1, "draft": "The lock leaks.", "cells": [3]}),),
)


class RecordInvocationRequest(MemoryRequest):
    """What the caller says that it called."""

    session_id: SessionId
    tool_name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    input: Any = Field(None, description="What it was given; only the hash is kept.")
    output: Any = Field(None, description="What it gave; only the hash is kept.")
    input_hash: Hash | None = Field(None, description="Instead of input.")
    output_hash: Hash | None = Field(None, description="Instead of output.")
    meta: dict[str, Any] = Field(default_factory=dict, description="Facts beside it, at most 4 kB.")


class RecordInvocationResult(Result):
    """The row in the ledger."""

    id: int
    session_id: int
    hash: str
    prev_hash: str


def _invocation(context: CallContext, request: RecordInvocationRequest) -> RecordInvocationResult:
    with memory_of(context).read() as connection:
        standing = standing_of(connection, request.session_id)
    meta = redact_value(request.meta)
    if len(str(meta)) > _MAX_META:
        raise CodePlaneError("PAYLOAD_TOO_LARGE", f"meta has at most {_MAX_META} characters.")
    body = {
        "session_id": request.session_id,
        "cycle": standing.cycle,
        "tool_name": f"{redact(request.tool_name)}",
        "input_hash": request.input_hash or sha256(request.input),
        "output_hash": request.output_hash or sha256(request.output),
        "meta": meta,
        "is_claimed": True,
    }
    # The cycle's own drafts are rows of this kind; a caller cannot claim one.
    if body["tool_name"] == "draft":
        raise CodePlaneError("VALIDATION_ERROR", "`draft` is recorded by the cycle itself.")
    row = notary_of(context).append(INVOCATION_KIND, body)
    return RecordInvocationResult(id=row.seq, session_id=request.session_id, hash=row.hash, prev_hash=row.prev_hash)


RECORD_INVOCATION = Operation(
    name="record_invocation",
    family=FAMILY,
    summary="Record a call that CodePlane did not see; the row is marked as claimed by the caller.",
    request_type=RecordInvocationRequest,
    result_type=RecordInvocationResult,
    effect=EffectClass.RECORD,
    plan=planned(_invocation),
    render=lambda result: f"Row {result.id}, claimed by the caller.",
    profiles=PROFILES,
    when_to_use=("A tool of another server was used in a guarded cycle.",),
    when_not_to_use=("For CodePlane's own tools: the ledger has them.",),
    examples=(Example("A web search", {"session_id": 1, "tool_name": "web_search", "input": {"q": "sqlite wal"}}),),
)


class GovernanceValidateRequest(MemoryRequest):
    """What to validate, and on which terms to certify it."""

    session_id: SessionId
    context_hash: Hash | None = Field(None, description="From context_pack, to be compared.")
    mint: bool = Field(True, description="Sign a receipt and a token if all holds.")
    receipt_type: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,60}$")] = "governance"
    permissions: Keys = Field(default_factory=list)
    expiry_minutes: int = Field(60, ge=1, le=1440, description="Life of the token.")


class GovernanceValidateResult(Result):
    """The server's verdict, with receipt and token if it is good."""

    valid: bool
    errors: list[str]
    warnings: list[str]
    chain_count: int
    context_hash_match: bool | None
    receipt: dict[str, Any] | None = None
    token: dict[str, Any] | None = None


def _governance(context: CallContext, request: GovernanceValidateRequest) -> GovernanceValidateResult:
    given = request.model_dump(exclude={"session_id"}, exclude_none=True)
    with memory_writing(context) as writing:
        parts = cycle_parts(context)
        standing = standing_of(writing.connection, request.session_id)
        if standing.expected == "GOVERNANCE_VALIDATE":
            output = run_phase(writing, request.session_id, "GOVERNANCE_VALIDATE", given, parts).output
            return GovernanceValidateResult(**{name: output[name] for name in GovernanceValidateResult.model_fields})
        terms = Terms(request.receipt_type, tuple(request.permissions), request.expiry_minutes)
        verdict = govern(writing, standing, request.context_hash, parts.notary, terms if request.mint else None)
    token = dict(verdict.token.payload) if verdict.token is not None else None
    return GovernanceValidateResult(**verdict.as_dict(), token=token)


def _render_verdict(result: GovernanceValidateResult) -> str:
    if not result.valid:
        return "\n".join(["Not valid.", *result.errors])
    signed = f" Receipt {result.receipt['id']}." if result.receipt is not None else ""
    return f"Valid; {result.chain_count} rows of this session.{signed}"


GOVERNANCE_VALIDATE = Operation(
    name="governance_validate",
    family=FAMILY,
    summary="Validate a guarded cycle against the ledger; if all holds, sign a receipt and a token.",
    request_type=GovernanceValidateRequest,
    result_type=GovernanceValidateResult,
    effect=EffectClass.RECORD,
    plan=planned(_governance),
    render=_render_verdict,
    profiles=PROFILES,
    when_to_use=("After finalize_response.",),
    when_not_to_use=("Before the response is finalised.",),
    examples=(Example("Validate", {"session_id": 1}),),
)
