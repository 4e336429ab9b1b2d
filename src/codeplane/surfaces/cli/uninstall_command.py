"""`cpl uninstall`: remove everything CodePlane keeps for this repository, after listing it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from codeplane.core.callers import CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.manage_agents import ConnectedAgents
from codeplane.operations.one_call import run_once
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option
from codeplane.surfaces.cli.person import require_person
from codeplane.surfaces.server.facts import is_served
from codeplane.workspace.removal import removables, remove, set_up_trees
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


@dataclass(frozen=True, slots=True)
class _Connected:
    """An agent whose settings name this program, in one working tree."""

    root: Path
    agent: str
    files: tuple[str, ...]

    @property
    def what(self) -> str:
        """Return what is taken out of its files."""
        return f"the hooks and the MCP server of {self.agent}"


@click.command("uninstall", short_help="Remove everything CodePlane stores for this repository.")
@click.option("--dry-run", "-n", is_flag=True, help="Only list it.")
@json_option
@repo_option
def command(dry_run: bool, as_json: bool, start: str) -> int:  # noqa: FBT001 - click passes flags by name.
    """Disconnect agents; remove private directories, keys, acceptances and git refs. Only a person can do this.

    Files that are yours stay: `.cplignore`, `.gitattributes`, `.intentignore` and `.orchestration/`. The program
    itself goes with `pipx uninstall codeplane` or `pip uninstall codeplane`.
    """
    with open_workspace(WorkspaceRequest(Path(start), ())) as workspace:
        if is_served(workspace.places):
            raise CodePlaneError("SERVER_ALREADY_RUNNING", "A server is running here.", hint="`cpl down` stops it.")
        root, found, trees = workspace.root, removables(workspace), set_up_trees(workspace)
        agents = [one for tree in trees for one in _connected(tree)]
        places = [(_shown(one.root, place), one.what) for one in agents for place in one.files]
        places += [(one.place, one.what) for one in found]
        if not as_json:
            sys.stdout.writelines(f"  {place}: {what}\n" for place, what in places)
        proof = "" if dry_run else require_person(workspace, "remove all of this for good")
    if not dry_run:
        # Hooks that start a program that is gone would block their agent.
        _disconnect(agents, proof)
        remove(root, found)
    if as_json:
        print_json({"removed": not dry_run, "places": [{"place": place, "what": what} for place, what in places]})
    else:
        sys.stdout.write("Nothing was removed.\n" if dry_run else "Removed.\n")
    return OK


def _shown(root: Path, place: str) -> str:
    return place if place.startswith("~/") else str(root / place)


def _connected(root: Path) -> list[_Connected]:
    with open_workspace(WorkspaceRequest(root, ())) as workspace:
        answer = run_once(Door(workspace, OPERATIONS), "list_agents", {}, cli_caller(workspace))
    listed = answer.result.results if isinstance(answer.result, ConnectedAgents) else []
    return [_Connected(root, one.agent, tuple(one.files)) for one in listed]


def _disconnect(agents: Sequence[_Connected], proof: str) -> None:
    for one in agents:
        with open_workspace(WorkspaceRequest(one.root, ())) as workspace:
            _take_out(workspace, one.agent, proof)


def _take_out(workspace: Workspace, agent: str, proof: str) -> None:
    """Disconnect an agent.

    Raises:
        CodePlaneError: its settings cannot be read; nothing of them was changed.
    """
    person = replace(cli_caller(workspace), kind=CallerKind.PERSON, proof=proof)
    arguments = {"agent": agent, "remove": True, "is_confirmed": True}
    failed = run_once(Door(workspace, OPERATIONS), "connect_agent", arguments, person).error
    if failed is not None:
        raise CodePlaneError(failed.error, failed.message, hint=failed.required_action)
