"""The official MCP client against a running server, over either transport."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from surfaces.support_processes import UpServer

TRANSPORTS = ("http", "stdio")


def sdk_client(server: UpServer, transport: str, profile: str = "", **options: Any) -> Client:
    """Return a client that is connected when entered."""
    if transport == "http":
        query = f"?profile={profile}" if profile else ""
        return Client(f"{server.url}/mcp{query}", **options)
    arguments = ["-m", "codeplane", "mcp", "--repo", str(server.root)]
    arguments += ["--profile", profile] if profile else []
    bridge = StdioServerParameters(command=sys.executable, args=arguments, env=server.sandbox.env)
    return Client(stdio_client(bridge), **options)


def with_client(client: Client, work: Callable[[Client], Awaitable[Any]], seconds: float = 60.0) -> Any:
    """Connect, do the work and return what it returns."""

    async def connected() -> Any:
        async with asyncio.timeout(seconds), client:
            return await work(client)

    return asyncio.run(connected())


def call(client: Client, name: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
    """Make one call on a connection of its own."""

    async def work(connected: Client) -> CallToolResult:
        result = await connected.call_tool(name, arguments or {})
        assert isinstance(result, CallToolResult)
        return result

    result: CallToolResult = with_client(client, work)
    return result


def text_in(result: CallToolResult) -> str:
    """Return a result's text."""
    return "\n".join(item.text for item in result.content if isinstance(item, TextContent))
