"""`cpl hook`: answer an agent's hook, or select an intent in the shell of an agent."""

import sys
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.operations.agent_files import AGENT_FILES
from codeplane.surfaces.cli.call_command import cli_caller, run_as
from codeplane.surfaces.cli.output import finish, json_option, repo_option
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


@click.command("hook", short_help="Answer an agent's hook; select an intent in its shell.")
@click.argument("agent", type=click.Choice(sorted(AGENT_FILES)))
@click.argument("event")
@click.argument("intent", required=False)
@json_option
@repo_option
def command(agent: str, event: str, intent: str | None, as_json: bool, start: str) -> int:  # noqa: FBT001
    """Answer EVENT of AGENT, whose JSON is on standard input. `cpl connect` installs the quicker form of this.

    `cpl hook AGENT select INT-001`, in the shell of an agent, selects an intent for the agent's session. It is for
    agents that send no hook for MCP tools.
    """
    if event != "select" or intent is None:
        sys.stderr.write("`cpl hook AGENT EVENT` reads the event from standard input.\n")
        return 2
    with open_workspace(WorkspaceRequest(Path(start))) as workspace:
        caller = cli_caller(workspace)
        if not caller.connection.startswith(f"hook:{agent}:"):
            message = f"This shell does not belong to a session of {agent} that is known here."
            raise CodePlaneError("SESSION_NOT_FOUND", message, hint=f"Connect it first: cpl connect {agent}")
        return finish(run_as(workspace, "select_active_intent", {"intent_id": intent}, caller), as_json=as_json)
