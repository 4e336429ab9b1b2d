"""Find the places where a Java file reaches types and members by text."""

import re
from typing import Final

from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import NO_RECEIVER, DynamicAccess, Reference

_LOOKUPS: Final = frozenset({"forName", "getDeclaredField", "getDeclaredMethod", "getField", "getMethod", "loadClass"})
_ARGUMENT: Final = re.compile(r"\s*\(\s*(?:\"((?:[^\"\\\n]|\\.)*)\")?\s*([,)])?")


def read_dynamic(references: list[Reference], text: BlockText) -> list[DynamicAccess]:
    """Return the calls that look up classes, fields or methods by name."""
    found: list[DynamicAccess] = []
    if not any(name in text.bytewise for name in _LOOKUPS):
        return found
    for start, name, _, _, receiver, _ in references:
        if name not in _LOOKUPS or receiver == NO_RECEIVER:
            continue
        end = start + len(name)
        argument = _ARGUMENT.match(text.bytewise, end)
        if argument is None:
            continue
        literal, closing = argument.groups()
        is_literal = literal is not None and closing is not None
        literals = (literal,) if is_literal else ()
        found.append(DynamicAccess("reflect", start, end, literals, has_non_literal_key=not is_literal))
    return found
