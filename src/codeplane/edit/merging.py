"""Merge two changes of one text, line by line; overlapping lines are never guessed."""

import re
from dataclasses import dataclass
from typing import Final

from codeplane.core.line_matching import matching_blocks

_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")
# Beyond this, comparing takes too long.
_MAX_LINES: Final = 50_000


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines of the common text, from 1, that both sides changed, and what each made of them."""

    start_line: int
    end_line: int
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class _Hunk:
    start: int
    end: int
    lines: tuple[bytes, ...]


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | tuple[Conflict, ...]:
    """Return the text with both changes, or where they conflict."""
    lines = [_LINE.findall(one) for one in (base, ours, theirs)]
    if max(map(len, lines)) > _MAX_LINES:
        return (Conflict(1, len(lines[0]), "", ""),)
    mine, yours = _hunks(lines[0], lines[1]), _hunks(lines[0], lines[2])
    conflicts = tuple(_conflict(one, other) for one in mine for other in yours if _touch(one, other) and one != other)
    if conflicts:
        return conflicts
    result: list[bytes] = []
    done = 0
    for hunk in sorted(set(mine) | set(yours), key=lambda one: (one.start, one.end)):
        result += lines[0][done : hunk.start]
        result += hunk.lines
        done = hunk.end
    return b"".join(result + lines[0][done:])


def moved_lines(base: bytes, now: bytes, first: int, last: int) -> tuple[int, int] | None:
    """Return where lines of one text are in another, from 1; None when they or their neighbours differ."""
    lines = [_LINE.findall(one) for one in (base, now)]
    if max(map(len, lines)) > _MAX_LINES or not 1 <= first <= last <= len(lines[0]):
        return None
    shift = 0
    for hunk in _hunks(*lines):
        if hunk.end < first - 1 or (hunk.end == first - 1 and hunk.start < hunk.end):
            shift += len(hunk.lines) - (hunk.end - hunk.start)
        elif hunk.start < last:
            return None
    return first + shift, last + shift


def _hunks(base: list[bytes], other: list[bytes]) -> list[_Hunk]:
    hunks = []
    at = other_at = 0
    for start, other_start, size in (*matching_blocks(base, other), (len(base), len(other), 0)):
        if start > at or other_start > other_at:
            hunks.append(_Hunk(at, start, tuple(other[other_at:other_start])))
        at, other_at = start + size, other_start + size
    return hunks


def _touch(one: _Hunk, other: _Hunk) -> bool:
    """Tell whether two changes overlap or are adjacent, where their order would be a guess."""
    return one.start <= other.end and other.start <= one.end


def _conflict(one: _Hunk, other: _Hunk) -> Conflict:
    start, end = min(one.start, other.start), max(one.end, other.end)
    texts = [b"".join(hunk.lines).decode("utf-8", "replace")[:2000] for hunk in (one, other)]
    return Conflict(start + 1, max(start + 1, end), *texts)
