"""`refactor_apply`: carry out a planned refactoring, all of it or nothing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.edit.images import FileImage
from codeplane.edit.planning import PlannedText, SpanEdit, plan_update, plan_whole
from codeplane.edit.records import Change
from codeplane.git.state import GitSpan
from codeplane.index.ignore_rules import matcher_for
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.checked_change import checked_after
from codeplane.operations.command import Route
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.file_changes import (
    SHOWN_TESTS,
    FilePlan,
    affected_tests,
    listed,
    note_changes,
    touched_definitions,
    write_result,
)
from codeplane.operations.git_paths import parsed_names
from codeplane.operations.models import RARELY, Lenient, ListOfOne, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.refactor_models import MovedFile, moved_files, numbered
from codeplane.operations.refactor_plans import find_plan, planned_again, plans_of
from codeplane.operations.write_access import check_not_ignored, writable, write_refused
from codeplane.operations.write_models import Delta
from codeplane.refactor.plan import CODE, DOCS, QUESTION, READY, Draft, Edit
from codeplane.refactor.plan_store import StoredPlan
from codeplane.workspace.index_moves import apply_with_index, index_span

_GROUPS = {"code": CODE, "questions": QUESTION, "question": QUESTION, "docs": DOCS, "documentation": DOCS}
_SHOWN_FILES = 8
_SHOWN_QUESTIONS = 10
_MIN_HASH = 8


class Anchor(Lenient):
    """A place that the caller has read: the text before and after the name."""

    file: str
    line: int
    anchor_before: str = ""
    anchor_after: str = ""


class LineEvidence(Lenient):
    """A line that the caller has read, by the SHA-256 of its text; a beginning of it is enough."""

    file: str
    line: int
    content_hash: str


class Proof(Lenient):
    """Why the caller is sure (§8.5a)."""

    symbol_identity: str = Field(max_length=1000)
    anchors: list[Anchor] = Field(default_factory=list, max_length=100)
    file_line_evidence: list[LineEvidence] = Field(default_factory=list, max_length=100)


class RefactorApplyRequest(Request):
    """Which plan, and which of its edits."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "refactor_id": ("plan_id", "id"),
        "candidate": ("selected_candidate_id", "candidate_id"),
        "include": ("only",),
        "exclude": ("except", "leave_out"),
    }
    refactor_id: str = Field(max_length=100)
    include: Annotated[list[str], ListOfOne] = Field(
        default_factory=list,
        max_length=1000,
        description="Also these: questions, docs, docs:high, a site id (e12). A path or glob: only these files.",
    )
    exclude: Annotated[list[str], ListOfOne] = Field(
        default_factory=list, max_length=1000, description="Not these: a site id, a path or glob, a group."
    )
    candidate: str = Field("", max_length=200, description="For needs_decision and blocked.", json_schema_extra=RARELY)
    proof: Proof | None = Field(None, description="For needs_decision and blocked.", json_schema_extra=RARELY)
    check: bool = Field(False, description="Then lint and test.")
    dry_run: bool = Field(False, description="Change nothing.", json_schema_extra=RARELY)


class RefactorApplyResult(Result):
    """What was changed."""

    applied: bool
    dry_run: bool
    refactor_id: str
    edits: int
    questions_left: int
    open_questions: list[str] = Field(default_factory=list, description="The first places that were not applied.")
    moves: list[MovedFile] = Field(default_factory=list)
    replanned: list[str] = Field(default_factory=list, description="What differs from the plan that was shown.")
    doc_updates_applied: list[str] = Field(default_factory=list)
    delta: Delta
    check: str | None = Field(None, description="The verdict of `check`, if it was asked for.")
    summary: str
    display_to_user: str | None = None


def _plan(context: CallContext, request: RefactorApplyRequest) -> Plan[RefactorApplyResult]:
    plan = find_plan(context, request.refactor_id)
    if plan.applied_by:
        message = f"{plan.refactor_id} was applied already, by {plan.applied_by}."
        raise CodePlaneError("REFACTOR_CONFLICT", message, hint="undo takes it back; plan again to apply it again.")
    draft, replanned = _current(context, plan, request)
    chosen = _chosen(draft, request)
    applying = _Applying(context, request, plan, draft, chosen, replanned)
    return Plan(applying.work, applying.effects(), applying.complete)


def _current(context: CallContext, plan: StoredPlan, request: RefactorApplyRequest) -> tuple[Draft, list[str]]:
    """Return the plan as the files are now, and how it differs from the one that was shown.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT when it needs a decision that was not made, or no longer fits.
    """
    draft = plan.draft
    other: dict[str, Any] = {}
    if len(draft.candidates) > 1:
        other["symbol" if "symbol" in plan.arguments else "target"] = _candidate(draft, request)
    stale = _stale_files(context, draft)
    differences: list[str] = []
    if stale or other:
        fresh = planned_again(context, plan, **other)
        differences = [] if other else _differences(draft, fresh, stale)
        if len(fresh.candidates) > 1 or (draft.status == READY and fresh.status != READY):
            reasons = "; ".join(fresh.reasons)
            raise CodePlaneError("REFACTOR_CONFLICT", f"The files have changed; the plan is {fresh.status}: {reasons}.")
        draft = fresh
    if draft.status != READY:
        _check_decision(context, draft, request)
    return draft, differences


def _candidate(draft: Draft, request: RefactorApplyRequest) -> str:
    for number, one in enumerate(draft.candidates):
        if request.candidate in {f"group_{number}", one.uid}:
            return one.uid
    known = ", ".join(f"group_{number} ({one.path}:{one.line})" for number, one in enumerate(draft.candidates[:5]))
    raise CodePlaneError("REFACTOR_CONFLICT", f"The plan needs a decision. Send `candidate`: {known}.")


def _stale_files(context: CallContext, draft: Draft) -> list[str]:
    """Return the files whose content differs from what was planned on."""
    found = []
    for path, sha256 in (draft.hashes or {}).items():
        image = context.workspace.editor.look(RepoPath.known(path))
        now = image.image.sha256 if image is not None and not image.image.is_link else ""
        if now != sha256:
            found.append(path)
    return found


def _differences(before: Draft, after: Draft, stale: Sequence[str]) -> list[str]:
    old = {(one.path, one.line, one.old, one.group) for one in before.edits}
    new = {(one.path, one.line, one.old, one.group) for one in after.edits}
    lines = [f"{path} has changed since it was planned" for path in stale]
    lines += [f"no longer: {path}:{line}" for path, line, _, group in sorted(old - new) if group == CODE]
    lines += [f"added: {path}:{line}" for path, line, _, group in sorted(new - old) if group == CODE]
    return lines[:20]


def _check_decision(context: CallContext, draft: Draft, request: RefactorApplyRequest) -> None:
    """Check the proof for a plan that is not ready by itself.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT.
    """
    proof = request.proof
    reasons = "; ".join(draft.reasons)
    if proof is None or not request.candidate:
        raise CodePlaneError(
            "REFACTOR_CONFLICT",
            f"The plan is {draft.status}: {reasons}.",
            hint='Read the places, then send candidate="group_0" and proof={"symbol_identity": …, "anchors": […]}.',
        )
    name = draft.subject.rpartition("::")[2]
    if proof.symbol_identity not in {draft.subject, name, name.rpartition(".")[2]}:
        message = f"The proof is about `{proof.symbol_identity[:80]}`, the plan about `{draft.subject}`."
        raise CodePlaneError("REFACTOR_CONFLICT", message)
    if not proof.anchors and not proof.file_line_evidence:
        raise CodePlaneError("REFACTOR_CONFLICT", "The proof names no place. Send anchors or file_line_evidence.")
    wrong = [f"{one.file}:{one.line}" for one in proof.anchors if not _is_anchored(context, draft, one)]
    wrong += [f"{one.file}:{one.line}" for one in proof.file_line_evidence if not _is_line(context, one)]
    if wrong:
        places = ", ".join(wrong)
        raise CodePlaneError("REFACTOR_CONFLICT", f"The proof does not fit the files: {places}.")


def _line(context: CallContext, path: str, number: int) -> str | None:
    with context.workspace.index.facts() as reader:
        file = reader.file_at(path)
        if file is None or file.text_id is None:
            return None
        lines = reader.text(file).decode("utf-8", "replace").split("\n")
    return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else None


def _is_anchored(context: CallContext, draft: Draft, anchor: Anchor) -> bool:
    """Tell whether an anchor is at one of the plan's places, with the text it says."""
    line = _line(context, anchor.file, anchor.line)
    for one in draft.edits:
        if line is not None and (one.path, one.line) == (anchor.file, anchor.line):
            before, after = line[: one.column], line[one.column + len(one.old) :]
            if before.endswith(anchor.anchor_before) and after.startswith(anchor.anchor_after):
                return True
    return False


def _is_line(context: CallContext, evidence: LineEvidence) -> bool:
    line = _line(context, evidence.file, evidence.line)
    given = evidence.content_hash.lower().removeprefix("sha256:")
    return line is not None and len(given) >= _MIN_HASH and sha256_text(line).startswith(given)


def _chosen(draft: Draft, request: RefactorApplyRequest) -> list[Edit]:
    """Return the edits that a request selects."""
    sites = numbered(draft)
    known = {f"e{number}" for number, _ in sites}
    ids = {one for one in (*request.include, *request.exclude) if one in known}
    words = {one for one in (*request.include, *request.exclude) if one not in ids}
    globs = [one for one in request.include if one in words and _group(one) is None]
    for one in words:
        is_known = _group(one) is not None or any(matcher_for(one)(edit.path) for edit in draft.edits)
        if not is_known:
            message = f"`{one[:120]}` is neither a group, nor a site of the plan, nor one of its files."
            raise CodePlaneError("INVALID_ARGUMENTS", message)

    def is_chosen(number: int, edit: Edit) -> bool:
        if f"e{number}" in request.exclude or any(_fits(one, edit) for one in request.exclude if one in words):
            return False
        if f"e{number}" in request.include:
            return True
        in_groups = edit.group == CODE or any(_is_in_group(one, edit) for one in request.include)
        return in_groups and (not globs or any(matcher_for(one)(edit.path) for one in globs))

    found = [edit for number, edit in sites if is_chosen(number, edit)]
    if not found and not draft.moves and not draft.deletes:
        raise CodePlaneError("INVALID_ARGUMENTS", "Nothing of the plan is selected.")
    return found


def _group(word: str) -> str | None:
    return _GROUPS.get(word.partition(":")[0].lower())


def _is_in_group(word: str, edit: Edit) -> bool:
    name, _, level = word.partition(":")
    is_level = not level or (edit.confidence, level) in {
        ("high", "high"), ("high", "medium"), ("medium", "medium"), ("high", "low"), ("medium", "low"), ("low", "low"),
    }  # fmt: skip
    return _GROUPS.get(name.lower()) == edit.group and is_level


def _fits(word: str, edit: Edit) -> bool:
    return _is_in_group(word, edit) if _group(word) is not None else matcher_for(word)(edit.path)


@dataclass(slots=True)
class _Applying:
    """One plan on its way into the files."""

    context: CallContext
    request: RefactorApplyRequest
    plan: StoredPlan
    draft: Draft
    chosen: list[Edit]
    replanned: list[str]
    files: list[FilePlan] = field(default_factory=list)
    span: GitSpan | None = None

    def _by_path(self) -> dict[str, list[Edit]]:
        found: dict[str, list[Edit]] = defaultdict(list)
        for one in self.chosen:
            found[one.path].append(one)
        return found

    @property
    def _moves(self) -> dict[str, str]:
        return {one.source: one.target for one in self.draft.moves}

    def effects(self) -> Effects:
        """Return the files that are written and deleted."""
        moves = self._moves
        writes = [moves.get(path, path) for path in {**self._by_path(), **moves}]
        gone = [*moves, *self.draft.deletes]
        written = tuple(RepoPath.parse(path) for path in sorted(writes))
        deleted = tuple(RepoPath.parse(path) for path in sorted(gone))
        self.span = index_span(self.context.workspace.repository, moves) if moves else None
        if self.request.dry_run:
            return Effects(reads=(*written, *deleted))
        staged = parsed_names(self.span.before.entries) if self.span is not None else ()
        return Effects(
            writes=written, deletes=deleted, destructive=bool(self.draft.deletes), staged=staged, anchored=written
        )

    def work(self) -> RefactorApplyResult:
        """Write all files in one batch."""
        self.context.check_cancelled()
        self._plan_files()
        if not self.request.dry_run:
            self._write()
            plans_of(self.context).mark_applied(self.plan, self.context.call_id)
            note_changes(self.context, self.files)
        return self._result(None)

    def _write(self) -> None:
        """Write the files and, for files that git tracks unchanged, its index."""
        workspace = self.context.workspace
        changes = [one.change for one in self.files]
        lease = workspace.git_lease()
        if self.draft.moves:
            lease.take()
        try:
            self.span = index_span(workspace.repository, self._moves) if self.draft.moves else None
            apply_with_index(workspace.repository, workspace.editor, self.context.call_id, changes, self.span)
        except OSError as error:
            raise write_refused(error) from error
        finally:
            lease.release()

    def _plan_files(self) -> None:
        workspace, moves = self.context.workspace, self._moves
        edits = self._by_path()
        found: list[FilePlan] = []
        for path in {**edits, **moves}:
            found += self._file(path, moves.get(path), edits.get(path, []))
        for path in self.draft.deletes:
            found.append(self._deleted(path))
        check_not_ignored(workspace, [one.where.real for one in found], allow_ignored=False)
        self.files = [replace(one, touched=touched_definitions(workspace, one)) for one in found]
        broken = [f"{one.where.real}:{one.touched.error_lines[0]}" for one in self.files if one.touched.error_lines]
        if broken:
            message = f"The files would no longer parse: {listed(broken, 5)}."
            raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": broken})

    def _look(self, path: str) -> tuple[Any, FileImage | None]:
        where = writable(self.context.workspace, path, follow=False)
        found = self.context.workspace.editor.look(where.real)
        if found is not None and found.n_links > 1:
            message = f"{path} has {found.n_links} names; the others would keep the old content."
            raise CodePlaneError("HARD_LINKED", message, details={"path": path})
        planned = (self.draft.hashes or {}).get(path, "")
        now = found.image.sha256 if found is not None and not found.image.is_link else ""
        if now != planned and not (found is not None and found.image.is_link):
            raise CodePlaneError("REFACTOR_CONFLICT", f"{path} changed while it was applied.", hint="Apply it again.")
        return where, found.image if found is not None else None

    def _file(self, path: str, target: str | None, edits: Sequence[Edit]) -> list[FilePlan]:
        """Return the plans for one file: changed in place, created, or moved."""
        where, before = self._look(path)
        if before is None:
            text = plan_whole(None, "".join(one.new for one in edits))
            return [FilePlan(where, "create", Change(where.real, None, FileImage(text.data)), text)]
        text = plan_update(where.real, before.data, _spans(before.data, edits)) if edits else _unchanged(before.data)
        after = replace(before, data=text.data)
        if target is None:
            return [FilePlan(where, "update", Change(where.real, before, after), text)]
        to = writable(self.context.workspace, target, follow=False)
        if self.context.workspace.editor.look(to.real) is not None:
            raise CodePlaneError("FILE_EXISTS", f"{target} exists already.", details={"path": target})
        return [
            FilePlan(where, "delete", Change(where.real, before, None), _deletion(before.data)),
            FilePlan(to, "create", Change(to.real, None, after), replace(text, insertions=_n_lines(text.data))),
        ]

    def _deleted(self, path: str) -> FilePlan:
        where, before = self._look(path)
        if before is None:
            raise CodePlaneError("FILE_NOT_FOUND", f"There is no file {path}.", details={"path": path})
        return FilePlan(where, "delete", Change(where.real, before, None), _deletion(before.data))

    def complete(self, result: RefactorApplyResult) -> RefactorApplyResult:
        """Return the result with the tests that the change affects."""
        if result.dry_run or not self.context.is_index_fresh:
            return result
        kept = [one for one in self.files if one.action != "delete"]
        told = self._result(affected_tests(self.context, kept))
        is_checked = self.request.check and told.applied
        return told.model_copy(update={"check": checked_after(self.context)}) if is_checked else told

    def _result(self, tests: Any) -> RefactorApplyResult:
        written = write_result(self.context, self.files, tests, is_applied=not self.request.dry_run)
        chosen = {(one.path, one.start) for one in self.chosen}
        left = [one for one in self.draft.edits if one.group == QUESTION and (one.path, one.start) not in chosen]
        verb = "would change" if self.request.dry_run else "changed"
        docs = sorted({f"{one.path}:{one.line}" for one in self.chosen if one.confidence})
        summary = (
            f"{self.draft.kind} of {self.draft.subject}: {counted(len(self.chosen), 'edit')},"
            f" {counted(len(written.delta.files), 'file')} {verb}"
        )
        return RefactorApplyResult(
            applied=not self.request.dry_run,
            dry_run=self.request.dry_run,
            refactor_id=self.plan.refactor_id,
            edits=len(self.chosen),
            questions_left=len(left),
            open_questions=[f"{one.path}:{one.line}: {one.text[:100]}" for one in left[:_SHOWN_QUESTIONS]],
            moves=moved_files(self.draft, self.span.before.entries if self.span is not None else ()),
            replanned=self.replanned,
            doc_updates_applied=docs[:100],
            delta=written.delta,
            summary=summary,
            display_to_user=summary,
        )


def _spans(data: bytes, edits: Sequence[Edit]) -> list[SpanEdit]:
    """Return edits by byte offsets as edits by characters of the text with line feeds."""
    mark = len(b"\xef\xbb\xbf") if data.startswith(b"\xef\xbb\xbf") else 0
    found = []
    at, characters = mark, 0
    for one in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        characters += _n_characters(data[at : one.start])
        length = _n_characters(data[one.start : one.end])
        found.append(SpanEdit(one.new, span=(characters, characters + length)))
        characters += length
        at = one.end
    return found


def _n_characters(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))


def _n_lines(data: bytes) -> int:
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _unchanged(data: bytes) -> PlannedText:
    return PlannedText(data, (), 0, 0, "none")


def _deletion(data: bytes) -> PlannedText:
    return PlannedText(b"", (), 0, _n_lines(data), "none")


def _render(result: RefactorApplyResult) -> str:
    files = [f"{one.path} +{one.insertions} -{one.deletions}" for one in result.delta.files]
    lines = [result.summary, f" {listed(files, _SHOWN_FILES)}"] if files else [result.summary]
    lines += [f" replanned: {one}" for one in result.replanned]
    if result.questions_left:
        lines.append(f" {counted(result.questions_left, 'question')} not applied:")
        lines += [f"  ? {one}" for one in result.open_questions]
    tests = [one.path for one in result.delta.tests_affected if one.confidence == "high"]
    if result.check:
        lines.append(result.check)
    elif tests:
        lines.append(f" tests: {listed(tests, SHOWN_TESTS)}")
    if result.applied:
        lines.append(f" undo: {result.delta.mutation_id}")
    return "\n".join(lines)


REFACTOR_APPLY = Operation(
    name="refactor_apply",
    family="refactor",
    summary="Carry out a planned refactoring in one batch with one undo.",
    request_type=RefactorApplyRequest,
    result_type=RefactorApplyResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    reads_index=True,
    recover=recover_edit,
    is_dry_run=lambda request: request.dry_run,
    routes=(Route(method="POST", path="/decisions/commit", summary="Apply a planned refactoring."),),
    when_to_use=("A plan of refactor_rename, refactor_move or refactor_impact is what is wanted.",),
    when_not_to_use=("To see it first: refactor_inspect.",),
    examples=(
        Example("Everything that is sure", {"refactor_id": "rf_4k2m9x7q"}),
        Example(
            "Documentation too, but not one file",
            {"refactor_id": "rf_4k2m9x7q", "include": ["docs"], "exclude": ["CHANGES.md"]},
        ),
    ),
)
