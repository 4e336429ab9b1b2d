"""Everything that git commands change besides working files: HEAD, refs, the index, and what is in progress.

A state is read before and after a command; undo reverts the difference. Objects need no
copy: a separate ref keeps everything alive that a ref or an index entry named (`keep_objects`).
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.config_sections import with_change_undone
from codeplane.git.loose_files import LooseFile, is_alike, is_inside, write_loose
from codeplane.git.repository import Repository

KEPT_REFS: Final = "refs/codeplane/undo/"
KEPT_WORKTREE: Final = "worktree"
_OWN_REFS: Final = "refs/codeplane/"
_GITLINK: Final = "160000"
# Small files in which git stores an operation in progress, in the directory of this working tree.
_PROGRESS_FILES: Final = (
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_AUTOSTASH",
    "MERGE_RR",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
)
_PROGRESS_DIRECTORIES: Final = ("rebase-merge", "rebase-apply", "sequencer")
# Of the whole repository: the stash is a ref whose log holds all entries but the newest.
_SHARED_FILES: Final = ("config", "logs/refs/stash", "shallow")
_CONFIG: Final = "common:config"
_MAX_FILE_BYTES: Final = 4_000_000
_MAX_LINKS: Final = 5

IndexEntries = tuple[tuple[str, str, int], ...]
"""Mode, object and stage of each entry that a path has in the index; the stage of what is only intended is -1."""

_INTENDED: Final = -1
_SKIPPED: Final = "S"
# The letters of `git ls-files -v` for a file that was changed or removed since it was staged.
_DIFFERS: Final = frozenset("CR")
_EMPTY_BLOBS: Final = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


@dataclass(frozen=True, slots=True)
class GitState:
    """HEAD as its file says it, refs by name, index entries by path, files in progress by place.

    Of two states that are kept as a difference, each holds only what differs; None means "did not exist".
    `marks` are the letters of `git ls-files -v` for entries that git was told to skip, none for all others. `loose` are
    working files that take the place of a directory or make room for one; most states have none.
    """

    head: str | None
    refs: Mapping[str, str | None] = field(default_factory=dict)
    entries: Mapping[str, IndexEntries] = field(default_factory=dict)
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    loose: Mapping[str, LooseFile | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GitSpan:
    """What one command changed; `tracked` are paths whose working file followed its index entry before and after.

    While `after` is None the command is still running, or was interrupted.
    """

    before: GitState
    after: GitState | None = None
    tracked: tuple[str, ...] = ()


def read_state(repository: Repository) -> GitState:
    """Return the state as it is now.

    Raises:
        CodePlaneError: git cannot read the repository.
    """
    return read_tree(repository)[0]


def read_tree(repository: Repository) -> tuple[GitState, list[str]]:
    """Return the state as it is now, and the tracked files that differ from the index, conflicts among them.

    Raises:
        CodePlaneError: git cannot read the repository.
    """
    entries, marks, dirty = _entries(repository.root)
    return GitState(_head(repository), _refs(repository.root), entries, _files(repository), marks), dirty


def difference(before: GitState, after: GitState) -> tuple[GitState, GitState]:
    """Return both states with only what differs between them."""
    refs = [name for name in {**before.refs, **after.refs} if before.refs.get(name) != after.refs.get(name)]
    paths = [
        path for path in {**before.entries, **after.entries} if before.entries.get(path) != after.entries.get(path)
    ]
    files = [name for name in {**before.files, **after.files} if before.files.get(name) != after.files.get(name)]
    # A rewritten entry loses its mark, so the marks of all entries that differ are kept with them.
    marked = {
        *(path for path in paths if path in before.marks or path in after.marks),
        *(path for path in {**before.marks, **after.marks} if before.marks.get(path) != after.marks.get(path)),
    }
    loose = [
        path for path in {**before.loose, **after.loose} if not is_alike(before.loose.get(path), after.loose.get(path))
    ]
    is_same_head = before.head == after.head

    def part(state: GitState) -> GitState:
        return GitState(
            None if is_same_head else state.head,
            {name: state.refs.get(name) for name in refs},
            {path: state.entries.get(path, ()) for path in paths},
            {name: state.files.get(name) for name in files},
            {path: state.marks.get(path, "") for path in sorted(marked)},
            {path: state.loose.get(path) for path in loose},
        )

    return part(before), part(after)


def is_nothing(state: GitState) -> bool:
    """Tell whether one side of a difference is empty."""
    has_parts = state.refs or state.entries or state.files or state.marks or state.loose
    return state.head is None and not has_parts


def commit_of(state: GitState) -> str | None:
    """Return the commit of HEAD in a whole state, None when there is none yet."""
    head = state.head
    for _ in range(_MAX_LINKS):
        if head is None or not head.startswith("ref: "):
            return head
        head = state.refs.get(head.removeprefix("ref: "))
    return None


def plain_entry(entries: IndexEntries) -> tuple[str, str] | None:
    """Return mode and object of a path that is in the index without conflict as a file or link."""
    if len(entries) == 1 and entries[0][2] == 0 and entries[0][0] != _GITLINK:
        return entries[0][0], entries[0][1]
    return None


def keep_objects(repository: Repository, batch_id: str, state: GitState) -> None:
    """Keep the objects of a state alive with refs, as long as its batch can be undone."""
    named = {oid for oid in state.refs.values() if oid is not None and not oid.startswith("ref: ")}
    if state.head is not None and not state.head.startswith("ref: "):
        named.add(state.head)
    stash = state.files.get("common:logs/refs/stash")
    if stash is not None:
        named.update(line.split(b" ", 2)[1].decode() for line in stash.splitlines() if line.count(b" ") > 1)
    wanted = sorted(named)
    # One tree holds all staged contents, however many there are.
    staged = sorted(
        {
            oid
            for entries in state.entries.values()
            for mode, oid, stage in entries
            if mode != _GITLINK and stage != _INTENDED
        }
        | {one.oid for one in state.loose.values() if one is not None}
    )
    if staged:
        listing = "".join(f"100644 blob {oid}\t{number}\0" for number, oid in enumerate(staged))
        made = must_change(repository.root, "mktree", "-z", "--missing", conditions=_input(listing.encode()))
        wanted.append(made.stdout_text.strip())
    try:
        _make_kept_refs(repository, batch_id, wanted)
    except CodePlaneError:
        # From a damaged repository, keep whatever is readable.
        _make_kept_refs(repository, batch_id, _existing(repository, wanted))


def _make_kept_refs(repository: Repository, batch_id: str, oids: Iterable[str]) -> None:
    lines = "".join(f"update {KEPT_REFS}{batch_id}/{oid} {oid}\n" for oid in oids)
    if lines:
        must_change(repository.root, "update-ref", "--stdin", conditions=_input(lines.encode()))


def forget_objects(repository: Repository, kept_batches: frozenset[str]) -> int:
    """Remove the refs of batches that can no longer be undone; return how many.

    Refs of removed working trees stay: no batch can restore those.
    """
    listing = ask_git(repository.root, "for-each-ref", "--format=%(refname)", KEPT_REFS).decode().split()
    gone = [
        name
        for name in listing
        if name.removeprefix(KEPT_REFS).partition("/")[0] not in kept_batches
        and not name.rpartition("/")[2].startswith(KEPT_WORKTREE)
    ]
    if gone:
        lines = "".join(f"delete {name}\n" for name in gone)
        must_change(repository.root, "update-ref", "--stdin", conditions=_input(lines.encode()))
    return len(gone)


def write_state(repository: Repository, target: GitState) -> None:
    """Restore HEAD, refs, index entries and files to one side of a difference. It is safe to repeat.

    Raises:
        CodePlaneError: git refuses; calling it again is safe.
    """
    root = repository.root
    if target.loose:
        write_loose(root, target.loose)
    if target.entries:
        _write_entries(root, target.entries)
    if target.marks:
        _write_marks(root, target.marks)
    _write_refs(root, target)
    for name, data in target.files.items():
        _write_file(repository, name, data)


def _write_refs(root: Path, target: GitState) -> None:
    # Deletions come first: `a` and `a/b` cannot exist together, not even in one transaction.
    gone = [b"delete " + os.fsencode(name) + b"\0\0" for name, oid in target.refs.items() if oid is None]
    come = [
        b"update " + os.fsencode(name) + b"\0" + oid.encode() + b"\0\0"
        for name, oid in target.refs.items()
        if oid is not None and not oid.startswith("ref: ")
    ]
    for commands in (gone, come):
        if commands:
            must_change(root, "update-ref", "--no-deref", "-z", "--stdin", conditions=_input(b"".join(commands)))
    for name, oid in target.refs.items():
        if oid is not None and oid.startswith("ref: "):
            must_change(root, "symbolic-ref", name, oid.removeprefix("ref: "))
    if target.head is not None:
        if target.head.startswith("ref: "):
            must_change(root, "symbolic-ref", "-m", "undo", "HEAD", target.head.removeprefix("ref: "))
        else:
            must_change(root, "update-ref", "--no-deref", "-m", "undo", "HEAD", target.head)


def encode_span(span: GitSpan) -> dict[str, Any]:
    """Return a span as JSON data."""
    return {
        "before": _as_json(span.before),
        "after": _as_json(span.after) if span.after is not None else None,
        "tracked": list(span.tracked),
    }


def decode_span(found: Mapping[str, Any]) -> GitSpan:
    """Return a span from what `encode_span` made."""
    after = found["after"]
    return GitSpan(
        _from_json(found["before"]), _from_json(after) if after is not None else None, tuple(found["tracked"])
    )


def _as_json(state: GitState) -> dict[str, Any]:
    return {
        "head": state.head,
        "refs": dict(state.refs),
        "entries": {path: [list(one) for one in entries] for path, entries in state.entries.items()},
        "files": {name: data.hex() if data is not None else None for name, data in state.files.items()},
        "marks": dict(state.marks),
        "loose": {
            path: [one.oid, one.mode, one.is_link] if one is not None else None for path, one in state.loose.items()
        },
    }


def _from_json(found: Mapping[str, Any]) -> GitState:
    return GitState(
        found["head"],
        found["refs"],
        {path: tuple((mode, oid, stage) for mode, oid, stage in entries) for path, entries in found["entries"].items()},
        {name: bytes.fromhex(text) if text is not None else None for name, text in found["files"].items()},
        # Records of older versions have neither.
        found.get("marks", {}),
        {path: LooseFile(*parts) if parts is not None else None for path, parts in found.get("loose", {}).items()},
    )


def _head(repository: Repository) -> str:
    return (repository.git_dir / "HEAD").read_text(encoding="utf-8", errors="surrogateescape").strip()


def _refs(root: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    listing = ask_git(root, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")
    for line in os.fsdecode(listing).splitlines():
        name, oid, target = (*line.split(" "), "")[:3]
        if not name.startswith(_OWN_REFS):
            found[name] = f"ref: {target}" if target else oid
    return found


def _entries(root: Path) -> tuple[dict[str, IndexEntries], dict[str, str], list[str]]:
    """Return the entries of the index, the marks of those that have one, and the paths whose file differs."""
    found: dict[str, IndexEntries] = {}
    marks: dict[str, str] = {}
    dirty: dict[str, None] = {}
    listing = ask_git(root, "ls-files", "--cached", "--modified", "--deleted", "-s", "-v", "-z")
    for item in os.fsdecode(listing).split("\0"):
        if item:
            head, _, path = item.partition("\t")
            mark, mode, oid, stage = head.split(" ")
            if (mark in _DIFFERS or stage != "0") and mode != _GITLINK:
                dirty[path] = None
            if mark in _DIFFERS:
                # Its entry was listed just before.
                continue
            found[path] = (*found.get(path, ()), (mode, oid, int(stage)))
            if mark == _SKIPPED or mark.islower():
                marks[path] = mark
    # `git add -N` leaves the entry of an empty file; only a comparison distinguishes it.
    if any(oid.startswith(_EMPTY_BLOBS) for entries in found.values() for _, oid, _ in entries):
        listing = ask_git(root, "diff-files", "--name-only", "--diff-filter=A", "--ignore-submodules=all", "-z")
        for path in os.fsdecode(listing).split("\0"):
            if path in found:
                found[path] = tuple((mode, oid, _INTENDED) for mode, oid, _ in found[path])
    return found, marks, list(dirty)


def _files(repository: Repository) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for place, name in _progress_names(repository):
        data = _read(place)
        if data is not None:
            found[name] = data
    return found


def _progress_names(repository: Repository) -> Iterator[tuple[Path, str]]:
    for name in _PROGRESS_FILES:
        yield repository.git_dir / name, f"worktree:{name}"
    for directory in _PROGRESS_DIRECTORIES:
        for place in sorted((repository.git_dir / directory).rglob("*")):
            yield place, f"worktree:{place.relative_to(repository.git_dir).as_posix()}"
    for name in _SHARED_FILES:
        yield repository.common_dir / name, f"common:{name}"
    for place in sorted((repository.common_dir / "worktrees").glob("*/locked")):
        yield place, f"common:{place.relative_to(repository.common_dir).as_posix()}"


def _read(place: Path) -> bytes | None:
    try:
        if not place.is_file() or place.stat().st_size > _MAX_FILE_BYTES:
            return None
        return place.read_bytes()
    except OSError:
        return None


def _existing(repository: Repository, oids: Iterable[str]) -> list[str]:
    asked = "".join(f"{oid}\n" for oid in sorted(set(oids)))
    if not asked:
        return []
    answer = ask_git(repository.root, "cat-file", "--batch-check=%(objectname)", "--buffer", stdin=asked.encode())
    return [line for line in answer.decode().splitlines() if " " not in line]


def _write_entries(root: Path, entries: Mapping[str, IndexEntries]) -> None:
    lines = []
    null = b"0" * _id_length(root, entries)
    for path, kept in entries.items():
        name = os.fsencode(path)
        lines.append(b"0 " + null + b"\t" + name + b"\0")
        lines.extend(
            f"{mode} {oid} {stage}\t".encode() + name + b"\0" for mode, oid, stage in kept if stage != _INTENDED
        )
    must_change(root, "update-index", "-z", "--index-info", conditions=_input(b"".join(lines)))
    for path, kept in entries.items():
        _match_submodule_directory(root, path, is_wanted=any(mode == _GITLINK for mode, _, _ in kept))
    intended = [path for path, kept in entries.items() if any(stage == _INTENDED for _, _, stage in kept)]
    there = b"\0".join(os.fsencode(path) for path in intended if os.path.lexists(root / path))
    if there:
        options = ("--intent-to-add", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
        must_change(root, "--literal-pathspecs", "add", *options, conditions=_input(there))


def _id_length(root: Path, entries: Mapping[str, IndexEntries]) -> int:
    known = next((len(oid) for kept in entries.values() for _, oid, _ in kept), None)
    if known is not None:
        return known
    return 64 if ask_git(root, "rev-parse", "--show-object-format").strip() == b"sha256" else 40


def _write_marks(root: Path, marks: Mapping[str, str]) -> None:
    """Tell git again which files to skip; paths that left the index have no mark."""
    there = {
        item for item in os.fsdecode(ask_git(root, "ls-files", "-z", "--deduplicate")).split("\0") if item in marks
    }
    wanted: dict[str, list[bytes]] = {}
    for path in sorted(there):
        mark = marks[path]
        skips = "--skip-worktree" if mark.upper() == _SKIPPED else "--no-skip-worktree"
        assumes = "--assume-unchanged" if mark.islower() else "--no-assume-unchanged"
        # One run each: of several such options git applies only the last.
        for option in (skips, assumes):
            wanted.setdefault(option, []).append(os.fsencode(path))
    for option, names in wanted.items():
        must_change(root, "update-index", option, "-z", "--stdin", conditions=_input(b"\0".join(names)))


def _match_submodule_directory(root: Path, path: str, *, is_wanted: bool) -> None:
    """Make or remove the empty directory of a submodule, as a checkout does."""
    place = root / path
    if place.is_symlink() or not is_inside(root, place.parent):
        return
    with suppress(OSError):
        if is_wanted:
            place.mkdir(parents=True, exist_ok=True)
        elif place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _input(data: bytes) -> Conditions:
    return Conditions(stdin=data, runs_hooks=False)


def _write_file(repository: Repository, name: str, data: bytes | None) -> None:
    side, _, relative = name.partition(":")
    base = repository.git_dir if side == "worktree" else repository.common_dir
    place = base / relative
    if data is None:
        place.unlink(missing_ok=True)
        _remove_empty_parents(place, base)
        return
    if place.name == "locked" and not place.parent.is_dir():
        # The locked working tree no longer exists.
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    unseen = place.with_name(f"{place.name}.codeplane")
    unseen.write_bytes(data)
    with suppress(FileNotFoundError):
        # A configuration may contain passwords and be private for that reason.
        unseen.chmod(stat.S_IMODE(place.stat().st_mode))
    unseen.replace(place)


def _remove_empty_parents(place: Path, base: Path) -> None:
    parent = place.parent
    in_use = {"logs", "refs"}
    while (
        parent != base
        and parent.name not in in_use
        and "worktrees" not in parent.relative_to(base).parts
        and parent.is_dir()
        and not any(parent.iterdir())
    ):
        parent.rmdir()
        parent = parent.parent


def conflicts_with(now: GitState, span: GitSpan) -> list[str]:
    """Return later changes that prevent undoing a command."""
    if span.after is None:
        raise CodePlaneError("OUTCOME_UNKNOWN", "The command was interrupted; what it changed is not known.")
    found = []
    if span.after.head is not None and now.head != span.after.head:
        found.append("HEAD has moved since")
    found.extend(f"{name} has moved since" for name, oid in span.after.refs.items() if now.refs.get(name) != oid)
    found.extend(
        f"what is staged of {path} was changed since"
        for path, entries in span.after.entries.items()
        if now.entries.get(path, ()) != entries
    )
    found.extend(
        f"{name.partition(':')[2]} of git was changed since"
        for name, data in span.after.files.items()
        if now.files.get(name) != data and name != "worktree:ORIG_HEAD" and _file_undone(now, span, name) is None
    )
    found.extend(
        f"{printable_name(path)} was changed since"
        for path, one in span.after.loose.items()
        if not is_alike(now.loose.get(path), one) and not is_alike(now.loose.get(path), span.before.loose.get(path))
    )
    return found


def with_span_undone(now: GitState, span: GitSpan) -> GitState:
    """Return the state after a command is undone."""
    before = span.before
    entries = {**now.entries, **before.entries}
    # Skip marks that were set or removed since then stay.
    after_marks = span.after.marks if span.after is not None else {}
    marks = {
        **now.marks,
        **{path: mark for path, mark in before.marks.items() if now.marks.get(path, "") == after_marks.get(path, "")},
    }
    return GitState(
        before.head if before.head is not None else now.head,
        {**now.refs, **before.refs},
        {path: kept for path, kept in entries.items() if kept},
        {**now.files, **before.files, **_config_undone(now, span)},
        {path: mark for path, mark in marks.items() if mark},
        {**now.loose, **before.loose},
    )


def _config_undone(now: GitState, span: GitSpan) -> dict[str, bytes | None]:
    undone = _file_undone(now, span, _CONFIG) if _CONFIG in span.before.files else None
    return {_CONFIG: undone} if undone is not None else {}


def _file_undone(now: GitState, span: GitSpan, name: str) -> bytes | None:
    """Return the configuration with the changes that others made since; None for other files, and for conflicts."""
    if name != _CONFIG or span.after is None:
        return None
    return with_change_undone(now.files.get(name), span.before.files.get(name), span.after.files.get(name))


def still_to_do(now: GitState, span: GitSpan) -> GitState:
    """Return the remaining work of an interrupted change from one side of a span to the other.

    A value of neither side was changed by another process since, and stays.
    """
    before, after = span.before, span.after
    if after is None:
        return GitState(None)
    return GitState(
        after.head if now.head == before.head else None,
        {name: oid for name, oid in after.refs.items() if now.refs.get(name) == before.refs.get(name)},
        {path: kept for path, kept in after.entries.items() if now.entries.get(path, ()) == before.entries.get(path)},
        {name: data for name, data in after.files.items() if now.files.get(name) == before.files.get(name)},
        {path: mark for path, mark in after.marks.items() if now.entries.get(path) in _sides(span, path)},
        {path: one for path, one in after.loose.items() if is_alike(now.loose.get(path), before.loose.get(path))},
    )


def _sides(span: GitSpan, path: str) -> tuple[IndexEntries | None, ...]:
    return tuple(side.entries.get(path) for side in (span.before, span.after) if side is not None)
