"""Several child processes at the same time."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codeplane.core.processes import ProcessRequest, ProcessResult, run_process


def run_children(commands: Sequence[tuple[str, ...]], directory: Path, returncode: int = 0) -> list[ProcessResult]:
    """Run all commands side by side and require the same exit status of each."""
    requests = [ProcessRequest(command, directory, 120) for command in commands]
    with ThreadPoolExecutor(len(requests)) as pool:
        results = list(pool.map(run_process, requests))
    assert [result.returncode for result in results] == [returncode] * len(results), [r.stderr_text for r in results]
    return results
