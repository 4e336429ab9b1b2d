"""The states of a run and what moves it from one to another, as a table."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from codeplane.controller.budget import Budget

MAX_DENIALS_WHILE_BLOCKED: Final = 5
MAX_EXHAUSTED_NODES: Final = 2


class RunState(StrEnum):
    """Where a run is."""

    PLAN_REQUIRED = "PLAN_REQUIRED"
    PLAN_ACCEPTED = "PLAN_ACCEPTED"
    EXECUTION_ENABLED = "EXECUTION_ENABLED"
    BLOCKED_BUDGET = "BLOCKED_BUDGET"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"


class Event(StrEnum):
    """What can move a run; an event that is not in the table for a state leaves the run as it is."""

    PLAN_ACCEPTED = "plan accepted"
    PLAN_REJECTED = "plan rejected"
    MUTATION_RAN = "mutation ran"
    BUDGET_REFUSED = "budget refused a turn"
    BUDGET_RAISED = "budget raised"
    DENIED_TOO_OFTEN = "denied too often while blocked"
    NODES_EXHAUSTED = "too many nodes exhausted"
    COMPLETION_SIGNALLED = "completion signalled"


_WORKING: Final = (RunState.PLAN_REQUIRED, RunState.PLAN_ACCEPTED, RunState.EXECUTION_ENABLED)
TRANSITIONS: Final = MappingProxyType(
    {
        **{(state, Event.PLAN_ACCEPTED): RunState.PLAN_ACCEPTED for state in _WORKING},
        **{(state, Event.BUDGET_REFUSED): RunState.BLOCKED_BUDGET for state in _WORKING},
        **{(state, Event.COMPLETION_SIGNALLED): RunState.COMPLETED for state in _WORKING},
        (RunState.PLAN_ACCEPTED, Event.MUTATION_RAN): RunState.EXECUTION_ENABLED,
        (RunState.EXECUTION_ENABLED, Event.NODES_EXHAUSTED): RunState.FAILED,
        (RunState.BLOCKED_BUDGET, Event.DENIED_TOO_OFTEN): RunState.FAILED,
    }
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run session; `blocked_from` is the state to return to, `plan_fingerprint` the plan in force."""

    state: RunState = RunState.PLAN_REQUIRED
    budget: Budget = field(default_factory=Budget)
    blocked_from: RunState | None = None
    n_denied_while_blocked: int = 0
    plan_fingerprint: str | None = None

    @property
    def is_blocked(self) -> bool:
        """Whether the budget stops this run."""
        return self.state is RunState.BLOCKED_BUDGET or self.budget.is_exceeded


def after(run: Run, event: Event) -> Run:
    """Return the run after an event."""
    if event is Event.BUDGET_RAISED:
        return _unblocked(run)
    state = TRANSITIONS.get((run.state, event), run.state)
    blocked_from = run.state if event is Event.BUDGET_REFUSED and state is not run.state else run.blocked_from
    return replace(run, state=state, blocked_from=blocked_from)


def after_plan(run: Run, fingerprint: str, *, is_accepted: bool) -> Run:
    """Return the run after a plan: a refused one changes nothing, the plan before stays in force."""
    if not is_accepted:
        return after(run, Event.PLAN_REJECTED)
    return replace(after(run, Event.PLAN_ACCEPTED), plan_fingerprint=fingerprint)


def after_exhausted(run: Run, n_exhausted: int) -> Run:
    """Return the run after a node became exhausted; the second one ends it."""
    return after(run, Event.NODES_EXHAUSTED) if n_exhausted >= MAX_EXHAUSTED_NODES else run


def after_denial(run: Run) -> Run:
    """Return the run after a denied turn; too many in a row while blocked end it."""
    if run.state is not RunState.BLOCKED_BUDGET:
        return run
    counted = replace(run, n_denied_while_blocked=run.n_denied_while_blocked + 1)
    if counted.n_denied_while_blocked < MAX_DENIALS_WHILE_BLOCKED:
        return counted
    return after(counted, Event.DENIED_TOO_OFTEN)


def _unblocked(run: Run) -> Run:
    is_free = run.state is RunState.BLOCKED_BUDGET and run.budget.used_tokens < run.budget.threshold_tokens
    if not is_free or run.blocked_from is None:
        return run
    return replace(run, state=run.blocked_from, blocked_from=None, n_denied_while_blocked=0)
