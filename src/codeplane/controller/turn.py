"""`controller_turn`: the one tool of profile `controller`.

A turn finds its session, passes the gates of state, budget and arguments, lets one verb work, and answers with a
complete envelope, whatever happened. Turns of one session are made one after the other, in whichever process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from pydantic import ConfigDict, Field, model_validator

from codeplane.controller.codes import Code, Violation, codes_of
from codeplane.controller.events import NOTED, OPERATION
from codeplane.controller.friction import anchors_of, note_denial, note_success
from codeplane.controller.gating import OFFERED, admit
from codeplane.controller.interrupted import settle_interrupted
from codeplane.controller.knowledge import Knowledge, with_knowledge
from codeplane.controller.network import network_of
from codeplane.controller.plan import canonical_json, digest_of
from codeplane.controller.reservations import release_cut_off
from codeplane.controller.response import Ended, TurnResponse, response_of
from codeplane.controller.runs import SessionRecord, TurnRecord, WorkFiles, lock_file, with_limits, work_of
from codeplane.controller.scope import ID_FORM
from codeplane.controller.states import Event, after
from codeplane.controller.strategy import next_strategy, select_strategy, triggers_of
from codeplane.controller.strategy_reasons import reasons_of
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import DeniedError, FaultError, Reply
from codeplane.controller.verbs.catalog import VERBS
from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact_value
from codeplane.ledger.chain import RowFilter
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Route
from codeplane.operations.models import Request
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

_LOCK_SECONDS: Final = 60.0
_LARGEST_NUMBER: Final = 2**53
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_OBJECT: Final[dict[str, Any]] = {"type": "object"}
_IDS: Final = (("runSessionId", "run"), ("workId", "work"), ("agentId", "agent"))
_ROWS_LOOKED_THROUGH: Final = 20_000
# Verbs after which the strategy is looked at again, besides the first turn.
_TELLING: Final = frozenset({"fetch_jira_ticket", "fetch_api_spec"})


class TurnRequest(Request):
    """One turn. Wrong types are answered by the turn itself, so that the answer is always complete."""

    model_config = ConfigDict(extra="allow", frozen=True)
    runSessionId: Any = Field(None, description="Session; made when left out.", json_schema_extra=_TEXT)
    workId: Any = Field(None, description="Work; its sessions share evidence.", json_schema_extra=_TEXT)
    agentId: Any = Field(None, json_schema_extra=_TEXT)
    originalPrompt: Any = Field(None, description="What the user asked for.", json_schema_extra=_TEXT)
    verb: Any = Field(None, description="Such as list_available_verbs.", json_schema_extra=_TEXT)
    args: Any = Field(None, description="Arguments of the verb.", json_schema_extra=_OBJECT)
    traceMeta: Any = Field(None, json_schema_extra=_OBJECT)

    @model_validator(mode="before")
    @classmethod
    def _can_be_recorded(cls, data: Any) -> Any:
        """Refuse numbers that JSON cannot carry exactly: a turn with one could not be recorded."""
        waiting = [data]
        while waiting:
            value = waiting.pop()
            if isinstance(value, Mapping):
                waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, int | float) and not -_LARGEST_NUMBER < value < _LARGEST_NUMBER:
                raise ValueError("a number is too large for JSON")
        return data


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn before its session is known."""

    context: CallContext
    given: Mapping[str, Any]

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the verb; none when they are not an object."""
        found = self.given.get("args")
        return found if isinstance(found, dict) else {}

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace


def _plan(context: CallContext, request: TurnRequest) -> Plan[TurnResponse]:
    given = {name: value for name, value in request.model_dump().items() if value is not None}
    turn = _Turn(context, given)
    return Plan(lambda: _take(turn), Effects(network=network_of(context.workspace, given)))


def _take(turn: _Turn) -> TurnResponse:
    bad = tuple(_bad_ids(turn.given))
    if bad:
        return _without_session(turn, bad)
    directory = turn.workspace.places.private / "work"
    run_id = turn.given.get("runSessionId") or _new_id(turn.workspace, "run")
    try:
        with FileLock(lock_file(directory, run_id), timeout=_LOCK_SECONDS):
            return _in_work(turn, directory, run_id)
    except Timeout:
        fault = FaultError("session_busy", "Another turn of this session is still running.", is_retryable=True)
        return _answer(turn, {"error": fault.as_json()}, record=_as_stored(turn, directory, run_id))


def _in_work(turn: _Turn, directory: Path, run_id: str) -> TurnResponse:
    bound = work_of(directory, run_id)
    work_id = turn.given.get("workId") or bound or _new_id(turn.workspace, "work")
    if bound is not None and work_id != bound:
        message = f"The session {run_id} belongs to the work {bound}."
        return _without_session(turn, (Violation(Code.SCOPE, "work_other", message, "/workId"),))
    return _in_session(turn, WorkFiles(directory, work_id, turn.workspace.signing_key()), run_id)


def _as_stored(turn: _Turn, directory: Path, run_id: str) -> SessionRecord | None:
    """Return the session after its last turn, for an answer that is not a turn of its own."""
    bound = work_of(directory, run_id)
    try:
        files = WorkFiles(directory, bound, turn.workspace.signing_key()) if bound is not None else None
        record = files.load_session(run_id) if files is not None else None
    except CodePlaneError:
        return None
    return replace(record, n_turns=0) if record is not None else None


def _in_session(turn: _Turn, files: WorkFiles, run_id: str) -> TurnResponse:
    workspace = turn.workspace
    try:
        record = files.load_session(run_id)
        if record is not None:
            _check_newest(workspace, record)
    except CodePlaneError as error:
        return _failed(turn, FaultError("session_invalid", f"{error.message} {error.hint or ''}".strip()))
    settings = workspace.settings.controller
    now = iso_from_ms(workspace.clock.now_ms())
    agent = turn.given.get("agentId") or (record.agent_id if record else _new_id(workspace, "agent"))
    record = replace(record or SessionRecord(run_id, files.work_id, agent, now), agent_id=agent)
    record = with_limits(record, settings.max_tokens, Decimal(settings.threshold_percent) / 100)
    record = replace(record, n_turns=record.n_turns + 1)
    prompt = turn.given.get("originalPrompt")
    if isinstance(prompt, str):
        files.add_prompt(prompt)
    return _admitted(turn, files, record)


def _admitted(turn: _Turn, files: WorkFiles, record: SessionRecord) -> TurnResponse:
    admission = admit(record.run, turn.given)
    record = replace(record, run=admission.run)
    record, interrupted = settle_interrupted(record, Knowledge(turn.workspace, files, record))
    verb = VERBS.get(turn.given.get("verb", "")) if isinstance(turn.given.get("verb"), str) else None
    arguments = turn.arguments
    work = TurnWork(turn.context, files, record, verb, OFFERED[record.run.state])
    if interrupted:
        release_cut_off(work)
    reply = Reply({})
    violations, insufficiency = admission.violations, None
    result: dict[str, Any] = {}
    if not violations and verb is not None:
        try:
            _select_intent(work, arguments)
            reply = verb.run(work, arguments)
            result = dict(reply.result)
        except DeniedError as error:
            violations, result, insufficiency = error.violations, error.result, error.insufficiency
        except FaultError as error:
            result = {"error": error.as_json()}
        except CodePlaneError as error:
            result = {"error": FaultError(error.code.lower(), error.message).as_json()}
    _after_verb(work, turn, violations, result)
    result = redact_value(result | ({"interrupted": interrupted} if interrupted else {}))
    name = verb.name if verb is not None else ""
    response = response_of(
        work.record,
        _places(turn.workspace, files),
        OFFERED[work.record.run.state],
        Ended(result, name, arguments, violations, insufficiency),
    )
    _keep(work, turn, response, reply.sources if not violations else frozenset())
    return response


def _select_intent(work: TurnWork, arguments: Mapping[str, Any]) -> None:
    """Select the intent that `args.intent_id` names; this profile has no other way."""
    intent = arguments.get("intent_id")
    if isinstance(intent, str) and intent.strip():
        work.call("select_active_intent", intent_id=intent)


def _after_verb(work: TurnWork, turn: _Turn, violations: tuple[Violation, ...], result: Mapping[str, Any]) -> None:
    """Count the action, learn from it, and try another strategy when the same thing goes wrong again and again."""
    name = work.verb.name if work.verb is not None else str(turn.given.get("verb"))[:64]
    arguments = turn.arguments
    work.record = work.record.with_action(name, _digest(arguments))
    is_dry = arguments.get("dryRun") is True
    if violations and not is_dry:
        note_denial(work, name, arguments, violations)
    elif work.verb is not None and "error" not in result and (work.verb.is_mutation or name == "submit_execution_plan"):
        note_success(work, name, arguments)
    if work.verb is not None and work.verb.is_mutation and not violations:
        work.record = replace(work.record, run=after(work.record.run, Event.MUTATION_RAN))
    _look_at_strategy(work, name)


def _look_at_strategy(work: TurnWork, verb: str) -> None:
    record, triggers = work.record, triggers_of(work.record.history)
    is_new = not record.knowledge or verb in _TELLING or (record.n_turns == 1)
    if not (triggers or is_new):
        return
    knowledge = Knowledge(work.workspace, work.files, record)
    targets = [node.target_file for node in work.plan.of_kind("change")] if work.plan is not None else []
    signature = knowledge.signature(one for one in targets if one in knowledge.allowlist)
    current = str(record.knowledge.get("strategyId") or select_strategy(signature))
    if is_new and not triggers:
        current = record.switched_strategy or select_strategy(signature)
    chosen = next_strategy(current, signature) if triggers else current
    if chosen != current:
        # The history starts again, so that one trigger switches once.
        record = replace(record, switched_strategy=chosen, rejections=(), actions=(), conflicts=())
    reasons = reasons_of(knowledge, record, signature)
    reasons += [f"trigger: {one.value}" for one in triggers]
    work.record = with_knowledge(record, signature, chosen, reasons)


def _keep(work: TurnWork, turn: _Turn, response: TurnResponse, sources: frozenset[str]) -> None:
    """Keep the evidence, the session and what the ledger says about the turn."""
    record = work.record
    call_id = turn.context.call_id
    text = "\n".join(_texts(response.result))
    versions = {
        path: shown.content_hash
        for path in sorted({one.removeprefix("code:").partition("#")[0] for one in sources if one.startswith("code:")})
        if (shown := work.knowledge.text(path)) is not None
    }
    kept = TurnRecord(
        record.trace_ref(), record.work_id, tuple(sorted(sources)), text, call_id, _name(turn.given), versions
    )
    work.files.keep_turn(kept)
    work.files.save_session(record)
    arguments = turn.arguments
    turn.context.noted[NOTED] = _noted(work, response, sources, arguments)


def _noted(
    work: TurnWork, response: TurnResponse, sources: frozenset[str], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    verb = work.verb.name if work.verb is not None else ""
    anchor = anchors_of(work, arguments)[0] if response.denyReasons else "anchor:."
    signature = f"{'+'.join(sorted(response.denyReasons))}|{verb}|{anchor}" if response.denyReasons else ""
    error = response.result.get("error")
    found = {
        "runSessionId": response.runSessionId,
        "workId": response.workId,
        "agentId": response.agentId,
        "verb": verb,
        "state": response.state,
        "outcome": response.outcome or "denied",
        "denyReasons": response.denyReasons,
        "signature": signature,
        "anchor": anchor,
        "costTokens": response.budgetStatus["usedTokens"],
        "traceRef": response.traceRef,
        "turn": work.record.n_turns,
        "files": sorted({one.removeprefix("code:").partition("#")[0] for one in sources if one.startswith("code:")})[
            :20
        ],
        "error": error.get("kind") if isinstance(error, dict) else None,
    }
    return {name: value for name, value in found.items() if value not in (None, "")} | {
        "denyReasons": response.denyReasons
    }


def _check_newest(workspace: Workspace, record: SessionRecord) -> None:
    """Refuse a session file that is older than the ledger's last row about the session.

    Raises:
        CodePlaneError: CONTROLLER_STATE_INVALID.
    """
    wanted = RowFilter(
        operation=OPERATION,
        body_holds=f'"runSessionId":"{record.run_id}"',
        among_newest=_ROWS_LOOKED_THROUGH,
        limit=1,
    )
    rows = workspace.chain.rows(wanted)
    noted = rows[0].body.get(NOTED) if rows else None
    if isinstance(noted, dict) and noted.get("turn", 0) > record.n_turns:
        message = f"The stored state of session {record.run_id} is older than its last turn."
        raise CodePlaneError("CONTROLLER_STATE_INVALID", message)


def _new_id(workspace: Workspace, prefix: str) -> str:
    return f"{prefix}_{sha256_text(workspace.ids.new(prefix))[:16]}"


def _bad_ids(given: Mapping[str, Any]) -> list[Violation]:
    found = []
    for name, _prefix in _IDS:
        value = given.get(name)
        if value is not None and not isinstance(value, str):
            found.append(Violation(Code.MISSING_FIELDS, "arg_type", f"{name} is a text.", f"/{name}"))
        elif value is not None and not ID_FORM.fullmatch(value):
            found.append(Violation(Code.SCOPE, "id_form", f"{name} is not a valid id.", f"/{name}"))
    for name, wanted in (("originalPrompt", str), ("traceMeta", dict)):
        if given.get(name) is not None and not isinstance(given[name], wanted):
            message = f"{name} is of type {wanted.__name__}."
            found.append(Violation(Code.MISSING_FIELDS, "arg_type", message, f"/{name}"))
    return found


def _without_session(turn: _Turn, violations: tuple[Violation, ...]) -> TurnResponse:
    """Answer a turn that belongs to no session; nothing is kept of it."""
    return _answer(turn, {}, violations)


def _failed(turn: _Turn, fault: FaultError) -> TurnResponse:
    return _answer(turn, {"error": fault.as_json()})


def _answer(
    turn: _Turn,
    result: Mapping[str, Any],
    violations: tuple[Violation, ...] = (),
    record: SessionRecord | None = None,
) -> TurnResponse:
    ids = {
        name: value if isinstance(value := turn.given.get(name), str) and ID_FORM.fullmatch(value) else f"{prefix}_none"
        for name, prefix in _IDS
    }
    record = record or SessionRecord(ids["runSessionId"], ids["workId"], ids["agentId"], "")
    settings = turn.workspace.settings.controller
    record = with_limits(record, settings.max_tokens, Decimal(settings.threshold_percent) / 100)
    places = {"worktreeRoot": str(turn.workspace.root), "scratchRoot": ""}
    turn.context.noted[NOTED] = {
        "runSessionId": record.run_id, "workId": record.work_id, "agentId": record.agent_id,
        "verb": _name(turn.given), "state": record.run.state.value, "outcome": "denied",
        "denyReasons": [code.value for code in codes_of(violations)],
    }  # fmt: skip
    return response_of(record, places, OFFERED[record.run.state], Ended(result, violations=violations))


def _places(workspace: Workspace, files: WorkFiles) -> dict[str, str]:
    return {
        "worktreeRoot": str(workspace.root),
        "scratchRoot": files.scratch.relative_to(workspace.root).as_posix()
        if files.scratch.is_relative_to(workspace.root)
        else str(files.scratch),
    }


def _texts(value: Any) -> list[str]:
    """Return all texts of a result, so that quotes can be looked up in them."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _texts(one)]
    return []


def _digest(arguments: Mapping[str, Any]) -> str:
    try:
        return digest_of(arguments)
    except (ValueError, TypeError, RecursionError):
        return ""


def _name(given: Mapping[str, Any]) -> str:
    verb = given.get("verb")
    return verb[:64] if isinstance(verb, str) else ""


def _text(response: TurnResponse) -> str:
    return canonical_json(response.as_json()).decode("utf-8", "replace")


CONTROLLER_TURN = Operation(
    name=OPERATION,
    family="controller",
    summary="One turn of planned work: read, submit a plan with evidence, then carry out its nodes.",
    request_type=TurnRequest,
    result_type=TurnResponse,
    effect=EffectClass.RECORD,
    plan=_plan,
    render=_text,
    when_to_use=("Changes that need a plan which was checked before anything is written.",),
    when_not_to_use=("A small edit: write_source.",),
    examples=(
        Example("See what can be called", {"verb": "list_available_verbs", "originalPrompt": "Round to cents."}),
        Example("Read as evidence", {"verb": "read_file_lines", "args": {"targetFile": "src/app.py"}}),
    ),
    profiles=frozenset({"controller"}),
    routes=(
        Route(
            method="POST",
            path="/turn",
            summary="One turn of the controller, as an agent.",
            needs_token=True,
            as_agent=True,
            setting="controller.turn_endpoint",
            answer=lambda document: {name: value for name, value in document.items() if value is not None},
        ),
    ),
    reads_index=True,
    reaches_network=True,
    reaches_all=True,
)
