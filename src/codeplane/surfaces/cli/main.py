"""The command line's root: names and one-line help of all commands, imported only when used.

Exit codes: 0 fine, 1 nothing was found or a check has findings, 2 the call was wrong, refused or failed.
"""

import importlib
import os
import sys
from typing import Any

import click

from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.version import VERSION

OK, FINDINGS, FAILURE = 0, 1, 2

# One line per command: module, and the help that `cpl --help` shows without importing it.
COMMANDS = {
    "activity": "Show what every agent does, and whether one is spinning.",
    "agents": "Show connected agents and the state of their hooks.",
    "approvals": "Show what waits for a person; approve or deny it.",
    "blame": "Tell why lines are here: intent, agent, call and approval.",
    "call": "Run any operation through the door.",
    "check": "Lint and test your changes: are they ready to commit?",
    "clear": "Remove derived data; with --all everything CodePlane stores here.",
    "connect": "Connect an agent: its MCP server and its hooks.",
    "controller": "Look at planned runs, check plans, review nodes.",
    "completion": "Print the completion script for a shell.",
    "dashboard": "Open the dashboard of the running server in a browser.",
    "delete": "Delete a symbol or file that nothing refers to.",
    "demo": "Show CodePlane at work on a sample repository.",
    "diff": "Show changed lines, or with --structural what they mean.",
    "down": "Stop the server.",
    "doctor": "Check that everything CodePlane needs is in order.",
    "explain": "Show why a call was allowed or not.",
    "gateway": "Connect, accept and watch MCP servers of others.",
    "git": "Use git as agents do: checked, recorded, undoable.",
    "graph": "Build the graph from the seeds of the team; export what is new.",
    "hook": "Answer an agent's hook; select an intent in its shell.",
    "init": "Set this repository up for CodePlane.",
    "intent": "Add, list, show, select, close, check and import intents.",
    "ledger": "Read, verify and export the record of every call.",
    "lessons": "List lessons, add decisions, write both for agents.",
    "lint": "Run the project's linters on changed files; --fix repairs.",
    "map": "Show what this repository is made of.",
    "memory": "Record, find, share, verify and forget what was learned.",
    "mcp": "Speak MCP over stdio, for agents.",
    "move": "Move a file, a directory or a symbol; imports follow.",
    "policy": "Show, check and accept the rules for agents.",
    "rename": "Rename a symbol everywhere it is proved to be used.",
    "risk": "Show how dangerous a shell command is.",
    "search": "Find text, definitions or references.",
    "status": "Show the server, the repository and the settings.",
    "task": "Open, close, reset, list and show tasks.",
    "test": "Run tests: all, some, or those that your changes affect.",
    "tests": "Show what the last test runs showed.",
    "trace": "Verify, export, import and count the trace of every line.",
    "uninstall": "Remove everything CodePlane stores for this repository.",
    "undo": "Undo what an operation, a task or a session changed.",
    "up": "Start the server.",
    "verify": "Name changed files of commits that no intent or plan covers.",
    "version": "Print the version.",
}


# Made from operations; every other command has a module of its own.
_GENERATED = frozenset(
    {
        "activity",
        "agents",
        "approvals",
        "blame",
        "connect",
        "controller",
        "explain",
        "gateway",
        "graph",
        "intent",
        "ledger",
        "lessons",
        "memory",
        "policy",
        "task",
        "tests",
        "trace",
        "verify",
    }
)


def find_command(name: str) -> click.Command:
    """Import or make one command."""
    command: click.Command
    if name in _GENERATED:
        generated = importlib.import_module("codeplane.surfaces.cli.generated")
        command = generated.generated_command(name, COMMANDS[name])
    else:
        command = importlib.import_module(f"codeplane.surfaces.cli.{name}_command").command
    return command


class LazyGroup(click.Group):
    """Commands that are imported when they run; help comes from the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface.
        """Return the names in alphabetical order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's interface.
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        return find_command(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would end with exit code 1 when the reader of a pipe leaves."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader had enough; what is left is not wanted.
            _discard_output()
            return OK
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in sorted(COMMANDS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib  # noqa: PLC0415 - only for a mistyped command.

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean `cpl {near[0]}`?" if near else " `cpl --help` lists the commands."
            raise click.UsageError(f"There is no command `{args[0]}`.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="cpl")
def root() -> None:
    """Let AI coding agents work on this repository, safely.

    `cpl init` once, then `cpl up`; `cpl status` shows what is going on.
    """


def main(arguments: list[str]) -> int:  # noqa: PLR0911 - one exit code per way to end.
    """Run one command and return the exit code."""
    try:
        result: Any = root.main(args=arguments, prog_name="cpl", standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        sys.stderr.write("Aborted.\n")
        return FINDINGS
    except click.ClickException as error:
        if "--json" in arguments:
            return show_failure(ErrorReport("INVALID_ARGUMENTS", error.format_message()), as_json=True)
        error.show()
        return FAILURE
    except CodePlaneError as error:
        return show_failure(error.report(), as_json="--json" in arguments)
    except OSError as error:
        _discard_output()
        failure = ErrorReport("FILE_WRITE_FAILED", f"{error.filename or 'The output'}: {error.strerror or error}")
        return show_failure(failure, as_json=False)
    return result if isinstance(result, int) else OK


def _discard_output() -> None:
    """Let what is still in the buffer go nowhere; the interpreter would complain about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def show_failure(report: ErrorReport, *, as_json: bool) -> int:
    """Print an error and return the exit code."""
    if as_json:
        import json  # noqa: PLC0415 - 9 ms that plain output does not need.

        sys.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stderr.write(f"{report.as_text()}\n")
    return FAILURE
