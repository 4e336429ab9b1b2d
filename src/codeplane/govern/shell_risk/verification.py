"""Commands that a team has named: readers of its own, and scripts that verify."""

import fnmatch
from typing import Final

from codeplane.govern.policy_document import VERIFICATION_SCRIPTS
from codeplane.govern.shell_risk.words import Word

# These install packages when they are no script.
_INSTALLING: Final = frozenset({"ci"})
_SILENT: Final = frozenset({"--silent", "-s"})
_RUN: Final = frozenset({"run", "run-script"})
_SHORTCUTS: Final = {"npm": frozenset({"test", "t", "tst"})}


def is_named(patterns: tuple[str, ...], words: list[Word]) -> bool:
    """Tell whether a pattern of a policy file fits a command, word by word; a `*` never makes an option."""
    values = [word.value for word in words]
    if not all(word.is_static for word in words):
        return False
    return any(_fits(pattern.split(), values) for pattern in patterns)


def is_verification(scripts: tuple[str, ...], words: list[Word]) -> bool:  # noqa: PLR0911 - one form of runner each.
    """Tell whether a command runs one of the scripts, bare, or is one of the named commands."""
    if not all(word.is_static for word in words):
        return False
    commands = tuple(one for one in scripts if " " in one.strip() or one not in VERIFICATION_SCRIPTS)
    if is_named(commands, words):
        return True
    values = [word.value for word in words]
    program, rest = values[0], [one for one in values[1:] if one not in _SILENT]
    if program not in {"npm", "pnpm", "yarn", "bun"} or len(values) - 1 - len(rest) > 1:
        return False
    if len(rest) == 2 and rest[0] in _RUN and (rest[0] == "run" or program == "npm"):
        return rest[1] in scripts
    if len(rest) != 1:
        return False
    if program == "npm":
        return rest[0] in _SHORTCUTS["npm"] and "test" in scripts
    if rest[0] in _INSTALLING and program != "yarn":
        return False
    return rest[0] in scripts


def _fits(pattern: list[str], values: list[str]) -> bool:
    if not pattern or len(pattern) != len(values):
        return False
    pairs = list(zip(pattern, values, strict=True))
    if any(value.startswith("-") and not wanted.startswith("-") for wanted, value in pairs):
        return False
    return all(fnmatch.fnmatchcase(value, wanted) for wanted, value in pairs)
