"""From the edits of one file to its new content, or to an error that shows the current one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.images import FileImage, FoundFile
from codeplane.edit.planning import PlannedText, SpanEdit, plan_update, plan_whole
from codeplane.edit.records import Change
from codeplane.edit.texts import SourceFile, read_text
from codeplane.govern.stale_edits import LineEdit, merge_suggestion
from codeplane.operations.edit_forms import at_definition, definitions_in, matches, occurrences
from codeplane.operations.file_access import with_near_paths
from codeplane.operations.file_changes import DONE, FilePlan, writer_of
from codeplane.operations.operation import CallContext
from codeplane.operations.write_access import (
    WritablePath,
    has_name_of_other_case,
    writable,
)
from codeplane.operations.write_models import SourceEdit, WriteSourceRequest, names_definition, new_text
from codeplane.workspace.workspace import Workspace

_CONTEXT_LINES = 3
_SHORT_HASH = 12
_MIN_HASH = 8


EditedFile = tuple[WritablePath, list[SourceEdit]]


def edits_by_file(workspace: Workspace, request: WriteSourceRequest) -> list[EditedFile]:
    """Return the edits of each file together.

    Raises:
        CodePlaneError: EDITS_OVERLAP when a file is created or deleted and also edited.
    """
    found: dict[RepoPath, tuple[WritablePath, list[SourceEdit]]] = {}
    for edit in request.edits:
        where = writable(workspace, edit.path, follow=edit.action != "delete")
        known = found.setdefault(where.real, (where, []))
        known[1].append(edit)
        if len({one.action for one in known[1]}) > 1 or (edit.action != "update" and len(known[1]) > 1):
            message = f"{edit.path} is to be {' and '.join(DONE[one.action] for one in known[1])} in one call."
            raise CodePlaneError("EDITS_OVERLAP", message, details={"path": edit.path})
    return list(found.values())


def planned_file(context: CallContext, request: WriteSourceRequest, item: EditedFile) -> FilePlan:
    """Return the file as its edits leave it."""
    where, edits = item
    workspace, action = context.workspace, edits[0].action
    found = _look(workspace, request, where)
    before = found.image if found is not None else None
    if found is not None and found.n_links > 1 and not request.break_hardlink:
        message = f"{where.asked} has {found.n_links} names; the others would keep the old content."
        raise CodePlaneError("HARD_LINKED", message, details={"path": where.asked.text, "links": found.n_links})
    if action == "create":
        return _created(context, where, edits[0], before)
    if before is None:
        missing = CodePlaneError(
            "FILE_NOT_FOUND", f"There is no file {where.asked}.", details={"path": where.asked.text}
        )
        raise with_near_paths(workspace, where.asked.text, missing)
    hashes = {edit.expected_file_sha256.lower() for edit in edits if edit.expected_file_sha256}
    if any(not _is_hash_of(one, before.sha256) for one in hashes):
        raise _stale(context, where, before, edits)
    if action == "delete":
        n_lines = before.data.count(b"\n") + (bool(before.data) and not before.data.endswith(b"\n"))
        text = PlannedText(b"", (), 0, n_lines, "none")
        return FilePlan(where, action, Change(where.real, before, None), text)
    # A file that this session has seen in its current state needs no proof.
    is_known = bool(hashes) or _has_seen(context, where, before)
    try:
        text = _updated(workspace, where, edits, before, is_known=is_known)
    except CodePlaneError as error:
        raise _with_writer(context, where, before, error) from error
    after = replace(before, data=text.data)
    return FilePlan(where, action, Change(where.real, before, after), text)


def _look(workspace: Workspace, request: WriteSourceRequest, where: WritablePath) -> FoundFile | None:
    """Return the existing file; a directory whose files the same call deletes counts as nothing."""
    try:
        return workspace.editor.look(where.real)
    except CodePlaneError as error:
        deleted = [RepoPath.parse(edit.path) for edit in request.edits if edit.action == "delete"]
        if error.code != "NOT_A_FILE" or not any(path.is_inside(where.real) and path != where.real for path in deleted):
            raise
        return None


def _created(context: CallContext, where: WritablePath, edit: SourceEdit, before: FileImage | None) -> FilePlan:
    if before is not None:
        raise CodePlaneError(
            "FILE_EXISTS",
            f"{where.asked} exists already.",
            hint="Use action update with expected_content or this expected_file_sha256.",
            details={"path": where.asked.text, "file_sha256": before.sha256},
        )
    other = has_name_of_other_case(context.workspace, where.real)
    if other is not None:
        context.warnings.append(f"beside {where.asked} there is `{other}`, which differs in case only")
    text = plan_whole(None, edit.content if edit.content is not None else edit.new_content or "")
    return FilePlan(where, "create", Change(where.real, None, FileImage(text.data)), text)


def _is_hash_of(given: str, sha256: str) -> bool:
    """Tell whether a hash, or enough of its beginning, is that of a file."""
    return sha256.startswith(given) and len(given) >= _MIN_HASH


def _has_seen(context: CallContext, where: WritablePath, before: FileImage) -> bool:
    return context.workspace.gate.memory.last_seen(context.session.label, where.real.text) == before.sha256


def _updated(
    workspace: Workspace, where: WritablePath, edits: Sequence[SourceEdit], before: FileImage, *, is_known: bool
) -> PlannedText:
    for edit in edits:
        # An empty text matches everywhere: expecting it proves nothing, except for an empty file.
        says_nothing = edit.expected_content is None or (edit.expected_content == "" and before.data != b"")
        if says_nothing and not is_known and not names_definition(edit):
            raise _unseen(where, before, edit)
    whole = [
        edit
        for edit in edits
        if edit.start_line is None and edit.expected_content is None and not names_definition(edit)
    ]
    if whole and len(edits) == 1:
        return plan_whole(before.data, new_text(whole[0]))
    spans = [span for edit in edits for span in _spans(workspace, where, before.data, edit)]
    return plan_update(where.asked, before.data, spans)


def _spans(workspace: Workspace, where: WritablePath, data: bytes, edit: SourceEdit) -> list[SpanEdit]:
    for place, name in (("replace", edit.definition), ("before", edit.before), ("after", edit.after)):
        if name is not None:
            definitions = definitions_in(workspace, where.real.text, data)
            return [at_definition(where.asked, data, definitions, name, place, new_text(edit))]
    if edit.all or edit.count is not None or edit.regex:
        return edit_occurrences(where.asked, read_text(data), edit)
    return [SpanEdit(new_text(edit), edit.expected_content, edit.start_line, edit.end_line)]


def edit_occurrences(path: RepoPath, file: SourceFile, edit: SourceEdit) -> list[SpanEdit]:
    """Return the places of an edit that replaces all, several or matching texts."""
    find = matches if edit.regex else occurrences
    count = edit.count if edit.count is not None else None if edit.all else 1
    return find(path, file, edit.expected_content or "", new_text(edit), count)


def _unseen(where: WritablePath, before: FileImage, edit: SourceEdit) -> CodePlaneError:
    """Return the error for an edit of a file that this session has not seen as it is, with the current text."""
    details: dict[str, Any] = {"path": where.asked.text, "file_sha256": before.sha256}
    shown = _shown_lines(before, edit)
    message = f"This session has not seen {where.asked} as it is now, and the edit does not say what it replaces."
    if shown is not None:
        details["current"] = [shown]
        numbered = enumerate(shown["text"].split("\n"), start=shown["start_line"])
        message += " It reads:\n" + "\n".join(f"{number}\t{line}" for number, line in numbered)
    hint = f"Send the text to replace as `old`, or expected_file_sha256: {before.sha256[:_SHORT_HASH]}."
    return CodePlaneError("EXPECTATION_MISSING", message, hint=hint, details=details)


def _shown_lines(now: FileImage, edit: SourceEdit) -> dict[str, Any] | None:
    """Return the lines that an edit targets, with a few around them; None for a file that is not text."""
    try:
        file = read_text(now.data)
    except CodePlaneError:
        return None
    first = max(1, (edit.start_line or 1) - _CONTEXT_LINES)
    last = min(len(file.lines), (edit.end_line or edit.start_line or 1) + _CONTEXT_LINES, first + 40)
    text = "\n".join(line[:200] for line in file.lines[first - 1 : last])
    return {"start_line": first, "end_line": last, "text": text}


def _stale(context: CallContext, where: WritablePath, now: FileImage, edits: Sequence[SourceEdit]) -> CodePlaneError:
    """Return the error for an edit of outdated content, with the current content and its author."""
    expected = next((edit.expected_file_sha256.lower() for edit in edits if edit.expected_file_sha256), None)
    details: dict[str, Any] = {
        "path": where.asked.text,
        "file_sha256": now.sha256,
        "expected_sha256": expected,
        "current_sha256": now.sha256,
    }
    who = writer_of(context, where.real, now.sha256)
    if who is not None:
        details["changed_by"] = who
    records, other = context.workspace.editor.records, str(who["call"]) if who is not None else ""
    suggestion = merge_suggestion(records, other, where.real, expected, now.data, _line_edits(edits))
    if suggestion is not None:
        details["merge"] = suggestion
    shown = [one for edit in edits[:3] if (one := _shown_lines(now, edit)) is not None]
    if shown:
        details["current"] = shown
    under = f" under {who['intent']}" if who is not None and who.get("intent") else ""
    by = f", by session {who['session']}{under} at {who['time']}" if who is not None else ""
    return CodePlaneError(
        "STALE_FILE",
        f"{where.asked} does not match the given hash: it was changed{by}; its sha256 is now {now.sha256}.",
        hint="The changes do not overlap: send the edits of `merge` instead."
        if suggestion is not None
        else "Read it again, or send expected_content instead of the hash.",
        details=details,
    )


def _line_edits(edits: Sequence[SourceEdit]) -> list[LineEdit]:
    """Return the edits if all of them name lines, else none."""
    found = [
        LineEdit(edit.start_line, edit.end_line or edit.start_line, new_text(edit))
        for edit in edits
        if edit.start_line is not None and edit.action == "update"
    ]
    return found if len(found) == len(edits) else []


def _with_writer(context: CallContext, where: WritablePath, now: FileImage, error: CodePlaneError) -> CodePlaneError:
    """Return the error for an edit whose text is missing, with the other session that changed it, if one did."""
    if error.code != "CONTENT_NOT_FOUND":
        return error
    who = writer_of(context, where.real, now.sha256)
    if who is None or who["session"] == context.session.label:
        return error
    message = f"{error.message} Session {who['session']} changed the file at {who['time']}."
    return CodePlaneError(error.code, message, hint=error.hint, details={**error.details, "changed_by": who})
