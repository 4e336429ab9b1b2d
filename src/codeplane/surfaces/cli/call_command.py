"""`cpl call`: any operation, through the same door as every agent."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.operations.agent_sessions import session_in_shell
from codeplane.operations.answer import Answer
from codeplane.operations.call_record import CallControls
from codeplane.operations.catalog import TOOLS
from codeplane.operations.one_call import run_once
from codeplane.operations.perform import Door
from codeplane.surfaces.agent_hooks.processes import ancestors
from codeplane.surfaces.cli.output import finish, json_option, repo_option, session_option, set_option
from codeplane.surfaces.server.operator_token import has_token
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


@click.command("call", short_help="Run any operation through the door.")
@click.argument("operation")
@click.argument("arguments", nargs=-1)
@session_option
@json_option
@repo_option
@set_option
def command(
    operation: str,
    arguments: tuple[str, ...],
    session_id: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name.
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Run any operation, with or without a running server.

    ARGUMENTS are key=value pairs (values may be JSON; a repeated key makes a list), or one JSON object, or - to read
    the object from standard input.

    \b
      cpl call describe
      cpl call read_source targets=README.md:1-20
      cpl call list_files '{"pattern": "src/**/*.py"}'
    """
    parsed = _arguments(operation, arguments)
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        caller = acting_caller(workspace, operation, session_id)
        answer = run_once(Door(workspace, TOOLS), operation, parsed, caller)
    return finish(answer, as_json=as_json)


def run_tool(
    workspace: Workspace, operation: str, arguments: dict[str, Any], controls: CallControls | None = None
) -> Answer:
    """Make the one call of a command."""
    return run_once(Door(workspace, TOOLS), operation, arguments, acting_caller(workspace, operation), controls)


def run_as(workspace: Workspace, operation: str, arguments: dict[str, Any], caller: Caller) -> Answer:
    """Make the one call of a command in a session that is known."""
    return run_once(Door(workspace, TOOLS), operation, arguments, caller)


def cli_caller(workspace: Workspace, session_id: str | None = None) -> Caller:
    """Return who calls from a shell: an agent of unknown session, unless the operator token shows a person."""
    is_person = has_token(workspace.places.user.operator_token)
    kind = CallerKind.PERSON if is_person else CallerKind.AGENT
    proof = f"operator token, user {os.getuid()}" if is_person else ""
    agent = None if is_person or session_id is not None or sys.stdin.isatty() else _agent_of_shell(workspace)
    if agent is not None:
        return Caller(kind, "cli", agent, "cpl", is_lasting=True)
    if session_id is None or session_id.startswith("sess_"):
        return Caller(kind, "cli", f"cli:{os.getpid()}", "cpl", session_id, proof=proof)
    # A name of the caller's own: the session follows from it and from the user, so that the next command finds it.
    return Caller(kind, "cli", f"cli:{os.getuid()}:{session_id}", "cpl", is_lasting=True, proof=proof)


def _agent_of_shell(workspace: Workspace) -> str | None:
    marks = {one.mark for one in ancestors(os.getpid())}
    return session_in_shell(workspace, os.environ, marks)


def acting_caller(workspace: Workspace, operation: str, session_id: str | None = None) -> Caller:
    """Return the caller; where intents are in force, a code typed at a terminal makes it a person.

    A read at a terminal counts as a person's: that grants nothing, the record only says who looked.
    """
    caller = cli_caller(workspace, session_id)
    known = TOOLS.get(operation)
    if known is not None and not known.effect.mutates and sys.stdin.isatty() and sys.stdout.isatty():
        return replace(caller, kind=CallerKind.PERSON)
    changes = known is not None and known.effect.mutates and workspace.gate.rules().is_enforced
    if not changes or caller.kind is CallerKind.PERSON or session_id is not None or not sys.stdin.isatty():
        return caller
    # Reading the terminal is needed by this case alone.
    from codeplane.surfaces.cli.person import types_code  # noqa: PLC0415 - a circle otherwise

    return replace(caller, kind=CallerKind.PERSON) if types_code(f"run {operation} as a person") else caller


def _arguments(operation: str, texts: tuple[str, ...]) -> dict[str, Any]:
    if texts == ("-",):
        return _object(sys.stdin.read())
    if len(texts) == 1 and texts[0].lstrip().startswith("{"):
        return _object(texts[0])
    found: dict[str, Any] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key:
            hint = "Write key=value, or one JSON object, for example: cpl call read_source targets=README.md"
            raise CodePlaneError("INVALID_ARGUMENTS", f"`{text[:80]}` is not key=value.", hint=hint)
        parsed = value if _takes_text(operation, key) and not value.startswith(("{", "[")) else _value(value)
        found[key] = [*_as_list(found[key]), parsed] if key in found else parsed
    return found


def _takes_text(operation: str, key: str) -> bool:
    """Tell whether an argument may be text, so that a file called `123` stays one."""
    known = TOOLS.get(operation)
    field = known.request_type.model_fields.get(key) if known is not None else None
    return field is None or not ({int, bool, float} & {field.annotation, *get_args(field.annotation)})


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodePlaneError("INVALID_FORMAT", f"The arguments are not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CodePlaneError("INVALID_FORMAT", "The arguments are a JSON object.")
    return document


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
