"""`cpl down`: stop the server of this working tree."""

import sys
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option
from codeplane.surfaces.server.facts import is_served, read_facts
from codeplane.surfaces.server.foreground import stop_server
from codeplane.workspace.config import load_workspace_settings
from codeplane.workspace.workspace import locate_places

_MARGIN_SECONDS = 10.0


@click.command("down", short_help="Stop the server.")
@json_option
@repo_option
def command(as_json: bool, start: str) -> int:  # noqa: FBT001 - click passes flags by name.
    """Stop the server of this working tree; calls in flight may finish first. Exit code 1 when none runs."""
    places = locate_places(Path(start))
    if not is_served(places):
        _print(as_json=as_json, stopped=None, text="No server runs here.")
        return FINDINGS
    facts = read_facts(places)
    if facts is None:
        raise CodePlaneError("SERVER_UNREACHABLE", "A server is just starting.", hint="Send the command again.")
    if facts.mode == "mcp":
        message = f"An agent's `cpl mcp` (pid {facts.pid}) serves this tree."
        raise CodePlaneError("SERVER_ALREADY_RUNNING", message, hint="It ends with that agent.")
    grace = load_workspace_settings(places).values.server.shutdown_grace_seconds
    if not stop_server(places, facts, grace + _MARGIN_SECONDS):
        raise CodePlaneError("TIMED_OUT", f"The server (pid {facts.pid}) does not stop.", hint=f"kill -9 {facts.pid}")
    _print(as_json=as_json, stopped=facts.pid, text=f"The server (pid {facts.pid}) has stopped.")
    return OK


def _print(*, as_json: bool, stopped: int | None, text: str) -> None:
    if as_json:
        print_json({"stopped": stopped})
    else:
        sys.stdout.write(text + "\n")
