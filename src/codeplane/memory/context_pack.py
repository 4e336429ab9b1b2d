"""The context pack: what memory has to say about the work at hand, within a byte budget.

A pack is a pure function of the store, the request and the day. Every item says where it comes from and why it is
there; what did not fit, or does not count any more, is listed with the reason.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from codeplane.core.canonical_json import canonical_bytes, digest
from codeplane.core.clock import iso_from_ms, ms_from_iso
from codeplane.memory.episodes import normal_keys, recency_bucket, salience, trust_of
from codeplane.memory.experiences import rows_of
from codeplane.memory.retrieval import Question, find, rarity, words_of

DAY_MS: Final = 24 * 3600 * 1000
_MAX_BODY: Final = 400
_MAX_DROPPED: Final = 20
# Sections in their order: what must be obeyed, what is disputed, what was learned, what is known, what happened.
_SECTIONS: Final = {"policy": 0, "rule": 2, "lesson": 2, "pitfall": 2, "preference": 2, "fact": 3}
_CONFLICT_SECTION: Final = 1


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What the pack is for, and how much it may hold."""

    query: str = ""
    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    scope: str = "project"
    min_trust: int = 0
    byte_budget: int = 2000
    max_cells: int = 20
    max_experiences: int = 10
    now_ms: int = 0

    @property
    def is_open(self) -> bool:
        """Tell whether nothing is asked for in particular: then the most salient rows are packed."""
        return not (self.query.strip() or self.paths or self.symbols or self.keys)


@dataclass(frozen=True, slots=True)
class Pack:
    """Cells, experiences and memories of friction that were packed, and what was dropped and why."""

    cells: tuple[dict[str, Any], ...]
    experiences: tuple[dict[str, Any], ...]
    memories: tuple[dict[str, Any], ...]
    dropped: tuple[dict[str, Any], ...]
    context_hash: str
    byte_count: int
    is_sure: bool

    def context(self) -> dict[str, Any]:
        """Return what the hash covers."""
        return {"cells": list(self.cells), "experiences": list(self.experiences), "memories": list(self.memories)}


@dataclass(slots=True)
class _Budget:
    """Takes items as long as they fit; one that does not fit is noted, and the next is tried."""

    left: int
    dropped: list[dict[str, Any]] = field(default_factory=list)

    def takes(self, name: str, item: Mapping[str, Any]) -> bool:
        size = len(canonical_bytes(item)) + 1
        if size > self.left:
            self.drop(name, item["id"], "budget")
            return False
        self.left -= size
        return True

    def drop(self, name: str, key: object, reason: str) -> None:
        self.dropped.append({"kind": name, "id": key, "reason": reason})


def build_pack(
    connection: sqlite3.Connection,
    request: PackRequest,
    memories: Iterable[dict[str, Any]] = (),
    stale: Callable[[tuple[tuple[str, str], ...]], list[str]] = lambda _recorded: [],
) -> Pack:
    """Return the pack for a request; `stale` tells which of the code that a lesson is about has changed."""
    budget = _Budget(request.byte_budget - len(canonical_bytes({"cells": [], "experiences": [], "memories": []})))
    kept_memories = tuple(one for one in memories if budget.takes("memory", one))
    cells, evidence = _pack_cells(connection, request, budget)
    experiences, is_sure = _pack_experiences(connection, request, budget, evidence, stale)
    context = {"cells": cells, "experiences": experiences, "memories": list(kept_memories)}
    return Pack(
        tuple(cells),
        tuple(experiences),
        kept_memories,
        tuple(budget.dropped[:_MAX_DROPPED]),
        digest(context),
        len(canonical_bytes(context)),
        is_sure or bool(cells or kept_memories),
    )


def joined(pack: Pack, shared: Pack) -> Pack:
    """Return a pack with the experiences of another store, whose ids are shown negative."""
    more = tuple({**one, "id": -int(one["id"]), "scope": "global"} for one in shared.experiences)
    if not more:
        return pack
    context = {**pack.context(), "experiences": [*pack.experiences, *more]}
    return replace(
        pack,
        experiences=(*pack.experiences, *more),
        context_hash=digest(context),
        byte_count=len(canonical_bytes(context)),
        is_sure=pack.is_sure or shared.is_sure,
    )


def _pack_cells(
    connection: sqlite3.Connection, request: PackRequest, budget: _Budget
) -> tuple[list[dict[str, Any]], set[int]]:
    """Return the cells that were packed and the experiences they rest on."""
    related = _related_cells(connection, request)
    superseded = {
        int(row[0])
        for row in connection.execute("SELECT supersedes_cell_id FROM cells WHERE supersedes_cell_id IS NOT NULL")
    }
    ranked: list[tuple[tuple[int, ...], sqlite3.Row, int]] = []
    for row in connection.execute("SELECT * FROM cells WHERE state != 'archived' ORDER BY cell_id"):
        key = int(row["cell_id"])
        if row["scope"] != request.scope and row["scope"] != "global":
            continue
        is_policy = row["cell_type"] == "policy"
        if key not in related and not (request.is_open or is_policy):
            continue
        if key in superseded or int(row["trust"]) < request.min_trust:
            budget.drop("cell", key, "superseded" if key in superseded else "trust")
            continue
        current = _salience_now(row, request.now_ms)
        section = _CONFLICT_SECTION if row["contradiction_count"] else _SECTIONS.get(row["cell_type"], 3)
        section = 0 if is_policy else section
        order = (section, -related.get(key, 0), -int(row["trust"]), -current, key)
        ranked.append((order, row, current))
    packed: list[dict[str, Any]] = []
    covered: set[int] = set()
    for _order, row, current in sorted(ranked, key=lambda one: one[0]):
        if len(packed) == request.max_cells:
            budget.drop("cell", int(row["cell_id"]), "max_cells")
            continue
        references = _references(connection, int(row["cell_id"]))
        item = _cell_item(row, current, references, request, related)
        if budget.takes("cell", item):
            packed.append(item)
            covered.update(references)
    return packed, covered


def _related_cells(connection: sqlite3.Connection, request: PackRequest) -> dict[int, int]:
    """Return the cells that share words, keys or places with the request, with a fixed-point score."""
    scores: dict[int, float] = {}
    n_cells = int(connection.execute("SELECT COUNT(*) FROM cells").fetchone()[0])
    for word in words_of(request.query)[:32]:
        ids = [int(row[0]) for row in connection.execute(_CELLS_WITH, (f'"{word}"',))]
        for one in ids:
            scores[one] = scores.get(one, 0.0) + rarity(len(ids), n_cells)
    for key in normal_keys(request.keys):
        for row in connection.execute(_CELLS_OF_KEY, (key,)):
            scores[int(row[0])] = scores.get(int(row[0]), 0.0) + 2.0
    for place in (*request.paths, *(f"::{symbol}" for symbol in request.symbols)):
        for row in connection.execute(_CELLS_AT, (place,)):
            scores[int(row[0])] = scores.get(int(row[0]), 0.0) + 4.0
    # A single common word in common is not a relation.
    return {one: round(score * 1000) for one, score in scores.items() if score >= 2.0}


_CELLS_WITH = "SELECT rowid FROM cells_fts WHERE cells_fts MATCH ? LIMIT 2000"
_CELLS_OF_KEY = (
    "SELECT c.cell_id FROM cells c JOIN scenes s ON s.scene_id = c.scene_id, json_each(s.context_keys_json) k"
    " WHERE k.value = ? LIMIT 2000"
)
_CELLS_AT = (
    "SELECT DISTINCT v.cell_id FROM experience_places p"
    " JOIN episodic_experiences e ON e.experience_ref = p.experience_id"
    " JOIN cell_evidence v ON v.experience_id = e.experience_id WHERE p.place = ? LIMIT 2000"
)


def _references(connection: sqlite3.Connection, cell_id: int) -> list[int]:
    query = (
        "SELECT DISTINCT e.experience_ref FROM cell_evidence v JOIN episodic_experiences e"
        " ON e.experience_id = v.experience_id WHERE v.cell_id = ? AND e.experience_ref IS NOT NULL ORDER BY 1"
    )
    return [int(row[0]) for row in connection.execute(query, (cell_id,))]


def _salience_now(row: sqlite3.Row, now_ms: int) -> int:
    """Return the salience at read time: rows fade with age although nothing writes them."""
    bucket = recency_bucket(row["updated_at"], now_ms - now_ms % DAY_MS)
    return salience(
        row["state"], int(row["evidence_count"]), bucket, int(row["trust"]), int(row["contradiction_count"])
    )


def _cell_item(
    row: sqlite3.Row, current: int, references: list[int], request: PackRequest, related: Mapping[int, int]
) -> dict[str, Any]:
    key = int(row["cell_id"])
    why = "related" if key in related else "policy" if row["cell_type"] == "policy" else "salient"
    item: dict[str, Any] = {
        "id": key,
        "type": row["cell_type"],
        "title": row["title"],
        "body": _cut(row["body"]),
        "trust": int(row["trust"]),
        "salience": current,
        "state": row["state"],
        "updated_at": row["updated_at"],
        "why_included": why,
        "evidence": int(row["evidence_count"]),
        "experiences": references[:5],
        "age_days": _age_days(ms_from_iso(row["updated_at"]), request.now_ms),
    }
    if row["contradiction_count"]:
        item |= {"contradiction_count": int(row["contradiction_count"]), "conflict_group": row["conflict_group"]}
    if item["body"] == item["title"]:
        del item["title"]
    return item


def _pack_experiences(
    connection: sqlite3.Connection,
    request: PackRequest,
    budget: _Budget,
    covered: set[int],
    stale: Callable[[tuple[tuple[str, str], ...]], list[str]],
) -> tuple[list[dict[str, Any]], bool]:
    packed: list[dict[str, Any]] = []
    candidates, is_sure = _candidates(connection, request)
    for row, why in candidates:
        key = int(row["id"])
        if len(packed) == request.max_experiences:
            break
        if key in covered:
            budget.drop("experience", key, "in a cell")
            continue
        trust = trust_of(row["confidence"])
        if trust < request.min_trust:
            budget.drop("experience", key, "trust")
            continue
        item = _experience_item(row, trust, why, request, stale)
        if budget.takes("experience", item):
            packed.append(item)
    return packed, is_sure


def _candidates(connection: sqlite3.Connection, request: PackRequest) -> tuple[Iterator[tuple[sqlite3.Row, str]], bool]:
    """Return the experiences that fit, best first; without a question the newest."""
    n_wanted = 3 * request.max_experiences
    if request.is_open:
        query = "SELECT * FROM experiences WHERE archived_at IS NULL ORDER BY evidence_count DESC, id DESC LIMIT ?"
        return ((row, "recent") for row in connection.execute(query, (n_wanted,)).fetchall()), True
    text = " ".join((request.query, *request.keys))
    found = find(connection, Question(text, request.paths, request.symbols, request.now_ms), n_wanted)
    if not found.is_sure:
        # Nothing answers the question; guesses would only cost the reader.
        return iter(()), False
    rows = rows_of(connection, [hit.id for hit in found.hits])
    return ((rows[hit.id], "same place" if hit.reasons else "same words") for hit in found.hits), True


def _experience_item(
    row: sqlite3.Row,
    trust: int,
    why: str,
    request: PackRequest,
    stale: Callable[[tuple[tuple[str, str], ...]], list[str]],
) -> dict[str, Any]:
    paths = json.loads(row["paths"])
    item: dict[str, Any] = {
        "id": int(row["id"]),
        "created_at": iso_from_ms(row["created_at"]),
        "type": row["type"],
        "trust": trust,
        "summary": _cut(f"{row['situation']} → {row['approach']} → {row['outcome']}"),
        "why_included": why,
        "evidence": int(row["evidence_count"]),
        "age_days": _age_days(row["created_at"], request.now_ms),
    }
    found = {"context_keys": json.loads(row["tags"]), "paths": paths[:5], "commit": str(row["commit_id"])[:12]}
    item |= {name: value for name, value in found.items() if value}
    gone = stale(tuple(sorted(json.loads(row["code_hashes"]).items())))
    if gone:
        item["stale"] = gone[:3]
    return item


def _age_days(then_ms: int, now_ms: int) -> int:
    return max(0, (now_ms - then_ms) // DAY_MS)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_BODY else f"{line[: _MAX_BODY - 1]}…"
