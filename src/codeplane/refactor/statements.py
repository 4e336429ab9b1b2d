"""Spans of whole statements and of items of lists, so that what is removed leaves a tidy text."""

from collections.abc import Collection, Iterator, Sequence

from tree_sitter import Node

Span = tuple[int, int]


def without_items(items: Sequence[Node], gone: Collection[int], text: bytes) -> Iterator[Span]:
    """Yield what to cut from a list so that some of its items are gone, with the commas that belong to them.

    At least one item must stay; `gone` are numbers of items.
    """
    last_kept = max(number for number in range(len(items)) if number not in gone)
    for number, item in enumerate(items):
        if number not in gone or number > last_kept:
            continue
        yield item.start_byte, items[number + 1].start_byte
    if last_kept < len(items) - 1:
        kept, last = items[last_kept], items[-1]
        # What follows the last item (a comma, a closing bracket on its own line) stays as it is.
        end = last.end_byte
        if text[kept.end_byte : kept.end_byte + 1] == b"," and text[end : end + 1] == b",":
            yield kept.end_byte + 1, end + 1
        else:
            yield kept.end_byte, end


def line_span(text: bytes, start: int, end: int) -> Span:
    """Return the whole lines of a statement that has them for itself, else its own span with a `;` that follows."""
    first = text.rfind(b"\n", 0, start) + 1
    newline = text.find(b"\n", end)
    last = newline + 1 if newline >= 0 else len(text)
    rest = text[end:last]
    if not text[first:start].strip() and not rest.strip(b" \t\r\n;"):
        return first, last
    cut = len(rest) - len(rest.lstrip(b" \t"))
    if rest[cut : cut + 1] == b";":
        cut += 1
        cut += len(rest[cut:]) - len(rest[cut:].lstrip(b" \t"))
        return start, end + cut
    return start, end


def indent_of(text: bytes, start: int) -> str:
    """Return the white space before the first word of the line of an offset."""
    first = text.rfind(b"\n", 0, start) + 1
    line = text[first:start]
    return line[: len(line) - len(line.lstrip(b" \t"))].decode()


def newline_of(text: bytes) -> str:
    """Return how lines of a text end."""
    at = text.find(b"\n")
    return "\r\n" if at > 0 and text[at - 1 : at] == b"\r" else "\n"


def tidy_cut(text: bytes, start: int, end: int) -> Span:
    """Return the lines from `start` to `end` together with the blank lines that would be left over after a cut.

    The blank lines before stay, those after go; at the end of the text or of a body those before go.
    """
    after = end
    while (newline := text.find(b"\n", after)) >= 0 and not text[after:newline].strip():
        after = newline + 1
    rest = text[after:].lstrip()
    if rest.startswith((b"}", b")")) or not rest:
        before = len(text[:start].rstrip())
        newline = text.find(b"\n", before)
        return (newline + 1 if 0 <= newline < start else start), after if rest else len(text)
    if not text[:start].strip() or text[:start].endswith((b"\n\n", b"\r\n\r\n")):
        return start, after
    return start, end


def climb(node: Node | None, kinds: Collection[str]) -> Node | None:
    """Return the nearest node of some kinds around a node, itself included."""
    while node is not None and node.type not in kinds:
        node = node.parent
    return node
