"""jest, for JavaScript and TypeScript."""

from codeplane.testrun.coverage import parse_lcov
from codeplane.testrun.model import Marker, Measuring, Place, Runner
from codeplane.testrun.reports.jest_json import parse_jest

JEST = Runner(
    name="jest",
    languages=("javascript", "typescript", "tsx"),
    files=r"\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)__tests__/[^/]*\.[cm]?[jt]sx?$",
    places=(Place(("{path}",), path="node_modules/.bin/jest"), Place(("jest",), on_path="jest")),
    command=("{program}", "{reporting}", "--runTestsByPath", "{targets}"),
    reporting=("--json", "--outputFile={report}", "--testLocationInResults"),
    parse=parse_jest,
    markers=(
        Marker("jest.config.js"),
        Marker("jest.config.ts"),
        Marker("jest.config.json"),
        Marker("jest.config.mjs"),
        Marker("jest.config.cjs"),
        Marker("package.json", r'"jest"\s*:\s*\{', is_high=False),
    ),
    manifests=("package.json",),
    stop_early=("--bail",),
    is_alone=True,
    measuring=Measuring(parse_lcov, ("--coverage", "--coverageReporters=lcovonly", "--coverageDirectory={coverage}")),
)
