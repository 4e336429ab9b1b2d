"""`dotnet test`, read from the TRX file it writes."""

import posixpath
import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from codeplane.testrun.model import Case, Finished, Marker, Named, Outcome, Place, Report, Runner, Source
from codeplane.testrun.reports.events import read_report
from codeplane.testrun.reports.junit import xml_tree

_SPACE: Final = "{http://microsoft.com/schemas/VisualStudio/TeamTest/2010}"
_OUTCOMES: Final = {"Passed": Outcome.PASSED, "Failed": Outcome.FAILED, "NotExecuted": Outcome.SKIPPED}
_FRAME: Final = re.compile(r" in (.+?):line (\d+)")


def parse_trx(finished: Finished) -> Report:
    """Read the results and, for each, the class it belongs to."""
    try:
        tree = xml_tree(read_report(finished).encode())
    except (ET.ParseError, ValueError):
        return Report(is_whole=False)
    classes: dict[str, str] = {}
    for test in tree.iter(f"{_SPACE}UnitTest"):
        method = test.find(f"{_SPACE}TestMethod")
        classes[test.get("id") or ""] = (method.get("className") or "") if method is not None else ""
    results = tree.iter(f"{_SPACE}UnitTestResult")
    return Report(tuple(_case(one, classes.get(one.get("testId") or "", "")) for one in results))


def _case(one: ET.Element, class_name: str) -> Case:
    info = f"{_SPACE}Output/{_SPACE}ErrorInfo/{_SPACE}"
    message, stack = (one.findtext(f"{info}{name}") or "" for name in ("Message", "StackTrace"))
    found = _FRAME.search(stack)
    place, line = (found[1], int(found[2])) if found else ("", None)
    name = (one.get("testName") or "").removeprefix(f"{class_name}.")
    text = f"{message.strip()}\n{stack.strip()}".strip()
    hours, minutes, seconds = [*(one.get("duration") or "0:0:0").split(":"), "0", "0"][:3]
    took = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)
    outcome = _OUTCOMES.get(one.get("outcome") or "", Outcome.ERROR)
    return Case(f"{class_name}::{name}" if class_name else name, outcome, place, line, text, "", took)


def _identify(source: Source) -> Named | None:
    name = posixpath.basename(source.path)
    return Named(source.path, posixpath.dirname(source.path) or ".", name) if Path(name).suffix == ".csproj" else None


DOTNET = Runner(
    name="dotnet test",
    languages=("csharp",),
    files=r"\.csproj$",
    places=(Place(("dotnet",), on_path="dotnet"),),
    command=("{program}", "test", "{targets}", "--nologo", "--logger=trx;LogFileName={report}"),
    parse=parse_trx,
    markers=(Marker("*.csproj", r"Microsoft\.NET\.Test\.Sdk|xunit|nunit|MSTest"),),
    uses=r"Microsoft\.NET\.Test\.Sdk|xunit|nunit|MSTest",
    identify=_identify,
    takes_one=True,
    startup_seconds=600.0,
)
