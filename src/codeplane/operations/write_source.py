"""`write_source`: create, change and delete files, all of a call or nothing, and say everything that came of it."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.edit.images import FileImage, FoundFile
from codeplane.edit.planning import AppliedSpan, PlannedText, SpanEdit, plan_update, plan_whole
from codeplane.edit.records import Change
from codeplane.edit.texts import SourceFile, read_text
from codeplane.govern.mutation_class import AST_REFACTOR, INTENT_EVOLUTION, mutation_class
from codeplane.govern.stale_edits import LineEdit, merge_suggestion
from codeplane.govern.writers import last_writer
from codeplane.index.ignore_rules import matcher_for
from codeplane.index.impact import COMPLETE, HIGH, PARTIAL, AffectedTests, MatchedTest
from codeplane.index.lost_references import references_to_lost, still_without_definition
from codeplane.index.reference_search import ReferenceHit
from codeplane.index.text_search import TextQuery, find_lines, snippet_of
from codeplane.languages.catalog import dialect_of
from codeplane.languages.facts import Definition
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import FileChange
from codeplane.operations.edit_forms import at_definition, definitions_in, matches, occurrences
from codeplane.operations.edit_patches import parse_patch
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.edited_symbols import Touched, touched_by
from codeplane.operations.file_access import with_near_paths
from codeplane.operations.models import PATH_ALIASES, RARELY, Lenient, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.operations.tool_list import SHORT_NAME
from codeplane.operations.write_access import (
    WritablePath,
    check_not_ignored,
    has_name_of_other_case,
    writable,
    write_refused,
)
from codeplane.workspace.workspace import Workspace

NAME = "write_source"
_MAX_CONTENT = 20_000_000
_SHOWN_TEXT = 2_000
_SHOWN_TESTS = 8
_SHOWN_REASONS = 3
_MAX_TESTS = 100
_MAX_PREVIEW_LINES = 20_000
_CONTEXT_LINES = 3
_RETRIES = 5
_LARGE_FILE = 200
_SHORT_HASH = 12
_MIN_HASH = 8
_MIN_SEARCHED = 3
_MAX_PLACES = 20
_MAX_DIFF_LINES = 24
_UNFIT = re.compile("[\0\ud800-\udfff]")
_DONE: dict[str, Literal["created", "updated", "deleted"]] = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
}


class SourceEdit(Lenient):
    """One change of one file."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "path": PATH_ALIASES,
        "action": ("operation", "type", "kind"),
        "content": ("text", "file_text"),
        "new_content": ("new", "new_text", "new_string", "new_str", "replacement", "replace"),
        "expected_content": ("old", "old_content", "old_text", "old_string", "old_str", "expected"),
        "all": ("replace_all", "global"),
        "definition": ("symbol", "replace_definition"),
        "before": ("before_definition", "insert_before"),
        "after": ("after_definition", "insert_after"),
        "start_line": ("start", "from_line"),
        "end_line": ("end", "to_line"),
        "expected_file_sha256": ("file_sha256", "sha256", "expected_hash"),
    }
    PLAIN_ALIASES: ClassVar[frozenset[str]] = frozenset({"old", "new"})
    path: PathText
    action: Literal["create", "update", "delete"] = "update"
    content: str | None = Field(None, max_length=_MAX_CONTENT, description="create: the whole file.")
    expected_content: str | None = Field(
        None,
        max_length=_MAX_CONTENT,
        description="Text to replace, unless lines or a definition say it.",
        json_schema_extra={SHORT_NAME: "old"},
    )
    new_content: str | None = Field(None, max_length=_MAX_CONTENT, json_schema_extra={SHORT_NAME: "new"})
    all: bool = Field(False, description="Every occurrence.")
    count: int | None = Field(None, ge=1, description="Exactly so many, in all.")
    regex: bool = Field(False, description="old is RE2; \\1 is a group.")
    start_line: int | None = Field(None, ge=1, description="Before this call.")
    end_line: int | None = Field(None, ge=0, description="start_line - 1 inserts.")
    definition: str | None = Field(None, description="Replace this one, such as Class.method.")
    before: str | None = Field(None, description="Insert before this definition.", json_schema_extra=RARELY)
    after: str | None = Field(None, description="Insert after this definition.")
    expected_file_sha256: str | None = Field(
        None, description="As read_source gave it, or its beginning.", json_schema_extra=RARELY
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> "SourceEdit":
        for name in ("content", "new_content"):
            found = _UNFIT.search(getattr(self, name) or "")
            if found is not None:
                raise ValueError(f"{name} holds {found.group()!a}, which is no text")
        if self.action == "create" and self.content is None and self.new_content is None:
            raise ValueError("create needs `content`")
        if self.action == "create" and (self.start_line or self.expected_content):
            raise ValueError("create takes the whole content; use update for a part of a file")
        if self.action == "delete" and (self.content is not None or self.new_content is not None):
            raise ValueError("delete takes no content")
        if self.action == "update" and self.new_content is None and self.content is None:
            raise ValueError("update needs `new_content`")
        return self

    @model_validator(mode="after")
    def _place_makes_sense(self) -> "SourceEdit":
        if self.end_line is not None and self.start_line is None:
            raise ValueError("end_line needs start_line")
        if (self.all or self.count is not None or self.regex) and not self.expected_content:
            raise ValueError("`all`, `count` and `regex` need `expected_content`")
        places = [self.definition, self.before, self.after]
        if sum(one is not None for one in places) > 1 or (any(places) and self.start_line is not None):
            raise ValueError("give one of definition, before, after and lines")
        if any(places) and self.expected_content is not None:
            raise ValueError("definition, before and after take no `expected_content`")
        if self.start_line is not None and self.end_line is not None and self.end_line < self.start_line - 1:
            raise ValueError(f"end_line {self.end_line} is before start_line {self.start_line}")
        return self


class WriteSourceRequest(Request):
    """What to change."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"edits": ("edit", "changes", "files")}
    edits: Annotated[list[SourceEdit], ListOfOne, Field(max_length=200)] = Field(default_factory=list)
    patch: str | None = Field(
        None, max_length=_MAX_CONTENT, description="Instead of edits: unified diff or *** Begin Patch."
    )
    dry_run: bool = Field(False, description="Change nothing.", json_schema_extra=RARELY)
    allow_ignored: bool = Field(False, description="Also files that git ignores.", json_schema_extra=RARELY)
    break_hardlink: bool = Field(
        False, description="Also files with several names; only this one changes.", json_schema_extra=RARELY
    )

    @model_validator(mode="after")
    def _something_to_do(self) -> "WriteSourceRequest":
        if bool(self.edits) == (self.patch is not None):
            raise ValueError("send `edits`, or `patch`")
        return self


class TextPosition(Result):
    """A place in the file before the call: line from 1, character from 0."""

    line: int
    char: int


class TextRange(Result):
    """From a place up to another."""

    start: TextPosition
    end: TextPosition


class AppliedEdit(Result):
    """One change inside a file."""

    range: TextRange
    new_lines: tuple[int, int] = Field(description="Where the new text stands now.")
    new_text: str = Field(description="Cut after 2,000 characters.")
    semantic: bool = False
    symbol: str | None = None


class LineSpan(Result):
    """First and last line."""

    start_line: int
    end_line: int


class LineCorrection(Result):
    """Lines that were given, and where the expected text really stood."""

    original: LineSpan
    corrected: LineSpan


class ChangedFile(Result):
    """What became of one file."""

    path: str
    action: Literal["created", "updated", "deleted"]
    old_hash: str | None = None
    new_hash: str | None = None
    file_sha256: str | None = Field(None, description="For the next edit; none when deleted.")
    insertions: int
    deletions: int
    line_ending: str
    edits: list[AppliedEdit] = Field(default_factory=list)
    line_corrections: list[LineCorrection] = Field(default_factory=list)
    symbols: list[str] = Field(default_factory=list)
    new_syntax_errors: list[int] = Field(default_factory=list, description="Lines that no longer parse.")
    real_path: str | None = Field(None, description="Where a symlink leads that was edited at its target.")
    diff: str | None = Field(None, description="The changed lines, where the call does not show them itself.")


class AffectedTest(Result):
    """A test file that the change may affect."""

    path: str
    confidence: str


class RepositoryState(Result):
    """Where the repository stands now."""

    head: str | None
    index_epoch: int | None


class Delta(Result):
    """Everything that changed."""

    mutation_id: str
    repo_fingerprint: str
    files_changed: int
    insertions: int
    deletions: int
    files: list[ChangedFile]
    symbols_changed: list[str] = Field(default_factory=list)
    tests_affected: list[AffectedTest] = Field(default_factory=list)
    tests_confidence: str | None = Field(None, description="complete, or partial when tests may be missing.")
    tests_unknown: list[str] = Field(default_factory=list, description="Why tests may be missing, the first reasons.")


class Remaining(Result):
    """A replaced text that other places still hold."""

    text: str
    places: list[str] = Field(description="`path:line`, at most twenty.")


class WriteSourceResult(Result):
    """What was done, or would be."""

    applied: bool
    dry_run: bool
    delta: Delta
    repository: RepositoryState
    remaining: list[Remaining] = Field(default_factory=list, description="Where replaced texts still are.")
    broken: list[str] = Field(
        default_factory=list, description="References whose definition this change removed, as `path:line: text`."
    )
    summary: str
    display_to_user: str | None = None


@dataclass(frozen=True, slots=True)
class _FilePlan:
    """What one file is to become."""

    where: WritablePath
    action: str
    change: Change
    text: PlannedText
    touched: Touched = field(default_factory=Touched)


def _expanded(workspace: Workspace, request: WriteSourceRequest) -> WriteSourceRequest:
    """Return the request with one edit per file: patches are taken apart, globs name the files that hold the text."""
    edits = _edits_of_patch(request.patch) if request.patch is not None else request.edits
    found = [one for edit in edits for one in _per_file(workspace, edit, with_ignored=request.allow_ignored)]
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


def _per_file(workspace: Workspace, edit: SourceEdit, *, with_ignored: bool) -> list[SourceEdit]:
    """Return an edit for every file that a glob means and that holds the text; anything else as it is."""
    is_glob = any(mark in edit.path for mark in "*?[") and not (workspace.root / edit.path).exists()
    if not is_glob or edit.action != "update" or not edit.expected_content:
        return [edit]
    fits = matcher_for(edit.path)
    workspace.refresh_index()
    state = workspace.index.state()
    ignored = frozenset[str]() if with_ignored else workspace.ignored_files(state)
    paths = sorted(path for path in state.files if fits(path) and path not in ignored)
    found = {path: number for path in paths if (number := _n_occurrences(workspace, path, edit))}
    total = sum(found.values())
    if not found:
        message = f"None of {counted(len(paths), 'file')} that match `{edit.path[:80]}` holds the text."
        raise CodePlaneError("CONTENT_NOT_FOUND", message, details={"files": len(paths)})
    if edit.count is not None and edit.count != total:
        shown = _listed([f"{path} {number}" for path, number in found.items()], _SHOWN_TESTS)
        message = (
            f"The files that match `{edit.path[:80]}` have {counted(total, 'occurrence')}, not {edit.count}: {shown}."
        )
        hint = "Send the right count, or `all: true` without it."
        raise CodePlaneError("CONTENT_AMBIGUOUS", message, hint=hint, details={"files": found})
    return [edit.model_copy(update={"path": path, "all": True, "count": None}) for path in found]


def _n_occurrences(workspace: Workspace, path: str, edit: SourceEdit) -> int:
    """Return how often a file holds the text of an edit."""
    found = workspace.editor.look(RepoPath.known(path))
    if found is None or found.image.is_link:
        return 0
    try:
        file = read_text(found.image.data)
        return len(_occurrences(RepoPath.known(path), file, edit.model_copy(update={"count": None, "all": True})))
    except CodePlaneError as error:
        if error.code == "INVALID_ARGUMENTS":
            raise
        return 0


def _effects(workspace: Workspace, request: WriteSourceRequest) -> Effects:
    writes: dict[RepoPath, None] = {}
    deletes: dict[RepoPath, None] = {}
    for edit in _expanded(workspace, request).edits:
        where = writable(workspace, edit.path, follow=edit.action != "delete")
        (deletes if edit.action == "delete" else writes)[where.real] = None
    if request.dry_run:
        return Effects(reads=(*writes, *deletes))
    # What an update expects is checked where it is planned; a deletion may say it by the file's hash.
    anchored = tuple(writes)
    return Effects(writes=tuple(writes), deletes=tuple(deletes), destructive=bool(deletes), anchored=anchored)


def _handle(context: CallContext, request: WriteSourceRequest) -> WriteSourceResult:
    workspace = context.workspace
    request = _expanded(workspace, request)
    for attempt in range(_RETRIES):
        plans = [_planned(context, request, edits) for edits in _by_file(workspace, request)]
        check_not_ignored(workspace, [one.where.real for one in plans], allow_ignored=request.allow_ignored)
        plans = [replace(one, touched=_touched(workspace, one)) for one in plans]
        if request.dry_run:
            tests = _affected(context, plans) if _reconciled(context) else None
            return _result(context, plans, tests, is_applied=False)
        # What depends on a deleted file is known only before it is gone.
        gone = [one for one in plans if one.action == "delete"]
        lost = _affected(context, gone) if gone and _reconciled(context) else None
        broken = _references_to_lost(context, plans)
        context.check_cancelled()
        try:
            workspace.editor.apply(context.call_id, [one.change for one in plans if not _is_nothing(one.change)])
        except CodePlaneError as error:
            # Somebody wrote between the reading and the writing: planned again, an edit finds its text or is refused
            # with what is there now. What is to be deleted is no longer what the caller knew.
            if error.code != "STALE_FILE" or attempt == _RETRIES - 1 or any(one.action == "delete" for one in plans):
                raise
            continue
        except OSError as error:
            raise write_refused(error) from error
        break
    context.changes.extend(
        FileChange(
            path=one.where.real.text,
            old_hash=one.change.before.sha256 if one.change.before is not None else None,
            new_hash=one.change.after.sha256 if one.change.after is not None else None,
            insertions=one.text.insertions,
            deletions=one.text.deletions,
            symbols=one.touched.symbols,
        )
        for one in plans
    )
    for one in plans:
        if one.touched.facts is not None and one.change.after is not None:
            workspace.index.offer(dialect_of(one.where.real.text), one.change.after.data, one.touched.facts)
    _tell_other_changes(context, plans)
    context.warnings.extend(f"{one.where.asked} was not UTF-8; it is now" for one in plans if one.text.is_converted)
    _advise_patches(context, plans)
    if workspace.gate.rules().is_enforced:
        context.noted["mutation_class"] = _class_of(plans)
    tests = _affected(context, [one for one in plans if one not in gone]) if _reconciled(context) else None
    result = _result(context, plans, tests if lost is None else _joined(lost, tests), is_applied=True)
    result = result.model_copy(update={"broken": _broken(context, broken)})
    return _with_traces(context, request, plans, result)


def _references_to_lost(context: CallContext, plans: Sequence[_FilePlan]) -> list[tuple[str, ReferenceHit]]:
    """Return the references to definitions that the files will no longer have."""
    workspace = context.workspace
    kept: dict[str, frozenset[str]] = {}
    for one in plans:
        before, path, facts = one.change.before, one.where.real.text, one.touched.facts
        if before is None or before.is_link or (facts is None and one.action != "delete"):
            continue
        known = definitions_in(workspace, path, before.data)
        now = frozenset(new.lexical_path for new in facts.definitions) if facts is not None else frozenset[str]()
        if any(old.lexical_path not in now for old in known):
            kept[path] = now
    if not kept or not _reconciled(context):
        return []
    with workspace.index.facts() as reader:
        return [found for path, names in kept.items() for found in references_to_lost(reader, path, names)]


def _broken(context: CallContext, lost: Sequence[tuple[str, ReferenceHit]]) -> list[str]:
    """Return those of the references that mean nothing after the change."""
    if not lost or not context.is_reconciled:
        return []
    with context.workspace.index.facts() as reader:
        hits = still_without_definition(reader, lost)
    places = dict.fromkeys(f"{hit.path}:{hit.line}: {snippet_of(hit.snippet.rstrip(), hit.column)}" for hit in hits)
    return list(places)[:_MAX_PLACES]


def _with_traces(
    context: CallContext, request: WriteSourceRequest, plans: Sequence[_FilePlan], result: WriteSourceResult
) -> WriteSourceResult:
    """Return the result with the diff of edits by rule, and with the places that still hold what they replaced."""
    shown = {one.path for one in request.edits if _is_by_rule(one)}
    files = [
        file.model_copy(update={"diff": _short_diff(plan, max(2, _MAX_DIFF_LINES // len(shown)))})
        if plan.where.asked.text in shown
        else file
        for file, plan in zip(result.delta.files, plans, strict=True)
    ]
    delta = result.delta.model_copy(update={"files": files})
    return result.model_copy(update={"delta": delta, "remaining": _remaining(context, request.edits)})


def _is_by_rule(edit: SourceEdit) -> bool:
    """Tell whether an edit does not itself show what it changes."""
    return edit.all or edit.regex or edit.count is not None


def _short_diff(plan: _FilePlan, most: int) -> str | None:
    lines = _diff_of(plan, n_context=0).split("\n")[2:]
    changed = [line for line in lines if line[:1] in {"+", "-"}]
    if len(changed) > most:
        changed = [*changed[:most], f"… {len(changed) - most} more changed lines"]
    return "\n".join(changed) or None


def _remaining(context: CallContext, edits: Sequence[SourceEdit]) -> list[Remaining]:
    """Return where texts that were replaced by rule still are; a word counts as a whole word only."""
    if not context.is_reconciled:
        return []
    state = context.workspace.index.state()
    found = []
    for old in dict.fromkeys(one.expected_content for one in edits if _is_by_rule(one) and not one.regex):
        if old is None or "\n" in old or len(old.strip()) < _MIN_SEARCHED:
            continue
        if any(old in _new_text(one) for one in edits if one.expected_content == old):
            # Something was added to the text; that it is elsewhere, too, says nothing.
            continue
        query = TextQuery(old, whole_word=old.isidentifier())
        places = [f"{hit.path}:{hit.line}" for hit in islice(find_lines(state, query, None), _MAX_PLACES + 1)]
        if places:
            found.append(Remaining(text=old, places=places[:_MAX_PLACES]))
    return found


def _affected(context: CallContext, plans: Sequence[_FilePlan]) -> AffectedTests:
    """Return the tests that a change affects, as the index knows the files now."""
    changed = [one for one in plans if not _is_nothing(one.change)]
    symbols = {one.where.real.text: one.touched.symbols for one in changed if one.touched.symbols}
    return context.workspace.index.affected_tests([one.where.real.text for one in changed], symbols)


def _joined(one: AffectedTests, other: AffectedTests | None) -> AffectedTests | None:
    """Return two answers as one; the surer match of a test counts, and it is complete only if both are."""
    if other is None:
        return None
    matches: dict[str, MatchedTest] = {}
    for match in (*one.matches, *other.matches):
        if match.path not in matches or match.confidence == HIGH:
            matches[match.path] = match
    confidence = one.confidence if one.confidence != COMPLETE else other.confidence
    return replace(
        other,
        confidence=confidence,
        matches=tuple(matches.values()),
        unresolved_files=(*one.unresolved_files, *other.unresolved_files),
        unknown_hops=tuple(dict.fromkeys((*one.unknown_hops, *other.unknown_hops))),
    )


def _advise_patches(context: CallContext, plans: Sequence[_FilePlan]) -> None:
    """Say so when a large file was sent as a whole although most of it stayed."""
    for one in plans:
        before = one.change.before
        n_lines = before.data.count(b"\n") if before is not None else 0
        is_whole = one.action == "update" and len(one.text.spans) == 1 and one.text.spans[0].start.line == 1
        n_sent = one.text.spans[0].new_text.count("\n") if is_whole else 0
        if n_sent >= _LARGE_FILE and n_lines >= _LARGE_FILE and one.text.insertions < n_lines // 4:
            context.warnings.append(
                f"{one.where.asked} was sent whole ({n_sent} lines) for {one.text.insertions} changed ones;"
                " expected_content with the changed part alone is shorter and keeps others' changes"
            )


def _class_of(plans: Sequence[_FilePlan]) -> str:
    """Return the class of a whole call: a refactoring only when every file's change is one."""
    images = ((one.where.real.text, one.change.before, one.change.after) for one in plans)
    classes = {
        mutation_class(path, before.data if before else None, after.data if after else None)
        for path, before, after in images
    }
    return AST_REFACTOR if classes == {AST_REFACTOR} else INTENT_EVOLUTION


def _tell_other_changes(context: CallContext, plans: Sequence[_FilePlan]) -> None:
    """Say who had changed a file since this session last saw it; the edits found their text all the same."""
    for one in plans:
        before = one.change.before
        seen = context.workspace.gate.memory.last_seen(context.session.label, one.where.real.text)
        if before is None or seen is None or seen == before.sha256:
            continue
        who = _last_writer(context, one.where.real, before.sha256)
        if who is not None and who["session"] == context.session.label:
            continue
        under = f" under {who['intent']}" if who is not None and who.get("intent") else ""
        by = f"session {who['session']}{under} at {who['time']}" if who is not None else "somebody else"
        context.warnings.append(
            f"{one.where.asked} was changed by {by} since you last saw it; your edit fits all the same"
        )


def _preview(context: CallContext, request: WriteSourceRequest) -> str:
    """Return the change as a diff."""
    request = _expanded(context.workspace, request)
    plans = [_planned(context, request, edits) for edits in _by_file(context.workspace, request)]
    return "".join(_diff_of(one) for one in plans)


def _diff_of(plan: _FilePlan, n_context: int = 2) -> str:
    before, after = plan.change.before, plan.change.after
    old, new = _lines_of(before), _lines_of(after)
    if len(old) + len(new) > _MAX_PREVIEW_LINES:
        return f"{plan.where.real}: {len(old)} lines become {len(new)}\n"
    old_name, new_name = (plan.where.real.text if one is not None else "/dev/null" for one in (before, after))
    lines = difflib.unified_diff(old, new, old_name, new_name, n=n_context)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _lines_of(image: FileImage | None) -> list[str]:
    return image.data.decode("utf-8", "backslashreplace").splitlines(keepends=True) if image is not None else []


def _reconciled(context: CallContext) -> bool:
    """Bring the index up to date; a change that happened is told even when that fails."""
    try:
        context.workspace.refresh_index()
    except (CodePlaneError, OSError) as error:
        context.warnings.append(f"the index could not be brought up to date, affected tests are not known: {error}")
        return False
    context.is_reconciled = True
    return True


def _by_file(workspace: Workspace, request: WriteSourceRequest) -> list[tuple[WritablePath, list[SourceEdit]]]:
    """Return the edits of each file together.

    Raises:
        CodePlaneError: EDITS_OVERLAP when a file is created or deleted and something else besides.
    """
    found: dict[RepoPath, tuple[WritablePath, list[SourceEdit]]] = {}
    for edit in request.edits:
        where = writable(workspace, edit.path, follow=edit.action != "delete")
        known = found.setdefault(where.real, (where, []))
        known[1].append(edit)
        if len({one.action for one in known[1]}) > 1 or (edit.action != "update" and len(known[1]) > 1):
            message = f"{edit.path} is to be {' and '.join(_DONE[one.action] for one in known[1])} in one call."
            raise CodePlaneError("EDITS_OVERLAP", message, details={"path": edit.path})
    return list(found.values())


def _planned(
    context: CallContext, request: WriteSourceRequest, item: tuple[WritablePath, list[SourceEdit]]
) -> _FilePlan:
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
        return _FilePlan(where, action, Change(where.real, before, None), text)
    # What this session has seen in its present state needs no proof.
    is_known = bool(hashes) or _saw(context, where, before)
    try:
        text = _updated(workspace, where, edits, before, is_known=is_known)
    except CodePlaneError as error:
        raise _with_writer(context, where, before, error) from error
    after = replace(before, data=text.data)
    return _FilePlan(where, action, Change(where.real, before, after), text)


def _look(workspace: Workspace, request: WriteSourceRequest, where: WritablePath) -> FoundFile | None:
    """Return the file that is there; a directory whose files the same call deletes counts as nothing."""
    try:
        return workspace.editor.look(where.real)
    except CodePlaneError as error:
        deleted = [RepoPath.parse(edit.path) for edit in request.edits if edit.action == "delete"]
        if error.code != "NOT_A_FILE" or not any(path.is_inside(where.real) and path != where.real for path in deleted):
            raise
        return None


def _created(context: CallContext, where: WritablePath, edit: SourceEdit, before: FileImage | None) -> _FilePlan:
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
    return _FilePlan(where, "create", Change(where.real, None, FileImage(text.data)), text)


def _is_hash_of(given: str, sha256: str) -> bool:
    """Tell whether a hash, or enough of its beginning, is that of a file."""
    return sha256.startswith(given) and len(given) >= _MIN_HASH


def _saw(context: CallContext, where: WritablePath, before: FileImage) -> bool:
    return context.workspace.gate.memory.last_seen(context.session.label, where.real.text) == before.sha256


def _updated(
    workspace: Workspace, where: WritablePath, edits: Sequence[SourceEdit], before: FileImage, *, is_known: bool
) -> PlannedText:
    for edit in edits:
        # An empty text is everywhere: expecting it proves nothing, except of an empty file.
        says_nothing = edit.expected_content is None or (edit.expected_content == "" and before.data != b"")
        if says_nothing and not is_known and not _names_definition(edit):
            raise _unseen(where, before, edit)
    whole = [
        edit
        for edit in edits
        if edit.start_line is None and edit.expected_content is None and not _names_definition(edit)
    ]
    if whole and len(edits) == 1:
        return plan_whole(before.data, _new_text(whole[0]))
    spans = [span for edit in edits for span in _spans(workspace, where, before.data, edit)]
    return plan_update(where.asked, before.data, spans)


def _names_definition(edit: SourceEdit) -> bool:
    return (edit.definition or edit.before or edit.after) is not None


def _spans(workspace: Workspace, where: WritablePath, data: bytes, edit: SourceEdit) -> list[SpanEdit]:
    for place, name in (("replace", edit.definition), ("before", edit.before), ("after", edit.after)):
        if name is not None:
            definitions = definitions_in(workspace, where.real.text, data)
            return [at_definition(where.asked, data, definitions, name, place, _new_text(edit))]
    if edit.all or edit.count is not None or edit.regex:
        return _occurrences(where.asked, read_text(data), edit)
    return [SpanEdit(_new_text(edit), edit.expected_content, edit.start_line, edit.end_line)]


def _occurrences(path: RepoPath, file: SourceFile, edit: SourceEdit) -> list[SpanEdit]:
    find = matches if edit.regex else occurrences
    count = edit.count if edit.count is not None else None if edit.all else 1
    return find(path, file, edit.expected_content or "", _new_text(edit), count)


def _unseen(where: WritablePath, before: FileImage, edit: SourceEdit) -> CodePlaneError:
    """Return the refusal of an edit of a file that this session has not seen as it is, with the present text."""
    details: dict[str, Any] = {"path": where.asked.text, "file_sha256": before.sha256}
    shown = _shown_lines(before, edit)
    message = f"This session has not seen {where.asked} as it is now, and the edit does not say what it replaces."
    if shown is not None:
        details["current"] = [shown]
        numbered = enumerate(shown["text"].split("\n"), start=shown["start_line"])
        message += " It reads:\n" + "\n".join(f"{number}\t{line}" for number, line in numbered)
    hint = f"Send expected_content, or expected_file_sha256: {before.sha256[:_SHORT_HASH]}."
    return CodePlaneError("EXPECTATION_MISSING", message, hint=hint, details=details)


def _shown_lines(now: FileImage, edit: SourceEdit) -> dict[str, Any] | None:
    """Return the lines that an edit means, with a few around them; None for a file that is not text."""
    try:
        file = read_text(now.data)
    except CodePlaneError:
        return None
    first = max(1, (edit.start_line or 1) - _CONTEXT_LINES)
    last = min(len(file.lines), (edit.end_line or edit.start_line or 1) + _CONTEXT_LINES, first + 40)
    text = "\n".join(line[:200] for line in file.lines[first - 1 : last])
    return {"start_line": first, "end_line": last, "text": text}


def _new_text(edit: SourceEdit) -> str:
    return edit.new_content if edit.new_content is not None else edit.content or ""


def _is_nothing(change: Change) -> bool:
    return change.before is not None and change.after is not None and change.before.is_like(change.after)


def _stale(context: CallContext, where: WritablePath, now: FileImage, edits: Sequence[SourceEdit]) -> CodePlaneError:
    """Return the refusal of an edit of another content than the file has, with what is there and who wrote it."""
    expected = next((edit.expected_file_sha256.lower() for edit in edits if edit.expected_file_sha256), None)
    details: dict[str, Any] = {
        "path": where.asked.text,
        "file_sha256": now.sha256,
        "expected_sha256": expected,
        "current_sha256": now.sha256,
    }
    who = _last_writer(context, where.real, now.sha256)
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
        f"{where.asked} is not the file whose hash was given: it was changed{by}; its sha256 is now {now.sha256}.",
        hint="The changes do not overlap: send the edits of `merge` instead."
        if suggestion is not None
        else "Read it again, or send expected_content instead of the hash.",
        details=details,
    )


def _line_edits(edits: Sequence[SourceEdit]) -> list[LineEdit]:
    """Return the edits that name lines; none when one of them does not."""
    found = [
        LineEdit(edit.start_line, edit.end_line or edit.start_line, _new_text(edit))
        for edit in edits
        if edit.start_line is not None and edit.action == "update"
    ]
    return found if len(found) == len(edits) else []


def _with_writer(context: CallContext, where: WritablePath, now: FileImage, error: CodePlaneError) -> CodePlaneError:
    """Return the refusal of an edit whose text is not there, with the other session that changed it, if one did."""
    if error.code != "CONTENT_NOT_FOUND":
        return error
    who = _last_writer(context, where.real, now.sha256)
    if who is None or who["session"] == context.session.label:
        return error
    message = f"{error.message} Session {who['session']} changed the file at {who['time']}."
    return CodePlaneError(error.code, message, hint=error.hint, details={**error.details, "changed_by": who})


def _last_writer(context: CallContext, path: RepoPath, sha256: str) -> dict[str, Any] | None:
    """Return which call left a file as it is, None when it was none of ours."""
    workspace = context.workspace
    return last_writer(workspace.chain, workspace.editor.records, path.text, sha256, context.call_id)


def _touched(workspace: Workspace, plan: _FilePlan) -> Touched:
    before, after = plan.change.before, plan.change.after
    if (before is not None and before.is_link) or (after is not None and after.is_link):
        return Touched()
    old_lines = [
        (span.start.line, max(span.start.line, span.end.line - (span.end.char == 0)))
        for span in plan.text.spans
        if span.start != span.end
    ]
    if after is None:
        old_lines = [(1, plan.text.deletions)]
    return touched_by(
        plan.where.real.text,
        before.data if before is not None else None,
        after.data if after is not None else None,
        old_lines,
        [span.new_lines for span in plan.text.spans],
        lambda path, source: _known_definitions(workspace, path, source),
    )


def _known_definitions(workspace: Workspace, path: str, source: bytes) -> list[Definition] | None:
    try:
        return workspace.index.known_definitions(path, source)
    except CodePlaneError:
        # A damaged index keeps nobody from editing; the update after the edit mends it and says so.
        return None


def _result(
    context: CallContext, plans: Sequence[_FilePlan], found: AffectedTests | None, *, is_applied: bool
) -> WriteSourceResult:
    workspace = context.workspace
    files = [_changed_file(one) for one in plans]
    insertions, deletions = sum(one.insertions for one in files), sum(one.deletions for one in files)
    tests: list[AffectedTest] = []
    confidence = None
    why: list[str] = []
    if found is not None:
        tests = [AffectedTest(path=one.path, confidence=one.confidence) for one in found.matches[:_MAX_TESTS]]
        confidence, why = _completeness(found)
    verb = "changed" if is_applied else "would change"
    n_changed = sum(not _is_nothing(one.change) for one in plans)
    summary = f"{n_changed} file{'s' * (n_changed != 1)} {verb}, +{insertions} -{deletions}"
    if n_changed == 0:
        summary = "nothing changed: the files have this content already"
    symbols = list(dict.fromkeys(name for one in files for name in one.symbols))
    return WriteSourceResult(
        applied=is_applied and n_changed > 0,
        dry_run=not is_applied,
        delta=Delta(
            mutation_id=context.call_id,
            repo_fingerprint=workspace.fingerprint(),
            files_changed=n_changed,
            insertions=insertions,
            deletions=deletions,
            files=files,
            symbols_changed=symbols,
            tests_affected=tests,
            tests_confidence=confidence,
            tests_unknown=why,
        ),
        repository=RepositoryState(head=workspace.repo_version().head, index_epoch=workspace.index_epoch()),
        summary=summary,
        display_to_user=f"{summary}: {', '.join(one.path for one in files[:5])}" + (" …" if len(files) > 5 else ""),
    )


def _completeness(found: AffectedTests) -> tuple[str, list[str]]:
    """Return whether the listed tests are all, and the first reasons why not."""
    why = [f"{path} is not part of what imports lead to" for path in found.unresolved_files]
    why += found.unknown_hops
    if len(found.matches) > _MAX_TESTS:
        why.insert(0, f"{len(found.matches) - _MAX_TESTS} more tests are affected than are listed")
    return (PARTIAL if why else found.confidence), why[:_SHOWN_REASONS]


def _changed_file(plan: _FilePlan) -> ChangedFile:
    before, after = plan.change.before, plan.change.after
    touched = plan.touched
    corrections = [
        LineCorrection(
            original=LineSpan(start_line=span.asked[0], end_line=span.asked[1]),
            corrected=LineSpan(start_line=span.corrected[0], end_line=span.corrected[1]),
        )
        for span in plan.text.spans
        if span.asked is not None and span.corrected is not None
    ]
    return ChangedFile(
        path=plan.where.asked.text,
        action=_DONE[plan.action],
        old_hash=before.sha256 if before is not None else None,
        new_hash=after.sha256 if after is not None else None,
        file_sha256=after.sha256 if after is not None else None,
        insertions=plan.text.insertions,
        deletions=plan.text.deletions,
        line_ending=plan.text.line_ending,
        edits=[_applied_edit(span) for span in plan.text.spans],
        line_corrections=corrections,
        symbols=list(touched.symbols),
        new_syntax_errors=list(touched.error_lines),
        real_path=plan.where.real.text if plan.where.real != plan.where.asked else None,
    )


def _applied_edit(span: AppliedSpan) -> AppliedEdit:
    start = TextPosition(line=span.start.line, char=span.start.char)
    end = TextPosition(line=span.end.line, char=span.end.char)
    return AppliedEdit(
        range=TextRange(start=start, end=end), new_lines=span.new_lines, new_text=span.new_text[:_SHOWN_TEXT]
    )


def _render(result: WriteSourceResult) -> str:
    lines = [result.summary]
    for file in result.delta.files:
        lines.extend(_file_lines(file))
    lines.extend(f" still `{one.text}`: {_listed(one.places, _SHOWN_TESTS)}" for one in result.remaining)
    if result.broken:
        lines.append(" these references have lost their definition:")
        lines.extend(f"  {one}" for one in result.broken)
    return "\n".join(lines + _test_lines(result.delta))


def _file_lines(file: ChangedFile) -> list[str]:
    parts = [f" {file.path} {file.action} +{file.insertions} -{file.deletions}"]
    if file.action == "updated":
        parts.append("lines " + ", ".join(f"{one.new_lines[0]}-{one.new_lines[1]}" for one in file.edits))
    parts.extend(
        f"lines {one.original.start_line}-{one.original.end_line} were found at"
        f" {one.corrected.start_line}-{one.corrected.end_line}"
        for one in file.line_corrections
    )
    if file.real_path is not None:
        parts.append(f"a link to {file.real_path}")
    lines = ["; ".join(parts), *(f"  {line}" for line in (file.diff or "").split("\n") if line)]
    if file.new_syntax_errors:
        lines.append(f"  no longer parses at line {', '.join(map(str, file.new_syntax_errors))}")
    return lines


def _test_lines(delta: Delta) -> list[str]:
    """Return the affected tests in one line; the names of less sure ones only where they are few."""
    sure = [one.path for one in delta.tests_affected if one.confidence == HIGH]
    unsure = [one.path for one in delta.tests_affected if one.confidence != HIGH]
    parts = [_listed(sure, _SHOWN_TESTS)] if sure else []
    if unsure:
        is_short = len(delta.tests_affected) <= _SHOWN_TESTS
        parts.append(f"less sure: {_listed(unsure, _SHOWN_TESTS) if is_short else len(unsure)}")
    if delta.tests_confidence == PARTIAL:
        parts.append(f"more may be affected: {_listed(delta.tests_unknown, 1)}")
    return [f" tests: {'; '.join(parts)}"] if parts else []


def _listed(names: Sequence[str], most: int) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


WRITE_SOURCE = Operation(
    name=NAME,
    family="edits",
    summary="Create, change or delete files: all edits of a call or none. path may be a glob when old text is given.",
    request_type=WriteSourceRequest,
    result_type=WriteSourceResult,
    effect=EffectClass.WRITE,
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You want to change files.", "Several files belong together: send all edits in one call."),
    when_not_to_use=("You want to take a change back: undo.",),
    examples=(
        Example(
            "Replace a text that stands once in its file",
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
    preview=_preview,
)
