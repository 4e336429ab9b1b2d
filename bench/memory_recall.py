"""How often memory finds the lesson that a later fix needed, measured on the history of a real repository.

Every commit becomes an experience. A query is the message and the touched paths of a commit whose author wrote
"regression in" or "follow-up to" an earlier one; the earlier one is the answer. Only earlier commits can be found.
The plain OR query of the specification runs beside it on the same store. Tuned on odd years, reported on even ones.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from codeplane.core.clock import SystemClock
from codeplane.memory.retrieval import Question, find
from codeplane.memory.store import MemoryStore

QUERIES = Path(__file__).with_name("memory_recall_queries.json")
MIN_BETWEEN = 200
_LINK = re.compile(
    r"(?i)(?:regression|follow[- ]?up)[^.\n]{0,60}?(?:\n[^.\n]{0,40})?"
    r"\b([0-9a-f]{7,40})\b(?:[ ,and]+([0-9a-f]{7,40})\b)?"
)
_TRAILER = re.compile(r"(?im)^\s*(?:thanks|co-authored-by|backport of|signed-off).*$")
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the history."""

    sha: str
    time_ms: int
    message: str
    paths: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the message without names, trailers and hashes, which would give the answer away."""
        return _HASH.sub(" ", _TRAILER.sub("", self.message))

    @property
    def is_reported(self) -> bool:
        """Tell whether the commit belongs to the years that are reported."""
        return datetime.fromtimestamp(self.time_ms / 1000, tz=UTC).year % 2 == 0


def history(repo: Path) -> list[Commit]:
    """Return the commits of the first-parent history, oldest first."""
    command = ["git", "-C", str(repo), "log", "--first-parent", "--reverse", "--name-only"]
    log = subprocess.run(
        [*command, "--format=%x1e%H%x1f%ct%x1f%B%x1f"], check=True, capture_output=True, timeout=600
    ).stdout.decode("utf-8", "replace")
    commits: list[Commit] = []
    for block in log.split("\x1e")[1:]:
        sha, seconds, message, names = block.split("\x1f")
        commits.append(Commit(sha, int(seconds) * 1000, message.strip(), tuple(filter(None, names.split("\n")))))
    return commits


def links(commits: list[Commit]) -> dict[str, list[str]]:
    """Return the commits that name an earlier one as their cause, with at least 200 commits between."""
    numbers = {commit.sha: number for number, commit in enumerate(commits)}
    short: dict[str, list[str]] = {}
    for commit in commits:
        short.setdefault(commit.sha[:7], []).append(commit.sha)
    found: dict[str, list[str]] = {}
    for number, commit in enumerate(commits):
        named = [one for match in _LINK.finditer(commit.message) for one in match.groups() if one]
        whole = [sha for one in named for sha in short.get(one[:7], ()) if sha.startswith(one)]
        earlier = sorted({sha for sha in whole if numbers[sha] < number})
        if earlier and all(number - numbers[sha] >= MIN_BETWEEN for sha in earlier):
            found[commit.sha] = earlier
    return found


def store_of(commits: list[Commit], path: Path) -> MemoryStore:
    """Return a store with one experience per commit; its id is the number of the commit from 1."""
    store = MemoryStore(path, SystemClock(), None)
    with store.database.write() as connection:
        connection.executemany(
            "INSERT INTO experiences (type, domain, situation, approach, outcome, reasoning, created_at, updated_at,"
            " content_hash, paths) VALUES ('effective', 'Process', ?, ?, '', '', ?, ?, '', ?)",
            (
                (head, rest.strip(), one.time_ms, one.time_ms, json.dumps(one.paths))
                for one in commits
                for head, _, rest in [one.message.partition("\n")]
            ),
        )
    return store


@dataclass(slots=True)
class Score:
    """Ranks of the answers; 0 for an answer that was not among the first ten."""

    ranks: list[int]
    sure: list[bool]
    milliseconds: list[float]

    def line(self) -> str:
        """Return R@5, R@10, MRR and the time per query."""
        n = max(1, len(self.ranks))
        r5 = sum(0 < rank <= 5 for rank in self.ranks) / n
        r10 = sum(rank > 0 for rank in self.ranks) / n
        mrr = sum(1 / rank for rank in self.ranks if rank) / n
        ordered = sorted(self.milliseconds) or [0.0]
        p95 = ordered[int(len(ordered) * 0.95) - 1]
        return f"{len(self.ranks)} queries  R@5 {r5:.3f}  R@10 {r10:.3f}  MRR {mrr:.3f}  p95 {p95:.0f} ms"


def ours(store: MemoryStore, queries: list[tuple[int, Commit, set[int]]], *, with_paths: bool) -> Score:
    """Ask our retrieval."""
    score = Score([], [], [])
    with store.read() as connection:
        for number, commit, answers in queries:
            paths = commit.paths if with_paths else ()
            question = Question(commit.text, paths, now_ms=commit.time_ms, before_id=number)
            begun = time.perf_counter()
            found = find(connection, question, 10)
            score.milliseconds.append((time.perf_counter() - begun) * 1000)
            score.ranks.append(_rank([hit.id for hit in found.hits], answers))
            score.sure.append(found.is_sure)
    return score


def plain(store: MemoryStore, queries: list[tuple[int, Commit, set[int]]]) -> Score:
    """Ask the plain OR query of the specification, ordered by BM25."""
    score = Score([], [], [])
    query = (
        "SELECT rowid FROM experiences_fts WHERE experiences_fts MATCH ? AND rowid < ?"
        " ORDER BY bm25(experiences_fts), rowid LIMIT 10"
    )
    with store.read() as connection:
        for number, commit, answers in queries:
            match = " OR ".join('"' + word.replace('"', '""') + '"' for word in commit.text.split())
            begun = time.perf_counter()
            ids = [int(row[0]) for row in connection.execute(query, (match, number))] if match else []
            score.milliseconds.append((time.perf_counter() - begun) * 1000)
            score.ranks.append(_rank(ids, answers))
    return score


def abstention(store: MemoryStore, strangers: Iterator[Commit], score: Score) -> str:
    """Return how many questions about another project are flagged, and what that costs."""
    with store.read() as connection:
        flags = [
            not find(connection, Question(one.text, one.paths, now_ms=one.time_ms), 5).is_sure for one in strangers
        ]
    hits = [sure for rank, sure in zip(score.ranks, score.sure, strict=True) if 0 < rank <= 5]
    lost = hits.count(False) / max(1, len(hits))
    return f"flagged {sum(flags) / max(1, len(flags)):.3f} of {len(flags)} unanswerable queries, R@5 loses {lost:.3f}"


def _rank(ids: list[int], answers: set[int]) -> int:
    return next((place for place, one in enumerate(ids, start=1) if one in answers), 0)


def main() -> int:
    """Print recall beside the baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True, help="a clone with its whole history (Django)")
    parser.add_argument("--other", type=Path, nargs="*", default=[], help="clones of other projects, for abstention")
    parser.add_argument("--write-queries", action="store_true", help="derive the list of queries again")
    arguments = parser.parse_args()
    commits = history(arguments.repo)
    if arguments.write_queries:
        QUERIES.write_text(json.dumps(links(commits), indent=0, sort_keys=True) + "\n", encoding="utf-8")
    numbers = {commit.sha: number for number, commit in enumerate(commits, start=1)}
    wanted = json.loads(QUERIES.read_text(encoding="utf-8"))
    queries = [
        (numbers[sha], commits[numbers[sha] - 1], {numbers[one] for one in answers if one in numbers})
        for sha, answers in wanted.items()
        if sha in numbers
    ]
    print(f"{len(commits)} commits, {len(queries)} queries")
    with tempfile.TemporaryDirectory() as directory:
        store = store_of(commits, Path(directory) / "memory.db")
        for name, chosen in (("odd years", False), ("even years", True)):
            part = [one for one in queries if one[1].is_reported is chosen]
            print(f"{name}: with paths   {ours(store, part, with_paths=True).line()}")
            print(f"{name}: text only    {ours(store, part, with_paths=False).line()}")
            print(f"{name}: plain OR     {plain(store, part).line()}")
        strangers = (one for repo in arguments.other for one in history(repo)[-200:] if len(one.text.split()) >= 6)
        if arguments.other:
            print(abstention(store, strangers, ours(store, queries, with_paths=True)))
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
