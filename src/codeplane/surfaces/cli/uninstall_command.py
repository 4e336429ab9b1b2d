"""`cpl uninstall`: remove everything CodePlane keeps for this repository, after listing it."""

import sys
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option
from codeplane.surfaces.cli.person import require_person
from codeplane.surfaces.server.facts import is_served
from codeplane.workspace.removal import removables, remove
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


@click.command("uninstall", short_help="Remove everything CodePlane stores for this repository.")
@click.option("--dry-run", "-n", is_flag=True, help="Only list it.")
@json_option
@repo_option
def command(dry_run: bool, as_json: bool, start: str) -> int:  # noqa: FBT001 - click passes flags by name.
    """Remove private directories, keys, acceptances and git refs of this repository. Only a person can do this.

    Files that are yours stay: `.cplignore`, `.intentignore` and `.orchestration/`. The program itself goes with
    `pipx uninstall codeplane` or `pip uninstall codeplane`.
    """
    with open_workspace(WorkspaceRequest(Path(start), ())) as workspace:
        if is_served(workspace.places):
            raise CodePlaneError("SERVER_ALREADY_RUNNING", "A server is running here.", hint="`cpl down` stops it.")
        root, found = workspace.root, removables(workspace)
        if not as_json:
            sys.stdout.writelines(f"  {one.place}: {one.what}\n" for one in found)
        if not dry_run:
            require_person(workspace, "remove all of this for good")
    if not dry_run:
        remove(root, found)
    if as_json:
        print_json({"removed": not dry_run, "places": [{"place": one.place, "what": one.what} for one in found]})
    else:
        sys.stdout.write("Nothing was removed.\n" if dry_run else "Removed.\n")
    return OK
