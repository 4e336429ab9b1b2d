"""Recognise files nested so deeply that the parser's library cannot be trusted with them.

Measured with tree-sitter 0.26.0: a query over a tree deeper than 65,535 levels leaves captures out without saying so
and takes minutes; more than 511 levels of indentation overflow the grammar's own stack, after which a query may crash
the process. Python itself allows 100 levels of indentation and 200 of brackets.
"""

import re
from collections.abc import Callable
from typing import Final

from tree_sitter import Node

MAX_INDENTS: Final = 400
MAX_DEPTH: Final = 30_000
# A tree deeper than MAX_DEPTH needs at least one byte per level.
_SMALL: Final = MAX_DEPTH
_WIDE_INDENT: Final = re.compile(rb"\n[ \t\f]{%d}" % MAX_INDENTS)
_INDENT: Final = re.compile(rb"^([ \t\f]*)[^ \t\f\r\n#]", re.MULTILINE)
_LOOKS: Final = 1 << 16


def is_indented_too_deeply(source: bytes) -> bool:
    """Say whether more than `MAX_INDENTS` levels of indentation are open at once."""
    if _WIDE_INDENT.search(source) is None:
        return False
    levels = [0]
    for found in _INDENT.finditer(source):
        width = found.end(1) - found.start(1)
        while width < levels[-1]:
            levels.pop()
        if width > levels[-1]:
            levels.append(width)
            if len(levels) > MAX_INDENTS:
                return True
    return False


def is_tree_too_deep(root: Node, is_over: Callable[[], bool]) -> bool:
    """Say whether the tree has more than `MAX_DEPTH` levels; true as well when the time is over."""
    if root.end_byte < _SMALL:
        return False
    cursor = root.walk()
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
