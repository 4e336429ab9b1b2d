"""`select_active_intent`: select the intent for the following changes; without an id, list the active ones."""

from typing import Any

from pydantic import Field

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.govern.intent_context import IntentContext, LastMutation, intent_context
from codeplane.govern.intents import Intent, overlapping
from codeplane.govern.policies.intent_presence import SENTENCE
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.sessions_memory import SELECT_OPERATION
from codeplane.ledger.chain import RowFilter
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

_MUTATIONS = 10
_LOOK_BACK = 20_000
_SHOWN_OVERLAPS = 5


class SelectActiveIntentRequest(Request):
    """Which intent."""

    intent_id: str | None = None


class ListedIntent(Result):
    """An intent that can be selected."""

    id: str
    name: str
    owned_scope: list[str]


class SelectActiveIntentResult(Result):
    """The intent with its context, or the list."""

    selected: str | None = None
    context: str | None = Field(None, description="Constraints, scope, criteria and last mutations.")
    active: list[ListedIntent] = Field(default_factory=list)
    mode: str = "enforce"
    overlaps: list[str] = Field(default_factory=list)


def _handle(context: CallContext, request: SelectActiveIntentRequest) -> SelectActiveIntentResult:
    workspace = context.workspace
    rules, now = workspace.gate.rules(), workspace.clock.now_ms()
    if request.intent_id is None:
        return SelectActiveIntentResult(active=_active(rules, now), mode=rules.mode.value)
    if rules.intents is None:
        raise CodePlaneError("INTENTS_UNREADABLE", rules.problem or "There is no .orchestration/active_intents.yaml.")
    reason = rules.why_not_valid(request.intent_id, now, context.session.label)
    if reason is not None:
        active = list(rules.active_ids(now))
        raise CodePlaneError(
            "INTENT_NOT_ACTIVE",
            f"{SENTENCE} {request.intent_id[:80]} {reason}.",
            hint=f"Active: {', '.join(active) or 'none'}.",
            details={"active_intents": active, "intent_id": request.intent_id[:80], "reason": reason},
        )
    intent = rules.find(request.intent_id)
    if intent is None:
        raise CodePlaneError("INTENT_NOT_ACTIVE", f"There is no intent {request.intent_id[:80]}.")
    workspace.gate.memory.select(context.session.label, intent.id)
    context.noted["selected_intent"] = intent.id
    overlaps = _overlaps(workspace, rules, intent, now)
    context.warnings.extend(overlaps)
    text = intent_context(IntentContext(intent, tuple(_last_mutations(workspace, intent.id)), rules.lineage(intent.id)))
    return SelectActiveIntentResult(selected=intent.id, context=text, mode=rules.mode.value, overlaps=overlaps)


def _active(rules: Rulebook, now_ms: int) -> list[ListedIntent]:
    found = (rules.find(one) for one in rules.active_ids(now_ms))
    return [
        ListedIntent(id=one.id, name=one.name, owned_scope=list(one.owned_scope)) for one in found if one is not None
    ]


def _overlaps(workspace: Workspace, rules: Rulebook, intent: Intent, now_ms: int) -> list[str]:
    """Return the other active intents whose scope shares files with this one's, each as a warning."""
    family = {one.id for one in rules.lineage(intent.id)}
    tracked = sorted(workspace.tracked().files)
    found = []
    for other_id in rules.active_ids(now_ms):
        other = rules.find(other_id)
        if other is None or other.id in family or intent.id in {one.id for one in rules.lineage(other.id)}:
            continue
        shared = overlapping(intent.owned_scope, other.owned_scope, tracked)
        if shared:
            more = f" and {len(shared) - _SHOWN_OVERLAPS} more" if len(shared) > _SHOWN_OVERLAPS else ""
            listed = ", ".join(shared[:_SHOWN_OVERLAPS])
            found.append(f"the scope of {other.id} overlaps with that of {intent.id}: {listed}{more}")
    return found


def _last_mutations(workspace: Workspace, intent_id: str) -> list[LastMutation]:
    holds = f'"intent":"{intent_id}"'
    wanted = RowFilter(kinds=("finished",), body_holds=holds, among_newest=_LOOK_BACK, limit=_MUTATIONS * 5)
    found = []
    for row in workspace.chain.rows(wanted):
        if row.body.get("intent") != intent_id or row.body.get("effect") not in {"write", "delete", "execute"}:
            continue
        after: dict[str, Any] = row.body.get("after") or {}
        paths = tuple(row.body.get("changed_paths") or after)
        found.append(LastMutation(iso_from_ms(row.ts_ms), row.operation or "", row.session, paths, row.call_id or ""))
    return found[:_MUTATIONS]


def _render(result: SelectActiveIntentResult) -> str:
    if result.context is not None:
        return result.context
    if not result.active:
        state = "Intents are not required here." if result.mode == "off" else "A person adds one (`cpl intent add`)."
        return f"No intent is active. {state}"
    return "\n".join(f"{one.id}  {one.name}  [{', '.join(one.owned_scope)}]" for one in result.active)


SELECT_ACTIVE_INTENT = Operation(
    name=SELECT_OPERATION,
    family="governance",
    summary="Declare the intent under which you change files; without an id, list the active ones.",
    request_type=SelectActiveIntentRequest,
    result_type=SelectActiveIntentResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    when_to_use=(
        "Before the first change, if the repository has intents.",
        "The work belongs to another intent.",
    ),
    when_not_to_use=("You only read.",),
    examples=(Example("Select one", {"intent_id": "INT-001"}), Example("List the active ones", {})),
    profiles=frozenset({"classic", "core", "memory"}),
    command=Command(
        path=("intent", "select"),
        help="Select an intent as an agent does, and show its context; without an id, list those that can be selected.",
        shows=lambda result: (_render(result),),
        arguments=("intent_id",),
    ),
)
