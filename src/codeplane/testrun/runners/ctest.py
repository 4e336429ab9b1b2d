"""CTest, for projects that CMake has configured in `build`."""

import posixpath

from codeplane.testrun.model import Marker, Named, Place, Runner, Source
from codeplane.testrun.reports.junit import parse_junit


def _identify(source: Source) -> Named | None:
    # The tests of a build directory are one target; CMake does not say which files they are from.
    is_top = posixpath.basename(source.path) == "CMakeLists.txt" and source.inside == "CMakeLists.txt"
    return Named(source.path, source.root, "build") if is_top else None


CTEST = Runner(
    name="ctest",
    languages=("c", "cpp"),
    files=r"(?:^|/)CMakeLists\.txt$",
    places=(Place(("ctest",), on_path="ctest"),),
    command=("{program}", "--test-dir", "{targets}", "--output-junit", "{report}", "--timeout", "{timeout}"),
    parse=parse_junit,
    markers=(Marker("CMakeLists.txt", r"(?i)\b(?:enable_testing|include\s*\(\s*CTest)\b"),),
    identify=_identify,
    stop_early=("--stop-on-failure",),
    takes_one=True,
)
