"""No change before the handshake, whatever the operation; after it, only in scope."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.ids import RandomIds
from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import TOOLS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.operation import AnyOperation
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.git_states import whole_state
from support.governed import FILES, INTENTS, write_intents
from support.repositories import git, make_repository, write

MUTATING = [operation for operation in TOOLS.values() if operation.effect.mutates]
ARGUMENTS: dict[str, dict[str, object]] = {
    "check": {},
    "export_config": {"preset_name": "strict", "file_path": "preset.json"},
    "export_experiences": {"format": "json", "output_path": "lessons.json"},
    "git_branch": {"action": "create", "name": "topic"},
    "git_checkout": {"ref": "other"},
    "git_commit": {"message": "m"},
    "git_merge": {"ref": "other"},
    "git_pull": {},
    "git_push": {},
    "git_rebase": {"action": "start", "onto": "other"},
    "git_remote": {"action": "add", "name": "up", "url": "https://example.invalid/x.git"},
    "git_reset": {"mode": "hard"},
    "git_stage": {"paths": ["README.md"], "action": "discard"},
    "git_stage_and_commit": {"message": "m", "paths": ["README.md"]},
    "git_stash": {"action": "push"},
    "git_submodule": {"action": "init"},
    "git_worktree": {"action": "add", "path": "../tree", "ref": "other"},
    "install_hooks": {},
    "lint_check": {},
    "refactor_apply": {},
    "run_check_command": {"argv": ["true"]},
    "run_test_targets": {},
    "undo": {},
    "uninstall_hooks": {},
    "update_project_context": {"enabled": True},
    "write_source": {"edits": [{"path": "README.md", "expected_content": "# Sample", "new_content": "# X"}]},
}
# They wait for a person, whatever intent is selected.
RESERVED = {"install_hooks", "uninstall_hooks", "update_project_context"}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", FILES)
    git(tmp_path, "clone", "--quiet", "--bare", str(root), "remote.git")
    git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(root, "fetch", "--quiet", "origin")
    git(root, "branch", "--quiet", "--set-upstream-to=origin/main")
    git(root, "checkout", "--quiet", "-b", "other")
    write(root, {"other.txt": "o\n"})
    git(root, "add", "other.txt")
    git(root, "commit", "--quiet", "-m", "other")
    git(root, "checkout", "--quiet", "main")
    with open_test_workspace(root) as workspace:
        # Something to undo, from a time without governance.
        edit = {"edits": [{"path": "README.md", "expected_content": "# Sample", "new_content": "# Sample!"}]}
        done = result_of(call(Door(workspace, TOOLS), "write_source", edit, "before"))
        ARGUMENTS["undo"] = {"operation": done["delta"]["mutation_id"]}
        write(root, {"code.py": "def f(): pass\n", "test_code.py": "def test_f(): pass\n", "ruff.toml": ""})
        plan = result_of(call(Door(workspace, TOOLS), "refactor_rename", {"symbol": "code.py::f", "new_name": "g"}))
        ARGUMENTS["refactor_apply"] = {"refactor_id": plan["refactor_id"]}
        write_intents(root)
        yield Door(workspace, TOOLS)


def test_every_mutating_operation_has_a_case() -> None:
    assert {operation.name for operation in MUTATING} == set(ARGUMENTS)


@pytest.mark.parametrize("operation", MUTATING, ids=lambda one: one.name)
def test_nothing_is_changed_before_the_handshake(door: Door, operation: AnyOperation) -> None:
    before = whole_state(door.workspace.root)
    answer = call(door, operation.name, ARGUMENTS[operation.name])
    if operation.name in RESERVED:
        assert (answer.outcome, whole_state(door.workspace.root) == before) == (Outcome.HELD, True)
        return
    assert (answer.outcome, error_of(answer)) == (Outcome.DENIED, "INTENT_REQUIRED")
    assert answer.error is not None
    assert answer.error.as_dict()["error_code"] == "INTENT_REQUIRED"
    assert answer.error.as_dict()["recoverable"]
    assert whole_state(door.workspace.root) == before


def test_reading_needs_no_intent(door: Door) -> None:
    for name, arguments in {
        "read_source": {"targets": "README.md"},
        "search": {"query": "Sample"},
        "git_log": {},
    }.items():
        assert call(door, name, arguments).outcome is Outcome.FINISHED


def test_a_person_needs_no_intent(door: Door) -> None:
    person = Caller(CallerKind.PERSON, "cli", "p1", "cpl")
    assert dispatch(door, "write_source", ARGUMENTS["write_source"], person).outcome is Outcome.FINISHED


@pytest.mark.parametrize("intent_id", ["INT-003", "INT-999", "", "INT-001 ", "../x", "int-001"])
def test_an_intent_that_is_not_active_cannot_be_selected(door: Door, intent_id: str) -> None:
    assert error_of(call(door, "select_active_intent", {"intent_id": intent_id})) == "INTENT_NOT_ACTIVE"


def test_without_an_id_the_active_ones_are_listed(door: Door) -> None:
    found = result_of(call(door, "select_active_intent"))
    assert [one["id"] for one in found["active"]] == ["INT-001", "INT-002"]


def _change(door: Door, connection: str = "c1") -> str:
    edit = {"edits": [{"path": "src/json/old.py", "expected_content": "X = ", "new_content": "X =  "}]}
    answer = call(door, "write_source", edit, connection)
    return answer.error.error if answer.error is not None else "done"


def test_an_intent_that_is_closed_meanwhile_holds_no_longer(door: Door) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"})
    write_intents(door.workspace.root, INTENTS.replace("status: active", "status: done", 1))
    assert _change(door) == "INTENT_NOT_ACTIVE"


@pytest.mark.parametrize("text", [None, "broken: [", "active_intents: 7\n", b"\xff\xfe".decode("latin-1")])
def test_without_readable_intents_nothing_is_changed(door: Door, text: str | None) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"})
    path = door.workspace.root / ".orchestration/active_intents.yaml"
    if text is None:
        path.unlink()
    else:
        path.write_text(text, encoding="utf-8")
    assert _change(door) == "INTENTS_UNREADABLE"
    assert call(door, "read_source", {"targets": "README.md"}).outcome is Outcome.FINISHED


def test_an_ignored_intent_may_not_mutate(door: Door) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"})
    (door.workspace.root / ".intentignore").write_text("INT-001\n", encoding="utf-8")
    assert _change(door) == "INTENT_NOT_ACTIVE"


def test_an_expired_intent_may_not_mutate(door: Door) -> None:
    expired = INTENTS.replace("requirements: [REQ-12]", 'expires: "2000-01-01T00:00:00Z"')
    write_intents(door.workspace.root, expired)
    assert error_of(call(door, "select_active_intent", {"intent_id": "INT-001"})) == "INTENT_NOT_ACTIVE"


def test_a_selection_belongs_to_its_session(door: Door) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"}, "c1")
    assert (_change(door, "c1"), _change(door, "c2")) == ("done", "INTENT_REQUIRED")


def test_a_selection_is_known_to_the_process_that_resumes_the_session(door: Door, tmp_path: Path) -> None:
    answer = call(door, "select_active_intent", {"intent_id": "INT-001"})
    session = answer.meta.session_id
    with open_test_workspace(tmp_path / "repo", ids=RandomIds()) as workspace:
        edit = {"edits": [{"path": "src/json/old.py", "expected_content": "X = ", "new_content": "X =  "}]}
        again = dispatch(Door(workspace, TOOLS), "write_source", {**edit, "session_id": session}, _caller())
    assert again.outcome is Outcome.FINISHED


def _caller() -> Caller:
    return Caller(CallerKind.AGENT, "test", "c9", "pytest")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"intent_id": "INT-002"}, "INTENT_MISMATCH"),
        ({"mutation_class": "REFACTOR"}, "INVALID_MUTATION_CLASS"),
        ({"intent_id": 7}, "INVALID_ARGUMENTS"),
        ({"intent_id": "INT-001", "mutation_class": "AST_REFACTOR"}, None),
    ],
)
def test_what_a_write_says_about_itself_has_to_be_true(door: Door, given: dict[str, object], code: str | None) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"})
    edit = {"edits": [{"path": "src/json/old.py", "expected_content": "X = ", "new_content": "X =  "}]}
    answer = call(door, "write_source", {**edit, **given})
    assert (answer.error.error if answer.error is not None else None) == code


def test_a_new_turn_asks_again_only_where_the_rules_want_it(door: Door) -> None:
    session = call(door, "select_active_intent", {"intent_id": "INT-001"}).meta.session or ""
    door.workspace.gate.begin_turn(session)
    assert _change(door) == "done"
    write(door.workspace.root, {".orchestration/hook_policy.yaml": "handshake: turn\n"})
    door.workspace.gate.begin_turn(session)
    assert _change(door) == "INTENT_REQUIRED"


def test_overlapping_scopes_are_told_when_selecting(door: Door) -> None:
    write_intents(door.workspace.root, INTENTS + "  - {id: INT-4, name: n, status: active, owned_scope: [src/**]}\n")
    door.workspace.gate.sources.accept()
    answer = call(door, "select_active_intent", {"intent_id": "INT-001"})
    assert any("INT-4 overlaps" in warning for warning in answer.meta.warnings)


def test_a_worker_gets_a_part_of_the_supervisors_intent(door: Door) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"}, "boss")
    worker = call(door, "describe", {}, "worker").meta.session
    given = result_of(
        call(door, "delegate_intent", {"session": worker, "paths": ["src/json/old.py"], "goal": "g"}, "boss")
    )
    assert "src/json/old.py" in given["context"]
    assert (
        error_of(call(door, "select_active_intent", {"intent_id": given["intent_id"]}, "boss")) == "INTENT_NOT_ACTIVE"
    )
    result_of(call(door, "select_active_intent", {"intent_id": given["intent_id"]}, "worker"))
    edit = {"edits": [{"path": "src/json/provider.py", "expected_content": "str", "new_content": "repr"}]}
    assert error_of(call(door, "write_source", edit, "worker")) == "SCOPE_VIOLATION"
    assert _change(door, "worker") == "done"
    outside = {"session": worker, "paths": ["src/payments/**"]}
    assert error_of(call(door, "delegate_intent", outside, "boss")) == "SCOPE_VIOLATION"


def test_a_wider_file_that_nobody_accepted_does_not_widen(door: Door) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"})
    write_intents(door.workspace.root, INTENTS.replace('"src/json/**"', '"src/**"'))
    edit = {"edits": [{"path": "src/payments/index.py", "expected_content": "2", "new_content": "3"}]}
    assert error_of(call(door, "write_source", edit)) == "SCOPE_VIOLATION"
    door.workspace.gate.sources.accept()
    assert call(door, "write_source", edit).outcome is Outcome.FINISHED


def test_a_tighter_file_tightens_at_once(door: Door) -> None:
    call(door, "select_active_intent", {"intent_id": "INT-001"})
    write_intents(door.workspace.root, INTENTS.replace('"src/json/**", ', ""))
    assert _change(door) == "SCOPE_VIOLATION"


def test_a_new_intent_that_nobody_accepted_cannot_be_selected(door: Door) -> None:
    call(door, "describe")
    door.workspace.gate.rules()
    write_intents(door.workspace.root, INTENTS + "  - {id: INT-4, name: n, status: active, owned_scope: ['**']}\n")
    assert error_of(call(door, "select_active_intent", {"intent_id": "INT-4"})) == "INTENT_NOT_ACTIVE"
