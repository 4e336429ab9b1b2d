"""Which lines two texts have in common, in time that does not explode on long texts or on lines that are all alike.

`difflib` looks at every pair of equal lines, again and again. Equal beginnings and ends are set aside first; what
stands between is given to it as long as it is short and there are few such pairs. Otherwise lines that occur once in
both texts divide the rest into parts, and a part that has none of them is taken to be all different.
"""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

_MAX_PAIRS: Final = 1_000_000
_MAX_LINES: Final = 20_000
Lines = Sequence[Any]


class Block(NamedTuple):
    """Lines that are equal: where they begin in both texts, and how many they are."""

    old: int
    new: int
    size: int


class _Part(NamedTuple):
    """What lies between two places of both texts."""

    old: int
    old_end: int
    new: int
    new_end: int


def matching_blocks(old: Lines, new: Lines) -> list[Block]:
    """Return the lines that two texts have in common, in order."""
    found: list[Block] = []
    waiting = [_Part(0, len(old), 0, len(new))]
    while waiting:
        first, last, part = _trimmed(old, new, waiting.pop())
        found += [block for block in (first, last) if block.size]
        if part.old == part.old_end or part.new == part.new_end:
            continue
        before, after = old[part.old : part.old_end], new[part.new : part.new_end]
        if _is_quick(before, after):
            matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
            found += [Block(part.old + a, part.new + b, size) for a, b, size in matcher.get_matching_blocks() if size]
            continue
        anchors = [Block(part.old + a, part.new + b, 1) for a, b in _anchors(before, after)]
        found += anchors
        if anchors:
            waiting += _between(part, anchors)
    return sorted(found)


def counted_changes(old: Lines, new: Lines) -> tuple[int, int]:
    """Return how many lines came and how many went; of long or repetitive texts, not counting lines that moved."""
    _, _, part = _trimmed(old, new, _Part(0, len(old), 0, len(new)))
    before, after = old[part.old : part.old_end], new[part.new : part.new_end]
    if not before or not after:
        return len(after), len(before)
    if not _is_quick(before, after):
        came, went = Counter(after) - Counter(before), Counter(before) - Counter(after)
        return came.total(), went.total()
    same = sum(block.size for block in matching_blocks(before, after))
    return len(after) - same, len(before) - same


def _trimmed(old: Lines, new: Lines, part: _Part) -> tuple[Block, Block, _Part]:
    """Return the equal beginning, the equal end, and what is between."""
    start, old_end, new_start, new_end = part
    length = min(old_end - start, new_end - new_start)
    n_first = 0
    while n_first < length and old[start + n_first] == new[new_start + n_first]:
        n_first += 1
    n_last = 0
    while n_last < length - n_first and old[old_end - 1 - n_last] == new[new_end - 1 - n_last]:
        n_last += 1
    inner = _Part(start + n_first, old_end - n_last, new_start + n_first, new_end - n_last)
    return Block(start, new_start, n_first), Block(inner.old_end, inner.new_end, n_last), inner


def _is_quick(before: Lines, after: Lines) -> bool:
    if len(before) + len(after) > _MAX_LINES:
        return False
    counts = Counter(after)
    return sum(count * counts[line] for line, count in Counter(before).items()) <= _MAX_PAIRS


def _anchors(before: Lines, after: Lines) -> list[tuple[int, int]]:
    """Return the places of lines that occur once in both texts, as many as keep their order."""
    places = {line: number for number, line in enumerate(after)}
    in_before, in_after = Counter(before), Counter(after)
    pairs = [
        (number, places[line]) for number, line in enumerate(before) if in_before[line] == 1 and in_after[line] == 1
    ]
    # The longest run of pairs whose second numbers rise too.
    ends: list[int] = []
    tails: list[int] = []
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        previous.append(tails[at - 1] if at else -1)
        ends[at : at + 1] = [place]
        tails[at : at + 1] = [number]
    chain = []
    number = tails[-1] if tails else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _between(part: _Part, anchors: list[Block]) -> Iterator[_Part]:
    """Yield what lies before, between and after the anchors."""
    old, new = part.old, part.new
    for anchor in anchors:
        yield _Part(old, anchor.old, new, anchor.new)
        old, new = anchor.old + 1, anchor.new + 1
    yield _Part(old, part.old_end, new, part.new_end)
