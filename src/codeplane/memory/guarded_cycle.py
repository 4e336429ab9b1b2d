"""The guarded cycle: seven phases in a fixed order, each carried out by the server.

Invariant: a phase that waits or is blocked does not advance, and nothing that the caller says about its own result
counts. State is read from the sealed steps, in the transaction that writes the next one.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Final

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact
from codeplane.memory.consolidation import consolidate
from codeplane.memory.context_pack import Pack, PackRequest, build_pack
from codeplane.memory.cycle_steps import PHASES, Standing, add_step, standing_of
from codeplane.memory.episodes import Episode, normal_keys, record_episode
from codeplane.memory.finalisation import BLOCKED, CellFact, Finalised, finalise, own_text
from codeplane.memory.governance import INVOCATION_KIND, Notary, Terms, Verdict, mint, validate
from codeplane.memory.settings import MemorySettings
from codeplane.memory.store import Writing, generation_of
from codeplane.memory.violations import record_success, record_violation

PHASE_ORDER: Final = "phase_order"
# What a caller may not decide; it is named in the answer and otherwise ignored.
_NOT_ACCEPTED: Final = ("finalize_result", "governance_result")
_SUMMARY_CHARS: Final = 100
MAX_DRAFT: Final = 200_000
MAX_INPUT: Final = 20_000
# The most that a pack may be asked for.
_MOST: Final = {"byte_budget": 1_000_000, "max_cells": 500, "max_experiences": 500, "min_trust": 3}


@dataclass(frozen=True, slots=True)
class CycleParts:
    """What the cycle uses besides the store; `stale` tells which code a lesson is about has changed."""

    notary: Notary
    settings: MemorySettings
    stale: Callable[[tuple[tuple[str, str], ...]], list[str]] = lambda _recorded: []


@dataclass(frozen=True, slots=True)
class Stepped:
    """What became of a phase; `violation` says which phase was expected instead."""

    phase: str
    status: str
    output: Mapping[str, Any]
    standing: Standing
    violation: str = ""

    @property
    def next_phase(self) -> str | None:
        """Return the phase to call next, None after the last one."""
        return None if self.standing.is_complete else self.standing.expected


def run_phase(writing: Writing, session_id: int, phase: str, given: Mapping[str, Any], parts: CycleParts) -> Stepped:
    """Carry out a phase if it is its turn; otherwise remember the violation.

    Raises:
        CodePlaneError: SESSION_NOT_FOUND, CYCLE_COMPLETE or CONTEXT_HASH_MISMATCH.
    """
    standing = standing_of(writing.connection, session_id)
    expected = standing.expected
    if standing.is_complete and phase != PHASES[0]:
        hint = "SNAPSHOT opens the next cycle."
        raise CodePlaneError("CYCLE_COMPLETE", f"Cycle {standing.cycle} is complete.", hint=hint)
    if phase not in _allowed(standing):
        what = f"{phase} came where {expected} was expected."
        record_violation(writing, session_id, standing.scope, PHASE_ORDER, what)
        return Stepped(phase, "blocked", {}, standing, violation=expected)
    status, output, data = _PHASES[phase](writing, standing, given, parts)
    ignored = [name for name in _NOT_ACCEPTED if name in given]
    output = {**output, "status": status, **({"ignored": ignored} if ignored else {})}
    after = add_step(writing, standing, phase, status, given, data)
    if phase == "ROUTER" and status == "ok" and data.get("has_draft"):
        after = _skip_to_final(writing, after, given, parts)
    return Stepped(phase, status, output, after)


def _allowed(standing: Standing) -> set[str]:
    """Return the phases that may come now: the next one, another snapshot, another draft after a blocked one."""
    allowed = {standing.expected}
    if standing.expected == "ROUTER":
        allowed.add("SNAPSHOT")
    if standing.is_blocked_at("FINALIZE_RESPONSE"):
        allowed.add("DRAFT")
    return allowed


_Ran = tuple[str, dict[str, Any], dict[str, Any]]


def _snapshot(writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> _Ran:
    seq, head = parts.notary.head()
    generation = generation_of(writing.connection)
    keys = normal_keys(_texts(given.get("context_keys")))
    context = redact(str(given.get("context") or ""))
    hashed = {
        "session": standing.session_id, "scope": standing.scope, "keys": keys, "context": context,
        "ledger_head": head, "store_generation": generation,
    }  # fmt: skip
    snapshot_hash = digest(hashed)
    output = {
        "session_id": standing.session_id,
        "scope_mode": standing.scope,
        "flags": dict(standing.flags),
        "last_phase": standing.last_phase,
        "last_context_hash": standing.context_hash,
        "ledger_head": head,
        "store_generation": generation,
        "snapshot_hash": snapshot_hash,
    }
    stored = {"snapshot_hash": snapshot_hash, "ledger_seq": seq, "ledger_head": head, "context_keys": keys}
    return "ok", output, {**stored, "context": context, "store_generation": generation}


def _router(_writing: Writing, standing: Standing, given: Mapping[str, Any], _parts: CycleParts) -> _Ran:
    snapshot = standing.data("SNAPSHOT") or {}
    if "snapshot_hash" in given and given["snapshot_hash"] != snapshot.get("snapshot_hash"):
        raise CodePlaneError("CONTEXT_HASH_MISMATCH", "The snapshot_hash is not that of this session's snapshot.")
    user_input, draft = _text(given, "user_input", MAX_INPUT), _text(given, "draft", MAX_DRAFT)
    if not user_input and not draft:
        return "blocked", {"missing": ["user_input", "draft"], "has_draft": False, "next_action": "ROUTER"}, {}
    action = "FINALIZE_RESPONSE" if draft else "CONTEXT_PACK"
    stored = {"user_input": redact(user_input), "has_draft": bool(draft), "route": action}
    return "ok", {"next_action": action, "has_draft": bool(draft)}, stored


def _skip_to_final(writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> Standing:
    """Log the two phases that a draft makes unnecessary."""
    standing = add_step(writing, standing, "CONTEXT_PACK", "skipped", {}, {})
    _, _, data = _draft(writing, standing, given, parts)
    return add_step(writing, standing, "DRAFT", "skipped", given, data)


def _context_pack(writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> _Ran:
    snapshot, router = standing.data("SNAPSHOT") or {}, standing.data("ROUTER") or {}
    wanted = PackRequest(
        scope=standing.scope,
        byte_budget=_number(given, "byte_budget", parts.settings.byte_budget_default),
        keys=_texts(given.get("context_keys")) or _texts(snapshot.get("context_keys")),
        max_cells=_number(given, "max_cells", 20),
        max_experiences=_number(given, "max_experiences", 10),
        query=_text(given, "query") or str(router.get("user_input", "")),
        paths=_texts(given.get("paths")),
        min_trust=_number(given, "min_trust", 0),
        now_ms=writing.now_ms,
    )
    return packed_step(build_pack(writing.connection, wanted, stale=parts.stale))


def packed_step(packed: Pack) -> _Ran:
    """Return the outcome of CONTEXT_PACK for a pack."""
    cells, experiences = list(packed.cells), list(packed.experiences)
    output = {
        "packed_cells": cells,
        "packed_experiences": experiences,
        "context_hash": packed.context_hash,
        "byte_size": packed.byte_count,
    }
    ids = {"cells": [one["id"] for one in cells], "experiences": [one["id"] for one in experiences]}
    return "ok", output, {**ids, "context_hash": packed.context_hash, "byte_count": packed.byte_count}


def advance_with_pack(writing: Writing, session_id: int, given: Mapping[str, Any], packed: Pack) -> bool:
    """Store a pack as the session's CONTEXT_PACK if that is its turn; tell whether it was."""
    standing = standing_of(writing.connection, session_id)
    if standing.expected != "CONTEXT_PACK":
        return False
    status, _, data = packed_step(packed)
    add_step(writing, standing, "CONTEXT_PACK", status, given, data)
    return True


def _draft(_writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> _Ran:
    draft = redact(_text(given, "draft", MAX_DRAFT))
    if not own_text(draft):
        return "waiting", {"draft_provided": False, "missing": ["draft"]}, {}
    draft_hash = sha256_text(own_text(draft))
    router = standing.data("ROUTER") or {}
    body = {
        "session_id": standing.session_id, "cycle": standing.cycle, "tool_name": "draft", "is_claimed": False,
        "input_hash": sha256_text(str(router.get("user_input", ""))), "output_hash": draft_hash,
    }  # fmt: skip
    parts.notary.append(INVOCATION_KIND, body)
    return "ok", {"draft_provided": True, "draft_hash": draft_hash}, {"draft": draft, "draft_hash": draft_hash}


def _finalize(writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> _Ran:
    draft = str((standing.data("DRAFT") or {}).get("draft", ""))
    found = finalised(writing.connection, standing, draft, given, parts.notary)
    shown = {
        "response": found.response,
        "integrity": found.integrity,
        "integrity_line": found.integrity_line,
        "violations": [one.as_dict() for one in found.violations],
    }
    status = "blocked" if found.integrity == BLOCKED else "ok"
    return status, shown, {**shown, "draft_hash": sha256_text(own_text(draft))}


def finalised(
    connection: sqlite3.Connection, standing: Standing, draft: str, given: Mapping[str, Any], notary: Notary
) -> Finalised:
    """Finalise a draft with the packed cells and those that the caller names, as the store has them."""
    problems: dict[str, str] = {}
    wanted = given.get("context_hash")
    if wanted is not None and wanted != standing.context_hash:
        problems["context_hash_mismatch"] = "The context is not the one that was packed."
    snapshot = standing.data("SNAPSHOT")
    if snapshot is not None:
        try:
            notary.rows_since(int(snapshot["ledger_seq"]), str(snapshot["ledger_head"]))
        except CodePlaneError as error:
            problems[error.code.lower()] = error.message
    packed = standing.data("CONTEXT_PACK") or {}
    named = {*_ids(packed.get("cells")), *_ids(given.get("cells"))}
    return finalise(draft, _cell_facts(connection, standing.scope, named, draft), problems)


def _cell_facts(connection: sqlite3.Connection, scope: str, ids: set[int], draft: str) -> list[CellFact]:
    """Return the named cells, and the superseded ones that the draft may repeat."""
    superseded = {
        int(row[0])
        for row in connection.execute(
            "SELECT supersedes_cell_id FROM cells WHERE supersedes_cell_id IS NOT NULL AND scope = ?", (scope,)
        )
    }
    wanted = sorted(ids | superseded)
    query = f"SELECT * FROM cells WHERE cell_id IN ({', '.join('?' * len(wanted))}) ORDER BY cell_id"  # noqa: S608 - question marks only.
    text = " ".join(draft.lower().split())
    facts = []
    for row in connection.execute(query, wanted):
        key, title = int(row["cell_id"]), str(row["title"])
        if key in ids or " ".join(title[:30].lower().split()) in text:
            facts.append(
                CellFact(key, title, int(row["trust"]), str(row["state"]), int(row["contradiction_count"]),
                         key in superseded)
            )  # fmt: skip
    return facts


def _governance(writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> _Ran:
    verdict = govern(writing, standing, given.get("context_hash"), parts.notary, _terms(given))
    token = dict(verdict.token.payload) if verdict.token is not None else None
    return "ok" if verdict.valid else "failed", {**verdict.as_dict(), "token": token}, verdict.as_dict()


def govern(
    writing: Writing, standing: Standing, context_hash: str | None, notary: Notary, terms: Terms | None
) -> Verdict:
    """Validate a cycle; certify it if all holds and terms are given, and remember what was broken."""
    verdict = validate(writing.connection, standing, context_hash, notary)
    if not verdict.valid:
        record_violation(writing, standing.session_id, standing.scope, verdict.rule, verdict.errors[0])
    elif terms is not None:
        verdict.receipt, verdict.token = mint(writing, standing, notary, terms)
    return verdict


def _memory_update(writing: Writing, standing: Standing, given: Mapping[str, Any], parts: CycleParts) -> _Ran:
    verdict = standing.data("GOVERNANCE_VALIDATE") or {}
    is_valid = verdict.get("valid") is True
    user_input = str((standing.data("ROUTER") or {}).get("user_input", ""))
    summary = user_input[:_SUMMARY_CHARS].strip() or f"Cycle {standing.cycle} of session {standing.session_id}"
    keys = (*_texts((standing.data("SNAPSHOT") or {}).get("context_keys")), *_texts(given.get("context_keys")))
    outcome = "success" if is_valid else "fail"
    episode = Episode(summary, keys, outcome, scope=standing.scope, session_id=standing.session_id)
    experience_id = record_episode(writing, episode)
    if is_valid:
        record_success(writing, standing.session_id, standing.scope, f"Governance passed: {summary}")
    threshold = parts.settings.consolidation_threshold
    is_consolidated = consolidate(writing, standing.scope, threshold, parts.settings).processed > 0
    stored = {"outcome": outcome, "experience_id": experience_id, "consolidated": is_consolidated}
    return "ok", stored, stored


_PHASES: Final[Mapping[str, Callable[[Writing, Standing, Mapping[str, Any], CycleParts], _Ran]]] = {
    "SNAPSHOT": _snapshot,
    "ROUTER": _router,
    "CONTEXT_PACK": _context_pack,
    "DRAFT": _draft,
    "FINALIZE_RESPONSE": _finalize,
    "GOVERNANCE_VALIDATE": _governance,
    "MEMORY_UPDATE": _memory_update,
}


def _terms(given: Mapping[str, Any]) -> Terms | None:
    if given.get("mint") is False:
        return None
    minutes = min(24 * 60, max(1, _number(given, "expiry_minutes", 60)))
    return Terms(_text(given, "receipt_type") or "governance", _texts(given.get("permissions")), minutes)


def _text(given: Mapping[str, Any], name: str, limit: int = MAX_INPUT) -> str:
    value = given.get(name)
    if isinstance(value, str) and len(value) > limit:
        raise CodePlaneError("PAYLOAD_TOO_LARGE", f"{name} has at most {limit} characters.")
    return value.strip() if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()


def _number(given: Mapping[str, Any], name: str, otherwise: int) -> int:
    value = given.get(name)
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return min(_MOST.get(name, value), value) if is_number and value is not None else otherwise


def _ids(value: Any) -> list[int]:
    """Return the ids in a list of ids or of objects with one."""
    found = [one.get("id") if isinstance(one, Mapping) else one for one in value] if isinstance(value, list) else []
    return [one for one in found if isinstance(one, int) and not isinstance(one, bool)]


def _plain(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    plain: dict[str, Any] = asdict(item) if is_dataclass(item) and not isinstance(item, type) else vars(item)
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return]  # Tuples become lists, as in an answer.
