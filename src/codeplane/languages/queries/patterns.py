"""Run the query of a language over a syntax tree: patterns in `facts.scm` say what to do with the nodes they match.

Every pattern captures one node under the name of an action, such as `@function`, and the parts of it that the action
needs, such as `@name` and `@body`. Matches are handled in the order of the source, outer nodes before inner ones. Of
several patterns that match the same region the one written first comes first, so patterns for outer nodes are written
above those for inner nodes, and names last.

The parser has no text of its own (see `parsing.parse`), so the usual predicates such as `#eq?` cannot be used. Ours are
`#text? @part WORD…` (the text of the part is one of these words), `#text-not?`, and `#text-fits? @part REGEX`.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any, Final, Literal

from tree_sitter import Language, Node, Query, QueryCursor

from codeplane.languages.parsing import IsOver, OutOfTimeError, is_too_broken
from codeplane.languages.source_text import SourceText

# An action that returns this leaves out everything inside the node.
SKIP: Final = 99
_CHUNK: Final = 1 << 12
# Patterns for plain nodes, which are most of the matches, are run apart: a list of nodes costs half of what matches do.
_PLAIN: Final = re.compile(r"""[(\[][\w()\s"]+[)\]]\s*@(?:take\.\w+|skip(?:\.last)?|this|super)\s*""")
_FIRST: Final = -1
_LAST: Final = 1 << 16


class Match:
    """A node that a pattern matched, with the parts captured in it and the properties set by the pattern."""

    __slots__ = ("node", "parts", "settings")

    def __init__(self, node: Node, parts: Mapping[str, list[Node]], settings: Mapping[str, str | None]) -> None:
        self.node = node
        self.parts = parts
        self.settings = settings

    def __getitem__(self, name: str) -> Node:
        return self.parts[name][0]

    def __contains__(self, name: str) -> bool:
        """Tell whether the pattern captured a part of this name or set a property of this name."""
        return name in self.parts or name in self.settings

    def get(self, name: str) -> Node | None:
        """Return the first node captured under a name."""
        found = self.parts.get(name)
        return found[0] if found else None

    def all(self, name: str) -> list[Node]:
        """Return all nodes captured under a name."""
        return self.parts.get(name, [])


# The first argument is the reader that the language needs: a `Walk` or an `Outline`.
Action = Callable[[Any, Match], int | None]


# Start and end of a node, the end negative so that outer nodes come first, the place of the pattern in the file; then
# either the number of a plain node's action, or the start of its name, the negative number of parts, the order of the
# match, the node and its parts.
_Row = tuple[int, int, int, int] | tuple[int, int, int, int, int, int, Node, dict[str, list[Node]]]


class Patterns:
    """The compiled query of one language.

    `settings` are the properties of the first pattern, which matches the whole file. An action is a number for a name
    (its name space) or for a word that is a receiver, otherwise a function. A capture `@call.x` calls the function `x`
    of the module `constructs` beside the query, for what a pattern cannot express; `@call.c.x` is a function of C.
    """

    __slots__ = (
        "_actions",
        "_each",
        "_folder",
        "_known",
        "_main",
        "_plain",
        "_settings",
        "grammar",
        "query",
        "settings",
    )

    def __init__(self, folder: str, grammar: Language, known: Mapping[str, Callable[[str], Action | int]]) -> None:
        self.grammar = grammar
        source = files(f"codeplane.languages.{folder}").joinpath("facts.scm").read_bytes()
        self.query = Query(grammar, source.decode())
        plain = []
        for number in range(1, self.query.pattern_count):
            text = source[self.query.start_byte_for_pattern(number) : self.query.end_byte_for_pattern(number)].decode()
            text = re.sub(r"^\s*;.*", "", text, flags=re.MULTILINE)
            if _PLAIN.fullmatch(text):
                plain.append(text)
                self.query.disable_pattern(number)
        self._plain = Query(grammar, "".join(plain))
        self.settings: dict[str, str | None] = self.query.pattern_settings(0)
        self._folder = folder
        self._known = known
        self._main: dict[int, str] = {}
        self._actions: dict[int, Action | int] = {}
        self._settings: dict[int, dict[str, str | None]] = {}
        self._each: set[int] = set()

    def run(self, reader: "Reader", root: Node, is_over: IsOver) -> None:
        """Let a reader meet every match in the order of the source.

        Raises:
            OutOfTimeError: `is_over` said so, or the search would take too long.
        """
        skipped_until = 0
        last = None
        take, remember, reach = reader.take, reader.remember, reader.reach
        rows = self._in_order(reader, root)
        for n_done, row in enumerate(rows):
            start = row[0]
            if start < skipped_until:
                continue
            if n_done % _CHUNK == 0 and is_over():
                raise OutOfTimeError
            if len(row) == 4:
                _, end, _, space = row
                skipped_until = -end
                if space < 0:
                    remember(space, skipped_until)
                elif space != SKIP:
                    take(start, skipped_until, space)
                continue
            _, end, pattern, _, _, _, node, parts = row
            if last == (start, end, pattern) and pattern not in self._each:
                continue
            last = (start, end, pattern)
            reach(start)
            action = self._actions[pattern]
            if isinstance(action, int):
                take(start, -end, action)
                skipped_until = -end
            elif action(reader, Match(node, parts, self._settings[pattern])) == SKIP:
                skipped_until = -end

    def _in_order(self, reader: "Reader", root: Node) -> list[_Row]:
        if root.has_error and is_too_broken(root):
            raise OutOfTimeError
        rows: list[_Row] = []
        for capture, nodes in QueryCursor(self._plain).captures(root).items():
            kind, _, detail = capture.partition(".")
            action = self._known[kind](detail)
            if not isinstance(action, int):
                raise TypeError(f"{self._folder}/facts.scm: @{capture} is not for plain nodes")
            rank = _FIRST if capture == "skip" else _LAST
            rows.extend([(node.start_byte, -node.end_byte, rank, action) for node in nodes])
        main_of = self._main
        cut = reader.text.cut

        def holds(
            predicate: str,
            args: list[tuple[str, Literal["capture", "string"]]],
            pattern_index: int,  # noqa: ARG001 - the binding's own signature
            captures: dict[str, list[Node]],
        ) -> bool:
            texts = [cut(*node.byte_range) for node in captures.get(args[0][0], ())]
            wanted = [word for word, _ in args[1:]]
            if predicate == "text-fits?":
                return all(re.search(wanted[0], text) for text in texts)
            return all((text in wanted) is (predicate == "text?") for text in texts)

        for order, (pattern, parts) in enumerate(QueryCursor(self.query).matches(root, holds)):
            if pattern not in main_of:
                self._resolve(pattern, parts)
            node = parts[main_of[pattern]][0]
            start, end = node.byte_range
            name = parts.get("name")
            # Of two matches that differ in optional parts only, the one with more parts comes first.
            rows.append((start, -end, pattern, name[0].start_byte if name else 0, -len(parts), order, node, parts))
        rows.sort()
        return rows

    def _resolve(self, pattern: int, parts: Mapping[str, list[Node]]) -> None:
        """Find out which capture of a pattern names its action."""
        for capture in parts:
            kind, _, detail = capture.partition(".")
            if kind == "call":
                folder, _, function = detail.rpartition(".")
                module = import_module(f"codeplane.languages.{folder or self._folder}.constructs")
                self._actions[pattern] = getattr(module, function)
            elif kind in self._known:
                self._actions[pattern] = self._known[kind](detail)
            else:
                continue
            self._main[pattern] = capture
            self._settings[pattern] = self.query.pattern_settings(pattern)
            if "each" in self._settings[pattern]:
                self._each.add(pattern)
            return
        raise LookupError(f"{self._folder}/facts.scm: pattern {pattern} names no action")


class Reader:
    """What collects facts while the matches of a file are met; the base does nothing with names."""

    __slots__ = ("text",)

    def __init__(self, source: bytes) -> None:
        self.text = SourceText(source)

    def reach(self, position: int) -> None:
        """Go on to a position before an action is called there."""

    def take(self, start: int, end: int, space: int) -> None:
        """Take a name."""

    def remember(self, receiver: int, end: int) -> None:
        """Take a word that means a receiver."""
