"""Bracket a call that CodePlane does not carry out itself: a shell command, an agent's own file tool, a foreign tool.

Before it, images of the files that it may change and git could not restore are stored; a call that names no files may
change any. After it, what differs becomes a record like that of any batch, so it can be traced and undone. The record
and a `Mark` are all that has to be kept in between, so another process can finish the bracket.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.protection import is_protected
from codeplane.edit.records import Change
from codeplane.edit.snapshot import Snapshot, finish_snapshot, kept_snapshot, take_snapshot
from codeplane.git.contents import read_blobs
from codeplane.git.repo_version import head_commit
from codeplane.git.repository import Repository, run_git
from codeplane.git.state import GitState
from codeplane.workspace.git_bracket import GitOutcome

_MAX_COPIED: Final = 64 * 1024 * 1024
_LARGEST: Final = 64 * 1024 * 1024
_MAX_PROTECTED: Final = 2_000
_LARGEST_PROTECTED: Final = 1024 * 1024
_GIT_OUTPUT: Final = 256 * 1024 * 1024
# Their changes are not the call's: CodePlane writes there itself meanwhile.
_PRIVATE: Final = (".codeplane/", ".git/")
_OWN_FILES: Final = frozenset({".orchestration/agent_trace.jsonl", ".orchestration/intent_map.md"})
# Where protected files are: the files of these directories, and everything below those.
_PROTECTED_FOLDERS: Final = ("", ".claude", ".cursor", ".gemini", ".vscode")
_PROTECTED_TREES: Final = (
    ".orchestration", ".codex", ".claude/hooks", ".cursor/hooks", ".github/hooks", ".github/copilot",
    ".clinerules/hooks", ".opencode/plugin", ".opencode/plugins", ".git/hooks",
)  # fmt: skip
_COMMITTED: Final = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*\tcommit[ :(]")

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a bracket began: HEAD, the length of its log, and the stamps of changed files that were not copied.

    `is_anywhere` marks a call that may have changed any file. `git_settings` is the digest of git's configuration,
    which names programs that git runs.
    """

    head: str | None
    log_bytes: int
    uncopied: Mapping[str, Stamp]
    is_anywhere: bool
    git_settings: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the form that is kept between two processes."""
        return {
            "head": self.head,
            "log_bytes": self.log_bytes,
            "uncopied": {path: list(stamp) for path, stamp in self.uncopied.items()},
            "is_anywhere": self.is_anywhere,
            "git_settings": self.git_settings,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Mark":
        """Return what was kept."""
        uncopied = {path: tuple(stamp) for path, stamp in kept["uncopied"].items()}
        settings = kept.get("git_settings", "")
        return cls(kept["head"], kept["log_bytes"], uncopied, kept["is_anywhere"], settings)


@dataclass(frozen=True, slots=True)
class Written:
    """What a bracketed call did, beside the record of it.

    `traced` are the paths whose new content it wrote: not what git put there. `unrecorded` are changed files whose
    former content is unknown. `restored` are protected files that were put back. `has_git_settings` tells that git's
    configuration is another one; it stays, because commands such as `git push -u` change it.
    """

    outcome: GitOutcome
    traced: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    has_git_settings: bool = False


class CommandBracket:
    """The bracket of one call: begun before it, finished once after it, by this process or another.

    `is_recorded` tells whether a call of ours, such as a person's, has left a file as it is. `written_meanwhile`
    returns what other calls have left in the files that they named; while it is still there, such a file is theirs.
    """

    def __init__(
        self,
        repository: Repository,
        editor: Editor,
        call_id: str,
        is_recorded: Callable[[str, str], bool],
        written_meanwhile: Callable[[], Mapping[str, str | None]],
        mark: Mark | None = None,
    ) -> None:
        self._repository = repository
        self._editor = editor
        self._call_id = call_id
        self._is_recorded = is_recorded
        self._written_meanwhile = written_meanwhile
        self.mark = mark
        self._snapshot: Snapshot | None = None
        self._written: Written | None = None

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Return the files that may change and could not be copied."""
        paths = self._snapshot.unreadable if self._snapshot is not None else ()
        uncopied = self.mark.uncopied if self.mark is not None else {}
        return (*(printable_name(path.text) for path in paths), *map(printable_name, uncopied))

    def begin(self, touched: Iterable[RepoPath], *, has_hooks: bool) -> None:
        """Take the snapshot: of these paths, or with `has_hooks` of all that a program could change.

        Raises:
            OSError: the snapshot failed; the call must not go on.
        """
        root, paths, uncopied = self._repository.root, list(touched), {}
        if has_hooks:
            room = _MAX_COPIED
            for path in dirty_paths(self._repository):
                stamp = _stamp(root, path)
                size = stamp[1] if stamp is not None else 0
                if stamp is not None and size > room:
                    uncopied[path] = stamp
                else:
                    room -= size
                    paths.append(RepoPath.known(path))
            paths += _protected_files(root)
        log = self._log()
        n_logged = log.stat().st_size if log.exists() else 0
        settings = self._git_settings() if has_hooks else ""
        self.mark = Mark(head_commit(self._repository), n_logged, uncopied, has_hooks, settings)
        self._snapshot = take_snapshot(self._editor, self._call_id, paths)

    def also_keep(self, _touched: Iterable[str]) -> None:
        """Do nothing: nobody asks for more paths while the call runs."""

    def finish(self) -> GitOutcome:
        """Record what the call did, put protected files back, and return it; repeated calls return the same."""
        return self.written().outcome

    def written(self) -> Written:
        """Finish, and return everything that has to be told about it."""
        if self._written is None:
            kept = kept_snapshot(self._editor, self._call_id)
            snapshot = self._snapshot or (kept[0] if kept is not None else None)
            if snapshot is None or self.mark is None:
                self._written = Written(GitOutcome(GitState(None), GitState(None)))
            else:
                self._written = self._finish(snapshot, self.mark)
        return self._written

    def _finish(self, snapshot: Snapshot, mark: Mark) -> Written:
        root = self._repository.root
        committed = self._committed(mark)
        restored = self._restore(snapshot, mark, frozenset(committed))
        written = {*dirty_paths(self._repository), *committed} if mark.is_anywhere else set()
        theirs = self._theirs() if mark.is_anywhere else frozenset()
        written -= theirs
        snapshot = replace(
            snapshot, images={path: one for path, one in snapshot.images.items() if path.text not in theirs}
        )
        imaged = {path.text for path in snapshot.images}
        same = {path for path, stamp in mark.uncopied.items() if _stamp(root, path) == stamp}
        suspects = sorted(written - imaged - same)
        contents = self._contents_at(mark.head, [path for path in suspects if path not in mark.uncopied])
        known: dict[RepoPath, FileImage | None] = {}
        for path in suspects:
            data = contents.get(path)
            if path not in mark.uncopied:
                known[RepoPath.known(path)] = FileImage(data, _mode(root, path)) if data is not None else None
        changes = finish_snapshot(self._editor, snapshot, known)
        outcome = GitOutcome(
            GitState(None), GitState(None), changes,
            kept=tuple(path.text for path, image in snapshot.images.items() if image is not None),
            commits=(mark.head, head_commit(self._repository)),
        )  # fmt: skip
        traced = tuple(
            one.path.text
            for one in changes
            if (not mark.is_anywhere or one.path.text in written) and not one.path.text.startswith(".orchestration/")
        )
        unrecorded = tuple(path for path in suspects if path in mark.uncopied)
        has_git_settings = mark.git_settings not in {"", self._git_settings()}
        return Written(outcome, traced, unrecorded, restored, has_git_settings)

    def _theirs(self) -> frozenset[str]:
        """Return the files that are as other calls have left them since this one began."""
        found = set()
        for path, sha256 in self._written_meanwhile().items():
            try:
                look = self._editor.look(RepoPath.known(path))
            except (CodePlaneError, OSError):
                # A directory has taken its place.
                continue
            if sha256 == (look.image.sha256 if look is not None else None):
                found.add(path)
        return frozenset(found)

    def _restore(self, snapshot: Snapshot, mark: Mark, committed: frozenset[str]) -> tuple[str, ...]:
        """Put back protected files that the call changed or removed, and remove those that it added."""
        if not mark.is_anywhere:
            return ()
        before = {path: image for path, image in snapshot.images.items() if is_protected(path)}
        back = []
        for path in sorted({*before, *_protected_files(self._repository.root)}):
            was, found = before.get(path), self._editor.look(path)
            now = found.image if found is not None else None
            is_same = now.is_like(was) if now is not None else was is None
            if not is_same and not self._may_differ(path.text, now, mark, committed):
                back.append(Change(path, now, was))
        if back:
            self._editor.apply(f"{self._call_id}-protected", back)
        return tuple(one.path.text for one in back)

    def _may_differ(self, path: str, now: FileImage | None, mark: Mark, committed: frozenset[str]) -> bool:
        """Tell whether git or a person changed a protected file meanwhile; what git brings is judged by its digest."""
        if now is not None and self._is_recorded(path, now.sha256):
            return True
        if path in committed or path.startswith(".git/"):
            return False
        head = head_commit(self._repository)
        then, later = (self._contents_at(one, [path]).get(path) for one in (mark.head, head))
        return head != mark.head and then != later and later == (now.data if now is not None else None)

    def _committed(self, mark: Mark) -> list[str]:
        """Return the paths of the commits that the call made; those that it fetched or moved to are not its own."""
        log = self._log()
        if not log.exists() or log.stat().st_size <= mark.log_bytes:
            return []
        with log.open("rb") as file:
            file.seek(mark.log_bytes)
            steps = [step for line in file if (step := _COMMITTED.match(line)) is not None]
        found: list[str] = []
        for step in steps:
            old, new = step[1].decode(), step[2].decode()
            command = ("ls-tree", new) if not old.strip("0") else ("diff-tree", "--no-renames", old, new)
            listing = run_git(
                self._repository.root, command[0], "-r", "-z", "--name-only", *command[1:], output_limit=_GIT_OUTPUT
            )
            found += [name for name in os.fsdecode(listing.stdout).split("\0") if name]
        return [name for name in dict.fromkeys(found) if not name.startswith(_PRIVATE) and name not in _OWN_FILES]

    def _contents_at(self, commit: str | None, paths: list[str]) -> dict[str, bytes]:
        """Return files as a commit has them; a clean file had the bytes of HEAD, unless a filter changes them."""
        wanted = [path for path in paths if "\n" not in path]
        if commit is None or not wanted:
            return {}
        root = self._repository.root
        asked = "".join(f"{commit}:{path}\n" for path in wanted)
        checked = run_git(
            root, "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=os.fsencode(asked),
            output_limit=_GIT_OUTPUT,
        )  # fmt: skip
        lines = checked.stdout_text.splitlines()
        oids = {path: line.split(" ")[0] for path, line in zip(wanted, lines, strict=False) if line.endswith(" blob")}
        blobs = read_blobs(root, oids.values(), _LARGEST)
        return {path: blobs[oid] for path, oid in oids.items() if oid in blobs}

    def _git_settings(self) -> str:
        try:
            return sha256_bytes((self._repository.common_dir / "config").read_bytes())
        except OSError:
            return "none"

    def _log(self) -> Path:
        return self._repository.git_dir / "logs" / "HEAD"


def dirty_paths(repository: Repository) -> list[str]:
    """Return every file that differs from HEAD, untracked ones included; CodePlane's own are left out."""
    listing = run_git(
        repository.root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
        "--ignore-submodules=all", output_limit=_GIT_OUTPUT,
    )  # fmt: skip
    names = [entry[3:] for entry in os.fsdecode(listing.stdout).split("\0") if len(entry) > 3]
    return [name for name in names if not name.startswith(_PRIVATE) and name not in _OWN_FILES]


def _protected_files(root: Path) -> list[RepoPath]:
    """Return the protected files that are there, without large ones."""
    places = [(place, False) for place in _PROTECTED_FOLDERS] + [(place, True) for place in _PROTECTED_TREES]
    found: list[RepoPath] = []
    for place, is_whole_tree in places:
        for top, directories, names in os.walk(root / place):
            here = Path(top).relative_to(root)
            for name in names:
                path = RepoPath.known((here / name).as_posix())
                stamp = _stamp(root, path.text) if is_protected(path) and path.text not in _OWN_FILES else None
                if stamp is not None and stamp[1] <= _LARGEST_PROTECTED:
                    found.append(path)
            if not is_whole_tree:
                break
            directories.sort()
    return found[:_MAX_PROTECTED]


def _stamp(root: Path, path: str) -> Stamp | None:
    try:
        status = (root / path).lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ctime_ns


def _mode(root: Path, path: str) -> int | None:
    try:
        return stat.S_IMODE((root / path).lstat().st_mode)
    except OSError:
        return None
