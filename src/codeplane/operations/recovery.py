"""Complete interrupted calls, so every begun row gets a final row with the outcome."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_file, sha256_text
from codeplane.core.logs import fields, get_logger
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.govern.trace.ledger_records import FIELD
from codeplane.ledger.chain import LedgerRow, NewEvent, OpenCall
from codeplane.ledger.task_book import OUTSIDE_OWNER
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.operation import AnyOperation, Recovered
from codeplane.operations.trace_calls import recovered_trace
from codeplane.workspace.workspace import Workspace

_log = get_logger(__name__)
# What an agent has not reported by then, it will not report any more.
_OUTSIDE_MS: Final = 2 * 3_600_000


def recover_interrupted(workspace: Workspace, operations: Mapping[str, AnyOperation]) -> int:
    """End every begun call whose process is gone; return how many were ended.

    Any process may do this at any time: it holds the dead owner's lock meanwhile, so it happens once.
    """
    recovered = 0
    for open_call in workspace.chain.open_calls():
        age_ms = workspace.clock.now_ms() - open_call.begun.ts_ms
        if open_call.owner == OUTSIDE_OWNER and age_ms < _OUTSIDE_MS:
            # The agent is at work; its next event ends the call.
            continue
        with workspace.ownership.inherit(open_call.owner) as is_dead:
            if is_dead and _end(workspace, operations, open_call):
                recovered += 1
    return recovered


def _end(workspace: Workspace, operations: Mapping[str, AnyOperation], open_call: OpenCall) -> bool:
    begun = open_call.begun
    # The call may be one that this door does not offer: a person's command that was interrupted.
    name = begun.operation or ""
    operation = operations.get(name) or OPERATIONS.get(name)
    outcome = _outcome(workspace, operation, begun)
    event = NewEvent(
        outcome.kind,
        begun.session,
        {**outcome.body, **_traced(workspace, operation, begun, outcome), "recovered": True, "begun_seq": begun.seq},
        begun.call_id,
        begun.operation,
        begun.task_id,
        begun.worktree,
    )
    row = workspace.chain.end_call(event)
    if row is not None:
        _log.warning("an interrupted call was completed", extra=fields(call=begun.call_id, outcome=outcome.kind))
    return row is not None


def _traced(
    workspace: Workspace, operation: AnyOperation | None, begun: LedgerRow, outcome: Recovered
) -> dict[str, object]:
    """Return the trace of a change that was completed; git's own changes bring no new lines."""
    if outcome.kind != "finished" or operation is None or operation.snapshots:
        return {}
    try:
        records = recovered_trace(workspace, begun)
    except (CodePlaneError, OSError) as error:
        _log.warning("an interrupted change was not traced", extra=fields(call=begun.call_id, reason=str(error)))
        return {}
    return {FIELD: records} if records else {}


def _outcome(workspace: Workspace, operation: AnyOperation | None, begun: LedgerRow) -> Recovered:
    recover = operation.recover if operation is not None else None
    if operation is not None and operation.snapshots and not operation.is_outside:
        # 30 ms that only changes by git that were interrupted need.
        from codeplane.operations.git_change import recover_git  # noqa: PLC0415

        recover = recover_git
    if recover is not None:
        try:
            return recover(workspace, begun)
        except (CodePlaneError, OSError) as error:
            if isinstance(error, CodePlaneError) and error.code == "GIT_LOCKED":
                # It may be half done; the next call tries again.
                raise
            _log.warning("recovery failed; the files are asked", extra=fields(call=begun.call_id, reason=str(error)))
    return outcome_from_files(workspace.root, begun.body)


def outcome_from_files(root: Path, begun_body: Mapping[str, object]) -> Recovered:
    """Derive the outcome from the files: untouched means that nothing happened, anything else is unknown."""
    before = begun_body.get("before")
    known = before if isinstance(before, dict) else {}
    changed = sorted(text for text, state in known.items() if _state_at(root, text) != state)
    if known and not changed:
        error = CodePlaneError("CALL_INTERRUPTED")
        return Recovered("failed", {"error": error.code, "message": error.message})
    error = CodePlaneError("OUTCOME_UNKNOWN")
    return Recovered("failed", {"error": error.code, "message": error.message, "changed": changed})


def state_of(root: Path, paths: tuple[RepoPath, ...]) -> dict[str, str | None]:
    """Return the raw SHA-256 of each file, None where there is none; a link is hashed by its target."""
    return {printable_name(path.text): _state_at(root, path.text) for path in paths}


def _state_at(root: Path, text: str) -> str | None:
    location = root / text
    try:
        mode = location.lstat().st_mode
        if stat.S_ISLNK(mode):
            return "link:" + sha256_text(str(location.readlink()))
        if stat.S_ISDIR(mode):
            return None
        # Reading a pipe would wait for a writer.
        return sha256_file(location) if stat.S_ISREG(mode) else "not a regular file"
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        # Neither a hash nor "no file": it differs from every readable state.
        return f"unreadable: {error.strerror}"
