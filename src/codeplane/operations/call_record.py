"""One call on its way through the door: the request, and what each step found."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codeplane.core.callers import Caller
from codeplane.core.errors import ErrorReport
from codeplane.core.tracing import TracedStep
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.policy import CallFacts, Decision
from codeplane.ledger.sessions import Session
from codeplane.ledger.tasks import Budget, Progress, Task
from codeplane.operations.answer import Outcome, ResourceLink
from codeplane.operations.cursors import Position
from codeplane.operations.evidence import Evidence
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import AnyOperation, AskClient, CallContext, Plan

if TYPE_CHECKING:
    from codeplane.workspace.command_bracket import Mark


def _ignore_progress(_done: float, _total: float | None, _message: str) -> None:
    """Discard progress reports."""


def _never() -> bool:
    return False


@dataclass(slots=True)
class RunningProgram:
    """The program that makes a call; all its calls share one index refresh.

    `plan_node` names the node of an accepted plan that its calls carry out, as `<fingerprint>/<node>`.
    """

    call_id: str
    is_index_fresh: bool = False
    plan_node: str | None = None


@dataclass(frozen=True, slots=True)
class CallControls:
    """The caller's side of a running call: where progress goes and whether the caller still waits.

    `ask_client` puts a question of an upstream to the person behind the client; None when that is not possible.
    """

    report_progress: Callable[[float, float | None, str], None] = _ignore_progress
    is_cancelled: Callable[[], bool] = _never
    understood: tuple[str, ...] = ()
    obvious: tuple[str, ...] = ()
    program: RunningProgram | None = None
    position: Position | None = None
    given_intent: str | None = None
    given_class: str | None = None
    ask_client: AskClient | None = None


@dataclass(frozen=True, slots=True)
class BegunOutside:
    """What is kept of a call while somebody else carries it out."""

    call_id: str
    started_ms: int
    before: Mapping[str, str | None]
    repo_before: str | None
    mutation_number: int | None
    decision: Decision
    mark: "Mark | None"


@dataclass(slots=True)
class Call:
    """One call on its way through the steps.

    `budget` is what it uses of its task's budget, None when it does not count. `judged` are paths that were allowed
    while it ran, in addition to its effects.
    Invariant: once `outcome` is set, only the steps marked `always` still run.
    """

    operation: AnyOperation
    request: Request
    caller: Caller
    controls: CallControls
    call_id: str
    started_ms: int
    started: float
    arguments: dict[str, Any]
    digest: str
    session: Session | None = None
    effects: Effects = field(default_factory=Effects)
    judged: set[str] = field(default_factory=set)
    budget: Budget | None = None
    task: Task | None = None
    mutation_number: int | None = None
    limit_triggered: str | None = None
    is_begun: bool = False
    before: dict[str, str | None] = field(default_factory=dict)
    context: CallContext | None = None
    plan: Plan[Any] | None = None
    has_hooks: bool = False
    evidence: Evidence = field(default_factory=Evidence)
    progress: Progress | None = None
    steps: list[TracedStep] = field(default_factory=list)
    result: Result | None = None
    text: str = ""
    links: tuple[ResourceLink, ...] = ()
    outcome: Outcome | None = None
    error: ErrorReport | None = None
    decision: Decision | None = None
    quality: list[dict[str, Any]] = field(default_factory=list)
    rewritten: dict[str, str | None] = field(default_factory=dict)
    index_epoch: int | None = None
    warnings: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    held: ExitStack | None = None

    def fail(self, report: ErrorReport, outcome: Outcome = Outcome.FAILED) -> None:
        """End the call with an error."""
        self.outcome = outcome
        self.error = report

    @property
    def is_recorded(self) -> bool:
        """Tell whether the call gets a row."""
        return self.operation.is_recorded and not self.is_look

    @property
    def is_look(self) -> bool:
        """Tell whether a page of the dashboard reads: that is neither recorded nor counted."""
        is_read = self.budget is None and self.operation.effect is not EffectClass.RECORD
        return is_read and self.caller.only_looks

    @property
    def label(self) -> str:
        """Return the public name of the session."""
        return self.session.label if self.session else "none"

    @property
    def task_id(self) -> str | None:
        """Return the task that the call's rows belong to: an open one, or the one whose limit refuses the call."""
        if self.task is None or not (self.task.is_open or self.limit_triggered or self.is_begun):
            return None
        return self.task.task_id

    def facts(self) -> CallFacts:
        """Return what policies judge; a dry run is judged as a read."""
        is_dry_run = self.budget is None and self.operation.effect.mutates
        return CallFacts(
            call_id=self.call_id,
            operation=self.operation.name,
            effect=EffectClass.READ if is_dry_run else self.operation.effect,
            caller=self.caller,
            session=self.label,
            effects=self.effects,
            arguments=self.arguments,
            arguments_digest=self.digest,
            now_ms=self.started_ms,
            schema_digest=self.operation.schema_digest,
            given_intent=self.controls.given_intent,
            given_class=self.controls.given_class,
            is_git=self.operation.snapshots and not self.operation.is_outside,
            tool_class=self.operation.tool_class,
        )
