"""Find the places where a Go file reaches members by text."""

import re
from typing import Final

from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import NO_RECEIVER, DynamicAccess, Import, Reference

# What is looked up by a text, and the package without which a method of that name is something else.
_LOOKUPS: Final = {
    "FieldByName": "reflect",
    "FieldByNameFunc": "reflect",
    "MethodByName": "reflect",
    "Lookup": "plugin",
}
_ARGUMENT: Final = re.compile(r"\s*\(\s*(?:\"((?:[^\"\\\n]|\\.)*)\"|`([^`]*)`)?\s*([,)])?")


def read_dynamic(references: list[Reference], imports: list[Import], text: BlockText) -> list[DynamicAccess]:
    """Return the calls that look up fields, methods or symbols by name."""
    packages = {fact.source for fact in imports}
    wanted = {name: package for name, package in _LOOKUPS.items() if package in packages}
    if not wanted:
        return []
    found = []
    for start, name, _, _, receiver, _ in references:
        if name not in wanted or receiver == NO_RECEIVER:
            continue
        end = start + len(name)
        argument = _ARGUMENT.match(text.bytewise, end)
        if argument is None:
            continue
        quoted, raw, closing = argument.groups()
        literal = quoted if quoted is not None else raw
        is_literal = literal is not None and closing is not None
        literals = (literal,) if is_literal and literal is not None else ()
        found.append(DynamicAccess(wanted[name], start, end, literals, has_non_literal_key=not is_literal))
    return found
