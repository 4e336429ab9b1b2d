"""Tools of upstreams as operations: what they are called, whether they are as they were accepted, and their calls.

A description is data of a stranger: it is bounded, checked and compared, never followed.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal
from urllib.parse import quote, unquote, urlsplit

from pydantic import Field, model_serializer, model_validator

from codeplane.core.canonical_json import canonical_bytes, digest, representable
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import visible_text
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.upstream_pins import Pin, ToolDocument
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.agent_context import call_lines
from codeplane.operations.agent_events import ToolKind, ToolUse
from codeplane.operations.catalog import OfferedTools
from codeplane.operations.file_access import check_readable
from codeplane.operations.operation import AnyOperation, CallContext, Example, Operation, Plan
from codeplane.operations.outside_calls import OutsideRequest, OutsideResult, completed, places_of
from codeplane.operations.upstream_names import PROMPTS, RESOURCES, SEPARATOR, tool_names
from codeplane.operations.write_access import writable
from codeplane.workspace.gateway_settings import UpstreamSettings
from codeplane.workspace.workspace import Workspace

FAMILY: Final = "upstreams"
MAX_TOOLS: Final = 500
_MAX_DOCUMENT_BYTES: Final = 64_000
_MAX_TOTAL_BYTES: Final = 4_000_000
_MAX_NAME: Final = 200
_MAX_DEPTH: Final = 40
_MAX_STRINGS: Final = 20_000
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# What of a tool is pinned: everything that a model or a client acts on.
_PINNED: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

# `method` marks a method of the server that is no tool: its resources, its prompts. It is in no list.
State = Literal["pinned", "changed", "added", "method"]
RESOURCE_PREFIX: Final = "codeplane://upstream/"


@dataclass(frozen=True, slots=True)
class UpstreamTool:
    """One tool: its name here, its server, its own name, and its description as it was accepted, if it was.

    `document` is what was pinned; for one that was added since, what its server says.
    """

    name: str
    server: str
    document: ToolDocument
    state: State

    @property
    def original(self) -> str:
        """Return what its server calls it."""
        return str(self.document["name"])


class UpstreamRequest(OutsideRequest):
    """The arguments of an upstream's tool, as they came; `essence` is what is recorded and what an approval binds."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {}
    raw: dict[str, Any] = Field(default_factory=dict, exclude=True)

    @model_serializer
    def _arguments(self) -> dict[str, Any]:
        """Return what is judged, shown and recorded: the arguments, and nothing that hooks tell besides."""
        return dict(self.essence)

    @model_validator(mode="before")
    @classmethod
    def _take_all(cls, data: Any) -> Any:
        """Take any object: its server knows its own arguments."""
        return {"essence": representable(data), "raw": data} if isinstance(data, dict) else data


class UpstreamResult(OutsideResult):
    """What an upstream answered, and what its call did to files of the tree."""

    content: list[dict[str, Any]] = Field(default_factory=list, description="Blocks of content, as MCP has them.")
    structured: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class UpstreamAnswer:
    """What came back of a call; `notes` say what was cut or taken out."""

    content: list[dict[str, Any]]
    structured: dict[str, Any] | None = None
    is_error: bool = False
    notes: tuple[str, ...] = field(default=())


# Carries a call to its server; raises UPSTREAM_UNAVAILABLE, UPSTREAM_TIMEOUT, UPSTREAM_FAILED or CANCELLED.
CallsUpstream = Callable[[UpstreamTool, Mapping[str, Any], CallContext], UpstreamAnswer]


def read_documents(listed: Sequence[Any]) -> tuple[list[ToolDocument], list[str]]:
    """Return the tools of a list that can be offered, and why others cannot."""
    found: dict[str, ToolDocument] = {}
    problems: list[str] = []
    room = _MAX_TOTAL_BYTES
    for one in listed[:MAX_TOOLS]:
        problem = _problem_of(one)
        room -= _size(one) if not problem else 0
        if not problem and room < 0:
            problem = f"is left out: all descriptions together have more than {_MAX_TOTAL_BYTES} bytes"
        if problem:
            name = one.get("name") if isinstance(one, dict) else None
            problems.append(f"{visible_text(str(name)[:60])} {problem}")
        elif one["name"] in found:
            problems.append(f"{visible_text(one['name'][:60])} is listed twice; the first one counts")
        else:
            found[one["name"]] = {key: one[key] for key in _PINNED if one.get(key) is not None}
    if len(listed) > MAX_TOOLS:
        problems.append(f"it lists {len(listed)} tools; the first {MAX_TOOLS} are offered")
    return list(found.values()), problems


def _problem_of(listed: Any) -> str:
    if not isinstance(listed, dict) or not isinstance(listed.get("name"), str) or not listed["name"]:
        return "has no name"
    schema = listed.get("inputSchema")
    checks: tuple[tuple[Callable[[], bool], str], ...] = (
        (lambda: len(listed["name"]) > _MAX_NAME, f"has a name of more than {_MAX_NAME} characters"),
        (lambda: not isinstance(listed.get("description") or "", str), "has a description that is no text"),
        (lambda: not _describes_object(schema), "has an input schema that describes no object"),
        (lambda: _is_too_deep(listed), f"is nested more than {_MAX_DEPTH} levels deep"),
        (lambda: _size(listed) > _MAX_DOCUMENT_BYTES, f"has more than {_MAX_DOCUMENT_BYTES} bytes of description"),
    )
    return next((problem for has_it, problem in checks if has_it()), "") or _problem_of_schema(listed["inputSchema"])


def _describes_object(schema: Any) -> bool:
    return (
        isinstance(schema, dict) and schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict)
    )


def _size(listed: Mapping[str, Any]) -> int:
    """Return the size of what is pinned; what JSON cannot carry exactly is too large."""
    try:
        return len(canonical_bytes({key: listed.get(key) for key in _PINNED}))
    except CodePlaneError:
        return _MAX_DOCUMENT_BYTES + 1


def _problem_of_schema(schema: Mapping[str, Any]) -> str:
    # 40 ms that only servers with upstreams need.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415

    remote = [one for one in _references(schema) if not one.startswith("#")]
    if remote:
        return f"refers to a schema elsewhere ({visible_text(remote[0][:80])}); nothing is fetched"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"has an invalid input schema: {visible_text(error.message[:120])}"
    return ""


def _is_too_deep(value: Any) -> bool:
    stack = [(value, 1)]
    while stack:
        one, depth = stack.pop()
        if depth > _MAX_DEPTH:
            return True
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        stack.extend((item, depth + 1) for item in inner)
    return False


def _references(value: Any) -> Iterable[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            yield from (str(one[key]) for key in ("$ref", "$dynamicRef") if isinstance(one.get(key), str))
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def _method(name: str, description: str, *arguments: str) -> ToolDocument:
    properties: dict[str, Any] = {one: {} for one in (*arguments, "arguments")}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


_METHODS: Final = (
    _method(RESOURCES, "Read a resource of this server.", "uri"),
    _method(PROMPTS, "Get a prompt of this server.", "name"),
)


def resource_address(server_name: str, uri: str) -> str:
    """Return under which address clients find a resource of a server; `{variables}` of a template stay as they are."""
    return f"{RESOURCE_PREFIX}{server_name}/{quote(uri, safe='{}*+,')}"


def resource_of(address: str) -> tuple[str, str]:
    """Return the first part of its server's names and its own URI; the first part is empty when it is of no server."""
    server_name, slash, uri = address.removeprefix(RESOURCE_PREFIX).partition("/")
    is_ours = address.startswith(RESOURCE_PREFIX) and bool(slash)
    return (server_name, unquote(uri)) if is_ours else ("", "")


def method_of(operations: Mapping[str, AnyOperation], server_name: str, method: str) -> str | None:
    """Return the name of the operation that is a method of a server."""
    if not isinstance(operations, OfferedTools):
        return None
    for name, one in operations.foreign().items():
        told = (one.card or {}).get("upstream", {})
        if told.get("method") == method and name.partition(SEPARATOR)[0] == server_name:
            return name
    return None


def tools_of(server: str, server_name: str, pin: Pin, seen: Sequence[ToolDocument] | None) -> list[UpstreamTool]:
    """Return a server's tools: as they were pinned, with a mark where the server now says something else.

    `seen` is what it lists now, None while that is not known: then the pinned ones are offered as they are.
    """
    pinned = dict(pin.tools or {})
    now = {str(one["name"]): one for one in (pinned.values() if seen is None else seen)}
    names = tool_names(server_name, {*pinned, *now, RESOURCES, PROMPTS})
    found = [UpstreamTool(names[str(one["name"])], server, one, "method") for one in _METHODS]
    for original in sorted({*pinned, *now}):
        known = pinned.get(original)
        if known is None:
            found.append(UpstreamTool(names[original], server, now[original], "added"))
        elif original in now:
            state: State = "pinned" if pin.is_pinned(now[original]) else "changed"
            found.append(UpstreamTool(names[original], server, known, state))
    return found


def upstream_operations(
    tools: Iterable[UpstreamTool], settings: Mapping[str, UpstreamSettings], rules: Rulebook, call: CallsUpstream
) -> dict[str, AnyOperation]:
    """Return the operations that tools are under these rules, by name."""
    return {tool.name: _operation(tool, settings[tool.server], rules, call) for tool in tools}


def _operation(
    tool: UpstreamTool, settings: UpstreamSettings, rules: Rulebook, call: CallsUpstream
) -> Operation[UpstreamRequest, UpstreamResult]:
    use = ToolUse(tool.original, tool.name, ToolKind.FOREIGN, {})
    is_listed = rules.is_read_only_tool(tool.name) and not _says_destructive(tool.document)
    is_read = is_listed or tool.state == "method"
    host = host_of(settings)
    is_local = not host or host in _LOCAL_HOSTS
    directory = None if host else settings.cwd
    effect = EffectClass.READ if is_read else EffectClass.EXECUTE
    return Operation(
        name=tool.name,
        family=FAMILY,
        summary=visible_text(str(tool.document.get("description") or "")) or f"{tool.original} of {tool.server}.",
        request_type=UpstreamRequest,
        result_type=UpstreamResult,
        effect=effect,
        plan=lambda context, request: _plan(context, request, _Target(tool, call, host, is_local, is_read, directory)),
        render=_text,
        complete=lambda context, result: _complete(context, result, use),
        snapshots=is_local and not is_read,
        tool_class=rules.tool_class_of((tool.name, tool.original)) or "mcp",
        is_carried_out_here=True,
        reaches_network=bool(host),
        examples=(Example("With the arguments of its schema", {}),),
        card=_card(tool, effect, host),
    )


def host_of(settings: UpstreamSettings) -> str:
    """Return the host that a server is reached at, empty for a program of this machine."""
    return (urlsplit(settings.url).hostname or settings.url) if settings.url else ""


def _says_destructive(document: ToolDocument) -> bool:
    """Tell whether the server itself says that a tool destroys something: that outweighs a list of harmless ones."""
    hints = document.get("annotations")
    return isinstance(hints, Mapping) and hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True


def _card(tool: UpstreamTool, effect: EffectClass, host: str) -> dict[str, Any]:
    document = tool.document
    return {
        "name": tool.name,
        "summary": visible_text(str(document.get("description") or "")),
        "effect": effect.value,
        "mutates": effect.mutates,
        "profiles": [],
        "reaches_network": bool(host),
        "reaches_all": False,
        "input_schema": document["inputSchema"],
        "result_schema": {},
        "upstream": {
            "server": tool.server,
            "digest": digest(dict(document)),
            "state": tool.state,
            "method": tool.original if tool.state == "method" else "tools/call",
        },
        "tool": _listed(tool, effect),
    }


def _listed(tool: UpstreamTool, effect: EffectClass) -> dict[str, Any]:
    """Return the tool as MCP lists it: what was pinned, and hints as the gate judges it."""
    document = tool.document
    hints = {
        "readOnlyHint": not effect.mutates,
        "destructiveHint": effect.mutates,
        "openWorldHint": True,
    }
    shown = {key: document[key] for key in ("title", "inputSchema", "outputSchema") if key in document}
    return {
        **shown,
        "name": tool.name,
        "description": visible_text(str(document.get("description") or "")),
        "annotations": hints,
    }


@dataclass(frozen=True, slots=True)
class _Target:
    """What a call is for; `directory` is where a program runs in the tree, None for what runs elsewhere."""

    tool: UpstreamTool
    call: CallsUpstream
    host: str
    is_local: bool
    is_read: bool
    directory: str | None


def _plan(context: CallContext, request: UpstreamRequest, target: _Target) -> Plan[UpstreamResult]:
    tool = target.tool
    if tool.state in {"changed", "added"}:
        what = "changed its description or schema" if tool.state == "changed" else "was added by its server"
        raise CodePlaneError(
            "UPSTREAM_TOOL_CHANGED",
            f"{tool.name} {what} and waits for a person.",
            hint=f"A person compares and accepts it: cpl gateway show {tool.server}, cpl gateway accept {tool.server}.",
            details={"upstream": tool.server, "tool": tool.name},
        )
    named = _named_places(context.workspace, request.raw, target.directory) if target.is_local else _Places()
    for path in named.inside:
        _check_secret(context.workspace, path)
    effects = Effects(
        reads=named.inside if target.is_read else (),
        writes=() if target.is_read else _writable(context.workspace, named.inside),
        foreign=() if target.is_read else named.outside,
        network=(target.host,) if target.host else (),
        destructive=not target.is_read,
    )  # fmt: skip

    def work() -> UpstreamResult:
        answer = target.call(tool, request.raw, context)
        context.warnings.extend(answer.notes)
        return UpstreamResult(is_error=answer.is_error, content=answer.content, structured=answer.structured)

    return Plan(work, effects)


def _writable(workspace: Workspace, paths: Iterable[RepoPath]) -> tuple[RepoPath, ...]:
    return tuple(writable(workspace, path.text, follow=True).real for path in paths)


@dataclass(frozen=True, slots=True)
class _Places:
    inside: tuple[RepoPath, ...] = ()
    outside: tuple[str, ...] = ()


def _named_places(workspace: Workspace, arguments: Mapping[str, Any], directory: str | None) -> _Places:
    """Return the files of this machine that arguments name by absolute paths.

    Relative ones may mean anything; those count that are secrets, or files of git or CodePlane, where the program runs.
    """
    inside: list[RepoPath] = []
    outside: list[str] = []
    base = workspace.root if directory is None else workspace.root / directory
    for text in _strings(arguments):
        if len(text) > 4_000 or "\0" in text:
            continue
        if not text.startswith(_ABSOLUTE):
            if directory is not None and os.path.lexists(base / text):
                named = places_of(workspace.root, base, text)
                inside += [one for one in named if isinstance(one, RepoPath) and _is_withheld(workspace, one)]
            continue
        for place in places_of(workspace.root, base, text.removeprefix("file://localhost")):
            if isinstance(place, RepoPath):
                inside.append(place)
            elif os.path.isdir(os.path.dirname(place)) and place != os.path.realpath(workspace.root):  # noqa: PTH112, PTH120
                outside.append(place)
    state = os.path.realpath(workspace.places.user.state)
    if any(f"{one}/".startswith(f"{state}/") for one in outside):
        raise CodePlaneError("PROTECTED_PATH", "The secrets of CodePlane are not read by tools.")
    return _Places(tuple(dict.fromkeys(inside)), tuple(dict.fromkeys(outside)))


_ABSOLUTE: Final = ("/", "~/", "file:///", "file://localhost/")


def _is_withheld(workspace: Workspace, path: RepoPath) -> bool:
    if path.text.split("/")[0] in {".git", ".codeplane"}:
        return True
    try:
        _check_secret(workspace, path)
    except CodePlaneError:
        return True
    return False


def _strings(value: Any) -> Iterable[str]:
    """Yield every text of the arguments, names of fields included.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS when there are too many to look at.
    """
    stack, n_left = [value], _MAX_STRINGS
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            n_left -= 1
            if n_left < 0:
                raise CodePlaneError("INVALID_ARGUMENTS", f"The arguments hold more than {_MAX_STRINGS} texts.")
            yield one
        elif isinstance(one, Mapping):
            stack.extend((*one.keys(), *one.values()))
        elif isinstance(one, list | tuple):
            stack.extend(one)


def _check_secret(workspace: Workspace, path: RepoPath) -> None:
    try:
        check_readable(workspace.ignore_rules(), path)
    except CodePlaneError as error:
        if error.code == "SECRET_FILE":
            raise


def _complete(context: CallContext, result: UpstreamResult, use: ToolUse) -> UpstreamResult:
    done = completed(context, result, use, OutsideRequest())
    return done if isinstance(done, UpstreamResult) else result


def _text(result: UpstreamResult) -> str:
    """Return the answer as text; what is not text is named."""
    return "\n".join([*map(_block_text, result.content), *file_lines(result)])


def _block_text(block: Mapping[str, Any]) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    resource = block.get("resource")
    if isinstance(resource, Mapping) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    return f"[{block.get('type', 'content')}: {block.get('mimeType') or block.get('uri') or 'not text'}]"


def file_lines(result: OutsideResult) -> list[str]:
    """Return what a call did to files of the tree, which its own answer need not say."""
    if not result.changed and not result.restored:
        return []
    shown = ", ".join(result.changed[:10]) + (
        f" and {len(result.changed) - 10} more" if len(result.changed) > 10 else ""
    )
    return [*([f"Changed here: {shown}."] if result.changed else []), *call_lines(result)]
