"""Show, check and accept the rules for agents, and switch intents on or off."""

from typing import Any, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.govern.rulebook import Mode, Rulebook
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Document, Facts, NoArguments, Shown
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

_INTENTS = {"off": "off: agents change files without one", "enforce": "enforce: agents need one to change anything"}
_ALWAYS = "protected and secret files, risk of shell commands, unknown tools, places outside of the tree"


class ModeRequest(Request):
    """The new mode."""

    mode: Literal["off", "enforce"] = Field(description="Whether agents need an intent.")


class TreeIntentRequest(Request):
    """Which intent, none to take it back."""

    intent_id: str | None = Field(None, max_length=200, description="An active intent; none takes it back.")


class PolicyCheck(Result):
    """What is wrong with the files."""

    ok: bool
    problems: list[str]


class AcceptedHooks(Result):
    """The hooks and helpers that were accepted."""

    accepted: list[dict[str, Any]]


def _show(context: CallContext, _request: NoArguments) -> Document:
    return _document(context.workspace)


def _check(context: CallContext, _request: NoArguments) -> PolicyCheck:
    rules = context.workspace.gate.rules()
    problems = [*([rules.problem] if rules.problem else []), *rules.broken_policies]
    if rules.is_enforced and rules.intents is None and not problems:
        problems.append("Intents are enforced, but there is no .orchestration/active_intents.yaml.")
    return PolicyCheck(ok=not problems, problems=problems)


def _accept(context: CallContext, _request: NoArguments) -> Document:
    gate = context.workspace.gate
    gate.sources.accept()
    context.workspace.record("rules_accepted", {"by": context.caller.proof, "rules": gate.rules().digest})
    return _document(context.workspace)


def _accept_hooks(context: CallContext, _request: NoArguments) -> AcceptedHooks:
    helpers = context.workspace.accept_helpers()
    accepted = [{"name": one.name, "digest": one.digest, "files": list(one.files)} for one in helpers]
    context.workspace.record("hooks_accepted", {"by": context.caller.proof, "programs": accepted})
    return AcceptedHooks(accepted=accepted)


def _set_mode(context: CallContext, request: ModeRequest) -> Document:
    context.workspace.gate.sources.set_mode(Mode(request.mode))
    context.workspace.record("governance_mode", {"by": context.caller.proof, "mode": request.mode})
    return _document(context.workspace)


def _set_tree_intent(context: CallContext, request: TreeIntentRequest) -> Document:
    workspace = context.workspace
    rules, now = workspace.gate.rules(), workspace.clock.now_ms()
    reason = rules.why_not_valid(request.intent_id, now) if request.intent_id is not None else None
    if reason is not None:
        active = ", ".join(rules.active_ids(now)) or "none"
        raise CodePlaneError("INTENT_NOT_ACTIVE", f"{request.intent_id} {reason}.", hint=f"Active: {active}.")
    workspace.gate.sources.set_tree_intent(workspace.repository.worktree_id, request.intent_id)
    workspace.record("tree_intent_set", {"by": context.caller.proof, "intent": request.intent_id})
    return _document(workspace)


def _document(workspace: Workspace) -> Document:
    texts, rules = workspace.gate.sources.rules()
    return Document(
        mode=rules.mode.value,
        digest=rules.digest,
        active_intents=list(rules.active_ids(workspace.clock.now_ms())),
        tree_intent=workspace.gate.sources.store.load().tree_intents.get(workspace.repository.worktree_id),
        intents_accepted=rules.accepted is None,
        problem=rules.problem or None,
        broken_policies=list(rules.broken_policies),
        policies=[{"tier": one.tier.value, "accepted": one.is_accepted} for one in texts.policies],
        rules=[
            {"tier": tier.value, "id": rule.id, "decide": rule.decide, "reason": rule.reason}
            for tier, rule in rules.rules()
        ],
        not_counted_until_accepted=_not_accepted(rules),
    )


def _not_accepted(rules: Rulebook) -> list[str]:
    found = [
        f"rule {rule.id}"
        for text, document in rules.policies
        if not text.is_accepted
        for rule in document.rules
        if rule.decide == "allow"
    ]
    return [*found, *(["changed intents"] if rules.accepted is not None else [])]


def _policy_facts(result: Document) -> Shown:
    document: dict[str, Any] = result.model_dump()
    return (
        Facts(
            (
                ("intents", _INTENTS[document["mode"]]),
                ("always in force", _ALWAYS),
                ("active intents", ", ".join(document["active_intents"]) or "none"),
                ("policy files", ", ".join(one["tier"] for one in document["policies"]) or "none"),
                ("rules", ", ".join(f"{one['id']} ({one['decide']})" for one in document["rules"]) or "none"),
                ("waiting for `cpl policy accept`", ", ".join(document["not_counted_until_accepted"]) or "nothing"),
                ("problem", document["problem"] or "; ".join(document["broken_policies"]) or "none"),
                ("digest", document["digest"]),
            )
        ),
    )


def _check_text(result: PolicyCheck) -> Shown:
    return ("\n".join(result.problems) or "All files are valid.",)


def _hooks_text(result: AcceptedHooks) -> Shown:
    lines = [f"accepted {one['name']}" for one in result.accepted]
    return ("\n".join(lines) or "This repository has no hooks or helpers that git runs.",)


SHOW_POLICY = Operation(
    name="show_policy",
    family="policy",
    summary="Show the rules in force.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("Show them", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("policy", "show"),
        help="Show mode, active intents, rules by tier, and unaccepted files.",
        shows=_policy_facts,
    ),
)

CHECK_POLICY = Operation(
    name="check_policy",
    family="policy",
    summary="Check that all files can be read.",
    request_type=NoArguments,
    result_type=PolicyCheck,
    effect=EffectClass.READ,
    plan=planned(_check),
    examples=(Example("Check them", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("policy", "check"),
        help="Check the intents and policy files, examples included; exit code 1 on a problem.",
        shows=_check_text,
        is_finding=lambda result: not result.ok,
    ),
)

ACCEPT_POLICY = Operation(
    name="accept_policy",
    family="policy",
    summary="Accept intents and policy as they are.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_accept),
    examples=(Example("Accept them", {}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "accept the intents and policy of this repository",
    command=Command(
        path=("policy", "accept"),
        help="Accept the repository's intents and policy as they are now; until then they only tighten.",
        shows=_policy_facts,
    ),
)

ACCEPT_HOOKS = Operation(
    name="accept_hooks",
    family="policy",
    summary="Accept the hooks and helpers that git runs here.",
    request_type=NoArguments,
    result_type=AcceptedHooks,
    effect=EffectClass.RECORD,
    plan=planned(_accept_hooks),
    examples=(Example("Accept them", {}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "accept the hooks and helpers that git runs in this repository",
    command=Command(
        path=("policy", "accept-hooks"),
        help="Accept the hooks and helpers that git runs in this repository, as they are now;"
        " a changed one is held again.",
        shows=_hooks_text,
    ),
)

SET_POLICY_MODE = Operation(
    name="set_policy_mode",
    family="policy",
    summary="Switch intents on or off.",
    request_type=ModeRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_set_mode),
    examples=(Example("Ask agents for intents", {"mode": "enforce"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"switch intents to {request.mode}",
    command=Command(
        path=("policy", "mode"),
        help="Ask agents for intents (enforce), or do not (off).",
        shows=_policy_facts,
        arguments=("mode",),
    ),
)

SET_TREE_INTENT = Operation(
    name="set_tree_intent",
    family="policy",
    summary="Set the intent of this working tree.",
    request_type=TreeIntentRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_set_tree_intent),
    examples=(Example("For agents that cannot select one", {"intent_id": "INT-001"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"set the intent {request.intent_id} for this working tree",
    command=Command(
        path=("intent", "use"),
        help="""Set the intent under which agents' own tools work in this tree, as long as they select none themselves.

        Without an intent the setting is taken back.""",
        shows=lambda result: (f"Intent of this working tree: {result.model_dump().get('tree_intent') or 'none'}.",),
        arguments=("intent_id",),
    ),
)
