"""`git_status`: branch, what is staged, changed, untracked or in conflict, and any operation in progress.

Long lists come in pages, conflicts first; the counts always cover everything.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.status import ChangedPath, Conflict, Status, SubmoduleState, read_status
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.history_access import path_unknown
from codeplane.operations.models import PATH_ALIASES, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

NAME = "git_status"
# The default length of a page in bytes; an entry costs its line and the words around it.
_ROOM: Final = 7_500
_ENTRY_COST: Final = 30
_STAGED_FIRST: Final = "Resolve the conflicts and git_stage them, then "
_NEXT: Final = {
    "merge": _STAGED_FIRST + "git_merge action=continue; action=abort restores the state before it.",
    "revert": _STAGED_FIRST + "git_merge action=continue; action=skip or abort also work.",
    "cherrypick": _STAGED_FIRST + "git_merge action=continue; action=skip or abort also work.",
    "rebase": _STAGED_FIRST + "git_rebase action=continue; action=skip or abort also work.",
    "bisect": "A person must run `git bisect good`, `bad` or `reset`.",
}
_NEXT_MAIL: Final = "Mail is being applied. A person must run `git am --continue` or `--abort`."
_LETTERS: Final = {
    "modified": "M",
    "added": "A",
    "deleted": "D",
    "renamed": "R",
    "copied": "C",
    "type-changed": "T",
    "unmerged": "U",
}


class GitStatusRequest(Request):
    """Which part of the tree."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"paths": ("path", "files", *PATH_ALIASES)}
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=500)] = Field(
        default_factory=list, description="Only below these."
    )
    limit: int | None = Field(None, ge=1, le=1000, description="Entries per answer; default about 8 kB.")
    cursor: str | None = None


class SubmoduleChange(Result):
    """What differs in a submodule."""

    new_commit: bool
    modified: bool
    untracked: bool


class StagedFile(Result):
    """A change that the next commit will hold."""

    path: str
    status: str
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    submodule: SubmoduleChange | None = None


class ModifiedFile(StagedFile):
    """A change in the working tree that is not staged."""

    intent_to_add: bool | None = Field(None, description="Added with `git add -N`; no content is staged.")


class ConflictFile(Result):
    """A file with several versions in the index."""

    path: str
    kind: str
    ancestor_oid: str | None = None
    ours_oid: str | None = None
    theirs_oid: str | None = None


class GitStatusResult(Result):
    """The state of the working tree."""

    branch: str | None
    head_commit: str | None = Field(None, description="None before the first commit.")
    detached: bool
    is_clean: bool
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    staged: list[StagedFile]
    modified: list[ModifiedFile]
    untracked: list[str] = Field(description="Directories end with `/`; ignored files are not listed.")
    conflicts: list[ConflictFile]
    staged_count: int
    modified_count: int
    untracked_count: int
    conflict_count: int
    stash_count: int
    state: Literal["none", "merge", "revert", "cherrypick", "rebase", "bisect"]
    rebasing_branch: str | None = None
    next_step: str | None = Field(None, description="How to continue or abort.")
    pagination: Pagination


def _effects(_workspace: Workspace, request: GitStatusRequest) -> Effects:
    return Effects(reads=tuple(RepoPath.parse(path) for path in request.paths))


def _handle(context: CallContext, request: GitStatusRequest) -> GitStatusResult:
    paths, position = tuple(RepoPath.parse(path) for path in request.paths), context.position
    status = read_status(context.workspace.repository, paths)
    if paths and status.is_clean:
        check_known(context.workspace, paths)
    entries = _entries(status)
    if position is not None and _digest(entries) != position.text("digest"):
        raise CodePlaneError("CURSOR_EXPIRED", "The lists have changed since the first page.")
    first = position.number("first") if position is not None else 0
    page = _page(entries[first:], request.limit)
    end = first + len(page)
    cursor = context.next_page({"first": end, "digest": _digest(entries)}) if end < len(entries) else None
    return _result(status, page, Pagination(next_cursor=cursor, total_estimate=len(entries)))


def check_known(workspace: Workspace, paths: tuple[RepoPath, ...]) -> None:
    """Refuse a path that neither git nor the working tree knows.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN with the nearest names.
    """
    for path in paths:
        if path == RepoPath.ROOT or (workspace.root / path.text).exists() or (workspace.root / path.text).is_symlink():
            continue
        tracked = workspace.tracked()
        if path.text not in tracked.files and path.text not in tracked.directories:
            raise path_unknown(workspace, path, f"Neither git nor the working tree has {path}.")


_Item = Conflict | ChangedPath | str


def _entries(status: Status) -> list[tuple[str, _Item]]:
    """Return everything that is listed, with the list that it belongs to."""
    lists: tuple[tuple[str, Sequence[_Item]], ...] = (
        ("conflicts", status.conflicts),
        ("staged", status.staged),
        ("modified", status.modified),
        ("untracked", status.untracked),
    )
    return [(name, item) for name, items in lists for item in items]


def _page(entries: Sequence[tuple[str, _Item]], limit: int | None) -> list[tuple[str, Any]]:
    """Return the first entries as answers, up to a limit or as many as fit; always one."""
    if limit is not None:
        return [(name, _listed(name, item)) for name, item in entries[:limit]]
    page: list[tuple[str, Any]] = []
    room = _ROOM
    for name, item in entries:
        listed = _listed(name, item)
        room -= _ENTRY_COST + len(_line(listed))
        if page and room < 0:
            break
        page.append((name, listed))
    return page


def _listed(name: str, item: _Item) -> ConflictFile | StagedFile | str:
    if isinstance(item, str):
        return printable_name(item)
    if isinstance(item, Conflict):
        sides = {"ancestor_oid": item.ancestor_oid, "ours_oid": item.ours_oid, "theirs_oid": item.theirs_oid}
        return ConflictFile(path=printable_name(item.path), kind=item.kind, **sides)
    if name == "staged":
        return StagedFile.model_validate(_changed(item))
    return ModifiedFile.model_validate(_changed(item) | {"intent_to_add": item.is_intent_to_add or None})


def _result(status: Status, page: list[tuple[str, Any]], pagination: Pagination) -> GitStatusResult:
    return GitStatusResult(
        branch=printable_name(status.branch) if status.branch is not None else None,
        head_commit=status.head_commit,
        detached=status.branch is None,
        is_clean=status.is_clean,
        upstream=printable_name(status.upstream) if status.upstream is not None else None,
        ahead=status.ahead,
        behind=status.behind,
        staged=[item for name, item in page if name == "staged"],
        modified=[item for name, item in page if name == "modified"],
        untracked=[item for name, item in page if name == "untracked"],
        conflicts=[item for name, item in page if name == "conflicts"],
        staged_count=len(status.staged),
        modified_count=len(status.modified),
        untracked_count=len(status.untracked),
        conflict_count=len(status.conflicts),
        stash_count=status.n_stashes,
        state=status.progress,
        rebasing_branch=printable_name(status.rebased_branch) if status.rebased_branch is not None else None,
        next_step=_NEXT_MAIL if status.applies_mail else _NEXT.get(status.progress),
        pagination=pagination,
    )


def _digest(entries: list[tuple[str, _Item]]) -> str:
    return sha256_text(repr(entries))[:16]


def _changed(item: ChangedPath) -> dict[str, object]:
    return {
        "path": printable_name(item.path),
        "status": item.status,
        "old_path": printable_name(item.old_path) if item.old_path is not None else None,
        "old_mode": item.old_mode,
        "new_mode": item.new_mode,
        "submodule": _submodule(item.submodule) if item.submodule is not None else None,
    }


def _submodule(state: SubmoduleState) -> SubmoduleChange:
    return SubmoduleChange(new_commit=state.has_new_commit, modified=state.has_changes, untracked=state.has_untracked)


def _render(result: GitStatusResult) -> str:
    lines = [_headline(result)]
    if result.state != "none":
        branch = f" of {result.rebasing_branch}" if result.rebasing_branch else ""
        lines.append(f"{result.state} in progress{branch}. {result.next_step}")
    groups: tuple[tuple[str, Sequence[ConflictFile | StagedFile | str], int], ...] = (
        ("in conflict", result.conflicts, result.conflict_count),
        ("staged", result.staged, result.staged_count),
        ("not staged", result.modified, result.modified_count),
        ("untracked", result.untracked, result.untracked_count),
    )
    for title, items, count in groups:
        if items:
            lines.append(f"{title}:" if len(items) == count else f"{title} ({len(items)} of {count} here):")
            lines.extend(f"  {_line(item)}" for item in items)
        elif count:
            lines.append(f"{title}: {count}, on another page")
    if result.is_clean:
        lines.append("clean: nothing staged, changed or untracked")
    if result.stash_count:
        lines.append(f"stashes: {result.stash_count}")
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


def _headline(result: GitStatusResult) -> str:
    where = f"on {result.branch}" if result.branch is not None else "HEAD detached"
    commit = f" at {result.head_commit[:12]}" if result.head_commit else ", no commit yet"
    if result.upstream is None:
        return where + commit
    if result.ahead is None or result.behind is None:
        return f"{where}{commit}, upstream {result.upstream} is gone"
    return f"{where}{commit}, {result.upstream}: {result.ahead} ahead, {result.behind} behind"


def _line(item: ConflictFile | StagedFile | str) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, ConflictFile):
        return f"{item.path} ({item.kind})"
    text = f"{_LETTERS.get(item.status, '?')} {item.path}"
    if item.old_path:
        text += f" (from {item.old_path})"
    if item.old_mode:
        text += f" (mode {item.old_mode} -> {item.new_mode})"
    if item.submodule:
        parts = [name.replace("_", " ") for name, is_so in item.submodule.model_dump().items() if is_so]
        text += f" (submodule: {', '.join(parts) or 'changed'})"
    return text


GIT_STATUS = Operation(
    name=NAME,
    family="git",
    summary="Branch, staged, changed, untracked and conflicted files, and any unfinished merge or rebase.",
    request_type=GitStatusRequest,
    result_type=GitStatusResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You want to know what is changed before a commit, merge or checkout.",),
    when_not_to_use=("You want to see the changed lines: use git_diff.",),
    examples=(Example("The whole repository", {}), Example("One directory", {"paths": ["src"]})),
    profiles=frozenset({"classic"}),
)
