"""Consolidation: episodes become cells, one transaction per run; the same episodes give the same cells in any process.

The watermark is the last episode that was read, so a clock that goes back loses nothing. Nothing is deleted: beyond the
caps the least salient cells are archived, and new evidence brings an archived cell back.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from codeplane.core.canonical_json import digest
from codeplane.memory.contradictions import Statement, contradicts
from codeplane.memory.episodes import normal_keys, recency_bucket, salience
from codeplane.memory.experiences import SUPERSEDED, experience_of
from codeplane.memory.retrieval import words_of
from codeplane.memory.settings import MemorySettings
from codeplane.memory.store import Writing

MIN_OVERLAP: Final = 0.5
MAX_TITLE: Final = 80
_MAX_RIVALS: Final = 50
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_RULE = re.compile(r"\b(?:always|never|must|should)\b", re.IGNORECASE)
_PREFERENCE = re.compile(r"\b(?:prefer|i want|i need|i like)\b", re.IGNORECASE)
_FACT = re.compile(r"\w+ is \w+", re.IGNORECASE)
VIOLATION_KEY: Final = "behavioral_violation"
_POLICY_KEYS = ("governance", "policy")


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What one run did; `waiting` are new episodes that were not read because there are too few."""

    processed: int = 0
    cells_created: int = 0
    cells_updated: int = 0
    scenes_created: int = 0
    contradictions: int = 0
    archived: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A cell that an episode speaks for."""

    cell_type: str
    title: str
    body: str
    trust: int


@dataclass(slots=True)
class _Run:
    writing: Writing
    scope: str
    created: int = 0
    scenes: int = 0
    contradictions: int = 0
    archived: int = 0
    updated: set[int] = field(default_factory=set)


def consolidate(writing: Writing, scope: str, threshold: int, settings: MemorySettings) -> Consolidated:
    """Turn the episodes since the last run into cells, when there are at least `threshold` of them."""
    episodes = _new_episodes(writing.connection, scope)
    if len(episodes) < max(1, threshold):
        return Consolidated(waiting=len(episodes))
    run = _Run(writing, scope)
    for keys, members in _groups(episodes):
        scene = _scene_for(run, keys)
        for episode in members:
            for candidate in _candidates(writing.connection, episode):
                _support(run, scene, episode, candidate)
    _move_states(run)
    _enforce_caps(run, settings)
    writing.connection.execute(
        "INSERT INTO consolidation_meta VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE SET"
        " last_consolidation_ts = excluded.last_consolidation_ts, last_experience_id = excluded.last_experience_id",
        (scope, writing.now, int(episodes[-1]["experience_id"])),
    )
    n_updated = len(run.updated)
    return Consolidated(len(episodes), run.created, n_updated, run.scenes, run.contradictions, run.archived)


def n_waiting(connection: sqlite3.Connection, scope: str) -> int:
    """Return how many episodes the next run would read."""
    return len(_new_episodes(connection, scope))


def _new_episodes(connection: sqlite3.Connection, scope: str) -> list[sqlite3.Row]:
    query = (
        "SELECT * FROM episodic_experiences WHERE scope = ? AND experience_id >"
        " COALESCE((SELECT last_experience_id FROM consolidation_meta WHERE scope = ?), 0) ORDER BY experience_id"
    )
    return connection.execute(query, (scope, scope)).fetchall()


def _groups(episodes: Iterable[sqlite3.Row]) -> list[tuple[frozenset[str], list[sqlite3.Row]]]:
    """Return episodes grouped by their keys: each joins the first group with half of its keys in common."""
    groups: list[tuple[frozenset[str], list[sqlite3.Row]]] = []
    for episode in episodes:
        keys = frozenset(json.loads(episode["context_keys_json"]))
        for number, (group_keys, members) in enumerate(groups):
            if _overlap(keys, group_keys) >= MIN_OVERLAP:
                members.append(episode)
                groups[number] = (group_keys | keys, members)
                break
        else:
            groups.append((keys, [episode]))
    return groups


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    if not first and not second:
        return 1.0
    return len(first & second) / max(len(first), len(second))


def _scene_for(run: _Run, keys: frozenset[str]) -> sqlite3.Row:
    """Return the first scene with half of the keys in common, or a new one."""
    connection = run.writing.connection
    query = "SELECT * FROM scenes WHERE scope = ? ORDER BY scene_id"
    for row in connection.execute(query, (run.scope,)).fetchall():
        if _overlap(keys, frozenset(json.loads(row["context_keys_json"]))) >= MIN_OVERLAP:
            return _row(connection, "scenes", "scene_id", int(row["scene_id"]))
    ordered = normal_keys(keys)
    key = run.writing.insert(
        "scenes",
        scope=run.scope,
        label=", ".join(ordered[:3]) or "general",
        context_keys_json=json.dumps(ordered, ensure_ascii=False),
        created_at=run.writing.now,
        updated_at=run.writing.now,
        worktree=run.writing.origin.worktree,
        branch=run.writing.origin.branch,
    )
    run.scenes += 1
    return _row(connection, "scenes", "scene_id", key)


def _candidates(connection: sqlite3.Connection, episode: sqlite3.Row) -> Iterator[_Candidate]:
    """Yield the cells that an episode speaks for: a lesson or pitfall for an experience, else sentence by sentence."""
    if episode["experience_ref"] is not None:
        row = connection.execute("SELECT * FROM experiences WHERE id = ?", (episode["experience_ref"],)).fetchone()
        if row is not None:
            if row["archive_reason"] == SUPERSEDED:
                return
            one = experience_of(row)
            kind = "lesson" if one.type == "effective" else "pitfall"
            body = f"{one.situation} → {one.approach} → {one.outcome}"
            yield _Candidate(kind, _title(f"{one.approach} ({one.situation})"), body, 1)
            return
    keys = json.loads(episode["context_keys_json"])
    if VIOLATION_KEY in keys:
        # Violations become a policy by their number, not one by one.
        return
    for sentence in _SENTENCE.split(episode["summary"]):
        found = _kind_of(sentence.strip(), str(episode["source"]), keys)
        if found is not None:
            trust = 2 if found == "preference" else 1
            yield _Candidate(found, _title(sentence), sentence.strip(), trust)


def _kind_of(sentence: str, source: str, keys: Iterable[str]) -> str | None:
    if len(sentence) < 5:
        return None
    if _RULE.search(sentence):
        return "rule"
    if source == "user" and _PREFERENCE.search(sentence):
        return "preference"
    if any(part in key for key in keys for part in _POLICY_KEYS):
        return "policy"
    return "fact" if len(sentence) < 200 and _FACT.search(sentence) else None


def _title(text: str) -> str:
    return " ".join(text.split())[:MAX_TITLE]


def cell_key(scope: str, scene_keys: Iterable[str], cell_type: str, title: str) -> str:
    """Return the key of a cell; it depends on no row id, so equal knowledge has equal keys in every store."""
    return digest([scope, normal_keys(scene_keys), cell_type, " ".join(title.lower().split())])


def _support(run: _Run, scene: sqlite3.Row, episode: sqlite3.Row, candidate: _Candidate) -> None:
    """Link an episode to its cell, which is made when it is new; then look for cells that say the opposite."""
    writing = run.writing
    key = cell_key(run.scope, json.loads(scene["context_keys_json"]), candidate.cell_type, candidate.title)
    known = writing.connection.execute("SELECT * FROM cells WHERE canonical_key = ?", (key,)).fetchone()
    if known is None:
        cell_id = writing.insert(
            "cells",
            scene_id=int(scene["scene_id"]),
            scope=run.scope,
            cell_type=candidate.cell_type,
            title=candidate.title,
            body=candidate.body,
            trust=candidate.trust,
            state="observed",
            created_at=writing.now,
            updated_at=writing.now,
            canonical_key=key,
            worktree=writing.origin.worktree,
            branch=writing.origin.branch,
        )
        run.created += 1
    else:
        cell_id = int(known["cell_id"])
        run.updated.add(cell_id)
        if known["state"] == "archived":
            writing.update("cells", cell_id, state="observed", body=candidate.body, updated_at=writing.now)
    _link(writing, cell_id, int(episode["experience_id"]), "supports")
    _count_evidence(writing, cell_id)
    if known is None:
        _mark_contradictions(run, cell_id, int(episode["experience_id"]))


def _link(writing: Writing, cell_id: int, episode_id: int, relation: str) -> None:
    query = "SELECT 1 FROM cell_evidence WHERE cell_id = ? AND experience_id = ? AND relation = ?"
    if writing.connection.execute(query, (cell_id, episode_id, relation)).fetchone() is None:
        writing.insert(
            "cell_evidence", cell_id=cell_id, experience_id=episode_id, relation=relation, created_at=writing.now
        )


def _count_evidence(writing: Writing, cell_id: int) -> None:
    """Count evidence once per author: the same session saying it three times does not make it stable."""
    query = (
        "SELECT COUNT(DISTINCT COALESCE(NULLIF(e.author, ''), 'episode ' || e.experience_id)) FROM cell_evidence v"
        " JOIN episodic_experiences e ON e.experience_id = v.experience_id"
        " WHERE v.cell_id = ? AND v.relation = 'supports'"
    )
    n_authors = int(writing.connection.execute(query, (cell_id,)).fetchone()[0])
    writing.update("cells", cell_id, evidence_count=n_authors, updated_at=writing.now)


def _mark_contradictions(run: _Run, cell_id: int, episode_id: int) -> None:
    """Mark a new cell and every older one that says the opposite; they share a conflict group."""
    writing = run.writing
    new = _cell(writing.connection, cell_id)
    for rival in _rivals(writing.connection, new):
        if not contradicts(_statement(writing.connection, new), _statement(writing.connection, rival)):
            continue
        group = rival["conflict_group"] or new["conflict_group"]
        group = group or digest(sorted((new["canonical_key"], rival["canonical_key"])))[:16]
        for one in (new, rival):
            key = int(one["cell_id"])
            _link(writing, key, episode_id, "contradicts")
            count = int(_cell(writing.connection, key)["contradiction_count"]) + 1
            writing.update("cells", key, contradiction_count=count, conflict_group=group, updated_at=writing.now)
        run.contradictions += 1
        run.updated.add(int(rival["cell_id"]))
        new = _cell(writing.connection, cell_id)


def _rivals(connection: sqlite3.Connection, new: sqlite3.Row) -> list[sqlite3.Row]:
    """Return older live cells of the scope that share words with a new one."""
    words = words_of(f"{new['title']} {new['body']}")[:24]
    if not words:
        return []
    query = (
        "SELECT c.* FROM cells_fts f JOIN cells c ON c.cell_id = f.rowid WHERE cells_fts MATCH ? AND c.cell_id != ?"
        " AND c.scope = ? AND c.state != 'archived' ORDER BY bm25(cells_fts), c.cell_id LIMIT ?"
    )
    match = " OR ".join(f'"{word}"' for word in words)
    return connection.execute(query, (match, new["cell_id"], new["scope"], _MAX_RIVALS)).fetchall()


def _cell(connection: sqlite3.Connection, cell_id: int) -> sqlite3.Row:
    return _row(connection, "cells", "cell_id", cell_id)


def _row(connection: sqlite3.Connection, table: str, key: str, value: int) -> sqlite3.Row:
    query = f"SELECT * FROM {table} WHERE {key} = ?"  # noqa: S608 - names come from the code.
    row: sqlite3.Row = connection.execute(query, (value,)).fetchone()
    return row


def _statement(connection: sqlite3.Connection, cell: sqlite3.Row) -> Statement:
    """Return what a cell says: the experience it was made from, or its sentence."""
    query = (
        "SELECT x.* FROM cell_evidence v JOIN episodic_experiences e ON e.experience_id = v.experience_id"
        " JOIN experiences x ON x.id = e.experience_ref WHERE v.cell_id = ? AND v.relation = 'supports' ORDER BY v.id"
    )
    row = connection.execute(query, (cell["cell_id"],)).fetchone()
    if row is None:
        return Statement("", str(cell["body"]))
    return Statement(row["situation"], row["approach"], row["outcome"], row["type"] == "effective")


def _move_states(run: _Run) -> None:
    """Take every live cell one step on its way and score it again; a better supported newer cell wins a conflict."""
    writing = run.writing
    query = "SELECT * FROM cells WHERE scope = ? AND state != 'archived' ORDER BY cell_id"
    for row in writing.connection.execute(query, (run.scope,)).fetchall():
        state = _next_state(row)
        updated_at = writing.now if state != row["state"] else str(row["updated_at"])
        evidence, disputes, trust = int(row["evidence_count"]), int(row["contradiction_count"]), int(row["trust"])
        score = salience(state, evidence, recency_bucket(updated_at, writing.now_ms), trust, disputes)
        loser = _loser(writing.connection, row)
        changes = {"state": state, "salience": score, "updated_at": updated_at, "supersedes_cell_id": loser}
        if any(row[name] != value for name, value in changes.items()):
            writing.update("cells", int(row["cell_id"]), **changes)


def _next_state(row: sqlite3.Row) -> str:
    evidence, disputes, state = int(row["evidence_count"]), int(row["contradiction_count"]), str(row["state"])
    if disputes >= 2:
        return "decaying"
    if state == "unverified" and evidence >= 1:
        return "observed"
    if state == "observed" and evidence >= 2 and not disputes:
        return "reinforced"
    if state == "reinforced" and evidence >= 3:
        return "stable"
    return state


def _loser(connection: sqlite3.Connection, row: sqlite3.Row) -> int | None:
    """Return the older cell of the conflict that this one replaces, if it is trusted as much and better supported."""
    if row["conflict_group"] is None:
        return row["supersedes_cell_id"]  # type: ignore[no-any-return]  # The column holds whole numbers.
    query = (
        "SELECT cell_id FROM cells WHERE conflict_group = ? AND cell_id < ? AND state != 'archived' AND trust <= ?"
        " AND evidence_count < ? ORDER BY cell_id LIMIT 1"
    )
    values = (row["conflict_group"], row["cell_id"], row["trust"], row["evidence_count"])
    found = connection.execute(query, values).fetchone()
    return int(found[0]) if found is not None else row["supersedes_cell_id"]


def _enforce_caps(run: _Run, settings: MemorySettings) -> None:
    """Archive the least salient cells beyond the caps, and those that were disputed until nothing is left of them."""
    order = "ORDER BY salience, cell_id LIMIT ?"
    live = "FROM cells WHERE state != 'archived' AND cell_type != 'policy' AND scope = ?"
    connection = run.writing.connection
    scenes = connection.execute(
        f"SELECT scene_id, COUNT(*) {live} GROUP BY scene_id HAVING COUNT(*) > ? ORDER BY scene_id",
        (run.scope, settings.max_cells_per_scene),
    ).fetchall()
    for scene_id, count in scenes:
        query = f"SELECT cell_id {live} AND scene_id = ? {order}"
        _archive(run, connection.execute(query, (run.scope, scene_id, count - settings.max_cells_per_scene)).fetchall())
    total = int(connection.execute(f"SELECT COUNT(*) {live}", (run.scope,)).fetchone()[0])
    if total > settings.max_cells_total:
        query = f"SELECT cell_id {live} {order}"
        _archive(run, connection.execute(query, (run.scope, total - settings.max_cells_total)).fetchall())
    faded = f"SELECT cell_id {live} AND state = 'decaying' AND salience <= 20 ORDER BY cell_id"
    _archive(run, connection.execute(faded, (run.scope,)).fetchall())


def _archive(run: _Run, rows: Iterable[sqlite3.Row]) -> None:
    for row in rows:
        run.writing.update("cells", int(row[0]), state="archived", salience=0, updated_at=run.writing.now)
        run.archived += 1
