"""What a merge, rebase, pick, revert, pull or stash that met conflicts answers: each file's sides, and what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.core.secrets import holds_private_key
from codeplane.git.conflicts import (
    GITLINK,
    LINK,
    MarkedBlock,
    UnmergedPath,
    Version,
    marked_blocks,
    marker_sizes,
    unmerged_paths,
    working_bytes,
)
from codeplane.git.contents import read_blobs
from codeplane.git.progress import progress_of
from codeplane.git.staging import resolved_paths
from codeplane.operations.models import Result
from codeplane.workspace.workspace import Workspace

MAX_CONFLICTS = 100
_SIDE_ROOM = 2_000
_WHOLE_ROOM = 24_000
_LARGEST_BLOB = 2_000_000
_MAX_BLOCKS = 50
_SHOWN = 10
_SHOWN_BLOCKS = 6
_SHOWN_LINES = 60
_BLOCK_LINES = 40
_BLOCK_BYTES = 4_000
_SNIFFED = 8_000

SideKind = Literal["text", "binary", "symlink", "submodule", "secret", "unread"]


class ConflictSide(Result):
    """One side's version of a file."""

    oid: str
    mode: str
    kind: SideKind = Field(description="secret: withheld by a rule; unread: missing or too large.")
    line_count: int | None = None
    text: str | None = Field(None, description="The first part; text_cut says whether there is more.")
    text_cut: bool = False


class ConflictMarkers(Result):
    """The lines of a conflict's markers in the working file: <<<<<<<, |||||||, =======, >>>>>>>."""

    start_line: int
    base_line: int | None = None
    middle_line: int
    end_line: int
    text: str | None = Field(None, description="These lines of the working file, if there are few.")


class ConflictedFile(Result):
    """A file in conflict. In a rebase `ours` is what is built upon, `theirs` the commit that is replayed."""

    path: str
    kind: str = Field(description="both modified, both added, deleted by us, deleted by them, ...")
    ancestor_oid: str | None = None
    ours_oid: str | None = None
    theirs_oid: str | None = None
    ancestor: ConflictSide | None = None
    ours: ConflictSide | None = None
    theirs: ConflictSide | None = None
    markers: list[ConflictMarkers] = Field(default_factory=list)
    markers_omitted: int = 0


def conflicted_files(workspace: Workspace) -> list[ConflictedFile]:
    """Return the files in conflict with their sides, at most `MAX_CONFLICTS`; see `conflicts_omitted`."""
    unmerged = unmerged_paths(workspace.root)[:MAX_CONFLICTS]
    if not unmerged:
        return []
    versions = [side for one in unmerged for side in (one.ancestor, one.ours, one.theirs) if side is not None]
    blobs = read_blobs(workspace.root, [side.oid for side in versions if side.mode != GITLINK], _LARGEST_BLOB)
    sizes = marker_sizes(workspace.root, [one.path for one in unmerged])
    room = _WHOLE_ROOM
    found = []
    for one in unmerged:
        is_secret = _is_secret(workspace, one.path)
        share = 0 if is_secret else min(_SIDE_ROOM, room // 3)
        file = _file(workspace, one, blobs, sizes.get(one.path, 7), _Share(share, is_secret))
        room -= sum(len(side.text or "") for side in (file.ancestor, file.ours, file.theirs) if side is not None)
        found.append(file)
    return found


def conflicts_omitted(workspace: Workspace, shown: Sequence[ConflictedFile]) -> int:
    """Return how many files are in conflict beyond those shown."""
    return max(0, len(unmerged_paths(workspace.root)) - len(shown)) if len(shown) >= MAX_CONFLICTS else 0


def next_calls(state: str, conflicts: Sequence[ConflictedFile]) -> list[str]:
    """Return what to call next; `state` is git's operation in progress, `none` after a stash."""
    lines = []
    marked = [one for one in conflicts if one.markers]
    if marked:
        lines.append("write_source: edit the marked lines until no marker is left, or take one side with")
        paths = [one.path for one in marked[:3]]
        lines.append(f"git_checkout paths={_listed(paths)} side=ours (or theirs)")
    gone = [one for one in conflicts if one.ours_oid is None or one.theirs_oid is None]
    if gone:
        lines.append(
            f"{', '.join(one.path for one in gone[:3])}: one side deleted it; keep the file, or remove it with"
            " write_source action=delete"
        )
    whole = [one for one in conflicts if not one.markers and one not in gone]
    if whole:
        lines.append(
            f"{', '.join(one.path for one in whole[:3])}: has no markers (binary, link, submodule or already edited);"
            " choose with git_checkout side=ours or theirs"
        )
    if conflicts:
        lines.append(f"git_stage paths={_listed([one.path for one in conflicts])}: marks them as resolved")
    lines.extend(_next_actions(state))
    return lines


def render_conflicts(conflicts: Sequence[ConflictedFile], omitted: int = 0) -> list[str]:
    """Return the lines about conflicts that a short answer shows."""
    lines = []
    room = _SHOWN_LINES
    for one in conflicts[:_SHOWN]:
        lines.append(f" conflict {one.path}: {one.kind}{_where(one)}")
        for block in one.markers[:_SHOWN_BLOCKS]:
            text = (block.text or "").split("\n") if block.text is not None else []
            room -= len(text)
            if room >= 0:
                lines.extend(text)
    rest = len(conflicts) - _SHOWN + omitted if len(conflicts) > _SHOWN else omitted
    if rest > 0:
        lines.append(f" and {rest} more conflicts; git_status lists them")
    return lines


def check_idle(workspace: Workspace) -> None:
    """Refuse to begin an operation while another waits to be continued or aborted.

    Raises:
        CodePlaneError: GIT_OPERATION_IN_PROGRESS.
    """
    state = progress_of(workspace.repository.git_dir)
    if state in {"merge", "cherrypick", "revert", "rebase"}:
        tool = "git_rebase" if state == "rebase" else "git_merge"
        hint = f"Continue or abort it first: {tool} with action continue or abort."
        raise CodePlaneError("GIT_OPERATION_IN_PROGRESS", f"A {state} is still in progress.", hint=hint)


def left_marks(workspace: Workspace) -> list[str]:
    """Return warnings about files that were staged as resolved but still have conflict markers."""
    resolved = resolved_paths(workspace.root)
    found = []
    for name, size in marker_sizes(workspace.root, resolved).items() if resolved else ():
        blocks = marked_blocks(working_bytes(workspace.root, name) or b"", size)
        if blocks:
            found.append(f"{printable_name(name)} still has conflict markers at line {blocks[0].start_line}")
    return found


@dataclass(frozen=True, slots=True)
class _Share:
    """How much text of each side may be shown."""

    room: int
    is_secret: bool


def _file(
    workspace: Workspace, one: UnmergedPath, blobs: Mapping[str, bytes], marker_size: int, share: _Share
) -> ConflictedFile:
    data = working_bytes(workspace.root, one.path)
    blocks = marked_blocks(data, marker_size) if data is not None else ()
    return ConflictedFile(
        path=printable_name(one.path),
        kind=one.kind,
        ancestor_oid=one.ancestor.oid if one.ancestor is not None else None,
        ours_oid=one.ours.oid if one.ours is not None else None,
        theirs_oid=one.theirs.oid if one.theirs is not None else None,
        ancestor=_side(one.ancestor, blobs, share),
        ours=_side(one.ours, blobs, share),
        theirs=_side(one.theirs, blobs, share),
        markers=[
            ConflictMarkers(
                start_line=block.start_line,
                base_line=block.base_line,
                middle_line=block.middle_line,
                end_line=block.end_line,
                text=_block_text(data or b"", block, share),
            )
            for block in blocks[:_MAX_BLOCKS]
        ],
        markers_omitted=max(0, len(blocks) - _MAX_BLOCKS),
    )


def _block_text(data: bytes, block: MarkedBlock, share: _Share) -> str | None:
    """Return the lines between a conflict's markers as they are in the file, so an edit can use them directly."""
    lines = data.split(b"\n")[block.start_line - 1 : block.end_line]
    text = b"\n".join(lines)
    is_shown = not share.is_secret and len(lines) <= _BLOCK_LINES and len(text) <= _BLOCK_BYTES
    return text.decode("utf-8", "backslashreplace").replace("\r", "") if is_shown else None


def _side(version: Version | None, blobs: Mapping[str, bytes], share: _Share) -> ConflictSide | None:
    if version is None:
        return None
    data = blobs.get(version.oid)
    kind = _kind(version, data, share)
    if data is None or kind not in {"text", "symlink"}:
        return ConflictSide(oid=version.oid, mode=version.mode, kind=kind)
    text = data.decode("utf-8", "backslashreplace")
    return ConflictSide(
        oid=version.oid,
        mode=version.mode,
        kind=kind,
        line_count=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
        text=text[: share.room],
        text_cut=len(text) > share.room,
    )


def _kind(version: Version, data: bytes | None, share: _Share) -> SideKind:
    if version.mode == GITLINK:
        return "submodule"
    if data is None:
        return "unread"
    if share.is_secret or holds_private_key(data):
        return "secret"
    if version.mode == LINK:
        return "symlink"
    return "binary" if b"\0" in data[:_SNIFFED] else "text"


def _is_secret(workspace: Workspace, path: str) -> bool:
    """Tell whether a file's content must be withheld; names that are not valid paths cannot be judged."""
    try:
        return workspace.ignore_rules().block(RepoPath.parse(path), is_directory=False) is not None
    except CodePlaneError:
        return True


def _where(one: ConflictedFile) -> str:
    if not one.markers:
        return ""
    spans = ", ".join(f"{block.start_line}-{block.end_line}" for block in one.markers[:_SHOWN_BLOCKS])
    rest = len(one.markers) - _SHOWN_BLOCKS + one.markers_omitted
    return f" at lines {spans}" + (f" and {rest} more" if rest > 0 else "")


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"[{', '.join(paths[:3])}{more}]"


def _next_actions(state: str) -> list[str]:
    if state == "rebase":
        return ["git_rebase action=continue; skip drops this commit, abort restores the state before it"]
    if state in {"merge", "cherrypick", "revert"}:
        return ["git_merge action=continue; abort restores the state before it"]
    return ["git_status shows the remaining conflicts; undo reverts the whole call"]
