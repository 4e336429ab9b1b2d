"""One MCP session with `cpl mcp` for a whole play, held by a background process behind a Unix socket."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .play import ROOT, Output, Play

SOCKET = "mcp.sock"
START_SECONDS = 120


def cpl_command() -> str:
    """Return the `cpl` of the environment that runs the harness."""
    return str(Path(sys.executable).parent / "cpl")


def cpl_environment(play: Play) -> dict[str, str]:
    """Return an environment in which `cpl` keeps its state inside the play."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CODEPLANE__"))}
    kinds = ("CONFIG", "STATE", "DATA", "CACHE")
    return kept | {f"XDG_{kind}_HOME": str(play.state / "xdg" / kind.lower()) for kind in kinds}


def start_session(play: Play) -> None:
    """Start the background process and wait until it answers; `tools.txt` then holds what a model reads."""
    (play.state / SOCKET).unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench.agent_tasks", "serve", "--in", str(play.directory)]
    with (play.state / "session.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + START_SECONDS
    while not (play.state / SOCKET).exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"`cpl mcp` did not start. Read {play.state / 'session.log'}.")
        time.sleep(0.05)


def ask_session(play: Play, given: Any) -> list[Output]:
    """Send the calls of one turn, or None to stop. A session that was lost is started again."""
    try:
        return _ask(play, given)
    except OSError:
        start_session(play)
        return _ask(play, given)


def stop_session(play: Play) -> None:
    """End the session and its `cpl mcp`."""
    # An error says that it is not running: it never started, or was lost.
    with contextlib.suppress(OSError):
        _ask(play, None)
    (play.state / SOCKET).unlink(missing_ok=True)


def _ask(play: Play, given: Any) -> list[Output]:
    # A relative path, because the path of a Unix socket may have about 100 bytes only.
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as connection:
        os.chdir(play.state)
        try:
            connection.connect(SOCKET)
        finally:
            os.chdir(before)
        connection.sendall(json.dumps(given).encode() + b"\n")
        with connection.makefile("r", encoding="utf-8") as reader:
            line = reader.readline()
    if not line:
        raise ConnectionResetError
    return [Output(*pair) for pair in json.loads(line)]
