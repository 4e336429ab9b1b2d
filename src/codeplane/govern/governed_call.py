"""What policies look at: one call with everything about it that can decide, as plain values that can be recorded."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from codeplane.govern.policy_document import RuleExample
from codeplane.ledger.policy import ToolClass


@dataclass(frozen=True, slots=True)
class StalePath:
    """A file that is not as the caller last saw it, and who changed it, as far as that is known."""

    path: str
    expected: str
    current: str | None
    changed_by: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Approved:
    """What a person has said that bears on this call: `state` is pending, approved or denied.

    `is_exact` marks an answer to this very call; a grant covers more.
    """

    hold_id: str
    state: str
    is_exact: bool
    comment: str = ""
    scope: str = "once"


@dataclass(frozen=True, slots=True)
class GovernedCall:
    """One call as policies see it; texts are redacted already.

    `is_person` marks a caller who has shown to be one. `unseen` are files that would be overwritten although the caller
    has not seen what is in them. `unaccepted` are programs of the repository that git would run and that no person has
    accepted, `executed` the touched paths that git runs, `secrets` staged paths that look secret, each with the reason.
    `verifies` says that the commands are CodePlane's own, to check the repository.
    `reserved` says what only a person may let through; nothing else decides over such a call.
    `unmet_gate` names the workflow gate that the session has not passed, with the missing tools after a colon, and
    `gate_enforcement` how strict the preset is.
    `n_equal_failures` counts how often the same call has just failed or been refused. What `shell_risk` needs to know
    (`git_runs_helpers`, `leading_away`, `variables`, `shadowed`, `is_one_repository`) is looked up for commands only.
    """

    operation: str
    effect: str
    mutates: bool
    is_person: bool
    surface: str
    session: str
    now_ms: int
    tool_class: ToolClass = "own"
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    git_refs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    unaccepted: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    destructive: bool = False
    is_git: bool = False
    unseen: tuple[str, ...] = ()
    stale: tuple[StalePath, ...] = ()
    selected_intent: str | None = None
    given_intent: str | None = None
    given_class: str | None = None
    n_equal_failures: int = 0
    approved: Approved | None = None
    git_runs_helpers: str = ""
    leading_away: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    is_one_repository: bool = False
    verifies: bool = False
    reserved: str = ""
    unmet_gate: str = ""
    gate_enforcement: str = ""
    arguments_digest: str = ""
    schema_digest: str = ""

    @property
    def touched(self) -> tuple[str, ...]:
        """Return every path whose content may differ afterwards, in the working tree or in the git index."""
        return tuple(dict.fromkeys((*self.writes, *self.deletes, *self.staged)))

    @property
    def is_governed(self) -> bool:
        """Tell whether intents, risk and approval bear on it: what agents change."""
        return self.mutates and not self.is_person and not self.reserved

    @property
    def is_approved_exactly(self) -> bool:
        """Tell whether a person has agreed to this very call."""
        return self.approved is not None and self.approved.state == "approved" and self.approved.is_exact

    def as_example(self) -> RuleExample:
        """Return the part of it that rules of policy files speak of."""
        return RuleExample(
            operation=self.operation,
            writes=tuple(dict.fromkeys((*self.writes, *self.staged))),
            deletes=self.deletes,
            refs=self.git_refs,
            network=self.network,
            command="; ".join(self.commands),
            intent=self.selected_intent,
            tool_class=self.tool_class,
            destructive=self.destructive,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the form that is recorded; what is as by default is left out."""
        plain = {one.name: one.default for one in fields(self)}
        return {name: _plain(value) for name, value in asdict(self).items() if value != plain[name]}

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "GovernedCall":
        """Return what was recorded."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()
        }
        values["stale"] = tuple(StalePath(**one) for one in recorded.get("stale", ()))
        approved = recorded.get("approved")
        values["approved"] = Approved(**approved) if approved is not None else None
        return cls(**values)


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value
