"""The events of turns, read from the ledger: one row per turn, and what they add up to."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from codeplane.core.clock import iso_from_ms
from codeplane.ledger.chain import LedgerRow, RowFilter
from codeplane.workspace.workspace import Workspace

OPERATION: Final = "controller_turn"
# The field of a turn's row that says what happened.
NOTED: Final = "controller"
_MAX_EVENTS: Final = 1_000
_TOP: Final = 10


def event_of(row: LedgerRow) -> dict[str, Any] | None:
    """Return the event of a turn's row; None for a row that tells of no turn."""
    noted = row.body.get(NOTED)
    if not isinstance(noted, dict):
        return None
    return {
        "seq": row.seq,
        "ts": iso_from_ms(row.ts_ms),
        "callId": row.call_id,
        "durationMs": row.body.get("duration_ms"),
        **noted,
    }


def recent(workspace: Workspace, limit: int = 100, run_id: str | None = None) -> list[dict[str, Any]]:
    """Return the newest events, newest first."""
    wanted = RowFilter(
        operation=OPERATION,
        body_holds=f'"runSessionId":"{run_id}"' if run_id is not None else None,
        limit=min(limit, _MAX_EVENTS),
    )
    return [event for row in workspace.chain.rows(wanted) if (event := event_of(row)) is not None]


def turns_of_run(workspace: Workspace, run_id: str) -> list[dict[str, Any]]:
    """Return the events of one run, oldest first."""
    return list(reversed(recent(workspace, _MAX_EVENTS, run_id)))


def errors(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events that were denied or failed."""
    return [one for one in events if one["denyReasons"] or one.get("error")]


def pending_corrections(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return refused plans with no later accepted plan in the same session; events come newest first."""
    accepted: set[str] = set()
    found = []
    for one in events:
        # A turn that named no verb has none here.
        if one.get("verb") != "submit_execution_plan":
            continue
        if not one["denyReasons"]:
            accepted.add(one["runSessionId"])
        elif one["runSessionId"] not in accepted:
            found.append(one)
    return found


def rejection_heatmap(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how often each code was met at each anchor, the most frequent first."""
    counts = Counter((code, one.get("anchor", "anchor:.")) for one in events for code in one["denyReasons"])
    return [{"code": code, "anchor": anchor, "n": n} for (code, anchor), n in _ranked(counts)]


def rejection_trend(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many turns were denied per hour."""
    counts = Counter(f"{one['ts'][:13]}:00Z" for one in events if one["denyReasons"])
    return [{"hour": hour, "n": n} for hour, n in sorted(counts.items())]


def top_rejection_signatures(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the most frequent combinations of codes, verb and anchor."""
    counts = Counter(one["signature"] for one in events if one.get("signature"))
    return [{"signature": signature, "n": n} for signature, n in _ranked(counts)[:_TOP]]


def retrieval_hotspots(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files that turns returned most."""
    counts = Counter(path for one in events for path in one.get("files", ()))
    return [{"path": path, "n": n} for path, n in _ranked(counts)[:_TOP]]


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))
