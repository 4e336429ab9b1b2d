"""Layered settings: nested dataclasses filled from files, the environment and overrides, with the place of every value.

Invariants: a value is used only if it fits its field; every problem of every source is reported in one error; nothing
in a file is ever executed or expanded without a bound. It knows no setting of the product: callers bring the classes.
"""

import difflib
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from codeplane.core.errors import CodePlaneError

T = TypeVar("T")

MAX_FILE_BYTES = 1_000_000
MAX_VALUES = 10_000
MAX_DEPTH = 20
MAX_LISTED_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class FileSource:
    """A YAML file; a missing or empty one sets nothing. `label` is the name people see."""

    path: Path
    label: str


@dataclass(frozen=True, slots=True)
class EnvironmentSource:
    """Variables such as `CODEPLANE__LOGGING__LEVEL`; names without the prefix are not looked at."""

    environ: Mapping[str, str]
    prefix: str = "CODEPLANE__"


@dataclass(frozen=True, slots=True)
class OverrideSource:
    """The `key=value` texts of `--set`; the last one for a key counts."""

    items: Sequence[str]


Source = FileSource | EnvironmentSource | OverrideSource


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
        for layer in _layers(source, binder.problems):
            binder.bind(layer, cls, "")
    _raise_if_any(binder.problems)
    assembly = _Assembly(binder.leaves)
    values = assembly.build(cls, "", MISSING)
    _raise_if_any(assembly.problems)
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
            yield from _rows(inner.base, key + ("[]." if slot.kind.item else "."), MISSING)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field takes. `base` is a scalar type, an enum, a settings class, or tuple (then `item` is set)."""

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
            text = f"list of {self.item.type_text()}"
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
        """Name type and limits, to stand after `must be`."""
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


def _kind_of(annotation: Any, metadata: Mapping[str, Any]) -> _Kind:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        rest = [argument for argument in arguments if argument is not NoneType]
        if len(rest) == 1:
            return replace(_kind_of(rest[0], metadata), is_optional=True)
    elif origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _Kind(tuple, item=_kind_of(arguments[0], metadata))
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
class _Place:
    """Where something was written; line and column count from 1 and exist only in files."""

    source: str
    line: int | None = None
    column: int | None = None

    def where(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class _Problem:
    """One thing wrong with one place."""

    place: _Place
    key: str
    text: str
    nearest: str | None = None
    expected: str | None = None

    def as_line(self) -> str:
        column = "" if self.place.column is None else f":{self.place.column}"
        guess = f"; did you mean {self.nearest}?" if self.nearest else ""
        key = f"{_printable(self.key)} " if self.key else ""
        return f"{self.place.where()}{column}: {key}{self.text}{guess}"

    def as_dict(self) -> dict[str, object]:
        return {
            "source": self.place.source,
            "line": self.place.line,
            "column": self.place.column,
            "key": self.key,
            "nearest": self.nearest,
            "expected": self.expected,
            "message": self.as_line(),
        }


def _raise_if_any(problems: Sequence[_Problem]) -> None:
    if not problems:
        return
    lines = [problem.as_line() for problem in problems[:MAX_LISTED_PROBLEMS]]
    if len(problems) > MAX_LISTED_PROBLEMS:
        lines.append(f"and {len(problems) - MAX_LISTED_PROBLEMS} more problems")
    listed = [problem.as_dict() for problem in problems]
    first = {name: value for name, value in listed[0].items() if name != "message"}
    raise CodePlaneError("CONFIG_INVALID", "\n".join(lines), details={**first, "problems": listed})


class _UnreadableError(Exception):
    """A source that cannot be read at all, with the problem to report."""

    def __init__(self, place: _Place, text: str, key: str = "") -> None:
        super().__init__(text)
        self.problem = _Problem(place, key, text)


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A single value as it was written. `is_inline`: from a variable or `--set`, where spellings are freer."""

    place: _Place
    text: str
    is_quoted: bool = False
    is_null: bool = False
    is_inline: bool = False


@dataclass(frozen=True, slots=True)
class _List:
    """A list of values."""

    place: _Place
    items: "tuple[_Value, ...]"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key of a mapping with its own place."""

    key: str
    place: _Place
    value: "_Value"


@dataclass(frozen=True, slots=True)
class _Mapping:
    """Keys with values, in the order written."""

    place: _Place
    entries: tuple[_Entry, ...]


_Value = _Scalar | _List | _Mapping


def _layers(source: Source, problems: list[_Problem]) -> Iterator[_Mapping]:
    if isinstance(source, EnvironmentSource):
        yield from _environment_layers(source, problems)
        return
    if isinstance(source, OverrideSource):
        yield from _override_layers(source, problems)
        return
    try:
        layer = _file_layer(source, problems)
    except _UnreadableError as error:
        problems.append(error.problem)
        return
    if layer is not None:
        yield layer


def _file_layer(source: FileSource, problems: list[_Problem]) -> _Mapping | None:
    text = _read_text(source)
    if not text.strip():
        return None
    place = _Place(source.label, 1, 1)
    value = _parse_yaml(text, place, problems)
    if value is None or (isinstance(value, _Scalar) and value.is_null):
        return None
    if not isinstance(value, _Mapping):
        raise _UnreadableError(value.place, f"must hold a mapping of settings, not {_shape(value)}")
    return value


def _read_text(source: FileSource) -> str:
    place = _Place(source.label)
    try:
        # Opening a pipe would wait for its writer, so the kind is looked at before.
        if not stat.S_ISREG(os.stat(source.path).st_mode):  # noqa: PTH116 - one call that also follows links
            raise _UnreadableError(place, "is not a regular file")
        with source.path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _UnreadableError(place, f"cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise _UnreadableError(place, f"is larger than {MAX_FILE_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        place = _Place(source.label, data.count(b"\n", 0, error.start) + 1, error.start - line_start + 1)
        raise _UnreadableError(place, "is not UTF-8 text") from error


def _environment_layers(source: EnvironmentSource, problems: list[_Problem]) -> Iterator[_Mapping]:
    seen: dict[str, str] = {}
    for name in sorted(source.environ):
        if not name.upper().startswith(source.prefix.upper()):
            continue
        segments = name[len(source.prefix) :].lower().split("__")
        key, place = ".".join(segments), _Place(name)
        if key in seen:
            problems.append(_Problem(place, key, f"is also set by {seen[key]}"))
            continue
        seen[key] = name
        yield _wrapped(segments, _Scalar(place, source.environ[name], is_inline=True))


def _override_layers(source: OverrideSource, problems: list[_Problem]) -> Iterator[_Mapping]:
    place = _Place("--set")
    for item in source.items:
        key, equals, text = item.partition("=")
        if not equals or not key.strip():
            problems.append(_Problem(place, "", f"needs key=value, not {_printable(item)!r}"))
            continue
        value: _Value | None = _Scalar(place, text, is_inline=True)
        if text.startswith(('"', "'")):
            value = _parse_inline(text, place, key.strip(), problems)
        if value is not None:
            yield _wrapped(key.strip().split("."), value)


def _wrapped(segments: Sequence[str], value: _Value) -> _Mapping:
    for segment in reversed(segments):
        value = _Mapping(value.place, (_Entry(segment, value.place, value),))
    return cast("_Mapping", value)


def _parse_inline(text: str, place: _Place, key: str, problems: list[_Problem]) -> _Value | None:
    try:
        return _parse_yaml(text, place, problems)
    except _UnreadableError as error:
        problems.append(replace(error.problem, key=key))
        return None


def _parse_yaml(text: str, place: _Place, problems: list[_Problem]) -> _Value | None:
    # Imported here because it costs about 20 ms, which short-lived commands without a settings file need not pay.
    import yaml  # noqa: PLC0415 - measured, see above

    class BoundedLoader(yaml.SafeLoader):
        """Stops early: a large file would otherwise be parsed for many seconds only to be refused."""

        n_nodes = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            self.n_nodes += 1
            if self.n_nodes > 2 * MAX_VALUES:  # Keys are nodes too.
                raise _UnreadableError(place, f"holds more than {MAX_VALUES} values")
            return super().compose_node(parent, index)

    try:
        loader = BoundedLoader(text)
        # What yaml.compose does; the loader is kept for its position. Nodes only, no object is ever constructed.
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _UnreadableError(_marked(place, mark), _yaml_complaint(error.problem or str(error))) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        broken = place if place.line is None else _Place(place.source, line, column)
        raise _UnreadableError(broken, f"is not valid YAML: character {error.character!r} is not allowed") from error
    except RecursionError as error:
        deep = place if place.line is None else _Place(place.source, loader.line + 1, loader.column + 1)
        raise _UnreadableError(deep, f"is nested deeper than {MAX_DEPTH} levels") from error
    return None if node is None else _TreeBuilder(place, problems).build(node, "", 0)


def _yaml_complaint(problem: str) -> str:
    if "\\t" in problem or "\t" in problem:
        return "is not valid YAML: a tab cannot start a value or indent; use spaces"
    if "another document" in problem:
        return "must hold one YAML document, not more than one document"
    return f"is not valid YAML: {_printable(problem)}"


def _marked(place: _Place, mark: Any) -> _Place:
    if place.line is None or mark is None:
        return place
    return _Place(place.source, mark.line + 1, mark.column + 1)


class _TreeBuilder:
    """Turns composed YAML nodes into plain values.

    Invariant: at most MAX_VALUES nodes are visited, so that aliases of aliases cannot blow up.
    Nodes are typed Any because yaml is imported late; their `id` says what they are.
    """

    _TAGS = frozenset(
        f"tag:yaml.org,2002:{name}"
        for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge", "seq", "map")
    )

    def __init__(self, place: _Place, problems: list[_Problem]) -> None:
        self._place = place
        self._problems = problems
        self._left = MAX_VALUES

    def build(self, node: Any, key: str, depth: int) -> _Value:
        place = _marked(self._place, node.start_mark)
        self._left -= 1
        if self._left < 0:
            raise _UnreadableError(place, f"holds or expands to more than {MAX_VALUES} values", key)
        if depth > MAX_DEPTH:
            raise _UnreadableError(place, f"is nested deeper than {MAX_DEPTH} levels", key)
        if node.tag not in self._TAGS:
            raise _UnreadableError(place, f"carries the tag {_printable(node.tag)!r}; tags are not allowed", key)
        if node.id == "scalar":
            is_quoted = node.style is not None
            is_null = not is_quoted and node.tag.endswith(":null")
            return _Scalar(place, node.value, is_quoted=is_quoted, is_null=is_null)
        if node.id == "sequence":
            items = (self.build(item, f"{key}[{i}]", depth + 1) for i, item in enumerate(node.value))
            return _List(place, tuple(items))
        return _Mapping(place, tuple(self._entries(node, key, depth)))

    def _entries(self, node: Any, prefix: str, depth: int) -> Iterator[_Entry]:
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            place = _marked(self._place, key_node.start_mark)
            if key_node.id != "scalar":
                raise _UnreadableError(place, "has a key that is not a plain word", prefix)
            key = f"{prefix}.{key_node.value}" if prefix else key_node.value
            value = self.build(value_node, key, depth + 1)
            line = key_node.start_mark.line + 1
            if key_node.value in first_lines:
                lines = f"lines {first_lines[key_node.value]} and {line}"
                self._problems.append(_Problem(place, key, f"is given twice, on {lines}"))
                continue
            first_lines[key_node.value] = line
            yield _Entry(key_node.value, place, value)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A setting that some source has set."""

    value: object
    place: _Place


_BAD: Any = object()


class _Binder:
    """Collects what the sources set, checked against the settings class.

    Invariant: `leaves` holds only values that fit their field; whatever does not is in `problems`.
    """

    def __init__(self, root: type) -> None:
        self.leaves: dict[str, _Leaf] = {}
        self.problems: list[_Problem] = []
        self._known = tuple(_known_keys(root, ""))

    def bind(self, mapping: _Mapping, cls: type, prefix: str) -> None:
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

    def _report_unknown(self, entry: _Entry, key: str, siblings: Sequence[str]) -> None:
        if key in self._known:
            path = ": { ".join(key.split("."))
            self._report(entry.place, key, f"must be written nested, as `{path}: … {'} ' * key.count('.')}`")
            return
        problem = _Problem(entry.place, key, "is not a setting", nearest=_nearest(key, siblings, self._known))
        self.problems.append(problem)

    def _report(self, place: _Place, key: str, text: str, expected: str | None = None) -> Any:
        self.problems.append(_Problem(place, key, text, expected=expected))
        return _BAD

    def _mismatch(self, value: _Value, kind: _Kind, key: str) -> Any:
        expected = kind.expected()
        return self._report(value.place, key, f"must be {expected}, not {_shape(value)}", expected)

    def _as_mapping(self, value: _Value, kind: _Kind, key: str) -> _Mapping | None:
        expanded = self._expand(value, key)
        if expanded is None:
            return None
        if isinstance(expanded, _Scalar) and expanded.is_null:
            return _Mapping(expanded.place, ())  # A group whose keys are all commented out.
        if isinstance(expanded, _Mapping):
            return expanded
        self._mismatch(expanded, kind, key)
        return None

    def _expand(self, value: _Value, key: str) -> _Value | None:
        """Parse a variable's or override's text where a list or mapping is wanted."""
        if isinstance(value, _Scalar) and value.is_inline and value.text.lstrip().startswith(("[", "{")):
            return _parse_inline(value.text, value.place, key, self.problems)
        return value

    def _read(self, value: _Value, kind: _Kind, key: str) -> Any:
        if kind.is_optional and _is_null(value):
            return None
        if kind.item is not None:
            return self._read_list(value, kind, key)
        if is_dataclass(kind.base):
            return self._read_item(value, kind, key)
        return self._read_scalar(value, kind, key)

    def _read_list(self, value: _Value, kind: _Kind, key: str) -> Any:
        expanded = self._expand(value, key)
        if expanded is None:
            return _BAD
        if isinstance(expanded, _Scalar) and expanded.is_inline:
            parts = (part.strip() for part in expanded.text.split(","))
            expanded = _List(expanded.place, tuple(replace(expanded, text=part) for part in parts if part))
        if not isinstance(expanded, _List):
            return self._mismatch(expanded, kind, key)
        item_kind = cast("_Kind", kind.item)
        items = tuple(self._read(item, item_kind, f"{key}[{i}]") for i, item in enumerate(expanded.items))
        return _BAD if any(item is _BAD for item in items) else items

    def _read_item(self, value: _Value, kind: _Kind, key: str) -> Any:
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

    def _read_scalar(self, value: _Value, kind: _Kind, key: str) -> Any:
        if not isinstance(value, _Scalar) or value.is_null:
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

    def __init__(self, leaves: Mapping[str, _Leaf], fallback: _Place | None = None) -> None:
        self.origins: dict[str, Origin] = {}
        self.problems: list[_Problem] = []
        self._leaves = leaves
        self._fallback = fallback or _Place("settings")

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
            self.problems.append(_Problem(place, prefix.rstrip("."), f"is not usable: {_printable(str(error))}"))
            return _BAD

    def _value(self, slot: _Slot, key: str, base: object) -> object:
        default = slot.default_in(base)
        if slot.kind.is_group:
            return self.build(slot.kind.base, key + ".", default)
        leaf = self._leaves.get(key)
        if leaf is None and default is MISSING:
            expected = slot.kind.expected()
            text = f"is required and not set; it must be {expected}"
            self.problems.append(_Problem(self._fallback, key, text, expected=expected))
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


def _is_null(value: _Value) -> bool:
    if not isinstance(value, _Scalar):
        return False
    return value.is_null or (value.is_inline and value.text.strip().lower() in {"", "~", "null", "none"})


def _parse_str(value: _Scalar) -> str:
    return value.text  # As written: `1.10` and `no` are fine texts, whatever YAML would make of them.


# Plain decimals only. YAML 1.1 would read 010 as eight and 1:30 as ninety, which nobody means in a settings file.
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]{0,30})")
_NUMBER = re.compile(r"[-+]?[0-9][0-9_]{0,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,3})?")


def _parse_int(value: _Scalar) -> int | None:
    text = value.text.strip()
    return int(text.replace("_", "")) if not value.is_quoted and _WHOLE.fullmatch(text) else None


def _parse_float(value: _Scalar) -> float | None:
    text = value.text.strip()
    if value.is_quoted or not _NUMBER.fullmatch(text):
        return None
    number = float(text.replace("_", ""))
    return number if math.isfinite(number) else None


def _parse_bool(value: _Scalar) -> bool | None:
    text = value.text.strip().lower()
    if value.is_quoted:
        return None
    if text in {"true", "yes", "on"} or (value.is_inline and text == "1"):
        return True
    if text in {"false", "no", "off"} or (value.is_inline and text == "0"):
        return False
    return None


def _parse_path(value: _Scalar) -> Path | None:
    return Path(value.text) if value.text and "\0" not in value.text else None


_PARSERS: Mapping[type, Any] = MappingProxyType(
    {str: _parse_str, int: _parse_int, float: _parse_float, bool: _parse_bool, Path: _parse_path}
)


def _shape(value: _Value) -> str:
    if isinstance(value, _Mapping):
        return "a mapping"
    if isinstance(value, _List):
        return "a list"
    if value.is_null:
        return "nothing"
    text = repr(_printable(value.text))
    return f"the quoted text {text}" if value.is_quoted else text


def _printable(text: str) -> str:
    """Return the text on one line and short enough for a message."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[:80])
    return shown + "…" if len(text) > 80 else shown
