"""One traced change of one file, as an Agent Trace 0.1.0 record whose `metadata` has our own fields."""

import uuid
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from codeplane.core.clock import iso_from_ms
from codeplane.core.hashing import sha256_text
from codeplane.core.line_matching import matching_blocks
from codeplane.core.printable import printable_name
from codeplane.core.redaction import redact
from codeplane.core.version import VERSION
from codeplane.govern.trace.lines import (
    MAX_LINES,
    blob_id,
    is_binary,
    keys_of,
    loose_text_hash,
    packed,
    split_lines,
    text_hash,
    unpacked,
)
from codeplane.languages.facts import Definition, DefinitionKind

TRACE_VERSION: Final = "0.1.0"
VENDOR: Final = "dev.codeplane"
# The form of our own fields; a higher number in a file is of a newer program.
OUR_VERSION: Final = 1
AI, HUMAN, MIXED, UNKNOWN = "ai", "human", "mixed", "unknown"
# The action of a change that no call of ours made.
OUTSIDE: Final = "outside"
_MAX_NODES: Final = 10
_MAX_MODEL: Final = 250
_NOT_NODES: Final = frozenset({DefinitionKind.PARAMETER, DefinitionKind.MODULE})

Definitions = Callable[[str, bytes], Sequence[Definition]]


@dataclass(frozen=True, slots=True)
class TracedFile:
    """One file before and after; None means no file. `previous_path` is where it was before a rename.

    `definitions` are those of the new content, where the caller has them already.
    """

    path: str
    before: bytes | None
    after: bytes | None
    previous_path: str | None = None
    definitions: Sequence[Definition] | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """Who made a change and why.

    `candidates` are calls that ran at the same time, so that nobody can tell whose change it is; `ungated` marks a
    change that no policy saw beforehand; `caused_by` is the record that made a formatter rewrite the file. `plan_node`
    is the node of an accepted plan that the change carries out.
    """

    call_id: str
    session: str
    contributor: str
    tool_name: str
    tool_origin: str
    action: str
    now_ms: int
    worktree: str = "main"
    agent: str = ""
    model: str | None = None
    intent: str | None = None
    requirements: tuple[str, ...] = ()
    mutation_class: str | None = None
    claimed_class: str | None = None
    approval: str | None = None
    policy_digest: str | None = None
    revision: str | None = None
    caused_by: str | None = None
    ungated: bool = False
    candidates: tuple[str, ...] = ()
    plan_node: str | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that took the place of others; numbers count from 0 here."""

    old_start: int
    n_old: int
    new_start: int
    keys: tuple[bytes, ...] = field(repr=False)

    @property
    def n_new(self) -> int:
        """Return how many lines it brings."""
        return len(self.keys)


def with_renames(files: Sequence[TracedFile]) -> list[TracedFile]:
    """Return the files with moves as such: one that is gone and one that is new with its bytes."""
    gone = {blob_id(one.before): one.path for one in files if one.before is not None and one.after is None}
    found, moved = [], set()
    for one in files:
        previous = gone.get(blob_id(one.after)) if one.before is None and one.after is not None else None
        if previous is not None and previous not in moved:
            moved.add(previous)
            found.append(TracedFile(one.path, one.after, one.after, previous))
        else:
            found.append(one)
    return [one for one in found if not (one.after is None and one.path in moved)]


def make_record(repo_id: str, file: TracedFile, cause: Cause, definitions: Definitions) -> dict[str, Any]:
    """Return the record of a change."""
    path = printable_name(file.path)
    ranges = _ranges(file, definitions)
    contributor: dict[str, Any] = {"type": cause.contributor}
    if cause.model:
        contributor["model_id"] = redact(cause.model)[:_MAX_MODEL]
    shown = [
        {"start_line": one["start_line"], "end_line": one["end_line"], "content_hash": one["content_hash"]}
        for one in ranges
        if "start_line" in one
    ]
    conversation: dict[str, Any] = {"contributor": contributor, "ranges": shown}
    related = _related(cause)
    if related:
        conversation["related"] = related
    record: dict[str, Any] = {
        "version": TRACE_VERSION,
        "id": record_id(repo_id, cause, path, blob_id(file.after) if file.after is not None else ""),
        "timestamp": iso_from_ms(cause.now_ms),
        "tool": {"name": "codeplane", "version": VERSION},
        "files": [{"path": path, "conversations": [conversation]}],
        "metadata": {VENDOR: _ours(file, cause, ranges)},
    }
    if cause.revision:
        record["vcs"] = {"type": "git", "revision": cause.revision}
    return record


def record_id(repo_id: str, cause: Cause, path: str, state: str) -> str:
    """Return the id of a record: the same for the same change, so that it is never recorded twice."""
    digest = sha256_text(
        "\n".join((repo_id, cause.call_id, cause.tool_name, cause.action, path, state, str(cause.now_ms)))
    )
    return str(uuid.UUID(hex=digest[:32], version=4))


def _related(cause: Cause) -> list[dict[str, str]]:
    found = [("intent", cause.intent)] if cause.intent else []
    found += [("requirement", one) for one in cause.requirements]
    return [{"type": kind, "url": f"urn:{kind}:{quote(name, safe='')}"} for kind, name in found]


def _ours(file: TracedFile, cause: Cause, ranges: list[dict[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "format": OUR_VERSION,
        "intent_id": cause.intent,
        "related_requirements": list(cause.requirements),
        "mutation_class": cause.mutation_class,
        "claimed_class": cause.claimed_class,
        "tool_name": redact(cause.tool_name)[:120],
        "tool_origin": cause.tool_origin,
        "agent_action": cause.action,
        "agent": redact(cause.agent)[:120] or None,
        "call_id": cause.call_id,
        "session": cause.session,
        "approval": cause.approval,
        "plan_node": cause.plan_node,
        "policy_digest": cause.policy_digest,
        "worktree": cause.worktree,
        "change": _kind(file),
        "previous_path": printable_name(file.previous_path) if file.previous_path else None,
        "before_blob": blob_id(file.before, cause.revision) if file.before is not None else None,
        "after_blob": blob_id(file.after, cause.revision) if file.after is not None else None,
        "before_lines": _n_lines(file.before),
        "after_lines": _n_lines(file.after),
        "modified_ranges": ranges,
        "caused_by": cause.caused_by,
        "ungated": cause.ungated or None,
        "candidates": list(cause.candidates) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _kind(file: TracedFile) -> str:
    if file.previous_path is not None:
        return "rename"
    if file.before is None:
        return "create"
    return "delete" if file.after is None else "update"


def _n_lines(data: bytes | None) -> int | None:
    return len(split_lines(data)) if data is not None and not is_binary(data) else None


def _ranges(file: TracedFile, definitions: Definitions) -> list[dict[str, Any]]:
    """Return what changed: lines that came, with layered hashes and syntax nodes, and lines that went."""
    before, after = file.before or b"", file.after or b""
    if is_binary(before) or is_binary(after):
        return []
    old, new = split_lines(before), split_lines(after)
    if len(old) + len(new) > 2 * MAX_LINES:
        return []
    hunks = _changed_parts(old, new)
    nodes = _nodes(file, after, definitions) if any(end > start for _, _, start, end in hunks) else None
    found = []
    for old_start, old_end, start, end in hunks:
        one: dict[str, Any] = {"old_start": old_start + 1, "old_lines": old_end - old_start}
        lines = new[start:end]
        if lines:
            one |= {"start_line": start + 1, "end_line": end, "content_hash": text_hash(lines)}
            one |= {"loose_hash": loose_text_hash(lines), "lines": packed(keys_of(lines))}
            one |= _syntax(nodes, after, start + 1, end)
        else:
            one["after_line"] = start
        found.append(one)
    return found


def _changed_parts(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int, int, int]]:
    """Return what lies between equal lines: start and end in the old and in the new text."""
    found, at_old, at_new = [], 0, 0
    for block in [*matching_blocks(old, new), None]:
        end_old, end_new = (block.old, block.new) if block is not None else (len(old), len(new))
        if end_old > at_old or end_new > at_new:
            found.append((at_old, end_old, at_new, end_new))
        if block is not None:
            at_old, at_new = block.old + block.size, block.new + block.size
    return found


class _Node(NamedTuple):
    """A definition with its lines and its place in the text."""

    first: int
    last: int
    symbol: str
    kind: str
    start: int
    end: int


def _nodes(file: TracedFile, after: bytes, definitions: Definitions) -> list[_Node] | None:
    """Return the syntax nodes of a file with first and last line, None when it cannot be parsed."""
    try:
        found = file.definitions if file.definitions is not None else definitions(file.path, after)
    except (ValueError, RecursionError):
        return None
    if not found:
        return None
    ends = _line_ends(after)
    nodes = []
    for one in found:
        if one.kind not in _NOT_NODES:
            first, last = bisect_left(ends, one.start) + 1, bisect_left(ends, max(one.start, one.end - 1)) + 1
            nodes.append(_Node(first, last, one.lexical_path, one.kind.label, one.start, one.end))
    return nodes


def _line_ends(data: bytes) -> list[int]:
    ends, at = [], data.find(b"\n")
    while at >= 0:
        ends.append(at)
        at = data.find(b"\n", at + 1)
    return ends


def _syntax(nodes: list[_Node] | None, after: bytes, first: int, last: int) -> dict[str, Any]:
    """Return the smallest nodes that a range touches."""
    if nodes is None:
        return {"ast_status": "fallback", "ast_nodes": []}
    touching = [one for one in nodes if one.first <= last and one.last >= first]
    touching.sort(key=lambda one: (one.last - one.first, one.first, one.symbol))
    shown = [
        {
            "symbol": printable_name(one.symbol),
            "type": one.kind,
            "start_line": one.first,
            "end_line": one.last,
            "hash": loose_text_hash([after[one.start : one.end]]),
        }
        for one in touching[:_MAX_NODES]
    ]
    return {"ast_status": "ok", "ast_nodes": shown}


@dataclass(frozen=True)
class ReadRecord:
    """The part of a record that blame needs; `body` is all of it."""

    id: str
    timestamp: str
    path: str
    contributor: str
    ours: dict[str, Any]
    body: dict[str, Any]

    @property
    def is_outside(self) -> bool:
        """Tell whether no call of ours made the change, or several may have."""
        return self.ours.get("agent_action") == OUTSIDE or bool(self.ours.get("candidates"))

    def hunks(self) -> list[Hunk]:
        """Return the changed parts in order; raises ValueError for fields that do not fit."""
        return self._hunks

    @cached_property
    def _hunks(self) -> list[Hunk]:
        found = []
        for one in self.ours.get("modified_ranges", ()):
            keys = unpacked(one["lines"]) if "lines" in one else []
            new_start = one["start_line"] - 1 if "start_line" in one else one["after_line"]
            found.append(Hunk(one["old_start"] - 1, one["old_lines"], new_start, tuple(keys)))
        return found


def read_record(body: Any) -> ReadRecord | None:
    """Return a record of ours, None for anything else: a foreign record, or one of a newer form."""
    try:
        file = body["files"][0]
        ours = body["metadata"][VENDOR]
        contributor = file["conversations"][0]["contributor"]["type"]
        record = ReadRecord(str(body["id"]), str(body["timestamp"]), str(file["path"]), contributor, ours, body)
        if ours.get("format") != OUR_VERSION:
            return None
        record.hunks()
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return record
