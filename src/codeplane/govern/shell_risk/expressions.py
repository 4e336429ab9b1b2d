"""`find` without actions."""

import re
from typing import Final

from codeplane.govern.shell_risk.characters import PRINTS_CONTROL, makes_control
from codeplane.govern.shell_risk.options import why_not_operand
from codeplane.govern.shell_risk.patterns import matches
from codeplane.govern.shell_risk.places import Location, why_not_followed, why_not_read
from codeplane.govern.shell_risk.words import Word

_TESTS: Final = frozenset(
    {
        "-print", "-print0", "-prune", "-depth", "-mount", "-xdev", "-empty", "-readable", "-writable", "-executable",
        "-nouser", "-nogroup", "-true", "-false", "-not", "-a", "-and", "-o", "-or", "-noleaf", "-daystart", "-follow",
        "-ls", "-quit", "(", ")", "!", ",",
    }
)  # fmt: skip
_TESTS_WITH_VALUE: Final = frozenset(
    {
        "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-type",
        "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer",
        "-perm", "-user", "-group", "-uid", "-gid", "-maxdepth", "-mindepth", "-links", "-inum", "-samefile", "-lname",
        "-ilname", "-printf", "-used", "-fstype",
    }
)  # fmt: skip
_FILES: Final = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
_ACTIONS: Final = (
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from",
)  # fmt: skip
_NEWER: Final = re.compile(r"-newer[aBcm][aBcmt]")
_NUMERIC: Final = re.compile(r"-[0-9ugoa][0-9a-zA-Z=+,]*")


def why_not_find(words: list[Word], location: Location) -> str | None:
    """Return what speaks against a `find`, None when it only looks and prints."""
    waiting = list(reversed(words))
    follows = any(word.value in {"-L", "-follow"} for word in words)
    while waiting and waiting[-1].value in {"-H", "-L", "-P"}:
        waiting.pop()
    n_places = 0
    while waiting and not _begins_expression(waiting[-1]):
        word = waiting.pop()
        n_places += 1
        reason = _why_not_word(word) or why_not_operand(word, location)
        reason = reason or (why_not_followed(word, location) if follows else None)
        if reason is not None:
            return reason
    if follows and n_places == 0 and (reason := why_not_followed(None, location)) is not None:
        return reason
    while waiting:
        word = waiting.pop()
        reason = _why_not_word(word) or _why_not_test(word, waiting, location)
        if reason is not None:
            return reason
    return None


def _begins_expression(word: Word) -> bool:
    return word.value.startswith("-") or word.value in {"(", ")", "!", ","}


def _why_not_word(word: Word) -> str | None:
    if word.variables or word.inner:
        return f"{word.raw} is only known when it runs"
    if word.has_glob and any(matches(action, word.pattern) for action in _ACTIONS):
        return f"{word.raw} may become an action"
    return None


def _why_not_test(  # noqa: PLR0911 - one way out per danger.
    word: Word, waiting: list[Word], location: Location
) -> str | None:
    if word.value in _TESTS and not word.has_glob:
        return None
    if word.has_glob or (word.value not in _TESTS_WITH_VALUE and not _NEWER.fullmatch(word.value)):
        return f"{word.value} is not on the list of tests that only read"
    if not waiting:
        return f"{word.value} has no value"
    value = waiting.pop()
    reason = _why_not_word(value)
    if reason is not None:
        return reason
    if value.value.startswith("-") and not _NUMERIC.fullmatch(value.value):
        return f"{value.value} may be an action"
    if word.value == "-printf" and makes_control(value.value):
        return PRINTS_CONTROL
    if word.value in _FILES or (_NEWER.fullmatch(word.value) and not word.value.endswith("t")):
        return why_not_read(value.value, location)
    return None
