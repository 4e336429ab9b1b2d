"""Parse a file within limits, whatever the language: in time, and not nested beyond what the parser can take.

Measured with tree-sitter 0.26.0: a query over a tree deeper than 65,535 levels leaves captures out without saying so
and takes minutes; the binding's own progress callbacks, for parsing and for queries, crash the process.
"""

from collections.abc import Callable
from typing import Final, Protocol

from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor, TreeCursor

from codeplane.core.clock import Clock, SystemClock
from codeplane.languages.facts import FileFacts, no_facts

TIME_LIMIT_S: Final = 5.0
TIMED_OUT: Final = "timed out"
TOO_DEEP: Final = "nested too deeply"
MAX_DEPTH: Final = 30_000
SYSTEM_CLOCK: Final = SystemClock()

_CHUNK: Final = 1 << 16
# How often a parser may read text: 25 grammars, over thousands of good and damaged files, asked at most 734 times in
# files of up to 300 kB.
_MAX_READS: Final = 2_000
_BYTES_PER_READ: Final = 100
_LOOKS: Final = 1 << 16
_MAX_ERRORS: Final = 10
# The sum of squares of the children of ERROR nodes; a query takes about 1.1 s for so many.
_MAX_EFFORT: Final = 1_000_000_000

Captures = dict[str, list[Node]]
IsOver = Callable[[], bool]


class Extract(Protocol):
    """Extracts the facts of a file of one language."""

    def __call__(self, source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
        """Return what the file says about itself."""


class OutOfTimeError(Exception):
    """The time for one file is over; never leaves `extract_within_limits`."""


def extract_within_limits(
    source: bytes,
    grammar: Language,
    read: Callable[[bytes, Node, IsOver], FileFacts],
    clock: Clock = SYSTEM_CLOCK,
    *,
    needs_final_newline: bool = False,
) -> FileFacts:
    """Parse and read a file; what takes too long or is nested too deeply gives a problem, never a part of its facts.

    With `needs_final_newline` the parser sees a newline at the end of a file that has none.
    """
    deadline = clock.monotonic() + TIME_LIMIT_S

    def is_over() -> bool:
        return clock.monotonic() > deadline

    try:
        is_open = needs_final_newline and not source.endswith(b"\n")
        root = parse(source + b"\n" if is_open else source, grammar, is_over)
        if is_tree_too_deep(root, is_over):
            return no_facts(source, TIMED_OUT if is_over() else TOO_DEEP)
        facts = read(source, root, is_over)
    except OutOfTimeError:
        return no_facts(source, TIMED_OUT)
    if is_over():
        return no_facts(source, TIMED_OUT)
    facts.n_nodes = root.descendant_count
    facts.n_root_children = root.child_count
    facts.has_content = _has_content(root)
    if facts.n_errors:
        facts.error_starts = _first_errors(root)
    return facts


def _first_errors(root: Node) -> tuple[int, ...]:
    """Return where the first few places start that the grammar could not understand."""
    found: list[int] = []
    waiting = [root]
    n_looks = 0
    while waiting and len(found) < _MAX_ERRORS and n_looks < _LOOKS:
        node = waiting.pop()
        n_looks += 1
        if node.is_error or node.is_missing:
            found.append(node.start_byte)
        else:
            waiting.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return tuple(found)


def _has_content(root: Node) -> bool:
    """Tell whether the file holds something besides comments and errors."""
    # All children at once: asking for them by number takes time in the square of how many they are.
    return any(node.is_named and not node.is_extra and not node.is_error for node in root.children)


def parse(source: bytes, grammar: Language, is_over: IsOver) -> Node:
    """Return the root of the syntax tree.

    Raises:
        OutOfTimeError: `is_over` said so while parsing.
    """
    # The file is made to end early, because the binding's own way to stop a parser crashes. Small files are watched as
    # well, which costs nothing that can be measured: some grammars never end on a broken one (Kotlin: `{r()\n2\n \x00i`
    # and more lines) and take a gigabyte in a second, but go on asking for text.
    n_reads_left = _MAX_READS + len(source) // _BYTES_PER_READ
    early_end = -1

    def read(position: int, _point: Point) -> bytes:
        nonlocal n_reads_left, early_end
        n_reads_left -= 1
        if n_reads_left >= 0 and not is_over():
            return source[position : position + _CHUNK]
        # A newline comes before the early end, for scanners that never return at the end of an open line.
        if position == early_end:
            return b""
        early_end = position + 1
        return b"\n"

    root = Parser(grammar).parse(read).root_node
    if n_reads_left < 0 or is_over():
        raise OutOfTimeError
    return root


def capture(query: Query, root: Node, is_over: IsOver) -> Captures:
    """Return the nodes of each capture name, in no particular order.

    The search itself is not watched, because the binding's progress callback for queries crashes the process as soon as
    it is called. It is linear in the tree, which was parsed in time and is not too deep, but for ERROR nodes: there it
    grows with the square of the number of children.

    Raises:
        OutOfTimeError: `is_over` said so after searching, or the search would take too long.
    """
    if root.has_error and is_too_broken(root):
        raise OutOfTimeError
    captures = QueryCursor(query).captures(root)
    if is_over():
        raise OutOfTimeError
    return captures


def is_tree_too_deep(root: Node, is_over: IsOver) -> bool:
    """Say whether the tree has more than `MAX_DEPTH` levels; true as well when the time is over."""
    # A tree of so many levels has at least as many nodes; counting them costs nothing, walking a twelfth of parsing.
    if root.descendant_count <= MAX_DEPTH:
        return False
    cursor = root.walk()
    if not _is_any_deep(cursor, root.descendant_count):
        return False
    cursor.reset(root)
    depth = n_looks = 0
    while depth <= MAX_DEPTH:
        n_looks += 1
        if n_looks % _LOOKS == 0 and is_over():
            return True
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1
    return True


def _is_any_deep(cursor: TreeCursor, n_nodes: int) -> bool:
    """Say whether one of the nodes that are looked at lies deep; false only for a tree of at most `MAX_DEPTH` levels.

    Below the middle of a way of more levels lie at least `MAX_DEPTH // 2` nodes, which follow each other in the order
    of the tree, so that one of those that are looked at is among them.
    """
    middle = MAX_DEPTH // 2
    for number in range(0, n_nodes, middle):
        cursor.goto_descendant(number)
        if cursor.depth >= middle:
            return True
    return False


def is_too_broken(root: Node) -> bool:
    """Say whether ERROR nodes have so many children that a query would take more than about a second."""
    # A tree of so many levels has at least as many nodes; counting them costs nothing, walking a twelfth of parsing.
    if root.descendant_count <= MAX_DEPTH:
        return False
    effort = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error:
            effort += node.child_count**2
            if effort > _MAX_EFFORT:
                return True
        waiting.extend(child for child in node.children if child.has_error)
    return False


def outside_errors(captures: Captures) -> Captures:
    """Return the captures without the nodes that lie in an ERROR node or are not really there."""
    regions: list[tuple[int, int]] = []
    for start, end in sorted(node.byte_range for node in captures["error"]):
        if not regions or start >= regions[-1][1]:
            regions.append((start, end))
    return {name: _outside(nodes, regions) for name, nodes in captures.items()}


def _outside(nodes: list[Node], regions: list[tuple[int, int]]) -> list[Node]:
    """Return the nodes that start outside of all regions; regions are sorted and apart."""
    kept = []
    waiting = regions[::-1]
    for node in sorted(nodes, key=_start_of):
        start = node.start_byte
        while waiting and waiting[-1][1] <= start:
            waiting.pop()
        if (not waiting or start < waiting[-1][0]) and not node.is_missing:
            kept.append(node)
    return kept


def _start_of(node: Node) -> int:
    return node.start_byte
