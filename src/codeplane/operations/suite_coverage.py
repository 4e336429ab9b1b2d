"""What tests cover of a change: told in few lines, and kept by target."""

import posixpath
from collections.abc import Sequence
from typing import Final

from pydantic import Field

from codeplane.core.printable import counted, printable_name
from codeplane.index.file_order import is_test_file
from codeplane.lint.running import changed_lines
from codeplane.operations.compared_states import find_sides, read_sides
from codeplane.operations.edited_symbols import touched_by
from codeplane.operations.models import Result
from codeplane.operations.operation import CallContext
from codeplane.testrun.coverage import Coverage, CoverageBook, FileCoverage, ranges_of
from codeplane.workspace.workspace import Workspace

_MAX_FILES: Final = 20
_SHOWN_FILES: Final = 5
_SHOWN_RANGES: Final = 6
_SHOWN_NAMES: Final = 5


class CoveredFile(Result):
    """A file: its changed lines that tests ran, of those that can run; of all lines where nothing changed."""

    path: str
    covered: int
    lines: int
    missed: str = Field("", description="Lines that no test ran, such as 3-5, 9.")
    definitions: list[str] = Field(default_factory=list, description="Where these lines are; at most 5.")


class CoverageInfo(Result):
    """What the tests of this run covered."""

    of_change: bool = Field(description="Whether changed lines are counted, or whole files.")
    covered: int
    lines: int
    files: list[CoveredFile] = Field(description="The least covered first; at most 20.")
    problems: list[str] = Field(default_factory=list, description="What could not be measured, and why.")


def coverage_book(workspace: Workspace) -> CoverageBook:
    """Return the kept coverage of targets."""
    return CoverageBook(workspace.places.private / "results" / "coverage.json")


def scope_of(changed: Sequence[str]) -> tuple[str, ...]:
    """Return the directories of changed sources, outermost only; without any, everything."""
    folders = sorted({posixpath.dirname(path) or "." for path in changed if not is_test_file(path)})
    outer = [one for one in folders if not any(one != other and one.startswith(f"{other}/") for other in folders)]
    return (".",) if "." in outer or not outer else tuple(outer)


def told_coverage(context: CallContext, found: Coverage) -> CoverageInfo:
    """Return the coverage of what differs from HEAD; where that is nothing, of all measured files."""
    pairs = read_sides(context.workspace, find_sides(context.workspace, "HEAD", None), ()).pairs
    changed = {one.path: one for one in pairs if one.new is not None and not is_test_file(one.path)}
    of_change = bool(changed)
    files = []
    for path, one in found.files.items():
        pair = changed.get(path)
        if (of_change and pair is None) or is_test_file(path):
            continue
        new = changed_lines(pair.old, pair.new) if pair is not None and pair.new is not None else None
        files.append(_covered_file(path, one, new, pair.new if pair is not None else None))
    problems = list(found.problems)
    unmeasured = sorted(path for path in changed if path not in found.files and _is_code(path, found))
    problems += [f"{path}: no test ran it" for path in unmeasured[:_SHOWN_FILES]]
    files = sorted((one for one in files if one.lines), key=lambda one: (one.covered / one.lines, one.path))
    return CoverageInfo(
        of_change=of_change,
        covered=sum(one.covered for one in files),
        lines=sum(one.lines for one in files),
        files=files[:_MAX_FILES],
        problems=problems,
    )


def _is_code(path: str, found: Coverage) -> bool:
    """Tell whether a file could have been measured: others with its ending were."""
    ending = posixpath.splitext(path)[1]
    return bool(ending) and any(one.endswith(ending) for one in found.files)


def _covered_file(path: str, one: FileCoverage, new: frozenset[int] | None, text: bytes | None) -> CoveredFile:
    covered, missed = one.covered, one.missed
    if new is not None:
        covered, missed = covered & new, missed & new
    ranges = ranges_of(missed)
    names: tuple[str, ...] = ()
    if text is not None and missed:
        names = touched_by(path, None, text, (), [(first, last) for first, last in ranges]).symbols
    shown = ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges[:_SHOWN_RANGES])
    more = len(ranges) - _SHOWN_RANGES
    return CoveredFile(
        path=path,
        covered=len(covered),
        lines=len(covered | missed),
        missed=shown + (f" and {more} more" if more > 0 else ""),
        definitions=list(names[:_SHOWN_NAMES]),
    )


def coverage_lines(info: CoverageInfo) -> list[str]:
    """Return coverage as text: the sum, then the files that are not wholly covered."""
    what = "changed lines" if info.of_change else "lines"
    lines = [f"coverage: {info.covered} of {info.lines} {what}" if info.lines else f"coverage: no {what} to measure"]
    short = [one for one in info.files if one.missed]
    for one in short[:_SHOWN_FILES]:
        where = f" ({', '.join(one.definitions)})" if one.definitions else ""
        lines.append(f" {printable_name(one.path)} {one.covered} of {one.lines}; not run: {one.missed}{where}")
    if len(short) > _SHOWN_FILES:
        lines.append(f" and {counted(len(short) - _SHOWN_FILES, 'more file')}")
    return [*lines, *(f" {problem}" for problem in info.problems)]
