"""`context_pack`: what memory has to say about the work at hand."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from codeplane.ledger.effects import EffectClass
from codeplane.memory.context_pack import Pack, PackRequest, build_pack, joined
from codeplane.memory.guarded_cycle import advance_with_pack
from codeplane.memory.records import active_memories
from codeplane.operations.code_places import stale_places
from codeplane.operations.command import Command
from codeplane.operations.memory_access import global_reading, memory_of, memory_writing
from codeplane.operations.models import PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned

PHASE = "CONTEXT_PACK"
_Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class ContextPackRequest(Request):
    """What the pack is for; `session_id` belongs to the guarded cycle and may be left out."""

    FIELD_CODES: ClassVar[dict[str, str]] = dict.fromkeys(
        ("byte_budget", "max_cells", "max_experiences", "min_trust"), "OUT_OF_RANGE"
    )
    session_id: int | None = Field(None, ge=1, description="A memory session that waits for its pack.")
    query: str = Field("", max_length=20_000, description="The task in words.")
    paths: list[PathText] = Field(default_factory=list, max_length=200, description="Files at hand.")
    symbols: list[_Word] = Field(default_factory=list, max_length=200, description="Definitions at hand.")
    context_keys: list[_Word] = Field(default_factory=list, max_length=50, description="Tags or domains.")
    scope: Literal["project", "global"] = Field("project", description="project or global.")
    byte_budget: int | None = Field(None, ge=200, le=1_000_000, description="Bytes the pack may have.")
    max_cells: int = Field(20, ge=0, le=200, description="Cells at most.")
    max_experiences: int = Field(10, ge=0, le=200, description="Experiences at most.")
    min_trust: int = Field(0, ge=0, le=3, description="Leave out what is trusted less.")


class ContextPackResult(Result):
    """The pack, its hash and its size; `sure` is False when nothing fits."""

    packed_context: dict[str, list[dict[str, Any]]]
    context_hash: str
    byte_count: int
    phase: str = PHASE
    sure: bool
    advanced: bool = Field(False, description="Whether the session waited for this pack.")
    dropped: list[dict[str, Any]] = Field(default_factory=list, description="What was left out and why.")


def pack_request(context: CallContext, request: ContextPackRequest) -> PackRequest:
    """Return the pack that a request asks for."""
    settings = context.workspace.settings.memory
    return PackRequest(
        request.query,
        tuple(request.paths),
        tuple(request.symbols),
        tuple(request.context_keys),
        request.scope,
        request.min_trust,
        request.byte_budget or settings.byte_budget_default,
        request.max_cells,
        request.max_experiences,
        context.workspace.clock.now_ms(),
    )


def lessons_for(context: CallContext, request: ContextPackRequest) -> list[str]:
    """Return the lines of the pack for a request, none when nothing fits."""
    pack = _pack(context, request)
    return _lines(pack.context()) if pack.is_sure else []


def _pack(context: CallContext, request: ContextPackRequest) -> Pack:
    workspace = context.workspace
    wanted = pack_request(context, request)
    with memory_of(context).read() as connection:
        memories = active_memories(connection, request.paths, workspace.settings.memory.friction)
        pack = build_pack(connection, wanted, memories, lambda recorded: stale_places(workspace, recorded))
    with global_reading(context) as connection:
        if connection is not None:
            # What is left of the budget goes to what holds in all repositories.
            left = wanted.byte_budget - pack.byte_count - 25 * wanted.max_experiences
            rest = replace(wanted, byte_budget=max(0, left), max_cells=0)
            pack = joined(pack, build_pack(connection, rest))
    return pack


def _handle(context: CallContext, request: ContextPackRequest) -> ContextPackResult:
    pack = _pack(context, request)
    is_advanced = False
    if request.session_id is not None:
        with memory_writing(context) as writing:
            given = request.model_dump(mode="json", exclude_none=True)
            is_advanced = advance_with_pack(writing, request.session_id, given, pack)
    return ContextPackResult(
        packed_context=pack.context(),
        context_hash=pack.context_hash,
        byte_count=pack.byte_count,
        sure=pack.is_sure,
        advanced=is_advanced,
        dropped=list(pack.dropped),
    )


def _render(result: ContextPackResult) -> str:
    lines = _lines(result.packed_context)
    if result.dropped:
        reasons = sorted({str(one["reason"]) for one in result.dropped})
        lines.append(f"{len(result.dropped)} more left out ({', '.join(reasons)})")
    return "\n".join(lines) or "Nothing was learned about this yet."


def _lines(packed: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = [f"{one['type']}: {one.get('note') or one['text']}{_example(one)}" for one in packed["memories"]]
    lines += [f"{one['type']} ({one['evidence']} times{_doubt(one)}): {one['body']}" for one in packed["cells"]]
    return lines + [f"#{one['id']} {one['type']}{_doubt(one)}: {one['summary']}" for one in packed["experiences"]]


def _example(item: dict[str, Any]) -> str:
    return f" Worked: {item['after']}" if item.get("after") else ""


def _doubt(item: dict[str, Any]) -> str:
    if item.get("contradiction_count"):
        return ", disputed"
    return f", {'; '.join(item['stale'])}" if item.get("stale") else ""


CONTEXT_PACK = Operation(
    name="context_pack",
    family="memory",
    summary="What earlier work teaches about a task, files or definitions, in a few lines.",
    request_type=ContextPackRequest,
    result_type=ContextPackResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    reads_index=True,
    command=Command(
        path=("memory", "pack"),
        help="Show what an agent would be told about a task.",
        shows=lambda result: (_render(result),),
        arguments=("query",),
    ),
    profiles=frozenset({"memory"}),
    when_to_use=("Before work on files where something may have gone wrong earlier.",),
    when_not_to_use=("To read all of a lesson: get_experience does that.",),
    examples=(Example("For a task", {"query": "make the pool close cleanly", "paths": ["src/pool.py"]}),),
)
