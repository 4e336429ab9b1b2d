"""Decide which identifiers in the arguments of macros can be trusted to be plain names."""

import re
from typing import Final

# Macros of the standard library whose arguments are expressions, or a format and expressions.
_PLAIN_MACROS: Final = frozenset(
    {
        "assert",
        "assert_eq",
        "assert_ne",
        "dbg",
        "debug_assert",
        "debug_assert_eq",
        "debug_assert_ne",
        "eprint",
        "eprintln",
        "format",
        "format_args",
        "panic",
        "print",
        "println",
        "todo",
        "unimplemented",
        "unreachable",
        "vec",
        "write",
        "writeln",
    }
)
_QUOTED: Final = re.compile(
    r"""b?r(#*)".*?"\1|b?"(?:[^"\\]|\\.)*"|b?'(?:[^'\\\n]|\\[^u]|\\u\{[0-9a-fA-F_]*\}|\\x..)'|//[^\n]*|/\*.*?\*/""",
    re.DOTALL,
)
# What may bind names or is not an expression: closures, blocks and struct literals, arms, and words that start these.
_BINDING: Final = re.compile(
    r"(?<!\|)\|(?!\|)|=>|[{}$#]|\b(?:let|match|for|while|loop|fn|move|async|unsafe|if|else|ref|static|impl|dyn|where)\b"
)
_INNER_MACRO: Final = re.compile(r"(\w+)\s*!(?!=)")


def has_plain_arguments(name: str, arguments: str) -> bool:
    """Say whether all identifiers in the arguments of a macro are names, members or names of format arguments."""
    if name not in _PLAIN_MACROS:
        return False
    code = _QUOTED.sub('""', arguments)
    if _BINDING.search(code):
        return False
    return all(inner in _PLAIN_MACROS for inner in _INNER_MACRO.findall(code))
