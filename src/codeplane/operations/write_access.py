"""Write access: the one check before every change of the working tree."""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, repo_path_of
from codeplane.edit.protection import is_protected
from codeplane.git.ignored import ignored_paths
from codeplane.index.ignore_rules import RuleKind, matcher_for
from codeplane.index.source_text import locate
from codeplane.workspace.workspace import Workspace

_REFUSALS = {
    errno.ENOSPC: "DISK_FULL",
    errno.EDQUOT: "DISK_FULL",
    errno.EACCES: "PERMISSION_DENIED",
    errno.EPERM: "PERMISSION_DENIED",
    errno.EROFS: "PERMISSION_DENIED",
    errno.ENOTDIR: "NOT_A_DIRECTORY",
    errno.ELOOP: "NOT_A_DIRECTORY",
}


@dataclass(frozen=True, slots=True)
class WritablePath:
    """A requested path, and the real file behind it."""

    asked: RepoPath
    real: RepoPath


def writable(workspace: Workspace, text: str, *, follow: bool) -> WritablePath:
    """Return where a change goes; with `follow` a symlink inside the tree means its target.

    Raises:
        CodePlaneError: PROTECTED_PATH, SECRET_FILE, FILE_IGNORED, SCOPE_VIOLATION for what the settings do not allow,
            and errors for paths outside this tree.
    """
    asked = RepoPath.parse(text)
    if asked == RepoPath.ROOT:
        raise CodePlaneError("NOT_A_FILE", "The repository root is not a file.", details={"path": text})
    root = workspace.root
    directory = repo_path_of(root, locate(root, asked.parent))
    real = repo_path_of(root, locate(root, asked)) if follow else directory.joined(asked.name)
    for path in {asked, real}:
        if is_protected(path):
            raise CodePlaneError(
                "PROTECTED_PATH",
                f"{path} belongs to CodePlane, git or an agent's configuration; tools cannot change it.",
                details={"path": asked.text},
            )
        rule = workspace.ignore_rules().block(path, is_directory=False)
        if rule is not None:
            code = "SECRET_FILE" if rule.kind is RuleKind.SECRET else "FILE_IGNORED"
            message = f"{path} is excluded by the rule `{rule.line}` ({rule.source})."
            raise CodePlaneError(code, message, details={"path": asked.text, "rule": rule.line, "source": rule.source})
    allowed = [part.strip() for part in workspace.settings.edits.allowed.split(",") if part.strip()]
    if not any(matcher_for(pattern)(real.text) for pattern in allowed):
        raise CodePlaneError(
            "SCOPE_VIOLATION",
            f"{real} is outside the paths that tools may change here: {', '.join(allowed) or 'nothing'}.",
            hint="A person can extend `edits.allowed`.",
            details={"path": asked.text, "allowed": allowed},
        )
    return WritablePath(asked, real)


def check_not_ignored(workspace: Workspace, paths: Iterable[RepoPath], *, allow_ignored: bool) -> None:
    """Refuse ignored files unless the caller allows them.

    Raises:
        CodePlaneError: FILE_IGNORED.
    """
    if allow_ignored:
        return
    tracked = workspace.tracked().files
    unknown = [path.text for path in paths if path.text not in tracked]
    ignored = sorted(ignored_paths(workspace.root, unknown))
    if ignored:
        raise CodePlaneError(
            "FILE_IGNORED",
            f"git ignores {', '.join(ignored[:5])}: the change would appear in no diff.",
            hint="Send `allow_ignored: true` to change it anyway.",
            details={"paths": ignored},
        )


def write_refused(error: OSError) -> CodePlaneError:
    """Return the error for a write that the system refused."""
    code = _REFUSALS.get(error.errno or 0, "FILE_WRITE_FAILED")
    where = f" ({error.filename})" if isinstance(error.filename, str) and not error.filename.startswith("/") else ""
    return CodePlaneError(code, f"Nothing was changed: {error.strerror or error}{where}.")


def has_name_of_other_case(workspace: Workspace, path: RepoPath) -> str | None:
    """Return a sibling whose name differs from a path's in case only."""
    try:
        names = os.listdir(workspace.root / path.parent.text)  # noqa: PTH208 - names are wanted
    except OSError:
        return None
    return next((name for name in sorted(names) if name != path.name and name.casefold() == path.name.casefold()), None)
