"""Turn the requested edits of a file into its new bytes.

Line numbers are those of the file before the call. The expected text proves that the caller knows what is
there: if it occurs exactly once, but not at the given lines, the edit applies where it occurs.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import add
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.line_matching import counted_changes
from codeplane.core.paths import RepoPath
from codeplane.core.printable import LONE_SURROGATE
from codeplane.edit.texts import SourceFile, endings_for, read_text

_MAX_CANDIDATES: Final = 5
_SHOWN_LINES: Final = 12
_SHOWN_CHARACTERS: Final = 200
_LIKENESS: Final = 0.6
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
# Comparing every line with the expected one takes too long in a larger file.
_MAX_COMPARED_LINES: Final = 20_000


@dataclass(frozen=True, slots=True)
class SpanEdit:
    """One replacement in a file: by lines, by the text that is expected, by both, or by a span of the text.

    `end_line` one below `start_line` inserts before it. `span` counts characters of the text with line feeds.
    Without any of these the whole file is meant.
    """

    new_content: str
    expected: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file: line from 1, character from 0."""

    line: int
    char: int


@dataclass(frozen=True, slots=True)
class AppliedSpan:
    """Where an edit was applied: its place in the old file, its lines in the new one, its text, corrected lines."""

    start: Position
    end: Position
    new_lines: tuple[int, int]
    new_text: str
    asked: tuple[int, int] | None = None
    corrected: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class PlannedText:
    """The new bytes of a file, what was done, and how many lines were added and removed.

    `is_converted` tells that a file that was not UTF-8 is now.
    """

    data: bytes
    spans: tuple[AppliedSpan, ...]
    insertions: int
    deletions: int
    line_ending: str
    is_converted: bool = False


@dataclass(frozen=True, slots=True)
class _Region:
    """A span of the text and its replacement; `is_lines` says that it is whole lines."""

    start: int
    end: int
    replacement: str
    is_lines: bool
    asked: tuple[int, int] | None = None
    corrected: tuple[int, int] | None = None


def plan_update(path: RepoPath, data: bytes, edits: Sequence[SpanEdit]) -> PlannedText:
    """Return what a file becomes.

    Raises:
        CodePlaneError: CONTENT_NOT_FOUND or CONTENT_AMBIGUOUS with the candidates; OUT_OF_RANGE for lines that are not
            there; EDITS_OVERLAP; FILE_BINARY.
    """
    file = read_text(data)
    regions = sorted((_region(path, file, edit) for edit in edits), key=lambda one: (one.start, one.end))
    for before, after in pairwise(regions):
        is_same_point = before.start == before.end == after.start == after.end
        if after.start < before.end or is_same_point:
            lines = [[file.line_at(one.start), file.line_at(max(one.start, one.end - 1))] for one in (before, after)]
            raise CodePlaneError(
                "EDITS_OVERLAP",
                f"Two edits of {path} change the same text: lines {lines[0][0]}-{lines[0][1]} and"
                f" {lines[1][0]}-{lines[1][1]}.",
                details={"path": path.text, "lines": lines},
            )
    planned = _replace_regions(file, regions)
    if any(not one.replacement.isascii() for one in regions) and _has_invalid_utf8(planned.data):
        raise CodePlaneError(
            "INVALID_ARGUMENTS",
            f"{path} is not UTF-8 and the new text is not ASCII: the file would mix encodings.",
            hint="Send the whole file to convert it to UTF-8, or keep the new text in ASCII.",
            details={"path": path.text},
        )
    return planned


def _has_invalid_utf8(data: bytes) -> bool:
    """Tell whether a file is read as UTF-8 although some of its bytes are not."""
    file = read_text(data)
    return file.encoding == "utf-8" and LONE_SURROGATE.search(file.text) is not None


def plan_whole(data: bytes | None, content: str) -> PlannedText:
    """Return what a file becomes whose whole content is given; an old file's encoding and endings are kept."""
    text = content.replace("\r\n", "\n")
    if data is None:
        n_lines = _n_lines(text)
        span = AppliedSpan(Position(1, 0), Position(1, 0), (1, n_lines), content)
        new = content.encode("utf-8", "surrogateescape")
        return PlannedText(
            new, (span,), n_lines, 0, "CRLF" if "\r\n" in content else "LF" if "\n" in content else "none"
        )
    try:
        file = read_text(data)
    except CodePlaneError:
        n_lines = _n_lines(text)
        span = AppliedSpan(Position(1, 0), Position(1, 0), (1, n_lines), content)
        return PlannedText(content.encode("utf-8", "surrogateescape"), (span,), n_lines, 0, "LF")
    planned = _replace_regions(file, [_Region(0, len(file.text), text, is_lines=False)])
    return replace(planned, is_converted=_has_invalid_utf8(data))


def _region(path: RepoPath, file: SourceFile, edit: SpanEdit) -> _Region:
    new = edit.new_content.replace("\r\n", "\n")
    expected = edit.expected.replace("\r\n", "\n") if edit.expected is not None else None
    if edit.span is not None:
        return _Region(*edit.span, new, is_lines=False)
    if edit.start_line is None:
        if not expected:
            return _Region(0, len(file.text), new, is_lines=False)
        start = _find_once(path, file, expected, None)
        if start is None and expected.endswith("\n") and file.text.endswith(expected[:-1]):
            # The file's last line has no ending, the expected one has.
            start = _find_once(path, file, expected[:-1], None)
            expected, new = expected[:-1], new.removesuffix("\n")
        if start is None:
            raise not_found(path, file, expected)
        return _Region(start, start + len(expected), new, is_lines=False)
    asked = (edit.start_line, edit.end_line if edit.end_line is not None else edit.start_line)
    first, last = asked
    is_inside = 1 <= first <= len(file.lines) + 1 and first - 1 <= last <= len(file.lines)
    if is_inside and (expected is None or _are_lines(file, first, last, expected)):
        return _lines_region(file, first, last, new, asked, None)
    if not expected:
        raise CodePlaneError(
            "OUT_OF_RANGE",
            f"{path} has {len(file.lines)} lines; {first}-{last} are not among them.",
            details={"path": path.text, "line_count": len(file.lines), "start_line": first, "end_line": last},
        )
    return _anchored(path, file, expected, new, asked)


def _anchored(path: RepoPath, file: SourceFile, expected: str, new: str, asked: tuple[int, int]) -> _Region:
    """Return the only place of the expected text, whatever lines were given."""
    start = _find_once(path, file, expected, asked)
    bare = expected.removesuffix("\n")
    if start is None and bare != expected and bare:
        start, expected, new = _find_once(path, file, bare, asked), bare, new.removesuffix("\n")
    if start is None:
        raise not_found(path, file, expected, asked)
    first, last = file.line_at(start), file.line_at(max(start, start + len(expected) - 1))
    corrected = (first, last) if (first, last) != asked else None
    if _are_lines(file, first, last, expected):
        return _lines_region(file, first, last, new, asked, corrected)
    return _Region(start, start + len(expected), new, is_lines=False, asked=asked, corrected=corrected)


def _lines_region(
    file: SourceFile, first: int, last: int, new: str, asked: tuple[int, int], corrected: tuple[int, int] | None
) -> _Region:
    start, end = file.starts[first - 1], file.starts[last] if last >= first else file.starts[first - 1]
    if new and not new.endswith("\n"):
        new += "\n"
    ends_file = last == len(file.lines) or first > len(file.lines)
    if ends_file and file.endings and not file.endings[-1]:
        # The file has no final line ending, and stays so.
        new = new.removesuffix("\n")
        if first > len(file.lines):
            new = f"\n{new}"
        elif not new and start:
            start -= 1
    return _Region(start, end, new, True, asked, corrected)


def _are_lines(file: SourceFile, first: int, last: int, text: str) -> bool:
    return "\n".join(file.lines[first - 1 : last]) == text.removesuffix("\n")


def _find_once(path: RepoPath, file: SourceFile, wanted: str, asked: tuple[int, int] | None) -> int | None:
    """Return the only place of a text, or the only one in the given lines; None when there is none."""
    if asked is not None and 1 <= asked[0] <= asked[1] <= len(file.lines):
        begin, end = file.starts[asked[0] - 1], file.starts[asked[1]]
        if file.text.count(wanted, begin, end) == 1:
            return file.text.find(wanted, begin, end)
    places: list[int] = []
    place = file.text.find(wanted)
    while place >= 0 and len(places) <= _MAX_CANDIDATES:
        places.append(place)
        place = file.text.find(wanted, place + 1)
    if len(places) > 1:
        candidates = [_excerpt(file, file.line_at(one), wanted.count("\n") + 1) for one in places[:_MAX_CANDIDATES]]
        lines = ", ".join(str(one["start_line"]) for one in candidates)
        more = " and more" if len(places) > _MAX_CANDIDATES else ""
        raise CodePlaneError(
            "CONTENT_AMBIGUOUS",
            f"The expected text is in {path} more than once: at lines {lines}{more}.",
            hint="Send `all: true` or `count`, start_line and end_line of the one you mean, or more of the text.",
            details={"path": path.text, "candidates": candidates, "asked": list(asked) if asked else None},
        )
    return places[0] if places else None


def not_found(path: RepoPath, file: SourceFile, expected: str, asked: tuple[int, int] | None = None) -> CodePlaneError:
    """Return the error for an edit whose expected text is not in the file, with likely candidates."""
    candidates: list[dict[str, Any]] = []
    n_lines = expected.count("\n") + (not expected.endswith("\n"))
    if asked is not None and 1 <= asked[0] <= len(file.lines):
        candidates.append(_excerpt(file, asked[0], max(n_lines, asked[1] - asked[0] + 1)))
    first = next((number for number, line in enumerate(expected.split("\n")) if line.strip()), 0)
    wanted = expected.split("\n")[first].strip()
    near = _near_lines(file, wanted) if wanted else []
    known = {one["start_line"] for one in candidates}
    for line in near:
        start = max(1, line - first)
        if start not in known and len(candidates) < _MAX_CANDIDATES:
            candidates.append(_excerpt(file, start, n_lines))
    shown = "; ".join(
        f"line {one['start_line']}: {one['text'].splitlines()[0].strip()[:60]}" for one in candidates if one["text"]
    )
    return CodePlaneError(
        "CONTENT_NOT_FOUND",
        f"Expected text not found in {path}" + (f"; nearest: {shown}" if shown else "") + ".",
        hint="Use the current text of a candidate as expected_content.",
        details={"path": path.text, "candidates": candidates, "line_count": len(file.lines)},
    )


def _near_lines(file: SourceFile, wanted: str) -> list[int]:
    """Return the lines most similar to one, best first."""
    if len(file.lines) > _MAX_COMPARED_LINES:
        return [number for number, line in enumerate(file.lines, start=1) if wanted in line][:_MAX_CANDIDATES]
    scored = []
    matcher = difflib.SequenceMatcher(None, "", wanted, autojunk=False)
    for number, line in enumerate(file.lines, start=1):
        matcher.set_seq1(line.strip()[:_SHOWN_CHARACTERS])
        if matcher.real_quick_ratio() < _LIKENESS or matcher.quick_ratio() < _LIKENESS:
            continue
        ratio = matcher.ratio()
        if ratio >= _LIKENESS:
            scored.append((-ratio, number))
    return [number for _, number in sorted(scored)[:_MAX_CANDIDATES]]


def _excerpt(file: SourceFile, first: int, n_lines: int) -> dict[str, Any]:
    last = min(len(file.lines), first + min(n_lines, _SHOWN_LINES) - 1)
    text = "\n".join(line[:_SHOWN_CHARACTERS] for line in file.lines[first - 1 : last])
    return {"start_line": first, "end_line": last, "text": text}


def _replace_regions(file: SourceFile, regions: list[_Region]) -> PlannedText:
    """Return the file with its regions replaced; everything outside them keeps its bytes."""
    pieces: list[str] = []
    spans: list[AppliedSpan] = []
    kept_from = n_lines_before = 0
    for region in regions:
        kept = file.raw[kept_from : file.raw_offset(region.start)]
        written = _with_endings(file, region)
        n_lines_before += kept.count("\n")
        spans.append(_span(file, region, n_lines_before + 1))
        n_lines_before += written.count("\n")
        pieces += (kept, written)
        kept_from = file.raw_offset(region.end)
    pieces.append(file.raw[kept_from:])
    insertions = deletions = 0
    for group in _sharing_lines(file, regions):
        added, removed = _counts(file, group)
        insertions, deletions = insertions + added, deletions + removed
    return PlannedText(file.encode("".join(pieces)), tuple(spans), insertions, deletions, file.line_ending)


def _with_endings(file: SourceFile, region: _Region) -> str:
    """Return what replaces a region, with endings like those it replaces: a line that stays keeps its own."""
    if "\n" not in region.replacement:
        return region.replacement
    first, last = file.line_at(region.start), file.line_at(region.end)
    # The lines whose endings lie inside the region.
    old_endings = [
        ending
        for number, ending in enumerate(file.endings[first - 1 : last], start=first)
        if ending and region.start <= file.starts[number] - 1 < region.end
    ]
    old_lines = file.text[region.start : region.end].split("\n")[: len(old_endings)]
    new_lines = region.replacement.split("\n")
    endings = endings_for(old_lines, old_endings, new_lines[:-1], _usual_near(file, first))
    return "".join(map(add, new_lines[:-1], endings)) + new_lines[-1]


def _usual_near(file: SourceFile, line: int) -> str:
    """Return the line ending before an offset, at it, or the most common one."""
    for number in (line - 2, line - 1):
        if 0 <= number < len(file.endings) and file.endings[number]:
            return file.endings[number]
    return max(("\n", "\r\n"), key=file.endings.count)


def _sharing_lines(file: SourceFile, regions: list[_Region]) -> list[list[_Region]]:
    """Return the regions in groups that touch the same lines, so a line is counted once."""
    groups: list[list[_Region]] = []
    end = 0
    for region in regions:
        if groups and file.line_at(region.start) <= end:
            groups[-1].append(region)
        else:
            groups.append([region])
        end = file.line_at(region.end)
    return groups


def _span(file: SourceFile, region: _Region, start_line: int) -> AppliedSpan:
    n_lines = region.replacement.removesuffix("\n").count("\n") + 1 if region.replacement else 0
    return AppliedSpan(
        _position(file, region.start),
        _position(file, region.end),
        (start_line, max(start_line, start_line + n_lines - 1)),
        region.replacement,
        region.asked,
        region.corrected,
    )


def _position(file: SourceFile, offset: int) -> Position:
    if not file.lines:
        return Position(1, 0)
    if offset == file.starts[-1] and file.endings[-1]:
        return Position(len(file.lines) + 1, 0)
    line = file.line_at(offset)
    return Position(line, offset - file.starts[line - 1])


def _counts(file: SourceFile, group: list[_Region]) -> tuple[int, int]:
    """Return how many lines were added and removed, as a diff counts them."""
    start = file.starts[file.line_at(group[0].start) - 1] if file.lines else 0
    end = file.starts[file.line_at(group[-1].end)] if file.lines else 0
    old = new = file.text[start:end]
    for region in reversed(group):
        new = new[: region.start - start] + region.replacement + new[region.end - start :]
    return counted_changes(_LINE.findall(old), _LINE.findall(new))


def _n_lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))
