"""Everything about a repository that undo has to restore, and a toy that runs any git commands through the door."""

import os
from pathlib import Path
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import change_git
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from support.repositories import git

_SKIPPED = (".git", ".codeplane")


def whole_state(root: Path) -> dict[str, Any]:
    """Return refs, HEAD, index, stash, what is in progress, and every working file with its mode."""
    files = {}
    for directory, names, leaves in os.walk(root):
        names[:] = [name for name in names if not (Path(directory) == root and name in _SKIPPED)]
        links = [name for name in names if (Path(directory) / name).is_symlink()]
        for name in [*leaves, *links]:
            path = Path(directory) / name
            is_link = path.is_symlink()
            content = path.readlink() if is_link else path.read_bytes()
            files[path.relative_to(root).as_posix()] = (content, 0 if is_link else path.stat().st_mode & 0o777)
    git_dir = root / ".git"
    marks = ("MERGE_HEAD", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
    return {
        "refs": [line for line in git(root, "for-each-ref").splitlines() if "refs/codeplane/" not in line],
        "head": (git_dir / "HEAD").read_text(encoding="utf-8"),
        "index": git(root, "ls-files", "-s"),
        "stash": git(root, "stash", "list"),
        "status": git(root, "status", "--porcelain=v2", "--branch"),
        "progress": [name for name in marks if (git_dir / name).exists()],
        "config": (git_dir / "config").read_text(encoding="utf-8"),
        "files": files,
    }


class ToyGitRequest(Request):
    """Git commands, which of them may fail, and what they are known to touch."""

    commands: list[list[str]]
    may_fail: bool = False
    touched: tuple[str, ...] = ()
    then_fail: bool = False


class ToyGitResult(Result):
    """What came of it."""

    delta: GitDelta | None = None


def _run(context: CallContext, request: ToyGitRequest) -> ToyGitResult:
    for arguments in request.commands:
        identity = ("-c", "user.name=Toy", "-c", "user.email=toy@example.invalid")
        result = change_git(context.workspace.root, *identity, *arguments)
        if result.returncode and not request.may_fail:
            raise CodePlaneError("GIT_FAILED", result.stderr_text)
    if request.then_fail:
        raise CodePlaneError("GIT_FAILED", "The toy was told to fail.")
    return ToyGitResult()


TOY_GIT: Operation[ToyGitRequest, ToyGitResult] = Operation(
    name="toy_git",
    family="toys",
    summary="Run git commands.",
    request_type=ToyGitRequest,
    result_type=ToyGitResult,
    effect=EffectClass.WRITE,
    plan=planned(
        _run,
        lambda _workspace, request: Effects(
            writes=tuple(RepoPath.parse(path) for path in request.touched), destructive=True
        ),
    ),
    complete=add_delta,
    render=lambda result: "\n".join(render_delta(result.delta)),
    when_to_use=("In tests.",),
    when_not_to_use=("Elsewhere.",),
    examples=(Example("Run", {"commands": [["status"]]}),),
    snapshots=True,
)
