"""A workspace and its door, opened for a test, and short ways to call."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.clock import ManualClock
from codeplane.core.ids import CountingIds, IdSource
from codeplane.govern.approvals import PersonsAnswer
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.operation import AnyOperation
from codeplane.operations.perform import Door
from codeplane.operations.schema import output_schema
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


def caller(connection: str = "c1", session_id: str | None = None) -> Caller:
    """Return an agent on a connection."""
    return Caller(CallerKind.AGENT, "test", connection, "pytest", session_id)


def person(connection: str = "p1") -> Caller:
    """Return a person who has shown to be one."""
    return Caller(CallerKind.PERSON, "test", connection, "pytest", proof="test")


def open_test_workspace(
    root: Path,
    *,
    clock: ManualClock | None = None,
    ids: IdSource | None = None,
    overrides: tuple[str, ...] = (),
    accepts_hooks: bool = True,
) -> Workspace:
    """Open a workspace whose time and ids the test decides; a person has accepted its hooks and helpers."""
    request = WorkspaceRequest(root, overrides, clock or ManualClock(), ids or CountingIds())
    workspace = open_workspace(request)
    if accepts_hooks:
        workspace.accept_helpers()
    return workspace


def call(
    door: Door,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    connection: str = "c1",
    by: Caller | None = None,
) -> Answer:
    """Call an operation by name, as a surface does; the answer must fit the output schema that `full` promises.

    A person agrees to places outside the tree, hooks and helpers.
    """
    answer = dispatch(door, name, arguments or {}, by or caller(connection))
    held = answer.error.details if answer.outcome is Outcome.HELD and answer.error is not None else {}
    if held.get("policy") in {"foreign places", "git programs"}:
        door.workspace.gate.approvals.decide(held["hold_id"], PersonsAnswer(approves=True, by="test"))
        answer = dispatch(door, name, arguments or {}, by or caller(connection))
    if answer.result is not None and answer.operation in OPERATIONS:
        _validator(answer.operation).validate(answer.envelope())
    return answer


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(output_schema(OPERATIONS[name]))


def result_of(answer: Answer) -> dict[str, Any]:
    """Return the result of a call that succeeded."""
    assert answer.error is None, answer.error
    result: dict[str, Any] = answer.envelope()["result"]
    return result


def error_of(answer: Answer) -> str:
    """Return the code of a call that failed."""
    assert answer.error is not None, answer.result
    return answer.error.error


def door_with(workspace: Workspace, *operations: AnyOperation) -> Door:
    """Return a door with the catalog and some operations of the test's own."""
    return Door(workspace, {**OPERATIONS, **{operation.name: operation for operation in operations}})
