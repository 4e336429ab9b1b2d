"""`run_check_command`: one command that checks the repository, judged like a shell command."""

from typing import Annotated, ClassVar, Final

from pydantic import Field

from codeplane.core.processes import ProcessRequest, run_process
from codeplane.core.redaction import redact
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan

NAME: Final = "run_check_command"
_MAX_OUTPUT: Final = 20_000
_MAX_LISTED: Final = 50
_MAX_CAPTURED: Final = 2_000_000


class CheckCommandRequest(Request):
    """The command as a list of words; no shell reads it."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"argv": ("command", "args"), "timeout_sec": ("timeout",)}
    argv: Annotated[list[str], Field(min_length=1, max_length=200)]
    timeout_sec: int = Field(300, ge=1, le=3_600)


class CheckCommandResult(Result):
    """How the command ended; `output` is the end of what it printed."""

    exit_code: int = Field(description="Negative for a signal.")
    timed_out: bool
    output: str
    left_behind: list[str] = Field(default_factory=list, description="New files; undo does not remove them.")


def _plan(context: CallContext, request: CheckCommandRequest) -> Plan[CheckCommandResult]:
    return Plan(lambda: _run(context, request), Effects(commands=(tuple(request.argv),)))


def _run(context: CallContext, request: CheckCommandRequest) -> CheckCommandResult:
    before = set(context.workspace.new_files())
    ended = run_process(
        ProcessRequest(
            argv=tuple(request.argv),
            cwd=context.workspace.root,
            timeout_seconds=float(request.timeout_sec),
            output_limit_bytes=_MAX_CAPTURED,
            cancelled=context.is_cancelled,
        )
    )
    output = redact(f"{ended.stdout_text}{ended.stderr_text}")[-_MAX_OUTPUT:]
    return CheckCommandResult(
        exit_code=ended.returncode,
        timed_out=ended.timed_out,
        output=output,
        left_behind=sorted(set(context.workspace.new_files()) - before)[:_MAX_LISTED],
    )


def _render(result: CheckCommandResult) -> str:
    how = "timed out" if result.timed_out else f"exit code {result.exit_code}"
    left = f"\nnew files: {', '.join(result.left_behind[:5])}" if result.left_behind else ""
    return f"{result.output.rstrip()}\n{how}{left}".strip()


RUN_CHECK_COMMAND = Operation(
    name=NAME,
    family="tests",
    summary="Run one command that checks the repository, such as a build; risky ones wait for a person.",
    request_type=CheckCommandRequest,
    result_type=CheckCommandResult,
    effect=EffectClass.EXECUTE,
    plan=_plan,
    render=_render,
    when_to_use=("A build or a check that no test runner or linter covers.",),
    when_not_to_use=("Tests: run_test_targets. Linters and type checkers: lint_check. Both: check.",),
    examples=(Example("Build", {"argv": ["make", "build"]}),),
    snapshots=True,
)
