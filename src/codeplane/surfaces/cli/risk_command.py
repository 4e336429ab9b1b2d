"""`cpl risk`: how dangerous a shell command is, by the same rules as the gate; works outside of a repository, too."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from codeplane.core.errors import CodePlaneError
from codeplane.operations.command_risk import CommandRisk, report_text
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json

_MAX_LINE = 4_000_000


@click.command("risk", short_help="Show how dangerous a shell command is.")
@click.argument("words", nargs=-1, metavar="-- COMMAND")
@click.option("--shell", default="bash", metavar="SHELL", help="The shell that would run it (default: bash).")
@click.option("--cwd", "cwd", default=".", metavar="DIR", help="Where it would run (default: here).")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read one JSON object with command, shell, cwd per line.")
@json_option
def command(words: tuple[str, ...], shell: str, cwd: str, from_stdin: bool, as_json: bool) -> int:  # noqa: FBT001
    """Tell whether a command only reads (SAFE), verifies (VERIFICATION) or may do anything else (DESTRUCTIVE).

    The command is one argument behind `--`. The exit code is 0 whatever the verdict.
    """
    risk = CommandRisk()
    if from_stdin:
        for line in _lines():
            sys.stdout.write(json.dumps(_answer(line, risk)) + "\n")
            sys.stdout.flush()
        return OK
    if len(words) != 1:
        raise CodePlaneError("INVALID_ARGUMENTS", "The command must be one argument: cpl risk -- 'ls -la'.")
    report = risk.report(words[0], shell, cwd)
    if as_json:
        print_json(report.as_dict())
    else:
        click.echo(report_text(report))
    return OK


def _lines() -> Iterator[bytes]:
    """Return the lines of standard input; one that is too long is cut, which makes it invalid JSON."""
    stream = sys.stdin.buffer
    while line := stream.readline(_MAX_LINE):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(_MAX_LINE)):
            line = line[:_MAX_LINE] + b"\0"
        if line.strip():
            yield line


def _answer(line: bytes, risk: CommandRisk) -> dict[str, Any]:
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
    return risk.report(given["command"], shell, cwd).as_dict()


def _failure(message: str) -> dict[str, Any]:
    return {"error": CodePlaneError("INVALID_ARGUMENTS", message).report().as_dict()}
