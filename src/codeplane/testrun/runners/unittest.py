"""unittest of Python's standard library, through a runner of our own that tells each result."""

from codeplane.testrun.coverage import parse_probe
from codeplane.testrun.environment import python_places
from codeplane.testrun.model import Measuring, Runner
from codeplane.testrun.reports.events import parse_events

UNITTEST = Runner(
    name="unittest",
    languages=("python",),
    files=r"(?:^|/)(?:test[^/]*|[^/]*_test)\.py$",
    places=python_places(""),
    command=("{program}", "{probes}/codeplane_unittest_events.py", "{targets}"),
    parse=parse_events,
    manifests=("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"),
    stop_early=("--failfast",),
    environment={"CODEPLANE_EVENTS": "{report}"},
    is_live=True,
    measuring=Measuring(
        parse_probe,
        environment={"CODEPLANE_COVERAGE": "{coverage}", "CODEPLANE_COVERAGE_SOURCES": "{scope}"},
        joins=":",
    ),
)
