"""`cpl up`: the server of this working tree, in the foreground."""

import sys
from pathlib import Path

import click

from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option, set_option
from codeplane.surfaces.server.facts import ServerFacts
from codeplane.surfaces.server.foreground import serve_in_foreground
from codeplane.workspace.workspace import WorkspaceRequest, ensure_ignore_file, open_workspace


@click.command("up", short_help="Start the server in the foreground.")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="Port on 127.0.0.1 (default: a free one).")
@json_option
@repo_option
@set_option
def command(port: int | None, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Start the server of this working tree; Ctrl+C stops it.

    When one runs already, its address is printed and nothing else happens.
    """
    if port is not None:
        overrides = (*overrides, f"server.port={port}")
    workspace = open_workspace(WorkspaceRequest(Path(start), overrides))
    ensure_ignore_file(workspace.places)
    root = str(workspace.root)

    def announce(facts: ServerFacts, *, already: bool = False) -> None:
        if as_json:
            print_json({"url": facts.url, "mcp": f"{facts.url}/mcp", "pid": facts.pid, "already_running": already})
        else:
            _print_address(facts, root, already=already)
        sys.stdout.flush()

    running = serve_in_foreground(workspace, announce)
    if running is not None:
        announce(running, already=True)
    return OK


def _print_address(facts: ServerFacts, root: str, *, already: bool) -> None:
    if already and not facts.port:
        sys.stdout.write(f"Another process is just starting a server for {root}.\n")
        return
    state = "already runs" if already else "runs"
    sys.stdout.write(f"CodePlane {state} for {root}\n  {facts.url}/mcp   (pid {facts.pid})\n")
    if already and facts.mode == "mcp":
        sys.stdout.write("It was started by an agent's `cpl mcp` and ends with that agent; another then takes over.\n")
    elif not already:
        sys.stdout.write("Ctrl+C stops it.\n")
