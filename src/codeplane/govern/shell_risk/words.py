"""Cut a command into words and operators, as bash does, as long as nothing in it is dynamic.

The text is handled as one character per byte, so that positions are those of the syntax tree.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from codeplane.govern.shell_risk.patterns import QUOTED, expands_braces, widened
from codeplane.govern.shell_risk.report import UnclearCommandError

_OPERATORS: Final = ("&>>", "&&", "||", "|&", "&>", ">>", ">&", ";", "|", "<", ">", "\n")
_REFUSED: Final = (
    (";;", "has an empty or a case separator"),
    ("<<", "uses a here-document or here-string, which is not checked"),
    ("<(", "uses a process substitution, which runs another command"),
    (">(", "uses a process substitution, which runs another command"),
    ("<>", "opens a file for writing"),
    ("<&", "reads from another descriptor"),
    (">|", "overwrites a file"),
    ("(", "uses a group, a function or an extended pattern, which is not checked"),
    (")", "uses a group, a function or an extended pattern, which is not checked"),
)
_ANSI_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# After these an interactive shell leaves an exclamation mark alone.
_NO_HISTORY: Final = frozenset(" \t\n=('\"|&;)")
MAX_WORDS: Final = 2000
NAMES_HOME: Final = "names a home directory"
# Substitutions that print names of the tree's own files, and those that print one commit id.
_ARGUMENT: Final = r"(?: (?:'[\w.*/-]+'|[\w./^~-]+))*"
_LISTING: Final = re.compile(rf"\$\((git ls-files{_ARGUMENT})\)")
_COMMIT: Final = re.compile(rf"\$\((git merge-base{_ARGUMENT})\)")


@dataclass(slots=True)
class Word:
    """A word; `value` is what the program gets, unless it `has_glob` or holds `variables`.

    `starts_open`: the first character is one of a pattern, so that the word may become an option.
    `pattern` matches at least the names that a word with a glob becomes.
    `inner` is the command of a substitution; `is_listing` says that its output becomes any number of file names.
    """

    start: int
    end: int
    raw: str
    value: str
    has_glob: bool = False
    starts_open: bool = False
    variables: tuple[str, ...] = ()
    pattern: str = ""
    inner: str = ""
    is_listing: bool = False

    @property
    def is_static(self) -> bool:
        """Tell whether the program gets exactly `value`."""
        return not self.has_glob and not self.variables


@dataclass(frozen=True, slots=True)
class Operator:
    """What separates words; `descriptor` is the number right before a redirect."""

    start: int
    text: str
    descriptor: str = ""


Token = Word | Operator


@dataclass(slots=True)
class _Reading:
    text: str
    is_bash: bool
    position: int = 0
    value: list[str] = field(default_factory=list)
    shape: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    has_glob: bool = False
    starts_open: bool = False
    inner: str = ""
    is_listing: bool = False

    def ahead(self, length: int = 1) -> str:
        return self.text[self.position : self.position + length]

    def has(self, start: str) -> bool:
        return self.text.startswith(start, self.position)

    def quote(self, text: str) -> None:
        """Add text in which no character has a meaning; an empty one still begins the word."""
        self.value.append(text)
        self.shape.append(QUOTED * len(text))

    def bare(self, character: str) -> None:
        """Add a character that the shell may still expand."""
        self.value.append(character)
        self.shape.append(character)


def read_tokens(text: str, *, is_bash: bool) -> list[Token]:
    """Return words and operators.

    Raises:
        UnclearCommandError: Something is dynamic, unbalanced or not modelled.
    """
    reading = _Reading(text, is_bash)
    tokens: list[Token] = []
    while reading.position < len(text):
        character = reading.ahead()
        if character in " \t":
            reading.position += 1
        elif reading.has("\\\n"):
            reading.position += 2
        elif character == "#":
            end = text.find("\n", reading.position)
            reading.position = len(text) if end < 0 else end
        elif character in "&|;<>()\n":
            tokens.append(_operator(reading))
        else:
            tokens.append(_word(reading))
            _join_descriptor(reading, tokens)
        if len(tokens) > MAX_WORDS:
            raise UnclearCommandError(f"has more than {MAX_WORDS} words")
    return tokens


def _operator(reading: _Reading) -> Operator:
    for start, reason in _REFUSED:
        if reading.has(start):
            raise UnclearCommandError(reason)
    for one in _OPERATORS:
        if reading.has(one):
            if not reading.is_bash and one in {"&>", "&>>", "|&"}:
                raise UnclearCommandError(f"{one} means something else in sh")
            reading.position += len(one)
            return Operator(reading.position - len(one), one)
    raise UnclearCommandError("runs a command in the background")


def _join_descriptor(reading: _Reading, tokens: list[Token]) -> None:
    """A number right before a redirect names the descriptor."""
    word = tokens[-1]
    if isinstance(word, Word) and reading.ahead() in ("<", ">"):
        if re.fullmatch(r"\{\w+\}", word.raw):
            raise UnclearCommandError("keeps a descriptor in a variable")
        if word.raw.isdigit():
            operator = _operator(reading)
            tokens[-1] = Operator(word.start, operator.text, word.raw)


def _word(reading: _Reading) -> Word:
    start = reading.position
    reading.value, reading.shape, reading.variables = [], [], []
    reading.has_glob = reading.starts_open = reading.is_listing = False
    reading.inner = ""
    if reading.has("~"):
        raise UnclearCommandError(NAMES_HOME)
    while reading.position < len(reading.text) and reading.ahead() not in " \t\n&|;<>()":
        _piece(reading)
    raw = reading.text[start : reading.position]
    value, shape = "".join(reading.value), "".join(reading.shape)
    if raw in {"[", "[["}:
        # A lone bracket begins a test; as a pattern it matches nothing but itself.
        return Word(start, reading.position, raw, value)
    if expands_braces(shape):
        raise UnclearCommandError("uses a brace expansion, which becomes several words")
    if re.match(r"\w+\+?=", shape) and re.search(r"[=:]~", shape):
        raise UnclearCommandError(NAMES_HOME)
    if reading.is_listing and not _LISTING.fullmatch(raw):
        raise UnclearCommandError("joins a list of files with other text")
    word = Word(start, reading.position, raw, value, reading.has_glob, reading.starts_open, tuple(reading.variables))
    word.pattern = widened(value, shape) if reading.has_glob and not reading.is_listing else ""
    word.inner, word.is_listing = reading.inner, reading.is_listing
    return word


def _piece(reading: _Reading) -> None:
    character = reading.ahead()
    if character == "'":
        _single_quoted(reading)
    elif character == '"':
        _double_quoted(reading)
    elif character == "\\":
        _escaped(reading)
    elif character == "$":
        _dollar(reading)
    elif character == "`":
        raise UnclearCommandError("uses a command substitution, which runs another command")
    else:
        if character in "*?[":
            reading.starts_open |= not any(reading.value)
            reading.has_glob = True
        elif character == "!":
            _check_history(reading)
        reading.bare(character)
        reading.position += 1


def _check_history(reading: _Reading) -> None:
    following = reading.text[reading.position + 1 : reading.position + 2]
    if following and following not in _NO_HISTORY:
        raise UnclearCommandError("may repeat an earlier command (history expansion)")


def _single_quoted(reading: _Reading) -> None:
    end = reading.text.find("'", reading.position + 1)
    if end < 0:
        raise UnclearCommandError("has a quote that does not end")
    reading.quote(reading.text[reading.position + 1 : end])
    reading.position = end + 1


def _escaped(reading: _Reading) -> None:
    following = reading.text[reading.position + 1 : reading.position + 2]
    if not following:
        raise UnclearCommandError("ends in a backslash")
    if following != "\n":
        reading.quote(following)
    reading.position += 2


def _double_quoted(reading: _Reading) -> None:
    reading.position += 1
    reading.quote("")
    while True:
        character = reading.ahead()
        if not character:
            raise UnclearCommandError("has a quote that does not end")
        if character == '"':
            reading.position += 1
            return
        if character == "`":
            raise UnclearCommandError("uses a command substitution, which runs another command")
        if character == "$":
            _dollar_in_quotes(reading)
            continue
        if character == "\\" and reading.ahead(2)[1:] in tuple('$`"\\\n'):
            reading.quote(reading.ahead(2)[1:].replace("\n", ""))
            reading.position += 2
            continue
        if character == "!":
            _check_history(reading)
        reading.quote(character)
        reading.position += 1


def _dollar_in_quotes(reading: _Reading) -> None:
    following = reading.ahead(2)[1:]
    if following in ('"', " ", "|", ")", "/", "\\", ",", ".", "%", "^", "&", ";"):
        # A dollar before these is a dollar: regular expressions end in one.
        reading.quote("$")
        reading.position += 1
        return
    _expansion(reading)


def _dollar(reading: _Reading) -> None:
    if reading.has("$'"):
        _ansi_string(reading)
    elif reading.has('$"'):
        raise UnclearCommandError("uses a translated string")
    elif reading.ahead(2) in ("$", "$ ", "$\t", "$\n"):
        reading.quote("$")
        reading.position += 1
    elif (found := _LISTING.match(reading.text, reading.position)) is not None:
        reading.inner, reading.is_listing = found[1], True
        reading.has_glob = reading.starts_open = True
        reading.quote(found[0])
        reading.position = found.end()
    elif (found := _COMMIT.match(reading.text, reading.position)) is not None and not reading.inner:
        reading.inner = found[1]
        reading.quote("0" * 40)
        reading.position = found.end()
    else:
        _expansion(reading)


def _expansion(reading: _Reading) -> None:
    if reading.has("$?"):
        # Always a small number.
        reading.quote("0")
        reading.position += 2
        return
    found = _VARIABLE.match(reading.text, reading.position)
    if found is None:
        raise UnclearCommandError("uses an expansion whose result is only known when it runs")
    reading.variables.append(found[1] or found[2])
    reading.position = found.end()


def _ansi_string(reading: _Reading) -> None:
    if not reading.is_bash:
        raise UnclearCommandError("uses a string form that sh does not have")
    reading.position += 2
    reading.quote("")
    while True:
        character = reading.ahead()
        if not character:
            raise UnclearCommandError("has a quote that does not end")
        if character == "'":
            reading.position += 1
            return
        if character == "\\":
            plain = _ANSI_ESCAPES.get(reading.ahead(2)[1:])
            if plain is None:
                raise UnclearCommandError("hides a character behind an escape")
            reading.quote(plain)
            reading.position += 2
            continue
        reading.quote(character)
        reading.position += 1
