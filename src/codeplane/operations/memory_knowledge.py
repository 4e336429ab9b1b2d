"""The seven tools for experiences: record, search, read, revise, tag, export and import."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change
from codeplane.index.source_text import read_whole
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory import experiences
from codeplane.memory.episodes import record_from_experience
from codeplane.memory.exchange import as_markdown, export_rows, import_rows, parse_rows
from codeplane.memory.experiences import Experience
from codeplane.memory.retrieval import Found, Question, find
from codeplane.operations.code_places import code_hashes
from codeplane.operations.command import Command
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.file_access import check_readable
from codeplane.operations.memory_access import global_reading, memory_of, memory_writing
from codeplane.operations.models import PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan, planned
from codeplane.operations.write_access import writable

_FAMILY = "memory"
_PROFILES = frozenset({"memory"})
MAX_TEXT = 20_000
_MAX_FILE_BYTES = 50_000_000
_SNIPPET = 110
_MAX_TOLD = 5

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT)]
Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Domain = Literal["Tools", "Protocol", "Communication", "Process", "Debugging", "Decision"]
Type = Literal["effective", "ineffective"]
Confidence = Annotated[float, Field(ge=0, le=1)]
Id = Annotated[int, Field(ge=1, le=2**53 - 1)]
AnyId = Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)]


class _KnowledgeRequest(Request):
    FIELD_CODES: ClassVar[dict[str, str]] = {
        "domain": "INVALID_DOMAIN",
        "type": "INVALID_TYPE",
        "confidence": "OUT_OF_RANGE",
        "min_confidence": "OUT_OF_RANGE",
        "limit": "OUT_OF_RANGE",
        "offset": "OUT_OF_RANGE",
    }
    MISSING_CODE: ClassVar[str] = "MISSING_REQUIRED"


class RecordExperienceRequest(_KnowledgeRequest):
    """What was tried, and what came of it."""

    type: Type = Field(description="effective or ineffective.")
    domain: Domain = Field(description="What it is about.")
    situation: Text = Field(description="When it applies.")
    approach: Text = Field(description="What was done.")
    outcome: Text = Field(description="What came of it.")
    reasoning: Text = Field(description="Why.")
    confidence: Confidence | None = Field(None, description="0 to 1.")
    tags: list[Tag] = Field(default_factory=list, max_length=50, description="Words to find it by.")
    revision_of: Id | None = Field(None, description="The experience that this one replaces.")
    paths: list[PathText] = Field(default_factory=list, max_length=100, description="Files it is about.")
    symbols: list[Tag] = Field(default_factory=list, max_length=100, description="Definitions it is about.")
    scope: Literal["project", "global"] = Field("project", description="global: a person may promote it.")
    force: bool = Field(False, description="Record it even if one that says the same exists.")


class RecordExperienceResult(Result):
    """The new experience, or the one that says the same already."""

    recorded: bool
    experience_id: int | None = None
    duplicate_id: int | None = None
    similarity: float | None = None
    similar: list[dict[str, Any]] = Field(default_factory=list, description="Experiences that say nearly the same.")
    message: str


def _record(context: CallContext, request: RecordExperienceRequest) -> RecordExperienceResult:
    workspace = context.workspace
    context.fresh_index()
    paths = tuple(dict.fromkeys(RepoPath.parse(path).text for path in request.paths))
    experience = Experience(
        request.type,
        request.domain,
        request.situation,
        request.approach,
        request.outcome,
        request.reasoning,
        request.confidence,
        tuple(dict.fromkeys(request.tags)),
        request.scope,
        paths,
        tuple(dict.fromkeys(request.symbols)),
        code_hashes(workspace, paths, request.symbols),
    )
    with memory_writing(context) as writing:
        if request.revision_of is not None:
            key = experiences.revise(writing, request.revision_of, _content(experience), "recorded as a revision")
            record_from_experience(writing, key, experience)
            return RecordExperienceResult(recorded=True, experience_id=key, message=f"Revises {request.revision_of}.")
        done = experiences.record(writing, experience, force=request.force)
        similar = [{"id": one, "score": score} for one, score in done.similar]
        if not done.is_new:
            message = (
                f"Experience {done.id} says the same; it has more evidence now. Send `force: true` to record both."
            )
            return RecordExperienceResult(
                recorded=False, duplicate_id=done.id, similarity=done.similarity, similar=similar, message=message
            )
        record_from_experience(writing, done.id, experience)
        experiences.enforce_cap(writing, workspace.settings.memory.max_experiences_total)
    missing = [path for path in paths if not (workspace.root / path).exists()]
    told = f" There is no file {', '.join(missing[:_MAX_TOLD])}." if missing else ""
    return RecordExperienceResult(
        recorded=True, experience_id=done.id, similar=similar, message=f"Experience {done.id} recorded.{told}"
    )


def _content(experience: Experience) -> dict[str, Any]:
    return {name: getattr(experience, name) for name in Experience.__dataclass_fields__}


RECORD_EXPERIENCE = Operation(
    name="record_experience",
    family=_FAMILY,
    summary="Record what was tried in a situation and what came of it.",
    request_type=RecordExperienceRequest,
    result_type=RecordExperienceResult,
    effect=EffectClass.RECORD,
    plan=planned(_record),
    render=lambda result: result.message,
    command=Command(
        path=("memory", "record"),
        help="Record an experience.",
        shows=lambda result: (result.message,),
        arguments=("type", "domain", "situation", "approach", "outcome", "reasoning"),
    ),
    profiles=_PROFILES,
    when_to_use=("Something took more than one attempt, or a person corrected you.",),
    when_not_to_use=("For what the code or its documentation says already.",),
    examples=(
        Example(
            "A lesson about a file",
            {
                "type": "effective",
                "domain": "Debugging",
                "situation": "The pool test hangs on CI.",
                "approach": "Close the pool in a finally block.",
                "outcome": "The hang is gone.",
                "reasoning": "The forked worker kept a copy of the lock.",
                "paths": ["tests/test_pool.py"],
            },
        ),
    ),
)


class SearchExperiencesRequest(_KnowledgeRequest):
    """What to look for."""

    query: Text = Field(description="Words; rare ones count most.")
    domain: Domain | None = Field(None, description="Only this domain.")
    type: Type | None = Field(None, description="effective or ineffective.")
    min_confidence: Confidence | None = Field(None, description="0 to 1.")
    paths: list[PathText] = Field(default_factory=list, max_length=100, description="Files at hand.")
    symbols: list[Tag] = Field(default_factory=list, max_length=100, description="Definitions at hand.")
    limit: int = Field(20, ge=1, le=100, description="How many.")
    offset: int = Field(0, ge=0, le=1_000_000, description="How many to skip.")


class SearchExperiencesResult(Result):
    """The experiences that fit, best first; `sure` is False when probably none answers the query."""

    results: list[dict[str, Any]]
    count: int
    total: int
    sure: bool
    query: str
    filters: dict[str, Any]


def _search(context: CallContext, request: SearchExperiencesRequest) -> SearchExperiencesResult:
    store = memory_of(context)
    question = Question(
        request.query,
        tuple(request.paths),
        tuple(request.symbols),
        context.workspace.clock.now_ms(),
        request.domain,
        request.type,
        request.min_confidence,
    )
    with store.read() as connection:
        found = find(connection, question, request.limit, request.offset)
        rows = experiences.rows_of(connection, [hit.id for hit in found.hits])
    results = _documents(found, rows)
    store.note_access(hit.id for hit in found.hits)
    total, is_sure = found.total, found.is_sure
    with global_reading(context) as connection:
        if connection is not None:
            other = find(connection, question, request.limit, request.offset)
            shared = _documents(other, experiences.rows_of(connection, [hit.id for hit in other.hits]))
            # Negative ids, because both stores count from 1.
            shared = [{**one, "id": -one["id"], "scope": "global"} for one in shared]
            results = sorted([*results, *shared], key=lambda one: -one["rank"])[: request.limit]
            total, is_sure = total + other.total, is_sure or other.is_sure
    filters = {"domain": request.domain, "type": request.type, "min_confidence": request.min_confidence}
    return SearchExperiencesResult(
        results=results, count=len(results), total=total, sure=is_sure, query=request.query, filters=filters
    )


def _documents(found: Found, rows: Mapping[int, sqlite3.Row]) -> list[dict[str, Any]]:
    return [{**document_of(rows[hit.id]), "rank": hit.score, "shared_places": list(hit.reasons)} for hit in found.hits]


def _render_search(result: SearchExperiencesResult) -> str:
    if not result.results:
        return "No experience fits."
    head = f"{result.count} of {result.total}" + ("" if result.sure else "; probably none answers the query")
    lines = [
        f"#{one['id']} {one['type']}: {_short(one['situation'])} → {_short(one['approach'])}" for one in result.results
    ]
    return "\n".join([head, *lines])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SNIPPET else f"{line[: _SNIPPET - 1]}…"


SEARCH_EXPERIENCES = Operation(
    name="search_experiences",
    family=_FAMILY,
    summary="Find experiences by words, files and definitions.",
    request_type=SearchExperiencesRequest,
    result_type=SearchExperiencesResult,
    effect=EffectClass.READ,
    plan=planned(_search),
    render=_render_search,
    command=Command(
        path=("memory", "search"),
        help="Find experiences; exit code 1 when none fits.",
        shows=lambda result: (_render_search(result),),
        arguments=("query",),
        is_finding=lambda result: not result.results,
    ),
    profiles=_PROFILES,
    when_to_use=("Before work on something that may have been tried before.",),
    when_not_to_use=("To search code: `search` does that.",),
    examples=(Example("By words", {"query": "pool hangs after fork", "paths": ["tests/test_pool.py"]}),),
)


class GetExperienceRequest(_KnowledgeRequest):
    """Which experience."""

    id: AnyId = Field(description="Its id; negative for one of all repositories.")


class ExperienceResult(Result):
    """One experience with its versions."""

    experience: dict[str, Any]
    previous_version: dict[str, Any] | None = None
    newer_versions: list[int] = Field(default_factory=list)


def _get(context: CallContext, request: GetExperienceRequest) -> ExperienceResult:
    store = memory_of(context)
    if request.id < 0:
        with global_reading(context) as shared:
            if shared is None:
                raise CodePlaneError("EXPERIENCE_NOT_FOUND", "Nothing was promoted to all repositories yet.")
            document = document_of(experiences.row_of(shared, -request.id))
        return ExperienceResult(experience={**document, "id": request.id, "scope": "global"})
    with store.read() as connection:
        row = experiences.row_of(connection, request.id)
        newer = experiences.newer_versions(connection, request.id)
        older = experiences.row_of(connection, row["revision_of"]) if row["revision_of"] is not None else None
    store.note_access((request.id,))
    shown = ("id", "situation", "approach", "outcome", "created_at")
    previous = {name: document_of(older)[name] for name in shown} if older is not None else None
    return ExperienceResult(experience=document_of(row), previous_version=previous, newer_versions=list(newer))


def _render_get(result: ExperienceResult) -> str:
    one = result.experience
    lines = [f"#{one['id']} {one['type']} {one['domain']} {one['created_at']}"]
    lines += [f"{name}: {one[name]}" for name in experiences.TEXT_FIELDS]
    if result.newer_versions:
        lines.append(f"revised by #{result.newer_versions[-1]}")
    return "\n".join(lines)


GET_EXPERIENCE = Operation(
    name="get_experience",
    family=_FAMILY,
    summary="Read one experience with its earlier and later versions.",
    request_type=GetExperienceRequest,
    result_type=ExperienceResult,
    effect=EffectClass.READ,
    plan=planned(_get),
    render=_render_get,
    profiles=_PROFILES,
    when_to_use=("search_experiences has shown an id and all of its text is needed.",),
    when_not_to_use=("To find one: search_experiences does that.",),
    examples=(Example("By its id", {"id": 7}),),
)


class Changes(_KnowledgeRequest):
    """New values; what is not given stays."""

    type: Type | None = None
    domain: Domain | None = None
    situation: Text | None = None
    approach: Text | None = None
    outcome: Text | None = None
    reasoning: Text | None = None
    confidence: Confidence | None = None
    tags: list[Tag] | None = Field(None, max_length=50)


class UpdateExperienceRequest(_KnowledgeRequest):
    """Which experience, what changes and why."""

    id: Id = Field(description="Its id.")
    changes: Changes = Field(description="New values of its fields.")
    reason: Text = Field(description="Why, for the record.")


class UpdateExperienceResult(Result):
    """The revision."""

    updated: bool
    original_id: int
    new_id: int
    message: str


def _update(context: CallContext, request: UpdateExperienceRequest) -> UpdateExperienceResult:
    changes = request.changes.model_dump(exclude_none=True)
    if not changes:
        raise CodePlaneError("VALIDATION_ERROR", "`changes` is empty.", hint="Name at least one field.")
    if "tags" in changes:
        changes["tags"] = tuple(dict.fromkeys(changes["tags"]))
    with memory_writing(context) as writing:
        new_id = experiences.revise(writing, request.id, changes, request.reason)
        revised = experiences.experience_of(experiences.row_of(writing.connection, new_id))
        record_from_experience(writing, new_id, revised)
    message = f"Experience {request.id} is revised by {new_id}."
    return UpdateExperienceResult(updated=True, original_id=request.id, new_id=new_id, message=message)


UPDATE_EXPERIENCE = Operation(
    name="update_experience",
    family=_FAMILY,
    summary="Revise an experience; the old version is kept and no longer found.",
    request_type=UpdateExperienceRequest,
    result_type=UpdateExperienceResult,
    effect=EffectClass.RECORD,
    plan=planned(_update),
    render=lambda result: result.message,
    profiles=_PROFILES,
    when_to_use=("An experience has turned out to be wrong or incomplete.",),
    when_not_to_use=("To add a tag: tag_experience does that.",),
    examples=(
        Example("A better outcome", {"id": 7, "changes": {"outcome": "Gone for good."}, "reason": "Seen again"}),
    ),
)


class TagExperienceRequest(_KnowledgeRequest):
    """Which experience and which tags."""

    id: Id = Field(description="Its id.")
    tags: list[Tag] = Field(min_length=1, max_length=50, description="Tags to add.")


class TagExperienceResult(Result):
    """All tags of the experience."""

    updated: bool
    experience_id: int
    tags: list[str]
    message: str


def _tag(context: CallContext, request: TagExperienceRequest) -> TagExperienceResult:
    with memory_writing(context) as writing:
        tags = experiences.add_tags(writing, request.id, request.tags)
    message = f"Experience {request.id} has {counted(len(tags), 'tag')}: {_short(', '.join(tags))}"
    return TagExperienceResult(updated=True, experience_id=request.id, tags=list(tags), message=message)


TAG_EXPERIENCE = Operation(
    name="tag_experience",
    family=_FAMILY,
    summary="Add tags to an experience.",
    request_type=TagExperienceRequest,
    result_type=TagExperienceResult,
    effect=EffectClass.RECORD,
    plan=planned(_tag),
    render=lambda result: result.message,
    profiles=_PROFILES,
    when_to_use=("An experience was hard to find.",),
    when_not_to_use=("To change its text: update_experience does that.",),
    examples=(Example("Two tags", {"id": 7, "tags": ["ci", "pool"]}),),
)


class ExportFilter(_KnowledgeRequest):
    """Which experiences."""

    domain: Domain | None = None
    type: Type | None = None


class ExportExperiencesRequest(_KnowledgeRequest):
    """How and where to."""

    format: Literal["json", "markdown"] = Field(description="json or markdown.")
    filter: ExportFilter = Field(default_factory=ExportFilter, description="Only these.")
    output_path: PathText | None = Field(None, description="A file of the repository; without it the text is answered.")


class ExportExperiencesResult(Result):
    """The text, or the file it was written to."""

    exported: bool
    count: int
    format: str
    output: str | None = None
    output_path: str | None = None
    message: str


def _plan_export(context: CallContext, request: ExportExperiencesRequest) -> Plan[ExportExperiencesResult]:
    with memory_of(context).read() as connection:
        rows = export_rows(connection, request.filter.domain, request.filter.type)
    text = as_markdown(rows) if request.format == "markdown" else json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    count = len(rows)
    if request.output_path is None:
        message = f"{count} experiences."
        return Plan(
            lambda: ExportExperiencesResult(
                exported=True, count=count, format=request.format, output=text, message=message
            )
        )
    where = writable(context.workspace, request.output_path, follow=True)

    def write() -> ExportExperiencesResult:
        found = context.workspace.editor.look(where.real)
        before = found.image if found is not None else None
        context.workspace.editor.apply(context.call_id, [Change(where.real, before, FileImage(text.encode("utf-8")))])
        message = f"{count} experiences written to {where.real}."
        return ExportExperiencesResult(
            exported=True, count=count, format=request.format, output_path=where.real.text, message=message
        )

    return Plan(write, Effects(writes=(where.real,), overwrites=(where.real,)))


EXPORT_EXPERIENCES = Operation(
    name="export_experiences",
    family=_FAMILY,
    summary="Export experiences as JSON or Markdown, in the answer or to a file.",
    request_type=ExportExperiencesRequest,
    result_type=ExportExperiencesResult,
    effect=EffectClass.WRITE,
    plan=_plan_export,
    render=lambda result: result.output or result.message,
    is_dry_run=lambda request: request.output_path is None,
    recover=recover_edit,
    profiles=_PROFILES,
    when_to_use=("A person wants to read or move what was learned.",),
    when_not_to_use=("To look something up: search_experiences is shorter.",),
    examples=(
        Example("In the answer", {"format": "markdown"}),
        Example("To a file", {"format": "json", "output_path": "lessons.json"}),
    ),
)


class ImportExperiencesRequest(_KnowledgeRequest):
    """Which file."""

    filename: PathText = Field(description="A JSON array or JSON lines inside the repository.")
    filter: ExportFilter = Field(default_factory=ExportFilter, description="Only these.")


class ImportExperiencesResult(Result):
    """What became of the rows."""

    imported: int
    skipped: int
    total: int
    errors: list[str] = Field(default_factory=list, description="The first five problems.")
    message: str


def import_effects(context: CallContext, filename: str) -> Effects:
    """Return the effects of an import: it reads a file of the repository, and a person decides about it."""
    path = RepoPath.parse(filename)
    check_readable(context.workspace.ignore_rules(), path)
    return Effects(reads=(path,), reserved=f"import the experiences in {path}")


def import_file(
    context: CallContext, filename: str, domain: str | None = None, kind: str | None = None
) -> ImportExperiencesResult:
    """Import a file of the repository."""
    piece = read_whole(context.workspace.root, RepoPath.parse(filename), _MAX_FILE_BYTES)
    rows = parse_rows(piece.text)
    with memory_writing(context) as writing:
        done = import_rows(writing, rows, domain, kind)
    message = f"{done.imported} of {done.total} experiences imported, {done.skipped} skipped."
    return ImportExperiencesResult(
        imported=done.imported, skipped=done.skipped, total=done.total, errors=list(done.errors), message=message
    )


def _plan_import(context: CallContext, request: ImportExperiencesRequest) -> Plan[ImportExperiencesResult]:
    effects = import_effects(context, request.filename)
    wanted = request.filter
    return Plan(lambda: import_file(context, request.filename, wanted.domain, wanted.type), effects)


IMPORT_EXPERIENCES = Operation(
    name="import_experiences",
    family=_FAMILY,
    summary="Import experiences from a file of the repository; a person decides about it.",
    request_type=ImportExperiencesRequest,
    result_type=ImportExperiencesResult,
    effect=EffectClass.RECORD,
    plan=_plan_import,
    render=lambda result: "\n".join([result.message, *result.errors]),
    profiles=_PROFILES,
    when_to_use=("A file of experiences from another repository is to be used here.",),
    when_not_to_use=("To record one lesson: record_experience does that.",),
    examples=(Example("An exported file", {"filename": "lessons.json"}),),
)


def document_of(row: sqlite3.Row) -> dict[str, Any]:
    """Return a row as answers show it."""
    hidden = {"row_hash", "seal", "code_hashes"}
    document = {name: row[name] for name in row.keys() if name not in hidden}  # noqa: SIM118 - a Row iterates values.
    for name in ("tags", "paths", "symbols"):
        document[name] = json.loads(document[name])
    for name in ("created_at", "updated_at", "archived_at", "last_accessed_at"):
        document[name] = iso_from_ms(document[name]) if document[name] is not None else None
    return document
