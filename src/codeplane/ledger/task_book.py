"""The book of all tasks of a repository.

A task is opened by a person, or by itself when a session makes its first call that counts. Everything about it is a
row of the chain: `task_opened`, `task_closed`, the `begun` rows that count and the final rows that carry fingerprints.
The table `task_states` is an index for listing and for grouping calls. How much a call may still use is derived from
sealed rows each time; `budget_account.py` says how.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from codeplane.core.canonical_json import canonical_text
from codeplane.core.clock import Clock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import IdSource
from codeplane.core.logs import fields, get_logger
from codeplane.ledger.budget_account import (
    ACCOUNT,
    RESET_KIND,
    Account,
    PersonsTask,
    account_of,
    counted_task,
    is_persons,
)
from codeplane.ledger.chain import SYSTEM_SESSION, EventChain, LedgerRow, NewEvent, RowFilter, row_of_record
from codeplane.ledger.evidence import Evidence
from codeplane.ledger.owners import Ownership
from codeplane.ledger.tasks import (
    Budget,
    Observed,
    Progress,
    RepoSnapshot,
    Task,
    TaskLimits,
    TaskState,
    closing,
    fails_again,
    noted,
    repeats,
    task_after,
    task_of_opening,
    worktree_scope,
)

_log = get_logger(__name__)
# Owns calls that agents carry out themselves: no process of ours works on them, so none leaves them behind.
OUTSIDE_OWNER: Final = "outside"

_TABLES_VERSION = "1"
_VERSION_KEY = "task_states_version"
_TABLES = (
    "DROP TABLE IF EXISTS task_states",
    "DROP TABLE IF EXISTS task_totals",
    """
    CREATE TABLE task_states (
        task_id TEXT PRIMARY KEY,
        scope TEXT NOT NULL,
        state TEXT NOT NULL,
        opened_seq INTEGER NOT NULL,
        task TEXT NOT NULL
    )
    """,
    "CREATE INDEX task_states_by_scope ON task_states (scope, opened_seq)",
    "CREATE INDEX task_states_by_order ON task_states (opened_seq)",
    "CREATE INDEX task_states_open ON task_states (opened_seq) WHERE state = 'OPEN'",
    "CREATE TABLE task_totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task that a person opens: for one session, or for all sessions of the working tree that have none of their own.

    `owner` is the process whose end interrupts the task; without one it lives until a process has worked in it.
    """

    worktree: str
    limits: TaskLimits
    repo_snapshot: RepoSnapshot
    session: str | None = None
    owner: str | None = None
    opened_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that wants to count: its `begun` row, what it uses up, and what a new task would start from.

    `owner` is the process whose end interrupts the task, `call_owner` the one whose end interrupts the call.
    """

    begun: NewEvent
    budget: Budget
    owner: str
    limits: TaskLimits
    repo_snapshot: RepoSnapshot
    call_owner: str | None = None


@dataclass(frozen=True, slots=True)
class Reserved:
    """What became of a reservation; with `excess` the call may not go on and nothing was begun.

    `counted` is the task with the limits and counters that decided: its own, or those of the working tree.
    """

    task: Task
    is_new: bool
    excess: Budget | None
    counted: Task

    @property
    def number(self) -> int:
        """Return which mutation of the task this is."""
        return self.task.mutation_count


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks to list, newest first."""

    state: TaskState | None = None
    session: str | None = None
    before_seq: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class TaskTotals:
    """Tasks since the ledger began."""

    opened: int
    closed: Mapping[str, int]
    exhausted: Mapping[str, int]


class TaskBook:
    """All tasks of a repository, for every process that works in it.

    Invariant: a state in the table is what folding the task's rows gives; both change in one transaction.
    """

    def __init__(self, chain: EventChain, clock: Clock, ids: IdSource) -> None:
        self._chain = chain
        self._clock = clock
        self._ids = ids
        self._has_opened = False
        if chain.meta(_VERSION_KEY) != _TABLES_VERSION:
            self.rebuild()

    def current_task(self, session: str, worktree: str) -> Task | None:
        """Return the task that a session's calls belong to: its open one, or the exhausted one that bars it.

        States that cannot be read are rebuilt from the rows.
        """
        try:
            with self._chain.database.read() as connection:
                return _current_task(connection, session, worktree)
        except CodePlaneError as error:
            if error.code != "STORE_CORRUPT":
                raise
        self.rebuild()
        with self._chain.database.read() as connection:
            return _current_task(connection, session, worktree)

    def reserve(self, wanted: Reservation) -> Reserved:
        """Count a call and append its `begun` row, opening a task if there is none; or close the task that is used up.

        One transaction, so that calls at the limit, of whatever thread or process, never get more than the limit.

        Raises:
            CodePlaneError: CHAIN_BROKEN when the rows do not prove what was used.
        """
        begun = wanted.begun
        with self._transaction() as connection:
            now = self._clock.now_ms()
            account = account_of(Evidence(self._chain, connection), begun.worktree, now)
            persons = account.current_task(begun.session, begun.worktree)
            found = _found(connection, begun, persons)
            if found is not None and found.is_exhausted and found.is_explicit:
                return Reserved(found, is_new=False, excess=Budget(found.limit_triggered), counted=found)
            events = [] if found is not None and found.is_open else [self._implicit(wanted)]
            open_task = task_of_opening(events[0], 0, now) if events or found is None else found
            limits, used = (persons.limits, persons.used) if persons is not None else (wanted.limits, account.used)
            counted = counted_task(open_task, limits, used, now)
            if persons is None and account.limit_triggered is not None:
                excess: Budget | None = Budget(account.limit_triggered)
            else:
                excess = _excess(open_task, counted, wanted.budget, now, is_persons=persons is not None)
            if excess is not None and found is not None and found.is_exhausted:
                return Reserved(found, is_new=False, excess=excess, counted=counted)
            if excess is not None:
                events.append(closing(open_task, TaskState.CLOSED_FAILED, f"{excess.value} limit", excess))
            else:
                account = account.after_call(open_task.task_id, wanted.budget.value, now)
                body = {"budget": wanted.budget.value, "owner": wanted.owner, ACCOUNT: account.as_document()}
                events.append(replace(begun, body={**begun.body, **body}, task_id=open_task.task_id))
                counted = _plus_one(counted, wanted.budget)
            is_new = len(events) > 1
            task = self._write(connection, events, None if is_new else open_task)
            if excess is None:
                connection.execute(
                    "INSERT INTO open_calls (call_id, owner, begun_seq) SELECT ?, ?, MAX(seq) FROM events",
                    (begun.call_id, wanted.call_owner or wanted.owner),
                )
        self._has_opened = self._has_opened or is_new
        return Reserved(task, is_new=is_new, excess=excess, counted=counted)

    def reset(self, worktree: str, by: str) -> Account:
        """Let the sum of a working tree start again, as a person wants it; return what had been used.

        When the rows do not prove what was used, tasks of people are forgotten, too, and have to be opened again.
        """
        with self._transaction() as connection:
            try:
                before = account_of(Evidence(self._chain, connection), worktree, self._clock.now_ms())
            except CodePlaneError as error:
                if error.code != "CHAIN_BROKEN":
                    raise
                before = Account()
            after = Account(tasks=tuple(one for one in before.tasks if one.limit_triggered is None))
            body = {"by": by, "used": asdict(before.used), ACCOUNT: after.as_document()}
            event = NewEvent(RESET_KIND, SYSTEM_SESSION, body, worktree=worktree)
            self._chain._insert(connection, [self._chain._stamp(event)])  # noqa: SLF001 - as in `_transaction`.
        return before

    def account(self, worktree: str) -> Account:
        """Return what a working tree has used.

        Raises:
            CodePlaneError: CHAIN_BROKEN when the rows do not prove it.
        """
        self._chain.flush()
        with self._chain.database.read() as connection:
            return account_of(Evidence(self._chain, connection), worktree, self._clock.now_ms())

    def is_persons(self, task_id: str) -> bool:
        """Tell whether a person opened a task: then only a person closes it."""
        wanted = RowFilter(kinds=("task_opened",), task_id=task_id, limit=1)
        return any(is_persons(row) for row in self._chain.rows(wanted))

    def contradictions(self) -> tuple[str, ...]:
        """Return where the table says something else than the rows."""
        self._chain.flush()
        told: dict[str, Task] = {}
        with self._chain.database.read() as connection:
            for record in connection.execute("SELECT * FROM events WHERE task_id IS NOT NULL ORDER BY seq"):
                with suppress(ValueError, TypeError, KeyError):
                    row = row_of_record(record)
                    known = told.get(str(row.task_id))
                    if known is not None or row.kind == "task_opened":
                        told[str(row.task_id)] = task_after(known, row)
            listed = {str(one[0]): tuple(one) for one in connection.execute("SELECT * FROM task_states")}
            first = connection.execute("SELECT COALESCE(MIN(seq), 0) FROM events").fetchone()[0]
        wrong = [name for name, task in told.items() if listed.get(name) != _columns(task)]
        # The rows of a task may be retired before its state is.
        wrong += [name for name, values in listed.items() if name not in told and values[3] >= first]
        return tuple(f"table task_states: {name} is not as its rows say" for name in sorted(wrong))

    def _implicit(self, wanted: Reservation) -> NewEvent:
        begun = wanted.begun
        request = TaskRequest(begun.worktree, wanted.limits, wanted.repo_snapshot, begun.session, wanted.owner)
        return self._opening(request, is_explicit=False)

    def _opening(self, request: TaskRequest, *, is_explicit: bool) -> NewEvent:
        body = {
            "session": request.session,
            "explicit": is_explicit,
            "owner": request.owner,
            "limits": asdict(request.limits),
            "repo_snapshot": asdict(request.repo_snapshot),
            **request.opened_by,
        }
        return NewEvent(
            "task_opened",
            request.session or SYSTEM_SESSION,
            body,
            task_id=self._ids.new("task"),
            worktree=request.worktree,
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Give a durable transaction of the chain in which the rows that waited are written already."""
        with self._chain._writing(is_durable=True) as (connection, waiting):  # noqa: SLF001 - one package, one file.
            self._chain._insert(connection, waiting)  # noqa: SLF001 - as above.
            yield connection

    def _write(self, connection: sqlite3.Connection, events: list[NewEvent], task: Task | None) -> Task:
        """Append rows of one task and bring its state up to date."""
        stamped = [self._chain._stamp(event) for event in events]  # noqa: SLF001 - as in `_transaction`.
        for row in self._chain._insert(connection, stamped)[-len(events) :]:  # noqa: SLF001 - as in `_transaction`.
            task = task_after(task, row)
            _count(connection, row)
        if task is None:
            raise CodePlaneError("INTERNAL_ERROR", "A task's first row opens it.")
        _store(connection, task)
        return task

    def finish(self, event: NewEvent, observed: Observed) -> Progress | None:
        """Append the final row of a call of a task with what its history says; None if the call has ended already.

        Raises:
            CodePlaneError: NOT_FOUND when there is no such task.
        """
        with self._transaction() as connection:
            if observed.is_begun:
                ended = connection.execute("DELETE FROM open_calls WHERE call_id = ?", (event.call_id,)).rowcount
                if not ended:
                    return None
            task = _load(connection, str(event.task_id))
            if task is None:
                raise _unknown(str(event.task_id))
            is_no_op = observed.is_unchanged or repeats(task, observed)
            non_progress = fails_again(task, observed)
            body = {**event.body, **noted(observed), "is_no_op": is_no_op, "non_progress": non_progress}
            written = self._write(connection, [replace(event, body=body)], task)
        return Progress(written, is_no_op=is_no_op, non_progress=non_progress)

    def open(self, request: TaskRequest) -> Task:
        """Open a task.

        Raises:
            CodePlaneError: INVALID_ARGUMENTS when the session or the working tree has an open one.
        """
        with self._transaction() as connection:
            scope = request.session or worktree_scope(request.worktree)
            there = _newest(connection, (scope,), only_open=True)
            if there is not None:
                whose = f"Session {request.session}" if request.session else "This working tree"
                raise CodePlaneError(
                    "INVALID_ARGUMENTS",
                    f"{whose} already has the open task {there.task_id}.",
                    hint=f"Close it first: cpl task close {there.task_id}",
                    details={"task_id": there.task_id},
                )
            return self._write(connection, [self._opening(request, is_explicit=True)], None)

    def close(self, task_id: str, state: TaskState, reason: str) -> Task:
        """Close an open task.

        Raises:
            CodePlaneError: NOT_FOUND, or INVALID_ARGUMENTS for a task that is closed already.
        """
        if state is TaskState.OPEN:
            raise CodePlaneError("INVALID_ARGUMENTS", "A task cannot be closed as OPEN.")
        with self._transaction() as connection:
            task = _load(connection, task_id)
            if task is None:
                raise _unknown(task_id)
            if not task.is_open:
                raise CodePlaneError(
                    "INVALID_ARGUMENTS",
                    f"Task {task_id} is {task.state.value} since {iso_from_ms(task.closed_ms or 0)}.",
                    hint="A closed task stays closed; open a new one.",
                    details={"task_id": task_id, "state": task.state.value},
                )
            return self._write(connection, [closing(task, state, reason)], task)

    def find(self, task_id: str) -> Task:
        """Return one task.

        Raises:
            CodePlaneError: NOT_FOUND.
        """
        with self._chain.database.read() as connection:
            task = _load(connection, task_id)
        if task is None:
            raise _unknown(task_id)
        return task

    def tasks(self, wanted: TaskFilter) -> tuple[Task, ...]:
        """Return tasks, newest first."""
        pairs = [
            ("state = ?", wanted.state.value if wanted.state else None),
            ("scope = ?", wanted.session),
            ("opened_seq < ?", wanted.before_seq),
        ]
        clauses = [clause for clause, value in pairs if value is not None]
        values = [value for _, value in pairs if value is not None]
        where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
        # The clauses are the fixed strings above; values travel as parameters.
        query = f"SELECT task FROM task_states {where} ORDER BY opened_seq DESC LIMIT ?"  # noqa: S608
        with self._chain.database.read() as connection:
            return tuple(_decoded(record[0]) for record in connection.execute(query, (*values, wanted.limit)))

    def open_tasks(self) -> tuple[Task, ...]:
        """Return the open tasks of every working tree, oldest first."""
        with self._chain.database.read() as connection:
            return _open_tasks(connection)

    def totals(self) -> TaskTotals:
        """Return how many tasks were opened, how they were closed, and which limits closed them."""
        with self._chain.database.read() as connection:
            found = {str(name): int(value) for name, value in connection.execute("SELECT * FROM task_totals")}
        closed = {state.value: found.get(state.value, 0) for state in TaskState if state is not TaskState.OPEN}
        exhausted = {budget.value: found.get(f"exhausted {budget.value}", 0) for budget in Budget}
        return TaskTotals(found.get("opened", 0), closed, exhausted)

    def interrupt_orphans(self, ownership: Ownership) -> int:
        """Close the tasks whose processes are all gone, as a server does that starts; return how many.

        Linked working trees and other processes share the ledger, so a task is left alone while one of those that
        work in it lives. A task without any work has lost nothing and stays open.
        """
        return self._interrupt(_orphans(self.open_tasks(), ownership), "its process ended")

    def interrupt_implicit_orphans(self, ownership: Ownership) -> int:
        """Close the tasks of sessions whose processes are all gone; return how many.

        A task that a person opened bounds one process after the other and does not end with one of them.
        """
        implicit = [task for task in self.open_tasks() if not task.is_explicit]
        return self._interrupt(_orphans(implicit, ownership), "its process ended")

    def close_session(self, session: str) -> None:
        """Close the open task of a session that ended or whose client has gone."""
        with self._chain.database.read() as connection:
            task = _newest(connection, (session,), only_open=True)
        if task is not None:
            self._interrupt([task], "its session ended")

    def close_own(
        self, owner: str, state: TaskState = TaskState.CLOSED_INTERRUPTED, reason: str = "its process ended"
    ) -> None:
        """Close the tasks that opened by themselves for sessions of a process that ends now."""
        if self._has_opened:
            own = [task for task in self.open_tasks() if not task.is_explicit and task.owners[:1] == (owner,)]
            self._interrupt(own, reason, state)

    def _interrupt(self, tasks: Iterable[Task], reason: str, state: TaskState = TaskState.CLOSED_INTERRUPTED) -> int:
        interrupted = 0
        for task in tasks:
            with self._transaction() as connection:
                found = _load(connection, task.task_id)
                # Another process may have closed it, or begun to work in it, since it was looked at.
                if found is None or not found.is_open or found.owners != task.owners:
                    continue
                self._write(connection, [closing(found, state, reason)], found)
                interrupted += 1
        return interrupted

    def rebuild(self) -> None:
        """Rebuild the tables from the rows of the chain."""
        self._chain.flush()
        with self._chain.database.write() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            tasks: dict[str, Task] = {}
            for record in connection.execute("SELECT * FROM events WHERE task_id IS NOT NULL ORDER BY seq"):
                try:
                    self._replay(connection, tasks, row_of_record(record))
                except (ValueError, TypeError, KeyError):
                    # Verifying the chain names the row; it must not keep the others from being read.
                    _log.warning("a row of a task cannot be read", extra=fields(row=record["seq"]))
            for task in tasks.values():
                _store(connection, task)
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_VERSION_KEY, _TABLES_VERSION))

    @staticmethod
    def _replay(connection: sqlite3.Connection, tasks: dict[str, Task], row: LedgerRow) -> None:
        known = tasks.get(str(row.task_id))
        # The rows of a task whose beginning is no longer kept tell nothing complete about it.
        if known is not None or row.kind == "task_opened":
            tasks[str(row.task_id)] = task_after(known, row)
            _count(connection, row)


def _unknown(task_id: str) -> CodePlaneError:
    return CodePlaneError("NOT_FOUND", f"There is no task {task_id[:80]}.", hint="`cpl task list` shows the tasks.")


def _current_task(connection: sqlite3.Connection, session: str, worktree: str) -> Task | None:
    """Return the newest open task, or the newest of all if a limit has closed it: that one bars the way."""
    scopes = (session, worktree_scope(worktree))
    newest = _newest(connection, scopes, only_open=False)
    if newest is None or newest.is_open or newest.is_exhausted:
        return newest
    return _newest(connection, scopes, only_open=True)


def _found(connection: sqlite3.Connection, begun: NewEvent, persons: PersonsTask | None) -> Task | None:
    """Return the task of a call: a person's as the sealed rows tell it, else the newest of its session."""
    if persons is None:
        return _current_task(connection, begun.session, begun.worktree)
    task = _told(connection, persons.task_id)
    if task is None:
        raise CodePlaneError("CHAIN_BROKEN", f"The rows of the task {persons.task_id} are gone.")
    state = TaskState.CLOSED_FAILED if persons.limit_triggered is not None else TaskState.OPEN
    return replace(task, state=state, limits=persons.limits, is_explicit=True, limit_triggered=persons.limit_triggered)


def _told(connection: sqlite3.Connection, task_id: str) -> Task | None:
    task: Task | None = None
    for record in connection.execute("SELECT * FROM events WHERE task_id = ? ORDER BY seq", (task_id,)):
        row = row_of_record(record)
        if task is not None or row.kind == "task_opened":
            task = task_after(task, row)
    return task


def _excess(open_task: Task, counted: Task, budget: Budget, now_ms: int, *, is_persons: bool) -> Budget | None:
    """Return the limit that one more call would break; a task that an agent opened may be tighter than the sum."""
    excess = counted.excess(budget, now_ms)
    if excess is None and open_task.is_explicit and not is_persons:
        return open_task.excess(budget, now_ms)
    return excess


def _plus_one(counted: Task, budget: Budget) -> Task:
    return replace(
        counted,
        mutation_count=counted.mutation_count + (budget is Budget.MUTATIONS),
        test_run_count=counted.test_run_count + (budget is Budget.TEST_RUNS),
    )


def _newest(connection: sqlite3.Connection, scopes: tuple[str, ...], *, only_open: bool) -> Task | None:
    query = "SELECT task FROM task_states WHERE scope = ? ORDER BY opened_seq DESC LIMIT 1"
    if only_open:
        query = "SELECT task FROM task_states WHERE scope = ? AND state = 'OPEN' ORDER BY opened_seq DESC LIMIT 1"
    found = [record for scope in scopes if (record := connection.execute(query, (scope,)).fetchone()) is not None]
    return max((_decoded(record[0]) for record in found), key=lambda task: task.opened_seq, default=None)


def _open_tasks(connection: sqlite3.Connection) -> tuple[Task, ...]:
    query = "SELECT task FROM task_states WHERE state = 'OPEN' ORDER BY opened_seq"
    return tuple(_decoded(record[0]) for record in connection.execute(query))


def _orphans(tasks: Iterable[Task], ownership: Ownership) -> list[Task]:
    """Return the tasks that processes have worked in which are all gone."""
    fates: dict[str, bool] = {}
    orphans = []
    for task in tasks:
        for owner in task.owners:
            if owner not in fates:
                with ownership.inherit(owner) as is_dead:
                    fates[owner] = is_dead
        if task.owners and all(fates[owner] for owner in task.owners):
            orphans.append(task)
    return orphans


def _load(connection: sqlite3.Connection, task_id: str) -> Task | None:
    record = connection.execute("SELECT task FROM task_states WHERE task_id = ?", (task_id,)).fetchone()
    return _decoded(record[0]) if record is not None else None


def _columns(task: Task) -> tuple[str, str, str, int, str]:
    document = canonical_text({**asdict(task), "state": task.state.value, "owners": list(task.owners)})
    return task.task_id, task.scope, task.state.value, task.opened_seq, document


def _store(connection: sqlite3.Connection, task: Task) -> None:
    connection.execute("INSERT OR REPLACE INTO task_states VALUES (?, ?, ?, ?, ?)", _columns(task))


def _count(connection: sqlite3.Connection, row: LedgerRow) -> None:
    names: list[str] = []
    if row.kind == "task_opened":
        names = ["opened"]
        # States of tasks whose rows are no longer kept are not kept either.
        connection.execute(
            "DELETE FROM task_states WHERE state != 'OPEN' AND opened_seq NOT IN (SELECT seq FROM events)"
        )
    elif row.kind == "task_closed":
        limit = row.body.get("limit_triggered")
        names = [str(row.body["state"]), *([f"exhausted {limit}"] if limit else [])]
    for name in names:
        connection.execute(
            "INSERT INTO task_totals VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1", (name,)
        )


def _decoded(text: str) -> Task:
    """Return a stored state.

    Raises:
        CodePlaneError: STORE_CORRUPT; the chain still has everything.
    """
    try:
        document = json.loads(text)
        document["state"] = TaskState(document["state"])
        document["owners"] = tuple(document["owners"])
        document["limits"] = TaskLimits(**document["limits"])
        document["repo_snapshot"] = RepoSnapshot(**document["repo_snapshot"])
        return Task(**document)
    except (ValueError, TypeError, KeyError) as error:
        raise CodePlaneError(
            "STORE_CORRUPT", "A task's state cannot be read.", details={"file": "ledger.db"}
        ) from error
