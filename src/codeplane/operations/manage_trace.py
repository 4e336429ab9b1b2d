"""Verify, export, import and count the trace, and check that intents cover a range of commits."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted, printable_name
from codeplane.git.revisions import resolve, resolve_range
from codeplane.govern.trace.exchange import NOTES_REF, parse_note, record_problem
from codeplane.govern.trace.index import Entry
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Command, Document, NoArguments, Route, Shown, Table
from codeplane.operations.file_access import check_readable
from codeplane.operations.models import PathText, Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan, planned
from codeplane.workspace.trace_commits import CommitTrace, read_ai_notes, write_notes
from codeplane.workspace.trace_import import Imported, import_note, import_record
from codeplane.workspace.workspace import Workspace

_FAMILY: Final = "trace"
_MAX_RECORDS: Final = 200_000
_MAX_IMPORT: Final = 512 * 1024 * 1024
_MAX_NOTES: Final = 20_000
_SHOWN_FILES: Final = 500


class VerifyRangeRequest(Request):
    """Which commits."""

    range: str = Field("HEAD~1..HEAD", max_length=500, description="A..B, or one commit.")


class ExportTraceRequest(Request):
    """What to export, and in which form."""

    format: Literal["agent-trace", "git-ai"] = Field(
        "agent-trace", description="agent-trace prints JSON lines; git-ai writes git notes."
    )
    intent: str | None = Field(None, description="Only records under this intent.")
    range: str | None = Field(None, max_length=500, description="git-ai: the commits, A..B or one; default HEAD.")


class ImportTraceRequest(Request):
    """What to import."""

    path: PathText | None = Field(None, description="Agent Trace JSON lines; without it the git-ai notes.")
    dry_run: bool = Field(False, description="Only tell what would be imported.")


class ExportedTrace(Result):
    """The records, or how many notes were written."""

    records: list[dict[str, Any]] = Field(default_factory=list)
    notes: int = 0
    ref: str | None = None


class RangeCoverage(Result):
    """Which changed files no intent covers."""

    ok: bool
    commits: int
    files: int
    uncovered: list[dict[str, Any]]
    covered: list[dict[str, Any]]
    omitted: int = 0


def _verify(context: CallContext, _request: NoArguments) -> Document:
    report = context.workspace.trace.verify()
    first = report.problems[0] if report.problems else None
    return Document(
        verdict="sound" if report.is_sound else "broken",
        lines=report.n_lines,
        records=report.n_records,
        foreign_records=report.n_foreign,
        duplicates=report.n_duplicates,
        not_on_this_branch=report.n_elsewhere,
        segments=[{"segment": name, "lines": last} for name, last in sorted(report.segments.items())],
        first_bad_line=first[0] if first is not None else None,
        problem=first[1] if first is not None else None,
        problems=[{"line": number, "problem": text} for number, text in report.problems],
        notes=list(report.notes),
    )


def _verify_text(result: Document) -> Shown:
    found = result.model_dump()
    lines = [
        f"{found['verdict']}: {counted(found['records'], 'record')} in {counted(len(found['segments']), 'segment')}"
    ]
    lines += [f"line {one['line']}: {one['problem']}" for one in found["problems"]]
    lines += [f"note: {note}" for note in found["notes"]]
    return ("\n".join(lines),)


def _ends(workspace: Workspace, text: str) -> tuple[str | None, str]:
    found = resolve_range(workspace.root, text)
    return (found.base, found.tip) if found is not None else (None, resolve(workspace.root, text))


def _verify_range(context: CallContext, request: VerifyRangeRequest) -> RangeCoverage:
    workspace = context.workspace
    base, tip = _ends(workspace, request.range)
    found = CommitTrace(workspace.root, workspace.trace).coverage(base, tip, workspace.gate.rules().intents)
    uncovered = [one.as_dict() for one in found if not one.is_covered]
    covered = [one.as_dict() for one in found if one.is_covered]
    return RangeCoverage(
        ok=not uncovered,
        commits=len({one.commit for one in found}),
        files=len(found),
        uncovered=uncovered[:_SHOWN_FILES],
        covered=covered[:_SHOWN_FILES],
        omitted=max(0, len(uncovered) - _SHOWN_FILES) + max(0, len(covered) - _SHOWN_FILES),
    )


def _range_table(result: RangeCoverage) -> Shown:
    rows = tuple(
        (one["commit"][:12], one["path"], one["change"], ", ".join(map(str, one["untraced_lines"][:10])) or "all")
        for one in result.uncovered
    )
    count = f"{counted(result.files, 'changed file')} in {counted(result.commits, 'commit')}"
    words = (
        f"Intents or plans cover all of {count}."
        if result.ok
        else f"{len(rows)} of {count} are not covered by an intent or a plan."
    )
    return (Table(("commit", "file", "change", "lines"), rows, words),)


def _plan_export(context: CallContext, request: ExportTraceRequest) -> Plan[ExportedTrace]:
    workspace = context.workspace
    if request.format == "agent-trace":
        return Plan(lambda: ExportedTrace(records=_bodies(workspace, request.intent)))
    base, tip = _ends(workspace, request.range or "HEAD")

    def work() -> ExportedTrace:
        written = write_notes(workspace.root, workspace.trace, base, tip)
        return ExportedTrace(notes=written, ref=NOTES_REF)

    return Plan(work, Effects(git_refs=(NOTES_REF,)))


def _bodies(workspace: Workspace, intent: str | None) -> list[dict[str, Any]]:
    index = workspace.trace.index()
    entries: Iterable[Entry] = index.of_intent(intent) if intent is not None else index.every()
    bodies = [one.record.body for one in entries]
    if len(bodies) > _MAX_RECORDS:
        raise CodePlaneError("PAYLOAD_TOO_LARGE", f"{len(bodies)} records are too many; export one intent at a time.")
    broken = [(body.get("id"), problem) for body in bodies if (problem := record_problem(body)) is not None]
    if broken:
        raise CodePlaneError("VALIDATION_ERROR", f"Record {broken[0][0]} is not an Agent Trace record: {broken[0][1]}.")
    return bodies


def _exported_text(result: ExportedTrace) -> Shown:
    if result.ref is not None:
        return (f"{counted(result.notes, 'note')} in {result.ref}; push them with `git push <remote> {result.ref}`.",)
    return ("\n".join(json.dumps(one, sort_keys=True, ensure_ascii=False) for one in result.records),)


def _plan_import(context: CallContext, request: ImportTraceRequest) -> Plan[Document]:
    workspace = context.workspace
    found = _from_file(workspace, request.path) if request.path is not None else _from_notes(workspace)
    new = [one for one in found.bodies if workspace.trace.index().by_id(one["id"]) is None]

    def work() -> Document:
        if not request.dry_run:
            workspace.trace.add(new, context.session.label)
        return Document(
            imported=len(new), known=len(found.bodies) - len(new), refused=found.refused[:50],
            n_refused=len(found.refused), dry_run=request.dry_run,
        )  # fmt: skip

    return Plan(work, Effects(reads=(RepoPath.parse(request.path),) if request.path is not None else ()))


def _from_file(workspace: Workspace, text: str) -> Imported:
    path = RepoPath.parse(text)
    check_readable(workspace.ignore_rules(), path)
    found = workspace.editor.look(path)
    if found is None:
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no file {path}.", details={"path": path.text})
    if len(found.image.data) > _MAX_IMPORT:
        raise CodePlaneError("FILE_TOO_LARGE", f"{path} has {len(found.image.data)} bytes.")
    imported = Imported()
    for number, line in enumerate(found.image.data.split(b"\n"), 1):
        if line.strip():
            import_record(workspace.root, line, f"line {number}", imported)
    return imported


def _from_notes(workspace: Workspace) -> Imported:
    imported = Imported()
    for commit, text in read_ai_notes(workspace.root, _MAX_NOTES):
        try:
            note = parse_note(text)
        except ValueError as error:
            imported.refused.append(f"the note on {commit[:12]}: {str(error)[:120]}")
            continue
        import_note(workspace.root, commit, note, imported)
    return imported


def _import_text(result: Document) -> Shown:
    found = result.model_dump()
    verb = "Would import" if found["dry_run"] else "Imported"
    lines = [f"{verb} {counted(found['imported'], 'record')}; {found['known']} were known."]
    return ("\n".join([*lines, *(f"refused: {one}" for one in found["refused"])]),)


def _stats(context: CallContext, _request: NoArguments) -> Document:
    index = context.workspace.trace.index()
    by_intent: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    by_type: Counter[str] = Counter()
    by_path: Counter[str] = Counter()
    n_ungated = n_outside = 0
    for entry in index.every():
        record = entry.record
        name = entry.intent or "none"
        by_intent[name] += 1
        lines[name] += sum(hunk.n_new for hunk in record.hunks())
        by_type[record.contributor] += 1
        by_path[record.path] += 1
        n_ungated += bool(record.ours.get("ungated"))
        n_outside += record.is_outside
    intents = [{"intent": name, "records": count, "lines": lines[name]} for name, count in by_intent.most_common()]
    files = [{"path": path, "records": count} for path, count in sorted(by_path.items())[:_SHOWN_FILES]]
    return Document(
        records=index.count(), intents=intents, contributors=dict(by_type), ungated=n_ungated, outside=n_outside,
        files=files,
    )  # fmt: skip


def _stats_table(result: Document) -> Shown:
    found = result.model_dump()
    rows = tuple((one["intent"], str(one["records"]), str(one["lines"])) for one in found["intents"])
    who = ", ".join(f"{name} {count}" for name, count in sorted(found["contributors"].items()))
    note = f"{counted(found['records'], 'record')} ({printable_name(who)}); {found['ungated']} ungated"
    return (Table(("intent", "records", "lines brought"), rows, note),)


EXPORT_TRACE = Operation(
    name="export_trace",
    family=_FAMILY,
    summary="Export the trace as Agent Trace records or as git-ai notes.",
    request_type=ExportTraceRequest,
    result_type=ExportedTrace,
    effect=EffectClass.WRITE,
    plan=_plan_export,
    examples=(Example("All records", {}), Example("Notes for the last commit", {"format": "git-ai"})),
    audience=Audience.SHELL,
    is_dry_run=lambda request: request.format != "git-ai",
    command=Command(
        path=("trace", "export"),
        help=f"""Print the trace as Agent Trace 0.1.0 JSON lines, or write git-ai 3.0.0 notes ({NOTES_REF}).

        Notes carry the intent in `custom_attributes`; `notes.rewriteRef` is set, so rebase and amend keep them.""",
        shows=_exported_text,
    ),
)

IMPORT_TRACE = Operation(
    name="import_trace",
    family=_FAMILY,
    summary="Import Agent Trace records or git-ai notes.",
    request_type=ImportTraceRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=_plan_import,
    examples=(Example("Look first", {"path": "trace.jsonl", "dry_run": True}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "import records into the trace",
    command=Command(
        path=("trace", "import"),
        help="Import Agent Trace JSON lines from PATH, or without it the git-ai notes of this repository.",
        shows=_import_text,
        arguments=("path",),
        flags={"dry_run": "--dry-run"},
    ),
)

TRACE_STATS = Operation(
    name="trace_stats",
    family=_FAMILY,
    summary="Count records and lines by intent.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_stats),
    examples=(Example("Count", {}),),
    audience=Audience.SHELL,
    command=Command(path=("trace", "stats"), help="Count records and lines by intent.", shows=_stats_table),
    routes=(Route(method="GET", path="/trace/stats", summary="Records and lines by intent, and the traced files."),),
)

VERIFY_RANGE = Operation(
    name="verify_range",
    family=_FAMILY,
    summary="Name changed files of commits that no intent or plan covers.",
    request_type=VerifyRangeRequest,
    result_type=RangeCoverage,
    effect=EffectClass.READ,
    plan=planned(_verify_range),
    examples=(Example("A branch", {"range": "main..HEAD"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("verify",),
        help="""Name every changed file of a range of commits that no intent covers; exit code 1 when there is one.

        An intent covers a change when the trace says so line by line, or when the commit's `Intent:` trailer names an
        intent that owns the file. Files in .orchestration/ are people's own.""",
        shows=_range_table,
        is_finding=lambda result: not result.ok,
    ),
)

VERIFY_TRACE = Operation(
    name="verify_trace",
    family=_FAMILY,
    summary="Check every line of the trace file.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_verify),
    examples=(Example("Check it", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("trace", "verify"),
        help="""Check every line of .orchestration/agent_trace.jsonl; exit code 1 when one was changed or removed.

        The first bad line is named. Lines that another branch has are told apart from lines that were removed. Without
        the ledger, as in a clone, removed lines at the end cannot be proved; this is said.""",
        shows=_verify_text,
        is_finding=lambda result: result.model_dump()["verdict"] != "sound",
    ),
)
