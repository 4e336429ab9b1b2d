"""MCP servers for tests of the gateway: one made with the official SDK, one written by hand that misbehaves as told.

Run as a program: `upstreams.py sdk`, `upstreams.py http PORT_FILE` for HTTP, or `upstreams.py hand FOLDER BEHAVIOUR`.
The hand-written one reads the folder's `tools.json` for each list and notes in `calls` what it was asked.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = str(Path(__file__))
HUGE: Final = 3_000_000


def tool(name: str, description: str = "A tool.", **more: Any) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def serve_sdk() -> None:
    """Serve tools that echo, write, report progress and ask; a resource and a template."""
    # Half a second that the hand-written server need not spend.
    from mcp.server.mcpserver import Context, MCPServer  # noqa: PLC0415
    from pydantic import BaseModel  # noqa: PLC0415

    server = MCPServer("sdk")

    class Wish(BaseModel):
        colour: str

    @server.tool()
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool()
    def write(name: str, text: str) -> str:
        """Write a file where the server runs."""
        Path(name).write_text(text, encoding="utf-8")
        return "written"

    @server.tool()
    def tell_secret() -> str:
        """Tell what nobody should hear."""
        return f"the token is {os.environ['TOY_TOKEN']}, home is set: {'HOME' in os.environ}, {sorted(os.environ)}"

    @server.tool()
    async def count(to: int, ctx: Context) -> str:
        """Report progress."""
        for number in range(1, to + 1):
            await ctx.report_progress(number, to, f"at {number}")
        return "counted"

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Ask the person."""
        found = await ctx.elicit("Which colour?", Wish)
        return f"{found.action}: {found.data.colour if found.action == 'accept' else ''}"

    @server.resource("note://today")
    def note() -> str:
        """Tell what is noted."""
        return "buy milk"

    @server.resource("note://{day}/text")
    def note_of(day: str) -> str:
        """Tell what is noted for a day."""
        return f"nothing on {day}"

    @server.prompt()
    def greeting(name: str) -> str:
        """Greet somebody."""
        return f"Say hello to {name}."

    server.run()


def serve_http(port_file: Path) -> None:
    """Serve one tool over HTTP that tells what the request's headers say; the port goes into a file."""
    # As above.
    import uvicorn  # noqa: PLC0415
    from mcp.server.mcpserver import Context, MCPServer  # noqa: PLC0415

    server = MCPServer("far")

    @server.tool()
    def whoami(ctx: Context) -> str:
        """Tell who calls."""
        request = ctx.request_context.request
        return f"you are {request.headers.get('authorization') if request is not None else None}"

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port_file.with_suffix(".part").write_text(str(listener.getsockname()[1]))
    port_file.with_suffix(".part").replace(port_file)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])


def serve_hand(folder: Path, behaviour: str) -> None:
    """Answer by hand, with what the behaviour adds."""
    if behaviour == "slow":
        # The test lets it go on.
        while not (folder / "go").exists():
            time.sleep(0.01)
    if behaviour == "garbage":
        sys.stdout.write("Welcome!\n\x00\x01{not json\n[]\n{}\n" + '{"jsonrpc": "2.0", "method": 7}\n')
    if behaviour == "flood":
        sys.stderr.write("noise\n" * 200_000)
    for line in sys.stdin:
        _answer(json.loads(line), folder)


def _answer(message: dict[str, Any], folder: Path) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        greeting = {"protocolVersion": "2025-06-18", "capabilities": capabilities,
                    "serverInfo": {"name": "hand", "version": "1"}}  # fmt: skip
        _send({"id": message["id"], "result": greeting})
    elif method == "tools/list":
        _send({"id": message["id"], "result": {"tools": json.loads((folder / "tools.json").read_text())}})
    elif method == "tools/call":
        with (folder / "calls").open("a") as calls:
            calls.write(json.dumps(params) + "\n")
        _called(message["id"], params, folder)
    elif method == "notifications/cancelled":
        (folder / "cancelled").write_text("yes")
    elif "id" in message and method is not None:
        _send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})


def _called(number: int, params: dict[str, Any], folder: Path) -> None:
    name = params["name"]
    if name == "crash":
        os._exit(3)
    if name == "hang":
        return
    if name == "huge":
        _send(_text(number, "x" * HUGE))
        return
    if name == "too_huge":
        _send(_text(number, "x" * 9_000_000))
        return
    if name == "nested":
        deep = "[" * 900 + "]" * 900
        sys.stdout.write(
            f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [{{"type": "text", "a": {deep}}}]}}}}\n'
        )
        sys.stdout.flush()
        return
    if name == "odd":
        _send({"id": number, "result": {"content": "no list"}})
        return
    if name == "change":
        (folder / "tools.json").write_text((folder / "next.json").read_text())
        _send({"method": "notifications/tools/list_changed"})
    _send(_text(number, f"{name} {json.dumps(params.get('arguments'), sort_keys=True)}"))


def _text(number: int, text: str) -> dict[str, Any]:
    return {"id": number, "result": {"content": [{"type": "text", "text": text}]}}


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "sdk":
        serve_sdk()
    elif sys.argv[1] == "http":
        serve_http(Path(sys.argv[2]))
    else:
        serve_hand(Path(sys.argv[2]), sys.argv[3])
