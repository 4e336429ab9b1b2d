"""What an adapter is, and what the JSON of most agents has in common."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from codeplane.core.canonical_json import representable
from codeplane.core.hashing import sha256_text
from codeplane.operations.agent_events import (
    AgentDecision,
    AgentEvent,
    EventKind,
    Replacement,
    Reply,
    ToolKind,
    ToolUse,
)
from codeplane.operations.catalog import TOOLS
from codeplane.operations.upstream_names import OWN_SERVER, SEPARATOR

_MAX_TEXT: Final = 16_000_000


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What a hook program prints and how it ends."""

    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a tool's input says what it does: the names of its fields.

    `paths` are fields with a path, or a list of paths or of objects with one. `edits` is a list of objects with `old`
    and `new`; without it these are fields of the input itself. `patch` is a field with a patch that names its files.
    `urls` are fields with an address.
    """

    kind: ToolKind
    paths: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    content: str = ""
    old: str = ""
    new: str = ""
    everywhere: str = ""
    edits: str = ""
    command: str = ""
    directory: str = ""
    patch: str = ""
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Adapter:
    """One agent. `events` maps its own event names, `shapes` its own tools.

    `server_and_tool` splits the name of an MCP tool, None for the agent's own. `reads` makes an event of ours from its
    JSON, `writes` its JSON from a decision. `hold_seconds` is how long its before-tool hook may wait for a person: less
    than the time limit that `connect` writes. `gaps` are what the agent itself leaves open. `starts_servers` says that
    the process which runs its hooks is known to start its MCP servers, too.
    """

    agent: str
    events: Mapping[str, EventKind]
    shapes: Mapping[str, Shape]
    server_and_tool: Callable[[str], tuple[str, str] | None]
    reads: Callable[["Adapter", str, Mapping[str, Any]], AgentEvent]
    writes: Callable[[AgentEvent, AgentDecision], HookAnswer]
    hold_seconds: float = 0.0
    known_version: str = ""
    gaps: tuple[str, ...] = ()
    starts_servers: bool = False


def kind_of(adapter: Adapter, name: str) -> EventKind:
    """Return what an event is; unknown ones are answered with no opinion."""
    return adapter.events.get(name, EventKind.OTHER)


# Reading


def found(document: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these fields that is there, in either spelling: `tool_name` or `toolName`."""
    for name in names:
        for spelling in (name, _camel(name)):
            if document.get(spelling) is not None:
                return document[spelling]
    return None


def text(document: Mapping[str, Any], *names: str) -> str:
    """Return a field that is text, an empty text for anything else."""
    value = found(document, *names)
    return value if isinstance(value, str) and len(value) <= _MAX_TEXT else ""


def mapping(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a field that is an object, an empty one for anything else."""
    value = found(document, *names)
    return value if isinstance(value, dict) else {}


def tool_use(
    adapter: Adapter, name: str, given: Mapping[str, Any], server_and_tool: tuple[str, str] | None = None
) -> ToolUse:
    """Return what a tool call does, by the table of the agent's tools; a tool that is not in it is unknown.

    `server_and_tool` is given where the event tells which MCP server the tool is of.
    """
    split = server_and_tool or adapter.server_and_tool(name)
    if split is not None:
        server, tool = split
        if server == OWN_SERVER and tool in TOOLS:
            return ToolUse(name, tool, ToolKind.OWN, representable(given))
        return ToolUse(name, f"{server}{SEPARATOR}{tool}", ToolKind.FOREIGN, representable(given))
    operation = f"{adapter.agent}:{name}"
    shape = adapter.shapes.get(name)
    if shape is None:
        return ToolUse(name, operation, ToolKind.UNKNOWN, representable(given))
    return shaped(shape, name, operation, given)


def shaped(shape: Shape, name: str, operation: str, given: Mapping[str, Any]) -> ToolUse:
    """Return the call of a tool whose input has this shape; one without what it needs is unknown."""
    paths, deletes = _paths(given, shape.paths), _paths(given, shape.deletes)
    command = _command(given, shape.command) if shape.command else ""
    patch = text(given, shape.patch) if shape.patch else ""
    if patch:
        paths, deletes = _paths_of_patch(patch)
    if shape.kind is ToolKind.WRITE and not (paths or deletes):
        return ToolUse(name, operation, ToolKind.UNKNOWN, representable(given))
    if shape.kind is ToolKind.COMMAND and not command:
        return ToolUse(name, operation, ToolKind.UNKNOWN, representable(given))
    content = text(given, shape.content) if shape.content and found(given, shape.content) is not None else None
    replacements = _replacements(shape, given)
    is_read = shape.kind is ToolKind.READ
    return ToolUse(
        name,
        operation,
        shape.kind,
        _essence(given, command, (*paths, *deletes), content, replacements, patch),
        reads=paths if is_read else (),
        writes=() if is_read else paths,
        deletes=deletes,
        is_anchored=bool(replacements or patch),
        command=command,
        hosts=tuple(host for name in shape.urls if (host := urlsplit(text(given, name)).hostname)),
        content=content,
        replacements=replacements,
        patch=patch,
        directory=text(given, shape.directory) if shape.directory else "",
    )


def _essence(
    given: Mapping[str, Any],
    command: str,
    paths: Sequence[str],
    content: str | None,
    replacements: Iterable[Replacement],
    patch: str,
) -> dict[str, Any]:
    """Return what makes two calls the same, without what only describes; the whole input where that is not known."""
    texts = [content or "", patch, *(f"{one.old}\0{one.new}\0{one.is_everywhere}" for one in replacements)]
    if command:
        return {"command": representable(command)}
    if any(texts):
        return {"paths": representable(paths), "text": sha256_text("\0\0".join(texts))}
    as_json: dict[str, Any] = representable(given)
    return as_json


def _command(given: Mapping[str, Any], name: str) -> str:
    """Return a command; of several that run one after the other, one script; nothing when one of them is no text."""
    values = _every(given, (name,))
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    script = "\n".join(one for one in flat if isinstance(one, str))
    return script if len(script) <= _MAX_TEXT and all(isinstance(one, str) for one in flat) else ""


def _replacements(shape: Shape, given: Mapping[str, Any]) -> tuple[Replacement, ...]:
    if not shape.old:
        return ()
    listed = found(given, shape.edits) if shape.edits else [given]
    return tuple(
        Replacement(text(one, shape.old), text(one, shape.new), bool(shape.everywhere and found(one, shape.everywhere)))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and text(one, shape.old)
    )


def _paths(given: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """Return what these fields name, in every spelling: which of two the agent takes is not known."""
    flat = [one for value in _every(given, names) for one in (value if isinstance(value, list) else [value])]
    nested = [_every(one, ("path", "file_path")) if isinstance(one, dict) else [one] for one in flat]
    # Agents that take out zero bytes write the rest.
    paths = [one.replace("\0", "") for values in nested for one in values if isinstance(one, str)]
    return tuple(dict.fromkeys(filter(None, paths)))


def _every(document: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    spellings = dict.fromkeys(spelling for name in names for spelling in (name, _camel(name)))
    return [document[one] for one in spellings if document.get(one) is not None]


# Readers of patches pass over space before a line that names a file, and at its end; which space counts differs.
_SPACE: Final = r"(?:[^\S\n]|\ufeff)*"
_PATCHED: Final = re.compile(
    rf"^{_SPACE}\*\*\* (Add File|Update File|Delete File|Move to):(.*?\S.*?){_SPACE}$", re.MULTILINE
)


def _paths_of_patch(patch: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that a patch writes and those that it removes; a moved file is removed at its old place.

    A name that begins with space may mean two files: both are judged.
    """
    writes: list[str] = []
    deletes: list[str] = []
    for found in _PATCHED.finditer(patch):
        what, name = found[1], found[2].removeprefix(" ")
        paths = dict.fromkeys((name, name.strip().strip("\ufeff")))
        if what == "Delete File":
            deletes += paths
        elif what == "Move to" and writes:
            deletes.append(writes.pop())
            writes += paths
        else:
            writes += paths
    return tuple(dict.fromkeys(writes)), tuple(dict.fromkeys(deletes))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


# The form that Claude Code brought up and others took over


def event_from(
    adapter: Adapter, name: str, document: Mapping[str, Any], server_and_tool: tuple[str, str] | None = None
) -> AgentEvent:
    """Return an event from JSON in the form of Claude Code."""
    kind = kind_of(adapter, name)
    tool_name = text(document, "tool_name")
    tool = None
    if tool_name:
        given = found(document, "tool_input", "tool_args")
        tool = tool_use(adapter, tool_name, given if isinstance(given, dict) else _parsed(given), server_and_tool)
    return AgentEvent(
        adapter.agent,
        kind,
        name,
        text(document, "session_id", "conversation_id"),
        call_id=text(document, "tool_use_id", "tool_call_id"),
        subagent=text(document, "agent_id"),
        version=text(document, "version"),
        model=text(document, "model"),
        cwd=text(document, "cwd"),
        tool=tool,
        prompt=text(document, "prompt"),
        is_error=kind is EventKind.AFTER_FAILURE,
        is_repeated=found(document, "stop_hook_active") is True,
    )


def _parsed(given: object) -> Mapping[str, Any]:
    """Return an input that came as JSON in a text."""
    if not isinstance(given, str) or not given.lstrip().startswith("{"):
        return {}
    try:
        document = json.loads(given)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def double_underscore(name: str) -> tuple[str, str] | None:
    """Split `mcp__server__tool`."""
    prefix, _, rest = name.partition("__")
    server, separator, tool = rest.partition("__")
    return (server, tool) if prefix == "mcp" and separator and server and tool else None


# Events whose answer can have text for the model.
_WITH_CONTEXT: Final = frozenset(
    {
        EventKind.SESSION_START,
        EventKind.PROMPT,
        EventKind.BEFORE_TOOL,
        EventKind.AFTER_TOOL,
        EventKind.AFTER_FAILURE,
        EventKind.SUBAGENT_START,
    }
)


def answer_in_claudes_form(
    event: AgentEvent, decision: AgentDecision, rewriting: Mapping[str, Any] | None = None
) -> HookAnswer:
    """Return an answer in the form of Claude Code; `rewriting` are fields that an agent wants beside a new input.

    A refusal is told by the exit code: no output can overrule that.
    """
    is_refused = decision.reply in {Reply.DENY, Reply.HOLD}
    if is_refused and event.kind is EventKind.PERMISSION:
        return specific(event, {"decision": {"behavior": "deny", "message": decision.reason}})
    if is_refused:
        return HookAnswer(2, "", f"{decision.reason}\n")
    if decision.reply is Reply.REWRITE:
        # Without a decision beside it, the agent's own rules stay in force.
        return specific(event, {**(rewriting or {}), "updatedInput": {**event.raw_input, **decision.rewritten}})
    if event.kind is EventKind.STOP:
        return (
            HookAnswer(0, json.dumps({"decision": "block", "reason": decision.context}))
            if decision.goes_on
            else HookAnswer()
        )
    if decision.context and event.kind in _WITH_CONTEXT:
        return specific(event, {"additionalContext": decision.context})
    return HookAnswer()


def specific(event: AgentEvent, fields: Mapping[str, Any]) -> HookAnswer:
    """Return the fields that an answer has for this event only."""
    return HookAnswer(0, json.dumps({"hookSpecificOutput": {"hookEventName": event.name, **fields}}))
