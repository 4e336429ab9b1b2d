"""Held calls and what people said of them.

Everything is a row of the chain: `approval_requested`, `approval_decided`, `approval_used`, `approval_revoked`. The
table `approvals` is an index that finds and lists holds. What a hold says, and whether it lets a call through, is
derived from its sealed rows each time. An approval "once" is bound to the exact call: session, operation, arguments,
rules in force and tool schema. It is used by one call
and expires. Wider grants cover an operation for an intent, a session or a rule, expire too, and never cover protected
paths.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from codeplane.core.canonical_json import canonical_text
from codeplane.core.clock import Clock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import IdSource
from codeplane.core.logs import fields, get_logger
from codeplane.core.printable import printable_text
from codeplane.govern.governed_call import Approved
from codeplane.ledger.chain import SYSTEM_SESSION, EventChain, LedgerRow, NewEvent, RowFilter
from codeplane.ledger.evidence import Evidence

_log = get_logger(__name__)
PENDING, APPROVED, DENIED, USED, REVOKED, EXPIRED = "pending", "approved", "denied", "used", "revoked", "expired"
ONCE: Final = "once"
SCOPE_EXPANSION: Final = "scope_expansion"
SCOPES: Final = (ONCE, "intent", "session", "rule")
KINDS: Final = ("approval_requested", "approval_decided", "approval_used", "approval_revoked")
_WAITS_MS: Final = 24 * 3_600_000
_USABLE_MS: Final = 15 * 60_000
MAX_GRANT_MINUTES: Final = 24 * 60
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS approvals (
        hold_id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        call_key TEXT NOT NULL,
        hold TEXT NOT NULL
    )
"""
_INDEX: Final = "CREATE INDEX IF NOT EXISTS approvals_by_call ON approvals (call_key)"


@dataclass(frozen=True, slots=True)
class CallKey:
    """What an approval is bound to."""

    session: str
    operation: str
    arguments_digest: str
    rules_digest: str
    schema_digest: str

    def text(self) -> str:
        """Return it as one text."""
        return "\n".join(asdict(self).values())


@dataclass(frozen=True, slots=True)
class Hold:
    """A request to a person and what became of it.

    `card` is what the person is shown: the exact call, resolved paths, the rule, the intent, the caller.
    """

    hold_id: str
    kind: str
    key: CallKey
    reason: str
    policy: str
    rule: str
    intent: str | None
    created_ms: int
    expires_ms: int
    card: Mapping[str, Any]
    worktree: str = "main"
    state: str = PENDING
    scope: str = ONCE
    comment: str = ""
    decided_by: str = ""
    decided_ms: int | None = None
    used_by: str | None = None

    def state_at(self, now_ms: int) -> str:
        """Return its state; what has not been used in time has expired."""
        return EXPIRED if self.state in {PENDING, APPROVED, DENIED} and now_ms >= self.expires_ms else self.state

    def as_document(self, now_ms: int) -> dict[str, Any]:
        """Return what surfaces show."""
        return {
            "id": self.hold_id,
            "kind": self.kind,
            "state": self.state_at(now_ms),
            "scope": self.scope,
            "operation": self.key.operation,
            "arguments_digest": self.key.arguments_digest,
            "session": self.key.session,
            "worktree": self.worktree,
            "intent": self.intent,
            "reason": self.reason,
            "policy": self.policy,
            "rule": self.rule,
            "requested_at": iso_from_ms(self.created_ms),
            "expires_at": iso_from_ms(self.expires_ms),
            "decided_at": iso_from_ms(self.decided_ms) if self.decided_ms is not None else None,
            "decided_by": self.decided_by or None,
            "comment": self.comment or None,
            "used_by": self.used_by,
            "card": dict(self.card),
        }


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """A call that has to wait."""

    key: CallKey
    reason: str
    policy: str
    rule: str
    intent: str | None
    card: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "call"
    worktree: str = "main"


@dataclass(frozen=True, slots=True)
class PersonsAnswer:
    """What a person says. `scope` other than once makes a grant that lasts `minutes`."""

    approves: bool
    by: str
    comment: str = ""
    scope: str = ONCE
    minutes: int = 60


class ApprovalBook:
    """All held calls of a repository, for every process that works in it.

    Invariant: a state in the table is what its rows add up to; both change in one transaction.
    """

    def __init__(self, chain: EventChain, clock: Clock, ids: IdSource) -> None:
        self._chain = chain
        self._clock = clock
        self._ids = ids
        with chain.database.read() as connection:
            is_there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'approvals'").fetchone()
        if is_there is None:
            self._rebuild()

    def request(self, wanted: HoldRequest) -> Hold:
        """Return the pending hold of a call, made when there is none."""
        made: list[Hold] = []

        def change(connection: sqlite3.Connection, _key: object) -> NewEvent | None:
            now = self._clock.now_ms()
            for one in self._of_key(connection, wanted.key):
                if one.state_at(now) == PENDING:
                    made.append(one)
                    return None
            hold = Hold(
                self._ids.new("hold"), wanted.kind, wanted.key, wanted.reason, wanted.policy, wanted.rule,
                wanted.intent, now, now + _WAITS_MS, wanted.card, wanted.worktree,
            )  # fmt: skip
            made.append(hold)
            _put(connection, hold)
            return _event("approval_requested", hold, {"hold": _as_body(hold)})

        self._chain.append_after(change)
        return made[0]

    def said_of(self, key: CallKey, intent: str | None, rule: str | None = None) -> Approved | None:
        """Return what a person has said that bears on a call: an answer to it, else a grant that covers it."""
        now = self._clock.now_ms()
        with self._chain.database.read() as connection:
            evidence = Evidence(self._chain, connection)
            exact = [one for one in self._of_key(connection, key) if one.state_at(now) in {PENDING, APPROVED, DENIED}]
            for state in (DENIED, APPROVED):
                for one in exact:
                    if one.state == state and one.scope == ONCE and (state == DENIED or _is_unbroken(evidence, one)):
                        return Approved(one.hold_id, state, is_exact=True, comment=one.comment)
            found = [_derived(evidence, hold_id) for hold_id in _ids(connection, "state = ?", (APPROVED,))]
            for grant in (one for one in found if one is not None and one.scope != ONCE):
                is_covered = grant.state_at(now) == APPROVED and _covers(grant, key, intent, rule)
                if is_covered and _is_unbroken(evidence, grant):
                    return Approved(grant.hold_id, APPROVED, is_exact=False, comment=grant.comment, scope=grant.scope)
        return next((Approved(one.hold_id, PENDING, is_exact=True) for one in exact if one.state == PENDING), None)

    def use(self, hold_id: str, call_id: str) -> bool:
        """Use an approval up; false when it cannot be used any more."""

        def change(connection: sqlite3.Connection, _key: object) -> NewEvent | None:
            evidence = Evidence(self._chain, connection)
            hold = _derived(evidence, hold_id)
            if hold is None or hold.state_at(self._clock.now_ms()) != APPROVED or hold.scope != ONCE:
                return None
            if not _is_unbroken(evidence, hold):
                return None
            hold = replace(hold, state=USED, used_by=call_id)
            _put(connection, hold)
            return _event("approval_used", hold, {"used_by": call_id})

        return self._chain.append_after(change) is not None

    def decide(self, hold_id: str, answer: PersonsAnswer) -> Hold:
        """Record what a person says of a pending hold.

        Raises:
            CodePlaneError: APPROVAL_NOT_FOUND, APPROVAL_EXPIRED or INVALID_ARGUMENTS.
        """
        if answer.scope not in SCOPES or not 1 <= answer.minutes <= MAX_GRANT_MINUTES:
            message = f"The scope is one of {', '.join(SCOPES)}, for 1 to {MAX_GRANT_MINUTES} minutes."
            raise CodePlaneError("INVALID_ARGUMENTS", message)
        decided: list[Hold] = []

        def change(connection: sqlite3.Connection, _key: object) -> NewEvent | None:
            now = self._clock.now_ms()
            hold = _derived(Evidence(self._chain, connection), hold_id)
            if hold is None:
                raise CodePlaneError("APPROVAL_NOT_FOUND", f"There is no held call {hold_id[:80]}.")
            state = hold.state_at(now)
            if state != PENDING:
                raise CodePlaneError("APPROVAL_EXPIRED", f"{hold_id} is no longer waiting: it is {state}.")
            lasts = _USABLE_MS if answer.scope == ONCE else answer.minutes * 60_000
            hold = replace(
                hold,
                state=APPROVED if answer.approves else DENIED,
                scope=answer.scope if answer.approves else ONCE,
                comment=printable_text(answer.comment[:2000]),
                decided_by=answer.by,
                decided_ms=now,
                expires_ms=now + lasts,
            )
            decided.append(hold)
            _put(connection, hold)
            body = {"state": hold.state, "scope": hold.scope, "comment": hold.comment, "by": hold.decided_by}
            return _event("approval_decided", hold, {**body, "expires_ms": hold.expires_ms, "decided_ms": now})

        self._chain.append_after(change)
        return decided[0]

    def revoke(self, hold_id: str, by: str) -> Hold:
        """Take an approval or grant back that has not been used up.

        Raises:
            CodePlaneError: APPROVAL_NOT_FOUND.
        """
        revoked: list[Hold] = []

        def change(connection: sqlite3.Connection, _key: object) -> NewEvent | None:
            hold = _derived(Evidence(self._chain, connection), hold_id)
            if hold is None or hold.state_at(self._clock.now_ms()) != APPROVED:
                raise CodePlaneError("APPROVAL_NOT_FOUND", f"There is no approval {hold_id[:80]} to revoke.")
            hold = replace(hold, state=REVOKED)
            revoked.append(hold)
            _put(connection, hold)
            return _event("approval_revoked", hold, {"by": by})

        self._chain.append_after(change)
        return revoked[0]

    def find(self, hold_id: str) -> Hold:
        """Return one hold.

        Raises:
            CodePlaneError: APPROVAL_NOT_FOUND.
        """
        with self._chain.database.read() as connection:
            found = _derived(Evidence(self._chain, connection), hold_id)
        if found is None:
            raise CodePlaneError("APPROVAL_NOT_FOUND", f"There is no held call {hold_id[:80]}.")
        return found

    def holds(self, state: str | None = None, limit: int = 200) -> list[Hold]:
        """Return holds, the newest first; of one state, or all."""
        now = self._clock.now_ms()
        # The state in the table is the one before it expired.
        stored = state if state in {PENDING, APPROVED, DENIED, USED, REVOKED} else None
        condition, values = ("state = ?", (stored,)) if stored is not None else ("1 = 1", ())
        with self._chain.database.read() as connection:
            evidence = Evidence(self._chain, connection)
            found = [one for hold_id in _ids(connection, condition, values) if (one := _derived(evidence, hold_id))]
        found.sort(key=lambda one: (one.created_ms, one.hold_id), reverse=True)
        return [one for one in found if state is None or one.state_at(now) == state][:limit]

    def grants(self) -> list[Hold]:
        """Return the wider grants in force."""
        return [one for one in self.holds(APPROVED) if one.scope != ONCE]

    def contradictions(self) -> tuple[str, ...]:
        """Return where the table says something else than the sealed rows."""
        with self._chain.database.read() as connection:
            evidence = Evidence(self._chain, connection)
            listed = connection.execute("SELECT hold_id, state, call_key, hold FROM approvals").fetchall()
            wrong = [record[0] for record in listed if not _agrees(_derived(evidence, str(record[0])), record)]
        return tuple(f"table approvals: {hold_id} is not as its sealed rows say" for hold_id in wrong)

    def _of_key(self, connection: sqlite3.Connection, key: CallKey) -> list[Hold]:
        evidence = Evidence(self._chain, connection)
        found = [_derived(evidence, hold_id) for hold_id in _ids(connection, "call_key = ?", (key.text(),))]
        return [one for one in found if one is not None and one.key == key]

    def _rebuild(self) -> None:
        rows = reversed(self._chain.rows(RowFilter(kinds=("approval_requested",), limit=1_000_000)))
        with self._chain.database.write() as connection:
            connection.execute(_TABLE)
            connection.execute(_INDEX)
            evidence = Evidence(self._chain, connection)
            for row in rows:
                hold = _derived(evidence, str(row.call_id))
                if hold is not None:
                    _put(connection, hold)


def keeps(row: LedgerRow) -> bool:
    """Tell whether a row belongs to an approval, or holds rules that decisions rest on; these are never retired."""
    return row.kind in KINDS or row.kind in {"rules_in_force", "intent_delegated"}


def _covers(hold: Hold, key: CallKey, intent: str | None, rule: str | None) -> bool:
    if hold.key.operation != key.operation:
        return False
    if hold.scope == "session":
        return hold.key.session == key.session
    if hold.scope == "intent":
        return hold.intent is not None and hold.intent == intent
    return hold.scope == "rule" and rule is not None and hold.rule == rule


def _derived(evidence: Evidence, hold_id: str) -> Hold | None:
    """Return a hold as its sealed rows tell it; None without a sealed request.

    Only a row that we sealed approves. A refusal, a revocation or a use counts whatever its seal: it grants nothing.
    """
    hold: Hold | None = None
    for found in evidence.rows("call_id = ? ORDER BY seq", (hold_id,)):
        row = found.row
        try:
            if row.kind == "approval_requested" and found.is_ours and hold is None:
                hold = _from_body(row.body["hold"])
            elif hold is not None and (found.is_ours or row.body.get("state") != APPROVED):
                hold = _after(hold, row)
        except (KeyError, TypeError, ValueError):
            # Not one of our rows; it cannot say anything about the hold.
            continue
    return hold if hold is not None and hold.hold_id == hold_id else None


def _after(hold: Hold, row: LedgerRow) -> Hold:
    body = row.body
    if row.kind == "approval_decided":
        return replace(
            hold, state=body["state"], scope=body["scope"], comment=body["comment"], decided_by=body["by"],
            decided_ms=body["decided_ms"], expires_ms=body["expires_ms"],
        )  # fmt: skip
    if row.kind == "approval_used":
        return replace(hold, state=USED, used_by=body["used_by"])
    return replace(hold, state=REVOKED) if row.kind == "approval_revoked" else hold


def _is_unbroken(evidence: Evidence, hold: Hold) -> bool:
    """Tell whether no row was removed or changed since a person approved: one may have used or revoked it."""
    decided = "call_id = ? AND kind = 'approval_decided' ORDER BY seq DESC LIMIT 1"
    try:
        for found in evidence.rows(decided, (hold.hold_id,)):
            evidence.check_since(found.row)
            return found.is_ours
    except CodePlaneError as error:
        if error.code != "CHAIN_BROKEN":
            raise
        _log.error("an approval does not count", extra=fields(hold=hold.hold_id, reason=error.message))
    return False


def _agrees(hold: Hold | None, record: sqlite3.Row) -> bool:
    return hold is not None and tuple(record) == _values(hold)


def _event(kind: str, hold: Hold, body: dict[str, Any]) -> NewEvent:
    session = hold.key.session if kind in {"approval_requested", "approval_used"} else SYSTEM_SESSION
    body = {"hold_id": hold.hold_id, **body}
    return NewEvent(kind, session, body, hold.hold_id, hold.key.operation, None, hold.worktree)


def _as_body(hold: Hold) -> dict[str, Any]:
    return {**asdict(hold), "card": dict(hold.card)}


def _from_body(body: Mapping[str, Any]) -> Hold:
    return Hold(**{**body, "key": CallKey(**body["key"])})


def _values(hold: Hold) -> tuple[str, str, str, str]:
    return hold.hold_id, hold.state, hold.key.text(), canonical_text(_as_body(hold))


def _put(connection: sqlite3.Connection, hold: Hold) -> None:
    connection.execute("INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?)", _values(hold))


def _ids(connection: sqlite3.Connection, condition: str, values: tuple[str, ...]) -> list[str]:
    query = f"SELECT hold_id FROM approvals WHERE {condition} ORDER BY rowid DESC"  # noqa: S608 - our own conditions
    return [str(row[0]) for row in connection.execute(query, values)]
