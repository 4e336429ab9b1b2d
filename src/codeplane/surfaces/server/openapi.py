"""The REST interface as an OpenAPI document, made from the catalog."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from codeplane.core.version import API_VERSION
from codeplane.operations.catalog import OPERATIONS, TOOLS
from codeplane.operations.command import Route
from codeplane.operations.operation import AnyOperation
from codeplane.operations.schema import input_schema, output_schema

_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
_STATES: Final = {"type": "object", "properties": {"status": _TEXT}, "required": ["status"]}
# Address: what it tells, media type, schema.
_PLAIN: Final[Mapping[str, tuple[str, str, dict[str, Any]]]] = {
    "/health": ("Whether the server lives.", "application/json", _STATES),
    "/ready": ("Whether it takes and records calls.", "application/json", _STATES),
    "/status": ("Repository, index, sessions by label, open tasks.", "application/json", _OBJECT),
    "/status/health": ("The index by language, how long comparisons took, resources.", "application/json", _OBJECT),
    "/metrics": ("Prometheus text.", "text/plain", _TEXT),
    "/stream/events": ("Rows of the ledger as server-sent events, as they happen.", "text/event-stream", _TEXT),
    "/openapi.json": ("This document.", "application/json", _OBJECT),
}
_ERROR: Final = {
    "type": "object",
    "description": "What went wrong and what to do now. `error_code`, `recoverable` and `suggestion` are other names.",
    "properties": {
        "code": {"type": "integer", "description": "The number of the error."},
        "error": {"type": "string", "description": "Its name, which does not change."},
        "message": _TEXT,
        "retryable": {"type": "boolean"},
        "details": {"type": "object"},
        "required_action": _TEXT,
        "error_code": _TEXT,
        "recoverable": {"type": "boolean"},
        "suggestion": _TEXT,
    },
    "required": ["code", "error", "message", "retryable", "details", "required_action"],
}
_ABOUT: Final = (
    "The server listens on 127.0.0.1 and answers the user who owns it; another user needs the access secret. Whatever "
    "changes something needs the operator token of that user. `/operations/{name}` takes every operation."
)


def openapi_document(served: Iterable[tuple[AnyOperation, Route]]) -> dict[str, Any]:
    """Return the document: the plain addresses, the routes that are served, and every operation by its name."""
    schemas: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, Any] = {path: {"get": _plain(path)} for path in _PLAIN}
    for operation, route in served:
        paths.setdefault(route.path, {})[route.method.lower()] = _routed(operation, route, schemas)
    for operation in map(OPERATIONS.__getitem__, OPERATIONS):
        paths[f"/operations/{operation.name}"] = {"post": _by_name(operation)}
    schemes = {"operator": {"type": "http", "scheme": "bearer", "description": "The operator token: a person."}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "CodePlane", "version": API_VERSION, "description": _ABOUT},
        "components": {"securitySchemes": schemes, "schemas": schemas},
        "paths": paths,
    }


def _plain(path: str) -> dict[str, Any]:
    summary, media_type, schema = _PLAIN[path]
    answer = {"description": summary, "content": {media_type: {"schema": schema}}}
    one: dict[str, Any] = {"operationId": _id("get", path), "summary": summary, "responses": _responses("200", answer)}
    return {**one, "parameters": _resuming()} if path == "/stream/events" else one


def _resuming() -> list[dict[str, Any]]:
    """Describe how a stream goes on where it ended."""
    about = "The number of the last row that is known; the next ones follow."
    number = {"type": "integer", "minimum": 0, "description": about}
    return [
        _parameter("Last-Event-ID", "header", number, is_required=False),
        _parameter("last_event_id", "query", number, is_required=False),
    ]


def _routed(operation: AnyOperation, route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe an address of its own: names in the path, the rest in the query or the body."""
    arguments = input_schema(operation)
    fields, required = arguments["properties"], arguments.get("required", ())
    in_path = re.findall(r"{(\w+)}", route.path)
    # `hold_id` in the path is the only one of `hold_ids`.
    rest = {name: one for name, one in fields.items() if name not in in_path and name.removesuffix("s") not in in_path}
    parameters = [_parameter(name, "path", fields.get(name, _TEXT), is_required=True) for name in in_path]
    described = {
        "operationId": _id(route.method, route.path),
        "summary": route.summary,
        "description": operation.summary,
        "responses": _responses(str(route.status), _answer(operation, route, schemas)),
        "security": _security(needs_token=route.needs_token or operation.effect.value != "read"),
    }
    if route.method == "GET":
        parameters += [_parameter(name, "query", one, is_required=name in required) for name, one in rest.items()]
    elif rest:
        needed = [name for name in required if name in rest]
        body = {"type": "object", "properties": rest, **({"required": needed} if needed else {})}
        described["requestBody"] = {"content": {"application/json": {"schema": body}}, "required": bool(needed)}
    return {**described, **({"parameters": parameters} if parameters else {})}


def _parameter(name: str, place: str, schema: Mapping[str, Any], *, is_required: bool) -> dict[str, Any]:
    about = {"description": schema["description"]} if "description" in schema else {}
    kept = {key: value for key, value in schema.items() if key not in {"description", "rare"}}
    return {"name": name, "in": place, "required": is_required, "schema": kept, **about}


def _answer(operation: AnyOperation, route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe the answer of an address: the result itself, or what the route makes of it."""
    if route.answer is not Route(method="", path="", summary="").answer:
        return {"description": "What the result says of it.", "content": {"application/json": {"schema": {}}}}
    template = f"#/components/schemas/{operation.name}.{{model}}"
    schema = operation.result_type.model_json_schema(mode="serialization", ref_template=template)
    schemas |= {f"{operation.name}.{name}": one for name, one in schema.pop("$defs", {}).items()}
    return {"description": "The result.", "content": {"application/json": {"schema": schema}}}


def _by_name(operation: AnyOperation) -> dict[str, Any]:
    needs_token = operation.effect.value != "read" or operation.name == "call" or operation.name not in TOOLS
    envelope = {"application/json": {"schema": output_schema(operation)}}
    held = {"description": "Held: a person has to agree; send it again then."}
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "requestBody": {"content": {"application/json": {"schema": input_schema(operation)}}},
        "responses": {**_responses("200", {"description": "The result and meta.", "content": envelope}), "202": held},
        "security": _security(needs_token=needs_token),
    }


def _responses(status: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: answer, "default": {"description": "An error.", "content": error}}


def _security(*, needs_token: bool) -> list[dict[str, Any]]:
    # The empty one says that the address also answers without the token.
    return [{"operator": []}] if needs_token else [{}, {"operator": []}]


def _id(method: str, path: str) -> str:
    return "_".join([method.lower(), *re.findall(r"\w+", path)])
