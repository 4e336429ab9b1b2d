"""Blame says of each line what `git blame` says in the format for people."""

import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.blame import read_blame
from codeplane.git.history import parse_time
from support.effort import examples
from support.histories import STATES, History, make_history
from support.repositories import git, make_repository, write

_LINE = re.compile(rb"^\^?([0-9a-f]+) (.*?) +(\d+) \(<([^>]*)> +(\d+ [+-]\d{4}) +(\d+)\) ?(.*)$", re.DOTALL)
# The format for people shows names as they are: one with a line break goes on at the beginning of the next line, where
# an id would stand otherwise.
_NEXT_LINE = re.compile(rb"\n(?=\^?[0-9a-f]{39,} )")


def _plain_blame(history: History, *arguments: str) -> list[tuple[object, ...]]:
    """Return (oid, original name and line, e-mail, time, line, content) of each line."""
    found: list[tuple[object, ...]] = []
    listing = history.git("blame", "-f", "-l", "-n", "-e", "-t", "--root", *arguments).removesuffix(b"\n")
    for line in _NEXT_LINE.split(listing) if listing else []:
        match = _LINE.match(line)
        assert match is not None, line
        oid, name, original, email, when, number, content = match.groups()
        is_new = not oid.strip(b"0")
        origin = (None if is_new else oid.decode(), os.fsdecode(name), int(original))
        time = None if is_new else parse_time(when.decode())
        found.append((*origin, email.decode(), time, int(number), content))
    return found


def _told(history: History, revision: str | None, path: RepoPath, lines: tuple[int, int]) -> list[tuple[object, ...]]:
    told: list[tuple[object, ...]] = []
    for group in read_blame(history.root, revision, path, lines):
        time = None if group.oid is None else group.author.time
        for i, content in enumerate(group.lines):
            origin = (group.oid, group.path, group.original_first + i)
            told.append((*origin, group.author.email, time, group.first + i, content))
    return told


@given(seed=st.integers(0, 2**32 - 1))
@examples(10)
def test_blame_is_that_of_git(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    dice = random.Random(seed)
    state = dice.choice([state for state in STATES if state != "unborn"])
    history = make_history(tmp_path_factory.mktemp("h") / "x", seed, state)
    names = [os.fsdecode(name) for name in history.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split(b"\0")]
    lined = [name for name in names if name and not name.endswith(".bin") and name not in {"module", "sub"}]
    path = RepoPath.known(dice.choice(lined))
    head = history.git("rev-parse", "HEAD").decode().strip()
    expected = _plain_blame(history, "HEAD", "--", path.text)
    assert _told(history, head, path, (1, 10**6)) == expected
    if expected:
        first = dice.randint(1, len(expected))
        last = dice.randint(first, len(expected) + 5)
        assert _told(history, head, path, (first, last)) == expected[first - 1 : last]
    working = history.root / path.text
    if working.is_file() and not working.is_symlink() and state not in {"merge", "cherrypick", "revert", "rebase"}:
        assert _told(history, None, path, (1, 10**6)) == _plain_blame(history, "--", path.text)


def test_lines_that_are_not_committed_have_no_commit(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a.txt": "1\n2\n"})
    write(root, {"a.txt": "1\nnew\n2\n"})
    assert [(g.oid is None, g.lines) for g in read_blame(root, None, RepoPath("a.txt"), (1, 9))] == [
        (False, (b"1",)),
        (True, (b"new",)),
        (False, (b"2",)),
    ]


@pytest.mark.parametrize("name", ['old "name', "old\nname", 'old\n"name"', "old\tname\t", "old\\name"])
def test_lines_moved_with_a_rename_say_where_they_were(tmp_path: Path, name: str) -> None:
    root = make_repository(tmp_path / "r", {name: "1\n2\n3\n"})
    git(root, "mv", name, "new")
    git(root, "commit", "-qm", "second")
    (group,) = read_blame(root, None, RepoPath("new"), (1, 9))
    assert group.path == name


def test_commits_that_people_want_ignored_are(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a.txt": "a=1\n"})
    first = git(root, "rev-parse", "HEAD").strip()
    write(root, {"a.txt": "a = 1\n"})
    git(root, "commit", "-qam", "spaces")
    write(root, {".ignored": git(root, "rev-parse", "HEAD")})
    assert read_blame(root, None, RepoPath("a.txt"), (1, 1))[0].oid != first
    git(root, "config", "blame.ignoreRevsFile", ".ignored")
    assert read_blame(root, None, RepoPath("a.txt"), (1, 1))[0].oid == first


@pytest.mark.parametrize(
    ("path", "first", "code"),
    [("missing", 1, "GIT_PATH_UNKNOWN"), ("a.txt", 9, "OUT_OF_RANGE"), ("untracked", 1, "GIT_PATH_UNKNOWN")],
)
def test_what_has_no_blame_is_refused(tmp_path: Path, path: str, first: int, code: str) -> None:
    root = make_repository(tmp_path / "r", {"a.txt": "1\n2\n"})
    write(root, {"untracked": "x\n"})
    with pytest.raises(CodePlaneError) as raised:
        read_blame(root, None, RepoPath(path), (first, first + 5))
    assert raised.value.code == code


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"empty": ""})
    assert read_blame(root, None, RepoPath("empty"), (1, 5)) == ()
