"""The tools of a profile as MCP lists them, made from `cards.json`.

The standard library is enough to import this: the stdio bridge lists tools with it while its server is still starting.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

CARDS_FILE = Path(__file__).with_name("cards.json")
CORE = "core"
CLASSIC = "classic"
MEMORY = "memory"
CONTROLLER = "controller"
FULL = "full"
NAMED = (CORE, CLASSIC, MEMORY, CONTROLLER)
CALL = "call"
# What the names of upstreams' tools have, and no operation of ours.
FOREIGN_MARK = "__"
# Marks a field that small tool lists leave out; it is still accepted.
RARE = "rare"
# The name under which small tool lists show a field; it is one of its aliases.
SHORT_NAME = "short_name"
_SELECT = "select_active_intent"
_SESSION = {"type": "string", "description": "Join or resume this session."}

Card = Mapping[str, Any]


@cache  # A memo of a file that belongs to the program.
def stored_cards() -> tuple[Card, ...]:
    """Return the cards of the catalog, in its order."""
    return tuple(json.loads(CARDS_FILE.read_text(encoding="utf-8")))


def repeatable_names() -> frozenset[str]:
    """Return the tools that only read: a call that was lost with its server can be made again."""
    return frozenset(card["name"] for card in stored_cards() if card["effect"] == "read" and not card["reaches_all"])


def choose(wanted: str, cards: Iterable[Card]) -> list[str] | None:
    """Return the names of a profile's tools: one of `NAMED`, `full` or a list; None for another."""
    by_name = {card["name"]: card for card in cards}
    if wanted == FULL:
        return list(by_name)
    if wanted in NAMED:
        return [name for name, card in by_name.items() if wanted in card["profiles"]]
    listed = [part.strip() for part in wanted.split(",") if part.strip()]
    foreign = foreign_names(wanted)
    if not listed or any(name not in by_name and name not in foreign for name in listed):
        return None
    names = [name for name in listed if name not in foreign]
    if _SELECT in by_name and _SELECT not in names and (foreign or any(by_name[name]["mutates"] for name in names)):
        # Where intents are enforced, nothing can be changed without it.
        names.append(_SELECT)
    return names


def foreign_names(wanted: str) -> tuple[str, ...]:
    """Return the names in a list that are tools of upstreams: they may appear later than the list is made."""
    names = (part.strip() for part in wanted.split(","))
    return tuple(dict.fromkeys(name for name in names if FOREIGN_MARK in name))


def tool_documents(wanted: str, cards: Sequence[Card]) -> list[dict[str, Any]] | None:
    """Return the profile's tools as `tools/list` shows them; None when there is no such profile."""
    names = choose(wanted, cards)
    if names is None:
        return None
    by_name = {card["name"]: card for card in cards}
    if wanted == CONTROLLER:
        return [_plain_tool(by_name[name]) for name in names]
    return [_tool(by_name[name], is_full=wanted == FULL) for name in names]


def _plain_tool(card: Card) -> dict[str, Any]:
    """Return a tool whose structured answer is its result, without an envelope around it."""
    return {
        "name": card["name"],
        "description": card["summary"],
        "inputSchema": card["input_schema"],
        "outputSchema": card["result_schema"],
        "annotations": _annotations(card),
    }


def _tool(card: Card, *, is_full: bool) -> dict[str, Any]:
    schema = card["input_schema"]
    tool = {
        "name": card["name"],
        "description": card["summary"],
        "inputSchema": _short(schema),
        "annotations": {name: hint for name, hint in _annotations(card).items() if hint is not _USUAL_HINTS[name]},
    }
    if is_full:
        tool["annotations"] = _annotations(card)
        tool["inputSchema"] = {**schema, "properties": {"session_id": _SESSION, **schema["properties"]}}
        if card["name"] != CALL:
            tool["outputSchema"] = envelope_schema(card["result_schema"])
    return tool


# What a client assumes for a missing hint.
_USUAL_HINTS = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}


def _annotations(card: Card) -> dict[str, bool]:
    # `call` and `run` reach every operation, the destructive ones included.
    reaches_all = card["reaches_all"]
    return {
        "readOnlyHint": card["effect"] == "read" and not reaches_all,
        # Every operation that changes something can also delete or overwrite.
        "destructiveHint": card["mutates"] or reaches_all,
        "openWorldHint": card["reaches_network"] or reaches_all,
    }


# What a model does not need for a call: the door checks limits and knows the defaults.
_NOISE = frozenset({"maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "default"})


def _short(node: Any) -> Any:
    """Return a schema as small clients see it: without limits, defaults and fields that are rarely needed."""
    if isinstance(node, list):
        return [_short(item) for item in node]
    if not isinstance(node, dict):
        return node
    if any(option.get("type") == "string" for option in node.get("anyOf", ())):
        # A string can express the same as the object beside it.
        node = {**{key: item for key, item in node.items() if key != "anyOf"}, "type": "string"}
    short = {key: _short(item) for key, item in node.items() if key not in {*_NOISE, RARE, SHORT_NAME, "properties"}}
    if "properties" in node:
        fields = {name: item for name, item in node["properties"].items() if not item.get(RARE)}
        short["properties"] = {item.get(SHORT_NAME, name): _short(item) for name, item in fields.items()}
    return short


def envelope_schema(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the envelope around a result."""
    return {
        "type": "object",
        "properties": {"result": result, "meta": _META, "_session": _META},
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
