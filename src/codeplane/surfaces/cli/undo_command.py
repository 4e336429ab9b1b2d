"""`cpl undo`: take back what an operation, a task or a session changed, after showing what that means."""

import sys
from pathlib import Path
from typing import Any

import click

from codeplane.operations.answer import Answer
from codeplane.operations.catalog import TOOLS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller, run_tool
from codeplane.surfaces.cli.main import FAILURE, FINDINGS
from codeplane.surfaces.cli.output import finish, json_option, print_answer, repo_option, set_option
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


@click.command("undo", short_help="Undo what an operation, a task or a session changed.")
@click.argument("operation", required=False)
@click.option("--task", default=None, metavar="ID", help="Everything that a task changed.")
@click.option("--session", default=None, metavar="LABEL", help="Everything that a session changed.")
@click.option("--list", "-l", "list_only", is_flag=True, help="Only list what can be undone.")
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would be restored.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    operation: str | None,
    task: str | None,
    session: str | None,
    list_only: bool,  # noqa: FBT001 - click passes flags by name.
    dry_run: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Take back the files of OPERATION, or of the last operation that changed any.

    Shows what would be restored and asks first. What was changed since is kept where it is not in the way; otherwise
    nothing is undone and the conflicts are shown. An undo can itself be undone.
    """
    target = {"operation": operation, "task": task, "session": session}
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        if list_only:
            return finish(_call(workspace, {}), as_json=as_json)
        if not any(target.values()):
            listed = _call(workspace, {})
            candidates = listed.envelope()["result"]["candidates"] if listed.error is None else []
            # Called again and again it goes further back, instead of forth and back.
            last = next((one for one in candidates if one["name"] != "undo"), None)
            if last is None:
                print_answer(listed, as_json=as_json)
                return FINDINGS
            target["operation"] = last["operation"]
        wanted = {name: value for name, value in target.items() if value}
        preview = _call(workspace, {**wanted, "dry_run": True})
        if dry_run or preview.is_error:
            return finish(preview, as_json=as_json)
        if not yes:
            print_answer(preview, as_json=False)
            if not sys.stdin.isatty():
                sys.stderr.write("Nothing was undone: no terminal to ask at. Use --yes.\n")
                return FAILURE
            if not click.confirm("Undo this?"):
                return FINDINGS
        return finish(run_tool(workspace, "undo", wanted), as_json=as_json)


def _call(workspace: Workspace, arguments: dict[str, Any]) -> Answer:
    return dispatch(Door(workspace, TOOLS), "undo", arguments, cli_caller(workspace))
