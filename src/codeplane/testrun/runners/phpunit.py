"""PHPUnit, for PHP."""

from codeplane.testrun.model import Marker, Place, Runner
from codeplane.testrun.reports.junit import parse_junit

PHPUNIT = Runner(
    name="phpunit",
    languages=("php",),
    files=r"Test\.php$",
    places=(Place(("{path}",), path="vendor/bin/phpunit"), Place(("phpunit",), on_path="phpunit")),
    command=("{program}", "{reporting}", "{targets}"),
    reporting=("--log-junit={report}",),
    parse=parse_junit,
    markers=(Marker("phpunit.xml"), Marker("phpunit.xml.dist"), Marker("phpunit.dist.xml")),
    manifests=("composer.json",),
    stop_early=("--stop-on-failure",),
    takes_one=True,
)
