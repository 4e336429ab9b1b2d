"""Many clients at once: no call fails, and nothing is left open."""

import asyncio
import json
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from surfaces.support_processes import UpServer, initialize_params, wait_until

pytestmark = pytest.mark.slow

CLIENTS = 64
CALLS = 4


def test_64_http_clients_work_at_once_without_an_error(shared_server: UpServer) -> None:
    async def one(number: int) -> int:
        good = 0
        async with Client(f"{shared_server.url}/mcp") as client:
            for i in range(CALLS):
                name = ("describe", "read_source")[(number + i) % 2]
                result = await client.call_tool(name, {"targets": ["README.md"]} if name == "read_source" else {})
                good += isinstance(result, CallToolResult) and not result.is_error
        return good

    async def everybody() -> list[int]:
        async with asyncio.timeout(120):
            return await asyncio.gather(*(one(number) for number in range(CLIENTS)))

    assert asyncio.run(everybody()) == [CALLS] * CLIENTS


def test_64_socket_clients_work_at_once_without_an_error(shared_server: UpServer) -> None:
    path = str((shared_server.private / "server.sock").resolve())

    async def one() -> int:
        reader, writer = await asyncio.open_unix_connection(path)
        hello = {"codeplane": 1, "speak": "mcp", "profile": "core"}
        start = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params("2025-11-25")}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        params = {"name": "read_source", "arguments": {"targets": ["README.md"]}}
        calls: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params} for number in range(1, CALLS + 1)
        ]
        writer.write("".join(json.dumps(item) + "\n" for item in (hello, start, ready, *calls)).encode())
        await writer.drain()
        answers = [json.loads(await reader.readline()) for _ in range(CALLS + 1)]
        writer.close()
        await writer.wait_closed()
        return sum(not answer["result"].get("isError", False) for answer in answers)

    async def everybody() -> list[int]:
        async with asyncio.timeout(120):
            return await asyncio.gather(*(one() for _ in range(CLIENTS)))

    assert asyncio.run(everybody()) == [CALLS + 1] * CLIENTS
    wait_until(lambda: shared_server.get("/status").json["calls_in_flight"] == 0, "no call is left")


def test_many_event_streams_and_calls_share_the_server(shared_server: UpServer) -> None:
    async def stream() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", shared_server.port)
        head = f"GET /stream/events HTTP/1.1\r\nHost: 127.0.0.1:{shared_server.port}\r\nLast-Event-ID: 0\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        found = await reader.readuntil(b"event: server_started")
        writer.close()
        return found

    async def everybody() -> int:
        async with asyncio.timeout(60):
            return sum(b"id: 1" in found for found in await asyncio.gather(*(stream() for _ in range(40))))

    assert (asyncio.run(everybody()), shared_server.operate("describe", {}).status) == (40, 200)
