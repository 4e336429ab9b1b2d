r"""Globs that are compiled once and matched many times.

The language: `*` and `?` inside a segment, `**` for any number of segments, `[a-z]`, `[!a]`, `{a,b}`, `\` before a
character that is meant literally. A glob fits a whole path; a directory is matched as its path with a `/` behind it.
The common shapes cost a look into a set; the others become one RE2 expression, because workspace files
are untrusted and RE2 takes linear time whatever they hold.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import re2

_LITERAL = r"(?:[^*?\[{\\]|\\.)+"
_SHAPES = tuple(
    (field, re.compile(pattern))
    for field, pattern in (
        ("suffixes", r"\*\*/\*(?P<text>\.[^*?\[{\\./]+)"),
        ("directory_names", r"\*\*/(?P<text>[^*?\[{\\/]+)/\*\*"),
        ("names", r"\*\*/(?P<text>[^*?\[{\\/]+)"),
        ("directories", rf"(?P<text>{_LITERAL})/\*\*"),
        ("literals", rf"(?P<text>{_LITERAL})"),
    )
)
_TOKEN = re.compile(
    r"""
    (?P<tree>(?<![^/{,])\*\*(?:/|(?=[,}])|\Z))
    | (?P<stars>\*+) | (?P<one>\?) | \[(?P<negated>[!^]?)(?P<members>\]?[^\]/]*)\] | \\(?P<escaped>.)
    | (?P<brace>[{},]) | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACES = MappingProxyType({"{": "(?:", ",": "|", "}": ")"})
_DEPTH_CHANGE = MappingProxyType({"{": 1, "}": -1})


@dataclass(frozen=True, slots=True)
class GlobSet:
    """Compiled globs, sorted by shape; a path matches when any of them fits."""

    literals: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    suffixes: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    directory_names: frozenset[str] = frozenset()
    expression: Any = None

    def matches(self, path: str) -> bool:
        """Tell whether a glob fits the path; with a `/` at its end it means a directory or its direct content."""
        directory, _, name = path.rpartition("/")
        _, dot, suffix = name.rpartition(".")
        return (
            name in self.names
            or (dot + suffix in self.suffixes and bool(dot))
            or path in self.literals
            or self._holds(directory)
            or (self.expression is not None and self.expression.fullmatch(path) is not None)
        )

    def _holds(self, directory: str) -> bool:
        if self.directory_names and not self.directory_names.isdisjoint(directory.split("/")):
            return True
        while self.directories and directory:
            if directory in self.directories:
                return True
            directory = directory.rpartition("/")[0]
        return False


NO_GLOBS = GlobSet()


def compile_globs(globs: Iterable[str]) -> GlobSet:
    """Return the globs ready for matching.

    Raises:
        ValueError: a glob is not one, such as `[z-a]`; the argument is the glob.
    """
    shapes: dict[str, set[str]] = {}
    expressions: list[str] = []
    for glob in globs:
        for field, pattern in _SHAPES:
            fit = pattern.fullmatch(glob)
            if fit is not None:
                shapes.setdefault(field, set()).add(re.sub(r"\\(.)", r"\1", fit["text"]))
                break
        else:
            expressions.append(_checked(glob))
    return GlobSet(
        **{field: frozenset(texts) for field, texts in shapes.items()},
        expression=_compiled("|".join(f"(?:{text})" for text in expressions)) if expressions else None,
    )


def escape_glob(text: str) -> str:
    """Return a glob that fits this text only; directories may be called `[id]` or `{name}`."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", text)


def _checked(glob: str) -> str:
    expression = _expression_of(glob)
    try:
        _compiled(expression)
    except re2.error as error:
        raise ValueError(glob) from error
    return expression


def _compiled(expression: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(f"(?s){expression}", options)


def _expression_of(glob: str) -> str:
    has_braces = _has_balanced_braces(glob)
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(glob):
        brace = token["brace"]
        if brace is not None and has_braces and (brace != "," or depth):
            depth += _DEPTH_CHANGE.get(brace, 0)
            parts.append(_BRACES[brace])
        else:
            parts.append(_expression_of_token(token))
    return "".join(parts)


def _expression_of_token(token: re.Match[str]) -> str:
    if token["tree"] is not None:
        return "(?:[^/]+/)*" if token["tree"].endswith("/") else ".*"
    if token["stars"] is not None:
        return "[^/]*"
    if token["one"] is not None:
        return "[^/]"
    if token["members"]:
        members = re.sub(r"([\\\[\]^])", r"\\\1", token["members"])
        return f"[^/{members}]" if token["negated"] else f"[{members}]"
    return str(re2.escape(token["escaped"] or token.group()))


def _has_balanced_braces(glob: str) -> bool:
    depth = 0
    for token in _TOKEN.finditer(glob):
        depth += _DEPTH_CHANGE.get(token["brace"] or "", 0)
        if depth < 0:
            return False
    return depth == 0
