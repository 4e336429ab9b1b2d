"""Find the module declarations (`mod x;`) in the text of a Rust file."""

import re
from typing import Final, NamedTuple

_ANY_MODULE: Final = re.compile(r"\bmod\s+(?:r#)?\w+\s*;")
# Comments, strings and characters are passed over; braces are counted, so that inline modules are known.
_TOKEN: Final = re.compile(
    r"""
    //[^\n]* | /\*(?:[^*]|\*(?!/))*\*/
    | b?r(?P<hashes>\#*)"(?:(?!"(?P=hashes)).)*"(?P=hashes)
    | b?"(?:[^"\\]|\\.)*" | b?'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))'
    | \#\s*\[\s*(?:cfg_attr\s*\([^"\]]*)?path\s*=\s*"(?P<path>[^"\n]*)"\s*\)?\s*\]
    | \bmod\s+(?:r\#)?(?P<name>\w+)\s*(?P<end>[;{])
    | \b(?P<macro>\w+)\s*!\s*\{
    | (?P<brace>[{}]) | (?P<other>[;])
    """,
    re.VERBOSE | re.DOTALL,
)
# The macro whose arguments are `if #[cfg(…)] { items } else { items }`.
_CHOICE: Final = "cfg_if"


class ModuleDeclaration(NamedTuple):
    """`mod x;`: the inline modules around it, its name, and the path that an attribute gives it."""

    around: tuple[str, ...]
    name: str
    path: str | None


def module_declarations(text: str) -> list[ModuleDeclaration]:
    """Return the declarations of modules that are other files.

    A declaration in the arguments of a macro counts: such macros make items depend on the platform or on features.
    """
    if _ANY_MODULE.search(text) is None:
        return []
    found: list[ModuleDeclaration] = []
    # The names of the modules whose braces are open; of macros an empty one, or their own; None for other braces.
    braces: list[str | None] = []
    path: str | None = None
    for match in _TOKEN.finditer(text):
        if match["path"] is not None:
            path = match["path"]
        elif match["end"] == ";":
            if None not in braces:
                around = tuple(name for name in braces if name and name != _CHOICE)
                found.append(ModuleDeclaration(around, match["name"], path))
            path = None
        elif match["other"] or match["brace"] or match["name"] or match["macro"]:
            path = None
            _count(match, braces)
    return found


def _count(match: re.Match[str], braces: list[str | None]) -> None:
    """Open or close a brace."""
    if match["name"] is not None:
        braces.append(match["name"])
    elif match["macro"] is not None:
        braces.append(_CHOICE if match["macro"] == _CHOICE else "")
    elif match["brace"] == "{":
        braces.append("" if braces and braces[-1] == _CHOICE else None)
    elif match["brace"] == "}" and braces:
        braces.pop()
