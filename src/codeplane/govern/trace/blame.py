"""What blame says about lines: intent, requirement, class, agent, call and approval, and how they were recognised."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from codeplane.govern.trace.index import TraceIndex
from codeplane.govern.trace.matching import UNTRACED, Owned
from codeplane.govern.trace.records import ReadRecord

TRACED: Final = "traced"
NOT_TRACED: Final = "untraced"
UNKNOWN_ORIGIN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class TracedLines:
    """Adjacent lines with one answer.

    `status` is `traced` (a recorded call wrote them), `untraced` (no recorded call did) or `unknown` (nobody can tell).
    """

    first: int
    last: int
    status: str
    method: str
    record: ReadRecord | None = None
    caused_by: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()

    def as_dict(self, approver: Callable[[str], str | None]) -> dict[str, Any]:
        """Return the answer; `approver` tells who answered a held call."""
        found: dict[str, Any] = {"start_line": self.first, "end_line": self.last, "status": self.status}
        if self.record is not None:
            found |= about(self.record, approver)
        if self.status == TRACED:
            found["method"] = self.method
        found["caused_by"] = list(self.caused_by) or None
        found["candidates"] = list(self.candidates) or None
        return {name: value for name, value in found.items() if value is not None}


def about(record: ReadRecord, approver: Callable[[str], str | None]) -> dict[str, Any]:
    """Return what a record says of the call behind it."""
    ours = record.ours
    contributor = record.body["files"][0]["conversations"][0]["contributor"]
    approval = ours.get("approval")
    return {
        "intent": ours.get("intent_id"),
        "requirements": ours.get("related_requirements") or None,
        "mutation_class": ours.get("mutation_class"),
        "contributor": record.contributor,
        "agent": ours.get("agent"),
        "model": contributor.get("model_id"),
        "session": ours.get("session") or None,
        "call_id": ours.get("call_id") or None,
        "tool": ours.get("tool_name"),
        "tool_origin": ours.get("tool_origin"),
        "plan_node": ours.get("plan_node"),
        "approval": approval,
        "approver": approver(approval) if approval else None,
        "ungated": ours.get("ungated"),
        "time": record.timestamp,
        "record": record.id,
    }


def grouped(owners: Sequence[Owned], index: TraceIndex, first: int, last: int) -> Iterator[TracedLines]:
    """Yield the answers for lines from a first to a last one; both count from 1."""
    start = first
    while start <= last:
        end = start
        while end < last and owners[end] == owners[start - 1]:
            end += 1
        yield _answer(owners[start - 1], index, start, end)
        start = end + 1


def _answer(owned: Owned, index: TraceIndex, first: int, last: int) -> TracedLines:
    if owned.number == UNTRACED:
        return TracedLines(first, last, NOT_TRACED, "none")
    candidates = tuple(_name(index, one) for one in owned.candidates)
    entry = index.entry(owned.number) if owned.number > 0 else None
    if entry is None:
        return TracedLines(first, last, UNKNOWN_ORIGIN, "none", candidates=candidates)
    record = entry.record
    if record.is_outside:
        several = tuple(record.ours.get("candidates", ()))
        status = UNKNOWN_ORIGIN if several else NOT_TRACED
        return TracedLines(first, last, status, owned.method, record if several else None, candidates=several)
    return TracedLines(first, last, TRACED, owned.method, record, tuple(_name(index, one) for one in owned.via))


def _name(index: TraceIndex, number: int) -> str:
    """Return how an answer names a record: by its intent, or by its tool and call."""
    entry = index.entry(number)
    if entry is None:
        return "unknown"
    ours = entry.record.ours
    if entry.record.is_outside:
        return "a change outside of CodePlane"
    return f"{entry.intent or 'no intent'} ({ours.get('tool_name')}, {entry.call_id})"
