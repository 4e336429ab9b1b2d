"""Renames applied on a repository nobody here wrote: does it still build, does undo give back every byte, how long.

    python bench/refactor_apply.py --repo DIRECTORY --language go --check "go build ./... && go vet ./..." --count 30

Only plans without questions are applied, in a copy of the repository. After each, the check must end as it did before;
then the rename is undone and every byte and mode compared. The ratio of `refactor_apply` is taken against a bare batch:
the same new files sent whole to `write_source`.
"""

import argparse
import hashlib
import random
import shlex
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from codeplane.core.callers import Caller, CallerKind
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from repositories import copy_repository

CALLER = Caller(CallerKind.PERSON, "bench", "bench", "bench", proof="bench")
PRIVATE = {".git", ".codeplane", "node_modules", "__pycache__", ".pytest_cache"}


@dataclass
class Outcome:
    """What happened to the sampled renames."""

    n_applied: int = 0
    n_left_out: int = 0
    broken: list[str] = field(default_factory=list)
    not_restored: list[str] = field(default_factory=list)
    previews: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def text(self) -> str:
        """Return the outcome in a few lines."""
        times = sorted(self.previews)
        ratio = statistics.median(self.ratios) if self.ratios else 0.0
        return "\n".join(
            [
                f"applied {self.n_applied}, left out {self.n_left_out} (refused, undecided or with questions)",
                f"broken {len(self.broken)}, not restored {len(self.not_restored)}",
                f"preview p50 {times[len(times) // 2]:.0f} ms, p95 {times[int(len(times) * 0.95)]:.0f} ms",
                f"apply: {ratio:.1f} x `write_source` with the same files",
                *self.broken,
                *self.not_restored,
            ]
        )


def state_of(root: Path) -> str:
    """Return a digest of every file and mode."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not PRIVATE.intersection(parts):
            found.update(f"{parts}{path.stat().st_mode}".encode() + path.read_bytes())
    return found.hexdigest()


def definitions(workspace: Workspace, language: str, seed: int) -> list[tuple[str, str]]:
    """Return places and names of definitions in random order."""
    found = []
    with workspace.index.facts() as reader:
        for file in reader.files_with_facts(lambda one: one == language):
            outline = reader.outline(file.facts_id or 0)
            for row, lines in zip(outline.definition_rows, outline.lines, strict=True):
                found.append((f"{file.path}:{lines[1]}:{lines[2]}", str(row[1])))
    random.Random(seed).shuffle(found)
    return found


def new_name(old: str) -> str:
    """Return another name that is visible in the same places."""
    if old.startswith(("_", "#")):
        return f"{old[0]}zz{old[1:]}"
    return f"{'Z' if old[:1].isupper() else 'z'}z{old[:1].upper()}{old[1:]}"


def bare_batch_seconds(door: Door, root: Path, before: dict[str, bytes]) -> float:
    """Return how long `write_source` takes to write the files as they are now, from what they were."""
    after = {path: (root / path).read_text(encoding="utf-8") for path in before}
    for path, data in before.items():
        (root / path).write_bytes(data)
    door.workspace.index.refresh()
    edits = [
        {"path": path, "new_content": text, "expected_file_sha256": hashlib.sha256(before[path]).hexdigest()}
        for path, text in after.items()
    ]
    return call(door, "write_source", {"edits": edits})[1]


def call(door: Door, name: str, arguments: dict[str, object]) -> tuple[Answer, float]:
    """Return an answer and how long it took."""
    start = time.perf_counter()
    answer = dispatch(door, name, arguments, CALLER)
    return answer, time.perf_counter() - start


def measure(root: Path, options: argparse.Namespace) -> Outcome:
    """Apply renames one after the other."""
    outcome = Outcome()

    def check() -> int:
        if not options.check:
            return 0
        return subprocess.run(
            options.check, shell=True, cwd=root, capture_output=True, check=False, timeout=900
        ).returncode

    expected = check()
    with open_workspace(WorkspaceRequest(root, ("tasks.max_mutations=100000",))) as workspace:
        workspace.index.refresh()
        door, before = Door(workspace, OPERATIONS), state_of(root)
        for symbol, old in definitions(workspace, options.language, options.seed):
            if outcome.n_applied >= options.count:
                break
            plan, seconds = call(door, "refactor_rename", {"symbol": symbol, "new_name": new_name(old)})
            outcome.previews.append(seconds * 1000)
            result = plan.envelope()["result"] if plan.error is None else {}
            if result.get("status") != "ready" or result["verification_required"] or result["moves"]:
                outcome.n_left_out += 1
                continue
            texts = {one["path"]: (root / one["path"]).read_bytes() for one in result["edits"]}
            done, seconds = call(door, "refactor_apply", {"refactor_id": result["refactor_id"]})
            outcome.n_applied += 1
            if done.error is not None or check() != expected:
                outcome.broken.append(f"broken: {shlex.quote(symbol)} {old} {done.error or ''}")
            outcome.ratios.append(seconds / bare_batch_seconds(door, root, texts))
            if done.error is None:
                call(door, "undo", {"operation": done.envelope()["result"]["delta"]["mutation_id"]})
            if state_of(root) != before:
                outcome.not_restored.append(f"not restored: {symbol} {old}")
                break
    return outcome


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--check", default="", help="a shell command, run in the copy after each rename")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cpl-bench-") as scratch:
        root = Path(scratch).resolve() / options.repo.resolve().name
        copy_repository(options.repo, root)
        print(measure(root, options).text())


if __name__ == "__main__":
    main()
