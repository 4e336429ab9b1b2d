"""The trace of one working tree: records of changes, their projection, and whose each line is."""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from codeplane.core.clock import Clock
from codeplane.core.hashing import sha256_bytes, sha256_text
from codeplane.core.ids import IdSource
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.edit.appending import read_tail, replace_file
from codeplane.git.contents import read_blobs
from codeplane.git.object_lookup import has_object
from codeplane.git.progress import progress_of
from codeplane.git.repository import Repository, run_git
from codeplane.govern.intents import IntentsDocument
from codeplane.govern.trace.carrying import CarriedLines
from codeplane.govern.trace.files import MAP_FILE, TRACE_FILE
from codeplane.govern.trace.index import TraceIndex
from codeplane.govern.trace.intent_map import map_text, places_in, places_of
from codeplane.govern.trace.ledger_records import FIELD, TRACED_KIND, traced_rows
from codeplane.govern.trace.lines import blob_id
from codeplane.govern.trace.matching import Matcher, Owned
from codeplane.govern.trace.projection import Marker, Projection
from codeplane.govern.trace.records import OUTSIDE, UNKNOWN, Cause, Definitions, TracedFile, make_record
from codeplane.govern.trace.segments import HEAD_KIND, Head, head_of, read_line, without_chain
from codeplane.govern.trace.verification import GitView, LedgerView, TraceReport, verify_trace
from codeplane.ledger.chain import SYSTEM_SESSION, EventChain, NewEvent, RowFilter

_LARGEST: Final = 64 * 1024 * 1024
_LARGEST_TRACE: Final = 2 * 1024 * 1024 * 1024
_ID: Final = re.compile(r'\],"id":"([^"\\]+)","metadata":')
_LEDGER: Final = "ledger"
_FILE: Final = "file"


@dataclass(frozen=True, slots=True)
class TracePlaces:
    """What the trace needs to know of its workspace.

    `content_of` returns the bytes that a call left at a path, as long as they are kept for undo.
    """

    repository: Repository
    private: Path
    repo_id: str
    content_of: Callable[[str, str], bytes | None]
    definitions: Definitions
    projects: Callable[[], bool]


class TraceBook:
    """Records changes and tells whose lines are.

    Invariant: a record is in the ledger before it is in the file.
    """

    def __init__(self, places: TracePlaces, chain: EventChain, clock: Clock, ids: IdSource) -> None:
        self._places = places
        self._chain = chain
        self._clock = clock
        self._root = places.repository.root
        self._worktree = places.repository.worktree_id
        self._index: TraceIndex | None = None
        self._carried = CarriedLines(self._root, places.private)
        self.projection = Projection(self._root, places.private, lambda: ids.new("seg"))

    def close(self) -> None:
        """Close what was opened."""
        if self._index is not None:
            self._index.close()

    # Recording

    def records_of(self, files: Sequence[TracedFile], cause: Cause) -> list[dict[str, Any]]:
        """Return the records of a change, after those of what happened to its files behind our back."""
        index = self._known()
        found = []
        for file in files:
            outside = self._outside_record(index, file, cause)
            found += [outside] if outside is not None else []
            found.append(self.record_of(file, cause))
        return found

    def record_of(self, file: TracedFile, cause: Cause) -> dict[str, Any]:
        """Return the record of one file's change."""
        return make_record(self._places.repo_id, file, cause, self._places.definitions)

    def _outside_record(self, index: TraceIndex, file: TracedFile, cause: Cause) -> dict[str, Any] | None:
        """Return the record of a change that somebody else made to a file since we last saw it, or None."""
        path = file.previous_path or file.path
        if file.before is None:
            return None
        now = blob_id(file.before, cause.revision)
        last = index.last_at(printable_name(path), self._worktree)
        if index.knows_state(now) or (last is not None and last.after == now):
            return None
        if last is None and has_object(self._places.repository.common_dir, now):
            return None
        known = self._blobs([now, *([last.after] if last is not None and last.after else [])])
        if last is None and now in known:
            # Git has it: its history tells who wrote it.
            return None
        before = None
        if last is not None and last.after is not None:
            before = self._places.content_of(last.call_id, path) or known.get(last.after)
        outside = replace(
            cause,
            call_id="", session="", contributor=UNKNOWN, tool_name="unknown", tool_origin=UNKNOWN, action=OUTSIDE,
            agent="", model=None, intent=None, requirements=(), mutation_class=None, claimed_class=None,
            approval=None, caused_by=None, ungated=True, candidates=(),
        )  # fmt: skip
        return self.record_of(TracedFile(path, before, file.before), outside)

    def record(self, files: Sequence[TracedFile], cause: Cause) -> tuple[str, ...]:
        """Record a change that no call of ours made: of an agent's native tool, a shell command, a person.

        Returns the ids of its records.
        """
        changed = [one for one in files if one.before != one.after or one.previous_path is not None]
        if not changed:
            return ()
        records = self.records_of(changed, cause)
        event = NewEvent(
            TRACED_KIND, cause.session or SYSTEM_SESSION, {FIELD: records}, cause.call_id or None,
            cause.tool_name, None, self._worktree,
        )  # fmt: skip
        self._chain.append(event)
        self.project()
        return tuple(one["id"] for one in records)

    def add(self, records: Sequence[dict[str, Any]], session: str) -> None:
        """Add records that another program or clone made."""
        if records:
            body = {FIELD: list(records), "imported": len(records)}
            self._chain.append(NewEvent(TRACED_KIND, session, body, worktree=self._worktree))
            self.project()

    # Projection

    def project(self) -> None:
        """Bring the file up to what the ledger has for this tree; not in the middle of a rebase or merge.

        There a changed file that git tracks would stop `git rebase --continue`. The records wait in the ledger.
        """
        if not self._places.projects() or progress_of(self._places.repository.git_dir) != "none":
            return
        with self.projection.writing() as is_held:
            if not is_held:
                return
            self._carried.bring_back()
            marker = self._marker()
            rows = list(traced_rows(self._chain, marker.row if marker is not None else 0, self._worktree))
            if not rows:
                return
            records = [record for row in rows for record in row.records]
            if self.projection.marker() is None:
                there = self.projection.ids()
                records = [record for record in records if record["id"] not in there]
            head = self.projection.append(records, marker, rows[-1].seq)
        if head is not None:
            body = {**head.as_dict(), "row": rows[-1].seq}
            self._chain.append_later(NewEvent(HEAD_KIND, SYSTEM_SESSION, body, worktree=self._worktree))

    def update_map(self, intents: IntentsDocument | None, records: Sequence[dict[str, Any]] = ()) -> None:
        """Bring the intent map up to new records and to the intents as they are; nothing is written if it says so."""
        if not self._places.projects() or progress_of(self._places.repository.git_dir) != "none":
            return
        place = self._root / MAP_FILE
        text = place.read_text(encoding="utf-8", errors="replace") if place.is_file() else ""
        places = places_in(text)
        for intent, found in places_of(records).items():
            places.setdefault(intent, set()).update(found)
        wanted = map_text(places, intents)
        if wanted != text:
            replace_file(self._root, RepoPath.parse(MAP_FILE), wanted.encode())

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Keep lines that are not committed out of git's way, and bring them back when it is done.

        In the middle of a rebase or merge they wait until that has ended. Lines that somebody staged are git's.
        """
        with self.projection.writing() as is_held:
            if is_held and self.projection.place.is_file():
                head, index = (self._version(f"{name}:{TRACE_FILE}") for name in ("HEAD", ""))
                if head == index:
                    self._carried.set_aside(head)
            mapped = self._set_map_aside()
            try:
                yield
            finally:
                if is_held and progress_of(self._places.repository.git_dir) == "none":
                    self._carried.bring_back()
                    self._bring_map_back(mapped)

    def _set_map_aside(self) -> str | None:
        """Put the map back to its committed version; return what it says now. It can be made again from records."""
        place, committed = self._root / MAP_FILE, self._version(f"HEAD:{MAP_FILE}")
        if committed is None or not place.is_file() or place.read_bytes() == committed:
            return None
        text = place.read_text(encoding="utf-8", errors="replace")
        replace_file(self._root, RepoPath.parse(MAP_FILE), committed)
        return text

    def _bring_map_back(self, text: str | None) -> None:
        place = self._root / MAP_FILE
        if text is None or not place.is_file():
            return
        now = place.read_text(encoding="utf-8", errors="replace")
        both = places_in(now)
        for intent, found in places_in(text).items():
            both.setdefault(intent, set()).update(found)
        if both != places_in(now):
            replace_file(self._root, RepoPath.parse(MAP_FILE), map_text(both, None).encode())

    def _marker(self) -> Marker | None:
        """Return what was projected last; without the note beside the index the ledger's heads tell."""
        noted = self.projection.marker()
        if noted is not None and noted.row <= self._chain.last_seq():
            return noted
        for row in self._chain.rows(RowFilter(kinds=(HEAD_KIND,), limit=100)):
            head = head_of(row.body)
            if row.worktree == self._worktree and head is not None:
                return Marker(head, int(row.body.get("row", 0)))
        return None

    # Reading

    def _known(self) -> TraceIndex:
        """Return the index with everything that the ledger has."""
        if self._index is None:
            self._index = TraceIndex(self._places.private / "trace.db")
        after = int(self._index.position(_LEDGER) or 0)
        rows = list(traced_rows(self._chain, after))
        if rows:
            records = [record for row in rows for record in row.records]
            self._index.add(_LEDGER, str(rows[-1].seq), records, are_own=True)
        return self._index

    def index(self) -> TraceIndex:
        """Return all known records: those of the ledger, and those that came with the file."""
        index = self._known()
        place = self.projection.place
        try:
            status = place.stat()
        except OSError:
            return index
        stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
        known = json.loads(index.position(_FILE) or "{}")
        if known.get("stamp") == stamp:
            return index
        start = self._resume_at(place, known)
        end = _end_of_lines(place)
        position = {"stamp": stamp, "end": end, "mark": _mark_before(place, end)}
        index.add(_FILE, json.dumps(position), _read_bodies(place, start, end), are_own=False)
        return index

    @staticmethod
    def _resume_at(place: Path, known: dict[str, Any]) -> int:
        """Return where to go on reading: at the end of what was read, if that part looks as before."""
        end = int(known.get("end", 0))
        return end if end and _mark_before(place, end) == known.get("mark") else 0

    def owners_of(self, path: str, data: bytes, head: str | None = None) -> tuple[list[Owned], TraceIndex]:
        """Return the owner of each line of a content that is, or was, at a path."""
        index = self.index()
        matcher = Matcher(index, self._read_blob)
        return matcher.owners_of(printable_name(path), blob_id(data, head), data), index

    # Verification

    def verify(self) -> TraceReport:
        """Verify the file against its own chains, the ledger and git."""
        self._chain.flush()
        heads = self._heads()
        ledger = LedgerView(self._digests(), heads) if heads else None
        place = self.projection.place
        if not place.is_file():
            return verify_trace((), lambda _version: False, ledger, self._git_view())
        with place.open("rb") as file:
            return verify_trace(file, lambda version: _begins_with(place, version), ledger, self._git_view())

    def _heads(self) -> dict[str, Head]:
        """Return the head of each segment that this ledger has written."""
        found: dict[str, Head] = {}
        query = "SELECT body FROM events WHERE kind = ? ORDER BY seq"
        with self._chain.database.read() as connection:
            for (text,) in connection.execute(query, (HEAD_KIND,)):
                head = head_of(json.loads(text))
                if head is not None:
                    found[head.segment] = head
        return found

    def _digests(self) -> dict[str, str]:
        """Return the digest of every record in the ledger."""
        found: dict[str, str] = {}
        query = "SELECT json_extract(body, '$.trace') FROM events WHERE instr(body, '\"trace\":[')"
        with self._chain.database.read() as connection:
            for (text,) in connection.execute(query):
                # One record alone is spelt as its line is; reading it again would take five times as long.
                parts = [text[1:-1]] if text.count('"dev.codeplane":') == 1 else _spelt(text)
                for part in parts:
                    name = _ID.search(part)
                    if name is not None:
                        found[name[1]] = sha256_text(part)
        return found

    def _git_view(self) -> GitView:
        head, index = (self._version(f"{name}:{TRACE_FILE}") for name in ("HEAD", ""))
        return GitView(head, index, self._versions, self._before_reset())

    def _before_reset(self) -> bytes | None:
        """Return the version of the commit that HEAD was on before its last move, if that was a reset."""
        listing = run_git(self._root, "log", "-g", "-20", "--format=%H %gs", "HEAD").stdout_text
        moves = [line.partition(" ") for line in listing.splitlines()]
        for (commit, _, how), (before, _, _) in pairwise(moves):
            if before != commit:
                return (self._version(f"{before}:{TRACE_FILE}") or b"") if how.startswith("reset:") else None
        return None

    def _version(self, name: str) -> bytes | None:
        result = run_git(self._root, "cat-file", "blob", name, output_limit=_LARGEST_TRACE)
        return result.stdout if result.returncode == 0 else None

    def _versions(self) -> Iterator[bytes]:
        """Yield every version of the file that git knows: of all branches, stashes and former heads."""
        listing = run_git(
            self._root, "log", "--all", "--reflog", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames", "-z",
            "--", TRACE_FILE, output_limit=_LARGEST,
        )  # fmt: skip
        oids = set(re.findall(rb":\d+ \d+ [0-9a-f]+ ([0-9a-f]+) ", listing.stdout))
        for oid in sorted(oids):
            data = self._read_blob(oid.decode()) if oid.strip(b"0") else None
            if data is not None:
                yield data

    def matcher(self) -> Matcher:
        """Return a matcher over all known records."""
        return Matcher(self.index(), self._read_blob)

    def _read_blob(self, blob: str) -> bytes | None:
        return self._blobs([blob]).get(blob)

    def _blobs(self, blobs: Sequence[str]) -> dict[str, bytes]:
        return read_blobs(self._root, blobs, _LARGEST)


def _read_bodies(place: Path, start: int, end: int) -> Iterator[dict[str, Any]]:
    """Yield the records of ours in a part of the file; a line that does not hold is evidence of nothing."""
    with place.open("rb") as file:
        file.seek(start)
        while start < end:
            line = file.readline()
            start += len(line) or end
            try:
                found = read_line(line.decode("utf-8").rstrip("\r\n"))
            except (ValueError, TypeError):
                continue
            if found is not None and found.is_sound:
                yield without_chain(found.body)


def _begins_with(place: Path, version: bytes) -> bool:
    plain = version.replace(b"\r\n", b"\n")
    with place.open("rb") as file:
        found = file.read(len(version) + plain.count(b"\n") + 1)
    return found.replace(b"\r\n", b"\n").startswith(plain)


def _spelt(text: str) -> list[str]:
    return [json.dumps(one, ensure_ascii=False, sort_keys=True, separators=(",", ":")) for one in json.loads(text)]


def _end_of_lines(place: Path) -> int:
    """Return where the last whole line ends."""
    size = place.stat().st_size
    tail = read_tail(place.parent, RepoPath.known(place.name)) or b""
    return size - len(tail[tail.rfind(b"\n") + 1 :])


def _mark_before(place: Path, end: int) -> str:
    with place.open("rb") as file:
        start = max(0, end - 4096)
        file.seek(start)
        return sha256_bytes(file.read(end - start)) if os.fstat(file.fileno()).st_size >= end else ""
