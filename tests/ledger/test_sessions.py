"""Sessions: found by connection or by a secret id, closed when idle, counted in bytes read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import LEDGER_SCHEMA
from codeplane.ledger.sessions import Session, SessionRegistry, SessionSettings
from codeplane.store.sqlite import Database
from support.doors import caller

IDLE = 30 * 60


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "ledger.db", LEDGER_SCHEMA, durable=False)
    yield opened
    opened.close()


@pytest.fixture
def sessions(database: Database, clock: ManualClock) -> SessionRegistry:
    return _registry(database, clock)


def _registry(database: Database, clock: ManualClock) -> SessionRegistry:
    return SessionRegistry(database, clock, RandomIds(), SessionSettings())


def _refusal(sessions: SessionRegistry, session_id: str) -> str:
    with pytest.raises(CodePlaneError) as caught:
        sessions.find(caller("elsewhere", session_id))
    return caught.value.code


def test_the_first_call_of_a_connection_makes_a_session(sessions: SessionRegistry) -> None:
    found = sessions.find(caller("c1"))
    assert (found.is_new, found.warning, found.session.client) == (True, "", "pytest")


def test_calls_of_one_connection_share_a_session(sessions: SessionRegistry) -> None:
    first = sessions.find(caller("c1"))
    again = sessions.find(caller("c1"))
    assert (again.is_new, again.session) == (False, first.session)


def test_two_connections_have_two_sessions(sessions: SessionRegistry) -> None:
    assert sessions.find(caller("c1")).session.label != sessions.find(caller("c2")).session.label


@pytest.mark.parametrize(("seconds", "is_new"), [(IDLE, False), (IDLE + 1, True)])
def test_a_session_ends_after_thirty_idle_minutes(
    sessions: SessionRegistry, clock: ManualClock, seconds: float, is_new: bool
) -> None:
    sessions.find(caller("c1"))
    clock.advance(seconds)
    found = sessions.find(caller("c1"))
    assert found.is_new is is_new
    assert ("idle for over 30 minutes" in found.warning) is is_new


def test_every_call_starts_the_idle_time_anew(sessions: SessionRegistry, clock: ManualClock) -> None:
    sessions.find(caller("c1"))
    for _ in range(3):
        clock.advance(IDLE - 1)
        assert not sessions.find(caller("c1")).is_new


def test_a_session_is_resumed_by_its_id_from_another_connection(sessions: SessionRegistry) -> None:
    first = sessions.find(caller("c1")).session
    resumed = sessions.find(caller("c2", first.session_id))
    assert (resumed.is_new, resumed.session) == (False, first)
    assert sessions.find(caller("c2")).session is first


def test_a_session_is_resumed_after_a_restart_with_what_it_had_read(
    sessions: SessionRegistry, database: Database, clock: ManualClock
) -> None:
    first = sessions.find(caller("c1")).session
    first.spend_read(123, 1000)
    sessions.save()
    resumed = _registry(database, clock).find(caller("c9", first.session_id)).session
    assert (resumed.label, resumed.read_bytes) == (first.label, 123)


def test_a_session_of_a_connection_that_ended_can_be_resumed(sessions: SessionRegistry) -> None:
    first = sessions.find(caller("c1")).session
    sessions.forget_connection("c1")
    assert sessions.live() == ()
    assert sessions.find(caller("c2", first.session_id)).session.label == first.label


def test_a_connection_that_ended_gets_a_new_session(sessions: SessionRegistry) -> None:
    first = sessions.find(caller("c1")).session
    sessions.forget_connection("c1")
    assert sessions.find(caller("c1")).session.label != first.label


def test_forgetting_one_of_two_connections_keeps_the_session_live(sessions: SessionRegistry) -> None:
    first = sessions.find(caller("c1")).session
    sessions.find(caller("c2", first.session_id))
    sessions.forget_connection("c1")
    assert sessions.live() == (first,)


def test_an_unknown_id_is_refused(sessions: SessionRegistry) -> None:
    assert _refusal(sessions, "sess_unknown") == "SESSION_NOT_FOUND"


def test_a_label_is_no_id(sessions: SessionRegistry) -> None:
    assert _refusal(sessions, sessions.find(caller("c1")).session.label) == "SESSION_NOT_FOUND"


def test_an_expired_id_is_said_to_be_expired_every_time(sessions: SessionRegistry, clock: ManualClock) -> None:
    session_id = sessions.find(caller("c1")).session.session_id
    clock.advance(IDLE + 1)
    assert [_refusal(sessions, session_id) for _ in range(2)] == ["SESSION_EXPIRED"] * 2


def test_an_id_that_expired_before_a_restart_is_expired(
    sessions: SessionRegistry, database: Database, clock: ManualClock
) -> None:
    session_id = sessions.find(caller("c1")).session.session_id
    clock.advance(IDLE + 1)
    assert _refusal(_registry(database, clock), session_id) == "SESSION_EXPIRED"


def test_a_sweep_closes_idle_sessions_only(sessions: SessionRegistry, clock: ManualClock) -> None:
    sessions.find(caller("old"))
    clock.advance(IDLE)
    fresh = sessions.find(caller("fresh")).session
    clock.advance(1)
    assert sessions.sweep() == 1
    assert sessions.live() == (fresh,)


def test_ids_are_never_stored_in_clear(tmp_path: Path, sessions: SessionRegistry, database: Database) -> None:
    session = sessions.find(caller("c1")).session
    sessions.find(caller("c2", session.session_id))
    sessions.save()
    database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("ledger.db*"))
    assert session.label.encode() in stored
    assert session.session_id.encode() not in stored


def _session(read_bytes: int = 0) -> Session:
    return Session("id", "label", "client", 0, 0, read_bytes)


def test_reading_up_to_the_budget_is_allowed() -> None:
    session = _session()
    session.spend_read(60, 100)
    session.spend_read(40, 100)
    assert session.read_bytes == 100


def test_reading_over_the_budget_is_refused_and_not_counted() -> None:
    session = _session(60)
    with pytest.raises(CodePlaneError) as caught:
        session.spend_read(41, 100)
    assert caught.value.code == "READ_BUDGET_EXCEEDED"
    assert caught.value.details == {"budget_type": "read_bytes", "limit": 100, "current": 60}
    assert session.read_bytes == 60


def test_a_budget_of_zero_means_no_limit() -> None:
    session = _session()
    session.spend_read(10**9, 0)
    assert session.read_bytes == 10**9


def test_a_reset_starts_the_budget_anew_and_tells_what_was_used() -> None:
    session = _session(77)
    assert session.reset_reads() == 77
    assert session.read_bytes == 0


def test_a_lasting_connection_finds_its_session_again_in_the_next_server(
    database: Database, clock: ManualClock
) -> None:
    bridge = replace(caller("bridge:" + "a" * 32), is_lasting=True)
    before = _registry(database, clock)
    first = before.find(bridge).session
    first.spend_read(10, 0)
    before.save()
    again = _registry(database, clock).find(bridge)
    assert (again.session.session_id, again.session.read_bytes, again.is_new) == (first.session_id, 10, False)


def test_a_lasting_connection_gets_a_new_session_when_its_old_one_expired(
    database: Database, clock: ManualClock
) -> None:
    bridge = replace(caller("bridge:" + "a" * 32), is_lasting=True)
    first = _registry(database, clock).find(bridge).session
    clock.advance(IDLE + 1)
    assert _registry(database, clock).find(bridge).session.session_id != first.session_id


def test_a_connection_that_does_not_last_gets_a_new_session_in_the_next_server(
    database: Database, clock: ManualClock
) -> None:
    first = _registry(database, clock).find(caller("http:127.0.0.1:5000")).session
    assert _registry(database, clock).find(caller("http:127.0.0.1:5000")).session.session_id != first.session_id
