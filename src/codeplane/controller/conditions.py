"""The condition language of policies, plan rules and guard rules: parsed and interpreted here, never executed.

```
expr  := and { "or" and } ;  and := not { "and" not } ;  not := [ "not" ] atom
atom  := "(" expr ")" | quant | path op value | path
quant := ("any" | "all") "(" list [ "where" expr ] ")" | "count" "(" list [ "where" expr ] ")" cmp integer
list  := "nodes" [ "." kind ] | path
op    := "==" | "!=" | "~" (glob) | "contains" | "in" | cmp ;  cmp := "<" | "<=" | ">" | ">="
path  := name { "." name } ;  value := "string" | integer | true | false | null | "[" value { "," value } "]"
```

A missing path is null. Null equals only null; other values of unlike types are neither equal nor unequal nor ordered.
"""

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from codeplane.index.contexts.globs import NO_GLOBS, GlobSet, compile_globs

NODE_KINDS: Final = ("change", "validate", "escalate", "side_effect")
MAX_CHARACTERS: Final = 500
MAX_DEPTH: Final = 30
# A plan of 1,000 nodes and two nested quantifiers over all of them would take a million steps.
MAX_STEPS: Final = 250_000
MAX_GLOBBED_CHARACTERS: Final = 4096

_TOKEN: Final = re.compile(
    r"""
    \s*(?:(?P<string>"(?:[^"\\]|\\.)*") | (?P<integer>-?[0-9]+) | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>==|!=|<=|>=|[<>~()\[\],.]))
    """,
    re.VERBOSE | re.ASCII,
)
_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
_OPERATORS: Final = frozenset({"==", "!=", "~", "contains", "in", *_ORDER})
_CONSTANTS: Final = MappingProxyType({"true": True, "false": False, "null": None})
_RESERVED: Final = frozenset({"and", "or", "not", "where", "in", "contains", *_CONSTANTS})


class ConditionError(ValueError):
    """The text is not a condition; the message says where and why."""


class ConditionTooCostlyError(Exception):
    """Deciding the condition on this plan would take too long, measured in steps."""


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    inner: "Expression"


@dataclass(frozen=True, slots=True)
class Junction:
    """`and` or `or` of two or more parts."""

    word: str
    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A path compared with a constant; `glob` is the compiled right side of `~`."""

    path: tuple[str, ...]
    sign: str
    value: Any
    glob: GlobSet = field(default=NO_GLOBS, compare=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """A path alone: true for true, a non-empty string or a non-empty list."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`any`, `all` or `count` over the elements of a list; `kind` keeps only nodes of that kind."""

    word: str
    path: tuple[str, ...]
    kind: str | None
    where: "Expression | None"
    sign: str = ">="
    limit: int = 0


Expression = Not | Junction | Comparison | Truth | Quantifier


def parse_condition(text: str) -> Expression:
    """Return the parsed condition.

    Raises:
        ConditionError: the text is too long, nested too deeply, or not in the language.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConditionError(f"A condition has at most {MAX_CHARACTERS} characters, this one has {len(text)}.")
    reader = _Reader(_tokens(text))
    expression = reader.expression(0)
    if reader.next_text():
        raise ConditionError(f"Unexpected `{reader.next_text()}` after the end of the condition.")
    return expression


def holds(expression: Expression, root: Mapping[str, Any], element: Any = None) -> bool:
    """Decide the condition; names are looked up in the element first, then in the root.

    Raises:
        ConditionTooCostlyError: the decision would take too many steps.
    """
    return _Decision(root).holds(expression, element)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    place = 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ConditionError(f"Unexpected character at {place + 1}: `{text[place : place + 10].strip()}`.")
        tokens.append(match.group().strip())
        place = match.end()
    return tokens


class _Reader:
    """A recursive-descent parser over the tokens; `_place` is the next one."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._place = 0

    def next_text(self, ahead: int = 0) -> str:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def expression(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise ConditionError(f"A condition is nested at most {MAX_DEPTH} levels deep.")
        return self._junction("or", lambda: self._junction("and", lambda: self._negation(depth)))

    def _junction(self, word: str, part: Callable[[], Expression]) -> Expression:
        parts = [part()]
        while self._accepts(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def _negation(self, depth: int) -> Expression:
        return Not(self._atom(depth)) if self._accepts("not") else self._atom(depth)

    def _atom(self, depth: int) -> Expression:
        if self._accepts("("):
            inner = self.expression(depth + 1)
            self._expect(")")
            return inner
        if self.next_text() in {"any", "all", "count"} and self.next_text(1) == "(":
            return self._quantifier(depth)
        path = self._path()
        return self._comparison(path) if self.next_text() in _OPERATORS else Truth(path)

    def _quantifier(self, depth: int) -> Quantifier:
        word = self._take()
        self._expect("(")
        path, kind = _without_kind(self._path())
        where = self.expression(depth + 1) if self._accepts("where") else None
        self._expect(")")
        if word != "count":
            return Quantifier(word, path, kind, where)
        sign = self._take()
        if sign not in _ORDER:
            raise ConditionError(f"`count(…)` is compared by <, <=, > or >=, not by `{sign}`.")
        limit = self._value(0)
        if type(limit) is not int:
            raise ConditionError("`count(…)` is compared with an integer.")
        return Quantifier(word, path, kind, where, sign, limit)

    def _path(self) -> tuple[str, ...]:
        first = self._take()
        if not first.isidentifier() or first in _RESERVED:
            raise ConditionError(f"Expected a name, found `{first or 'the end'}`.")
        names = [first]
        while self._accepts("."):
            name = self._take()
            if not name.isidentifier():
                raise ConditionError(f"Expected a name after `.`, found `{name or 'the end'}`.")
            names.append(name)
        return tuple(names)

    def _comparison(self, path: tuple[str, ...]) -> Comparison:
        sign = self._take()
        value = self._value(0)
        if sign == "in" and not isinstance(value, tuple):
            raise ConditionError("The right side of `in` is a list in brackets.")
        if sign != "~":
            return Comparison(path, sign, value)
        if not isinstance(value, str):
            raise ConditionError("The right side of `~` is a glob in quotes.")
        try:
            return Comparison(path, sign, value, compile_globs([value]))
        except ValueError as error:
            raise ConditionError(f"`{value}` is not a glob.") from error

    def _value(self, depth: int) -> Any:
        token = self._take()
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token[:1] == '"':
            return _string(token)
        if token[:1] == "-" or token.isdigit():
            return int(token)
        if token[:1] != "[" or depth > MAX_DEPTH:
            raise ConditionError(f"Expected a value, found `{token or 'the end'}`.")
        values = [self._value(depth + 1)]
        while self._accepts(","):
            values.append(self._value(depth + 1))
        self._expect("]")
        return tuple(values)

    def _take(self) -> str:
        text = self.next_text()
        self._place += 1
        return text

    def _accepts(self, text: str) -> bool:
        found = self.next_text() == text
        self._place += found
        return found

    def _expect(self, text: str) -> None:
        if not self._accepts(text):
            raise ConditionError(f"Expected `{text}`, found `{self.next_text() or 'the end'}`.")


def _without_kind(path: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    if path[0] != "nodes" or len(path) == 1:
        return path, None
    if len(path) > 2 or path[1] not in NODE_KINDS:
        raise ConditionError(f"`nodes` is followed by one of {', '.join(NODE_KINDS)}.")
    return path[:1], path[1]


def _string(token: str) -> str:
    try:
        value = json.loads(token)
    except ValueError as error:
        raise ConditionError(f"{token[:40]} is not a string of JSON.") from error
    return str(value)


class _Decision:
    """One decision on one plan; it counts its steps."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._n_steps = 0

    def holds(self, expression: Expression, element: Any) -> bool:
        self._n_steps += 1
        if self._n_steps > MAX_STEPS:
            raise ConditionTooCostlyError
        match expression:
            case Not(inner):
                return not self.holds(inner, element)
            case Junction("and", parts):
                return all(self.holds(part, element) for part in parts)
            case Junction(_, parts):
                return any(self.holds(part, element) for part in parts)
            case Truth(path):
                value = self._value(path, element)
                return value is True or (isinstance(value, str | list) and bool(value))
            case Comparison():
                return _compares(self._value(expression.path, element), expression)
            case Quantifier():
                return self._quantifies(expression, element)

    def _quantifies(self, quantifier: Quantifier, element: Any) -> bool:
        source = self._root if quantifier.path == ("nodes",) else element
        elements = self._value(quantifier.path, source)
        if not isinstance(elements, list):
            elements = []
        if quantifier.kind is not None:
            elements = [one for one in elements if isinstance(one, dict) and one.get("kind") == quantifier.kind]
        where = quantifier.where
        fits = (True if where is None else self.holds(where, one) for one in elements)
        if quantifier.word == "any":
            return any(fits)
        if quantifier.word == "all":
            return all(fits)
        return _ORDER[quantifier.sign](sum(fits), quantifier.limit)

    def _value(self, path: tuple[str, ...], element: Any) -> Any:
        value: Any = element if isinstance(element, Mapping) and path[0] in element else self._root
        for name in path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value


def _compares(left: Any, comparison: Comparison) -> bool:
    sign, right = comparison.sign, comparison.value
    if sign == "~":
        # Matching walks up the directories, which takes quadratic time.
        if isinstance(left, str) and len(left) > MAX_GLOBBED_CHARACTERS:
            raise ConditionTooCostlyError
        return isinstance(left, str) and comparison.glob.matches(left)
    if sign in _ORDER:
        return type(left) in {int, str} and type(left) is type(right) and _ORDER[sign](left, right)
    if sign == "contains" and isinstance(left, str):
        return isinstance(right, str) and right in left
    if sign in {"contains", "in"}:
        members, one = (left, right) if sign == "contains" else (right, left)
        return isinstance(members, list | tuple) and any(_is_equal(one, member) for member in members)
    is_equal = _is_equal(left, right)
    is_comparable = left is None or right is None or _is_alike(left, right)
    return is_equal if sign == "==" else is_comparable and not is_equal


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    return type(left) is type(right) and bool(left == right)


def _is_alike(left: Any, right: Any) -> bool:
    return type(left) is type(right) or (isinstance(left, list | tuple) and isinstance(right, list | tuple))
