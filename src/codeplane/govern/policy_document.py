"""`hook_policy.yaml`: what a team, a user or an administrator adds to the built-in policies."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from codeplane.core.setting_sources import TextSource
from codeplane.core.settings import load_settings, setting
from codeplane.govern.intents import check_pattern, matches
from codeplane.ledger.policy import ToolClass

POLICY_FILE: Final = ".orchestration/hook_policy.yaml"
VERIFICATION_SCRIPTS: Final = ("test", "lint", "typecheck", "check-types", "ci")

Decide = Literal["deny", "hold", "allow"]
EffectName = Literal["write", "delete", "execute", "verification", "network", "destructive", "git"]


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A call as an example of a rule: what it is called and what it would touch."""

    operation: str = setting("", doc="The operation or tool.")
    writes: tuple[str, ...] = setting((), doc="Paths it writes.")
    deletes: tuple[str, ...] = setting((), doc="Paths it deletes.")
    refs: tuple[str, ...] = setting((), doc="Git refs it changes.")
    network: tuple[str, ...] = setting((), doc="Hosts it reaches.")
    command: str = setting("", doc="The command it runs.")
    verifies: bool = setting(False, doc="Whether every command it runs only reads or verifies.")
    intent: str | None = setting(None, doc="The selected intent.")
    tool_class: ToolClass = setting("own", doc="Whose tool it is.")
    destructive: bool = setting(False, doc="Whether it destroys something.")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; every condition that is given has to hold. Paths: one of the touched paths fits one of the globs.

    An allow applies only when all touched paths fit.
    """

    id: str = setting(doc="What the rule is called in answers and records.")
    decide: Decide = setting(doc="deny, hold (for a person) or allow (no person is asked).")
    operations: tuple[str, ...] = setting((), doc="Operations or tools, `*` matches anything.")
    paths: tuple[str, ...] = setting((), doc="Globs of touched paths.")
    intents: tuple[str, ...] = setting((), doc="Selected intents, `*` matches anything.")
    refs: tuple[str, ...] = setting((), doc="Git refs, `*` matches anything.")
    effects: tuple[EffectName, ...] = setting((), doc="One of these effects.")
    tool_classes: tuple[ToolClass, ...] = setting((), doc="Whose tools: own, native, mcp, custom.")
    reason: str = setting("", doc="What the caller and the person are told.")
    examples: tuple[RuleExample, ...] = setting((), doc="Calls that the rule must match; checked at load.")
    counter_examples: tuple[RuleExample, ...] = setting((), doc="Calls that it must not match; checked at load.")

    def __post_init__(self) -> None:
        """Check globs and examples."""
        for pattern in self.paths:
            check_pattern(pattern)
        for number, example in enumerate(self.examples, 1):
            if not self.fits(example):
                raise ValueError(f"the rule {self.id} does not fit its example {number}")
        for number, example in enumerate(self.counter_examples, 1):
            if self.fits(example):
                raise ValueError(f"the rule {self.id} fits its counter-example {number}")

    def fits(self, call: RuleExample) -> bool:
        """Tell whether the rule speaks of a call."""
        touched = (*call.writes, *call.deletes)
        fitting = [path for path in touched if matches(self.paths, path)]
        has_paths = bool(fitting) and (self.decide != "allow" or len(fitting) == len(touched))
        return (
            (not self.operations or _any_fits(self.operations, [call.operation]))
            and (not self.paths or has_paths)
            and (not self.intents or (call.intent is not None and _any_fits(self.intents, [call.intent])))
            and (not self.refs or _any_fits(self.refs, call.refs))
            and (not self.effects or bool(set(self.effects) & effects_of(call)))
            and (not self.tool_classes or call.tool_class in self.tool_classes)
        )

    @property
    def is_unconditional(self) -> bool:
        """Tell whether only the operation decides, so that a denied one need not be offered at all."""
        conditions = (self.paths, self.intents, self.refs, self.effects, self.tool_classes)
        return self.decide == "deny" and bool(self.operations) and not any(conditions)


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """What only reads, beyond what CodePlane knows: neither an intent nor a person is asked for."""

    commands: tuple[str, ...] = setting((), doc="Shell commands, `*` matches anything within a word.")
    tools: tuple[str, ...] = setting((), doc="Tools of other servers or agents, `*` matches anything.")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A way to begin a shell command that is replaced by another, such as one package manager by another."""

    begins: str = setting(doc="The first words of the command.")
    becomes: str = setting(doc="The words that take their place.")

    def __post_init__(self) -> None:
        """Refuse words that are more than one program with its arguments."""
        if not self.begins.strip() or not self.becomes.strip():
            raise ValueError("a rewrite needs words to replace and words to put there")
        if any(mark in self.becomes for mark in "\n;&|<>$`"):
            raise ValueError(f"the rewrite to `{self.becomes}` is more than one plain command")

    def applied_to(self, command: str) -> str | None:
        """Return the command as it is to be, None when this rewrite does not speak of it."""
        rest = command.removeprefix(self.begins)
        if rest == command or (rest and not rest[0].isspace()):
            return None
        return self.becomes + rest


@dataclass(frozen=True, slots=True)
class QualityCommand:
    """A command that is run after files were written; `{paths}` is replaced by them."""

    name: str = setting(doc="What it is called in answers, such as lint.")
    command: tuple[str, ...] = setting(doc="The program and its arguments.")
    paths: tuple[str, ...] = setting(("**",), doc="Globs of the files after whose change it runs.")
    timeout_seconds: int = setting(60, doc="How long it may take.", minimum=1, maximum=600)


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """One policy file."""

    version: int = setting(1, doc="The version of this file's format.", minimum=1, maximum=1)
    handshake: Literal["session", "turn"] = setting("session", doc="How long a selected intent stays selected.")
    read_only: ReadOnly = setting(ReadOnly(), doc="What only reads.")
    verification: tuple[str, ...] = setting(VERIFICATION_SCRIPTS, doc="Scripts that verify: tests, linters, checks.")
    native_tools: tuple[str, ...] = setting((), doc="Names of agents' own tools.")
    mcp_tools: tuple[str, ...] = setting((), doc="Names of tools of other MCP servers.")
    custom_tools: tuple[str, ...] = setting((), doc="Names of a team's own tools.")
    rules: tuple[Rule, ...] = setting((), doc="Rules; the strictest that matches decides.")
    rewrites: tuple[Rewrite, ...] = setting((), doc="Shell commands of agents that begin otherwise than asked for.")
    quality: tuple[QualityCommand, ...] = setting((), doc="Commands that look at written files.")

    def __post_init__(self) -> None:
        """Refuse two rules of one name."""
        names = [rule.id for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the rule {twice[0]} is given twice")


@lru_cache(maxsize=64)  # A memo of a pure function: the same few texts are looked at with every call.
def parse_policy(text: str, label: str) -> PolicyDocument:
    """Return a policy file's content.

    Raises:
        CodePlaneError: CONFIG_INVALID with every problem and its line, failing examples included.
    """
    return load_settings(PolicyDocument, (TextSource(text, label),)).values


def effects_of(call: RuleExample) -> set[str]:
    """Return the names of a call's effects."""
    found = {
        "write": call.writes,
        "delete": call.deletes,
        "execute": call.command,
        "verification": call.command and call.verifies,
        "network": call.network,
        "git": call.refs,
        "destructive": call.destructive,
    }
    return {name for name, there in found.items() if there}


def _any_fits(patterns: Sequence[str], texts: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns for text in texts)
