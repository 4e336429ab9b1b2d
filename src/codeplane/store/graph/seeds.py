"""Seeds: JSON lines below `.orchestration/graph/seed` that people commit; each line is checked and has a place."""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codeplane.core.clock import ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.printable import printable_name
from codeplane.store.graph.model import FLAT_TYPES, Edge, Node, Row, Stamp, in_order, line_of

SEED_FOLDER: Final = ".orchestration/graph/seed"
MAX_LINE_BYTES: Final = 1_000_000
MAX_FILE_BYTES: Final = 256_000_000
MAX_ID: Final = 500
_HEAD: Final = frozenset({"id", "type", "version", "updated_at", "updated_by"})
_NODE: Final = frozenset({"label", "props"})
_EDGE: Final = frozenset({"from", "rel", "to", "props"})
# Labels and relations become names in the other backend.
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True)
class SeedPlace:
    """A line of a seed file; the path is relative to the repository."""

    path: str
    line: int

    def __str__(self) -> str:
        """Return it as `file:line`."""
        return f"{printable_name(self.path)}:{self.line}"


@dataclass(frozen=True, slots=True)
class SeedRow:
    """A row, where it is, and its canonical line."""

    row: Row
    place: SeedPlace
    text: str


@dataclass(frozen=True, slots=True)
class SeedError:
    """What is wrong with a line, or with a whole file (line 0)."""

    place: SeedPlace
    message: str

    def __str__(self) -> str:
        """Return it with its place."""
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Seeds:
    """All seeds: of each id the row with the highest version, nodes before edges, by id; and every error.

    Rows with errors are not among `rows`.
    """

    rows: tuple[SeedRow, ...] = ()
    errors: tuple[SeedError, ...] = ()
    n_files: int = 0

    @property
    def digest(self) -> str:
        """Return a digest of the rows."""
        return sha256_text("".join(one.text for one in self.rows))

    def of_type(self, wanted: str) -> tuple[SeedRow, ...]:
        """Return the rows of a type, such as `policy` or `recipe`, by id."""
        return tuple(one for one in self.rows if one.row.stamp.type == wanted)


def read_seeds(root: Path) -> Seeds:
    """Read every seed of a working tree; what is wrong is in `errors`."""
    first: dict[tuple[str, int], SeedRow] = {}
    errors: list[SeedError] = []
    paths = list(_seed_paths(root, errors))
    for path in paths:
        for number, line in _lines(root, path, errors):
            place = SeedPlace(path, number)
            try:
                found = _checked_row(line)
                new = SeedRow(found, place, line_of(found))
            except (ValueError, CodePlaneError) as error:
                errors.append(SeedError(place, str(error)))
                continue
            known = first.setdefault((found.id, found.stamp.version), new)
            if known.text != new.text:
                errors.append(SeedError(place, _conflict(new, known)))
    # The versions of an id ascend, so that the last one stays.
    winners = {row_id: first[row_id, version] for row_id, version in sorted(first)}
    ordered = in_order(one.row for one in winners.values())
    return Seeds(tuple(winners[row.id] for row in ordered), tuple(errors), len(paths))


def _conflict(new: SeedRow, known: SeedRow) -> str:
    shown, version = printable_name(new.row.id), new.row.stamp.version
    return f"{shown} has version {version} with other content at {known.place}. Give one of them a higher version."


def _seed_paths(root: Path, errors: list[SeedError]) -> Iterator[str]:
    """Yield the seed files relative to the root, in the order of the bytes of their paths."""
    folder = root / SEED_FOLDER
    if folder.resolve() != root.resolve() / SEED_FOLDER:
        errors.append(SeedError(SeedPlace(SEED_FOLDER, 0), "The folder is reached through a symbolic link."))
        return
    found = []
    for parent, _, names in os.walk(folder, followlinks=False):
        found += [Path(parent, name).relative_to(root).as_posix() for name in names if name.endswith(".jsonl")]
    yield from sorted(found, key=os.fsencode)


def _lines(root: Path, path: str, errors: list[SeedError]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    try:
        # Neither a link nor a pipe: a link may lead out of the repository, a pipe would wait forever.
        descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        errors.append(SeedError(SeedPlace(path, 0), f"The file cannot be read: {error.strerror or error}."))
        return
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            problem = f"Seeds are regular files of at most {MAX_FILE_BYTES} bytes."
            errors.append(SeedError(SeedPlace(path, 0), problem))
            return
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line


def _checked_row(line: bytes) -> Row:
    """Return the row of a line.

    Raises:
        ValueError: the line breaks a rule; the message says which.
    """
    document = _document(line)
    stamp = _stamp(document)
    row_id = _text(document, "id", MAX_ID)
    if stamp.type in FLAT_TYPES:
        props = {name: value for name, value in document.items() if name not in _HEAD}
        return Node(row_id, stamp.type, props, stamp)
    _check_fields(document)
    props = document["props"]
    if not isinstance(props, dict):
        raise ValueError("`props` must be an object.")  # noqa: TRY004 - one kind of error for the caller.
    if "label" in document:
        return Node(row_id, _name(document, "label"), props, stamp)
    source, target = _text(document, "from", MAX_ID), _text(document, "to", MAX_ID)
    return Edge(row_id, source, _name(document, "rel"), target, props, stamp)


def _document(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"The line has more than {MAX_LINE_BYTES} bytes.")
    try:
        document = json.loads(line.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise ValueError("The line is not UTF-8.") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"The line is not JSON: {error.msg} at column {error.colno}.") from error
    except RecursionError as error:
        raise ValueError("The line is nested too deeply.") from error
    if not isinstance(document, dict):
        raise ValueError("The line must be a JSON object.")  # noqa: TRY004 - one kind of error for the caller.
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("A field is given twice.")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON.")


def _stamp(document: Mapping[str, Any]) -> Stamp:
    missing = sorted(_HEAD - document.keys())
    if missing:
        raise ValueError(f"Missing: {', '.join(missing)}. Every row has id, type, version, updated_at and updated_by.")
    version = document["version"]
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version < 2**53:
        raise ValueError("`version` must be a whole number, 0 or more.")
    updated_at = _text(document, "updated_at", 40)
    try:
        ms_from_iso(updated_at)
    except (ValueError, OverflowError) as error:
        raise ValueError("`updated_at` must be an ISO 8601 time, such as 2025-01-31T12:00:00Z.") from error
    return Stamp(_text(document, "type", 100), version, updated_at, _text(document, "updated_by", 200))


def _check_fields(document: Mapping[str, Any]) -> None:
    given = document.keys() - _HEAD
    if given not in (_NODE, _EDGE):
        shown = ", ".join(sorted(map(printable_name, given))) or "nothing"
        raise ValueError(f"Beside the stamp a node has label and props, an edge from, rel, to and props; got {shown}.")


def _text(document: Mapping[str, Any], name: str, longest: int) -> str:
    value = document[name]
    if not isinstance(value, str) or not value.strip() or len(value) > longest or not value.isprintable():
        raise ValueError(f"`{name}` must be printable text of 1 to {longest} characters.")
    return value


def _name(document: Mapping[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"`{name}` must be a name of letters, digits and `_`, beginning with a letter.")
    return value
