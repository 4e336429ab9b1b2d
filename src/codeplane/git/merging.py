"""Merge, cherry-pick and revert; continue or abort after conflicts."""

import os
import re
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Final, Literal

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git
from codeplane.git.committing import COMMIT_SECONDS, WantedCommit, commit
from codeplane.git.conflicts import check_resolved, unmerged_paths
from codeplane.git.git_errors import git_error
from codeplane.git.hooks import HookedResult, change_with_hooks, check_hooked, own_words
from codeplane.git.progress import progress_of
from codeplane.git.repository import Repository, run_git
from codeplane.git.switching import names_between

MERGE_SECONDS: Final = 900.0
# Only git's status text tells that a pick became empty.
_EMPTY: Final = re.compile(r"is now empty|^(?:nothing (?:added )?to commit|no changes added to commit)", re.MULTILINE)
Strategy = Literal["ort", "recursive", "resolve", "octopus", "ours", "subtree"]


class Ending(Enum):
    """The progress of a command."""

    DONE = "done"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class WantedMerge:
    """What to merge and how; without a message git finds one."""

    refs: tuple[str, ...]
    message: str | None = None
    strategy: Strategy | None = None
    prefer: Literal["ours", "theirs"] | None = None
    no_ff: bool = False
    ff_only: bool = False
    squash: bool = False
    no_commit: bool = False
    runs_hooks: bool = True


@dataclass(frozen=True, slots=True)
class WantedPicks:
    """Which commits to apply again, or to revert, each as the difference to its parent `mainline`."""

    commits: tuple[str, ...]
    is_revert: bool
    mainline: int | None = None
    no_commit: bool = False
    prefer: Literal["ours", "theirs"] | None = None
    strategy: Strategy | None = None
    allow_empty: bool = False


def merge(repository: Repository, wanted: WantedMerge, conditions: Conditions) -> Ending:
    """Merge; conflicts are left for the caller to resolve.

    Raises:
        CodePlaneError: GIT_WOULD_OVERWRITE, GIT_UNRELATED, GIT_HOOK_FAILED, GIT_NOT_MERGED (cannot fast-forward),
            GIT_OPERATION_IN_PROGRESS, GIT_IDENTITY_MISSING and the like.
    """
    flags = (
        ("--no-ff", wanted.no_ff or (wanted.no_commit and not wanted.squash)),
        ("--ff-only", wanted.ff_only),
        ("--squash", wanted.squash),
        ("--no-commit", wanted.no_commit and not wanted.squash),
        ("--no-verify", not wanted.runs_hooks),
    )
    arguments = ["merge", "--no-edit", "--no-stat", *(name for name, is_wanted in flags if is_wanted)]
    arguments.extend(_strategy(wanted.strategy, wanted.prefer))
    if wanted.message is not None:
        arguments.extend(["-m", wanted.message])
    result = _run(repository, (*arguments, *wanted.refs), conditions)
    if result.is_done:
        return Ending.DONE
    if _has_stopped(repository, result) and (wanted.squash or progress_of(repository.git_dir) == "merge"):
        return Ending.CONFLICT
    raise _merge_error(tuple(arguments), result)


def pick(repository: Repository, wanted: WantedPicks, conditions: Conditions) -> Ending:
    """Apply commits again, or revert them, one after the other.

    Raises:
        CodePlaneError: GIT_NOTHING_TO_COMMIT when a commit changes nothing here; GIT_WOULD_OVERWRITE and the like.
    """
    command = "revert" if wanted.is_revert else "cherry-pick"
    arguments = [command, *(("--no-edit",) if wanted.is_revert else ())]
    arguments.extend([f"--mainline={wanted.mainline}"] if wanted.mainline is not None else [])
    arguments.extend(["--no-commit"] if wanted.no_commit else [])
    if wanted.allow_empty and not wanted.is_revert:
        arguments.extend(["--allow-empty", "--keep-redundant-commits"])
    arguments.extend(_strategy(wanted.strategy, wanted.prefer))
    result = _run(repository, (*arguments, *wanted.commits), conditions)
    return _ending(repository, (command,), result)


def go_on(repository: Repository, message: str | None, conditions: Conditions) -> Ending:
    """Conclude a merge, pick or revert whose conflicts are resolved; a series of picks continues.

    Raises:
        CodePlaneError: GIT_CONFLICTS, GIT_NO_OPERATION, GIT_HOOK_FAILED, GIT_NOTHING_TO_COMMIT.
    """
    command = _command(repository)
    check_resolved(repository.root)
    if message is not None:
        commit(repository, WantedCommit(message, allow_empty=command != "merge"), conditions)
        if progress_of(repository.git_dir) not in {"cherrypick", "revert"}:
            return Ending.DONE
    result = _run(repository, (command, "--continue"), conditions)
    return _ending(repository, (command,), result)


def skip(repository: Repository, conditions: Conditions) -> Ending:
    """Skip the commit at which a series stopped.

    Raises:
        CodePlaneError: GIT_NO_OPERATION; a merge has nothing to skip.
    """
    command = _command(repository)
    if command == "merge":
        raise CodePlaneError("GIT_NO_OPERATION", "A merge has nothing to skip.", hint="Continue or abort it.")
    return _ending(repository, (command,), _run(repository, (command, "--skip"), conditions))


def abort(repository: Repository, conditions: Conditions) -> None:
    """Restore the state before the merge, pick or revert.

    Raises:
        CodePlaneError: GIT_NO_OPERATION.
    """
    arguments = (_command(repository), "--abort")
    check_hooked(arguments, _run(repository, arguments, conditions))


def merged_names(root: Path, head: str, commits: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that a merge would write, by merging without touching anything.

    Raises:
        CodePlaneError: GIT_UNRELATED.
    """
    if len(commits) == 1:
        result = run_git(root, "merge-tree", "--write-tree", "-z", "--no-messages", head, commits[0])
        tree = result.stdout.split(b"\0", 1)[0].decode("ascii", "replace")
        # Status 1 is a merge with conflicts; the tree then has the files with their markers.
        if result.returncode in {0, 1} and len(tree) in {40, 64}:
            return names_between(root, head, tree)
        if b"unrelated histories" in result.stderr:
            raise git_error(("merge",), result.stderr_text)
    found: dict[str, None] = {}
    for one in commits:
        base = run_git(root, "merge-base", head, one).stdout_text.split()
        found.update(dict.fromkeys(names_between(root, base[0] if base else None, one)))
    return tuple(found)


def picked_names(root: Path, commits: tuple[str, ...]) -> tuple[str, ...]:
    """Return every path that commits changed."""
    arguments = ("diff-tree", "-r", "-m", "--root", "--no-commit-id", "--name-only", "--no-renames", "-z", "--stdin")
    listing = ask_git(root, *arguments, stdin="".join(f"{oid}\n" for oid in commits).encode())
    return tuple(dict.fromkeys(name for name in os.fsdecode(listing).split("\0") if name))


def parents_of(root: Path, oid: str) -> tuple[str, ...]:
    """Return the parents of a commit."""
    return tuple(ask_git(root, "rev-list", "--parents", "--max-count=1", oid).decode().split()[1:])


def commits_in(root: Path, base: str, tip: str, *, oldest_first: bool) -> tuple[str, ...]:
    """Return the commits of a range as git would pick (oldest first) or revert (newest first) them."""
    order = ("--reverse",) if oldest_first else ()
    return tuple(ask_git(root, "rev-list", "--topo-order", *order, tip, f"^{base}").decode().split())


def is_ancestor(root: Path, older: str, newer: str) -> bool:
    """Tell whether a commit is part of another's history."""
    return run_git(root, "merge-base", "--is-ancestor", older, newer).returncode == 0


def _command(repository: Repository) -> str:
    found = progress_of(repository.git_dir)
    command = {"merge": "merge", "cherrypick": "cherry-pick", "revert": "revert"}.get(found)
    if command is not None:
        return command
    if found == "rebase":
        hint = "Use git_rebase with action continue, skip or abort."
        raise CodePlaneError("GIT_NO_OPERATION", "A rebase is in progress, not a merge.", hint=hint)
    raise CodePlaneError("GIT_NO_OPERATION", "No merge, pick or revert is in progress.")


def _strategy(strategy: Strategy | None, prefer: str | None) -> list[str]:
    chosen = [f"--strategy={strategy}"] if strategy is not None else []
    return [*chosen, *([f"--strategy-option={prefer}"] if prefer is not None else [])]


def _run(repository: Repository, arguments: tuple[str, ...], conditions: Conditions) -> HookedResult:
    longer = replace(conditions, timeout_seconds=max(conditions.timeout_seconds, MERGE_SECONDS, COMMIT_SECONDS))
    result = change_with_hooks(repository.root, *arguments, conditions=longer)
    if result.process.was_cancelled or result.process.timed_out:
        check_hooked(arguments, result)
    return result


def _has_stopped(repository: Repository, result: HookedResult) -> bool:
    """Tell whether a command waits for the caller: files in conflict, or resolved ones not yet reviewed."""
    if result.refusing_hook is not None:
        return False
    if unmerged_paths(repository.root):
        return True
    # With rerere git may have resolved all of them itself, and still asks for a review.
    return result.process.returncode == 1 and "CONFLICT (" in result.process.stdout_text


def _ending(repository: Repository, arguments: tuple[str, ...], result: HookedResult) -> Ending:
    if result.is_done:
        return Ending.DONE
    if _has_stopped(repository, result):
        return Ending.CONFLICT
    said = f"{own_words(result.process)}\n{result.process.stdout_text}"
    if result.refusing_hook is None and _EMPTY.search(said):
        picked = run_git(repository.root, "rev-parse", "--verify", "--quiet", "CHERRY_PICK_HEAD").stdout_text.strip()
        named = f"{picked[:12]} " if picked else "The commit "
        hint = "Leave it out, or send `allow_empty: true`; in a series that stopped, use action skip."
        raise CodePlaneError("GIT_NOTHING_TO_COMMIT", f"{named}changes nothing here.", hint=hint)
    check_hooked(arguments, result)
    return Ending.DONE


def _merge_error(arguments: tuple[str, ...], result: HookedResult) -> CodePlaneError:
    try:
        check_hooked(arguments, result)
    except CodePlaneError as error:
        if "Not possible to fast-forward" in error.message:
            hint = "Leave `ff_only` out, or rebase first."
            return CodePlaneError("GIT_NOT_MERGED", "The branches have diverged.", hint=hint)
        return error
    return CodePlaneError("GIT_FAILED", "git merge ended without a reason.")
