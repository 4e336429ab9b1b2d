"""Tasks: what their rows add up to, when they end, and that two processes never count apart."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import CountingIds
from codeplane.ledger.chain import EventChain, NewEvent, RowFilter, open_ledger_database
from codeplane.ledger.owners import Ownership
from codeplane.ledger.seals import Anchor, Sealer
from codeplane.ledger.task_book import Reservation, Reserved, TaskBook, TaskFilter, TaskRequest
from codeplane.ledger.tasks import (
    Budget,
    Observed,
    Progress,
    RepoSnapshot,
    Task,
    TaskLimits,
    TaskSettings,
    TaskState,
    exceeded,
    limits_of,
    nearly_used,
)

SMALL = TaskLimits(3, 2, 100)
SNAPSHOT = RepoSnapshot("a" * 40, 7)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def chain(tmp_path: Path, clock: ManualClock) -> Iterator[EventChain]:
    database, _ = open_ledger_database(tmp_path / "ledger.db", clock)
    yield EventChain(database, clock, Sealer(Anchor(tmp_path / "state", "repo_sample", tmp_path / "ledger.db"), clock))
    database.close()


@pytest.fixture
def book(chain: EventChain, clock: ManualClock) -> TaskBook:
    return TaskBook(chain, clock, CountingIds())


class _Calls:
    """Numbers the calls of a test."""

    def __init__(self, book: TaskBook) -> None:
        self._book = book
        self._ids = CountingIds()

    def begin(
        self, session: str = "s-1", budget: Budget = Budget.MUTATIONS, owner: str = "own-1", limits: TaskLimits = SMALL
    ) -> tuple[str, Reserved]:
        call_id = self._ids.new("req")
        begun = NewEvent("begun", session, {}, call_id, "toy")
        return call_id, self._book.reserve(Reservation(begun, budget, owner, limits, SNAPSHOT))

    def mutate(self, fingerprint: str | None, session: str = "s-1") -> Progress:
        call_id, reserved = self.begin(session)
        return self.end(call_id, reserved, mutation_fingerprint=fingerprint, mutation_number=reserved.number)

    def run_tests(self, failure: str | None, session: str = "s-1") -> Progress:
        call_id, reserved = self.begin(session, Budget.TEST_RUNS)
        return self.end(call_id, reserved, failure_fingerprint=failure)

    def end(self, call_id: str, reserved: Reserved, **observed: str | int | None) -> Progress:
        event = NewEvent("finished", "s-1", {}, call_id, "toy", reserved.task.task_id)
        progress = self._book.finish(event, Observed(is_begun=True, **observed))  # type: ignore[arg-type] # by name
        assert progress is not None
        return progress


@pytest.fixture
def calls(book: TaskBook) -> _Calls:
    return _Calls(book)


def _open(book: TaskBook, session: str | None = None, limits: TaskLimits = SMALL, owner: str | None = None) -> Task:
    return book.open(TaskRequest("main", limits, SNAPSHOT, session, owner, {"caller": "person"}))


# Section 12.2: the persisted state.


def test_a_task_shows_every_field_of_the_specification(book: TaskBook, calls: _Calls, clock: ManualClock) -> None:
    calls.mutate("m1")
    calls.run_tests("f1")
    (task,) = book.open_tasks()
    document = task.as_document(clock.now_ms())
    expected = {
        "task_id": task.task_id,
        "opened_at": iso_from_ms(clock.now_ms()),
        "closed_at": None,
        "state": "OPEN",
        "repo_snapshot": {"git_head": "a" * 40, "index_version": 7},
        "limits": {"max_mutations": 3, "max_test_runs": 2, "max_duration_sec": 100},
        "counters": {"mutation_count": 1, "test_run_count": 1},
        "last_mutation_fingerprint": "m1",
        "last_failure_fingerprint": "f1",
    }
    assert {name: document[name] for name in expected} == expected
    json.dumps(document)


@pytest.mark.parametrize(
    ("state", "word"),
    [("OPEN", "OPEN"), ("CLOSED_SUCCESS", "CONVERGED"), ("CLOSED_FAILED", "FAILED"), ("CLOSED_INTERRUPTED", "CLOSED")],
)
def test_every_state_has_its_word_in_the_envelope(state: str, word: str) -> None:
    assert TaskState(state).in_envelope == word


def test_there_are_no_other_states() -> None:
    assert len(TaskState) == 4


def test_the_limits_are_500_mutations_200_test_runs_and_a_day_unless_set() -> None:
    assert limits_of(TaskSettings()) == TaskLimits(500, 200, 24 * 60 * 60)


def test_a_task_is_opened_and_closed_by_rows_of_the_chain(book: TaskBook, chain: EventChain) -> None:
    task = _open(book)
    book.close(task.task_id, TaskState.CLOSED_SUCCESS, "done")
    closed, opened = chain.rows(RowFilter(task_id=task.task_id))
    assert (opened.kind, closed.kind) == ("task_opened", "task_closed")
    assert opened.body["limits"] == {"max_mutations": 3, "max_test_runs": 2, "max_duration_sec": 100}
    assert (closed.body["state"], closed.body["reason"]) == ("CLOSED_SUCCESS", "done")
    assert chain.verify().first_bad_seq is None


@pytest.mark.parametrize("state", [state for state in TaskState if state is not TaskState.OPEN])
def test_a_closed_task_is_never_opened_again(book: TaskBook, state: TaskState) -> None:
    task = _open(book)
    book.close(task.task_id, state, "done")
    for other in TaskState:
        with pytest.raises(CodePlaneError, match=r"is CLOSED_|cannot be closed as OPEN"):
            book.close(task.task_id, other, "again")
    assert book.find(task.task_id).state is state


def test_an_unknown_task_is_not_found(book: TaskBook) -> None:
    for action in (book.find, lambda task_id: book.close(task_id, TaskState.CLOSED_SUCCESS, "")):
        with pytest.raises(CodePlaneError) as caught:
            action("task_nobody")
        assert caught.value.code == "NOT_FOUND"


@pytest.mark.parametrize("session", [None, "s-1"])
def test_a_second_open_task_for_the_same_calls_is_refused_and_named(book: TaskBook, session: str | None) -> None:
    task = _open(book, session)
    with pytest.raises(CodePlaneError, match=task.task_id):
        _open(book, session)
    assert book.open_tasks() == (task,)


# Which task a call belongs to.


def test_the_first_call_that_counts_opens_a_task_for_its_session(book: TaskBook, calls: _Calls) -> None:
    assert book.current_task("s-1", "main") is None
    _, first = calls.begin()
    _, second = calls.begin()
    _, other = calls.begin("s-2")
    assert (first.is_new, second.is_new, other.is_new) == (True, False, True)
    assert first.task.task_id == second.task.task_id != other.task.task_id
    assert not first.task.is_explicit


def test_a_task_of_the_working_tree_takes_the_calls_of_all_its_sessions(book: TaskBook, calls: _Calls) -> None:
    own = calls.begin("s-1")[1].task
    shared = _open(book)
    assert [calls.begin(name)[1].task.task_id for name in ("s-1", "s-2")] == [shared.task_id] * 2
    book.close(shared.task_id, TaskState.CLOSED_SUCCESS, "done")
    assert calls.begin("s-1")[1].task.task_id == own.task_id


def test_a_task_of_another_working_tree_takes_nothing(book: TaskBook, calls: _Calls) -> None:
    shared = book.open(TaskRequest("wt-other", SMALL, SNAPSHOT))
    assert calls.begin()[1].task.task_id != shared.task_id


def test_a_task_of_a_session_that_was_opened_later_comes_first(book: TaskBook, calls: _Calls) -> None:
    shared = _open(book)
    own = _open(book, "s-1")
    assert calls.begin("s-1")[1].task.task_id == own.task_id
    assert calls.begin("s-2")[1].task.task_id == shared.task_id


@pytest.mark.parametrize("state", [TaskState.CLOSED_SUCCESS, TaskState.CLOSED_FAILED, TaskState.CLOSED_INTERRUPTED])
def test_after_somebody_closed_the_task_the_next_call_opens_a_new_one(
    book: TaskBook, calls: _Calls, state: TaskState
) -> None:
    first = calls.begin()[1].task
    book.close(first.task_id, state, "done")
    _, second = calls.begin()
    assert (second.is_new, second.excess) == (True, None)
    assert second.task.task_id != first.task_id


# Section 12.3: limits.


@pytest.mark.parametrize(("budget", "limit"), [(Budget.MUTATIONS, 3), (Budget.TEST_RUNS, 2)])
def test_call_n_passes_and_call_n_plus_1_is_refused_and_closes_the_task(
    calls: _Calls, chain: EventChain, budget: Budget, limit: int
) -> None:
    assert [calls.begin(budget=budget)[1].excess for _ in range(limit)] == [None] * limit
    _, refused = calls.begin(budget=budget)
    assert refused.excess is budget
    assert (refused.task.state, refused.task.limit_triggered) == (TaskState.CLOSED_FAILED, budget.value)
    assert len(chain.open_calls()) == limit
    closed = chain.rows(RowFilter(kinds=("task_closed",)))[0]
    assert closed.body["limit_triggered"] == budget.value


def test_the_refusal_is_the_one_of_the_specification() -> None:
    task = replace(_a_task(), limits=TaskLimits(20, 2, 100))
    document = exceeded(task, Budget.MUTATIONS).as_dict()
    expected = {
        "code": 6001,
        "error": "TASK_BUDGET_EXCEEDED",
        "message": "Mutation budget exceeded (20/20)",
        "retryable": False,
        "details": {"budget_type": "mutations", "limit": 20, "current": 20},
    }
    assert {name: document[name] for name in expected} == expected


def _a_task() -> Task:
    return Task("task_1", "s-1", "main", False, ("own-1",), 1, 1_000, SMALL, SNAPSHOT, latest_ms=1_000)


def test_an_exhausted_task_bars_every_call_that_counts_until_another_is_opened(book: TaskBook, calls: _Calls) -> None:
    for _ in range(4):
        calls.begin()
    exhausted = calls.begin(budget=Budget.TEST_RUNS)[1]
    assert (exhausted.excess, exhausted.is_new) == (Budget.MUTATIONS, False)
    renewed = _open(book, "s-1")
    _, passed = calls.begin()
    assert (passed.excess, passed.task.task_id) == (None, renewed.task_id)


def test_an_exhausted_task_of_the_working_tree_bars_new_sessions_too(book: TaskBook, calls: _Calls) -> None:
    _open(book)
    for number in range(4):
        calls.begin(f"s-{number}")
    assert calls.begin("s-new")[1].excess is Budget.MUTATIONS
    book.close(_open(book).task_id, TaskState.CLOSED_SUCCESS, "done")
    assert calls.begin("s-new")[1].excess is None


def test_a_limit_of_nothing_refuses_the_first_call(calls: _Calls, chain: EventChain) -> None:
    _, refused = calls.begin(limits=TaskLimits(0, 0, 100))
    assert refused.excess is Budget.MUTATIONS
    assert [row.kind for row in reversed(chain.rows(RowFilter()))] == ["task_opened", "task_closed"]


@pytest.mark.parametrize(("seconds", "excess"), [(0, None), (100, None), (100.001, Budget.DURATION)])
def test_the_time_counts_from_the_opening(
    calls: _Calls, clock: ManualClock, seconds: float, excess: Budget | None
) -> None:
    calls.begin()
    clock.advance(seconds)
    _, reserved = calls.begin()
    assert reserved.excess is excess
    if excess is not None:
        assert exceeded(reserved.task, excess).details == {"budget_type": "duration", "limit": 100, "current": 100}


def test_a_clock_that_runs_backwards_gives_no_time_back(calls: _Calls, clock: ManualClock) -> None:
    calls.begin()
    clock.advance(90)
    calls.begin()
    clock.advance(-1_000_000)
    _, reserved = calls.begin()
    assert reserved.excess is None
    assert reserved.task.elapsed_ms(clock.now_ms()) == 90_000
    clock.advance(1_000_011)
    assert calls.begin()[1].excess is Budget.DURATION


def test_a_task_over_its_time_stays_closed_when_the_clock_goes_back(calls: _Calls, clock: ManualClock) -> None:
    calls.begin()
    clock.advance(101)
    assert calls.begin()[1].excess is Budget.DURATION
    clock.advance(-101)
    assert calls.begin()[1].excess is Budget.DURATION


@pytest.mark.parametrize(("used", "sentences"), [(80, 0), (81, 1), (100, 1)])
def test_more_than_80_percent_is_said(used: int, sentences: int) -> None:
    task = replace(_a_task(), limits=TaskLimits(100, 100, 100), mutation_count=used)
    assert len(nearly_used(task, Budget.MUTATIONS, 1_000)) == sentences
    assert nearly_used(task, Budget.TEST_RUNS, 1_000) == ()


# Section 12.3: fingerprints.


def test_the_same_mutation_twice_in_a_row_is_a_no_op_and_still_counts(book: TaskBook, calls: _Calls) -> None:
    assert [calls.mutate(text).is_no_op for text in ("m1", "m1", "m2")] == [False, True, False]
    assert book.open_tasks()[0].mutation_count == 3


def test_the_same_mutation_after_another_is_no_repeat(calls: _Calls) -> None:
    assert [calls.mutate(text).is_no_op for text in ("m1", "m2", "m1")] == [False, False, False]


def test_a_mutation_that_failed_without_a_change_does_not_hide_a_repeat(calls: _Calls) -> None:
    assert [calls.mutate(text).is_no_op for text in ("m1", None, "m1")] == [False, False, True]


def test_a_mutation_whose_outcome_is_unknown_stands_between_two_others(calls: _Calls) -> None:
    calls.mutate("m1")
    calls.begin()
    assert not calls.mutate("m1").is_no_op


def test_mutations_of_different_tasks_are_not_compared(calls: _Calls) -> None:
    assert [calls.mutate("m1", session).is_no_op for session in ("s-1", "s-2")] == [False, False]


def test_the_same_failure_after_a_mutation_is_no_progress(calls: _Calls) -> None:
    assert not calls.run_tests("f1").non_progress
    calls.mutate("m1")
    assert calls.run_tests("f1").non_progress


@pytest.mark.parametrize(
    ("between", "failure"), [(None, "f1"), ("m1", "f2"), ("m1", None)], ids=["no mutation", "another", "none"]
)
def test_anything_else_is_no_sign_of_standing_still(calls: _Calls, between: str | None, failure: str | None) -> None:
    calls.run_tests("f1")
    if between is not None:
        calls.mutate(between)
    assert not calls.run_tests(failure).non_progress


def test_fingerprints_stand_in_the_final_row(calls: _Calls, chain: EventChain) -> None:
    calls.mutate("m1")
    calls.mutate("m1")
    row = chain.rows(RowFilter(kinds=("finished",)))[0]
    assert row.body == {"mutation_number": 2, "mutation_fingerprint": "m1", "is_no_op": True, "non_progress": False}


def test_a_call_that_recovery_has_ended_is_not_ended_again(book: TaskBook, calls: _Calls, chain: EventChain) -> None:
    call_id, reserved = calls.begin()
    event = NewEvent("failed", "s-1", {}, call_id, "toy", reserved.task.task_id)
    chain.end_call(event)
    assert book.finish(event, Observed(is_begun=True, mutation_number=1, mutation_fingerprint="m1")) is None
    assert [row.kind for row in chain.rows(RowFilter(call_id=call_id))] == ["failed", "begun"]


# Section 12.4: restarts.


def _ownership(tmp_path: Path, owner: str) -> Ownership:
    return Ownership(tmp_path / "owners", owner)


def test_tasks_of_dead_processes_are_interrupted_and_those_of_living_ones_are_not(
    book: TaskBook, calls: _Calls, tmp_path: Path
) -> None:
    alive = _ownership(tmp_path, "own-alive")
    alive.claim()
    dead = calls.begin("s-1", owner="own-dead")[1].task
    living = calls.begin("s-2", owner="own-alive")[1].task
    assert book.interrupt_orphans(_ownership(tmp_path, "own-new")) == 1
    assert book.find(dead.task_id).state is TaskState.CLOSED_INTERRUPTED
    assert book.find(living.task_id).is_open
    alive.release()


def test_a_task_is_kept_while_one_of_its_processes_lives(book: TaskBook, calls: _Calls, tmp_path: Path) -> None:
    alive = _ownership(tmp_path, "own-alive")
    alive.claim()
    shared = _open(book)
    calls.begin("s-1", owner="own-alive")
    calls.begin("s-2", owner="own-dead")
    assert book.interrupt_orphans(_ownership(tmp_path, "own-new")) == 0
    alive.release()
    assert book.interrupt_orphans(_ownership(tmp_path, "own-new")) == 1
    assert book.find(shared.task_id).reason == "its process ended"


def test_a_task_that_nobody_worked_in_yet_outlives_a_restart(book: TaskBook, calls: _Calls, tmp_path: Path) -> None:
    task = _open(book)
    assert book.interrupt_orphans(_ownership(tmp_path, "own-new")) == 0
    calls.begin(owner="own-dead")
    assert book.interrupt_orphans(_ownership(tmp_path, "own-new")) == 1
    assert not book.find(task.task_id).is_open


def test_a_task_opened_through_a_server_ends_with_it(book: TaskBook, tmp_path: Path) -> None:
    _open(book, owner="own-dead")
    assert book.interrupt_orphans(_ownership(tmp_path, "own-new")) == 1


def test_a_person_s_task_outlives_the_processes_that_come_and_go(book: TaskBook, calls: _Calls, tmp_path: Path) -> None:
    """Otherwise a caller could get rid of its limits by killing its own process."""
    shared = _open(book)
    calls.begin("s-1", owner="own-dead")
    assert book.interrupt_implicit_orphans(_ownership(tmp_path, "own-new")) == 0
    assert calls.begin("s-2", owner="own-new")[1].task.task_id == shared.task_id


def test_no_task_goes_on_by_itself_after_a_restart(book: TaskBook, calls: _Calls, tmp_path: Path) -> None:
    before = calls.begin(owner="own-dead")[1].task
    book.interrupt_orphans(_ownership(tmp_path, "own-new"))
    after = calls.begin(owner="own-new")[1].task
    assert (after.task_id != before.task_id, after.mutation_count) == (True, 1)


def test_a_process_that_ends_closes_the_tasks_of_its_sessions_only(book: TaskBook, calls: _Calls) -> None:
    own = calls.begin("s-1", owner="own-1")[1].task
    other = calls.begin("s-2", owner="own-2")[1].task
    shared = _open(book)
    calls.begin("s-1", owner="own-1")
    book.close_own("own-1")
    states = [book.find(task.task_id).state.value for task in (own, other, shared)]
    assert states == ["CLOSED_INTERRUPTED", "OPEN", "OPEN"]


def test_a_session_that_ends_closes_its_task(book: TaskBook, calls: _Calls) -> None:
    task = calls.begin("s-1")[1].task
    book.close_session("s-2")
    assert book.find(task.task_id).is_open
    book.close_session("s-1")
    assert (book.find(task.task_id).state, book.find(task.task_id).reason) == (
        TaskState.CLOSED_INTERRUPTED,
        "its session ended",
    )


# The table is what the rows say.


def _everything(book: TaskBook) -> tuple[object, ...]:
    return book.tasks(TaskFilter(limit=500)), book.totals()


def test_the_states_can_be_made_anew_from_the_rows(book: TaskBook, calls: _Calls, clock: ManualClock) -> None:
    shared = _open(book)
    for text in ("m1", "m1", None):
        calls.mutate(text)
        clock.advance(1)
    calls.begin("s-3")
    book.close(_open(book, "s-3").task_id, TaskState.CLOSED_SUCCESS, "done")
    _open(book, "s-4")
    calls.run_tests("f1", "s-4")
    book.close_session("s-4")
    before = _everything(book)
    book.rebuild()
    assert _everything(book) == before
    assert book.find(shared.task_id).is_exhausted


def test_a_ledger_without_the_tables_gets_them_from_its_rows(
    book: TaskBook, calls: _Calls, chain: EventChain, clock: ManualClock
) -> None:
    calls.mutate("m1")
    before = _everything(book)
    with chain.database.write() as connection:
        connection.execute("DROP TABLE task_states")
        connection.execute("DROP TABLE task_totals")
        connection.execute("DELETE FROM meta WHERE key = 'task_states_version'")
    assert _everything(TaskBook(chain, clock, CountingIds())) == before


def test_the_views_of_the_specification_show_the_same_tasks(book: TaskBook, calls: _Calls, chain: EventChain) -> None:
    calls.mutate("m1")
    book.close(_open(book).task_id, TaskState.CLOSED_SUCCESS, "done")
    with chain.database.read() as connection:
        found = {record["task_id"]: record["state"] for record in connection.execute("SELECT * FROM tasks")}
    assert found == {task.task_id: task.state.value for task in book.tasks(TaskFilter())}


def test_a_state_that_somebody_broke_is_refused_and_not_guessed(
    book: TaskBook, calls: _Calls, chain: EventChain
) -> None:
    calls.begin()
    with chain.database.write() as connection:
        connection.execute("UPDATE task_states SET task = '{}'")
    with pytest.raises(CodePlaneError) as caught:
        calls.begin()
    assert caught.value.code == "STORE_CORRUPT"
    book.rebuild()
    assert calls.begin()[1].task.mutation_count == 2


@pytest.mark.parametrize("body", ["not JSON", "[]", "{}"])
def test_rows_that_somebody_broke_do_not_hide_the_other_tasks(
    book: TaskBook, calls: _Calls, chain: EventChain, body: str
) -> None:
    broken = calls.begin("s-1")[1].task
    sound = calls.begin("s-2")[1].task
    with chain.database.write() as connection:
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (body, broken.opened_seq))
    book.rebuild()
    assert [task.task_id for task in book.tasks(TaskFilter())] == [sound.task_id]


def test_rows_that_wait_are_written_before_those_of_the_task(calls: _Calls, chain: EventChain) -> None:
    chain.append_later(NewEvent("finished", "s-1", {}, "req_read", "describe"))
    calls.begin()
    assert [row.kind for row in chain.rows_after(0, 10)] == ["finished", "task_opened", "begun"]


def test_states_of_tasks_whose_rows_are_no_longer_kept_go_with_them(
    book: TaskBook, calls: _Calls, chain: EventChain
) -> None:
    old = calls.begin("s-1")[1].task
    still_open = calls.begin("s-2")[1].task
    book.close(old.task_id, TaskState.CLOSED_SUCCESS, "done")
    with chain.database.write() as connection:
        connection.execute("DELETE FROM events WHERE seq < (SELECT MAX(seq) FROM events)")
    _open(book)
    assert {task.task_id for task in book.tasks(TaskFilter())} & {old.task_id, still_open.task_id} == {
        still_open.task_id
    }


# Lists.


def test_tasks_are_listed_newest_first_and_page_by_page(book: TaskBook, calls: _Calls) -> None:
    made = [calls.begin(f"s-{number}")[1].task.task_id for number in range(5)]
    paged: list[str] = []
    before: int | None = None
    while page := book.tasks(TaskFilter(before_seq=before, limit=2)):
        paged += [task.task_id for task in page]
        before = page[-1].opened_seq
    assert paged == list(reversed(made))


def test_lists_can_be_narrowed_by_state_and_session(book: TaskBook, calls: _Calls) -> None:
    one, two = (calls.begin(name)[1].task for name in ("s-1", "s-2"))
    book.close(one.task_id, TaskState.CLOSED_SUCCESS, "done")
    assert [task.task_id for task in book.tasks(TaskFilter(TaskState.OPEN))] == [two.task_id]
    assert [task.task_id for task in book.tasks(TaskFilter(session="s-1"))] == [one.task_id]


def test_totals_tell_how_tasks_ended(book: TaskBook, calls: _Calls) -> None:
    for _ in range(4):
        calls.begin("s-1")
    book.reset("main", "test")
    book.close(calls.begin("s-2")[1].task.task_id, TaskState.CLOSED_SUCCESS, "done")
    calls.begin("s-3")
    totals = book.totals()
    assert (totals.opened, totals.closed, totals.exhausted) == (
        3,
        {"CLOSED_SUCCESS": 1, "CLOSED_FAILED": 1, "CLOSED_INTERRUPTED": 0},
        {"mutations": 1, "test_runs": 0, "duration": 0},
    )
