"""Merges, picks and reverts end as with git; conflicts are answered with all three sides and the way on."""

import shutil
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
    return copied(tmp_path / "repo", "merge", lambda base: _make_history(base, repo_template))


def _make_history(repo: Path, template: Path) -> None:
    """Make `clean` and `clash` beside main, and `ahead` after it."""
    shutil.copytree(template, repo, dirs_exist_ok=True)
    identify(repo)
    contents: dict[str, dict[str, str | bytes | None]] = {
        "clean": {"theirs.txt": "theirs\n", "src/pkg/mod.py": "def mod():\n    return 2\n"},
        "clash": {"docs/guide.md": "one\nTHEIRS\nthree\n", "README.md": None, "both.bin": b"\0theirs"},
    }
    for name, files in contents.items():
        git(repo, "checkout", "-q", "-b", name, "main")
        commit_files(repo, f"on {name}", files)
    git(repo, "checkout", "-q", "main")
    commit_files(
        repo,
        "ours",
        {"docs/guide.md": "one\nOURS\nthree\n", "README.md": "# Ours\n", "both.bin": b"\0ours", "ours.txt": "ours\n"},
    )
    git(repo, "checkout", "-q", "-b", "ahead")
    commit_files(repo, "ahead 1", {"ahead.txt": "1\n"})
    commit_files(repo, "ahead 2", {"ahead.txt": "2\n", "src/app.py": "ahead\n"})
    git(repo, "checkout", "-q", "main")


@pytest.mark.parametrize(
    ("arguments", "by_hand"),
    [
        ({"ref": "clean"}, ("merge", "-q", "--no-edit", "clean")),
        ({"target": "clean"}, ("merge", "-q", "--no-edit", "clean")),
        ({"ref": "clean", "message": "Join\n\nboth"}, ("merge", "-q", "-m", "Join\n\nboth", "clean")),
        ({"ref": "ahead"}, ("merge", "-q", "ahead")),
        ({"ref": "ahead", "ff_only": True}, ("merge", "-q", "--ff-only", "ahead")),
        ({"ref": "ahead", "no_ff": True}, ("merge", "-q", "--no-edit", "--no-ff", "ahead")),
        ({"ref": "clean", "squash": True}, ("merge", "-q", "--squash", "clean")),
        ({"ref": "clean", "no_commit": True}, ("merge", "-q", "--no-commit", "--no-ff", "clean")),
        ({"ref": "clash", "strategy": "ours"}, ("merge", "-q", "--no-edit", "-s", "ours", "clash")),
        ({"ref": "main"}, ("merge", "-q", "main")),
        ({"ref": "main~1"}, ("merge", "-q", "main~1")),
        ({"refs": ["clean", "ahead"], "no_ff": True}, ("merge", "-q", "--no-edit", "--no-ff", "clean", "ahead")),
        ({"action": "cherry_pick", "ref": "clean"}, ("cherry-pick", "clean")),
        ({"action": "cherry-pick", "refs": ["ahead~1", "ahead"]}, ("cherry-pick", "ahead~1", "ahead")),
        ({"action": "cherry_pick", "refs": "main..ahead"}, ("cherry-pick", "main..ahead")),
        ({"action": "cherry_pick", "ref": "clean", "no_commit": True}, ("cherry-pick", "-n", "clean")),
        ({"action": "revert", "ref": "HEAD"}, ("revert", "--no-edit", "HEAD")),
        ({"action": "revert", "ref": "main", "no_commit": True}, ("revert", "-n", "main")),
    ],
)
def test_it_does_what_git_does(workspace: Workspace, arguments: dict[str, Any], by_hand: tuple[str, ...]) -> None:
    answer = check_same_as_by_hand(workspace, "git_merge", arguments, by_git(*by_hand))
    assert result_of(answer)["success"] is True


def test_the_answer_tells_how_it_was_merged(workspace: Workspace, repo: Path) -> None:
    door = git_door(workspace)
    result = result_of(call(door, "git_merge", {"ref": "ahead"}))
    assert (result["fastforward"], result["already_up_to_date"]) == (True, False)
    assert result["commit"] == git(repo, "rev-parse", "ahead").strip()
    result = result_of(call(door, "git_merge", {"ref": "ahead"}))
    assert (result["fastforward"], result["already_up_to_date"], result.get("commit")) == (False, True, None)
    result = result_of(call(door, "git_merge", {"ref": "clean"}))
    assert (result["fastforward"], result["already_up_to_date"]) == (False, False)
    assert [one["path"] for one in result["delta"]["files"]] == ["src/pkg/mod.py", "theirs.txt"]
    result = result_of(call(door, "git_merge", {"action": "cherry_pick", "refs": ["clash"], "prefer": "theirs"}))
    assert result["success"] is False


def test_a_squash_with_a_message_is_committed(workspace: Workspace) -> None:
    def by_hand(root: Path) -> None:
        git(root, "merge", "-q", "--squash", "clean")
        git(root, "commit", "-q", "-m", "All of it")

    arguments = {"ref": "clean", "squash": True, "message": "All of it"}
    check_same_as_by_hand(workspace, "git_merge", arguments, by_hand)


def test_a_picked_commit_can_get_other_words(workspace: Workspace) -> None:
    def by_hand(root: Path) -> None:
        git(root, "cherry-pick", "clean")
        git(root, "commit", "-q", "--amend", "-m", "Other words")

    arguments = {"action": "cherry_pick", "ref": "clean", "message": "Other words"}
    check_same_as_by_hand(workspace, "git_merge", arguments, by_hand)


def test_a_merge_commit_is_picked_and_reverted_against_its_mainline(workspace: Workspace, repo: Path) -> None:
    git(repo, "merge", "-q", "--no-edit", "clean")
    check_refused(workspace, "git_merge", {"action": "revert", "ref": "HEAD"}, "INVALID_ARGUMENTS")
    check_refused(workspace, "git_merge", {"action": "revert", "ref": "HEAD", "mainline": 3}, "INVALID_ARGUMENTS")
    by_hand = by_git("revert", "--no-edit", "-m", "1", "HEAD")
    check_same_as_by_hand(workspace, "git_merge", {"action": "revert", "ref": "HEAD", "mainline": 1}, by_hand)


def test_conflicts_are_answered_with_three_sides_marks_and_the_way_on(workspace: Workspace, repo: Path) -> None:
    before = exact_picture(repo)
    other = copy_of(repo)
    git_by_hand(other, "merge", "clash")
    answer = call(git_door(workspace), "git_merge", {"ref": "clash"})
    result = result_of(answer)
    assert alike_picture(repo) == alike_picture(other)
    assert (result["success"], result["state"], result.get("commit")) == (False, "merge", None)
    files = {one["path"]: one for one in result["conflicts"]}
    guide = files["docs/guide.md"]
    assert guide["kind"] == "both modified"
    assert [guide[side]["text"] for side in ("ancestor", "ours", "theirs")] == [
        "one\ntwo\nthree\n",
        "one\nOURS\nthree\n",
        "one\nTHEIRS\nthree\n",
    ]
    assert guide["ours"]["line_count"] == 3
    assert guide["ours_oid"] == git(repo, "rev-parse", "main:docs/guide.md").strip()
    lines = (repo / "docs/guide.md").read_text().splitlines()
    marks = guide["markers"][0]
    assert lines[marks["start_line"] - 1].startswith("<<<<<<<")
    assert lines[marks["middle_line"] - 1] == "======="
    assert lines[marks["end_line"] - 1].startswith(">>>>>>>")
    assert files["README.md"]["kind"] == "deleted by them"
    assert files["README.md"].get("theirs") is None
    assert files["both.bin"]["ours"]["kind"] == "binary"
    told = answer.text()
    assert "conflict docs/guide.md: both modified at lines 2-6" in told
    assert "git_merge action=continue" in told
    check_undo(workspace, result["delta"]["mutation_id"], before)


def test_the_base_mark_is_told_where_git_writes_it_and_marks_of_other_sizes_are_found(
    workspace: Workspace, repo: Path
) -> None:
    git(repo, "config", "merge.conflictStyle", "diff3")
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("*.md conflict-marker-size=11\n")
    result = result_of(call(git_door(workspace), "git_merge", {"ref": "clash"}))
    marks = next(one for one in result["conflicts"] if one["path"] == "docs/guide.md")["markers"][0]
    lines = (repo / "docs/guide.md").read_text().splitlines()
    assert lines[marks["base_line"] - 1].startswith("|" * 11)


def test_secrets_in_conflict_are_not_shown(workspace: Workspace, repo: Path) -> None:
    for branch, text in (("clash", "TOKEN=theirs\n"), ("main", "TOKEN=ours\n")):
        git(repo, "checkout", "-q", branch)
        commit_files(repo, "secret", {".env": text})
    answer = call(git_door(workspace), "git_merge", {"ref": "clash"})
    secret = next(one for one in result_of(answer)["conflicts"] if one["path"] == ".env")
    assert secret["ours"]["kind"] == "secret"
    assert "TOKEN" not in answer.envelope_text()


def _resolve(root: Path) -> None:
    write(root, {"docs/guide.md": "one\nBOTH\nthree\n", "both.bin": b"\0both"})


def test_a_resolved_merge_is_continued_as_git_does_it(workspace: Workspace, repo: Path) -> None:
    door = git_door(workspace)
    result_of(call(door, "git_merge", {"ref": "clash"}))
    check_refused(workspace, "git_merge", {"action": "continue"}, "GIT_CONFLICTS")
    check_refused(workspace, "git_merge", {"ref": "clean"}, "GIT_OPERATION_IN_PROGRESS")
    _resolve(repo)
    result_of(call(door, "git_stage", {"paths": ["docs/guide.md", "both.bin", "README.md"]}))
    answer = check_same_as_by_hand(
        workspace, "git_merge", {"action": "continue"}, by_git("commit", "-q", "--no-edit", "--cleanup=strip")
    )
    assert len(git(repo, "rev-list", "--parents", "-1", "HEAD").split()) == 3
    assert "Conflicts" not in git(repo, "log", "-1", "--format=%B")
    assert result_of(answer)["state"] == "none"


def test_a_merge_is_continued_with_a_message(workspace: Workspace, repo: Path) -> None:
    door = git_door(workspace)
    result_of(call(door, "git_merge", {"ref": "clash"}))
    _resolve(repo)
    result_of(call(door, "git_stage", {"all": True}))
    arguments = {"action": "continue", "message": "Joined\n\n# by hand"}
    check_same_as_by_hand(workspace, "git_merge", arguments, by_git("commit", "-q", "-m", "Joined\n\n# by hand"))


def test_marks_that_are_left_are_told_when_a_merge_is_continued(workspace: Workspace) -> None:
    door = git_door(workspace)
    result_of(call(door, "git_merge", {"ref": "clash"}))
    result_of(call(door, "git_stage", {"all": True}))
    answer = call(door, "git_merge", {"action": "continue"})
    assert any("docs/guide.md still has conflict markers at line 2" in one for one in answer.meta.warnings)


def test_an_aborted_merge_ends_where_it_began_and_undo_brings_it_back(workspace: Workspace, repo: Path) -> None:
    before = exact_picture(repo)
    result_of(call(git_door(workspace), "git_merge", {"ref": "clash"}))
    _resolve(repo)
    answer = check_same_as_by_hand(workspace, "git_merge", {"action": "abort"}, by_git("merge", "--abort"))
    assert exact_picture(repo) == before
    assert result_of(answer)["success"] is True


@pytest.mark.parametrize("action", ["cherry_pick", "revert"])
def test_a_series_that_stops_goes_on_is_skipped_and_aborted_as_with_git(
    workspace: Workspace, repo: Path, action: str
) -> None:
    command = action.replace("_", "-")
    picks = ["clash", "clean"]
    if action == "revert":
        git(repo, "checkout", "-q", "clash")
        picks = ["main", "clash"]
    other = copy_of(repo, "stopped")
    git_by_hand(other, command, *picks)
    door = git_door(workspace)
    before = exact_picture(repo)
    result = result_of(call(door, "git_merge", {"action": action, "refs": picks}))
    assert result["success"] is False
    assert result["state"] == ("cherrypick" if action == "cherry_pick" else "revert")
    assert alike_picture(repo) == alike_picture(other)
    stopped = exact_picture(repo)
    check_same_as_by_hand(workspace, "git_merge", {"action": "abort"}, by_git(command, "--abort"))
    assert exact_picture(repo) == before
    undoable = result_of(call(door, "undo", {}))["candidates"][0]["operation"]
    result_of(call(door, "undo", {"operation": undoable}))
    assert exact_picture(repo) == stopped
    check_same_as_by_hand(workspace, "git_merge", {"action": "skip"}, by_git(command, "--skip"))


def test_a_picked_conflict_is_continued_and_the_series_goes_on(workspace: Workspace, repo: Path) -> None:
    door = git_door(workspace)
    result_of(call(door, "git_merge", {"action": "cherry_pick", "refs": ["clash", "clean"]}))
    _resolve(repo)
    result_of(call(door, "git_stage", {"paths": ["docs/guide.md", "both.bin", "README.md"]}))

    def by_hand(root: Path) -> None:
        git(root, "-c", "core.editor=true", "cherry-pick", "--continue")

    answer = check_same_as_by_hand(workspace, "git_merge", {"action": "continue"}, by_hand)
    assert len(result_of(answer)["commits"]) == 2


def test_a_picked_conflict_is_continued_with_other_words_and_its_author(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "clash")
    git(repo, "commit", "-q", "--amend", "--no-edit", "--author=Ada <ada@example.invalid>")
    git(repo, "checkout", "-q", "main")
    door = git_door(workspace)
    result_of(call(door, "git_merge", {"action": "cherry_pick", "refs": ["clash", "clean"]}))
    _resolve(repo)
    result_of(call(door, "git_stage", {"all": True}))
    result = result_of(call(door, "git_merge", {"action": "continue", "message": "Resolved"}))
    assert result["state"] == "none"
    assert git(repo, "log", "-2", "--format=%an %s").splitlines() == ["Test on clean", "Ada Resolved"]


def test_a_pick_that_changes_nothing_is_told_and_can_be_kept(workspace: Workspace, repo: Path) -> None:
    git(repo, "merge", "-q", "--no-edit", "clean")
    answer = check_refused(workspace, "git_merge", {"action": "cherry_pick", "ref": "clean"}, "GIT_NOTHING_TO_COMMIT")
    assert answer.error is not None
    assert git(repo, "rev-parse", "--short=12", "clean").strip() in answer.error.message
    check_same_as_by_hand(
        workspace,
        "git_merge",
        {"action": "cherry_pick", "ref": "clean", "allow_empty": True},
        by_git("cherry-pick", "--allow-empty", "--keep-redundant-commits", "clean"),
    )


def test_changes_in_the_way_refuse_and_stay(workspace: Workspace, repo: Path) -> None:
    write(repo, {"src/pkg/mod.py": "mine\n"})
    check_refused(workspace, "git_merge", {"ref": "clean"}, "GIT_WOULD_OVERWRITE")
    check_refused(workspace, "git_merge", {"action": "cherry_pick", "ref": "clean"}, "GIT_WOULD_OVERWRITE")
    git(repo, "checkout", "-q", "--", ".")
    write(repo, {"theirs.txt": "mine, untracked\n"})
    check_refused(workspace, "git_merge", {"ref": "clean"}, "GIT_WOULD_OVERWRITE")


def test_an_ignored_file_that_a_merge_overwrites_comes_back_by_undo(workspace: Workspace, repo: Path) -> None:
    commit_files(repo, "ignore", {".gitignore": "theirs.txt\n"})
    write(repo, {"theirs.txt": "mine, ignored\n"})
    check_same_as_by_hand(workspace, "git_merge", {"ref": "clean"}, by_git("merge", "-q", "--no-edit", "clean"))


@pytest.mark.parametrize("hook", ["pre-merge-commit", "commit-msg"])
def test_a_hook_that_refuses_the_merge_commit_leaves_nothing_behind(
    workspace: Workspace, repo: Path, hook: str
) -> None:
    install_hook(repo, hook, "echo CONFLICT in taste; exit 1")
    answer = check_refused(workspace, "git_merge", {"ref": "clean"}, "GIT_HOOK_FAILED")
    assert answer.error is not None
    assert answer.error.details["hook"] == hook
    result_of(call(git_door(workspace), "git_merge", {"ref": "clean", "pre_commit": False}))


def test_histories_without_a_common_commit_are_not_joined(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "--orphan", "alone")
    git(repo, "commit", "-q", "-m", "alone")
    git(repo, "checkout", "-q", "main")
    check_refused(workspace, "git_merge", {"ref": "alone"}, "GIT_UNRELATED")


def test_a_branch_without_commits_moves_to_what_is_merged(repo: Path) -> None:
    git(repo, "checkout", "-q", "--orphan", "fresh")
    git(repo, "rm", "-rfq", ".")
    with open_test_workspace(repo) as workspace:
        check_same_as_by_hand(workspace, "git_merge", {"ref": "clean"}, by_git("merge", "-q", "clean"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_ARGUMENTS"),
        ({"ref": "no-such"}, "GIT_REF_UNKNOWN"),
        ({"ref": "--abort"}, "GIT_REF_INVALID"),
        ({"ref": "a\nb"}, "GIT_REF_INVALID"),
        ({"ref": "both"}, "GIT_REF_AMBIGUOUS"),
        ({"ref": "clean", "strategy": "magic"}, "INVALID_ARGUMENTS"),
        ({"ref": "clean", "ff_only": True}, "GIT_NOT_MERGED"),
        ({"ref": "clean", "ff_only": True, "no_ff": True}, "INVALID_ARGUMENTS"),
        ({"action": "continue"}, "GIT_NO_OPERATION"),
        ({"action": "abort"}, "GIT_NO_OPERATION"),
        ({"action": "skip"}, "GIT_NO_OPERATION"),
        ({"action": "continue", "ref": "clean"}, "INVALID_ARGUMENTS"),
        ({"action": "cherry_pick", "refs": ["clean", "no-such"]}, "GIT_REF_UNKNOWN"),
        ({"action": "cherry_pick", "refs": ["main..main"]}, "GIT_REF_UNKNOWN"),
        ({"action": "cherry_pick", "refs": ["main...clean"]}, "GIT_REF_INVALID"),
        ({"action": "cherry_pick", "refs": ["clean", "clash"], "message": "x"}, "INVALID_ARGUMENTS"),
        ({"action": "cherry_pick", "refs": ["clean"], "mainline": 2}, "INVALID_ARGUMENTS"),
        ({"ref": "clean", "message": " "}, "INVALID_ARGUMENTS"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(
    workspace: Workspace, repo: Path, arguments: dict[str, Any], code: str
) -> None:
    git(repo, "branch", "both")
    git(repo, "tag", "both", "clean")
    check_refused(workspace, "git_merge", arguments, code)


def test_submodules_and_links_in_conflict_are_told_apart(workspace: Workspace, repo: Path) -> None:
    for branch, oid, target in (("clash", "1" * 40, "there"), ("main", "2" * 40, "here")):
        git(repo, "checkout", "-q", branch)
        git(repo, "update-index", "--add", "--cacheinfo", f"160000,{oid},module")
        (repo / "link").unlink(missing_ok=True)
        (repo / "link").symlink_to(target)
        git(repo, "add", "link")
        git(repo, "commit", "-q", "-m", "kinds")
    files = {
        one["path"]: one for one in result_of(call(git_door(workspace), "git_merge", {"ref": "clash"}))["conflicts"]
    }
    assert (files["module"]["ours"]["kind"], files["module"]["ours_oid"]) == ("submodule", "2" * 40)
    assert (files["link"]["theirs"]["kind"], files["link"]["theirs"]["text"]) == ("symlink", "there")


def test_long_sides_are_cut_and_say_so(workspace: Workspace, repo: Path) -> None:
    for branch in ("clash", "main"):
        git(repo, "checkout", "-q", branch)
        commit_files(repo, "long", {f"long-{number}.txt": f"{branch}\n" * 2_000 for number in range(20)})
    answer = call(git_door(workspace), "git_merge", {"ref": "clash"})
    result = result_of(answer)
    # Two thousand equal lines on either side are counted without comparing each with each.
    changed = [one for one in result["delta"]["files"] if one["path"].startswith("long")]
    assert {(one["insertions"], one["deletions"]) for one in changed} == {(2_003, 0)}
    sides = [one["ours"] for one in result["conflicts"] if one["path"].startswith("long")]
    assert len(sides) == 20
    assert all(side["text_cut"] and side["line_count"] == 2_000 for side in sides)
    assert sum(len(side["text"]) for side in sides) < 12_000
    assert len(answer.text()) < 4_000
    assert "and 13 more conflicts; git_status lists them" in answer.text()
