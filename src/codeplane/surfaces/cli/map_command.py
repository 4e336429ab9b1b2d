"""`cpl map`: what a repository is made of, as an agent sees it."""

from pathlib import Path

import click

from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.output import finish, json_option, repo_option, set_option
from codeplane.surfaces.cli.paths import path_from_here
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

_SECTIONS = ("structure", "languages", "entry_points", "dependencies", "test_layout", "public_api")


@click.command("map", short_help="Show what this repository is made of.")
@click.argument("path", required=False)
@click.option("--include", "-i", multiple=True, type=click.Choice(_SECTIONS), help="Sections to show in full.")
@click.option("--depth", type=click.IntRange(1, 20), default=None, help="Directory levels.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Items per section.")
@click.option("--cursor", default=None, help="Continue where the last answer was cut.")
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    path: str | None,
    include: tuple[str, ...],
    depth: int | None,
    limit: int,
    cursor: str | None,
    as_json: bool,  # noqa: FBT001 - click passes flags by name.
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Show directories, languages and entry points; more by --include, with or without a running server.

    PATH is relative to the current directory; by default the whole repository is shown.
    """
    arguments = {"include": list(include), "depth": depth, "limit": limit, "cursor": cursor}
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        place = "." if path is None else path_from_here(workspace.root, start, path)
        answer = run_tool(workspace, "map_repo", {"path": place, **arguments})
    return finish(answer, as_json=as_json)
