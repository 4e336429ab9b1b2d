"""Several child processes at the same time."""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.forks import run_forked


def run_children(
    commands: Sequence[tuple[str, ...]], directory: Path, returncode: int = 0
) -> list["subprocess.CompletedProcess[str]"]:
    """Run Python programs side by side and require the same exit status of each."""
    with ThreadPoolExecutor(len(commands)) as pool:
        results = list(pool.map(lambda command: run_forked(command, cwd=directory, timeout=120), commands))
    assert [result.returncode for result in results] == [returncode] * len(results), [r.stderr for r in results]
    return results
