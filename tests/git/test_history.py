"""Commits, file histories and line histories are those of plain git commands in another format."""

import os
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git import history as git_history
from codeplane.git.history import (
    Commit,
    FileQuery,
    LineQuery,
    LogQuery,
    parse_time,
    read_file_history,
    read_line_history,
    read_log,
    resolve_revisions,
    split_message,
)
from codeplane.git.ref_names import names_of
from codeplane.git.repository import find_repository
from codeplane.git.revisions import resolve
from codeplane.git.status import CHANGES
from support.effort import examples
from support.histories import STATES, History, make_history
from support.repositories import git, make_repository, write

_SEEDS = st.integers(0, 2**32 - 1)
_BORN = tuple(state for state in STATES if state != "unborn")


def _born(tmp_path_factory: pytest.TempPathFactory, seed: int) -> History:
    return make_history(tmp_path_factory.mktemp("h") / "x", seed, random.Random(seed).choice(_BORN))


def _raw_commits(history: History, *arguments: str) -> list[dict[str, object]]:
    """Return what `git log --format=raw` prints, which holds the commits as they are stored."""
    found: list[dict[str, object]] = []
    for record in history.git("log", "--format=raw", "--no-notes", "-z", *arguments).split(b"\0"):
        if not record:
            continue
        header, _, message = record.decode("utf-8", "backslashreplace").partition("\n\n")
        facts: dict[str, list[str]] = {}
        for line in header.split("\n"):
            word, _, rest = line.partition(" ")
            facts.setdefault(word, []).append(rest)
        body = "\n".join(line.removeprefix("    ") for line in message.split("\n"))
        found.append(
            {
                "oid": facts["commit"][0],
                "parents": facts.get("parent", []),
                "author": facts["author"][0],
                "committer": facts["committer"][0],
                "words": body.split(),
            }
        )
    return found


def _as_raw(commit: Commit) -> dict[str, object]:
    def person(one: git_history.Person) -> str:
        return f"{one.name} <{one.email}> {one.time}"

    return {
        "oid": commit.oid,
        "parents": list(commit.parents),
        "author": person(commit.author),
        "committer": person(commit.committer),
        "words": f"{commit.subject}\n\n{commit.body}".split(),
    }


def _with_times(raw: list[dict[str, object]]) -> list[dict[str, object]]:
    for commit in raw:
        for who in ("author", "committer"):
            name, _, when = str(commit[who]).rpartition("> ")
            commit[who] = f"{name}> {parse_time(when)}"
    return raw


def _all_pages(history: History, query: LogQuery) -> list[Commit]:
    repository = find_repository(history.root)
    found: list[Commit] = []
    while True:
        page = read_log(repository, replace(query, skip=len(found)))
        found += page
        if len(page) < query.limit:
            return found


@given(seed=_SEEDS)
@examples(10)
def test_a_log_holds_the_stored_commits_in_gits_order(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    history = _born(tmp_path_factory, seed)
    dice = random.Random(seed)
    repository = find_repository(history.root)
    one, other = dice.choice(history.refs), dice.choice(history.refs)
    limit = dice.randint(1, 6)
    head = resolve_revisions(repository, "HEAD")
    whole = _with_times(_raw_commits(history))
    assert [_as_raw(c) for c in _all_pages(history, LogQuery(head, limit))] == whole
    for span in (f"{one}..{other}", f"{one}...{other}", one):
        query = LogQuery(resolve_revisions(repository, span), limit)
        assert [_as_raw(c) for c in _all_pages(history, query)] == _with_times(_raw_commits(history, span))
    for arguments, filters in (
        (("--author=ADA", "-i"), {"author": "ADA"}),
        (("--grep=thing",), {"grep": "thing"}),
        (("--since=2023-11-15T12:00:00+00:00",), {"since": "2023-11-15T12:00:00+00:00"}),
        (("--", ":(literal)a.txt", ":(literal)*star*"), {"paths": (RepoPath("a.txt"), RepoPath("*star*"))}),
    ):
        query = LogQuery(head, limit, **filters)
        assert [_as_raw(c) for c in _all_pages(history, query)] == _with_times(_raw_commits(history, *arguments))


@given(seed=_SEEDS)
@examples(10)
def test_a_files_history_is_that_of_git_log(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    history = _born(tmp_path_factory, seed)
    dice = random.Random(seed)
    repository = find_repository(history.root)
    (head,) = resolve_revisions(repository, "HEAD")
    names = [os.fsdecode(name) for name in history.git("ls-tree", "-r", "-z", "--name-only", "HEAD").split(b"\0")]
    plain = [name for name in names if re.fullmatch(r"[\w ./*\[\]-]+", name)]
    path = RepoPath.parse(dice.choice(plain))
    for follow in (True, False):
        how = ("--follow",) if follow else ()
        listing = history.git(
            "log", *how, "-M", "--format=%x01%H", "--name-status", "-z", "--", f":(literal){path.text}"
        )
        expected = [_name_status(record) for record in listing.split(b"\x01")[1:]]
        found: list[git_history.PathChange] = []
        limit = dice.randint(1, 4)
        while True:
            query = FileQuery(head, path, limit, len(found), follow, dice.random() < 0.7)
            page = read_file_history(repository, query)
            found += page
            if len(page) < limit:
                break
        told = [(c.commit.oid, c.status, c.old_path, c.path) for c in found]
        assert told == [(oid, status, old, name or path.text) for oid, status, old, name in expected]
        for change in found[:3]:
            _check_counts(history, change)


def _name_status(record: bytes) -> tuple[str, str, str | None, str | None]:
    oid, *fields = (os.fsdecode(part).strip("\n") for part in record.split(b"\0"))
    fields = [part for part in fields if part]
    if not fields:
        return oid, "merged", None, None
    old = fields[1] if fields[0][0] in "RC" else None
    return oid, CHANGES[fields[0][0]], old, fields[2] if old is not None else fields[1]


def _check_counts(history: History, change: git_history.PathChange) -> None:
    if change.insertions is None or not change.commit.parents or len(change.commit.parents) > 1:
        return
    names = [name for name in (change.path, change.old_path) if name is not None]
    words = history.git(
        "--literal-pathspecs", "show", "--format=", "--shortstat", "-M", change.commit.oid, "--", *names
    )
    counts = {word[0:1]: int(number) for number, word in re.findall(rb"(\d+) (insertion|deletion)", words)}
    if change.status in {"modified", "renamed", "added"}:
        assert (change.insertions, change.deletions) == (counts.get(b"i", 0), counts.get(b"d", 0))


@given(seed=_SEEDS)
@examples(6)
def test_a_line_history_has_the_commits_of_git_log_and_lines_that_exist(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    history = _born(tmp_path_factory, seed)
    repository = find_repository(history.root)
    (head,) = resolve_revisions(repository, "main")
    expected = history.git("log", "-L1,2:a.txt", "-s", "--format=%H", "main").decode().split()
    found = list(read_line_history(repository, LineQuery(head, RepoPath("a.txt"), (1, 2), 2)))
    found += read_line_history(repository, LineQuery(head, RepoPath("a.txt"), (1, 2), 100, 2))
    assert [change.commit.oid for change in found] == expected
    for change in found:
        content = history.git("cat-file", "blob", f"{change.commit.oid}:{change.path}")
        assert change.last <= len(content.splitlines())


@pytest.mark.parametrize(
    ("raw", "iso"),
    [
        ("0 +0000", "1970-01-01T00:00:00+00:00"),
        ("1700000000 -0730", "2023-11-14T14:43:20-07:30"),
        ("1700000000 +0545", "2023-11-15T03:58:20+05:45"),
        ("99999999999999999999 +0000", "99999999999999999999 +0000"),
        ("", ""),
    ],
)
def test_times_keep_the_offset_that_was_recorded(raw: str, iso: str) -> None:
    assert parse_time(raw) == iso


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("one\n", ("one", "")),
        ("one\ntwo\n\nthree\n\nfour\n", ("one two", "three\n\nfour")),
        ("\n\none\n\n\n  two\n", ("one", "  two")),
        ("", ("", "")),
    ],
)
def test_a_message_has_a_subject_and_a_body(message: str, parts: tuple[str, str]) -> None:
    assert split_message(message) == parts


def test_a_commit_in_another_encoding_is_read_by_git(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    git(root, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-F", _latin(tmp_path))
    (commit,) = read_log(find_repository(root), LogQuery((resolve(root, "HEAD"),), 1))
    assert commit.subject == "café"


def _latin(tmp_path: Path) -> str:
    path = tmp_path / "message"
    path.write_bytes("café\n".encode("latin-1"))
    return str(path)


def test_a_shallow_clone_and_a_replaced_commit_are_walked_as_git_walks_them(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 11, "plain")
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{history.root}", str(clone))
    repository = find_repository(clone)
    query = LogQuery(resolve_revisions(repository, "HEAD"), 100)
    told = [" ".join((commit.oid, *commit.parents)) for commit in read_log(repository, query)]
    assert told == git(clone, "rev-list", "--parents", "HEAD").splitlines()
    git(history.root, "replace", "--graft", "main", "main~2")
    repository = find_repository(history.root)
    query = LogQuery(resolve_revisions(repository, "main"), 100)
    assert [c.oid for c in read_log(repository, query)] == history.git("rev-list", "main").decode().split()


def test_borrowed_objects_are_found(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 12, "plain")
    clone = tmp_path / "borrower"
    git(tmp_path, "clone", "-q", "--shared", str(history.root), str(clone))
    repository = find_repository(clone)
    commits = read_log(repository, LogQuery(resolve_revisions(repository, "HEAD"), 100))
    assert [commit.oid for commit in commits] == history.git("rev-list", "main").decode().split()


def test_a_missing_commit_is_an_error_and_not_a_short_log(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    oid = git(root, "rev-parse", "HEAD~1").strip()
    (root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    repository = find_repository(root)
    with pytest.raises(CodePlaneError) as raised:
        read_log(repository, LogQuery(resolve_revisions(repository, "HEAD"), 10))
    assert raised.value.code == "GIT_CORRUPT"


def test_names_of_commits_are_those_of_git(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        history = make_history(tmp_path / str(seed), seed, "upstream")
        history.git("tag", "-a", "-m", "loose", "loose-tag")
        commits = history.git("rev-list", "--all").decode().split()
        expected: dict[str, set[str]] = {}
        listing = history.git("for-each-ref", "--format=%(objectname) %(*objectname) %(refname)")
        for line in listing.decode().splitlines():
            *oids, name = line.split()
            short = re.sub("^refs/(heads|remotes)/", "", name).replace("refs/tags/", "tag: ")
            if not name.startswith("refs/stash"):
                expected.setdefault(oids[-1], set()).add(short)
        told = {oid: set(names) for oid, names in names_of(find_repository(history.root), commits).items()}
        assert told == {oid: names for oid, names in expected.items() if oid in commits}


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        ("nowhere", "GIT_REF_UNKNOWN"),
        ("--all", "GIT_REF_INVALID"),
        ("-n1", "GIT_REF_INVALID"),
        ("main\nother", "GIT_REF_INVALID"),
        ("main..nowhere", "GIT_REF_UNKNOWN"),
        ("main..--all", "GIT_REF_INVALID"),
        ("both", "GIT_REF_AMBIGUOUS"),
        ("HEAD:a", "GIT_REF_UNKNOWN"),
        ("'; rm -rf x; '", "GIT_REF_UNKNOWN"),
    ],
)
def test_names_that_are_no_commit_are_refused(tmp_path: Path, ref: str, code: str) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    git(root, "branch", "both")
    git(root, "tag", "both", "HEAD~1")
    with pytest.raises(CodePlaneError) as raised:
        resolve_revisions(find_repository(root), ref)
    assert raised.value.code == code


@pytest.mark.parametrize("length", [0, 3_600, 3_700, 3_800, 3_900, 4_000, 4_096, 4_097, 9_000])
def test_a_files_history_holds_messages_of_any_length(tmp_path: Path, length: int) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    for number in range(3):
        write(root, {"a": f"{number}\n{number}\n"})
        git(root, "commit", "-qam", f"change {number}\n\n{'x' * (length + number)}")
    repository = find_repository(root)
    changes = read_file_history(repository, FileQuery(resolve(root, "HEAD"), RepoPath.parse("a"), 10))
    assert [one.commit.subject for one in changes][:3] == ["change 2", "change 1", "change 0"]
    assert [len(one.commit.body) for one in changes][:3] == [length + 2, length + 1, length]
    assert {one.status for one in changes[:3]} == {"modified"}


def test_lines_behind_the_end_are_out_of_range(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n2\n"})
    repository = find_repository(root)
    with pytest.raises(CodePlaneError) as raised:
        read_line_history(repository, LineQuery(resolve(root, "HEAD"), RepoPath("a"), (5, 6), 5))
    assert raised.value.code == "OUT_OF_RANGE"


def test_line_history_goes_on_across_a_rename(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"old name": "1\n2\n3\n4\n" + "same\n" * 20})
    git(root, "mv", "old name", 'new"name')
    write(root, {'new"name': "0\n1\n2\nthree\n4\n" + "same\n" * 20})
    git(root, "commit", "-qam", "second")
    found = read_line_history(find_repository(root), LineQuery(resolve(root, "HEAD"), RepoPath('new"name'), (4, 4), 9))
    assert [(c.path, c.first, c.last, c.insertions, c.deletions) for c in found] == [
        ('new"name', 4, 4, 1, 1),
        ("old name", 3, 3, 1, 0),
    ]


@pytest.mark.parametrize(
    "name",
    ["two\nlines", "two\n+++ b/x", "two\n@@ -1 +1 @@", 'two\n"lines"', "ends with tab\t", " b/x", "back\\slash", "ünï"],
)
def test_line_history_names_a_file_as_it_was_called(tmp_path: Path, name: str) -> None:
    root = make_repository(tmp_path / "r", {name: "1\n2\n3\n" + "same\n" * 20})
    git(root, "mv", name, "new")
    write(root, {"new": "0\n1\ntwo\n3\n" + "same\n" * 20})
    git(root, "commit", "-qam", "second")
    found = read_line_history(find_repository(root), LineQuery(resolve(root, "HEAD"), RepoPath("new"), (3, 3), 9))
    assert [(c.path, c.first, c.last, c.insertions, c.deletions) for c in found] == [
        ("new", 3, 3, 1, 1),
        (name, 2, 2, 1, 0),
    ]
