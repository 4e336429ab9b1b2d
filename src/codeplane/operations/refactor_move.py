"""`refactor_move`: plan the move of a file, a directory or a symbol; nothing changes until refactor_apply."""

from typing import ClassVar

from pydantic import Field

from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Route
from codeplane.operations.models import RARELY, Request
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.refactor_models import MAX_SITES, RefactorResult, render_refactor
from codeplane.operations.refactor_plans import answer_plan
from codeplane.operations.write_access import check_not_ignored, writable

NAME = "refactor_move"


class RefactorMoveRequest(Request):
    """What to move, and where to."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "from_path": ("from", "source", "path"),
        "to_path": ("to", "target", "destination"),
    }
    from_path: str = Field(
        min_length=1, max_length=1000, description="A file, a directory, or path::Name for a top-level symbol."
    )
    to_path: str = Field(min_length=1, max_length=1000, description="The new path; for a symbol, the file it goes to.")
    include_docs: bool = Field(False, description="Also documentation of medium confidence and above.")
    limit: int = Field(100, ge=1, le=MAX_SITES, description="Sites in one answer.", json_schema_extra=RARELY)
    cursor: str | None = Field(None, description="From a cut answer.", json_schema_extra=RARELY)


def _handle(context: CallContext, request: RefactorMoveRequest) -> RefactorResult:
    arguments = request.model_dump(exclude={"limit", "cursor"})
    source = request.from_path.partition("::")[0].rstrip("/")
    places = [writable(context.workspace, path, follow=False).real for path in (source, request.to_path.rstrip("/"))]
    check_not_ignored(context.workspace, places[1:], allow_ignored=False)
    arguments |= {"from_path": source + request.from_path[len(source) :].rstrip("/")}
    return answer_plan(context, NAME, arguments, request.limit)


REFACTOR_MOVE = Operation(
    name=NAME,
    family="refactor",
    summary="Plan a move of a file, directory or symbol, with all imports. refactor_apply carries it out.",
    request_type=RefactorMoveRequest,
    result_type=RefactorResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=render_refactor,
    reads_index=True,
    routes=(Route(method="POST", path="/refactor/move", summary="Plan the move of a file, directory or symbol."),),
    when_to_use=("A module, package or top-level symbol goes elsewhere and its imports have to follow.",),
    when_not_to_use=("A symbol gets another name in its place: refactor_rename.",),
    examples=(
        Example("A file", {"from_path": "src/app/helpers.py", "to_path": "src/app/text/helpers.py"}),
        Example("A symbol", {"from_path": "src/app.py::Store", "to_path": "src/store.py"}),
    ),
)
