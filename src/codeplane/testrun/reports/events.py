"""The report of our own probes: one JSON object per line, written as it happens."""

import json
from typing import Any

from codeplane.testrun.model import Case, Finished, Outcome, Report

MAX_REPORT_BYTES = 64_000_000


def parse_events(finished: Finished) -> Report:
    """Read the events; a last line that is cut off is left out."""
    cases: list[Case] = []
    at_work, is_whole = "", False
    for event in _events(finished):
        kind = event.get("kind")
        if kind == "start":
            at_work = _text(event, "file")
        elif kind == "case":
            cases.append(_case(event))
        elif kind == "end":
            at_work, is_whole = "", True
    return Report(tuple(cases), is_whole, at_work)


def read_report(finished: Finished) -> str:
    """Return the text of the report, empty when there is none."""
    try:
        with finished.report.open("rb") as file:
            return file.read(MAX_REPORT_BYTES).decode("utf-8", "backslashreplace")
    except OSError:
        return ""


def _events(finished: Finished) -> list[dict[str, Any]]:
    found = []
    for line in read_report(finished).splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def _case(event: dict[str, Any]) -> Case:
    line, seconds = event.get("line"), event.get("seconds")
    outcomes = {one.value: one for one in Outcome}
    return Case(
        _text(event, "name"),
        outcomes.get(_text(event, "outcome"), Outcome.ERROR),
        _text(event, "file"),
        line if type(line) is int else None,
        _text(event, "text"),
        _text(event, "type"),
        float(seconds) if isinstance(seconds, int | float) else 0.0,
    )


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
