"""Create commits as a person would: hooks, identity and signing are git's own."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions, ask_git
from codeplane.git.hooks import HookedResult, change_with_hooks, check_hooked
from codeplane.git.pathspecs import pathspecs
from codeplane.git.repo_version import head_commit
from codeplane.git.repository import Repository, run_git
from codeplane.git.staging import staged_paths

# A hook may run a whole test suite.
COMMIT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Author:
    """Whose work a commit is."""

    name: str
    email: str

    @property
    def text(self) -> str:
        """Return it as git writes it."""
        return f"{self.name} <{self.email}>"


@dataclass(frozen=True, slots=True)
class WantedCommit:
    """What to commit and how; without a message an amended commit keeps its own.

    `paths` take the working tree's content of these paths only; without them everything that is staged goes in.
    """

    message: str | None
    paths: tuple[RepoPath, ...] = ()
    author: Author | None = None
    allow_empty: bool = False
    amend: bool = False
    runs_hooks: bool = True


@dataclass(frozen=True, slots=True)
class CommitId:
    """A commit's full and short name."""

    oid: str
    short_oid: str


def commit(repository: Repository, wanted: WantedCommit, conditions: Conditions) -> CommitId:
    """Create a commit and return its name.

    Raises:
        CodePlaneError: GIT_HOOK_FAILED, GIT_NOTHING_TO_COMMIT, GIT_IDENTITY_MISSING, GIT_CONFLICTS, GIT_LOCKED,
            GIT_PATH_UNKNOWN, GIT_NO_COMMITS (nothing to amend), GIT_SIGNING_FAILED and the like.
    """
    root = repository.root
    options = ["commit"]
    options.extend(["--file=-"] if wanted.message is not None else ["--no-edit"])
    options.extend(
        name
        for name, is_wanted in (
            ("--amend", wanted.amend),
            ("--allow-empty", wanted.allow_empty),
            ("--no-verify", not wanted.runs_hooks),
        )
        if is_wanted
    )
    environment = dict(conditions.environment)
    if wanted.author is not None:
        options.append(f"--author={wanted.author.text}")
        if not _knows_committer(root):
            environment |= {"GIT_COMMITTER_NAME": wanted.author.name, "GIT_COMMITTER_EMAIL": wanted.author.email}
    if wanted.paths:
        # Git needs a path even for everything.
        specs = pathspecs(wanted.paths)
        options.extend(("--only", *specs, *([":/"] if len(specs) == 1 else [])))
    settled = replace(
        conditions,
        stdin=wanted.message.encode() if wanted.message is not None else None,
        environment=environment,
        timeout_seconds=max(conditions.timeout_seconds, COMMIT_SECONDS),
    )
    result = change_with_hooks(root, *options, conditions=settled)
    _check(root, wanted, tuple(options), result)
    # Git names the new commit in its output; a hook's output there is not HEAD.
    oid = head_commit(repository)
    said = re.search(r"^\[[^\]]* ([0-9a-f]{4,64})\] ", result.process.stdout_text, re.MULTILINE)
    if oid is not None and said is not None and oid.startswith(said[1]):
        return CommitId(oid, said[1])
    return _named_head(root)


def _named_head(root: Path) -> CommitId:
    oid, short_oid = ask_git(root, "rev-parse", "HEAD", "--short", "HEAD").decode().split()
    return CommitId(oid, short_oid)


def _check(root: Path, wanted: WantedCommit, arguments: tuple[str, ...], result: HookedResult) -> None:
    process = result.process
    has_own_reason = process.was_cancelled or process.timed_out or result.refusing_hook is not None
    is_plain = not wanted.amend and not wanted.allow_empty
    if not result.is_done and not has_own_reason and process.returncode == 1 and is_plain and _is_empty(root, wanted):
        raise CodePlaneError("GIT_NOTHING_TO_COMMIT", _why_nothing(wanted))
    check_hooked(arguments, result)


def _is_empty(root: Path, wanted: WantedCommit) -> bool:
    """Tell whether git had nothing to commit: it exits with status 1, as for other refusals."""
    if wanted.paths:
        return not run_git(root, "diff", "--name-only", "-z", "HEAD", *pathspecs(wanted.paths)).stdout
    return not staged_paths(root)


def _why_nothing(wanted: WantedCommit) -> str:
    if wanted.paths:
        named = ", ".join(path.text for path in wanted.paths[:3])
        return f"{named}: nothing differs from HEAD."
    return "Nothing is staged."


def _knows_committer(root: Path) -> bool:
    return run_git(root, "var", "GIT_COMMITTER_IDENT").returncode == 0
