"""Workspace files decide which packages below them take part; the others are detached."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.gradle_settings import read_gradle_settings
from codeplane.index.contexts.markers import MARKER_ROWS, Marker
from codeplane.index.contexts.model import Candidate, ContextProblem
from codeplane.index.contexts.nesting import Nesting, directory_text, relative_text
from codeplane.index.contexts.workspace_files import (
    LISTS_EVERYTHING,
    Reading,
    WorkspaceList,
    read_cargo_toml,
    read_go_work,
    read_package_json,
    read_pnpm_workspace,
)

MAX_CHARACTERS = 1_000_000
_READERS: Mapping[str, Callable[[str], Reading]] = MappingProxyType(
    {
        "Cargo.toml": read_cargo_toml,
        "go.work": read_go_work,
        "package.json": read_package_json,
        "pnpm-workspace.yaml": read_pnpm_workspace,
        "settings.gradle": read_gradle_settings,
        "settings.gradle.kts": read_gradle_settings,
    }
)
# These files may be workspaces or not; when they cannot be read, they are taken for plain packages.
_MAYBE_WORKSPACES = frozenset(row.declaring for row in MARKER_ROWS if row.declaring)


@dataclass(frozen=True, slots=True)
class Fence:
    """A workspace file that has authority over the packages of its family at and below its directory."""

    marker: Marker
    workspace: WorkspaceList


@dataclass(frozen=True, slots=True)
class FenceReading:
    """The fences of a tree and the workspace files that could not be understood."""

    fences: tuple[Fence, ...]
    problems: tuple[ContextProblem, ...]


def read_fences(markers: Iterable[Marker], read_text: Callable[[RepoPath], str | None]) -> FenceReading:
    """Read the workspace files among the markers; never raises, whatever they hold."""
    fences: list[Fence] = []
    problems: list[ContextProblem] = []
    for marker in markers:
        reader = _READERS.get(marker.path.name)
        if reader is None:
            continue
        reading = _read(marker.path, reader, read_text)
        if reading.workspace is not None:
            fences.append(Fence(marker, reading.workspace))
        if reading.problem:
            problems.append(ContextProblem(marker.path, reading.problem))
    return FenceReading(tuple(fences), tuple(problems))


def detach_unlisted(candidates: Iterable[Candidate], fences: Iterable[Fence]) -> tuple[Candidate, ...]:
    """Return the candidates, with the packages detached that the closest fence at or above them does not list.

    Candidates without a package marker are not the fences' business. A lock file gives a package no standing of its
    own. Two workspace files in the same directory list what either of them lists.
    """
    at_roots: dict[str, dict[str, list[Fence]]] = {}
    for fence in fences:
        by_root = at_roots.setdefault(fence.marker.family, {})
        by_root.setdefault(directory_text(fence.marker.root), []).append(fence)
    nestings = {family: Nesting(by_root) for family, by_root in at_roots.items()}
    return tuple(_judged(candidate, nestings.get(candidate.family)) for candidate in candidates)


def _judged(candidate: Candidate, nesting: Nesting[list[Fence]] | None) -> Candidate:
    if nesting is None or not candidate.is_package:
        return candidate
    directory = directory_text(candidate.root)
    governing = next(iter(nesting.at_or_above(directory)), ())
    for fence in governing:
        if fence.workspace.lists(relative_text(directory, directory_text(fence.marker.root))):
            return candidate
    if not governing:
        return candidate
    sources = " or ".join(f"`{fence.marker.path}`" for fence in governing)
    return replace(candidate, detached=f"It is not listed in {sources}.")


def _read(path: RepoPath, reader: Callable[[str], Reading], read_text: Callable[[RepoPath], str | None]) -> Reading:
    unknown = None if path.name in _MAYBE_WORKSPACES else LISTS_EVERYTHING
    text = read_text(path)
    if text is None:
        return Reading(unknown, "It could not be read.")
    if len(text) > MAX_CHARACTERS:
        return Reading(unknown, f"It is longer than {MAX_CHARACTERS} characters and was not read.")
    return reader(text.removeprefix("\ufeff"))
