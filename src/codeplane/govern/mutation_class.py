"""What kind of change an edit is, told from the structure of the text before and after.

A change that leaves the syntax tree as it was, or only gives names another name throughout the changed part, is an
AST_REFACTOR; everything else is an INTENT_EVOLUTION. In doubt it is the latter.
"""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Language, Node, Parser

from codeplane.languages.catalog import dialect_of, load_language

AST_REFACTOR: Final = "AST_REFACTOR"
INTENT_EVOLUTION: Final = "INTENT_EVOLUTION"
_MAX_BYTES: Final = 1_000_000
_MAX_TOKENS: Final = 200_000

_Token = tuple[str, bytes]


def mutation_class(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return the class of one file's change."""
    if before is None or after is None or len(before) + len(after) > _MAX_BYTES:
        return INTENT_EVOLUTION
    language = load_language(dialect_of(path))
    if language is None or language.grammar is None:
        return INTENT_EVOLUTION
    old, new = _differing(language.grammar, before, after)
    return AST_REFACTOR if _is_refactor(old, new) else INTENT_EVOLUTION


def _differing(grammar: Language, before: bytes, after: bytes) -> tuple[list[Node], list[Node]]:
    """Return the parts of both files between what is the same at their beginning and at their end."""
    roots = [Parser(grammar).parse(one).root_node for one in (before, after)]
    if any(root.has_error for root in roots):
        return [roots[0]], []
    old, new = ([child for child in root.children if not _is_comment(child)] for root in roots)
    while old and new and old[0].text == new[0].text:
        old, new = old[1:], new[1:]
    while old and new and old[-1].text == new[-1].text:
        old, new = old[:-1], new[:-1]
    return old, new


def _is_refactor(old: list[Node], new: list[Node]) -> bool:
    names: dict[bytes, bytes] = {}
    for n_tokens, (first, second) in enumerate(_pairs(old, new)):
        if first is None or second is None or n_tokens > _MAX_TOKENS or first[0] != second[0]:
            return False
        if first[1] != second[1] and not first[0].endswith("identifier"):
            return False
        if first[0].endswith("identifier") and names.setdefault(first[1], second[1]) != second[1]:
            return False
    # Two names that become one are no renaming.
    return len(set(names.values())) == len(names)


def _pairs(old: list[Node], new: list[Node]) -> Iterator[tuple[_Token | None, _Token | None]]:
    first, second = _tokens(old), _tokens(new)
    while True:
        pair = (next(first, None), next(second, None))
        if pair == (None, None):
            return
        yield pair


def _tokens(nodes: list[Node]) -> Iterator[_Token]:
    """Return kinds of nodes from outside to inside, and the texts of the innermost ones; comments are none."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if _is_comment(node):
            continue
        children = [child for child in node.children if not _is_comment(child)]
        # With the number of children the sequence tells the whole tree.
        yield (f"{node.type} {len(children)}", b"") if children else (node.type, node.text or b"")
        waiting.extend(reversed(children))


def _is_comment(node: Node) -> bool:
    return "comment" in node.type
