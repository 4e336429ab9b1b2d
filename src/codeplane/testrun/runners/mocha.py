"""mocha, for JavaScript and TypeScript."""

import json
import re
from typing import Any

from codeplane.testrun.model import Case, Finished, Marker, Outcome, Place, Report, Runner
from codeplane.testrun.reports.events import read_report


def parse_mocha(finished: Finished) -> Report:
    """Read the report of mocha's reporter `json`."""
    try:
        document = json.loads(read_report(finished))
        pending = {(one.get("file"), one["fullTitle"]) for one in document["pending"]}
        cases = [_case(one, (one.get("file"), one["fullTitle"]) in pending) for one in document["tests"]]
        known = {(one.place, one.name) for one in cases}
        hooks = [_case(one, is_skipped=False) for one in document["failures"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Report(is_whole=False)
    return Report((*cases, *(one for one in hooks if (one.place, one.name) not in known)))


def _case(one: dict[str, Any], is_skipped: bool) -> Case:  # noqa: FBT001 - what the list of pending tests says.
    problem = one.get("err") or {}
    text = str(problem.get("stack") or problem.get("message") or "")
    outcome = Outcome.SKIPPED if is_skipped else Outcome.FAILED if problem else Outcome.PASSED
    place = str(one.get("file") or "")
    found = re.search(rf"{re.escape(place)}:(\d+)", text) if place else None
    kind = str(problem.get("name") or text.partition(":")[0])
    seconds = float(one.get("duration") or 0) / 1000
    return Case(str(one["fullTitle"]), outcome, place, int(found[1]) if found else None, text, kind, seconds)


MOCHA = Runner(
    name="mocha",
    languages=("javascript", "typescript"),
    files=r"\.(?:test|spec)\.[cm]?[jt]s$|(?:^|/)test/[^/]*\.[cm]?[jt]s$",
    places=(Place(("{path}",), path="node_modules/.bin/mocha"), Place(("mocha",), on_path="mocha")),
    command=("{program}", "{reporting}", "{targets}"),
    reporting=("--reporter=json", "--reporter-option=output={report}"),
    parse=parse_mocha,
    markers=(
        Marker(".mocharc.js"),
        Marker(".mocharc.cjs"),
        Marker(".mocharc.json"),
        Marker(".mocharc.yml"),
        Marker(".mocharc.yaml"),
        Marker("package.json", r'"mocha"\s*:', is_high=False),
    ),
    manifests=("package.json",),
    stop_early=("--bail",),
)
