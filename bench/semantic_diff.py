"""`semantic_diff` on the history of a real repository: crashes, time, and accuracy where commits are labelled.

    python bench/semantic_diff.py --repo DIRECTORY [--commits N] [--labels FILE]

Every commit is compared with its parent, through the door, in a clone. Labels are a JSON list of
`{commit, path, qualified_name, change, breaking}`; `change` is `none` for a definition that the commit leaves as it is.
Rows of other repositories are skipped. A row is right when the answer for the commit has that kind of change and that
severity for that name.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codeplane.core.callers import Caller, CallerKind
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.operations.semantic_diff import SEMANTIC_DIFF
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

CALLER = Caller(CallerKind.AGENT, "bench", "bench", "bench")
# The label of a definition that a commit leaves as it is, such as one whose comment changed.
NOTHING = "none"
Row = dict[str, Any]


def git(directory: Path, *arguments: str) -> str:
    """Run git and return what it prints, empty when it fails."""
    result = subprocess.run(("git", *arguments), cwd=directory, check=False, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def changes_of(door: Door, commit: str) -> tuple[list[Row], float]:
    """Return all changed definitions of a commit, nested ones included, and the milliseconds of the first page."""
    arguments: dict[str, Any] = {"base": f"{commit}^", "target": commit}
    found: list[Row] = []
    first_ms = 0.0
    while True:
        started = time.perf_counter()
        answer = dispatch(door, SEMANTIC_DIFF.name, arguments, CALLER)
        first_ms = first_ms or (time.perf_counter() - started) * 1000
        if answer.error is not None:
            raise RuntimeError(f"{commit}: {answer.error.error} {answer.error.message}")
        result = answer.envelope()["result"]
        for one in result["structural_changes"]:
            found += [one, *one["nested_changes"]]
        cursor = result["pagination"].get("next_cursor")
        if cursor is None:
            return found, first_ms
        arguments = {"cursor": cursor}


def is_right(label: Row, found: list[Row]) -> bool:
    """Tell whether the answer agrees with a label; a renamed definition may be named as it was before."""
    severity = "breaking" if label["breaking"] else "non_breaking"
    if label["change"] == NOTHING:
        return told_instead(label, found) == "nothing"
    return any(
        label["qualified_name"] in {one["qualified_name"], one.get("old_name")}
        and label["path"] in {one["path"], one.get("old_path")}
        and (one["change"], one["structural_severity"]) == (label["change"], severity)
        for one in found
    )


def told_instead(label: Row, found: list[Row]) -> str:
    """Return what the answer says about the name of a label."""
    said = [
        f"{one['change']} {one['structural_severity']} {','.join(one['delta_tags'])}"
        for one in found
        if label["qualified_name"] in {one["qualified_name"], one.get("old_name")}
    ]
    return "; ".join(said) or "nothing"


def check_labels(door: Door, labels: list[Row]) -> Iterator[tuple[bool, str]]:
    """Yield for each label whether the answer agrees, and words about it."""
    known: dict[str, list[Row]] = {}
    for label in labels:
        commit = label["commit"]
        if commit not in known:
            known[commit] = changes_of(door, commit)[0]
        is_ok = is_right(label, known[commit])
        wanted = f"{label['change']} {'breaking' if label['breaking'] else 'non_breaking'}"
        place = f"{commit[:10]} {label['path']}::{label['qualified_name']}"
        yield is_ok, f"{place}: wanted {wanted}, told {told_instead(label, known[commit])}"


def main() -> None:
    """Run the commits, then the labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--labels", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "repo"
        git(Path(scratch), "clone", "--quiet", "--no-hardlinks", str(given.repo), str(root))
        with open_workspace(WorkspaceRequest(root)) as workspace:
            door = Door(workspace, {SEMANTIC_DIFF.name: SEMANTIC_DIFF})
            commits = git(root, "rev-list", "--first-parent", "-n", str(given.commits), "HEAD").split()
            times: list[float] = []
            for commit in commits:
                if git(root, "rev-parse", "--verify", "--quiet", f"{commit}^"):
                    try:
                        times.append(changes_of(door, commit)[1])
                    except RuntimeError as error:
                        print(f"CRASH {error}")
            n_crashes = len(commits) - len(times)
            middle = statistics.median(times) if times else 0
            slowest = max(times, default=0)
            print(f"{len(commits)} commits, {n_crashes} failed, median {middle:.0f} ms, slowest {slowest:.0f} ms")
            if given.labels is not None:
                rows = [
                    row for row in json.loads(given.labels.read_text()) if git(root, "cat-file", "-t", row["commit"])
                ]
                told = list(check_labels(door, rows))
                for is_ok, words in told:
                    if not is_ok:
                        print(words)
                share = sum(is_ok for is_ok, _ in told) / max(1, len(told))
                print(f"{len(told)} labels, {share:.3f} right")


if __name__ == "__main__":
    main()
