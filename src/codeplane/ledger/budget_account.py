"""What a working tree has used of its budget, told by sealed rows alone.

Calls outside of a person's task are summed over one working tree, whatever session or client makes them. The sum starts
with the first call that counts and lasts 24 hours. A task that a person opened has limits and counters of its own.

Each `begun` row carries the account after its call, so that only the rows since the newest one have to be read and
checked. A person's `budget_reset` row carries a new one.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.evidence import Evidence, ProvenRow
from codeplane.ledger.tasks import Budget, Task, TaskLimits, TaskState, worktree_scope

RESET_KIND: Final = "budget_reset"
PERIOD_MS: Final = 24 * 3_600_000
ACCOUNT: Final = "account"
PERSON: Final = "person"
# An exhausted task bars its session until a newer one is opened; sessions that are long over need no bar.
_MAX_TASKS: Final = 20
_CARRIERS: Final = "kind IN ('begun', 'budget_reset') AND worktree = ? ORDER BY seq DESC"


@dataclass(frozen=True, slots=True)
class Counters:
    """How often calls of each kind were begun, and since when."""

    since_ms: int | None = None
    mutations: int = 0
    test_runs: int = 0

    def plus(self, budget: str, now_ms: int) -> "Counters":
        """Return them after one more call."""
        return Counters(
            self.since_ms if self.since_ms is not None else now_ms,
            self.mutations + (budget == Budget.MUTATIONS.value),
            self.test_runs + (budget == Budget.TEST_RUNS.value),
        )


@dataclass(frozen=True, slots=True)
class PersonsTask:
    """A task that a person opened and that is open, or that one of its limits has closed."""

    task_id: str
    scope: str
    opened_seq: int
    limits: TaskLimits
    used: Counters
    limit_triggered: str | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one working tree; `limit_triggered` is the limit that bars every further call that counts."""

    used: Counters = Counters()
    tasks: tuple[PersonsTask, ...] = ()
    limit_triggered: str | None = None

    def at(self, now_ms: int) -> "Account":
        """Return it as of a moment: 24 hours after its first call the sum starts again."""
        is_over = self.used.since_ms is not None and now_ms - self.used.since_ms >= PERIOD_MS
        return Account(tasks=self.tasks) if is_over else self

    def current_task(self, session: str, worktree: str) -> PersonsTask | None:
        """Return the newest task of a person that covers a session."""
        scopes = (session, worktree_scope(worktree))
        return max((one for one in self.tasks if one.scope in scopes), key=lambda one: one.opened_seq, default=None)

    def after_call(self, task_id: str | None, budget: str, now_ms: int) -> "Account":
        """Return it after one more call that counts."""
        if any(one.task_id == task_id for one in self.tasks):
            tasks = tuple(
                replace(one, used=one.used.plus(budget, now_ms)) if one.task_id == task_id else one
                for one in self.tasks
            )
            return replace(self, tasks=tasks)
        current = self.at(now_ms)
        return replace(current, used=current.used.plus(budget, now_ms))

    def as_document(self) -> dict[str, Any]:
        """Return the form that rows carry."""
        tasks = [asdict(one) for one in self.tasks]
        return {"used": asdict(self.used), "tasks": tasks, "limit_triggered": self.limit_triggered}


def account_of(evidence: Evidence, worktree: str, now_ms: int) -> Account:
    """Return the account of a working tree as sealed rows tell it.

    Raises:
        CodePlaneError: CHAIN_BROKEN when rows since the newest account were removed, changed or put in.
    """
    carriers = evidence.rows(_CARRIERS, (worktree,))
    base = next((one.row for one in carriers if one.is_ours and ACCOUNT in one.row.body), None)
    account = _from_document(base.body[ACCOUNT]) if base is not None else Account()
    # Without a key nothing can be proven: what other rows say still uses the budget up.
    rows = evidence.rows_since(base) if evidence.has_key else evidence.rows("worktree = ? ORDER BY seq", (worktree,))
    for found in rows:
        if found.row.worktree == worktree:
            account = _after(account, found)
    return account.at(now_ms)


def counted_task(task: Task, limits: TaskLimits, used: Counters, now_ms: int) -> Task:
    """Return a task with the numbers that its limits are compared with."""
    return replace(
        task,
        state=TaskState.OPEN,
        limits=limits,
        mutation_count=used.mutations,
        test_run_count=used.test_runs,
        opened_ms=used.since_ms if used.since_ms is not None else now_ms,
        latest_ms=0,
        closed_ms=None,
        limit_triggered=None,
    )


def is_persons(row: LedgerRow) -> bool:
    """Tell whether a row opens a task for a person."""
    return row.kind == "task_opened" and bool(row.body.get("explicit")) and row.body.get("caller") == PERSON


def _after(account: Account, found: ProvenRow) -> Account:
    row, body = found.row, found.row.body
    if row.kind in {"begun", RESET_KIND} and found.is_ours and ACCOUNT in body:
        return _from_document(body[ACCOUNT])
    if row.kind == "begun" and isinstance(body.get("budget"), str):
        return account.after_call(row.task_id, body["budget"], row.ts_ms)
    if found.is_ours and is_persons(row):
        return _opened(account, row)
    if row.kind == "task_closed":
        return _closed(account, found)
    return account


def _opened(account: Account, row: LedgerRow) -> Account:
    scope = row.body["session"] or worktree_scope(row.worktree)
    limits = TaskLimits(**row.body["limits"])
    task = PersonsTask(str(row.task_id), scope, row.seq, limits, Counters(row.ts_ms))
    others = [one for one in account.tasks if one.scope != scope]
    return replace(account, tasks=(*others, task)[-_MAX_TASKS:])


def _closed(account: Account, found: ProvenRow) -> Account:
    """Return it after a task was closed; a limit of the working tree applies to every caller."""
    task_id, limit = found.row.task_id, found.row.body.get("limit_triggered")
    if any(one.task_id == task_id for one in account.tasks):
        tasks = [replace(one, limit_triggered=limit) if one.task_id == task_id else one for one in account.tasks]
        kept = tuple(one for one in tasks if one.task_id != task_id or limit)
        return replace(account, tasks=kept) if found.is_ours else account
    if not limit or found.row.body.get("explicit"):
        return account
    since = account.used.since_ms if account.used.since_ms is not None else found.row.ts_ms
    return replace(account, used=replace(account.used, since_ms=since), limit_triggered=limit)


def _from_document(document: Mapping[str, Any]) -> Account:
    tasks = tuple(
        PersonsTask(**{**one, "limits": TaskLimits(**one["limits"]), "used": Counters(**one["used"])})
        for one in document["tasks"]
    )
    return Account(Counters(**document["used"]), tasks, document["limit_triggered"])
