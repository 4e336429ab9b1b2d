"""Changed files: what they define, which tests and references they affect, and how an answer shows it."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.images import FileImage
from codeplane.edit.planning import AppliedSpan, PlannedText
from codeplane.edit.records import Change
from codeplane.govern.mutation_class import AST_REFACTOR, INTENT_EVOLUTION, mutation_class
from codeplane.govern.writers import last_writer
from codeplane.index.impact import COMPLETE, HIGH, PARTIAL, AffectedTests, MatchedTest
from codeplane.index.lost_references import references_to_lost, still_without_definition
from codeplane.index.reference_search import ReferenceHit
from codeplane.index.text_search import snippet_of
from codeplane.languages.catalog import dialect_of
from codeplane.languages.facts import Definition
from codeplane.ledger.fingerprints import FileChange
from codeplane.operations.edit_forms import definitions_in
from codeplane.operations.edited_symbols import Touched, touched_by
from codeplane.operations.operation import CallContext
from codeplane.operations.write_access import (
    WritablePath,
)
from codeplane.operations.write_models import (
    AffectedTest,
    AppliedEdit,
    ChangedFile,
    Delta,
    LineCorrection,
    LineSpan,
    RepositoryState,
    TextPosition,
    TextRange,
    WriteSourceResult,
)
from codeplane.workspace.workspace import Workspace

_SHOWN_TEXT = 2_000
SHOWN_TESTS = 8
_SHOWN_REASONS = 3
_MAX_TESTS = 100
_MAX_PREVIEW_LINES = 20_000
_LARGE_FILE = 200
MAX_PLACES = 20
DONE: dict[str, Literal["created", "updated", "deleted"]] = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
}


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The planned state of one file."""

    where: WritablePath
    action: str
    change: Change
    text: PlannedText
    touched: Touched = field(default_factory=Touched)


def note_changes(context: CallContext, plans: Sequence[FilePlan]) -> None:
    """Report what was written to the door, the index and the caller."""
    workspace = context.workspace
    for one in plans:
        before, after = one.change.before, one.change.after
        old_hash = before.sha256 if before is not None else None
        new_hash = after.sha256 if after is not None else None
        counts = one.text.insertions, one.text.deletions
        context.changes.append(FileChange(one.where.real.text, old_hash, new_hash, *counts, one.touched.symbols))
        if one.touched.facts is not None and after is not None:
            workspace.index.offer(dialect_of(one.where.real.text), after.data, one.touched.facts)
            context.definitions[one.where.real.text] = one.touched.facts.definitions
    _warn_of_other_changes(context, plans)
    context.warnings.extend(f"{one.where.asked} was not UTF-8; it is now" for one in plans if one.text.is_converted)
    _advise_patches(context, plans)
    if workspace.gate.rules().is_enforced:
        context.noted["mutation_class"] = _class_of(plans)


def lost_references(context: CallContext, plans: Sequence[FilePlan]) -> list[tuple[str, ReferenceHit]]:
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
    if not kept or not context.fresh_index():
        return []
    with workspace.index.facts() as reader:
        return [found for path, names in kept.items() for found in references_to_lost(reader, path, names)]


def broken_references(context: CallContext, lost: Sequence[tuple[str, ReferenceHit]]) -> list[str]:
    """Return the references that no longer resolve after the change."""
    if not lost:
        return []
    with context.workspace.index.facts() as reader:
        hits = still_without_definition(reader, lost)
    places = dict.fromkeys(f"{hit.path}:{hit.line}: {snippet_of(hit.snippet.rstrip(), hit.column)}" for hit in hits)
    return list(places)[:MAX_PLACES]


def short_diff(plan: FilePlan, most: int) -> str | None:
    """Return the changed lines of a file, up to a limit."""
    lines = diff_of(plan, n_context=0).split("\n")[2:]
    changed = [line for line in lines if line[:1] in {"+", "-"}]
    if len(changed) > most:
        changed = [*changed[:most], f"… {len(changed) - most} more changed lines"]
    return "\n".join(changed) or None


def affected_tests(context: CallContext, plans: Sequence[FilePlan]) -> AffectedTests:
    """Return the tests that a change affects, as the index knows the files now."""
    changed = [one for one in plans if not is_nothing(one.change)]
    symbols = {one.where.real.text: one.touched.symbols for one in changed if one.touched.symbols}
    return context.workspace.index.affected_tests([one.where.real.text for one in changed], symbols)


def joined_tests(one: AffectedTests | None, other: AffectedTests) -> AffectedTests:
    """Merge two answers; the stronger match of a test counts, and the result is complete only if both are."""
    if one is None:
        return other
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


def _advise_patches(context: CallContext, plans: Sequence[FilePlan]) -> None:
    """Warn when a large file was sent whole although most of it is unchanged."""
    for one in plans:
        before = one.change.before
        n_lines = before.data.count(b"\n") if before is not None else 0
        is_whole = one.action == "update" and len(one.text.spans) == 1 and one.text.spans[0].start.line == 1
        n_sent = one.text.spans[0].new_text.count("\n") if is_whole else 0
        if n_sent >= _LARGE_FILE and n_lines >= _LARGE_FILE and one.text.insertions < n_lines // 4:
            context.warnings.append(
                f"{one.where.asked} was sent whole ({n_sent} lines) for {one.text.insertions} changed ones;"
                " send only the changed part with expected_content"
            )


def _class_of(plans: Sequence[FilePlan]) -> str:
    """Return the class of a whole call: a refactoring only if every file's change is one."""
    images = ((one.where.real.text, one.change.before, one.change.after) for one in plans)
    classes = {
        mutation_class(path, before.data if before else None, after.data if after else None)
        for path, before, after in images
    }
    return AST_REFACTOR if classes == {AST_REFACTOR} else INTENT_EVOLUTION


def _warn_of_other_changes(context: CallContext, plans: Sequence[FilePlan]) -> None:
    """Say who changed a file since this session last saw it, although the edits still matched."""
    for one in plans:
        before = one.change.before
        seen = context.workspace.gate.memory.last_seen(context.session.label, one.where.real.text)
        if before is None or seen is None or seen == before.sha256:
            continue
        who = writer_of(context, one.where.real, before.sha256)
        if who is not None and who["session"] == context.session.label:
            continue
        under = f" under {who['intent']}" if who is not None and who.get("intent") else ""
        by = f"session {who['session']}{under} at {who['time']}" if who is not None else "another program"
        context.warnings.append(f"{one.where.asked} was changed by {by} since you last saw it; your edit still applies")


def diff_of(plan: FilePlan, n_context: int = 2) -> str:
    """Return the change of a file as a diff."""
    before, after = plan.change.before, plan.change.after
    old, new = _lines_of(before), _lines_of(after)
    if len(old) + len(new) > _MAX_PREVIEW_LINES:
        return f"{plan.where.real}: {len(old)} lines become {len(new)}\n"
    old_name, new_name = (plan.where.real.text if one is not None else "/dev/null" for one in (before, after))
    lines = difflib.unified_diff(old, new, old_name, new_name, n=n_context)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _lines_of(image: FileImage | None) -> list[str]:
    return image.data.decode("utf-8", "backslashreplace").splitlines(keepends=True) if image is not None else []


def is_nothing(change: Change) -> bool:
    """Tell whether a change leaves the file as it is."""
    return change.before is not None and change.after is not None and change.before.is_like(change.after)


def writer_of(context: CallContext, path: RepoPath, sha256: str) -> dict[str, Any] | None:
    """Return which call wrote the current content of a file, None if it was not one of ours."""
    workspace = context.workspace
    return last_writer(workspace.chain, workspace.editor.records, path.text, sha256, context.call_id)


def touched_definitions(workspace: Workspace, plan: FilePlan) -> Touched:
    """Return the definitions that a change touches and the syntax errors it brings."""
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
        # A damaged index must not block editing; the update after the edit repairs it and says so.
        return None


def write_result(
    context: CallContext, plans: Sequence[FilePlan], found: AffectedTests | None, *, is_applied: bool
) -> WriteSourceResult:
    """Return the changes of files, made or planned."""
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
    n_changed = sum(not is_nothing(one.change) for one in plans)
    summary = f"{n_changed} file{'s' * (n_changed != 1)} {verb}, +{insertions} -{deletions}"
    if n_changed == 0:
        summary = "nothing changed: the files already have this content"
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
    why = [f"{path} is not reached by imports" for path in found.unresolved_files]
    why += found.unknown_hops
    if len(found.matches) > _MAX_TESTS:
        why.insert(0, f"{len(found.matches) - _MAX_TESTS} more tests are affected than are listed")
    return (PARTIAL if why else found.confidence), why[:_SHOWN_REASONS]


def _changed_file(plan: FilePlan) -> ChangedFile:
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
        action=DONE[plan.action],
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


def render_write(result: WriteSourceResult) -> str:
    """Return the short text of a result."""
    lines = [result.summary]
    for file in result.delta.files:
        lines.extend(_file_lines(file))
    lines.extend(f" still `{one.text}`: {listed(one.places, SHOWN_TESTS)}" for one in result.remaining)
    if result.broken:
        lines.append(" references without a definition now:")
        lines.extend(f"  {one}" for one in result.broken)
    # The verdict names the tests that were run.
    return "\n".join([*lines, *([result.check] if result.check else _test_lines(result.delta))])


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
    """Return the affected tests in one line; uncertain ones by name only if they are few."""
    sure = [one.path for one in delta.tests_affected if one.confidence == HIGH]
    unsure = [one.path for one in delta.tests_affected if one.confidence != HIGH]
    parts = [listed(sure, SHOWN_TESTS)] if sure else []
    if unsure:
        is_short = len(delta.tests_affected) <= SHOWN_TESTS
        parts.append(f"less sure: {listed(unsure, SHOWN_TESTS) if is_short else len(unsure)}")
    if delta.tests_confidence == PARTIAL:
        parts.append(f"more may be affected: {listed(delta.tests_unknown, 1)}")
    return [f" tests: {'; '.join(parts)}"] if parts else []


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
