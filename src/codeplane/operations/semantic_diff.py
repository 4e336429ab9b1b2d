"""`semantic_diff`: which definitions changed between two states, what that breaks, and who is affected."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted, printable_name
from codeplane.diff.blast_radius import UNKNOWN as UNKNOWN_BASIS
from codeplane.diff.blast_radius import BlastRadius, Impact
from codeplane.diff.compare import MEMBERS_CHANGED, all_changes, compare_files
from codeplane.diff.model import ChangeKind, Comparison, EntityChange, FileChange, Risk
from codeplane.diff.places import category_of
from codeplane.index.facts.reader import FactReader
from codeplane.index.file_order import is_test_file
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.languages.catalog import UNKNOWN, language_of
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.compared_states import ReadSides, Sides, find_sides, read_sides
from codeplane.operations.file_access import spend_read_budget
from codeplane.operations.models import PATH_ALIASES, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

NAME = "semantic_diff"
# About so many characters of JSON per page.
_ROOM: Final = 8_000
_MAX_IMPACTS: Final = 200
_MAX_TESTS: Final = 20
_SHOWN_NAMES: Final = 5
_SHOWN_LINES: Final = 30
_MAX_NOTES: Final = 10
# The first tag of changes that have no impact of their own.
_UNTOLD: Final = frozenset({("symbol_added",), (MEMBERS_CHANGED,)})
_WORDS: Final = {
    ChangeKind.ADDED: "added",
    ChangeKind.REMOVED: "removed",
    ChangeKind.SIGNATURE_CHANGED: "signature changed",
    ChangeKind.BODY_CHANGED: "body changed",
    ChangeKind.RENAMED: "renamed",
}


class SemanticDiffRequest(Request):
    """What to compare."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "base": ("from", "ref", "commit", "old", "revision", "range"),
        "target": ("to", "head", "new"),
        "paths": ("path", "files", *PATH_ALIASES),
    }
    base: str = Field("HEAD", min_length=1, max_length=500, description="Old side: a ref, `a..b`, or `epoch:N`.")
    target: str | None = Field(
        None, min_length=1, max_length=500, description="New side: a ref or `epoch:M`. Default: the working tree."
    )
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=500)] = Field(default_factory=list)
    cursor: str | None = None


class RefTiers(Result):
    """References by how sure they are."""

    proven: int
    strong: int
    anchored: int
    unknown: int


class ImpactInfo(Result):
    """Who is affected; from the index of the working tree."""

    reference_count: int | None = None
    ref_tiers: RefTiers | None = None
    reference_basis: str = Field(description="ref_facts_resolved, ref_facts_partial or unknown.")
    referencing_files: list[str] = Field(default_factory=list, description="At most 20.")
    importing_files: list[str] = Field(default_factory=list, description="At most 20.")
    affected_test_files: list[str] = Field(default_factory=list, description="At most 20.")
    confidence: Literal["high", "low"]
    visibility: str | None = None
    is_static: bool | None = None


class DefinitionChange(Result):
    """One changed definition; a moved one is `renamed` with the tag `moved` and its `old_path`."""

    path: str
    kind: str
    name: str
    qualified_name: str | None = None
    change: Literal["added", "removed", "signature_changed", "body_changed", "renamed"]
    structural_severity: Literal["breaking", "non_breaking"]
    behavior_change_risk: Literal["low", "medium", "high", "unknown"]
    entity_id: str | None = None
    old_signature: str | None = None
    new_signature: str | None = None
    old_name: str | None = Field(None, description="The dotted name before a rename or move.")
    old_path: str | None = Field(None, description="The file before a move.")
    start_line: int | None = Field(None, description="In the new state; in the old one for what was removed.")
    start_col: int | None = None
    end_line: int | None = None
    end_col: int | None = None
    lines_changed: int | None = None
    delta_tags: list[str] = Field(default_factory=list)
    change_preview: str | None = Field(None, description="The first changed lines.")
    impact: ImpactInfo | None = None


class StructuralChange(DefinitionChange):
    """One changed definition, with the changed ones inside it, at any depth."""

    nested_changes: list[DefinitionChange] = Field(default_factory=list)


class FileChangeInfo(Result):
    """A changed file whose definitions are the same, or that has none."""

    path: str
    status: str = Field(description="added, modified, deleted or renamed.")
    category: str = Field(description="prod, test, build, config or docs.")
    language: str | None = None
    old_path: str | None = None


class SemanticDiffResult(Result):
    """What changed; the pages together are the whole."""

    summary: str
    breaking_summary: str | None = None
    files_analyzed: int
    base: str
    target: str
    structural_changes: list[StructuralChange]
    non_structural_changes: list[FileChangeInfo]
    agentic_hint: str
    pagination: Pagination


def _effects(_workspace: Workspace, request: SemanticDiffRequest) -> Effects:
    return Effects(reads=tuple(RepoPath.parse(path) for path in request.paths))


def _handle(context: CallContext, request: SemanticDiffRequest) -> SemanticDiffResult:
    return structural_diff(context, request)


def structural_diff(context: CallContext, request: SemanticDiffRequest, *, staged: bool = False) -> SemanticDiffResult:
    """Compare two states and return one page of what changed; with `staged` the new side is git's index."""
    sides = _sides(context, request, staged=staged)
    paths = tuple(RepoPath.parse(path) for path in request.paths)
    read = read_sides(context.workspace, sides, paths)
    if context.position is None:
        spend_read_budget(context, sum(len(pair.new or b"") for pair in read.pairs) // 10)
    comparison = compare_files(read.pairs, context.check_cancelled)
    comparison = replace(comparison, files=_files(comparison, read))
    notes = [*read.notes, *comparison.notes]
    context.incomplete.extend(notes[:_MAX_NOTES])
    if len(notes) > _MAX_NOTES:
        context.incomplete.append(f"{len(notes) - _MAX_NOTES} more notes like these")
    with context.workspace.index.facts() as reader:
        return _Told(context, sides, comparison, reader).page()


def _sides(context: CallContext, request: SemanticDiffRequest, *, staged: bool) -> Sides:
    """Return what is compared; refs stay those of the first page, even if they moved since."""
    position = context.position
    if position is None or "base" not in position:
        return find_sides(context.workspace, request.base, request.target, staged=staged)
    target = position.oid("target") if "target" in position else None
    words = position.text("base_words"), position.text("target_words")
    return Sides(position.oid("base"), target, *words, staged=staged)


def _files(comparison: Comparison, read: ReadSides) -> tuple[FileChange, ...]:
    unread = [
        FileChange(pair.path, pair.status, category_of(pair.path), language_of(pair.path), pair.old_path)
        for pair in read.unread
    ]
    return tuple(sorted((*comparison.files, *unread), key=lambda one: one.path))


class _Told:
    """Makes the answer from a comparison: severity by what still refers to it, impacts, words, pages."""

    def __init__(self, context: CallContext, sides: Sides, comparison: Comparison, reader: FactReader) -> None:
        self._context = context
        self._sides = sides
        self._files = comparison.files
        self._n_files = comparison.n_files
        self._words: dict[str, set[str]] = {}
        self._radius = BlastRadius(reader, self._files_with)
        self._impacts: dict[int, Impact] = {}
        self._tests: dict[str, list[str]] = {}
        self._changes = comparison.changes
        if sides.is_current:
            self._changes = tuple(_with_remaining(self._radius, one) for one in comparison.changes)
        self._all = list(all_changes(self._changes))

    def _files_with(self, name: str) -> set[str]:
        if name not in self._words:
            state = self._context.workspace.index.state()
            self._words[name] = {hit.path for hit in find_lines(state, TextQuery(name, whole_word=True), None)}
        return self._words[name]

    def _impact_of(self, change: EntityChange) -> Impact:
        """Return who is affected; unknown for what the working tree does not have when other states are compared."""
        if id(change) not in self._impacts:
            self._context.check_cancelled()
            is_known = self._sides.is_current or (change.new is not None and self._radius.is_defined(change.new))
            self._impacts[id(change)] = self._radius.of(change) if is_known else Impact(UNKNOWN_BASIS)
        return self._impacts[id(change)]

    def _tests_of(self, path: str) -> list[str]:
        """Return the tests that depend on the changed definitions of a file."""
        if path not in self._tests:
            symbols = {one.entity.lexical_path for one in self._all if one.entity.path == path}
            found = self._context.workspace.index.affected_tests([path], {path: symbols})
            self._tests[path] = [match.path for match in found.matches[:_MAX_TESTS]]
        return self._tests[path]

    def page(self) -> SemanticDiffResult:
        """Return the next page."""
        sides, position = self._sides, self._context.position
        mark = digest([_row(one) for one in self._all] + [[one.path, one.status] for one in self._files])
        start = inside = 0
        if position is not None:
            start, inside = position.number("at"), position.number("inside")
            if position.text("digest") != mark:
                raise CodePlaneError("CURSOR_EXPIRED", "The compared content has changed since the first page.")
        structural, files, rest = self._cut(start, inside)
        return SemanticDiffResult(
            summary=self._summary(),
            breaking_summary=self._breaking_summary(),
            files_analyzed=self._n_files,
            base=sides.base_words,
            target=sides.target_words,
            structural_changes=structural,
            non_structural_changes=files,
            agentic_hint=self._hint(),
            pagination=Pagination(
                next_cursor=self._context.next_page(_rest(sides, mark, rest)) if rest is not None else None,
                total_estimate=len(self._all),
            ),
        )

    def _cut(
        self, start: int, inside: int
    ) -> tuple[list[StructuralChange], list[FileChangeInfo], tuple[int, int] | None]:
        """Return what fits on a page, and where the next one begins; a long type is continued there."""
        structural: list[StructuralChange] = []
        files: list[FileChangeInfo] = []
        room = _ROOM
        items: list[EntityChange | FileChange] = [*self._changes, *self._files]
        for at, item in enumerate(items[start:], start=start):
            if room < 0:
                return structural, files, (at, 0)
            if isinstance(item, FileChange):
                files.append(_file_info(item))
                room -= len(files[-1].model_dump_json(exclude_defaults=True))
                continue
            nested = list(_inside(item))
            first = inside if at == start else 0
            made: list[DefinitionChange] = []
            fields = self._fields(item, is_inside=False)
            room -= len(str(fields))
            while (room >= 0 or not made) and first + len(made) < len(nested):
                made.append(DefinitionChange(**self._fields(nested[first + len(made)], is_inside=True)))
                room -= len(made[-1].model_dump_json(exclude_defaults=True))
            structural.append(StructuralChange(**fields, nested_changes=made))
            if first + len(made) < len(nested):
                return structural, files, (at, first + len(made))
        return structural, files, None

    def _fields(self, change: EntityChange, *, is_inside: bool) -> dict[str, Any]:
        one, old, new = change.entity, change.old, change.new
        before = old if change.kind is ChangeKind.RENAMED else None
        is_short = is_inside and change.kind in {ChangeKind.ADDED, ChangeKind.REMOVED} and not change.is_breaking
        is_told = not is_short and change.tags[:1] not in _UNTOLD
        impact = self._impact_of(change) if is_told else None
        return {
            "path": printable_name(one.path),
            "kind": one.kind.label,
            "name": one.name,
            "qualified_name": one.lexical_path,
            "change": change.kind.value,
            "structural_severity": "breaking" if change.is_breaking else "non_breaking",
            "behavior_change_risk": change.risk.value,
            "entity_id": impact.uid or None if impact is not None else None,
            "old_signature": (old.signature or None) if old is not None else None,
            "new_signature": (new.signature or None) if new is not None else None,
            "old_name": before.lexical_path if before is not None else None,
            "old_path": before.path if before is not None and before.path != one.path else None,
            "start_line": one.first[0],
            "start_col": one.first[1],
            "end_line": one.last[0],
            "end_col": one.last[1],
            "lines_changed": change.lines_changed,
            "delta_tags": list(change.tags),
            "change_preview": change.preview or None,
            "impact": self._impact(change, impact) if impact is not None else None,
        }

    def _impact(self, change: EntityChange, impact: Impact) -> ImpactInfo:
        one = change.entity
        is_static = "static" in one.head.split() or "staticmethod" in one.decorators or "static" in one.decorators
        if impact.basis == UNKNOWN_BASIS:
            return ImpactInfo(
                reference_basis="unknown", confidence="low", visibility=one.visibility.value, is_static=is_static
            )
        tests = list(dict.fromkeys([*impact.tests, *self._tests_of(one.path)]))[:_MAX_TESTS]
        return ImpactInfo(
            reference_count=impact.total,
            ref_tiers=RefTiers(**dict(zip(("proven", "strong", "anchored", "unknown"), impact.tiers, strict=True))),
            reference_basis=impact.basis,
            referencing_files=list(impact.files),
            importing_files=list(impact.importing),
            affected_test_files=tests,
            confidence="high" if impact.basis == "ref_facts_resolved" else "low",
            visibility=one.visibility.value,
            is_static=is_static,
        )

    def _summary(self) -> str:
        counts = Counter(one.kind for one in self._all)
        parts = [f"{counts[kind]} {words}" for kind, words in _WORDS.items() if counts[kind]]
        n_files = len(self._files)
        if n_files:
            parts.append(f"{counted(n_files, 'file')} without structural changes")
        return ", ".join(parts) or "no changes"

    def _breaking_summary(self) -> str | None:
        names = [one.entity.lexical_path for one in self._all if one.is_breaking]
        if not names:
            return None
        return f"{counted(len(names), 'breaking change')}: {_some(names)}"

    def _hint(self) -> str:
        """Return what to do, the most urgent first; computed from all changes."""
        lines: list[str] = []
        changed = [one for one in self._all if one.kind is ChangeKind.SIGNATURE_CHANGED]
        changed.sort(key=lambda one: not one.is_breaking)
        broken = [one for one in changed[:_MAX_IMPACTS] if self._impact_of(one).total]
        broken.sort(key=lambda one: (not one.is_breaking, -self._impact_of(one).total))
        lines += [
            f"Check the callers of {one.entity.lexical_path}: {self._references(one)}." for one in broken[:_SHOWN_NAMES]
        ]
        lines += _more(broken, "signature change")
        gone = [one for one in self._all if one.kind in {ChangeKind.REMOVED, ChangeKind.RENAMED} and one.is_breaking]
        for one in gone[:_SHOWN_NAMES]:
            what = f"{_old_name(one)} is {'gone' if one.new is None else f'now {one.entity.lexical_path}'}"
            lines.append(f"{what}: {self._references(one)}.")
        lines += _more(gone, "removal or rename")
        risky = [one for one in self._all if one.kind is ChangeKind.BODY_CHANGED and one.risk is Risk.HIGH]
        if risky:
            lines.append(f"Review behaviour (high risk): {_some([one.entity.lexical_path for one in risky])}.")
        tests = self._all_tests()
        if tests:
            lines.append(f"Run the affected tests: {_some(tests)}.")
        # The overloads of a function say the same.
        told = dict.fromkeys(lines)
        return "\n".join(f"{number}. {line}" for number, line in enumerate(told, start=1)) or "Nothing to do."

    def _all_tests(self) -> list[str]:
        """Return the tests that depend on anything that changed, the surest first."""
        symbols: dict[str, set[str]] = {}
        for one in self._all:
            if one.kind is not ChangeKind.ADDED:
                symbols.setdefault(one.entity.path, set()).add(one.entity.lexical_path)
        found = self._context.workspace.index.affected_tests(symbols, symbols)
        return [match.path for match in found.matches if is_test_file(match.path)]

    def _references(self, change: EntityChange) -> str:
        impact = self._impact_of(change)
        if impact.basis == UNKNOWN_BASIS:
            return "references unknown"
        words = ("proven", "strong", "anchored", "unresolved")
        tiers = [f"{count} {word}" for count, word in zip(impact.tiers, words, strict=True) if count]
        inside = f" ({', '.join(tiers)})" if tiers else ""
        return f"{counted(impact.total, 'reference')}{inside} in {counted(impact.n_files, 'file')}"


def _with_remaining(radius: BlastRadius, change: EntityChange) -> EntityChange:
    """Return a change that is breaking because other files still use what was removed, although it was private."""
    nested = tuple(_with_remaining(radius, one) for one in change.nested)
    is_gone = change.kind in {ChangeKind.REMOVED, ChangeKind.RENAMED} and "reexported" not in change.tags
    if change.old is None or not is_gone or change.is_breaking or change.old.container:
        return replace(change, nested=nested) if nested else change
    if change.new is not None and change.new.name == change.old.name:
        return replace(change, nested=nested)
    remains = radius.remains_outside(change.old)
    tags = (*change.tags, "references_remain") if remains else change.tags
    return replace(change, is_breaking=remains, tags=tags, nested=nested)


def _inside(change: EntityChange) -> Iterator[EntityChange]:
    for one in change.nested:
        if MEMBERS_CHANGED not in one.tags:
            yield one
        yield from _inside(one)


def _row(change: EntityChange) -> list[Any]:
    return [change.entity.path, change.entity.lexical_path, change.kind.value, change.entity.start, *change.tags]


def _rest(sides: Sides, mark: str, place: tuple[int, int]) -> dict[str, Any]:
    rest: dict[str, Any] = {"digest": mark, "at": place[0], "inside": place[1]}
    if sides.epochs is None:
        words = {"base_words": sides.base_words, "target_words": sides.target_words}
        rest |= {"base": sides.base, "target": sides.target, **words}
    return rest


def _file_info(file: FileChange) -> FileChangeInfo:
    language = file.language if file.language not in {"", UNKNOWN} else None
    return FileChangeInfo(
        path=printable_name(file.path), status=file.status, category=file.category, language=language,
        old_path=file.old_path,
    )  # fmt: skip


def _old_name(change: EntityChange) -> str:
    return change.old.lexical_path if change.old is not None else ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(dict.fromkeys(names[:_SHOWN_NAMES]))
    rest = len(names) - _SHOWN_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


def _more(changes: Sequence[EntityChange], words: str) -> list[str]:
    rest = len(changes) - _SHOWN_NAMES
    return [f"{counted(rest, f'more {words}')}."] if rest > 0 else []


def render_structural(result: SemanticDiffResult) -> str:
    """Return the short text: what breaks first, one line per definition, then what to do."""
    lines = [f"{result.base} -> {result.target}: {result.summary}"]
    if result.breaking_summary:
        lines.append(result.breaking_summary)
    shown = [line for change in result.structural_changes for line in _change_lines(change)]
    lines += shown[:_SHOWN_LINES]
    if len(shown) > _SHOWN_LINES:
        lines.append(f" and {len(shown) - _SHOWN_LINES} more on this page (full profile or --json shows all)")
    others = [f"{one.path} ({one.status})" for one in result.non_structural_changes]
    if others:
        lines.append(f"other files: {_some(others)}")
    if result.agentic_hint != "Nothing to do.":
        lines += result.agentic_hint.split("\n")
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


def _change_lines(change: StructuralChange) -> Iterator[str]:
    is_whole = change.change in {"added", "removed"}
    if MEMBERS_CHANGED not in change.delta_tags:
        yield _change_line(change)
    if not is_whole:
        yield from map(_change_line, change.nested_changes)


def _change_line(change: DefinitionChange) -> str:
    mark = "!" if change.structural_severity == "breaking" else " "
    tags = ", ".join(tag for tag in change.delta_tags if tag not in _PLAIN_TAGS)
    was = f" (was {change.old_path or ''}{'::' if change.old_path else ''}{change.old_name})" if change.old_name else ""
    words = f" [{tags}]" if tags else ""
    references = change.impact.reference_count if change.impact is not None else None
    used = f" {counted(references, 'reference')}" if references else ""
    return f"{mark}{change.change} {change.qualified_name} {change.path}:{change.start_line}{was}{words}{used}"


_PLAIN_TAGS: Final = frozenset(
    {"symbol_added", "symbol_removed", "symbol_renamed", "signature_changed", "minor_change"}
)

SEMANTIC_DIFF = Operation(
    name=NAME,
    family="git",
    summary="Changed definitions between two states: what breaks, who is affected.",
    request_type=SemanticDiffRequest,
    result_type=SemanticDiffResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=render_structural,
    when_to_use=(
        "You want to know what a change means: removed, renamed or incompatible definitions and their callers.",
        "You review a branch or your own edits before a commit.",
    ),
    when_not_to_use=("You want to see the changed lines: use git_diff.",),
    examples=(
        Example("What the working tree changes since the last commit", {}),
        Example("What a branch changes in one directory", {"base": "main", "target": "feature", "paths": ["src"]}),
        Example("What changed between two states of the index", {"base": "epoch:3", "target": "epoch:5"}),
    ),
    reads_index=True,
)
