"""Layered settings: nested dataclasses filled from files, the environment and overrides, with the place of every value.

Invariants: a value is used only if it fits its field; every problem of every source is reported in one error; nothing
in a file is ever executed or expanded without a bound. It knows no setting of the product: callers bring the classes.
"""

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from codeplane.core.setting_sources import (
    ListValue,
    MappingEntry,
    MappingValue,
    Place,
    Problem,
    ScalarValue,
    Source,
    Value,
    layers,
    parse_inline,
    printable,
    raise_if_any,
    shape,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting's value and where it was set: `default`, `file:line`, a variable's name or `--set`."""

    value: object
    where: str


@dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    """The settings, and the origin of each by dotted key."""

    values: T
    origins: Mapping[str, Origin]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of the generated reference; `logging.outputs[].format` is a key inside the items of a list."""

    key: str
    type_text: str
    default: object
    doc: str
    limits: str


@overload
def setting(
    default: T,
    *,
    doc: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] | None = None,
) -> T: ...
@overload
def setting(
    *,
    doc: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] | None = None,
) -> Any: ...
def setting(
    default: object = MISSING,
    *,
    doc: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] | None = None,
) -> Any:
    """Declare a dataclass field that `load_settings` can fill; without a default it must be set.

    Limits and choices of a list apply to each item. Any other check belongs in `__post_init__`, raising ValueError.
    """
    metadata = {"doc": doc, "minimum": minimum, "maximum": maximum, "choices": tuple(choices or ())}
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


def names(*, doc: str) -> Any:
    """Declare a dataclass field that holds a mapping whose names the user chooses; empty by default."""
    return field(default_factory=lambda: MappingProxyType({}), metadata={"doc": doc})


def nested(cls: type[T], *, doc: str) -> T:
    """Declare a dataclass field that holds a group of settings, each at its own default."""
    return field(default_factory=cls, metadata={"doc": doc})


def load_settings(cls: type[T], sources: Sequence[Source]) -> Loaded[T]:
    """Return the settings that the sources give, later sources overriding earlier ones key by key.

    Raises:
        CodePlaneError: CONFIG_INVALID, naming every problem of every source.
    """
    binder = _Binder(cls)
    for source in sources:
        for layer in layers(source, binder.problems):
            binder.bind(layer, cls, "")
    raise_if_any(binder.problems)
    assembly = _Assembly(binder.leaves)
    values = assembly.build(cls, "", MISSING)
    raise_if_any(assembly.problems)
    return Loaded(cast("T", values), MappingProxyType(assembly.origins))


def setting_rows(cls: type) -> tuple[SettingRow, ...]:
    """List every setting below a class, in the order of declaration.

    Raises:
        TypeError: a field has no doc or a type that cannot be loaded.
    """
    return tuple(_rows(cls, "", MISSING))


def _rows(cls: type, prefix: str, base: object) -> Iterator[SettingRow]:
    for slot in _slots(cls).values():
        key = prefix + slot.name
        if not slot.doc:
            raise TypeError(f"{cls.__name__}.{slot.name} ({key}) has no doc; declare it with setting(…, doc=…)")
        default = slot.default_in(base)
        if slot.kind.is_group:
            yield from _rows(slot.kind.base, key + ".", default)
            continue
        yield SettingRow(key, slot.kind.type_text(), default, slot.doc, slot.kind.limits_text())
        inner = slot.kind.item or slot.kind
        if is_dataclass(inner.base):
            part = ".<name>." if slot.kind.base is dict else "[]." if slot.kind.item else "."
            yield from _rows(inner.base, key + part, MISSING)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field takes. `base` is a scalar type, an enum, a settings class, or tuple or dict (then `item` is set)."""

    base: type
    choices: tuple[object, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    item: "_Kind | None" = None
    is_optional: bool = False

    @property
    def is_group(self) -> bool:
        """Whether the keys below are settings of their own; a group that may be null is one value instead."""
        return is_dataclass(self.base) and not self.is_optional

    def type_text(self) -> str:
        """Name the type in the reader's words, without limits."""
        if self.item is not None:
            text = f"{'mapping of names to' if self.base is dict else 'list of'} {self.item.type_text()}"
        elif self.choices:
            text = "one of " + ", ".join(_choice_text(choice) for choice in self.choices)
        elif is_dataclass(self.base):
            text = "mapping with " + ", ".join(_slots(self.base))
        else:
            text = _TYPE_TEXTS[self.base]
        return text + (" or null" if self.is_optional else "")

    def limits_text(self) -> str:
        """Name the limits, or nothing."""
        inner = self.item or self
        low, high = inner.minimum, inner.maximum
        if low is not None and high is not None:
            return f"from {low} to {high}"
        if low is not None:
            return f"at least {low}"
        return "" if high is None else f"at most {high}"

    def expected(self) -> str:
        """Name type and limits, as they follow `must be`."""
        text = f"{self.type_text()} {self.limits_text()}".rstrip()
        return f"a {text}" if text.startswith(("whole", "number", "path", "list", "mapping")) else text


_TYPE_TEXTS = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}


@dataclass(frozen=True, slots=True)
class _Slot:
    """One field of a settings class with its type resolved."""

    name: str
    kind: _Kind
    default: object
    doc: str

    def default_in(self, base: object) -> object:
        """Return the value in a default instance, or the field's own default."""
        return self.default if base is MISSING else getattr(base, self.name)


@cache  # A memo of a pure function: type hints are resolved once per class and process.
def _slots(cls: type) -> Mapping[str, _Slot]:
    hints = get_type_hints(cls)
    slots = {}
    for item in fields(cls):
        default = item.default if item.default_factory is MISSING else item.default_factory()
        kind = _kind_of(hints[item.name], item.metadata)
        slots[item.name] = _Slot(item.name, kind, default, str(item.metadata.get("doc", "")).strip())
    return MappingProxyType(slots)


def _kind_of(annotation: Any, metadata: Mapping[str, Any]) -> _Kind:  # noqa: PLR0911 - one line for each kind.
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        rest = [argument for argument in arguments if argument is not NoneType]
        if len(rest) == 1:
            return replace(_kind_of(rest[0], metadata), is_optional=True)
    elif origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _Kind(tuple, item=_kind_of(arguments[0], metadata))
    elif origin is Mapping and arguments[0] is str:
        return _Kind(dict, item=_kind_of(arguments[1], metadata))
    elif origin is Literal:
        return _Kind(type(arguments[0]), choices=arguments)
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Kind(annotation, choices=tuple(annotation))
    elif annotation in _TYPE_TEXTS:
        limits = (metadata.get("choices", ()), metadata.get("minimum"), metadata.get("maximum"))
        return _Kind(annotation, *limits)
    elif isinstance(annotation, type) and is_dataclass(annotation):
        return _Kind(annotation)
    raise TypeError(f"settings cannot hold {annotation!r}")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A setting that some source has set."""

    value: object
    place: Place


_BAD: Any = object()


class _Binder:
    """Collects what the sources set, checked against the settings class.

    Invariant: `leaves` holds only values that fit their field; whatever does not is in `problems`.
    """

    def __init__(self, root: type) -> None:
        self.leaves: dict[str, _Leaf] = {}
        self.problems: list[Problem] = []
        self._known = tuple(_known_keys(root, ""))

    def bind(self, mapping: MappingValue, cls: type, prefix: str) -> None:
        """Take over the settings of one mapping; groups go deeper, anything else is replaced as a whole."""
        slots = _slots(cls)
        for entry in mapping.entries:
            key = prefix + entry.key
            slot = slots.get(entry.key)
            if slot is None:
                self._report_unknown(entry, key, [prefix + name for name in slots])
            elif slot.kind.is_group:
                inner = self._as_mapping(entry.value, slot.kind, key)
                if inner is not None:
                    self.bind(inner, slot.kind.base, key + ".")
            else:
                value = self._read(entry.value, slot.kind, key)
                if value is not _BAD:
                    self.leaves[key] = _Leaf(value, entry.place)

    def _report_unknown(self, entry: MappingEntry, key: str, siblings: Sequence[str]) -> None:
        if key in self._known:
            path = ": { ".join(key.split("."))
            self._report(entry.place, key, f"must be written nested, as `{path}: … {'} ' * key.count('.')}`")
            return
        problem = Problem(entry.place, key, "is not a setting", nearest=_nearest(key, siblings, self._known))
        self.problems.append(problem)

    def _report(self, place: Place, key: str, text: str, expected: str | None = None) -> Any:
        self.problems.append(Problem(place, key, text, expected=expected))
        return _BAD

    def _mismatch(self, value: Value, kind: _Kind, key: str) -> Any:
        expected = kind.expected()
        return self._report(value.place, key, f"must be {expected}, not {shape(value)}", expected)

    def _as_mapping(self, value: Value, kind: _Kind, key: str) -> MappingValue | None:
        expanded = self._expand(value, key)
        if expanded is None:
            return None
        if isinstance(expanded, ScalarValue) and expanded.is_null:
            return MappingValue(expanded.place, ())  # A group whose keys are all commented out.
        if isinstance(expanded, MappingValue):
            return expanded
        self._mismatch(expanded, kind, key)
        return None

    def _expand(self, value: Value, key: str) -> Value | None:
        """Parse a variable's or override's text where a list or mapping is wanted."""
        if isinstance(value, ScalarValue) and value.is_inline and value.text.lstrip().startswith(("[", "{")):
            return parse_inline(value.text, value.place, key, self.problems)
        return value

    def _read(self, value: Value, kind: _Kind, key: str) -> Any:
        if kind.is_optional and _is_null(value):
            return None
        if kind.base is dict:
            return self._read_names(value, kind, key)
        if kind.item is not None:
            return self._read_list(value, kind, key)
        if is_dataclass(kind.base):
            return self._read_item(value, kind, key)
        return self._read_scalar(value, kind, key)

    def _read_list(self, value: Value, kind: _Kind, key: str) -> Any:
        expanded = self._expand(value, key)
        if expanded is None:
            return _BAD
        if isinstance(expanded, ScalarValue) and expanded.is_inline:
            parts = (part.strip() for part in expanded.text.split(","))
            expanded = ListValue(expanded.place, tuple(replace(expanded, text=part) for part in parts if part))
        if not isinstance(expanded, ListValue):
            return self._mismatch(expanded, kind, key)
        item_kind = cast("_Kind", kind.item)
        items = tuple(self._read(item, item_kind, f"{key}[{i}]") for i, item in enumerate(expanded.items))
        return _BAD if any(item is _BAD for item in items) else items

    def _read_names(self, value: Value, kind: _Kind, key: str) -> Any:
        """Build a mapping whose names the user chooses."""
        mapping = self._as_mapping(value, kind, key)
        if mapping is None:
            return _BAD
        item_kind = cast("_Kind", kind.item)
        items = {entry.key: self._read(entry.value, item_kind, f"{key}.{entry.key}") for entry in mapping.entries}
        return _BAD if any(item is _BAD for item in items.values()) else MappingProxyType(items)

    def _read_item(self, value: Value, kind: _Kind, key: str) -> Any:
        """Build a settings class that is one value: an item of a list, or a mapping that may be null."""
        mapping = self._as_mapping(value, kind, key)
        if mapping is None:
            return _BAD
        outer, self.leaves = self.leaves, {}
        n_problems = len(self.problems)
        self.bind(mapping, kind.base, f"{key}.")
        assembly = _Assembly(self.leaves, mapping.place)
        self.leaves = outer
        if len(self.problems) > n_problems:
            return _BAD
        item = assembly.build(kind.base, f"{key}.", MISSING)
        self.problems.extend(assembly.problems)
        return _BAD if assembly.problems else item

    def _read_scalar(self, value: Value, kind: _Kind, key: str) -> Any:
        if not isinstance(value, ScalarValue) or value.is_null:
            return self._mismatch(value, kind, key)
        parsed = _match_choice(value.text, kind.choices) if kind.choices else _PARSERS[kind.base](value)
        if parsed is None:
            return self._mismatch(value, kind, key)
        too_low = kind.minimum is not None and parsed < kind.minimum
        too_high = kind.maximum is not None and parsed > kind.maximum
        return self._mismatch(value, kind, key) if too_low or too_high else parsed


class _Assembly:
    """Builds the settings from what was set and the defaults, noting the origin of each.

    `fallback` is the place to blame for a value that is set nowhere.
    """

    def __init__(self, leaves: Mapping[str, _Leaf], fallback: Place | None = None) -> None:
        self.origins: dict[str, Origin] = {}
        self.problems: list[Problem] = []
        self._leaves = leaves
        self._fallback = fallback or Place("settings")

    def build(self, cls: type, prefix: str, base: object) -> object:
        """Return an instance of the class; `base` is the default instance that the parent class holds, or MISSING."""
        n_problems = len(self.problems)
        values = {name: self._value(slot, prefix + name, base) for name, slot in _slots(cls).items()}
        if len(self.problems) > n_problems:
            return _BAD
        try:
            return cls(**values)
        except ValueError as error:
            places = [leaf.place for key, leaf in self._leaves.items() if key.startswith(prefix)]
            place = places[-1] if places else self._fallback
            self.problems.append(Problem(place, prefix.rstrip("."), f"is not usable: {printable(str(error))}"))
            return _BAD

    def _value(self, slot: _Slot, key: str, base: object) -> object:
        default = slot.default_in(base)
        if slot.kind.is_group:
            return self.build(slot.kind.base, key + ".", default)
        leaf = self._leaves.get(key)
        if leaf is None and default is MISSING:
            expected = slot.kind.expected()
            text = f"is required and not set; it must be {expected}"
            self.problems.append(Problem(self._fallback, key, text, expected=expected))
            return _BAD
        value = default if leaf is None else leaf.value
        self.origins[key] = Origin(value, "default" if leaf is None else leaf.place.where())
        return value


def _known_keys(cls: type, prefix: str) -> Iterator[str]:
    for slot in _slots(cls).values():
        yield prefix + slot.name
        if slot.kind.is_group:
            yield from _known_keys(slot.kind.base, f"{prefix}{slot.name}.")


def _nearest(key: str, siblings: Sequence[str], known: Sequence[str]) -> str | None:
    """Guess the meant key: a sibling spelt alike, else any key spelt alike, else one ending in the same word."""
    wanted, word = key.lower()[:200], key.lower().rpartition(".")[2][:200]
    by_word = {name.rpartition(".")[2]: name for name in reversed(siblings)}
    for candidates, text in (
        (by_word, word),
        ({name: name for name in known}, wanted),
        ({name.rpartition(".")[2]: name for name in reversed(known)}, word),
    ):
        matches = difflib.get_close_matches(text, list(candidates))
        if matches:
            # The same letters in another order are the likelier slip: `prot` is port rather than root.
            return candidates[max(matches, key=lambda match: sorted(match) == sorted(text))]
    return None


def _match_choice(text: str, choices: Sequence[Any]) -> Any:
    wanted = text.strip().lower()
    return next((choice for choice in choices if _choice_text(choice).lower() == wanted), None)


def _choice_text(choice: object) -> str:
    return str(choice.value if isinstance(choice, Enum) else choice)


def _is_null(value: Value) -> bool:
    if not isinstance(value, ScalarValue):
        return False
    return value.is_null or (value.is_inline and value.text.strip().lower() in {"", "~", "null", "none"})


def _parse_str(value: ScalarValue) -> str:
    return value.text  # As written: `1.10` and `no` are fine texts, whatever YAML would make of them.


# Plain decimals only. YAML 1.1 would read 010 as eight and 1:30 as ninety, which is never meant in a settings file.
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]{0,30})")
_NUMBER = re.compile(r"[-+]?[0-9][0-9_]{0,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,3})?")


def _parse_int(value: ScalarValue) -> int | None:
    text = value.text.strip()
    return int(text.replace("_", "")) if not value.is_quoted and _WHOLE.fullmatch(text) else None


def _parse_float(value: ScalarValue) -> float | None:
    text = value.text.strip()
    if value.is_quoted or not _NUMBER.fullmatch(text):
        return None
    number = float(text.replace("_", ""))
    return number if math.isfinite(number) else None


def _parse_bool(value: ScalarValue) -> bool | None:
    text = value.text.strip().lower()
    if value.is_quoted:
        return None
    if text in {"true", "yes", "on"} or (value.is_inline and text == "1"):
        return True
    if text in {"false", "no", "off"} or (value.is_inline and text == "0"):
        return False
    return None


def _parse_path(value: ScalarValue) -> Path | None:
    return Path(value.text) if value.text and "\0" not in value.text else None


_PARSERS: Mapping[type, Any] = MappingProxyType(
    {str: _parse_str, int: _parse_int, float: _parse_float, bool: _parse_bool, Path: _parse_path}
)
