"""`cpl search`: find text and symbols in the indexed files, as an agent would."""

from pathlib import Path
from typing import get_args

import click

from codeplane.operations.search_models import SearchRequest
from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import finish, json_option, repo_option, set_option
from codeplane.surfaces.cli.paths import glob_from_here
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

# Every mode: the short options below set the same parameter.
_MODES = get_args(SearchRequest.model_fields["mode"].annotation)


@click.command("search", short_help="Find text, definitions or references.")
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@click.option("--definitions", "-d", "mode", flag_value="definitions", help="Where the symbol QUERY is defined.")
@click.option("--references", "-r", "mode", flag_value="references", help="What refers to the symbol QUERY.")
@click.option("--symbol", "-s", "mode", flag_value="symbol", help="Symbols whose name contains QUERY.")
@click.option("--mode", "-m", "mode", type=click.Choice(_MODES), metavar="MODE", help=f"One of {', '.join(_MODES)}.")
@click.option("--all", "certainty", flag_value="all", help="With -r or -m: also uncertain hits.")
@click.option("--kind", "kinds", multiple=True, help="Only symbols of this kind, such as class or function.")
@click.option("--regex", "-e", is_flag=True, help="QUERY is an RE2 expression.")
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore upper and lower case.")
@click.option("--word", "-w", is_flag=True, help="Whole words only.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files that match, as in .gitignore.")
@click.option("--no-ignore", "include_ignored", is_flag=True, help="Also files that git ignores.")
@click.option("--language", "languages", multiple=True, help="Only files of this language.")
@click.option("--code", "show", flag_value="code", help="Show the definitions around the hits.")
@click.option("--context", "-C", type=click.IntRange(0, 50), default=0, help="Lines to show around each hit.")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True, help="Hits to show.")
@click.option("--cursor", default=None, help="Continue where the last answer was cut.")
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    queries: tuple[str, ...],
    mode: str | None,
    certainty: str | None,
    kinds: tuple[str, ...],
    regex: bool,  # noqa: FBT001 - click passes flags by name.
    ignore_case: bool,  # noqa: FBT001
    word: bool,  # noqa: FBT001
    paths: tuple[str, ...],
    include_ignored: bool,  # noqa: FBT001
    languages: tuple[str, ...],
    show: str | None,
    context: int,
    limit: int,
    cursor: str | None,
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Find every line that contains QUERY, or a symbol of that name; exit code 1 when there is none.

    A symbol is a name, Class.method, path::Name, path:line or path:line:column. With -r a file or module is answered
    with its imports. GLOB is relative to the current directory; one that begins with / to the repository's root.
    """
    arguments = {
        **({"query": queries[0]} if len(queries) == 1 else {"queries": list(queries)}),
        "mode": mode or "lexical",
        "certainty": certainty or "sure",
        "regex": regex,
        "ignore_case": ignore_case,
        "whole_word": word,
        "include_ignored": include_ignored,
        "show": show or "lines",
        "context": context,
        "limit": limit,
        "cursor": cursor,
    }
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        globs = [glob_from_here(workspace.root, start, glob) for glob in paths]
        scope = {"paths": globs, "languages": list(languages), "kinds": list(kinds)}
        answer = run_tool(workspace, "search", {**arguments, "scope": scope})
    exit_code = finish(answer, as_json=as_json)
    return exit_code or (OK if getattr(answer.result, "results", ()) else FINDINGS)
