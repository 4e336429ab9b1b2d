"""Paths and refs from callers of git tools: parsed and checked once."""

import os
from collections.abc import Iterable
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.protection import is_protected
from codeplane.git.repository import read_branch
from codeplane.git.staging import check_known
from codeplane.index.ignore_rules import matcher_for
from codeplane.index.near_names import near_paths
from codeplane.workspace.workspace import Workspace

_PRIVATE = (".git", ".codeplane")


def named_paths(texts: Iterable[str]) -> tuple[RepoPath, ...]:
    """Return paths that may be staged, committed and compared: all but git's and CodePlane's own.

    Raises:
        CodePlaneError: PROTECTED_PATH, PATH_OUTSIDE_REPOSITORY, PATH_INVALID.
    """
    paths = tuple(dict.fromkeys(RepoPath.parse(text) for text in texts))
    for path in paths:
        if any(part.lower() == ".git" for part in path.parts) or (path.parts and path.parts[0].lower() in _PRIVATE):
            raise _protected(path)
    return paths


def check_may_write(workspace: Workspace, paths: Iterable[RepoPath]) -> None:
    """Refuse files that no tool may change, before git restores them.

    Raises:
        CodePlaneError: PROTECTED_PATH, SCOPE_VIOLATION.
    """
    allowed = [part.strip() for part in workspace.settings.edits.allowed.split(",") if part.strip()]
    matchers = [matcher_for(pattern) for pattern in allowed]
    for path in paths:
        if is_protected(path):
            raise _protected(path)
        if not any(matches(path.text) for matches in matchers):
            raise CodePlaneError(
                "SCOPE_VIOLATION",
                f"{path} is outside the paths that tools may change here: {', '.join(allowed) or 'nothing'}.",
                hint="A person can extend `edits.allowed`.",
                details={"path": path.text, "allowed": allowed},
            )


def parsed_names(names: Iterable[str]) -> tuple[RepoPath, ...]:
    """Return git's names as paths, including those that no caller could send."""
    return tuple(RepoPath.known(name) for name in dict.fromkeys(names))


def path_in_tree(root: Path, place: Path) -> RepoPath | None:
    """Return a file-system path as a path of the tree, symlinks followed; None when it is outside."""
    real, real_root = os.path.realpath(place), os.path.realpath(root)
    inside = os.path.relpath(real, real_root)
    return None if inside == ".." or inside.startswith("../") else RepoPath.known(inside)


def known_paths(workspace: Workspace, texts: Iterable[str]) -> tuple[RepoPath, ...]:
    """Return the paths of a request; each is in the working tree or known to git.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN with the files that were probably meant.
    """
    paths = named_paths(texts)
    try:
        check_known(workspace.root, paths)
    except CodePlaneError as error:
        raise with_near_names(workspace, error) from error
    return paths


def current_ref(workspace: Workspace) -> str:
    """Return the full name of the ref that a commit would move: the branch's, or HEAD when that is detached."""
    branch = read_branch(workspace.repository)
    return f"refs/heads/{branch}" if branch is not None else "HEAD"


def with_near_names(workspace: Workspace, error: CodePlaneError) -> CodePlaneError:
    """Return GIT_PATH_UNKNOWN with the tracked files that were probably meant; any other error as it is."""
    wanted = error.details.get("path")
    if error.code != "GIT_PATH_UNKNOWN" or not isinstance(wanted, str):
        return error
    near = near_paths(wanted, workspace.tracked().files)
    if not near:
        return error
    hint = "Did you mean " + " or ".join(f"`{path}`" for path in near) + "?"
    return CodePlaneError(error.code, error.message, hint=hint, details={**error.details, "nearest": near})


def _protected(path: RepoPath) -> CodePlaneError:
    message = f"{path} belongs to CodePlane, git or an agent's configuration; tools cannot change it."
    return CodePlaneError("PROTECTED_PATH", message, details={"path": path.text})
