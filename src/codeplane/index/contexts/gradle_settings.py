"""Read which projects a Gradle settings file includes.

Such a file is a program in Groovy or Kotlin. Only plain literals are believed (strict); anything computed means that
the list cannot be known, and then everything counts as listed (permissive).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codeplane.index.contexts.workspace_files import LISTS_EVERYTHING, WorkspaceList, list_directories

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*) | (?P<block>/\*.*?(?:\*/|\Z))
    | (?P<string>\"{3}.*?(?:\"{3}|\Z) | '{3}.*?(?:'{3}|\Z)
      | "(?:\\.|[^"\\\n])*(?:"|(?=\n)|\Z) | '(?:\\.|[^'\\\n])*(?:'|(?=\n)|\Z))
    | (?P<word>[A-Za-z_]\w*) | (?P<newline>\n) | (?P<sign>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDES = frozenset({"include", "includeBuild"})
# A project whose directory is set by hand is not where its name says.
_MOVES_PROJECTS = "projectDir"
# Gradle builds this directory as part of every build without a listing.
_IMPLICIT = "buildSrc"
# Deeper than any project; without a limit, the directories above a hostile one would take quadratic space.
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


_END = _Token("newline", "\n")


def read_gradle_settings(text: str) -> WorkspaceList | None:
    """Read the literal `include` and `includeBuild` calls; without any, nothing is known and everything is listed."""
    tokens = (*_tokens(text), _END)
    if any(_is_unclosed(token) or token.text == _MOVES_PROJECTS for token in tokens):
        return LISTS_EVERYTHING
    directories: list[str] = []
    for call in (i for i in range(len(tokens)) if _is_include(tokens, i)):
        literals = _arguments(tokens, call + 1)
        if literals is None:
            return LISTS_EVERYTHING
        for literal in literals:
            directories += _project_directories(literal)
    return list_directories([".", _IMPLICIT, *directories]) if directories else LISTS_EVERYTHING


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        is_closed_comment = kind == "comment" or (kind == "block" and not _is_unclosed(_Token(kind, match.group())))
        if not is_closed_comment:
            yield _Token(kind, match.group())


def _is_unclosed(token: _Token) -> bool:
    if token.kind == "block":
        return len(token.text) < 4 or not token.text.endswith("*/")
    if token.kind != "string":
        return False
    quote = _quote_of(token.text)
    return len(token.text) < 2 * len(quote) or not token.text.endswith(quote)


def _quote_of(text: str) -> str:
    return text[:3] if text.startswith(('"""', "'''")) else text[:1]


def _is_include(tokens: Sequence[_Token], position: int) -> bool:
    """Tell whether a call starts here, and not a named argument, a definition or a method of something else."""
    token = tokens[position]
    if token.kind != "word" or token.text not in _INCLUDES:
        return False
    before = [item.text for item in tokens[max(position - 2, 0) : position]]
    is_other_method = before[-1:] == ["."] and before[0] not in {"settings", "this"}
    is_definition = before[-1:] in (["fun"], ["def"], ["void"])
    is_mention = tokens[position + 1].text in {":", "=", ".", "{", ")", ",", "\n"}
    return not is_other_method and not is_definition and not is_mention


def _arguments(tokens: Sequence[_Token], start: int) -> list[str] | None:
    """Return the literal arguments of the call whose arguments start here, None when one is computed."""
    has_parenthesis = tokens[start].text == "("
    literals: list[str] = []
    is_expecting = True
    for i in range(start + has_parenthesis, len(tokens)):
        token = tokens[i]
        if token.kind == "newline":
            if has_parenthesis or is_expecting:
                continue
            return literals
        if token.text in {")", ";", "}"}:
            return literals
        if is_expecting == (token.text == ","):
            return None
        is_expecting = token.text == ","
        if not is_expecting:
            literal = _literal(token)
            if literal is None:
                return None
            literals.append(literal)
    return literals


def _literal(token: _Token) -> str | None:
    if token.kind != "string":
        return None
    quote = _quote_of(token.text)
    text = token.text[len(quote) : -len(quote)]
    is_computed = re.search(r"[\\*]" if quote.startswith("'") else r"[\\*$]", text) is not None
    return None if is_computed else text


def _project_directories(literal: str) -> Iterator[str]:
    """Yield the directory of a project and of those above it, which Gradle includes with it."""
    segments = literal.strip(":").replace(":", "/").split("/")
    if len(segments) > _MAX_DEPTH:
        return
    for depth in range(1, len(segments) + 1):
        yield "/".join(segments[:depth])
