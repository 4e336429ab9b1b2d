"""Recognise files nested so deeply that the parser's library cannot be trusted with them.

Measured with tree-sitter 0.26.0: more than 511 levels of indentation overflow the grammar's own stack, after which a
query may crash the process. Python itself allows 100 levels of indentation and 200 of brackets.
"""

import re
from typing import Final

MAX_INDENTS: Final = 400
_WIDE_INDENT: Final = re.compile(rb"\n[ \t\f]{%d}" % MAX_INDENTS)
_INDENT: Final = re.compile(rb"^([ \t\f]*)[^ \t\f\r\n#]", re.MULTILINE)


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
