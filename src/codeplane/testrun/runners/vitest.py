"""vitest, for JavaScript and TypeScript."""

from codeplane.testrun.coverage import parse_lcov
from codeplane.testrun.model import Marker, Measuring, Place, Runner
from codeplane.testrun.reports.jest_json import parse_jest

VITEST = Runner(
    name="vitest",
    languages=("javascript", "typescript", "tsx"),
    files=r"\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)__tests__/[^/]*\.[cm]?[jt]sx?$",
    places=(Place(("{path}",), path="node_modules/.bin/vitest"), Place(("vitest",), on_path="vitest")),
    command=("{program}", "run", "{reporting}", "{targets}"),
    reporting=("--reporter=json", "--outputFile={report}"),
    parse=parse_jest,
    markers=(
        Marker("vitest.config.js"),
        Marker("vitest.config.ts"),
        Marker("vitest.config.mjs"),
        Marker("vitest.config.mts"),
        Marker("vite.config.ts", r"\btest\s*:\s*\{", is_high=False),
        Marker("vite.config.js", r"\btest\s*:\s*\{", is_high=False),
        Marker("package.json", r'"vitest"\s*:', is_high=False),
    ),
    manifests=("package.json",),
    uses=r"""["']vitest["']""",
    stop_early=("--bail=1",),
    is_alone=True,
    measuring=Measuring(
        parse_lcov,
        ("--coverage", "--coverage.reporter=lcovonly", "--coverage.reportsDirectory={coverage}"),
        needs="node_modules/@vitest/coverage-v8",
        lacking="@vitest/coverage-v8 is not installed",
    ),
)
