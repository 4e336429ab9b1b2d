"""Commit-graphs for repositories of the tests: none, one of everything, or one that is behind."""

import os
import random
from collections.abc import Mapping
from pathlib import Path

from codeplane.core.processes import ProcessRequest, run_process
from codeplane.git.commit_graph import NO_GRAPH, CommitGraph
from codeplane.git.repository import find_repository


def any_graph(root: Path, dice: random.Random) -> Mapping[str, str]:
    """Return what tells git of a graph; it may be missing, whole, or know only what one old commit leads to."""
    kind = dice.choice(["none", "whole", "behind"])
    if kind == "none":
        return NO_GRAPH
    place = root.parent / f"graph-{dice.random()}"
    graph = CommitGraph(find_repository(root), place)
    if kind == "behind":
        (place / "info").mkdir(parents=True)
        commits = _git(root, "rev-list", "--all").split()
        around = {
            "GIT_OBJECT_DIRECTORY": str(place),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(find_repository(root).common_dir / "objects"),
        }
        _git(
            root, "commit-graph", "write", "--stdin-commits", "--changed-paths",
            stdin=dice.choice(commits) + b"\n", environment=around,
        )  # fmt: skip
    else:
        assert graph.make()
    around_it = graph.environment()
    assert around_it
    return around_it


def _git(
    root: Path, *arguments: str, stdin: bytes | None = None, environment: Mapping[str, str] | None = None
) -> bytes:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    request = ProcessRequest(("git", *arguments), root, 60, stdin=stdin, environment={**kept, **(environment or {})})
    result = run_process(request)
    assert result.returncode == 0, result.stderr_text
    return result.stdout
