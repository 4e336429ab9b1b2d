"""Cut a command into words and operators, as bash does, as long as nothing in it is dynamic.

The text is handled as one character per byte, so that positions are those of the syntax tree.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from codeplane.govern.shell_risk.report import UnclearCommandError

_OPERATORS: Final = ("&>>", "&&", "||", "|&", "&>", ">>", ">&", ";", "|", "<", ">", "\n")
_REFUSED: Final = (
    (";;", "case separators"),
    ("<<", "a here-document or here-string"),
    ("<(", "a process substitution"),
    (">(", "a process substitution"),
    ("<>", "a file opened for writing"),
    ("<&", "a duplicated descriptor"),
    (">|", "a redirect that overwrites"),
    ("(", "a group, a function or an extended pattern"),
    (")", "a group, a function or an extended pattern"),
)
_ANSI_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# After these an interactive shell leaves an exclamation mark alone.
_NO_HISTORY: Final = frozenset(" \t\n=('\"|&;)")
MAX_WORDS: Final = 2000


@dataclass(slots=True)
class Word:
    """A word; `value` is what the program gets, unless it `has_glob` or holds `variables`.

    `starts_open`: the first character is one of a pattern, so that the word may become an option.
    """

    start: int
    end: int
    raw: str
    value: str
    has_glob: bool = False
    starts_open: bool = False
    variables: tuple[str, ...] = ()

    @property
    def is_static(self) -> bool:
        """Tell whether the program gets exactly `value`."""
        return not self.has_glob and not self.variables


@dataclass(frozen=True, slots=True)
class Operator:
    """What stands between words; `descriptor` is the number right before a redirect."""

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
    variables: list[str] = field(default_factory=list)
    has_glob: bool = False
    starts_open: bool = False
    n_braces: int = 0

    def ahead(self, length: int = 1) -> str:
        return self.text[self.position : self.position + length]

    def has(self, start: str) -> bool:
        return self.text.startswith(start, self.position)


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
            raise UnclearCommandError(f"more than {MAX_WORDS} words")
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
    raise UnclearCommandError("a command in the background")


def _join_descriptor(reading: _Reading, tokens: list[Token]) -> None:
    """A number right before a redirect names the descriptor."""
    word = tokens[-1]
    if isinstance(word, Word) and reading.ahead() in ("<", ">"):
        if re.fullmatch(r"\{\w+\}", word.raw):
            raise UnclearCommandError("a descriptor in a variable")
        if word.raw.isdigit():
            operator = _operator(reading)
            tokens[-1] = Operator(word.start, operator.text, word.raw)


def _word(reading: _Reading) -> Word:
    start = reading.position
    reading.value, reading.variables = [], []
    reading.has_glob = reading.starts_open = False
    reading.n_braces = 0
    if reading.has("~"):
        raise UnclearCommandError("a home directory")
    while reading.position < len(reading.text) and reading.ahead() not in " \t\n&|;<>()":
        _piece(reading)
    raw = reading.text[start : reading.position]
    value, variables = "".join(reading.value), tuple(reading.variables)
    if raw in {"[", "[["}:
        # A lone bracket begins a test; as a pattern it fits nothing but itself.
        return Word(start, reading.position, raw, value)
    return Word(start, reading.position, raw, value, reading.has_glob, reading.starts_open, variables)


def _piece(reading: _Reading) -> None:  # noqa: C901 - one branch per character that means something.
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
        raise UnclearCommandError("a command substitution")
    else:
        if character in "*?[":
            reading.starts_open |= not any(reading.value)
            reading.has_glob = True
        elif character == "!":
            _check_history(reading)
        elif character == "{":
            reading.n_braces += 1
        elif character == "}":
            reading.n_braces = max(0, reading.n_braces - 1)
        elif reading.n_braces and (character == "," or reading.has("..")):
            raise UnclearCommandError("a brace expansion")
        reading.value.append(character)
        reading.position += 1


def _check_history(reading: _Reading) -> None:
    following = reading.text[reading.position + 1 : reading.position + 2]
    if following and following not in _NO_HISTORY:
        raise UnclearCommandError("a history expansion")


def _single_quoted(reading: _Reading) -> None:
    end = reading.text.find("'", reading.position + 1)
    if end < 0:
        raise UnclearCommandError("an unbalanced quote")
    reading.value += [reading.text[reading.position + 1 : end], ""]
    reading.position = end + 1


def _escaped(reading: _Reading) -> None:
    following = reading.text[reading.position + 1 : reading.position + 2]
    if not following:
        raise UnclearCommandError("an escape with nothing behind it")
    if following != "\n":
        reading.value.append(following)
    reading.position += 2


def _double_quoted(reading: _Reading) -> None:
    reading.position += 1
    reading.value.append("")
    while True:
        character = reading.ahead()
        if not character:
            raise UnclearCommandError("an unbalanced quote")
        if character == '"':
            reading.position += 1
            return
        if character == "`":
            raise UnclearCommandError("a command substitution")
        if character == "$":
            _dollar_in_quotes(reading)
            continue
        if character == "\\" and reading.ahead(2)[1:] in tuple('$`"\\\n'):
            reading.value.append(reading.ahead(2)[1:].replace("\n", ""))
            reading.position += 2
            continue
        if character == "!":
            _check_history(reading)
        reading.value.append(character)
        reading.position += 1


def _dollar_in_quotes(reading: _Reading) -> None:
    following = reading.ahead(2)[1:]
    if following in ('"', " ", "|", ")", "/", "\\", ",", ".", "%", "^", "&", ";"):
        # A dollar before these is a dollar: regular expressions end in one.
        reading.value.append("$")
        reading.position += 1
        return
    _expansion(reading)


def _dollar(reading: _Reading) -> None:
    if reading.has("$'"):
        _ansi_string(reading)
    elif reading.has('$"'):
        raise UnclearCommandError("a translated string")
    elif reading.ahead(2) in ("$", "$ ", "$\t", "$\n"):
        reading.value.append("$")
        reading.position += 1
    else:
        _expansion(reading)


def _expansion(reading: _Reading) -> None:
    if reading.has("$?"):
        # Always a small number.
        reading.value.append("0")
        reading.position += 2
        return
    found = _VARIABLE.match(reading.text, reading.position)
    if found is None:
        raise UnclearCommandError("an expansion")
    reading.variables.append(found[1] or found[2])
    reading.position = found.end()


def _ansi_string(reading: _Reading) -> None:
    if not reading.is_bash:
        raise UnclearCommandError("a string that sh does not know")
    reading.position += 2
    reading.value.append("")
    while True:
        character = reading.ahead()
        if not character:
            raise UnclearCommandError("an unbalanced quote")
        if character == "'":
            reading.position += 1
            return
        if character == "\\":
            plain = _ANSI_ESCAPES.get(reading.ahead(2)[1:])
            if plain is None:
                raise UnclearCommandError("an escape that hides a character")
            reading.value.append(plain)
            reading.position += 2
            continue
        reading.value.append(character)
        reading.position += 1
