"""What an operation is: a name, its types, its effects, its handler, and the text that says when to use it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from codeplane.core.callers import Caller
from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import Failure, FileChange
from codeplane.ledger.policy import ToolClass
from codeplane.ledger.sessions import Session
from codeplane.ledger.tasks import Budget
from codeplane.operations.answer import ResourceLink
from codeplane.operations.command import Command, Route, as_text
from codeplane.operations.cursors import Position
from codeplane.operations.models import Request, Result
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.languages.facts import Definition
    from codeplane.workspace.git_bracket import GitOutcome

# Takes the parameters of an elicitation of MCP, returns its result.
AskClient = Callable[[Mapping[str, Any]], Mapping[str, Any]]

RequestT = TypeVar("RequestT", bound=Request)
ResultT = TypeVar("ResultT", bound=Result)


@dataclass(frozen=True, slots=True)
class Example:
    """A correct call, shown in documentation and in error messages."""

    description: str
    params: Mapping[str, Any]


class Bracket(Protocol):
    """A snapshot before something that is not the editor changes files, and a comparison after it."""

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Return the files that may change and could not be copied."""
        ...

    def begin(self, touched: Iterable[RepoPath], *, has_hooks: bool) -> None:
        """Take the snapshot."""
        ...

    def also_keep(self, touched: Iterable[str]) -> None:
        """Add paths that become known only while the command runs."""
        ...

    def finish(self) -> "GitOutcome":
        """Record what changed and return it; repeated calls return the same."""
        ...


@dataclass(slots=True)
class CallContext:
    """What a handler gets besides its request.

    A handler reports progress and checks now and then whether the caller cancelled.
    It notes in `changes` what it did to files, even if it then fails, and in `failure` what a test run showed; the
    door makes fingerprints from both. Where `changes` stays empty, the door compares the files it knows of.
    `bracket` is set for operations that are bracketed by a snapshot; the door finishes it after the work.
    `fresh_index` refreshes the index, for operations that seldom read it, and tells whether that worked.
    `is_index_fresh` says that the index matches the files.
    `position` is where the previous page ended, None on the first page; `next_page` returns the cursor of the next one.
    `seen` takes the hashes of files that the answer shows, `noted` what else belongs in the call's row.
    `definitions` takes those of files that were written, by path, so that nobody has to parse them again.
    `ask_client` puts a question to the person behind the client, None where that is not possible.
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
    is_index_fresh: bool = False
    bracket: Bracket | None = None
    seen: dict[str, str] = field(default_factory=dict)
    noted: dict[str, Any] = field(default_factory=dict)
    definitions: dict[str, Sequence["Definition"]] = field(default_factory=dict)
    position: Position | None = None
    next_page: Callable[[Mapping[str, Any]], str] = lambda _position: ""
    judge: Callable[[Iterable[str]], None] = lambda _paths: None
    fresh_index: Callable[[], bool] = lambda: False
    ask_client: AskClient | None = None

    def check_cancelled(self) -> None:
        """Raise if the caller cancelled.

        Raises:
            CodePlaneError: CANCELLED.
        """
        if self.is_cancelled():
            raise CodePlaneError("CANCELLED")


@dataclass(frozen=True, slots=True)
class Plan(Generic[ResultT]):
    """What a call would touch, worked out once, and the work that touches exactly that.

    The gate judges `effects`; then the door calls `work`. `complete` adds to the result what only the index can tell
    once it knows the change. `preview` shows a person what a held call would do.
    """

    work: Callable[[], ResultT]
    effects: Effects = field(default_factory=Effects)
    complete: Callable[[ResultT], ResultT] | None = None
    preview: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery found out about an interrupted call: `finished`, or `failed` with an error."""

    kind: str
    body: Mapping[str, Any]


class Audience(Enum):
    """Who may call an operation. Only those for AGENT are tools; the others are commands and REST addresses.

    SHELL operations also work in an agent's shell. PERSON operations need a caller who has proved to be a person.
    """

    AGENT = "agent"
    SHELL = "shell"
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[RequestT, ResultT]):
    """One thing that can be done; every surface is generated from these.

    `command` and `routes` say how people reach it. `only_a_person_can` returns the part of a request that only a
    person can do, worded to follow "Only a person can"; None when every caller may. `render` gives the text of an
    answer; the default is what the command shows.

    `profiles` names the small tool sets it belongs to; every operation is in `full`.
    `recover` finds the outcome of an interrupted call; without it the door compares file states.
    `is_dry_run` tells whether a request only asks what would happen: such a call is judged as a read, begins nothing
    and does not count. `runs_tests` lets calls count as test runs instead of mutations.
    `snapshots` brackets calls that change files or git without the editor: a snapshot is taken before, the
    differences afterwards can be undone, and a failed call is rolled back at once.
    `git_hooks` names the git hooks that a call may run, besides those that every change by git runs.
    `preview` shows a person what a held call would do. `reaches_network` marks operations that may contact a remote,
    `reaches_all` those through which every other operation can be called. `tool_class` says whose tool it is;
    `is_carried_out_here` marks one of somebody else that this process calls. `card` is what clients learn about a tool
    whose description comes from elsewhere.
    """

    name: str
    family: str
    summary: str
    request_type: type[RequestT]
    result_type: type[ResultT]
    effect: EffectClass
    plan: Callable[[CallContext, RequestT], Plan[ResultT]]
    examples: tuple[Example, ...]
    when_to_use: tuple[str, ...] = ()
    when_not_to_use: tuple[str, ...] = ()
    audience: Audience = Audience.AGENT
    only_a_person_can: Callable[[Workspace, RequestT], str | None] = lambda _workspace, _request: None
    render: Callable[[ResultT], str] | None = None
    command: Command | None = None
    routes: tuple[Route, ...] = ()
    profiles: frozenset[str] = frozenset()
    reads_index: bool = False
    recover: Callable[[Workspace, LedgerRow], Recovered] | None = None
    links: Callable[[ResultT], tuple[ResourceLink, ...]] = lambda _result: ()
    is_dry_run: Callable[[RequestT], bool] = lambda _request: False
    runs_tests: bool = False
    snapshots: bool = False
    reaches_network: bool = False
    reaches_all: bool = False
    git_hooks: tuple[str, ...] = ()
    complete: Callable[[CallContext, ResultT], ResultT] | None = None
    tool_class: ToolClass = "own"
    is_carried_out_here: bool = False
    card: Mapping[str, Any] | None = None

    @property
    def own_arguments(self) -> frozenset[str]:
        """Return the names of its arguments: none of them means anything else here."""
        described = (self.card or {}).get("input_schema", {}).get("properties", {})
        return frozenset((*self.request_type.model_fields, *described))

    @property
    def is_outside(self) -> bool:
        """Tell whether it is somebody else's: an agent's own tool, or one of another MCP server."""
        return self.tool_class != "own"

    @property
    def schema_digest(self) -> str:
        """Return a digest of this operation's description; approvals are bound to it."""
        if self.card is not None:
            return str(self.card["upstream"]["digest"])
        return _schema_digest(self.name, self.summary, self.request_type)

    @property
    def is_recorded(self) -> bool:
        """Tell whether calls are recorded; people's reads of records are not."""
        return self.audience is Audience.AGENT or self.effect is not EffectClass.READ

    def text_of(self, result: ResultT) -> str:
        """Return a result as text."""
        if self.render is not None:
            return self.render(result)
        return as_text(self.command.shows(result)) if self.command is not None else result.model_dump_json()

    def needs_person(self, workspace: Workspace, request: RequestT) -> str | None:
        """Return what the request asks for that only a person can do; None when every caller may."""
        action = self.only_a_person_can(workspace, request)
        return action or ("do this" if self.audience is Audience.PERSON else None)

    def budget_of(self, request: RequestT) -> Budget | None:
        """Return what a call uses of its task's budget; None for reads, records and dry runs."""
        if self.is_dry_run(request):
            return None
        if self.runs_tests:
            return Budget.TEST_RUNS
        return Budget.MUTATIONS if self.effect.mutates else None


AnyOperation = Operation[Any, Any]


@cache  # A memo of a pure function: a schema is made once per operation and process.
def _schema_digest(name: str, summary: str, request_type: type[Request]) -> str:
    return digest({"name": name, "summary": summary, "schema": request_type.model_json_schema()})


def planned(
    handler: Callable[[CallContext, RequestT], ResultT],
    effects: Callable[[Workspace, RequestT], Effects] | None = None,
) -> Callable[[CallContext, RequestT], Plan[ResultT]]:
    """Return the plan of an operation whose work shares nothing with finding its effects; by default no effects."""

    def plan(context: CallContext, request: RequestT) -> Plan[ResultT]:
        found = effects(context.workspace, request) if effects is not None else Effects()
        return Plan(lambda: handler(context, request), found)

    return plan
