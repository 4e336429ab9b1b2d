"""`cpl test`: run tests as an agent would, with live progress in a terminal; exit code 1 when some fail."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from codeplane.operations.call_record import CallControls
from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.main import FINDINGS
from codeplane.surfaces.cli.output import finish, json_option, progress_line, repo_option, set_option
from codeplane.surfaces.cli.paths import path_from_here
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


@click.command("test", short_help="Run tests: all, some, or those that your changes affect.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--affected", "-a", is_flag=True, help="Only tests that the changes since HEAD affect.")
@click.option("--fail-fast", "-x", is_flag=True, help="Stop after the first failure.")
@click.option("--timeout", type=click.IntRange(1), metavar="SECONDS", help="How long one target may take.")
@click.option("--retry", is_flag=True, help="Run failed tests once more and tell the flaky ones.")
@click.option("--coverage", is_flag=True, help="Also tell which changed lines the tests ran.")
@click.option("--cursor", default=None, help="Continue where the last answer was cut.")
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    paths: tuple[str, ...],
    affected: bool,  # noqa: FBT001 - click passes flags by name.
    fail_fast: bool,  # noqa: FBT001
    timeout: int | None,
    retry: bool,  # noqa: FBT001
    coverage: bool,  # noqa: FBT001
    cursor: str | None,
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Run the tests of PATH (files, directories, globs or file::test), by default all of this repository.

    The project's own runner and environment are used; tests of one runner are spread over the cores.

    \b
      cpl test
      cpl test tests/unit tests/test_app.py::test_start
      cpl test --affected --fail-fast
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        named = [_target_from_here(workspace.root, start, path) for path in paths]
        wanted: dict[str, Any] = {
            "target_filter": named or ["."],
            "affected_by": [] if affected else None,
            "fail_fast": fail_fast,
            "timeout_sec": timeout,
            "retry_flaky": retry,
            "coverage": coverage,
        }
        with progress_line("tests") as show:
            controls = CallControls(report_progress=shown_by(show))
            given = {"cursor": cursor} if cursor is not None else wanted
            answer = run_tool(workspace, "run_test_targets", given, controls)
    code = finish(answer, as_json=as_json)
    has_failures = answer.result is not None and answer.envelope()["result"]["outcome"] == "failed"
    return FINDINGS if has_failures else code


def shown_by(show: Callable[[int, int], None]) -> Callable[[float, float | None, str], None]:
    """Return how progress reaches a line of the terminal."""
    return lambda done, total, _text: show(int(done), int(total or 0))


def _target_from_here(root: Path, start: str, text: str) -> str:
    path, separator, test = text.partition("::")
    return path_from_here(root, start, path) + separator + test
