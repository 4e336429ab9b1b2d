"""What views make of answers, without a server."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.callers import Caller
from codeplane.govern.approvals import HoldRequest, PersonsAnswer
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.dashboard.page_context import PageContext, View
from codeplane.surfaces.dashboard.views.approvals import APPROVALS
from codeplane.surfaces.dashboard.views.now import NOW
from support.doors import call, open_test_workspace, person
from support.governed import FILES, write_intents
from support.repositories import make_repository

pytestmark = pytest.mark.slow

DELETION = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}


def _context(door: Door) -> PageContext:
    async def run(operation: str, arguments: dict[str, Any], caller: Caller, _controls: None) -> Answer:
        return dispatch(door, operation, arguments, caller)

    async def nothing() -> dict[str, Any]:
        return {}

    return PageContext(run, person(), door.workspace.clock.now_ms(), nothing, nothing)


async def _shown(view: View, door: Door) -> dict[str, Any]:
    return await view.show(_context(door), {})


def test_many_newer_answers_do_not_hide_a_call_that_waits(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        call(door, "select_active_intent", {"intent_id": "INT-001"})
        answer = call(door, "write_source", DELETION)
        assert answer.error is not None
        approvals = workspace.gate.approvals
        waiting = approvals.find(str(answer.error.details["hold_id"]))
        for number in range(210):
            key = replace(waiting.key, arguments_digest=f"{number:064}")
            other = approvals.request(HoldRequest(key, "why", "human approval", "destructive", None))
            approvals.decide(other.hold_id, PersonsAnswer(approves=False, by="test"))

        shown = asyncio.run(_shown(APPROVALS, door))

    assert [one["id"] for one in shown["holds"]] == [waiting.hold_id]


@pytest.mark.parametrize(("number", "expected"), [(399, None), (401, 400)])
def test_now_says_when_it_has_not_looked_at_all_calls(tmp_path: Path, number: int, expected: int | None) -> None:
    with open_test_workspace(make_repository(tmp_path / "repo", FILES)) as workspace:
        door = Door(workspace, OPERATIONS)
        for _ in range(number):
            call(door, "describe", {})

        shown = asyncio.run(_shown(NOW, door))

    assert shown["n_looked_at"] == expected
