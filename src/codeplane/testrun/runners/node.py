"""node:test, the runner that is part of Node.js."""

from codeplane.testrun.coverage import parse_lcov
from codeplane.testrun.model import Marker, Measuring, Place, Runner
from codeplane.testrun.reports.events import parse_events

NODE = Runner(
    name="node:test",
    languages=("javascript", "typescript"),
    files=r"(?:[._-]tests?|\.spec|(?:^|/)tests?(?:-[^/]*)?)\.[cm]?[jt]s$|(?:^|/)tests?/.*\.[cm]?[jt]s$",
    places=(Place(("node",), on_path="node"),),
    command=(
        "{program}", "--test", "--test-reporter={probes}/node_events.mjs",
        "--test-reporter-destination={report}", "{targets}",
    ),
    parse=parse_events,
    markers=(Marker("package.json", r'"test[\w:-]*"\s*:\s*"[^"]*\bnode\b[^"]*--test\b'),),
    manifests=("package.json",),
    uses=r"""["']node:test["']""",
    is_alone=True,
    measuring=Measuring(
        parse_lcov,
        (
            "--experimental-test-coverage", "--test-reporter=lcov",
            "--test-reporter-destination={coverage}/lcov.info",
        ),
    ),
)  # fmt: skip
