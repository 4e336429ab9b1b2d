"""The REST interface as an OpenAPI document, made from the catalog."""

from typing import Any

from codeplane.core.version import API_VERSION
from codeplane.operations.catalog import OPERATIONS, ROUTED, TOOLS
from codeplane.operations.operation import AnyOperation
from codeplane.operations.schema import input_schema, output_schema

_PLAIN = {
    "/health": "Whether the server lives.",
    "/ready": "Whether it takes and records calls.",
    "/status": "Repository, index, sessions by label, open tasks, last error.",
    "/metrics": "Prometheus text.",
    "/stream/events": "The same as they happen, as server-sent events that resume by Last-Event-ID.",
}


def openapi_document() -> dict[str, Any]:
    """Return the document of all operations."""
    answer = {"description": "The answer, or an error object."}
    paths: dict[str, Any] = {
        path: {"get": {"summary": text, "responses": {"200": answer}}} for path, text in _PLAIN.items()
    }
    for operation in map(OPERATIONS.__getitem__, ROUTED):
        for route in operation.routes:
            needs_token = route.needs_token or operation.effect.value != "read"
            one: dict[str, Any] = {"summary": route.summary, "responses": {str(route.status): answer}}
            one |= {"security": [{"operator": []}]} if needs_token else {}
            paths.setdefault(route.path, {})[route.method.lower()] = one
    for operation in TOOLS.values():
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
