"""What a call left behind, for its final row and its answer: states, changed files, fingerprints, no content."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from codeplane.core.canonical_json import digest
from codeplane.ledger.fingerprints import (
    FileChange,
    MutationFingerprint,
    change_summary,
    changes_between,
    failure_summary,
    mutation_fingerprint,
)
from codeplane.ledger.tasks import Progress
from codeplane.operations.answer import Signals
from codeplane.operations.operation import CallContext
from codeplane.workspace.workspace import Workspace

# An answer lists this many changed symbols; the fingerprint covers all of them.
_SHOWN_SYMBOLS = 50


@dataclass(frozen=True, slots=True)
class Evidence:
    """The traces of one call; what does not apply is empty."""

    repo_before: str | None = None
    repo_after: str | None = None
    after: Mapping[str, str | None] | None = None
    mutation: MutationFingerprint | None = None
    changes: tuple[FileChange, ...] = ()
    failure: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failure_fingerprint(self) -> str | None:
        """Return the fingerprint of the failure that the call showed."""
        return self.failure.get("failure_fingerprint")

    def as_body(self) -> dict[str, Any]:
        """Return the part of the final row's body."""
        body: dict[str, Any] = {name: value for name, value in self.failure.items() if value is not None}
        if self.after is not None:
            body |= {"after": dict(self.after), "repo_before": self.repo_before, "repo_after": self.repo_after}
        if self.mutation is not None:
            body |= {**change_summary(self.changes), "mutation_fingerprint": self.mutation.text}
        return body

    def signals(self, progress: Progress | None) -> Signals | None:
        """Return the part of the answer's meta."""
        if self.mutation is None and self.failure_fingerprint is None:
            return None
        parts = self.mutation.as_dict() if self.mutation is not None else None
        if parts is not None:
            parts["symbol_changes"] = parts["symbol_changes"][:_SHOWN_SYMBOLS]
        return Signals(
            mutation_fingerprint=self.mutation.text if self.mutation is not None else None,
            mutation=parts,
            is_no_op=progress is not None and progress.is_no_op,
            failure_fingerprint=self.failure_fingerprint,
            non_progress=progress is not None and progress.non_progress,
        )


def evidence_of(
    workspace: Workspace,
    context: CallContext | None,
    before: Mapping[str, str | None],
    after: Mapping[str, str | None] | None,
    known: Evidence,
    *,
    is_finished: bool,
) -> Evidence:
    """Return what a call left behind; `after` is None for a call that began nothing."""
    failure = context.failure if context is not None else None
    found = replace(known, failure=failure_summary(failure) if failure is not None else {})
    if after is None:
        return found
    found = replace(found, after=after, repo_after=repository_state(workspace, after))
    reported = tuple(context.changes) if context is not None else ()
    # A failed call may have undone its changes; only the files show that.
    changes = reported if reported and (is_finished or not before) else changes_between(before, after)
    if not before and not changes:
        return found
    fingerprint = mutation_fingerprint(changes)
    if fingerprint.is_empty and not is_finished:
        return found
    return replace(found, changes=changes, mutation=fingerprint)


def repository_state(workspace: Workspace, files: Mapping[str, str | None]) -> str:
    """Return a digest of the repository's version and of the files that a call touches."""
    return digest({"repository": workspace.version_digest(), "files": dict(files)})
