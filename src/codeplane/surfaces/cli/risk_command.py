"""`cpl risk`: how dangerous a shell command is, by the same rules as the gate; works outside of a repository, too."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import visible_text
from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.shell_risk.report import RiskReport, RiskVerdict
from codeplane.govern.shell_risk.surroundings import find_root, look_around
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json
from codeplane.workspace.places import PRIVATE_NAME
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

_MAX_LINE = 4_000_000


@click.command("risk", short_help="Tell how dangerous a shell command is.")
@click.argument("words", nargs=-1, metavar="-- COMMAND")
@click.option("--shell", default="bash", metavar="SHELL", help="The shell that would run it (default: bash).")
@click.option("--cwd", "cwd", default=".", metavar="DIR", help="Where it would run (default: here).")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read one JSON object with command, shell, cwd per line.")
@json_option
def command(words: tuple[str, ...], shell: str, cwd: str, from_stdin: bool, as_json: bool) -> int:  # noqa: FBT001
    """Tell whether a command only reads (SAFE), verifies (VERIFICATION) or may do anything else (DESTRUCTIVE).

    The command is one argument behind `--`. The exit code is 0 whatever the verdict.
    """
    rules = _AcceptedRules()
    if from_stdin:
        for line in _lines():
            sys.stdout.write(json.dumps(_answer(line, rules)) + "\n")
            sys.stdout.flush()
        return OK
    if len(words) != 1:
        raise CodePlaneError("INVALID_ARGUMENTS", "The command has to be one argument: cpl risk -- 'ls -la'.")
    report = _judged(words[0], shell, cwd, rules)
    if as_json:
        print_json(report.as_dict())
    else:
        _print(report)
    return OK


def _lines() -> Iterator[bytes]:
    """Return the lines of standard input; one that is too long is cut, and so is no JSON any more."""
    stream = sys.stdin.buffer
    while line := stream.readline(_MAX_LINE):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(_MAX_LINE)):
            line = line[:_MAX_LINE] + b"\0"
        if line.strip():
            yield line


class _AcceptedRules:
    """What accepted policy files add to the built-in lists, read once for each repository that is set up.

    Invariant: a repository that is not set up is left as it is.
    """

    def __init__(self) -> None:
        self._by_root: dict[Path, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def added_to(self, context: ShellContext, root: Path | None) -> ShellContext:
        """Return the context with what the rules of its repository add."""
        if root is None or not (root / PRIVATE_NAME).is_dir():
            return context
        if root not in self._by_root:
            with open_workspace(WorkspaceRequest(root)) as workspace:
                rules = workspace.gate.rules()
            self._by_root[root] = (rules.read_only_commands(), rules.verification_scripts())
        read_only, verification = self._by_root[root]
        return replace(context, read_only=read_only, verification=verification)


def _answer(line: bytes, rules: _AcceptedRules) -> dict[str, Any]:
    """Return the answer to one line; what is wrong with a line is an answer, too."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return _failure("The line is not a JSON object.")
    if not isinstance(given, dict) or not isinstance(given.get("command"), str):
        return _failure("The line needs a text `command`.")
    shell, cwd = given.get("shell", "bash"), given.get("cwd", ".")
    if not isinstance(shell, str) or not isinstance(cwd, str):
        return _failure("`shell` and `cwd` are texts.")
    return _judged(given["command"], shell, cwd, rules).as_dict()


def _failure(message: str) -> dict[str, Any]:
    return {"error": CodePlaneError("INVALID_ARGUMENTS", message).report().as_dict()}


def _judged(text: str, shell: str, cwd: str, rules: _AcceptedRules) -> RiskReport:
    try:
        folder = Path(os.path.realpath(cwd))
        root = find_root(folder)
        context = rules.added_to(look_around(root, folder, os.environ, text), root)
    except (OSError, ValueError, CodePlaneError):
        return RiskReport(RiskVerdict.DESTRUCTIVE, (), ("the directory cannot be looked at",))
    return classify(text, shell, context)


def _print(report: RiskReport) -> None:
    click.echo(report.verdict.value)
    for segment in report.segments:
        why = f": {'; '.join(segment.reasons)}" if segment.reasons else ""
        click.echo(visible_text(f"  {segment.verdict.value}  {segment.text}{why}"))
    if not report.segments:
        for reason in report.reasons:
            click.echo(visible_text(f"  {reason}"))
