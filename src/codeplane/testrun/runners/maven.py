"""Maven with its Surefire plugin, for Java."""

from codeplane.testrun.model import Finished, Marker, Named, Place, Report, Runner, Source
from codeplane.testrun.reports.junit import parse_junit_below


def parse_maven(finished: Finished) -> Report:
    """Read what Surefire wrote in this run."""
    return parse_junit_below(finished, "surefire-reports")


def class_of(source: Source) -> Named | None:
    """Return the class that a file of Java or Kotlin holds, as its target."""
    inside = source.path.rpartition(".")[0]
    for folder in ("src/test/java/", "src/test/kotlin/", "src/test/groovy/", "src/test/scala/"):
        inside = inside.partition(folder)[2] or inside
    name = inside.replace("/", ".")
    return Named(name, source.path, name)


MAVEN = Runner(
    name="mvn test",
    languages=("java", "kotlin"),
    files=r"(?:Test|Tests|TestCase|IT)\.(?:java|kt)$|(?:^|/)Test[^/]*\.java$",
    places=(Place(("{path}",), path="mvnw"), Place(("mvn",), on_path="mvn")),
    command=(
        "{program}", "-B", "-q", "test", "-Dtest={joined}", "-DfailIfNoTests=false",
        "-Dsurefire.failIfNoSpecifiedTests=false",
    ),
    parse=parse_maven,
    markers=(Marker("pom.xml", is_high=False),),
    identify=class_of,
    is_alone=True,
    startup_seconds=600.0,
)  # fmt: skip
