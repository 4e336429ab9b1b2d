"""`describe`: an overview of this repository, an operation's usage, an error's meaning."""

import difflib
import json
from collections import Counter
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.error_registry import ERROR_TABLE, find_entry
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.languages.catalog import UNKNOWN, language_of
from codeplane.ledger.effects import EffectClass
from codeplane.operations.cards import cards_of
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import AnyOperation, CallContext, Example, Operation, planned
from codeplane.operations.schema import input_schema
from codeplane.workspace.workspace import Workspace

_DATA_LANGUAGES = frozenset({UNKNOWN, "json", "yaml", "toml", "xml", "ini", "markdown", "rst", "text"})


class DescribeRequest(Request):
    """What to describe."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"name": ("tool", "operation", "code", "error")}
    action: Literal["repo", "tool", "error"] = Field("repo", description="`tool` and `error` need a name.")
    name: str | None = Field(None, max_length=200, description="Operation name, or error name or number.")

    @model_validator(mode="before")
    @classmethod
    def _name_alone_means_tool_or_error(cls, data: Any) -> Any:
        """Accept a name without an action when it is unambiguous."""
        if isinstance(data, dict) and "action" not in data:
            name = (
                data.get("name") or data.get("tool") or data.get("operation") or data.get("code") or data.get("error")
            )
            if isinstance(name, int):
                name = str(name)
                data = {"name": name}
            if isinstance(name, str):
                return {**data, "action": "error" if find_entry(name) else "tool"}
        return data

    @model_validator(mode="after")
    def _named_when_needed(self) -> "DescribeRequest":
        if self.action != "repo" and not self.name:
            raise ValueError(f"action={self.action} needs `name`")
        return self


class OperationLine(Result):
    """One operation in a list."""

    name: str
    summary: str


class ExampleEntry(Result):
    """A correct call."""

    description: str
    params: dict[str, Any]


class DescribeResult(Result):
    """The description; which fields are set depends on the action."""

    repo_root: str | None = None
    repo_id: str | None = None
    language: str | None = None
    branch: str | None = None
    head_commit: str | None = None
    index_status: str | None = None
    tool_count: int | None = None
    operations: list[OperationLine] | None = None
    name: str | None = None
    description: str | None = None
    category: str | None = None
    effect: str | None = None
    when_to_use: list[str] | None = None
    when_not_to_use: list[str] | None = None
    examples: list[ExampleEntry] | None = None
    input_schema: dict[str, Any] | None = None
    code: int | None = None
    retryable: bool | None = None
    recoverable: bool | None = None
    required_action: str | None = None


def _handle(context: CallContext, request: DescribeRequest) -> DescribeResult:
    if request.action == "tool":
        return _describe_tool(context, request.name or "")
    if request.action == "error":
        return _describe_error(request.name or "")
    return _describe_repo(context)


def _describe_repo(context: CallContext) -> DescribeResult:
    workspace = context.workspace
    head, cards = workspace.head(), cards_of(context.operations)
    return DescribeResult(
        repo_root=str(workspace.root),
        repo_id=workspace.repo_id,
        language=_main_language(workspace),
        branch=head.branch,
        head_commit=head.commit,
        index_status=_index_status(workspace),
        tool_count=len(cards),
        operations=[OperationLine(name=card["name"], summary=card["summary"]) for card in cards],
    )


def _index_status(workspace: Workspace) -> str:
    """Return what the index knows, without building it."""
    if not (workspace.places.private / "index.db").exists():
        return "not built yet; the first search builds it"
    counts = workspace.index.counts()
    epoch = workspace.index.store.epoch()
    return (
        f"{counted(counts.files, 'file')} at epoch {epoch}: {counted(counts.definitions, 'definition')}"
        f" in {counted(counts.with_symbols, 'file')},"
        f" {counts.files - counts.with_symbols} as text only or not at all"
    )


def _main_language(workspace: Workspace) -> str:
    counts = Counter(language_of(path) for path in workspace.tracked().files)
    code = [(count, name) for name, count in counts.items() if name not in _DATA_LANGUAGES]
    return max(code, key=lambda item: (item[0], item[1]))[1] if code else UNKNOWN


def _describe_tool(context: CallContext, name: str) -> DescribeResult:
    operation = context.operations.get(name)
    if operation is None:
        near = difflib.get_close_matches(name, context.operations, n=3, cutoff=0.0)
        raise CodePlaneError(
            "UNKNOWN_OPERATION", f"There is no operation `{name}`.", hint=f"Nearest: {', '.join(near)}."
        )
    return DescribeResult(
        name=operation.name,
        description=operation.summary,
        category=operation.family,
        effect=operation.effect.value,
        when_to_use=list(operation.when_to_use),
        when_not_to_use=list(operation.when_not_to_use),
        examples=[ExampleEntry(description=e.description, params=dict(e.params)) for e in operation.examples],
        input_schema=input_schema(operation),
    )


def _describe_error(name: str) -> DescribeResult:
    entry = find_entry(name)
    if entry is None:
        near = difflib.get_close_matches(name.upper(), [row.name for row in ERROR_TABLE], n=3, cutoff=0.5)
        hint = f"Nearest: {', '.join(near)}." if near else "The reference page lists all codes."
        raise CodePlaneError("INVALID_ARGUMENTS", f"There is no error `{name}`.", hint=hint)
    return DescribeResult(
        name=entry.name,
        code=entry.number,
        description=entry.message,
        category=entry.family,
        retryable=entry.retryable,
        recoverable=entry.recoverable,
        required_action=entry.required_action,
    )


def _render(result: DescribeResult) -> str:
    if result.code is not None:
        retry = "may succeed on retry" if result.retryable else "fails again unless it is changed"
        return f"{result.name} ({result.code}): {result.description}\n{result.required_action}\nThe same call {retry}."
    if result.name is not None:
        return _render_tool(result)
    where = result.branch or "detached HEAD"
    commit = (result.head_commit or "no commit yet")[:13]
    lines = [
        f"{result.repo_root} on {where} at {commit}, mainly {result.language}",
        f"index: {result.index_status}",
        f"{result.tool_count} operations (use `call` for those not listed as tools):",
    ]
    lines.extend(f"  {line.name}: {line.summary}" for line in result.operations or [])
    return "\n".join(lines)


def _render_tool(result: DescribeResult) -> str:
    properties = (result.input_schema or {}).get("properties", {})
    required = set((result.input_schema or {}).get("required", []))
    lines = [f"{result.name}: {result.description}"]
    lines.extend(f"  {key}{'*' if key in required else ''}: {_field_text(value)}" for key, value in properties.items())
    lines.extend(f"use: {text}" for text in result.when_to_use or [])
    lines.extend(f"not: {text}" for text in result.when_not_to_use or [])
    lines.extend(
        f"example ({e.description}): {json.dumps(e.params, ensure_ascii=False)}" for e in result.examples or []
    )
    return "\n".join(lines)


def _field_text(schema: dict[str, Any]) -> str:
    kind = schema.get("type") or "/".join(schema.get("enum", [])) or "value"
    text = f"{kind} {schema.get('description', '')}".strip()
    return f"{text} (default {schema['default']})" if schema.get("default") is not None else text


def describe_operation(operation: AnyOperation) -> dict[str, Any]:
    """Return an operation's documentation as data, for the generated reference."""
    return {
        "name": operation.name,
        "family": operation.family,
        "summary": operation.summary,
        "effect": operation.effect.value,
        "when_to_use": list(operation.when_to_use),
        "when_not_to_use": list(operation.when_not_to_use),
        "examples": [{"description": e.description, "params": dict(e.params)} for e in operation.examples],
        "profiles": sorted({*operation.profiles, "full"}),
        "input_schema": input_schema(operation),
    }


DESCRIBE = Operation(
    name="describe",
    family="introspection",
    summary="Describe this repository, an operation (action=tool) or an error (action=error).",
    request_type=DescribeRequest,
    result_type=DescribeResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=("At the start: branch, languages, operations.", "Before using an unfamiliar operation."),
    when_not_to_use=("You know the operation: call it.",),
    examples=(
        Example("This repository", {}),
        Example("How read_source is used", {"action": "tool", "name": "read_source"}),
        Example("What an error means", {"action": "error", "name": "STALE_FILE"}),
    ),
    profiles=frozenset({"classic"}),
)
