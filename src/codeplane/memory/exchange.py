"""Experiences on their way out and in: JSON, JSON lines, Markdown, and stores of the public system.

Importing is idempotent: what is known to the letter is skipped. Revision links and times are kept.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codeplane.core.canonical_json import canonical_text
from codeplane.core.clock import iso_from_ms, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.memory.episodes import record_from_experience
from codeplane.memory.experiences import DOMAINS, SUPERSEDED, TEXT_FIELDS, TYPES, Experience, archive, insert
from codeplane.memory.store import Writing

_MAX_ERRORS: Final = 5
_REQUIRED: Final = ("type", "domain", *TEXT_FIELDS)
_MAX_TEXT: Final = 20_000
# The end of the year 9999, which is the last that can be printed.
_LAST_MS: Final = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class Imported:
    """How many rows came in and how many did not, with the first problems."""

    imported: int
    skipped: int
    total: int
    errors: tuple[str, ...] = ()


def export_rows(
    connection: sqlite3.Connection, domain: str | None = None, kind: str | None = None
) -> list[dict[str, Any]]:
    """Return all experiences with their revision links, oldest first."""
    rows = connection.execute("SELECT * FROM experiences ORDER BY id")
    return [_exported(row) for row in rows if domain in {None, row["domain"]} and kind in {None, row["type"]}]


def export_lines(connection: sqlite3.Connection, team: str = "") -> str:
    """Return the live experiences of the project as sorted JSON lines; equal stores give equal bytes.

    Lines of the team's file that this store does not know yet are kept: others have written them.
    """
    rows = connection.execute("SELECT * FROM experiences WHERE archived_at IS NULL AND scope = 'project'")
    left_out = {"id", "revision_of", "archived_at"}
    lines = {
        canonical_text({name: value for name, value in _exported(row).items() if name not in left_out}) for row in rows
    }
    lines.update(line for line in team.split("\n") if line.strip() and not _is_known(connection, line))
    return "".join(f"{line}\n" for line in sorted(lines))


def _is_known(connection: sqlite3.Connection, line: str) -> bool:
    """Tell whether the store has or had the experience in a line, live or archived."""
    try:
        experience = _parsed(json.loads(line), 1, [])
    except (ValueError, RecursionError):
        return False
    query = "SELECT 1 FROM experiences WHERE content_hash = ?"
    return experience is not None and connection.execute(query, (experience.content_hash,)).fetchone() is not None


def as_markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return experiences for people to read."""
    parts = ["# Experiences\n"]
    for row in rows:
        parts.append(f"## {row['id']}. {row['situation']}\n")
        parts.append(f"- {row['type']}, {row['domain']}, {row['created_at']}")
        parts += [f"- {name}: {row[name]}" for name in TEXT_FIELDS[1:]]
        if row["tags"]:
            parts.append(f"- tags: {', '.join(row['tags'])}")
        parts.append("")
    return "\n".join(parts)


def parse_rows(text: str) -> list[Any]:
    """Return the rows of a JSON array, of an object with `experiences`, or of JSON lines.

    Raises:
        CodePlaneError: INVALID_FORMAT naming the first bad line; nothing of a half-written file is taken.
    """
    stripped = text.lstrip("\ufeff").strip()
    try:
        loaded = json.loads(stripped) if stripped else []
    except (ValueError, RecursionError):
        return _parse_lines(stripped)
    if isinstance(loaded, dict):
        loaded = loaded.get("experiences", [loaded])
    if not isinstance(loaded, list):
        raise CodePlaneError("INVALID_FORMAT", "The file has neither a list of experiences nor JSON lines.")
    return loaded


def _parse_lines(text: str) -> list[Any]:
    rows: list[Any] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise CodePlaneError("INVALID_FORMAT", f"Line {number} is not JSON. Nothing was imported.") from error
    return rows


def import_rows(writing: Writing, rows: Sequence[Any], domain: str | None = None, kind: str | None = None) -> Imported:
    """Insert the rows that are not known, with their times and revision links."""
    new_ids: dict[Any, int] = {}
    problems: list[str] = []
    n_imported = 0
    for number, row in enumerate(rows, start=1):
        experience = _parsed(row, number, problems)
        if experience is None or domain not in {None, experience.domain} or kind not in {None, experience.type}:
            continue
        known = writing.connection.execute(
            "SELECT id FROM experiences WHERE content_hash = ? ORDER BY id", (experience.content_hash,)
        ).fetchone()
        if known is not None:
            new_ids[_link(row.get("id"))] = int(known[0])
            continue
        key = _import_one(writing, row, experience, new_ids)
        new_ids[_link(row.get("id"))] = key
        n_imported += 1
    writing.log("import", json.dumps({"imported": n_imported, "total": len(rows)}))
    return Imported(n_imported, len(rows) - n_imported, len(rows), tuple(problems[:_MAX_ERRORS]))


def _import_one(writing: Writing, row: Mapping[str, Any], experience: Experience, new_ids: Mapping[Any, int]) -> int:
    older = _link(row.get("revision_of", row.get("original_id")))
    revises = new_ids.get(older) if older is not None else None
    created_ms = _time(row.get("created_at"), writing.now_ms)
    key = insert(writing, experience, revision_of=revises, created_ms=created_ms)
    if revises is not None:
        archive(writing, revises, SUPERSEDED)
    record_from_experience(writing, key, experience)
    return key


def import_store(writing: Writing, path: Path) -> Imported:
    """Take over the experiences of a store of the public system, which is only read.

    Raises:
        CodePlaneError: INVALID_FORMAT when it is not such a store.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source:
            source.row_factory = sqlite3.Row
            rows = [dict(row) for row in source.execute("SELECT * FROM experiences ORDER BY id")]
    except sqlite3.Error as error:
        message = f"{path.name} is not a store of experiences: {error}."
        raise CodePlaneError("INVALID_FORMAT", message) from error
    for row in rows:
        row["tags"] = _tags(row.get("tags"))
    return import_rows(writing, rows)


def _exported(row: sqlite3.Row) -> dict[str, Any]:
    document = {name: row[name] for name in ("id", *_REQUIRED, "confidence", "revision_of", "evidence_count")}
    document |= {name: json.loads(row[name]) for name in ("tags", "paths", "symbols")}
    document["created_at"] = iso_from_ms(row["created_at"])
    document["archived_at"] = iso_from_ms(row["archived_at"]) if row["archived_at"] is not None else None
    return document


def _parsed(row: Any, number: int, problems: list[str]) -> Experience | None:
    """Return a row as an experience; None, with the reason noted, when it is not one."""
    if not isinstance(row, Mapping):
        problems.append(f"Row {number} is not an object.")
        return None
    missing = [name for name in _REQUIRED if not isinstance(row.get(name), str) or not row[name].strip()]
    if missing:
        problems.append(f"Row {number} has no {', '.join(missing)}.")
        return None
    if not _is_text(row):
        problems.append(f"Row {number} has half of a character that takes two.")
        return None
    if row["type"] not in TYPES or row["domain"] not in DOMAINS:
        problems.append(f"Row {number} has an unknown type or domain.")
        return None
    if any(len(row[name]) > _MAX_TEXT for name in TEXT_FIELDS):
        problems.append(f"Row {number} has a text of more than {_MAX_TEXT} characters.")
        return None
    confidence = row.get("confidence")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1
    tags, paths, symbols = (tuple(map(str, _tags(row.get(name)))) for name in ("tags", "paths", "symbols"))
    paths = tuple(path for path in paths if _is_inside(path))
    texts = {name: row[name].strip() for name in TEXT_FIELDS}
    return Experience(
        type=row["type"], domain=row["domain"], confidence=confidence if is_number else None, source="agent",
        tags=tags, paths=paths, symbols=symbols, **texts,
    )  # fmt: skip


def _is_text(row: Mapping[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_inside(path: str) -> bool:
    """Tell whether a path can be one of this repository."""
    try:
        RepoPath.parse(path)
    except CodePlaneError:
        return False
    return True


def _link(value: Any) -> int | str | None:
    """Return what a row calls itself or the row that it revises."""
    return value if isinstance(value, int | str) else None


def _tags(value: Any) -> list[Any]:
    """Return a list that may be written as JSON text, even twice."""
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value)
        except ValueError:
            return [value] if value else []
    return value if isinstance(value, list) else []


def _time(value: Any, otherwise: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        # Seconds in old stores, milliseconds in ours.
        found = value if value > 10**11 else value * 1000
        return found if 0 <= found <= _LAST_MS else otherwise
    try:
        return ms_from_iso(value) if isinstance(value, str) else otherwise
    except ValueError:
        return otherwise
