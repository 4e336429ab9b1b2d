"""`cpl check`: lint and test what changed, with one verdict; exit code 1 when it is not ready to commit."""

from pathlib import Path
from typing import Any

import click

from codeplane.operations.call_record import CallControls
from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.main import FINDINGS
from codeplane.surfaces.cli.output import finish, json_option, progress_line, repo_option, set_option
from codeplane.surfaces.cli.paths import path_from_here
from codeplane.surfaces.cli.test_command import shown_by
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


@click.command("check", short_help="Lint and test your changes: are they ready to commit?")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--fail-fast", "-x", is_flag=True, help="Stop after the first failing test.")
@click.option("--timeout", type=click.IntRange(1), metavar="SECONDS", help="How long one test target may take.")
@json_option
@repo_option
@set_option
def command(
    paths: tuple[str, ...],
    fail_fast: bool,  # noqa: FBT001 - click passes flags by name.
    timeout: int | None,
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Run the linters on changed files and the tests that they affect, and sum up what changed.

    PATHS are changed files; without them, everything that differs from the last commit is checked.
    The exit code is 1 when the change is not ready to commit.

    \b
      cpl check
      cpl check src/app.py --fail-fast
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        named = [path_from_here(workspace.root, start, path) for path in paths]
        given: dict[str, Any] = {"affected_by": named or None, "fail_fast": fail_fast, "timeout_sec": timeout}
        with progress_line("tests") as show:
            answer = run_tool(workspace, "check", given, CallControls(report_progress=shown_by(show)))
    code = finish(answer, as_json=as_json)
    is_ready = answer.result is None or answer.envelope()["result"]["ready"]
    return code if is_ready else FINDINGS
