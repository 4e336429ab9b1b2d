"""Patterns of file names, widened: every name the shell, git or rg would match is matched here, too.

A bracket expression is not evaluated. Shells differ in classes, ranges, quotes and negation inside it, so it counts as
any character, and as any text when its end is unclear.
"""

import fnmatch
import re
from typing import Final

# Stands for a quoted character in the shape of a word.
QUOTED: Final = "\0"
_PLAIN_BRACKET: Final = re.compile(r"\[[!^]?[\w.,@%+=#~ -]+\]")
_MAX_BRACES: Final = 50
_SPECIAL: Final = frozenset("*?[]\\")


def widened(text: str, shape: str | None = None) -> str:
    """Return a pattern in which only `*` and `?` are special and that matches at least what the original matches.

    `shape` is the text with every quoted character replaced; without it, backslashes quote.
    """
    marks = shape if shape is not None else re.sub(r"\\.", QUOTED * 2, text, flags=re.DOTALL)
    is_program = shape is None
    found: list[str] = []
    position = 0
    while position < len(text):
        mark, character = marks[position], text[position]
        bracket = _PLAIN_BRACKET.match(marks, position) if mark == "[" else None
        if bracket is not None:
            found.append("?")
            position = bracket.end()
        elif mark == "[":
            # Where it ends depends on the shell: anything up to the next slash.
            found.append("?*")
            slash = text.find("/", position)
            position = slash if slash >= 0 else len(text)
        elif is_program and mark == QUOTED:
            found.append(_literal(text[position + 1 : position + 2]))
            position += 2
        else:
            found.append(mark if mark in "*?" else _literal(character))
            position += 1
    return "".join(found)


def matches(name: str, pattern: str) -> bool:
    """Tell whether a widened pattern may match a name, whatever the case."""
    return fnmatch.fnmatchcase(name.lower(), pattern.lower())


def matches_in_shell(name: str, pattern: str) -> bool:
    """Tell the same for a pattern the shell expands: a leading dot has to be written out."""
    return matches(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def expands_braces(shape: str) -> bool:
    """Tell whether bash may make several words of braces; `shape` has its quoted characters replaced."""
    if shape.count("{") > _MAX_BRACES:
        return True
    return any(_closes(shape, position + 1) for position, mark in enumerate(shape) if mark == "{")


def _closes(shape: str, position: int) -> bool:
    """Bash's own rule: a closing brace counts only after a comma or `..` on its level."""
    level, has_parts = 0, False
    for at in range(position, len(shape)):
        mark = shape[at]
        if mark == "{":
            level += 1
        elif mark == "}" and level:
            level -= 1
        elif mark == "}" and has_parts:
            return True
        elif level == 0 and (mark == "," or shape.startswith("..", at)):
            has_parts = True
    return False


def _literal(character: str) -> str:
    return "?" if character in _SPECIAL else character
