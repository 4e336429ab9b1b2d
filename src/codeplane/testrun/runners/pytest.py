"""pytest, for Python."""

from collections.abc import Sequence

from codeplane.testrun.coverage import parse_probe
from codeplane.testrun.environment import python_places
from codeplane.testrun.model import Marker, Measuring, Runner
from codeplane.testrun.reports.events import parse_events


def _choose(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{argument}::{name}" for name in names)


PYTEST = Runner(
    name="pytest",
    languages=("python",),
    files=r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$",
    places=python_places("pytest"),
    command=("{program}", "-q", "--continue-on-collection-errors", "{reporting}", "{targets}"),
    reporting=("--tb=short", "-p", "codeplane_pytest_events"),
    parse=parse_events,
    markers=(
        Marker("pytest.ini"),
        Marker("pyproject.toml", r"(?m)^\[tool\.pytest\b"),
        Marker("setup.cfg", r"(?m)^\[tool:pytest\]", is_high=False),
        Marker("tox.ini", r"(?m)^\[pytest\]", is_high=False),
        Marker("conftest.py", is_high=False, is_root=False),
    ),
    manifests=("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt"),
    files_setting=r"(?m)^python_files\s*=\s*(\[[^\]]*\]|[^\n]*(?:\n[ \t]+[^\n]+)*)",
    choose=_choose,
    stop_early=("-x",),
    environment={"CODEPLANE_EVENTS": "{report}", "PYTHONPATH": "{probes}:{directory}"},
    no_tests=frozenset({5}),
    is_live=True,
    measuring=Measuring(
        parse_probe,
        environment={"CODEPLANE_COVERAGE": "{coverage}", "CODEPLANE_COVERAGE_SOURCES": "{scope}"},
        joins=":",
    ),
)
