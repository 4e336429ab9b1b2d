"""How long hooks take: the round trip of the installed client, and the server's decision under load.

python bench/hooks.py [--runs N] [--sessions N] [--seconds S]

Round trip: process start to exit of the client with a running server, over `python -I -S -c pass`, alternating in the
same run. Decision: many sessions at once, each with the events of an agent at work, over the socket, without processes.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import codeplane

CLIENT = Path(codeplane.__file__).parent / "surfaces/agent_hooks/client.py"
CPL = (sys.executable, "-m", "codeplane")
N_FILES = 300


def main() -> int:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root = _repository(Path(directory) / "repo")
        subprocess.run((*CPL, "up", "--detach"), cwd=root, check=True, capture_output=True, timeout=60)
        try:
            subprocess.run((*CPL, "call", "map_repo"), cwd=root, check=True, capture_output=True, timeout=120)
            _round_trips(root, options.runs)
            asyncio.run(_decisions(root, options.sessions, options.seconds))
        finally:
            subprocess.run((*CPL, "down"), cwd=root, check=False, capture_output=True, timeout=60)
    return 0


def _repository(root: Path) -> Path:
    for number in range(N_FILES):
        place = root / f"src/d{number % 20}/file_{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"value_{number} = {number}\n", encoding="utf-8")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
        subprocess.run(("git", *identity, *command), cwd=root, check=True, timeout=60)
    subprocess.run((*CPL, "init"), cwd=root, check=True, capture_output=True, timeout=120)
    return root


def event(root: Path, name: str, session: str, call: int, tool: str, given: Mapping[str, object]) -> bytes:
    """Return an event in the form of Claude Code."""
    document = {
        "session_id": session, "cwd": str(root), "hook_event_name": name, "tool_name": tool, "tool_input": given,
        "tool_use_id": f"toolu_{session}_{call}", "permission_mode": "default",
    }  # fmt: skip
    return json.dumps(document).encode()


def _calls(root: Path, session: str, number: int) -> list[tuple[str, bytes]]:
    """Return the events of one call of an agent: half of the calls read, the others edit or run a safe command."""
    path = str(root / f"src/d{number % 20}/file_{number % N_FILES}.py")
    kinds: tuple[tuple[str, dict[str, object]], ...] = (
        ("Read", {"file_path": path}),
        ("Edit", {"file_path": path, "old_string": "value", "new_string": "value"}),
        ("Read", {"file_path": path}),
        ("Bash", {"command": "git status --short", "description": "Look"}),
    )
    tool, given = kinds[number % len(kinds)]
    return [(name, event(root, name, session, number, tool, given)) for name in ("PreToolUse", "PostToolUse")]


def _round_trips(root: Path, n_runs: int) -> None:
    times: dict[str, list[float]] = {"bare": [], "read": [], "edit": [], "denied": []}
    python = (sys.executable, "-I", "-S")
    path = str(root / "src/d1/file_1.py")
    for number in range(n_runs):
        given = {"file_path": path, "old_string": "value", "new_string": "value"}
        events = {
            "bare": b"",
            "read": event(root, "PreToolUse", "bench", 3 * number, "Read", {"file_path": path}),
            "edit": event(root, "PreToolUse", "bench", 3 * number + 1, "Edit", given),
            "denied": event(root, "PreToolUse", "bench", 3 * number + 2, "Write", {"file_path": ".cplignore"}),
        }
        for name, payload in events.items():
            command = (*python, "-c", "pass") if name == "bare" else (*python, str(CLIENT), "claude", "PreToolUse")
            begun = time.perf_counter()
            subprocess.run(command, cwd=root, input=payload, check=False, capture_output=True, timeout=60)
            times[name].append(time.perf_counter() - begun)
            if name == "edit":
                after = payload.replace(b"PreToolUse", b"PostToolUse")
                subprocess.run((*python, str(CLIENT), "claude", "PostToolUse"), cwd=root, input=after, check=False)
    floor = _p95(times["bare"])
    for name, taken in times.items():
        print(
            f"round trip {name}: p50 {1000 * statistics.median(taken):.1f} ms, p95 {1000 * _p95(taken):.1f} ms,"
            f" {_p95(taken) / floor:.2f}x the bare interpreter's p95"
        )


async def _decisions(root: Path, n_sessions: int, seconds: float) -> None:
    """Send events of many sessions; each agent thinks for a second or two between its calls."""
    taken: list[float] = []
    socket = str((root / ".codeplane/server.sock").resolve())
    deadline = time.perf_counter() + seconds
    rng = random.Random(1)

    async def session(number: int) -> None:
        await asyncio.sleep(rng.random() * 2)
        call = number
        while time.perf_counter() < deadline:
            for name, payload in _calls(root, f"s{number}", call):
                begun = time.perf_counter()
                await _ask(socket, name, payload)
                if name == "PreToolUse":
                    taken.append(time.perf_counter() - begun)
            call += 1
            await asyncio.sleep(1 + rng.random())

    await asyncio.gather(*(session(number) for number in range(n_sessions)))
    print(
        f"decision with {n_sessions} sessions: {len(taken)} calls, p50 {1000 * statistics.median(taken):.1f} ms,"
        f" p95 {1000 * _p95(taken):.1f} ms"
    )


async def _ask(socket: str, name: str, payload: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    hello = json.dumps({"codeplane": 1, "speak": "hook", "agent": "claude", "event": name, "size": len(payload)})
    writer.write(hello.encode() + b"\n" + payload)
    answer = await reader.read()
    writer.close()
    return answer


def _p95(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]


if __name__ == "__main__":
    sys.exit(main())
