"""The tables of `memory.db`: both migrations of the specification with the columns that CodePlane adds.

`row_hash` and `seal` are on every protected table. Triggers keep the full-text tables and `experience_places` in step
with their content, whichever process writes.
"""

from dataclasses import dataclass
from typing import Final

from codeplane.store.sqlite import Schema

_CORE_TABLES = """
CREATE TABLE experiences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type TEXT NOT NULL CHECK (type IN ('effective', 'ineffective')),
    domain TEXT NOT NULL,
    situation TEXT NOT NULL,
    approach TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    confidence REAL,
    tags TEXT NOT NULL DEFAULT '[]',
    scope TEXT NOT NULL DEFAULT 'project' CHECK (scope IN ('project', 'global')),
    created_at INTEGER NOT NULL,
    revision_of INTEGER REFERENCES experiences (id),
    original_id INTEGER GENERATED ALWAYS AS (revision_of) VIRTUAL,
    updated_at INTEGER NOT NULL,
    archived_at INTEGER,
    archive_reason TEXT,
    last_accessed_at INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0,
    paths TEXT NOT NULL DEFAULT '[]',
    symbols TEXT NOT NULL DEFAULT '[]',
    code_hashes TEXT NOT NULL DEFAULT '{}',
    evidence_count INTEGER NOT NULL DEFAULT 1,
    source TEXT NOT NULL DEFAULT 'agent',
    author TEXT NOT NULL DEFAULT '',
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    commit_id TEXT NOT NULL DEFAULT '',
    content_hash TEXT NOT NULL,
    row_hash TEXT,
    seal TEXT
);
CREATE INDEX experiences_by_content ON experiences (content_hash);
CREATE INDEX experiences_by_revision ON experiences (revision_of) WHERE revision_of IS NOT NULL;

CREATE VIRTUAL TABLE experiences_fts USING fts5(
    situation, approach, outcome, reasoning, tags,
    content = experiences, content_rowid = id, tokenize = 'porter unicode61'
);
CREATE VIRTUAL TABLE experiences_words USING fts5vocab(experiences_fts, row);
CREATE TRIGGER experiences_fts_insert AFTER INSERT ON experiences BEGIN
    INSERT INTO experiences_fts (rowid, situation, approach, outcome, reasoning, tags)
    VALUES (new.id, new.situation, new.approach, new.outcome, new.reasoning, new.tags);
END;
CREATE TRIGGER experiences_fts_delete AFTER DELETE ON experiences BEGIN
    INSERT INTO experiences_fts (experiences_fts, rowid, situation, approach, outcome, reasoning, tags)
    VALUES ('delete', old.id, old.situation, old.approach, old.outcome, old.reasoning, old.tags);
END;
CREATE TRIGGER experiences_fts_update
AFTER UPDATE OF situation, approach, outcome, reasoning, tags ON experiences BEGIN
    INSERT INTO experiences_fts (experiences_fts, rowid, situation, approach, outcome, reasoning, tags)
    VALUES ('delete', old.id, old.situation, old.approach, old.outcome, old.reasoning, old.tags);
    INSERT INTO experiences_fts (rowid, situation, approach, outcome, reasoning, tags)
    VALUES (new.id, new.situation, new.approach, new.outcome, new.reasoning, new.tags);
END;

CREATE TABLE experience_places (
    place TEXT NOT NULL,
    experience_id INTEGER NOT NULL,
    PRIMARY KEY (place, experience_id)
) WITHOUT ROWID;
CREATE INDEX places_by_experience ON experience_places (experience_id);
CREATE TRIGGER experience_places_insert AFTER INSERT ON experiences BEGIN
    INSERT OR IGNORE INTO experience_places SELECT value, new.id FROM json_each(new.paths);
    INSERT OR IGNORE INTO experience_places SELECT '::' || value, new.id FROM json_each(new.symbols);
END;
CREATE TRIGGER experience_places_update AFTER UPDATE OF paths, symbols ON experiences BEGIN
    DELETE FROM experience_places WHERE experience_id = old.id;
    INSERT OR IGNORE INTO experience_places SELECT value, new.id FROM json_each(new.paths);
    INSERT OR IGNORE INTO experience_places SELECT '::' || value, new.id FROM json_each(new.symbols);
END;
CREATE TRIGGER experience_places_delete AFTER DELETE ON experiences BEGIN
    DELETE FROM experience_places WHERE experience_id = old.id;
    DELETE FROM experience_bands WHERE experience_id = old.id;
END;
CREATE TABLE experience_bands (
    band INTEGER NOT NULL,
    experience_id INTEGER NOT NULL,
    PRIMARY KEY (band, experience_id)
) WITHOUT ROWID;

CREATE TABLE reasoning_sessions (
    session_id TEXT PRIMARY KEY,
    problem TEXT NOT NULL,
    user_intent TEXT NOT NULL DEFAULT '{}',
    phase TEXT NOT NULL CHECK (phase IN ('analyze', 'gather', 'reason', 'finalized')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    finalized_at INTEGER,
    conclusion TEXT,
    experience_id INTEGER REFERENCES experiences (id)
);
CREATE TABLE reasoning_thoughts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES reasoning_sessions (session_id),
    thought_number INTEGER NOT NULL,
    thought TEXT NOT NULL,
    confidence REAL,
    is_revision BOOLEAN NOT NULL DEFAULT 0,
    revises_thought INTEGER,
    created_at INTEGER NOT NULL
);
CREATE TABLE workflow_sessions (
    session_id TEXT PRIMARY KEY,
    preset TEXT,
    gates_passed TEXT NOT NULL DEFAULT '[]',
    steps_completed TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    active BOOLEAN NOT NULL DEFAULT 1
);
CREATE TABLE activity_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    session_id TEXT,
    details TEXT NOT NULL DEFAULT '{}'
);
"""

_MEMORY_TABLES = """
CREATE TABLE memory_sessions (
    session_id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at TEXT NOT NULL,
    scope_mode TEXT NOT NULL DEFAULT 'project' CHECK (scope_mode IN ('project', 'global')),
    flags_json TEXT NOT NULL DEFAULT '{}',
    last_phase TEXT,
    last_context_hash TEXT,
    cycle INTEGER NOT NULL DEFAULT 1,
    door_session TEXT NOT NULL DEFAULT '',
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    closed_at TEXT
);
CREATE INDEX memory_sessions_by_door ON memory_sessions (door_session);
CREATE TABLE cycle_steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES memory_sessions (session_id),
    cycle INTEGER NOT NULL,
    phase TEXT NOT NULL,
    status TEXT NOT NULL,
    in_hash TEXT NOT NULL,
    out_hash TEXT NOT NULL,
    data_json TEXT NOT NULL DEFAULT '{}',
    ts TEXT NOT NULL,
    row_hash TEXT,
    seal TEXT
);
CREATE INDEX cycle_steps_by_session ON cycle_steps (session_id, cycle);
CREATE TABLE memory_tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES memory_sessions (session_id),
    ts TEXT NOT NULL,
    token_type TEXT NOT NULL,
    payload_json TEXT NOT NULL,
    payload_hash TEXT NOT NULL,
    signature TEXT NOT NULL,
    row_hash TEXT,
    seal TEXT
);
CREATE TABLE episodic_experiences (
    experience_id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER REFERENCES memory_sessions (session_id),
    scope TEXT NOT NULL DEFAULT 'project' CHECK (scope IN ('project', 'global')),
    context_keys_json TEXT NOT NULL DEFAULT '[]',
    summary TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT 'unknown' CHECK (outcome IN ('success', 'partial', 'fail', 'unknown')),
    trust INTEGER NOT NULL DEFAULT 1 CHECK (trust BETWEEN 0 AND 3),
    salience INTEGER NOT NULL DEFAULT 0 CHECK (salience BETWEEN 0 AND 1000),
    created_at TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'system' CHECK (source IN ('user', 'system', 'agent', 'derived')),
    experience_ref INTEGER REFERENCES experiences (id),
    author TEXT NOT NULL DEFAULT '',
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    row_hash TEXT,
    seal TEXT
);
CREATE INDEX episodes_by_reference ON episodic_experiences (experience_ref) WHERE experience_ref IS NOT NULL;
CREATE TABLE consolidation_meta (
    scope TEXT PRIMARY KEY CHECK (scope IN ('project', 'global')),
    last_consolidation_ts TEXT,
    last_experience_id INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE scenes (
    scene_id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL DEFAULT 'project' CHECK (scope IN ('project', 'global')),
    label TEXT NOT NULL,
    context_keys_json TEXT NOT NULL DEFAULT '[]',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    row_hash TEXT,
    seal TEXT
);
CREATE TABLE cells (
    cell_id INTEGER PRIMARY KEY AUTOINCREMENT,
    scene_id INTEGER NOT NULL REFERENCES scenes (scene_id),
    scope TEXT NOT NULL DEFAULT 'project' CHECK (scope IN ('project', 'global')),
    cell_type TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    trust INTEGER NOT NULL DEFAULT 1 CHECK (trust BETWEEN 0 AND 3),
    salience INTEGER NOT NULL DEFAULT 0 CHECK (salience BETWEEN 0 AND 1000),
    state TEXT NOT NULL DEFAULT 'unverified',
    evidence_count INTEGER NOT NULL DEFAULT 0,
    contradiction_count INTEGER NOT NULL DEFAULT 0,
    conflict_group TEXT,
    supersedes_cell_id INTEGER REFERENCES cells (cell_id),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    canonical_key TEXT UNIQUE NOT NULL,
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    row_hash TEXT,
    seal TEXT
);
CREATE INDEX cells_by_scene ON cells (scene_id);
CREATE VIRTUAL TABLE cells_fts USING fts5(
    title, body, content = cells, content_rowid = cell_id, tokenize = 'porter unicode61'
);
CREATE TRIGGER cells_fts_insert AFTER INSERT ON cells BEGIN
    INSERT INTO cells_fts (rowid, title, body) VALUES (new.cell_id, new.title, new.body);
END;
CREATE TRIGGER cells_fts_delete AFTER DELETE ON cells BEGIN
    INSERT INTO cells_fts (cells_fts, rowid, title, body) VALUES ('delete', old.cell_id, old.title, old.body);
END;
CREATE TRIGGER cells_fts_update AFTER UPDATE OF title, body ON cells BEGIN
    INSERT INTO cells_fts (cells_fts, rowid, title, body) VALUES ('delete', old.cell_id, old.title, old.body);
    INSERT INTO cells_fts (rowid, title, body) VALUES (new.cell_id, new.title, new.body);
END;
CREATE TABLE cell_evidence (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cell_id INTEGER NOT NULL REFERENCES cells (cell_id),
    experience_id INTEGER NOT NULL REFERENCES episodic_experiences (experience_id),
    relation TEXT NOT NULL CHECK (relation IN ('supports', 'contradicts')),
    created_at TEXT NOT NULL,
    row_hash TEXT,
    seal TEXT,
    UNIQUE (cell_id, experience_id, relation)
);
"""

_FRICTION_TABLES = """
CREATE TABLE memory_records (
    record_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    trigger TEXT NOT NULL CHECK (
        trigger IN ('rejection_pattern', 'human_override', 'retrospective', 'rule_violation', 'friction_signal')
    ),
    phase TEXT NOT NULL CHECK (phase IN ('exploration', 'planning', 'execution', 'retrospective')),
    domain_anchor_ids TEXT NOT NULL DEFAULT '[]',
    graph_node_ids TEXT NOT NULL DEFAULT '[]',
    enforcement_type TEXT NOT NULL CHECK (
        enforcement_type IN ('few_shot', 'plan_rule', 'strategy_signal', 'informational')
    ),
    few_shot TEXT,
    plan_rule TEXT,
    strategy_signal TEXT,
    rejection_codes TEXT NOT NULL DEFAULT '[]',
    origin_strategy_id TEXT,
    note TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'provisional', 'approved', 'rejected', 'expired')),
    provisional_since TEXT,
    contested_by TEXT,
    is_accepted INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    trace_ref TEXT NOT NULL DEFAULT '',
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    row_hash TEXT,
    seal TEXT
);
CREATE TABLE friction_ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ts TEXT NOT NULL,
    entry TEXT NOT NULL DEFAULT 'friction' CHECK (entry IN ('friction', 'resolution')),
    trigger TEXT NOT NULL,
    rejection_codes TEXT NOT NULL,
    domain_anchor_ids TEXT NOT NULL,
    memory_id TEXT,
    rejection_count INTEGER NOT NULL,
    resolved INTEGER NOT NULL DEFAULT 0,
    strategy_id TEXT NOT NULL DEFAULT '',
    session_id TEXT NOT NULL,
    work_id TEXT NOT NULL DEFAULT '',
    fingerprint TEXT NOT NULL DEFAULT '',
    paths TEXT NOT NULL DEFAULT '[]',
    archive INTEGER NOT NULL DEFAULT 0,
    worktree TEXT NOT NULL DEFAULT 'main',
    branch TEXT NOT NULL DEFAULT '',
    row_hash TEXT,
    seal TEXT
);
CREATE INDEX friction_by_session ON friction_ledger (session_id);
CREATE TABLE friction_counts (
    rejection_code TEXT NOT NULL,
    anchor_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (rejection_code, anchor_id)
);
CREATE TABLE memory_changelog (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ts TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    row_hash TEXT,
    seal TEXT
);
CREATE TABLE domain_anchors (
    anchor_id TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    parent_id TEXT
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta VALUES ('generation', '0');
"""

_LESSON_TABLES = """
CREATE TABLE lessons (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('failure', 'decision')),
    fingerprint TEXT NOT NULL UNIQUE,
    command_class TEXT NOT NULL DEFAULT '',
    test_id TEXT NOT NULL DEFAULT '',
    path TEXT NOT NULL DEFAULT '',
    error_class TEXT NOT NULL DEFAULT '',
    n INTEGER NOT NULL DEFAULT 1,
    fixed_in TEXT NOT NULL DEFAULT '[]',
    text TEXT NOT NULL DEFAULT '',
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    row_hash TEXT,
    seal TEXT
);
"""

MEMORY_SCHEMA: Final = Schema("memory", (_CORE_TABLES, _MEMORY_TABLES, _FRICTION_TABLES, _LESSON_TABLES), backs_up=True)


@dataclass(frozen=True, slots=True)
class Protected:
    """A table whose rows are hashed and sealed: its key and the columns that may change without a new seal."""

    key: str
    derived: frozenset[str] = frozenset()


PROTECTED: Final = {
    "experiences": Protected("id", frozenset({"original_id", "last_accessed_at", "access_count"})),
    "episodic_experiences": Protected("experience_id"),
    "scenes": Protected("scene_id"),
    "cells": Protected("cell_id"),
    "cell_evidence": Protected("id"),
    "cycle_steps": Protected("id"),
    "memory_tokens": Protected("id"),
    "memory_records": Protected("record_no"),
    "friction_ledger": Protected("id"),
    "memory_changelog": Protected("id"),
    "lessons": Protected("id"),
}
