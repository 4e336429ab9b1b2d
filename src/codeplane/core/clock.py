"""Time, passed in so that tests and replays decide what time it is."""

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import Protocol


class Clock(Protocol):
    """Where the program gets the time from."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards, for durations and deadlines."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()


@dataclass(slots=True)
class ManualClock:
    """A clock that moves only when told to."""

    milliseconds: int = 1_700_000_000_000

    def now_ms(self) -> int:
        """Return the set time."""
        return self.milliseconds

    def monotonic(self) -> float:
        """Return the set time in seconds."""
        return self.milliseconds / 1000

    def advance(self, seconds: float) -> None:
        """Move on by that many seconds."""
        self.milliseconds += round(seconds * 1000)


def iso_from_ms(milliseconds: int) -> str:
    """Return the RFC 3339 form in UTC with milliseconds, as in logs and ledger rows."""
    moment = datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def ms_from_iso(text: str) -> int:
    """Return milliseconds for an ISO 8601 date or time; a value without an offset is UTC.

    Raises:
        ValueError: the text is not such a time.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def local_time(milliseconds: int) -> str:
    """Return a time as people read it: in the machine's time zone, to the second."""
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def local_day(text: str) -> tuple[int, int]:
    """Return when a day such as `2026-01-31` begins and ends in the machine's time zone.

    Raises:
        ValueError: the text is not a day.
    """
    day = datetime.combine(date.fromisoformat(text), time_of_day.min)
    return round(day.timestamp() * 1000), round((day + timedelta(days=1)).timestamp() * 1000)


def local_time_of(iso: str) -> str:
    """Return a time in RFC 3339 as people read it."""
    return local_time(ms_from_iso(iso))
