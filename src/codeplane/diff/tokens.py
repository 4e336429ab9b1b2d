"""Texts as tokens of their grammar, so that layout and comments do not count as changes."""

from bisect import bisect_left
from typing import Final, NamedTuple

from tree_sitter import Node

_BLOCK_OPENS: Final = "\x02"
_BLOCK_CLOSES: Final = "\x03"
_CLOSING: Final = frozenset(")]}>")
_DOCUMENTED: Final = frozenset({"block", "module"})
# Languages in which a semicolon at the end of a statement is a matter of taste.
_FREE_SEMICOLONS: Final = frozenset({"javascript", "typescript", "tsx", "python", "go", "kotlin", "swift", "lua"})


class Token(NamedTuple):
    """A leaf of the syntax tree; `is_note` marks comments and documentation."""

    start: int
    text: str
    is_note: bool


class Tokens:
    """The tokens of one file, in order."""

    def __init__(self, source: bytes, root: Node, dialect: str) -> None:
        self._found = _leaves(source, root, dialect)
        self._starts = [token.start for token in self._found]

    def between(self, start: int, end: int, holes: list[tuple[int, int]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tokens and the notes of a part of the file; `holes` are parts of it that do not count."""
        texts: list[str] = []
        notes: list[str] = []
        at = start
        for hole_start, hole_end in (*sorted(holes), (end, end)):
            for token in self._found[bisect_left(self._starts, at) : bisect_left(self._starts, max(at, hole_start))]:
                (notes if token.is_note else texts).append(token.text)
            at = max(at, hole_end)
        return _without_trailing_commas(texts), tuple(notes)


def _leaves(source: bytes, root: Node, dialect: str) -> list[Token]:
    found: list[Token] = []
    is_python = dialect == "python"
    drops_semicolons = dialect in _FREE_SEMICOLONS
    waiting: list[Node | Token] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Token):
            found.append(node)
            continue
        kind = node.type
        if "comment" in kind or (is_python and _is_docstring(node)):
            found.append(Token(node.start_byte, _folded(source, node), is_note=True))
            continue
        if node.child_count:
            if is_python and kind == "block":
                found.append(Token(node.start_byte, _BLOCK_OPENS, is_note=False))
                waiting.append(Token(_last_byte(node), _BLOCK_CLOSES, is_note=False))
            waiting.extend(reversed(node.children))
            continue
        text = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        if not text.strip() or (drops_semicolons and text == ";"):
            continue
        found.append(Token(node.start_byte, '"' if text == "'" else text.replace("\r\n", "\n"), is_note=False))
    found.sort(key=lambda token: token.start)
    return found


def _last_byte(block: Node) -> int:
    """Return where the last statement of a block ends; a comment behind it is not part of any definition."""
    ends = [child.end_byte for child in block.children if child.type != "comment"]
    return max(block.start_byte, (ends[-1] if ends else block.end_byte) - 1)


def _is_docstring(node: Node) -> bool:
    """Tell whether a Python statement is the documentation of what it is in."""
    if node.type != "expression_statement" or node.named_child_count != 1 or node.children[0].type != "string":
        return False
    parent = node.parent
    if parent is None or parent.type not in _DOCUMENTED:
        return False
    first = next((child for child in parent.named_children if child.type != "comment"), None)
    return first is not None and first.start_byte == node.start_byte


def _folded(source: bytes, node: Node) -> str:
    return " ".join(source[node.start_byte : node.end_byte].decode("utf-8", "replace").split())


def _without_trailing_commas(texts: list[str]) -> tuple[str, ...]:
    return tuple(
        text
        for number, text in enumerate(texts)
        if text != "," or number + 1 == len(texts) or texts[number + 1] not in _CLOSING
    )
