"""Differences, page by page, turn the old files into the new ones and name what other git commands name."""

import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.printable import printable_name
from codeplane.git.differences import Comparison, Difference, RawChange, read_difference
from codeplane.git.repository import find_repository, tracked_paths
from codeplane.git.status import CHANGES
from codeplane.index.ignore_rules import IgnoreRules
from codeplane.operations.patches import DiffFile, DiffHunk, DiffLine, PageSize, Place, page_of
from support.effort import examples
from support.histories import History, make_history, run_plain_git
from support.repositories import git, make_repository, write

_SEEDS = st.integers(0, 2**32 - 1)


def all_pages(root: Path, difference: Difference, size: PageSize) -> list[DiffFile]:
    """Return every file with all of its hunks, put together again from pages."""
    repository = find_repository(root)
    rules = IgnoreRules(root, lambda: tracked_paths(repository))
    whole: list[DiffFile] = []
    place: Place | None = Place()
    while place is not None:
        files, place = page_of(root, rules, difference, place, size)
        assert files or place is None
        for file in files:
            if not file.continued:
                whole.append(file)
            else:
                assert whole[-1].path == file.path
                whole[-1] = whole[-1].model_copy(update={"hunks": _joined(whole[-1].hunks, file.hunks)})
    return whole


def _joined(hunks: list[DiffHunk], more: list[DiffHunk]) -> list[DiffHunk]:
    if not more or not more[0].continued:
        return [*hunks, *more]
    lines, rest = list(hunks[-1].lines), list(more[0].lines)
    if rest and rest[0].offset:
        assert lines[-1].cut
        first = rest.pop(0)
        joined = lines[-1].content + first.content
        lines[-1] = first.model_copy(update={"content": joined, "offset": None})
    return [*hunks[:-1], hunks[-1].model_copy(update={"lines": [*lines, *rest]}), *more[1:]]


def _patched(old: bytes, hunks: list[DiffHunk]) -> list[str]:
    """Apply hunks to a content; return the new lines, with an ending mark where there is no line end."""
    before = _lines(old)
    after: list[str] = []
    at = 0
    for hunk in hunks:
        start = hunk.old_start - (1 if hunk.old_lines else 0)
        after += before[at:start]
        at = start
        for line in hunk.lines:
            text = line.content + ("" if line.no_newline else "\n")
            if line.origin != "+":
                assert before[at] == text, (before[at], text)
                at += 1
                assert line.old_lineno == at
            if line.origin != "-":
                after.append(text)
                assert line.new_lineno == len(after)
    return after + before[at:]


def _lines(content: bytes) -> list[str]:
    lines = content.decode("utf-8", "backslashreplace").split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _check(history: History, comparison: Comparison, arguments: tuple[str, ...], size: PageSize) -> None:
    difference = read_difference(history.root, comparison)
    files = all_pages(history.root, difference, size)
    unmerged = {os.fsdecode(e.partition(b"\t")[2]) for e in history.git("ls-files", "-u", "-z").split(b"\0") if e}
    _check_names(history, difference, arguments, unmerged)
    assert [file.path for file in files] == [printable_name(file.change.path) for file in difference.files]
    checked = [
        (found.change, file)
        for found, file in zip(difference.files, files, strict=True)
        if not (found.change.is_binary or found.change.path in unmerged or found.change.status == "type-changed")
        and not file.submodule
    ]
    is_working = comparison.target is None and not comparison.staged
    working = [change.path for change, _ in checked if is_working and change.status != "deleted"]
    stored = _working_blobs(history, working) if working else {}
    oids = {oid for change, _ in checked for oid in (change.old_oid, change.new_oid) if oid} | set(stored.values())
    contents = _blobs(history, oids)
    for change, file in checked:
        old = contents[change.old_oid] if change.old_oid is not None else b""
        assert _patched(old, file.hunks) == _new_side(change, stored, contents), (history.seed, change)
        counts = [sum(line.origin == sign for hunk in file.hunks for line in hunk.lines) for sign in "+-"]
        assert counts == [file.insertions, file.deletions]


def _check_names(history: History, difference: Difference, arguments: tuple[str, ...], unmerged: set[str]) -> None:
    fields = iter([os.fsdecode(f) for f in history.git("diff", "--name-status", "-z", "-M", *arguments).split(b"\0")])
    expected = []
    for status in fields:
        if status:
            old_path = next(fields) if status[0] in "RC" else None
            expected.append((next(fields), CHANGES[status[0]], old_path))
    told = [(file.change.path, file.change.status, file.change.old_path) for file in difference.files]
    assert {one for one in told if one[0] not in unmerged} == {one for one in expected if one[0] not in unmerged}
    assert {one[0] for one in told} >= {one[0] for one in expected}
    assert {file.change.path for file in difference.files if file.change.is_binary} - unmerged == (
        _binary_names(history, arguments) - unmerged
    )
    if not unmerged:
        words = history.git("diff", "--shortstat", "-M", *arguments).decode()
        counts = [int(part) for part in words.split() if part.isdigit()]
        assert (counts[:1] or [0]) == [len(difference.files)]
        assert sum(counts[1:]) == difference.insertions + difference.deletions


def _binary_names(history: History, arguments: tuple[str, ...]) -> set[str]:
    """Return the names of files in which git counts no lines, whether or not their content changed."""
    found = set()
    fields = iter(history.git("diff", "--numstat", "-z", "-M", *arguments).split(b"\0"))
    for entry in fields:
        added, _, rest = entry.partition(b"\t")
        name = rest.partition(b"\t")[2]
        if entry and not name:
            next(fields)
            name = next(fields)
        if added == b"-":
            found.add(os.fsdecode(name))
    return found


def _new_side(change: RawChange, stored: dict[str, str], contents: dict[str, bytes]) -> list[str]:
    """Return the lines of the new side: what git names, or else the working file as git would store it."""
    if change.status == "deleted":
        return []
    return _lines(contents[change.new_oid if change.new_oid in contents else stored[change.path]])


def _blobs(history: History, oids: set[str]) -> dict[str, bytes]:
    """Return the contents of blobs, by one process."""
    wanted = sorted(oids)
    data = history.try_git("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode()).stdout
    found = {}
    for oid in wanted:
        head, _, rest = data.partition(b"\n")
        if head.endswith(b" missing"):
            # Git named a working file's content without keeping it.
            data = rest
            continue
        n_bytes = int(head.split()[2])
        found[oid], data = rest[:n_bytes], rest[n_bytes + 1 :]
    return found


def _working_blobs(history: History, paths: list[str]) -> dict[str, str]:
    """Return the blobs of working files as git stores them, by adding them to a copy of the index.

    Attributes that a sparse tree leaves out, and line ends that the index has already, are read from the index;
    `git hash-object` looks at neither. The copy keeps its time, by which git tells what may have changed since.
    """
    index = Path(os.fsdecode(history.git("rev-parse", "--path-format=absolute", "--git-path", "index")).rstrip("\n"))
    copy = index.with_name("index.copy")
    shutil.copy2(index, copy)
    environment = {"GIT_INDEX_FILE": str(copy)}
    names = b"\0".join(os.fsencode(path) for path in paths)
    how = ("--literal-pathspecs", "add", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
    added = run_plain_git(history.root, *how, stdin=names, variables=environment)
    assert added.returncode == 0, added.stderr_text
    listing = run_plain_git(history.root, "ls-files", "-z", "--stage", variables=environment).stdout
    copy.unlink()
    entries = (entry.partition(b"\t") for entry in listing.split(b"\0"))
    return {os.fsdecode(name): facts.split()[1].decode() for facts, _, name in entries if facts}


@given(seed=_SEEDS)
@examples(10)
def test_pages_of_any_comparison_make_the_new_files_of_the_old(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    history = make_history(tmp_path_factory.mktemp("h") / "x", seed)
    dice = random.Random(seed)
    sizes = (PageSize(), PageSize(10**9, dice.randint(1, 9)), PageSize(dice.randint(100, 700)))
    _check(history, Comparison(), (), dice.choice(sizes))
    _check(history, Comparison(staged=True), ("--cached",), dice.choice(sizes))
    if history.state == "unborn":
        return
    head = history.git("rev-parse", "HEAD").decode().strip()
    _check(history, Comparison(head), ("HEAD",), dice.choice(sizes))
    one, other = (history.git("rev-parse", f"{dice.choice(history.refs)}^{{commit}}").decode().strip() for _ in "12")
    context = dice.choice([0, 1, 3, 50])
    _check(history, Comparison(one, other, context_lines=context), (one, other), dice.choice(sizes))


def test_an_unmerged_file_is_named_once_and_compared_with_our_side(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 5, "merge")
    files = read_difference(history.root, Comparison()).files
    conflict = [file for file in files if file.change.path == "both.txt"]
    assert [file.change.status for file in conflict] == ["unmerged"]
    assert b"+<<<<<<<" in conflict[0].patch


def test_a_line_of_twenty_megabytes_comes_in_pieces(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"long.js": "short\n"})
    line = "é" * 10_000_000
    write(root, {"long.js": f"{line}\nend\n"})
    difference = read_difference(root, Comparison())
    (file,) = all_pages(root, difference, PageSize(1_000_003))
    assert [(line.origin, line.content) for line in file.hunks[0].lines] == [("-", "short"), ("+", line), ("+", "end")]


def test_a_page_never_grows_beyond_its_room_by_more_than_one_piece(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {f"f{i}.txt": "" for i in range(300)})
    write(root, {f"f{i}.txt": "word " * 300 + "\n" + "x\n" * 300 for i in range(300)})
    repository = find_repository(root)
    rules = IgnoreRules(root, lambda: tracked_paths(repository))
    difference = read_difference(root, Comparison())
    place: Place | None = Place()
    n_pages = 0
    while place is not None and n_pages < 30:
        files, place = page_of(root, rules, difference, place, PageSize(8_000))
        n_pages += 1
        assert sum(len(_text(line)) for file in files for hunk in file.hunks for line in hunk.lines) <= 8_000


def _text(line: DiffLine) -> str:
    return line.content


def test_a_mode_change_alone_and_an_empty_new_file_are_listed(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"run.sh": "x\n"})
    (root / "run.sh").chmod(0o755)
    write(root, {"empty": ""})
    git(root, "add", "-A")
    files = all_pages(root, read_difference(root, Comparison(staged=True)), PageSize())
    assert [(f.path, f.status, f.old_mode, f.new_mode, f.hunks) for f in files] == [
        ("empty", "added", None, "100644", []),
        ("run.sh", "modified", "100644", "100755", []),
    ]


@pytest.mark.parametrize("binary", [b"\0\1\2", b"text, but not for git\n"])
def test_a_binary_file_is_one_although_only_its_name_or_mode_changed(tmp_path: Path, binary: bytes) -> None:
    text = {"moved.txt": "lines\n", "run.sh": "run\n", ".gitattributes": "*.bin -diff\n"}
    root = make_repository(tmp_path / "r", {"moved.bin": binary, "run.bin": binary + b"x", **text})
    git(root, "mv", "moved.bin", "new\nname.bin")
    git(root, "mv", "moved.txt", "name.txt")
    for name in ("run.bin", "run.sh"):
        (root / name).chmod(0o755)
    git(root, "add", "-A")
    found = read_difference(root, Comparison(staged=True)).files
    assert [(f.change.path, f.change.status, f.change.is_binary, f.has_same_content) for f in found] == [
        ("name.txt", "renamed", False, True),
        ("new\nname.bin", "renamed", True, True),
        ("run.bin", "modified", True, True),
        ("run.sh", "modified", False, True),
    ]
