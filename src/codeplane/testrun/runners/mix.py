"""`mix test` of Elixir, read from the text that ExUnit prints."""

import re
from typing import Final

from codeplane.core.printable import without_escapes
from codeplane.testrun.model import Case, Finished, Marker, Outcome, Place, Report, Runner

_FAILURE: Final = re.compile(
    r"^ {2,4}\d+\) (?:test|doctest|property) (?P<name>.+?) \((?P<module>[\w.]+)\)\n"
    r"\s+(?P<path>\S+):(?P<line>\d+)\n(?P<text>.*?)(?=^ {2,4}\d+\) |^Finished in |^\n\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_SUMMARY: Final = re.compile(r"(\d+) tests?, (\d+) failures?(?:, (\d+) \w+)*")
_ERROR: Final = re.compile(r"^\*\* \((\w+)\) ([^\n]*)(?:.*?([\w./-]+\.exs?):(\d+))?", re.MULTILINE | re.DOTALL)


def parse_mix(finished: Finished) -> Report:
    """Read failures and the summary; tests that passed have no names in this output."""
    text = without_escapes(finished.stdout)
    failures = [_case(one) for one in _FAILURE.finditer(text)]
    summary = _SUMMARY.search(text)
    if summary is None:
        problem = _ERROR.search(without_escapes(finished.stderr) + text)
        if problem is None:
            return Report(is_whole=False)
        line = int(problem[4]) if problem[4] else None
        return Report((Case("compilation", Outcome.ERROR, problem[3] or "", line, problem[0], problem[1]),))
    n_skipped = sum(int(one) for one in re.findall(r"(\d+) (?:skipped|excluded)", summary[0]))
    n_passed = int(summary[1]) - int(summary[2]) - n_skipped
    passed = [Case(f"#{number}", Outcome.PASSED) for number in range(max(0, n_passed))]
    skipped = [Case(f"#{number}", Outcome.SKIPPED) for number in range(n_skipped)]
    return Report((*failures, *passed, *skipped))


def _case(one: re.Match[str]) -> Case:
    lines = [line.strip() for line in one["text"].strip().splitlines() if line.strip()]
    kind = re.search(r"\*\* \((\w+)\)", one["text"])
    text, name = "\n".join(lines), f"{one['module']}::{one['name']}"
    return Case(name, Outcome.FAILED, one["path"], int(one["line"]), text, kind[1] if kind else "AssertionError")


MIX = Runner(
    name="mix test",
    languages=("elixir",),
    files=r"_test\.exs$",
    places=(Place(("mix",), on_path="mix"),),
    command=("{program}", "test", "--no-color", "{targets}"),
    parse=parse_mix,
    markers=(Marker("mix.exs"),),
    stop_early=("--max-failures=1",),
    is_alone=True,
    startup_seconds=300.0,
)
