"""Plans between calls: one file each, so that another process can apply what this one planned."""

import json
import os
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.refactor.plan import Draft, as_document, from_document

_VERSION: Final = 1
_ID: Final = re.compile(r"rf_[0-9a-z]{6,40}")
_MAX_KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan with the request it answers; `applied_by` is the call that applied it."""

    refactor_id: str
    operation: str
    arguments: Mapping[str, Any]
    draft: Draft
    expires_ms: int
    applied_by: str = ""


class PlanStore:
    """The plans of one working tree. A plan grants nothing: applying it is judged like any other change."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, plan: StoredPlan) -> None:
        """Store a plan, replacing the one of the same id.

        Raises:
            OSError: it cannot be written.
        """
        self._directory.mkdir(mode=0o700, exist_ok=True)
        document = {
            "operation": plan.operation,
            "arguments": dict(plan.arguments),
            f"draft{_VERSION}": as_document(plan.draft),
            "expires_ms": plan.expires_ms,
            "applied_by": plan.applied_by,
        }
        temporary = self._directory / f"{plan.refactor_id}.{os.getpid()}-{threading.get_ident()}"
        temporary.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
        temporary.replace(self._path(plan.refactor_id))
        self._trim()

    def find(self, refactor_id: str, now_ms: int) -> StoredPlan:
        """Return a plan.

        Raises:
            CodePlaneError: REFACTOR_NOT_FOUND or REFACTOR_EXPIRED.
        """
        if _ID.fullmatch(refactor_id) is None:
            raise CodePlaneError("REFACTOR_NOT_FOUND", f"`{refactor_id[:60]}` is not a refactor_id.")
        try:
            document = json.loads(self._path(refactor_id).read_text(encoding="utf-8"))
            draft = from_document(document[f"draft{_VERSION}"])
            arguments = dict(document["arguments"])
            expires_ms, applied_by = int(document["expires_ms"]), str(document["applied_by"])
            operation = str(document["operation"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            message = f"There is no planned refactoring {refactor_id}; it may have been cancelled."
            raise CodePlaneError("REFACTOR_NOT_FOUND", message) from error
        if now_ms >= expires_ms:
            raise CodePlaneError("REFACTOR_EXPIRED", f"The plan {refactor_id} has expired.")
        return StoredPlan(refactor_id, operation, arguments, draft, expires_ms, applied_by)

    def mark_applied(self, plan: StoredPlan, call_id: str) -> None:
        """Remember that a plan was applied, so that it is not applied again."""
        with suppress(OSError):
            self.keep(replace(plan, applied_by=call_id))

    def drop(self, refactor_id: str) -> None:
        """Forget a plan."""
        self._path(refactor_id).unlink(missing_ok=True)

    def _path(self, refactor_id: str) -> Path:
        return self._directory / f"{refactor_id}.json"

    def _trim(self) -> None:
        """Remove the oldest plans when there are too many."""
        paths = sorted(self._directory.glob("rf_*.json"), key=_age)
        for path in paths[:-_MAX_KEPT]:
            path.unlink(missing_ok=True)


def _age(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
