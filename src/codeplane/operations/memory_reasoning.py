"""The four legacy reasoning tools. They work on their own and name the tools that replace them."""

import json
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from codeplane.core.errors import CodePlaneError
from codeplane.ledger.effects import EffectClass
from codeplane.memory import experiences, reasoning
from codeplane.memory.episodes import record_from_experience
from codeplane.memory.experiences import Experience
from codeplane.operations.memory_access import memory_writing
from codeplane.operations.memory_cycle import FAMILY, PROFILES, MemoryRequest
from codeplane.operations.models import Result
from codeplane.operations.operation import CallContext, Example, Operation, planned

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
_Session = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,120}$")]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class LegacyResult(Result):
    """What every legacy tool adds to its answer."""

    deprecated: bool = True
    replacement: str
    deprecation_notice: str
    code: str = "LEGACY_TOOL_DEPRECATED"


def _legacy(replacement: str) -> dict[str, Any]:
    return {"replacement": replacement, "deprecation_notice": f"This tool still works; {replacement} replaces it."}


class AnalyzeProblemRequest(MemoryRequest):
    """The problem."""

    problem: _Text = Field(description="What to solve.")
    available_tools: list[_Name] = Field(default_factory=list, max_length=200, description="Tools at hand.")


class AnalyzeProblemResult(LegacyResult):
    """What the problem asks for, and where to look."""

    session_id: str
    user_intent: dict[str, str]
    suggested_queries: dict[str, Any]
    key_concepts: list[str]
    next_step: str


def _analyze(context: CallContext, request: AnalyzeProblemRequest) -> AnalyzeProblemResult:
    intent = reasoning.intent_of(request.problem)
    concepts = reasoning.key_concepts(request.problem)
    with memory_writing(context) as writing:
        session_id = reasoning.begin(writing, request.problem, intent)
    query = " ".join(concepts) or request.problem[:200]
    search: dict[str, Any] = {"query": query, "patterns": concepts[:5]}
    known = [tool for tool in request.available_tools if "search" in tool]
    search |= {"recommended": known} if known else {}
    return AnalyzeProblemResult(
        session_id=session_id,
        user_intent=intent,
        suggested_queries={"search": search, "localFiles": ["README.md", "docs/"], "webSearch": {"query": query}},
        key_concepts=concepts,
        next_step="gather_context",
        **_legacy("compliance_snapshot + compliance_router"),
    )


ANALYZE_PROBLEM = Operation(
    name="analyze_problem",
    family=FAMILY,
    summary="Legacy: start a reasoning session for a problem.",
    request_type=AnalyzeProblemRequest,
    result_type=AnalyzeProblemResult,
    effect=EffectClass.RECORD,
    plan=planned(_analyze),
    render=lambda result: f"{result.session_id}: {result.user_intent['goal']}. {result.deprecation_notice}",
    profiles=PROFILES,
    when_to_use=("An old workflow asks for it.",),
    when_not_to_use=("Otherwise: compliance_snapshot and compliance_router replace it.",),
    examples=(Example("Analyse", {"problem": "Why does the pool test hang?"}),),
)


class ContextSources(MemoryRequest):
    """What was found."""

    experiences: list[str | dict[str, Any]] = Field(default_factory=list, max_length=200)
    local_docs: list[str | dict[str, Any]] = Field(default_factory=list, max_length=200)
    mcp_data: dict[str, Any] = Field(default_factory=dict)
    web_results: list[str | dict[str, Any]] = Field(default_factory=list, max_length=200)


class GatherContextRequest(MemoryRequest):
    """The session, and what was found."""

    session_id: _Session
    problem: str | None = Field(None, max_length=20_000)
    sources: ContextSources = Field(default_factory=ContextSources, description="What was found, by kind.")


class GatherContextResult(LegacyResult):
    """One text made of the sources."""

    session_id: str
    status: str
    synthesized_context: str
    token_count: int
    priority_breakdown: dict[str, int]
    guidance: str | None = None
    next_step: str


def _gather(context: CallContext, request: GatherContextRequest) -> GatherContextResult:
    sources = request.sources
    ineffective = [one for one in sources.experiences if isinstance(one, dict) and one.get("type") == "ineffective"]
    kinds: dict[str, list[Any]] = {
        "effective": [one for one in sources.experiences if one not in ineffective],
        "docs": list(sources.local_docs),
        "data": [{name: value} for name, value in sorted(sources.mcp_data.items())],
        "web": list(sources.web_results),
        "ineffective": ineffective,
    }
    text, n_tokens, breakdown = reasoning.synthesize(kinds)
    with memory_writing(context) as writing:
        row = reasoning.session_row(writing.connection, request.session_id)
        if text and row["phase"] != "finalized":
            reasoning.set_phase(writing, request.session_id, "gather")
    guidance = None if text else "Send sources: experiences (search_experiences), local_docs, mcp_data, web_results."
    return GatherContextResult(
        session_id=request.session_id,
        status="ok" if text else "awaiting_sources",
        synthesized_context=text,
        token_count=n_tokens,
        priority_breakdown=breakdown,
        guidance=guidance,
        next_step="reason_through" if text else "gather_context",
        **_legacy("context_pack"),
    )


GATHER_CONTEXT = Operation(
    name="gather_context",
    family=FAMILY,
    summary="Legacy: make one text of what was found for a reasoning session.",
    request_type=GatherContextRequest,
    result_type=GatherContextResult,
    effect=EffectClass.RECORD,
    plan=planned(_gather),
    render=lambda result: result.synthesized_context or f"{result.guidance} {result.deprecation_notice}",
    profiles=PROFILES,
    when_to_use=("An old workflow asks for it.",),
    when_not_to_use=("Otherwise: context_pack replaces it.",),
    examples=(
        Example("One note", {"session_id": "reasoning-0a1b2c3d4e5f6071", "sources": {"local_docs": ["Close pools."]}}),
    ),
)


class ReasonThroughRequest(MemoryRequest):
    """One thought."""

    session_id: _Session
    thought: _Text = Field(description="The thought.")
    thought_number: int = Field(ge=1, le=100_000, description="1 for the first.")
    confidence: float | None = Field(None, ge=0, le=1, description="0 to 1.")
    is_revision: bool = Field(False, description="It corrects an earlier one.")
    revises_thought: int | None = Field(None, ge=1, le=100_000, description="The number of that one.")


class ReasonThroughResult(LegacyResult):
    """The stored thought."""

    session_id: str
    thought_id: int
    thought_number: int
    scope_creep_detected: bool
    scope_creep_warning: str | None = None
    next_step: str


def _reason(context: CallContext, request: ReasonThroughRequest) -> ReasonThroughResult:
    with memory_writing(context) as writing:
        row = _open_session(reasoning.session_row(writing.connection, request.session_id))
        thought_id = writing.insert(
            "reasoning_thoughts", session_id=request.session_id, thought_number=request.thought_number,
            thought=request.thought, confidence=request.confidence, is_revision=request.is_revision,
            revises_thought=request.revises_thought, created_at=writing.now_ms,
        )  # fmt: skip
        reasoning.set_phase(writing, request.session_id, "reason")
    is_off = reasoning.is_off_topic(str(row["problem"]), request.thought)
    return ReasonThroughResult(
        session_id=request.session_id,
        thought_id=thought_id,
        thought_number=request.thought_number,
        scope_creep_detected=is_off,
        scope_creep_warning="The thought shares hardly a word with the problem." if is_off else None,
        next_step="finalize_decision",
        **_legacy("guarded_cycle"),
    )


def _open_session(row: Any) -> Any:
    if row["phase"] == "finalized":
        hint = "analyze_problem starts another."
        raise CodePlaneError("WORKFLOW_VIOLATION", "This reasoning session is decided.", hint=hint)
    return row


REASON_THROUGH = Operation(
    name="reason_through",
    family=FAMILY,
    summary="Legacy: store a thought of a reasoning session.",
    request_type=ReasonThroughRequest,
    result_type=ReasonThroughResult,
    effect=EffectClass.RECORD,
    plan=planned(_reason),
    render=lambda result: f"Thought {result.thought_number}. {result.scope_creep_warning or result.deprecation_notice}",
    profiles=PROFILES,
    when_to_use=("An old workflow asks for it.",),
    when_not_to_use=("Otherwise: guarded_cycle replaces it.",),
    examples=(
        Example(
            "First thought",
            {"session_id": "reasoning-0a1b2c3d4e5f6071", "thought": "The pool keeps a lock.", "thought_number": 1},
        ),
    ),
)


class FinalizeDecisionRequest(MemoryRequest):
    """The conclusion."""

    session_id: _Session
    conclusion: _Text = Field(description="What was decided.")
    rationale: str = Field("", max_length=20_000, description="Why.")
    record_as_experience: bool = Field(True, description="Remember it.")


class FinalizeDecisionResult(LegacyResult):
    """The decision, and the experience it became."""

    session_id: str
    conclusion: str
    experience_id: int | None
    session_summary: dict[str, Any]
    message: str


def _finalize(context: CallContext, request: FinalizeDecisionRequest) -> FinalizeDecisionResult:
    with memory_writing(context) as writing:
        row = _open_session(reasoning.session_row(writing.connection, request.session_id))
        thoughts = reasoning.thoughts_of(writing.connection, request.session_id)
        confidence = reasoning.mean_confidence(thoughts)
        experience_id = None
        if request.record_as_experience:
            goal = json.loads(row["user_intent"]).get("goal")
            experience = Experience(
                "effective",
                "Debugging" if goal == "debugging" else "Decision",
                str(row["problem"]),
                "; ".join(str(one["thought"]) for one in thoughts) or request.conclusion,
                request.conclusion,
                request.rationale.strip() or request.conclusion,
                confidence,
            )
            done = experiences.record(writing, experience)
            experience_id = done.id
            if done.is_new:
                record_from_experience(writing, done.id, experience)
                experiences.enforce_cap(writing, context.workspace.settings.memory.max_experiences_total)
        reasoning.decide(writing, request.session_id, request.conclusion, experience_id)
    summary = {"problem": row["problem"], "thoughts_count": len(thoughts), "avg_confidence": confidence}
    kept = f" Experience {experience_id}." if experience_id is not None else ""
    return FinalizeDecisionResult(
        session_id=request.session_id,
        conclusion=request.conclusion,
        experience_id=experience_id,
        session_summary=summary,
        message=f"Decided after {len(thoughts)} thoughts.{kept}",
        **_legacy("finalize_response + governance_validate"),
    )


FINALIZE_DECISION = Operation(
    name="finalize_decision",
    family=FAMILY,
    summary="Legacy: end a reasoning session with a decision, and remember it.",
    request_type=FinalizeDecisionRequest,
    result_type=FinalizeDecisionResult,
    effect=EffectClass.RECORD,
    plan=planned(_finalize),
    render=lambda result: f"{result.message} {result.deprecation_notice}",
    profiles=PROFILES,
    when_to_use=("An old workflow asks for it.",),
    when_not_to_use=("Otherwise: finalize_response and governance_validate replace it.",),
    examples=(
        Example("Decide", {"session_id": "reasoning-0a1b2c3d4e5f6071", "conclusion": "Close the pool in finally."}),
    ),
)
