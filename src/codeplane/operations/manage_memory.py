"""What people do with memory: look at it, verify, repair, share, take over, promote and forget."""

import json
import platform
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.version import VERSION
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change, State
from codeplane.ledger.chain import LedgerRow, RowFilter
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory import exchange
from codeplane.memory.consolidation import n_waiting
from codeplane.memory.experiences import TEXT_FIELDS, experience_of, record, row_of
from codeplane.memory.forgetting import forget, is_purge_due, purge, rebuild_derived
from codeplane.memory.retrieval import Question, find
from codeplane.memory.schema import PROTECTED
from codeplane.memory.store import MemoryStore, generation_of, kept_notes
from codeplane.memory.verification import MemoryVerdict, verify_rows, written_rows
from codeplane.operations.code_places import stale_places
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.memory_access import memory_of, memory_writing
from codeplane.operations.models import Request
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan, planned
from codeplane.workspace.workspace import Workspace

_FAMILY = "memory"
TEAM_FILE = RepoPath.parse(".orchestration/memory/experiences.jsonl")
ATTRIBUTES_FILE = RepoPath.parse(".gitattributes")
_ATTRIBUTES = ".orchestration/memory/*.jsonl merge=union"
_TABLES = ("experiences", "episodic_experiences", "scenes", "cells", "memory_records", "memory_sessions")
_PAGE = 500
_TRIES = 5
_TELLING = 12


class ForgetRequest(Request):
    """Which experience."""

    id: int = Field(ge=1, le=2**53 - 1, description="Its id; all versions of it are forgotten.")


class ImportRequest(Request):
    """Which file."""

    path: str = Field(
        TEAM_FILE.text,
        max_length=4096,
        description="JSON lines, a JSON array or an `experiences.db`.",
    )


_LISTS = frozenset({"counts", "conflicts", "stale"})
# Lessons that contradict each other, and the newest lessons that are about code.
_CONFLICTS = (
    "SELECT cell_id, title, state, conflict_group, contradiction_count FROM cells"
    " WHERE conflict_group IS NOT NULL OR contradiction_count > 0 ORDER BY conflict_group, cell_id LIMIT 50"
)
_ABOUT_CODE = (
    "SELECT id, situation, code_hashes FROM experiences"
    " WHERE archived_at IS NULL AND code_hashes <> '{}' ORDER BY id DESC LIMIT 100"
)


def _status(context: CallContext, _request: NoArguments) -> Document:
    store = memory_of(context)
    with store.read() as connection:
        counts = {table: _count(connection, table) for table in _TABLES}
        live = int(connection.execute("SELECT COUNT(*) FROM experiences WHERE archived_at IS NULL").fetchone()[0])
        waiting = n_waiting(connection, "project")
        conflicts = [dict(row) for row in connection.execute(_CONFLICTS)]
        about_code = connection.execute(_ABOUT_CODE).fetchall()
    stale = [
        {"id": row["id"], "situation": row["situation"], "why": gone[:3]}
        for row in about_code
        if (gone := stale_places(context.workspace, json.loads(row["code_hashes"]).items()))
    ]
    return Document(
        database=store.path.name,
        size_bytes=store.path.stat().st_size,
        generation=store.generation(),
        live_experiences=live,
        waiting_episodes=waiting,
        has_global=context.workspace.places.user.global_memory.exists(),
        counts=counts,
        conflicts=conflicts,
        stale=stale,
    )


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608 - constants.


def _show_status(result: Document) -> Shown:
    found = result.model_dump()
    facts = [(name.replace("_", " "), str(value)) for name, value in found.items() if name not in _LISTS]
    facts += [(name, str(len(found[name]))) for name in ("conflicts", "stale")]
    return (Facts((*facts, *((name.replace("_", " "), str(n)) for name, n in found["counts"].items()))),)


MEMORY_STATUS = Operation(
    name="memory_status",
    family=_FAMILY,
    summary="Show how much was learned here.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_status),
    examples=(Example("Look", {}),),
    audience=Audience.SHELL,
    command=Command(path=("memory", "status"), help="Count what was learned.", shows=_show_status),
    routes=(Route(method="GET", path="/memory/status", summary="How much was learned here."),),
)


def noted_rows(workspace: Workspace) -> Iterator[list[Any]]:
    """Yield what the ledger says about rows of memory, oldest first."""
    newest_first: list[LedgerRow] = []
    before: int | None = None
    while True:
        page = workspace.chain.rows(RowFilter(body_holds='"memory":', before_seq=before, limit=_PAGE))
        newest_first += page
        if len(page) < _PAGE:
            break
        before = page[-1].seq
    for row in reversed(newest_first):
        found = row.body.get("memory")
        yield from found if isinstance(found, list) else ()


def _verify(context: CallContext, _request: NoArguments) -> Document:
    workspace, store = context.workspace, memory_of(context)
    chain = workspace.chain.verify()
    found = _checked(workspace, store)
    problems, notes = list(found.problems), list(found.notes)
    with store.read() as connection:
        if is_purge_due(connection):
            notes.append("Forgetting was interrupted: the text may still be in the file. Run `cpl memory repair`.")
    if chain.problem:
        problems.insert(0, f"The ledger itself does not verify: {chain.problem}")
    return Document(
        verdict="TAMPERED" if problems else "SOUND",
        rows=found.rows,
        problems=problems,
        notes=notes,
        unprotected={table: sorted(one.derived) for table, one in PROTECTED.items() if one.derived},
    )


def _checked(workspace: Workspace, store: MemoryStore) -> MemoryVerdict:
    """Compare rows with notes; while others write, the two may be of different moments, so it is done again."""
    for _ in range(_TRIES):
        with store.read() as connection:
            generation = generation_of(connection)
            noted = [*noted_rows(workspace), *kept_notes(connection, store.signer)]
            found = verify_rows(connection, store.signer, written_rows(noted))
        if not found.problems or store.generation() == generation:
            break
    return found


def _show_verdict(result: Document) -> Shown:
    found = result.model_dump()
    return (f"{found['verdict']}: {found['rows']} rows checked.", *found["problems"], *found["notes"])


VERIFY_MEMORY = Operation(
    name="verify_memory",
    family=_FAMILY,
    summary="Check that nobody changed memory behind our back.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_verify),
    examples=(Example("Check it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "verify"),
        help="Compare every row with its hash, its seal and the ledger; exit code 1 when something does not fit.",
        shows=_show_verdict,
        is_finding=lambda result: result.model_dump()["verdict"] != "SOUND",
    ),
    routes=(Route(method="GET", path="/memory/verify", summary="Whether memory was changed behind our back."),),
)


def _repair(context: CallContext, _request: NoArguments) -> Document:
    store = memory_of(context)
    problems = list(store.database.problems())
    if not problems:
        rebuild_derived(store)
        purge(store)
    return Document(repaired=not problems, problems=problems)


REPAIR_MEMORY = Operation(
    name="repair_memory",
    family=_FAMILY,
    summary="Build full text, places and duplicate buckets again from the rows.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_repair),
    examples=(Example("Repair", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "repair"),
        help="Build everything derived again; rows are never changed.",
        shows=lambda result: tuple(result.model_dump()["problems"]) or ("Rebuilt.",),
        is_finding=lambda result: not result.model_dump()["repaired"],
    ),
)


def _plan_export(context: CallContext, _request: NoArguments) -> Plan[Document]:
    workspace = context.workspace
    with memory_of(context).read() as connection:
        text = exchange.export_lines(connection, _text_at(workspace, TEAM_FILE))

    def write() -> Document:
        files = {TEAM_FILE: text, ATTRIBUTES_FILE: _with_attributes(_text_at(workspace, ATTRIBUTES_FILE))}
        changes = [change for path, new in files.items() if (change := _change(workspace, path, new)) is not None]
        if changes:
            workspace.editor.apply(context.call_id, changes)
        return Document(path=TEAM_FILE.text, experiences=text.count("\n"), changed=[one.path.text for one in changes])

    return Plan(write, Effects(writes=(TEAM_FILE, ATTRIBUTES_FILE)))


def _text_at(workspace: Workspace, path: RepoPath) -> str:
    found = workspace.editor.look(path)
    return found.image.data.decode("utf-8", "surrogateescape") if found is not None else ""


def _change(workspace: Workspace, path: RepoPath, text: str) -> Change | None:
    found = workspace.editor.look(path)
    before = found.image if found is not None else None
    data = text.encode("utf-8", "surrogateescape")
    if before is not None and before.data == data:
        return None
    return Change(path, before, FileImage(data))


def _with_attributes(text: str) -> str:
    """Return `.gitattributes` with the line that lets the team's file merge without conflicts."""
    if _ATTRIBUTES in text.splitlines():
        return text
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{_ATTRIBUTES}\n"


EXPORT_MEMORY = Operation(
    name="export_memory",
    family=_FAMILY,
    summary="Write the experiences into the file that the team commits.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.WRITE,
    plan=_plan_export,
    recover=recover_edit,
    examples=(Example("Export", {}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "write memory into the file of the team",
    command=Command(
        path=("memory", "export"),
        help=f"Write {TEAM_FILE}: sorted JSON lines that git merges without conflicts.",
        shows=lambda result: (f"{result.model_dump()['experiences']} experiences in {TEAM_FILE}.",),
    ),
)


def _import(context: CallContext, request: ImportRequest) -> Document:
    place = Path(request.path)
    place = place if place.is_absolute() else context.workspace.root / place
    data = _bytes_of(place, request.path)
    with memory_writing(context) as writing:
        if data.startswith(b"SQLite format 3\x00"):
            done = exchange.import_store(writing, place)
        else:
            done = exchange.import_rows(writing, exchange.parse_rows(data.decode("utf-8", "replace")))
    return Document(imported=done.imported, skipped=done.skipped, total=done.total, errors=list(done.errors))


def _bytes_of(place: Path, asked: str) -> bytes:
    try:
        with closing(place.open("rb")) as file:
            return file.read(100_000_000)
    except OSError as error:
        raise CodePlaneError("FILE_NOT_FOUND", f"{asked} cannot be read: {error.strerror or error}.") from error


def _show_import(result: Document) -> Shown:
    found = result.model_dump()
    return (
        f"{found['imported']} of {found['total']} imported, {found['skipped']} skipped.",
        *found["errors"],
    )


IMPORT_MEMORY = Operation(
    name="import_memory",
    family=_FAMILY,
    summary="Take over experiences from a file or a store of the public system.",
    request_type=ImportRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_import),
    examples=(Example("A store", {"path": ".claude/experiences.db"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "import experiences",
    command=Command(
        path=("memory", "import"),
        help="Import experiences; what is known already is skipped. Without a path: the team's file.",
        shows=_show_import,
        arguments=("path",),
    ),
)

MERGE_MEMORY = Operation(
    name="merge_memory",
    family=_FAMILY,
    summary="Take over what others have committed into the team's file.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(lambda context, _request: _import(context, ImportRequest())),
    examples=(Example("After a pull", {}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "take over the memory of the team",
    command=Command(path=("memory", "merge"), help=f"Import {TEAM_FILE} after a pull.", shows=_show_import),
)


def _forget(context: CallContext, request: ForgetRequest) -> Document:
    workspace, store = context.workspace, memory_of(context)
    with memory_writing(context) as writing:
        done = forget(writing, request.id)
    purge(store)
    dropped = _drop_images(workspace, done.texts)
    team = _text_at(workspace, TEAM_FILE)
    kept = [line for line in team.removesuffix("\n").split("\n") if _texts_in(line) not in done.texts]
    change = _change(workspace, TEAM_FILE, "".join(f"{line}\n" for line in kept)) if team else None
    if change is not None:
        # Applied without a record that could bring it back.
        workspace.editor.apply(context.call_id, [change])
        workspace.editor.records.drop(context.call_id, State.DONE)
    return Document(
        forgotten=list(done.experiences),
        rows=done.n_rows,
        undo_batches_dropped=dropped,
        team_file_changed=change is not None,
        out_of_reach="Commits that contain an export keep it; only rewriting git history removes it there. The search "
        "index may keep words of exported files until `cpl clear`.",
    )


def _texts_in(line: str) -> tuple[str, ...]:
    """Return the texts of an experience in a line of the team's file; nothing for any other line."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    return tuple(str(found.get(name)) for name in TEXT_FIELDS) if isinstance(found, dict) else ()


def _holds(data: bytes, texts: tuple[str, ...]) -> bool:
    """Tell whether a file has all texts of an experience, as they are or as JSON; short words prove nothing."""
    wanted = [text for text in texts if len(text) >= _TELLING]
    forms = [{text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]} for text in wanted]
    return bool(wanted) and all(any(one.encode("utf-8", "surrogateescape") in data for one in some) for some in forms)


def _drop_images(workspace: Workspace, texts: tuple[tuple[str, ...], ...]) -> int:
    """Remove undo data that contains a forgotten experience; those changes can no longer be undone."""
    n_dropped = 0
    records = workspace.editor.records
    for batch in sorted(records.batches()):
        found = records.find(batch)
        if found is None or found[1] is not State.DONE:
            continue
        images = [image for change in found[0].changes for image in (change.before, change.after)]
        if any(_holds(image.data, one) for one in texts for image in images if image is not None):
            records.drop(batch, State.DONE)
            n_dropped += 1
    return n_dropped


FORGET_MEMORY = Operation(
    name="forget_memory",
    family=_FAMILY,
    summary="Really delete an experience; the ledger keeps only that something was forgotten.",
    request_type=ForgetRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_forget),
    examples=(Example("By its id", {"id": 7}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "delete an experience for good",
    command=Command(
        path=("memory", "forget"),
        help="Delete an experience in all versions: rows, full text, log, backups, the team's file and undo data.",
        shows=lambda result: (
            f"Forgotten: {', '.join(map(str, result.model_dump()['forgotten']))} ({result.model_dump()['rows']} rows).",
            result.model_dump()["out_of_reach"],
        ),
        arguments=("id",),
    ),
)


def _promote(context: CallContext, request: ForgetRequest) -> Document:
    workspace = context.workspace
    with memory_of(context).read() as connection:
        experience = experience_of(row_of(connection, request.id))
    store = MemoryStore(workspace.places.user.global_memory, workspace.clock, None)
    with closing(store), store.write() as writing:
        done = record(writing, experience)
    return Document(promoted=done.is_new, global_id=done.id)


PROMOTE_EXPERIENCE = Operation(
    name="promote_experience",
    family=_FAMILY,
    summary="Copy an experience into the memory of all your repositories.",
    request_type=ForgetRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_promote),
    examples=(Example("By its id", {"id": 7}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "make an experience known in all repositories",
    command=Command(
        path=("memory", "promote"),
        help="Make an experience known in all repositories of this user.",
        shows=lambda result: (f"It is global experience {result.model_dump()['global_id']}.",),
        arguments=("id",),
    ),
)


def _init(context: CallContext, _request: NoArguments) -> Document:
    store = memory_of(context)
    return Document(database=str(store.path), generation=store.generation(), is_sealed=store.signer is not None)


INIT_MEMORY = Operation(
    name="init_memory",
    family=_FAMILY,
    summary="Create the memory of this repository, if there is none.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_init),
    examples=(Example("Create it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "init"),
        help="Create the database and its signing key; what exists is left as it is. Agents' settings are not touched.",
        shows=lambda result: (f"Memory is at {result.model_dump()['database']}.",),
    ),
)


def _doctor(context: CallContext, _request: NoArguments) -> Document:
    workspace, store = context.workspace, memory_of(context)
    problems = [*store.database.problems(), *_verify(context, NoArguments()).model_dump()["problems"]]
    with store.read() as connection:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return Document(
        database=str(store.path),
        schema_version=version,
        tables=f"{len(_SPECIFIED & tables)} of {len(_SPECIFIED)}",
        signing_key="present" if store.signer is not None else "missing",
        runtime=platform.python_version(),
        server_version=VERSION,
        token_directory=str(workspace.places.tokens),
        problems=problems,
    )


# Tables of the specification that are no views over the ledger.
_SPECIFIED = frozenset(
    {
        "activity_log", "cell_evidence", "cells", "consolidation_meta", "episodic_experiences", "experiences",
        "memory_sessions", "memory_tokens", "reasoning_sessions", "reasoning_thoughts", "scenes", "workflow_sessions",
    }
)  # fmt: skip

DOCTOR_MEMORY = Operation(
    name="doctor_memory",
    family=_FAMILY,
    summary="Check the memory of this repository: file, schema, key, seals.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_doctor),
    examples=(Example("Check it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "doctor"),
        help="Show where memory is and whether it is sound; exit code 1 when it is not.",
        shows=lambda result: (
            Facts(tuple((name.replace("_", " "), str(value)) for name, value in result.model_dump().items() if value)),
        ),
        is_finding=lambda result: bool(result.model_dump()["problems"]),
    ),
)


def _bench(context: CallContext, _request: NoArguments) -> Document:
    """Ask for every experience by its own situation: it should be among the first five."""
    clock = context.workspace.clock
    query = "SELECT id, situation FROM experiences WHERE archived_at IS NULL ORDER BY id DESC LIMIT ?"
    times: list[float] = []
    n_found = 0
    with memory_of(context).read() as connection:
        rows = connection.execute(query, (_BENCHED,)).fetchall()
        for row in rows:
            begun = clock.monotonic()
            hits = find(connection, Question(row["situation"], now_ms=clock.now_ms()), 5).hits
            times.append(clock.monotonic() - begun)
            n_found += any(hit.id == row["id"] for hit in hits)
    times.sort()
    p95_ms = round(times[int(len(times) * 0.95)] * 1000, 1) if times else 0.0
    return Document(questions=len(rows), found_in_first_five=n_found, p95_ms=p95_ms)


_BENCHED = 500

BENCH_MEMORY = Operation(
    name="bench_memory",
    family=_FAMILY,
    summary="Measure how well and how fast memory answers here.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_bench),
    examples=(Example("Measure", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "bench"),
        help="Ask for the newest 500 experiences by their situation; show how many are found, and the time.",
        shows=lambda result: (
            Facts(tuple((name.replace("_", " "), str(value)) for name, value in result.model_dump().items())),
        ),
    ),
)
