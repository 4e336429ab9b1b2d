"""What is kept of agents' own calls between the hook before and the hook after: one small file for each.

Any process may answer any hook, so nothing of this is in memory.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from codeplane.core.clock import Clock
from codeplane.core.hashing import sha256_text

_KEPT_MS: Final = 24 * 3_600_000
_LOCK_SECONDS: Final = 30.0
_NAME_LENGTH: Final = 16
OPEN, HELD, REFUSED, ENDED = "open", "held", "refused", "ended"


@dataclass(frozen=True, slots=True)
class OutsideEntry:
    """One call: its state, how its hook was answered, and what is needed to end it.

    `begun` holds what `finish_outside` needs, `tool` the call that was judged, `asked` a digest of the one that was
    asked for.
    """

    session: str
    key: str
    state: str
    at_ms: int
    answer: Mapping[str, Any] = field(default_factory=dict)
    tool: Mapping[str, Any] = field(default_factory=dict)
    cwd: str = ""
    asked: str = ""
    begun: Mapping[str, Any] = field(default_factory=dict)


class OutsideBook:
    """The calls of all agents in one working tree, and a little about each of their sessions.

    Invariant: files of a session are read and written under its lock; a damaged file counts as none.
    """

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock

    @contextmanager
    def locked(self, session: str) -> Iterator[None]:
        """Let one process or thread at a time decide over the calls of a session."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self._place(session, "lock"), timeout=_LOCK_SECONDS, thread_local=False):
            yield

    def find(self, session: str, key: str) -> OutsideEntry | None:
        """Return a call of a session, None when it is not known."""
        document = self._read(self._place(session, f"{_name(key)}.json"))
        return _entry(document) if document is not None else None

    def put(self, entry: OutsideEntry) -> None:
        """Keep a call."""
        self._write(self._place(entry.session, f"{_name(entry.key)}.json"), asdict(entry))

    def open_calls(self, session: str) -> list[OutsideEntry]:
        """Return the calls of a session that have not ended, the oldest first."""
        documents = [self._read(path) for path in self._directory.glob(f"{_name(session)}-*.json")]
        found = [entry for one in documents if one is not None and (entry := _entry(one)) is not None]
        return sorted((one for one in found if one.state == OPEN), key=lambda one: one.at_ms)

    def facts(self, session: str) -> dict[str, Any]:
        """Return what is known of a session: the agent, its version and model, what it was told."""
        return self._read(self._place(session, "facts")) or {}

    def note(self, session: str, facts: Mapping[str, Any]) -> None:
        """Keep what is known of a session."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write(self._place(session, "facts"), facts)

    def sessions(self) -> list[dict[str, Any]]:
        """Return what is known of the sessions of the last day, the newest first."""
        found = [one for path in self._directory.glob("*-facts") if (one := self._read(path)) is not None]
        return sorted(found, key=lambda one: int(one.get("at_ms", 0)), reverse=True)

    def prune(self) -> None:
        """Remove what is older than a day."""
        oldest = self._clock.now_ms() / 1000 - _KEPT_MS / 1000
        for path in self._directory.glob("*"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _place(self, session: str, name: str) -> Path:
        return self._directory / f"{_name(session)}-{name}"

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        return document if isinstance(document, dict) else None

    def _write(self, path: Path, document: Mapping[str, Any]) -> None:
        # Not durable: after a loss of power no agent is at work.
        unseen = path.with_name(f"{path.name}.new")
        unseen.write_text(json.dumps(document), encoding="utf-8")
        unseen.replace(path)


def _name(text: str) -> str:
    return sha256_text(text)[:_NAME_LENGTH]


def _entry(document: Mapping[str, Any]) -> OutsideEntry | None:
    try:
        return OutsideEntry(**document)
    except TypeError:
        return None
