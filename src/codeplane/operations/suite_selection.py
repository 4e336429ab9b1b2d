"""Which test targets a call means: all of them, those that a change affects, or those it names."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.diff.model import FilePair
from codeplane.edit.protection import is_protected_name
from codeplane.git.status import read_status
from codeplane.index.impact import HIGH, AffectedTests, Evidence, MatchedTest
from codeplane.languages.catalog import language_of
from codeplane.operations.compared_states import find_sides, read_sides
from codeplane.operations.edited_symbols import changed_symbols, is_same_outside_definitions
from codeplane.operations.models import Result
from codeplane.operations.operation import CallContext
from codeplane.operations.suite_coverage import coverage_book
from codeplane.testrun.costs import CostBook
from codeplane.testrun.discovery import Discovered, Discovery, covering
from codeplane.testrun.model import Target
from codeplane.testrun.runners.catalog import find_runner
from codeplane.workspace.workspace import Workspace

Tier = Literal["direct", "references", "imports"]
_SHOWN: Final = 20
_SHOWN_DEFINITIONS: Final = 5
_COSTS_FILE: Final = "test-costs.json"


@dataclass(frozen=True, slots=True)
class Selected:
    """Targets that a change affects, each with the surest match that tells why, and what the index said.

    `files` are all affected test files of a target: a package of Go has several.
    """

    matches: Mapping[str, MatchedTest]
    affected: AffectedTests
    changed: tuple[str, ...]
    without_target: tuple[str, ...] = ()
    symbols: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[MatchedTest]] = field(default_factory=dict)

    def changed_definitions(self, match: MatchedTest) -> list[str]:
        """Return the definitions that changed in the file from which a test is reached."""
        known = (path for path in self.symbols if path == match.path or f" {path}" in match.reason)
        return [f"{path}::{name}" for path in known for name in self.symbols[path]][:_SHOWN_DEFINITIONS]


class SelectionInfo(Result):
    """How targets were selected from changed files."""

    changed_files: int
    confidence: Literal["complete", "partial"] = Field(description="Partial when some dependency cannot be followed.")
    direct: int = Field(description="Targets that use a changed file or changed themselves.")
    references: int = Field(description="Targets that are reached through references of other files.")
    imports: int = Field(description="Targets that are reached through imports only: low confidence.")
    unresolved_files: list[str] = Field(default_factory=list, description="Changed files without a module; at most 20.")
    unknown_hops: list[str] = Field(default_factory=list, description="Dependencies that are not known; at most 20.")


@dataclass(slots=True)
class Suite:
    """The targets of a workspace, found once per call."""

    context: CallContext
    found: Discovered = field(default_factory=Discovered)

    def select(self, affected_by: Sequence[str] | None) -> Selected:
        """Return the targets that files affect; without files, what differs from HEAD.

        Raises:
            CodePlaneError: a path is not one of the repository's; git failed.
        """
        changed = changed_files(self.context) if affected_by is None else _given(self.context, affected_by)
        pairs = _changed_pairs(self.context, changed)
        symbols = {one.path: names for one in pairs if (names := changed_symbols(one.path, one.old, one.new))}
        only = {
            one.path: symbols[one.path]
            for one in pairs
            if one.path in symbols and is_same_outside_definitions(one.path, one.old, one.new)
        }
        ran = coverage_book(self.context.workspace).lines()
        covered = {one.path: ran[one.target_id] for one in self.found.targets if one.target_id in ran}
        evidence = Evidence(only, covered, frozenset(one.path for one in self.found.targets))
        affected = self.context.workspace.index.affected_tests(changed, symbols, evidence)
        matches: dict[str, MatchedTest] = {}
        files: dict[str, list[MatchedTest]] = {}
        lost = []
        by_path = self.found.by_path()
        for match in affected.matches:
            targets = covering(by_path, match.path)
            if not targets:
                lost.append(match.path)
            for target in targets:
                matches.setdefault(target.target_id, match)
                files.setdefault(target.target_id, []).append(match)
        for path in changed:
            for target in _holding(by_path, path):
                matches.setdefault(target.target_id, MatchedTest(path, HIGH, f"{path} changed in it", ()))
        return Selected(matches, affected, tuple(changed), tuple(lost), symbols, files)


def _holding(by_path: Mapping[str, list[Target]], path: str) -> list[Target]:
    """Return targets that are directories of code and hold a changed file, as packages of Go do."""
    language = language_of(path)
    return [
        one
        for one in covering(by_path, path)
        if one.path == path or ((runner := find_runner(one.runner)) is not None and language in runner.languages)
    ]


def suite_of(context: CallContext) -> Suite:
    """Find the targets of the repository, with what they cost in earlier runs."""
    workspace = context.workspace
    state = workspace.index.state()
    ignored = workspace.ignored_files(state)
    files = [(path, one.language) for path, one in state.files.items() if path not in ignored]
    with workspace.index.facts() as reader:

        def text_of(path: str) -> str:
            file = reader.file_at(path)
            return reader.text(file).decode("utf-8", "replace") if file is not None and file.text_id is not None else ""

        found = Discovery(workspace.root, workspace.settings.tests, text_of, files).find()
    return Suite(context, Discovered(costs_of(workspace).priced(found.targets), found.uses))


def costs_of(workspace: Workspace) -> CostBook:
    """Return what is known of earlier durations."""
    return CostBook(workspace.places.private / _COSTS_FILE)


def changed_files(context: CallContext) -> list[str]:
    """Return what differs from HEAD: staged, changed and new files, and the old names of moved ones.

    The files of CodePlane and the settings of agents are left out: `cpl init` would make every selection partial.
    """
    status = read_status(context.workspace.repository)
    changes = (*status.staged, *status.modified)
    paths = {
        *(one.path for one in changes),
        *(one.old_path for one in changes if one.old_path is not None),
        *(one.path for one in status.conflicts),
        *context.workspace.new_files(),
    }
    return sorted(path for path in paths if not is_protected_name(path))


def tier_of(match: MatchedTest) -> Tier:
    """Return how a test is reached."""
    if match.confidence != HIGH:
        return "imports"
    return "direct" if match.distance <= 1 else "references"


def selection_info(selected: Selected) -> SelectionInfo:
    """Return how a selection was made, for an answer."""
    tiers = Counter(tier_of(match) for match in selected.matches.values())
    return SelectionInfo(
        changed_files=len(selected.changed),
        confidence="complete" if selected.affected.confidence == "complete" else "partial",
        direct=tiers["direct"],
        references=tiers["references"],
        imports=tiers["imports"],
        unresolved_files=list(selected.affected.unresolved_files[:_SHOWN]),
        unknown_hops=list(selected.affected.unknown_hops[:_SHOWN]),
    )


def selection_words(info: SelectionInfo) -> str:
    """Return a selection in one line."""
    return f"affected by {counted(info.changed_files, 'changed file')}, {info.confidence}"


def _given(context: CallContext, paths: Iterable[str]) -> list[str]:
    """Return the named files; a name of nothing must not look like a change that affects no test."""
    given = sorted({RepoPath.parse(path).text for path in paths})
    missing = [path for path in given if not os.path.lexists(context.workspace.root / path)]
    unknown = sorted(set(missing) - set(changed_files(context))) if missing else []
    if unknown and len(unknown) == len(given):
        message = f"There is no file {unknown[0]}, and none that was deleted since HEAD."
        raise CodePlaneError("FILE_NOT_FOUND", message, hint="Name changed files, or none for what differs from HEAD.")
    context.warnings.extend(f"there is no file {path}; it is not counted as changed" for path in unknown[:3])
    return [path for path in given if path not in unknown]


def _changed_pairs(context: CallContext, changed: Sequence[str]) -> list[FilePair]:
    """Return both versions of the changed files that differ from HEAD, as far as they can be read."""
    wanted = set(changed)
    try:
        sides = read_sides(context.workspace, find_sides(context.workspace, "HEAD", None), ())
    except CodePlaneError as error:
        context.warnings.append(f"changed definitions are not known: {error.message}")
        return []
    return [one for one in sides.pairs if one.path in wanted]
