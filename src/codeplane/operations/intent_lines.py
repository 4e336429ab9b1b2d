"""What an intent has left: lines that are still there, lines that are gone, files and commits."""

from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.blame import read_blame
from codeplane.git.repository import run_git
from codeplane.govern.trace.index import Entry, TraceIndex
from codeplane.govern.trace.lines import blob_id, is_binary
from codeplane.workspace.workspace import Workspace

_MAX_FILES: Final = 200
_MAX_COMMITS: Final = 50


def lines_of_intent(workspace: Workspace, intent: str) -> dict[str, Any]:
    """Return counts of live and dead lines, the files that have live ones, and the commits that brought these."""
    if not workspace.has_trace:
        return {"live_lines": 0, "dead_lines": 0, "files": [], "commits": []}
    index, matcher = workspace.trace.index(), workspace.trace.matcher()
    entries = index.of_intent(intent)
    n_brought = sum(hunk.n_new for entry in entries for hunk in entry.record.hunks())
    head = workspace.repo_version().head
    files: list[dict[str, Any]] = []
    commits: dict[str, None] = {}
    for path in _paths(workspace, entries)[:_MAX_FILES]:
        found = workspace.editor.look(RepoPath.known(path))
        if found is None or found.image.is_link or is_binary(found.image.data):
            continue
        data = found.image.data
        owners = matcher.owners_of(path, blob_id(data, head), data)
        live = [number for number, owned in enumerate(owners, 1) if _is_of(index, owned.number, intent)]
        if live:
            files.append({"path": path, "lines": len(live)})
            commits |= dict.fromkeys(_commits(workspace, path, live))
    n_live = sum(one["lines"] for one in files)
    return {
        "live_lines": n_live,
        "dead_lines": max(0, n_brought - n_live),
        "files": files,
        "commits": list(commits)[:_MAX_COMMITS],
    }


def _is_of(index: TraceIndex, number: int, intent: str) -> bool:
    entry = index.entry(number) if number > 0 else None
    return entry is not None and entry.intent == intent and not entry.record.is_outside


def _paths(workspace: Workspace, entries: tuple[Entry, ...]) -> list[str]:
    """Return where the lines may be now: the files that were written, and what git renamed them to."""
    wanted = dict.fromkeys(entry.path for entry in entries)
    gone = [path for path in wanted if not (workspace.root / path).exists()]
    if gone:
        listing = run_git(
            workspace.root, "log", "--format=", "--name-status", "-M", "--diff-filter=R", "-z", "--reverse"
        )
        parts = listing.stdout_text.split("\0")
        for old, new in zip(parts[1::3], parts[2::3], strict=False):
            if old in wanted:
                wanted[new] = None
    return list(wanted)


def _commits(workspace: Workspace, path: str, lines: list[int]) -> list[str]:
    try:
        groups = read_blame(workspace.root, None, RepoPath.known(path), (lines[0], lines[-1]))
    except CodePlaneError:
        # Not committed yet.
        return []
    wanted = set(lines)
    return [
        one.oid[:12] for one in groups if one.oid is not None and wanted.intersection(range(one.first, one.last + 1))
    ]
