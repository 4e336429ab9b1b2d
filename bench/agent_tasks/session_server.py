"""The background process of a play: one MCP client of `cpl mcp`, asked over a Unix socket."""

import asyncio
import json
import os
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent

from .play import Output, Play, run_shell
from .session import SOCKET, cpl_command, cpl_environment

MAX_LINE = 1 << 26


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
            # In order, as agents run a batch in which a call may change something.
            outputs = [await _call(play, client, call) for call in calls]
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
