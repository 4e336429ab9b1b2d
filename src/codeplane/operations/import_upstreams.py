"""Take MCP servers over from a `.mcp.json`: into the configuration of this tree, their secrets beside it."""

import difflib
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.govern.upstream_pins import Pin
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Command, Shown
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan
from codeplane.workspace.upstream_import import Imported, checked, read_servers, with_servers, write_privately
from codeplane.workspace.workspace import Workspace

FAMILY: Final = "upstreams"
_DEFAULT: Final = ".mcp.json"


class ImportRequest(Request):
    """Which file."""

    path: str = Field(_DEFAULT, max_length=4_000, description="A file with `mcpServers`, such as .mcp.json.")


class ImportResult(Result):
    """What is written: the servers, the configuration's difference, and how many texts stay outside of it."""

    servers: list[str]
    diff: str = ""
    secrets: list[str] = Field(default_factory=list, description="Files that only their owner can read.")
    notes: list[str] = Field(default_factory=list)


def _planned(context: CallContext, request: ImportRequest) -> tuple[ImportResult, Imported, str]:
    workspace = context.workspace
    path = workspace.root / Path(request.path).expanduser()
    found = read_servers(path)
    known = workspace.settings.gateway.servers
    notes = [
        *found.notes,
        *(f"{name} is configured already and stays as it is" for name in found.servers if name in known),
    ]
    found.servers = {name: one for name, one in found.servers.items() if name not in known}
    for name, one in found.servers.items():
        checked(name, one)
    before = _config_text(workspace)
    after = with_servers(before, found.servers) if found.servers else before
    place = ".codeplane/config.yaml"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{place}", f"b/{place}", lineterm="")
    written = str(found.servers)
    found.secrets = {name: text for name, text in found.secrets.items() if f"${{file:{name}}}" in written}
    secrets = [str(workspace.upstream_secrets / name) for name in found.secrets]
    return ImportResult(servers=list(found.servers), diff="\n".join(lines), secrets=secrets, notes=notes), found, after


def _config_text(workspace: Workspace) -> str:
    try:
        with workspace.places.config_file.open(encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise CodePlaneError("CONFIG_INVALID", f"The configuration cannot be read: {error}.") from error


def _plan_import(context: CallContext, request: ImportRequest) -> Plan[ImportResult]:
    workspace = context.workspace
    result, found, after = _planned(context, request)

    def work() -> ImportResult:
        try:
            for name, text in found.secrets.items():
                write_privately(workspace.upstream_secrets / name, text)
            if found.servers:
                write_privately(workspace.places.config_file, after)
        except OSError as error:
            raise CodePlaneError("PERMISSION_DENIED", f"The import failed: {error.strerror or error}.") from error
        with workspace.upstream_pins.changed() as pins:
            pins.update({name: Pin(checked(name, one).digest) for name, one in found.servers.items()})
        body: dict[str, object] = {"by": context.caller.proof, "upstreams": list(found.servers)}
        workspace.record("upstreams_imported", body)
        return result

    foreign = (str(workspace.upstream_secrets),) if found.secrets else ()
    return Plan(work, Effects(foreign=foreign), preview=lambda: _text(result))


def _plan_show(context: CallContext, request: ImportRequest) -> Plan[ImportResult]:
    result, _, _ = _planned(context, request)
    return Plan(lambda: result)


def _shown(result: ImportResult) -> Shown:
    parts = [result.diff] if result.diff else ["Nothing to import."]
    if result.secrets:
        parts.append("Kept outside, for your eyes only:\n" + "\n".join(f"  {one}" for one in result.secrets))
    return (*parts, *(f"Note: {one}" for one in result.notes))


def _text(result: ImportResult) -> str:
    return "\n".join(str(part) for part in _shown(result))


def _done(result: ImportResult) -> Shown:
    if not result.servers:
        return ("Nothing was changed.",)
    return (
        f"Imported and accepted: {', '.join(result.servers)}.",
        *(f"Note: {one}" for one in result.notes),
        "Take them out of the agents' own settings, so that their calls come here.",
    )


_EXAMPLES: Final = (Example("From the file that agents share", {"path": _DEFAULT}),)

SHOW_UPSTREAM_IMPORT: Operation[Any, Any] = Operation(
    name="show_upstream_import",
    family=FAMILY,
    summary="Show what importing MCP servers would write.",
    request_type=ImportRequest,
    result_type=ImportResult,
    effect=EffectClass.READ,
    plan=_plan_show,
    examples=_EXAMPLES,
    audience=Audience.SHELL,
    command=Command(
        path=("gateway", "diff"),
        help="Show what `cpl gateway import` would write; values of variables and headers are not shown.",
        shows=_shown,
        arguments=("path",),
    ),
)

IMPORT_UPSTREAMS: Operation[Any, Any] = Operation(
    name="import_upstreams",
    family=FAMILY,
    summary="Import MCP servers from a .mcp.json and accept them.",
    request_type=ImportRequest,
    result_type=ImportResult,
    effect=EffectClass.WRITE,
    plan=_plan_import,
    examples=_EXAMPLES,
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"import the MCP servers of {request.path}",
    command=Command(
        path=("gateway", "import"),
        help="""Take the servers of a .mcp.json over into .codeplane/config.yaml, and accept them.

        Values of variables and headers go into files that only you can read; `${VAR}` stays as it is.""",
        shows=_done,
        arguments=("path",),
        previews="show_upstream_import",
    ),
)
