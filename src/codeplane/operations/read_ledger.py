"""Read and verify the record of every call, and keep its head in a git note."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Final, Literal

from pydantic import Field

from codeplane.core.clock import iso_from_ms, local_time, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, printable_name
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.export import EXPORT_RECIPE, export_lines
from codeplane.ledger.git_anchor import NOTES_REF, anchor_head, note_writer, read_notes, witnesses_in
from codeplane.ledger.seals import AnchorState
from codeplane.ledger.verification import Verification, Witness
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown, Table
from codeplane.operations.models import Pagination, Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.operations.recorded_calls import call_document
from codeplane.workspace.workspace import Workspace

_MAX_ROWS = 10_000
_REMOVED_BY_HAND: Final = "If you removed `.codeplane` yourself, `cpl clear --all` starts a fresh record."
_MAX_DIGITS = 16
_ASKED_WIDTH = 60
_TIME = "ISO 8601, such as 2026-01-31T12:00:00Z."
_SOUND = frozenset({"sound", "anchor missing"})
Outcome = Literal["finished", "failed", "denied", "held"]


class _Filter(Request):
    """What rows of every kind can be filtered by."""

    session: str | None = Field(None, description="Only rows of this session.")
    task: str | None = Field(None, description="Only rows of this task.")
    outcome: Outcome | None = Field(None, description="Only calls with this outcome.")
    since: str | None = Field(None, description=f"Only rows from this time on: {_TIME}")
    until: str | None = Field(None, description=f"Only rows up to this time: {_TIME}")


class ListRowsRequest(_Filter):
    """Which rows to list."""

    operation: str | None = Field(None, description="Only rows of this operation.")
    before: int | None = Field(None, ge=1, le=2**53 - 1, description="Only rows before this number.")
    limit: int = Field(50, ge=1, le=_MAX_ROWS, description="Rows to show.")


class ListCallsRequest(_Filter):
    """Which calls to list."""

    type: str | None = Field(None, description="Only calls of this operation.")
    path: str | None = Field(None, description="Only calls that name this path.")
    intent: str | None = Field(None, description="Only calls under this intent.")
    only_changes: bool = Field(False, description="Only calls that changed files.")
    cursor: int | None = Field(None, ge=1, le=2**53 - 1, description="Continues the last page.")
    limit: int = Field(50, ge=1, le=500, description="How many.")


class ShowRowsRequest(Request):
    """Which row, by its number, or which call, by its id."""

    row_or_call: str = Field(description="A row's number or a call's id.")


class VerifyRequest(Request):
    """What to compare with."""

    git_notes: bool = Field(False, description=f"Also against the heads in {NOTES_REF}.")


class Rows(Result):
    """Rows of the ledger."""

    rows: list[dict[str, Any]]
    next_before: int | None = None


class Calls(Result):
    """Calls, newest first."""

    results: list[dict[str, Any]]
    pagination: Pagination


class AnchoredHead(Result):
    """The row whose hash was noted."""

    row: int
    hash: str
    ref: str


def export_recipe() -> str:
    """Return how to verify an export without CodePlane."""
    return EXPORT_RECIPE.lstrip("\n")


def exported(workspace: Workspace) -> Iterator[str]:
    """Yield the whole ledger as JSON lines; too much for one answer, so it is not an operation."""
    return export_lines(workspace.chain)


def _time(text: str | None, name: str) -> int | None:
    try:
        return ms_from_iso(text) if text is not None else None
    except (ValueError, OverflowError) as error:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{name} is a time: {_TIME}") from error


def _filter(request: _Filter, **more: Any) -> RowFilter:
    since, until = _time(request.since, "since"), _time(request.until, "until")
    return RowFilter(task_id=request.task, session=request.session, since_ms=since, until_ms=until, **more)


def _list_rows(context: CallContext, request: ListRowsRequest) -> Rows:
    kinds = (request.outcome,) if request.outcome else ()
    wanted = _filter(
        request, kinds=kinds, operation=request.operation, before_seq=request.before, limit=request.limit + 1
    )
    found = context.workspace.chain.rows(wanted)
    rows = found[: request.limit]
    next_before = rows[-1].seq if len(found) > len(rows) else None
    return Rows(rows=[_row_document(row) for row in rows], next_before=next_before)


def _list_calls(context: CallContext, request: ListCallsRequest) -> Calls:
    kinds = (request.outcome,) if request.outcome else FINAL_KINDS
    # Rows are canonical JSON, so a text between quotes is found as it is written there.
    holds = [json.dumps(request.path, ensure_ascii=False)] if request.path else []
    holds += [f'"intent":{json.dumps(request.intent, ensure_ascii=False)}'] if request.intent else []
    holds += ['"changed_paths":["'] if request.only_changes else []
    wanted = _filter(
        request, kinds=kinds, operation=request.type, before_seq=request.cursor, limit=request.limit + 1,
        body_holds=tuple(holds),
    )  # fmt: skip
    found = context.workspace.chain.rows(wanted)
    rows = found[: request.limit]
    cursor = str(rows[-1].seq) if len(found) > len(rows) else None
    return Calls(results=[call_document(row) for row in rows], pagination=Pagination(next_cursor=cursor))


def _show_rows(context: CallContext, request: ShowRowsRequest) -> Rows:
    chain, name = context.workspace.chain, request.row_or_call
    is_number = name.isascii() and name.isdigit() and len(name) < _MAX_DIGITS
    if is_number:
        rows = tuple(row for row in chain.rows(RowFilter(before_seq=int(name) + 1, limit=1)) if row.seq == int(name))
    else:
        rows = chain.rows(RowFilter(call_id=name, limit=_MAX_ROWS))[::-1]
    if not rows:
        what = f"row {name}" if is_number else f"call {name[:80]}"
        raise CodePlaneError("NOT_FOUND", f"The ledger has no {what}.", hint="`cpl ledger log` lists the rows.")
    return Rows(rows=[_row_document(row) for row in rows])


def _verify(context: CallContext, request: VerifyRequest) -> Document:
    workspace = context.workspace
    witnesses = _witnesses(workspace) if request.git_notes else ()
    found = replace(workspace.chain.verify(witnesses), contradictions=workspace.contradictions())
    if request.git_notes:
        found = replace(found, notes=(*found.notes, f"{len(witnesses)} heads in git notes were compared."))
    retired = found.retired
    return Document(
        verdict=_verdict(found),
        rows=found.rows,
        head=found.head,
        first_bad_row=found.first_bad_seq,
        problem=found.problem or None,
        anchor=found.anchor.value if found.anchor is not None else None,
        sealed_from=found.sealed_from,
        sealed_to=found.sealed_to,
        retired_to=retired.retired_to if retired is not None else None,
        contradictions=list(found.contradictions),
        notes=list(found.notes),
    )


def _witnesses(workspace: Workspace) -> tuple[Witness, ...]:
    sealer = workspace.chain.sealer
    return witnesses_in(read_notes(workspace.repository), sealer.anchor) if sealer is not None else ()


def _verdict(found: Verification) -> str:
    if found.is_evidence_missing:
        return "evidence missing"
    if found.first_bad_seq is not None:
        return "tampered"
    if found.contradictions:
        return "contradicted"
    return "sound" if found.anchor in {AnchorState.SEALED, AnchorState.NEW} else "anchor missing"


def _anchor(context: CallContext, _request: NoArguments) -> AnchoredHead:
    head = anchor_head(context.workspace.chain, note_writer(context.workspace.repository))
    return AnchoredHead(row=head.seq, hash=head.hash, ref=NOTES_REF)


def _row_document(row: LedgerRow) -> dict[str, Any]:
    document = asdict(row)
    del document["ts_ms"]
    return {"seq": row.seq, "time": iso_from_ms(row.ts_ms), **document}


def _row_table(result: Rows) -> Shown:
    headers = ("row", "time", "kind", "operation", "asked", "call", "session", "task", "ms", "error")
    rows = tuple(tuple(printable_name(cell) for cell in _cells(row)) for row in result.rows)
    note = f"There are more rows: add --before {result.next_before}" if result.next_before is not None else ""
    return (Table(headers, rows, note if rows else "No row fits."),)


def _cells(row: dict[str, Any]) -> list[str]:
    duration = row["body"].get("duration_ms")
    return [
        str(row["seq"]),
        local_time(ms_from_iso(row["time"])),
        row["kind"],
        row["operation"] or "-",
        _request_summary(row),
        row["call_id"] or "-",
        row["session"],
        row["task_id"] or "-",
        str(duration) if duration is not None else "-",
        str(row["body"].get("error") or "-"),
    ]


def _request_summary(row: dict[str, Any]) -> str:
    """Return a short form of a call's request: its paths and plain arguments."""
    arguments, effects = row["body"].get("arguments"), row["body"].get("effects")
    if not isinstance(arguments, dict) or not isinstance(effects, dict):
        return "-"
    paths = [path for name in ("writes", "deletes", "reads") for path in effects.get(name, ())]
    known = OPERATIONS.get(row["operation"] or "")
    fields = known.request_type.model_fields if known is not None else {}
    usual = {name: one.default for name, one in fields.items()}
    plain = [
        f"{name}={value}"
        for name, value in arguments.items()
        if isinstance(value, str | int) and value and value != usual.get(name)
    ]
    return " ".join([*map(str, paths), *plain])[:_ASKED_WIDTH] or "-"


def _row_facts(result: Rows) -> Shown:
    shown: list[Facts | str] = []
    for row in result.rows:
        pairs = [(name, value) for name, value in row.items() if name != "body" and value is not None]
        shown.append(Facts(tuple((name, printable_name(str(value))) for name, value in pairs)))
        body = json.dumps(row["body"], ensure_ascii=False, indent=2)
        shown.append("\n".join(printable_name(line) for line in body.splitlines()))
    return tuple(shown)


def _verdict_text(result: Document) -> Shown:
    found: dict[str, Any] = result.model_dump()
    rows, head = counted(found["rows"], "row"), found["head"][:16]
    first = {
        "tampered": f"TAMPERED: row {found['first_bad_row']}: {found['problem']}.\n{rows} before it verified.",
        "evidence missing": f"EVIDENCE MISSING: {found['problem']}.\n{rows} verified since.\n{_REMOVED_BY_HAND}",
        "contradicted": f"CONTRADICTED: {rows} verified, but tables derived from them disagree.",
        "sound": f"Sound: {rows} verified, head {head}.",
        "anchor missing": f"{rows} verified, head {head}, but the seal outside the repository is missing.",
    }[found["verdict"]]
    notes = [printable_name(note) for note in (*found["contradictions"], *found["notes"])]
    return ("\n".join([first, *notes]),)


def _anchor_text(result: AnchoredHead) -> Shown:
    return (f"Row {result.row} with hash {result.hash[:16]} is noted in {result.ref}.",)


LIST_ROWS = Operation(
    name="list_rows",
    family="ledger",
    summary="List rows, newest first.",
    request_type=ListRowsRequest,
    result_type=Rows,
    effect=EffectClass.READ,
    plan=planned(_list_rows),
    examples=(Example("What failed", {"outcome": "failed"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("ledger", "log"),
        help="List rows, newest first; exit code 1 if there are none.",
        shows=_row_table,
        is_finding=lambda result: not result.rows,
        needs_ledger=True,
    ),
)

SHOW_ROWS = Operation(
    name="show_rows",
    family="ledger",
    summary="Show one row or all rows of a call.",
    request_type=ShowRowsRequest,
    result_type=Rows,
    effect=EffectClass.READ,
    plan=planned(_show_rows),
    examples=(Example("Row 7", {"row_or_call": "7"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("ledger", "show"),
        help="Show everything about one row (its number) or one call (its id).",
        shows=_row_facts,
        arguments=("row_or_call",),
        needs_ledger=True,
    ),
    routes=(
        Route(
            method="GET",
            path="/operations/{row_or_call}",
            summary="Everything on record about one row or one call; needs the operator token.",
            needs_token=True,
        ),
    ),
)

LIST_CALLS = Operation(
    name="list_calls",
    family="ledger",
    summary="List calls, newest first.",
    request_type=ListCallsRequest,
    result_type=Calls,
    effect=EffectClass.READ,
    plan=planned(_list_calls),
    examples=(Example("What failed", {"outcome": "failed"}),),
    audience=Audience.SHELL,
    routes=(
        Route(
            method="GET",
            path="/operations",
            summary="Calls; filters type, outcome, session, task, path, only_changes, since, until, cursor, limit.",
        ),
    ),
)

VERIFY_LEDGER = Operation(
    name="verify_ledger",
    family="ledger",
    summary="Check every row, every seal and the end of the chain.",
    request_type=VerifyRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_verify),
    examples=(Example("Check it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("ledger", "verify"),
        help="""Check every row, every seal and the end of the chain; exit code 1 when it was tampered with.

        A table that contradicts the rows is named. A ledger that was removed together with its seal is missing evidence
        (exit code 1). A missing anchor (the user state directory was lost) is not tampering: the exit code is 0, and
        the output says what is still proven.""",
        shows=_verdict_text,
        flags={"git_notes": "--git-notes"},
        is_finding=lambda result: result.model_dump()["verdict"] not in _SOUND,
        needs_ledger=True,
    ),
    routes=(
        Route(
            method="GET",
            path="/ledger/verification",
            summary="Whether every row, seal and the end of the chain hold; needs the operator token.",
            needs_token=True,
        ),
    ),
)

ANCHOR_LEDGER = Operation(
    name="anchor_ledger",
    family="ledger",
    summary="Keep the newest head in a git note.",
    request_type=NoArguments,
    result_type=AnchoredHead,
    effect=EffectClass.WRITE,
    plan=planned(_anchor, lambda _workspace, _request: Effects(git_refs=(NOTES_REF,))),
    examples=(Example("Anchor it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("ledger", "anchor"),
        help=f"""Write the newest sealed head into a git note on HEAD ({NOTES_REF}).

        Push the note: anyone who fetched it can later prove that the ledger had these rows. The chain is verified
        first.""",
        shows=_anchor_text,
        needs_ledger=True,
    ),
)
