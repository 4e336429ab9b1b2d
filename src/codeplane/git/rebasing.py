"""Replay commits on another base, step by step, exactly as `git rebase` does it.

A list of steps is handed to git where a person would edit it, and messages where a person would type them. Messages
lie beside git's own files of the rebase, so they survive every stop and are removed with them.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Final, Literal

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git
from codeplane.git.conflicts import check_resolved, unmerged_paths
from codeplane.git.hooks import HookedResult, change_with_hooks, check_hooked
from codeplane.git.progress import progress_of
from codeplane.git.repository import Repository

REBASE_SECONDS: Final = 1_800.0
StepAction = Literal["pick", "reword", "edit", "squash", "fixup", "drop"]
_STATE: Final = "rebase-merge"
_COMMENT_FILE: Final = "codeplane-comment"
_MESSAGE_PREFIX: Final = "codeplane-message-"
_COMMANDS: Final = ("pick", "reword", "edit", "squash", "fixup", "drop", "exec", "break", "label", "reset", "merge")
_SHORT_COMMANDS: Final = "presfdxbltm"
_COMMENT_CHARACTERS: Final = "#;@!$%^&|:~"
# Git puts `"$@"` behind these words. Everything that varies comes through the environment or git's own files.
_SEQUENCE_EDITOR: Final = 'codeplane_plan() { cp "$CODEPLANE_REBASE"/* "${1%/*}/"; }; codeplane_plan'
_MESSAGE_EDITOR: Final = (
    'codeplane_message() { state="${1%/*}/rebase-merge"; [ -f "$state/done" ] || return 0;'
    ' step=$(sed -n "\\$p" "$state/done" | cut -d" " -f2);'
    f' if [ -f "$state/{_MESSAGE_PREFIX}$step" ]; then cat "$state/{_MESSAGE_PREFIX}$step" > "$1"; fi; }};'
    " codeplane_message"
)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A commit that a rebase would apply again."""

    oid: str
    message: str

    @property
    def subject(self) -> str:
        """Return the first line of its message."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Listing:
    """What `git rebase` would list: merges left out, and commits whose change the other side already has."""

    commits: tuple[Replayed, ...]
    equivalents: tuple[Replayed, ...]
    n_merges: int


@dataclass(frozen=True, slots=True)
class Step:
    """What to do with a commit; `message` replaces its message."""

    action: StepAction
    oid: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class WantedRebase:
    """From where on, onto which commit, by which steps; without steps git's own list is taken."""

    upstream: str
    onto: str
    steps: tuple[Step, ...] | None = None
    is_interactive: bool = False
    runs_hooks: bool = True


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a rebase: steps taken with the current one, all steps, the last step's commit and action."""

    n_taken: int
    n_all: int
    current: str | None
    action: str | None


class Ending(Enum):
    """How a call ended."""

    DONE = "done"
    CONFLICT = "conflict"
    EDIT_PAUSE = "edit_pause"


def list_commits(root: Path, upstream: str, head: str) -> Listing:
    """Return the commits that `git rebase upstream` would replay, the oldest first."""
    fields = "--format=%m%x00%H%x00%T%x00%P%x00%B%x01"
    options = ("--reverse", "--topo-order", "--right-only", "--cherry-mark", "--no-merges", "--no-show-signature")
    output = ask_git(root, "log", *options, "--encoding=UTF-8", "--no-color", fields, f"{upstream}...{head}", "--")
    commits: list[Replayed] = []
    equivalents: list[Replayed] = []
    for record in output.decode("utf-8", "backslashreplace").split("\x01"):
        if not record.strip():
            continue
        mark, oid, tree, parents, message = record.removeprefix("\n").split("\0")
        found = Replayed(oid, message.strip())
        # An empty commit equals every other empty commit; git still replays it.
        is_alike = mark == "=" and not _is_empty(root, tree, parents.split())
        (equivalents if is_alike else commits).append(found)
    n_merges = int(ask_git(root, "rev-list", "--count", "--merges", f"{upstream}..{head}", "--"))
    return Listing(tuple(commits), tuple(equivalents), n_merges)


def start(repository: Repository, wanted: WantedRebase, conditions: Conditions) -> Ending:
    """Start a rebase and run it until it is done or stops.

    Raises:
        CodePlaneError: GIT_WOULD_OVERWRITE for a tree with changes, GIT_HOOK_FAILED, GIT_OPERATION_IN_PROGRESS, ...
    """
    options = ["--quiet", "--merge", *(() if wanted.runs_hooks else ("--no-verify",)), f"--onto={wanted.onto}"]
    if wanted.steps is None:
        options.extend(["--interactive"] if wanted.is_interactive else [])
        return _run(repository, (*options, wanted.upstream), conditions)
    messages = _messages(wanted.steps)
    comment = _comment_character(messages.values())
    # The list says everything: no user setting may reorder it, and commits that become empty are dropped.
    options.extend(["--interactive", "--no-autosquash", "--empty=drop"])
    with tempfile.TemporaryDirectory(prefix="codeplane-") as name:
        prepared = Path(name).resolve()
        lines = "".join(f"{step.action} {step.oid}\n" for step in wanted.steps) or "noop\n"
        (prepared / "git-rebase-todo").write_text(lines, encoding="utf-8")
        (prepared / _COMMENT_FILE).write_text(comment, encoding="utf-8")
        for oid, message in messages.items():
            (prepared / f"{_MESSAGE_PREFIX}{oid}").write_text(f"{message}\n", encoding="utf-8")
        environment = {"GIT_SEQUENCE_EDITOR": _SEQUENCE_EDITOR, "CODEPLANE_REBASE": str(prepared)}
        laid_over = replace(
            conditions,
            environment={**conditions.environment, **environment},
            configuration=(*conditions.configuration, "rebase.updateRefs=false", *_comment_setting(comment)),
        )
        return _run(repository, (*options, wanted.upstream), laid_over)


def go_on(repository: Repository, message: str | None, conditions: Conditions) -> Ending:
    """Continue after conflicts were resolved or a commit was edited; a message is for the commit it stopped at.

    Raises:
        CodePlaneError: GIT_NO_OPERATION, GIT_CONFLICTS, GIT_WOULD_OVERWRITE, GIT_HOOK_FAILED.
    """
    _check_in_progress(repository)
    check_resolved(repository.root)
    if message is not None:
        _keep_message(repository, message)
    return _run(repository, ("--continue",), _as_begun(repository, conditions))


def skip(repository: Repository, conditions: Conditions) -> Ending:
    """Skip the commit at which the rebase stopped.

    Raises:
        CodePlaneError: GIT_NO_OPERATION.
    """
    _check_in_progress(repository)
    return _run(repository, ("--skip",), _as_begun(repository, conditions))


def abort(repository: Repository, conditions: Conditions) -> None:
    """Restore the state before the rebase.

    Raises:
        CodePlaneError: GIT_NO_OPERATION.
    """
    _check_in_progress(repository)
    check_hooked(("rebase",), change_with_hooks(repository.root, "rebase", "--abort", conditions=conditions))


def read_progress(repository: Repository) -> Progress | None:
    """Return the progress of the current rebase, None when there is none."""
    state = repository.git_dir / _STATE
    if state.is_dir():
        done, waiting = _steps_in(state / "done"), _steps_in(state / "git-rebase-todo")
        last = done[-1] if done else None
        current = last[1] if last is not None and len(last) > 1 else None
        return Progress(len(done), len(done) + len(waiting), current, last[0] if last is not None else None)
    old = repository.git_dir / "rebase-apply"
    if old.is_dir():
        taken, all_steps = (_first_line(old / name) or "0" for name in ("next", "last"))
        return Progress(int(taken), int(all_steps), _first_line(old / "original-commit"), "pick")
    return None


def rebased_span(repository: Repository) -> tuple[str, str, str] | None:
    """Return base, former tip and branch of the rebase in progress; HEAD if it was detached."""
    for name in (_STATE, "rebase-apply"):
        state = repository.git_dir / name
        onto, tip, branch = (_first_line(state / part) for part in ("onto", "orig-head", "head-name"))
        if onto and tip:
            return onto, tip, branch if branch and branch.startswith("refs/") else "HEAD"
    return None


def _run(repository: Repository, arguments: tuple[str, ...], conditions: Conditions) -> Ending:
    laid_over = replace(
        conditions,
        environment={**conditions.environment, "GIT_EDITOR": _MESSAGE_EDITOR},
        timeout_seconds=max(conditions.timeout_seconds, REBASE_SECONDS),
    )
    result = change_with_hooks(repository.root, "rebase", *arguments, conditions=laid_over)
    if result.process.was_cancelled or result.process.timed_out:
        check_hooked(("rebase",), result)
    if progress_of(repository.git_dir) != "rebase":
        check_hooked(("rebase",), result)
        return Ending.DONE
    if result.refusing_hook is None and _has_conflict(repository, result):
        return Ending.CONFLICT
    if result.process.returncode == 0:
        return Ending.EDIT_PAUSE
    check_hooked(("rebase",), result)
    return Ending.EDIT_PAUSE


def _has_conflict(repository: Repository, result: HookedResult) -> bool:
    if unmerged_paths(repository.root):
        return True
    # With rerere git may have resolved all of them itself, and still asks for a review.
    return result.process.returncode == 1 and b"CONFLICT (" in result.process.stdout + result.process.stderr


def _messages(steps: Sequence[Step]) -> dict[str, str]:
    """Return the messages by the commit at which git asks for one.

    For commits that are squashed git asks once, at the last of them; the last message that was given then counts.
    """
    found: dict[str, str] = {}
    chain: str | None = None
    for number, step in enumerate(steps):
        if step.action == "reword" and step.message is not None:
            found[step.oid] = step.message
        if step.action not in {"squash", "fixup"}:
            chain = None if step.action != "drop" else chain
            continue
        chain = step.message if step.action == "squash" and step.message is not None else chain
        following = next((one.action for one in steps[number + 1 :] if one.action != "drop"), None)
        if chain is not None and following not in {"squash", "fixup"}:
            found[step.oid] = chain
    return found


def _comment_character(messages: Iterable[str]) -> str:
    """Return a character for git's own remarks that begins no line of any message, or nothing for the usual one."""
    lines = [line for message in messages for line in message.splitlines()]
    if not any(line.startswith("#") for line in lines):
        return ""
    return next((one for one in _COMMENT_CHARACTERS if not any(line.startswith(one) for line in lines)), "")


def _comment_setting(comment: str) -> tuple[str, ...]:
    return (f"core.commentChar={comment}",) if comment else ()


def _as_begun(repository: Repository, conditions: Conditions) -> Conditions:
    """Return conditions with the comment character that the rebase began with."""
    comment = _first_line(repository.git_dir / _STATE / _COMMENT_FILE) or ""
    return replace(conditions, configuration=(*conditions.configuration, *_comment_setting(comment)))


def _keep_message(repository: Repository, message: str) -> None:
    """Store a message for the commit at which the rebase stopped."""
    progress = read_progress(repository)
    state = repository.git_dir / _STATE
    if progress is None or progress.current is None or not state.is_dir():
        raise CodePlaneError("INVALID_ARGUMENTS", "There is no commit to which the message applies.")
    (state / f"{_MESSAGE_PREFIX}{progress.current}").write_text(f"{message}\n", encoding="utf-8")
    if not (state / _COMMENT_FILE).exists():
        (state / _COMMENT_FILE).write_text(_comment_character((message,)), encoding="utf-8")


def _check_in_progress(repository: Repository) -> None:
    if progress_of(repository.git_dir) != "rebase":
        raise CodePlaneError("GIT_NO_OPERATION", "No rebase is in progress.")


def _is_empty(root: Path, tree: str, parents: list[str]) -> bool:
    return bool(parents) and ask_git(root, "rev-parse", f"{parents[0]}^{{tree}}").decode().strip() == tree


def _steps_in(file: Path) -> list[list[str]]:
    try:
        text = os.fsdecode(file.read_bytes())
    except OSError:
        return []
    lines = (line.split() for line in text.splitlines())
    return [words for words in lines if words and (words[0] in _COMMANDS or words[0] in tuple(_SHORT_COMMANDS))]


def _first_line(file: Path) -> str | None:
    try:
        return os.fsdecode(file.read_bytes()).partition("\n")[0].strip() or None
    except OSError:
        return None
