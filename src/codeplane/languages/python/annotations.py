"""Read from the text of an annotation which class it plainly names.

An annotation counts where it is a name or a dotted name, alone, beside `None`, or in `Optional`, `Final` or
`ClassVar`. Everything else, such as a container of instances, names no class whose members the value has.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE

_NAME: Final = r"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_CHAIN: Final = rf"(?:{_NAME}\.)*(?P<name>{_NAME})"
_SPACE: Final = r"[ \t]*"
_END: Final = r"(?=[,)=\n#\r]|$)"
_WRAPPED: Final = re.compile(
    rf"{_SPACE}:{_SPACE}(?:typing\.)?(?:Optional|Final|ClassVar)\[{_SPACE}{_CHAIN}{_SPACE}\]{_SPACE}{_END}"
)
_PLAIN: Final = re.compile(
    rf"""{_SPACE}:{_SPACE}(?P<quote>['"]?)(?:None{_SPACE}\|{_SPACE})?{_CHAIN}{_SPACE}(?:\|{_SPACE}None{_SPACE})?"""
    rf"(?P=quote){_SPACE}{_END}"
)
_ASKED_FOR_CLASS: Final = re.compile(
    rf"\b(?:isinstance|issubclass|type|callable|hasattr)\(\s*({_NAME})|\bmatch\s+({_NAME})"
)
# A type in quotes: names, dots, brackets and bars; anything else is some other text.
_QUOTED_TYPE: Final = re.compile(r"""[rRuU]?(?P<quote>['"])(?P<type>[\w\x80-\xff\s.,|\[\]]+)(?P=quote)""")
_WORD: Final = re.compile(rf"(?<![\w\x80-\xff]){_NAME}")
# What may be between an annotation and a string that is a part of it.
_INSIDE_TYPES: Final = frozenset(
    {"subscript", "generic_type", "type_parameter", "binary_operator", "union_type", "list", "tuple", "member_type"}
)
_LITERALS: Final = re.compile(r"\b(?:Literal|Annotated)$")
_NO_CLASSES: Final = frozenset({"None", "Any", "object", "int", "str", "bytes", "bool", "float"})


def annotated_type(bytewise: str, end: int) -> int:
    """Return where the name of the class starts that an annotation after a name gives, NONE when it gives none."""
    if bytewise[end : end + 1] not in {":", " "}:
        return NONE
    match = _PLAIN.match(bytewise, end) or _WRAPPED.match(bytewise, end)
    return match.start("name") if match is not None and match["name"] not in _NO_CLASSES else NONE


def quoted_names(strings: Iterable[Node], bytewise: str) -> Iterator[tuple[int, int]]:
    """Yield where the names start and end that types in quotes are made of."""
    for node in strings:
        match = _QUOTED_TYPE.fullmatch(bytewise, *node.byte_range)
        if match is not None and _is_in_annotation(node, bytewise):
            yield from (word.span() for word in _WORD.finditer(bytewise, *match.span("type")))


def _is_in_annotation(node: Node, bytewise: str) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in {"subscript", "generic_type"} and parent.child_count:
            first = parent.children[0]
            if _LITERALS.search(bytewise, *first.byte_range):
                return False
        if parent.type in _INSIDE_TYPES:
            parent = parent.parent
            continue
        if parent.type != "type":
            return False
        outer = parent.parent
        if outer is None or outer.type not in _INSIDE_TYPES:
            return True
        parent = outer
    return False


def narrowed_names(bytewise: str) -> dict[str, list[int]]:
    """Return where names are asked for their class, so that they may be treated as a more special one, in order."""
    found: dict[str, list[int]] = {}
    for match in _ASKED_FOR_CLASS.finditer(bytewise):
        found.setdefault(match[1] or match[2], []).append(match.start())
    return found
