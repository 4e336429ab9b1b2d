"""`cpl lint`: what the project's own linters say about changed files, and `--fix`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from codeplane.core.callers import CallerKind
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import TOOLS
from codeplane.operations.one_call import run_once
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller, run_tool
from codeplane.surfaces.cli.main import FAILURE, FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_answer, repo_option, set_option
from codeplane.surfaces.cli.paths import glob_from_here, path_from_here
from codeplane.surfaces.cli.person import types_code
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

_OPERATION = "lint_check"


@click.command("lint", short_help="Run the project's linters on changed files; --fix repairs.")
@click.argument("paths", nargs=-1)
@click.option("--fix", is_flag=True, help="Repair what the tools can; `cpl undo` takes it back.")
@click.option("--tools", is_flag=True, help="List the configured tools instead of running them.")
@click.option("--cursor", default=None, help="Continue where the last answer was cut.")
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    paths: tuple[str, ...],
    fix: bool,  # noqa: FBT001 - click passes flags by name.
    tools: bool,  # noqa: FBT001
    cursor: str | None,
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Run linters, type checkers and formatters that this project configures.

    Without PATHS the files that differ from the last commit are checked. PATHS are files, directories or globs.
    Findings on changed lines come first. The exit code is 1 when there are findings or a tool failed.

    \b
      cpl lint
      cpl lint src 'tests/**/*.py'
      cpl lint --fix
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        if tools:
            answer = run_tool(workspace, "lint_tools", {})
        else:
            named = [_named(workspace.root, start, path) for path in paths]
            answer = _run(workspace, {"cursor": cursor} if cursor is not None else {"paths": named, "fix": fix})
    print_answer(answer, as_json=as_json)
    return FAILURE if answer.is_error else _exit_code(answer)


def _named(root: Path, start: str, path: str) -> str:
    is_glob = any(mark in path for mark in "*?[") and not (Path(start) / path).exists()
    return glob_from_here(root, start, path) if is_glob else path_from_here(root, start, path)


def _run(workspace: Workspace, arguments: dict[str, Any]) -> Answer:
    """Make the call; linters are programs, so where no rule allows them a person at the terminal has to agree."""
    answer = run_tool(workspace, _OPERATION, arguments)
    if answer.outcome is not Outcome.HELD or not sys.stdin.isatty() or not types_code("run the project's linters"):
        return answer
    person = replace(cli_caller(workspace), kind=CallerKind.PERSON)
    return run_once(Door(workspace, TOOLS), _OPERATION, arguments, person)


def _exit_code(answer: Answer) -> int:
    result = answer.envelope()["result"]
    is_bad = result.get("total", 0) or any(one.get("problem") for one in result["tools"])
    return FINDINGS if is_bad else OK
