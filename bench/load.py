"""Many MCP clients at once: errors, throughput against a bare SDK server, and whether memory grows.

    python bench/load.py [--clients 64] [--calls 10000]

Prints the ratio of the server's memory after all calls to that after the first tenth, and the ratio of throughput to
a bare SDK server that answers with a constant, driven by the same clients in the same run.
"""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp import Client

BIN = Path(sys.executable).parent
BARE_SERVER = """
import sys
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="read_source", input_schema={"type": "object"})])
async def call_tool(context, params):
    return types.CallToolResult(content=[types.TextContent(text="x" * 400)])
server = Server("bare", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    output = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    return int(output) * 1024


async def client_calls(url: str, calls: int) -> int:
    """Make calls over one connection and return how many failed."""
    errors = 0
    async with Client(url) as client:
        for number in range(calls):
            answer = await client.call_tool("read_source", {"targets": [f"file{number % 50}.py"]})
            errors += bool(getattr(answer, "is_error", True))
    return errors


async def wave(url: str, clients: int, calls: int) -> tuple[int, float]:
    """Run all clients at once; return errors and seconds."""
    started = time.perf_counter()
    share = [calls // clients + (i < calls % clients) for i in range(clients)]
    errors = await asyncio.gather(*[client_calls(url, n) for n in share])
    return sum(errors), time.perf_counter() - started


def make_repository(root: Path) -> None:
    """Create a repository with fifty small files."""
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for number in range(50):
        (root / f"file{number}.py").write_text(f"def f{number}():\n    return {number}\n" * 5, encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text).resolve()
        os.environ.update({"XDG_STATE_HOME": str(directory / "state"), "XDG_CONFIG_HOME": str(directory / "config")})
        # A person loosens settings in a file of their own.
        settings = directory / "config/codeplane/config.yaml"
        settings.parent.mkdir(parents=True)
        settings.write_text("sessions: {read_budget_bytes: 0}\n", encoding="utf-8")
        root = directory / "repository"
        make_repository(root)
        ours = measure_ours(root, options.clients, options.calls)
        bare = measure_bare(options.clients, options.calls // 5)
        print(f"throughput: {ours / bare:.2f} x bare SDK server   ({ours:.0f} / {bare:.0f} calls per second)")


def measure_ours(root: Path, clients: int, calls: int) -> float:
    """Print errors and memory; return calls per second."""
    port = free_port()
    server = subprocess.Popen(
        [
            str(BIN / "cpl"),
            "up",
            "--port",
            str(port),
            "--set",
            "logging.level=warn",
        ],
        cwd=root,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        server.stdout.readline()
        url = f"http://127.0.0.1:{port}/mcp"
        first_errors, _ = asyncio.run(wave(url, clients, calls // 10))
        early = resident_bytes(server.pid)
        errors, seconds = asyncio.run(wave(url, clients, calls - calls // 10))
        late = resident_bytes(server.pid)
        print(f"{clients} clients, {calls} calls: {first_errors + errors} errors")
        sizes = f"{late >> 20} MiB / {early >> 20} MiB"
        print(f"memory after all calls: {late / early:.2f} x after the first tenth   (goal <= 1.2 x; {sizes})")
        return (calls - calls // 10) / seconds
    finally:
        server.terminate()
        server.wait(timeout=30)


def measure_bare(clients: int, calls: int) -> float:
    """Return the calls per second of a server that does nothing."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-c", BARE_SERVER, str(port)])
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        errors, seconds = asyncio.run(wave(f"http://127.0.0.1:{port}/mcp", clients, calls))
        assert not errors
        return calls / seconds
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    main()
