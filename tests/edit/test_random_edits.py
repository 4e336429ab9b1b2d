"""Random edits of random files on a real disk: only the bytes that are meant differ, and undo restores everything."""

import codecs
import os
import random
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.images import FoundFile
from codeplane.edit.locks import PathLocks
from codeplane.edit.planning import SpanEdit, plan_update
from codeplane.edit.records import Change, RecordStore
from codeplane.edit.undo import plan_undo
from support.effort import examples

N_FILES = 25
FORMS = (
    (b"", "utf-8"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
ENDS = (["\n"], ["\r\n"], ["\n", "\r\n"])
MODES = (0o600, 0o644, 0o755, 0o444, 0o2755)


@dataclass(frozen=True, slots=True)
class RandomFile:
    """A file, one edit of it, and the bytes around that edit; text that is no UTF-8 is written with surrogates."""

    path: RepoPath
    data: bytes
    edit: SpanEdit
    around: tuple[bytes, bytes]
    new_lines: list[str]
    encoding: str

    def is_edited_rightly(self, data: bytes) -> bool:
        """Tell whether the new lines, with endings of some kind, are all that is different."""
        before, after = self.around
        middle = data[len(before) : len(data) - len(after)].decode(self.encoding)
        is_same = data.startswith(before) and data.endswith(after) and len(data) >= len(before) + len(after)
        return is_same and middle.replace("\r\n", "\n").removesuffix("\n").split("\n") == self.new_lines


def random_file(chance: random.Random, number: int) -> RandomFile:
    """Return a text in some encoding with endings of some kinds, and an edit by lines, by text or by both."""
    mark, encoding = chance.choice(FORMS)
    letters = "abcä€\t\r \U0001f600" + ("\udcff\udc80" if encoding == "utf-8" else "")
    ends = chance.choice(ENDS)
    # The number makes each line the only one of its kind, and keeps the first one from looking like a mark.
    lines = [
        f"{at}:" + "".join(chance.choices(letters, k=chance.randrange(8))).rstrip("\r")
        for at in range(chance.randrange(1, 12))
    ]
    endings = [chance.choice(ends) for _ in lines]
    if chance.random() < 0.3:
        endings[-1] = ""
    raw = [(line + end).encode(encoding, "surrogateescape") for line, end in zip(lines, endings, strict=True)]
    first = chance.randrange(len(lines))
    last = chance.randrange(first, len(lines))
    # Text that is not ASCII is refused in a file that is not UTF-8.
    new_letters = "xyz" if any("\udc80" in line or "\udcff" in line for line in lines) else "xyzé"
    new_lines = ["".join(chance.choices(new_letters, k=3)) for _ in range(chance.randrange(1, 4))]
    expected = "\n".join(lines[first : last + 1]) + "\n"
    by = chance.choice(["lines", "text", "both", "drifted"])
    where = {"lines": (first + 1, last + 1), "both": (first + 1, last + 1), "drifted": (first + 2, last + 2)}
    start, end = where.get(by, (None, None))
    edit = SpanEdit("\n".join(new_lines) + "\n", None if by == "lines" else expected, start, end)
    around = (mark + b"".join(raw[:first]), b"".join(raw[last + 1 :]))
    return RandomFile(RepoPath(f"d{number % 3}/f{number}"), mark + b"".join(raw), edit, around, new_lines, encoding)


def put(root: Path, chance: random.Random, file: RandomFile) -> None:
    """Write a file with some mode, owner and attributes, and a link to it beside it."""
    path = root / file.path.text
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(file.data)
    if os.geteuid() == 0 and chance.random() < 0.3:
        os.chown(path, 1234, 4321)
    path.chmod(chance.choice(MODES))
    if chance.random() < 0.5:
        # A file system without them has nothing to lose.
        with suppress(OSError):
            os.setxattr(path, "user.note", chance.randbytes(5))
    (path.parent / f"link-{path.name}").symlink_to(path.name)


def tree(editor: Editor, root: Path) -> dict[str, FoundFile | None]:
    """Return everything that is to be restored: bytes, modes, owners, attributes, link targets, existence."""
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_symlink() or path.is_file()]
    return {path: editor.look(RepoPath(path)) for path in paths if not path.startswith(".codeplane/")}


@examples(40)
@given(seed=st.integers(0, 2**32))
def test_random_edits_of_real_files_change_what_they_name_and_are_taken_back(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    root = tmp_path_factory.mktemp("tree")
    chance = random.Random(seed)
    files = [random_file(chance, number) for number in range(N_FILES)]
    for file in files:
        put(root, chance, file)
    editor = Editor(root, "main", PathLocks(root / ".codeplane/locks"), RecordStore(root / ".codeplane/undo"))
    before = tree(editor, root)
    changes = []
    for file in files:
        found = before[file.path.text]
        assert found is not None
        planned = plan_update(file.path, found.image.data, [file.edit])
        changes.append(Change(file.path, found.image, replace(found.image, data=planned.data)))
    editor.apply("req_1", changes)
    after = tree(editor, root)
    for file in files:
        now, then = after[file.path.text], before[file.path.text]
        assert now is not None
        assert then is not None
        assert file.is_edited_rightly(now.image.data), (file, now.image.data)
        assert replace(now.image, data=b"") == replace(then.image, data=b"")
    edited = {file.path.text for file in files}
    assert {path: one for path, one in after.items() if path not in edited} == {
        path: one for path, one in before.items() if path not in edited
    }
    record = editor.records.find("req_1")
    assert record is not None
    editor.apply("req_2", plan_undo(editor, [record[0]]).changes, ("req_1",))
    assert tree(editor, root) == before
