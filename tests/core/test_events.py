"""Events arrive in order, once, and a slow reader learns how many it missed."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.events import RING_SIZE, EventBus

_LONG = 30.0


def test_a_subscriber_gets_what_is_published_after_it_came() -> None:
    bus = EventBus()
    bus.publish("early", {})
    with bus.subscribe() as subscription:
        bus.publish("edit.applied", {"path": "a.py"})
        bus.publish("edit.undone", {})
        events = subscription.wait(0)
    assert [(event.event_id, event.kind) for event in events] == [(2, "edit.applied"), (3, "edit.undone")]
    assert events[0].data == {"path": "a.py"}


def test_an_event_is_delivered_once() -> None:
    bus = EventBus()
    with bus.subscribe() as subscription:
        bus.publish("x", {})
        assert len(subscription.wait(0)) == 1
        assert subscription.wait(0) == ()


def test_waiting_ends_with_nothing_when_nothing_happens() -> None:
    with EventBus().subscribe() as subscription:
        assert subscription.wait(0.001) == ()
        assert subscription.wait(-1) == ()


def test_a_waiting_reader_is_woken_by_a_publisher_in_another_thread() -> None:
    bus = EventBus()
    with ThreadPoolExecutor(1) as pool, bus.subscribe() as subscription:
        waiting = pool.submit(subscription.wait, _LONG)
        bus.publish("x", {"n": 1})
        assert [event.kind for event in waiting.result(_LONG)] == ["x"]


def test_a_waiting_reader_is_woken_when_the_subscription_closes() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(subscription.wait, _LONG)
        subscription.close()
        assert waiting.result(_LONG) == ()
    bus.publish("x", {})
    assert subscription.wait(_LONG) == ()


def test_later_changes_of_the_published_mapping_do_not_reach_the_event() -> None:
    bus = EventBus()
    data = {"n": 1}
    event = bus.publish("x", data)
    data["n"] = 2
    assert event.data == {"n": 1}
    with pytest.raises(TypeError):
        event.data["n"] = 3  # type: ignore[index]  # the test shows that the type tells the truth


@given(st.integers(0, 3 * RING_SIZE))
def test_read_and_missed_events_add_up_to_the_published_ones(n_published: int) -> None:
    bus = EventBus()
    with bus.subscribe() as subscription:
        for _ in range(n_published):
            bus.publish("x", {})
        events = subscription.wait(0)
        assert len(events) == min(n_published, RING_SIZE)
        assert subscription.missed == n_published - len(events)
        assert [event.event_id for event in events] == list(range(subscription.missed + 1, n_published + 1))


def test_many_publishing_threads_share_one_sequence_of_ids() -> None:
    bus = EventBus()
    barrier = threading.Barrier(4)

    def publish_many() -> list[int]:
        barrier.wait(_LONG)
        return [bus.publish("x", {}).event_id for _ in range(100)]

    with ThreadPoolExecutor(4) as pool, bus.subscribe() as subscription:
        published = [future.result(_LONG) for future in [pool.submit(publish_many) for _ in range(4)]]
        received = [event.event_id for event in subscription.wait(0)]
    assert received == list(range(1, 401))
    assert sorted(event_id for ids in published for event_id in ids) == received
    assert all(ids == sorted(ids) for ids in published)
