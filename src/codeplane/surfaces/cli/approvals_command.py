"""`cpl approvals`: what waits for a person, and the person's answer."""

from pathlib import Path
from typing import Any

import click

from codeplane.govern.approvals import MAX_GRANT_MINUTES, PENDING, SCOPES, Hold, PersonsAnswer
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import (
    json_option,
    local_time_of,
    print_facts,
    print_json,
    print_table,
    repo_option,
    set_option,
    show_text,
)
from codeplane.surfaces.cli.person import require_person
from codeplane.workspace.approval_answers import answer_hold
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


@click.group("approvals", short_help="Show what waits for a person; approve or deny it.")
def command() -> None:
    """Show calls that wait for a person, and answer them.

    Only a person answers: at a terminal a code is asked for, elsewhere the operator token is needed.
    """


@command.command("list", short_help="List what waits.")
@click.option("--all", "is_all", is_flag=True, help="Also what was answered, used or has expired.")
@json_option
@repo_option
@set_option
def list_command(is_all: bool, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """List held calls, the newest first."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        holds = workspace.gate.approvals.holds(None if is_all else PENDING)
        now = workspace.clock.now_ms()
    _print_holds(holds, now, as_json=as_json, empty="Nothing waits.")
    return OK


@command.command("grants", short_help="List wider grants in force.")
@json_option
@repo_option
@set_option
def grants_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """List grants for an intent, a session or a rule; `revoke` takes one back."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        holds, now = workspace.gate.approvals.grants(), workspace.clock.now_ms()
    _print_holds(holds, now, as_json=as_json, empty="There are no grants.")
    return OK


@command.command("show", short_help="Show one held call.")
@click.argument("hold_id")
@json_option
@repo_option
@set_option
def show_command(hold_id: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show exactly what would run; what is invisible is made visible."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        hold, now = workspace.gate.approvals.find(hold_id), workspace.clock.now_ms()
    if as_json:
        print_json(hold.as_document(now))
    else:
        _print_card(hold, now)
    return OK


@command.command("approve", short_help="Let held calls run.")
@click.argument("hold_ids", nargs=-1, required=True)
@click.option("--comment", default="", metavar="TEXT", help="For the record.")
@click.option(
    "--for", "scope", type=click.Choice(SCOPES), default="once", show_default=True, help="How far it reaches."
)
@click.option("--minutes", type=click.IntRange(1, MAX_GRANT_MINUTES), default=60, help="How long a wider grant lasts.")
@json_option
@repo_option
@set_option
def approve_command(hold_ids: tuple[str, ...], **said: Any) -> int:
    """Approve held calls; each is shown before the code is asked for.

    `once` lets this very call run one time, if it comes within 15 minutes and neither it nor the rules have changed.
    """
    return _answer(hold_ids, approves=True, **said)


@command.command("deny", short_help="Refuse held calls.")
@click.argument("hold_ids", nargs=-1, required=True)
@click.option("--comment", default="", metavar="TEXT", help="Reaches the agent.")
@json_option
@repo_option
@set_option
def deny_command(hold_ids: tuple[str, ...], **said: Any) -> int:
    """Refuse held calls; the comment reaches the agent."""
    return _answer(hold_ids, approves=False, **said)


@command.command("revoke", short_help="Take an approval or grant back.")
@click.argument("hold_id")
@json_option
@repo_option
@set_option
def revoke_command(hold_id: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Take back an approval or a grant that is not used up."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        by = require_person(workspace, f"revoke {hold_id}")
        hold = workspace.gate.approvals.revoke(hold_id, by)
        _print_answered([hold], workspace, as_json=as_json)
    return OK


def _answer(hold_ids: tuple[str, ...], *, as_json: bool, start: str, overrides: tuple[str, ...], **said: Any) -> int:
    verb = "approve" if said["approves"] else "deny"
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        holds = [workspace.gate.approvals.find(one) for one in dict.fromkeys(hold_ids)]
        if not as_json:
            for hold in holds:
                _print_card(hold, workspace.clock.now_ms())
        by = require_person(workspace, f"{verb} {', '.join(one.hold_id for one in holds)}")
        answered = [answer_hold(workspace, one.hold_id, PersonsAnswer(by=by, **said)) for one in holds]
        _print_answered(answered, workspace, as_json=as_json)
    return OK


def _print_answered(holds: list[Hold], workspace: Workspace, *, as_json: bool) -> None:
    now = workspace.clock.now_ms()
    if as_json:
        print_json({"results": [one.as_document(now) for one in holds]})
        return
    for one in holds:
        click.echo(f"{one.hold_id} is {one.state_at(now)} ({one.scope}).")


def _print_holds(holds: list[Hold], now_ms: int, *, as_json: bool, empty: str) -> None:
    documents = [one.as_document(now_ms) for one in holds]
    if as_json:
        print_json({"results": documents})
        return
    columns = ["id", "state", "operation", "intent", "session", "reason"]
    print_table(columns, [[str(one[name] or "") for name in columns] for one in documents])
    if not holds:
        click.echo(empty, err=True)


def _print_card(hold: Hold, now_ms: int) -> None:
    document = hold.as_document(now_ms)
    card = document["card"]
    caller = card.get("caller", {})
    print_facts(
        [
            ("held", f"{hold.hold_id}, {document['state']}, until {local_time_of(document['expires_at'])}"),
            ("operation", hold.key.operation),
            ("why", hold.reason),
            ("rule", f"{hold.policy}: {hold.rule}"),
            ("intent", hold.intent or "none"),
            ("caller", f"{caller.get('client')} over {caller.get('surface')}, session {hold.key.session}"),
            ("paths", ", ".join(card.get("paths", ())) or "none"),
            ("commands", "; ".join(card.get("commands", ())) or "none"),
            ("comment", hold.comment or "none"),
        ]
    )
    shown = card.get("preview") or card.get("arguments")
    if shown:
        show_text(shown if isinstance(shown, str) else "\n".join(f"{name}: {value}" for name, value in shown.items()))
