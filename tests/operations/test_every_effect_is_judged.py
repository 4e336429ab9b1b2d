"""A walk over the whole catalog: what a call does to files, the index, refs, other places and processes is judged.

Every operation has samples here, and every choice that a changing operation offers is in one of them; an operation
without samples fails. Each sample runs in a small world of its own: the effects that the gate was shown are compared
with what really changed. Then the gate itself is asked, with intents on.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.callers import Caller
from codeplane.core.hashing import sha256_file
from codeplane.core.ids import RandomIds
from codeplane.govern.intents import INTENTS_FILE
from codeplane.ledger.effects import Effects
from codeplane.ledger.policy import CallFacts, Decision, Verdict
from codeplane.memory.experiences import DOMAINS
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS, TOOLS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from support.doors import call, caller, error_of, open_test_workspace, person, result_of
from support.effort import repeated
from support.repositories import copied, git, make_repository, write

HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite", "pre-merge-commit", "post-merge",
    "post-checkout", "pre-rebase", "pre-push", "applypatch-msg", "pre-applypatch", "post-applypatch",
)  # fmt: skip
INTENTS = "active_intents:\n  - {id: INT-1, name: Elsewhere, status: active, owned_scope: ['elsewhere/**']}\n"


@dataclass(frozen=True)
class World:
    """A repository `tree` with a remote, a clone of somebody else, a library, and branches that differ."""

    base: Path

    @property
    def tree(self) -> Path:
        return self.base / "tree"


Prepare = Callable[[World], None]


@dataclass(frozen=True)
class Sample:
    """A call, and what has to be so before it; `{base}`, `{HEAD~1}` and `{LAST}` stand for what the world knows."""

    arguments: Mapping[str, Any]
    prepare: Prepare = lambda _world: None
    first: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def _dirty(world: World) -> None:
    write(world.tree, {"a.txt": "changed\n", "new.txt": "new\n"})


def _has_upstream(world: World) -> None:
    write(world.tree, {".codeplane/config.yaml": "gateway: {servers: {toy: {command: toy}}}\n"})


def _has_servers_to_import(world: World) -> None:
    write(world.tree, {"mcp.json": '{"mcpServers": {"toy": {"command": "toy", "env": {"TOY_TOKEN": "secret"}}}}'})


def _has_overrides(world: World) -> None:
    folder = ".orchestration/memory/overrides"
    write(world.tree, {f"{folder}/a.json": '{"id": "one", "note": "Take care."}', f"{folder}/b.json": "no JSON"})


def _has_code(world: World) -> None:
    write(
        world.tree, {"code.py": "def f(): pass\n", "use.py": "from code import f\nf()\n", "Box.java": "class Box {}\n"}
    )


def _has_linters(world: World) -> None:
    """Ruff and mypy of this environment in the project's own; there is something to repair."""
    (world.tree / ".venv").mkdir()
    (world.tree / ".venv/bin").symlink_to(Path(sys.executable).parent)
    write(
        world.tree,
        {
            "pyproject.toml": "[tool.ruff.format]\n[tool.mypy]\n",
            ".gitignore": ".venv\n",
            "code.py": "import os\nx : int = 'a'\n",
        },
    )


def _has_plan(world: World) -> None:
    write(world.tree, {"plan.json": "{}"})


def _has_tests(world: World) -> None:
    write(world.tree, {"test_a.py": "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"})


RENAME = {"symbol": "code.py::f", "new_name": "Renamed"}
MOVE = {"from_path": "code.py", "to_path": "d/moved.py"}


def _staged(world: World) -> None:
    _dirty(world)
    git(world.tree, "add", "a.txt")


def _stashed(world: World) -> None:
    _dirty(world)
    git(world.tree, "stash", "push", "-q", "-u")


def _pushed_by_others(world: World) -> None:
    write(world.base / "other", {"theirs.txt": "theirs\n", "a.txt": "by others\n"})
    git(world.base / "other", "add", "-A")
    git(world.base / "other", "commit", "-q", "-m", "by others")
    git(world.base / "other", "push", "-q", "origin", "main")


def _both_pushed(world: World) -> None:
    _pushed_by_others(world)
    _own_commit(world)


def _own_commit(world: World) -> None:
    write(world.tree, {"own.txt": "own\n"})
    git(world.tree, "add", "own.txt")
    git(world.tree, "commit", "-q", "-m", "own")


def _conflict(world: World) -> None:
    write(world.tree, {"a.txt": "ours\n"})
    git(world.tree, "commit", "-q", "-a", "-m", "ours")
    git_fails(world.tree, "merge", "-q", "topic")


def _picked_conflict(world: World) -> None:
    write(world.tree, {"a.txt": "ours\n"})
    git(world.tree, "commit", "-q", "-a", "-m", "ours")
    git_fails(world.tree, "cherry-pick", "topic")


def _resolved(world: World) -> None:
    _conflict(world)
    write(world.tree, {"a.txt": "resolved\n"})
    git(world.tree, "add", "a.txt")


def _rebase_conflict(world: World) -> None:
    write(world.tree, {"a.txt": "ours\n"})
    git(world.tree, "commit", "-q", "-a", "-m", "ours")
    git_fails(world.tree, "rebase", "-q", "topic")


def _rebase_resolved(world: World) -> None:
    _rebase_conflict(world)
    write(world.tree, {"a.txt": "resolved\n"})
    git(world.tree, "add", "a.txt")


def _submodule(world: World) -> None:
    git(world.tree, "submodule", "add", "-q", str(world.base / "library"), "lib")
    git(world.tree, "commit", "-q", "-m", "library")


def _fresh_submodule(world: World) -> None:
    _submodule(world)
    git(world.tree, "submodule", "deinit", "-q", "--force", "lib")


def _linked(world: World) -> None:
    git(world.tree, "worktree", "add", "-q", str(world.base / "linked"), "topic")


def _locked(world: World) -> None:
    _linked(world)
    git(world.tree, "worktree", "lock", str(world.base / "linked"))


def _linked_inside(world: World) -> None:
    git(world.tree, "worktree", "add", "-q", "inside", "topic")


def _has_intents(world: World) -> None:
    write(world.tree, {INTENTS_FILE: INTENTS})


def _has_specification(world: World) -> None:
    write(world.tree, {"specs/001-totals/spec.md": "# Totals\n", "specs/001-totals/tasks.md": "- [ ] edit src/a.py\n"})


def git_fails(directory: Path, *arguments: str) -> None:
    """Run a git command that stops at conflicts."""
    with pytest.raises(AssertionError):
        git(directory, *arguments)


def _two_commits(world: World) -> None:
    _own_commit(world)
    write(world.tree, {"second.txt": "second\n"})
    git(world.tree, "add", "second.txt")
    git(world.tree, "commit", "-q", "-m", "second")


def _tag_pushed(world: World) -> None:
    git(world.tree, "push", "-q", "origin", "v0")


def _steps(action: str) -> dict[str, Any]:
    first = {"action": "pick", "commit_sha": "{HEAD~1}"}
    second: dict[str, Any] = {"action": action, "commit_sha": "{HEAD}"}
    if action in {"reword", "squash"}:
        second["message"] = "other words"
    return {"action": "start", "upstream": "HEAD~2", "onto": "topic", "steps": [first, second]}


EDIT = {"edits": [{"path": "a.txt", "expected_content": "a", "new_content": "b"}]}
LESSON = {
    "type": "effective",
    "domain": "Tools",
    "situation": "The pool hangs",
    "approach": "Close it",
    "outcome": "It ends",
    "reasoning": "Locks are copied",
}
SAMPLES: dict[str, tuple[Sample, ...]] = {
    "analyze_problem": (Sample({"problem": "Why does it hang?"}),),
    "apply_preset": (Sample({"preset_name": "three-gate"}),),
    "authorize_operation": (Sample({"operation_token": "op-1-aaaaaaaaa"}),),
    "check_compliance": (Sample({"current_phase": "teach", "action": "edit"}),),
    "compliance_router": (Sample({"session_id": 1, "snapshot_hash": "0", "user_input": "Go"}),),
    "compliance_snapshot": (Sample({}),),
    "export_config": (
        Sample({"preset_name": "strict"}),
        Sample({"preset_name": "strict", "file_path": "a.txt"}),
    ),
    "finalize_decision": (Sample({"session_id": "reasoning-0", "conclusion": "Close it."}),),
    "finalize_response": (Sample({"session_id": 1, "draft": "Close it."}),),
    "gather_context": (Sample({"session_id": "reasoning-0"}),),
    "get_config": (Sample({}),),
    "get_project_context": (Sample({}),),
    "get_session_state": (Sample({"session_id": 1}),),
    "get_workflow_status": (Sample({}),),
    "governance_validate": (Sample({"session_id": 1}),),
    "guarded_cycle": (Sample({"session_id": 1, "phase": "SNAPSHOT"}),),
    "health_check": (Sample({}),),
    "install_hooks": (Sample({}),),
    "list_presets": (Sample({}),),
    "reason_through": (Sample({"session_id": "reasoning-0", "thought": "Locks.", "thought_number": 1}),),
    "record_invocation": (Sample({"session_id": 1, "tool_name": "web_search"}),),
    "reset_workflow": (Sample({}),),
    "uninstall_hooks": (Sample({}),),
    "update_project_context": (Sample({"enabled": True}),),
    "validate_config": (Sample({"config": {}}),),
    "verify_compliance": (Sample({"current_phase": "teach", "action": "edit"}),),
    "accept_hooks": (Sample({}),),
    "agent_context": (Sample({"moment": "start"}),),
    "connect_agent": (Sample({"agent": "claude"}),),
    "list_agents": (Sample({}),),
    "set_tree_intent": (Sample({"intent_id": "INT-1"}, _has_intents),),
    "show_connection": (Sample({"agent": "claude"}),),
    "accept_policy": (Sample({}),),
    "accept_upstream": (Sample({"name": "toy"}, _has_upstream),),
    "refuse_upstream": (Sample({"name": "toy"}, _has_upstream),),
    "show_upstream": (Sample({"name": "toy"}, _has_upstream),),
    "list_upstreams": (Sample({}, _has_upstream),),
    "import_upstreams": (Sample({"path": "mcp.json"}, _has_servers_to_import),),
    "show_upstream_import": (Sample({"path": "mcp.json"}, _has_servers_to_import),),
    "add_intent": (Sample({"intent_id": "INT-2", "name": "More", "owned_scope": ["more/**"]}),),
    "anchor_ledger": (Sample({}),),
    "approve_calls": (Sample({"hold_ids": ["hold_none"]}),),
    "check_intents": (Sample({}),),
    "check_policy": (Sample({}),),
    "close_intent": (Sample({"intent_id": "INT-1"}, _has_intents),),
    "close_task": (Sample({"task_id": "task_none"}),),
    "count_calls": (Sample({}),),
    "deny_calls": (Sample({"hold_ids": ["hold_none"]}),),
    "export_experiences": (
        Sample({"format": "json", "output_path": "lessons.json"}),
        Sample({"format": "markdown", "filter": {"type": "effective"}}),
        Sample({"format": "json", "filter": {"type": "ineffective", "domain": "Tools"}}),
        *(Sample({"format": "json", "filter": {"domain": one}}) for one in DOMAINS if one != "Tools"),
    ),
    "explain_call": (Sample({"call_or_row": "1"}),),
    "import_intents": (Sample({}, _has_specification), Sample({"dry_run": True}, _has_specification)),
    "list_approvals": (Sample({}),),
    "list_calls": (Sample({}),),
    "list_grants": (Sample({}),),
    "list_intents": (Sample({}),),
    "list_rows": (Sample({}),),
    "list_tasks": (Sample({}),),
    "open_task": (Sample({"max_mutations": 7}),),
    "reset_task_budget": (Sample({}),),
    "revoke_approval": (Sample({"hold_id": "hold_none"}),),
    "set_policy_mode": (Sample({"mode": "enforce"}),),
    "show_activity": (Sample({}),),
    "show_approval": (Sample({"hold_id": "hold_none"}),),
    "show_change": (Sample({"call": "req_none"}),),
    "show_intent": (Sample({"intent_id": "INT-1"}),),
    "show_policy": (Sample({}),),
    "show_rows": (Sample({"row_or_call": "1"}),),
    "show_task": (Sample({"task_id": "task_none"}),),
    "verify_ledger": (Sample({"git_notes": True}),),
    "update_experience": (Sample({"id": 1, "changes": {"outcome": "Worked"}, "reason": "Seen again"}),),
    "widen_intent": (Sample({"intent_id": "INT-1", "paths": ["more/**"]}, _has_intents),),
    "call": (Sample({"operation": "git_stage", "arguments": {"paths": ["a.txt"]}}, _dirty),),
    "check": (Sample({"affected_by": ["."]}, _has_tests),),
    "context_pack": (Sample({"query": "pool"}),),
    "controller_turn": (Sample({"verb": "list_scoped_files"}),),
    "check_plan": (Sample({"file": "plan.json"}, _has_plan),),
    "controller_analytics": (Sample({}),),
    "list_pending_policies": (Sample({}),),
    "list_run_worktrees": (Sample({}),),
    "list_runs": (Sample({}),),
    "list_turn_errors": (Sample({}),),
    "review_plan": (Sample({}),),
    "show_run": (
        Sample({"run": "r1"}, first=(("controller_turn", {"verb": "list_scoped_files", "runSessionId": "r1"}),)),
    ),
    "delegate_intent": (Sample({"session": "s-1", "paths": ["elsewhere/a"]}),),
    "describe": (Sample({}),),
    "discover_test_targets": (Sample({}),),
    "import_data": (Sample({"source_file": "lessons.json"}),),
    "import_experiences": (Sample({"filename": "lessons.json"}),),
    "inspect_affected_tests": (Sample({}),),
    "bench_memory": (Sample({}),),
    "doctor_memory": (Sample({}),),
    "export_memory": (Sample({}),),
    "add_lesson": (Sample({"text": "Totals are kept in cents"}),),
    "list_lessons": (Sample({}),),
    "write_lessons": (Sample({}),),
    "export_trace": (Sample({}), Sample({"format": "git-ai"})),
    "import_trace": (Sample({"dry_run": True}),),
    "trace_stats": (Sample({}),),
    "verify_range": (Sample({"range": "HEAD"}),),
    "verify_trace": (Sample({}),),
    "init_memory": (Sample({}),),
    "graph_export": (Sample({}),),
    "graph_status": (Sample({}),),
    "graph_sync": (Sample({}),),
    "forget_memory": (Sample({"id": 1}),),
    "import_memory": (Sample({"path": "lessons.json"}),),
    "memory_status": (Sample({}),),
    "merge_memory": (Sample({}),),
    "promote_experience": (Sample({"id": 1}),),
    "list_memories": (Sample({}),),
    "repair_memory": (Sample({}),),
    "review_memory": (
        Sample({}),
        Sample({"apply_overrides": True}, _has_overrides),
    ),
    "show_friction": (Sample({}),),
    "verify_memory": (Sample({}),),
    "get_experience": (Sample({"id": 1}),),
    "git_branch": (
        Sample({"action": "list"}),
        Sample({"action": "list", "which": "remote"}),
        Sample({"action": "list", "which": "all"}),
        Sample({"action": "list", "which": "local"}),
        Sample({"action": "create", "name": "x"}),
        Sample({"action": "create", "name": "topic", "force": True}),
        Sample({"action": "delete", "name": "topic", "force": True}),
        Sample({"action": "rename", "name": "topic", "new_name": "subject"}),
        Sample({"action": "rename", "new_name": "renamed"}),
        Sample({"action": "set_upstream", "name": "topic", "ref": "origin/main"}),
        Sample({"action": "tag", "name": "v1"}),
        Sample({"action": "delete_tag", "name": "v0"}),
    ),
    "git_checkout": (
        Sample({"ref": "topic"}),
        Sample({"ref": "x", "create": True, "start_point": "topic"}),
        Sample({"ref": "topic", "force": True}, _dirty),
        Sample({"ref": "topic", "detach": True}),
        Sample({"paths": ["a.txt"]}, _dirty),
        Sample({"ref": "topic", "paths": ["."]}),
        Sample({"paths": ["a.txt"], "side": "ours"}, _conflict),
        Sample({"paths": ["a.txt"], "side": "theirs"}, _conflict),
        Sample({"paths": ["a.txt"], "side": "merge"}, _conflict),
    ),
    "git_commit": (
        Sample({"message": "m"}, _staged),
        Sample({"message": "m", "paths": ["a.txt"]}, _dirty),
        Sample({"message": "m", "amend": True}, _staged),
    ),
    "git_diff": (Sample({}, _dirty), Sample({"view": "structural"}, _dirty)),
    "git_history": (Sample({"path": "a.txt"}),),
    "git_inspect": (Sample({"ref": "HEAD"}),),
    "git_log": (Sample({}),),
    "git_merge": (
        Sample({"action": "merge", "ref": "topic"}),
        Sample({"ref": "topic", "no_ff": True, "prefer": "ours"}, _own_commit),
        Sample({"ref": "topic", "prefer": "theirs"}, _own_commit),
        Sample({"ref": "topic", "squash": True}, _own_commit),
        *(
            Sample({"ref": "topic", "strategy": strategy}, _own_commit)
            for strategy in ("ort", "recursive", "resolve", "octopus", "ours", "subtree")
        ),
        Sample({"action": "cherry_pick", "ref": "topic"}),
        Sample({"action": "revert", "ref": "HEAD"}, _own_commit),
        Sample({"action": "continue"}, _resolved),
        Sample({"action": "abort"}, _conflict),
        Sample({"action": "skip"}, _picked_conflict),
    ),
    "git_pull": (
        Sample({}, _pushed_by_others),
        Sample({"rebase": True}, _both_pushed),
        Sample({"rebase": False}, _both_pushed),
        Sample({"autostash": True, "ff_only": True}, _pushed_by_others),
    ),
    "git_push": (
        Sample({}, _own_commit),
        Sample({"branch": "topic", "set_upstream": True}),
        Sample({"force": "lease"}, _own_commit),
        Sample({"force": "overwrite"}, _both_pushed),
        Sample({"branch": "v0", "delete": True}, _tag_pushed),
        Sample({"dry_run": True}, _own_commit),
    ),
    "git_rebase": (
        Sample({"action": "plan", "upstream": "topic"}, _own_commit),
        Sample({"action": "start", "upstream": "topic"}, _own_commit),
        Sample({"action": "continue"}, _rebase_resolved),
        Sample({"action": "skip"}, _rebase_conflict),
        Sample({"action": "abort"}, _rebase_conflict),
        *(Sample(_steps(action), _two_commits) for action in ("pick", "reword", "edit", "squash", "fixup", "drop")),
    ),
    "git_remote": (
        Sample({"action": "list"}),
        Sample({"action": "add", "name": "x", "url": "{base}/library"}),
        Sample({"action": "add", "name": "x", "url": "file://{base}/library"}),
        Sample({"action": "add", "name": "x", "url": "https://example.invalid/x.git"}),
        Sample({"action": "remove", "name": "origin"}),
        Sample({"action": "rename", "name": "origin", "new_name": "up"}),
        Sample({"action": "set_url", "name": "origin", "url": "../library"}),
        Sample({"action": "fetch"}, _pushed_by_others),
        Sample({"action": "fetch", "name": "*", "tags": True}, _pushed_by_others),
        Sample({"action": "fetch", "name": "origin", "refspecs": ["+main:refs/heads/topic"]}, _pushed_by_others),
        Sample({"action": "fetch", "name": "origin", "refspecs": ["main:brought"]}, _pushed_by_others),
    ),
    "git_reset": (
        Sample({"mode": "soft", "ref": "HEAD~1"}, _own_commit),
        Sample({"mode": "mixed", "ref": "HEAD~1"}, _own_commit),
        Sample({"mode": "hard", "ref": "topic"}, _dirty),
        Sample({"paths": ["a.txt"], "ref": "topic"}),
    ),
    "git_stage": (
        Sample({"action": "stage", "paths": ["."]}, _dirty),
        Sample({"action": "stage", "all": True, "allow_ignored": True}, lambda world: write(world.tree, {"x.log": ""})),
        Sample({"action": "unstage", "paths": ["a.txt"]}, _staged),
        Sample({"action": "discard", "paths": ["."], "include_untracked": True}, _dirty),
    ),
    "git_stage_and_commit": (Sample({"paths": ["."], "message": "m"}, _dirty),),
    "git_stash": (
        Sample({"action": "list"}, _stashed),
        Sample({"action": "show"}, _stashed),
        Sample({"action": "push", "include_untracked": True}, _dirty),
        Sample({"action": "pop"}, _stashed),
        Sample({"action": "apply"}, _stashed),
        Sample({"action": "drop"}, _stashed),
        Sample({"action": "clear"}, _stashed),
    ),
    "git_status": (Sample({}),),
    "git_submodule": (
        Sample({"action": "list"}, _submodule),
        Sample({"action": "status"}, _submodule),
        Sample({"action": "init"}, _fresh_submodule),
        Sample({"action": "sync"}, _submodule),
        Sample({"action": "update"}, _fresh_submodule),
        Sample({"action": "add", "url": "{base}/library", "paths": ["lib"]}),
        Sample({"action": "deinit", "paths": ["lib"], "force": True}, _submodule),
        Sample({"action": "remove", "paths": ["lib"], "force": True}, _submodule),
    ),
    "git_worktree": (
        Sample({"action": "list"}),
        Sample({"action": "add", "path": "../beside", "create": "beside"}),
        Sample({"action": "add", "path": "inside", "detach": True}),
        Sample({"action": "add", "path": ".claude", "ref": "topic"}),
        Sample({"action": "open", "path": "{base}/linked"}, _linked),
        Sample({"action": "remove", "path": "{base}/linked"}, _linked),
        Sample({"action": "remove", "path": "inside"}, _linked_inside),
        Sample({"action": "lock", "path": "{base}/linked"}, _linked),
        Sample({"action": "unlock", "path": "{base}/linked"}, _locked),
        Sample({"action": "prune"}),
    ),
    "lint_check": (Sample({}, _has_linters), Sample({"paths": ["*.py"], "fix": True}, _has_linters)),
    "lint_tools": (Sample({}, _has_linters),),
    "list_files": (Sample({}),),
    "list_test_runs": (Sample({}),),
    "map_repo": (Sample({}),),
    "read_file_full": (Sample({"path": "a.txt"}),),
    "read_source": (Sample({"targets": [{"path": "a.txt"}]}),),
    "record_experience": (Sample(LESSON),),
    "refactor_apply": (
        Sample({"refactor_id": "{PLAN}"}, _has_code, (("refactor_rename", RENAME),)),
        Sample({"refactor_id": "{PLAN}"}, _has_code, (("refactor_rename", {**RENAME, "symbol": "Box.java::Box"}),)),
        Sample({"refactor_id": "{PLAN}"}, _has_code, (("refactor_move", MOVE),)),
        Sample(
            {"refactor_id": "{PLAN}"}, _has_code, (("refactor_move", {"from_path": "a.txt", "to_path": "d/b.txt"}),)
        ),
        Sample({"refactor_id": "{PLAN}"}, _has_code, (("refactor_impact", {"target": "Box.java"}),)),
    ),
    "refactor_cancel": (Sample({"refactor_id": "{PLAN}"}, _has_code, (("refactor_rename", RENAME),)),),
    "refactor_impact": (Sample({"target": "code.py::f"}, _has_code),),
    "refactor_inspect": (Sample({"refactor_id": "{PLAN}"}, _has_code, (("refactor_rename", RENAME),)),),
    "refactor_move": (Sample(MOVE, _has_code),),
    "refactor_rename": (Sample(RENAME, _has_code),),
    "request_scope_expansion": (Sample({"intent_id": "INT-1", "paths": ["a.txt"], "reason": "x"}),),
    "reset_budget": (Sample({}),),
    "run": (Sample({"program": "print(len(search('a')))"}),),
    "run_consolidation": (Sample({}),),
    "run_check_command": (Sample({"argv": ["true"]}),),
    "run_test_targets": (Sample({"target_filter": ["."]}, _has_tests),),
    "search": (Sample({"query": "one"}),),
    "semantic_diff": (Sample({}, _dirty),),
    "search_experiences": (Sample({"query": "pool"}),),
    "select_active_intent": (Sample({"intent_id": "INT-1"}),),
    "tag_experience": (Sample({"id": 1, "tags": ["ci"]}),),
    "trace_blame": (Sample({"path": "src/app.py"}),),
    "undo": (
        Sample({}),
        Sample({"operation": "{LAST}"}, first=(("write_source", EDIT),)),
        Sample({"operation": "{LAST}"}, first=(("git_checkout", {"ref": "topic"}),)),
        Sample({"operation": "{LAST}"}, _staged, (("git_commit", {"message": "m"}),)),
    ),
    "write_source": (
        Sample(EDIT),
        Sample({"edits": [{"path": "a.txt", "action": "update", "expected_content": "a", "new_content": "b"}]}),
        Sample({"edits": [{"path": "made.txt", "action": "create", "content": "x\n"}]}),
        Sample({"edits": [{"path": "b.txt", "action": "delete"}]}),
    ),
}


def make_world(base: Path) -> World:
    world = World(copied(base, "every effect", _make_world))
    for name, value in (
        ("user.name", "Test"),
        ("user.email", "test@example.invalid"),
        ("protocol.file.allow", "always"),
    ):
        git(world.tree, "config", "--global", name, value)
    return world


def _make_world(base: Path) -> None:
    world = World(base)
    make_repository(base / "library", {"library.txt": "library\n"})
    make_repository(world.tree, {"a.txt": "a\n", "b.txt": "b\n", ".gitignore": "*.log\n"})
    git(world.tree, "tag", "v0")
    git(world.tree, "checkout", "-q", "-b", "topic")
    write(world.tree, {"a.txt": "topic\n", "topic.txt": "topic\n", "settings.json": "{}\n"})
    git(world.tree, "add", "-A")
    git(world.tree, "commit", "-q", "-m", "topic")
    git(world.tree, "checkout", "-q", "main")
    git(base, "clone", "-q", "--bare", "tree", "origin.git")
    git(base, "clone", "-q", "origin.git", "other")
    git(world.tree, "remote", "add", "origin", str(base / "origin.git"))
    git(world.tree, "fetch", "-q", "origin")
    git(world.tree, "branch", "-q", "--set-upstream-to=origin/main")


def install_hooks(world: World) -> None:
    """Let every hook write its name outside the tree."""
    for name in HOOKS:
        place = world.tree / ".git/hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\necho {name} >> '{world.base}/ran'\n", encoding="utf-8")
        place.chmod(0o755)


@dataclass(frozen=True)
class Seen:
    """Everything that a call could have changed."""

    files: dict[str, str]
    entries: dict[str, str]
    refs: dict[str, str]
    settings: str
    outside: dict[str, str] = field(default_factory=dict)
    ran: frozenset[str] = frozenset()


def look(world: World) -> Seen:
    tree = world.tree
    listed = [line.split("\t") for line in git(tree, "ls-files", "-s").splitlines()]
    refs = dict(line.split(" ") for line in git(tree, "for-each-ref", "--format=%(refname) %(objectname)").splitlines())
    entries: dict[str, str] = {}
    for meta, path in listed:
        entries[path] = entries.get(path, "") + meta
    ran = world.base / "ran"
    return Seen(
        files=_hashes(tree, ("/.git/", "/.codeplane/", "/.git")),
        entries=entries,
        refs={name: oid for name, oid in refs.items() if not name.startswith("refs/codeplane/")}
        | {"HEAD": (tree / ".git/HEAD").read_text("utf-8")},
        settings=(tree / ".git/config").read_text("utf-8"),
        outside=_hashes(world.base, (f"{tree}/", f"{world.base}/ran")),
        ran=frozenset(ran.read_text("utf-8").split()) if ran.exists() else frozenset(),
    )


def _hashes(directory: Path, left_out: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for place in sorted(directory.rglob("*")):
        text = str(place)
        is_out = any(part in f"{text}" if not part.endswith("/.git") else text.endswith(part) for part in left_out)
        if not is_out and (place.is_symlink() or place.is_file()):
            found[place.relative_to(directory).as_posix()] = "link" if place.is_symlink() else sha256_file(place)
    return found


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    return {name for name in {**before, **after} if before.get(name) != after.get(name)}


class Recorder:
    """Lets everything through and remembers the effects that it was shown."""

    def __init__(self) -> None:
        self.shown: list[Effects] = []

    def decide(self, facts: CallFacts) -> Decision:
        self.shown.append(facts.effects if facts.mutates else Effects())
        return Decision(Verdict.ALLOW, "recorder")


def unjudged(world: World, before: Seen, after: Seen, shown: list[Effects]) -> list[str]:
    """Return everything that changed and that no effects told of."""
    working = {path.text for one in shown for path in one.touched}
    staged = working | {path.text for one in shown for path in one.staged}
    refs = [ref for one in shown for ref in one.git_refs]
    places = [place.removeprefix("file:") for one in shown for place in (*one.network, *one.foreign)]
    programs = {name for one in shown for name, _ in one.programs}
    found = [f"file {name}" for name in changed(before.files, after.files) if not _is_below(name, working)]
    found += [f"entry {name}" for name in changed(before.entries, after.entries) if not _is_below(name, staged)]
    moved = changed(before.refs, after.refs)
    # HEAD names a branch; where that moves, HEAD itself did not.
    found += [f"ref {name}" for name in moved if not any(fnmatchcase(name, one) for one in refs)]
    outside = changed(before.outside, after.outside)
    found += [f"place {name}" for name in outside if not _is_below(str(world.base / name), set(places))]
    found += [f"program {name}" for name in after.ran - before.ran if f"hook {name}" not in programs]
    is_told = bool(refs or places or working)
    return found + (["settings"] if before.settings != after.settings and not is_told else [])


def _is_below(name: str, known: set[str]) -> bool:
    return any(name == one or name.startswith(f"{one}/") for one in known)


def filled(value: Any, world: World, last: Answer | None) -> Any:
    """Return arguments with what stands for something replaced."""
    if isinstance(value, Mapping):
        return {name: filled(one, world, last) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(one, world, last) for one in value]
    if not isinstance(value, str) or "{" not in value or value == "{}\n":
        return value
    if value.startswith("{HEAD"):
        return git(world.tree, "rev-parse", value.strip("{}")).strip()
    if value in {"{LAST}", "{PLAN}"}:
        assert last is not None
        return last.meta.request_id if value == "{LAST}" else result_of(last)["refactor_id"]
    return value.replace("{base}", str(world.base))


def run_first(door: Door, sample: Sample) -> Answer | None:
    """Make the calls that come before, while nobody asks for intents."""
    last = None
    for name, arguments in sample.first:
        last = call(door, name, arguments)
        result_of(last)
    return last


CASES = [pytest.param(name, one, id=f"{name}-{n}") for name, all_ in SAMPLES.items() for n, one in enumerate(all_)]
CHANGING = [
    one for one in CASES if OPERATIONS["git_stage" if one.values[0] == "call" else str(one.values[0])].effect.mutates
]
# One sample per operation; `make soak` takes all of them.
_FIRST = {str(one.values[0]): one for one in reversed(CHANGING)}
FIRST_CHANGING = CHANGING if repeated(1) > 1 else list(_FIRST.values())


def as_caller(name: str) -> Caller:
    """Return who may call an operation: an agent its tools, a person everything else."""
    return caller() if name in TOOLS else person()


@pytest.fixture(autouse=True)
def no_compiled_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python and pytest would leave compiled files and a cache beside the tests that they run."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")


@pytest.mark.parametrize(("name", "sample"), CHANGING)
def test_the_gate_is_shown_everything_that_a_call_changes(tmp_path: Path, name: str, sample: Sample) -> None:
    world = make_world(tmp_path / "world")
    sample.prepare(world)
    install_hooks(world)
    with open_test_workspace(world.tree, ids=RandomIds()) as workspace:
        recorder = Recorder()
        workspace.policies = recorder
        door = Door(workspace, OPERATIONS)
        last = run_first(door, sample)
        recorder.shown.clear()
        before = look(world)
        answer = call(door, name, filled(sample.arguments, world, last), by=as_caller(name))
        assert answer.outcome is Outcome.FINISHED, answer.error
        assert unjudged(world, before, look(world), recorder.shown) == []


@pytest.mark.parametrize(("name", "sample"), FIRST_CHANGING)
def test_without_an_intent_nothing_changes(tmp_path: Path, name: str, sample: Sample) -> None:
    world = make_world(tmp_path / "world")
    sample.prepare(world)
    with open_test_workspace(world.tree, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        last = run_first(door, sample)
        write(world.tree, {INTENTS_FILE: INTENTS})
        before = look(world)
        answer = dispatch(door, name, filled(sample.arguments, world, last), caller())
        if answer.error is not None:
            refusals = {"INTENT_REQUIRED", "APPROVAL_PENDING", "PROTECTED_PATH", "OPERATOR_TOKEN_REQUIRED"}
            assert error_of(answer) in refusals
        assert look(world) == before


@pytest.mark.parametrize(("name", "sample"), FIRST_CHANGING)
def test_out_of_scope_nothing_changes_but_refs(tmp_path: Path, name: str, sample: Sample) -> None:
    world = make_world(tmp_path / "world")
    sample.prepare(world)
    with open_test_workspace(world.tree, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        last = run_first(door, sample)
        write(world.tree, {INTENTS_FILE: INTENTS})
        result_of(call(door, "select_active_intent", {"intent_id": "INT-1"}))
        before = look(world)
        dispatch(door, name, filled(sample.arguments, world, last), caller())
        after = look(world)
        assert (after.files, after.entries, after.outside) == (before.files, before.entries, before.outside)


def test_every_operation_has_samples() -> None:
    assert set(SAMPLES) == set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name in TOOLS if TOOLS[name].effect.mutates])
def test_every_choice_of_a_changing_operation_is_in_a_sample(name: str) -> None:
    offered = set(_choices(OPERATIONS[name].request_type.model_json_schema()))
    sampled = {pair for one in SAMPLES[name] for pair in _given(one.arguments)}
    assert offered - sampled == set()


def test_reading_operations_are_shown_as_reading() -> None:
    reading = {name for name in OPERATIONS if not OPERATIONS[name].effect.mutates}
    assert {one for one in reading if one.startswith("git_")} == {
        "git_diff", "git_history", "git_inspect", "git_log", "git_status",
    }  # fmt: skip


def test_what_only_reads_or_records_changes_nothing(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    _dirty(world)
    install_hooks(world)
    write(world.tree, {INTENTS_FILE: INTENTS})
    with open_test_workspace(world.tree, ids=RandomIds()) as workspace:
        for name, samples in SAMPLES.items():
            if name != "call" and not OPERATIONS[name].effect.mutates:
                before = look(world)
                call(Door(workspace, OPERATIONS), name, samples[0].arguments, by=as_caller(name))
                assert look(world) == before, name


def _choices(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every value that a schema offers by name, inner objects included."""
    for part in (schema, *schema.get("$defs", {}).values()):
        for key, described in part.get("properties", {}).items():
            for one in (described, *described.get("anyOf", ())):
                yield from ((key, value) for value in one.get("enum", ()))


def _given(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            if isinstance(one, str):
                yield key, one
            yield from _given(one)
    elif isinstance(value, list):
        for one in value:
            yield from _given(one)
