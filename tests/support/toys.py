"""A toy write operation and toy policies, to try the door before anything real writes."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.paths import RepoPath
from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.policy import Allow, CallFacts, Deny, Hold, Verdict
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Recovered
from codeplane.operations.recovery import recover_interrupted
from codeplane.operations.run import Door, run
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
    effects=_effects,
    handler=_write,
    render=lambda result: f"wrote {result.path}",
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Write", {"path": "a.txt", "content": "a"}),),
    recover=_recover,
)
TOY_WRITE_WITHOUT_RECOVERY = replace(TOY_WRITE, name="toy_write_plain", recover=None)


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

    return replace(TOY_WRITE, name="toy", handler=handle, effect=effect, reads_index=reads_index, recover=None)


@dataclass(frozen=True)
class Says:
    """A policy that always says the same."""

    verdict: Verdict | None
    name: str = "says"

    def judge(self, _facts: CallFacts) -> Verdict | None:
        """Return it."""
        return self.verdict


DENIES = Says(Deny(ErrorReport("POLICY_DENIED", "Not here.")), "denies")
HOLDS = Says(Hold("A person decides.", "hold-1", 99), "holds")
ALLOWS = Says(Allow(), "allows")


@dataclass
class NeedsApproval:
    """Holds every mutation until its exact call has been approved."""

    approved: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    name: str = "needs approval"

    def judge(self, facts: CallFacts) -> Verdict | None:
        """Hold what nobody has approved."""
        if not facts.mutates:
            return None
        if facts.arguments_digest in self.approved:
            return Allow("approved")
        self.asked.append(facts.arguments_digest)
        return Hold("A person decides.", "hold-1", facts.now_ms + 3_600_000)


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
    """Be a child process: `write OPERATION ROOT STEP` dies after that step, `recover ROOT` tells how many it ended."""
    operations = {operation.name: operation for operation in (TOY_WRITE, TOY_WRITE_WITHOUT_RECOVERY)}
    if arguments[0] == "recover":
        with open_workspace(WorkspaceRequest(Path(arguments[1]))) as workspace:
            sys.stdout.write(str(recover_interrupted(workspace, operations)))
        return
    with open_workspace(WorkspaceRequest(Path(arguments[2]))) as workspace:
        door = Door(workspace, operations, _die_after(arguments[3]))
        run(door, operations[arguments[1]], ToyRequest(path="a.txt", content="new"), caller())
    raise CodePlaneError("INTERNAL_ERROR", "The process should have died.")


if __name__ == "__main__":
    main(sys.argv[1:])
