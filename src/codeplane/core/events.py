"""Events inside one process: published by the code that did something, waited for by the code that shows it."""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Self

RING_SIZE = 1024


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; ids grow by one from event to event of a bus."""

    event_id: int
    kind: str
    data: Mapping[str, Any]


class EventBus:
    """The last events and their subscribers; every method may be called from any thread.

    Invariant: the ring holds the newest `RING_SIZE` events without a gap. Subscriptions only remember how far they have
    read, so a publisher never waits for a reader and a forgotten subscription costs nothing.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ring: deque[Event] = deque(maxlen=RING_SIZE)
        self._last_id = 0

    def publish(self, kind: str, data: Mapping[str, Any]) -> Event:
        """Record an event and wake everybody who waits; the data is copied, one level deep."""
        with self._changed:
            self._last_id += 1
            event = Event(self._last_id, kind, MappingProxyType(dict(data)))
            self._ring.append(event)
            self._changed.notify_all()
        return event

    def subscribe(self) -> "Subscription":
        """Return a subscription to what is published from here on."""
        with self._changed:
            return Subscription(self, self._last_id)

    def _read(self, subscription: "Subscription", timeout: float) -> tuple[Event, ...]:
        with self._changed:
            self._changed.wait_for(
                lambda: subscription.is_closed or self._last_id > subscription.last_read_id, max(0.0, timeout)
            )
            if subscription.is_closed or self._last_id == subscription.last_read_id:
                return ()
            n_unread = self._last_id - subscription.last_read_id
            n_kept = min(n_unread, len(self._ring))
            subscription.missed += n_unread - n_kept
            subscription.last_read_id = self._last_id
            start = len(self._ring) - n_kept
            return tuple(self._ring[i] for i in range(start, len(self._ring)))

    def _close(self, subscription: "Subscription") -> None:
        with self._changed:
            subscription.is_closed = True
            self._changed.notify_all()


class Subscription:
    """One reader's place in the stream of a bus; for one reading thread at a time.

    `missed` counts the events that fell out of the ring before this reader came for them.
    """

    def __init__(self, bus: EventBus, last_read_id: int) -> None:
        self._bus = bus
        self.last_read_id = last_read_id
        self.missed = 0
        self.is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def wait(self, timeout: float) -> tuple[Event, ...]:
        """Return everything unread, waiting up to that many seconds for the first; empty on timeout or when closed."""
        return self._bus._read(self, timeout)  # noqa: SLF001 - two classes, one thing

    def close(self) -> None:
        """End the subscription and wake a thread that waits on it; a second call does nothing."""
        self._bus._close(self)  # noqa: SLF001 - as in `wait`
