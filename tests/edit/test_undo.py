"""What was done is taken back exactly, and nothing that came after is lost."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.locks import PathLocks
from codeplane.edit.merging import merged
from codeplane.edit.records import Change, RecordStore
from codeplane.edit.undo import UndoPlan, plan_undo
from support.effort import examples


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    """Return the editor of an empty tree."""
    return Editor(tmp_path, "main", PathLocks(tmp_path / ".codeplane/locks"), RecordStore(tmp_path / ".codeplane/undo"))


def write(editor: Editor, batch: str, path: str, data: bytes | None, mode: int | None = None) -> None:
    """Make one change."""
    found = editor.look(RepoPath(path))
    before = found.image if found is not None else None
    after = None if data is None else FileImage(data, mode if mode is not None else before.mode if before else None)
    editor.apply(batch, [Change(RepoPath(path), before, after)])


def undo(editor: Editor, *batches: str) -> UndoPlan:
    """Take batches back, the newest given first, if nothing is in the way."""
    records = []
    for batch in batches:
        found = editor.records.find(batch)
        assert found is not None
        records.append(found[0])
    plan = plan_undo(editor, records)
    if not plan.conflicts:
        editor.apply(f"undo_{batches[0]}", plan.changes)
    return plan


def text(editor: Editor, path: str) -> bytes | None:
    """Return the content of a file."""
    found = editor.look(RepoPath(path))
    return found.image.data if found is not None else None


def test_bytes_existence_mode_and_link_come_back(editor: Editor, tmp_path: Path) -> None:
    write(editor, "r0", "a", b"\xff\r\nold", 0o755)
    (tmp_path / "l").symlink_to("a")
    first = {name: editor.look(RepoPath(name)) for name in ("a", "l", "new")}
    link = first["l"]
    assert link is not None
    write(editor, "r1", "a", b"new\n", 0o600)
    editor.apply("r2", [Change(RepoPath("l"), link.image, FileImage(b"elsewhere", is_link=True))])
    write(editor, "r3", "new", b"x")
    write(editor, "r4", "a", None)
    undo(editor, "r4", "r3", "r2", "r1")
    assert {name: editor.look(RepoPath(name)) for name in first} == first


def test_attributes_come_back(editor: Editor, tmp_path: Path) -> None:
    write(editor, "r0", "a", b"old\n")
    has_attributes = True
    try:
        os.setxattr(tmp_path / "a", "user.note", b"\x00kept")
    except OSError:
        # A file system without them has nothing to lose.
        has_attributes = False
    before = editor.look(RepoPath("a"))
    write(editor, "r1", "a", None)
    undo(editor, "r1")
    assert editor.look(RepoPath("a")) == before
    assert not has_attributes or os.getxattr(tmp_path / "a", "user.note") == b"\x00kept"


def test_later_changes_elsewhere_in_the_file_stay(editor: Editor) -> None:
    write(editor, "r0", "a", b"1\n2\n3\n4\n5\n")
    write(editor, "r1", "a", b"1\ntwo\n3\n4\n5\n")
    write(editor, "r2", "a", b"1\ntwo\n3\n4\nfive\n")
    plan = undo(editor, "r1")
    assert text(editor, "a") == b"1\n2\n3\n4\nfive\n"
    assert [path.text for path in plan.merged] == ["a"]


@pytest.mark.parametrize("later", [b"1\nzwei\n3\n", b"1\n2\n", None, b"1\ntwo\nmore\n3\n"])
def test_what_was_changed_again_is_not_taken_back_but_shown(editor: Editor, later: bytes | None) -> None:
    write(editor, "r0", "a", b"1\n2\n3\n")
    write(editor, "r1", "a", b"1\ntwo\n3\n")
    write(editor, "r2", "a", later)
    plan = undo(editor, "r1")
    assert [one.path.text for one in plan.conflicts] == ["a"]
    assert text(editor, "a") == later


def test_an_undo_can_be_undone(editor: Editor) -> None:
    write(editor, "r0", "a", b"old\n")
    write(editor, "r1", "a", b"new\n")
    undo(editor, "r1")
    assert text(editor, "a") == b"old\n"
    undo(editor, "undo_r1")
    assert text(editor, "a") == b"new\n"


def test_several_batches_are_one_way_back(editor: Editor) -> None:
    for number in range(5):
        write(editor, f"r{number}", "a", b"%d\n" % number)
    undo(editor, "r4", "r3", "r2", "r1")
    assert text(editor, "a") == b"0\n"


PATHS = ("a", "b", "d/c")
CONTENTS = (b"", b"one\n", b"one\r\ntwo\n", b"\xff\xfe\0", b"three", b"l\n" * 50)


@examples(60)
@given(
    steps=st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(PATHS),
                st.sampled_from((*CONTENTS, None, "link")),
                st.sampled_from([0o600, 0o755, None]),
            ),
            min_size=1,
            max_size=3,
            unique_by=lambda one: one[0],
        ),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_was_done_is_taken_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, bytes | str | None, int | None]]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    made = Editor(root, "main", PathLocks(root / ".codeplane/locks"), RecordStore(root / ".codeplane/undo"))
    states = [{path: made.look(RepoPath(path)) for path in PATHS}]
    batches = []
    for number, step in enumerate(steps):
        changes = []
        for path, content, mode in step:
            found = made.look(RepoPath(path))
            before = found.image if found is not None else None
            after = FileImage(b"a", is_link=True) if content == "link" else None
            if isinstance(content, bytes):
                after = FileImage(content, mode if mode is not None or before is None else before.mode)
            if before is not None or after is not None:
                changes.append(Change(RepoPath(path), before, after))
        made.apply(f"r{number}", changes)
        if changes:
            batches.append(f"r{number}")
            states.append({path: made.look(RepoPath(path)) for path in PATHS})
    for batch in reversed(batches):
        assert {path: made.look(RepoPath(path)) for path in PATHS} == states.pop()
        assert undo(made, batch).conflicts == ()
    assert {path: made.look(RepoPath(path)) for path in PATHS} == states.pop()


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=8)


@examples(300)
@given(base=LINES, edits=st.lists(st.tuples(st.integers(0, 8), st.sampled_from([b"x\n", b"y\n", b""])), max_size=3))
def test_a_merge_with_no_change_on_one_side_is_the_other_side(
    base: list[bytes], edits: list[tuple[int, bytes]]
) -> None:
    other = list(base)
    for position, line in edits:
        other[position : position + 1] = [line] if line else []
    one, two = b"".join(base), b"".join(other)
    assert merged(one, one, two) == two
    assert merged(one, two, one) == two
    assert merged(one, two, two) == two


@examples(300)
@given(st.integers(0, 9), st.integers(0, 9))
def test_changes_of_lines_that_are_apart_are_both_kept(first: int, second: int) -> None:
    base = [b"%d\n" % number for number in range(10)]
    ours, theirs = list(base), list(base)
    ours[first], theirs[second] = b"ours\n", b"theirs\n"
    answer = merged(b"".join(base), b"".join(ours), b"".join(theirs))
    if abs(first - second) <= 1:
        assert isinstance(answer, tuple)
        assert answer[0].start_line == min(first, second) + 1
    else:
        both = list(base)
        both[first], both[second] = b"ours\n", b"theirs\n"
        assert answer == b"".join(both)
