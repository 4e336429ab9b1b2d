"""The friction digest: what goes wrong here, where, how often, and what a person could do about it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from codeplane.memory.friction import unresolved
from codeplane.memory.records import listed
from codeplane.memory.settings import FrictionSettings

MAX_SIGNATURES: Final = 10
MAX_HOT_SPOTS: Final = 10
MAX_HOURS: Final = 48


def friction_digest(
    connection: sqlite3.Connection,
    settings: FrictionSettings,
    retrieved: Mapping[str, int],
    session: str | None = None,
) -> dict[str, Any]:
    """Return the digest over the newest volume of the ledger, or over one session.

    `retrieved` counts how often each file was shown to agents.
    """
    rows = _entries(connection, settings, session)
    codes, places, signatures, hours = Counter[str](), Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for row in rows:
        found = json.loads(row["rejection_codes"])
        anchor = json.loads(row["domain_anchor_ids"])[0]
        codes.update(found)
        places.update((code, anchor) for code in found)
        signatures[f"{'+'.join(sorted(found))}|{row['trigger']}|{anchor}"] += 1
        hours[f"{row['ts'][:13]}:00Z"] += 1
    memories = listed(connection)
    sessions = sorted({row["session_id"] for row in rows})
    return {
        "rejections": len(rows),
        "codes": [{"code": code, "n": n} for code, n in _ranked(codes)],
        "heat_map": [{"code": code, "anchor": anchor, "n": n} for (code, anchor), n in _ranked(places)],
        "top_signatures": [{"signature": one, "n": n} for one, n in _ranked(signatures)[:MAX_SIGNATURES]],
        "retrieval_hot_spots": [{"path": path, "n": n} for path, n in _ranked(retrieved)[:MAX_HOT_SPOTS]],
        "trend": [{"hour": hour, "n": n} for hour, n in sorted(hours.items())[-MAX_HOURS:]],
        "pending_corrections": sum(
            one.n_entries for label in sessions for one in unresolved(connection, label).values()
        ),
        "memories": _status(memories),
        "suggestions": _suggestions(codes, signatures, memories, settings),
    }


def _entries(connection: sqlite3.Connection, settings: FrictionSettings, session: str | None) -> list[sqlite3.Row]:
    query = (
        "SELECT * FROM friction_ledger WHERE entry = 'friction' AND (? IS NULL OR session_id = ?)"
        " ORDER BY id DESC LIMIT ?"
    )
    limit = settings.friction_ledger_max_entries
    return connection.execute(query, (session, session, limit)).fetchall()


def _ranked(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _is_draft(memory: Mapping[str, Any]) -> bool:
    return any((memory.get(name) or {}).get("scaffolded") for name in ("fewShot", "planRule", "strategySignal"))


def _status(memories: list[dict[str, Any]]) -> dict[str, Any]:
    pending = [one for one in memories if one["state"] == "pending"]
    return {
        "pending": [{"id": one["id"], "scaffolded": _is_draft(one)} for one in pending],
        "provisional": [one["id"] for one in memories if one["state"] == "provisional"],
        "approved": sum(one["state"] == "approved" for one in memories),
    }


def _suggestions(
    codes: Mapping[str, int], signatures: Mapping[str, int], memories: list[dict[str, Any]], settings: FrictionSettings
) -> list[dict[str, Any]]:
    threshold = settings.rejection_threshold
    found: list[dict[str, Any]] = [
        {"kind": "plan_rule", "code": code, "n": n, "text": f"{code} was met {n} times. A plan rule could prevent it."}
        for code, n in _ranked(codes)
        if n >= 2 * threshold
    ]
    found += [
        {"kind": "few_shot", "signature": one, "n": n, "text": f"{one} was met {n} times. An example could help."}
        for one, n in _ranked(signatures)[:MAX_SIGNATURES]
        if n >= threshold
    ]
    return found + [
        {"kind": "review", "id": one["id"], "text": f"{one['id']} is a draft. Complete it and approve or reject it."}
        for one in memories
        if one["state"] == "pending" and _is_draft(one)
    ]
