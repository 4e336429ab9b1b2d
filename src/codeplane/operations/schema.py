"""JSON schemas made from request and result types, kept short because models pay for every character."""

from typing import Any

from pydantic import BaseModel

from codeplane.operations.operation import AnyOperation
from codeplane.operations.tool_list import envelope_schema

_DROPPED = frozenset({"title", "additionalProperties"})
_NULL = {"type": "null"}


def input_schema(operation: AnyOperation) -> dict[str, Any]:
    """Return the schema of an operation's arguments; fields that small tool lists leave out are marked `rare`."""
    if operation.card is not None:
        return dict(operation.card["input_schema"])
    schema = _short_schema(operation.request_type)
    schema.pop("description", None)
    return schema


def output_schema(operation: AnyOperation) -> dict[str, Any]:
    """Return the schema of the envelope around an operation's result."""
    return envelope_schema(result_schema(operation))


def result_schema(operation: AnyOperation) -> dict[str, Any]:
    """Return the schema of an operation's result."""
    return _short_schema(operation.result_type)


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
    short = {
        key: _shorten(item, definitions)
        for key, item in node.items()
        if key not in {*_DROPPED, "properties", "required"} and not (key == "default" and item is None)
    }
    if "properties" in node:
        short |= _short_object(node, definitions)
    return short


def _short_object(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of an object; one that may be null is left out of an answer and so never required."""
    fields = node["properties"]
    properties = {name: _shorten(_without_null(value), definitions) for name, value in fields.items()}
    required = [name for name in node.get("required", ()) if not _is_nullable(fields[name])]
    return {"properties": properties, **({"required": required} if required else {})}


def _is_nullable(node: dict[str, Any]) -> bool:
    return _NULL in node.get("anyOf", ())


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Write an optional property as its type: an answer leaves it out instead of saying null."""
    if not _is_nullable(node):
        return node
    kept = [option for option in node["anyOf"] if option != _NULL]
    if len(kept) != 1:
        return {**node, "anyOf": kept}
    return {**kept[0], **{key: value for key, value in node.items() if key != "anyOf"}}
