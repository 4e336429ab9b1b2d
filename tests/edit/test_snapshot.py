"""What others do to files can be undone like an edit."""

from pathlib import Path

import pytest

from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.locks import PathLocks
from codeplane.edit.records import RecordStore
from codeplane.edit.snapshot import finish_snapshot, kept_snapshot, take_snapshot
from codeplane.edit.undo import plan_undo


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    """Return the editor of a small tree."""
    (tmp_path / "a").write_text("old a\n")
    (tmp_path / "b").write_text("old b\n")
    return Editor(tmp_path, "main", PathLocks(tmp_path / ".codeplane/locks"), RecordStore(tmp_path / ".codeplane/undo"))


def paths(*names: str) -> list[RepoPath]:
    """Return paths."""
    return [RepoPath(name) for name in names]


def test_what_a_command_did_is_taken_back(editor: Editor, tmp_path: Path) -> None:
    snapshot = take_snapshot(editor, "req_1", paths("a", "b", "c"))
    (tmp_path / "a").write_text("new a\n")
    (tmp_path / "b").unlink()
    (tmp_path / "c").write_text("made\n")
    (tmp_path / "d").write_text("made too\n")
    changes = finish_snapshot(editor, snapshot, dict.fromkeys(paths("d")))
    assert [change.path.text for change in changes] == ["d", "a", "b", "c"]
    found = editor.records.find("req_1")
    assert found is not None
    plan = plan_undo(editor, [found[0]])
    editor.apply("undo_1", plan.changes)
    assert (tmp_path / "a").read_text() == "old a\n"
    assert (tmp_path / "b").read_text() == "old b\n"
    assert not (tmp_path / "c").exists()
    assert not (tmp_path / "d").exists()


def test_a_command_that_changed_nothing_leaves_no_record(editor: Editor) -> None:
    snapshot = take_snapshot(editor, "req_1", paths("a", "b"))
    assert finish_snapshot(editor, snapshot) == ()
    assert editor.records.find("req_1") is None


def test_before_images_outlive_the_process_that_took_them(editor: Editor, tmp_path: Path) -> None:
    take_snapshot(editor, "req_1", paths("a", "missing"))
    (tmp_path / "a").write_text("broken\n")
    kept = kept_snapshot(editor, "req_1")
    assert kept is not None
    image = kept[0].images[RepoPath("a")]
    assert image is not None
    assert image.data == b"old a\n"
    assert kept[0].images[RepoPath("missing")] is None


def test_what_cannot_be_kept_is_named(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    assert take_snapshot(editor, "req_1", paths("a", "d")).unreadable == (RepoPath("d"),)
