"""Governance of a cycle: what the server checks itself, and the receipt and token that it signs when all holds."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from codeplane.core.canonical_json import digest
from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.version import VERSION
from codeplane.ledger.chain import EventChain, LedgerRow, NewEvent, RowFilter
from codeplane.ledger.evidence import Evidence
from codeplane.memory.cycle_steps import PHASES, Standing
from codeplane.memory.store import Writing, is_sealed_by
from codeplane.memory.tokens import SESSION, SigningKey, Token, TokenBox, TokenRequest, is_signed, sign_payload

RECEIPT_KIND: Final = "receipt"
INVOCATION_KIND: Final = "invocation"
_NEEDED: Final = PHASES[:5]
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Notary:
    """What signs for one call: the ledger with its chain, the key, the tokens, and who is calling."""

    chain: EventChain
    key: SigningKey
    tokens: TokenBox
    session: str
    worktree: str
    call_id: str
    now_ms: int

    def head(self) -> tuple[int, str]:
        """Return number and hash of the newest row."""
        rows = self.chain.rows(RowFilter(limit=1))
        return (rows[0].seq, rows[0].hash) if rows else (0, "")

    def append(self, kind: str, body: Mapping[str, Any], operation: str | None = None) -> LedgerRow:
        """Append a row of this session."""
        return self.chain.append(NewEvent(kind, self.session, body, None, operation, None, self.worktree))[0]

    def rows_since(self, seq: int, row_hash: str) -> list[LedgerRow]:
        """Return our rows after one, and check that none was removed, changed or put in, the last ones included.

        Raises:
            CodePlaneError: CHAIN_BROKEN, or NO_SIGNING_KEY when no key can prove anything.
        """
        self.chain.flush()
        with self.chain.database.read() as connection:
            evidence = Evidence(self.chain, connection)
            if not evidence.has_key:
                raise CodePlaneError("NO_SIGNING_KEY")
            start = next(evidence.rows("seq = ?", (seq,)), None) if seq else None
            if seq and (start is None or not start.is_ours or start.row.hash != row_hash):
                raise CodePlaneError("CHAIN_BROKEN", f"Row {seq} is not the one that the snapshot saw.")
            return [found.row for found in evidence.rows_since(start.row if start else None) if found.is_ours]


@dataclass(slots=True)
class Verdict:
    """What governance found; errors begin with a code."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    chain_count: int = 0
    context_hash_match: bool | None = None
    receipt: dict[str, Any] | None = None
    token: Token | None = None

    @property
    def valid(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.errors

    @property
    def rule(self) -> str:
        """Return the rule that was broken first, as violations name it."""
        return self.errors[0].split(":")[0].lower() if self.errors else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the form that steps store; the token's content is in its own file."""
        return {
            "valid": self.valid,
            "errors": self.errors,
            "warnings": self.warnings,
            "chain_count": self.chain_count,
            "context_hash_match": self.context_hash_match,
            "receipt": self.receipt,
        }


def validate(connection: sqlite3.Connection, standing: Standing, context_hash: str | None, notary: Notary) -> Verdict:
    """Check the ledger, the order and hashes of the phases, the draft, the pack and earlier receipts."""
    verdict = Verdict()
    snapshot = standing.data("SNAPSHOT") or {}
    try:
        rows = notary.rows_since(int(snapshot.get("ledger_seq", 0)), str(snapshot.get("ledger_head", "")))
    except CodePlaneError as error:
        verdict.errors.append(f"{error.code}: {error.message}")
        rows = []
    verdict.chain_count = sum(row.session == notary.session for row in rows)
    verdict.errors += _phase_problems(connection, standing, notary.key)
    stored = standing.context_hash
    if context_hash is not None and stored is not None:
        verdict.context_hash_match = context_hash == stored
        if not verdict.context_hash_match:
            verdict.errors.append("CONTEXT_HASH_MISMATCH: the context is not the one that was packed.")
    elif context_hash is None:
        verdict.warnings.append("No context hash was given to compare.")
    verdict.errors += _draft_problems(standing, rows)
    for row in rows:
        if row.kind == RECEIPT_KIND and not verify_receipt(notary.key, row.body)["valid"]:
            verdict.errors.append(f"RECEIPT_INVALID: receipt {row.seq} was not signed with this key.")
    return verdict


def _phase_problems(connection: sqlite3.Connection, standing: Standing, key: SigningKey) -> list[str]:
    missing = [phase for phase in _NEEDED if standing.data(phase) is None]
    problems = [f"MISSING_PHASE: {', '.join(missing)} not done in cycle {standing.cycle}."] if missing else []
    for step in standing.steps:
        row = connection.execute("SELECT * FROM cycle_steps WHERE id = ?", (step.id,)).fetchone()
        if not is_sealed_by(key, "cycle_steps", step.id, row) or sha256_text(row["data_json"]) != row["out_hash"]:
            problems.append(f"STEP_CHANGED: the record of {step.phase} was changed.")
    final = standing.data("FINALIZE_RESPONSE")
    if final is not None and final.get("integrity") == "BLOCKED":
        problems.append("RESPONSE_BLOCKED: the response was blocked.")
    return problems


def _draft_problems(standing: Standing, rows: Sequence[LedgerRow]) -> list[str]:
    """Compare the draft that the ledger saw with the one that was finalised."""
    final = standing.data("FINALIZE_RESPONSE")
    if final is None:
        return []
    seen = [
        row.body.get("output_hash")
        for row in rows
        if row.kind == INVOCATION_KIND
        and row.body.get("tool_name") == "draft"
        and (row.body.get("session_id"), row.body.get("cycle")) == (standing.session_id, standing.cycle)
    ]
    if not seen or seen[-1] != final.get("draft_hash"):
        return ["DRAFT_MISMATCH: the finalised draft is not the one on record."]
    return []


def mint(writing: Writing, standing: Standing, notary: Notary, terms: "Terms") -> tuple[dict[str, Any], Token]:
    """Append a signed receipt to the ledger and issue a signed token."""
    _, head = notary.head()
    payload = {
        "session_id": standing.session_id,
        "scope": standing.scope,
        "now": iso_from_ms(notary.now_ms),
        "context_hash": standing.context_hash,
        "invocation_chain_head": head,
        "compliance_version": VERSION,
    }
    body = {
        "session_id": standing.session_id,
        "receipt_type": terms.receipt_type,
        "payload": payload,
        "payload_hash": digest(payload),
        "signature": sign_payload(notary.key, "receipt", {"receipt_type": terms.receipt_type, "payload": payload}),
        "public_meta": {"key_id": notary.key.key_id, "cycle": standing.cycle},
    }
    row = notary.append(RECEIPT_KIND, body)
    request = TokenRequest(
        SESSION, notary.session, "reason", "act", terms.expiry_minutes * _MINUTE_MS, notary.now_ms, notary.call_id,
        standing.context_hash, row.hash, VERSION, standing.scope, terms.permissions,
    )  # fmt: skip
    token = notary.tokens.issue(notary.key, request)
    text = json.dumps(dict(token.payload), sort_keys=True)
    writing.insert(
        "memory_tokens", session_id=standing.session_id, ts=writing.now, token_type=SESSION, payload_json=text,
        payload_hash=digest(dict(token.payload)), signature=token.signature,
    )  # fmt: skip
    return {"id": row.seq, **{name: body[name] for name in body if name != "session_id"}}, token


@dataclass(frozen=True, slots=True)
class Terms:
    """How a passed cycle is certified."""

    receipt_type: str = "governance"
    permissions: tuple[str, ...] = ()
    expiry_minutes: int = 60


def verify_receipt(key: SigningKey, body: Mapping[str, Any]) -> dict[str, Any]:
    """Tell whether a receipt was signed with this key, its type included, and its payload is unchanged."""
    payload = body.get("payload")
    payload = payload if isinstance(payload, Mapping) else {}
    signed = {"receipt_type": body.get("receipt_type"), "payload": dict(payload)}
    signature_valid = is_signed(key, "receipt", signed, body.get("signature"))
    hash_valid = body.get("payload_hash") == digest(dict(payload))
    valid = signature_valid and hash_valid
    return {"valid": valid, "signature_valid": signature_valid, "hash_valid": hash_valid, "payload": payload}
