"""What denials teach: friction of turns in the store of memory."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from codeplane.controller.codes import Violation, codes_of
from codeplane.controller.plan import digest_of
from codeplane.controller.turn_work import TurnWork
from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.redaction import redact
from codeplane.memory.anchors import resolve, seed_anchors
from codeplane.memory.friction import Friction, record_friction, record_resolution
from codeplane.operations.memory_access import memory_writing

_log = get_logger(__name__)
_MAX_FRAGMENT: Final = 300
_PLANNING: Final = "submit_execution_plan"
_RETROSPECTIVE: Final = "signal_task_complete"


def note_denial(turn: TurnWork, verb: str, arguments: Mapping[str, Any], violations: tuple[Violation, ...]) -> None:
    """Record a denied turn; whatever goes wrong here, the answer stays."""
    plan = arguments.get("planGraph") if isinstance(arguments.get("planGraph"), dict) else None
    before = _fragment(plan, violations) if plan is not None else ""
    _write(turn, verb, arguments, tuple(code.value for code in codes_of(violations)), before)


def note_success(turn: TurnWork, verb: str, arguments: Mapping[str, Any]) -> None:
    """Record that a plan was accepted or a node ran where earlier attempts of the session were denied."""
    plan = arguments.get("planGraph")
    before = json.dumps(plan.get("nodes", [])[:1], ensure_ascii=False) if isinstance(plan, dict) else ""
    _write(turn, verb, arguments, (), redact(before)[:_MAX_FRAGMENT])


def paths_in(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that a turn is about: those of its plan, or the one that it names."""
    plan = arguments.get("planGraph")
    if isinstance(plan, dict) and isinstance(plan.get("nodes"), list):
        nodes = [one for one in plan["nodes"] if isinstance(one, dict)]
        return _texts(one.get("targetFile") for one in nodes)
    return _texts((arguments.get("targetFile"), arguments.get("file")))


def anchors_of(turn: TurnWork, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the deepest anchor that contains all files of a turn, then its parents."""
    workspace = turn.workspace
    return resolve(paths_in(arguments), workspace.tracked().directories, workspace.settings.memory.friction)


def _write(turn: TurnWork, verb: str, arguments: Mapping[str, Any], codes: tuple[str, ...], before: str) -> None:
    workspace = turn.workspace
    if not workspace.learns_from_friction or (not codes and not workspace.has_memory):
        return
    settings = workspace.settings.memory.friction
    friction = Friction(
        codes,
        verb,
        turn.record.run_id,
        anchors_of(turn, arguments),
        _fingerprint(arguments),
        paths_in(arguments),
        _phase(verb),
        turn.record.work_id,
        str(turn.record.knowledge.get("strategyId") or ""),
        turn.record.trace_ref(),
        before,
    )
    try:
        with memory_writing(turn.context) as writing:
            seed_anchors(writing.connection, workspace.tracked().directories, settings)
            if codes:
                record_friction(writing, settings, friction)
            else:
                record_resolution(writing, settings, friction)
    except (CodePlaneError, OSError) as error:
        _log.warning("friction was not recorded", extra=fields(verb=verb, reason=str(error)))


def _fingerprint(arguments: Mapping[str, Any]) -> str:
    plan = arguments.get("planGraph")
    try:
        return digest_of(plan if isinstance(plan, dict) else dict(arguments))
    except (ValueError, TypeError, RecursionError):
        return ""


def _fragment(plan: Mapping[str, Any], violations: tuple[Violation, ...]) -> str:
    """Return the part of a plan that the first violation with a place points to, in short."""
    for one in violations:
        value: Any = plan
        for name in (one.pointer or "").strip("/").split("/")[:3]:
            value = _child(value, name)
        if one.pointer and value is not None:
            return redact(json.dumps({one.pointer.rpartition("/")[2]: value}, ensure_ascii=False))[:_MAX_FRAGMENT]
    return ""


def _child(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, list) and name.isdigit() and int(name) < len(value):
        return value[int(name)]
    return None


def _phase(verb: str) -> str:
    if verb == _PLANNING:
        return "planning"
    if verb == _RETROSPECTIVE:
        return "retrospective"
    return "execution" if verb.startswith(("apply_", "run_", "execute_")) else "exploration"


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in values if isinstance(one, str)))
