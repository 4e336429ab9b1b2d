"""Narrower intents that one session gives another: rows of the chain, read once and followed."""

import threading
from typing import Final

from codeplane.govern.rulebook import Delegation
from codeplane.ledger.chain import EventChain, NewEvent, RowFilter

KIND: Final = "intent_delegated"
_MOST: Final = 500


class DelegationBook:
    """The newest delegations: those that stood in the chain when it was first asked, and those of this process."""

    def __init__(self, chain: EventChain) -> None:
        self._chain = chain
        self._lock = threading.Lock()
        self._read: tuple[Delegation, ...] | None = None

    def all(self) -> tuple[Delegation, ...]:
        """Return them, the oldest first."""
        with self._lock:
            if self._read is None:
                rows = self._chain.rows(RowFilter(kinds=(KIND,), limit=_MOST))
                self._read = tuple(_from_body(row.body) for row in reversed(rows))
            return self._read

    def add(self, given: Delegation) -> None:
        """Record one more."""
        body = {
            "id": given.id,
            "parent": given.parent,
            "to": given.session,
            "paths": list(given.paths),
            "goal": given.goal,
        }
        self._chain.append(NewEvent(KIND, given.session, body))
        with self._lock:
            self._read = None


def _from_body(body: dict[str, object]) -> Delegation:
    paths = body["paths"]
    listed = tuple(str(one) for one in paths) if isinstance(paths, list) else ()
    return Delegation(str(body["id"]), str(body["parent"]), str(body["to"]), listed, str(body["goal"]))
