"""Show, accept and refuse MCP servers of others, and the tools that they have changed."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, visible_text
from codeplane.core.redaction import redact
from codeplane.govern.upstream_pins import Pin, ToolDocument
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Facts, NoArguments, Route, Shown, Table
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.operations.upstream_names import server_names
from codeplane.operations.upstream_tools import tools_of
from codeplane.workspace.config import load_workspace_settings
from codeplane.workspace.gateway_settings import UpstreamSettings
from codeplane.workspace.upstream_states import read_state
from codeplane.workspace.workspace import Workspace

FAMILY: Final = "upstreams"


class UpstreamRequestByName(Request):
    """Which server."""

    name: str = Field(max_length=200, description="The server's name in gateway.servers.")


class UpstreamToolLine(Result):
    """One tool; `state` is pinned, changed, added or gone."""

    name: str
    state: str
    diff: str = ""


class Upstream(Result):
    """One MCP server of others: its settings without secrets, whether it was accepted, how it is, its tools."""

    name: str
    kind: str
    accepted: bool
    state: str
    error: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    tools: list[UpstreamToolLine] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list, description="Tools that are not offered, each with the reason.")
    last_words: str = Field("", description="The end of what it wrote to standard error.")

    @property
    def held(self) -> int:
        """Return how many tools wait for a person."""
        return sum(one.state in {"changed", "added"} for one in self.tools)


class Upstreams(Result):
    """All of them."""

    results: list[Upstream]


def servers_of(workspace: Workspace) -> Mapping[str, UpstreamSettings]:
    """Return the configured servers as the files have them now."""
    return load_workspace_settings(workspace.places, workspace.overrides).values.gateway.servers


def upstream(workspace: Workspace, name: str, settings: UpstreamSettings) -> Upstream:
    """Return what is known of a server."""
    pin = workspace.upstream_pins.load().get(name)
    is_accepted = pin is not None and pin.settings == settings.digest
    told = read_state(workspace.places, name) if is_accepted else {}
    return Upstream(
        name=name,
        kind=settings.kind,
        accepted=is_accepted,
        state=str(told.get("state") or ("not started yet" if is_accepted else "not accepted")),
        error=str(told.get("error") or ""),
        settings=settings.shown(),
        tools=_tool_lines(workspace, name, pin, _documents(told)) if pin is not None and is_accepted else [],
        problems=[str(one) for one in told.get("problems") or ()],
        last_words=redact(str(told.get("last_words") or ""))[-1_000:],
    )


def upstreams(workspace: Workspace) -> list[Upstream]:
    """Return what is known of every configured server."""
    return [upstream(workspace, name, one) for name, one in servers_of(workspace).items()]


def _documents(told: Mapping[str, Any]) -> list[ToolDocument] | None:
    listed = told.get("tools")
    if not isinstance(listed, list):
        return None
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _tool_lines(
    workspace: Workspace, name: str, pin: Pin, seen: Sequence[ToolDocument] | None
) -> list[UpstreamToolLine]:
    names = server_names(servers_of(workspace))
    now = {str(one["name"]): one for one in seen or ()}
    lines = []
    for tool in tools_of(name, names[name], pin, seen):
        if tool.state == "method":
            continue
        before = (pin.tools or {}).get(tool.original)
        diff = _diff(before, now.get(tool.original)) if tool.state != "pinned" else ""
        lines.append(UpstreamToolLine(name=tool.name, state=tool.state, diff=diff))
    if seen is not None:
        lines += [UpstreamToolLine(name=one, state="gone") for one in sorted(set(pin.tools or {}) - set(now))]
    return lines


def _diff(before: ToolDocument | None, after: ToolDocument | None) -> str:
    old, new = (_lines_of(one) if one is not None else [] for one in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "accepted", "now", lineterm=""))


def _lines_of(tool: ToolDocument) -> list[str]:
    text = json.dumps(dict(tool), indent=1, sort_keys=True, ensure_ascii=False)
    # A description reads as lines, and what does not show is made visible.
    return [visible_text(part) for line in text.splitlines() for part in line.replace("\\n", "\n").split("\n")]


def _find(workspace: Workspace, name: str) -> UpstreamSettings:
    servers = servers_of(workspace)
    if name not in servers:
        known = ", ".join(servers) or "none is configured"
        raise CodePlaneError("NOT_FOUND", f"There is no MCP server `{name[:80]}`.", hint=f"Known: {known}.")
    return servers[name]


def _list(context: CallContext, _request: NoArguments) -> Upstreams:
    return Upstreams(results=upstreams(context.workspace))


def _show(context: CallContext, request: UpstreamRequestByName) -> Upstream:
    return upstream(context.workspace, request.name, _find(context.workspace, request.name))


def _accept(context: CallContext, request: UpstreamRequestByName) -> Upstream:
    workspace = context.workspace
    settings = _find(workspace, request.name)
    seen = _documents(read_state(workspace.places, request.name))
    with workspace.upstream_pins.changed() as pins:
        known = pins.get(request.name)
        is_known = known is not None and known.settings == settings.digest
        tools = {str(one["name"]): one for one in seen} if is_known and seen is not None else None
        if known is not None and is_known and tools is None:
            tools = dict(known.tools) if known.tools is not None else None
        pins[request.name] = Pin(settings.digest, tools)
    body: dict[str, object] = {"by": context.caller.proof, "upstream": request.name, "settings": settings.digest}
    workspace.record("upstream_accepted", body)
    return upstream(workspace, request.name, settings)


def _refuse(context: CallContext, request: UpstreamRequestByName) -> Upstream:
    workspace = context.workspace
    settings = _find(workspace, request.name)
    with workspace.upstream_pins.changed() as pins:
        pins.pop(request.name, None)
    workspace.record("upstream_refused", {"by": context.caller.proof, "upstream": request.name})
    return upstream(workspace, request.name, settings)


def _table(result: Upstreams) -> Shown:
    rows = tuple(
        (
            one.name,
            one.kind,
            one.state,
            str(sum(tool.state == "pinned" for tool in one.tools)),
            str(one.held),
            one.error,
        )
        for one in result.results
    )
    return (
        Table(
            ("name", "type", "state", "pinned", "held", "error"), rows, "" if rows else "No MCP server is configured."
        ),
    )


def _facts(result: Upstream) -> Shown:
    settings = [(name, json.dumps(value, ensure_ascii=False)) for name, value in result.settings.items()]
    pairs = [
        ("name", result.name),
        *settings,
        ("accepted", "yes" if result.accepted else f"no (`cpl gateway accept {result.name}`)"),
        ("state", f"{result.state}: {result.error}" if result.error else result.state),
        ("tools", ", ".join(one.name for one in result.tools if one.state == "pinned") or "none"),
    ]
    pairs += [(f"{one.state}", one.name) for one in result.tools if one.state != "pinned"]
    pairs += [("not offered", one) for one in result.problems]
    pairs += [("standard error", result.last_words)] if result.last_words else []
    waiting = [f"{counted(result.held, 'tool')} held (`cpl gateway accept {result.name}`)"] if result.held else []
    return (Facts(tuple(pairs)), *(one.diff for one in result.tools if one.diff), *waiting)


_WAYS: Final = "/gateway"

LIST_UPSTREAMS = Operation(
    name="list_upstreams",
    family=FAMILY,
    summary="List the MCP servers of others behind CodePlane.",
    request_type=NoArguments,
    result_type=Upstreams,
    effect=EffectClass.READ,
    plan=planned(_list),
    examples=(Example("All of them", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("gateway", "list"),
        help="List the configured MCP servers: whether they were accepted, how they are, and how many tools wait.",
        shows=_table,
    ),
    routes=(Route(method="GET", path=_WAYS, summary="The MCP servers of others."),),
)

SHOW_UPSTREAM = Operation(
    name="show_upstream",
    family=FAMILY,
    summary="Show one MCP server of others.",
    request_type=UpstreamRequestByName,
    result_type=Upstream,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("One of them", {"name": "github"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("gateway", "show"),
        help="Show a server's settings without secrets, its tools, and what has changed since they were accepted.",
        shows=_facts,
        arguments=("name",),
    ),
    routes=(Route(method="GET", path=f"{_WAYS}/{{name}}", summary="One MCP server of others."),),
)

ACCEPT_UPSTREAM = Operation(
    name="accept_upstream",
    family=FAMILY,
    summary="Accept an MCP server, or the tools it changed.",
    request_type=UpstreamRequestByName,
    result_type=Upstream,
    effect=EffectClass.RECORD,
    plan=planned(_accept),
    examples=(Example("As it is configured now", {"name": "github"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"accept the MCP server {request.name}",
    command=Command(
        path=("gateway", "accept"),
        help="""Accept a server as it is configured now; its tools are pinned when it is first reached.

        For one that was accepted before: accept the descriptions and schemas that `cpl gateway show` shows as changed
        or added.""",
        shows=_facts,
        arguments=("name",),
        previews="show_upstream",
    ),
    routes=(Route(method="POST", path=f"{_WAYS}/{{name}}/accept", summary="Accept it as it is now."),),
)

REFUSE_UPSTREAM = Operation(
    name="refuse_upstream",
    family=FAMILY,
    summary="Take the acceptance of an MCP server back.",
    request_type=UpstreamRequestByName,
    result_type=Upstream,
    effect=EffectClass.RECORD,
    plan=planned(_refuse),
    examples=(Example("It ends", {"name": "github"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"refuse the MCP server {request.name}",
    command=Command(
        path=("gateway", "refuse"),
        help="Take the acceptance of a server back: it ends, and its tools are gone.",
        shows=_facts,
        arguments=("name",),
    ),
    routes=(Route(method="POST", path=f"{_WAYS}/{{name}}/refuse", summary="Take its acceptance back."),),
)
