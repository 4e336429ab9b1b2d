"""The JSON report that jest writes, and vitest in the same form."""

import json
import re
from typing import Any, Final

from codeplane.core.printable import without_escapes
from codeplane.testrun.model import Case, Finished, Outcome, Report
from codeplane.testrun.reports.events import read_report

_OUTCOMES: Final = {
    "passed": Outcome.PASSED,
    "failed": Outcome.FAILED,
    "pending": Outcome.SKIPPED,
    "skipped": Outcome.SKIPPED,
    "todo": Outcome.SKIPPED,
    "disabled": Outcome.SKIPPED,
}


def parse_jest(finished: Finished) -> Report:
    """Read the report; a file that could not be loaded is one error."""
    try:
        document = json.loads(read_report(finished))
        suites = document["testResults"]
        cases = [case for suite in suites for case in _suite_cases(suite)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Report(is_whole=False)
    return Report(tuple(cases))


def _suite_cases(suite: dict[str, Any]) -> list[Case]:
    place = str(suite.get("name") or suite.get("testFilePath") or "")
    cases = [_case(one, place) for one in suite.get("assertionResults") or ()]
    if not cases and suite.get("status") == "failed":
        text = without_escapes(str(suite.get("message") or suite.get("failureMessage") or ""))
        cases = [Case("", Outcome.ERROR, place, _line_in(text, place), text)]
    return cases


def _case(one: dict[str, Any], place: str) -> Case:
    text = without_escapes("\n".join(map(str, one.get("failureMessages") or ())))
    location = one.get("location") or {}
    line = _line_in(text, place) or location.get("line")
    name = str(one.get("fullName") or one.get("title") or "")
    seconds = float(one.get("duration") or 0) / 1000
    outcome = _OUTCOMES.get(str(one.get("status")), Outcome.ERROR)
    return Case(name, outcome, place, line, text, text.partition(":")[0].strip(), seconds)


def _line_in(text: str, place: str) -> int | None:
    """Return the line of a stack that is in the test file."""
    name = re.escape(place.replace("\\", "/").rpartition("/")[2])
    found = re.search(rf"{name}:(\d+)(?::\d+)?", text) if name else None
    return int(found[1]) if found else None
