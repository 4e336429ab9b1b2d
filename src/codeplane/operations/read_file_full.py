"""`read_file_full`: one whole file, in two phases, large ones as a resource."""

from typing import ClassVar, Literal
from urllib.parse import quote

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.source_text import Wanted, read_piece, read_whole
from codeplane.languages.catalog import language_of
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.answer import RESOURCE_PREFIX, ResourceLink
from codeplane.operations.file_access import check_readable, with_near_paths
from codeplane.operations.models import PATH_ALIASES, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

NAME = "read_file_full"


class ReadFileFullRequest(Request):
    """Which file, and whether its size is accepted."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"path": PATH_ALIASES}
    path: PathText = Field(description="File to read in full.")
    confirm: bool = Field(False, description="true returns the content; otherwise only the size.")
    inline: bool = Field(False, description="With confirm: return a large file inline.")


class ReadFileFullResult(Result):
    """The file, or the cost of reading it."""

    path: str
    phase: Literal["confirm_required", "delivered"]
    delivery: Literal["none", "inline", "resource"]
    size: int
    line_count: int
    estimated_tokens: int
    language: str
    file_sha256: str
    content: str | None = None
    resource_uri: str | None = None
    encoding: str
    line_endings: str


def _effects(_workspace: Workspace, request: ReadFileFullRequest) -> Effects:
    return Effects(reads=(RepoPath.parse(request.path),))


def _handle(context: CallContext, request: ReadFileFullRequest) -> ReadFileFullResult:
    path = RepoPath.parse(request.path)
    try:
        return _deliver(context, request, path)
    except CodePlaneError as error:
        raise with_near_paths(context.workspace, request.path, error) from error


def _deliver(context: CallContext, request: ReadFileFullRequest, path: RepoPath) -> ReadFileFullResult:
    check_readable(context.workspace.ignore_rules(), path)
    settings = context.workspace.settings.reads
    if not request.confirm:
        return _describe(context, path, "confirm_required", "none")
    described = _describe(context, path, "delivered", "resource")
    if described.size > settings.full_inline_bytes and not request.inline:
        if described.size > settings.full_resource_bytes:
            raise CodePlaneError(
                "FILE_TOO_LARGE",
                f"{path} has {described.size} bytes; at most {settings.full_resource_bytes} can be read whole.",
                details={"path": path.text, "size": described.size, "line_count": described.line_count},
            )
        return described
    limit = settings.full_resource_bytes if request.inline else settings.full_inline_bytes
    piece = read_whole(context.workspace.root, path, limit)
    context.seen[path.text] = piece.sha256
    context.session.spend_read(len(piece.text.encode("utf-8")), context.workspace.settings.sessions.read_budget_bytes)
    return described.model_copy(update={"delivery": "inline", "content": piece.text, "file_sha256": piece.sha256})


def _describe(
    context: CallContext,
    path: RepoPath,
    phase: Literal["confirm_required", "delivered"],
    delivery: Literal["none", "inline", "resource"],
) -> ReadFileFullResult:
    piece = read_piece(context.workspace.root, path, Wanted(limit=1))
    return ReadFileFullResult(
        path=path.text,
        phase=phase,
        delivery=delivery,
        size=piece.size,
        line_count=piece.line_count,
        estimated_tokens=piece.size // 4,
        language=language_of(path.text),
        file_sha256=piece.sha256,
        resource_uri=f"{RESOURCE_PREFIX}{quote(path.text)}",
        encoding=piece.encoding,
        line_endings=piece.line_endings,
    )


def _links(result: ReadFileFullResult) -> tuple[ResourceLink, ...]:
    if result.phase != "delivered" or result.resource_uri is None:
        return ()
    return (ResourceLink(result.resource_uri, result.path, result.size),)


def _render(result: ReadFileFullResult) -> str:
    head = f"{result.path}: {result.size} bytes, {result.line_count} lines, about {result.estimated_tokens} tokens"
    if result.phase == "confirm_required":
        return (
            f"{head}. Send confirm=true to get all of it, "
            f'or read a part: read_source {{"targets": ["{result.path}:1-200"]}}'
        )
    if result.delivery == "resource":
        return f"{head}, sha256={result.file_sha256}. The content is the resource {result.resource_uri}"
    return f"{head}, sha256={result.file_sha256}\n{result.content}"


READ_FILE_FULL = Operation(
    name=NAME,
    family="files",
    summary="Read one whole file: first its size, then with confirm=true its content; large ones as a resource.",
    request_type=ReadFileFullRequest,
    result_type=ReadFileFullResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You need every line of a file, e.g. to rewrite it.",),
    when_not_to_use=("A part is enough: use read_source with a range.",),
    examples=(
        Example("How large is it?", {"path": "src/app.py"}),
        Example("Deliver it", {"path": "src/app.py", "confirm": True}),
    ),
    links=_links,
)
