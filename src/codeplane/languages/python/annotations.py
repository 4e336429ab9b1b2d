"""Read from the text of an annotation which class it plainly names.

An annotation counts where it is a name or a dotted name, alone, beside `None`, or in `Optional`, `Final` or
`ClassVar`. Everything else, such as a container of instances, names no class whose members the value has.
"""

import re
from typing import Final

from codeplane.languages.facts import NONE

_NAME: Final = r"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_CHAIN: Final = rf"(?:{_NAME}\.)*(?P<name>{_NAME})"
_SPACE: Final = r"[ \t]*"
_END: Final = r"(?=[,)=\n#\r]|$)"
_WRAPPED: Final = re.compile(
    rf"{_SPACE}:{_SPACE}(?:typing\.)?(?:Optional|Final|ClassVar)\[{_SPACE}{_CHAIN}{_SPACE}\]{_SPACE}{_END}"
)
_PLAIN: Final = re.compile(
    rf"{_SPACE}:{_SPACE}(?:None{_SPACE}\|{_SPACE})?{_CHAIN}{_SPACE}(?:\|{_SPACE}None{_SPACE})?{_END}"
)
_ASKED_FOR_CLASS: Final = re.compile(
    rf"\b(?:isinstance|issubclass|type|callable|hasattr)\(\s*({_NAME})|\bmatch\s+({_NAME})"
)
_NO_CLASSES: Final = frozenset({"None", "Any", "object", "int", "str", "bytes", "bool", "float"})


def annotated_type(bytewise: str, end: int) -> int:
    """Return where the name of the class starts that an annotation after a name gives, NONE when it gives none."""
    if bytewise[end : end + 1] not in {":", " "}:
        return NONE
    match = _PLAIN.match(bytewise, end) or _WRAPPED.match(bytewise, end)
    return match.start("name") if match is not None and match["name"] not in _NO_CLASSES else NONE


def narrowed_names(bytewise: str) -> dict[str, list[int]]:
    """Return where names are asked for their class, so that they may be treated as a more special one, in order."""
    found: dict[str, list[int]] = {}
    for match in _ASKED_FOR_CLASS.finditer(bytewise):
        found.setdefault(match[1] or match[2], []).append(match.start())
    return found
