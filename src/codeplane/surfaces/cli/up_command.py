"""`cpl up`: the server of this working tree, in the foreground or in the background."""

import os
import sys
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import tail_lines
from codeplane.core.processes import start_detached
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option, set_option
from codeplane.surfaces.server.facts import ServerFacts, running_server
from codeplane.surfaces.server.foreground import serve_in_foreground, wait_for_server
from codeplane.workspace.workspace import WorkspaceRequest, ensure_ignore_file, locate_places, open_workspace


@click.command("up", short_help="Start the server.")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="Port on 127.0.0.1 (default: a free one).")
@click.option("--detach", is_flag=True, help="In the background; `cpl down` stops it.")
@click.option("--no-refactor", is_flag=True, help="Without the refactor tools and addresses.")
@json_option
@repo_option
@set_option
def command(
    port: int | None,
    detach: bool,  # noqa: FBT001 - click passes flags by name.
    no_refactor: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Start the server of this working tree; Ctrl+C stops it, or `cpl down` when it runs in the background.

    When one runs already, its address is printed and nothing else happens.
    """
    if port is not None:
        overrides = (*overrides, f"server.port={port}")
    if no_refactor:
        overrides = (*overrides, "refactor.enabled=false")
    if detach:
        return _start_in_background(Path(start), overrides, as_json=as_json)
    workspace = open_workspace(WorkspaceRequest(Path(start), overrides))
    ensure_ignore_file(workspace.places)
    root = str(workspace.root)

    def announce(facts: ServerFacts, *, already: bool = False) -> None:
        _announce(facts, root, as_json=as_json, already=already)

    running = serve_in_foreground(workspace, announce)
    if running is not None:
        announce(running, already=True)
    return OK


def _start_in_background(start: Path, overrides: tuple[str, ...], *, as_json: bool) -> int:
    places = locate_places(start)
    running = running_server(places)
    if running is not None:
        _announce(running, str(places.root), as_json=as_json, already=True)
        return OK
    log = places.logs / "up.log"
    options = [f"--set={one}" for one in overrides]
    pid = start_detached(
        [sys.executable, "-m", "codeplane", "up", "--repo", str(places.root), *options], places.root, log
    )
    facts = wait_for_server(places, pid)
    if facts is None:
        last = next(reversed(list(tail_lines(log, 1))), "it wrote nothing")
        raise CodePlaneError("SERVER_UNREACHABLE", f"The server did not start: {last}", hint=f"Read {log}.")
    _announce(facts, str(places.root), as_json=as_json, already=False)
    return OK


def _announce(facts: ServerFacts, root: str, *, as_json: bool, already: bool) -> None:
    if as_json:
        print_json({"url": facts.url, "mcp": facts.mcp_url, "pid": facts.pid, "already_running": already})
    else:
        _print_address(facts, root, already=already)
    sys.stdout.flush()


def _print_address(facts: ServerFacts, root: str, *, already: bool) -> None:
    if already and not facts.port:
        sys.stdout.write(f"Another process is just starting a server for {root}.\n")
        return
    state = "already runs" if already else "runs"
    sys.stdout.write(f"CodePlane {state} for {root}\n  {facts.mcp_url}   (pid {facts.pid})\n")
    if already and facts.mode == "mcp":
        sys.stdout.write("It was started by an agent's `cpl mcp` and ends with that agent; another then takes over.\n")
    elif not already:
        sys.stdout.write("Ctrl+C stops it.\n" if facts.pid == os.getpid() else "`cpl down` stops it.\n")
