"""Git is no way around the gate: what it brings, where it writes and what it runs is judged like any change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import RowFilter
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import error_of, open_test_workspace, result_of
from support.governed import FILES, approve, write_intents
from support.repositories import copied, git, make_repository, write

SETTINGS = ".claude/settings.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = copied(tmp_path, "in the gate", _make_trees) / "tree"
    git(tree, "config", "--global", "user.name", "Test")
    git(tree, "config", "--global", "user.email", "test@example.invalid")
    return tree


def _make_trees(base: Path) -> None:
    tree = make_repository(base / "tree", FILES)
    git(base, "clone", "-q", "--bare", "tree", "origin.git")
    git(base, "clone", "-q", "origin.git", "other")
    git(tree, "remote", "add", "origin", str(base / "origin.git"))
    git(tree, "fetch", "-q", "origin")
    git(tree, "branch", "-q", "--set-upstream-to=origin/main")


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with open_test_workspace(root, ids=RandomIds(), accepts_hooks=False) as opened:
        yield opened


@pytest.fixture
def door(workspace: Workspace) -> Door:
    return Door(workspace, OPERATIONS)


def ask(door: Door, name: str, arguments: dict[str, Any]) -> Answer:
    """Call as an agent; nobody agrees to anything."""
    return dispatch(door, name, arguments, Caller(CallerKind.AGENT, "test", "c1", "pytest"))


def govern(door: Door) -> None:
    write_intents(door.workspace.root)
    result_of(ask(door, "select_active_intent", {"intent_id": "INT-001"}))


def agreed(door: Door, name: str, arguments: dict[str, Any]) -> Answer:
    """Let a person approve the held call, and send it again."""
    held = ask(door, name, arguments)
    assert held.outcome is Outcome.HELD, held.error
    assert held.error is not None
    approve(door.workspace, held.error.details["hold_id"])
    return ask(door, name, arguments)


def others_push(root: Path, files: dict[str, str | bytes]) -> None:
    other = root.parent / "other"
    write(other, files)
    git(other, "add", "-A", "-f")
    git(other, "commit", "-q", "-m", "by others")
    git(other, "push", "-q", "origin", "main")


def install(root: Path, hook: str, text: str, directory: str = ".git/hooks") -> Path:
    place = root / directory / hook
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    place.chmod(0o755)
    return place


# What git brings


def test_a_pull_that_brings_a_protected_file_waits_for_a_person_who_saw_it(door: Door, root: Path) -> None:
    others_push(root, {SETTINGS: "{}\n"})
    head = git(root, "rev-parse", "HEAD")
    held = ask(door, "git_pull", {})
    assert (held.outcome, error_of(held)) == (Outcome.HELD, "APPROVAL_PENDING")
    assert not (root / ".claude").exists()
    assert git(root, "rev-parse", "HEAD") == head
    assert held.error is not None
    card = door.workspace.gate.approvals.find(held.error.details["hold_id"]).card
    assert SETTINGS in card["paths"]
    assert result_of(agreed(door, "git_pull", {}))["updated"]
    assert (root / SETTINGS).exists()


def test_a_pull_of_what_nobody_has_fetched_stays_in_scope(door: Door, root: Path) -> None:
    others_push(root, {"src/payments/index.py": "RATE = 3\n"})
    govern(door)
    refused = agreed(door, "git_pull", {})
    assert error_of(refused) == "SCOPE_VIOLATION"
    assert (root / "src/payments/index.py").read_text("utf-8") == "RATE = 2\n"
    others_push(root, {"src/payments/index.py": "RATE = 2\n", "src/json/provider.py": "X = 1\n"})
    assert result_of(agreed(door, "git_pull", {}))["updated"]


def test_a_pull_under_intents_needs_one_approval_that_showed_the_protected_path(door: Door, root: Path) -> None:
    others_push(root, {"src/json/.mcp.json": "{}\n"})
    govern(door)
    held = agreed(door, "git_pull", {})
    assert error_of(held) == "APPROVAL_PENDING"
    assert not (root / "src/json/.mcp.json").exists()
    assert held.error is not None
    approve(door.workspace, held.error.details["hold_id"])
    assert result_of(ask(door, "git_pull", {}))["updated"]


@pytest.mark.parametrize("form", ["{base}/origin.git", "file://{base}/origin.git", "../origin.git"])
def test_a_remote_on_this_machine_is_network(door: Door, root: Path, form: str) -> None:
    git(root, "remote", "set-url", "origin", form.replace("{base}", str(root.parent)))
    govern(door)
    for name, arguments in (("git_push", {}), ("git_pull", {}), ("git_remote", {"action": "fetch"})):
        held = ask(door, name, arguments)
        assert held.outcome is Outcome.HELD, name
        assert held.error is not None
        card = door.workspace.gate.approvals.find(held.error.details["hold_id"]).card
        assert card["network"] == [f"file:{root.parent}/origin.git"]


@pytest.mark.parametrize("form", ["{base}/other", "file://{base}/other", "../other", "~/x"])
def test_a_repository_of_this_machine_that_an_agent_names_is_held_without_intents_too(
    door: Door, root: Path, form: str
) -> None:
    url = form.replace("{base}", str(root.parent))
    for arguments in (
        {"action": "add", "name": "x", "url": url},
        {"action": "set_url", "name": "origin", "url": url},
    ):
        assert error_of(ask(door, "git_remote", arguments)) == "APPROVAL_PENDING"
    assert error_of(ask(door, "git_submodule", {"action": "add", "url": url, "paths": ["x"]})) == "APPROVAL_PENDING"
    assert "other" not in git(root, "remote", "-v")


def test_a_rewritten_address_is_judged_by_where_it_leads(door: Door, root: Path) -> None:
    git(root, "remote", "set-url", "origin", "https://example.invalid/x.git")
    git(root, "config", "--global", f"url.{root.parent}/origin.git.insteadOf", "https://example.invalid/x.git")
    govern(door)
    held = ask(door, "git_push", {})
    assert held.error is not None
    card = door.workspace.gate.approvals.find(held.error.details["hold_id"]).card
    assert card["network"] == [f"file:{root.parent}/origin.git"]


BROUGHT = {
    "git_checkout": {"ref": "topic"},
    "git_merge": {"ref": "topic"},
    "cherry_pick": {"action": "cherry_pick", "ref": "topic"},
    "git_rebase": {"action": "start", "upstream": "topic"},
    "git_reset": {"mode": "hard", "ref": "topic"},
}


@pytest.mark.parametrize("name", BROUGHT)
@pytest.mark.parametrize("path", [SETTINGS, ".claude"])
def test_content_of_another_branch_is_judged_before_it_is_written(door: Door, root: Path, name: str, path: str) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    if path == ".claude":
        (root / path).symlink_to("src")
    else:
        write(root, {path: "{}\n"})
    git(root, "add", "-f", path)
    git(root, "commit", "-q", "-m", "topic")
    git(root, "checkout", "-q", "main")
    held = ask(door, name if name.startswith("git_") else "git_merge", BROUGHT[name])
    assert held.outcome is Outcome.HELD
    assert not (root / path).exists()


def test_a_merge_that_writes_elsewhere_than_expected_is_taken_back(door: Door, root: Path) -> None:
    """The strategy subtree moves paths, which no dry run of ours foresees."""
    library = make_repository(
        root.parent / "library", {"provider.py": "a\n", "index.py": "RATE = 2\n", "new.py": "n\n"}
    )
    git(root, "fetch", "-q", str(library), "main:library")
    git(root, "merge", "-q", "-s", "ours", "--allow-unrelated-histories", "-m", "joined", "library")
    git(root, "checkout", "-q", "library")
    write(root, {"index.py": "RATE = 5\n"})
    git(root, "commit", "-q", "-a", "-m", "rate")
    git(root, "checkout", "-q", "main")
    govern(door)
    before = git(root, "rev-parse", "HEAD")
    answer = ask(door, "git_merge", {"ref": "library", "strategy": "subtree"})
    assert error_of(answer) == "SCOPE_VIOLATION"
    assert git(root, "rev-parse", "HEAD") == before
    assert (root / "src/payments/index.py").read_text("utf-8") == "RATE = 2\n"


# Where git writes


@pytest.mark.parametrize("path", ["../beside", "link/beside", "/tmp/codeplane-beside"])
def test_a_working_tree_outside_is_a_foreign_place(door: Door, root: Path, path: str) -> None:
    (root / "link").symlink_to(root.parent)
    held = ask(door, "git_worktree", {"action": "add", "path": path, "detach": True})
    assert (held.outcome, error_of(held)) == (Outcome.HELD, "APPROVAL_PENDING")
    assert not (root / path).exists()


@pytest.mark.parametrize("path", [".claude", ".claude/hooks/x", ".orchestration/x", ".codex/x"])
def test_a_working_tree_at_a_protected_place_is_not_made(door: Door, root: Path, path: str) -> None:
    refused = ask(door, "git_worktree", {"action": "add", "path": path, "detach": True})
    assert refused.outcome in {Outcome.HELD, Outcome.DENIED}
    assert not (root / path).exists()


def test_a_fetch_that_would_move_a_branch_says_so(door: Door, root: Path) -> None:
    write(root, {"x.txt": "x\n"})
    git(root, "branch", "-q", "mine")
    answer = ask(door, "git_remote", {"action": "fetch", "refspecs": ["+main:refs/heads/mine"]})
    row = next(
        row
        for row in door.workspace.chain.rows(RowFilter(call_id=answer.meta.request_id))
        if row.call_id == answer.meta.request_id
    )
    assert "refs/heads/mine" in row.body["effects"]["git_refs"]
    assert row.body["effects"]["destructive"]


# What git runs


def test_a_commit_that_would_run_a_hook_is_held_until_a_person_accepts_it(door: Door, root: Path) -> None:
    hook = install(root, "pre-commit", "echo ran >> ../ran")
    write(root, {"src/json/new.py": "N = 1\n"})
    commit = {"paths": ["src/json/new.py"], "message": "m"}
    held = ask(door, "git_stage_and_commit", commit)
    assert (held.outcome, error_of(held)) == (Outcome.HELD, "APPROVAL_PENDING")
    assert held.error is not None
    assert "cpl policy accept-hooks" in held.error.message
    assert not (root.parent / "ran").exists()
    door.workspace.accept_helpers()
    assert result_of(ask(door, "git_stage_and_commit", commit))["oid"]
    assert (root.parent / "ran").read_text("utf-8") == "ran\n"

    write(root, {"src/json/new.py": "N = 2\n"})
    assert result_of(ask(door, "git_stage_and_commit", commit))["oid"]
    hook.write_text("#!/bin/sh\necho other >> ../ran\n", encoding="utf-8")
    write(root, {"src/json/new.py": "N = 3\n"})
    assert ask(door, "git_stage_and_commit", commit).outcome is Outcome.HELD
    assert "other" not in (root.parent / "ran").read_text("utf-8")


def test_what_runs_no_hook_is_not_held_for_one(door: Door, root: Path) -> None:
    install(root, "pre-commit", "exit 0")
    write(root, {"src/json/new.py": "N = 1\n"})
    assert result_of(ask(door, "git_stage", {"paths": ["src/json/new.py"]}))["staged"]


@pytest.mark.parametrize("directory", [".husky/_", "tools/hooks"])
def test_hooks_of_the_tree_are_bound_with_what_lies_beside_them(door: Door, root: Path, directory: str) -> None:
    install(root, "pre-commit", "exit 0", directory)
    beside = directory.removesuffix("/_") + "/lib.sh"
    write(root, {beside: "true\n"})
    git(root, "config", "core.hooksPath", directory)
    door.workspace.accept_helpers()
    commit = {"message": "m", "allow_empty": True}
    assert result_of(ask(door, "git_commit", commit))["oid"]
    write(root, {beside: "echo other\n"})
    assert ask(door, "git_commit", commit).outcome is Outcome.HELD
    edit = {"edits": [{"path": beside, "expected_content": "echo other", "new_content": "rm -rf x"}]}
    assert error_of(ask(door, "write_source", edit)) == "PROTECTED_PATH"


def test_what_a_hook_manager_reads_is_part_of_the_hook(door: Door, root: Path) -> None:
    install(root, "pre-commit", "exec pre-commit hook-impl --config=.pre-commit-config.yaml || true")
    write(root, {".pre-commit-config.yaml": "repos: []\n"})
    edit = {"edits": [{"path": ".pre-commit-config.yaml", "expected_content": "[]", "new_content": "[x]"}]}
    assert error_of(ask(door, "write_source", edit)) == "PROTECTED_PATH"


SETTINGS_THAT_RUN = {
    "core.sshCommand": "./tool.sh",
    "credential.helper": "!./tool.sh",
    "gpg.program": "./tool.sh",
    "diff.x.textconv": "sh tool.sh",
    "diff.external": "./tool.sh",
    "merge.x.driver": "./tool.sh %O %A %B",
    "filter.x.clean": "sh tool.sh",
    "filter.x.process": "./tool.sh",
    "core.fsmonitor": "./tool.sh",
    "core.editor": "./tool.sh",
    "core.pager": "./tool.sh",
    "remote.origin.uploadpack": "./tool.sh",
    "submodule.x.update": "!./tool.sh",
}


@pytest.mark.parametrize("setting", SETTINGS_THAT_RUN)
def test_a_setting_of_the_repository_that_runs_a_program_is_held_with_its_files(
    door: Door, root: Path, setting: str
) -> None:
    write(root, {"tool.sh": "#!/bin/sh\nexit 0\n"})
    (root / "tool.sh").chmod(0o755)
    git(root, "config", setting, SETTINGS_THAT_RUN[setting])
    branch = {"action": "create", "name": "x"}
    held = ask(door, "git_branch", branch)
    assert held.outcome is Outcome.HELD
    edit = {"edits": [{"path": "tool.sh", "expected_content": "exit 0", "new_content": "exit 1"}]}
    assert error_of(ask(door, "write_source", edit)) == "PROTECTED_PATH"
    door.workspace.accept_helpers()
    assert result_of(ask(door, "git_branch", branch))["name"] == "x"


def test_helpers_of_the_persons_own_configuration_are_not_held(door: Door, root: Path) -> None:
    git(root, "config", "--global", "credential.helper", "store")
    assert result_of(ask(door, "git_branch", {"action": "create", "name": "x"}))["name"] == "x"


# Secrets and what was not judged

SECRETS: dict[str, str] = {
    "auth.json": "{}\n",
    ".yarnrc.yml": "npmAuthToken: x\n",
    "src/appsettings.secrets.json": "{}\n",
    ".env": "KEY=1\n",
    "notes.txt": "first\n\n-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64 + "\n-----END RSA PRIVATE KEY-----\n",
}


@pytest.mark.parametrize("path", SECRETS)
def test_a_secret_is_neither_staged_nor_committed_without_a_person(door: Door, root: Path, path: str) -> None:
    write(root, {path: SECRETS[path]})
    for name, arguments in (
        ("git_stage", {"paths": [path]}),
        ("git_stage", {"all": True}),
        ("git_stage_and_commit", {"paths": [path], "message": "m"}),
    ):
        held = ask(door, name, arguments)
        assert (held.outcome, error_of(held)) == (Outcome.HELD, "APPROVAL_PENDING"), (name, arguments)
        assert git(root, "ls-files", path) == ""
    git(root, "add", "-f", path)
    assert ask(door, "git_commit", {"message": "m"}).outcome is Outcome.HELD


@pytest.mark.parametrize("path", SECRETS)
def test_a_secret_is_neither_read_nor_found(door: Door, root: Path, path: str) -> None:
    write(root, {path: SECRETS[path] + "needle\n"})
    assert error_of(ask(door, "read_source", {"targets": [{"path": path}]})) == "SECRET_FILE"
    assert result_of(ask(door, "search", {"query": "needle"}))["results"] == []


@pytest.mark.parametrize("paths", [[], ["plain.txt"]])
def test_what_was_a_secret_before_a_rename_is_not_shown(door: Door, root: Path, paths: list[str]) -> None:
    write(root, {".env": "".join(f"KEY_{n}=needle\n" for n in range(9))})
    git(root, "add", "-f", ".env")
    git(root, "commit", "-q", "-m", "secret")
    git(root, "mv", ".env", "plain.txt")
    git(root, "commit", "-q", "-m", "renamed")
    write(root, {"plain.txt": (root / "plain.txt").read_text("utf-8") + "needle\n"})
    git(root, "commit", "-q", "-a", "-m", "more")
    answer = ask(door, "git_diff", {"base": "HEAD~2", "target": "HEAD", "paths": paths})
    assert [one["path"] for one in result_of(answer)["files"]] == ["plain.txt"]
    assert "needle" not in answer.envelope_text()


def test_what_a_person_let_in_is_staged(door: Door, root: Path) -> None:
    write(root, {"auth.json": "{}\n", ".cplignore": "!auth.json\n"})
    assert result_of(ask(door, "git_stage", {"paths": ["auth.json"]}))["staged"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("git_stage", {"paths": ["src/payments/index.py"]}),
        ("git_stage", {"all": True}),
        ("git_stage", {"paths": ["src/payments/other.py"], "action": "unstage"}),
        ("git_reset", {"paths": ["src/payments/other.py"]}),
    ],
)
def test_the_index_is_changed_in_scope_only(door: Door, root: Path, name: str, arguments: dict[str, Any]) -> None:
    write(root, {"src/payments/other.py": "O = 1\n", "src/payments/index.py": "RATE = 4\n"})
    git(root, "add", "src/payments/other.py")
    govern(door)
    before = git(root, "ls-files", "-s")
    assert error_of(ask(door, name, arguments)) == "SCOPE_VIOLATION"
    assert git(root, "ls-files", "-s") == before


def test_renaming_the_default_branch_waits_for_a_person(door: Door, root: Path) -> None:
    git(root, "branch", "-q", "topic")
    govern(door)
    assert ask(door, "git_branch", {"action": "rename", "new_name": "x"}).outcome is Outcome.HELD
    assert result_of(ask(door, "git_branch", {"action": "rename", "name": "topic", "new_name": "y"}))["name"] == "y"


def test_a_merge_that_drops_the_other_side_waits_for_a_person(door: Door, root: Path) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    write(root, {"src/json/old.py": "X = 2\n"})
    git(root, "commit", "-q", "-a", "-m", "topic")
    git(root, "checkout", "-q", "main")
    govern(door)
    assert ask(door, "git_merge", {"ref": "topic", "strategy": "ours"}).outcome is Outcome.HELD
