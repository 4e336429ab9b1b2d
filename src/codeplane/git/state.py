"""Everything that git commands change besides working files: HEAD, refs, the index, and what is in progress.

A state is read before a command and after it; the difference of both is what undo has to take back. Objects need no
copy: whatever a ref or an index entry named is kept alive by a ref of its own (`keep_objects`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.repository import Repository

KEPT_REFS: Final = "refs/codeplane/undo/"
_OWN_REFS: Final = "refs/codeplane/"
_GITLINK: Final = "160000"
# Small files by which git remembers what it is in the middle of, in the directory of this working tree.
_PROGRESS_FILES: Final = (
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_AUTOSTASH",
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
_LARGEST_FILE: Final = 4_000_000
_MOST_LINKS: Final = 5

IndexEntries = tuple[tuple[str, str, int], ...]
"""Mode, object and stage of each entry that a path has in the index."""


@dataclass(frozen=True, slots=True)
class GitState:
    """HEAD as its file says it, refs by name, index entries by path, files in progress by place.

    Of two states that are kept as a difference, each holds only what differs; None stands for "was not there".
    """

    head: str | None
    refs: Mapping[str, str | None] = field(default_factory=dict)
    entries: Mapping[str, IndexEntries] = field(default_factory=dict)
    files: Mapping[str, bytes | None] = field(default_factory=dict)


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
    return GitState(_head(repository), _refs(repository.root), _entries(repository.root), _files(repository))


def difference(before: GitState, after: GitState) -> tuple[GitState, GitState]:
    """Return both states with only what differs between them."""
    refs = [name for name in {**before.refs, **after.refs} if before.refs.get(name) != after.refs.get(name)]
    paths = [
        path for path in {**before.entries, **after.entries} if before.entries.get(path) != after.entries.get(path)
    ]
    files = [name for name in {**before.files, **after.files} if before.files.get(name) != after.files.get(name)]
    is_same_head = before.head == after.head

    def part(state: GitState) -> GitState:
        return GitState(
            None if is_same_head else state.head,
            {name: state.refs.get(name) for name in refs},
            {path: state.entries.get(path, ()) for path in paths},
            {name: state.files.get(name) for name in files},
        )

    return part(before), part(after)


def is_nothing(state: GitState) -> bool:
    """Tell whether one side of a difference is empty."""
    return state.head is None and not state.refs and not state.entries and not state.files


def commit_of(state: GitState) -> str | None:
    """Return the commit of HEAD in a whole state, None when there is none yet."""
    head = state.head
    for _ in range(_MOST_LINKS):
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
    """Let refs keep alive what a state names, as long as its batch can be undone."""
    named = {oid for oid in state.refs.values() if oid is not None and not oid.startswith("ref: ")}
    if state.head is not None and not state.head.startswith("ref: "):
        named.add(state.head)
    stash = state.files.get("common:logs/refs/stash")
    if stash is not None:
        named.update(line.split(b" ", 2)[1].decode() for line in stash.splitlines() if line.count(b" ") > 1)
    wanted = sorted(_existing(repository, named))
    # One tree holds all staged contents, however many there are.
    staged = sorted({oid for entries in state.entries.values() for mode, oid, _ in entries if mode != _GITLINK})
    if staged:
        listing = "".join(f"100644 blob {oid}\t{number}\0" for number, oid in enumerate(staged))
        made = must_change(repository.root, "mktree", "-z", "--missing", conditions=_input(listing.encode()))
        wanted.append(made.stdout_text.strip())
    lines = "".join(f"update {KEPT_REFS}{batch_id}/{oid} {oid}\n" for oid in wanted)
    if lines:
        must_change(repository.root, "update-ref", "--stdin", conditions=_input(lines.encode()))


def forget_objects(repository: Repository, kept_batches: frozenset[str]) -> int:
    """Remove the refs of batches that cannot be undone any more; return how many went."""
    listing = ask_git(repository.root, "for-each-ref", "--format=%(refname)", KEPT_REFS).decode().split()
    gone = [name for name in listing if name.removeprefix(KEPT_REFS).partition("/")[0] not in kept_batches]
    if gone:
        lines = "".join(f"delete {name}\n" for name in gone)
        must_change(repository.root, "update-ref", "--stdin", conditions=_input(lines.encode()))
    return len(gone)


def write_state(repository: Repository, target: GitState) -> None:
    """Bring HEAD, refs, index entries and files to what one side of a difference says. Doing it twice does no harm.

    Raises:
        CodePlaneError: git refuses; what was done before can be done again.
    """
    root = repository.root
    if target.entries:
        _write_entries(root, target.entries)
    # What goes makes room for what comes: `a` and `a/b` cannot be there together, not even in one transaction.
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
    for name, data in target.files.items():
        _write_file(repository, name, data)


def encode_span(span: GitSpan) -> dict[str, Any]:
    """Return a span in terms of JSON."""
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
    }


def _from_json(found: Mapping[str, Any]) -> GitState:
    return GitState(
        found["head"],
        found["refs"],
        {path: tuple((mode, oid, stage) for mode, oid, stage in entries) for path, entries in found["entries"].items()},
        {name: bytes.fromhex(text) if text is not None else None for name, text in found["files"].items()},
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


def _entries(root: Path) -> dict[str, IndexEntries]:
    found: dict[str, IndexEntries] = {}
    for item in os.fsdecode(ask_git(root, "ls-files", "-s", "-z")).split("\0"):
        if item:
            head, _, path = item.partition("\t")
            mode, oid, stage = head.split(" ")
            found[path] = (*found.get(path, ()), (mode, oid, int(stage)))
    return found


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


def _read(place: Path) -> bytes | None:
    try:
        if not place.is_file() or place.stat().st_size > _LARGEST_FILE:
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
    for path, kept in entries.items():
        name = os.fsencode(path)
        null = b"0" * (len(kept[0][1]) if kept else 40)
        lines.append(b"0 " + null + b"\t" + name + b"\0")
        lines.extend(f"{mode} {oid} {stage}\t".encode() + name + b"\0" for mode, oid, stage in kept)
    must_change(root, "update-index", "-z", "--index-info", conditions=_input(b"".join(lines)))


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
    place.parent.mkdir(parents=True, exist_ok=True)
    unseen = place.with_name(f"{place.name}.codeplane")
    unseen.write_bytes(data)
    unseen.replace(place)


def _remove_empty_parents(place: Path, base: Path) -> None:
    parent = place.parent
    while parent != base and parent.name not in {"logs", "refs"} and parent.is_dir() and not any(parent.iterdir()):
        parent.rmdir()
        parent = parent.parent


def conflicts_with(now: GitState, span: GitSpan) -> list[str]:
    """Return what is not any more as a command left it, so that the command cannot be taken back."""
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
        if now.files.get(name) != data and name != "worktree:ORIG_HEAD"
    )
    return found


def with_span_undone(now: GitState, span: GitSpan) -> GitState:
    """Return the state that there is when a command has been taken back."""
    before = span.before
    entries = {**now.entries, **before.entries}
    return GitState(
        before.head if before.head is not None else now.head,
        {**now.refs, **before.refs},
        {path: kept for path, kept in entries.items() if kept},
        {**now.files, **before.files},
    )
