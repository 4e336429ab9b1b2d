"""JSON schemas made from request and result types, kept short because a model pays for every character."""

from typing import Any

from pydantic import BaseModel

from codeplane.operations.operation import AnyOperation

_DROPPED = frozenset({"title", "additionalProperties"})


def input_schema(operation: AnyOperation) -> dict[str, Any]:
    """Return the schema of an operation's arguments."""
    schema = _short_schema(operation.request_type)
    schema.pop("description", None)
    return schema


def output_schema(operation: AnyOperation) -> dict[str, Any]:
    """Return the schema of the envelope around an operation's result."""
    return {
        "type": "object",
        "properties": {"result": _short_schema(operation.result_type), "meta": _META, "_session": _META},
        "required": ["result", "meta"],
    }


_META: dict[str, Any] = {
    "type": "object",
    "properties": {
        "session_id": {"type": ["string", "null"]},
        "request_id": {"type": "string"},
        "timestamp_ms": {"type": "integer"},
        "task_id": {"type": ["string", "null"]},
        "task_state": {"type": ["string", "null"]},
        "index_epoch": {"type": ["integer", "null"]},
        "complete": {"type": "boolean"},
        "incomplete": {"type": "array", "items": {"type": "string"}},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "understood": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["request_id", "timestamp_ms"],
}


def _short_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    shortened: dict[str, Any] = _shorten(schema, definitions)
    shortened.setdefault("properties", {})
    return shortened


def _shorten(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_shorten(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = dict(definitions[node["$ref"].rpartition("/")[2]])
        target.pop("description", None)
        return _shorten({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    node = _without_null(node)
    if "$ref" in node:
        return _shorten(node, definitions)
    return {
        key: {name: _shorten(value, definitions) for name, value in item.items()}
        if key == "properties"
        else _shorten(item, definitions)
        for key, item in node.items()
        if key not in _DROPPED and not (key == "default" and item is None)
    }


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Write an optional value as its type: leaving it out says the same."""
    options = node.get("anyOf")
    if not isinstance(options, list):
        return node
    kept = [option for option in options if option != {"type": "null"}]
    if len(kept) != 1:
        return {**node, "anyOf": kept}
    return {**kept[0], **{key: value for key, value in node.items() if key != "anyOf"}}
