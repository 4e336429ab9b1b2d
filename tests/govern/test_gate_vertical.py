"""One story through the whole gate: select, refused, executed, held, approved, executed, explained."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import call, error_of, open_test_workspace, result_of
from support.governed import FILES, approve, write_intents
from support.repositories import make_repository

DELETION = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}
EDIT = {"edits": [{"path": "src/json/provider.py", "expected_content": "str(value)", "new_content": "repr(value)"}]}
OUTSIDE = {"edits": [{"path": "src/payments/index.py", "expected_content": "2", "new_content": "3"}]}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root) as opened:
        yield opened


@pytest.fixture
def door(workspace: Workspace) -> Door:
    return Door(workspace, OPERATIONS)


def test_a_change_goes_from_intent_to_explanation(door: Door) -> None:
    workspace = door.workspace
    refused = call(door, "write_source", EDIT)
    assert (refused.outcome, error_of(refused)) == (Outcome.DENIED, "INTENT_REQUIRED")
    assert refused.error is not None
    assert refused.error.message == "You must cite a valid active Intent ID before mutating tools."
    assert refused.error.details["active_intents"] == ["INT-001", "INT-002"]

    selected = result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    assert selected["context"].startswith("<intent_context")
    assert "public API unchanged" in selected["context"]

    outside = call(door, "write_source", OUTSIDE)
    assert outside.error is not None
    assert error_of(outside) == "SCOPE_VIOLATION"
    assert outside.error.message == "Scope Violation: INT-001 is not authorized to edit src/payments/index.py"
    assert outside.error.required_action == "Request scope expansion or choose a valid intent"

    assert result_of(call(door, "write_source", EDIT))["applied"]

    held = call(door, "write_source", DELETION)
    assert (held.outcome, error_of(held)) == (Outcome.HELD, "APPROVAL_PENDING")
    assert held.error is not None
    hold_id = held.error.details["hold_id"]
    assert (workspace.root / "src/json/old.py").exists()
    card = workspace.gate.approvals.find(hold_id).card
    assert "-X = 1" in card["preview"]
    assert (card["intent"], card["paths"]) == ("INT-001", ["src/json/old.py"])

    approve(workspace, hold_id)
    assert result_of(call(door, "write_source", DELETION))["applied"]
    assert not (workspace.root / "src/json/old.py").exists()
    last = result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))["context"]
    assert "last_mutations" in last
    assert "src/json/old.py" in last
