"""Help the grammar of TypeScript over what it does not understand although it is right.

The file is parsed once more from a text in which some characters are exchanged for others that mean the same there, so
that all places stay where they are. The new tree is taken only if it has no more errors.
"""

import re
from typing import Final

from tree_sitter import Node

from codeplane.languages.javascript.grammars import TSX, Dialect
from codeplane.languages.parsing import IsOver, is_tree_too_deep, parse

# Without error the grammar takes `using x = y` for two statements, of which the second assigns.
_USING: Final = re.compile(rb"^([ \t]*)(await[ \t]+)?using(?=[ \t]+[A-Za-z_$][\w$]*[ \t]*[=:])", re.MULTILINE)
_EXPORT_TYPE_STAR: Final = re.compile(rb"(\bexport\s+)type(\s*\*)")
# Call signatures of an interface need nothing but a new line between them; the grammar takes the second one's type
# parameters for arguments of the type that ends the first.
_SIGNATURE_ON_NEW_LINE: Final = re.compile(
    rb"(\n[ \t]*)[ \t](<\s*(?:const\s+)?[A-Za-z_$][\w$]*\s*(?:,|>\s*\(|=|extends\b))"
)


def repaired(dialect: Dialect, source: bytes, root: Node, is_over: IsOver) -> tuple[Node, int]:
    """Return the tree with the fewest errors, and their number."""
    n_errors = count_errors(root)
    if not dialect.is_typed:
        return root, n_errors
    text = _USING.sub(_as_const, source) if b"using" in source else source
    if n_errors:
        text = _EXPORT_TYPE_STAR.sub(rb"\1    \2", text)
        if dialect is not TSX:
            text = _SIGNATURE_ON_NEW_LINE.sub(rb"\1;\2", text)
    if text == source:
        return root, n_errors
    other = parse(text, dialect.grammar, is_over)
    if is_tree_too_deep(other, is_over):
        return root, n_errors
    n_other = count_errors(other)
    return (other, n_other) if n_other <= n_errors else (root, n_errors)


def count_errors(root: Node) -> int:
    """Count the places that the grammar could not understand."""
    count = 0
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        count += node.is_error or node.is_missing
        waiting.extend(child for child in node.children if child.has_error or child.is_missing)
    return count


def _as_const(match: re.Match[bytes]) -> bytes:
    return match.group(1) + b"const" + b" " * len(match.group(2) or b"")
