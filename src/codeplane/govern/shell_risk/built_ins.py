"""Words that the shell itself understands: printing, tests, looking names up."""

import itertools
import re
from typing import Final

from codeplane.govern.shell_risk.characters import PRINTS_CONTROL, makes_control
from codeplane.govern.shell_risk.places import Location, why_not_read
from codeplane.govern.shell_risk.words import Word

# Variables that hold no secret and that no SAFE command can set.
PRINTABLE: Final = frozenset({"HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "HOSTNAME", "UID"})
_FORMAT: Final = re.compile(r"(?:[^%]|%%|%[-+ #0]*\d{0,4}(?:\.\d{1,4})?[sdiouxXfeEgGcbq]|%\([^()]*\)T)*", re.DOTALL)
_UNARY: Final = frozenset("bcdefghknprsuwxzGLNOS")
_BINARY: Final = frozenset({"=", "==", "!=", "-nt", "-ot", "-ef"})
_NUMERIC: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_JOINING: Final = frozenset({"!", "-a", "-o"})


def why_not_echo(words: list[Word], *, is_bash: bool = True) -> str | None:
    """Return what speaks against an `echo`: a variable that may hold a secret, or a terminal escape."""
    options = list(itertools.takewhile(lambda word: re.fullmatch(r"-[neE]+", word.value), words))
    # Other shells' echo reads backslashes without being asked.
    reads_escapes = not is_bash or any("e" in word.value for word in options)
    if reads_escapes and makes_control("".join(word.value for word in words[len(options) :])):
        return PRINTS_CONTROL
    hidden = next((name for word in words for name in word.variables if name not in PRINTABLE), None)
    return None if hidden is None else f"the variable {hidden} may hold anything"


def why_not_printf(words: list[Word]) -> str | None:
    """Return what speaks against a `printf`: `-v` and `%n` set variables."""
    is_ended = bool(words) and words[0].value == "--"
    words = words[1:] if is_ended else words
    if not words or not words[0].is_static or (words[0].value.startswith("-") and not is_ended):
        return "printf has no plain format"
    if not _FORMAT.fullmatch(words[0].value):
        return "the format of printf may set a variable"
    # Some shells evaluate text in brackets as arithmetic.
    if any("[" in word.value for word in words[1:]) and re.search(r"%[^%sbq]*[diouxXfeEgG]", words[0].value):
        return "printf may evaluate a number as an expression"
    if makes_control(words[0].value) or ("b" in words[0].value and any(makes_control(one.value) for one in words[1:])):
        return PRINTS_CONTROL
    return why_not_echo(words[1:])


def why_not_type(words: list[Word]) -> str | None:
    """Return what speaks against a `type`."""
    options = [word.value for word in words if word.value.startswith("-")]
    if not all(word.is_static for word in words) or not all(re.fullmatch(r"-[afpPt]+", one) for one in options):
        return "type has words that are not plain names"
    return None


def why_not_test(words: list[Word], location: Location) -> str | None:  # noqa: PLR0911 - one way out per danger.
    """Return what speaks against the inside of a test; `-v` and arithmetic may evaluate a subscript."""
    values = [word.value for word in words]
    if not values:
        return "tests nothing"
    if not all(word.is_static for word in words):
        return "tests something that is only known when it runs"
    for position, value in enumerate(values):
        is_operator = value in _BINARY | _NUMERIC | _JOINING or re.fullmatch(r"-[a-zA-Z]", value) is not None
        if value in _NUMERIC:
            around = (*values[max(0, position - 1) : position], *values[position + 1 : position + 2])
            if not all(re.fullmatch(r"-?\d+", one) for one in around):
                return "compares something that is not a number"
        elif is_operator:
            if value.startswith("-") and value not in _BINARY | _JOINING and value[1] not in _UNARY:
                return f"the test {value} is not on the list of harmless tests"
        elif value.startswith("-") or "[" in value:
            return f"{value} is not allowed in a test"
        else:
            reason = why_not_read(value, location)
            if reason is not None:
                return reason
    return None
