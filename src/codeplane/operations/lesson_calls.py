"""Which calls teach a lesson: verification that fails, and the changes after which it no longer does."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.ledger.fingerprints import Failure, failure_fingerprint, normalised_exception_type
from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import Call
from codeplane.workspace.workspace import Workspace

_log = get_logger(__name__)
_CLASSES: Final = {"run_test_targets": "test", "lint_check": "lint", "check": "ci"}
_MAX_SESSIONS: Final = 200
_MAX_TESTS: Final = 20


@dataclass(slots=True)
class _Open:
    """What fails in a session, and what it has changed since."""

    tests: dict[str, str] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)


class OpenFailures:
    """Failures that wait for a fix, by session; memory of a process, because a fix follows its failure soon."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Open] = OrderedDict()

    def of(self, session: str) -> _Open:
        """Return what is known of a session."""
        with self._lock:
            found = self._sessions.setdefault(session, _Open())
            self._sessions.move_to_end(session)
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return found


def note_lessons(workspace: Workspace, waiting: OpenFailures, call: Call) -> None:
    """Learn from a call; whatever goes wrong here, the call's outcome stays."""
    command = _CLASSES.get(call.operation.name)
    if call.context is None:
        return
    if command is None:
        if call.is_begun and call.outcome is Outcome.FINISHED:
            changed = waiting.of(call.label).changed
            changed |= dict.fromkeys(path.text for path in call.effects.touched)
        return
    if not workspace.settings.memory.memory_enabled:
        return
    known = waiting.of(call.label)
    failing = _failing(call.context.failure)
    fixed = {test: one for test, one in known.tests.items() if test not in failing}
    if not failing and not (fixed and known.changed):
        return
    try:
        _record(workspace, call, command, failing, fixed, tuple(known.changed))
    except (CodePlaneError, OSError) as error:
        _log.warning("lessons were not recorded", extra=fields(operation=call.operation.name, reason=str(error)))
    known.tests, known.changed = failing, {}


def _failing(failure: Failure | None) -> dict[str, str]:
    """Return the failing tests with the fingerprint of each."""
    if failure is None:
        return {}
    kind = normalised_exception_type(failure.exception_type)
    return {
        name: failure_fingerprint(Failure((name,), kind, "", None, failure.failure_class))
        for name in failure.failing_tests[:_MAX_TESTS]
    }


def _record(
    workspace: Workspace,
    call: Call,
    command: str,
    failing: dict[str, str],
    fixed: dict[str, str],
    changed: tuple[str, ...],
) -> None:
    # 10 ms that only failures need.
    from codeplane.memory.lessons import FailedCheck, record_failure, record_fix  # noqa: PLC0415

    failure = call.context.failure if call.context is not None else None
    kind = normalised_exception_type(failure.exception_type) if failure is not None else ""
    with workspace.memory.write(workspace.origin(call.label, call.caller.client)) as writing:
        for name, fingerprint in failing.items():
            path = name.partition("::")[0]
            record_failure(writing, FailedCheck(fingerprint, command, name, path, kind))
        record_fix(writing, fixed.values(), changed)
    if call.context is not None and writing.noted:
        call.context.noted["memory"] = [*call.context.noted.get("memory", ()), *writing.noted]
