"""Commands made from operations: options are the fields of the request, output is what the operation shows."""

import json
import sys
import textwrap
import types
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import ErrorReport
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import COMMANDS, OPERATIONS
from codeplane.operations.command import Command, Facts, Shown, Table
from codeplane.operations.dispatch import understand
from codeplane.operations.models import Understanding
from codeplane.operations.one_call import run_once
from codeplane.operations.operation import AnyOperation, Audience
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import acting_caller, cli_caller
from codeplane.surfaces.cli.ledger_export import command as export_command
from codeplane.surfaces.cli.main import FINDINGS, OK, show_failure
from codeplane.surfaces.cli.output import (
    finish,
    json_option,
    print_facts,
    print_json,
    print_table,
    repo_option,
    session_option,
    set_option,
    show_text,
)
from codeplane.surfaces.cli.person import require_person
from codeplane.workspace.removal import require_ledger
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, locate_places, open_workspace

_PLAIN = (str, int, bool, float)
_GROUP_HELP = {
    "agents": "Show connected agents and what connecting one would write.",
    "approvals": """Show calls that wait for a person, and answer them.

        Only a person answers: at a terminal a code is asked for, elsewhere the operator token is needed.""",
    "controller": """Look at runs of profile `controller`, check plans and review nodes.

        An agent with that profile has one tool, `controller_turn`. It changes nothing before a plan was accepted, and
        a plan is accepted only with evidence that was really read.""",
    "gateway": """Connect MCP servers of others, accept them, and see how they are.

        Agents call their tools through CodePlane: judged, held, recorded. A server starts only after a person has
        accepted it; a tool that its server changes afterwards waits until a person has accepted that, too.""",
    "graph": """Build, look at and export the graph of what the team has written down.

        The seeds are JSON lines below .orchestration/graph/seed: nodes, edges, policies and recipes. `sync` replaces
        the graph as a whole or not at all, and keeps rows that no seed has; `export` writes these.""",
    "intent": """Manage .orchestration/active_intents.yaml.

        The first valid file switches intents on for this repository: from then on agents change only what an active
        intent owns. Only a person can add, close and import intents.""",
    "ledger": """Read, verify and export the record of every call.

        Each row is hashed over the row before it and sealed with a key in the user state directory. `verify` names the
        first row that was changed, forged, removed or inserted, and says what is not proven. `export --recipe` tells
        how an export is verified without CodePlane.""",
    "lessons": """List lessons, add decisions, and write both into the files that agents read.

        Lessons are failures of verification and what fixed them, told by test id, path, error class and count.""",
    "memory": """Record, find, share, verify and forget what was learned.

        Memory is one file per repository. Every row is hashed, sealed and named in the ledger, so `verify` finds what
        was changed behind its back. Nothing is shared with other repositories or with a team before you say so.""",
    "policy": "Show and check intents and policies, accept what arrived with the repository, switch intents on or off.",
    "task": """Group calls into tasks and bound what they may do.

        A session gets a task of its own at its first changing call; `cpl task open` opens one for a session or for
        every session of this working tree, with limits of its own. A closed task is never opened again.""",
    "trace": """Verify, export, import and count the trace: which call, under which intent, wrote which line.

        The ledger holds the records; .orchestration/agent_trace.jsonl is their projection on this branch.""",
    "tests": "Show what test runs of this working tree showed. `cpl test` runs tests.",
}


def generated_command(name: str, short_help: str) -> click.Command:
    """Return the command of this name, or the group of all commands whose path begins with it."""
    for operation, command in _commands():
        if command.path == (name,):
            return _made(operation, command)
    group = click.Group(name, help=_dedented(_GROUP_HELP[name]), short_help=short_help)
    for operation, command in _commands():
        if command.path[0] == name:
            _subgroup(group, command.path[1:-1]).add_command(_made(operation, command))
    if name == "ledger":
        group.add_command(export_command)
    if name == "controller":
        # 150 ms that no other group needs.
        from codeplane.surfaces.cli.controller_demo import command as eval_command  # noqa: PLC0415

        group.add_command(eval_command)
    if name == "memory":
        # 150 ms that no other group needs.
        from codeplane.surfaces.cli.memory_demo import command as demo_command  # noqa: PLC0415

        group.add_command(demo_command)
        group.add_command(group.commands["init"], "install")
    return group


def _subgroup(group: click.Group, names: tuple[str, ...]) -> click.Group:
    """Return the group that a path leads to, made where there is none."""
    for name in names:
        inner = group.commands.get(name) or click.Group(name, short_help=f"Commands of {group.name} {name}.")
        group.add_command(inner)
        group = inner if isinstance(inner, click.Group) else group
    return group


def _commands() -> Iterator[tuple[AnyOperation, Command]]:
    for name in COMMANDS:
        operation = OPERATIONS[name]
        if operation.command is not None:
            yield operation, operation.command


def _made(operation: AnyOperation, command: Command) -> click.Command:
    @json_option
    @repo_option
    @set_option
    def run(
        as_json: bool,  # noqa: FBT001 - click passes flags by name.
        start: str,
        overrides: tuple[str, ...],
        session_id: str | None = None,
        **given: Any,
    ) -> int:
        arguments = {name: value for name, value in given.items() if value not in (None, ())}
        if command.needs_ledger:
            require_ledger(locate_places(Path(start)))
        with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
            if command.previews is not None and not as_json:
                holds = arguments.get("hold_ids")
                asked = [{"hold_id": one} for one in holds] if holds is not None else [arguments]
                _preview(workspace, command.previews, asked)
            caller = _caller(workspace, operation, arguments, session_id)
            answer = run_once(Door(workspace, OPERATIONS), operation.name, arguments, caller)
        return _finish(operation, command, answer, as_json=as_json)

    made = click.command(command.path[-1], help=_dedented(command.help), short_help=operation.summary)(
        session_option(run) if operation.audience is Audience.AGENT else run
    )
    fields = operation.request_type.model_fields
    made.params[:0] = [
        *(_argument(name, fields[name]) for name in command.arguments),
        *(_flag(command, name, field) for name, field in fields.items() if _is_option(command, name)),
    ]
    return made


def _dedented(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first}\n{textwrap.dedent(rest)}"


def _caller(workspace: Workspace, operation: AnyOperation, arguments: dict[str, Any], session_id: str | None) -> Caller:
    """Return who calls; a code is asked for where the call needs a person."""
    request = understand(operation, arguments, Understanding(workspace.root))
    action = operation.needs_person(workspace, request)
    caller = cli_caller(workspace, session_id)
    if action is not None:
        return replace(caller, kind=CallerKind.PERSON, proof=require_person(workspace, action))
    return acting_caller(workspace, operation.name, session_id) if operation.effect.mutates else caller


def _preview(workspace: Workspace, name: str, asked: Sequence[dict[str, Any]]) -> None:
    """Show what a person is about to answer or to do."""
    operation = OPERATIONS[name]
    for arguments in asked:
        answer = run_once(Door(workspace, OPERATIONS), name, arguments, cli_caller(workspace))
        if answer.result is not None and operation.command is not None:
            _show(operation.command.shows(answer.result))


def _finish(operation: AnyOperation, command: Command, answer: Answer, *, as_json: bool) -> int:
    if operation.audience is Audience.AGENT:
        code = finish(answer, as_json=as_json)
        has_findings = code == OK and answer.result is not None and command.is_finding(answer.result)
        return FINDINGS if has_findings else code
    if answer.result is None:
        return show_failure(answer.error or ErrorReport("INTERNAL_ERROR", "There is no answer."), as_json=as_json)
    if as_json:
        print_json(answer.result.model_dump(mode="json"))
    else:
        _show(command.shows(answer.result))
        sys.stderr.writelines(f"Note: {warning}\n" for warning in answer.meta.warnings)
    return FINDINGS if command.is_finding(answer.result) else OK


def _show(shown: Shown) -> None:
    for part in shown:
        if isinstance(part, Table):
            print_table(part.headers, part.rows)
            sys.stderr.write(f"{part.note}\n" if part.note else "")
        elif isinstance(part, Facts):
            print_facts(part.pairs)
        else:
            show_text(part)


def _argument(name: str, field: FieldInfo) -> click.Argument:
    """Return the argument of a field; help calls `row_or_call` ROW|CALL."""
    choices, many = choices_of(field), is_list(field)
    return click.Argument(
        [name],
        nargs=-1 if many else 1,
        required=field.is_required(),
        type=click.Choice(choices) if choices else None,
        metavar=None if choices or many else _shown_name(name, field),
    )


def _shown_name(name: str, field: FieldInfo) -> str:
    shown = name.upper().replace("_OR_", "|")
    return shown if field.is_required() else f"[{shown}]"


def _is_option(command: Command, name: str) -> bool:
    return name not in command.arguments and command.flags.get(name) != ""


def _flag(command: Command, name: str, field: FieldInfo) -> click.Option:
    default = command.defaults.get(name, field.default)
    has_default = default not in (PydanticUndefined, None, (), "", False)
    return option(
        name,
        field,
        flag=command.flags.get(name),
        default=default if has_default else None,
        show_default=has_default,
        required=field.is_required(),
    )


def option(name: str, field: FieldInfo, flag: str | None = None, **more: Any) -> click.Option:
    """Return the option of a field; `flag` is another name than the field's, and for a switch the only one."""
    given = flag or f"--{name.replace('_', '-')}"
    description = field.description or ""
    kinds = _kinds(field.annotation)
    if kinds == [bool]:
        opposite = "" if flag or name.startswith("no_") else f"/--no-{name.replace('_', '-')}"
        return click.Option([f"{given}{opposite}", name], is_flag=True, help=description, **{**more, "default": None})
    if is_list(field) and _plain_items(field):
        return click.Option([given, name], multiple=True, help=f"{description} May be repeated.".strip(), **more)
    choices = choices_of(field)
    if choices and all(get_origin(kind) is Literal for kind in kinds):
        return click.Option([given, name], type=click.Choice(choices), help=description, **more)
    if kinds == [int]:
        return click.Option([given, name], type=_number(field), help=description, **more)
    if any(kind not in _PLAIN and get_origin(kind) is not Literal for kind in kinds):
        return click.Option([given, name], callback=_parsed, metavar="JSON", help=description, **more)
    return click.Option([given, name], help=description, **more)


def _number(field: FieldInfo) -> click.IntRange:
    low = next((one.ge for one in _marks(field) if isinstance(one, Ge)), None)
    high = next((one.le for one in _marks(field) if isinstance(one, Le)), None)
    return click.IntRange(low, high)  # type: ignore[arg-type]  # The bounds of a whole number are whole numbers.


def _marks(field: FieldInfo) -> list[Any]:
    nested = (mark for kind in get_args(field.annotation) for mark in getattr(kind, "__metadata__", ()))
    return [*field.metadata, *(one for mark in nested for one in getattr(mark, "metadata", (mark,)))]


def choices_of(field: FieldInfo) -> list[str]:
    """Return the values that a field takes by name."""
    kinds = _kinds(field.annotation)
    return [str(value) for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]


def _kinds(annotation: Any) -> list[Any]:
    """Return the types that a field takes, without None and annotations."""
    if get_origin(annotation) in {Union, types.UnionType}:
        return [kind for part in get_args(annotation) for kind in _kinds(part)]
    if hasattr(annotation, "__metadata__"):
        return _kinds(get_args(annotation)[0])
    return [] if annotation is type(None) else [annotation]


def is_list(field: FieldInfo) -> bool:
    """Tell whether a field takes several values."""
    return any(get_origin(kind) in {list, tuple} for kind in _kinds(field.annotation))


def _plain_items(field: FieldInfo) -> bool:
    items = [item for kind in _kinds(field.annotation) for item in get_args(kind) if item is not Ellipsis]
    return all(item is str or get_args(item)[:1] == (str,) for item in items)


def _parsed(_context: click.Context, _option: click.Parameter, value: str | None) -> Any:
    """Return an object given as JSON; any other text as it is."""
    if value is None or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"it is not JSON: {error}") from error
