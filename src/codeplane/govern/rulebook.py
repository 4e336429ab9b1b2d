"""The rules in force: mode, intents and policies of all tiers, as one value that can be recorded and read again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.govern.intents import (
    Intent,
    IntentsDocument,
    is_ignored,
    parse_ignored,
    parse_intents,
)
from codeplane.govern.policy_document import VERIFICATION_SCRIPTS, PolicyDocument, Rule, parse_policy
from codeplane.ledger.policy import ToolClass


class Mode(Enum):
    """Whether intents are asked for."""

    OFF = "off"
    ENFORCE = "enforce"


class Tier(Enum):
    """Where a policy file comes from, the strongest first; any may tighten."""

    ADMINISTRATOR = "administrator"
    USER = "user"
    REPOSITORY = "repository"


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy file's text; `is_accepted` lets it loosen, too."""

    tier: Tier
    text: str
    is_accepted: bool


@dataclass(frozen=True, slots=True)
class Delegation:
    """A narrower intent that one session gave another; it ends with its parent."""

    id: str
    parent: str
    session: str
    paths: tuple[str, ...]
    goal: str


@dataclass(frozen=True, slots=True)
class RuleTexts:
    """Everything the rules are made from. `intents` is None when the file is missing or `unreadable` says why not."""

    mode: Mode
    intents: str | None
    accepted_intents: str | None
    ignored: str = ""
    policies: tuple[PolicyText, ...] = ()
    delegations: tuple[Delegation, ...] = ()
    unreadable: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the form that is recorded."""
        return {
            "mode": self.mode.value,
            "intents": self.intents,
            "accepted_intents": self.accepted_intents,
            "ignored": self.ignored,
            "policies": [[one.tier.value, one.text, one.is_accepted] for one in self.policies],
            "delegations": [
                {"id": one.id, "parent": one.parent, "session": one.session, "paths": list(one.paths), "goal": one.goal}
                for one in self.delegations
            ],
            "unreadable": self.unreadable,
        }

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "RuleTexts":
        """Return what was recorded."""
        return cls(
            Mode(recorded["mode"]),
            recorded["intents"],
            recorded["accepted_intents"],
            recorded["ignored"],
            tuple(PolicyText(Tier(tier), text, accepted) for tier, text, accepted in recorded["policies"]),
            tuple(Delegation(**{**one, "paths": tuple(one["paths"])}) for one in recorded["delegations"]),
            recorded["unreadable"],
        )


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules, read. `problem` says why intents cannot be read; `broken_policies` why policy files cannot.

    Invariant: equal digests mean equal rules.
    """

    mode: Mode
    digest: str
    intents: IntentsDocument | None
    accepted: IntentsDocument | None
    ignored: tuple[str, ...]
    policies: tuple[tuple[PolicyText, PolicyDocument], ...]
    delegations: tuple[Delegation, ...]
    problem: str = ""
    broken_policies: tuple[str, ...] = ()

    @property
    def is_enforced(self) -> bool:
        """Tell whether changes need an intent."""
        return self.mode is Mode.ENFORCE

    def active_ids(self, now_ms: int) -> tuple[str, ...]:
        """Return the intents under which something may be changed now."""
        if self.intents is None:
            return ()
        listed = self.intents.active_ids(now_ms)
        return tuple(one for one in listed if self.why_not_valid(one, now_ms) is None)

    def delegation(self, intent_id: str) -> Delegation | None:
        """Return a narrower intent that one session gave another."""
        return next((one for one in self.delegations if one.id == intent_id), None)

    def find(self, intent_id: str) -> Intent | None:
        """Return an intent as it is shown; a delegated one has its parent's conditions."""
        given = self.delegation(intent_id)
        if given is None:
            return self.intents.find(intent_id) if self.intents is not None else None
        parent = self.find(given.parent)
        if parent is None:
            return None
        return Intent(
            id=given.id,
            name=given.goal or f"part of {given.parent}",
            status=parent.status,
            owned_scope=given.paths,
            constraints=parent.constraints,
            requirements=parent.requirements,
            parent=given.parent,
        )

    def lineage(self, intent_id: str) -> tuple[Intent, ...]:
        """Return an intent and all above it, the nearest first."""
        given = self.delegation(intent_id)
        if given is not None:
            own = self.find(intent_id)
            return (*((own,) if own is not None else ()), *self.lineage(given.parent))
        return self.intents.lineage(intent_id) if self.intents is not None else ()

    def why_not_valid(self, intent_id: str, now_ms: int, session: str | None = None) -> str | None:
        """Return why nothing may be changed under an intent, None when something may."""
        given = self.delegation(intent_id)
        if given is not None:
            if session is not None and session != given.session:
                return f"was given to session {given.session}"
            return self.why_not_valid(given.parent, now_ms)
        if self.intents is None:
            return "cannot be looked up: " + (self.problem or "there is no intents file")
        reason = self.intents.why_not_active(intent_id, now_ms)
        if reason is None and is_ignored(self.ignored, intent_id):
            reason = "is listed in .intentignore"
        if reason is None and self.accepted is not None and self.accepted.why_not_active(intent_id, now_ms) is not None:
            reason = "was added or reopened and is not accepted yet (`cpl policy accept`)"
        return reason

    def owns(self, intent_id: str, path: str) -> bool:
        """Tell whether a path is in an intent's scope, as far as that is accepted."""
        given = self.delegation(intent_id)
        if given is not None:
            inner = Intent(id="x", name="x", owned_scope=given.paths)
            return inner.owns(path) and self.owns(given.parent, path)
        if self.intents is None or not self.intents.owns(intent_id, path):
            return False
        return self.accepted is None or self.accepted.owns(intent_id, path)

    def rules(self) -> Iterable[tuple[Tier, Rule]]:
        """Return the rules that count, the strongest tier first: what loosens only where it is accepted."""
        for text, document in self.policies:
            for rule in document.rules:
                if rule.decide != "allow" or text.is_accepted:
                    yield text.tier, rule

    def read_only_commands(self) -> tuple[str, ...]:
        """Return the commands that accepted policy files say only read."""
        return tuple(one for text, file in self.policies if text.is_accepted for one in file.read_only.commands)

    def is_read_only_tool(self, name: str) -> bool:
        """Tell whether an accepted policy file says that a tool of others only reads; a stricter rule weighs more."""
        stricter = (rule.operations for _, rule in self.rules() if rule.decide != "allow")
        if any(fnmatchcase(name, pattern) for operations in stricter for pattern in operations):
            return False
        accepted = (file.read_only.tools for text, file in self.policies if text.is_accepted)
        return any(fnmatchcase(name, pattern) for tools in accepted for pattern in tools)

    def rewritten(self, command: str) -> str | None:
        """Return a shell command as accepted policy files want it, None when it stays as it is."""
        rewrites = (one for text, file in self.policies if text.is_accepted for one in file.rewrites)
        return next((found for one in rewrites if (found := one.applied_to(command)) is not None), None)

    def tool_class_of(self, names: Iterable[str]) -> ToolClass | None:
        """Return whose tool it is according to the policy files, None when they say nothing of it."""
        listed: tuple[tuple[ToolClass, str], ...] = (
            ("custom", "custom_tools"), ("mcp", "mcp_tools"), ("native", "native_tools")
        )  # fmt: skip
        for tool_class, field_name in listed:
            patterns = [one for _, file in self.policies for one in getattr(file, field_name)]
            if any(fnmatchcase(name, pattern) for name in names for pattern in patterns):
                return tool_class
        return None

    def verification_scripts(self) -> tuple[str, ...]:
        """Return the scripts that verify: the usual ones, and those of accepted policy files."""
        named = (one for text, file in self.policies if text.is_accepted for one in file.verification)
        return tuple(dict.fromkeys((*VERIFICATION_SCRIPTS, *named)))

    def never_offered(self, operations: Iterable[str]) -> frozenset[str]:
        """Return the operations that a rule denies whatever the arguments."""
        denied = [rule for _, rule in self.rules() if rule.is_unconditional]
        return frozenset(
            name for name in operations if any(fnmatchcase(name, one) for rule in denied for one in rule.operations)
        )


def read_rules(texts: RuleTexts) -> Rulebook:
    """Return the rules; what cannot be read is said and never loosens."""
    intents, problem = None, texts.unreadable
    if texts.intents is not None:
        try:
            intents = parse_intents(texts.intents)
        except CodePlaneError as error:
            problem = error.message
    accepted = None
    if texts.accepted_intents is not None and texts.accepted_intents != texts.intents:
        try:
            accepted = parse_intents(texts.accepted_intents)
        except CodePlaneError:
            # What was accepted was valid once; a text that is not any more lets nothing through.
            accepted = IntentsDocument()
    policies, broken = [], []
    for one in texts.policies:
        try:
            policies.append((one, parse_policy(one.text, f"{one.tier.value} hook_policy.yaml")))
        except CodePlaneError as error:
            broken.append(error.message)
    return Rulebook(
        mode=texts.mode,
        digest=digest(texts.as_dict()),
        intents=intents,
        accepted=accepted,
        ignored=parse_ignored(texts.ignored),
        policies=tuple(policies),
        delegations=texts.delegations,
        problem=problem,
        broken_policies=tuple(broken),
    )
