"""Violations of the cycle: each is an episode; the third of the same rule in a scope becomes a policy cell."""

import json
import sqlite3
from typing import Final

from codeplane.memory.consolidation import VIOLATION_KEY, cell_key
from codeplane.memory.episodes import Episode, normal_keys, record_episode, salience
from codeplane.memory.store import Writing

SUCCESS_KEY: Final = "governance_success"
ESCALATES_AT: Final = 3


def record_violation(writing: Writing, session_id: int, scope: str, rule: str, what: str) -> int | None:
    """Store a violation; return the policy cell that the rule has, once it was broken often enough."""
    keys = (VIOLATION_KEY, rule)
    episode = Episode(
        f"Rule {rule} was broken: {what}"[:1000], keys, "fail", trust=2, scope=scope, session_id=session_id
    )
    record_episode(writing, episode)
    found = _equal(writing.connection, scope, rule)
    if len(found) < ESCALATES_AT:
        return None
    cell = _policy_cell(writing, scope, rule)
    known = {int(row[0]) for row in writing.connection.execute(
        "SELECT experience_id FROM cell_evidence WHERE cell_id = ?", (cell,)
    )}  # fmt: skip
    for episode_id in [one for one in found if one not in known]:
        writing.insert(
            "cell_evidence", cell_id=cell, experience_id=episode_id, relation="supports", created_at=writing.now
        )
    weight = salience("reinforced", len(found), 5, 2, 0)
    writing.update("cells", cell, evidence_count=len(found), salience=weight, updated_at=writing.now)
    return cell


def record_success(writing: Writing, session_id: int, scope: str, what: str) -> int:
    """Store that a cycle passed governance."""
    return record_episode(writing, Episode(what[:1000], (SUCCESS_KEY,), "success", scope=scope, session_id=session_id))


def _equal(connection: sqlite3.Connection, scope: str, rule: str) -> list[int]:
    """Return the violations of a rule in a scope, oldest first."""
    keys = json.dumps(normal_keys((VIOLATION_KEY, rule)), ensure_ascii=False)
    query = (
        "SELECT experience_id FROM episodic_experiences"
        " WHERE scope = ? AND context_keys_json = ? AND outcome = 'fail' ORDER BY experience_id"
    )
    return [int(row[0]) for row in connection.execute(query, (scope, keys))]


def _policy_cell(writing: Writing, scope: str, rule: str) -> int:
    keys = normal_keys((VIOLATION_KEY, rule))
    title = f"Policy: keep the rule {rule}"
    key = cell_key(scope, keys, "policy", title)
    row = writing.connection.execute("SELECT cell_id FROM cells WHERE canonical_key = ?", (key,)).fetchone()
    if row is not None:
        return int(row[0])
    origin = writing.origin
    return writing.insert(
        "cells", scene_id=_scene(writing, scope, keys), scope=scope, cell_type="policy", title=title,
        body=f"The rule {rule} was broken {ESCALATES_AT} times here. Keep it.", trust=2, salience=0,
        state="reinforced", created_at=writing.now, updated_at=writing.now, canonical_key=key,
        worktree=origin.worktree, branch=origin.branch,
    )  # fmt: skip


def _scene(writing: Writing, scope: str, keys: list[str]) -> int:
    listed = json.dumps(keys, ensure_ascii=False)
    query = "SELECT scene_id FROM scenes WHERE scope = ? AND context_keys_json = ? ORDER BY scene_id"
    row = writing.connection.execute(query, (scope, listed)).fetchone()
    if row is not None:
        return int(row[0])
    origin = writing.origin
    return writing.insert(
        "scenes", scope=scope, label=", ".join(keys[:3]), context_keys_json=listed, created_at=writing.now,
        updated_at=writing.now, worktree=origin.worktree, branch=origin.branch,
    )  # fmt: skip
