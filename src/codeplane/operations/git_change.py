"""The delta that every mutating git tool returns, so the caller need not look again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.line_matching import counted_changes
from codeplane.core.printable import printable_name
from codeplane.git.contents import changed_lines_of_blobs, changed_lines_of_trees, empty_tree_beside, read_blobs
from codeplane.git.progress import progress_of
from codeplane.git.stale_locks import remove_stale_locks
from codeplane.git.state import plain_entry
from codeplane.index.facts.encoded import MAX_SOURCE_BYTES
from codeplane.index.impact import HIGH
from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.fingerprints import FileChange
from codeplane.operations.edited_symbols import changed_symbols
from codeplane.operations.models import Result
from codeplane.operations.operation import CallContext, Recovered, ResultT
from codeplane.workspace.git_bracket import GitOutcome, finish_interrupted
from codeplane.workspace.workspace import Workspace

MAX_FILES = 100
_MAX_WITH_SYMBOLS = 40
_MAX_TESTS = 50
_MAX_REFS = 50
_SHOWN_FILES = 6
_SHOWN_SYMBOLS = 10
_SHOWN_TESTS = 5

Place = Literal["head", "index", "working_tree"]


class ChangedRef(Result):
    """A branch, tag or other ref that was moved, created or deleted."""

    ref: str
    old: str | None
    new: str | None


class GitChangedFile(Result):
    """A changed file, and where it changed: in HEAD's commit, the index or the working tree."""

    path: str
    action: Literal["created", "updated", "deleted"]
    changed_in: list[Place]
    old_hash: str | None = Field(None, description="Git's id of the old content; none if git never stored it.")
    new_hash: str | None = Field(None, description="Git's id of the new content.")
    file_sha256: str | None = Field(None, description="SHA-256 of the working file, for write_source.")
    insertions: int
    deletions: int


class AffectedTestFile(Result):
    """A test file that the change may affect."""

    path: str
    confidence: str


class GitRepositoryState(Result):
    """The state of the repository after the call."""

    head: str | None
    branch: str | None
    state: str
    index_epoch: int | None


class GitDelta(Result):
    """Everything that a git operation changed."""

    mutation_id: str
    repo_fingerprint: str
    refs: list[ChangedRef] = Field(default_factory=list)
    refs_omitted: int = 0
    files: list[GitChangedFile] = Field(default_factory=list)
    files_omitted: int = Field(0, description="Changed files not listed, but counted in files_changed.")
    files_changed: int
    insertions: int
    deletions: int
    symbols_changed: list[str] = Field(default_factory=list)
    symbols_confidence: str = Field("complete", description="partial if there were too many files, or files too large.")
    tests_affected: list[AffectedTestFile] = Field(default_factory=list)
    tests_confidence: str | None = None
    repository: GitRepositoryState
    snapshot: str | None = Field(None, description="What the snapshot saved for undo.")


@dataclass(frozen=True, slots=True)
class _File:
    """One changed file on its way into the delta."""

    path: str
    places: tuple[Place, ...]
    old_oid: str | None
    new_oid: str | None
    old_data: bytes | None = None
    new_data: bytes | None = None
    insertions: int = 0
    deletions: int = 0


def add_delta(context: CallContext, result: ResultT) -> ResultT:
    """Return the result of a git command with everything it changed; the ledger gets the changes too."""
    if context.bracket is None:
        raise CodePlaneError("INTERNAL_ERROR", "An operation without a snapshot has no delta.")
    return result.model_copy(update={"delta": _delta(context, context.bracket.finish())})


def _delta(context: CallContext, outcome: GitOutcome) -> GitDelta:
    workspace = context.workspace
    files = _changed_files(workspace, outcome)
    symbols, is_partial = _symbols(workspace, files)
    context.changes.extend(
        FileChange(
            path=printable_name(one.path),
            old_hash=_content_hash(one.old_data, one.old_oid),
            new_hash=_content_hash(one.new_data, one.new_oid),
            insertions=one.insertions,
            deletions=one.deletions,
            symbols=tuple(symbols.get(one.path, ())),
        )
        for one in files
    )
    if not files:
        # Without this, a call that only moved refs would look like one that changed nothing.
        context.changes.extend(
            FileChange(printable_name(name), old, outcome.after.refs.get(name), 0, 0)
            for name, old in outcome.before.refs.items()
        )
    # The index has UTF-8 names only.
    tests, confidence = _tests(workspace, [one.path for one in files if one.path.isprintable()])
    refs = [
        ChangedRef(ref=printable_name(name), old=old, new=outcome.after.refs.get(name))
        for name, old in outcome.before.refs.items()
    ]
    if outcome.before.head is not None or outcome.after.head is not None:
        refs.insert(0, ChangedRef(ref="HEAD", old=outcome.before.head, new=outcome.after.head))
    return GitDelta(
        mutation_id=context.call_id,
        repo_fingerprint=workspace.fingerprint(),
        refs=refs[:_MAX_REFS],
        refs_omitted=max(0, len(refs) - _MAX_REFS),
        files=[_changed_file(workspace, one) for one in files[:MAX_FILES]],
        files_omitted=max(0, len(files) - MAX_FILES),
        files_changed=len(files),
        insertions=sum(one.insertions for one in files),
        deletions=sum(one.deletions for one in files),
        symbols_changed=list(dict.fromkeys(name for names in symbols.values() for name in names)),
        symbols_confidence="partial" if is_partial else "complete",
        tests_affected=tests,
        tests_confidence=confidence,
        repository=GitRepositoryState(
            head=outcome.commits[1],
            branch=outcome.branch,
            state=progress_of(workspace.repository.git_dir),
            index_epoch=workspace.index_epoch(),
        ),
        snapshot=_snapshot_words(outcome),
    )


def branch_in(delta: GitDelta | None) -> str:
    """Return the branch that a command left HEAD on."""
    branch = delta.repository.branch if delta is not None else None
    return branch or "detached HEAD"


def render_delta(delta: GitDelta | None) -> list[str]:
    """Return the lines about a delta that a short answer shows."""
    if delta is None:
        return []
    lines = []
    if delta.files_changed:
        names = ", ".join(f"{one.path} {one.action}" for one in delta.files[:_SHOWN_FILES])
        rest = delta.files_changed - min(_SHOWN_FILES, len(delta.files))
        more = f" and {rest} more" if rest > 0 else ""
        count = f"{delta.files_changed} file{'s' * (delta.files_changed != 1)}"
        lines.append(f" {count} +{delta.insertions} -{delta.deletions}: {names}{more}")
    if delta.symbols_changed:
        lines.append(" symbols: " + _listed(delta.symbols_changed, _SHOWN_SYMBOLS))
    sure = [one.path for one in delta.tests_affected if one.confidence == HIGH]
    if sure:
        lines.append(" tests: " + _listed(sure, _SHOWN_TESTS))
    if delta.repository.state != "none":
        lines.append(f" in progress: {delta.repository.state}")
    if delta.refs or delta.files_changed:
        kept = f"{delta.snapshot}; " if delta.snapshot else ""
        lines.append(f" {kept}undo: operation={delta.mutation_id}")
    return lines


def recover_git(workspace: Workspace, begun: LedgerRow) -> Recovered:
    """Report what the git command of a dead process did; undo can revert it."""
    locks = remove_stale_locks(workspace.repository, begun.ts_ms * 1_000_000)
    outcome = finish_interrupted(workspace.repository, workspace.editor, begun.call_id or "")
    removed = {"removed_locks": list(locks)} if locks else {}
    if outcome is None or outcome.is_nothing:
        error = CodePlaneError("CALL_INTERRUPTED")
        return Recovered("failed", {"error": error.code, "message": error.message, **removed})
    error = CodePlaneError("OUTCOME_UNKNOWN", "The call was interrupted; its changes so far can be undone.")
    body: dict[str, object] = {"error": error.code, "message": error.message, **removed}
    body["changed_paths"] = [printable_name(path) for path in outcome.working_paths[:1_000]]
    body["git_refs"] = {
        printable_name(name): [old, outcome.after.refs.get(name)] for name, old in outcome.before.refs.items()
    }
    body["staged_paths"] = [printable_name(path) for path in sorted(outcome.before.entries)[:1_000]]
    return Recovered("failed", body)


def _changed_files(workspace: Workspace, outcome: GitOutcome) -> list[_File]:
    root = workspace.root
    old_commit, new_commit = outcome.commits
    in_head = (
        changed_lines_of_trees(
            root, old_commit or empty_tree_beside(new_commit), new_commit or empty_tree_beside(old_commit)
        )
        if old_commit != new_commit
        else {}
    )
    in_index = {
        path: (_oid(outcome.before.entries[path]), _oid(outcome.after.entries.get(path, ())))
        for path in outcome.before.entries
    }
    staged_only = {path: pair for path, pair in in_index.items() if path not in in_head}
    staged_lines = changed_lines_of_blobs(root, staged_only) if staged_only else {}
    raw = {change.path.text: change for change in outcome.changes}
    found = []
    for path in sorted({*in_head, *in_index, *outcome.working_paths}):
        working = path in raw or path in outcome.tracked
        marks: list[tuple[Place, bool]] = [
            ("head", path in in_head),
            ("index", path in in_index),
            ("working_tree", working),
        ]
        places = tuple(name for name, is_there in marks if is_there)
        if path in in_head:
            old, new, added, removed = in_head[path]
        elif path in in_index:
            (old, new), (added, removed) = in_index[path], staged_lines[path]
        else:
            old = new = None
            added = removed = 0
        before = after = None
        if path in raw:
            change = raw[path]
            before = change.before.data if change.before is not None else None
            after = change.after.data if change.after is not None else None
            if path not in in_head:
                added, removed = _counted(before, after)
        found.append(_File(path, places, old, new, before, after, added, removed))
    return found


def _oid(entries: tuple[tuple[str, str, int], ...]) -> str | None:
    entry = plain_entry(entries)
    return entry[1] if entry is not None else None


def _content_hash(data: bytes | None, oid: str | None) -> str | None:
    """Return what identifies a content: the working file's hash if known, else git's id."""
    return sha256_bytes(data) if data is not None else oid


def _counted(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    return counted_changes((before or b"").splitlines(), (after or b"").splitlines())


def _symbols(workspace: Workspace, files: Sequence[_File]) -> tuple[dict[str, list[str]], bool]:
    """Return the definitions that differ, by file, and whether some files were left out."""
    looked_at = files[:_MAX_WITH_SYMBOLS]
    oids = [oid for one in looked_at for oid in (one.old_oid, one.new_oid) if oid is not None]
    blobs: Mapping[str, bytes] = read_blobs(workspace.root, oids, MAX_SOURCE_BYTES)
    found: dict[str, list[str]] = {}
    for one in looked_at:
        before = one.old_data if one.old_data is not None else blobs.get(one.old_oid or "")
        after = one.new_data if one.new_data is not None else blobs.get(one.new_oid or "")
        names = changed_symbols(one.path, before, after)
        if names:
            found[one.path] = names
    return found, len(files) > len(looked_at)


def _tests(workspace: Workspace, paths: Sequence[str]) -> tuple[list[AffectedTestFile], str | None]:
    if not paths or workspace.index_epoch() is None:
        return [], None
    found = workspace.index.affected_tests(paths)
    matches = found.matches
    return [AffectedTestFile(path=one.path, confidence=one.confidence) for one in matches[:_MAX_TESTS]], (
        found.confidence if len(matches) <= _MAX_TESTS else "partial"
    )


def _changed_file(workspace: Workspace, file: _File) -> GitChangedFile:
    has_old = file.old_oid is not None or file.old_data is not None
    has_new = file.new_oid is not None or file.new_data is not None
    action: Literal["created", "updated", "deleted"] = "updated"
    if not has_old and has_new:
        action = "created"
    elif has_old and not has_new:
        action = "deleted"
    return GitChangedFile(
        path=printable_name(file.path),
        action=action,
        changed_in=list(file.places),
        old_hash=file.old_oid,
        new_hash=file.new_oid,
        file_sha256=workspace.working_hash(file.path),
        insertions=file.insertions,
        deletions=file.deletions,
    )


def _snapshot_words(outcome: GitOutcome) -> str | None:
    if not outcome.kept:
        return None
    changed = {change.path.text for change in outcome.changes}
    lost = [path for path in outcome.kept if path in changed]
    if not lost:
        return None
    return f"{len(lost)} file{'s' * (len(lost) != 1)} with uncommitted changes saved first"


def _listed(names: Sequence[str], most: int) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
