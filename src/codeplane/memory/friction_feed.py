"""The feed of the friction ledger: calls that were refused or failed, and later ones that succeeded."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from codeplane.memory.anchors import resolve, seed_anchors
from codeplane.memory.friction import Friction, record_friction, record_resolution, unresolved
from codeplane.memory.friction_codes import call_in_short, enforcement_of
from codeplane.memory.settings import FrictionSettings
from codeplane.memory.store import MemoryStore, Origin

_MAX_SESSIONS: Final = 200


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that changes something, after it ended; `code` is None when it succeeded."""

    operation: str
    session: str
    paths: tuple[str, ...]
    fingerprint: str
    code: str | None
    call_id: str
    arguments: dict[str, Any]


class FrictionFeed:
    """Turns attempts into lines of the friction ledger.

    Invariant: `_open` has, for each session that it knows, the operations and anchors that wait for a success, so that
    a success elsewhere costs no query.
    """

    def __init__(
        self,
        store: Callable[[], MemoryStore],
        directories: Callable[[], AbstractSet[str]],
        settings: FrictionSettings,
    ) -> None:
        self._store = store
        self._directories = directories
        self._settings = settings
        self._open: OrderedDict[str, set[tuple[str, str]]] = OrderedDict()
        self._lock = threading.Lock()
        self._seeded: AbstractSet[str] | None = None

    def observe(self, attempt: Attempt, origin: Callable[[], Origin]) -> list[list[Any]]:
        """Record an attempt if it is friction or resolves some; return the rows that were written, for the ledger.

        Raises:
            CodePlaneError: the store cannot be written.
        """
        if attempt.code is not None:
            return self._record(attempt, origin) if enforcement_of(attempt.code) is not None else []
        waiting = self._waiting(attempt.session)
        if not any(operation == attempt.operation for operation, _anchor in waiting):
            return []
        return self._resolve(attempt, waiting, origin)

    def _record(self, attempt: Attempt, origin: Callable[[], Origin]) -> list[list[Any]]:
        directories = self._directories()
        friction = self._friction(attempt)
        with self._store().write(origin()) as writing:
            if directories is not self._seeded:
                seed_anchors(writing.connection, directories, self._settings)
            record_friction(writing, self._settings, friction)
        self._seeded = directories
        with self._lock:
            if attempt.session in self._open:
                self._open[attempt.session].add((friction.operation, friction.anchors[0]))
        return writing.noted

    def _resolve(
        self, attempt: Attempt, waiting: set[tuple[str, str]], origin: Callable[[], Origin]
    ) -> list[list[Any]]:
        success = self._friction(attempt)
        key = (attempt.operation, success.anchors[0])
        if key not in waiting:
            return []
        with self._store().write(origin()) as writing:
            record_resolution(writing, self._settings, success)
        with self._lock:
            waiting.discard(key)
        return writing.noted

    def _friction(self, attempt: Attempt) -> Friction:
        return Friction(
            (attempt.code,) if attempt.code is not None else (),
            attempt.operation,
            attempt.session,
            resolve(attempt.paths, self._directories(), self._settings),
            attempt.fingerprint,
            attempt.paths,
            trace_ref=attempt.call_id,
            before=call_in_short(attempt.operation, attempt.arguments),
        )

    def _waiting(self, session: str) -> set[tuple[str, str]]:
        with self._lock:
            if session not in self._open:
                with self._store().read() as connection:
                    self._open[session] = set(unresolved(connection, session))
            self._open.move_to_end(session)
            if len(self._open) > _MAX_SESSIONS:
                self._open.popitem(last=False)
            return self._open[session]
