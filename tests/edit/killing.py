"""Run as a program: apply a batch again and again, killed at every system call in turn, and tell what recovery left.

`python killing.py DIRECTORY STEP` tries every STEP-th call of a batch, and for some of these every STEP-th call of the
recovery after it. Prints one line of JSON: how many points were tried, how many trees were mixed before recovery, and
what was wrong with which.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codeplane.core.paths import RepoPath
from codeplane.edit import disk
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.locks import PathLocks
from codeplane.edit.records import Change, RecordStore

CALLS = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir", "rmdir", "symlink", "fchmod", "close")
OLD = {f"d{number % 3}/f{number}.txt": f"old {number}\n".encode() * 50 for number in range(14)}
OLD |= {"file-to-directory": b"a file\n", "directory-to-file/deep/in.txt": b"inside\n"}


def new_editor(root: Path) -> Editor:
    """Return an editor of a tree."""
    return Editor(root, "main", PathLocks(root / ".codeplane/locks"), RecordStore(root / ".codeplane/undo"))


def make_tree(root: Path) -> None:
    """Make the tree as it is before the batch."""
    shutil.rmtree(root, ignore_errors=True)
    for path, data in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def changes(editor: Editor) -> list[Change]:
    """Return a batch: updates, deletions, new directories, a link, a file and a directory that change places."""
    found = []
    for number, path in enumerate(OLD):
        before = editor.look(RepoPath(path))
        assert before is not None
        after = (
            None if number % 5 == 4 or number >= 14 else FileImage(f"new {number}\n".encode() * 60, before.image.mode)
        )
        found.append(Change(RepoPath(path), before.image, after))
    made = [RepoPath(f"made/deep{number}/g.txt") for number in range(5)]
    found += [Change(path, None, FileImage(b"created\n")) for path in made]
    found.append(Change(RepoPath("file-to-directory/in.txt"), None, FileImage(b"inside\n")))
    found.append(Change(RepoPath("directory-to-file"), None, FileImage(b"a file\n")))
    found.append(Change(RepoPath("d0/link"), None, FileImage(b"f0.txt", is_link=True)))
    return found


def snapshot(root: Path) -> dict[str, str]:
    """Return everything below a tree but CodePlane's own."""
    return {
        str(path.relative_to(root)): "-> " + str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in sorted(root.rglob("*"))
        if not path.is_dir() and ".codeplane" not in path.parts
    }


def count_calls(on_call: Callable[[], None]) -> None:
    """Tell each system call of this process that may write, before and after it happens."""

    def watched(real: Any) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            on_call()
            answer = real(*arguments, **more)
            on_call()
            return answer

        return call

    for name in CALLS:
        setattr(os, name, watched(getattr(os, name)))
    setattr(disk, "_RENAME", watched(disk._RENAME))  # noqa: B010 - a constant, for everybody else


def killed(work: Callable[[], object], at: int) -> bool:
    """Work in a process that ends at a call; tell whether it came to its end before."""
    pid = os.fork()
    if pid == 0:
        n_calls = 0

        def on_call() -> None:
            nonlocal n_calls
            n_calls += 1
            if n_calls == at:
                os._exit(9)

        count_calls(on_call)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def run_killed(root: Path, at: int) -> bool:
    """Apply the batch in a process that ends at a call."""
    editor = new_editor(root)
    batch = changes(editor)
    return killed(lambda: editor.apply("req_1", batch), at)


def problem(root: Path, old: dict[str, str], new: dict[str, str]) -> str:
    """Recover and return what is wrong with the tree, empty for nothing."""
    recovery = new_editor(root).recover("req_1")
    found = snapshot(root)
    expected = new if recovery is not None and recovery.is_applied else old
    if recovery is not None and recovery.conflicts:
        return f"conflicts {recovery.conflicts}"
    if found != expected:
        return f"mixed or left over: {sorted(set(found.items()) ^ set(expected.items()))[:3]}"
    directories = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir()}
    if expected is old and any(path.startswith("made") for path in directories):
        return "directories are left over"
    unfinished = list(new_editor(root).records.unfinished())
    return f"unfinished {unfinished}" if unfinished else ""


def main(root: Path, step: int) -> None:
    """Try every point."""
    make_tree(root)
    old = snapshot(root)
    run_killed(root, 0)
    new = snapshot(root)
    problems: dict[str, str] = {}
    n_tried = n_mixed = 0
    at = 1
    is_over = False
    while not is_over:
        make_tree(root)
        is_over = run_killed(root, at)
        n_mixed += snapshot(root) not in (old, new)
        n_tried += 1
        if wrong := problem(root, old, new):
            problems[str(at)] = wrong
        at += step
    for middle in range(n_tried * step // 8, n_tried * step, n_tried * step // 8):
        inner = 1
        is_over = False
        while not is_over:
            make_tree(root)
            run_killed(root, middle)
            is_over = killed(lambda: new_editor(root).recover("req_1"), inner)
            n_tried += 1
            if wrong := problem(root, old, new):
                problems[f"{middle}, recovery {inner}"] = wrong
            inner += step
    sys.stdout.write(
        json.dumps({"tried": n_tried, "mixed": n_mixed, "changed": old != new, "problems": problems}) + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
