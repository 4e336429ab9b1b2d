"""The controller on a real history: plans made from commits, what the context pack finds, and how long turns take.

    python bench/controller.py --repo DIRECTORY [--commits N] [--seed N]

Replay: for a commit that changes one to five text files, the plan that a planner who knows the commit would make is
submitted on the parent, each node is patched, and the tree is compared with the commit's byte for byte. Retrieval: the
files of commits are looked for with nothing but the commit's message, by the lexical lane of the pack and by BM25 over
whole files in the same run. Times: turns of the replay, by verb.
"""

import argparse
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from codeplane.controller.knowledge import Knowledge
from codeplane.controller.lanes import fused
from codeplane.controller.pack import PackQuery, retrieve
from codeplane.controller.runs import SessionRecord, WorkFiles
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.words import query_tokens, tokens_of
from codeplane.core.callers import Caller, CallerKind
from codeplane.core.line_matching import matching_blocks
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

CALLER: Final = Caller(CallerKind.AGENT, "bench", "bench", "bench")
TOKENS: Final = 8_000


def git(root: Path, *arguments: str) -> bytes:
    """Run git and return what it printed."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True).stdout


@dataclass(frozen=True)
class Commit:
    """A commit with the files that it changes: their bytes before and after, None where there is no file."""

    oid: str
    message: str
    files: dict[str, tuple[bytes | None, bytes | None]]


def sampled_commits(root: Path, count: int, seed: int) -> list[Commit]:
    """Return commits that change one to five text files, of the whole history."""
    oids = git(root, "rev-list", "--no-merges", "--min-parents=1", "HEAD").decode().split()
    random.Random(seed).shuffle(oids)
    found: list[Commit] = []
    for oid in oids:
        commit = _read_commit(root, oid)
        if commit is not None:
            found.append(commit)
        if len(found) == count:
            break
    return found


def _read_commit(root: Path, oid: str) -> Commit | None:
    raw = git(root, "diff-tree", "-r", "-z", "--no-renames", f"{oid}^", oid).decode("utf-8", "surrogateescape")
    fields = raw.split("\0")[:-1]
    rows = [(fields[n].split(), fields[n + 1]) for n in range(0, len(fields), 2)]
    if not 1 <= len(rows) <= 5:
        return None
    files: dict[str, tuple[bytes | None, bytes | None]] = {}
    for (old_mode, new_mode, *_rest), path in rows:
        modes = {old_mode.lstrip(":"), new_mode} - {"000000"}
        if modes - {"100644", "100755"} or len(modes) > 1 or not path.isascii():
            return None
        before = None if old_mode == ":000000" else git(root, "show", f"{oid}^:{path}")
        after = None if new_mode == "000000" else git(root, "show", f"{oid}:{path}")
        if any(_is_unfit(one) for one in (before, after) if one is not None):
            return None
        files[path] = (before, after)
    return Commit(oid, git(root, "log", "-1", "--format=%B", oid).decode("utf-8", "replace").strip(), files)


def _is_unfit(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\0" in data or len(data) > 300_000


@dataclass
class Replay:
    """Turns of one commit, and what they took."""

    door: Door
    run: str
    times: dict[str, list[float]]
    last: dict[str, Any] = field(default_factory=dict)

    def turn(self, verb: str, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Make one turn, timed."""
        given = {
            "runSessionId": self.run,
            "workId": self.run,
            "agentId": "bench",
            "verb": verb,
            "args": args or {},
            **more,
        }
        begun = time.perf_counter()
        answer = dispatch(self.door, "controller_turn", given, CALLER)
        self.times[verb].append(time.perf_counter() - begun)
        self.last = (
            answer.envelope()["result"] if answer.error is None else {"error": answer.error, "denyReasons": ["?"]}
        )
        return self.last


def hunks(before: bytes, after: bytes) -> list[tuple[str, str]]:
    """Return what to find and its replacement, each with as many lines around it as make it unique."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    spans: list[list[int]] = []
    position = other = 0
    for first, second, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        if first > position or second > other:
            spans.append([position, first, other, second])
        position, other = first + size, second + size
    found: list[tuple[str, str]] = []
    merged: list[list[int]] = []
    for span in spans:
        grown = _grown(before, old, list(span))
        if merged and grown[0] < merged[-1][1]:
            last = merged[-1]
            grown = _grown(before, old, [last[0], max(last[1], grown[1]), last[2], max(last[3], grown[3])])
            merged[-1] = grown
        else:
            merged.append(grown)
    for start, end, new_start, new_end in merged:
        found.append((b"".join(old[start:end]).decode(), b"".join(new[new_start:new_end]).decode()))
    text = before.decode()
    for find, replacement in found:
        if text.count(find) != 1:
            # An earlier replacement made it ambiguous: one edit from the first to the last change instead.
            (start, _e, new_start, _n), (_s, end, _m, new_end) = merged[0], merged[-1]
            return [(b"".join(old[start:end]).decode(), b"".join(new[new_start:new_end]).decode())]
        text = text.replace(find, replacement)
    return found


def _grown(before: bytes, old: list[bytes], span: list[int]) -> list[int]:
    while before.count(b"".join(old[span[0] : span[1]])) != 1 or span[0] == span[1]:
        if span[0] == 0 and span[1] == len(old):
            break
        if span[0] > 0:
            span[0], span[2] = span[0] - 1, span[2] - 1
        if span[1] < len(old):
            span[1], span[3] = span[1] + 1, span[3] + 1
    return span


def plan_for(replay: Replay, commit: Commit, tests: list[str]) -> dict[str, Any] | None:
    """Read what the commit changes and return the plan that leads to it."""
    prompt = replay.turn("get_original_prompt", originalPrompt=commit.message or "change")["traceRef"]
    nodes: list[dict[str, Any]] = []
    sources = [path for path, (before, _after) in commit.files.items() if before is not None] or tests[:1]
    evidence = {path: _evidence(replay, path) for path in dict.fromkeys((*sources, *tests[:1]))}
    usable = [one for one in evidence.values() if one is not None]
    if not usable:
        return None
    for number, (path, (before, after)) in enumerate(commit.files.items(), 1):
        own = evidence.get(path)
        cited = ([own] if own is not None else []) + [one for one in usable if one is not own]
        nodes.append(_change(f"n{number}", path, before, after, prompt, cited))
    hook = {"hookId": "h0", "kind": "test", "command": ["pytest", "-q", *tests], "covers": tests}
    nodes.append(
        {
            **_common("check", [one["nodeId"] for one in nodes], "check:all"),
            "kind": "validate", "verificationHooks": [hook], "mapsToNodeIds": [one["nodeId"] for one in nodes],
            "successCriteria": {"type": "exit_code", "equals": 0},
        }
    )  # fmt: skip
    envelope = replay.turn("list_scoped_files", {"limit": 1})["result"]["planEnvelope"]
    return {
        **envelope,
        "knowledgeStrategyId": replay.last["knowledgeStrategy"]["strategyId"],
        "knowledgeStrategyReasons": [{"reason": "The message of the commit.", "evidenceRef": prompt}],
        "sourceTraceRefs": [prompt],
        "nodes": nodes,
    }


def _evidence(replay: Replay, path: str) -> dict[str, Any] | None:
    answer = replay.turn("read_file_lines", {"targetFile": path})
    found = answer.get("result", {})
    if answer["denyReasons"] or "contentHash" not in found:
        return None
    last = max(1, min(found["totalLines"], found["endLine"]))
    return {
        "file": path, "startLine": 1, "endLine": last, "contentHash": found["contentHash"],
        "traceRef": answer["traceRef"],
    }  # fmt: skip


def _change(
    node_id: str, path: str, before: bytes | None, after: bytes | None, prompt: str, evidence: list[dict[str, Any]]
) -> dict[str, Any]:
    operation = "create_file" if before is None else "delete_file" if after is None else "replace_text"
    anchors = (
        [{"text": old} for old, _new in hunks(before or b"", after or b"")][:50] if operation == "replace_text" else []
    )
    first = (before or after or b"x").decode("utf-8").strip().split("\n")[0] or "x"
    if operation == "delete_file":
        anchors = [{"text": (before or b"").decode()}]
    return {
        **_common(node_id, [], f"file:{path}"),
        "kind": "change",
        "operation": operation,
        "targetFile": path,
        "targetSymbols": [],
        "whyThisFile": "The commit changes it.",
        "editIntent": {"summary": "Make the change of the commit exactly.", "anchors": anchors or [{"text": first}]},
        "citations": [{"sourceType": "prompt", "ref": "prompt:original", "traceRef": prompt}],
        "codeEvidence": evidence,
        "verificationHooks": [{"hookId": f"h-{node_id}", "kind": "test", "command": ["pytest", "-q"]}],
    }


def _common(node_id: str, depends_on: list[str], boundary: str) -> dict[str, Any]:
    return {
        "nodeId": node_id, "dependsOn": depends_on, "atomicityBoundary": boundary,
        "correctionCandidateOnFail": "revert",
        "expectedFailureSignatures": [{"signature": "AssertionError", "meaning": "still wrong"}],
    }  # fmt: skip


def replay_commit(root: Path, door: Door, commit: Commit, times: dict[str, list[float]], number: int) -> str:
    """Plan and patch one commit; return `same`, or what went wrong."""
    git(root, "checkout", "-q", "--detach", "-f", f"{commit.oid}^")
    git(root, "clean", "-q", "-fdx", "-e", ".codeplane", "-e", ".cplignore")
    replay = Replay(door, f"b{number}", times)
    tests = [path for path in git(root, "ls-files").decode().split("\n") if "test" in path.rpartition("/")[2]][:2]
    plan = plan_for(replay, commit, tests)
    if plan is None:
        return "nothing to cite"
    submitted = replay.turn("submit_execution_plan", {"planGraph": plan})
    if submitted["denyReasons"]:
        violation = submitted["result"]["violations"][0] if "result" in submitted else {}
        return f"{submitted['denyReasons'][0]}/{violation.get('detail')}"
    for node in plan["nodes"][:-1]:
        before, after = commit.files[node["targetFile"]]
        edits: list[dict[str, Any]] = []
        if node["operation"] == "create_file":
            edits = [{"type": "create_file", "content": (after or b"").decode()}]
        elif node["operation"] == "replace_text":
            edits = [
                {"type": "replace_text", "find": old, "replace": new} for old, new in hunks(before or b"", after or b"")
            ]
        patched = replay.turn(
            "apply_code_patch", {"planNodeId": node["nodeId"], "targetFile": node["targetFile"], "edits": edits}
        )
        if patched["denyReasons"] or "error" in patched["result"]:
            detail = (patched["result"].get("violations") or [patched["result"].get("error", {})])[0]
            return f"patch: {detail.get('detail') or detail.get('kind')} {commit.oid[:8]} {detail.get('message')}"
    git(root, "add", "-A", "--", *commit.files)
    differing = git(root, "diff", "--cached", "--name-only", commit.oid).decode().split()
    others = [
        one
        for one in git(root, "status", "--porcelain", "-uall", "--no-renames").decode().split("\n")
        if one[3:] and one[3:] not in commit.files and not one[3:].startswith(".cplignore")
    ]
    return f"outside: {others[0]}" if others else "same" if not differing else f"differs: {differing[0]}"


def recall(workspace: Workspace, commits: list[Commit]) -> dict[str, dict[str, float]]:
    """Compare the lanes of the pack with BM25 over whole files, on the tree as it is."""
    files = WorkFiles(workspace.places.private / "work", "recall", workspace.signing_key())
    record = SessionRecord("recall", "recall", "bench", "")
    knowledge = Knowledge(workspace, files, record)
    texts = {
        path: one.data.decode("utf-8", "replace")
        for path in sorted(knowledge.allowlist)
        if (one := knowledge.text(path)) is not None
    }
    counted = {path: Counter(tokens_of(text)) for path, text in texts.items()}
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for commit in commits:
        wanted = {path for path, (before, _after) in commit.files.items() if before is not None and path in texts}
        if not wanted or len(commit.message) < 10:
            continue
        ranked = _whole_files(counted, query_tokens([commit.message]))
        sized = [(path, len(texts[path]) // 4) for path in ranked]
        found["whole files"].append(_scores(sized, wanted))
        turn = TurnWork(_Context(workspace), files, record, None, ())  # type: ignore[arg-type]  # Only reads.
        lanes = retrieve(knowledge, turn, PackQuery((commit.message,), (), ()))
        hits = fused((lanes["lexical"], lanes["symbol"]))
        found["pack"].append(_scores([(hit.path, len(hit.text) // 4) for hit in hits], wanted))
    return {
        name: {
            "recall@10": statistics.fmean(one for one, _ in rows),
            "within": statistics.fmean(one for _, one in rows),
            "n": len(rows),
        }
        for name, rows in found.items()
    }


class _Context:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.call_id, self.is_index_fresh = workspace, "bench", True


def _whole_files(counted: dict[str, Counter[str]], query: Counter[str]) -> list[str]:
    n_files, mean = len(counted), statistics.fmean(sum(one.values()) for one in counted.values())
    weights = {}
    for word in query:
        n_with = sum(word in one for one in counted.values())
        weights[word] = math.log(1 + (n_files - n_with + 0.5) / (n_with + 0.5)) if n_with else 0.0
    scores = {}
    for path, counts in counted.items():
        length = sum(counts.values()) / mean
        scores[path] = sum(
            weight * counts[word] * 2.2 / (counts[word] + 1.2 * (0.25 + 0.75 * length))
            for word, weight in weights.items()
        )
    return sorted((path for path in scores if scores[path] > 0), key=lambda path: (-scores[path], path))


def _scores(sized: list[tuple[str, int]], wanted: set[str]) -> tuple[float, float]:
    distinct = list(dict.fromkeys(path for path, _ in sized))[:10]
    seen: set[str] = set()
    room = TOKENS
    for path, size in sized:
        if size > room:
            continue
        room -= size
        seen.add(path)
    return len(wanted & set(distinct)) / len(wanted), len(wanted & seen) / len(wanted)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--commits", type=int, default=70)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codeplane-bench-") as directory:
        root = Path(directory).resolve() / "clone"
        subprocess.run(["git", "clone", "-q", str(arguments.repo), str(root)], check=True)
        commits = sampled_commits(root, arguments.commits, arguments.seed)
        times: dict[str, list[float]] = defaultdict(list)
        overrides = (
            "logging.level=error", "controller.confidence_threshold=30", "controller.max_tokens=50000000",
            "tasks.max_mutations=100000",
        )  # fmt: skip
        with open_workspace(WorkspaceRequest(root, overrides)) as workspace:
            door = Door(workspace, OPERATIONS)
            outcomes = Counter(replay_commit(root, door, one, times, number) for number, one in enumerate(commits))
            git(root, "checkout", "-q", "-f", "--detach", "origin/HEAD")
            workspace.refresh_index()
            recalled = recall(workspace, commits)
    print(f"replayed {len(commits)} commits: {outcomes['same'] / len(commits):.1%} byte for byte")
    for outcome, n in outcomes.most_common():
        print(f"  {n:4} {outcome}")
    for name, row in recalled.items():
        print(
            f"{name}: recall@10 {row['recall@10']:.3f}, within {TOKENS} tokens {row['within']:.3f} (n={row['n']:.0f})"
        )
    for verb, values in sorted(times.items()):
        p95 = sorted(values)[int(len(values) * 0.95)]
        print(f"{verb}: p50 {statistics.median(values) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms (n={len(values)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
