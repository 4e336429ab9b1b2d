"""A plugin for pytest: tells each result as it happens, with the line of the failure inside the test's own file."""

import json
import os
import re
from typing import Any

import pytest

_MAX_TEXT = 20_000


class Events:
    """Appends events to a file; every line is complete on disk before the next test begins."""

    def __init__(self, path: str, root: str, measured: Any) -> None:
        self._path = path
        self._root = root
        self._measured = measured

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Tell which file is at work."""
        del nodeid
        place = self._absolute(location[0])
        self._write({"kind": "start", "file": place})
        if self._measured is not None:
            self._measured.begin(place)

    def pytest_collectreport(self, report: Any) -> None:
        """Tell a file that could not be collected, or that leaves itself out."""
        if report.failed or report.skipped:
            self._write_case(report, "error" if report.failed else "skipped", report.nodeid.partition("::")[0])

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Tell the outcome of a test: its call, or its set-up or tear-down where these did not go well."""
        if report.when == "call" or not report.passed:
            is_outside = report.failed and report.when != "call"
            self._write_case(report, "error" if is_outside else report.outcome, report.location[0])

    def pytest_sessionfinish(self) -> None:
        """Tell that nothing is missing."""
        if self._measured is not None:
            self._measured.end()
        self._write({"kind": "end"})

    def _write_case(self, report: Any, outcome: str, name: str) -> None:
        text = str(getattr(report, "longreprtext", "") or "") if report.failed else ""
        place = self._absolute(name)
        event = {
            "kind": "case",
            "name": report.nodeid.partition("::")[2],
            "outcome": outcome,
            "file": place,
            "line": _line(report, place),
            "text": text[-_MAX_TEXT:],
            "type": _exception_type(report),
            "seconds": getattr(report, "duration", 0.0),
        }
        self._write(event)

    def _absolute(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._root, name))

    def _write(self, event: "dict[str, Any]") -> None:
        with open(self._path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(event) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Measure coverage from the first import on, instead of a plugin of the project."""
    if os.environ.get("CODEPLANE_COVERAGE"):
        import codeplane_coverage  # type: ignore[import-not-found]  # noqa: PLC0415 - beside this file; seldom needed.

        if hasattr(early_config.known_args_namespace, "no_cov"):
            early_config.known_args_namespace.no_cov = True
        early_config.codeplane_measured = codeplane_coverage.measurement()


def pytest_configure(config: Any) -> None:
    """Begin to tell, in the process that collects the results of all others."""
    path = os.environ.get("CODEPLANE_EVENTS")
    if path and not hasattr(config, "workerinput"):
        root = getattr(config, "rootpath", None) or config.rootdir
        config.pluginmanager.register(
            Events(path, str(root), getattr(config, "codeplane_measured", None)), "codeplane-events"
        )


def _line(report: Any, place: str) -> "int | None":
    """Return the last line of the traceback that is in the test's file; else where the test begins."""
    traceback = getattr(report.longrepr, "reprtraceback", None) if report.failed else None
    found = None
    for entry in getattr(traceback, "reprentries", ()):
        where = getattr(entry, "reprfileloc", None)
        if where is not None and os.path.basename(str(where.path)) == os.path.basename(place):
            found = int(where.lineno)
    if found is None and report.failed:
        match = re.search(re.escape(os.path.basename(place)) + r":(\d+)", str(report.longrepr)[-_MAX_TEXT:])
        found = int(match.group(1)) if match else None
    location = getattr(report, "location", None)
    if found is None and location is not None and location[1] is not None:
        found = int(location[1]) + 1
    return found


def _exception_type(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None) if report.failed else None
    message = str(getattr(crash, "message", "") or "")
    if message.startswith("assert "):
        return "AssertionError"
    match = re.match(r"[A-Za-z_][\w.]*", message)
    return match.group(0) if match else ""
