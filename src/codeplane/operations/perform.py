"""The one door: every call of every surface passes these steps in this order.

`STEPS` is the pipeline. Policies, trace, budgets and index refreshes join it through the workspace, so surfaces
need not change when they do. This is the only module that calls an operation's handler.
"""

import errno
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.canonical_json import canonical_bytes
from codeplane.core.error_registry import entry_for
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.hashing import sha256_bytes, sha256_text
from codeplane.core.logs import correlated, fields, get_logger
from codeplane.core.paths import RepoPath
from codeplane.core.redaction import redact, redact_value
from codeplane.core.tracing import TracedStep
from codeplane.git.programs import ANY_HOOKS, executed_paths
from codeplane.ledger.chain import NewEvent
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.policy import Decision, Verdict
from codeplane.ledger.sessions import Session
from codeplane.ledger.task_book import OUTSIDE_OWNER, Reservation
from codeplane.ledger.tasks import Budget, Observed, exceeded, nearly_used
from codeplane.operations.answer import Answer, AnswerMeta, Outcome
from codeplane.operations.call_record import BegunOutside, Call, CallControls
from codeplane.operations.cursors import make_cursor
from codeplane.operations.evidence import Evidence, evidence_of, repository_state
from codeplane.operations.friction_calls import note_friction
from codeplane.operations.lesson_calls import OpenFailures, note_lessons
from codeplane.operations.models import Request
from codeplane.operations.operation import AnyOperation, Bracket, CallContext
from codeplane.operations.path_leases import held_by_another
from codeplane.operations.recovery import recover_interrupted, state_of
from codeplane.operations.trace_calls import carries_trace, project_trace, trace_call
from codeplane.operations.traces import spans_of, traced
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.workspace.command_bracket import Mark
    from codeplane.workspace.git_bracket import GitOutcome

_log = get_logger(__name__)
_RECORDED_ARGUMENTS_LIMIT = 4_000


_CALLS_BETWEEN_TRIMS = 20
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Door:
    """A workspace and what can be done in it.

    `after_step` gets the name of each step that a call has passed; fault tests stop the process there.
    """

    workspace: Workspace
    operations: Mapping[str, AnyOperation]
    after_step: Callable[[str], None] | None = None
    open_failures: OpenFailures = field(default_factory=OpenFailures)


@dataclass(frozen=True, slots=True)
class Step:
    """One named stage; `always` stages run even when the call is already decided."""

    name: str
    action: Callable[[Door, Call], None]
    always: bool = False


def perform(
    door: Door, operation: AnyOperation, request: Request, caller: Caller, controls: CallControls | None = None
) -> Answer:
    """Carry out one call: take it through the door and answer; failures are answers too."""
    call = _new_call(door.workspace, operation, request, caller, controls or CallControls())
    return _take_through(door, call, STEPS)


def begin_outside(
    door: Door, operation: AnyOperation, request: Request, caller: Caller, controls: CallControls | None = None
) -> Call | Answer:
    """Take a call that somebody else carries out up to its work; answer it when it is refused.

    `finish_outside` takes it through the rest, in this process or another.
    """
    call = _new_call(door.workspace, operation, request, caller, controls or CallControls())
    _take_through(door, call, STEPS[:_WORK])
    return call if call.outcome is None else _take_through(door, call, STEPS[_WORK:])


def finish_outside(
    door: Door, operation: AnyOperation, request: Request, caller: Caller, begun: BegunOutside
) -> Answer:
    """Take a call that somebody else has carried out through the steps after its work."""
    call = _new_call(door.workspace, operation, request, caller, CallControls())
    call.call_id, call.is_begun, call.before = begun.call_id, True, dict(begun.before)
    call.mutation_number, call.decision = begun.mutation_number, begun.decision
    call.started_ms = begun.started_ms
    call.started -= max(0, door.workspace.clock.now_ms() - begun.started_ms) / 1000
    call.evidence = Evidence(repo_before=begun.repo_before)
    again = [step for step in STEPS[:_WORK] if step.name in {"find_session", "plan"}]
    _take_through(door, call, (*again, Step("resume_snapshot", partial(_resume_snapshot, begun.mark))))
    return _take_through(door, call, STEPS[_WORK:])


def _take_through(door: Door, call: Call, steps: Iterable[Step]) -> Answer:
    with correlated(request_id=call.call_id, op_id=call.call_id), ExitStack() as held:
        call.held = held
        for step in steps:
            if call.outcome is None or step.always:
                begun = door.workspace.clock.monotonic()
                _take(step, door, call)
                call.steps.append(_timed(step, call, begun, door.workspace.clock.monotonic()))
            if door.after_step is not None:
                door.after_step(step.name)
        return _wrap(door.workspace, call)


def _timed(step: Step, call: Call, begun: float, ended: float) -> TracedStep:
    return TracedStep(step.name, round((begun - call.started) * 1e9), round((ended - begun) * 1e9))


def reject(workspace: Workspace, name: str, caller: Caller, report: ErrorReport, understood: tuple[str, ...]) -> Answer:
    """Answer and record a call that cannot be carried out: unknown operation or arguments that do not fit."""
    call_id = workspace.ids.new("req")
    session: Session | None = None
    try:
        session = workspace.sessions.find(caller).session
        body = {**_recorded_error(report), "failure_class": entry_for(report.error).family, "surface": caller.surface}
        worktree = workspace.repository.worktree_id
        if not caller.only_looks:
            event = NewEvent("failed", session.label, body, call_id, redact(name[:80]), None, worktree)
            workspace.chain.append_later(event)
    except CodePlaneError as error:
        _log.warning("a refused call was not recorded", extra=fields(reason=error.message))
    meta = AnswerMeta(
        session_id=session.session_id if session else None,
        session=session.label if session else None,
        request_id=call_id,
        timestamp_ms=workspace.clock.now_ms(),
        understood=understood,
    )
    workspace.events.publish(
        "call",
        {
            "operation": name[:80],
            "outcome": "failed",
            "duration_ms": 0,
            "error": report.error,
            "is_look": caller.only_looks,
        },
    )
    return Answer(name, Outcome.FAILED, meta, error=report)


def _new_call(
    workspace: Workspace, operation: AnyOperation, request: Request, caller: Caller, controls: CallControls
) -> Call:
    arguments = request.model_dump(mode="json", exclude_none=True)
    return Call(
        operation=operation,
        request=request,
        caller=caller,
        controls=controls,
        call_id=workspace.ids.new("req"),
        started_ms=workspace.clock.now_ms(),
        started=workspace.clock.monotonic(),
        arguments=arguments,
        digest=sha256_bytes(canonical_bytes({"operation": operation.name, "arguments": arguments})),
    )


def _take(step: Step, door: Door, call: Call) -> None:
    try:
        step.action(door, call)
    except _RefusedError:
        call.result = None
    except CodePlaneError as error:
        _settle(step, call, error.report())
    except OSError as error:
        message = f"{step.name.replace('_', ' ')}: {error.strerror or error}"
        code = "DISK_FULL" if error.errno in _DISK_FULL else "FILE_READ_FAILED"
        _settle(step, call, ErrorReport(code, message))
    except Exception as error:  # noqa: BLE001 - the door answers every call; the log keeps what happened.
        _log.exception("an operation failed unexpectedly", extra=fields(operation=call.operation.name, step=step.name))
        _settle(step, call, ErrorReport("INTERNAL_ERROR", f"{call.operation.name} failed: {type(error).__name__}."))


def _settle(step: Step, call: Call, report: ErrorReport) -> None:
    """Turn a step's failure into the call's outcome, unless the work is already done."""
    if call.outcome is None:
        call.fail(report)
        return
    # After the handler, a failure must not hide what happened; the caller gets both.
    call.warnings.append(f"{step.name.replace('_', ' ')} failed: {report.message}")


def _recover_interrupted(door: Door, call: Call) -> None:
    call.budget = call.operation.budget_of(call.request)
    try:
        if recover_interrupted(door.workspace, door.operations):
            door.workspace.tasks.interrupt_implicit_orphans(door.workspace.ownership)
    except Exception:
        # An interrupted call that cannot be completed blocks new changes, but not reads.
        if call.budget is not None:
            raise
        _log.exception("interrupted calls could not be completed")
        call.warnings.append("interrupted calls could not be completed; changes are refused until recovery succeeds")


def _find_session(door: Door, call: Call) -> None:
    workspace = door.workspace
    found = workspace.sessions.find(call.caller)
    call.session = found.session
    if found.warning:
        call.warnings.append(found.warning)
    call.context = _new_context(door, call, found.session)
    _find_task(workspace, call)


def _check_audience(door: Door, call: Call) -> None:
    action = call.operation.needs_person(door.workspace, call.request)
    if action is not None and call.caller.kind is not CallerKind.PERSON:
        call.fail(ErrorReport("OPERATOR_TOKEN_REQUIRED", f"Only a person can {action}."), Outcome.DENIED)


def _find_task(workspace: Workspace, call: Call) -> None:
    try:
        call.task = workspace.tasks.current_task(call.label, workspace.repository.worktree_id)
    except CodePlaneError as error:
        # Without its task a change cannot be counted, but reads need no task.
        if call.budget is not None:
            raise
        _log.warning("the task of a call could not be found", extra=fields(reason=error.message))


def _set_trace_aside(door: Door, call: Call) -> None:
    """Keep uncommitted lines of the trace out of git's way while it replaces files."""
    if carries_trace(door.workspace, call):
        _held(call).enter_context(door.workspace.trace.set_aside())


def _bring_trace_back(_door: Door, call: Call) -> None:
    """Append the lines that were set aside."""
    _held(call).close()


def _held(call: Call) -> ExitStack:
    if call.held is None:
        raise CodePlaneError("INTERNAL_ERROR", "A call has nothing to hold.")
    return call.held


def _plan(door: Door, call: Call) -> None:
    """Plan the operation; the same plan is judged and then carried out."""
    workspace = door.workspace
    call.plan = call.operation.plan(_context_of(call), call.request)
    call.effects = call.plan.effects
    if call.budget is None:
        return
    found = workspace.programs.find()
    call.has_hooks, helpers = found.has_hooks, found.helpers
    # A snapshot is also taken around programs that are not git; they run none of its hooks by themselves.
    runs_git = call.operation.snapshots and not call.effects.commands
    hooks = (*call.operation.git_hooks, *ANY_HOOKS) if runs_git else ()
    programs = [one for one in helpers if (one.hook in hooks if one.hook else runs_git)]
    call.effects = replace(
        call.effects,
        programs=tuple((one.name, one.digest) for one in programs),
        executed=executed_paths(helpers),
    )


def _context_of(call: Call) -> CallContext:
    if call.context is None:
        raise CodePlaneError("SESSION_NOT_FOUND")
    return call.context


def _ask_policies(door: Door, call: Call) -> None:
    workspace = door.workspace
    preview = call.plan.preview if call.plan is not None and call.plan.preview is not None else _no_preview
    facts = replace(call.facts(), worktree=workspace.repository.worktree_id, preview=preview)
    call.decision = workspace.policies.decide(facts)
    call.warnings.extend(call.decision.warnings)
    _refuse(call, call.decision)


def _refuse(call: Call, decision: Decision) -> None:
    """End the call when it was denied or is held."""
    if decision.report is not None:
        call.fail(decision.report, Outcome.DENIED if decision.verdict is Verdict.DENY else Outcome.HELD)


class _RefusedError(CodePlaneError):
    """Leaves a handler whose call the gate refused midway; the call's outcome is already set."""


def _judge_more(door: Door, call: Call, paths: Iterable[str], refs: Iterable[str] = ()) -> None:
    """Ask the policies about effects found while running; what a person saw and approved is settled.

    Raises:
        _RefusedError: the call is denied or held now.
    """
    workspace = door.workspace
    effects, decision = call.effects, call.decision
    known = {path.text for path in (*effects.touched, *effects.staged)} | call.judged
    if decision is not None and decision.approval is not None:
        known |= set(workspace.gate.approvals.find(decision.approval).card.get("paths", ()))
    more = [path for path in dict.fromkeys(paths) if not any(_is_at(path, one) for one in known)]
    more_refs = tuple(ref for ref in refs if not any(fnmatchcase(ref, one) for one in effects.git_refs))
    if not more and not more_refs:
        return
    found = Effects(writes=tuple(RepoPath.known(path) for path in more), git_refs=more_refs, executed=effects.executed)
    facts = replace(call.facts(), effects=found, worktree=workspace.repository.worktree_id)
    later = workspace.policies.decide(facts)
    _refuse(call, later)
    if call.error is not None:
        call.decision = later
        raise _RefusedError(call.error.error, call.error.message)
    call.judged |= set(more)
    if later.approval is not None and decision is not None:
        call.decision = replace(decision, approval=later.approval)


def _is_at(path: str, known: str) -> bool:
    return path == known or path.startswith(f"{known}/")


def _no_preview() -> str:
    return ""


def _append_begun(door: Door, call: Call) -> None:
    """Reserve the call in its task's budget; the `begun` row is the reservation."""
    workspace = door.workspace
    if call.budget is None:
        return
    workspace.ownership.claim()
    if call.task is not None and not call.task.is_explicit and workspace.ownership.owner not in call.task.owners:
        # The session was resumed by this process; a task of dead processes is not continued implicitly.
        workspace.tasks.interrupt_implicit_orphans(workspace.ownership)
    call.before = state_of(workspace.root, call.effects.touched)
    repo_before = repository_state(workspace, call.before)
    call.evidence = Evidence(repo_before=repo_before)
    body = {**_description(call), **_decided(call), "before": call.before, "repo_before": repo_before}
    begun = NewEvent(
        "begun", call.label, body, call.call_id, call.operation.name, None, workspace.repository.worktree_id
    )
    owner, limits = workspace.ownership.owner, workspace.task_limits()
    is_elsewhere = call.operation.is_outside and not call.operation.is_carried_out_here
    call_owner = OUTSIDE_OWNER if is_elsewhere else owner
    wanted = Reservation(begun, call.budget, owner, limits, workspace.snapshot(), call_owner)
    reserved = workspace.tasks.reserve(wanted)
    call.task = reserved.task
    if reserved.excess is not None:
        call.limit_triggered = reserved.excess.value
        call.fail(exceeded(reserved.counted, reserved.excess))
        return
    call.is_begun = True
    call.mutation_number = reserved.number if call.budget is Budget.MUTATIONS else None
    call.warnings.extend(nearly_used(reserved.counted, call.budget, workspace.clock.now_ms()))
    holder = held_by_another(workspace, call)
    if holder is not None:
        call.fail(holder, Outcome.DENIED)


def _take_snapshot(door: Door, call: Call) -> None:
    """Snapshot what a call that does not use the editor may change."""
    if not (call.operation.snapshots and call.is_begun):
        return
    workspace, effects = door.workspace, call.effects
    if call.operation.is_outside:
        bracket: Bracket = workspace.command_bracket(call.call_id)
        bracket.begin(effects.touched, has_hooks=effects.destructive or not effects.touched)
    else:
        bracket = workspace.git_bracket(call.call_id)
        bracket.begin(effects.touched, has_hooks=call.has_hooks or bool(effects.commands))
    _context_of(call).bracket = bracket
    if bracket.unreadable:
        call.warnings.append(f"no copy could be made of {', '.join(bracket.unreadable[:5])}")


def _resume_snapshot(mark: "Mark | None", door: Door, call: Call) -> None:
    """Take up the snapshot that was taken before the agent went to work."""
    if call.operation.snapshots:
        _context_of(call).bracket = door.workspace.command_bracket(call.call_id, mark)


def _refresh_index(door: Door, call: Call) -> None:
    workspace = door.workspace
    if not call.operation.reads_index:
        return
    program = call.controls.program
    if program is None or not program.is_index_fresh:
        report = call.controls.report_progress
        workspace.refresh_index(lambda n_done, n_all: report(n_done, n_all, "indexing"))
        if program is not None:
            program.is_index_fresh = True
    _context_of(call).is_index_fresh = True
    call.index_epoch = workspace.index_epoch()


def _work(_door: Door, call: Call) -> None:
    context = _context_of(call)
    context.check_cancelled()
    if call.plan is None:
        raise CodePlaneError("INTERNAL_ERROR", "A call reached the work step without a plan.")
    call.result = call.plan.work()
    call.outcome = Outcome.FINISHED


def _refresh_for_answer(call: Call) -> bool:
    """Refresh the index for the details in a change's answer; without it the answer has fewer."""
    context = _context_of(call)
    try:
        context.workspace.refresh_index()
    except (CodePlaneError, OSError) as error:
        call.warnings.append(f"the index could not be refreshed, so affected tests are not known: {error}")
        context.is_index_fresh = False
    else:
        context.is_index_fresh = True
    return context.is_index_fresh


def _new_context(door: Door, call: Call, session: Session) -> CallContext:
    return CallContext(
        workspace=door.workspace,
        operations=door.operations,
        call_id=call.call_id,
        caller=call.caller,
        session=session,
        report_progress=call.controls.report_progress,
        is_cancelled=call.controls.is_cancelled,
        ask_client=call.controls.ask_client,
        warnings=call.warnings,
        incomplete=call.incomplete,
        position=call.controls.position,
        next_page=lambda position: make_cursor(door.workspace, call.operation.name, call.request, position),
        judge=lambda paths: _judge_more(door, call, paths),
        fresh_index=lambda: _refresh_for_answer(call),
    )


def _finish_snapshot(door: Door, call: Call) -> None:
    """Record what a bracketed call changed; roll back what a failed one changed."""
    bracket = call.context.bracket if call.context is not None else None
    if bracket is None:
        return
    outcome = bracket.finish()
    if call.operation.is_outside:
        # It has happened; the operation reports what it was not to do.
        return
    _judge_outcome(door, call, outcome)
    if call.outcome is Outcome.FINISHED or outcome.is_nothing:
        return
    # 30 ms that only changes by git that failed need.
    from codeplane.edit.records import State  # noqa: PLC0415
    from codeplane.workspace.rollback import plan_rollback, roll_back  # noqa: PLC0415

    workspace = door.workspace
    kept = workspace.editor.records.find(call.call_id)
    if kept is None:
        return
    plan = plan_rollback(workspace.repository, workspace.editor, [kept[0]])
    if plan.files.conflicts or plan.git_conflicts:
        call.warnings.append(
            "the call failed, and its changes could not be rolled back because the files changed again"
        )
        return
    roll_back(workspace.repository, workspace.editor, f"{call.call_id}-back", plan, (call.call_id,))
    for batch in (call.call_id, f"{call.call_id}-back"):
        workspace.editor.records.drop(batch, State.DONE)


def _judge_outcome(door: Door, call: Call, outcome: "GitOutcome") -> None:
    """Compare what a call did with what was judged; programs that a person has accepted may do more."""
    if call.outcome is not Outcome.FINISHED or call.effects.programs:
        return
    paths = (*outcome.working_paths, *outcome.before.entries)
    try:
        _judge_more(door, call, paths, outcome.before.refs)
    except _RefusedError:
        call.result = None


def _reconcile_writes(door: Door, call: Call) -> None:
    if not call.is_begun:
        return
    context = _context_of(call)
    context.is_index_fresh = False
    if call.operation.is_outside and not door.workspace.is_index_quick():
        # The next call that reads the index refreshes it.
        return
    # A refused change that left all known files unchanged gives the index nothing to refresh.
    is_refused = call.outcome is not Outcome.FINISHED and bool(call.before)
    if is_refused and state_of(door.workspace.root, call.effects.touched) == call.before:
        return
    _refresh_for_answer(call)


def _complete(_door: Door, call: Call) -> None:
    """Add what only the refreshed index can tell about a change."""
    if call.result is None or call.plan is None or call.outcome is not Outcome.FINISHED:
        return
    if call.operation.complete is not None and call.is_begun:
        call.result = call.operation.complete(_context_of(call), call.result)
    if call.plan.complete is not None:
        call.result = call.plan.complete(call.result)


def _render(_door: Door, call: Call) -> None:
    if call.result is not None:
        # The fallback if the operation's own rendering fails: the plain data.
        call.text = call.result.model_dump_json(exclude_none=True)
        call.text = call.operation.text_of(call.result)
        call.links = call.operation.links(call.result)


def _take_fingerprints(door: Door, call: Call) -> None:
    if call.context is None and not call.is_begun:
        return
    after = state_of(door.workspace.root, call.effects.touched) if call.is_begun else None
    is_finished = call.outcome is Outcome.FINISHED
    call.evidence = evidence_of(
        door.workspace, call.context, call.before, after, call.evidence, is_finished=is_finished
    )


def _observe_after(door: Door, call: Call) -> None:
    workspace = door.workspace
    outcome = call.outcome.value if call.outcome else Outcome.FAILED.value
    _check_quality(workspace, call)
    workspace.gate.observe(call.facts(), outcome, call.error.error if call.error else None, _seen(call))
    note_friction(workspace, call)
    note_lessons(workspace, door.open_failures, call)
    if not workspace.after_policies:
        return
    result = call.result.model_dump(mode="json") if call.result is not None else None
    for policy in workspace.after_policies:
        try:
            call.warnings.extend(policy.observe(call.facts(), outcome, result))
        except Exception:  # noqa: BLE001 - may be a team's plugin; it cannot change what happened.
            _log.exception("after-policy failed", extra=fields(policy=policy.name))
            call.warnings.append(f"{policy.name} failed; see the log")


def _check_quality(workspace: Workspace, call: Call) -> None:
    """Run the team's checks on written files; files that a formatter rewrote are indexed and known to the session."""
    written = [path.text for path in call.effects.writes]
    is_agents_change = call.is_begun and call.outcome is Outcome.FINISHED and call.caller.kind is CallerKind.AGENT
    if not (written and is_agents_change) or call.operation.snapshots or call.context is None:
        return
    # 3 ms that only changes need.
    from codeplane.govern.quality import check_quality  # noqa: PLC0415

    for one in check_quality(workspace.root, workspace.gate.rules(), written, workspace.working_hash):
        call.quality.append(one.as_dict())
        warning = one.as_warning()
        if warning is not None:
            call.warnings.append(warning)
        call.rewritten |= dict(one.changed)
    if call.rewritten:
        workspace.refresh_index()


def _seen(call: Call) -> dict[str, str | None]:
    """Return the files whose content the session knows after the call: those it was shown and those it wrote."""
    if call.context is None or call.outcome is not Outcome.FINISHED:
        return {}
    return {**call.context.seen, **(call.evidence.after or {}), **call.rewritten}


def _trace(door: Door, call: Call) -> None:
    """Note in the call's row which lines it wrote."""
    trace_call(door.workspace, call)


def _project_trace(door: Door, call: Call) -> None:
    """Write the noted lines into the trace file."""
    project_trace(door.workspace, call)


def _append_final(door: Door, call: Call) -> None:
    if not call.is_recorded:
        return
    workspace = door.workspace
    outcome = call.outcome or Outcome.FAILED
    body = {**_description(call), **_ending(call), "duration_ms": _elapsed_ms(workspace, call)}
    event = _event(workspace, call, outcome.value, body)
    noted = call.context.noted.get("memory", ()) if call.context is not None else ()
    if call.task_id is not None and (call.is_begun or call.evidence.failure_fingerprint is not None):
        _finish_in_task(workspace, call, event)
    elif call.budget is not None or call.operation.effect is EffectClass.RECORD or noted:
        # A refused change is evidence too: it is durable before it is answered. So is a session's selection.
        workspace.chain.append(event)
    else:
        workspace.chain.append_later(event)
    if noted:
        workspace.memory.note_recorded(noted)


def _ending(call: Call) -> dict[str, Any]:
    """Return what the final row adds to the description."""
    body = dict(call.evidence.as_body())
    if not call.is_begun:
        body |= _decided(call)
    if call.error is not None:
        body = {"failure_class": entry_for(call.error.error).family} | body | _recorded_error(call.error)
    context = call.context
    found = {
        "quality": call.quality,
        "claimed_class": call.controls.given_class,
        "seen": context.seen if context is not None else None,
        "limit_triggered": call.limit_triggered,
        "spans": spans_of(call),
    }
    body |= {name: value for name, value in found.items() if value}
    if call.index_epoch is not None:
        body["index_epoch"] = call.index_epoch
    body["output_hash"] = sha256_text(call.text if call.error is None else call.error.message)
    return body | (context.noted if context is not None else {})


def _recorded_error(report: ErrorReport) -> dict[str, str]:
    """Return an error as a row records it."""
    return {"error": report.error, "message": redact(report.message[:500])}


def _finish_in_task(workspace: Workspace, call: Call, event: NewEvent) -> None:
    evidence = call.evidence
    observed = Observed(
        is_begun=call.is_begun,
        mutation_number=call.mutation_number,
        mutation_fingerprint=evidence.mutation.text if evidence.mutation and call.mutation_number else None,
        is_unchanged=evidence.mutation is not None and evidence.mutation.is_empty,
        failure_fingerprint=evidence.failure_fingerprint,
    )
    progress = workspace.tasks.finish(event, observed)
    if progress is None:
        return
    if call.mutation_number is not None and call.mutation_number % _CALLS_BETWEEN_TRIMS == 0:
        workspace.trim_undo()
    call.progress, call.task = progress, progress.task
    if progress.is_no_op:
        call.warnings.append("this change left the files as the previous call did; it still counts")
    if progress.non_progress:
        call.warnings.append("same failure as before, although something changed since")


def _announce(door: Door, call: Call) -> None:
    workspace = door.workspace
    outcome = call.outcome or Outcome.FAILED
    _log.debug(
        "call ended",
        extra=fields(
            operation=call.operation.name,
            outcome=outcome.value,
            session=call.label,
            surface=call.caller.surface,
            error=call.error.error if call.error else None,
        ),
    )
    workspace.events.publish(
        "call",
        {
            "operation": call.operation.name,
            "outcome": outcome.value,
            "duration_ms": _elapsed_ms(workspace, call),
            "error": call.error.error if call.error else None,
            "at_ms": workspace.clock.now_ms(),
            "budget": call.budget.value if call.budget and call.is_begun else None,
            "is_no_op": call.progress is not None and call.progress.is_no_op,
            "non_progress": call.progress is not None and call.progress.non_progress,
            "is_look": call.is_look,
        },
    )
    if workspace.tracer is not None and not call.is_look:
        workspace.tracer.record(traced(call, round((workspace.clock.monotonic() - call.started) * 1e9)))


# Calls of somebody else are taken through the steps in two parts, with the work between them.
STEPS: tuple[Step, ...] = (
    Step("recover_interrupted", _recover_interrupted),
    Step("find_session", _find_session),
    Step("check_audience", _check_audience),
    Step("refresh_index", _refresh_index),
    Step("set_trace_aside", _set_trace_aside),
    Step("plan", _plan),
    Step("ask_policies", _ask_policies),
    Step("append_begun", _append_begun),
    Step("take_snapshot", _take_snapshot),
    Step("work", _work),
    Step("finish_snapshot", _finish_snapshot, always=True),
    Step("bring_trace_back", _bring_trace_back, always=True),
    Step("reconcile_writes", _reconcile_writes, always=True),
    Step("complete", _complete, always=True),
    Step("render", _render, always=True),
    Step("take_fingerprints", _take_fingerprints, always=True),
    Step("observe_after", _observe_after, always=True),
    Step("trace", _trace, always=True),
    Step("append_final", _append_final, always=True),
    Step("project_trace", _project_trace, always=True),
    Step("announce", _announce, always=True),
)

_WORK: Final = [step.name for step in STEPS].index("work")


def _description(call: Call) -> dict[str, Any]:
    """Return what both rows of a call say about it; long arguments are stored as a digest."""
    arguments: Mapping[str, Any] = redact_value(call.arguments)
    body: dict[str, Any] = {
        "effect": call.operation.effect.value,
        "effects": redact_value(call.effects.as_dict()),
        "arguments_digest": call.digest,
        "surface": call.caller.surface,
        "caller": call.caller.kind.value,
        "policy": call.decision.policy if call.decision is not None else "",
    }
    if call.operation.is_outside:
        body["tool_class"] = call.operation.tool_class
    if call.controls.program is not None:
        body["part_of"] = call.controls.program.call_id
    if call.decision is not None and call.decision.intent is not None:
        body["intent"] = call.decision.intent
    if call.decision is not None and call.decision.approval is not None:
        body["approval"] = call.decision.approval
    # What memory is told is kept by memory alone: the chain cannot forget.
    if call.operation.family != "memory" and len(canonical_bytes(arguments)) <= _RECORDED_ARGUMENTS_LIMIT:
        body["arguments"] = arguments
    return body


def _decided(call: Call) -> dict[str, Any]:
    """Return why a call was allowed or not, in a form from which it can be decided again."""
    return {"decision": call.decision.explanation} if call.decision is not None and call.decision.explanation else {}


def _event(workspace: Workspace, call: Call, kind: str, body: Mapping[str, Any]) -> NewEvent:
    worktree = workspace.repository.worktree_id
    return NewEvent(kind, call.label, body, call.call_id, call.operation.name, call.task_id, worktree)


def _elapsed_ms(workspace: Workspace, call: Call) -> int:
    return max(0, round((workspace.clock.monotonic() - call.started) * 1000))


def _wrap(workspace: Workspace, call: Call) -> Answer:
    session = call.session
    meta = AnswerMeta(
        session_id=session.session_id if session else None,
        session=session.label if session else None,
        request_id=call.call_id,
        timestamp_ms=workspace.clock.now_ms(),
        task_id=call.task.task_id if call.task else None,
        task_state=call.task.state.in_envelope if call.task else None,
        index_epoch=call.index_epoch,
        warnings=tuple(call.warnings),
        understood=call.controls.understood,
        obvious=call.controls.obvious,
        incomplete=tuple(call.incomplete),
        signals=call.evidence.signals(call.progress),
        quality=tuple(call.quality),
    )
    if call.outcome is Outcome.FINISHED and call.result is not None:
        return Answer(call.operation.name, call.outcome, meta, call.result, None, call.text, call.links)
    report = call.error or ErrorReport("INTERNAL_ERROR", f"{call.operation.name} ended without a result.")
    return Answer(call.operation.name, call.outcome or Outcome.FAILED, meta, error=report)
