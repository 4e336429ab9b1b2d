"""`cpl intent`: what is to be done, where, and under which conditions."""

from pathlib import Path
from typing import Any

import click

from codeplane.core.errors import CodePlaneError
from codeplane.govern.intents import INTENTS_FILE, Intent, parse_intents
from codeplane.govern.intents_file import with_intent, with_status
from codeplane.govern.spec_import import KINDS, find_specs
from codeplane.surfaces.cli.call_command import cli_caller, run_once
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import (
    finish,
    json_option,
    print_facts,
    print_json,
    print_table,
    repo_option,
    set_option,
)
from codeplane.surfaces.cli.person import require_person
from codeplane.workspace.intent_changes import intents_text, save_intents
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

_STATUSES = ("draft", "active", "paused", "done", "abandoned")


@click.group("intent", short_help="Add, list, show, select, close, check and import intents.")
def command() -> None:
    """Manage .orchestration/active_intents.yaml.

    The first valid file switches intents on for this repository: from then on agents change only what an active intent
    owns. Adding, closing and importing take a person.
    """


@command.command("add", short_help="Add an intent.")
@click.argument("intent_id")
@click.argument("name")
@click.option(
    "--scope", "owned_scope", multiple=True, required=True, metavar="GLOB", help="Files it may change; repeat."
)
@click.option("--constraint", "constraints", multiple=True, metavar="TEXT", help="What has to stay true; repeat.")
@click.option("--criterion", "acceptance_criteria", multiple=True, metavar="TEXT", help="When it is done; repeat.")
@click.option("--requirement", "requirements", multiple=True, metavar="ID", help="A requirement's id; repeat.")
@click.option("--parent", default=None, metavar="ID", help="The intent it is a part of.")
@click.option("--expires", default=None, metavar="TIME", help="For example 2026-12-31T00:00:00Z.")
@click.option("--status", type=click.Choice(_STATUSES), default="active", show_default=True)
@json_option
@repo_option
@set_option
def add_command(intent_id: str, as_json: bool, start: str, overrides: tuple[str, ...], **given: Any) -> int:  # noqa: FBT001
    """Add an intent to the file; the file is made when there is none."""
    try:
        intent = Intent(id=intent_id, **given)
    except ValueError as error:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        text = with_intent(intents_text(workspace), intent)
        require_person(workspace, f"add the intent {intent_id}")
        save_intents(workspace, text)
        _print_intent(workspace, intent_id, as_json=as_json)
    return OK


@command.command("list", short_help="List intents.")
@json_option
@repo_option
@set_option
def list_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """List all intents with their state."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        documents = [_document(workspace, one) for one in _intents(workspace)]
    if as_json:
        print_json({"results": documents})
        return OK
    columns = ["id", "status", "selectable", "name", "owned_scope"]
    print_table(columns, [[_cell(one[name]) for name in columns] for one in documents])
    if not documents:
        click.echo("There are no intents; `cpl intent add` makes one.", err=True)
    return OK


@command.command("show", short_help="Show one intent.")
@click.argument("intent_id")
@json_option
@repo_option
@set_option
def show_command(intent_id: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show one intent with everything the file says about it."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        _print_intent(workspace, intent_id, as_json=as_json)
    return OK


@command.command("select", short_help="Select an intent for a session.")
@click.argument("intent_id", required=False)
@click.option("--session", "session_id", default=None, metavar="NAME", help="Use this session; a new name creates one.")
@json_option
@repo_option
@set_option
def select_command(
    intent_id: str | None,
    session_id: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name.
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Select an intent as an agent does, and show its context; without an id, list those that can be selected."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        arguments = {"intent_id": intent_id} if intent_id is not None else {}
        answer = run_once(workspace, "select_active_intent", arguments, cli_caller(workspace, session_id))
    return finish(answer, as_json=as_json)


@command.command("close", short_help="Close an intent.")
@click.argument("intent_id")
@click.option("--status", type=click.Choice(_STATUSES), default="done", show_default=True)
@json_option
@repo_option
@set_option
def close_command(intent_id: str, status: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Give an intent another status: done, abandoned, paused; or active again."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        text = intents_text(workspace)
        if text is None:
            raise CodePlaneError("NOT_FOUND", f"There is no {INTENTS_FILE}.")
        changed = with_status(text, intent_id, status)
        require_person(workspace, f"make the intent {intent_id} {status}")
        save_intents(workspace, changed)
        _print_intent(workspace, intent_id, as_json=as_json)
    return OK


@command.command("check", short_help="Check the intents file.")
@json_option
@repo_option
@set_option
def check_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Check the file; exit code 1 when something is wrong, each problem with its line."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        problems, warnings = _checked(workspace)
    if as_json:
        print_json({"ok": not problems, "problems": problems, "warnings": warnings})
    else:
        click.echo("\n".join([*problems, *(f"warning: {one}" for one in warnings)]) or "The intents are valid.")
    return FINDINGS if problems else OK


@command.command("import", short_help="Make draft intents from specifications.")
@click.option("--from", "kind", type=click.Choice([one.name for one in KINDS]), default=None, help="Only of this kind.")
@click.option("--dry-run", is_flag=True, help="Only show them.")
@json_option
@repo_option
@set_option
def import_command(kind: str | None, dry_run: bool, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Make a draft intent of every spec-kit, OpenSpec and Kiro folder that has none yet.

    The scope is guessed from the paths that tasks name; look at it, then `cpl intent close ID --status active`.
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        text = intents_text(workspace)
        known = {one.id for one in _intents(workspace)}
        found = [one for one in find_specs(workspace.root, kind) if one.intent.id not in known]
        for one in found:
            text = with_intent(text, one.intent)
        if found and text is not None and not dry_run:
            require_person(workspace, f"add {len(found)} draft intents")
            save_intents(workspace, text)
        documents = [{"source": one.source, "kind": one.kind, **_plain(one.intent)} for one in found]
    if as_json:
        print_json({"imported": documents, "dry_run": dry_run})
        return OK
    print_table(
        ["id", "from", "name", "scope"], [[d["id"], d["source"], d["name"], _cell(d["owned_scope"])] for d in documents]
    )
    if not documents:
        click.echo("Nothing new was found in specs/, openspec/changes/ and .kiro/specs/.", err=True)
    return OK


def _intents(workspace: Workspace) -> tuple[Intent, ...]:
    text = intents_text(workspace)
    return parse_intents(text).active_intents if text is not None else ()


def _checked(workspace: Workspace) -> tuple[list[str], list[str]]:
    text = intents_text(workspace)
    if text is None:
        return [f"There is no {INTENTS_FILE}."], []
    try:
        intents = parse_intents(text).active_intents
    except CodePlaneError as error:
        return error.message.splitlines(), []
    tracked = workspace.tracked().files
    warnings = []
    for one in intents:
        warnings += [
            f"{one.id}: {pattern} matches no file yet"
            for pattern in one.owned_scope
            if not any(Intent(id="x", name="x", owned_scope=(pattern,)).owns(path) for path in tracked)
        ]
        if {"**", "**/*", "*"} & set(one.owned_scope):
            warnings.append(f"{one.id} owns everything")
        if not one.owned_scope and one.status == "active":
            warnings.append(f"{one.id} owns nothing: no change is possible under it")
    return [], warnings


def _document(workspace: Workspace, intent: Intent) -> dict[str, Any]:
    rules, now = workspace.gate.rules(), workspace.clock.now_ms()
    reason = rules.why_not_valid(intent.id, now)
    return {**_plain(intent), "selectable": reason is None, "why_not": reason}


def _plain(intent: Intent) -> dict[str, Any]:
    return {
        "id": intent.id,
        "name": intent.name,
        "status": intent.status,
        "owned_scope": list(intent.owned_scope),
        "constraints": list(intent.constraints),
        "acceptance_criteria": list(intent.acceptance_criteria),
        "requirements": list(intent.requirements),
        "parent": intent.parent,
        "expires": intent.expires,
    }


def _print_intent(workspace: Workspace, intent_id: str, *, as_json: bool) -> None:
    intent = next((one for one in _intents(workspace) if one.id == intent_id), None)
    if intent is None:
        raise CodePlaneError("NOT_FOUND", f"There is no intent {intent_id[:80]}.", hint="`cpl intent list` shows all.")
    document = _document(workspace, intent)
    if as_json:
        print_json(document)
    else:
        print_facts([(name.replace("_", " "), _cell(value)) for name, value in document.items() if value is not None])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
