"""Every operation of `full`, through the official client, which refuses an answer that breaks its output schema."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from codeplane.operations.catalog import TOOLS
from surfaces.support_processes import Sandbox, git, make_repo, up
from surfaces.support_sdk import sdk_client, text_in, with_client

pytestmark = pytest.mark.slow

Step = tuple[str, dict[str, Any]]
LESSON = {
    "type": "effective",
    "domain": "Tools",
    "situation": "The pool hangs",
    "approach": "Close it",
    "outcome": "It ends",
    "reasoning": "Locks are copied",
}
UNBORN: list[Step] = [
    ("git_status", {}),
    ("git_branch", {}),
    ("git_remote", {}),
    ("git_worktree", {}),
    ("describe", {}),
    ("write_source", {"changes": [{"path": "a.txt", "action": "create", "content": "one\n"}]}),
    ("git_stage", {"paths": ["a.txt"]}),
    ("git_commit", {"message": "first"}),
    ("undo", {"dry_run": True}),
]
STEPS: list[Step] = [
    ("describe", {}),
    ("list_files", {}),
    ("map_repo", {}),
    ("search", {"query": "greet"}),
    ("search", {"query": "greet", "mode": "references"}),
    ("search", {"query": "no such text anywhere"}),
    ("read_source", {"targets": ["src/app.py"]}),
    ("read_file_full", {"path": "README.md", "confirm": True}),
    ("reset_budget", {}),
    ("run", {"program": "print(len(search('main')))\n1 + 1"}),
    ("controller_turn", {"verb": "list_scoped_files"}),
    ("controller_turn", {"verb": "nothing"}),
    ("run_check_command", {"argv": ["true"]}),
    ("trace_blame", {"path": "src/app.py"}),
    ("git_status", {}),
    ("git_log", {}),
    ("git_history", {"path": "src/app.py"}),
    ("trace_blame", {"path": "src/app.py"}),
    ("git_inspect", {"ref": "HEAD"}),
    ("git_branch", {"action": "create", "name": "topic"}),
    ("git_branch", {"action": "tag", "name": "v1"}),
    ("git_branch", {"action": "tag", "name": "v2", "message": "annotated"}),
    ("write_source", {"changes": [{"path": "new.txt", "action": "create", "content": "new\n"}]}),
    ("write_source", {"changes": [{"path": "n2.txt", "action": "create", "content": "x\n"}], "dry_run": True}),
    ("git_diff", {}),
    ("git_diff", {"view": "structural"}),
    ("semantic_diff", {}),
    ("discover_test_targets", {}),
    ("inspect_affected_tests", {}),
    ("run_test_targets", {}),
    ("list_test_runs", {}),
    ("check", {}),
    ("lint_tools", {}),
    ("lint_check", {}),
    ("refactor_move", {"from_path": "src/app.py", "to_path": "src/main.py"}),
    ("refactor_impact", {"target": "src/app.py"}),
    ("record_experience", LESSON),
    ("search_experiences", {"query": "pool"}),
    ("get_experience", {"id": 1}),
    ("run_consolidation", {"threshold": 1}),
    ("context_pack", {"query": "pool"}),
    ("tag_experience", {"id": 1, "tags": ["ci"]}),
    ("update_experience", {"id": 1, "changes": {"outcome": "It ends at once"}, "reason": "Measured"}),
    ("export_experiences", {"format": "json"}),
    ("git_stage", {"paths": ["new.txt"]}),
    ("git_stash", {"action": "push"}),
    ("git_stash", {"action": "list"}),
    ("git_stash", {"action": "pop"}),
    ("git_stage", {"paths": ["new.txt"]}),
    ("git_commit", {"message": "new file"}),
    ("undo", {}),
    ("write_source", {"changes": [{"path": "more.txt", "action": "create", "content": "more\n"}]}),
    ("git_stage_and_commit", {"paths": ["more.txt"], "message": "one more file"}),
    ("git_reset", {"ref": "HEAD~1", "mode": "mixed"}),
    ("git_checkout", {"ref": "HEAD", "detach": True}),
    ("git_status", {}),
    ("git_branch", {}),
    ("git_checkout", {"ref": "topic"}),
    ("git_merge", {"ref": "main"}),
    ("git_rebase", {"action": "plan", "upstream": "main"}),
    ("git_worktree", {"action": "list"}),
    ("git_remote", {"action": "list"}),
    ("git_submodule", {"action": "list"}),
    ("analyze_problem", {"problem": "Why does it hang?"}),
    ("compliance_snapshot", {}),
    ("guarded_cycle", {"session_id": 1, "phase": "SNAPSHOT"}),
    ("guarded_cycle", {"session_id": 1, "phase": "ROUTER", "input": {"draft": "It hangs."}}),
    ("finalize_response", {"session_id": 1, "draft": "It hangs."}),
    ("record_invocation", {"session_id": 1, "tool_name": "web_search"}),
    ("governance_validate", {"session_id": 1}),
    ("check_compliance", {"current_phase": "teach", "action": "edit"}),
    ("verify_compliance", {"current_phase": "teach", "action": "edit"}),
    ("get_workflow_status", {}),
    ("list_presets", {}),
    ("validate_config", {"config": {}}),
    ("get_config", {}),
    ("export_config", {"preset_name": "strict", "file_path": "strict.json"}),
    ("get_session_state", {"session_id": 1}),
    ("health_check", {}),
    ("get_project_context", {}),
]
# Nothing is set up here for intents, other repositories or the network: their operations answer with errors.
REFUSED: list[Step] = [
    ("call", {"operation": "describe"}),
    ("delegate_intent", {"session": "s-1", "paths": ["src"]}),
    ("git_pull", {}),
    ("git_push", {}),
    ("import_data", {"source_file": "lessons.json"}),
    ("import_experiences", {"filename": "lessons.json"}),
    ("refactor_apply", {"refactor_id": "rf_000000"}),
    ("refactor_cancel", {"refactor_id": "rf_000000"}),
    ("refactor_inspect", {"refactor_id": "rf_000000"}),
    ("refactor_rename", {"symbol": "src/app.py::no_such_name", "new_name": "other"}),
    ("request_scope_expansion", {"paths": ["src"], "reason": "needed"}),
    ("select_active_intent", {"intent_id": "INT-1"}),
    # Sessions and tokens that do not exist, and what a person decides.
    ("gather_context", {"session_id": "none"}),
    ("reason_through", {"session_id": "none", "thought": "Locks.", "thought_number": 1}),
    ("finalize_decision", {"session_id": "none", "conclusion": "Close it."}),
    ("compliance_router", {"session_id": 1, "snapshot_hash": "0"}),
    ("authorize_operation", {"operation_token": "op-1-aaaaaaaaa"}),
    ("apply_preset", {"preset_name": "strict"}),
    ("reset_workflow", {}),
    ("install_hooks", {}),
    ("uninstall_hooks", {}),
    ("update_project_context", {"enabled": True}),
]


def test_every_operation_is_called() -> None:
    assert {name for name, _ in [*UNBORN, *STEPS, *REFUSED]} == set(TOOLS)


@pytest.mark.parametrize(("start", "steps"), [("unborn", UNBORN), ("sample", [*STEPS, *REFUSED])])
def test_answers_fit_their_output_schemas_in_every_state(
    sandbox: Sandbox, tmp_path: Path, start: str, steps: list[Step]
) -> None:
    root = make_repo(sandbox, tmp_path / "sample") if start == "sample" else _unborn(sandbox, tmp_path / "unborn")
    git(sandbox, root, "config", "user.name", "Ann")
    git(sandbox, root, "config", "user.email", "ann@example.com")
    failed: dict[str, str] = {}

    async def work(client: Client) -> None:
        await client.list_tools()
        for name, arguments in steps:
            result = await client.call_tool(name, arguments)
            assert isinstance(result, CallToolResult)
            if result.is_error:
                failed[f"{name} {arguments}"] = text_in(result)

    with up(sandbox, root) as server:
        with_client(sdk_client(server, "http", "full"), work)

    refused = {name for name, _ in REFUSED}
    assert [text for call, text in failed.items() if call.split()[0] not in refused] == []


def _unborn(sandbox: Sandbox, root: Path) -> Path:
    root.mkdir()
    git(sandbox, root, "init", "-q")
    return root
