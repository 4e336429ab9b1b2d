"""JUnit XML, as most runners can write it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from codeplane.testrun.model import Case, Finished, Outcome, Report
from codeplane.testrun.reports.events import MAX_REPORT_BYTES

_BAD: Final = {"failure": Outcome.FAILED, "error": Outcome.ERROR}
_MAX_FILES: Final = 10_000


def parse_junit(finished: Finished) -> Report:
    """Read the one report file."""
    return parse_junit_files([finished.report])


def parse_junit_below(finished: Finished, directory: str) -> Report:
    """Read the report files that this run wrote below a directory name, at any depth of the project."""
    places = sorted(finished.directory.glob(f"**/{directory}/**/TEST-*.xml"))[:_MAX_FILES]
    fresh = [place for place in places if _modified_ns(place) >= finished.started_ns]
    return parse_junit_files(fresh)


def parse_junit_files(places: list[Path]) -> Report:
    """Read some report files; one that is cut off or no XML makes the report a partial one."""
    cases: list[Case] = []
    is_whole = bool(places)
    for place in places:
        try:
            tree = xml_tree(_content(place))
        except (ET.ParseError, ValueError, OSError):
            is_whole = False
            continue
        cases.extend(_cases(tree))
    return Report(tuple(cases), is_whole)


def xml_tree(data: bytes) -> ET.Element:
    """Return the root of a document.

    Raises:
        ValueError: it declares entities, which no report does and which could grow without end.
        ElementTree.ParseError: it is not XML.
    """
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise ValueError("a report declares no entities")
    return ET.fromstring(data)  # noqa: S314 - without declarations there are no entities to expand.


def _content(place: Path) -> bytes:
    with place.open("rb") as file:
        return file.read(MAX_REPORT_BYTES)


def _cases(tree: ET.Element) -> Iterator[Case]:
    for suite in tree.iter("testsuite"):
        for element in suite.findall("testcase"):
            yield _case(element, suite)


def _case(element: ET.Element, suite: ET.Element) -> Case:
    class_name, name = element.get("classname") or element.get("class") or "", element.get("name") or ""
    place = element.get("file") or suite.get("file") or suite.get("filepath") or ""
    outcome, text, kind = Outcome.PASSED, "", ""
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag in _BAD:
            outcome, kind = _BAD[tag], child.get("type") or ""
            message, body = (child.get("message") or "").strip(), (child.text or "").strip()
            text = body if message[:80] in body else f"{message}\n{body}".strip()
        elif tag == "skipped" and outcome is Outcome.PASSED:
            outcome = Outcome.SKIPPED
    if element.get("status") in {"fail", "failed"} and outcome is Outcome.PASSED:
        outcome, text = Outcome.FAILED, element.findtext("system-out") or ""
    full = f"{class_name}::{name}" if class_name and class_name != name else name
    return Case(full, outcome, place, _line(element, text), text, kind, _seconds(element.get("time")), owner=class_name)


def _line(element: ET.Element, text: str) -> int | None:
    given = element.get("line") or ""
    if given.isdigit():
        return int(given)
    # The first place of a stack that is in a file named after the class.
    short = re.escape((element.get("classname") or "").rpartition(".")[2].partition("$")[0])
    found = re.search(rf"\({short}\.\w+:(\d+)\)", text) if short else None
    return int(found[1]) if found else None


def _seconds(text: str | None) -> float:
    try:
        return float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0


def _modified_ns(place: Path) -> int:
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0
