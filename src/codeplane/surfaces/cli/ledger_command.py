"""`cpl ledger`: read, verify, export and anchor the record of every call, with or without a running server."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from codeplane.core.clock import iso_from_ms, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, printable_name
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.export import EXPORT_RECIPE, export_lines
from codeplane.ledger.git_anchor import anchor_head, note_writer, read_notes, witnesses_in
from codeplane.ledger.seals import AnchorState, was_sealed
from codeplane.ledger.verification import Verification, Witness
from codeplane.operations.catalog import OPERATIONS
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import (
    json_option,
    local_time,
    print_facts,
    print_json,
    print_table,
    repo_option,
    set_option,
)
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, locate_places, open_workspace

_MAX_ROWS = 10_000
_ASKED_WIDTH = 60
_TIME_HELP = "ISO 8601, such as 2026-01-31T12:00:00Z."


@click.group("ledger", short_help="Read, verify and export the record of every call.")
def command() -> None:
    """Read, verify and export the record of every call.

    Each row is hashed over the row before it and sealed with a key in the user state directory. `verify` names the
    first row that was changed, forged, removed or put in, and says what is not proven. `export --recipe` tells how an
    export is verified without CodePlane.
    """


@command.command("log", short_help="List rows, newest first.")
@click.option("--session", default=None, metavar="LABEL", help="Only rows of this session.")
@click.option("--task", "task_id", default=None, metavar="ID", help="Only rows of this task.")
@click.option("--operation", default=None, metavar="NAME", help="Only rows of this operation.")
@click.option("--outcome", type=click.Choice(FINAL_KINDS), default=None, help="Only calls that ended like this.")
@click.option("--since", default=None, metavar="TIME", help=f"Only rows from this time on: {_TIME_HELP}")
@click.option("--until", default=None, metavar="TIME", help=f"Only rows up to this time: {_TIME_HELP}")
@click.option("--before", type=click.IntRange(min=1), default=None, metavar="ROW", help="Only rows before this number.")
@click.option("--limit", type=click.IntRange(1, _MAX_ROWS), default=50, show_default=True, help="Rows to show.")
@json_option
@repo_option
@set_option
def log_command(as_json: bool, start: str, overrides: tuple[str, ...], **given: Any) -> int:  # noqa: FBT001
    """List rows, newest first; exit code 1 when there is none."""
    wanted = RowFilter(
        kinds=(given["outcome"],) if given["outcome"] else (),
        operation=given["operation"],
        task_id=given["task_id"],
        session=given["session"],
        since_ms=_time(given["since"], "--since"),
        until_ms=_time(given["until"], "--until"),
        before_seq=given["before"],
        limit=given["limit"] + 1,
    )
    with _opened(start, overrides) as workspace:
        found = workspace.chain.rows(wanted)
    rows = found[: given["limit"]]
    next_before = rows[-1].seq if len(found) > len(rows) else None
    if as_json:
        print_json({"rows": [_document(row) for row in rows], "next_before": next_before})
    else:
        headers = ["row", "time", "kind", "operation", "asked", "call", "session", "task", "ms", "error"]
        print_table(headers, [[printable_name(cell) for cell in _cells(row)] for row in rows])
        if next_before is not None:
            sys.stderr.write(f"There are more rows: add --before {next_before}\n")
        elif not rows:
            sys.stderr.write("No row fits.\n")
    return OK if rows else FINDINGS


@command.command("show", short_help="Show one row or all rows of a call.")
@click.argument("row_or_call", metavar="ROW|CALL")
@json_option
@repo_option
@set_option
def show_command(row_or_call: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show everything about one row (its number) or one call (its id)."""
    is_number = row_or_call.isascii() and row_or_call.isdigit() and len(row_or_call) < 16
    with _opened(start, overrides) as workspace:
        if is_number:
            wanted = RowFilter(before_seq=int(row_or_call) + 1, limit=1)
            rows = tuple(row for row in workspace.chain.rows(wanted) if row.seq == int(row_or_call))
        else:
            rows = workspace.chain.rows(RowFilter(call_id=row_or_call, limit=_MAX_ROWS))[::-1]
    if not rows:
        what = f"row {row_or_call}" if is_number else f"call {row_or_call[:80]}"
        raise CodePlaneError("NOT_FOUND", f"The ledger has no {what}.", hint="`cpl ledger log` lists the rows.")
    if as_json:
        print_json({"rows": [_document(row) for row in rows]})
        return OK
    for row in rows:
        facts = [(name, value) for name, value in _document(row).items() if name != "body"]
        print_facts([(name, printable_name(str(value))) for name, value in facts if value is not None])
        body = json.dumps(row.body, ensure_ascii=False, indent=2)
        sys.stdout.write("\n".join(printable_name(line) for line in body.splitlines()) + "\n")
    return OK


@command.command("verify", short_help="Check every row, every seal and the end of the chain.")
@click.option("--git-notes", is_flag=True, help="Also against the heads in refs/notes/codeplane.")
@json_option
@repo_option
@set_option
def verify_command(git_notes: bool, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Check every row, every seal and the end of the chain; exit code 1 when somebody tampered with it.

    A table that contradicts the rows is named. A ledger that was removed together with its seal is missing evidence
    (exit code 1). A missing anchor (the user state directory was lost) is not tampering: the exit code is 0, and it is
    said what is still proven.
    """
    with _opened(start, overrides) as workspace:
        witnesses = _witnesses(workspace) if git_notes else ()
        found = replace(workspace.chain.verify(witnesses), contradictions=workspace.contradictions())
    if git_notes:
        found = replace(found, notes=(*found.notes, f"{len(witnesses)} heads in git notes were compared."))
    if as_json:
        print_json(_verdict_document(found))
    else:
        sys.stdout.write(_verdict_text(found))
    return OK if _verdict(found) in {"sound", "anchor missing"} else FINDINGS


@command.command("export", short_help="Write the whole ledger as JSON lines.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=None, help="Into this file.")
@click.option("--recipe", is_flag=True, help="Only tell how an export is verified without CodePlane.")
@repo_option
@set_option
def export_command(output: Path | None, recipe: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Write the whole ledger as JSON lines, oldest row first, to standard output or into a file."""
    if recipe:
        sys.stdout.write(EXPORT_RECIPE.lstrip("\n"))
        return OK
    with _opened(start, overrides) as workspace:
        if output is None:
            sys.stdout.writelines(f"{line}\n" for line in export_lines(workspace.chain))
            return OK
        with output.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in export_lines(workspace.chain))
    return OK


@command.command("anchor", short_help="Keep the newest head in a git note.")
@json_option
@repo_option
@set_option
def anchor_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Write the newest sealed head into a git note on HEAD (refs/notes/codeplane).

    Push the note, and whoever has fetched it can show later that the ledger had these rows. The chain is verified
    first.
    """
    with _opened(start, overrides) as workspace:
        head = anchor_head(workspace.chain, note_writer(workspace.repository))
    if as_json:
        print_json({"row": head.seq, "hash": head.hash, "ref": "refs/notes/codeplane"})
    else:
        sys.stdout.write(f"Row {head.seq} with hash {head.hash[:16]} is noted in refs/notes/codeplane.\n")
    return OK


@contextmanager
def _opened(start: str, overrides: tuple[str, ...]) -> Iterator[Workspace]:
    """Open the workspace of a repository that has a ledger; looking must not set one up."""
    places = locate_places(Path(start))
    is_there = places.ledger.exists() or places.ledger.with_name("ledger.sealed").exists()
    if not is_there and not was_sealed(places.user.ledger_seals, places.ledger, places.clone):
        raise CodePlaneError("NOT_FOUND", "This repository has no ledger yet.", hint="`cpl init` sets it up.")
    with open_workspace(WorkspaceRequest(places.root, overrides)) as workspace:
        yield workspace


def _witnesses(workspace: Workspace) -> tuple[Witness, ...]:
    sealer = workspace.chain.sealer
    return witnesses_in(read_notes(workspace.repository), sealer.anchor) if sealer is not None else ()


def _time(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    try:
        return ms_from_iso(text)
    except (ValueError, OverflowError) as error:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{name} is a time: {_TIME_HELP}") from error


def _document(row: LedgerRow) -> dict[str, Any]:
    document = asdict(row)
    del document["ts_ms"]
    return {"seq": row.seq, "time": iso_from_ms(row.ts_ms), **document}


def _cells(row: LedgerRow) -> list[str]:
    duration = row.body.get("duration_ms")
    return [
        str(row.seq),
        local_time(row.ts_ms),
        row.kind,
        row.operation or "-",
        _asked(row),
        row.call_id or "-",
        row.session,
        row.task_id or "-",
        str(duration) if duration is not None else "-",
        str(row.body.get("error") or "-"),
    ]


def _asked(row: LedgerRow) -> str:
    """Return what a call asked for: the paths it touches and its plain arguments, cut short."""
    arguments, effects = row.body.get("arguments"), row.body.get("effects")
    if not isinstance(arguments, dict) or not isinstance(effects, dict):
        return "-"
    paths = [path for name in ("writes", "deletes", "reads") for path in effects.get(name, ())]
    usual = _defaults(row.operation or "")
    plain = [
        f"{name}={value}"
        for name, value in arguments.items()
        if isinstance(value, str | int) and value and value != usual.get(name)
    ]
    return " ".join([*map(str, paths), *plain])[:_ASKED_WIDTH] or "-"


def _defaults(operation: str) -> dict[str, Any]:
    """Return the values that arguments of an operation have when nobody gives them."""
    known = OPERATIONS.get(operation)
    return {name: one.default for name, one in known.request_type.model_fields.items()} if known is not None else {}


def _verdict(found: Verification) -> str:
    if found.is_evidence_missing:
        return "evidence missing"
    if found.first_bad_seq is not None:
        return "tampered"
    if found.contradictions:
        return "contradicted"
    return "sound" if found.anchor in {AnchorState.SEALED, AnchorState.NEW} else "anchor missing"


def _verdict_document(found: Verification) -> dict[str, Any]:
    retired = found.retired
    return {
        "verdict": _verdict(found),
        "rows": found.rows,
        "head": found.head,
        "first_bad_row": found.first_bad_seq,
        "problem": found.problem or None,
        "anchor": found.anchor.value if found.anchor is not None else None,
        "sealed_from": found.sealed_from,
        "sealed_to": found.sealed_to,
        "retired_to": retired.retired_to if retired is not None else None,
        "contradictions": list(found.contradictions),
        "notes": list(found.notes),
    }


def _verdict_text(found: Verification) -> str:
    verdict = _verdict(found)
    if verdict == "tampered":
        first = (
            f"TAMPERED: row {found.first_bad_seq}: {found.problem}.\n{counted(found.rows, 'row')} before it verified.\n"
        )
    elif verdict == "evidence missing":
        first = f"EVIDENCE MISSING: {found.problem}.\n{counted(found.rows, 'row')} verified since.\n"
    elif verdict == "contradicted":
        first = f"CONTRADICTED: {counted(found.rows, 'row')} verified, but tables beside them say something else.\n"
    elif verdict == "sound":
        first = f"Sound: {counted(found.rows, 'row')} verified, head {found.head[:16]}.\n"
    else:
        rows = counted(found.rows, "row")
        first = f"{rows} verified, head {found.head[:16]}, but the seal outside the repository is missing.\n"
    return first + "".join(f"{printable_name(note)}\n" for note in (*found.contradictions, *found.notes))
