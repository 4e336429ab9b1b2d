"""Rebases end as a person's do, with or without a plan; conflicts and pauses are answers."""

import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from codeplane.workspace.workspace import Workspace
from support.doors import call, open_test_workspace, result_of
from support.git_commits import (
    alike_picture,
    by_git,
    check_refused,
    check_same_as_by_hand,
    check_undo,
    commit_files,
    copy_of,
    exact_picture,
    git_by_hand,
    git_door,
    identify,
    install_hook,
)
from support.repositories import copied, git, write


@pytest.fixture
def repo(tmp_path: Path, repo_template: Path) -> Path:
    return copied(tmp_path / "repo", "rebase", lambda base: _make_history(base, repo_template))


def _make_history(repo: Path, template: Path) -> None:
    """Make `topic` with four commits beside two on main."""
    shutil.copytree(template, repo, dirs_exist_ok=True)
    identify(repo)
    git(repo, "checkout", "-q", "-b", "topic")
    for name in ("a", "b", "c", "d"):
        commit_files(repo, f"add {name}\n\nbody of {name}", {f"{name}.txt": f"{name}\n"})
    git(repo, "checkout", "-q", "main")
    commit_files(repo, "on main", {"main.txt": "1\n", "docs/guide.md": "one\nMAIN\nthree\n"})
    commit_files(repo, "on main again", {"main.txt": "2\n"})
    git(repo, "checkout", "-q", "topic")


def _oids(repo: Path, upstream: str = "main") -> list[str]:
    return git(repo, "rev-list", "--reverse", f"{upstream}..HEAD").split()


def _subjects(repo: Path, upstream: str = "main") -> list[str]:
    return git(repo, "log", "--reverse", "--format=%s", f"{upstream}..HEAD").splitlines()


def _by_person(lines: Sequence[str], messages: Sequence[str] = (), onto: str = "main") -> Callable[[Path], object]:
    """Return a rebase -i by hand, whose list is these lines and whose messages come one after the other."""

    def do(root: Path) -> None:
        desk = root.parent / "desk"
        desk.mkdir(exist_ok=True)
        (desk / "todo").write_text("".join(f"{line}\n" for line in lines))
        for number, message in enumerate(messages):
            (desk / f"message-{number}").write_text(message)
        (desk / "count").write_text("0")
        place = shlex.quote(str(desk))
        (desk / "editor.sh").write_text(
            f"n=$(cat {place}/count); echo $((n + 1)) > {place}/count; [ -f {place}/message-$n ] || exit 0;"
            f' cat {place}/message-$n > "$1"\n'
        )
        git_by_hand(
            root,
            "-c", f"sequence.editor=cp {place}/todo",
            "-c", f"core.editor=sh {place}/editor.sh",
            "rebase", "-q", "-i", "--empty=drop", onto,
        )  # fmt: skip

    return do


@pytest.mark.parametrize(
    ("arguments", "by_hand"),
    [
        ({"upstream": "main"}, ("rebase", "-q", "main")),
        ({"target": "main"}, ("rebase", "-q", "main")),
        ({"upstream": "HEAD~2", "onto": "main"}, ("rebase", "-q", "--onto", "main", "HEAD~2")),
        ({"upstream": "topic"}, ("rebase", "-q", "topic")),
        ({"upstream": "HEAD~2"}, ("rebase", "-q", "HEAD~2")),
        ({"upstream": "main", "interactive": True}, ("-c", "sequence.editor=true", "rebase", "-q", "-i", "main")),
    ],
)
def test_without_a_plan_it_does_what_git_rebase_does(
    workspace: Workspace, arguments: dict[str, Any], by_hand: tuple[str, ...]
) -> None:
    answer = check_same_as_by_hand(workspace, "git_rebase", {"action": "start", **arguments}, by_git(*by_hand))
    result = result_of(answer)
    assert (result["success"], result["state"]) == (True, "done")
    assert result["completed_steps"] == result["total_steps"]
    assert result["new_head"] == git(workspace.root, "rev-parse", "HEAD").strip()


def test_a_plan_lists_what_git_would_replay_and_says_what_it_leaves_out(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "main")
    git(repo, "cherry-pick", "topic~2")
    git(repo, "checkout", "-q", "topic")
    git(repo, "merge", "-q", "--no-edit", "main~2")
    git(repo, "checkout", "-q", "-b", "side", "topic~1")
    commit_files(repo, "on the side", {"side.txt": "side\n"})
    git(repo, "checkout", "-q", "topic")
    git(repo, "merge", "-q", "--no-edit", "side")
    git(repo, "commit", "-q", "--allow-empty", "-m", "empty")
    before = exact_picture(repo)
    answer = call(git_door(workspace), "git_rebase", {"action": "plan", "upstream": "main"})
    result = result_of(answer)
    # Git itself, asked by hand, shows its list to an editor that keeps it and gives up.
    other = copy_of(repo)
    kept = repo.parent / "todo"
    git_by_hand(other, "-c", f"sequence.editor=f() {{ cp \"$1\" '{kept}'; false; }}; f", "rebase", "-i", "main")
    listed = [line.split()[1] for line in kept.read_text().splitlines() if line.startswith("pick ")]
    assert [one["commit_sha"][: len(listed[0])] for one in result["steps"]] == listed
    assert [one["message"] for one in result["steps"]] == [
        git(repo, "log", "-1", "--format=%s", oid).strip() for oid in listed
    ]
    assert any("add b: the new base already has this change" in note for note in result["notes"])
    assert any("merge commit" in note for note in result["notes"])
    assert result["upstream"] == result["onto"] == git(repo, "rev-parse", "main").strip()
    assert "delta" not in result
    assert exact_picture(repo) == before
    assert "pick" in answer.text()


def test_a_plan_sent_back_unchanged_is_a_plain_rebase(workspace: Workspace) -> None:
    plan = result_of(call(git_door(workspace), "git_rebase", {"action": "plan", "upstream": "main"}))
    sent = {key: plan[key] for key in ("upstream", "onto", "steps")}
    check_same_as_by_hand(workspace, "git_rebase", {"action": "execute", "plan": sent}, by_git("rebase", "-q", "main"))


# Letters are the commits add a to add d.
_PLANS: list[tuple[list[tuple[str, str, str | None]], list[str]]] = [
    ([("pick", "d", None), ("pick", "c", None), ("pick", "b", None), ("pick", "a", None)], []),
    (
        [("reword", "a", "A, reworded\n\nwith body"), ("pick", "b", None), ("reword", "c", "C"), ("pick", "d", None)],
        ["A, reworded\n\nwith body\n", "C\n"],
    ),
    ([("pick", "a", None), ("fixup", "b", None), ("pick", "c", None), ("fixup", "d", None)], []),
    ([("pick", "a", None), ("squash", "b", None), ("squash", "c", None), ("pick", "d", None)], []),
    (
        [("pick", "a", None), ("squash", "b", "A and B"), ("pick", "c", None), ("squash", "d", "C and D")],
        ["A and B\n", "C and D\n"],
    ),
    (
        [("pick", "a", None), ("squash", "b", "first"), ("fixup", "c", "ignored"), ("drop", "d", None)],
        ["first\n"],
    ),
    (
        [("reword", "a", "A"), ("squash", "b", "A and B"), ("drop", "c", None), ("reword", "d", "D")],
        ["A\n", "A and B\n", "D\n"],
    ),
    ([("drop", "a", None), ("drop", "b", None), ("drop", "c", None), ("drop", "d", None)], []),
    ([("drop", "a", None), ("pick", "b", "add b"), ("drop", "c", None), ("squash", "d", "add d")], []),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "messages"), _PLANS)
def test_a_plan_ends_as_the_same_list_typed_by_a_person(
    workspace: Workspace, repo: Path, plan: list[tuple[str, str, str | None]], messages: list[str]
) -> None:
    oids = dict(zip("abcd", _oids(repo), strict=True))
    steps = [{"action": action, "commit_sha": oids[name], "message": text} for action, name, text in plan]
    answer = check_same_as_by_hand(
        workspace,
        "git_rebase",
        {"action": "start", "upstream": "main", "steps": steps},
        _by_person([f"{action} {oids[name]}" for action, name, _ in plan], messages),
    )
    result = result_of(answer)
    assert (result["state"], result["completed_steps"], result["total_steps"]) == ("done", 4, 4)


def test_lines_that_look_like_comments_stay_in_messages(workspace: Workspace, repo: Path) -> None:
    steps: list[dict[str, str]] = [{"action": "pick", "commit_sha": oid} for oid in _oids(repo)]
    steps[0] |= {"action": "reword", "message": "Close\n\n#12 and\n; more"}
    steps[2] |= {"action": "squash", "message": "Both\n\n# heading"}
    result_of(call(git_door(workspace), "git_rebase", {"action": "start", "upstream": "main", "steps": steps}))
    bodies = git(repo, "log", "--reverse", "--format=%B%x01", "main..HEAD").split("\x01\n")
    assert bodies[0].strip() == "Close\n\n#12 and\n; more"
    assert bodies[1].strip() == "Both\n\n# heading"


def test_users_settings_do_not_change_a_plan(workspace: Workspace, repo: Path) -> None:
    for name, value in (
        ("rebase.autoSquash", "true"),
        ("rebase.missingCommitsCheck", "error"),
        ("rebase.abbreviateCommands", "true"),
        ("rebase.updateRefs", "true"),
        ("commit.verbose", "true"),
        ("rebase.backend", "apply"),
    ):
        git(repo, "config", name, value)
    git(repo, "commit", "-q", "--amend", "-m", "fixup! add a")
    oids = _oids(repo)
    git(repo, "branch", "inner", "HEAD~2")
    inner = git(repo, "rev-parse", "inner")
    steps = [{"action": "pick", "commit_sha": oid} for oid in oids]
    steps[1] |= {"action": "reword", "message": "B"}
    result_of(call(git_door(workspace), "git_rebase", {"action": "start", "upstream": "main", "steps": steps}))
    assert _subjects(repo) == ["add a", "B", "add c", "fixup! add a"]
    assert git(repo, "rev-parse", "inner") == inner


def test_an_edit_pauses_and_goes_on_with_what_was_staged(workspace: Workspace, repo: Path) -> None:
    oids = _oids(repo)
    lines = [f"{'edit' if number == 1 else 'pick'} {oid}" for number, oid in enumerate(oids)]
    steps = [dict(zip(("action", "commit_sha"), line.split(), strict=True)) for line in lines]
    answer = check_same_as_by_hand(
        workspace, "git_rebase", {"action": "start", "upstream": "main", "steps": steps}, _by_person(lines)
    )
    result = result_of(answer)
    assert (result["state"], result["completed_steps"], result["total_steps"]) == ("edit_pause", 2, 4)
    assert result["current_commit"] == oids[1]
    assert result["success"] is True
    write(repo, {"b.txt": "edited\n"})
    door = git_door(workspace)
    result_of(call(door, "git_stage", {"paths": ["b.txt"]}))
    result = result_of(call(door, "git_rebase", {"action": "continue", "message": "B, edited"}))
    assert (result["state"], result["completed_steps"]) == ("done", 4)
    assert _subjects(repo) == ["add a", "B, edited", "add c", "add d"]
    assert git(repo, "show", "HEAD~2:b.txt") == "edited\n"


def _make_clash(repo: Path) -> None:
    commit_files(repo, "clash\n\nwhy", {"docs/guide.md": "one\nTOPIC\nthree\n", "e.txt": "e\n"})
    commit_files(repo, "after", {"f.txt": "f\n"})


def test_a_conflict_is_an_answer_with_three_sides_and_the_way_on(workspace: Workspace, repo: Path) -> None:
    _make_clash(repo)
    before = exact_picture(repo)
    stopped_at = git(repo, "rev-parse", "HEAD~1").strip()
    other = copy_of(repo)
    git_by_hand(other, "rebase", "-q", "main")
    answer = call(git_door(workspace), "git_rebase", {"action": "start", "upstream": "main"})
    result = result_of(answer)
    assert alike_picture(repo).index == alike_picture(other).index
    assert alike_picture(repo).files == alike_picture(other).files
    assert (result["success"], result["state"]) == (False, "conflict")
    assert (result["completed_steps"], result["total_steps"]) == (4, 6)
    assert result["conflict_paths"] == ["docs/guide.md"]
    assert result["current_commit"] == stopped_at
    file = result["conflicts"][0]
    assert (file["ours"]["text"], file["theirs"]["text"]) == ("one\nMAIN\nthree\n", "one\nTOPIC\nthree\n")
    assert "git_rebase action=continue" in answer.text()
    check_undo(workspace, result["delta"]["mutation_id"], before)


@pytest.fixture
def stopped(workspace: Workspace, repo: Path) -> Workspace:
    """Return a workspace whose rebase has stopped at a conflict; the list has messages for what follows."""
    _make_clash(repo)
    steps: list[dict[str, str]] = [{"action": "pick", "commit_sha": oid} for oid in _oids(repo)]
    steps[4] |= {"action": "reword", "message": "Clash, reworded\n\n#7"}
    steps[5] |= {"action": "squash", "message": "Clash and after\n\n#8"}
    answer = call(git_door(workspace), "git_rebase", {"action": "start", "upstream": "main", "steps": steps})
    assert result_of(answer)["state"] == "conflict"
    return workspace


def test_messages_of_a_plan_are_kept_over_a_conflict(stopped: Workspace, repo: Path) -> None:
    check_refused(stopped, "git_rebase", {"action": "continue"}, "GIT_CONFLICTS")
    check_refused(stopped, "git_rebase", {"action": "start", "upstream": "main"}, "GIT_OPERATION_IN_PROGRESS")
    check_refused(stopped, "git_merge", {"action": "continue"}, "GIT_NO_OPERATION")
    write(repo, {"docs/guide.md": "one\nBOTH\nthree\n"})
    door = git_door(stopped)
    result_of(call(door, "git_stage", {"paths": ["docs/guide.md"]}))
    before = exact_picture(repo)
    result = result_of(call(door, "git_rebase", {"action": "continue"}))
    assert (result["state"], result["completed_steps"], result["total_steps"]) == ("done", 6, 6)
    assert git(repo, "log", "-1", "--format=%B").strip() == "Clash and after\n\n#8"
    assert git(repo, "symbolic-ref", "HEAD").strip() == "refs/heads/topic"
    check_undo(stopped, result["delta"]["mutation_id"], before)


def test_a_rebase_is_aborted_as_with_git_and_undo_brings_it_back(stopped: Workspace, repo: Path) -> None:
    write(repo, {"docs/guide.md": "half resolved\n"})
    answer = check_same_as_by_hand(stopped, "git_rebase", {"action": "abort"}, by_git("rebase", "--abort"))
    result = result_of(answer)
    assert (result["state"], result["success"]) == ("aborted", True)
    assert git(repo, "log", "-1", "--format=%s").strip() == "after"


def test_a_commit_is_skipped_as_with_git(workspace: Workspace, repo: Path) -> None:
    _make_clash(repo)
    result_of(call(git_door(workspace), "git_rebase", {"action": "start", "upstream": "main"}))
    answer = check_same_as_by_hand(workspace, "git_rebase", {"action": "skip"}, by_git("rebase", "--skip"))
    assert result_of(answer)["state"] == "done"
    assert _subjects(repo) == ["add a", "add b", "add c", "add d", "after"]


def test_commits_that_become_empty_are_told(workspace: Workspace, repo: Path) -> None:
    commit_files(repo, "half", {"main.txt": "2\n", "docs/guide.md": "one\nMAIN\nthree\n"})
    result = result_of(call(git_door(workspace), "git_rebase", {"action": "start", "upstream": "main"}))
    assert result["state"] == "done"
    assert any("became empty" in note for note in result["notes"])
    assert _subjects(repo) == ["add a", "add b", "add c", "add d"]


def test_changes_refuse_and_stay(workspace: Workspace, repo: Path) -> None:
    write(repo, {"a.txt": "mine\n"})
    check_refused(workspace, "git_rebase", {"action": "start", "upstream": "main"}, "GIT_WOULD_OVERWRITE")
    git(repo, "add", "a.txt")
    check_refused(workspace, "git_rebase", {"action": "start", "upstream": "main"}, "GIT_WOULD_OVERWRITE")


def test_an_untracked_file_in_the_way_refuses_and_everything_is_taken_back(workspace: Workspace, repo: Path) -> None:
    write(repo, {"main.txt": "mine, untracked\n"})
    check_refused(workspace, "git_rebase", {"action": "start", "upstream": "main"}, "GIT_WOULD_OVERWRITE")


def test_an_ignored_file_that_is_overwritten_comes_back_by_undo(workspace: Workspace, repo: Path) -> None:
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("main.txt\n")
    write(repo, {"main.txt": "mine, ignored\n"})
    arguments = {"action": "start", "upstream": "main"}
    check_same_as_by_hand(workspace, "git_rebase", arguments, by_git("rebase", "-q", "main"))


@pytest.mark.parametrize("hook", ["pre-rebase", "commit-msg"])
def test_a_hook_that_refuses_leaves_everything_as_it_was(workspace: Workspace, repo: Path, hook: str) -> None:
    install_hook(repo, hook, "echo not today; exit 1")
    steps = [{"action": "pick", "commit_sha": oid} for oid in _oids(repo)]
    steps[2] |= {"action": "reword", "message": "C"}
    arguments = {"action": "start", "upstream": "main", "steps": steps}
    answer = check_refused(workspace, "git_rebase", arguments, "GIT_HOOK_FAILED")
    assert answer.error is not None
    assert answer.error.details["hook"] == hook


def test_a_detached_head_is_rebased_without_a_branch(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    check_same_as_by_hand(
        workspace, "git_rebase", {"action": "start", "upstream": "main"}, by_git("rebase", "-q", "main")
    )


def test_the_upstream_of_the_branch_is_the_default(workspace: Workspace, repo: Path) -> None:
    check_refused(workspace, "git_rebase", {"action": "start"}, "GIT_REF_UNKNOWN")
    git(repo, "branch", "-q", "--set-upstream-to=main")
    check_same_as_by_hand(workspace, "git_rebase", {"action": "start"}, by_git("rebase", "-q"))


def test_it_works_in_a_linked_worktree(repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked tree $(x)"
    git(repo, "worktree", "add", "-q", "-b", "third", str(linked), "topic")
    with open_test_workspace(linked) as workspace:
        before = exact_picture(linked)
        steps = [{"action": "pick", "commit_sha": oid} for oid in _oids(linked)]
        steps[3] |= {"action": "reword", "message": "D"}
        steps[1] |= {"action": "squash", "message": "A and B"}
        arguments = {"action": "start", "upstream": "main", "steps": steps}
        result = result_of(call(git_door(workspace), "git_rebase", arguments))
        assert _subjects(linked) == ["A and B", "add c", "D"]
        check_undo(workspace, result["delta"]["mutation_id"], before)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_ARGUMENTS"),
        ({"action": "start", "upstream": "no-such"}, "GIT_REF_UNKNOWN"),
        ({"action": "plan", "upstream": "no-such"}, "GIT_REF_UNKNOWN"),
        ({"action": "start", "upstream": "--root"}, "GIT_REF_INVALID"),
        ({"action": "start", "upstream": "main", "onto": "-x"}, "GIT_REF_INVALID"),
        ({"action": "continue"}, "GIT_NO_OPERATION"),
        ({"action": "skip"}, "GIT_NO_OPERATION"),
        ({"action": "abort"}, "GIT_NO_OPERATION"),
        ({"action": "abort", "upstream": "main"}, "INVALID_ARGUMENTS"),
        ({"action": "start", "upstream": "main", "message": "x"}, "INVALID_ARGUMENTS"),
        ({"action": "start", "upstream": "main", "plan": "abc"}, "INVALID_ARGUMENTS"),
        ({"action": "start", "upstream": "main", "steps": []}, "INVALID_ARGUMENTS"),
        ({"action": "start", "upstream": "main", "steps": [{"commit_sha": "HEAD"}]}, "INVALID_ARGUMENTS"),
        ({"action": "start", "upstream": "HEAD~1", "steps": [{"commit_sha": "no-such"}]}, "GIT_REF_UNKNOWN"),
        ({"action": "start", "upstream": "HEAD~1", "steps": [{"commit_sha": "-x"}]}, "GIT_REF_INVALID"),
        (
            {"action": "start", "upstream": "HEAD~1", "steps": [{"action": "squash", "commit_sha": "HEAD"}]},
            "INVALID_ARGUMENTS",
        ),
        (
            {"action": "start", "upstream": "HEAD~1", "steps": [{"action": "reword", "commit_sha": "HEAD"}]},
            "INVALID_ARGUMENTS",
        ),
        (
            {"action": "start", "upstream": "HEAD~1", "steps": [{"action": "exec", "commit_sha": "HEAD"}]},
            "INVALID_ARGUMENTS",
        ),
        (
            {"action": "start", "upstream": "HEAD~1", "steps": [{"commit_sha": "HEAD"}, {"commit_sha": "topic"}]},
            "INVALID_ARGUMENTS",
        ),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(workspace: Workspace, arguments: dict[str, Any], code: str) -> None:
    check_refused(workspace, "git_rebase", arguments, code)
