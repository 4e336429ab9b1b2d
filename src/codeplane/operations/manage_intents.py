"""Add, list, show, close, check, import and widen intents."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.govern.intents import INTENTS_FILE, Intent, Status, parse_intents
from codeplane.govern.intents_file import widened, with_intent, with_status
from codeplane.govern.spec_import import ImportedIntent, find_specs
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown, Table, cell
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.intent_lines import lines_of_intent
from codeplane.operations.models import ListOfOne, Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan, planned
from codeplane.workspace.intent_changes import intents_text, save_intents, written_paths
from codeplane.workspace.workspace import Workspace

_COLUMNS = ("id", "status", "selectable", "name", "owned_scope")
_EVERYTHING = frozenset({"**", "**/*", "*"})

Texts = Annotated[list[str], ListOfOne]


class IntentRequest(Request):
    """Which intent."""

    intent_id: str = Field(description="The intent's id, such as INT-001.")


class AddIntentRequest(IntentRequest):
    """The new intent."""

    name: str = Field(description="What to do, in a few words.")
    owned_scope: Texts = Field(min_length=1, description="Files it may change.")
    constraints: Texts = Field(default_factory=list, description="What must stay true.")
    acceptance_criteria: Texts = Field(default_factory=list, description="When it is done.")
    requirements: Texts = Field(default_factory=list, description="A requirement's id.")
    parent: str | None = Field(None, description="The parent intent.")
    expires: str | None = Field(None, description="For example 2026-12-31T00:00:00Z.")
    status: Status = Field("active", description="Only an active intent allows changes.")


class CloseIntentRequest(IntentRequest):
    """Which intent, and its new status."""

    status: Status = Field("done", description="The new status.")


class WidenIntentRequest(IntentRequest):
    """Which intent, and the globs to add."""

    paths: list[str] = Field(min_length=1, description="Globs to add to its scope.")


class ImportIntentsRequest(Request):
    """Which specifications to import."""

    kind: Literal["spec-kit", "openspec", "kiro"] | None = Field(None, description="Only this kind.")
    dry_run: bool = Field(False, description="Only show them.")


class IntentList(Result):
    """All intents."""

    results: list[dict[str, Any]]


class IntentCheck(Result):
    """What is wrong with the intents file."""

    ok: bool
    problems: list[str]
    warnings: list[str]


class ImportedIntents(Result):
    """Draft intents made from specifications."""

    imported: list[dict[str, Any]]
    dry_run: bool


def _intents(workspace: Workspace) -> tuple[Intent, ...]:
    text = intents_text(workspace)
    return parse_intents(text).active_intents if text is not None else ()


def _document(workspace: Workspace, intent: Intent) -> dict[str, Any]:
    reason = workspace.gate.rules().why_not_valid(intent.id, workspace.clock.now_ms())
    return {**_plain(intent), "selectable": reason is None, "why_not": reason}


def _plain(intent: Intent) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(intent).items()}


def _found(workspace: Workspace, intent_id: str) -> Document:
    for intent in _intents(workspace):
        if intent.id == intent_id:
            return Document(**_document(workspace, intent))
    raise CodePlaneError("NOT_FOUND", f"There is no intent {intent_id[:80]}.", hint="`cpl intent list` shows all.")


def _changing(context: CallContext, intent_id: str, change: Callable[[str | None], str]) -> Plan[Document]:
    """Plan a change of the intents file."""
    workspace = context.workspace
    text = change(intents_text(workspace))

    def work() -> Document:
        save_intents(workspace, context.call_id, text)
        return _found(workspace, intent_id)

    return Plan(work, Effects(writes=written_paths(workspace)))


def _existing(text: str | None) -> str:
    if text is None:
        raise CodePlaneError("NOT_FOUND", f"There is no {INTENTS_FILE}.")
    return text


def _add(context: CallContext, request: AddIntentRequest) -> Plan[Document]:
    given = request.model_dump(exclude={"intent_id"})
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    try:
        intent = Intent(id=request.intent_id, **values)
    except ValueError as error:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    return _changing(context, request.intent_id, lambda text: with_intent(text, intent))


def _close(context: CallContext, request: CloseIntentRequest) -> Plan[Document]:
    def change(text: str | None) -> str:
        return with_status(_existing(text), request.intent_id, request.status)

    return _changing(context, request.intent_id, change)


def _widen(context: CallContext, request: WidenIntentRequest) -> Plan[Document]:
    def change(text: str | None) -> str:
        return widened(_existing(text), request.intent_id, tuple(request.paths))

    return _changing(context, request.intent_id, change)


def _list(context: CallContext, _request: NoArguments) -> IntentList:
    return IntentList(results=[_document(context.workspace, one) for one in _intents(context.workspace)])


def _show(context: CallContext, request: IntentRequest) -> Document:
    found = _found(context.workspace, request.intent_id)
    return Document(**found.model_dump(), **lines_of_intent(context.workspace, request.intent_id))


def _check(context: CallContext, _request: NoArguments) -> IntentCheck:
    workspace = context.workspace
    text = intents_text(workspace)
    try:
        intents = parse_intents(_existing(text)).active_intents
    except CodePlaneError as error:
        return IntentCheck(ok=False, problems=error.message.splitlines(), warnings=[])
    tracked = workspace.tracked().files
    warnings = []
    for one in intents:
        scopes = [Intent(id="x", name="x", owned_scope=(pattern,)) for pattern in one.owned_scope]
        unused = [scope.owned_scope[0] for scope in scopes if not any(map(scope.owns, tracked))]
        warnings += [f"{one.id}: {pattern} matches no file yet" for pattern in unused]
        if _EVERYTHING & set(one.owned_scope):
            warnings.append(f"{one.id} owns everything")
        if not one.owned_scope and one.status == "active":
            warnings.append(f"{one.id} owns nothing: no change is possible under it")
    return IntentCheck(ok=True, problems=[], warnings=warnings)


def _new_specs(workspace: Workspace, request: ImportIntentsRequest) -> list[ImportedIntent]:
    known = {one.id for one in _intents(workspace)}
    return [one for one in find_specs(workspace.root, request.kind) if one.intent.id not in known]


def _import(context: CallContext, request: ImportIntentsRequest) -> Plan[ImportedIntents]:
    workspace = context.workspace
    text, found = intents_text(workspace), _new_specs(workspace, request)
    for one in found:
        text = with_intent(text, one.intent)

    def work() -> ImportedIntents:
        if found and text is not None and not request.dry_run:
            save_intents(workspace, context.call_id, text)
        imported = [{"source": one.source, "kind": one.kind, **_plain(one.intent)} for one in found]
        return ImportedIntents(imported=imported, dry_run=request.dry_run)

    return Plan(work, Effects(writes=written_paths(workspace) if found else ()))


def _needs_person_to_import(workspace: Workspace, request: ImportIntentsRequest) -> str | None:
    found = [] if request.dry_run else _new_specs(workspace, request)
    return f"add {len(found)} draft intents" if found else None


def _intent_facts(result: Document) -> Shown:
    document = result.model_dump()
    if "files" in document:
        document["files"] = [f"{one['path']} ({one['lines']})" for one in document["files"]]
    pairs = [(name.replace("_", " "), cell(value)) for name, value in document.items() if value is not None]
    return (Facts(tuple(pairs)),)


def _intent_table(result: IntentList) -> Shown:
    rows = tuple(tuple(cell(one[name]) for name in _COLUMNS) for one in result.results)
    return (Table(_COLUMNS, rows, "" if rows else "There are no intents; `cpl intent add` adds one."),)


def _import_table(result: ImportedIntents) -> Shown:
    rows = tuple((one["id"], one["source"], one["name"], cell(one["owned_scope"])) for one in result.imported)
    note = "" if rows else "Nothing new in specs/, openspec/changes/ and .kiro/specs/."
    return (Table(("id", "from", "name", "scope"), rows, note),)


def _check_text(result: IntentCheck) -> Shown:
    lines = [*result.problems, *(f"warning: {one}" for one in result.warnings)]
    return ("\n".join(lines) or "The intents are valid.",)


ADD_INTENT = Operation(
    name="add_intent",
    family="intents",
    summary="Add an intent.",
    request_type=AddIntentRequest,
    result_type=Document,
    effect=EffectClass.WRITE,
    plan=_add,
    recover=recover_edit,
    examples=(Example("A new one", {"intent_id": "INT-001", "name": "Totals", "owned_scope": ["src/orders/**"]}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"add intent {request.intent_id[:80]}",
    command=Command(
        path=("intent", "add"),
        help="Add an intent to the file; the file is created if it is missing.",
        shows=_intent_facts,
        arguments=("intent_id", "name"),
        flags={
            "owned_scope": "--scope",
            "constraints": "--constraint",
            "acceptance_criteria": "--criterion",
            "requirements": "--requirement",
        },
    ),
)

CHECK_INTENTS = Operation(
    name="check_intents",
    family="intents",
    summary="Check the intents file.",
    request_type=NoArguments,
    result_type=IntentCheck,
    effect=EffectClass.READ,
    plan=planned(_check),
    examples=(Example("Check it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("intent", "check"),
        help="Check the file; exit code 1 on a problem, each with its line.",
        shows=_check_text,
        is_finding=lambda result: not result.ok,
    ),
)

CLOSE_INTENT = Operation(
    name="close_intent",
    family="intents",
    summary="Close an intent.",
    request_type=CloseIntentRequest,
    result_type=Document,
    effect=EffectClass.WRITE,
    plan=_close,
    recover=recover_edit,
    examples=(Example("It is done", {"intent_id": "INT-001"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"set intent {request.intent_id[:80]} to {request.status}",
    command=Command(
        path=("intent", "close"),
        help="Give an intent another status: done, abandoned, paused; or active again.",
        shows=_intent_facts,
        arguments=("intent_id",),
    ),
)

IMPORT_INTENTS = Operation(
    name="import_intents",
    family="intents",
    summary="Make draft intents from specifications.",
    request_type=ImportIntentsRequest,
    result_type=ImportedIntents,
    effect=EffectClass.WRITE,
    plan=_import,
    recover=recover_edit,
    examples=(Example("Look first", {"dry_run": True}),),
    audience=Audience.SHELL,
    only_a_person_can=_needs_person_to_import,
    is_dry_run=lambda request: request.dry_run,
    command=Command(
        path=("intent", "import"),
        help="""Make a draft intent of every spec-kit, OpenSpec and Kiro folder that has none yet.

        The scope is guessed from the paths in its tasks; review it, then `cpl intent close ID --status active`.""",
        shows=_import_table,
        flags={"kind": "--from", "dry_run": "--dry-run"},
    ),
)

LIST_INTENTS = Operation(
    name="list_intents",
    family="intents",
    summary="List intents.",
    request_type=NoArguments,
    result_type=IntentList,
    effect=EffectClass.READ,
    plan=planned(_list),
    examples=(Example("All of them", {}),),
    audience=Audience.SHELL,
    command=Command(path=("intent", "list"), help="List all intents with their state.", shows=_intent_table),
    routes=(Route(method="GET", path="/intents", summary="All intents with their state."),),
)

SHOW_INTENT = Operation(
    name="show_intent",
    family="intents",
    summary="Show one intent.",
    request_type=IntentRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("Show it", {"intent_id": "INT-001"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("intent", "show"),
        help="Show one intent: what the file says about it, its live and dead lines, files and commits.",
        shows=_intent_facts,
        arguments=("intent_id",),
    ),
    routes=(Route(method="GET", path="/intents/{intent_id}", summary="One intent, its lines, files and commits."),),
)

# Called when a scope expansion is approved; there is no command for it.
WIDEN_INTENT = Operation(
    name="widen_intent",
    family="intents",
    summary="Add globs to the scope of an intent.",
    request_type=WidenIntentRequest,
    result_type=Document,
    effect=EffectClass.WRITE,
    plan=_widen,
    recover=recover_edit,
    examples=(Example("One more file", {"intent_id": "INT-001", "paths": ["README.md"]}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"widen intent {request.intent_id[:80]}",
)
