"""Record the named parts of a file, nested as they are: headings, keys, blocks, statements."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from tree_sitter import Node

from codeplane.languages.facts import (
    NONE,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    Export,
    FileFacts,
    Scope,
)
from codeplane.languages.queries.patterns import SKIP, Action, Match, Reader

# Parts nested deeper are not listed: each carries the path of all around it.
MAX_LEVELS: Final = 24
# Of a file with more parts only as many whole levels are kept as stay below; it is data more than structure.
MAX_PARTS: Final = 50_000
# Keys deeper than this are data more than structure; the indexes of lists do not count.
MAX_KEY_LEVELS: Final = 6
_QUOTES: Final = frozenset("\"'")
# Lists in lists have no level of their own.
_MAX_OPEN: Final = 4 * MAX_LEVELS


class Outline(Reader):
    """The parts found so far.

    Invariant: `_open` holds the ends and paths of the parts around the current place, innermost last; the levels of
    `definitions` are in `levels`, position by position. `n_times` counts what may be written several times.
    """

    __slots__ = ("_index_at", "_open", "definitions", "levels", "n_times", "notes", "size")

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.size = len(source)
        self.definitions: list[Definition] = []
        self.levels: list[int] = []
        self.n_times: dict[str, int] = {}
        # What a language has to remember from one node to another.
        self.notes: dict[str, Any] = {}
        self._index_at: dict[int, int] = {}
        self._open: list[tuple[int, str, int]] = [(len(source) + 1, "", 0)]

    def add(
        self,
        kind: DefinitionKind,
        name_range: tuple[int, int],
        span: tuple[int, int],
        *,
        name: str = "",
        path_name: str = "",
        signature: str = "",
    ) -> bool:
        """Add a part under the one around it; say whether it was listed.

        `name` is given where it is not simply the text of its range, `path_name` where the path has another name.
        """
        start, end = span
        _, path, level = self._around(start)
        name = name or self.text.name(*name_range)
        if level >= MAX_LEVELS or not name:
            return False
        path_name = path_name or name
        path = f"{path}.{path_name}" if path else path_name
        self.definitions.append(Definition(kind, name, path, start, end, name_range[0], 0, NONE, signature))
        self.levels.append(level)
        self._open.append((end, path, level + 1))
        return True

    def enter(self, name: str, start: int, end: int) -> bool:
        """Let the parts inside a region have one more name in their path, without a part and a level for it."""
        _, path, level = self._around(start)
        self._open.append((end, f"{path}.{name}" if path else name, level))
        return len(self._open) < _MAX_OPEN

    def number(self, elements: Iterable[Node]) -> None:
        """Remember where each element of a list is."""
        self._index_at.update((element.start_byte, index) for index, element in enumerate(elements))

    def enter_element(self, node: Node) -> bool:
        """Let the parts inside a node have its index in their path, if it is an element of a list."""
        index = self._index_at.pop(node.start_byte, NONE)
        return index == NONE or self.enter(str(index), *node.byte_range)

    def add_key(self, pair: Node, key: Node, name: str = "") -> bool:
        """Add the key of a pair; say whether keys inside of it would be listed.

        `name` is given where it is not simply the text of the key without its quotes.
        """
        level = self._around(pair.start_byte)[2]
        is_listed = self.add(DefinitionKind.KEY, self.unquoted(key), pair.byte_range, name=name)
        return is_listed and level + 1 < MAX_KEY_LEVELS

    def unquoted(self, key: Node) -> tuple[int, int]:
        """Return the range of a node without its quotes."""
        start, end = key.byte_range
        is_quoted = end - start > 1 and self.text.bytewise[start] in _QUOTES
        return (start + 1, end - 1) if is_quoted else (start, end)

    def _around(self, start: int) -> tuple[int, str, int]:
        while self._open[-1][0] <= start:
            self._open.pop()
        return self._open[-1]


# What is done at a node is an action of `patterns`; its parts are:
#
# - `@name`: the name, without its quotes; `@head`: the name is the text of the node up to this part;
# - `(#set! signature TEXT)`: the signature, `rest` for the text after the name, `before` for the words before it;
# - `(#set! leaf)`: nothing inside the node is looked at; `(#set! strip CHARACTERS)`: left out of the name.


def _add_part(kind: str) -> Action:
    known = DefinitionKind[kind.upper()]

    def act(outline: Outline, match: Match) -> int | None:
        node, cut = match.node, outline.text.name
        name_range = outline.unquoted(match["name"]) if "name" in match.parts else (node.start_byte, node.start_byte)
        if "head" in match:
            name_range = (node.start_byte, match["head"].start_byte)
        signature = match.settings.get("signature") or ""
        if signature == "rest":
            signature = cut(match["name"].end_byte, node.end_byte)
        elif signature == "before":
            signature = cut(node.start_byte, name_range[0]).upper()
        name = ""
        if (strip := match.settings.get("strip")) is not None:
            name = cut(*name_range).translate(str.maketrans("", "", strip))
        outline.add(known, name_range, node.byte_range, name=name, signature=signature)
        return SKIP if "leaf" in match else None

    return act


def _add_key(outline: Outline, match: Match) -> int | None:
    return None if outline.add_key(match.node, match["name"]) else SKIP


def _enter_list(outline: Outline, match: Match) -> int | None:
    """Number the elements of a list, unless the text of `(#set! needs TEXT)` is not in it.

    There may be millions of numbers and texts, which have no keys. With `(#set! nested)` the list may be an element.
    """
    needs = match.settings.get("needs")
    if needs is not None and outline.text.bytewise.find(needs, *match.node.byte_range) < 0:
        return SKIP
    is_near = outline.enter_element(match.node) if "nested" in match else True
    left_out = (match.settings.get("without") or "comment").split()
    outline.number(child for child in match.node.named_children if child.type not in left_out)
    return None if is_near else SKIP


def _enter_element(outline: Outline, match: Match) -> int | None:
    return None if outline.enter_element(match.node) else SKIP


def _nothing(_outline: Outline, _match: Match) -> None:
    """Do nothing: the pattern sets properties of the file."""


OUTLINE_ACTIONS: Final[Mapping[str, Callable[[str], Action | int]]] = MappingProxyType(
    {
        "file": lambda _: _nothing,
        "skip": lambda _: SKIP,
        "part": _add_part,
        "key": lambda _: _add_key,
        "list": lambda _: _enter_list,
        "element": lambda _: _enter_element,
    }
)


def outline_facts(outline: Outline, n_errors: int) -> FileFacts:
    """Return the facts of an outline, the deepest levels left out when there are too many parts."""
    facts = FileFacts([Scope("file", NONE, 0, outline.size)], outline.definitions, n_errors=n_errors)
    n_parts = len(outline.definitions)
    if n_parts > MAX_PARTS:
        n_levels = _levels_that_fit(outline.levels)
        kept = [part for part, level in zip(outline.definitions, outline.levels, strict=True) if level < n_levels]
        facts.definitions = kept[:MAX_PARTS]
        evidence = f"{n_parts - len(facts.definitions)} of {n_parts} parts left out"
        facts.exports = [Export("", BindTarget.UNKNOWN, NONE, Certainty.UNCERTAIN, evidence)]
    return facts


def _levels_that_fit(levels: list[int]) -> int:
    """Return how many whole levels stay within `MAX_PARTS`, at least the first."""
    n_parts = 0
    for level in range(max(levels) + 1):
        n_parts += levels.count(level)
        if n_parts > MAX_PARTS:
            return max(level, 1)
    return max(levels) + 1
