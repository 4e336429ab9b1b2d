"""The REST interface as an OpenAPI document, made from the catalog."""

from collections.abc import Mapping
from typing import Any

from codeplane.core.version import API_VERSION
from codeplane.operations.operation import AnyOperation
from codeplane.operations.schema import input_schema, output_schema

_PLAIN = {
    "/health": "Whether the server lives.",
    "/ready": "Whether it takes and records calls.",
    "/status": "Repository, index, sessions by label, open tasks, last error.",
    "/metrics": "Prometheus text.",
    "/operations": "Calls; filters type, outcome, session, task, since, until, cursor, limit.",
    "/tasks": "Tasks, newest first; filters state, session, cursor, limit.",
    "/tasks/{task_id}": "One task.",
    "/approvals": "Calls that wait for a person, or did; filter state; needs the operator token.",
    "/approvals/{hold_id}": "One of them with its card; needs the operator token.",
    "/stream/events": "The same as they happen, as server-sent events that resume by Last-Event-ID.",
}

_CHANGING = {
    "/approvals/{hold_id}/approve": "Let a held call run; fields comment, scope, minutes.",
    "/approvals/{hold_id}/deny": "Refuse it; field comment, which reaches the agent.",
    "/approvals/{hold_id}/revoke": "Take an approval or grant back.",
    "/tasks": "Open a task; fields session, max_mutations, max_test_runs, max_duration_sec.",
    "/tasks/{task_id}/close": "Close a task; fields state (CLOSED_SUCCESS unless said otherwise), reason.",
}


def openapi_document(operations: Mapping[str, AnyOperation]) -> dict[str, Any]:
    """Return the document for these operations."""
    answer = {"description": "The answer, or an error object."}
    paths: dict[str, Any] = {
        path: {"get": {"summary": text, "responses": {"200": answer}}} for path, text in _PLAIN.items()
    }
    for path, text in _CHANGING.items():
        post = {"summary": text, "responses": {"200": answer}, "security": [{"operator": []}]}
        paths[path] = {**paths.get(path, {}), "post": post}
    for operation in operations.values():
        paths[f"/operations/{operation.name}"] = {"post": _post(operation)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "CodePlane", "version": API_VERSION},
        "components": {"securitySchemes": {"operator": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _post(operation: AnyOperation) -> dict[str, Any]:
    needs_token = operation.effect.value != "read" or operation.name == "call"
    return {
        "summary": operation.summary,
        "requestBody": {"content": {"application/json": {"schema": input_schema(operation)}}},
        "responses": {
            "200": {
                "description": "The result in its envelope.",
                "content": {"application/json": {"schema": output_schema(operation)}},
            },
            "default": {"description": "An error object."},
        },
        "security": [{"operator": []}] if needs_token else [],
    }
