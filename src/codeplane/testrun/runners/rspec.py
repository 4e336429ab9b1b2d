"""RSpec, for Ruby."""

import json
import re
from typing import Any, Final

from codeplane.testrun.model import Case, Finished, Marker, Outcome, Place, Report, Runner
from codeplane.testrun.reports.events import read_report

_OUTCOMES: Final = {"passed": Outcome.PASSED, "failed": Outcome.FAILED, "pending": Outcome.SKIPPED}


def parse_rspec(finished: Finished) -> Report:
    """Read the report of the formatter `json`; a file that cannot be loaded is an error."""
    try:
        document = json.loads(read_report(finished))
        cases = [_case(one) for one in document["examples"]]
        n_outside = int(document["summary"].get("errors_outside_of_examples_count") or 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Report(is_whole=False)
    if n_outside:
        text = "\n".join(str(one) for one in document.get("messages") or ())
        found = re.search(r"([\w./-]+_spec\.rb):(\d+)", text)
        place, line = (found[1], int(found[2])) if found else ("", None)
        cases.append(Case("", Outcome.ERROR, place, line, text))
    return Report(tuple(cases))


def _case(one: dict[str, Any]) -> Case:
    problem = one.get("exception") or {}
    place = str(one.get("file_path") or "")
    trace = [str(line) for line in problem.get("backtrace") or ()]
    found = next(
        (match for line in trace if (match := re.search(rf"{re.escape(place.lstrip('./'))}:(\d+)", line))), None
    )
    line = int(found[1]) if found else one.get("line_number")
    text = "\n".join([str(problem.get("message") or "").strip(), *trace[:5]]) if problem else ""
    outcome = _OUTCOMES.get(str(one.get("status")), Outcome.ERROR)
    seconds = float(one.get("run_time") or 0)
    return Case(str(one["full_description"]), outcome, place, line, text, str(problem.get("class") or ""), seconds)


RSPEC = Runner(
    name="rspec",
    languages=("ruby",),
    files=r"_spec\.rb$",
    places=(
        Place(("{path}",), path="bin/rspec"),
        Place(("bundle", "exec", "rspec"), on_path="bundle", beside="Gemfile.lock"),
        Place(("rspec",), on_path="rspec"),
    ),
    command=("{program}", "{reporting}", "{targets}"),
    reporting=("--format=json", "--out={report}"),
    parse=parse_rspec,
    markers=(Marker("Gemfile", r"rspec", is_high=False), Marker(".rspec", is_high=False)),
    manifests=("Gemfile",),
    stop_early=("--fail-fast",),
)
