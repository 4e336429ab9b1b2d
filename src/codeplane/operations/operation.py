"""What an operation is: a name, its types, its effects, its handler, and the words that teach when to use it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.callers import Caller
from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import Failure, FileChange
from codeplane.ledger.sessions import Session
from codeplane.ledger.tasks import Budget
from codeplane.operations.answer import ResourceLink
from codeplane.operations.models import Request, Result
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.workspace.git_bracket import GitBracket

RequestT = TypeVar("RequestT", bound=Request)
ResultT = TypeVar("ResultT", bound=Result)


@dataclass(frozen=True, slots=True)
class Example:
    """A correct call, shown in documentation and in error messages."""

    description: str
    params: Mapping[str, Any]


@dataclass(slots=True)
class CallContext:
    """What a handler is given beside its request.

    A handler reports progress and asks now and then whether the caller still wants the answer.
    It notes in `changes` what it did to files, also when it then fails, and in `failure` what a test run showed;
    the door makes fingerprints from both. Where `changes` stays empty the door compares the files it knows of.
    `bracket` is there for operations that are bracketed by a snapshot; finishing it tells what has changed.
    `is_reconciled` says that the handler itself brought the index up to date after its last write.
    `seen` takes the hashes of files that the answer shows, `noted` what else belongs into the call's row.
    `judge` asks the gate about paths that became known only while the call runs; a refusal ends the call there.
    """

    workspace: Workspace
    operations: Mapping[str, "AnyOperation"]
    call_id: str
    caller: Caller
    session: Session
    report_progress: Callable[[float, float | None, str], None]
    is_cancelled: Callable[[], bool]
    warnings: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    failure: Failure | None = None
    is_reconciled: bool = False
    bracket: "GitBracket | None" = None
    seen: dict[str, str] = field(default_factory=dict)
    noted: dict[str, Any] = field(default_factory=dict)
    judge: Callable[[Iterable[str]], None] = lambda _paths: None

    def check_cancelled(self) -> None:
        """Stop here if the caller cancelled.

        Raises:
            CodePlaneError: CANCELLED.
        """
        if self.is_cancelled():
            raise CodePlaneError("CANCELLED")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery found out about an interrupted call: `finished`, or `failed` with an error."""

    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation(Generic[RequestT, ResultT]):
    """One thing that can be done; every surface is generated from these.

    `profiles` names the small tool sets it belongs to; every operation is in `full`.
    `reads_only` names the files that the answer to a request rests on, when they are few and known beforehand: while
    the rest of the tree is being indexed such a question need not wait. `needs_links` tells whether it rests on what
    names in other files mean: one that does not is answered while a first build still finds that out.
    `recover` tells the outcome of a call that was interrupted; without it the door compares file states.
    `is_dry_run` tells whether a request only asks what would happen: such a call is judged as a read, begins nothing
    and does not count. `runs_tests` lets calls count as test runs instead of mutations.
    `snapshots` brackets calls that change files or git by other means than the editor: what was there is kept before,
    what differs afterwards can be undone, and a call that fails is taken back at once.
    `git_hooks` names the hooks of git that a call may run, beside those that every change by git runs.
    `preview` tells a person what a held call would do. `reaches_network` marks operations that may contact a remote,
    `reaches_all` those through which every other operation can be called.
    """

    name: str
    family: str
    summary: str
    request_type: type[RequestT]
    result_type: type[ResultT]
    effect: EffectClass
    effects: Callable[[Workspace, RequestT], Effects]
    handler: Callable[[CallContext, RequestT], ResultT]
    render: Callable[[ResultT], str]
    when_to_use: tuple[str, ...]
    when_not_to_use: tuple[str, ...]
    examples: tuple[Example, ...]
    profiles: frozenset[str] = frozenset()
    reads_index: bool = False
    reads_only: Callable[[RequestT], tuple[str, ...]] = lambda _request: ()
    needs_links: Callable[[RequestT], bool] = lambda _request: True
    recover: Callable[[Workspace, LedgerRow], Recovered] | None = None
    links: Callable[[ResultT], tuple[ResourceLink, ...]] = lambda _result: ()
    is_dry_run: Callable[[RequestT], bool] = lambda _request: False
    runs_tests: bool = False
    snapshots: bool = False
    reaches_network: bool = False
    reaches_all: bool = False
    git_hooks: tuple[str, ...] = ()
    preview: Callable[[CallContext, RequestT], str] | None = None

    @property
    def schema_digest(self) -> str:
        """Return a digest of what a caller is told of this operation; approvals are bound to it."""
        return _schema_digest(self.name, self.summary, self.request_type)

    def budget_of(self, request: RequestT) -> Budget | None:
        """Return what a call uses up of its task; None for what does not count: reads, records and dry runs."""
        if self.is_dry_run(request):
            return None
        if self.runs_tests:
            return Budget.TEST_RUNS
        return Budget.MUTATIONS if self.effect.mutates else None


AnyOperation = Operation[Any, Any]


@cache  # A memo of a pure function: a schema is made once per operation and process.
def _schema_digest(name: str, summary: str, request_type: type[Request]) -> str:
    return digest({"name": name, "summary": summary, "schema": request_type.model_json_schema()})


def no_effects(_workspace: Workspace, _request: Request) -> Effects:
    """Return the effects of an operation that touches no path."""
    return Effects()
