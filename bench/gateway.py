"""What the gateway adds to a call of an MCP server, and what becomes of many calls at once.

python bench/gateway.py [--calls N] [--servers N] [--parallel N]

One call: the same upstream, called with the official client over stdio directly and through `cpl mcp`, alternating in
the same run; the tool only reads, so nobody is asked. Many at once: calls to all upstreams over one connection, each
with a text of its own that has to come back.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

CPL = (sys.executable, "-m", "codeplane")
ECHO = """
import json, sys
TOOL = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
GREETING = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result = GREETING
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""  # noqa: E501 - a program in a text.
Called = Callable[[str], Awaitable[str]]


def main() -> int:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--parallel", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        environment = _environment(base)
        root = _repository(base, environment, options.servers)
        with _server(root, environment, options.servers):
            asyncio.run(_measure(base, root, environment, options))
    return 0


def _environment(base: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CODEPLANE", "XDG_"))}
    for name in ("config", "state", "run"):
        (base / name).mkdir()
    places = {"XDG_CONFIG_HOME": base / "config", "XDG_STATE_HOME": base / "state", "XDG_RUNTIME_DIR": base / "run"}
    return kept | {name: str(path) for name, path in places.items()}


def _repository(base: Path, environment: Mapping[str, str], n_servers: int) -> Path:
    root = base / "repo"
    (base / "echo.py").write_text(ECHO, encoding="utf-8")
    (root / ".codeplane").mkdir(parents=True)
    entry = {"command": sys.executable, "args": ["-I", "-S", str(base / "echo.py")]}
    servers = {f"s{number}": entry for number in range(n_servers)}
    (root / ".codeplane/config.yaml").write_text(json.dumps({"gateway": {"servers": servers}}), encoding="utf-8")
    policy = base / "config/codeplane/hook_policy.yaml"
    policy.parent.mkdir()
    policy.write_text("read_only: {tools: ['s*__echo']}\n", encoding="utf-8")
    (root / "a.txt").write_text("a\n", encoding="utf-8")
    for command in (("init", "-q"), ("add", "a.txt"), ("commit", "-q", "-m", "one")):
        identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
        subprocess.run(("git", *identity, *command), cwd=root, check=True, timeout=60)
    _cpl(root, environment, "init")
    return root


def _cpl(root: Path, environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        (*CPL, *arguments), cwd=root, env=dict(environment), check=True, capture_output=True, text=True, timeout=120
    )
    return done.stdout


@contextmanager
def _server(root: Path, environment: dict[str, str], n_servers: int) -> Iterator[None]:
    _cpl(root, environment, "up", "--detach")
    try:
        token = Path(environment["XDG_STATE_HOME"], "codeplane/operator.token").read_text(encoding="ascii").strip()
        with_token = {**environment, "CODEPLANE_OPERATOR_TOKEN": token}
        started = time.perf_counter()
        for number in range(n_servers):
            _cpl(root, with_token, "gateway", "accept", f"s{number}")
        while _n_up(root, environment) < n_servers:
            time.sleep(0.1)
        print(f"{n_servers} upstreams accepted one after the other and up after {time.perf_counter() - started:.1f} s")
        yield
    finally:
        _cpl(root, environment, "down")


def _n_up(root: Path, environment: Mapping[str, str]) -> int:
    listed = json.loads(_cpl(root, environment, "gateway", "list", "--json"))["results"]
    return sum(one["state"] == "up" for one in listed)


async def _measure(base: Path, root: Path, environment: dict[str, str], options: argparse.Namespace) -> None:
    direct = StdioServerParameters(command=sys.executable, args=["-I", "-S", str(base / "echo.py")])
    words = ["-m", "codeplane", "mcp", "--repo", str(root), "--profile", "full"]
    through = StdioServerParameters(command=sys.executable, args=words, env=environment)
    async with (
        Client(stdio_client(direct), mode="legacy") as first,
        Client(stdio_client(through), mode="legacy") as second,
    ):
        await first.list_tools()
        await second.list_tools()
        await _one_by_one(_caller(first, "echo"), _caller(second, "s0__echo"), options.calls)
        await _many(second, options.servers, options.parallel)


def _caller(client: Client, name: str) -> Called:
    async def call(text: str) -> str:
        result = await client.call_tool(name, {"text": text})
        return "".join(getattr(one, "text", "") for one in getattr(result, "content", []))

    return call


async def _one_by_one(direct: Called, through: Called, n_calls: int) -> None:
    times: dict[str, list[float]] = {"direct": [], "through": []}
    for number in range(n_calls + 20):
        for name, call in (("direct", direct), ("through", through)):
            begun = time.perf_counter()
            if await call(f"text {number}") != f"text {number}":
                raise SystemExit(f"a wrong answer, {name}")
            if number >= 20:
                times[name].append((time.perf_counter() - begun) * 1000)
    for name, quantile in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        first, second = (_quantile(times[key], quantile) for key in ("direct", "through"))
        print(
            f"{name}: direct {first:.2f} ms, through {second:.2f} ms: {second - first:+.2f} ms, {second / first:.1f} x"
        )
    print(f"mean of the differences: {statistics.fmean(times['through']) - statistics.fmean(times['direct']):+.2f} ms")


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def _many(client: Client, n_servers: int, n_calls: int) -> None:
    calls = [_caller(client, f"s{number}__echo") for number in range(n_servers)]
    begun = time.perf_counter()
    texts = [f"call {number} to s{number % n_servers}" for number in range(n_calls)]
    answers = await asyncio.gather(
        *(calls[number % n_servers](text) for number, text in enumerate(texts)), return_exceptions=True
    )
    seconds = time.perf_counter() - begun
    lost = sum(isinstance(one, BaseException) for one in answers)
    pairs = zip(answers, texts, strict=True)
    mixed = sum(not isinstance(one, BaseException) and one != text for one, text in pairs)
    rate = n_calls / seconds
    print(f"{n_calls} calls at once to {n_servers} upstreams: {lost} lost, {mixed} mixed up; {rate:.0f} a second")


if __name__ == "__main__":
    raise SystemExit(main())
