"""The door's answer: one value that each surface formats in its own way."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from codeplane.core.errors import ErrorReport
from codeplane.operations.models import Result

RESOURCE_PREFIX = "codeplane://file/"


class Outcome(Enum):
    """How a call ended; the values are the kinds of its final ledger row."""

    FINISHED = "finished"
    FAILED = "failed"
    DENIED = "denied"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class AnswerMeta:
    """What surrounds a result.

    `understood` says how unclear arguments were read, `obvious` the same where the result itself shows it;
    `incomplete` names what the answer lacks. `signals` is set for calls that changed or tested something, `quality`
    where a team's commands checked written files.
    """

    session_id: str | None
    session: str | None
    request_id: str
    timestamp_ms: int
    task_id: str | None = None
    task_state: str | None = None
    index_epoch: int | None = None
    warnings: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()
    obvious: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    signals: "Signals | None" = None
    quality: tuple[Mapping[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the wire form; signals appear only if there are any."""
        return {
            "session_id": self.session_id,
            "request_id": self.request_id,
            "timestamp_ms": self.timestamp_ms,
            "task_id": self.task_id,
            "task_state": self.task_state,
            "index_epoch": self.index_epoch,
            "complete": not self.incomplete,
            "incomplete": list(self.incomplete),
            "warnings": list(self.warnings),
            "understood": [*self.understood, *self.obvious],
            **(self.signals.as_dict() if self.signals is not None else {}),
            **({"quality": [dict(one) for one in self.quality]} if self.quality else {}),
        }


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals of progress: fingerprints, and whether they repeat.

    `mutation` holds the parts of the mutation fingerprint.
    """

    mutation_fingerprint: str | None = None
    mutation: Mapping[str, Any] | None = None
    is_no_op: bool = False
    failure_fingerprint: str | None = None
    non_progress: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the wire form: the parts that apply."""
        document: dict[str, Any] = {}
        if self.mutation_fingerprint is not None:
            document |= {
                "mutation_fingerprint": self.mutation_fingerprint,
                "mutation": dict(self.mutation or {}),
                "is_no_op": self.is_no_op,
            }
        if self.failure_fingerprint is not None:
            document |= {"failure_fingerprint": self.failure_fingerprint, "non_progress": self.non_progress}
        return document


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one call: a result, or an error from the registry."""

    operation: str
    outcome: Outcome
    meta: AnswerMeta
    result: Result | None = None
    error: ErrorReport | None = None
    result_text: str = ""
    resource_links: tuple["ResourceLink", ...] = field(default=())

    @property
    def is_error(self) -> bool:
        """Tell whether there is no result."""
        return self.outcome is not Outcome.FINISHED

    def envelope(self) -> dict[str, Any]:
        """Return `{result, meta}`, or the error object with `meta` and its alias `_session`."""
        meta = self.meta.as_dict()
        if self.error is not None:
            return {**self.error.as_dict(), "meta": meta, "_session": meta}
        payload = self.result.model_dump(mode="json", exclude_none=True) if self.result is not None else {}
        return {"result": payload, "meta": meta, "_session": meta}

    def envelope_text(self) -> str:
        """Return the envelope as JSON."""
        return json.dumps(self.envelope(), ensure_ascii=False, separators=(",", ":"))

    def text(self) -> str:
        """Return compact text for a model: the result or the error, then only useful notes."""
        parts = [self.error.as_text() if self.error is not None else self.result_text]
        if self.meta.understood:
            parts.append("Understood: " + "; ".join(self.meta.understood) + ".")
        parts.extend(f"Incomplete: {item}" for item in self.meta.incomplete)
        parts.extend(f"Note: {item}" for item in self.meta.warnings)
        return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A file that the client can fetch as an MCP resource."""

    uri: str
    name: str
    size: int
    mime_type: str = "text/plain"
