"""Times as people write and read them."""

import time
from collections.abc import Iterator

import pytest

from codeplane.core.clock import iso_from_ms, local_day


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the machine be in New York for a test."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize(
    ("day", "begin", "end"),
    [
        ("2026-11-19", "2026-11-19T05:00:00.000Z", "2026-11-20T05:00:00.000Z"),
        ("2026-03-08", "2026-03-08T05:00:00.000Z", "2026-03-09T04:00:00.000Z"),
    ],
)
def test_a_day_is_that_of_the_machine_also_when_its_clocks_change(day: str, begin: str, end: str) -> None:
    assert tuple(map(iso_from_ms, local_day(day))) == (begin, end)


@pytest.mark.parametrize("text", ["", "2026-02-30", "2026-01-01T00:00:00Z", "today"])
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        local_day(text)
