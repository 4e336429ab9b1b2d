"""Experiences: what was tried in which situation, with which outcome. Rows are never changed in place except for tags.

An update makes a new row that revises the old one; the old one is archived, so searches return only the newest.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.redaction import redact
from codeplane.memory.near_duplicates import (
    SIMILAR_FROM,
    Shape,
    bands_of,
    candidates,
    is_duplicate,
    shape_of,
    similarity,
)
from codeplane.memory.store import Writing, text_hash

DOMAINS: Final = ("Tools", "Protocol", "Communication", "Process", "Debugging", "Decision")
TYPES: Final = ("effective", "ineffective")
TEXT_FIELDS: Final = ("situation", "approach", "outcome", "reasoning")
MAX_SIMILAR: Final = 5
SUPERSEDED: Final = "superseded"


@dataclass(frozen=True, slots=True)
class Experience:
    """The content of one experience; `places` are hashes of the code it is about, for telling when that changed."""

    type: str
    domain: str
    situation: str
    approach: str
    outcome: str
    reasoning: str
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    scope: str = "project"
    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    code_hashes: tuple[tuple[str, str], ...] = ()
    source: str = "agent"

    @property
    def text(self) -> str:
        """Return the four texts as one."""
        return f"{self.situation} {self.approach} {self.outcome} {self.reasoning}"

    @property
    def content_hash(self) -> str:
        """Return the hash of what makes two experiences the same to the letter, spaces, case and secrets aside."""
        normal = [" ".join(redact(getattr(self, name)).lower().split()) for name in TEXT_FIELDS]
        return text_hash(self.type, self.domain, *normal)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outcome of recording: a new row, or the older row that says the same; and rows that say nearly the same."""

    id: int
    is_new: bool
    similarity: float = 1.0
    similar: tuple[tuple[int, float], ...] = ()


def record(writing: Writing, experience: Experience, *, force: bool = False) -> Recorded:
    """Insert an experience unless one that says the same exists; that one then gains evidence."""
    shape = shape_of(experience.text)
    bands = bands_of(shape)
    near = _near(writing.connection, experience, shape, bands)
    same = next((one for one in near if one.is_same), None)
    similar = tuple((one.id, one.score) for one in near if not one.is_same)[:MAX_SIMILAR]
    if same is not None and not force:
        row = row_of(writing.connection, same.id)
        writing.update("experiences", same.id, evidence_count=int(row["evidence_count"]) + 1, updated_at=writing.now_ms)
        writing.log("duplicate", json.dumps({"experience": same.id}))
        return Recorded(same.id, is_new=False, similarity=same.score, similar=similar)
    key = insert(writing, experience, bands=bands)
    writing.log("record", json.dumps({"experience": key}))
    return Recorded(key, is_new=True, similar=similar)


def revise(writing: Writing, key: int, changes: Mapping[str, Any], reason: str) -> int:
    """Insert a revision of an experience and archive the old row.

    Raises:
        CodePlaneError: EXPERIENCE_NOT_FOUND; VALIDATION_ERROR when the row has been revised already.
    """
    row = row_of(writing.connection, key)
    newer = newer_versions(writing.connection, key)
    if newer:
        raise CodePlaneError("VALIDATION_ERROR", f"Experience {key} was revised already. Update {newer[-1]} instead.")
    revised = replace(experience_of(row), **changes)
    new_key = insert(writing, revised, revision_of=key)
    archive(writing, key, SUPERSEDED)
    writing.log("update", json.dumps({"experience": new_key, "revision_of": key, "reason": reason}))
    return new_key


def add_tags(writing: Writing, key: int, tags: Sequence[str]) -> tuple[str, ...]:
    """Add tags to an experience, keeping the order; return all of them.

    Raises:
        CodePlaneError: EXPERIENCE_NOT_FOUND.
    """
    row = row_of(writing.connection, key)
    merged = tuple(dict.fromkeys((*json.loads(row["tags"]), *tags)))
    writing.update("experiences", key, tags=_listed(merged), updated_at=writing.now_ms)
    writing.log("tag", json.dumps({"experience": key}))
    return merged


def archive(writing: Writing, key: int, reason: str) -> None:
    """Take an experience out of searches; it can still be read by its id."""
    writing.update("experiences", key, archived_at=writing.now_ms, archive_reason=reason)
    if reason == SUPERSEDED:
        _archive_cells(writing, key)


def _archive_cells(writing: Writing, key: int) -> None:
    """Archive the cells that rest on superseded experiences alone, so that nobody is told the old version."""
    supports = (
        "FROM cell_evidence v JOIN episodic_experiences e ON e.experience_id = v.experience_id"
        " LEFT JOIN experiences x ON x.id = e.experience_ref WHERE v.relation = 'supports'"
    )
    query = (
        f"SELECT cell_id FROM cells WHERE state != 'archived' AND cell_id IN (SELECT v.cell_id {supports}"  # noqa: S608 - constants.
        f" AND x.id = ?) AND cell_id NOT IN (SELECT v.cell_id {supports} AND x.archive_reason IS NOT ?) ORDER BY 1"
    )
    for row in writing.connection.execute(query, (key, SUPERSEDED)).fetchall():
        writing.update("cells", int(row[0]), state="archived", salience=0, updated_at=writing.now)


def enforce_cap(writing: Writing, limit: int) -> int:
    """Archive the least used experiences beyond a limit; return how many."""
    live = int(writing.connection.execute("SELECT COUNT(*) FROM experiences WHERE archived_at IS NULL").fetchone()[0])
    if live <= limit:
        return 0
    order = "ORDER BY evidence_count, COALESCE(confidence, 0), access_count, created_at, id LIMIT ?"
    query = f"SELECT id FROM experiences WHERE archived_at IS NULL {order}"  # noqa: S608 - made of constants.
    keys = [int(row[0]) for row in writing.connection.execute(query, (live - limit,))]
    for key in keys:
        archive(writing, key, "over the cap")
    return len(keys)


def row_of(connection: sqlite3.Connection, key: int) -> sqlite3.Row:
    """Return the row of an experience.

    Raises:
        CodePlaneError: EXPERIENCE_NOT_FOUND.
    """
    row: sqlite3.Row | None = connection.execute("SELECT * FROM experiences WHERE id = ?", (key,)).fetchone()
    if row is None:
        raise CodePlaneError("EXPERIENCE_NOT_FOUND", f"There is no experience {key}.")
    return row


def rows_of(connection: sqlite3.Connection, keys: Iterable[int]) -> dict[int, sqlite3.Row]:
    """Return the rows of several experiences by id."""
    wanted = list(keys)
    query = f"SELECT * FROM experiences WHERE id IN ({', '.join('?' * len(wanted))})"  # noqa: S608 - question marks only.
    return {int(row["id"]): row for row in connection.execute(query, wanted)}


def newer_versions(connection: sqlite3.Connection, key: int) -> tuple[int, ...]:
    """Return the rows that revise this one, directly or through others, oldest first."""
    query = (
        "WITH RECURSIVE newer (id) AS (SELECT id FROM experiences WHERE revision_of = ? UNION"
        " SELECT e.id FROM experiences e JOIN newer n ON e.revision_of = n.id) SELECT id FROM newer ORDER BY id"
    )
    return tuple(int(row[0]) for row in connection.execute(query, (key,)))


def experience_of(row: sqlite3.Row) -> Experience:
    """Return the content of a row."""
    texts = {name: str(row[name]) for name in (*TEXT_FIELDS, "type", "domain", "scope", "source")}
    return Experience(
        confidence=row["confidence"],
        tags=tuple(json.loads(row["tags"])),
        paths=tuple(json.loads(row["paths"])),
        symbols=tuple(json.loads(row["symbols"])),
        code_hashes=tuple(sorted(json.loads(row["code_hashes"]).items())),
        **texts,
    )


@dataclass(frozen=True, slots=True)
class _Near:
    id: int
    score: float
    is_same: bool


def _near(connection: sqlite3.Connection, experience: Experience, shape: Shape, bands: Sequence[int]) -> list[_Near]:
    """Return live rows of the same type that say the same or nearly the same, nearest first."""
    exact = connection.execute(
        "SELECT id FROM experiences WHERE content_hash = ? AND archived_at IS NULL ORDER BY id",
        (experience.content_hash,),
    ).fetchone()
    found = [_Near(int(exact[0]), 1.0, is_same=True)] if exact is not None else []
    rows = rows_of(connection, candidates(connection, bands))
    for key, row in sorted(rows.items()):
        if row["archived_at"] is not None or row["type"] != experience.type or (found and key == found[0].id):
            continue
        other = shape_of(experience_of(row).text)
        score = round(similarity(shape, other), 4)
        if score >= SIMILAR_FROM:
            found.append(_Near(key, score, is_duplicate(shape, other)))
    return sorted(found, key=lambda one: (not one.is_same, -one.score, one.id))


def insert(
    writing: Writing,
    experience: Experience,
    *,
    revision_of: int | None = None,
    created_ms: int | None = None,
    bands: Sequence[int] | None = None,
) -> int:
    """Insert a row without looking for others that say the same."""
    origin = writing.origin
    key = writing.insert(
        "experiences",
        **{name: getattr(experience, name) for name in (*TEXT_FIELDS, "type", "domain", "scope", "source")},
        confidence=experience.confidence,
        tags=_listed(experience.tags),
        paths=_listed(experience.paths),
        symbols=_listed(experience.symbols),
        code_hashes=json.dumps(dict(experience.code_hashes), sort_keys=True),
        created_at=created_ms if created_ms is not None else writing.now_ms,
        updated_at=writing.now_ms,
        revision_of=revision_of,
        author=origin.author,
        worktree=origin.worktree,
        branch=origin.branch,
        commit_id=origin.commit_id,
        content_hash=experience.content_hash,
    )
    found = bands if bands is not None else bands_of(shape_of(experience.text))
    rows = [(band, key) for band in dict.fromkeys(found)]
    writing.connection.executemany("INSERT OR IGNORE INTO experience_bands VALUES (?, ?)", rows)
    return key


def _listed(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
