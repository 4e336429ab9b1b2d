"""`write_source`: create, change and delete files, all edits of a call or none, and report the whole delta."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from codeplane.core.callers import CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.edit.managed_block import changes_block
from codeplane.edit.texts import read_text
from codeplane.index.ignore_rules import matcher_for
from codeplane.index.impact import AffectedTests
from codeplane.index.reference_search import ReferenceHit
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.checked_change import checked_after
from codeplane.operations.edit_patches import parse_patch
from codeplane.operations.edit_planning import EditedFile, edit_occurrences, edits_by_file, planned_file
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.file_changes import (
    MAX_PLACES,
    SHOWN_TESTS,
    FilePlan,
    affected_tests,
    broken_references,
    diff_of,
    is_nothing,
    joined_tests,
    listed,
    lost_references,
    note_changes,
    render_write,
    short_diff,
    touched_definitions,
    write_result,
)
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.write_access import (
    check_not_ignored,
    write_refused,
)
from codeplane.operations.write_models import (
    NAME,
    Remaining,
    SourceEdit,
    WriteSourceRequest,
    WriteSourceResult,
    is_by_rule,
    new_text,
)
from codeplane.workspace.workspace import Workspace

_RETRIES = 5
_MIN_SEARCHED = 3
_MAX_DIFF_LINES = 24


def _expanded(context: CallContext, request: WriteSourceRequest) -> WriteSourceRequest:
    """Return the request with one edit per file: patches are split, globs become the files with the text."""
    edits = _edits_of_patch(request.patch) if request.patch is not None else request.edits
    found = [one for edit in edits for one in _per_file(context, edit, with_ignored=request.allow_ignored)]
    return request.model_copy(update={"edits": found, "patch": None})


def _edits_of_patch(patch: str) -> list[SourceEdit]:
    edits = []
    for file in parse_patch(patch):
        if file.action != "update":
            content = file.content if file.action == "create" else None
            edits.append(SourceEdit.model_validate({"path": file.path, "action": file.action, "content": content}))
        for line, old, new in file.hunks:
            place = {"start_line": line, "end_line": line + old.count("\n") - 1} if line and old else {}
            edits.append(
                SourceEdit.model_validate({"path": file.path, "expected_content": old, "new_content": new, **place})
            )
    return edits


def _per_file(context: CallContext, edit: SourceEdit, *, with_ignored: bool) -> list[SourceEdit]:
    """Return an edit for every file that matches a glob and contains the text; other edits unchanged."""
    workspace = context.workspace
    is_glob = any(mark in edit.path for mark in "*?[") and not (workspace.root / edit.path).exists()
    if not is_glob or edit.action != "update" or not edit.expected_content:
        return [edit]
    fits = matcher_for(edit.path)
    context.fresh_index()
    state = workspace.index.state()
    ignored = frozenset[str]() if with_ignored else workspace.ignored_files(state)
    paths = sorted(path for path in state.files if fits(path) and path not in ignored)
    found = {path: number for path in paths if (number := _n_occurrences(workspace, path, edit))}
    total = sum(found.values())
    if not found:
        message = f"None of {counted(len(paths), 'file')} that match `{edit.path[:80]}` contains the text."
        raise CodePlaneError("CONTENT_NOT_FOUND", message, details={"files": len(paths)})
    if edit.count is not None and edit.count != total:
        shown = listed([f"{path} {number}" for path, number in found.items()], SHOWN_TESTS)
        message = (
            f"The files that match `{edit.path[:80]}` have {counted(total, 'occurrence')}, not {edit.count}: {shown}."
        )
        hint = "Send the right count, or `all: true` without it."
        raise CodePlaneError("CONTENT_AMBIGUOUS", message, hint=hint, details={"files": found})
    return [edit.model_copy(update={"path": path, "all": True, "count": None}) for path in found]


def _n_occurrences(workspace: Workspace, path: str, edit: SourceEdit) -> int:
    """Return how often a file contains the text of an edit."""
    found = workspace.editor.look(RepoPath.known(path))
    if found is None or found.image.is_link:
        return 0
    try:
        file = read_text(found.image.data)
        return len(edit_occurrences(RepoPath.known(path), file, edit.model_copy(update={"count": None, "all": True})))
    except CodePlaneError as error:
        if error.code == "INVALID_ARGUMENTS":
            raise
        return 0


def _plan(context: CallContext, request: WriteSourceRequest) -> Plan[WriteSourceResult]:
    """Plan which files are touched; their new content is worked out after the gate allowed them."""
    expanded = _expanded(context, request)
    files = edits_by_file(context.workspace, expanded)
    writing = _Writing(context, expanded, files)
    return Plan(writing.work, _effects(expanded, files), writing.complete, writing.preview)


def _effects(request: WriteSourceRequest, files: Sequence[EditedFile]) -> Effects:
    deletes = tuple(where.real for where, edits in files if edits[0].action == "delete")
    writes = tuple(where.real for where, edits in files if edits[0].action != "delete")
    if request.dry_run:
        return Effects(reads=(*writes, *deletes))
    # An update's expectation is checked during planning; a deletion may give the file's hash.
    return Effects(writes=writes, deletes=deletes, destructive=bool(deletes), anchored=writes)


def _check_managed_blocks(context: CallContext, plans: Sequence[FilePlan]) -> None:
    """Refuse an agent's change inside a block that CodePlane writes for people."""
    if context.caller.kind is CallerKind.PERSON:
        return
    for one in plans:
        before, after = one.change.before, one.change.after
        path = one.where.real.text
        if changes_block(path, before.data if before else None, after.data if after else None):
            hint = "Change the rest of the file; a person changes the block with `cpl lessons` or `cpl init`."
            raise CodePlaneError("PROTECTED_PATH", f"{path} has a block that CodePlane manages.", hint=hint)


@dataclass(slots=True)
class _Writing:
    """One call on its way: which edits go into which file, and what was known only before they were made.

    `plans` are the files as they were written, `lost_tests` the tests of deleted files, `lost_references` those whose
    definition the call removes.
    """

    context: CallContext
    request: WriteSourceRequest
    files: Sequence[EditedFile]
    plans: list[FilePlan] = field(default_factory=list)
    lost_tests: AffectedTests | None = None
    lost_references: list[tuple[str, ReferenceHit]] = field(default_factory=list)

    def preview(self) -> str:
        """Return the change as a diff."""
        return "".join(diff_of(planned_file(self.context, self.request, edits)) for edits in self.files)

    def work(self) -> WriteSourceResult:
        """Write the files; when one changes between reading and writing, its edits are planned once more."""
        for attempt in range(_RETRIES):
            self._plan_contents()
            if self.request.dry_run:
                tests = affected_tests(self.context, self.plans) if self.context.fresh_index() else None
                return write_result(self.context, self.plans, tests, is_applied=False)
            self.context.check_cancelled()
            if self._is_written(is_last=attempt == _RETRIES - 1):
                break
        note_changes(self.context, self.plans)
        return write_result(self.context, self.plans, None, is_applied=True)

    def _plan_contents(self) -> None:
        context, workspace = self.context, self.context.workspace
        plans = [planned_file(context, self.request, edits) for edits in self.files]
        check_not_ignored(workspace, [one.where.real for one in plans], allow_ignored=self.request.allow_ignored)
        _check_managed_blocks(context, plans)
        self.plans = [replace(one, touched=touched_definitions(workspace, one)) for one in plans]
        if self.request.dry_run:
            return
        # What depends on a deleted file must be looked up before it is deleted.
        gone = [one for one in self.plans if one.action == "delete"]
        self.lost_tests = affected_tests(context, gone) if gone and context.fresh_index() else None
        self.lost_references = lost_references(context, self.plans)

    def _is_written(self, *, is_last: bool) -> bool:
        changes = [one.change for one in self.plans if not is_nothing(one.change)]
        try:
            self.context.workspace.editor.apply(self.context.call_id, changes)
        except CodePlaneError as error:
            # Replanned, an edit finds its text or is refused with the current one. A file to be deleted
            # is no longer the one that the caller knew.
            is_deletion = any(one.action == "delete" for one in self.plans)
            if error.code != "STALE_FILE" or is_last or is_deletion:
                raise
            return False
        except OSError as error:
            raise write_refused(error) from error
        return True

    def complete(self, result: WriteSourceResult) -> WriteSourceResult:
        """Return the result with affected tests, broken references and leftovers, as the refreshed index has them."""
        context = self.context
        if result.dry_run or not context.is_index_fresh:
            return _with_diffs(self.request, self.plans, result)
        tests = affected_tests(context, [one for one in self.plans if one.action != "delete"])
        result = write_result(context, self.plans, joined_tests(self.lost_tests, tests), is_applied=True)
        found: dict[str, Any] = {
            "broken": broken_references(context, self.lost_references),
            "remaining": _remaining(context, self.request.edits),
        }
        if self.request.check and result.applied:
            found["check"] = checked_after(context)
        return _with_diffs(self.request, self.plans, result.model_copy(update=found))


def _with_diffs(request: WriteSourceRequest, plans: Sequence[FilePlan], result: WriteSourceResult) -> WriteSourceResult:
    """Return the result with the diff of each edit that does not itself show what it changes."""
    shown = {one.path for one in request.edits if is_by_rule(one)}
    if result.dry_run or not shown:
        return result
    most = max(2, _MAX_DIFF_LINES // len(shown))
    files = [
        file.model_copy(update={"diff": short_diff(plan, most)}) if plan.where.asked.text in shown else file
        for file, plan in zip(result.delta.files, plans, strict=True)
    ]
    return result.model_copy(update={"delta": result.delta.model_copy(update={"files": files})})


def _remaining(context: CallContext, edits: Sequence[SourceEdit]) -> list[Remaining]:
    """Return where texts that were replaced by rule remain; a word counts as a whole word only."""
    state = context.workspace.index.state()
    found = []
    for old in dict.fromkeys(one.expected_content for one in edits if is_by_rule(one) and not one.regex):
        if old is None or "\n" in old or len(old.strip()) < _MIN_SEARCHED:
            continue
        if any(old in new_text(one) for one in edits if one.expected_content == old):
            # The text was only extended; other occurrences mean nothing.
            continue
        query = TextQuery(old, whole_word=old.isidentifier())
        places = [f"{hit.path}:{hit.line}" for hit in islice(find_lines(state, query, None), MAX_PLACES + 1)]
        if places:
            found.append(Remaining(text=old, places=places[:MAX_PLACES]))
    return found


WRITE_SOURCE = Operation(
    name=NAME,
    family="edits",
    summary="Create, change or delete files: all edits of a call or none. path may be a glob when old text is given.",
    request_type=WriteSourceRequest,
    result_type=WriteSourceResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=render_write,
    when_to_use=("You want to change files.", "Several files belong together: send all edits in one call."),
    when_not_to_use=("You want to revert a change: undo.",),
    examples=(
        Example(
            "Replace a text that occurs once in its file",
            {"edits": [{"path": "src/app.py", "expected_content": "port = 80", "new_content": "port = 8080"}]},
        ),
        Example(
            "Replace lines of a file that was read",
            {
                "edits": [
                    {
                        "path": "src/app.py",
                        "start_line": 10,
                        "end_line": 12,
                        "expected_file_sha256": "<file_sha256 of read_source>",
                        "new_content": "def main():\n    run()\n",
                    }
                ]
            },
        ),
        Example("Make a file", {"edits": [{"path": "src/new.py", "action": "create", "content": "X = 1\n"}]}),
    ),
    profiles=frozenset({"classic", "core"}),
    recover=recover_edit,
    is_dry_run=lambda request: request.dry_run,
)
