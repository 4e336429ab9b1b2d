"""Playwright's own runner, for tests in a browser."""

import json
from collections.abc import Iterator
from typing import Any, Final

from codeplane.core.printable import without_escapes
from codeplane.testrun.model import Case, Finished, Marker, Outcome, Place, Report, Runner
from codeplane.testrun.reports.events import read_report

_OUTCOMES: Final = {"expected": Outcome.PASSED, "flaky": Outcome.PASSED, "skipped": Outcome.SKIPPED}


def parse_playwright(finished: Finished) -> Report:
    """Read the report of the reporter `json`; problems outside of tests are errors."""
    try:
        document = json.loads(read_report(finished))
        root = str((document.get("config") or {}).get("rootDir") or "")
        cases = [case for suite in document["suites"] for case in _cases(suite, "", root)]
        problems = [without_escapes(str(one.get("message") or "")) for one in document.get("errors") or ()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Report(is_whole=False)
    return Report((*cases, *(Case("", Outcome.ERROR, text=text) for text in problems)))


def _cases(suite: dict[str, Any], above: str, root: str) -> Iterator[Case]:
    is_file = suite.get("title") == suite.get("file")
    title = above if is_file else f"{above} {suite.get('title') or ''}".strip()
    for spec in suite.get("specs") or ():
        for test in spec.get("tests") or ():
            yield _case(spec, test, title, root)
    for inner in suite.get("suites") or ():
        yield from _cases(inner, title, root)


def _case(spec: dict[str, Any], test: dict[str, Any], title: str, root: str) -> Case:
    last = (test.get("results") or [{}])[-1]
    problem = last.get("error") or {}
    text = without_escapes(str(problem.get("stack") or problem.get("message") or ""))
    line = (problem.get("location") or {}).get("line") or spec.get("line")
    name = f"{title} {spec.get('title') or ''}".strip()
    project = test.get("projectName")
    place = f"{root}/{spec.get('file')}" if root else str(spec.get("file") or "")
    seconds = float(last.get("duration") or 0) / 1000
    outcome = _OUTCOMES.get(str(test.get("status")), Outcome.FAILED)
    shown = text if outcome.is_bad else ""
    return Case(
        f"{name} [{project}]" if project else name, outcome, place, line, shown, text.partition(":")[0], seconds
    )


PLAYWRIGHT = Runner(
    name="playwright",
    languages=("javascript", "typescript"),
    files=r"\.(?:test|spec)\.[cm]?[jt]sx?$",
    places=(Place(("{path}",), path="node_modules/.bin/playwright"), Place(("playwright",), on_path="playwright")),
    command=("{program}", "test", "{reporting}", "{targets}"),
    reporting=("--reporter=json",),
    parse=parse_playwright,
    markers=(Marker("playwright.config.ts"), Marker("playwright.config.js"), Marker("playwright.config.mjs")),
    manifests=("package.json",),
    uses=r"""["']@playwright/test["']""",
    must_use=True,
    stop_early=("-x",),
    environment={"PLAYWRIGHT_JSON_OUTPUT_NAME": "{report}", "PLAYWRIGHT_JSON_OUTPUT_FILE": "{report}"},
    is_alone=True,
)
