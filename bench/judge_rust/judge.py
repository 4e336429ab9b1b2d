"""Write what rust-analyzer says each identifier of a repository means.

python bench/judge_rust/judge.py REPOSITORY OUT.jsonl [--scip FILE]

One line per identifier that resolves to a definition inside the repository:
{"path", "start", "name", "kind", "defs": [{"path", "start"}]}, offsets in bytes. The kind is "attribute" for what
stands after a dot or `::` and "name" for the rest. An identifier that means two things (`S { x }`) has both.
Lifetimes, labels, operators and the words `crate` and `super` are left out.
rust-analyzer and cargo must be installed; the dependencies of the repository are fetched by cargo.
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TIME_LIMIT_S = 1200.0
_COMMENT = re.compile(rb"//[^\n]*(?=\n)")


class Occurrence(NamedTuple):
    """A symbol where it stands."""

    path: str
    start: int
    end: int
    symbol: str
    is_definition: bool


def main() -> None:
    """Read the arguments, ask rust-analyzer, write the answers."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("repository", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--scip", type=Path, help="an index that rust-analyzer has written already")
    options = arguments.parse_args()
    root = options.repository.resolve()
    if options.scip is not None:
        index = options.scip.read_bytes()
    else:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "index.scip"
            subprocess.run(
                ["rust-analyzer", "scip", str(root), "--output", str(path)], check=True, timeout=TIME_LIMIT_S
            )
            index = path.read_bytes()
    occurrences = list(read_index(index, root))
    with options.out.open("w", encoding="utf-8") as out:
        for line in answers(occurrences, root):
            out.write(json.dumps(line) + "\n")


def answers(occurrences: list[Occurrence], root: Path) -> Iterator[dict[str, object]]:
    """Yield the answers in the order of paths and offsets."""
    definitions: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for one in occurrences:
        if one.is_definition:
            definitions[_key(one)].append({"path": one.path, "start": one.start})
    found: dict[tuple[str, int, int], list[dict[str, object]]] = defaultdict(list)
    for one in occurrences:
        if not one.is_definition:
            place = found[one.path, one.start, one.end]
            place.extend(known for known in definitions.get(_key(one), ()) if known not in place)
    texts: dict[str, bytes] = {}
    for path, start, end in sorted(found):
        places = found[path, start, end]
        if not places:
            continue
        text = texts.setdefault(path, (root / path).read_bytes())
        before = _COMMENT.sub(b"", text[max(0, text.rfind(b"\n", 0, max(0, start - 200))) : start]).rstrip()
        is_attribute = before.endswith((b".", b"::")) and not before.endswith(b"..")
        name = text[start:end].decode("utf-8", "replace")
        if not name.removeprefix("r#").isidentifier() or name in {"crate", "super"}:
            continue
        kind = "attribute" if is_attribute else "name"
        yield {"path": path, "start": start, "name": name, "kind": kind, "defs": places}


def read_index(index: bytes, root: Path) -> Iterator[Occurrence]:
    """Yield the occurrences of an index in the SCIP format."""
    for field, document in _fields(index):
        if field != 2 or not isinstance(document, bytes):
            continue
        parts = list(_fields(document))
        path = next(value.decode() for number, value in parts if number == 1 and isinstance(value, bytes))
        if not (root / path).is_file():
            continue
        lines = _line_starts((root / path).read_bytes())
        for number, value in parts:
            if number == 2 and isinstance(value, bytes):
                yield _occurrence(path, lines, value)


def _occurrence(path: str, lines: list[int], message: bytes) -> Occurrence:
    numbers: list[int] = []
    symbol, roles = "", 0
    for field, value in _fields(message):
        if field == 1 and isinstance(value, bytes):
            numbers = list(_varints(value))
        elif field == 2 and isinstance(value, bytes):
            symbol = value.decode()
        elif field == 3 and isinstance(value, int):
            roles = value
    first, start, *rest = numbers
    last, end = (first, rest[0]) if len(rest) == 1 else (rest[0], rest[1])
    return Occurrence(path, lines[first] + start, lines[last] + end, symbol, bool(roles & 1))


def _key(one: Occurrence) -> tuple[str, str]:
    """Return what tells symbols apart: those of one document have no name outside of it."""
    return (one.path if one.symbol.startswith("local ") else "", one.symbol)


def _line_starts(text: bytes) -> list[int]:
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message: numbers and their values."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        if tag & 7 == 0:
            value, position = _varint(message, position)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, position = _varint(message, position)
            yield tag >> 3, message[position : position + size]
            position += size
        else:
            position += 8 if tag & 7 == 1 else 4


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


if __name__ == "__main__":
    main()
