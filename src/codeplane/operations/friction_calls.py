"""Which calls are friction: changes by agents that were refused or failed, and later ones that succeeded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from codeplane.core.callers import CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.paths import RepoPath
from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import Call
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.memory.friction_feed import Attempt

_log = get_logger(__name__)
_PATH_FIELDS: Final = frozenset(
    {"path", "paths", "file", "files", "new_path", "from_path", "to_path", "source", "target"}
)
_FRICTION: Final = frozenset({Outcome.DENIED, Outcome.FAILED})


def note_friction(workspace: Workspace, call: Call) -> None:
    """Let memory learn from a call; whatever goes wrong here, the call's outcome stays."""
    if call.budget is None or call.context is None or call.caller.kind is not CallerKind.AGENT:
        return
    is_friction = call.outcome in _FRICTION or call.evidence.failure_fingerprint is not None
    # A success teaches something only where an earlier call failed.
    if not (is_friction or (call.outcome is Outcome.FINISHED and workspace.has_memory)):
        return
    if not workspace.learns_from_friction:
        return
    try:
        noted = workspace.friction.observe(_attempt(call), lambda: workspace.origin(call.label, call.caller.client))
    except (CodePlaneError, OSError) as error:
        _log.warning("friction was not recorded", extra=fields(operation=call.operation.name, reason=str(error)))
        return
    if noted:
        call.context.noted["memory"] = [*call.context.noted.get("memory", ()), *noted]


def _attempt(call: Call) -> "Attempt":
    # 10 ms that only repositories with memory need.
    from codeplane.memory.friction_codes import TEST_FAILURE  # noqa: PLC0415
    from codeplane.memory.friction_feed import Attempt  # noqa: PLC0415

    code, fingerprint, paths = call.error.error if call.error is not None else None, call.digest, _paths_of(call)
    failure = call.context.failure if call.context is not None else None
    if code is None and failure is not None and call.evidence.failure_fingerprint is not None:
        fingerprint = call.evidence.failure_fingerprint
        code = f"{TEST_FAILURE}{fingerprint[-12:]}"
        paths = tuple(dict.fromkeys(name.partition("::")[0] for name in failure.failing_tests))
    return Attempt(call.operation.name, call.label, paths, fingerprint, code, call.call_id, call.arguments)


def _paths_of(call: Call) -> tuple[str, ...]:
    """Return the files that a call is about; one that failed while it was planned names them in its arguments."""
    effects = call.effects
    found = [path.text for path in (*effects.touched, *effects.staged)]
    return tuple(dict.fromkeys(found or _named_paths(call.arguments)))


def _named_paths(value: Any, *, is_path: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _named_paths(one, is_path=name in _PATH_FIELDS)
    elif isinstance(value, list):
        for one in value:
            yield from _named_paths(one, is_path=is_path)
    elif isinstance(value, str) and is_path:
        try:
            yield RepoPath.parse(value).text
        except CodePlaneError:
            return
