"""Times that callers give: ISO dates and times, or relative ones such as `2 weeks ago`."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

_AGO: Final = re.compile(r"(\d{1,6})\s*(second|minute|hour|day|week|month|year)s?(?:\s+ago)?", re.IGNORECASE)
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}


def parse_moment(text: str, now_ms: int, *, is_end: bool) -> str:
    """Return a time in ISO 8601 with an offset; a date alone means its first second, or its last for an end.

    Without an offset the time is the machine's, as git takes it.

    Raises:
        ValueError: it is neither an ISO date nor a relative time.
    """
    cleaned = text.strip()
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    relative = {"now": 0, "today": 0, "yesterday": 1}.get(cleaned.lower())
    if relative is not None:
        return (now - timedelta(days=relative)).isoformat(timespec="seconds")
    ago = _AGO.fullmatch(cleaned)
    try:
        if ago is not None:
            return (now - _span(int(ago[1]), ago[2].lower())).isoformat(timespec="seconds")
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", cleaned):
            clock = time(23, 59, 59) if is_end else time(0, 0)
            moment = datetime.combine(date.fromisoformat(cleaned), clock)
        else:
            moment = datetime.fromisoformat(cleaned)
        return (moment if moment.tzinfo else moment.astimezone()).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"`{text[:60]}` is neither an ISO date such as 2026-01-31 nor like `2 weeks ago`") from error


def _span(number: int, unit: str) -> timedelta:
    if unit in _DAYS:
        return timedelta(days=number * _DAYS[unit])
    return timedelta(**{f"{unit}s": number})
