"""git_remote, git_push and git_pull against remotes of this machine, and against some that never answer."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from codeplane.git.remotes import host_of, without_password
from support.doors import call, error_of, result_of
from support.git_twins import Twins, make_twins
from support.repositories import git, make_repository, write


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    """Each has a remote of its own, `origin`, in which somebody else has a clone."""

    def prepare(root: Path) -> None:
        make_repository(root, {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"})
        git(root.parent, "clone", "-q", "--bare", str(root), "origin.git")
        git(root, "remote", "add", "origin", "../origin.git")
        git(root, "fetch", "-q", "origin")
        git(root, "branch", "-q", "--set-upstream-to=origin/main")
        git(root.parent, "clone", "-q", "origin.git", "other")

    return make_twins(tmp_path, prepare)


def others_push(root: Path, files: dict[str, str | bytes], branch: str = "main") -> None:
    """Let somebody else commit and push."""
    other = root.parent / "other"
    write(other, files)
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "by others")
    git(other, "push", "-q", "origin", f"HEAD:{branch}")


REMOTES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "add": ({"action": "add", "name": "fork", "url": "../fork.git"}, ["remote", "add", "fork", "../fork.git"]),
    "remove": ({"action": "remove", "name": "origin"}, ["remote", "remove", "origin"]),
    "rename": ({"action": "rename", "name": "origin", "new_name": "up"}, ["remote", "rename", "origin", "up"]),
    "address": (
        {"action": "set_url", "name": "origin", "url": "../x.git"},
        ["remote", "set-url", "origin", "../x.git"],
    ),
}


@pytest.mark.parametrize("what", REMOTES)
def test_each_action_on_remotes_does_what_git_does_and_can_be_undone(twins: Twins, what: str) -> None:
    arguments, by_hand = REMOTES[what]
    twins.check("git_remote", arguments, [by_hand])


FETCHES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "plain": ({}, ["fetch", "origin"]),
    "pruned": ({"prune": True}, ["fetch", "--prune", "origin"]),
    "all": ({"name": "*"}, ["fetch", "--all"]),
    "one branch": ({"name": "origin", "refspecs": "extra"}, ["fetch", "origin", "extra"]),
    "without tags": ({"tags": False}, ["fetch", "--no-tags", "origin"]),
}


@pytest.mark.parametrize("what", FETCHES)
def test_fetching_does_what_git_does_and_can_be_undone(twins: Twins, what: str) -> None:
    for root in (twins.ours, twins.theirs):
        git(root, "update-ref", "refs/remotes/origin/gone", "HEAD")
        others_push(root, {"c.txt": "c\n"}, "extra")
        git(root.parent / "other", "tag", "v1")
        git(root.parent / "other", "push", "-q", "--tags")
    arguments, by_hand = FETCHES[what]
    twins.check("git_remote", {"action": "fetch", **arguments}, [by_hand])


def test_remotes_are_listed_without_passwords(twins: Twins) -> None:
    git(twins.ours, "remote", "add", "secret", "https://me:hunter2@example.invalid/x.git")
    git(twins.ours, "remote", "set-url", "--push", "origin", "../push.git")
    listed = {one["name"]: one for one in twins.call("git_remote", {})["remotes"]}
    assert listed["secret"]["urls"] == ["https://example.invalid/x.git"]
    assert listed["origin"] == {"name": "origin", "urls": ["../origin.git"], "push_urls": ["../push.git"]}


@pytest.mark.parametrize(
    ("url", "shown", "host"),
    [
        ("https://u:p@h.example/x", "https://h.example/x", "h.example"),
        ("https://token@h.example:8443/x", "https://h.example:8443/x", "h.example"),
        ("ssh://git:p@h.example/x", "ssh://git@h.example/x", "h.example"),
        ("git@h.example:x/y.git", "git@h.example:x/y.git", "h.example"),
        ("file:///x/y", "file:///x/y", None),
        ("/x/y.git", "/x/y.git", None),
        ("../y.git", "../y.git", None),
    ],
)
def test_addresses_are_read_as_git_reads_them(url: str, shown: str, host: str | None) -> None:
    assert (without_password(url), host_of(url)) == (shown, host)


BAD_REMOTES: dict[str, tuple[dict[str, Any], str]] = {
    "exists": ({"action": "add", "name": "origin", "url": "x"}, "GIT_REF_EXISTS"),
    "option": ({"action": "add", "name": "--mirror", "url": "x"}, "GIT_REF_INVALID"),
    "bad name": ({"action": "add", "name": "a b", "url": "x"}, "GIT_REF_INVALID"),
    "option as address": ({"action": "add", "name": "x", "url": "--upload-pack=touch x"}, "INVALID_FORMAT"),
    "program as address": ({"action": "add", "name": "x", "url": "ext::sh -c date"}, "INVALID_FORMAT"),
    "unknown": ({"action": "remove", "name": "nowhere"}, "GIT_REMOTE_UNKNOWN"),
    "fetch unknown": ({"action": "fetch", "name": "nowhere"}, "GIT_REMOTE_UNKNOWN"),
    "fetch unknown branch": ({"action": "fetch", "name": "origin", "refspecs": ["nope"]}, "GIT_REF_UNKNOWN"),
    "fetch an option": ({"action": "fetch", "name": "origin", "refspecs": ["--all"]}, "GIT_REF_INVALID"),
    "no url": ({"action": "add", "name": "x"}, "INVALID_ARGUMENTS"),
}


@pytest.mark.parametrize("what", BAD_REMOTES)
def test_bad_remotes_are_refused_and_nothing_changes(twins: Twins, what: str) -> None:
    arguments, code = BAD_REMOTES[what]
    twins.check_refused("git_remote", arguments, code)


def test_a_push_sends_what_git_sends_and_says_what_became_of_it(twins: Twins) -> None:
    for root in (twins.ours, twins.theirs):
        git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    result = twins.check("git_push", {}, [["push", "origin", "main"]])
    assert result["refs"] == [{"ref": "refs/heads/main", "status": "updated", "summary": result["refs"][0]["summary"]}]
    assert result["upstream_set"] is False
    origin = twins.ours.parent / "origin.git"
    assert git(origin, "rev-parse", "main") == git(twins.ours, "rev-parse", "main")
    again = twins.call("git_push", {})
    assert again["refs"][0]["status"] == "up_to_date"


def test_a_new_branch_is_followed_from_its_first_push_on(twins: Twins) -> None:
    for root in (twins.ours, twins.theirs):
        git(root, "checkout", "-q", "-b", "topic")
    result = twins.check("git_push", {}, [["push", "-u", "origin", "topic"]])
    assert (result["upstream_set"], result["refs"][0]["status"]) == (True, "created")


PUSHES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "tag": ({"branch": "v1"}, ["push", "origin", "refs/tags/v1"]),
    "all tags": ({"tags": True}, ["push", "--tags", "origin", "main"]),
    "another name": ({"target": "elsewhere"}, ["push", "origin", "main:elsewhere"]),
    "deleted": ({"branch": "extra", "delete": True}, ["push", "--delete", "origin", "extra"]),
}


@pytest.mark.parametrize("what", PUSHES)
def test_other_pushes_leave_the_remote_as_git_would(twins: Twins, what: str) -> None:
    arguments, by_hand = PUSHES[what]
    for root in (twins.ours, twins.theirs):
        git(root, "tag", "v1")
        git(root, "push", "-q", "origin", "main:extra")
        git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    twins.call("git_push", arguments)
    git(twins.theirs, *by_hand)
    listings = [git(root.parent / "origin.git", "for-each-ref") for root in (twins.ours, twins.theirs)]
    assert listings[0] == listings[1]


def test_a_push_that_would_lose_commits_is_refused_and_forced_only_over_what_was_seen(twins: Twins) -> None:
    git(twins.ours, "commit", "-q", "--allow-empty", "-m", "mine")
    others_push(twins.ours, {"c.txt": "c\n"})
    error = twins.check_refused("git_push", {}, "GIT_PUSH_REJECTED")
    assert error.details["refs"][0]["status"] == "rejected"
    twins.check_refused("git_push", {"force": True}, "GIT_PUSH_REJECTED")
    git(twins.ours, "fetch", "-q")
    assert twins.call("git_push", {"force": True})["refs"][0]["status"] == "forced"
    others = twins.ours.parent / "other"
    git(others, "fetch", "-q")
    git(others, "reset", "-q", "--hard", "origin/main")
    others_push(twins.ours, {"d.txt": "d\n"})
    git(twins.ours, "commit", "-q", "--amend", "--allow-empty", "-m", "mine again")
    assert twins.call("git_push", {"force": "overwrite"})["refs"][0]["status"] == "forced"


def test_a_trial_push_sends_nothing(twins: Twins) -> None:
    git(twins.ours, "commit", "-q", "--allow-empty", "-m", "mine")
    before = git(twins.ours.parent / "origin.git", "for-each-ref")
    assert twins.call("git_push", {"dry_run": True})["refs"][0]["status"] == "updated"
    assert git(twins.ours.parent / "origin.git", "for-each-ref") == before


def test_the_pre_push_hook_runs_and_may_refuse(twins: Twins) -> None:
    git(twins.ours, "commit", "-q", "--allow-empty", "-m", "mine")
    hook = twins.ours / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with twins.door() as door:
        answer = call(door, "git_push", {})
    assert answer.error is not None
    assert "not today" in answer.error.message
    assert twins.call("git_push", {"pre_push": False})["refs"][0]["status"] == "updated"


BAD_PUSHES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown branch": ({"branch": "nope"}, "GIT_REF_UNKNOWN"),
    "option": ({"branch": "--all"}, "GIT_REF_INVALID"),
    "option as target": ({"target": "--mirror"}, "GIT_REF_INVALID"),
    "unknown remote": ({"remote": "nowhere"}, "GIT_REMOTE_UNKNOWN"),
    "delete what is not there": ({"branch": "nope", "delete": True}, "GIT_PUSH_REJECTED"),
    "delete without a name": ({"delete": True}, "INVALID_ARGUMENTS"),
}


@pytest.mark.parametrize("what", BAD_PUSHES)
def test_bad_pushes_are_refused_and_nothing_changes(twins: Twins, what: str) -> None:
    arguments, code = BAD_PUSHES[what]
    twins.check_refused("git_push", arguments, code)


def test_a_push_from_a_detached_head_or_without_remotes_says_what_is_missing(twins: Twins) -> None:
    git(twins.ours, "checkout", "-q", "--detach")
    twins.check_refused("git_push", {}, "GIT_DETACHED_HEAD")
    twins.check_refused("git_pull", {}, "GIT_DETACHED_HEAD")
    git(twins.ours, "checkout", "-q", "main")
    git(twins.ours, "remote", "remove", "origin")
    for tool, arguments in (("git_push", {}), ("git_pull", {}), ("git_remote", {"action": "fetch"})):
        twins.check_refused(tool, arguments, "GIT_REMOTE_UNKNOWN")


PULLS: dict[str, tuple[dict[str, Any], list[str], bool]] = {
    "fast-forward": ({}, ["pull", "--ff-only"], False),
    "merge": ({}, ["pull", "--no-rebase", "--no-edit"], True),
    "rebase": ({"rebase": True}, ["pull", "--rebase"], True),
    "named": ({"remote": "origin", "branch": "extra"}, ["pull", "--no-rebase", "--no-edit", "origin", "extra"], False),
}


@pytest.mark.parametrize("what", PULLS)
def test_a_pull_does_what_git_does_and_can_be_undone(twins: Twins, what: str) -> None:
    arguments, by_hand, is_diverged = PULLS[what]
    for root in (twins.ours, twins.theirs):
        others_push(root, {"a.txt": "one\nTWO\nthree\n", "c.py": "def c():\n    pass\n"})
        git(root.parent / "other", "push", "-q", "origin", "HEAD:extra")
        if is_diverged:
            write(root, {"b.txt": "mine\n"})
            git(root, "commit", "-q", "-a", "-m", "mine")
    result = twins.check("git_pull", arguments, [by_hand])
    assert (result["success"], result["updated"], result["fastforward"]) == (True, True, not is_diverged)
    assert {one["path"] for one in result["delta"]["files"]} >= {"a.txt", "c.py"}
    assert result["delta"]["symbols_changed"] == ["c"]
    assert twins.call("git_pull", arguments)["updated"] is False


@pytest.mark.parametrize("rebase", [False, True])
def test_a_pull_that_meets_conflicts_answers_with_them_and_can_be_undone(twins: Twins, rebase: bool) -> None:
    others_push(twins.ours, {"a.txt": "one\nTHEIRS\nthree\n"})
    write(twins.ours, {"a.txt": "one\nOURS\nthree\n"})
    git(twins.ours, "commit", "-q", "-a", "-m", "mine")
    before = git(twins.ours, "rev-parse", "HEAD")
    result = twins.call("git_pull", {"rebase": rebase})
    assert result["success"] is False
    assert [one["path"] for one in result["conflicts"]] == ["a.txt"]
    assert result["conflicts"][0]["markers"][0]["start_line"] == 2
    assert result["state"] == ("rebase" if rebase else "merge")
    assert any("git_stage" in one for one in result["next"])
    twins.check_refused("git_pull", {}, "GIT_OPERATION_IN_PROGRESS")
    twins.undo(result)
    assert git(twins.ours, "rev-parse", "HEAD") == before
    assert (twins.ours / "a.txt").read_text() == "one\nOURS\nthree\n"
    assert not (twins.ours / ".git" / "MERGE_HEAD").exists()
    assert not (twins.ours / ".git" / "rebase-merge").exists()


def test_a_pull_over_local_changes_or_of_diverged_histories_is_refused_as_git_does(twins: Twins) -> None:
    others_push(twins.ours, {"a.txt": "theirs\n"})
    write(twins.ours, {"a.txt": "not committed\n"})
    twins.check_refused("git_pull", {}, "GIT_WOULD_OVERWRITE")
    git(twins.ours, "checkout", "-q", "--", "a.txt")
    git(twins.ours, "commit", "-q", "--allow-empty", "-m", "mine")
    with twins.door() as door:
        assert call(door, "git_pull", {"ff_only": True}).error is not None
    twins.check_refused("git_pull", {"branch": "nope"}, "GIT_REF_UNKNOWN")
    twins.check_refused("git_pull", {"branch": "--all"}, "GIT_REF_INVALID")


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never say a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


class _Demanding(BaseHTTPRequestHandler):
    """Asks everybody for a password."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.slow
def test_a_remote_that_never_answers_ends_the_call_in_time(twins: Twins) -> None:
    with silent_server() as port:
        git(twins.ours, "remote", "set-url", "origin", f"http://127.0.0.1:{port}/x.git")
        begun = time.monotonic()
        for tool, arguments in (("git_pull", {}), ("git_push", {}), ("git_remote", {"action": "fetch"})):
            twins.check_refused(tool, {**arguments, "timeout_seconds": 1}, "TIMED_OUT")
        assert time.monotonic() - begun < 60


def test_a_remote_that_asks_for_a_password_is_refused_at_once_and_one_that_is_not_there_is_named(twins: Twins) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Demanding)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        git(twins.ours, "remote", "set-url", "origin", f"http://127.0.0.1:{server.server_port}/x.git")
        twins.check_refused("git_pull", {}, "GIT_AUTHENTICATION_FAILED")
        port = server.server_port
    finally:
        server.shutdown()
        server.server_close()
    git(twins.ours, "remote", "set-url", "origin", f"http://127.0.0.1:{port}/x.git")
    twins.check_refused("git_push", {}, "GIT_REMOTE_UNREACHABLE")
    git(twins.ours, "remote", "set-url", "origin", "../nowhere.git")
    twins.check_refused("git_remote", {"action": "fetch"}, "GIT_REMOTE_UNKNOWN")


def test_a_credential_helper_of_the_person_is_asked(twins: Twins, tmp_path: Path) -> None:
    seen: list[str | None] = []

    class Listening(_Demanding):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            super().do_GET()

    server = HTTPServer(("127.0.0.1", 0), Listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    helper = tmp_path / "helper"
    helper.write_text(
        "#!/bin/sh\n[ \"$1\" = get ] && printf 'username=me\\npassword=pw\\n'\nexit 0\n", encoding="utf-8"
    )
    helper.chmod(0o755)
    try:
        git(twins.ours, "remote", "set-url", "origin", f"http://127.0.0.1:{server.server_port}/x.git")
        git(twins.ours, "config", "credential.helper", str(helper))
        with twins.door() as door:
            assert error_of(call(door, "git_remote", {"action": "fetch"})) == "GIT_AUTHENTICATION_FAILED"
    finally:
        server.shutdown()
        server.server_close()
    assert "Basic bWU6cHc=" in seen


def test_a_shallow_clone_can_be_deepened_and_taken_back(twins: Twins, tmp_path: Path) -> None:
    for number in range(3):
        others_push(twins.ours, {"c.txt": f"{number}\n"})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{twins.ours.parent / 'origin.git'}", "shallow")
    shallow = Twins(tmp_path / "shallow", tmp_path / "shallow")
    assert git(shallow.ours, "rev-list", "--count", "HEAD").strip() == "1"
    result = shallow.call("git_remote", {"action": "fetch", "unshallow": True})
    assert git(shallow.ours, "rev-list", "--count", "HEAD").strip() == "4"
    shallow.undo(result)
    assert git(shallow.ours, "rev-list", "--count", "HEAD").strip() == "1"
    with shallow.door() as door:
        assert result_of(call(door, "git_remote", {}))["remotes"]


@pytest.mark.parametrize("path", ["mine.log", "mine.log/deep.log"])
def test_an_ignored_file_that_a_pull_overwrites_comes_back(twins: Twins, path: str) -> None:
    """Git overwrites ignored files without a word, and before the fetch nobody knows which."""
    others_push(twins.ours, {path: "theirs\n"})
    (twins.ours / ".git" / "info").mkdir(exist_ok=True)
    (twins.ours / ".git" / "info" / "exclude").write_text("*.log\n")
    write(twins.ours, {"mine.log": "nowhere else\n"})
    result = twins.call("git_pull", {})
    assert (twins.ours / path).read_text() == "theirs\n"
    twins.undo(result)
    assert (twins.ours / "mine.log").read_text() == "nowhere else\n"
