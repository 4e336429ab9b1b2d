"""Write down the named parts of a file, nested as they stand: headings, keys, blocks, statements."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tree_sitter import Language, Node

from codeplane.core.clock import Clock
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
from codeplane.languages.parsing import IsOver, OutOfTimeError, extract_within_limits
from codeplane.languages.tables.text import SourceText
from codeplane.languages.tables.tree import ERROR_KIND, LOOKS, by_kind_id, count_errors

# Parts nested deeper are not listed: each carries the path of all around it.
MAX_LEVELS: Final = 24
# Of a file with more parts only as many whole levels are kept as stay below; it is data more than structure.
MAX_PARTS: Final = 50_000
# Lists in lists have no level of their own.
_MAX_OPEN: Final = 4 * MAX_LEVELS


class Outline:
    """The parts found so far.

    Invariant: `_open` holds the ends and paths of the parts around the current place, innermost last; the levels of
    `definitions` are in `levels`, position by position. `n_times` counts what may be written several times.
    """

    __slots__ = ("_index_at", "_open", "definitions", "levels", "n_times", "text")

    def __init__(self, source: bytes) -> None:
        self.text = SourceText(source)
        self.definitions: list[Definition] = []
        self.levels: list[int] = []
        self.n_times: dict[str, int] = {}
        self._index_at: dict[int, int] = {}
        self._open: list[tuple[int, str, int]] = [(len(source) + 1, "", 0)]

    def path_at(self, start: int) -> str:
        """Return the path of the innermost part around a place; places must be asked for in their order."""
        return self._around(start)[1]

    def level_at(self, start: int) -> int:
        """Return how many parts are around a place."""
        return self._around(start)[2]

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
        """Remember which element of a list stands where."""
        self._index_at.update((element.start_byte, index) for index, element in enumerate(elements))

    def enter_element(self, node: Node) -> bool:
        """Let the parts inside a node have its index in their path, if it is an element of a list."""
        index = self._index_at.pop(node.start_byte, NONE)
        return index == NONE or self.enter(str(index), *node.byte_range)

    def _around(self, start: int) -> tuple[int, str, int]:
        while self._open[-1][0] <= start:
            self._open.pop()
        return self._open[-1]


# What is done at a node; the answer says whether to look inside.
Action = Callable[[Outline, Node], bool]


@dataclass(frozen=True, slots=True)
class OutlineRules:
    """How the parts of one language are found, by the number of the node's kind."""

    grammar: Language
    actions: Mapping[int, Action]


def outline_rules(grammar: Language, actions: Mapping[str, Action]) -> OutlineRules:
    """Return the rules that give these actions to nodes of these kinds."""
    return OutlineRules(grammar, {**by_kind_id(grammar, actions), ERROR_KIND: skip})


def skip(_outline: Outline, _node: Node) -> bool:
    """Leave a node and everything in it out."""
    return False


def extract_outline(source: bytes, rules: OutlineRules, clock: Clock) -> FileFacts:
    """Return the parts of a file."""

    def read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
        outline = walk_outline(source, root, rules, is_over)
        facts = outline_facts(source, outline)
        facts.n_errors = count_errors(root, is_over)
        return facts

    return extract_within_limits(source, rules.grammar, read, clock)


def walk_outline(source: bytes, root: Node, rules: OutlineRules, is_over: IsOver) -> Outline:
    """Go once over the tree, in the order of the source.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    outline = Outline(source)
    cursor = root.walk()
    action_for = rules.actions.get
    n_looks = 0
    while True:
        n_looks += 1
        if n_looks % LOOKS == 0 and is_over():
            raise OutOfTimeError
        node = cursor.node
        if node is None:
            return outline
        action = action_for(node.kind_id)
        if (action is None or action(outline, node)) and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return outline


def outline_facts(source: bytes, outline: Outline) -> FileFacts:
    """Return the facts of an outline, the deepest levels left out when there are too many parts."""
    facts = FileFacts([Scope("file", NONE, 0, len(source))], outline.definitions)
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
