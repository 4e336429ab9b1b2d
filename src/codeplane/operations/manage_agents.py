"""Connect agents and show what that writes; what their gates are like."""

import os
import shutil
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.agent_connections import (
    DISCONNECTED,
    FileChange,
    apply,
    connections,
    plan_connecting,
    plan_disconnecting,
    problems,
    record,
)
from codeplane.operations.agent_files import AGENT_FILES, Level
from codeplane.operations.command import Command, NoArguments, Route, Shown, Table
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.local_excludes import EXCLUDE, names_this_machine, not_ignored
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan, planned
from codeplane.workspace.workspace import Workspace

FAMILY: Final = "agents"


class ConnectRequest(Request):
    """Which agents, and where their settings are."""

    agent: str | None = Field(None, description="claude, codex, cursor, copilot, vscode, gemini, opencode or cline.")
    remove: bool = Field(False, description="Take our entries out again.")
    is_all: bool = Field(False, description="Every agent that is found on this machine, or with --remove, connected.")
    level: Level = Field("project", description="Settings of this working tree, or of the user for all of them.")
    profile: Literal["", "core", "classic", "full", "memory", "controller"] = Field(
        "", description="The tools that the agent is offered; empty for the usual ones."
    )
    is_confirmed: bool = Field(False, description="Do not ask again; that a person is needed stays.")

    @model_validator(mode="after")
    def _one_choice(self) -> "ConnectRequest":
        if (self.agent is None) == (not self.is_all):
            raise ValueError(f"name an agent ({', '.join(AGENT_FILES)}) or give --all")
        if self.agent is not None and self.agent not in AGENT_FILES:
            raise ValueError(f"`{self.agent[:40]}` is not known; known: {', '.join(AGENT_FILES)}")
        return self


class ChangedAgentFile(Result):
    """A file of an agent and what changes in it."""

    agent: str
    place: str
    diff: str


class ConnectResult(Result):
    """What is written, and what a person still has to do or know."""

    agents: list[str]
    removed: bool = False
    files: list[ChangedAgentFile] = Field(default_factory=list)
    to_do: list[str] = Field(default_factory=list)
    gaps: list[str] = Field(default_factory=list, description="What the agent itself leaves open.")


class ConnectedAgent(Result):
    """An agent that is connected here."""

    agent: str
    level: str
    files: list[str]
    problems: list[str] = Field(default_factory=list)


class ConnectedAgents(Result):
    """All of them."""

    results: list[ConnectedAgent]


def _plan_connect(context: CallContext, request: ConnectRequest) -> Plan[ConnectResult]:
    workspace = context.workspace
    planned_changes = _changes(workspace, request)
    result = _result(workspace, request, planned_changes)
    changes = [one for found in planned_changes.values() for one in found]

    def work() -> ConnectResult:
        try:
            apply(workspace, context.call_id, changes)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise CodePlaneError("PERMISSION_DENIED", f"Nothing was changed: {error.strerror}{where}.") from error
        for agent, found in planned_changes.items():
            if request.remove:
                workspace.record(DISCONNECTED, {"agent": agent})
            else:
                record(workspace, agent, request.level, request.profile, found)
        return result

    inside = tuple(RepoPath.parse(one.place) for one in changes if one.is_inside)
    foreign = tuple(one.place for one in changes if not one.is_inside)
    return Plan(work, Effects(writes=inside, foreign=foreign, overwrites=()), preview=lambda: _text(result))


def _changes(workspace: Workspace, request: ConnectRequest) -> dict[str, list[FileChange]]:
    known = connections(workspace)
    if request.remove:
        wanted = [request.agent] if request.agent is not None else list(known)
        missing = [agent for agent in wanted if agent not in known]
        if missing:
            raise CodePlaneError("NOT_FOUND", f"{missing[0]} is not connected here.", hint="`cpl agents` lists them.")
        others = [one for name, one in known.items() if name not in wanted]
        parted: dict[str, list[FileChange]] = {}
        for agent in wanted:
            parted[agent] = plan_disconnecting(workspace, known[agent], others, _left_by(parted))
        return parted
    wanted = [request.agent] if request.agent is not None else [name for name in AGENT_FILES if is_found(name)]
    if not wanted:
        raise CodePlaneError("NOT_FOUND", "No agent was found on this machine.", hint="Name one: `cpl connect claude`.")
    found: dict[str, list[FileChange]] = {}
    for agent in wanted:
        level = known[agent].level if agent in known else request.level
        if level != request.level:
            message = f"{agent} is connected at {level} level already."
            raise CodePlaneError("INVALID_ARGUMENTS", message, hint=f"First: cpl connect {agent} --remove")
        found[agent] = plan_connecting(workspace, agent, request.level, request.profile, _left_by(found))
    return found


def _left_by(planned: dict[str, list[FileChange]]) -> dict[str, bytes | None]:
    """Return files as the changes that were planned will leave them."""
    return {one.place: one.after for changes in planned.values() for one in changes}


def is_found(agent: str) -> bool:
    """Tell whether an agent is installed or was used here."""
    home = Path.home()
    signs = (home / one.removeprefix("~/") for one in AGENT_FILES[agent].signs if one.startswith("~/"))
    programs = (one for one in AGENT_FILES[agent].signs if not one.startswith("~/"))
    return any(map(os.path.lexists, signs)) or any(shutil.which(one) is not None for one in programs)


def _result(workspace: Workspace, request: ConnectRequest, changes: dict[str, list[FileChange]]) -> ConnectResult:
    rows = [AGENT_FILES[agent] for agent in changes]
    to_do = [f"{row.name}: {line}" for row in rows for line in row.to_do]
    to_do += [
        f"Keep the entries in {place} out of commits: they hold paths of this machine."
        for place in _shared(workspace, changes)
    ]
    return ConnectResult(
        agents=list(changes),
        removed=request.remove,
        files=[
            ChangedAgentFile(agent=agent, place=one.place, diff=one.diff)
            for agent, found in changes.items()
            for one in found
        ],
        to_do=[] if request.remove else to_do,
        gaps=[] if request.remove else [f"{row.name}: {line}" for row in rows for line in row.gaps],
    )


def _shared(workspace: Workspace, changes: dict[str, list[FileChange]]) -> list[str]:
    """Return files that were there before and that git sees, with entries that serve no other machine."""
    found = [one for agent in changes.values() for one in agent if one.is_inside and one.before is not None]
    made = {one.place for agent in changes.values() for one in agent if one.before is None}
    return not_ignored(
        workspace, [one.place for one in found if one.place not in made and names_this_machine(one.after)]
    )


def _preview(result: ConnectResult) -> Shown:
    if not result.files:
        return (f"Nothing to change for {', '.join(result.agents)}.",)
    return tuple(one.diff for one in result.files)


def _done(result: ConnectResult) -> Shown:
    verb = "Disconnected" if result.removed else "Connected"
    lines = [f"{verb}: {', '.join(result.agents)}."]
    lines += [f"  {one.place}" for one in result.files] or ["  every entry was in place already"]
    if not result.removed and any(one.place == EXCLUDE for one in result.files):
        lines.append(f"Git leaves out the files that were made ({EXCLUDE}): they hold paths of this machine.")
    lines += [f"To do: {line}" for line in result.to_do]
    lines += [f"Not covered: {line}" for line in result.gaps]
    return ("\n".join(lines),)


def _text(result: ConnectResult) -> str:
    return "\n".join(one.diff for one in result.files)


def _list(context: CallContext, _request: NoArguments) -> ConnectedAgents:
    workspace = context.workspace
    return ConnectedAgents(
        results=[
            ConnectedAgent(
                agent=one.agent, level=one.level, files=sorted(one.digests), problems=problems(workspace, one)
            )
            for one in connections(workspace).values()
        ]
    )


def _shows_list(result: ConnectedAgents) -> Shown:
    rows = tuple(
        (one.agent, one.level, ", ".join(one.files), "; ".join(one.problems) or "ok") for one in result.results
    )
    note = "" if rows else "No agent is connected; `cpl connect claude` connects one."
    return (Table(("agent", "level", "files", "state"), rows, note),)


def _action(_workspace: Workspace, request: ConnectRequest) -> str:
    named = request.agent or "all agents"
    return f"disconnect {named}" if request.remove else f"connect {named}"


_FLAGS: Final[dict[str, str]] = {"is_all": "--all", "is_confirmed": "--yes"}

SHOW_CONNECTION: Final = Operation(
    name="show_connection",
    family=FAMILY,
    summary="Show what connecting an agent would write.",
    request_type=ConnectRequest,
    result_type=ConnectResult,
    effect=EffectClass.READ,
    plan=planned(lambda context, request: _result(context.workspace, request, _changes(context.workspace, request))),
    audience=Audience.SHELL,
    command=Command(
        path=("agents", "diff"),
        help="Show what `cpl connect` would write, without writing it.",
        shows=_preview,
        arguments=("agent",),
        flags=_FLAGS,
    ),
    examples=(Example("For Claude Code", {"agent": "claude"}),),
)

CONNECT_AGENT: Final = Operation(
    name="connect_agent",
    family=FAMILY,
    summary="Connect an agent: its MCP server and its hooks.",
    request_type=ConnectRequest,
    result_type=ConnectResult,
    effect=EffectClass.WRITE,
    plan=_plan_connect,
    recover=recover_edit,
    audience=Audience.PERSON,
    only_a_person_can=_action,
    command=Command(
        path=("connect",),
        help="""Connect an agent: from then on what it does with its own tools passes the gate, too.

        The changes of its settings are shown first; entries of others keep every byte. --remove takes ours out.""",
        shows=_done,
        arguments=("agent",),
        flags=_FLAGS,
        previews="show_connection",
    ),
    examples=(Example("Claude Code", {"agent": "claude"}),),
)

LIST_AGENTS: Final = Operation(
    name="list_agents",
    family=FAMILY,
    summary="List connected agents.",
    request_type=NoArguments,
    result_type=ConnectedAgents,
    effect=EffectClass.READ,
    plan=planned(_list),
    audience=Audience.SHELL,
    command=Command(
        path=("agents", "list"),
        help="List connected agents and whether their entries are as CodePlane wrote them.",
        shows=_shows_list,
        is_finding=lambda result: any(one.problems for one in result.results),
    ),
    routes=(Route(method="GET", path="/agents", summary="Connected agents and the state of their entries."),),
    examples=(Example("All", {}),),
)


def problems_of(workspace: Workspace, agent: str) -> list[str]:
    """Return what is wrong with the entries of a connected agent; none for one that is not connected."""
    connection = connections(workspace).get(agent)
    return problems(workspace, connection) if connection is not None else []
