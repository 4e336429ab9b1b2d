"""What a task is: its limits, its counters, and how its rows in the chain add up to its state.

A task does not decide anything: it groups calls, bounds them, and shows whether they get anywhere.
"""

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import ErrorReport
from codeplane.core.settings import setting
from codeplane.ledger.chain import FINAL_KINDS, SYSTEM_SESSION, LedgerRow, NewEvent

NEARLY_USED = 0.8
# Enough to know whether a process that works in the task lives; who only came by long ago is not asked any more.
_KEPT_OWNERS = 32


class TaskState(Enum):
    """The state of a task; a closed one is never opened again."""

    OPEN = "OPEN"
    CLOSED_SUCCESS = "CLOSED_SUCCESS"
    CLOSED_FAILED = "CLOSED_FAILED"
    CLOSED_INTERRUPTED = "CLOSED_INTERRUPTED"

    @property
    def in_envelope(self) -> str:
        """Return the word that answers use."""
        return _ENVELOPE_WORDS[self]


_ENVELOPE_WORDS = {
    TaskState.OPEN: "OPEN",
    TaskState.CLOSED_SUCCESS: "CONVERGED",
    TaskState.CLOSED_FAILED: "FAILED",
    TaskState.CLOSED_INTERRUPTED: "CLOSED",
}


class Budget(Enum):
    """What a task may use up."""

    MUTATIONS = "mutations"
    TEST_RUNS = "test_runs"
    DURATION = "duration"

    @property
    def noun(self) -> str:
        """Return the word that messages use."""
        return {"mutations": "Mutation", "test_runs": "Test run", "duration": "Duration"}[self.value]


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """How long rows stay: so many days or so many tasks, whichever keeps more; `batch` bounds one transaction."""

    days: int = setting(14, doc="Days for which the ledger keeps its rows.", minimum=1, maximum=36_500)
    tasks: int = setting(
        500, doc="Newest tasks whose rows the ledger keeps, however old they are.", minimum=0, maximum=1_000_000
    )
    batch: int = setting(20_000, doc="Rows that one transaction retires.", minimum=100, maximum=1_000_000)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """How much one task may do."""

    max_mutations: int = setting(
        500, doc="Changing calls that one task may make; 0 allows none.", minimum=0, maximum=1_000_000
    )
    max_test_runs: int = setting(
        200, doc="Test runs that one task may make; 0 allows none.", minimum=0, maximum=1_000_000
    )
    max_duration_sec: int = setting(
        86_400, doc="Seconds from opening a task to its last call that counts.", minimum=1, maximum=31_536_000
    )


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """The limits of one task."""

    max_mutations: int
    max_test_runs: int
    max_duration_sec: int

    def of(self, budget: Budget) -> int:
        """Return the limit of one budget."""
        return {
            Budget.MUTATIONS: self.max_mutations,
            Budget.TEST_RUNS: self.max_test_runs,
            Budget.DURATION: self.max_duration_sec,
        }[budget]


@dataclass(frozen=True, slots=True)
class RepoSnapshot:
    """Where the repository stood when the task was opened."""

    git_head: str | None
    index_version: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its rows tell it.

    `session` is None for a task of the whole working tree. `owners` are the processes that have worked in it;
    `latest_ms` is the latest time on record, so that a clock that runs backwards gives no time back.
    `last_mutation_number` tells which mutation `last_mutation_fingerprint` belongs to, and `mutations_at_failure` how
    many had been begun when the last failure was seen.
    """

    task_id: str
    session: str | None
    worktree: str
    is_explicit: bool
    owners: tuple[str, ...]
    opened_seq: int
    opened_ms: int
    limits: TaskLimits
    repo_snapshot: RepoSnapshot
    state: TaskState = TaskState.OPEN
    closed_ms: int | None = None
    reason: str = ""
    limit_triggered: str | None = None
    mutation_count: int = 0
    test_run_count: int = 0
    latest_ms: int = 0
    last_mutation_fingerprint: str | None = None
    last_mutation_number: int = 0
    last_failure_fingerprint: str | None = None
    mutations_at_failure: int = 0

    @property
    def is_open(self) -> bool:
        """Tell whether calls still belong to it."""
        return self.state is TaskState.OPEN

    @property
    def is_exhausted(self) -> bool:
        """Tell whether a limit has closed it."""
        return self.state is TaskState.CLOSED_FAILED and self.limit_triggered is not None

    @property
    def scope(self) -> str:
        """Return whose calls belong to it."""
        return self.session if self.session is not None else worktree_scope(self.worktree)

    def elapsed_ms(self, now_ms: int) -> int:
        """Return how long it has been open, at least as long as its rows show."""
        end = self.closed_ms if self.closed_ms is not None else now_ms
        return max(end, self.latest_ms, self.opened_ms) - self.opened_ms

    def used(self, budget: Budget, now_ms: int) -> int:
        """Return how much of a budget is used up, at most all of it."""
        count = {
            Budget.MUTATIONS: self.mutation_count,
            Budget.TEST_RUNS: self.test_run_count,
            Budget.DURATION: self.elapsed_ms(now_ms) // 1000,
        }[budget]
        return min(count, self.limits.of(budget))

    def share_used(self, budget: Budget, now_ms: int) -> float:
        """Return the used share of a budget, from 0 to 1."""
        limit = self.limits.of(budget)
        return self.used(budget, now_ms) / limit if limit else 1.0

    def shares_used(self, now_ms: int) -> dict[str, float]:
        """Return the used share of every budget by its name."""
        return {budget.value: self.share_used(budget, now_ms) for budget in Budget}

    def excess(self, budget: Budget, now_ms: int) -> Budget | None:
        """Return the limit that one more call of this kind would break."""
        if self.elapsed_ms(now_ms) > self.limits.max_duration_sec * 1000:
            return Budget.DURATION
        return budget if self.used(budget, now_ms) >= self.limits.of(budget) else None

    def as_document(self, now_ms: int) -> dict[str, Any]:
        """Return what people are shown: the persisted state of section 12.2, whose task it is and how it ended."""
        return {
            "task_id": self.task_id,
            "session": self.session,
            "worktree": self.worktree,
            "explicit": self.is_explicit,
            "opened_at": iso_from_ms(self.opened_ms),
            "closed_at": iso_from_ms(self.closed_ms) if self.closed_ms is not None else None,
            "state": self.state.value,
            "reason": self.reason or None,
            "limit_triggered": self.limit_triggered,
            "repo_snapshot": asdict(self.repo_snapshot),
            "limits": asdict(self.limits),
            "counters": {"mutation_count": self.mutation_count, "test_run_count": self.test_run_count},
            "elapsed_sec": self.elapsed_ms(now_ms) // 1000,
            "budget_used": {name: round(share, 4) for name, share in self.shares_used(now_ms).items()},
            "last_mutation_fingerprint": self.last_mutation_fingerprint,
            "last_failure_fingerprint": self.last_failure_fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Observed:
    """What a call showed: its place among the task's mutations, and fingerprints where there are any.

    `is_begun` says that it has a `begun` row, `is_unchanged` that it left every file it knew of as it was.
    """

    is_begun: bool
    mutation_number: int | None = None
    mutation_fingerprint: str | None = None
    is_unchanged: bool = False
    failure_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What the task's history says about a call."""

    task: Task
    is_no_op: bool = False
    non_progress: bool = False


def limits_of(settings: TaskSettings) -> TaskLimits:
    """Return the default limits."""
    return TaskLimits(settings.max_mutations, settings.max_test_runs, settings.max_duration_sec)


def exceeded(task: Task, excess: Budget) -> ErrorReport:
    """Return what the call that would break a limit, and every changing call after it, is answered."""
    limit = task.limits.of(excess)
    return ErrorReport(
        "TASK_BUDGET_EXCEEDED",
        f"{excess.noun} budget exceeded ({limit}/{limit})",
        details={"budget_type": excess.value, "limit": limit, "current": limit},
    )


def nearly_used(task: Task, budget: Budget, now_ms: int) -> tuple[str, ...]:
    """Return a sentence for each budget, of those a call uses, that is more than 80 % used."""
    sentences = []
    for one in (budget, Budget.DURATION):
        if task.share_used(one, now_ms) > NEARLY_USED:
            unit = {"mutations": "mutations", "test_runs": "test runs", "duration": "seconds"}[one.value]
            sentences.append(f"{task.used(one, now_ms)} of {task.limits.of(one)} {unit} of this task are used")
    return tuple(sentences)


def worktree_scope(worktree: str) -> str:
    """Return the scope of a task that belongs to no session in particular."""
    return f"worktree:{worktree}"


def repeats(task: Task, observed: Observed) -> bool:
    """Tell whether a mutation left what the one just before it left."""
    return (
        observed.mutation_fingerprint is not None
        and observed.mutation_fingerprint == task.last_mutation_fingerprint
        and observed.mutation_number == task.last_mutation_number + 1
    )


def fails_again(task: Task, observed: Observed) -> bool:
    """Tell whether the last failure is back although something was changed meanwhile."""
    return (
        observed.failure_fingerprint is not None
        and observed.failure_fingerprint == task.last_failure_fingerprint
        and task.mutation_count > task.mutations_at_failure
    )


def noted(observed: Observed) -> dict[str, Any]:
    """Return what a final row says so that the task's history can be told from the rows."""
    parts = {
        "mutation_number": observed.mutation_number,
        "mutation_fingerprint": observed.mutation_fingerprint,
        "failure_fingerprint": observed.failure_fingerprint,
    }
    return {name: value for name, value in parts.items() if value is not None}


def closing(task: Task, state: TaskState, reason: str, limit: Budget | None = None) -> NewEvent:
    """Return the row that closes a task; `limit` is the one that was about to be broken."""
    body: dict[str, Any] = {"state": state.value, "reason": reason}
    if limit is not None:
        body |= {"limit_triggered": limit.value, "explicit": task.is_explicit}
    session = task.session or SYSTEM_SESSION
    return NewEvent("task_closed", session, body, task_id=task.task_id, worktree=task.worktree)


def task_of_opening(event: NewEvent, seq: int, ts_ms: int) -> Task:
    """Return the task as its first row opens it."""
    body = event.body
    owner = body["owner"]
    return Task(
        task_id=str(event.task_id),
        session=body["session"],
        worktree=event.worktree,
        is_explicit=body["explicit"],
        owners=(owner,) if owner else (),
        opened_seq=seq,
        opened_ms=ts_ms,
        limits=TaskLimits(**body["limits"]),
        repo_snapshot=RepoSnapshot(**body["repo_snapshot"]),
        latest_ms=ts_ms,
    )


def task_after(task: Task | None, row: LedgerRow) -> Task:
    """Return the task after one more of its rows."""
    if task is None:
        opened = NewEvent(row.kind, row.session, row.body, task_id=row.task_id, worktree=row.worktree)
        return task_of_opening(opened, row.seq, row.ts_ms)
    if row.kind == "task_closed":
        limit = row.body.get("limit_triggered")
        state = TaskState(row.body["state"])
        return replace(task, state=state, closed_ms=row.ts_ms, reason=row.body["reason"], limit_triggered=limit)
    if row.kind == "begun":
        return _after_beginning(task, row)
    return _after_ending(task, row) if row.kind in FINAL_KINDS else task


def _after_beginning(task: Task, row: LedgerRow) -> Task:
    budget = row.body.get("budget")
    owner = str(row.body.get("owner"))
    owners = task.owners if owner in task.owners else (*task.owners[-_KEPT_OWNERS + 1 :], owner)
    return replace(
        task,
        owners=owners,
        mutation_count=task.mutation_count + (budget == Budget.MUTATIONS.value),
        test_run_count=task.test_run_count + (budget == Budget.TEST_RUNS.value),
        latest_ms=max(task.latest_ms, row.ts_ms),
    )


def _after_ending(task: Task, row: LedgerRow) -> Task:
    number = row.body.get("mutation_number")
    if number is not None:
        fingerprint = row.body.get("mutation_fingerprint")
        if fingerprint is not None:
            task = replace(task, last_mutation_fingerprint=fingerprint, last_mutation_number=number)
        elif number == task.last_mutation_number + 1:
            # It changed nothing, so the one before it is still the last that did.
            task = replace(task, last_mutation_number=number)
    failure = row.body.get("failure_fingerprint")
    if failure is not None:
        task = replace(task, last_failure_fingerprint=failure, mutations_at_failure=task.mutation_count)
    return task
