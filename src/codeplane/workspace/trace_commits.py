"""Commits seen through the trace: which files no intent covers, and notes in the form of git-ai."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.added_lines import CommittedFile, RangeCommit, commits_in, files_of_commit
from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.contents import read_blobs
from codeplane.git.repository import run_git
from codeplane.govern.intents import IntentsDocument
from codeplane.govern.trace.exchange import NOTES_REF, Note, NoteSession, intents_in, note_key, note_text
from codeplane.govern.trace.index import TraceIndex
from codeplane.govern.trace.lines import is_binary
from codeplane.govern.trace.matching import UNTRACED, Matcher, Owned
from codeplane.workspace.tracing import TraceBook

# People's own files; no intent is needed to change them.
EXEMPT: Final = (".orchestration/",)
_LARGEST: Final = 64 * 1024 * 1024
_IDENTITY: Final = ("user.name=CodePlane", "user.email=codeplane@localhost", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class Coverage:
    """One changed file of a commit: the intents or plan nodes behind it, and the lines that none of them brought."""

    commit: str
    path: str
    change: str
    intents: tuple[str, ...]
    how: str
    untraced_lines: tuple[int, ...] = ()

    @property
    def is_covered(self) -> bool:
        """Tell whether intents cover the whole change."""
        return bool(self.intents) and not self.untraced_lines

    def as_dict(self) -> dict[str, Any]:
        """Return the answer's form."""
        return {
            "commit": self.commit,
            "path": printable_name(self.path),
            "change": self.change,
            "intents": list(self.intents),
            "how": self.how,
            "untraced_lines": list(self.untraced_lines[:50]),
        }


class CommitTrace:
    """Reads commits with one matcher, so that states are worked out once."""

    def __init__(self, root: Path, book: TraceBook) -> None:
        self._root = root
        self._index: TraceIndex = book.index()
        self._matcher: Matcher = book.matcher()

    def coverage(self, base: str | None, tip: str, intents: IntentsDocument | None) -> list[Coverage]:
        """Return every changed file of a range of commits; merges bring nothing of their own."""
        found: list[Coverage] = []
        for commit in commits_in(self._root, base, tip):
            if commit.is_merge:
                continue
            files = [one for one in files_of_commit(self._root, commit.oid) if not one.path.startswith(EXEMPT)]
            blobs = read_blobs(self._root, [one.new_blob for one in files if one.new_blob], _LARGEST)
            found += [self._covered(commit, one, blobs, intents) for one in files]
        return found

    def _covered(
        self, commit: RangeCommit, file: CommittedFile, blobs: dict[str, bytes], intents: IntentsDocument | None
    ) -> Coverage:
        change = _change_of(file)
        named = [
            one
            for one in intents_in(commit.message)
            if intents is not None and intents.owns(one, printable_name(file.path))
        ]
        if named:
            return Coverage(commit.oid, file.path, change, tuple(dict.fromkeys(named)), "trailer")
        whole = self._whole_change(file)
        data = blobs.get(file.new_blob or "")
        if data is None or is_binary(data) or not file.added:
            return Coverage(commit.oid, file.path, change, whole, "trace" if whole else "none")
        owners = self._matcher.owners_of(printable_name(file.path), file.new_blob or "", data)
        added = [(number, owners[number - 1]) for number in file.added if number <= len(owners)]
        traced = {intent for _, owned in added if (intent := self._intent_of(owned)) is not None}
        untraced = tuple(number for number, owned in added if self._is_untraced(owned))
        found = tuple(sorted(traced or set(whole)))
        return Coverage(commit.oid, file.path, change, found, "trace" if found else "none", untraced)

    def _whole_change(self, file: CommittedFile) -> tuple[str, ...]:
        """Return the intents of records that left the file, or its removal, as the commit has it."""
        names = {printable_name(file.path), printable_name(file.old_path)}
        found = {
            entry.reason
            for name in names
            for entry in self._index.of_path(name)
            if entry.reason is not None
            and (
                entry.after == file.new_blob if file.new_blob else entry.after is None and entry.before == file.old_blob
            )
        }
        return tuple(sorted(found))

    def _intent_of(self, owned: Owned) -> str | None:
        entry = self._index.entry(owned.number) if owned.number > 0 else None
        return entry.reason if entry is not None and not entry.record.is_outside else None

    def _is_untraced(self, owned: Owned) -> bool:
        entry = self._index.entry(owned.number) if owned.number > 0 else None
        return owned.number == UNTRACED or (entry is not None and (entry.record.is_outside or entry.reason is None))

    def note_of(self, commit: RangeCommit) -> str | None:
        """Return the note of a commit, None when no traced line is in it."""
        files: dict[str, dict[str, list[int]]] = {}
        sessions: dict[str, NoteSession] = {}
        changed = files_of_commit(self._root, commit.oid)
        blobs = read_blobs(self._root, [one.new_blob for one in changed if one.new_blob], _LARGEST)
        for file in changed:
            data = blobs.get(file.new_blob or "")
            if data is None or is_binary(data) or not file.added or file.path.startswith(EXEMPT):
                continue
            owners = self._matcher.owners_of(printable_name(file.path), file.new_blob or "", data)
            for number in file.added:
                owned = owners[number - 1] if number <= len(owners) else None
                entry = self._index.entry(owned.number) if owned is not None and owned.number > 0 else None
                if entry is None or entry.record.is_outside:
                    continue
                key, session = note_key(entry.record)
                sessions[key] = session
                files.setdefault(file.path, {}).setdefault(key, []).append(number)
        if not files:
            return None
        by_path = {path: {key: tuple(lines) for key, lines in keys.items()} for path, keys in files.items()}
        return note_text(Note(by_path, sessions, commit.oid))


def write_notes(root: Path, book: TraceBook, base: str | None, tip: str) -> int:
    """Write a note for every commit of a range that has traced lines, and let rebase and amend keep notes.

    Raises:
        CodePlaneError: git failed.
    """
    reader = CommitTrace(root, book)
    n_written = 0
    for commit in commits_in(root, base, tip):
        text = reader.note_of(commit) if not commit.is_merge else None
        if text is not None:
            conditions = Conditions(stdin=text.encode(), runs_hooks=False, configuration=_IDENTITY)
            must_change(
                root, "notes", f"--ref={NOTES_REF}", "add", "--force", "--file=-", commit.oid, conditions=conditions
            )
            n_written += 1
    if n_written and NOTES_REF not in run_git(root, "config", "--get-all", "notes.rewriteRef").stdout_text.split():
        must_change(root, "config", "--add", "notes.rewriteRef", NOTES_REF)
    return n_written


def read_ai_notes(root: Path, most: int) -> list[tuple[str, str]]:
    """Return the commits that have a git-ai note, and the notes."""
    listing = run_git(root, "notes", f"--ref={NOTES_REF}", "list")
    if listing.returncode != 0:
        return []
    pairs = [line.partition(" ")[::2] for line in listing.stdout_text.splitlines()][:most]
    blobs = read_blobs(root, [blob for blob, _ in pairs], _LARGEST)
    return [(commit, blobs[blob].decode("utf-8", "replace")) for blob, commit in pairs if blob in blobs]


def content_at(root: Path, commit: str, path: str) -> bytes | None:
    """Return a file as a commit has it, None when it does not."""
    try:
        return ask_git(root, "cat-file", "blob", f"{commit}:{path}", output_limit=_LARGEST)
    except CodePlaneError:
        return None


def without_lines(data: bytes, numbers: Sequence[int]) -> bytes:
    """Return a text without some of its lines: what it was before somebody brought them."""
    gone = set(numbers)
    lines = data.splitlines(keepends=True)
    return b"".join(line for number, line in enumerate(lines, 1) if number not in gone)


def _change_of(file: CommittedFile) -> str:
    if file.old_blob is None and file.new_blob is not None:
        return "create"
    if file.new_blob is None and file.old_blob is not None:
        return "delete"
    return "rename" if file.path != file.old_path else "update"
