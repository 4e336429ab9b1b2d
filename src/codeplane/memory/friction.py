"""The friction ledger: what was rejected, what resolved it, and when the same mistake becomes a memory.

Lines are appended and never rewritten. `archive` is the number of the volume that a line is in; a full volume is
closed and the next one begins. `friction_counts` counts over all volumes.
"""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from codeplane.memory.friction_codes import TEST_FAILURE, content_for, enforcement_of, note_for
from codeplane.memory.records import NewRecord, add_record, open_record
from codeplane.memory.settings import FrictionSettings
from codeplane.memory.store import Writing

_VOLUME: Final = "friction_volume"
_MAX_PATHS: Final = 20


@dataclass(frozen=True, slots=True)
class Friction:
    """One rejected call or plan.

    `operation` is the operation or verb, `anchors` the deepest anchor that contains all its files and then the parents,
    `fingerprint` tells equal attempts of one session, `before` is the rejected part in short.
    """

    codes: tuple[str, ...]
    operation: str
    session: str
    anchors: tuple[str, ...]
    fingerprint: str = ""
    paths: tuple[str, ...] = ()
    phase: str = "execution"
    work_id: str = ""
    strategy_id: str = ""
    trace_ref: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An operation that was rejected at an anchor and has not succeeded there since."""

    codes: tuple[str, ...]
    n_entries: int


def record_friction(writing: Writing, settings: FrictionSettings, friction: Friction) -> tuple[str, ...]:
    """Append a line, count it once for every code, and return the memories that this made."""
    anchor = friction.anchors[0]
    counts: list[int] = []
    made: list[str] = []
    for code in dict.fromkeys(friction.codes):
        is_counted = not _was_counted(writing.connection, friction, code)
        n_times = count_of(writing.connection, code, anchor) + is_counted
        if n_times >= settings.rejection_threshold and open_record(writing.connection, code, anchor) is None:
            made.append(add_record(writing, _candidate(friction, code, n_times, settings), "friction", code))
            _set_count(writing.connection, code, anchor, 0)
        elif is_counted:
            _set_count(writing.connection, code, anchor, n_times)
        counts.append(n_times)
    _append(writing, settings, "friction", friction, max(counts, default=0), made[0] if made else None)
    return tuple(made)


def record_resolution(writing: Writing, settings: FrictionSettings, success: Friction) -> bool:
    """Append that a later call succeeded where earlier ones of its session were rejected; False when none were."""
    anchor = success.anchors[0]
    found = unresolved(writing.connection, success.session).get((success.operation, anchor))
    if found is None:
        return False
    resolved = Friction(
        found.codes,
        success.operation,
        success.session,
        success.anchors,
        success.fingerprint,
        success.paths,
        work_id=success.work_id,
        strategy_id=success.strategy_id,
    )
    _append(writing, settings, "resolution", resolved, found.n_entries, None)
    for code in found.codes:
        _complete_draft(writing, code, anchor, success.before)
    return True


def unresolved(connection: sqlite3.Connection, session: str) -> dict[tuple[str, str], Unresolved]:
    """Return what was rejected in a session and has not succeeded since, by operation and anchor."""
    found: dict[tuple[str, str], Unresolved] = {}
    query = "SELECT * FROM friction_ledger WHERE session_id = ? ORDER BY id"
    for row in connection.execute(query, (session,)):
        key = (row["trigger"], json.loads(row["domain_anchor_ids"])[0])
        if row["entry"] == "resolution":
            found.pop(key, None)
            continue
        before = found.get(key, Unresolved((), 0))
        codes = dict.fromkeys((*before.codes, *json.loads(row["rejection_codes"])))
        found[key] = Unresolved(tuple(codes), before.n_entries + 1)
    return found


def count_of(connection: sqlite3.Connection, code: str, anchor: str) -> int:
    """Return how often a code was counted at an anchor since it last made a memory."""
    query = "SELECT n FROM friction_counts WHERE rejection_code = ? AND anchor_id = ?"
    row = connection.execute(query, (code, anchor)).fetchone()
    return int(row[0]) if row is not None else 0


def _set_count(connection: sqlite3.Connection, code: str, anchor: str, n_times: int) -> None:
    connection.execute("INSERT OR REPLACE INTO friction_counts VALUES (?, ?, ?)", (code, anchor, n_times))


def _was_counted(connection: sqlite3.Connection, friction: Friction, code: str) -> bool:
    """Tell whether the session has already made this very attempt and got this code."""
    if not friction.fingerprint:
        return False
    query = (
        "SELECT rejection_codes, domain_anchor_ids FROM friction_ledger"
        " WHERE session_id = ? AND fingerprint = ? AND entry = 'friction'"
    )
    rows = connection.execute(query, (friction.session, friction.fingerprint))
    return any(code in json.loads(row[0]) and json.loads(row[1])[0] == friction.anchors[0] for row in rows)


def _candidate(friction: Friction, code: str, n_times: int, settings: FrictionSettings) -> NewRecord:
    anchor = friction.anchors[0]
    note = note_for(code, friction.operation, anchor, n_times)
    kind = enforcement_of(code) or "informational"
    drafts = settings.enable_auto_scaffold_from_rejections and n_times >= settings.auto_scaffold_min_rejections
    content: dict[str, Any] = content_for(code, note, friction.before, anchor)
    if kind == "few_shot" and not drafts:
        content = {}
    return NewRecord(
        kind,
        "friction_signal" if code.startswith(TEST_FAILURE) else "rejection_pattern",
        friction.phase,
        domain_anchor_ids=(anchor,),
        rejection_codes=(code,),
        origin_strategy_id=friction.strategy_id or None,
        note=note,
        trace_ref=friction.trace_ref,
        **content,
    )


def _complete_draft(writing: Writing, code: str, anchor: str, after: str) -> None:
    """Fill the missing half of a drafted few-shot that nobody has looked at."""
    row = open_record(writing.connection, code, anchor)
    shot = json.loads(row["few_shot"] or "{}") if row is not None and row["state"] == "pending" else {}
    if row is not None and after and shot.get("scaffolded") and not shot["after"]:
        text = json.dumps({**shot, "after": after}, ensure_ascii=False, sort_keys=True)
        writing.update("memory_records", row["record_no"], few_shot=text, updated_at=writing.now)


def _append(
    writing: Writing, settings: FrictionSettings, entry: str, friction: Friction, n_times: int, memory_id: str | None
) -> None:
    writing.insert(
        "friction_ledger",
        ts=writing.now,
        entry=entry,
        trigger=friction.operation,
        rejection_codes=json.dumps(sorted(set(friction.codes))),
        domain_anchor_ids=json.dumps(friction.anchors),
        memory_id=memory_id,
        rejection_count=n_times,
        resolved=int(entry == "resolution"),
        strategy_id=friction.strategy_id,
        session_id=friction.session,
        work_id=friction.work_id,
        fingerprint=friction.fingerprint,
        paths=json.dumps(friction.paths[:_MAX_PATHS]),
        archive=_volume(writing.connection, settings),
        worktree=writing.origin.worktree,
        branch=writing.origin.branch,
    )


def _volume(connection: sqlite3.Connection, settings: FrictionSettings) -> int:
    """Return the volume that the next line belongs to."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_VOLUME,)).fetchone()
    number, n_lines = map(int, row[0].split(":")) if row is not None else (0, 0)
    if n_lines >= settings.friction_ledger_max_entries:
        number, n_lines = number + 1, 0
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_VOLUME, f"{number}:{n_lines + 1}"))
    return number
