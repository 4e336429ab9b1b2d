"""Runs unittest on some files and tells each result as it happens: `python this.py [--failfast] FILE...`."""

import glob
import json
import os
import sys
import time
import traceback
import unittest
from typing import Any

_MAX_TEXT = 20_000


class Events(unittest.TextTestResult):
    """A result that appends events to the file of `CODEPLANE_EVENTS`."""

    measured: Any = None

    def startTest(self, test: Any) -> None:
        """Tell which file is at work."""
        super().startTest(test)
        self.started = time.time()
        place = _file_of(test)
        _write({"kind": "start", "file": place})
        if Events.measured is not None:
            Events.measured.begin(place)

    def addSuccess(self, test: Any) -> None:
        """Tell a test that passed."""
        super().addSuccess(test)
        self._tell(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:
        """Tell an assertion that failed."""
        super().addFailure(test, err)
        self._tell(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:
        """Tell an exception that nobody expected."""
        super().addError(test, err)
        self._tell(test, "error", err)

    def addSkip(self, test: Any, reason: str) -> None:
        """Tell a skipped test."""
        super().addSkip(test, reason)
        self._tell(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """Tell a failure that was announced."""
        super().addExpectedFailure(test, err)
        self._tell(test, "skipped")

    def addUnexpectedSuccess(self, test: Any) -> None:
        """Tell a test that should have failed."""
        super().addUnexpectedSuccess(test)
        self._tell(test, "failed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """Tell a part of a test that failed."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            is_failure = issubclass(err[0], test.failureException)
            self._tell(test, "failed" if is_failure else "error", err, str(subtest))

    def _tell(self, test: Any, outcome: str, err: Any = None, name: str = "") -> None:
        place = _file_of(test)
        text = "".join(traceback.format_exception(*err)) if err is not None else ""
        _write({
            "kind": "case",
            "name": name or _name_of(test),
            "outcome": outcome,
            "file": place,
            "line": _line(err, place),
            "text": text[-_MAX_TEXT:],
            "type": err[0].__name__ if err is not None else "",
            "seconds": time.time() - getattr(self, "started", time.time()),
        })  # fmt: skip


def _name_of(test: Any) -> str:
    parts = str(test.id()).split(".")
    return "::".join(parts[-2:])


def _file_of(test: Any) -> str:
    module = sys.modules.get(type(test).__module__)
    place = getattr(module, "__file__", "") or ""
    if type(test).__name__ == "_FailedTest":
        # The module could not be imported; the name of the test is the module's.
        place = str(test.id()).rpartition("_FailedTest.")[2].replace(".", os.sep) + ".py"
        place = next((one for one in sys.argv[1:] if one.endswith(place)), place)
    return os.path.abspath(place)


def _line(err: Any, place: str) -> "int | None":
    lines = [frame.lineno for frame in traceback.extract_tb(err[2]) if frame.filename == place] if err else []
    return lines[-1] if lines else None


def _write(event: "dict[str, Any]") -> None:
    with open(os.environ["CODEPLANE_EVENTS"], "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps(event) + "\n")


def _top_of(directory: str) -> str:
    """Return the first directory above that is not a package."""
    while os.path.exists(os.path.join(directory, "__init__.py")):
        directory = os.path.dirname(directory)
    return directory


def main(arguments: "list[str]") -> int:
    """Run the files and return the exit code."""
    files = [one for one in arguments if one != "--failfast"]
    if os.environ.get("CODEPLANE_COVERAGE"):
        import codeplane_coverage  # type: ignore[import-not-found]  # noqa: PLC0415 - beside this file; seldom needed.

        Events.measured = codeplane_coverage.measurement()
    sys.path[0] = os.getcwd()
    suite = unittest.TestSuite()
    for name in files:
        directory, base = os.path.split(os.path.abspath(name))
        suite.addTests(unittest.TestLoader().discover(directory, glob.escape(base), _top_of(directory)))
    runner = unittest.TextTestRunner(
        resultclass=Events,  # type: ignore[arg-type]  # Generic in stubs only.
        failfast="--failfast" in arguments,
    )
    result = runner.run(suite)
    if Events.measured is not None:
        Events.measured.end()
    _write({"kind": "end"})
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
