"""Options and operands of one program, strictly: every option is in the program's own list, written out in full."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from codeplane.govern.shell_risk.places import (
    Location,
    why_not_followed,
    why_not_listed,
    why_not_matched,
    why_not_read,
    why_not_word,
)
from codeplane.govern.shell_risk.words import Word

_NUMBER: Final = re.compile(r"[-+]?\d[\d.,%]*[a-zA-Z]{0,2}")

# Git takes HEAD when nothing follows these.
_MAY_LACK_LAST: Final = frozenset({"-contains", "-no-contains", "-merged", "-no-merged", "-points-at"})


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to a program: names of options (without dashes) with their values, and operands."""

    options: tuple[tuple[str, str | None], ...] = ()
    operands: tuple[Word, ...] = ()

    def has(self, *names: str) -> bool:
        """Tell whether one of these options is there."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """Return the values of these options."""
        return [value for name, value in self.options if name in names and value is not None]


Check = Callable[[Given, Location], str | None]


def no_more(_given: Given, _standing: Location) -> str | None:
    """Nothing but options and operands has to be looked at."""
    return None


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that only reads when nothing but these options is given.

    `flags`, `valued` and `attached` are letters: without a value, with one (attached or the next word), with one only
    if it is attached. The long ones alike; a value of `long_valued` may follow `=` or be the next word. `paths` names
    options whose value is a file, `names` those whose value is a pattern of file names. Operands from `first_path` on
    are files; -1: none is. Values of letters in `apart` may not be attached, because the program would read on.
    `follows`: with one option of each group the program follows every link below its operands. `pattern_options` take
    the place of the operand before `first_path`. `whole`: an option with one dash is one name, not a row of letters.
    `counts`: prints numbers about files, never what is in them.
    `listable` are places outside of the tree that may be named. `may_glob`: a file that is named like an option does
    no harm.
    """

    flags: str = ""
    valued: str = ""
    attached: str = ""
    long: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    long_attached: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    first_path: int = 0
    max_operands: int = 1000
    may_glob: bool = False
    has_numbers: bool = False
    is_git: bool = False
    apart: str = ""
    listable: tuple[str, ...] = ()
    follows: tuple[tuple[str, ...], ...] = ()
    pattern_options: tuple[str, ...] = ()
    whole: bool = False
    counts: bool = False
    check: Check = no_more
    known: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Make one table of all options: flag, value or attached."""
        for names, kind in ((self.flags, "flag"), (self.valued, "value"), (self.attached, "attached")):
            self.known.update(dict.fromkeys(names, kind))
        for long, kind in ((self.long, "flag"), (self.long_valued, "value"), (self.long_attached, "attached")):
            self.known.update({f"-{name}": kind for name in long})
            if self.whole:
                self.known.update(dict.fromkeys(long, kind))


def why_not_safe(reader: Reader, words: list[Word], location: Location) -> str | None:
    """Return what speaks against running a reader with these words, None when nothing does."""
    given = read_options(reader, words)
    if isinstance(given, str):
        return given
    if len(given.operands) > reader.max_operands:
        return "has too many operands"
    reason = next(_objections(reader, given, location), None) or _why_not_links(reader, given, location)
    return reason if reason is not None else reader.check(given, location)


def _why_not_links(reader: Reader, given: Given, location: Location) -> str | None:
    if not reader.follows or not all(given.has(*group) for group in reader.follows):
        return None
    first = 0 if given.has(*reader.pattern_options) else reader.first_path
    reasons = (why_not_followed(word, location) for word in given.operands[first:] or (None,))
    return next((reason for reason in reasons if reason is not None), None)


def _objections(reader: Reader, given: Given, location: Location) -> Iterator[str]:
    """Return what speaks against each value and operand that is a file."""
    found = [why_not_read(value, location) for value in given.values(*reader.paths)]
    found += [_why_not_name_pattern(value, location) for value in given.values(*reader.names)]
    if reader.is_git:
        # A range of lines ends with the file it is in.
        found += [why_not_read(value.rpartition(":")[2], location) for value in given.values("L")]
    for word in given.operands[reader.first_path :] if reader.first_path >= 0 else ():
        if word.is_listing:
            found.append(why_not_listed(word, location, shows_contents=not reader.counts))
        elif not (word.is_static and word.value in reader.listable):
            found.append(why_not_operand(word, location, is_git=reader.is_git))
    yield from (reason for reason in found if reason is not None)


def _why_not_name_pattern(pattern: str, location: Location) -> str | None:
    """Return what speaks against a pattern that the program itself expands, alternatives in braces included."""
    if pattern.startswith("!"):
        return None
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return why_not_matched(pattern, location)
    if pattern.count("{") > 1:
        return "has a pattern with nested alternatives"
    for one in found[1].split(","):
        reason = why_not_matched(pattern[: found.start()] + one + pattern[found.end() :], location)
        if reason is not None:
            return reason
    return None


def why_not_operand(word: Word, location: Location, *, is_git: bool = False) -> str | None:
    """Return what speaks against a word as a file to read."""
    if not is_git:
        return why_not_word(word, location)
    # Git takes a revision with a path behind a colon, and expands patterns itself.
    texts = {word.value}
    if word.value.startswith((":!", ":^", ":(exclude")):
        return None
    if ":" in word.value:
        texts = {part.rpartition(")")[2] if part.startswith("(") else part for part in word.value.split(":")}
    for text in texts:
        path = text.lstrip("/") if ":" in word.value else text
        reason = why_not_matched(path, location)
        if reason is not None:
            return reason
    return None


def read_options(reader: Reader, words: list[Word]) -> Given | str:
    """Return options and operands, or why they cannot be told."""
    options: list[tuple[str, str | None]] = []
    operands: list[Word] = []
    waiting = list(reversed(words))
    only_operands = False
    while waiting:
        word = waiting.pop()
        if word.variables:
            return f"{word.raw} is only known when it runs"
        if only_operands or word.value == "-" or not word.value.startswith("-"):
            if word.starts_open and not only_operands and not reader.may_glob:
                return f"{word.raw} may become an option, depending on the files here"
            operands.append(word)
        elif word.has_glob and not re.match(r"--[a-z][a-z0-9-]*=", word.value):
            # What fits a pattern behind the equals sign is the same option with another value.
            return f"{word.raw} may become another option, depending on the files here"
        elif word.value == "--":
            only_operands = True
        elif reader.has_numbers and word.value[1:].isdigit():
            options.append(("#", word.value[1:]))
        else:
            is_long = reader.whole or word.value.startswith("--")
            read = _long(reader, word, waiting) if is_long else _short(reader, word, waiting)
            if isinstance(read, str):
                return read
            options += read
    return Given(tuple(options), tuple(operands))


def _long(reader: Reader, word: Word, waiting: list[Word]) -> list[tuple[str, str | None]] | str:
    name, has_value, value = word.value[1:].partition("=")
    kind = reader.known.get(name) if len(name) > 1 or reader.whole else None
    if word.has_glob and name in reader.paths:
        return f"{word.raw} is only known when it runs"
    if kind is None:
        return f"the option {word.value} is not on the list of options that only read"
    if has_value:
        return [(name, value)] if kind != "flag" else f"the option {word.value} takes no value"
    if kind == "value":
        return _next_value(name, waiting)
    return [(name, None)]


def _short(reader: Reader, word: Word, waiting: list[Word]) -> list[tuple[str, str | None]] | str:
    found: list[tuple[str, str | None]] = []
    letters = word.value[1:]
    for position, letter in enumerate(letters):
        kind = reader.known.get(letter)
        rest = letters[position + 1 :]
        if kind == "flag":
            found.append((letter, None))
        elif kind == "attached":
            return [*found, (letter, rest or None)]
        elif kind == "value" and rest and letter in reader.apart:
            return f"the value of -{letter} must be a word of its own"
        elif kind == "value" and rest:
            return [*found, (letter, rest)]
        elif kind == "value":
            read = _next_value(letter, waiting)
            return read if isinstance(read, str) else found + read
        else:
            return f"the option -{letter} is not on the list of options that only read"
    return found


def _next_value(name: str, waiting: list[Word]) -> list[tuple[str, str | None]] | str:
    if not waiting and name in _MAY_LACK_LAST:
        return [(name, None)]
    if not waiting:
        return f"the option {name} has no value"
    word = waiting.pop()
    if not word.is_static:
        return f"{word.raw} is only known when it runs"
    # Another system's program may take no value here and read an option instead.
    if word.value.startswith("-") and len(word.value) > 1 and not _NUMBER.fullmatch(word.value):
        return f"{word.value} may be an option"
    return [(name, word.value)]
