"""`refactor_rename`: plan the rename of a symbol everywhere; nothing changes until refactor_apply."""

from typing import ClassVar

from pydantic import Field

from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Route
from codeplane.operations.models import RARELY, Request
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.refactor_models import MAX_SITES, RefactorResult, render_refactor
from codeplane.operations.refactor_plans import answer_plan

NAME = "refactor_rename"


class RefactorRenameRequest(Request):
    """What to rename, and the new name."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "symbol": ("old_name", "name", "from", "target"),
        "new_name": ("to", "rename_to"),
        "at": ("location", "place"),
    }
    symbol: str = Field(
        min_length=1, max_length=1000, description="path::Name.path, path:line[:column], a def_uid, or a unique name."
    )
    new_name: str = Field(min_length=1, max_length=500)
    at: str = Field("", max_length=1000, description="path:line where the name is.", json_schema_extra=RARELY)
    context_id: str = Field("", max_length=500, description="Only this context.", json_schema_extra=RARELY)
    include_docs: bool = Field(False, description="Also documentation of medium confidence and above.")
    force_syntactic: bool = Field(
        False, description="List every other occurrence of the word as a question.", json_schema_extra=RARELY
    )
    limit: int = Field(100, ge=1, le=MAX_SITES, description="Sites in one answer.", json_schema_extra=RARELY)
    cursor: str | None = Field(None, description="From a cut answer.", json_schema_extra=RARELY)


def _handle(context: CallContext, request: RefactorRenameRequest) -> RefactorResult:
    arguments = request.model_dump(exclude={"limit", "cursor"})
    return answer_plan(context, NAME, arguments, request.limit)


REFACTOR_RENAME = Operation(
    name=NAME,
    family="refactor",
    summary="Plan a rename: every proved place, questions for the rest. refactor_apply carries it out.",
    request_type=RefactorRenameRequest,
    result_type=RefactorResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=render_refactor,
    reads_index=True,
    routes=(Route(method="POST", path="/refactor/rename", summary="Plan the rename of a symbol."),),
    when_to_use=("A function, class, method, field, variable, parameter or alias gets another name.",),
    when_not_to_use=("A text that is not a symbol changes: write_source with a glob.",),
    examples=(
        Example("A method and its overrides", {"symbol": "src/app.py::Store.get", "new_name": "fetch"}),
        Example("What is at a place", {"symbol": "src/app.py:12:8", "new_name": "total"}),
    ),
)
