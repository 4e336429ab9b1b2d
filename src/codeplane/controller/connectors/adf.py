"""The Atlassian Document Format of Jira Cloud as blocks; nodes that are not known give their content."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from codeplane.controller.connectors.blocks import BOLD_LEVEL, Block, BlockKind

_MAX_DEPTH: Final = 60
_MAX_NODES: Final = 50_000
_LISTS: Final = frozenset({"bulletList", "orderedList", "taskList", "decisionList"})
_ITEMS: Final = frozenset({"listItem", "taskItem", "decisionItem"})
_CARDS: Final = frozenset({"inlineCard", "blockCard", "embedCard"})
# Inline nodes whose text is in an attribute.
_NAMED: Final = {"mention": "text", "emoji": "shortName", "status": "text", "placeholder": "text"}


def blocks_of_document(document: Any) -> tuple[Block, ...]:
    """Return the blocks of a document; what is nested too deeply or beyond the limit of nodes is left out."""
    return tuple(block for block in _Reader().blocks(document, 0, 0) if block.text)


class _Reader:
    """Walks one document; `_left` bounds how many nodes are looked at."""

    def __init__(self) -> None:
        self._left = _MAX_NODES

    def blocks(self, node: Any, list_depth: int, depth: int) -> Iterator[Block]:
        kind = _kind_of(node)
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            return
        if kind == "heading":
            level = _attribute(node, "level")
            yield Block(BlockKind.HEADING, self._line(node), level if level in range(1, 7) else 1)
        elif kind == "paragraph":
            is_bold = _is_bold(node)
            text = self._line(node)
            yield Block(BlockKind.HEADING, text, BOLD_LEVEL) if is_bold else Block(BlockKind.PARAGRAPH, text)
        elif kind == "codeBlock":
            yield Block(BlockKind.CODE, self._inline(node, depth))
        elif kind in _ITEMS:
            yield from self._item(node, list_depth, depth)
        elif kind == "tableRow":
            cells = (self._cell(cell, depth + 1) for cell in _content(node))
            yield Block(BlockKind.ITEM, " | ".join(text for text in cells if text), 1)
        elif kind in _CARDS or kind == "media":
            yield Block(BlockKind.PARAGRAPH, self._inline(node, depth))
        else:
            title = _attribute(node, "title")
            if isinstance(title, str) and kind in {"expand", "nestedExpand"}:
                yield Block(BlockKind.HEADING, title.strip(), BOLD_LEVEL)
            inner = list_depth + (kind in _LISTS)
            for child in _content(node):
                yield from self.blocks(child, inner, depth + 1)

    def _item(self, node: Any, list_depth: int, depth: int) -> Iterator[Block]:
        """Yield an item with its own paragraphs as one text, then the items of the lists in it."""
        own: list[Any] = []
        nested: list[Any] = []
        for child in _content(node):
            (nested if _kind_of(child) in _LISTS else own).append(child)
        parts = [self._inline(child, depth + 1) for child in own]
        # The items of a task list hold text directly, those of a list hold paragraphs.
        is_direct = bool(own) and _kind_of(own[0]) not in {"paragraph", "codeBlock"}
        yield Block(BlockKind.ITEM, _squeezed(("" if is_direct else " ").join(parts)), max(1, list_depth))
        for child in nested:
            yield from self.blocks(child, list_depth, depth + 1)

    def _cell(self, node: Any, depth: int) -> str:
        return _squeezed(" ".join(block.text for block in self.blocks(node, 0, depth)))

    def _line(self, node: Any) -> str:
        return "\n".join(filter(None, map(_squeezed, self._inline(node, 0).split("\n"))))

    def _inline(self, node: Any, depth: int) -> str:
        kind = _kind_of(node)
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            return ""
        if kind == "text":
            return _linked(node)
        if kind == "hardBreak":
            return "\n"
        if kind in _NAMED or kind in _CARDS or kind == "media":
            value = _attribute(node, _NAMED.get(kind, "alt" if kind == "media" else "url"))
            return value if isinstance(value, str) else ""
        if kind == "date":
            return _date(_attribute(node, "timestamp"))
        return "".join(self._inline(child, depth + 1) for child in _content(node))


def _kind_of(node: Any) -> str:
    kind = node.get("type") if isinstance(node, dict) else None
    return kind if isinstance(kind, str) else ""


def _content(node: Any) -> list[Any]:
    content = node.get("content") if isinstance(node, dict) else None
    return content if isinstance(content, list) else []


def _attribute(node: Any, name: str) -> Any:
    attributes = node.get("attrs") if isinstance(node, dict) else None
    return attributes.get(name) if isinstance(attributes, dict) else None


def _marks(node: Any) -> list[Any]:
    marks = node.get("marks")
    return marks if isinstance(marks, list) else []


def _linked(node: Any) -> str:
    text = node.get("text")
    if not isinstance(text, str):
        return ""
    for mark in _marks(node):
        address = _attribute(mark, "href")
        if _kind_of(mark) == "link" and isinstance(address, str) and address != text:
            return f"{text} ({address})"
    return text


def _is_bold(node: Any) -> bool:
    texts = [child for child in _content(node) if _kind_of(child) == "text" and str(child.get("text", "")).strip()]
    return bool(texts) and all(any(_kind_of(mark) == "strong" for mark in _marks(child)) for child in texts)


def _date(timestamp: Any) -> str:
    try:
        return datetime.fromtimestamp(int(timestamp) / 1000, tz=UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _squeezed(text: str) -> str:
    return " ".join(text.split())
