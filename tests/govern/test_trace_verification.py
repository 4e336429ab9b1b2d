"""The trace file shows every change from outside, and git's own doings are no alarm."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from codeplane.core.ids import RandomIds
from codeplane.govern.trace.files import TRACE_FILE
from codeplane.govern.trace.records import VENDOR
from codeplane.govern.trace.segments import Head, chained, without_chain
from codeplane.govern.trace.verification import TraceReport
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.effort import repeated
from support.repositories import git, make_repository
from support.traced import SETUP, traced_edit

Tampering = Callable[[list[str], Random], int]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = make_repository(tmp_path / "repo", {**SETUP, "a.py": "first = 1\n"})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as opened:
        yield opened


def _filled(workspace: Workspace, n_committed: int = 4, n_loose: int = 4) -> Path:
    for number in range(n_committed + n_loose):
        if number == n_committed:
            git(workspace.root, "add", "--all")
            git(workspace.root, "commit", "--quiet", "-m", "work")
        text = "".join(f"value_number_{i} = {i}\n" for i in range(number + 1))
        traced_edit(workspace, "INT-001", "a.py", text)
    return workspace.root / TRACE_FILE


def _edited(lines: list[str], rng: Random) -> int:
    at = rng.randrange(len(lines))
    lines[at] = lines[at].replace("INT-001", "INT-999", 1)
    return at + 1


def _edited_hash(lines: list[str], rng: Random) -> int:
    at = rng.randrange(len(lines))
    lines[at] = lines[at].replace('"content_hash":"sha256:', '"content_hash":"sha256:0', 1)
    return at + 1


def _deleted(lines: list[str], rng: Random) -> int:
    at = rng.randrange(len(lines) - 1)
    del lines[at]
    return at + 1


def _cut(lines: list[str], rng: Random) -> int:
    n_left = rng.randint(5, len(lines) - 1)
    del lines[n_left:]
    return n_left + 1


def _cut_to_nothing(lines: list[str], _rng: Random) -> int:
    lines.clear()
    return 1


def _swapped(lines: list[str], rng: Random) -> int:
    at = rng.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return at + 2


def _repeated(lines: list[str], rng: Random) -> int:
    at = rng.randrange(len(lines) - 1)
    lines.append(lines[at])
    return len(lines)


def _forged(lines: list[str], rng: Random) -> int:
    """Add a line with a correct hash behind the last one."""
    body = json.loads(lines[-1])
    chain = body["metadata"][VENDOR]["chain"]
    record = without_chain(body)
    record["id"] = f"{rng.getrandbits(32):08x}-0000-4000-8000-000000000000"
    lines.append(chained(record, Head(chain["segment"], chain["seq"], chain["chain_hash"]), None)[0])
    return len(lines)


def _forked(lines: list[str], rng: Random) -> int:
    """Put another line with a correct hash in the place of an existing one, behind the others."""
    at = rng.randrange(1, len(lines))
    body, before = json.loads(lines[at]), json.loads(lines[at - 1])["metadata"][VENDOR]["chain"]
    record = without_chain(body)
    record["metadata"][VENDOR]["intent_id"] = "INT-999"
    lines.append(chained(record, Head(before["segment"], before["seq"], before["chain_hash"]), None)[0])
    return len(lines)


def _rewritten(lines: list[str], rng: Random) -> int:
    """Change a record and compute every hash behind it again."""
    at = rng.randrange(len(lines))
    bodies = [json.loads(line) for line in lines]
    bodies[at]["metadata"][VENDOR]["intent_id"] = "INT-999"
    first = bodies[0]["metadata"][VENDOR]["chain"]
    head = Head(first["segment"])
    for i, body in enumerate(bodies):
        lines[i], head = chained(without_chain(body), head, None)
    return at + 1


def _garbage(lines: list[str], rng: Random) -> int:
    at = rng.randrange(len(lines))
    lines.insert(at, rng.choice(("{}", "[1]", "<<<<<<< HEAD", '{"version": "0.1.0"}', '"text"', "{")))
    return at + 1


TAMPERINGS: tuple[Tampering, ...] = (
    _edited, _edited_hash, _deleted, _cut, _cut_to_nothing, _swapped, _repeated, _forged, _forked, _rewritten, _garbage,
)  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=lambda one: one.__name__)
def test_every_tampering_is_found_with_its_first_line(tampering: Tampering, workspace: Workspace) -> None:
    place = _filled(workspace)
    whole = place.read_text(encoding="utf-8")
    assert workspace.trace.verify().is_sound
    for seed in range(repeated(2)):
        lines = whole.splitlines()
        expected = tampering(lines, Random(seed))
        place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        report = workspace.trace.verify()
        assert not report.is_sound, seed
        # A line that is gone is missed where the next one of its segment is.
        assert report.problems[0][0] in {expected, expected - 1}, (seed, report.problems)
    place.write_text(whole, encoding="utf-8")
    assert workspace.trace.verify().is_sound


def test_lines_of_another_branch_are_not_an_alarm(workspace: Workspace) -> None:
    root = workspace.root
    git(root, "checkout", "--quiet", "-b", "topic")
    traced_edit(workspace, "INT-001", "a.py", "value_of_the_topic = 1\n")
    git(root, "commit", "--quiet", "--all", "-m", "topic")
    git(root, "checkout", "--quiet", "master" if "master" in git(root, "branch") else "main")
    traced_edit(workspace, "INT-002", "a.py", "value_of_the_main_branch = 1\n")
    report = workspace.trace.verify()
    assert (report.problems, report.n_elsewhere) == ([], 1)
    assert len(report.segments) == 1


def test_a_union_merge_of_two_branches_verifies(workspace: Workspace) -> None:
    root = workspace.root
    main = git(root, "branch", "--show-current").strip()
    git(root, "checkout", "--quiet", "-b", "topic")
    traced_edit(workspace, "INT-001", "b.py", "value_of_the_topic = 1\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "topic")
    git(root, "checkout", "--quiet", main)
    traced_edit(workspace, "INT-002", "a.py", "value_of_the_main_branch = 1\n")
    git(root, "commit", "--quiet", "--all", "-m", "main")
    git(root, "merge", "--quiet", "--no-edit", "topic")
    traced_edit(workspace, "INT-001", "b.py", "value_after_the_merge = 1\n")
    report = workspace.trace.verify()
    assert (report.problems, report.n_records, report.n_elsewhere) == ([], 3, 0)


def test_a_clone_without_the_ledger_cannot_prove_the_tail(workspace: Workspace, tmp_path: Path) -> None:
    _filled(workspace)
    git(workspace.root, "commit", "--quiet", "--all", "-m", "all")
    git(tmp_path, "clone", "--quiet", str(workspace.root), "clone")
    with open_workspace(WorkspaceRequest(tmp_path / "clone", ids=RandomIds())) as clone:
        report = clone.trace.verify()
    assert report.problems == []
    assert any("tail not provable" in note for note in report.notes)


def test_two_clones_continue_one_file_and_verify_after_the_merge(workspace: Workspace, tmp_path: Path) -> None:
    _filled(workspace)
    git(workspace.root, "commit", "--quiet", "--all", "-m", "all")
    git(tmp_path, "clone", "--quiet", str(workspace.root), "clone")
    with open_workspace(WorkspaceRequest(tmp_path / "clone", ids=RandomIds())) as clone:
        traced_edit(clone, "INT-002", "c.py", "value_of_the_clone = 1\n")
        git(clone.root, "add", "--all")
        git(clone.root, "commit", "--quiet", "-m", "clone")
    traced_edit(workspace, "INT-003", "b.py", "value_of_the_origin = 1\n")
    git(workspace.root, "add", "--all")
    git(workspace.root, "commit", "--quiet", "-m", "origin")
    git(workspace.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(tmp_path / "clone"), "HEAD")
    report = workspace.trace.verify()
    assert (report.problems, report.n_records, len(report.segments)) == ([], 10, 2)


def _session(workspace: Workspace, rng: Random, n_steps: int) -> list[str]:
    """Let git do this and that to a traced repository."""
    root, told = workspace.root, []
    main = git(root, "branch", "--show-current").strip()
    for step in range(n_steps):
        branches = git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        action = rng.choice(_ACTIONS)
        told.append(action)
        path = f"file_{rng.randrange(3)}.py"
        if action == "edit":
            traced_edit(workspace, "INT-001", path, f"value_of_step_{step}_{rng.random()} = 1\n")
        arguments = {
            "commit": (("add", "--all"), ("commit", "--quiet", "--allow-empty", "-m", f"step {step}")),
            "branch": (("checkout", "--quiet", "-b", f"branch-{step}"),),
            "checkout": (("checkout", "--quiet", rng.choice(branches)),),
            "force": (("checkout", "--quiet", "--force", rng.choice(branches)),),
            "stash": (("stash", "push", "--quiet", "--include-untracked"),),
            "pop": (("stash", "pop", "--quiet"),),
            "apply": (("stash", "apply", "--quiet"),),
            "drop": (("stash", "drop", "--quiet"),),
            "rebase": (("rebase", "--quiet", rng.choice(branches)),),
            "merge": (("merge", "--quiet", "--no-edit", rng.choice(branches)),),
            "squash": (("merge", "--squash", rng.choice(branches)), ("commit", "--quiet", "-m", "squashed")),
            "soft": (("reset", "--quiet", "--soft", "HEAD~1"),),
            "mixed": (("reset", "--quiet", "--mixed", "HEAD~1"),),
            "hard": (("reset", "--quiet", "--hard", rng.choice(["HEAD~1", "HEAD", *branches])),),
            "pick": (("cherry-pick", "--allow-empty", rng.choice(branches)),),
            "revert": (("revert", "--no-edit", "HEAD"),),
            "amend": (("commit", "--quiet", "--all", "--amend", "--no-edit"),),
            "restore": (("checkout", "--quiet", "--", "."),),
        }.get(action, ())
        for one in arguments:
            _try(root, *one)
        for abort in (("rebase", "--abort"), ("merge", "--abort"), ("cherry-pick", "--abort"), ("revert", "--abort")):
            _try(root, *abort)
    _try(root, "checkout", "--quiet", main)
    return told


_ACTIONS = (
    "edit", "edit", "edit", "edit", "commit", "commit", "commit", "branch", "checkout", "checkout", "force", "stash",
    "pop", "apply", "drop", "rebase", "merge", "squash", "soft", "mixed", "hard", "pick", "revert", "amend", "restore",
)  # fmt: skip


def _try(root: Path, *arguments: str) -> None:
    try:
        git(root, *arguments)
    except AssertionError:
        return


@pytest.mark.slow
def test_random_git_sessions_raise_no_alarm(tmp_path: Path) -> None:
    # 25 in `make soak`; a thousand were run once.
    for seed in range(repeated(10) // 4):
        rng = Random(seed)
        root = make_repository(tmp_path / f"repo-{seed}", {**SETUP, "a.py": "first = 1\n"})
        with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
            told = _session(workspace, rng, 25)
            report: TraceReport = workspace.trace.verify()
            assert report.problems == [], (seed, told)
