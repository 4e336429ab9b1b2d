"""What people do with runs: list them, read their plans as a tree, check a plan, and review nodes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from codeplane.controller.events import (
    errors,
    pending_corrections,
    recent,
    rejection_heatmap,
    rejection_trend,
    retrieval_hotspots,
    top_rejection_signatures,
)
from codeplane.controller.knowledge import Knowledge
from codeplane.controller.pack import summary_of
from codeplane.controller.plan import Plan
from codeplane.controller.reviews import REVIEWED, reviews_of
from codeplane.controller.runs import SessionRecord, WorkFiles, sessions_of, work_of, works
from codeplane.controller.scope import ID_FORM
from codeplane.controller.structure import read_plan
from codeplane.controller.turn_work import violation_json
from codeplane.controller.validation import validate_plan
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.index.source_text import read_whole
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown, Table
from codeplane.operations.file_access import check_readable
from codeplane.operations.models import PathText, Request
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.operations.operation import Plan as CallPlan
from codeplane.workspace.workspace import Workspace

_FAMILY: Final = "controller"
_MAX_PLAN: Final = 4_000_000
_MAX_EVENTS: Final = 1_000


class RunRequest(Request):
    """Which run session."""

    run: str = Field(description="The id of a run session, or of a work with one session.")


class PlanFileRequest(Request):
    """Which plan."""

    file: PathText = Field(description="A JSON file with a plan.")
    run: str | None = Field(None, description="Check it as this run session would; default a new one.")


class ReviewRequest(Request):
    """What is decided about which nodes."""

    run: str | None = Field(None, description="A run session; without it, what waits is listed.")
    nodes: list[str] = Field(default_factory=list, max_length=200, description="Nodes; default all that wait.")
    deny: bool = Field(False, description="Refuse instead of approve.")

    @property
    def decides(self) -> bool:
        """Tell whether the request is more than a look."""
        return self.run is not None


def _directory(workspace: Workspace) -> Path:
    return workspace.places.private / "work"


def _files(workspace: Workspace, work_id: str) -> WorkFiles:
    return WorkFiles(_directory(workspace), work_id, workspace.signing_key())


def _find(workspace: Workspace, name: str) -> tuple[WorkFiles, SessionRecord]:
    """Return a session by its id, or the only one of a work.

    Raises:
        CodePlaneError: NOT_FOUND, or CONTROLLER_STATE_INVALID.
    """
    if ID_FORM.fullmatch(name):
        work_id = work_of(_directory(workspace), name)
        if work_id is not None:
            files = _files(workspace, work_id)
            record = files.load_session(name)
            if record is not None:
                return files, record
        if name in works(_directory(workspace)):
            files = _files(workspace, name)
            sessions = sessions_of(files)
            if len(sessions) == 1:
                return files, sessions[0]
    raise CodePlaneError("NOT_FOUND", f"There is no run {name[:80]}.", hint="`cpl controller runs` lists them.")


def _summary(workspace: Workspace, record: SessionRecord) -> dict[str, Any]:
    states = Counter(one.state for one in record.nodes.values())
    reviewed = reviews_of(workspace, str(record.run.plan_fingerprint)) if record.needs_review else frozenset()
    waiting = [node_id for node_id in record.needs_review if (record.run.plan_fingerprint, node_id) not in reviewed]
    return {
        "run": record.run_id,
        "work": record.work_id,
        "agent": record.agent_id,
        "state": record.run.state.value,
        "turns": record.n_turns,
        "used_tokens": record.run.budget.used_tokens,
        "strategy": record.knowledge.get("strategyId"),
        "plan": record.run.plan_fingerprint,
        "nodes": dict(states),
        "waits_for_review": waiting,
        "opened_at": record.opened_at,
    }


def _list_runs(context: CallContext, _request: NoArguments) -> Document:
    workspace = context.workspace
    found = [
        _summary(workspace, record)
        for work_id in works(_directory(workspace))
        for record in sessions_of(_files(workspace, work_id))
    ]
    return Document(runs=sorted(found, key=lambda one: (one["opened_at"], one["run"]), reverse=True))


def _show_runs(result: Document) -> Shown:
    rows = tuple(
        (
            one["run"],
            one["work"],
            one["state"],
            str(one["turns"]),
            str(one["strategy"] or ""),
            ", ".join(f"{n} {state}" for state, n in sorted(one["nodes"].items())),
            ", ".join(one["waits_for_review"]),
        )
        for one in result.model_dump()["runs"]
    )
    headers = ("run", "work", "state", "turns", "strategy", "nodes", "waits for review")
    return (Table(headers, rows, "" if rows else "No runs yet."),)


def _show_run(context: CallContext, request: RunRequest) -> Document:
    files, record = _find(context.workspace, request.run)
    plan: Mapping[str, Any] = record.plan or {"nodes": record.refused_nodes}
    nodes = [_node_line(record, node) for node in _nodes(plan)]
    return Document(
        **_summary(context.workspace, record),
        prompt=files.prompts()["originalPrompt"],
        tree=nodes,
        last_rejection=[dict(one) for one in record.last_rejection],
        plan_document=dict(record.plan) if record.plan is not None else None,
        place=f".codeplane/work/{record.work_id}",
        pack=_pack(files, record),
    )


def _pack(files: WorkFiles, record: SessionRecord) -> dict[str, Any] | None:
    """Return what the pack of the accepted plan holds, without the texts; None when there is none."""
    digest = str((record.plan or {}).get("contextPackHash", "")).removeprefix("sha256:")
    found = files.read(files.place / "context" / f"{digest}.json") if ID_FORM.fullmatch(digest) else None
    if not isinstance(found, dict):
        return None
    return {**summary_of(found, record.work_id), "policies": found["policies"], "allowed": found["allowed"]["files"]}


def _nodes(document: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Return the nodes of a plan, each after those that it depends on."""
    nodes = {
        one["nodeId"]: one for one in (document or {}).get("nodes", ()) if isinstance(one, dict) and "nodeId" in one
    }
    done: dict[str, Mapping[str, Any]] = {}
    while len(done) < len(nodes):
        ready = [
            name
            for name, one in nodes.items()
            if name not in done and not (set(one.get("dependsOn", ())) & (nodes.keys() - done.keys()))
        ]
        # A cycle: the rest comes as it is written.
        for name in ready or [name for name in nodes if name not in done]:
            done[name] = nodes[name]
    return list(done.values())


def _node_line(record: SessionRecord | None, node: Mapping[str, Any]) -> dict[str, Any]:
    node_id = str(node["nodeId"])
    progress = record.nodes.get(node_id) if record is not None else None
    what = node.get("targetFile") or node.get("sideEffectType") or ", ".join(node.get("mapsToNodeIds", ()))
    intent = node.get("editIntent")
    return {
        "id": node_id,
        "kind": node.get("kind"),
        "after": list(node.get("dependsOn", ())),
        "what": what,
        "summary": intent.get("summary") if isinstance(intent, dict) else None,
        "state": progress.state if progress is not None else None,
    }


def _tree(nodes: list[dict[str, Any]], violations: list[dict[str, Any]]) -> Iterator[str]:
    depth: dict[str, int] = {}
    for one in nodes:
        depth[one["id"]] = 1 + max((depth.get(name, 0) for name in one["after"]), default=-1)
        indent = "  " * depth[one["id"]]
        state = f" [{one['state']}]" if one["state"] else ""
        summary = f": {one['summary']}" if one["summary"] else ""
        what = printable_name(f"{one['what'] or ''}{state}{summary}")
        yield f"{indent}{one['id']} {one['kind']} {what}"
        for fault in violations:
            if fault.get("nodeId") == one["id"]:
                yield f"{indent}  ! {fault['code']} {fault.get('pointer', '')}: {printable_name(fault['message'])}"
    for fault in violations:
        if fault.get("nodeId") not in depth:
            yield f"! {fault['code']} {fault.get('pointer', '')}: {printable_name(fault['message'])}"


def _shown_run(result: Document) -> Shown:
    found = result.model_dump()
    names = ("run", "work", "state", "turns", "strategy", "plan", "prompt")
    facts = tuple((name, printable_name(str(found[name]))) for name in names if found.get(name) is not None)
    lines = list(_tree(found["tree"], found["last_rejection"]))
    if not found.get("plan"):
        lines = ["No plan was accepted yet.", *(["The last one:", *lines] if lines else [])]
    tree = "\n".join(lines)
    waiting = found["waits_for_review"]
    hint = (
        f"Waits for a person: {', '.join(waiting)}. `cpl controller review {found['run']}` approves." if waiting else ""
    )
    return (Facts(facts), tree, *([hint] if hint else []))


def _plan_check(context: CallContext, request: PlanFileRequest) -> CallPlan[Document]:
    path = RepoPath.parse(request.file)
    return CallPlan(lambda: _check_plan(context, request, path), Effects(reads=(path,)))


def _check_plan(context: CallContext, request: PlanFileRequest, path: RepoPath) -> Document:
    workspace = context.workspace
    check_readable(workspace.ignore_rules(), path)
    try:
        document = json.loads(read_whole(workspace.root, path, _MAX_PLAN).text)
    except (ValueError, RecursionError) as error:
        raise CodePlaneError("VALIDATION_ERROR", f"{path} is not JSON: {error}") from error
    if request.run is not None:
        files, record = _find(workspace, request.run)
    else:
        given = document if isinstance(document, dict) else {}
        ids = {
            name: value
            for name in ("runSessionId", "workId", "agentId")
            if isinstance(value := given.get(name), str) and ID_FORM.fullmatch(value)
        }
        record = SessionRecord(
            ids.get("runSessionId", "run"), ids.get("workId", "work"), ids.get("agentId", "agent"), ""
        )
        files = _files(workspace, record.work_id)
    verdict = validate_plan(document, Knowledge(workspace, files, record).world(document))
    plan = read_plan(document)
    nodes = plan.document if isinstance(plan, Plan) else document if isinstance(document, dict) else {}
    return Document(
        accepted=verdict.is_accepted,
        codes=[code.value for code in verdict.codes],
        violations=[violation_json(one) for one in verdict.violations],
        confidence=verdict.confidence,
        strategy=verdict.strategy,
        needs_review=sorted(verdict.needs_review),
        tree=[_node_line(None, node) for node in _nodes(nodes)],
    )


def _shown_check(result: Document) -> Shown:
    found = result.model_dump()
    verdict = "accepted" if found["accepted"] else f"refused: {', '.join(found['codes'])}"
    confidence = f", confidence {found['confidence']}" if found["confidence"] is not None else ""
    return (f"{verdict}{confidence}", "\n".join(_tree(found["tree"], found["violations"])))


def _review(context: CallContext, request: ReviewRequest) -> Document:
    workspace = context.workspace
    if request.run is None:
        runs = _list_runs(context, NoArguments()).model_dump()["runs"]
        return Document(waiting=[one for one in runs if one["waits_for_review"]], decided=[])
    _files_of_run, record = _find(workspace, request.run)
    nodes = request.nodes or list(record.needs_review)
    unknown = [one for one in nodes if one not in record.needs_review]
    if unknown or not nodes:
        message = f"{unknown[0]} does not wait for a review." if unknown else "Nothing in this plan waits for a review."
        raise CodePlaneError("VALIDATION_ERROR", message)
    body: dict[str, object] = {
        "fingerprint": record.run.plan_fingerprint,
        "nodes": nodes,
        "approved": not request.deny,
        "by": context.caller.proof or context.caller.client,
        "run": record.run_id,
    }
    workspace.record(REVIEWED, body)
    return Document(waiting=[], decided=[body])


def _shown_review(result: Document) -> Shown:
    found = result.model_dump()
    lines = [
        f"{one['run']}: {', '.join(one['nodes'])} {'approved' if one['approved'] else 'denied'}"
        for one in found["decided"]
    ]
    lines += [f"{one['run']} waits: {', '.join(one['waits_for_review'])}" for one in found["waiting"]]
    return tuple(lines) or ("Nothing waits for a review.",)


def _analytics(context: CallContext, _request: NoArguments) -> Document:
    events = recent(context.workspace, _MAX_EVENTS)
    return Document(
        rejection_heatmap=rejection_heatmap(events),
        rejection_trend=rejection_trend(events),
        top_rejection_signatures=top_rejection_signatures(events),
        retrieval_hotspots=retrieval_hotspots(events),
        pending_corrections=len(pending_corrections(events)),
        turns=len(events),
    )


def _shown_analytics(result: Document) -> Shown:
    found = result.model_dump()
    heat = tuple((one["code"], one["anchor"], str(one["n"])) for one in found["rejection_heatmap"])
    facts = (
        ("turns", str(found["turns"])),
        ("not yet corrected", str(found["pending_corrections"])),
        ("most read", ", ".join(f"{one['path']} ({one['n']})" for one in found["retrieval_hotspots"]) or "none"),
        ("by hour", ", ".join(f"{one['hour']} {one['n']}" for one in found["rejection_trend"]) or "none"),
    )
    return Facts(facts), Table(("code", "folder", "times"), heat, "" if heat else "Nothing was refused.")


def _turn_errors(context: CallContext, _request: NoArguments) -> Document:
    return Document(errors=errors(recent(context.workspace, _MAX_EVENTS))[:200])


def _pending(context: CallContext, _request: NoArguments) -> Document:
    """Return the learned rules that wait for a person, and the refused plans that nobody has corrected."""
    workspace = context.workspace
    files = WorkFiles(_directory(workspace), "none", workspace.signing_key())
    memories = Knowledge(workspace, files, SessionRecord("run", "none", "agent", "")).memories
    rules = [one for one in memories.values() if one["state"] == "pending"]
    return Document(pending=rules, corrections=pending_corrections(recent(workspace, _MAX_EVENTS))[:200])


def _worktrees(context: CallContext, _request: NoArguments) -> Document:
    workspace = context.workspace
    runs = _list_runs(context, NoArguments()).model_dump()["runs"]
    here = {"worktree": workspace.repository.worktree_id, "root": str(workspace.root), "head": workspace.head_summary()}
    return Document(worktrees=[{**here, "works": sorted({one["work"] for one in runs}), "runs": len(runs)}])


def _read(
    name: str, summary: str, run: Any, path: str, shows: Any = None, command: tuple[str, ...] = ()
) -> Operation[Any, Any]:
    """Return an operation that only reads, with its address."""
    return Operation(
        name=name,
        family=_FAMILY,
        summary=summary,
        request_type=NoArguments,
        result_type=Document,
        effect=EffectClass.READ,
        plan=planned(run),
        examples=(Example("Look", {}),),
        audience=Audience.SHELL,
        command=Command(path=command, help=summary, shows=shows) if command else None,
        routes=(Route(method="GET", path=path, summary=summary),),
        render=None if command else (lambda result: result.model_dump_json()),
    )


LIST_RUNS = _read(
    "list_runs", "List the run sessions of the controller.", _list_runs, "/runs", _show_runs, ("controller", "runs")
)
CONTROLLER_ANALYTICS = _read(
    "controller_analytics",
    "Show what plans are refused for, where and when.",
    _analytics,
    "/controller/analytics",
    _shown_analytics,
    ("controller", "analytics"),
)
LIST_TURN_ERRORS = _read("list_turn_errors", "List turns that were denied or failed.", _turn_errors, "/errors")
LIST_PENDING_POLICIES = _read(
    "list_pending_policies",
    "List learned rules that wait for a person, and refused plans.",
    _pending,
    "/policies/pending",
)
LIST_RUN_WORKTREES = _read("list_run_worktrees", "List the working tree with its works.", _worktrees, "/worktrees")

SHOW_RUN = Operation(
    name="show_run",
    family=_FAMILY,
    summary="Show a run: its plan as a tree, what was refused, what waits.",
    request_type=RunRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_show_run),
    examples=(Example("One run", {"run": "run_0123456789abcdef"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("controller", "show"), help="Show a run with its plan as a tree.", shows=_shown_run, arguments=("run",)
    ),
    routes=(Route(method="GET", path="/runs/{run}", summary="One run with its plan."),),
)

CHECK_PLAN = Operation(
    name="check_plan",
    family=_FAMILY,
    summary="Check a plan without submitting it; violations are shown at their nodes.",
    request_type=PlanFileRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=_plan_check,
    examples=(Example("A file", {"file": "plan.json"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("controller", "plan", "check"),
        help="Check a plan in a JSON file; exit code 1 when it would be refused.",
        shows=_shown_check,
        arguments=("file",),
        is_finding=lambda result: not result.model_dump()["accepted"],
    ),
    reads_index=True,
)

REVIEW_PLAN = Operation(
    name="review_plan",
    family=_FAMILY,
    summary="Review nodes that rest on one source, before they run.",
    request_type=ReviewRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_review),
    examples=(Example("Approve all that waits", {"run": "run_0123456789abcdef"}),),
    audience=Audience.SHELL,
    only_a_person_can=lambda _workspace, request: (
        f"{'refuse' if request.deny else 'approve'} nodes of the run {printable_name(str(request.run)[:80])}"
        if request.decides
        else None
    ),
    command=Command(
        path=("controller", "review"),
        help="Approve nodes that rest on one source; without a run, list what waits.",
        shows=_shown_review,
        arguments=("run",),
    ),
    routes=(Route(method="POST", path="/runs/review", summary="Approve or refuse nodes of a plan."),),
)
