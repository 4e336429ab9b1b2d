"""The gate: gathers what policies need, asks them, and turns what they say into the door's answer."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.logs import fields, get_logger
from codeplane.core.paths import RepoPath
from codeplane.core.printable import both_ends, printable_name, visible_text, without_gaps
from codeplane.core.redaction import redact, redact_value
from codeplane.git.programs import is_executed
from codeplane.govern.approvals import APPROVED, DENIED, ApprovalBook, CallKey, HoldRequest
from codeplane.govern.governed_call import GovernedCall, StalePath
from codeplane.govern.policies.catalog import POLICIES
from codeplane.govern.rulebook import Rulebook, RuleTexts
from codeplane.govern.sessions_memory import SessionsMemory
from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.sources import RuleSources
from codeplane.govern.trace.files import MAP_FILE, TRACE_FILE
from codeplane.govern.verdicts import REMINDER, Judgement, judge
from codeplane.ledger.chain import SYSTEM_SESSION, EventChain, NewEvent, RowFilter
from codeplane.ledger.policy import CallFacts, Decision, Verdict

_log = get_logger(__name__)
# Calls of agents' own tools, which may not be able to select an intent.
HOOK_SURFACE: Final = "hook"
RULES_KIND: Final = "rules_in_force"
_TRIES: Final = 3
_SHOWN_PATHS: Final = 200
_PREVIEW_CHARS: Final = 20_000
# Another session was faster, or a person has not answered yet: not a sign of a loop.
_NO_LOOP: Final = frozenset(
    {"STALE_FILE", "APPROVAL_PENDING", "CIRCUIT_OPEN", "CANCELLED", "GIT_LOCKED", "TASK_BUDGET_EXCEEDED"}
)


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What the gate asks of the repository: the hash of a working file, who left it so, what commands would meet.

    `secrets` returns those of some working files that look secret, each with the reason. `workflow` returns the
    enforcement of the workflow preset and the gate that a session has not passed; both empty when nothing is missing.
    """

    working_hash: Callable[[str], str | None]
    last_writer: Callable[[str, str], dict[str, Any] | None]
    shell: Callable[[tuple[str, ...]], ShellContext]
    secrets: Callable[[tuple[str, ...]], tuple[str, ...]]
    workflow: Callable[[str], tuple[str, str]]


class Gate:
    """Decides over every call.

    Invariant: what is decided follows from the recorded call and the recorded rules alone.
    """

    def __init__(
        self,
        sources: RuleSources,
        chain: EventChain,
        approvals: ApprovalBook,
        memory: SessionsMemory,
        around: Surrounding,
    ) -> None:
        self.sources = sources
        self.approvals = approvals
        self.memory = memory
        self._chain = chain
        self._around = around
        self._recorded_rules: set[str] = set()

    def rules(self) -> Rulebook:
        """Return the rules in force now."""
        return self.sources.rules()[1]

    def decide(self, facts: CallFacts) -> Decision:
        """Judge a call; an approval it rests on is used up here."""
        try:
            return self._decide(facts)
        except CodePlaneError:
            if facts.mutates or facts.effects.reserved:
                raise
            return Decision(Verdict.ALLOW, "default")
        except Exception:  # noqa: BLE001 - whatever breaks here must refuse changes, not take the door down.
            _log.exception("the gate failed", extra=fields(operation=facts.operation))
            if not facts.mutates and not facts.effects.reserved:
                return Decision(Verdict.ALLOW, "default")
            message = "The gate failed, so the change was refused."
            report = ErrorReport("POLICY_DENIED", message, "Ask a person to check the log; reads still work.")
            return Decision(Verdict.DENY, "gate", report)

    def _decide(self, facts: CallFacts) -> Decision:
        decision: Decision | None = None
        for _ in range(_TRIES):
            texts, rules = self.sources.rules()
            call = self._gathered(facts, rules)
            judgement = judge(POLICIES, call, rules)
            if judgement.opinion.verdict is Verdict.HOLD:
                call = self._with_answer(facts, call, rules, judgement)
                judgement = judge(POLICIES, call, rules)
            said = call.approved
            is_used = said is not None and said.state == APPROVED and said.is_exact
            is_let_through = judgement.opinion.verdict is Verdict.ALLOW
            if said is not None and is_used and is_let_through and not self.approvals.use(said.hold_id, facts.call_id):
                # Another call used it up at the same moment.
                continue
            decision = self._decision(facts, texts, rules, call, judgement)
            break
        if decision is None:
            raise CodePlaneError("POLICY_DENIED", "The approval was used up by another call.")
        return decision

    def selected_of(self, session: str, caller: Caller, worktree: str) -> str | None:
        """Return the intent of a caller: the one its session selected, else for an agent's hooks that of the tree."""
        selected = self.memory.selected(session)
        if selected is None and caller.surface == HOOK_SURFACE:
            selected = self.sources.store.load().tree_intents.get(worktree)
        return selected

    def begin_turn(self, session: str) -> None:
        """Ask for an intent again where the rules want one after every prompt; agents' hooks tell of prompts."""
        if any(document.handshake == "turn" for _, document in self.rules().policies):
            self.memory.select(session, None)

    def observe(self, facts: CallFacts, outcome: str, error: str | None, seen: Mapping[str, str | None]) -> None:
        """Remember what a call showed of files, and whether it failed."""
        self.memory.saw(facts.session, seen)
        if not facts.mutates:
            return
        if outcome == "finished":
            self.memory.succeeded(facts.session)
        elif error is not None and error not in _NO_LOOP:
            self.memory.failed(facts.session, _same_call(facts), error)

    def _gathered(self, facts: CallFacts, rules: Rulebook) -> GovernedCall:
        effects = facts.effects
        call = GovernedCall(
            operation=facts.operation,
            effect=facts.effect.value,
            mutates=facts.mutates,
            is_person=facts.caller.kind is CallerKind.PERSON,
            surface=facts.caller.surface,
            session=facts.session,
            now_ms=facts.now_ms,
            tool_class=facts.tool_class,
            writes=tuple(printable_name(path.text) for path in effects.writes if not _is_git_on_trace(facts, path)),
            deletes=tuple(printable_name(path.text) for path in effects.deletes),
            git_refs=tuple(redact(printable_name(ref)) for ref in effects.git_refs),
            commands=tuple(redact(_as_text(command)) for command in effects.commands),
            network=tuple(redact(host) for host in effects.network),
            staged=tuple(printable_name(path.text) for path in effects.staged),
            foreign=tuple(redact(printable_name(place)) for place in effects.foreign),
            reserved=redact(effects.reserved),
            destructive=effects.destructive,
            verifies=effects.verifies,
            is_git=facts.is_git,
            given_intent=facts.given_intent,
            given_class=facts.given_class,
            arguments_digest=facts.arguments_digest,
            schema_digest=facts.schema_digest,
        )
        if not facts.mutates:
            return call
        n_failures = self.memory.n_equal_failures(facts.session, _same_call(facts)) if rules.is_enforced else 0
        unseen, stale = self._compared(facts)
        accepted = self.sources.store.load().helpers
        enforcement, unmet = self._around.workflow(facts.session)
        call = replace(
            call,
            unaccepted=tuple(name for name, digest in effects.programs if digest not in accepted),
            executed=tuple(path for path in call.touched if is_executed(path, effects.executed)),
            secrets=self._around.secrets(tuple(path.text for path in effects.staged)),
            unmet_gate=unmet,
            gate_enforcement=enforcement,
        )
        if call.commands:
            around = self._around.shell(tuple(_as_text(command) for command in effects.commands))
            call = replace(
                call,
                git_runs_helpers=around.git_runs_helpers,
                leading_away=around.leading_away,
                variables=around.variables,
                shadowed=around.shadowed,
                is_one_repository=around.is_one_repository,
            )
        return replace(
            call,
            selected_intent=self.selected_of(facts.session, facts.caller, facts.worktree),
            unseen=unseen,
            stale=stale,
            n_equal_failures=n_failures,
        )

    def _compared(self, facts: CallFacts) -> tuple[tuple[str, ...], tuple[StalePath, ...]]:
        """Return what would be overwritten unseen, and what is not as the session last saw it."""
        effects = facts.effects
        replaced = (*effects.deletes, *effects.overwrites, *(effects.writes if effects.destructive else ()))
        known = {path.text for path in effects.anchored}
        unseen, stale = [], []
        for path in dict.fromkeys(one.text for one in replaced if one.text not in known):
            expected = self.memory.last_seen(facts.session, path)
            is_overwritten = any(one.text == path for one in effects.overwrites)
            if expected is None and not is_overwritten:
                continue
            current = self._around.working_hash(path)
            if current is not None and expected is None:
                unseen.append(path)
            elif expected is not None and current is not None and current != expected:
                who = self._around.last_writer(path, current)
                # What git does is kept before, and git itself changes files that a session saw.
                is_others = who.get("session") != facts.session if who is not None else not facts.is_git
                if is_others:
                    stale.append(StalePath(path, expected, current, who))
        return tuple(unseen), tuple(stale)

    def _with_answer(self, facts: CallFacts, call: GovernedCall, rules: Rulebook, judgement: Judgement) -> GovernedCall:
        key = _key(facts, rules)
        said = self.approvals.said_of(key, call.selected_intent, judgement.opinion.rule)
        return replace(call, approved=said) if said is not None and said.state in {APPROVED, DENIED} else call

    def _decision(
        self, facts: CallFacts, texts: RuleTexts, rules: Rulebook, call: GovernedCall, judgement: Judgement
    ) -> Decision:
        explanation: dict[str, Any] = {}
        if facts.mutates or facts.effects.reserved:
            self._record_rules(texts, rules)
            explanation = {"rules": rules.digest, "call": call.as_dict(), "judgement": judgement.as_dict()}
        opinion, policy = judgement.opinion, judgement.policy
        intent = call.selected_intent if rules.is_enforced else None
        warnings = tuple(one.reason for _, one in judgement.opinions if one.rule == REMINDER)
        decision = Decision(opinion.verdict, policy, explanation=explanation, intent=intent, warnings=warnings)
        if opinion.verdict is Verdict.DENY:
            return replace(decision, report=opinion.report or ErrorReport("POLICY_DENIED", opinion.reason))
        if opinion.verdict is Verdict.ALLOW:
            is_approved = call.approved is not None and call.approved.state == APPROVED
            return replace(decision, approval=call.approved.hold_id if call.approved and is_approved else None)
        request = HoldRequest(
            _key(facts, rules), opinion.reason, policy, opinion.rule, call.selected_intent,
            self._card(facts, call, judgement), worktree=facts.worktree,
        )  # fmt: skip
        hold = self.approvals.request(request)
        details = {"hold_id": hold.hold_id, "expires_ms": hold.expires_ms, "policy": policy}
        action = f"Go on with other work; once a person has approved {hold.hold_id}, send the same call again."
        return replace(decision, report=ErrorReport(opinion.code, opinion.reason, action, details))

    def _card(self, facts: CallFacts, call: GovernedCall, judgement: Judgement) -> dict[str, Any]:
        preview = ""
        if facts.preview is not None:
            try:
                preview = facts.preview()
            except CodePlaneError as error:
                preview = f"(no preview: {error.message})"
        return {
            "operation": facts.operation,
            "call_id": facts.call_id,
            "arguments": _visible(redact_value(dict(facts.arguments))),
            "preview": _seen(preview),
            "is_preview_cut": len(preview) > _PREVIEW_CHARS,
            "paths": _shown_paths(call, judgement.opinion.segment),
            "n_more_paths": max(0, len(call.touched) - _SHOWN_PATHS),
            "git_refs": [visible_text(ref) for ref in call.git_refs],
            "commands": [_seen(command) for command in call.commands],
            "network": list(call.network),
            "foreign": [visible_text(place) for place in call.foreign],
            "programs": list(call.unaccepted),
            "intent": call.selected_intent,
            "caller": {"session": facts.session, "surface": facts.caller.surface, "client": facts.caller.client},
            "policy": judgement.policy,
            "rule": judgement.opinion.rule,
            "arguments_digest": facts.arguments_digest,
        }

    def _record_rules(self, texts: RuleTexts, rules: Rulebook) -> None:
        """Keep the rules that a decision rests on, once, so that it can be made again."""
        if rules.digest in self._recorded_rules:
            return
        wanted = RowFilter(kinds=(RULES_KIND,), body_holds=rules.digest, limit=1)
        if not self._chain.rows(wanted):
            body = {"digest": rules.digest, "rules": texts.as_dict()}
            self._chain.append(NewEvent(RULES_KIND, SYSTEM_SESSION, body))
        self._recorded_rules.add(rules.digest)


def _is_git_on_trace(facts: CallFacts, path: RepoPath) -> bool:
    """Tell whether git would bring another branch's trace: every branch has its own, and lines are only appended."""
    return facts.is_git and path.text in {TRACE_FILE, MAP_FILE}


def _shown_paths(call: GovernedCall, segment: str) -> list[str]:
    """Return the paths for a person, the one that the decision is about first."""
    first = [path for path in call.touched if path == segment]
    return [visible_text(path) for path in dict.fromkeys((*first, *call.touched))][:_SHOWN_PATHS]


def _as_text(command: tuple[str, ...]) -> str:
    """Return a command as a shell would be given it; one word alone is a whole line already."""
    return command[0] if len(command) == 1 else shlex.join(command)


def _key(facts: CallFacts, rules: Rulebook) -> CallKey:
    return CallKey(facts.session, facts.operation, facts.arguments_digest, rules.digest, facts.schema_digest)


def _same_call(facts: CallFacts) -> str:
    """Return what makes two failing calls the same: what they are and what they touch."""
    touched = sorted({path.text for path in facts.effects.touched})
    return "\n".join((facts.operation, *(touched or (facts.arguments_digest,))))


def _seen(text: str) -> str:
    """Return a text for a person to judge: both of its ends, nothing invisible, and no gap to hide behind."""
    return visible_text(without_gaps(both_ends(redact(text), _PREVIEW_CHARS)))


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible_text(both_ends(value, _PREVIEW_CHARS))
    if isinstance(value, Mapping):
        return {visible_text(str(name)): _visible(one) for name, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list | tuple) else value
