"""Extract the facts of a Python file from its bytes."""

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock, SystemClock
from codeplane.languages.facts import FileFacts, Scope, Span
from codeplane.languages.python.building import Lines, build_definitions, build_references, build_scopes
from codeplane.languages.python.dynamic import read_dynamic
from codeplane.languages.python.exports import read_exports
from codeplane.languages.python.nesting import is_indented_too_deeply, is_tree_too_deep
from codeplane.languages.python.scoping import Bindings, settled_imports
from codeplane.languages.python.syntax import Captures, OutOfTimeError, capture, parse
from codeplane.languages.python.tables import NameRow
from codeplane.languages.python.texts import SourceText
from codeplane.languages.python.walking import walk

TIME_LIMIT_S: Final = 5.0
TIMED_OUT: Final = "timed out"
TOO_DEEP: Final = "nested too deeply"
_SYSTEM_CLOCK: Final = SystemClock()


def extract(source: bytes, clock: Clock = _SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself.

    A file that takes longer than `TIME_LIMIT_S` or is nested beyond what can be parsed safely gives no facts but a
    `problem`, never a part of its facts.
    """
    deadline = clock.monotonic() + TIME_LIMIT_S

    def is_over() -> bool:
        return clock.monotonic() > deadline

    if is_indented_too_deeply(source):
        return _no_facts(source, TOO_DEEP)
    try:
        root = parse(source, is_over)
        if is_tree_too_deep(root, is_over):
            return _no_facts(source, TIMED_OUT if is_over() else TOO_DEEP)
        return _extract(source, root, is_over)
    except OutOfTimeError:
        return _no_facts(source, TIMED_OUT)


def _no_facts(source: bytes, problem: str) -> FileFacts:
    span = Span(1, 0, source.count(b"\n") + 1, len(source) - source.rfind(b"\n") - 1)
    return FileFacts((Scope("file", None, span),), (), (), (), (), (), (), problem=problem)


def _extract(source: bytes, root: Node, is_over: Callable[[], bool]) -> FileFacts:
    captures = capture(root, len(source), is_over)
    n_errors = len(captures.get("error", ()))
    if n_errors:
        captures = _outside_errors(captures)
    text = SourceText(source)
    tables = walk(root, captures, text, is_over)
    exports = read_exports(tables, root, text)
    if exports or n_errors:
        # Entries of `__all__` were added at the end, and an import statement may have an ERROR between its names.
        tables.names.sort(key=_start_of_row)
    bindings = Bindings(tables)
    references, name_spans = build_references(tables.names, bindings, Lines(source), is_ascii=text.is_ascii)
    if is_over():
        raise OutOfTimeError
    return FileFacts(
        scopes=build_scopes(tables.scopes),
        definitions=build_definitions(tables.definitions, name_spans),
        references=references,
        binds=tuple(bindings.binds),
        imports=settled_imports(tables.imports, bindings.binds),
        exports=exports,
        dynamic=read_dynamic(tables, bindings, root, text),
        n_errors=n_errors,
    )


def _outside_errors(captures: Captures) -> Captures:
    """Return the captures without the nodes that lie in an ERROR node."""
    regions: list[tuple[int, int]] = []
    for start, end in sorted(node.byte_range for node in captures["error"]):
        if not regions or start >= regions[-1][1]:
            regions.append((start, end))
    return {name: _outside(nodes, regions) for name, nodes in captures.items()}


def _outside(nodes: list[Node], regions: list[tuple[int, int]]) -> list[Node]:
    """Return the nodes that start outside of all regions and are really there; regions are sorted and apart."""
    kept = []
    waiting = regions[::-1]
    for node in sorted(nodes, key=_start_of):
        start = node.start_byte
        while waiting and waiting[-1][1] <= start:
            waiting.pop()
        if (not waiting or start < waiting[-1][0]) and not node.is_missing:
            kept.append(node)
    return kept


def _start_of_row(row: NameRow) -> int:
    return row[0]


def _start_of(node: Node) -> int:
    return node.start_byte
