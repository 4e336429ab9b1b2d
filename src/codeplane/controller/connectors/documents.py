"""JSON and YAML of others, parsed without executing, recursing or expanding anything beyond a bound.

YAML is read as its JSON schema says (1.2 core): `yes` and dates are texts, keys are texts, so that one document gives
the same value in both forms. Aliases share what they name; their expanded size counts.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

from codeplane.controller.connectors.failures import ConnectorError, FailureKind

MAX_VALUES: Final = 1_000_000
MAX_DEPTH: Final = 100
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,400}|0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]{1,400}|[0-9]{1,400}(?:\.[0-9]{0,400})?)(?:[eE][-+]?[0-9]{1,4})?")
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = frozenset({f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")} | {"!"})
_MERGE: Final = "<<"


def parse_document(data: bytes) -> Any:
    """Return the value of a JSON or YAML document.

    Raises:
        ConnectorError: BAD_DOCUMENT when it is neither, or larger or deeper than the limits.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad("it is not UTF-8") from error
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return _parse_json(text)
        except ValueError as error:
            # A flow mapping of YAML starts like JSON.
            if not isinstance(error, json.JSONDecodeError):
                raise _bad(str(error)) from error
        except RecursionError as error:
            raise _bad(f"it is nested deeper than {MAX_DEPTH} levels") from error
    return _parse_yaml(text)


def _parse_json(text: str) -> Any:
    value = json.loads(text, parse_constant=_refuse_constant)
    _check_size(value)
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _check_size(value: Any) -> None:
    n_values = 0
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        n_values += 1
        if n_values > MAX_VALUES or depth > MAX_DEPTH:
            raise _too_big()
        if isinstance(item, dict):
            waiting.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list):
            waiting.extend((inner, depth + 1) for inner in item)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end was not reached; `size` and `height` are those of what it holds, aliases expanded."""

    value: Any
    anchor: str | None
    size: int = 1
    height: int = 1
    key: Any = None
    has_key: bool = False
    merged: tuple[Any, ...] = ()

    def add(self, value: Any, size: int, height: int) -> None:
        """Take over a finished value."""
        self.size += size
        self.height = max(self.height, height + 1)
        if isinstance(self.value, list):
            self.value.append(value)
        elif not self.has_key:
            self.key, self.has_key = _key_text(value), True
        else:
            self._set(value)
            self.has_key = False

    def _set(self, value: Any) -> None:
        if self.key == _MERGE:
            parts = value if isinstance(value, list) else [value]
            if not all(isinstance(part, dict) for part in parts):
                raise _bad("a merge key names something that is not a mapping")
            self.merged += tuple(parts)
        elif self.key in self.value:
            raise _bad(f"the key {str(self.key)[:80]!r} is given twice in one mapping")
        else:
            self.value[self.key] = value

    def finished(self) -> Any:
        """Return the value; what the mapping says itself wins over what it merges."""
        for part in self.merged:
            for key, value in part.items():
                self.value.setdefault(key, value)
        return self.value


def _parse_yaml(text: str) -> Any:
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise _bad(f"it is neither JSON nor YAML{where}") from error
    if builder.n_documents != 1:
        raise _bad("it must hold exactly one document")
    return builder.result


class _Builder:
    """Builds the value from the events of a parser, without recursion.

    Invariant: `_size`, the number of values with aliases expanded, never passes MAX_VALUES.
    """

    def __init__(self) -> None:
        self.result: Any = None
        self.n_documents = 0
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._size = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.n_documents += 1
        elif isinstance(event, yaml.ScalarEvent):
            self._check_tag(event)
            value = _scalar(event)
            self._put(value, event.anchor, 1, 0)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self._check_tag(event)
            self._stack.append(_Open([] if isinstance(event, yaml.SequenceStartEvent) else {}, event.anchor))
            if len(self._stack) > MAX_DEPTH:
                raise _too_big()
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            done = self._stack.pop()
            self._size -= done.size - 1
            self._put(done.finished(), done.anchor, done.size, done.height)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _bad("an alias names something that contains it, or that does not exist")
            self._put(self._anchors[event.anchor][0], None, *self._anchors[event.anchor][1:])

    def _put(self, value: Any, anchor: str | None, size: int, height: int) -> None:
        self._size += size
        if self._size > MAX_VALUES or len(self._stack) + height > MAX_DEPTH:
            raise _too_big()
        if anchor is not None:
            self._anchors[anchor] = (value, size, height)
        if self._stack:
            self._stack[-1].add(value, size, height)
        else:
            self.result = value

    @staticmethod
    def _check_tag(event: Any) -> None:
        if event.tag is not None and event.tag not in _TAGS:
            raise _bad(f"the tag {event.tag[:80]!r} is not allowed")


def _scalar(event: yaml.ScalarEvent) -> Any:
    text = str(event.value)
    is_text = bool(event.style) if event.tag is None else event.tag in {f"{_TAG}str", "!"}
    if is_text:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, list | dict):
        raise _bad("a key is a list or a mapping")
    return json.dumps(key)


def _bad(reason: str) -> ConnectorError:
    return ConnectorError(FailureKind.BAD_DOCUMENT, f"The document cannot be used: {reason}.")


def _too_big() -> ConnectorError:
    return _bad(f"it holds or expands to more than {MAX_VALUES} values or {MAX_DEPTH} levels")
