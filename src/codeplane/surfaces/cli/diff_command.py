"""`cpl diff`: changed lines as git shows them, or changed definitions and what they break."""

from pathlib import Path
from typing import Any

import click

from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.output import finish, json_option, repo_option, set_option
from codeplane.surfaces.cli.paths import path_from_here
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

_MAX_REFS = 2


@click.command("diff", short_help="Show changed lines, or with --structural what they mean.")
@click.argument("words", metavar="[BASE] [TARGET] [PATH]...", nargs=-1)
@click.option("--structural", "-s", is_flag=True, help="Changed definitions: what breaks, who is affected.")
@click.option("--path", "-p", "paths", multiple=True, help="Only this file or directory, whatever its name.")
@click.option("--cursor", default=None, help="Continue where the last answer was cut.")
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    words: tuple[str, ...],
    structural: bool,  # noqa: FBT001 - click passes flags by name.
    paths: tuple[str, ...],
    cursor: str | None,
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Compare BASE with TARGET, by default the last commit with the working tree.

    The first words that are not files or directories here are BASE and TARGET: refs, or with --structural also
    epoch:N. All other words are paths, relative to the current directory.

    \b
      cpl diff
      cpl diff main src
      cpl diff --structural v1.0 v2.0
    """
    refs, named = _split(Path(start), words)
    arguments: dict[str, Any] = dict(zip(("base", "target"), refs, strict=False))
    if not structural:
        arguments.setdefault("base", "HEAD")
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        places = [path_from_here(workspace.root, start, path) for path in (*named, *paths)]
        given = {"cursor": cursor} if cursor is not None else {**arguments, "paths": places}
        answer = run_tool(workspace, "semantic_diff" if structural else "git_diff", given)
    return finish(answer, as_json=as_json)


def _split(start: Path, words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the refs among the first words, and the paths."""
    refs: list[str] = []
    for word in words:
        if len(refs) == _MAX_REFS or (start / word).exists():
            break
        refs.append(word)
    return refs, list(words[len(refs) :])
