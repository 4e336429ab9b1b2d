"""Read settings from files, the environment and overrides into values that know their place.

Invariants: nothing in a file is ever executed or expanded without a bound; what cannot be read becomes a problem with
its place, not an exception.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from codeplane.core.errors import CodePlaneError

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
class TextSource:
    """The text of a YAML file that was read already. `label` is the name people see."""

    text: str
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


Source = FileSource | TextSource | EnvironmentSource | OverrideSource


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written; line and column count from 1 and exist only in files."""

    source: str
    line: int | None = None
    column: int | None = None

    def where(self) -> str:
        """Return the source and, if known, the line."""
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one place."""

    place: Place
    key: str
    text: str
    nearest: str | None = None
    expected: str | None = None

    def as_line(self) -> str:
        """Return the problem as one readable line."""
        column = "" if self.place.column is None else f":{self.place.column}"
        guess = f"; did you mean {self.nearest}?" if self.nearest else ""
        key = f"{printable(self.key)} " if self.key else ""
        return f"{self.place.where()}{column}: {key}{self.text}{guess}"

    def as_dict(self) -> dict[str, object]:
        """Return the problem as data."""
        return {
            "source": self.place.source,
            "line": self.place.line,
            "column": self.place.column,
            "key": self.key,
            "nearest": self.nearest,
            "expected": self.expected,
            "message": self.as_line(),
        }


def raise_if_any(problems: Sequence[Problem]) -> None:
    """Raise one CONFIG_INVALID that lists all problems, if there are any."""
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

    def __init__(self, place: Place, text: str, key: str = "") -> None:
        super().__init__(text)
        self.problem = Problem(place, key, text)


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """A single value as it was written. `is_inline`: from a variable or `--set`, where spellings are freer."""

    place: Place
    text: str
    is_quoted: bool = False
    is_null: bool = False
    is_inline: bool = False


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list of values."""

    place: Place
    items: "tuple[Value, ...]"


@dataclass(frozen=True, slots=True)
class MappingEntry:
    """A key of a mapping with its own place."""

    key: str
    place: Place
    value: "Value"


@dataclass(frozen=True, slots=True)
class MappingValue:
    """Keys with values, in the order written."""

    place: Place
    entries: tuple[MappingEntry, ...]


Value = ScalarValue | ListValue | MappingValue


def layers(source: Source, problems: list[Problem]) -> Iterator[MappingValue]:
    """Yield what one source sets, as mappings of rising precedence; problems are added to the list."""
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


def _file_layer(source: FileSource | TextSource, problems: list[Problem]) -> MappingValue | None:
    text = source.text if isinstance(source, TextSource) else _read_text(source)
    if not text.strip():
        return None
    place = Place(source.label, 1, 1)
    value = _parse_yaml(text, place, problems)
    if value is None or (isinstance(value, ScalarValue) and value.is_null):
        return None
    if not isinstance(value, MappingValue):
        raise _UnreadableError(value.place, f"must hold a mapping of settings, not {shape(value)}")
    return value


def _read_text(source: FileSource) -> str:
    place = Place(source.label)
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
        place = Place(source.label, data.count(b"\n", 0, error.start) + 1, error.start - line_start + 1)
        raise _UnreadableError(place, "is not UTF-8 text") from error


def _environment_layers(source: EnvironmentSource, problems: list[Problem]) -> Iterator[MappingValue]:
    seen: dict[str, str] = {}
    for name in sorted(source.environ):
        if not name.upper().startswith(source.prefix.upper()):
            continue
        segments = name[len(source.prefix) :].lower().split("__")
        key, place = ".".join(segments), Place(name)
        if key in seen:
            problems.append(Problem(place, key, f"is also set by {seen[key]}"))
            continue
        seen[key] = name
        yield _wrapped(segments, ScalarValue(place, source.environ[name], is_inline=True))


def _override_layers(source: OverrideSource, problems: list[Problem]) -> Iterator[MappingValue]:
    place = Place("--set")
    for item in source.items:
        key, equals, text = item.partition("=")
        if not equals or not key.strip():
            problems.append(Problem(place, "", f"needs key=value, not {printable(item)!r}"))
            continue
        value: Value | None = ScalarValue(place, text, is_inline=True)
        if text.startswith(('"', "'")):
            value = parse_inline(text, place, key.strip(), problems)
        if value is not None:
            yield _wrapped(key.strip().split("."), value)


def _wrapped(segments: Sequence[str], value: Value) -> MappingValue:
    for segment in reversed(segments):
        value = MappingValue(value.place, (MappingEntry(segment, value.place, value),))
    return cast("MappingValue", value)


def parse_inline(text: str, place: Place, key: str, problems: list[Problem]) -> Value | None:
    """Parse a value given as text; a text that is not YAML becomes a problem."""
    try:
        return _parse_yaml(text, place, problems)
    except _UnreadableError as error:
        problems.append(replace(error.problem, key=key))
        return None


def _parse_yaml(text: str, place: Place, problems: list[Problem]) -> Value | None:
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
        raise _UnreadableError(_marked(place, mark), _yaml_problem(error.problem or str(error))) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        broken = place if place.line is None else Place(place.source, line, column)
        raise _UnreadableError(broken, f"is not valid YAML: character {error.character!r} is not allowed") from error
    except RecursionError as error:
        deep = place if place.line is None else Place(place.source, loader.line + 1, loader.column + 1)
        raise _UnreadableError(deep, f"is nested deeper than {MAX_DEPTH} levels") from error
    return None if node is None else _TreeBuilder(place, problems).build(node, "", 0)


def _yaml_problem(problem: str) -> str:
    if "\\t" in problem or "\t" in problem:
        return "is not valid YAML: a tab cannot start a value or indent; use spaces"
    if "another document" in problem:
        return "must hold one YAML document, not more than one document"
    return f"is not valid YAML: {printable(problem)}"


def _marked(place: Place, mark: Any) -> Place:
    if place.line is None or mark is None:
        return place
    return Place(place.source, mark.line + 1, mark.column + 1)


class _TreeBuilder:
    """Turns composed YAML nodes into plain values.

    Invariant: at most MAX_VALUES nodes are visited, so that aliases of aliases cannot blow up.
    Nodes are typed Any because yaml is imported late; their `id` says what they are.
    """

    _TAGS = frozenset(
        f"tag:yaml.org,2002:{name}"
        for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge", "seq", "map")
    )

    def __init__(self, place: Place, problems: list[Problem]) -> None:
        self._place = place
        self._problems = problems
        self._left = MAX_VALUES

    def build(self, node: Any, key: str, depth: int) -> Value:
        place = _marked(self._place, node.start_mark)
        self._left -= 1
        if self._left < 0:
            raise _UnreadableError(place, f"holds or expands to more than {MAX_VALUES} values", key)
        if depth > MAX_DEPTH:
            raise _UnreadableError(place, f"is nested deeper than {MAX_DEPTH} levels", key)
        if node.tag not in self._TAGS:
            raise _UnreadableError(place, f"carries the tag {printable(node.tag)!r}; tags are not allowed", key)
        if node.id == "scalar":
            is_quoted = node.style is not None
            is_null = not is_quoted and node.tag.endswith(":null")
            return ScalarValue(place, node.value, is_quoted=is_quoted, is_null=is_null)
        if node.id == "sequence":
            items = (self.build(item, f"{key}[{i}]", depth + 1) for i, item in enumerate(node.value))
            return ListValue(place, tuple(items))
        return MappingValue(place, tuple(self._entries(node, key, depth)))

    def _entries(self, node: Any, prefix: str, depth: int) -> Iterator[MappingEntry]:
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
                self._problems.append(Problem(place, key, f"is given twice, on {lines}"))
                continue
            first_lines[key_node.value] = line
            yield MappingEntry(key_node.value, place, value)


def printable(text: str) -> str:
    """Return the text on one line and short enough for a message."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[:80])
    return shown + "…" if len(text) > 80 else shown


def shape(value: Value) -> str:
    """Say what kind of value it is, for messages."""
    if isinstance(value, MappingValue):
        return "a mapping"
    if isinstance(value, ListValue):
        return "a list"
    if value.is_null:
        return "nothing"
    text = repr(printable(value.text))
    return f"the quoted text {text}" if value.is_quoted else text
