"""Diffs as answers: files, hunks and lines, cut into pages that together are the whole diff."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name, printable_text
from codeplane.git.differences import (
    ABSENT_MODE,
    SUBMODULE_MODE,
    Difference,
    FileDifference,
    HunkHeader,
    next_hunk,
    read_hunk_header,
)
from codeplane.index.ignore_rules import IgnoreRules
from codeplane.operations.history_access import why_kept_back
from codeplane.operations.models import Result

DEFAULT_ROOM: Final = 7_500
LARGE_ROOM: Final = 200_000
_FILE_COST: Final = 60
_HUNK_COST: Final = 30
_LEAST_PIECE: Final = 2_000
_Status = Literal["added", "modified", "deleted", "renamed", "copied", "type-changed", "unmerged"]


class DiffLine(Result):
    """One line, without its line end."""

    origin: Literal["+", "-", " "]
    content: str
    old_lineno: int | None = None
    new_lineno: int | None = None
    no_newline: bool | None = Field(None, description="The file ends here without a line end.")
    offset: int | None = Field(None, description="The byte offset of this piece in the line.")
    cut: bool | None = Field(None, description="The line continues on the next page.")


class DiffHunk(Result):
    """A run of changed lines; the numbers are those of the whole hunk."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    header: str
    continued: bool | None = Field(None, description="It began on an earlier page.")
    lines: list[DiffLine]


class SubmoduleDiff(Result):
    """A submodule that points at another commit."""

    old_commit: str | None = None
    new_commit: str | None = None
    is_dirty: bool = Field(False, description="Its own files are changed.")


class DiffFile(Result):
    """One changed file."""

    path: str
    status: _Status
    old_path: str | None = None
    binary: bool
    same_content: bool | None = Field(None, description="Only its name or mode changed.")
    old_mode: str | None = None
    new_mode: str | None = None
    similarity: int | None = None
    submodule: SubmoduleDiff | None = None
    insertions: int = 0
    deletions: int = 0
    kept_back: str | None = Field(None, description="Why its lines are not shown.")
    continued: bool | None = Field(None, description="It began on an earlier page.")
    hunks: list[DiffHunk] = Field(default_factory=list)


class DiffStats(Result):
    """Counts of the whole diff, not only of this page."""

    files_changed: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: which file and, inside its patch, which hunk, byte and line numbers.

    `offset` is how many bytes of the line at `at` were shown already.
    """

    file: int = 0
    hunk: int = -1
    at: int = 0
    old: int = 0
    new: int = 0
    offset: int = 0

    def as_list(self) -> list[int]:
        """Return the form for a cursor."""
        return [self.file, self.hunk, self.at, self.old, self.new, self.offset]

    @classmethod
    def parse(cls, value: Any) -> "Place":
        """Return the place of a cursor.

        Raises:
            CodePlaneError: CURSOR_INVALID.
        """
        if not isinstance(value, list) or len(value) != 6 or not all(type(item) is int for item in value):
            raise CodePlaneError("CURSOR_INVALID")
        return cls(*value)


@dataclass(frozen=True, slots=True)
class PageSize:
    """The most bytes of text and lines of a page; one line is always started."""

    room: int = DEFAULT_ROOM
    n_lines: int = 10**9


def stats_of(difference: Difference) -> DiffStats:
    """Return the counts of a whole diff."""
    return DiffStats(
        files_changed=len(difference.files),
        insertions=difference.insertions,
        deletions=difference.deletions,
    )


def page_of(
    root: Path, rules: IgnoreRules, difference: Difference, start: Place, size: PageSize
) -> tuple[list[DiffFile], Place | None]:
    """Return the files from a place on as far as they fit, and where the next page begins.

    Raises:
        CodePlaneError: CURSOR_INVALID when there is no such place.
    """
    page = _Page(size)
    files: list[DiffFile] = []
    place: Place | None = start if start.file < len(difference.files) else None
    while place is not None:
        file = difference.files[place.file]
        cost = _FILE_COST + len(file.change.path) + len(file.change.old_path or "")
        if files and (page.is_full or page.room < cost):
            return files, place
        page.room -= cost
        reason = why_kept_back(root, rules, file)
        hunks, rest = ([], None) if reason else page.take(file.patch, place)
        if files and rest is not None and not hunks:
            return files, place
        if hunks or place.hunk < 0:
            files.append(file_of(file, hunks, kept_back=reason, continued=place.hunk >= 0))
        if rest is not None:
            return files, rest
        place = Place(place.file + 1) if place.file + 1 < len(difference.files) else None
    return files, None


def file_of(
    file: FileDifference, hunks: Sequence[DiffHunk] = (), *, kept_back: str | None = None, continued: bool = False
) -> DiffFile:
    """Return a changed file with some of its hunks."""
    change = file.change
    has_modes = change.old_mode != change.new_mode
    return DiffFile.model_validate(
        {
            "path": printable_name(change.path),
            "status": change.status,
            "old_path": printable_name(change.old_path) if change.old_path is not None else None,
            "binary": change.is_binary,
            "same_content": file.has_same_content or None,
            "old_mode": change.old_mode if has_modes and change.old_mode != ABSENT_MODE else None,
            "new_mode": change.new_mode if has_modes and change.new_mode != ABSENT_MODE else None,
            "similarity": change.similarity,
            "submodule": _submodule(file),
            "insertions": change.insertions or 0,
            "deletions": change.deletions or 0,
            "kept_back": kept_back,
            "continued": continued or None,
            "hunks": list(hunks),
        }
    )


def render_files(files: Sequence[DiffFile]) -> list[str]:
    """Return the files as a unified diff; control characters show as escapes."""
    return [line for file in files for line in _rendered_file(file)]


@dataclass(slots=True)
class _Page:
    """A page that is being filled.

    Invariant: `room` and `n_lines` only shrink; the first line is started whatever its length.
    """

    size: PageSize
    room: int = field(init=False)
    n_lines: int = field(init=False)

    def __post_init__(self) -> None:
        self.room = self.size.room
        self.n_lines = self.size.n_lines

    @property
    def is_full(self) -> bool:
        return self.room <= 0 or self.n_lines <= 0

    @property
    def is_fresh(self) -> bool:
        return self.n_lines == self.size.n_lines

    def take(self, patch: bytes, place: Place) -> tuple[list[DiffHunk], Place | None]:
        """Take hunks of one file from a place on; return where it continues if it did not fit."""
        hunks: list[DiffHunk] = []
        hunk_at: int | None = place.hunk if place.hunk >= 0 else next_hunk(patch, 0)
        while hunk_at is not None:
            _check_place(patch, hunk_at, place)
            header = read_hunk_header(patch, hunk_at)
            is_continued = place.at > 0
            if not is_continued:
                place = Place(place.file, hunk_at, header.end, header.old_start, header.new_start)
            if hunks and self.room < _HUNK_COST:
                return hunks, Place(place.file, hunk_at, 0)
            self.room -= _HUNK_COST
            lines, rest = self._lines(patch, header, place)
            if rest is not None and not lines and not is_continued:
                return hunks, Place(place.file, hunk_at)
            hunks.append(_hunk(header, lines, is_continued=is_continued))
            if rest is not None:
                return hunks, rest
            hunk_at = next_hunk(patch, header.end)
            place = Place(place.file)
        return hunks, None

    def _lines(self, patch: bytes, header: HunkHeader, place: Place) -> tuple[list[DiffLine], Place | None]:
        lines: list[DiffLine] = []
        at, old, new, offset = place.at, place.old, place.new, place.offset
        while old < header.old_start + header.old_lines or new < header.new_start + header.new_lines:
            end = patch.find(b"\n", at)
            if end < 0:
                raise CodePlaneError("CURSOR_INVALID")
            n_bytes = end - at - 1 - offset
            is_too_long = n_bytes >= self.room
            if self.n_lines <= 0 or (is_too_long and not self.is_fresh):
                return lines, Place(place.file, place.hunk, at, old, new, offset)
            self.n_lines -= 1
            # An empty line in git's output is an empty context line.
            origin = patch[at : at + 1].replace(b"\n", b" ").decode("ascii", "replace")
            start = min(at + 1 + offset, end)
            room = max(self.room, _LEAST_PIECE)
            stop = _boundary(patch, start + room, end) if is_too_long else end
            is_last_of_file = patch.startswith(b"\\ ", end + 1)
            lines.append(
                DiffLine(
                    origin=_origin(origin),
                    content=patch[start:stop].decode("utf-8", "backslashreplace"),
                    old_lineno=old if origin != "+" else None,
                    new_lineno=new if origin != "-" else None,
                    no_newline=(is_last_of_file and stop == end) or None,
                    offset=offset or None,
                    cut=(stop < end) or None,
                )
            )
            self.room -= stop - start + 2
            if stop < end:
                return lines, Place(place.file, place.hunk, at, old, new, stop - at - 1)
            offset = 0
            old += origin != "+"
            new += origin != "-"
            at = patch.index(b"\n", end + 1) + 1 if is_last_of_file else end + 1
        return lines, None


def _check_place(patch: bytes, hunk_at: int, place: Place) -> None:
    is_inside = 0 <= hunk_at < len(patch) and place.at <= len(patch) and place.offset >= 0
    if not is_inside or (place.at and place.at <= hunk_at):
        raise CodePlaneError("CURSOR_INVALID")


def _origin(text: str) -> Literal["+", "-", " "]:
    if text == "+":
        return "+"
    if text == "-":
        return "-"
    return " "


def _boundary(data: bytes, at: int, end: int) -> int:
    """Return the last place up to `at` that is not inside a character."""
    at = min(at, end)
    for back in range(4):
        if at - back >= end or data[at - back] & 0xC0 != 0x80:
            return at - back
    return at


def _hunk(header: HunkHeader, lines: list[DiffLine], *, is_continued: bool) -> DiffHunk:
    return DiffHunk(
        old_start=header.old_start,
        old_lines=header.old_lines,
        new_start=header.new_start,
        new_lines=header.new_lines,
        header=header.heading,
        continued=is_continued or None,
        lines=lines,
    )


def _submodule(file: FileDifference) -> SubmoduleDiff | None:
    change = file.change
    if SUBMODULE_MODE not in {change.old_mode, change.new_mode}:
        return None
    commits: dict[bytes, str] = {}
    for line in file.patch.split(b"\n"):
        if line[1:].startswith(b"Subproject commit "):
            commits[line[:1]] = line[len("+Subproject commit ") :].decode("ascii", "replace")
    new = commits.get(b"+")
    return SubmoduleDiff(
        old_commit=commits.get(b"-"),
        new_commit=new.removesuffix("-dirty") if new else None,
        is_dirty=bool(new and new.endswith("-dirty")),
    )


def _rendered_file(file: DiffFile) -> list[str]:
    old_path = file.old_path or file.path
    lines = [f"diff --git a/{old_path} b/{file.path}" + (" (continued)" if file.continued else "")]
    if not file.continued:
        lines.extend(_rendered_facts(file))
    if file.kept_back:
        lines.append(f"({file.insertions} lines added, {file.deletions} removed; {file.kept_back})")
    if file.hunks and not file.continued:
        lines.append("--- /dev/null" if file.status == "added" else f"--- a/{old_path}")
        lines.append("+++ /dev/null" if file.status == "deleted" else f"+++ b/{file.path}")
    for hunk in file.hunks:
        lines.extend(_rendered_hunk(hunk))
    return lines


def _rendered_facts(file: DiffFile) -> list[str]:
    facts: list[str] = []
    if file.status == "added":
        facts.append(f"new file mode {file.new_mode}")
    elif file.status == "deleted":
        facts.append(f"deleted file mode {file.old_mode}")
    elif file.old_mode and file.new_mode:
        facts += [f"old mode {file.old_mode}", f"new mode {file.new_mode}"]
    if file.status in {"renamed", "copied"}:
        word = "rename" if file.status == "renamed" else "copy"
        facts += [f"similarity index {file.similarity}%", f"{word} from {file.old_path}", f"{word} to {file.path}"]
    if file.status == "unmerged":
        facts.append("(in conflict; compared with our side)" if file.hunks else "(in conflict)")
    if file.binary:
        facts.append("(binary, same content)" if file.same_content else "Binary files differ")
    return facts


def _rendered_hunk(hunk: DiffHunk) -> list[str]:
    where = f"@@ -{_side(hunk.old_start, hunk.old_lines)} +{_side(hunk.new_start, hunk.new_lines)} @@"
    note = " (continued)" if hunk.continued else ""
    lines = [printable_text(f"{where} {hunk.header}".rstrip() + note)]
    for line in hunk.lines:
        start = f"…(from byte {line.offset}) " if line.offset else ""
        end = " …(continues)" if line.cut else ""
        lines.append(f"{line.origin}{start}{printable_text(line.content)}{end}")
        if line.no_newline:
            lines.append("\\ No newline at end of file")
    return lines


def _side(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
