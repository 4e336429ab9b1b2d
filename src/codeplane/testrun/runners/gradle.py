"""Gradle, for Java and Kotlin."""

from codeplane.testrun.model import Finished, Marker, Place, Report, Runner
from codeplane.testrun.reports.junit import parse_junit_below
from codeplane.testrun.runners.maven import class_of


def parse_gradle(finished: Finished) -> Report:
    """Read the reports that this run wrote."""
    return parse_junit_below(finished, "test-results")


GRADLE = Runner(
    name="gradle test",
    languages=("java", "kotlin", "groovy"),
    files=r"(?:Test|Tests|Spec|IT)\.(?:java|kt|groovy)$",
    places=(Place(("{path}",), path="gradlew"), Place(("gradle",), on_path="gradle")),
    command=("{program}", "test", "--continue", "--console=plain", "{targets}"),
    parse=parse_gradle,
    markers=(Marker("build.gradle", is_high=False), Marker("build.gradle.kts", is_high=False)),
    identify=class_of,
    each=("--tests",),
    is_alone=True,
    startup_seconds=600.0,
)
