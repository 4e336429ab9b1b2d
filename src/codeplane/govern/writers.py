"""Who left a file as it is."""

from typing import TYPE_CHECKING, Any, Final

from codeplane.core.clock import iso_from_ms
from codeplane.ledger.chain import EventChain, LedgerRow, RowFilter

if TYPE_CHECKING:
    from codeplane.edit.records import RecordStore

_LOOK_BACK: Final = 2_000


def last_writer(
    chain: EventChain, records: "RecordStore", path: str, sha256: str, except_call: str | None = None
) -> dict[str, Any] | None:
    """Return which call left a file with these bytes: session, task, intent and time; None when it was none of ours."""
    # Those that have not ended yet first: one that ends meanwhile is among the rows then.
    for call in chain.open_calls():
        found = records.find(call.call_id) if call.call_id != except_call else None
        if found is not None and any(
            one.path.text == path and one.after is not None and one.after.sha256 == sha256 for one in found[0].changes
        ):
            return _writer(call.begun)
    wanted = RowFilter(kinds=("finished",), body_holds=sha256, among_newest=_LOOK_BACK, limit=_LOOK_BACK)
    for row in chain.rows(wanted):
        after = row.body.get("after")
        if isinstance(after, dict) and after.get(path) == sha256:
            return _writer(row)
    return None


def written_meanwhile(chain: EventChain, call_id: str) -> dict[str, str | None]:
    """Return what other calls have left in the files that they named, since a call began; None for a deleted file."""
    begun = next((one.begun for one in chain.open_calls() if one.call_id == call_id), None)
    if begun is None:
        return {}
    wanted = RowFilter(kinds=("finished",), since_ms=begun.ts_ms, among_newest=_LOOK_BACK, limit=_LOOK_BACK)
    found: dict[str, str | None] = {}
    for row in reversed(chain.rows(wanted)):
        after = row.body.get("after")
        if row.seq > begun.seq and row.call_id != call_id and isinstance(after, dict):
            found |= after
    return found


def _writer(row: LedgerRow) -> dict[str, Any]:
    found = {
        "session": row.session,
        "task": row.task_id,
        "call": row.call_id,
        "operation": row.operation,
        "time": iso_from_ms(row.ts_ms),
    }
    return found | ({"intent": row.body["intent"]} if row.body.get("intent") else {})
