"""One MCP session with `cpl mcp` for a whole play, held by a background process behind a Unix socket."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent

from .play import ROOT, Output, Play, run_shell

SOCKET = "mcp.sock"
START_SECONDS = 120
MAX_LINE = 1 << 26


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


async def serve(play: Play) -> None:
    """Hold the session until it is asked to stop."""
    parameters = StdioServerParameters(
        command=cpl_command(), args=["mcp"], cwd=str(play.checkout), env=cpl_environment(play)
    )
    async with Client(stdio_client(parameters)) as client:
        tools = (await client.list_tools()).tools
        schemas = [tool.model_dump(by_alias=True, include={"name", "description", "input_schema"}) for tool in tools]
        text = "\n".join([client.instructions or "", *(json.dumps(schema, ensure_ascii=False) for schema in schemas)])
        (play.state / "tools.txt").write_text(text, encoding="utf-8")
        stopped = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            given = json.loads(await reader.readline())
            if given is None:
                stopped.set()
            calls = [] if given is None else given if isinstance(given, list) else [given]
            outputs = await asyncio.gather(*(_call(play, client, call) for call in calls))
            writer.write(json.dumps([(output.text, output.is_error) for output in outputs]).encode() + b"\n")
            await writer.drain()
            writer.close()

        os.chdir(play.state)
        server = await asyncio.start_unix_server(answer, SOCKET, limit=MAX_LINE)
        async with server:
            await stopped.wait()


async def _call(play: Play, client: Client, call: dict[str, Any]) -> Output:
    arguments = call.get("arguments", {})
    if call["tool"] == "shell":
        return await asyncio.to_thread(run_shell, play, str(arguments.get("command", "")))
    try:
        result = await client.call_tool(call["tool"], arguments)
    except Exception as error:  # noqa: BLE001  # A model sees whatever goes wrong in a call as the call's answer.
        return Output(f"{type(error).__name__}: {error}", True)
    parts = [part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in result.content]
    return Output("\n".join(parts), bool(result.is_error))
