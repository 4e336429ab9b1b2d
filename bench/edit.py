"""How long changes of files take, beside the bare system calls they rest on.

python bench/edit.py [--repo DIRECTORY] [--runs N]

Batch: twenty files through the editor, over twenty times write, fsync, rename and fsync of the directory. Undo: taking
that batch back, over making it. With a repository: one edit through the official MCP client, the update of the index
included, and the refusal of an edit of a file that another session has changed, over a call that only answers. Floor
and measured work alternate; the medians are compared.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from codeplane.core.hashing import sha256_bytes
from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.locks import PathLocks
from codeplane.edit.records import Change, RecordStore
from codeplane.edit.undo import plan_undo
from repositories import compile_as_installed, copy_repository

N_FILES = 20
BODY = b"def function(argument):\n    return argument\n" * 200


def main() -> int:
    """Print the ratios."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repo", type=Path, help="measure an edit through MCP in a copy of this")
    arguments.add_argument("--runs", type=int, default=25)
    options = arguments.parse_args()
    compile_as_installed()
    with tempfile.TemporaryDirectory() as directory:
        measure_batches(Path(directory), options.runs)
        if options.repo is not None:
            root = Path(directory) / options.repo.name
            copy_repository(options.repo, root)
            paths = sorted(
                path.relative_to(root).as_posix() for path in root.rglob("*.py") if path.stat().st_size > 2000
            )
            (Path(directory) / "home").mkdir()
            chosen = paths[:: max(1, len(paths) // options.runs)][: options.runs]
            asyncio.run(measure_calls(root, chosen))
            asyncio.run(measure_refusals(root, chosen))
    return 0


def measure_batches(root: Path, runs: int) -> None:
    """Compare a batch and its undo with bare writes."""
    editor = Editor(root, "main", PathLocks(root / ".codeplane/locks"), RecordStore(root / ".codeplane/undo"))
    paths = [RepoPath(f"f{number}.py") for number in range(N_FILES)]
    bare_writes(root, paths, b"#\n" + BODY)
    floors, batches, undos = [], [], []
    for run in range(runs):
        floors.append(timed(partial(bare_writes, root, paths, b"# %d\n" % run + BODY)))
        changes = []
        for path in paths:
            found = editor.look(path)
            assert found is not None
            changes.append(Change(path, found.image, FileImage(b"# new %d\n" % run + BODY, found.image.mode)))
        batches.append(timed(partial(editor.apply, f"req_{run}", changes)))
        undos.append(timed(partial(undo, editor, f"req_{run}")))
    floor, batch, back = map(statistics.median, (floors, batches, undos))
    print(f"batch of {N_FILES}: bare {floor * 1e3:.1f} ms, ours {batch * 1e3:.1f} ms: {batch / floor:.2f} x (goal 3)")
    print(f"undo of it: {back * 1e3:.1f} ms: {back / batch:.2f} x the batch (goal 1.5)")


def bare_writes(root: Path, paths: list[RepoPath], data: bytes) -> None:
    """Write each file with nothing but what makes it durable."""
    for path in paths:
        staged = root / f"{path.text}.tmp"
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(descriptor, data)
        os.fsync(descriptor)
        os.close(descriptor)
        staged.rename(root / path.text)
        directory = os.open(root, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)


def undo(editor: Editor, batch_id: str) -> None:
    """Take a batch back."""
    found = editor.records.find(batch_id)
    assert found is not None
    editor.apply(f"undo_{batch_id}", plan_undo(editor, [found[0]]).changes, (batch_id,))


def timed(work: Callable[[], None]) -> float:
    """Return how long something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


async def measure_calls(root: Path, chosen: list[str]) -> None:
    """Edit files through the client; every answer is of an index that knows the change."""
    times = []
    async with client_of(root) as client:
        await client.call_tool("map_repo", {}, read_timeout_seconds=600)
        for number, path in enumerate(["warm-up", *chosen]):
            target = chosen[0] if path == "warm-up" else path
            data = (root / target).read_bytes()
            line = data.count(b"\n") + 1
            edit = {
                "path": target,
                "start_line": line,
                "end_line": line - 1,
                "expected_file_sha256": sha256_bytes(data),
                "new_content": f"# {number}\n",
            }
            begun = time.perf_counter()
            answer = await client.call_tool("write_source", {"edits": [edit]}, read_timeout_seconds=60)
            if path != "warm-up":
                times.append(time.perf_counter() - begun)
            if answer.is_error:
                raise RuntimeError(str(answer.content))
    print(f"one edit through MCP: {percentiles(times)} (goal 150)")


async def measure_refusals(root: Path, chosen: list[str]) -> None:
    """Let one session change files that another one has read, and time how long that one waits for its refusal."""
    floors, by_hash, by_text = [], [], []
    async with client_of(root) as first, client_of(root) as second:
        await first.call_tool("map_repo", {}, read_timeout_seconds=600)
        for path in [chosen[0], *chosen]:
            data = (root / path).read_bytes()
            old = data.splitlines(keepends=True)[0].decode()
            changed = {"path": path, "start_line": 1, "new_content": f"# changed\n{old}"}
            changed["expected_file_sha256"] = sha256_bytes(data)
            await refused(first, changed, "")
            begun = time.perf_counter()
            await second.call_tool("describe", {"name": "write_source"}, read_timeout_seconds=60)
            floors.append(time.perf_counter() - begun)
            by_hash.append(await refused(second, changed, "STALE_FILE"))
            gone = {"path": path, "expected_content": f"{old}no such line\n", "new_content": "x\n"}
            by_text.append(await refused(second, gone, "CONTENT_NOT_FOUND"))
    # The first round warms up.
    print(f"a call that only answers: {percentiles(floors[1:])}")
    print(f"refusal of a stale edit, by hash: {percentiles(by_hash[1:])} (goal 50)")
    print(f"refusal of a stale edit, by text: {percentiles(by_text[1:])} (goal 50)")


async def refused(client: Client, edit: Mapping[str, object], code: str) -> float:
    """Send an edit that is answered with a code, none for success; return how long that took."""
    begun = time.perf_counter()
    answer = await client.call_tool("write_source", {"edits": [dict(edit)]}, read_timeout_seconds=60)
    took = time.perf_counter() - begun
    if answer.is_error != bool(code) or code not in str(answer.content):
        raise RuntimeError(str(answer.content))
    if code and "changed_by" not in str(answer.meta):
        raise RuntimeError(f"nobody is named: {answer.meta}")
    return took


def client_of(root: Path) -> Client:
    """Return a client of a repository in a home of its own."""
    home = root.parent / "home"
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home)}
    program = str(Path(sys.executable).parent / "cpl")
    return Client(stdio_client(StdioServerParameters(command=program, args=["mcp"], cwd=root, env=environment)))


def percentiles(times: list[float]) -> str:
    """Return the middle and the slow end."""
    p95 = sorted(times)[int(len(times) * 0.95) - 1]
    return f"p50 {statistics.median(times) * 1e3:.0f} ms, p95 {p95 * 1e3:.0f} ms"


if __name__ == "__main__":
    raise SystemExit(main())
