"""A toy write operation and toy policies, to try the door before anything real writes."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath
from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import Failure, FileChange
from codeplane.ledger.policy import CallFacts, Decision, Verdict
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Recovered, planned
from codeplane.operations.perform import Door, perform
from codeplane.operations.recovery import recover_interrupted
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.doors import caller


class ToyRequest(Request):
    """Which file gets which content."""

    path: str
    content: str = ""


class ToyResult(Result):
    """What was done."""

    path: str


def _effects(_workspace: Workspace, request: ToyRequest) -> Effects:
    return Effects(writes=(RepoPath.parse(request.path),))


def _write(context: CallContext, request: ToyRequest) -> ToyResult:
    path = context.workspace.root / request.path
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(request.content, encoding="utf-8")
    beside.replace(path)
    return ToyResult(path=request.path)


def _recover(workspace: Workspace, begun: LedgerRow) -> Recovered:
    """The write is one rename, so the content tells whether it happened."""
    arguments = begun.body["arguments"]
    path = workspace.root / arguments["path"]
    if path.is_file() and path.read_text(encoding="utf-8") == arguments["content"]:
        return Recovered("finished", {})
    return Recovered("failed", {"error": "CALL_INTERRUPTED"})


TOY_WRITE: Operation[ToyRequest, ToyResult] = Operation(
    name="toy_write",
    family="toys",
    summary="Write a file.",
    request_type=ToyRequest,
    result_type=ToyResult,
    effect=EffectClass.WRITE,
    plan=planned(_write, _effects),
    render=lambda result: f"wrote {result.path}",
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Write", {"path": "a.txt", "content": "a"}),),
    recover=_recover,
)
TOY_WRITE_WITHOUT_RECOVERY = replace(TOY_WRITE, name="toy_write_plain", recover=None)


class ToyEditRequest(Request):
    """Which file gets which content, or whether that is only asked."""

    path: str
    content: str = ""
    dry_run: bool = False


def _edit(context: CallContext, request: ToyEditRequest) -> ToyResult:
    """Write a file and say what changed, as an edit does; every line that is `def …` is a symbol."""
    path = context.workspace.root / request.path
    old = path.read_text(encoding="utf-8") if path.is_file() else None
    if request.dry_run:
        return ToyResult(path=request.path)
    path.write_text(request.content, encoding="utf-8")
    symbols = tuple(line[4:] for line in request.content.splitlines() if line.startswith("def "))
    context.changes.append(
        FileChange(
            request.path,
            sha256_text(old) if old is not None else None,
            sha256_text(request.content),
            len(request.content.splitlines()),
            len((old or "").splitlines()),
            symbols,
        )
    )
    return ToyResult(path=request.path)


TOY_EDIT: Operation[ToyEditRequest, ToyResult] = Operation(
    name="toy_edit",
    family="toys",
    summary="Edit a file.",
    request_type=ToyEditRequest,
    result_type=ToyResult,
    effect=EffectClass.WRITE,
    plan=planned(_edit, lambda _workspace, request: Effects(writes=(RepoPath.parse(request.path),))),
    render=lambda result: f"edited {result.path}",
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Edit", {"path": "a.txt", "content": "a"}),),
    is_dry_run=lambda request: request.dry_run,
)


class ToyRunRequest(Request):
    """Which tests fail and how; none by default."""

    failing: tuple[str, ...] = ()
    exception_type: str = "AssertionError"
    stack: str = ""


class ToyRunResult(Result):
    """How many failed."""

    failed: int


def _run_tests(context: CallContext, request: ToyRunRequest) -> ToyRunResult:
    if request.failing:
        context.failure = Failure(request.failing, request.exception_type, request.stack, 1, "assertion")
    return ToyRunResult(failed=len(request.failing))


TOY_TEST: Operation[ToyRunRequest, ToyRunResult] = Operation(
    name="toy_test",
    family="toys",
    summary="Run tests.",
    request_type=ToyRunRequest,
    result_type=ToyRunResult,
    effect=EffectClass.EXECUTE,
    plan=planned(_run_tests),
    render=lambda result: f"{result.failed} failed",
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Run", {}),),
    runs_tests=True,
)


def toy_doing(
    handler: Callable[[CallContext, ToyRequest], None],
    effect: EffectClass = EffectClass.WRITE,
    *,
    reads_index: bool = False,
) -> Operation[ToyRequest, ToyResult]:
    """Return an operation `toy` whose handler is the test's."""

    def handle(context: CallContext, request: ToyRequest) -> ToyResult:
        handler(context, request)
        return ToyResult(path=request.path)

    return replace(
        TOY_WRITE, name="toy", plan=planned(handle, _effects), effect=effect, reads_index=reads_index, recover=None
    )


@dataclass(frozen=True)
class Says:
    """A gate that always says the same."""

    decision: Decision

    def decide(self, _facts: CallFacts) -> Decision:
        """Return it."""
        return self.decision


def _held(expires_ms: int) -> Decision:
    details = {"hold_id": "hold-1", "expires_ms": expires_ms, "policy": "holds"}
    report = ErrorReport("APPROVAL_PENDING", "A person decides.", details=details)
    return Decision(Verdict.HOLD, "holds", report)


DENIES = Says(Decision(Verdict.DENY, "denies", ErrorReport("POLICY_DENIED", "Not here.")))
HOLDS = Says(_held(99))
ALLOWS = Says(Decision(Verdict.ALLOW, "allows"))


@dataclass
class NeedsApproval:
    """Holds every mutation until its exact call has been approved."""

    approved: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    name: str = "needs approval"

    def decide(self, facts: CallFacts) -> Decision:
        """Hold what nobody has approved."""
        if not facts.mutates or facts.arguments_digest in self.approved:
            return ALLOWS.decision
        self.asked.append(facts.arguments_digest)
        return _held(facts.now_ms + 3_600_000)


@dataclass
class Watches:
    """An after-policy that remembers what it saw and warns."""

    seen: list[tuple[str, str, Mapping[str, Any] | None]] = field(default_factory=list)
    name: str = "watches"

    def observe(self, facts: CallFacts, outcome: str, result: Mapping[str, Any] | None) -> Sequence[str]:
        """Remember and warn."""
        self.seen.append((facts.operation, outcome, result))
        return [f"seen {outcome}"]


class BreaksAfterwards:
    """An after-policy that fails."""

    name = "breaks"

    def observe(self, _facts: CallFacts, _outcome: str, _result: Mapping[str, Any] | None) -> Sequence[str]:
        """Fail."""
        raise ZeroDivisionError


def _die_after(step: str) -> Callable[[str], None]:
    def after_step(passed: str) -> None:
        if passed == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return after_step


def main(arguments: Sequence[str]) -> None:
    """Be a child process.

    `write OPERATION ROOT STEP` dies after that step, `recover ROOT` tells how many it ended, `spend ROOT COUNT` makes
    that many writes and tells the outcome of each.
    """
    operations = {operation.name: operation for operation in (TOY_WRITE, TOY_WRITE_WITHOUT_RECOVERY)}
    if arguments[0] == "recover":
        with open_workspace(WorkspaceRequest(Path(arguments[1]))) as workspace:
            sys.stdout.write(str(recover_interrupted(workspace, operations)))
        return
    if arguments[0] == "spend":
        with open_workspace(WorkspaceRequest(Path(arguments[1]))) as workspace:
            door = Door(workspace, operations)
            for number in range(int(arguments[2])):
                request = ToyRequest(path=f"{os.getpid()}-{number}.txt", content="x")
                sys.stdout.write(f"{perform(door, TOY_WRITE, request, caller()).outcome.value}\n")
        return
    with open_workspace(WorkspaceRequest(Path(arguments[2]))) as workspace:
        door = Door(workspace, operations, _die_after(arguments[3]))
        perform(door, operations[arguments[1]], ToyRequest(path="a.txt", content="new"), caller())
    raise CodePlaneError("INTERNAL_ERROR", "The process should have died.")


if __name__ == "__main__":
    main(sys.argv[1:])
