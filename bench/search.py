"""Text search and freshness against ripgrep and a bare directory sweep, in one run.

    python bench/search.py --repo DIRECTORY [--rg PATH]

Prints ratios: the whole set of lines for a literal against `rg -F`, the first page against the same, and the check
that nothing changed against `os.scandir` with `stat`.
"""

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from codeplane.index.text_search import TextQuery, find_lines
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

QUERIES = ("import os", "self.assert", "get_", "->", "no such text anywhere", "return None")


def median_ms(action: Callable[[], object], rounds: int = 7) -> float:
    """Return the median time of an action."""
    action()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def bare_sweep(root: Path) -> int:
    """Stat every file, with no rules and no comparison."""
    count = 0
    stack = [str(root)]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                count += 1
                if entry.is_dir(follow_symlinks=False) and entry.name not in {".git", ".codeplane"}:
                    stack.append(entry.path)
    return count


def peer_command(rg: str, text: str) -> list[str]:
    """Return the peer's command: ripgrep where there is one, else grep."""
    if not rg:
        return ["grep", "-r", "-n", "-a", "-F", "--exclude-dir=.git", "--exclude-dir=.codeplane", "-e", text, "."]
    return [rg, "-F", "-n", "--no-ignore", "--hidden", "-a", "-g", "!.git", "-g", "!.codeplane", "-e", text, "."]


def measure_queries(workspace: Workspace, rg: str) -> None:
    """Print one row per query."""
    state = workspace.index.state()
    name = "rg" if rg else "grep"
    for text in QUERIES:
        query = TextQuery(text)
        command = peer_command(rg, text)
        peer = median_ms(lambda: subprocess.run(command, cwd=workspace.root, stdout=subprocess.DEVNULL, check=False))  # noqa: B023
        page = median_ms(lambda: list(itertools.islice(find_lines(state, query, None), 20)))  # noqa: B023
        whole = median_ms(lambda: sum(1 for _ in find_lines(state, query, None)))  # noqa: B023
        print(f"{text!r}: first page {page / peer:.2f} x, all lines {whole / peer:.2f} x {name}   ({peer:.0f} ms)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--rg", default=shutil.which("rg") or "")
    options = parser.parse_args()
    with open_workspace(WorkspaceRequest(options.repo)) as workspace:
        report = workspace.index.refresh()
        ours = median_ms(workspace.index.refresh)
        floor = median_ms(lambda: bare_sweep(workspace.root))
        ratio = f"{ours / floor:.2f} x bare sweep   (goal <= 1.5 x; {floor:.0f} ms)"
        print(f"{report.n_files} files; nothing changed: {ratio}")
        measure_queries(workspace, options.rg)


if __name__ == "__main__":
    main()
