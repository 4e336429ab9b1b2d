"""`call`: any operation by name, so a small tool list reaches everything."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from codeplane.core.errors import CodePlaneError
from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import Request, Result, as_object
from codeplane.operations.operation import CallContext, Example, Operation, planned


class CallRequest(Request):
    """Which operation, with which arguments."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "operation": ("name", "tool", "op"),
        "arguments": ("params", "args", "input"),
    }
    operation: str = Field(description="Such as git_log, map_repo; `describe` lists all.")
    arguments: Annotated[dict[str, Any], BeforeValidator(as_object)] = Field(default_factory=dict)


class CallResult(Result):
    """Never created: the answer is the named operation's own result."""


def _handle(_context: CallContext, request: CallRequest) -> CallResult:
    """Refuse to run: `dispatch` replaces a call by the operation it names before the door."""
    raise CodePlaneError("INTERNAL_ERROR", f"`call` reached the door instead of `{request.operation}`.")


CALL = Operation(
    name="call",
    family="introspection",
    summary="Run any operation that is not listed as a tool.",
    request_type=CallRequest,
    result_type=CallResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=lambda _result: "",
    when_to_use=("The operation you need is not among the listed tools.",),
    when_not_to_use=("The operation is listed as a tool: call it directly.",),
    examples=(
        Example(
            "List the Python files under src", {"operation": "list_files", "arguments": {"pattern": "src/**/*.py"}}
        ),
    ),
    profiles=frozenset({"classic", "core"}),
    reaches_all=True,
)
