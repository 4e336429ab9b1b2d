"""Measures with coverage.py of the project's environment which lines each test file runs."""

import json
import os
from typing import Any

# The tracers of newer interpreters cannot tell test files apart.
_CORE = "ctrace"


class Measurement:
    """One measurement of a process; `begin` names the test file that is at work from then on."""

    def __init__(self, directory: str, sources: "list[str]") -> None:
        self._report = os.path.join(directory, "probe.json")
        self._problem = ""
        self._coverage: Any = None
        self._error: type[BaseException] = ImportError
        try:
            os.environ.setdefault("COVERAGE_CORE", _CORE)
            import coverage  # noqa: PLC0415 - the project's own.

            skipped = [os.path.join(one, name, "*") for one in sources for name in (".venv", "venv", "node_modules")]
            self._error = coverage.CoverageException
            self._coverage = coverage.Coverage(data_file=None, config_file=False, source=sources, omit=skipped)
            self._coverage.start()
        except ImportError:
            self._problem = "coverage.py is not in the project's environment"

    def begin(self, file: str) -> None:
        """Attribute what runs from now on to a test file."""
        if self._coverage is not None:
            self._coverage.switch_context(file)

    def end(self) -> None:
        """Stop and write the report."""
        files: dict[str, Any] = {}
        if self._coverage is not None:
            self._coverage.stop()
            data = self._coverage.get_data()
            files = {path: self._told(data, path) for path in data.measured_files()}
        with open(self._report, "w", encoding="utf-8") as file:
            json.dump({"problem": self._problem, "files": files}, file)

    def _told(self, data: Any, path: str) -> "dict[str, Any]":
        covered = sorted(data.lines(path) or ())
        try:
            missed = self._coverage.analysis2(path)[3]
        except (OSError, SyntaxError, self._error):
            # A file that is gone or does not parse has no statements to miss.
            missed = []
        by_test: dict[str, list[int]] = {}
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in contexts:
                if context:
                    by_test.setdefault(context, []).append(line)
        return {"covered": covered, "missed": missed, "by_test": by_test}


def measurement() -> "Measurement | None":
    """Start to measure, if it is asked for."""
    directory = os.environ.pop("CODEPLANE_COVERAGE", "")
    sources = os.environ.pop("CODEPLANE_COVERAGE_SOURCES", "")
    return Measurement(directory, sources.split(os.pathsep)) if directory else None
