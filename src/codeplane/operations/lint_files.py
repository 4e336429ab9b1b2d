"""Which files are linted, which of their lines are new, and the project as linters see it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.git.contents import read_blobs
from codeplane.git.differences import Comparison, list_changes
from codeplane.index.facts.encoded import MAX_SOURCE_BYTES
from codeplane.index.ignore_rules import matcher_for
from codeplane.index.tree_reader import TreeReader
from codeplane.lint.discovery import Project
from codeplane.lint.running import changed_lines
from codeplane.operations.compared_states import find_sides
from codeplane.operations.file_access import check_readable, with_near_paths
from codeplane.operations.operation import CallContext
from codeplane.workspace.workspace import Workspace

MAX_FILES: Final = 2_000
_REGULAR: Final = "10"


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The files to look at, and the lines of each that HEAD does not have; None for a file that is new."""

    paths: tuple[str, ...]
    new_lines: dict[str, frozenset[int] | None]


def project_of(workspace: Workspace) -> Project:
    """Return the working tree as linters see it."""
    files = {*workspace.tracked().files, *workspace.new_files()}

    def read(path: str) -> str | None:
        with TreeReader(workspace.root, MAX_SOURCE_BYTES) as reader:
            data, _ = reader.read(path)
        return data.decode("utf-8", "replace") if data is not None else None

    cache = str(workspace.places.private / "lint")
    return Project(
        workspace.root, sorted(files), read, workspace.settings.lint, cache, os.environ.get("PATH", os.defpath)
    )


def choose_files(context: CallContext, project: Project, patterns: Sequence[str]) -> ChosenFiles:
    """Return the files that differ from HEAD, or those that paths, directories and globs name.

    Raises:
        CodePlaneError: FILE_NOT_FOUND for a path or glob that fits no file; git failed.
    """
    workspace = context.workspace
    base = find_sides(workspace, "HEAD", None).base
    changed: dict[str, str | None] = dict.fromkeys(workspace.new_files())
    for one in list_changes(workspace.root, Comparison(base)):
        if one.status != "deleted" and one.new_mode.startswith(_REGULAR):
            changed[one.path] = one.old_oid
    wanted = _named(workspace, project, patterns) if patterns else sorted(changed)
    readable = [path for path in wanted if _is_readable(context, path)]
    if len(readable) > MAX_FILES:
        context.incomplete.append(f"{counted(len(readable) - MAX_FILES, 'file')} not checked: {MAX_FILES} at once")
    paths = tuple(readable[:MAX_FILES])
    return ChosenFiles(paths, _new_lines(workspace, {path: changed[path] for path in paths if path in changed}))


def _named(workspace: Workspace, project: Project, patterns: Sequence[str]) -> list[str]:
    found: set[str] = set()
    for pattern in patterns:
        below = "" if pattern.rstrip("/") in {"", "."} else f"{pattern.rstrip('/')}/"
        fits = {path for path in project.files if path == pattern or path.startswith(below)}
        if not fits and any(mark in pattern for mark in "*?["):
            matches = matcher_for(pattern)
            fits = {path for path in project.files if matches(path)}
        if not fits:
            RepoPath.parse(pattern)
            missing = CodePlaneError("FILE_NOT_FOUND", f"No file fits `{pattern[:120]}`.", details={"path": pattern})
            raise with_near_paths(workspace, pattern, missing)
        found |= fits
    return sorted(found)


def _is_readable(context: CallContext, path: str) -> bool:
    """Tell whether a file may be shown to a linter; what is withheld is said."""
    place = context.workspace.root / path
    if place.is_symlink() or not place.is_file():
        return False
    try:
        check_readable(context.workspace.ignore_rules(), RepoPath.known(path))
    except CodePlaneError as error:
        context.incomplete.append(error.message)
        return False
    return True


def _new_lines(workspace: Workspace, changed: dict[str, str | None]) -> dict[str, frozenset[int] | None]:
    blobs = read_blobs(workspace.root, [oid for oid in changed.values() if oid is not None], MAX_SOURCE_BYTES)
    found: dict[str, frozenset[int] | None] = {}
    with TreeReader(workspace.root, MAX_SOURCE_BYTES) as reader:
        for path, oid in changed.items():
            data, _ = reader.read(path)
            is_known = oid is not None and oid in blobs
            found[path] = changed_lines(blobs[oid], data or b"") if oid is not None and is_known else None
    return found
