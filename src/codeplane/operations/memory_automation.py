"""Automation tools: hooks of agents, the state of sessions, health, and the project's context."""

import json
import sqlite3
import sys
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory import reasoning
from codeplane.memory.project_context import PROJECT_CONTEXT_FILE, as_file, parse
from codeplane.operations.agent_connections import (
    DISCONNECTED,
    FileChange,
    apply,
    connections,
    hook_commands,
    plan_connecting,
    plan_disconnecting,
    record,
)
from codeplane.operations.agent_files import Level
from codeplane.operations.command import Command
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.memory_access import memory_of
from codeplane.operations.memory_cycle import FAMILY, PROFILES, MemoryRequest
from codeplane.operations.memory_knowledge import import_effects, import_file
from codeplane.operations.models import PathText, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan, planned
from codeplane.workspace.workspace import Workspace

CONTEXT_PATH = RepoPath.parse(PROJECT_CONTEXT_FILE)
_COUNTED = ("experiences", "reasoning_sessions", "workflow_sessions", "memory_sessions", "cells", "scenes")
_AGENT = "claude"


class HooksRequest(MemoryRequest):
    """Which hooks; the old names of the first system are accepted."""

    hooks: list[Annotated[str, StringConstraints(min_length=1, max_length=60)]] | str = Field(
        default_factory=lambda: ["all"], description="Names of events, or all: they come and go together."
    )
    settings_path: PathText | None = Field(None, description="Not used: the agent's own file is known.")
    project_hooks: bool = Field(True, description="Settings of this working tree; false for the user's own.")
    update_settings: bool = Field(True, description="Not used, likewise.")


class InstallHooksResult(Result):
    """What was installed."""

    installed: bool
    hooks: list[dict[str, Any]] = Field(default_factory=list)
    location: str | None = None
    settings_updated: bool = False
    settings_path: str | None = None
    message: str


class UninstallHooksResult(Result):
    """What was removed."""

    uninstalled: bool
    removed_count: int = 0
    removed_hooks: list[str] = Field(default_factory=list)
    message: str


def _plan_install(context: CallContext, request: HooksRequest) -> Plan[InstallHooksResult]:
    workspace = context.workspace
    level: Level = "project" if request.project_hooks else "user"
    changes = plan_connecting(workspace, _AGENT, level, "", {})

    def work() -> InstallHooksResult:
        apply(workspace, context.call_id, changes)
        record(workspace, _AGENT, level, "", changes)
        events = sorted(hook_commands(workspace, connections(workspace)[_AGENT]))
        place = changes[0].place if changes else None
        return InstallHooksResult(
            installed=True,
            hooks=[{"name": event} for event in events],
            location=place,
            settings_updated=bool(changes),
            settings_path=place,
            message=f"{len(events)} hooks of Claude Code are in place.",
        )

    return Plan(work, _hook_effects(changes, "install hooks of Claude Code"), preview=lambda: _diffs(changes))


def _plan_uninstall(context: CallContext, _request: HooksRequest) -> Plan[UninstallHooksResult]:
    workspace = context.workspace
    known = connections(workspace)
    connection = known.pop(_AGENT, None)
    changes = plan_disconnecting(workspace, connection, known.values(), {}) if connection is not None else []

    def work() -> UninstallHooksResult:
        if connection is None:
            return UninstallHooksResult(uninstalled=False, message="No hooks of Claude Code are connected.")
        removed = sorted(hook_commands(workspace, connection))
        apply(workspace, context.call_id, changes)
        workspace.record(DISCONNECTED, {"agent": _AGENT})
        return UninstallHooksResult(
            uninstalled=True,
            removed_count=len(removed),
            removed_hooks=removed,
            message=f"{len(removed)} hooks removed.",
        )

    return Plan(work, _hook_effects(changes, "remove hooks of Claude Code"), preview=lambda: _diffs(changes))


def _hook_effects(changes: list[FileChange], what: str) -> Effects:
    inside = tuple(RepoPath.parse(one.place) for one in changes if one.is_inside)
    outside = tuple(one.place for one in changes if not one.is_inside)
    return Effects(writes=inside, foreign=outside, reserved=what)


def _diffs(changes: list[FileChange]) -> str:
    return "\n".join(one.diff for one in changes)


INSTALL_HOOKS = Operation(
    name="install_hooks",
    family=FAMILY,
    summary="Ask for the hooks of Claude Code; a person decides.",
    request_type=HooksRequest,
    result_type=InstallHooksResult,
    effect=EffectClass.WRITE,
    plan=_plan_install,
    recover=recover_edit,
    render=lambda result: result.message,
    profiles=PROFILES,
    when_to_use=("A person wants the rules to hold for Claude Code's own tools, too.",),
    when_not_to_use=("For another agent: a person runs `cpl connect`.",),
    examples=(Example("All", {}),),
)
UNINSTALL_HOOKS = Operation(
    name="uninstall_hooks",
    family=FAMILY,
    summary="Ask to remove the hooks of Claude Code; a person decides.",
    request_type=HooksRequest,
    result_type=UninstallHooksResult,
    effect=EffectClass.WRITE,
    plan=_plan_uninstall,
    recover=recover_edit,
    render=lambda result: result.message,
    profiles=PROFILES,
    when_to_use=("A person wants Claude Code to work without hooks.",),
    when_not_to_use=("A hook refuses a call: its message says what to do.",),
    examples=(Example("All", {}),),
)


class SessionStateRequest(MemoryRequest):
    """Which session."""

    session_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,120}$")] | int = Field(
        description="Of a reasoning, workflow or memory session."
    )


class SessionStateResult(Result):
    """Everything that is stored under that id."""

    session_id: str
    reasoning_session: dict[str, Any] | None
    thoughts: list[dict[str, Any]]
    workflow_session: dict[str, Any] | None
    memory_session: dict[str, Any] | None
    thought_count: int
    active: bool


def _session_state(context: CallContext, request: SessionStateRequest) -> SessionStateResult:
    name = str(request.session_id)
    with memory_of(context).read() as connection:

        def found(table: str, key: Any) -> dict[str, Any] | None:
            query = f"SELECT * FROM {table} WHERE session_id = ?"  # noqa: S608 - names come from the code.
            row = connection.execute(query, (key,)).fetchone()
            return dict(row) if row is not None else None

        thought_session = found("reasoning_sessions", name)
        workflow = found("workflow_sessions", name)
        memory = found("memory_sessions", int(name)) if name.isascii() and name.isdigit() and len(name) < 16 else None
        thoughts = reasoning.thoughts_of(connection, name)
    if thought_session is None and workflow is None and memory is None:
        hint = "compliance_snapshot and analyze_problem answer with the id of a session."
        raise CodePlaneError("SESSION_NOT_FOUND", f"Nothing is stored under {name}.", hint=hint)
    now = context.workspace.clock.now_ms()
    is_active = (
        (thought_session is not None and thought_session["phase"] != "finalized")
        or (workflow is not None and (workflow["expires_at"] or 0) > now)
        or (memory is not None and memory["closed_at"] is None)
    )
    return SessionStateResult(
        session_id=name,
        reasoning_session=thought_session,
        thoughts=thoughts,
        workflow_session=workflow,
        memory_session=memory,
        thought_count=len(thoughts),
        active=is_active,
    )


GET_SESSION_STATE = Operation(
    name="get_session_state",
    family=FAMILY,
    summary="Show a reasoning, workflow or memory session.",
    request_type=SessionStateRequest,
    result_type=SessionStateResult,
    effect=EffectClass.READ,
    plan=planned(_session_state),
    profiles=PROFILES,
    when_to_use=("To go on with a session after a break.",),
    when_not_to_use=("For the gates: get_workflow_status shows them.",),
    examples=(Example("A memory session", {"session_id": 1}),),
)


class HealthRequest(MemoryRequest):
    """No arguments."""


class HealthResult(Result):
    """Whether memory can be relied on."""

    healthy: bool
    status: str
    issues: list[str]
    warnings: list[str]
    stats: dict[str, int]
    database_path: str
    token_dir: str
    database_backend: str
    runtime_version: str
    memory_system: dict[str, Any]


def _health(context: CallContext, _request: HealthRequest) -> HealthResult:
    workspace = context.workspace
    issues: list[str] = []
    warnings: list[str] = []
    counts = dict.fromkeys(_COUNTED, 0)
    system: dict[str, Any] = {"chain_ok": False, "fts_ok": False, "integrity": "unknown"}
    try:
        verified = workspace.chain.verify()
        system["chain_ok"] = verified.first_bad_seq is None
        issues += [] if system["chain_ok"] else [f"The ledger does not hold: {verified.problem}."]
        workspace.signing_key()
        if not workspace.settings.memory.memory_enabled:
            warnings.append("Memory is switched off.")
        elif workspace.has_memory:
            counts, looked = _look(workspace)
            system |= looked
        else:
            warnings.append("Nothing is remembered yet.")
            system |= {"fts_ok": True, "integrity": "ok"}
    except (CodePlaneError, OSError, sqlite3.Error) as error:
        issues.append(str(error))
    issues += [] if system["integrity"] in {"ok", "unknown"} else [f"memory.db is damaged: {system['integrity']}."]
    return HealthResult(
        healthy=not issues,
        status="DEGRADED" if issues else "OK",
        issues=issues,
        warnings=warnings,
        stats={name: counts[name] for name in _COUNTED[:3]},
        database_path=".codeplane/memory.db",
        token_dir=".codeplane/tokens",  # noqa: S106 - a directory.
        database_backend=f"sqlite {sqlite3.sqlite_version}",
        runtime_version=f"python {sys.version.split()[0]}",
        memory_system={
            "sessions": counts["memory_sessions"], "cells": counts["cells"], "scenes": counts["scenes"], **system
        },
    )  # fmt: skip


def _look(workspace: Workspace) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the counts of a store and whether its file and its full text hold."""
    store = workspace.memory
    with store.read() as connection:
        counts = {
            name: int(connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0])  # noqa: S608 - constants.
            for name in _COUNTED
        }
        integrity = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    try:
        with store.database.write() as connection:
            for name in ("experiences_fts", "cells_fts"):
                connection.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 - likewise.
        fts_ok = True
    except (CodePlaneError, sqlite3.Error):
        fts_ok = False
    return counts, {"fts_ok": fts_ok, "integrity": integrity}


HEALTH_CHECK = Operation(
    name="health_check",
    family=FAMILY,
    summary="Check the store, its full text, the ledger and the signing key.",
    request_type=HealthRequest,
    result_type=HealthResult,
    effect=EffectClass.READ,
    plan=planned(_health),
    render=lambda result: "\n".join([result.status, *result.issues, *result.warnings]),
    command=Command(
        path=("memory", "health"),
        help="Show whether memory works; exit code 1 when it does not.",
        shows=lambda result: (f"{result.status}", *result.issues, *result.warnings),
        is_finding=lambda result: not result.healthy,
    ),
    profiles=PROFILES,
    when_to_use=("Answers of memory look wrong.",),
    when_not_to_use=("For the index: `cpl status` shows it.",),
    examples=(Example("Check", {}),),
)

_Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
_LongLine = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class ProjectRequest(MemoryRequest):
    """Which project."""

    project_path: PathText = Field(".", description="Only this repository.")


class UpdateProjectContextRequest(ProjectRequest):
    """What every agent should see with a prompt."""

    enabled: bool = Field(description="Show it.")
    summary: str = Field("", max_length=200)
    highlights: list[_Line] = Field(default_factory=list, max_length=5)
    reminders: list[_Line] = Field(default_factory=list, max_length=3)
    preImplementation: list[_LongLine] = Field(default_factory=list, max_length=50)  # noqa: N815 - the name on the wire.
    postImplementation: list[_LongLine] = Field(default_factory=list, max_length=50)  # noqa: N815 - likewise.


class UpdateProjectContextResult(Result):
    """The file."""

    success: bool
    project_path: str
    context_file: str
    enabled: bool
    message: str


def _check_project(request: ProjectRequest) -> None:
    if request.project_path != ".":
        raise CodePlaneError("VALIDATION_ERROR", "project_path can only be this repository.", hint="Leave it out.")


def _plan_update(context: CallContext, request: UpdateProjectContextRequest) -> Plan[UpdateProjectContextResult]:
    _check_project(request)
    workspace = context.workspace
    document = request.model_dump(exclude={"project_path"})
    data = as_file({**document, "updated_at": iso_from_ms(workspace.clock.now_ms())})

    def work() -> UpdateProjectContextResult:
        found = workspace.editor.look(CONTEXT_PATH)
        before = found.image if found is not None else None
        workspace.editor.apply(context.call_id, [Change(CONTEXT_PATH, before, FileImage(data))])
        return UpdateProjectContextResult(
            success=True,
            project_path=".",
            context_file=PROJECT_CONTEXT_FILE,
            enabled=request.enabled,
            message=f"{PROJECT_CONTEXT_FILE} written.",
        )

    effects = Effects(writes=(CONTEXT_PATH,), reserved="change what every agent is shown with a prompt")
    return Plan(work, effects, preview=lambda: json.dumps(document, indent=2, ensure_ascii=False))


UPDATE_PROJECT_CONTEXT = Operation(
    name="update_project_context",
    family=FAMILY,
    summary="Change what every agent is shown with a prompt; a person decides.",
    request_type=UpdateProjectContextRequest,
    result_type=UpdateProjectContextResult,
    effect=EffectClass.WRITE,
    plan=_plan_update,
    render=lambda result: result.message,
    recover=recover_edit,
    profiles=PROFILES,
    when_to_use=("A person asks for a reminder in every session.",),
    when_not_to_use=("For a lesson: record_experience keeps it.",),
    examples=(Example("A reminder", {"enabled": True, "summary": "A queue.", "reminders": ["Run make check."]}),),
)


class GetProjectContextResult(Result):
    """What agents are shown with a prompt."""

    exists: bool
    project_path: str = "."
    context_file: str = PROJECT_CONTEXT_FILE
    enabled: bool = False
    summary: str = ""
    highlights: list[str] = Field(default_factory=list)
    reminders: list[str] = Field(default_factory=list)
    preImplementation: list[str] = Field(default_factory=list)  # noqa: N815 - the name on the wire.
    postImplementation: list[str] = Field(default_factory=list)  # noqa: N815 - likewise.
    updated_at: str = ""
    problem: str | None = None


def project_context(workspace: Workspace) -> dict[str, Any] | None:
    """Return what the team wants agents to see; None when the file is missing, damaged or switched off."""
    found = workspace.editor.look(CONTEXT_PATH)
    document = parse(found.image.data) if found is not None else None
    return document if document is not None and document["enabled"] else None


def _get_context(context: CallContext, request: ProjectRequest) -> GetProjectContextResult:
    _check_project(request)
    found = context.workspace.editor.look(CONTEXT_PATH)
    if found is None:
        return GetProjectContextResult(exists=False)
    document = parse(found.image.data)
    if document is None:
        return GetProjectContextResult(exists=True, problem=f"{PROJECT_CONTEXT_FILE} is not valid.")
    return GetProjectContextResult(exists=True, **document)


GET_PROJECT_CONTEXT = Operation(
    name="get_project_context",
    family=FAMILY,
    summary="Show what agents are shown with a prompt.",
    request_type=ProjectRequest,
    result_type=GetProjectContextResult,
    effect=EffectClass.READ,
    plan=planned(_get_context),
    profiles=PROFILES,
    when_to_use=("To see the team's reminders.",),
    when_not_to_use=("For lessons: search_experiences finds them.",),
    examples=(Example("This repository", {}),),
)


class ImportDataRequest(MemoryRequest):
    """Which file."""

    source_file: PathText = Field(description="A file of the repository with an object `experiences`.")


class ImportDataResult(Result):
    """What became of the records."""

    imported: int
    skipped: int
    errors: list[str] = Field(default_factory=list, description="The first five problems.")
    total_records: int
    source_file: str
    message: str


def _plan_import_data(context: CallContext, request: ImportDataRequest) -> Plan[ImportDataResult]:
    effects = import_effects(context, request.source_file)
    return Plan(lambda: _import_data(context, request), effects)


def _import_data(context: CallContext, request: ImportDataRequest) -> ImportDataResult:
    done = import_file(context, request.source_file)
    return ImportDataResult(
        imported=done.imported,
        skipped=done.skipped,
        errors=done.errors,
        total_records=done.total,
        source_file=request.source_file,
        message=done.message,
    )


IMPORT_DATA = Operation(
    name="import_data",
    family=FAMILY,
    summary="Import experiences from an export of another store; a person decides about it.",
    request_type=ImportDataRequest,
    result_type=ImportDataResult,
    effect=EffectClass.RECORD,
    plan=_plan_import_data,
    render=lambda result: result.message,
    profiles=PROFILES,
    when_to_use=("An export of another memory is to be used here.",),
    when_not_to_use=("To record one lesson: record_experience does that.",),
    examples=(Example("An export", {"source_file": "export.json"}),),
)
