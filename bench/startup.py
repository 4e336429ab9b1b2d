"""How long the short-lived commands take, as ratios to floors measured in the same run.

    python bench/startup.py [--rounds N] [--repo DIRECTORY]

Each figure is the median of N runs, alternating with its floor so that both see the same machine. With --repo also the
first answer of a server that starts on that repository, indexed before: its goal is 1.3 times a bare SDK server's start
to its first tools/list, and one sweep.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from repositories import compile_as_installed

BIN = Path(sys.executable).parent
BRIDGE = Path(__file__).resolve().parent.parent / "src" / "codeplane" / "surfaces" / "bridge.py"
SDK_SERVER = """
import asyncio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
async def list_tools(context, params):
    tools = [types.Tool(name=f"t{i}", description="A tool.", input_schema={"type": "object"}) for i in range(3)]
    return types.ListToolsResult(tools=tools)
async def main():
    server = Server("bare", version="1", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
asyncio.run(main())
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def timed(action: Callable[[], None]) -> float:
    """Return the seconds one run takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def handshake(argv: list[str], directory: Path, asked: dict[str, object] | None = None) -> float:
    """Return the seconds from starting the program to the answer of tools/list, or of what is asked instead."""
    started = time.perf_counter()
    process = subprocess.Popen(
        argv, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((json.dumps(INITIALIZE) + "\n").encode())
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert "result" in answer, answer
    process.stdin.write((json.dumps(INITIALIZED) + "\n" + json.dumps(asked or LIST) + "\n").encode())
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert answer["result"]["content" if asked else "tools"], answer
    elapsed = time.perf_counter() - started
    process.stdin.close()
    process.wait(timeout=30)
    return elapsed


def run(argv: list[str], directory: Path) -> Callable[[], None]:
    """Return an action that runs a command to its end."""

    def action() -> None:
        subprocess.run(argv, cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return action


def compare(rounds: int, ours: Callable[[], float], floor: Callable[[], float]) -> tuple[float, float]:
    """Return the medians of both, measured in turns."""
    ours()
    floor()
    pairs = [(ours(), floor()) for _ in range(rounds)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def report(name: str, medians: tuple[float, float], floor_name: str, goal: float) -> None:
    """Print one ratio."""
    ours, floor = medians
    print(
        f"{name}: {ours / floor:.2f} x {floor_name}   (goal <= {goal} x; {ours * 1000:.1f} ms / {floor * 1000:.1f} ms)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repo", type=Path)
    options = parser.parse_args()
    compile_as_installed()
    rounds = options.rounds
    python = sys.executable
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text).resolve()
        os.environ.update({"XDG_STATE_HOME": str(directory / "state"), "XDG_CONFIG_HOME": str(directory / "config")})
        repository = directory / "repository"
        repository.mkdir()
        run(["git", "init", "-q"], repository)()
        bare = ["-I", "-S", "-c", "pass"]
        measure_with_server(rounds, python, bare, repository)
        measure_without_server(rounds, python, repository)
        medians = compare(
            rounds,
            lambda: timed(run([str(BIN / "cpl"), "--help"], repository)),
            lambda: timed(run([python, "-c", "pass"], repository)),
        )
        report("cpl --help", medians, "python -c pass", 6)
        if options.repo is not None:
            measure_first_answer(max(5, rounds // 2), python, options.repo.resolve(), directory / options.repo.name)


def measure_with_server(rounds: int, python: str, bare: list[str], repository: Path) -> None:
    """Print the bridge's ratios while a server runs."""
    server = subprocess.Popen([str(BIN / "cpl"), "up", "--json"], cwd=repository, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        floor = lambda: timed(run([python, *bare], repository))  # noqa: E731 - used twice below.
        medians = compare(rounds, lambda: handshake([python, "-I", "-S", str(BRIDGE)], repository), floor)
        report("cpl mcp, installed form (python -I -S bridge.py)", medians, "python -I -S -c pass", 4)
        medians = compare(rounds, lambda: handshake([str(BIN / "cpl"), "mcp"], repository), floor)
        report("cpl mcp, console script", medians, "python -I -S -c pass", 4)
    finally:
        server.terminate()
        server.wait(timeout=30)


def measure_without_server(rounds: int, python: str, repository: Path) -> None:
    """Print the ratio of becoming the server against a bare SDK server."""
    medians = compare(
        max(5, rounds // 2),
        lambda: handshake([python, "-I", "-S", str(BRIDGE)], repository),
        lambda: handshake([python, "-c", SDK_SERVER], repository),
    )
    report("cpl mcp without a server", medians, "bare SDK server", 1.3)


def measure_first_answer(rounds: int, python: str, source: Path, root: Path) -> None:
    """Print how long a server that starts on an indexed repository takes to its first answer."""
    shutil.copytree(source, root, ignore=shutil.ignore_patterns(".git", ".codeplane"), symlinks=True)
    run(["git", "init", "-q"], root)()
    run([str(BIN / "cpl"), "init"], root)()
    name = next(path.stem for path in sorted(root.rglob("*.py")) if len(path.stem) > 4)
    call = {"name": "search", "arguments": {"query": name, "mode": "definitions"}}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    ours, floor = compare(
        rounds,
        lambda: handshake([python, "-I", "-S", str(BRIDGE)], root, asked),
        lambda: handshake([python, "-c", SDK_SERVER], root),
    )
    swept = statistics.median(timed(lambda: bare_sweep(root)) for _ in range(9))
    allowed = 1.3 * floor + swept
    print(
        f"first answer after a start: {ours * 1000:.0f} ms; bare SDK server {floor * 1000:.0f} ms,"
        f" sweep {swept * 1000:.0f} ms, goal {allowed * 1000:.0f} ms ({ours / allowed:.2f} of it)"
    )


def bare_sweep(root: Path) -> None:
    """Stat every file."""
    waiting = [str(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)


if __name__ == "__main__":
    main()
