"""Workspace files decide which packages below them take part; the others are detached."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.gradle_settings import read_gradle_settings
from codeplane.index.contexts.markers import MARKER_ROWS, Marker
from codeplane.index.contexts.model import Candidate
from codeplane.index.contexts.nesting import Nesting, directory_text, relative_text
from codeplane.index.contexts.workspace_files import (
    LISTS_EVERYTHING,
    WorkspaceList,
    read_cargo_toml,
    read_go_work,
    read_package_json,
    read_pnpm_workspace,
)

MAX_CHARACTERS = 1_000_000
_Reader = Callable[[str], WorkspaceList | None]
_READERS: Mapping[str, _Reader] = MappingProxyType(
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


def read_fences(markers: Iterable[Marker], read_text: Callable[[RepoPath], str | None]) -> tuple[Fence, ...]:
    """Return the workspace files among the markers that declare a list; never raises, whatever they hold."""
    found = []
    for marker in markers:
        reader = _READERS.get(marker.path.name)
        workspace = _read(marker.path, reader, read_text) if reader is not None else None
        if workspace is not None:
            found.append(Fence(marker, workspace))
    return tuple(found)


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


def _read(path: RepoPath, reader: _Reader, read_text: Callable[[RepoPath], str | None]) -> WorkspaceList | None:
    text = read_text(path)
    if text is None or len(text) > MAX_CHARACTERS:
        return None if path.name in _MAYBE_WORKSPACES else LISTS_EVERYTHING
    return reader(text.removeprefix("\ufeff"))
