"""Memories that friction or a person made: how they live, and which of them agents are told.

A memory is pending until its contest window has passed, then provisional, then approved or expired, by its type.
Time alone changes nothing: `promote` takes every step that is due, with the time at which it became due.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from codeplane.core.clock import iso_from_ms, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.memory.anchors import ROOT_ANCHOR, contains, depth_of
from codeplane.memory.settings import FrictionSettings
from codeplane.memory.store import Writing

HOUR_MS: Final = 3_600_000
ENFORCED: Final = ("provisional", "approved")
OPEN_STATES: Final = ("pending", *ENFORCED)
MAX_FEW_SHOTS: Final = 3
MAX_NOTES: Final = 10
BY_TIME: Final = "time"
# What a person can do: the states it applies to, and the state it leads to.
COMMANDS: Final[dict[str, tuple[frozenset[str], str]]] = {
    "approve": (frozenset({"pending", "provisional", "rejected", "expired"}), "approved"),
    "reject": (frozenset({"pending", "provisional"}), "rejected"),
    "contest": (frozenset({"pending", "provisional"}), "pending"),
    "retire": (frozenset(ENFORCED), "expired"),
    "provisional": (frozenset({"pending", "rejected", "expired"}), "provisional"),
}


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A memory to be stored; without an id it gets the next free one."""

    enforcement_type: str
    trigger: str = "rejection_pattern"
    phase: str = "execution"
    domain_anchor_ids: tuple[str, ...] = (ROOT_ANCHOR,)
    rejection_codes: tuple[str, ...] = ()
    graph_node_ids: tuple[str, ...] = ()
    few_shot: dict[str, Any] | None = None
    plan_rule: dict[str, Any] | None = None
    strategy_signal: dict[str, Any] | None = None
    origin_strategy_id: str | None = None
    note: str | None = None
    state: str = "pending"
    trace_ref: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Life:
    """What decides about the next step of a memory; `since_ms` is when it came into its state."""

    enforcement_type: str
    state: str
    since_ms: int
    is_contested: bool = False
    is_accepted: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """A step that is due, and when it became due."""

    state: str
    at_ms: int
    reason: str


@dataclass(slots=True)
class Promoted:
    """What a run of `promote` did: the memories by their new state."""

    changed: dict[str, list[str]] = field(default_factory=dict)

    @property
    def n_changed(self) -> int:
        """Return how many steps were taken."""
        return sum(map(len, self.changed.values()))


def due_steps(life: Life, settings: FrictionSettings, now_ms: int) -> Iterator[Step]:
    """Yield the steps of a memory that are due, one after another; a limit that is reached exactly counts."""
    while (step := _next_step(life, settings)) is not None and now_ms >= step.at_ms:
        yield step
        life = replace(life, state=step.state, since_ms=step.at_ms)


def _next_step(life: Life, settings: FrictionSettings) -> Step | None:
    kind = life.enforcement_type
    needs_person = kind in settings.human_approval_required
    if not life.is_accepted:
        return None
    if life.state == "pending" and not (life.is_contested or needs_person):
        at_ms = life.since_ms + round(settings.contest_window_hours * HOUR_MS)
        return Step("provisional", at_ms, "nobody contested it")
    if life.state == "provisional":
        at_ms = life.since_ms + round(settings.provisional_expiry_hours * HOUR_MS)
        if kind in settings.auto_promotable_enforcement_types and not needs_person:
            return Step("approved", at_ms, "nobody rejected it")
        return Step("expired", at_ms, "nobody approved it")
    return None


def is_anything_due(connection: sqlite3.Connection, settings: FrictionSettings, now_ms: int) -> bool:
    """Tell whether `promote` would change anything."""
    return any(next(due_steps(_life_of(row), settings, now_ms), None) is not None for row in _waiting(connection))


def promote(writing: Writing, settings: FrictionSettings, now_ms: int) -> Promoted:
    """Take every step that is due: what expires first, then what is promoted."""
    done = Promoted()
    rows = _waiting(writing.connection)
    for state in ("provisional", "pending"):
        for row in rows:
            if row["state"] == state:
                _take(writing, row, due_steps(_life_of(row), settings, now_ms), done)
    return done


def _take(writing: Writing, row: sqlite3.Row, steps: Iterable[Step], done: Promoted) -> None:
    state = row["state"]
    for step in steps:
        since = iso_from_ms(step.at_ms) if step.state == "provisional" else row["provisional_since"]
        _move(writing, row, step.state, provisional_since=since)
        _log_change(writing, row["id"], (state, step.state), BY_TIME, step.reason, iso_from_ms(step.at_ms))
        done.changed.setdefault(step.state, []).append(row["id"])
        state = step.state


def _waiting(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    query = "SELECT * FROM memory_records WHERE state IN ('pending', 'provisional') ORDER BY record_no"
    return connection.execute(query).fetchall()


def _life_of(row: sqlite3.Row) -> Life:
    is_pending = row["state"] == "pending"
    since = row["created_at"] if is_pending else row["provisional_since"] or row["updated_at"]
    return Life(
        row["enforcement_type"],
        row["state"],
        ms_from_iso(since),
        row["contested_by"] is not None,
        bool(row["is_accepted"]),
    )


def add_record(writing: Writing, record: NewRecord, by: str, reason: str) -> str:
    """Store a memory and return its id."""
    memory_id = record.id or _free_id(writing.connection)
    writing.insert(
        "memory_records",
        id=memory_id,
        provisional_since=writing.now if record.state == "provisional" else None,
        created_at=writing.now,
        updated_at=writing.now,
        worktree=writing.origin.worktree,
        branch=writing.origin.branch,
        **_columns(record),
    )
    _log_change(writing, memory_id, (None, record.state), by, reason)
    return memory_id


def replace_record(writing: Writing, record: NewRecord, by: str) -> None:
    """Replace the content and the state of a memory that exists."""
    row = row_of(writing.connection, record.id)
    since = writing.now if record.state == "provisional" else None
    writing.update(
        "memory_records",
        row["record_no"],
        provisional_since=since,
        contested_by=None,
        updated_at=writing.now,
        **_columns(record),
    )
    _log_change(writing, record.id, (row["state"], record.state), by, "override")


def command(writing: Writing, name: str, memory_id: str, by: str) -> str:
    """Do what a person says about a memory, and return its new state.

    Raises:
        CodePlaneError: NOT_FOUND, or VALIDATION_ERROR when the memory is not in a state that this applies to.
    """
    row = row_of(writing.connection, memory_id)
    states, to_state = COMMANDS[name]
    if row["state"] not in states:
        message = f"{memory_id} is {row['state']}; {name} needs one that is {' or '.join(sorted(states))}."
        raise CodePlaneError("VALIDATION_ERROR", message)
    changes: dict[str, Any] = {"contested_by": by if name == "contest" else None}
    if to_state == "provisional":
        changes["provisional_since"] = writing.now
    if name == "retire":
        changes["note"] = f"retired: {row['note'] or ''}".strip()
    _move(writing, row, to_state, **changes)
    _log_change(writing, memory_id, (row["state"], to_state), by, name)
    return to_state


def row_of(connection: sqlite3.Connection, memory_id: str) -> sqlite3.Row:
    """Return the row of a memory.

    Raises:
        CodePlaneError: NOT_FOUND.
    """
    row: sqlite3.Row | None = connection.execute("SELECT * FROM memory_records WHERE id = ?", (memory_id,)).fetchone()
    if row is None:
        raise CodePlaneError("NOT_FOUND", f"There is no memory {memory_id}.", hint="`cpl memory review` lists them.")
    return row


def open_record(connection: sqlite3.Connection, code: str, anchor: str) -> sqlite3.Row | None:
    """Return the memory of a key that is pending, provisional or approved."""
    for row in connection.execute(f"SELECT * FROM memory_records WHERE state IN {OPEN_STATES} ORDER BY record_no"):  # noqa: S608 - constants.
        if code in json.loads(row["rejection_codes"]) and anchor in json.loads(row["domain_anchor_ids"]):
            return row  # type: ignore[no-any-return]  # sqlite3 has no type for rows.
    return None


def record_of(row: sqlite3.Row) -> NewRecord:
    """Return the content of a memory that exists."""
    return NewRecord(
        row["enforcement_type"],
        row["trigger"],
        row["phase"],
        tuple(json.loads(row["domain_anchor_ids"])),
        tuple(json.loads(row["rejection_codes"])),
        tuple(json.loads(row["graph_node_ids"])),
        json.loads(row["few_shot"] or "null"),
        json.loads(row["plan_rule"] or "null"),
        json.loads(row["strategy_signal"] or "null"),
        row["origin_strategy_id"],
        row["note"],
        row["state"],
        row["trace_ref"],
        row["id"],
    )


def listed(connection: sqlite3.Connection, states: Iterable[str] = OPEN_STATES) -> list[dict[str, Any]]:
    """Return the memories in some states as documents, oldest first."""
    rows = connection.execute("SELECT * FROM memory_records ORDER BY record_no").fetchall()
    wanted = frozenset(states)
    return [document_of(row) for row in rows if row["state"] in wanted]


def document_of(row: sqlite3.Row) -> dict[str, Any]:
    """Return a memory with the field names of the specification; fields without a value are left out."""
    found = {
        "id": row["id"],
        "trigger": row["trigger"],
        "phase": row["phase"],
        "domainAnchorIds": json.loads(row["domain_anchor_ids"]),
        "graphNodeIds": json.loads(row["graph_node_ids"]) or None,
        "enforcementType": row["enforcement_type"],
        "fewShot": json.loads(row["few_shot"] or "null"),
        "planRule": json.loads(row["plan_rule"] or "null"),
        "strategySignal": json.loads(row["strategy_signal"] or "null"),
        "rejectionCodes": json.loads(row["rejection_codes"]),
        "originStrategyId": row["origin_strategy_id"],
        "note": row["note"],
        "state": row["state"],
        "provisionalSince": row["provisional_since"],
        "contestedBy": row["contested_by"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
        "traceRef": row["trace_ref"],
    }
    return {name: value for name, value in found.items() if value is not None}


def active_memories(
    connection: sqlite3.Connection, paths: Iterable[str], settings: FrictionSettings
) -> list[dict[str, Any]]:
    """Return the memories that a context pack shows for some files: deepest anchor first, then newest, then id.

    Without files, only those of the whole repository.
    """
    asked = tuple(paths)
    found: list[tuple[tuple[int, int, str], dict[str, Any]]] = []
    for row in connection.execute(_ACTIVE):
        anchors = [
            one
            for one in json.loads(row["domain_anchor_ids"]) or [ROOT_ANCHOR]
            if one == ROOT_ANCHOR or any(contains(one, path) for path in asked)
        ]
        if anchors:
            depth = max(map(depth_of, anchors))
            found.append(((-depth, -ms_from_iso(row["created_at"]), row["id"]), _pack_item(row, anchors)))
    ordered = [item for _order, item in sorted(found, key=lambda one: one[0])]
    n_few_shots = MAX_FEW_SHOTS if settings.enable_few_shot_injection else 0
    few_shots = [one["id"] for one in ordered if one["type"] == "few_shot"][:n_few_shots]
    notes = [one["id"] for one in ordered if one["type"] == "informational"][:MAX_NOTES]
    kept = {*few_shots, *notes}
    return [one for one in ordered if one["id"] in kept]


_ACTIVE = (
    "SELECT * FROM memory_records WHERE state IN ('provisional', 'approved') AND is_accepted = 1"
    " AND enforcement_type IN ('informational', 'few_shot')"
)


def _pack_item(row: sqlite3.Row, anchors: list[str]) -> dict[str, Any]:
    shot = json.loads(row["few_shot"] or "{}")
    item = {
        "id": row["id"],
        "type": row["enforcement_type"],
        "note": row["note"] or shot.get("instruction") or ", ".join(json.loads(row["rejection_codes"])),
        "anchor": max(anchors, key=depth_of),
        "state": row["state"],
    }
    return item | {name: shot[name] for name in ("before", "after", "antiPattern") if shot.get(name)}


def _columns(record: NewRecord) -> dict[str, Any]:
    documents = {
        name: json.dumps(value, ensure_ascii=False, sort_keys=True) if value is not None else None
        for name, value in (
            ("few_shot", record.few_shot),
            ("plan_rule", record.plan_rule),
            ("strategy_signal", record.strategy_signal),
        )
    }
    return {
        "trigger": record.trigger,
        "phase": record.phase,
        "domain_anchor_ids": json.dumps(record.domain_anchor_ids),
        "graph_node_ids": json.dumps(record.graph_node_ids),
        "enforcement_type": record.enforcement_type,
        "rejection_codes": json.dumps(record.rejection_codes),
        "origin_strategy_id": record.origin_strategy_id,
        "note": record.note,
        "state": record.state,
        "trace_ref": record.trace_ref,
        **documents,
    }


def _free_id(connection: sqlite3.Connection) -> str:
    number = int(connection.execute("SELECT COALESCE(MAX(record_no), 0) FROM memory_records").fetchone()[0]) + 1
    while connection.execute("SELECT 1 FROM memory_records WHERE id = ?", (f"mem-{number}",)).fetchone():
        number += 1
    return f"mem-{number}"


def _move(writing: Writing, row: sqlite3.Row, to_state: str, **changes: Any) -> None:
    writing.update("memory_records", row["record_no"], state=to_state, updated_at=writing.now, **changes)


def _log_change(
    writing: Writing, memory_id: str, states: tuple[str | None, str], by: str, reason: str, at: str = ""
) -> None:
    from_state, to_state = states
    writing.insert(
        "memory_changelog",
        ts=at or writing.now,
        memory_id=memory_id,
        from_state=from_state,
        to_state=to_state,
        changed_by=by,
        reason=reason,
    )
