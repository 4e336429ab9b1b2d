"""A batch happens wholly or not at all, and takes nothing that somebody else wrote."""

import errno
import json
import os
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.directories import Place
from codeplane.edit.disk import Disk, ExchangeUnsupportedError
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.locks import PathLocks
from codeplane.edit.records import Change, Record, RecordStore, State, decode, encode
from edit.killing import snapshot
from support.forks import started_python


class Saboteur(Disk):
    """A disk to which something happens just before the n-th file is put in its place."""

    def __init__(self, at: int, deed: Callable[[], None]) -> None:
        self._left = at
        self._deed = deed

    def _happen(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._deed()

    def create(self, staged: Place, place: Place) -> None:
        """Create, after the deed."""
        self._happen()
        super().create(staged, place)

    def exchange(self, staged: Place, place: Place) -> None:
        """Exchange, after the deed."""
        self._happen()
        super().exchange(staged, place)

    def move(self, source: Place, target: Place) -> None:
        """Move, after the deed."""
        self._happen()
        super().move(source, target)


class WithoutExchange(Disk):
    """A file system that cannot exchange names."""

    def exchange(self, _staged: Place, _place: Place) -> None:
        """Refuse."""
        raise ExchangeUnsupportedError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a tree with three files."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"old {name}\n")
    return tmp_path


def editor_of(root: Path, disk: Disk | None = None) -> Editor:
    """Return an editor of a tree."""
    return Editor(root, "main", PathLocks(root / ".codeplane/locks"), RecordStore(root / ".codeplane/undo"), disk)


def updates(editor: Editor, *names: str) -> list[Change]:
    """Return an update of each file."""
    found = []
    for name in names:
        before = editor.look(RepoPath(name))
        assert before is not None
        found.append(Change(RepoPath(name), before.image, FileImage(f"new {name}\n".encode(), before.image.mode)))
    return found


def test_a_batch_creates_changes_and_deletes(root: Path) -> None:
    editor = editor_of(root)
    gone = editor.look(RepoPath("c"))
    assert gone is not None
    batch = [
        *updates(editor, "a"),
        Change(RepoPath("c"), gone.image, None),
        Change(RepoPath("x/y/z"), None, FileImage(b"made\n")),
    ]
    editor.apply("req_1", batch)
    assert snapshot(root) == {"a": "new a\n", "b": "old b\n", "x/y/z": "made\n"}
    found = editor.records.find("req_1")
    assert found is not None
    assert (found[1], found[0].changes[1].before) == (State.DONE, gone.image)


def test_mode_link_and_attributes_are_kept(root: Path) -> None:
    (root / "a").chmod(0o751)
    (root / "link").symlink_to("b")
    has_attributes = True
    try:
        os.setxattr(root / "a", "user.note", b"kept")
    except OSError:
        has_attributes = False
    editor = editor_of(root)
    before = editor.look(RepoPath("a"))
    assert before is not None
    after = FileImage(b"new\n", before.image.mode, owner=before.image.owner, attributes=before.image.attributes)
    link = editor.look(RepoPath("link"))
    assert link is not None
    editor.apply(
        "req_1",
        [
            Change(RepoPath("a"), before.image, after),
            Change(RepoPath("link"), link.image, FileImage(b"c", is_link=True)),
        ],
    )
    assert (root / "a").stat().st_mode & 0o777 == 0o751
    assert str((root / "link").readlink()) == "c"
    assert not has_attributes or os.getxattr(root / "a", "user.note") == b"kept"


@pytest.mark.parametrize("state", ["changed", "gone", "created", "chmod"])
def test_a_file_that_is_not_as_expected_stops_the_whole_batch(root: Path, state: str) -> None:
    editor = editor_of(root)
    batch = [*updates(editor, "a", "b"), Change(RepoPath("n"), None, FileImage(b""))]
    if state == "changed":
        (root / "b").write_text("foreign\n")
    elif state == "gone":
        (root / "b").unlink()
    elif state == "chmod":
        (root / "b").chmod(0o700)
    else:
        (root / "n").write_text("foreign\n")
    before = snapshot(root)
    with pytest.raises(CodePlaneError, match="not as expected") as failure:
        editor.apply("req_1", batch)
    assert failure.value.code == "STALE_FILE"
    assert snapshot(root) == before
    assert editor.records.find("req_1") is None


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_what_somebody_writes_at_the_last_moment_is_not_lost(root: Path, at: int) -> None:
    target = ["c", "a", "b", "n"][at - 1]  # Deletions come first.

    def write() -> None:
        (root / target).write_text("foreign\n")

    editor = editor_of(root, Saboteur(at, write))
    gone = editor.look(RepoPath("c"))
    assert gone is not None
    batch = [
        *updates(editor, "a", "b"),
        Change(RepoPath("c"), gone.image, None),
        Change(RepoPath("n"), None, FileImage(b"mine\n")),
    ]
    with pytest.raises(CodePlaneError, match="not as expected"):
        editor.apply("req_1", batch)
    assert snapshot(root) == {"a": "old a\n", "b": "old b\n", "c": "old c\n", target: "foreign\n"}
    assert editor.records.find("req_1") is None


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_refusal_of_the_system_in_the_middle_takes_everything_back(root: Path, at: int) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, "no space")

    editor = editor_of(root, Saboteur(at, fail))
    before = snapshot(root)
    with pytest.raises(OSError, match="no space"):
        editor.apply("req_1", updates(editor, "a", "b", "c"))
    assert snapshot(root) == before
    assert list(editor.records.unfinished()) == []


def test_a_full_disk_while_the_record_is_written_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = editor_of(root)
    batch = updates(editor, "a")
    before = snapshot(root)

    def fail(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        editor.apply("req_1", batch)
    assert snapshot(root) == before
    assert list((root / ".codeplane/undo").iterdir()) == []


def test_a_directory_with_other_files_does_not_become_a_file(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/gone").write_text("x\n")
    (root / "d/stays").write_text("y\n")
    editor = editor_of(root)
    gone = editor.look(RepoPath("d/gone"))
    assert gone is not None
    batch = [Change(RepoPath("d/gone"), gone.image, None), Change(RepoPath("d"), None, FileImage(b"file\n"))]
    before = snapshot(root)
    with pytest.raises(CodePlaneError, match="a directory with other files is there"):
        editor.apply("req_1", batch)
    assert snapshot(root) == before


def test_a_file_with_a_decomposed_name_is_edited_in_place(root: Path) -> None:
    composed = "n\u00e9/caf\u00e9.txt"
    on_disk = root / unicodedata.normalize("NFD", composed)
    on_disk.parent.mkdir()
    on_disk.write_text("old\n")
    editor = editor_of(root)
    editor.apply("req_1", updates(editor, composed))
    assert [path.name for path in on_disk.parent.iterdir()] == [on_disk.name]
    assert on_disk.read_text() == f"new {composed}\n"


def test_a_full_disk_while_staging_leaves_nothing(root: Path) -> None:
    class Full(Disk):
        def stage(self, place: Place, image: FileImage) -> None:
            if image.data.startswith(b"new c"):
                raise OSError(errno.ENOSPC, "no space")
            super().stage(place, image)

    editor = editor_of(root, Full())
    before = snapshot(root)
    batch = [*updates(editor, "a", "b", "c"), Change(RepoPath("x/y"), None, FileImage(b"made\n"))]
    with pytest.raises(OSError, match="no space"):
        editor.apply("req_1", batch)
    assert snapshot(root) == before
    assert not (root / "x").exists()
    assert list((root / ".codeplane/undo").iterdir()) == []


def test_names_that_cannot_be_exchanged_are_replaced(root: Path) -> None:
    editor = editor_of(root, WithoutExchange())
    editor.apply("req_1", updates(editor, "a", "b"))
    assert snapshot(root) == {"a": "new a\n", "b": "new b\n", "c": "old c\n"}


def test_a_directory_that_became_a_symlink_is_not_followed(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "f").write_text("secret\n")
    (root / "d").mkdir()
    (root / "d/f").write_text("secret\n")
    editor = editor_of(root)
    batch = updates(editor, "d/f")
    (root / "d/f").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    with pytest.raises((OSError, CodePlaneError)):
        editor.apply("req_1", batch)
    assert (outside / "f").read_text() == "secret\n"


def test_recovery_leaves_a_file_alone_that_somebody_changed_after_the_crash(root: Path) -> None:
    editor = editor_of(root)
    batch = updates(editor, "a", "b")
    editor.records.write(Record("req_1", "main", tuple(batch)), State.PENDING)
    (root / "b").write_text("foreign\n")
    recovery = editor.recover("req_1")
    assert recovery is not None
    assert (recovery.is_applied, recovery.conflicts) == (True, ("b",))
    assert snapshot(root) == {"a": "new a\n", "b": "foreign\n", "c": "old c\n"}


def test_what_an_exchange_took_from_somebody_is_put_back_by_recovery(root: Path) -> None:
    """The process died between the exchange and the look at what came out of it."""
    editor = editor_of(root)
    batch = updates(editor, "a", "b")
    record = Record("req_1", "main", tuple(batch))
    editor.records.write(record, State.PENDING)
    (root / record.staged_name(0)).write_text("foreign\n")
    (root / "a").write_text("new a\n")
    recovery = editor.recover("req_1")
    assert recovery is not None
    assert recovery.conflicts == ("a",)
    assert snapshot(root) == {"a": "foreign\n", "b": "new b\n", "c": "old c\n"}


def test_three_versions_of_a_file_are_all_kept_by_recovery(root: Path) -> None:
    """As above, and somebody wrote once more before recovery came."""
    editor = editor_of(root)
    record = Record("req_1", "main", tuple(updates(editor, "a")))
    editor.records.write(record, State.PENDING)
    (root / record.staged_name(0)).write_text("foreign\n")
    (root / "a").write_text("later\n")
    recovery = editor.recover("req_1")
    assert recovery is not None
    assert recovery.conflicts == ("a",)
    assert snapshot(root) == {"a": "later\n", "a.kept-req_1": "foreign\n", "b": "old b\n", "c": "old c\n"}


def test_what_cannot_be_taken_back_is_said(root: Path) -> None:
    """A batch fails at its second file, when somebody has already changed the first one again."""

    def interfere() -> None:
        (root / "a").write_text("later\n")
        raise OSError(errno.EIO, "broken")

    editor = editor_of(root, Saboteur(2, interfere))
    with pytest.raises(CodePlaneError, match="could not be rolled back") as failure:
        editor.apply("req_1", updates(editor, "a", "b"))
    assert failure.value.details["paths"] == ["a"]
    assert snapshot(root) == {"a": "later\n", "b": "old b\n", "c": "old c\n"}


def test_a_record_comes_back_from_its_bytes_and_damage_is_seen(root: Path) -> None:
    image = FileImage(b"\0\xff" * 500, 0o640, owner=(1, 2), attributes=(("user.a", b"\xfe"),))
    record = Record("req_1", "w", (Change(RepoPath("ä/b"), image, None),), (RepoPath("ä"),))
    data = encode(record)
    assert decode(data, "req_1") == record
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(CodePlaneError, match="damaged"):
            decode(bytes(damaged), "req_1")
    assert str(root)


def test_the_oldest_records_go_when_there_are_too_many_bytes(root: Path) -> None:
    editor = editor_of(root)
    for number in range(4):
        path = RepoPath("a")
        before = editor.look(path)
        assert before is not None
        editor.apply(f"req_{number}", [Change(path, before.image, FileImage(os.urandom(2000), before.image.mode))])
        os.utime(root / f".codeplane/undo/req_{number}.done", (number, number))
    size = editor.records.size_bytes()
    assert editor.records.trim(size) == 0
    assert editor.records.trim(size - 1) == 1
    assert editor.records.find("req_0") is None
    assert editor.records.find("req_3") is not None


def _killed_at_every_call(tmp_path: Path, step: int) -> dict[str, object]:
    script = Path(__file__).with_name("killing.py")
    argv = [sys.executable, str(script), str(tmp_path / "tree"), str(step)]
    found: dict[str, object] = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    return found


@pytest.mark.slow
def test_a_batch_killed_at_any_call_is_all_old_or_all_new_after_recovery(tmp_path: Path) -> None:
    found = _killed_at_every_call(tmp_path, 13)
    assert found["problems"] == {}
    assert found["changed"] is True
    # Without recovery the trees would not be whole.
    assert isinstance(found["mixed"], int)
    assert found["mixed"] > 5


_ADD = """
import sys
from pathlib import Path
from edit.test_editor import add_one
for _ in range(int(sys.argv[2])):
    add_one(Path(sys.argv[1]), sys.argv[3])
"""


def add_one(root: Path, batch: str) -> None:
    """Add one to the number in a file, trying again when somebody else was faster."""
    editor = editor_of(root)
    number = 0
    while True:
        number += 1
        before = editor.look(RepoPath("count"))
        assert before is not None
        after = FileImage(b"%d\n" % (int(before.image.data) + 1), before.image.mode)
        try:
            editor.apply(
                f"req_{batch}_{before.image.sha256[:8]}_{number}", [Change(RepoPath("count"), before.image, after)]
            )
        except CodePlaneError as error:
            assert error.code == "STALE_FILE"  # noqa: PT017 - every other one is raised again below
            continue
        return


@pytest.mark.slow
def test_no_update_of_several_processes_is_lost(root: Path) -> None:
    (root / "count").write_text("0\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    children = [
        started_python([sys.executable, "-c", _ADD, str(root), "25", str(number)], env=environment)
        for number in range(4)
    ]
    assert [child.wait() for child in children] == [0] * 4
    assert (root / "count").read_text() == "100\n"
    assert [path.name for path in root.iterdir() if path.name.startswith(".cpl-")] == []


def stopped_at(root: Path, at: int) -> Editor:
    """Return an editor that is stopped just before the n-th file is put in its place."""
    disk = Saboteur(at, lambda: None)
    editor = editor_of(root, disk)
    disk._deed = editor.stop
    return editor


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_batch_is_taken_back_when_the_program_is_to_end(root: Path, at: int) -> None:
    editor = stopped_at(root, at)
    before = snapshot(root)
    made = Change(RepoPath("x/y"), None, FileImage(b"made\n"))
    with pytest.raises(CodePlaneError) as failure:
        editor.apply("req_1", [*updates(editor, "a", "b", "c"), made])
    assert failure.value.code == "SERVER_SHUTTING_DOWN"
    assert snapshot(root) == before
    assert not (root / "x").exists()
    assert list((root / ".codeplane/undo").iterdir()) == []


def test_a_batch_whose_last_file_is_in_place_is_done_although_the_program_is_to_end(root: Path) -> None:
    editor = stopped_at(root, 3)
    editor.apply("req_1", updates(editor, "a", "b", "c"))
    assert snapshot(root) == {"a": "new a\n", "b": "new b\n", "c": "new c\n"}


def test_nothing_is_begun_when_the_program_is_to_end_but_the_way_back_is_open(root: Path) -> None:
    editor = editor_of(root)
    editor.apply("req_1", updates(editor, "a"))
    editor.stop()
    with pytest.raises(CodePlaneError, match="stopping"):
        editor.apply("req_2", updates(editor, "b"))
    assert editor.records.find("req_2") is None
    before = editor.look(RepoPath("a"))
    assert before is not None
    editor.apply("req_3", [Change(RepoPath("a"), before.image, FileImage(b"old a\n"))], ("req_1",))
    assert snapshot(root) == {"a": "old a\n", "b": "old b\n", "c": "old c\n"}


def test_whoever_waits_for_a_file_stops_waiting_when_the_program_is_to_end(root: Path) -> None:
    editor, other = editor_of(root), PathLocks(root / ".codeplane/locks")
    batch = updates(editor, "a")
    with other.holding([RepoPath("a")]), ThreadPoolExecutor() as pool:
        waiting = pool.submit(editor.apply, "req_1", batch)
        editor.stop()
        with pytest.raises(CodePlaneError, match="stopping"):
            # The wait for the lock would be twice as long.
            waiting.result(timeout=5)


def test_recovery_that_had_to_wait_sees_what_became_of_the_batch_meanwhile(root: Path) -> None:
    """The record says `staging` when recovery comes, and the batch is done when it has the locks."""
    arrived, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        assert go_on.wait(10)

    editor = editor_of(root, Saboteur(1, hold))
    batch = updates(editor, "a", "b")
    with ThreadPoolExecutor() as pool:
        applied = pool.submit(editor.apply, "req_1", batch)
        assert arrived.wait(10)
        late = editor_of(root)
        recovered = pool.submit(late.recover, "req_1")
        go_on.set()
        applied.result(timeout=10)
        found = recovered.result(timeout=10)
    assert found is not None
    assert (found.is_applied, snapshot(root)) == (True, {"a": "new a\n", "b": "new b\n", "c": "old c\n"})


def test_recovery_removes_a_record_that_was_only_half_written(root: Path) -> None:
    editor = editor_of(root)
    undo = root / ".codeplane/undo"
    undo.mkdir(parents=True)
    (undo / "req_1.new").write_bytes(b"codeplane rec")
    (undo / "req_2.new").write_bytes(b"of another call")
    assert editor.recover("req_1") is None
    assert editor.recover("../req_2") is None
    assert [path.name for path in undo.iterdir()] == ["req_2.new"]
