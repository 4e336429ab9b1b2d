"""What the refactor operations answer, and how an answer is made from a plan."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field

from codeplane.core.clock import iso_from_ms
from codeplane.core.printable import counted
from codeplane.operations.command import Document
from codeplane.operations.models import Pagination, Result
from codeplane.refactor.plan import BLOCKED, CODE, DOCS, NEEDS_DECISION, QUESTION, Draft, Edit
from codeplane.refactor.plan_store import StoredPlan

MAX_SITES = 200
_MAX_CANDIDATES = 20
_MAX_FACTS = 10
_SHOWN_SITES = 12
_SHOWN_QUESTIONS = 10
COMMIT = "/decisions/commit"


class RefactorSite(Result):
    """One place that would change."""

    id: str = Field(description="For include and exclude of refactor_apply.")
    path: str
    line: int
    column: int = Field(description="In characters, from 0.")
    end_column: int
    old: str
    new: str
    text: str = Field(description="The line.")
    tier: Literal["proven", "strong", "anchored", "unknown"]
    group: Literal["code", "question", "docs"]
    why: str
    settle: str | None = Field(None, description="What would settle a question.")
    confidence: Literal["high", "medium", "low"] | None = None


class DocEdits(Result):
    """Documentation that names the symbol."""

    files_changed: int = 0
    review_recommended: bool = False
    matches: list[RefactorSite] = Field(default_factory=list)


class MovedFile(Result):
    """A file that gets another path (§8.10)."""

    model_config = ConfigDict(serialize_by_alias=True)
    file_moved: bool = True
    from_path: str = Field(alias="from")
    to_path: str = Field(alias="to")
    git_mv: bool = False


class RefactorCandidate(Result):
    """A definition that the request may mean, with what applying it would do."""

    id: str
    symbol: str = Field(description="Send this as symbol to plan just this one.")
    description: str
    confidence: float
    provenance: Literal["semantic", "syntactic"]
    apply_plan: dict[str, Any] | None = None


class DecisionCapsule(Result):
    """One bounded question that reading code can answer."""

    type: Literal["scope_resolution", "receiver_resolution", "context_membership"]
    question: str
    stop_rule: str


class RefactorResult(Result):
    """A planned refactoring; nothing has changed yet."""

    refactor_id: str
    plan_id: str = Field(description="The same as refactor_id.")
    refactor: str
    symbol: str
    new_name: str | None = None
    status: Literal["ready", "needs_decision", "blocked"]
    matches: int = Field(description="Edits that are proved or as good as proved.")
    verification_required: bool = Field(description="There are questions: see refactor_inspect.")
    files_changed: int
    edits: list[RefactorSite] = Field(default_factory=list)
    questions: list[RefactorSite] = Field(default_factory=list)
    doc_edits: DocEdits = Field(default_factory=DocEdits)
    counts: dict[str, int] = Field(default_factory=dict, description="Sites of each group, on all pages.")
    moves: list[MovedFile] = Field(default_factory=list)
    deletes: list[str] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)
    candidates: list[RefactorCandidate] = Field(default_factory=list)
    witness: Document | None = None
    decision_capsules: list[DecisionCapsule] = Field(default_factory=list)
    commit_endpoint: str | None = None
    warnings: list[str] = Field(default_factory=list)
    details: Document | None = None
    expires_at: str
    pagination: Pagination = Field(default_factory=lambda: Pagination(next_cursor=None, total_estimate=None))
    summary: str


def site_of(number: int, edit: Edit) -> RefactorSite:
    """Return an edit as answers show it."""
    return RefactorSite.model_validate(
        {
            "id": f"e{number}",
            "path": edit.path,
            "line": edit.line,
            "column": edit.column,
            "end_column": edit.column + len(edit.old),
            "old": edit.old[:200],
            "new": edit.new[:200],
            "text": edit.text,
            "tier": edit.tier.name.lower(),
            "group": edit.group,
            "why": edit.why,
            "settle": edit.settle or None,
            "confidence": edit.confidence or None,
        }
    )


def numbered(draft: Draft) -> list[tuple[int, Edit]]:
    """Return the edits with their numbers: code first, then questions, then documentation, by place."""
    order = {CODE: 0, QUESTION: 1, DOCS: 2}
    ranked = sorted(draft.edits, key=lambda one: (order[one.group], one.path, one.start))
    return list(enumerate(ranked, start=1))


def refactor_result(plan: StoredPlan, page: Sequence[tuple[int, Edit]], cursor: str | None) -> RefactorResult:
    """Return the answer for one page of a plan's sites."""
    draft = plan.draft
    counts = {group: sum(one.group == group for one in draft.edits) for group in (CODE, QUESTION, DOCS)}
    sites = [site_of(number, one) for number, one in page]
    docs = [one for one in sites if one.group == DOCS]
    is_open = draft.status in {NEEDS_DECISION, BLOCKED}
    documents = [one for one in draft.edits if one.confidence]
    details = draft.details or {}
    return RefactorResult(
        refactor_id=plan.refactor_id,
        plan_id=plan.refactor_id,
        refactor=f"{draft.kind}_symbol" if draft.kind == "rename" else draft.kind,
        symbol=draft.subject,
        new_name=(draft.details or {}).get("new_name"),
        status=draft.status,
        matches=counts[CODE],
        verification_required=counts[QUESTION] > 0,
        files_changed=len({one.path for one in draft.edits if one.group == CODE} | {one.source for one in draft.moves}),
        edits=[one for one in sites if one.group == CODE],
        questions=[one for one in sites if one.group == QUESTION],
        doc_edits=DocEdits(
            files_changed=len({one.path for one in documents}),
            review_recommended=any(one.confidence != "high" for one in documents),
            matches=docs,
        ),
        counts=counts,
        moves=moved_files(draft, frozenset(one["from"] for one in details.get("moved", ()) if one["git_mv"])),
        deletes=list(draft.deletes),
        reasons=list(draft.reasons),
        candidates=_candidates(draft) if is_open else [],
        witness=_witness(draft) if is_open else None,
        decision_capsules=_capsules(draft) if is_open else [],
        commit_endpoint=COMMIT if is_open else None,
        warnings=list(draft.warnings),
        details=Document.model_validate(dict(draft.details)) if draft.details else None,
        expires_at=iso_from_ms(plan.expires_ms),
        pagination=Pagination(next_cursor=cursor, total_estimate=len(draft.edits)),
        summary=_summary(draft, counts),
    )


def moved_files(draft: Draft, in_git: Collection[str]) -> list[MovedFile]:
    """Return the moves of a plan; those of `in_git` move in git's index, too."""
    return [
        MovedFile.model_validate({"from": one.source, "to": one.target, "git_mv": one.source in in_git})
        for one in draft.moves
    ]


def _summary(draft: Draft, counts: dict[str, int]) -> str:
    n_files = len({one.path for one in draft.edits if one.group == CODE})
    what = {NEEDS_DECISION: "needs a decision", BLOCKED: "is blocked"}.get(draft.status, "is ready")
    parts = [f"{draft.kind} of {draft.subject} {what}"]
    if counts[CODE]:
        parts.append(f"{counted(counts[CODE], 'edit')} in {counted(n_files, 'file')}")
    if draft.moves:
        parts.append(counted(len(draft.moves), "file move"))
    if draft.deletes:
        parts.append(f"{counted(len(draft.deletes), 'file')} deleted")
    if counts[QUESTION]:
        parts.append(counted(counts[QUESTION], "question"))
    if counts[DOCS]:
        parts.append(f"{counted(counts[DOCS], 'place')} in documentation and comments")
    return ": ".join((parts[0], ", ".join(parts[1:]))) if len(parts) > 1 else parts[0]


def _candidates(draft: Draft) -> list[RefactorCandidate]:
    found = []
    sure = [one for one in draft.edits if one.group == CODE]
    for number, one in enumerate(draft.candidates[:_MAX_CANDIDATES]):
        plan = {"edits": len(sure), "files": len({edit.path for edit in sure})} if len(draft.candidates) == 1 else None
        found.append(
            RefactorCandidate(
                id=f"group_{number}",
                symbol=one.uid,
                description=f"{one.kind} {one.name} in {one.path}:{one.line}",
                confidence=0.95 if len(draft.candidates) == 1 else 0.6,
                provenance="semantic",
                apply_plan=plan,
            )
        )
    return found


def _witness(draft: Draft) -> Document:
    """Return the evidence of §8.5b."""
    facts = [
        {
            "fact_type": "definition",
            "location": {"file": one.path, "line": one.line},
            "content": one.text,
            "provenance": "semantic",
            "confidence": 0.95,
        }
        for one in draft.candidates[:_MAX_FACTS]
    ]
    files = sorted({one.path for one in draft.edits} | {one.path for one in draft.candidates})
    checklist = [
        {"question": reason, "fact_needed": _capsule_type(draft), "how_to_verify": "Read the places in facts."}
        for reason in draft.reasons
    ]
    return Document.model_validate(
        {
            "bounds": {
                "files_scanned": files[:MAX_SITES],
                "contexts_queried": (draft.details or {}).get("contexts", []),
                # Planning has no time limit.
                "time_budget_ms": 0,
                "truncated": len(files) > MAX_SITES or len(draft.candidates) > _MAX_CANDIDATES,
            },
            "facts": facts,
            "invariants_failed": ["files_not_clean" if draft.status == BLOCKED else "definition_not_certain"],
            "disambiguation_checklist": checklist,
            "suggested_refresh_scope": sorted({one.path for one in draft.edits})[:_MAX_FACTS],
        }
    )


_STOP_RULES = {
    "scope_resolution": "First importable, non-shadowed definition",
    "receiver_resolution": "All assignments flowing to receiver position",
    "context_membership": "All contexts whose patterns match",
}


def _capsule_type(draft: Draft) -> Literal["scope_resolution", "receiver_resolution", "context_membership"]:
    if len(draft.candidates) > 1:
        return "scope_resolution"
    return "receiver_resolution" if draft.status == NEEDS_DECISION else "context_membership"


def _capsules(draft: Draft) -> list[DecisionCapsule]:
    kind = _capsule_type(draft)
    questions = draft.reasons if kind != "scope_resolution" else ("Which of these definitions is meant?",)
    return [DecisionCapsule(type=kind, question=one, stop_rule=_STOP_RULES[kind]) for one in questions]


def render_refactor(result: RefactorResult) -> str:
    """Return a plan as text: what is sure in one line a file, questions and documentation by place."""
    lines = [f"{result.summary} ({result.refactor_id})"]
    lines += [f" {reason}" for reason in result.reasons]
    lines += [f" {one.id} {one.description}; symbol={one.symbol}" for one in result.candidates]
    lines += [f" {one.from_path} → {one.to_path}" for one in result.moves]
    by_file: dict[str, list[int]] = {}
    for site in result.edits:
        by_file.setdefault(site.path, []).append(site.line)
    for path, numbers in list(by_file.items())[:_SHOWN_SITES]:
        lines.append(f" {path}: {', '.join(map(str, dict.fromkeys(numbers)))}")
    if len(by_file) > _SHOWN_SITES:
        lines.append(f" … {len(by_file) - _SHOWN_SITES} more files")
    lines += [
        f" ? {one.id} {one.path}:{one.line}: {one.text[:100]} ({one.why})"
        for one in result.questions[:_SHOWN_QUESTIONS]
    ]
    n_more = result.counts.get(QUESTION, 0) - min(len(result.questions), _SHOWN_QUESTIONS)
    if n_more > 0:
        lines.append(f" ? {n_more} more questions: refactor_inspect")
    if result.counts.get(DOCS):
        lines.append(f' {counted(result.counts[DOCS], "place")} in documentation: include=["docs"] applies them too')
    lines += [f" note: {one}" for one in result.warnings]
    if result.status == "ready":
        lines.append(f'Apply: refactor_apply {{"refactor_id": "{result.refactor_id}"}}')
    return "\n".join(lines)
