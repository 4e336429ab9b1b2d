"""`lint_tools`: which linters, type checkers and formatters this project configures, and where they were found."""

from typing import Literal

from pydantic import Field

from codeplane.ledger.effects import EffectClass
from codeplane.lint.discovery import find_tools
from codeplane.lint.model import Configured
from codeplane.operations.lint_files import project_of
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned


class LintToolsRequest(Request):
    """Nothing has to be said."""


class LintTool(Result):
    """One tool in one folder; without `program` it was not found."""

    tool: str
    kind: Literal["linter", "types", "formatter"]
    folder: str
    marker: str = Field(description="What configures it.")
    files: list[str] = Field(description="Globs of the names it looks at.")
    can_fix: bool
    program: str | None
    looked_in: list[str] = Field(default_factory=list, description="Where a missing program was looked for.")


class LintToolsResult(Result):
    """All tools that are configured."""

    tools: list[LintTool]


def _handle(context: CallContext, _request: LintToolsRequest) -> LintToolsResult:
    return LintToolsResult(tools=[_row(one) for one in find_tools(project_of(context.workspace))])


def _row(one: Configured) -> LintTool:
    return LintTool.model_validate(
        {
            "tool": one.tool.name,
            "kind": one.tool.kind,
            "folder": one.folder or ".",
            "marker": one.marker,
            "files": list(one.tool.files),
            "can_fix": one.tool.parse is None or bool(one.tool.fix),
            "program": one.shown if one.program is not None else None,
            "looked_in": list(one.looked_in),
        }
    )


def _render(result: LintToolsResult) -> str:
    if not result.tools:
        return "no linter, type checker or formatter is configured here"
    lines = []
    for one in result.tools:
        place = f"{one.program}" if one.program else f"not found in {', '.join(one.looked_in)}"
        fixes = ", can fix" if one.can_fix else ""
        lines.append(f"{one.tool} ({one.kind}{fixes}) in {one.folder}, by {one.marker}: {place}")
    return "\n".join(lines)


LINT_TOOLS = Operation(
    name="lint_tools",
    family="lint",
    summary="List the linters, type checkers and formatters that this project configures, and which are missing.",
    request_type=LintToolsRequest,
    result_type=LintToolsResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=("You want to know which tools lint_check runs.",),
    when_not_to_use=("To run them: lint_check.",),
    examples=(Example("All tools", {}),),
)
