"""`cpl ledger export`: it writes more than one answer may hold, so it is not generated."""

import sys
from pathlib import Path

import click

from codeplane.operations.read_ledger import export_recipe, exported
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import repo_option, set_option
from codeplane.workspace.removal import require_ledger
from codeplane.workspace.workspace import WorkspaceRequest, locate_places, open_workspace


@click.command("export", short_help="Write the whole ledger as JSON lines.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=None, help="Into this file.")
@click.option("--recipe", is_flag=True, help="Only print how to verify an export without CodePlane.")
@repo_option
@set_option
def command(output: Path | None, recipe: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Write the whole ledger as JSON lines, oldest row first, to standard output or into a file."""
    if recipe:
        sys.stdout.write(export_recipe())
        return OK
    require_ledger(locate_places(Path(start)))
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        if output is None:
            sys.stdout.writelines(f"{line}\n" for line in exported(workspace))
            return OK
        with output.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in exported(workspace))
    return OK
