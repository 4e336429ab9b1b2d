"""Lessons: failures of verification with what fixed them, and decisions that a person adds.

A failure is told by closed fields only: command class, test id, path, error class, count. Nothing that a program
printed enters, because agents read these lines as instructions.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.memory.store import Writing

MAX_LINES: Final = 200
FAILURE, DECISION = "failure", "decision"
_MAX_FIELD: Final = 120
_MAX_TEXT: Final = 300
_MAX_FIXES: Final = 5
# A failure is shown once it came back, or once it is known what fixed it.
_RECURRING: Final = 2
_ODD: Final = re.compile(r"[^A-Za-z0-9_./:\[\]-]+")
_FORBIDDEN: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|<!--|-->|https?:|www\.|\]\(|(?:^|\s)@\S|```", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """One failure that verification showed; `fingerprint` is the same wherever and whenever it happens again."""

    fingerprint: str
    command_class: str
    test_id: str
    path: str
    error_class: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """One row."""

    id: int
    kind: str
    fingerprint: str
    command_class: str
    test_id: str
    path: str
    error_class: str
    n: int
    fixed_in: tuple[str, ...]
    text: str
    last_seen: str

    def line(self) -> str:
        """Return the line that agents read: facts, no orders."""
        if self.kind == DECISION:
            return f"- Decision: {self.text}"
        where = f" in `{self.path}`" if self.path and not self.test_id.startswith(self.path) else ""
        how = f" ({self.error_class})" if self.error_class else ""
        fixed = f"; fixed by a change of {', '.join(f'`{one}`' for one in self.fixed_in)}" if self.fixed_in else ""
        times = "once" if self.n == 1 else f"{self.n} times"
        return f"- {self.command_class} failed {times}: `{self.test_id or self.path}`{where}{how}{fixed}"


def record_failure(writing: Writing, failed: FailedCheck) -> None:
    """Count a failure; the same one again is not a second lesson."""
    found = writing.connection.execute(
        "SELECT id, n FROM lessons WHERE fingerprint = ?", (failed.fingerprint,)
    ).fetchone()
    if found is not None:
        writing.update("lessons", int(found[0]), n=int(found[1]) + 1, last_seen=writing.now)
        return
    writing.insert(
        "lessons",
        kind=FAILURE,
        fingerprint=failed.fingerprint,
        command_class=plain(failed.command_class),
        test_id=plain(failed.test_id),
        path=plain(failed.path),
        error_class=plain(failed.error_class),
        first_seen=writing.now,
        last_seen=writing.now,
    )


def record_fix(writing: Writing, fingerprints: Iterable[str], paths: Sequence[str]) -> None:
    """Note which files were changed before failures were gone."""
    for fingerprint in fingerprints:
        query = "SELECT id, fixed_in FROM lessons WHERE fingerprint = ?"
        found = writing.connection.execute(query, (fingerprint,)).fetchone()
        if found is None:
            continue
        known = json.loads(found[1])
        fixed = list(dict.fromkeys((*known, *(plain(path) for path in paths))))[:_MAX_FIXES]
        if fixed != known:
            writing.update("lessons", int(found[0]), fixed_in=json.dumps(fixed), last_seen=writing.now)


def add_decision(writing: Writing, text: str) -> None:
    """Keep a decision that a person adds.

    Raises:
        CodePlaneError: VALIDATION_ERROR when it holds links, imports, markers or control characters, or is too long.
    """
    bare = " ".join(text.split(" ")).strip()
    if not bare or len(bare) > _MAX_TEXT or _FORBIDDEN.search(bare):
        message = f"A decision is one line of at most {_MAX_TEXT} characters without links, imports (@…) and markers."
        raise CodePlaneError("VALIDATION_ERROR", message)
    fingerprint = f"decision:{sha256_text(bare.casefold())}"
    if writing.connection.execute("SELECT 1 FROM lessons WHERE fingerprint = ?", (fingerprint,)).fetchone() is None:
        writing.insert(
            "lessons", kind=DECISION, fingerprint=fingerprint, text=bare, first_seen=writing.now, last_seen=writing.now
        )


def lessons(connection: sqlite3.Connection) -> tuple[Lesson, ...]:
    """Return all lessons: decisions first, then failures, the most frequent first."""
    query = (
        "SELECT id, kind, fingerprint, command_class, test_id, path, error_class, n, fixed_in, text, last_seen"
        " FROM lessons ORDER BY kind = 'failure', n DESC, fingerprint"
    )
    return tuple(_lesson(tuple(row)) for row in connection.execute(query))


def _lesson(row: Sequence[Any]) -> Lesson:
    names = ("id", "kind", "fingerprint", "command_class", "test_id", "path", "error_class", "n", "text", "last_seen")
    values = dict(zip(names, (*row[:8], row[9], row[10]), strict=True))
    return Lesson(**values, fixed_in=tuple(json.loads(row[8])))


def lesson_lines(found: Sequence[Lesson]) -> tuple[str, ...]:
    """Return the lines of the managed block, bounded; a failure that happened once and has no fix teaches nothing."""
    shown = [one for one in found if one.kind == DECISION or one.n >= _RECURRING or one.fixed_in]
    lines = [one.line() for one in shown]
    # Two lines are the heading's.
    return ("## Lessons Learned", "", *dict.fromkeys(lines))[:MAX_LINES] if lines else ()


def plain(text: str) -> str:
    """Return a name with nothing in it that could be read as markup or as an instruction."""
    return _ODD.sub("_", text)[:_MAX_FIELD]
