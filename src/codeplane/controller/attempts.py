"""One attempt at a node: reservation, life cycle, and the bundle of files that tells what happened."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from codeplane.controller.codes import Violation
from codeplane.controller.evidence import check_review
from codeplane.controller.plan import Node
from codeplane.controller.reservations import reserved
from codeplane.controller.reviews import reviews_of
from codeplane.controller.runs import NodeProgress
from codeplane.controller.states import after_exhausted
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import DeniedError, FaultError
from codeplane.core.kept_results import write_json
from codeplane.core.redaction import redact, redact_value

BUNDLE: Final = ("result.json", "op.log", "trace.refs.json", "diff.summary.json", "validation.json")


@dataclass(slots=True)
class Attempt:
    """What an attempt leaves: lines of its log, changed files, checks, and whether it succeeded.

    `is_finished` says that the node is done when the attempt succeeds; some verbs only prepare it. `is_check` says that
    the attempt only looked: `was_done` is whether the node had been carried out before.
    """

    node: Node
    number: int
    bundle_ref: str
    diff_ref: str
    result: dict[str, Any] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    validation: dict[str, Any] = field(default_factory=dict)
    is_failed: bool = False
    is_finished: bool = True
    is_check: bool = False
    was_done: bool = False
    content_hash: str | None = None

    def refs(self) -> dict[str, str]:
        """Return the references to the bundle."""
        return {"artifactBundleRef": self.bundle_ref, "diffSummaryRef": self.diff_ref}


@contextmanager
def attempting(turn: TurnWork, node: Node, keys: frozenset[str]) -> Iterator[Attempt]:
    """Run one attempt: a denial is not counted, a fault or `is_failed` counts as a failure of the node.

    Raises:
        DeniedError: the node needs a review, or something is reserved by others.
    """
    missing = check_review(
        str(turn.record.run.plan_fingerprint),
        node.node_id,
        frozenset(turn.record.needs_review),
        reviews_of(turn.workspace, str(turn.record.run.plan_fingerprint)),
    )
    if missing is not None:
        raise DeniedError(missing)
    before = turn.progress(node.node_id)
    work, number = turn.record.work_id, before.n_attempts + 1
    attempt = Attempt(node, number, f"bundle:{work}/{node.node_id}/{number}", f"diff:{work}/{node.node_id}/{number}")
    turn.program.plan_node = f"{turn.record.run.plan_fingerprint}/{node.node_id}"
    attempt.was_done = before.finished_at > 0
    with reserved(turn, keys, turn.owner(node.node_id)):
        running = replace(before, state="running", n_attempts=number, planned_hash=None)
        turn.save(turn.record.with_node(node.node_id, running))
        try:
            yield attempt
        except DeniedError as error:
            turn.save(turn.record.with_node(node.node_id, replace(before, n_attempts=number)))
            _write_bundle(turn, attempt, violations=error.violations)
            raise
        except FaultError as error:
            attempt.log.append(error.message)
            if not error.is_retryable:
                _settle(turn, attempt, is_failed=True)
            else:
                turn.save(turn.record.with_node(node.node_id, replace(before, n_attempts=number)))
            _write_bundle(turn, attempt, fault=error)
            raise
        _settle(turn, attempt, is_failed=attempt.is_failed)
        _write_bundle(turn, attempt)


def bundle_place(turn: TurnWork, node_id: str, number: int) -> Any:
    """Return where the files of an attempt are."""
    return turn.files.place / "artifacts" / node_id / str(number)


def _settle(turn: TurnWork, attempt: Attempt, *, is_failed: bool) -> None:
    """Store how the attempt ended."""
    record, node_id = turn.record, attempt.node.node_id
    progress = record.nodes.get(node_id) or NodeProgress("")
    if attempt.files:
        progress = replace(progress, content_hash=attempt.content_hash)
    if is_failed:
        failed = replace(progress, state="failed", n_failures=progress.n_failures + 1)
        record = record.with_node(node_id, failed)
        n_exhausted = sum(one.is_exhausted for one in record.nodes.values())
        turn.save(replace(record, run=after_exhausted(record.run, n_exhausted)))
        return
    n_finished = record.n_finished + 1
    done = replace(progress, state="finished" if attempt.is_finished else "pending", n_failures=0)
    if attempt.is_finished and not attempt.is_check:
        done = replace(done, finished_at=n_finished)
    turn.save(replace(record.with_node(node_id, done), n_finished=n_finished))


def _write_bundle(
    turn: TurnWork, attempt: Attempt, violations: tuple[Violation, ...] = (), fault: FaultError | None = None
) -> None:
    place = bundle_place(turn, attempt.node.node_id, attempt.number)
    outcome = "denied" if violations else "failed" if fault is not None or attempt.is_failed else "finished"
    result = {
        "nodeId": attempt.node.node_id,
        "attempt": attempt.number,
        "outcome": outcome,
        "codes": [one.code.value for one in violations],
        "error": fault.as_json() if fault is not None else None,
        "result": attempt.result,
    }
    documents: Mapping[str, Mapping[str, Any]] = {
        "result.json": result,
        "trace.refs.json": {"traceRef": turn.record.trace_ref(), "callId": turn.context.call_id},
        "diff.summary.json": {"files": attempt.files},
        "validation.json": attempt.validation,
    }
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            write_json(place / name, redact_value(json.loads(json.dumps(document, default=str))))
        (place / "op.log").write_text(redact("\n".join([*attempt.log, ""])), encoding="utf-8")
    except OSError as error:
        raise FaultError("artifact_write_failed", f"{attempt.bundle_ref}: {error.strerror or error}.") from error
