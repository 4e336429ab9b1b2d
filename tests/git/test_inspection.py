"""Objects, tags and merge forecasts are what git itself says or does."""

import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.inspection import (
    analyse_merge,
    find_in_tree,
    find_object,
    read_blob,
    read_tag_object,
    read_tags,
    read_tree,
)
from codeplane.git.repository import find_repository
from support.effort import examples
from support.histories import History, make_history
from support.repositories import git, make_repository

_SEEDS = st.integers(0, 2**32 - 1)


@given(seed=_SEEDS)
@examples(10)
def test_trees_files_and_tags_are_those_of_git(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    history = make_history(tmp_path_factory.mktemp("h") / "x", seed, random.Random(seed).choice(["plain", "worktree"]))
    ref = random.Random(seed).choice(history.refs)
    commit = find_object(history.root, f"{ref}^{{commit}}")
    tree = find_in_tree(history.root, commit.oid, RepoPath.ROOT)
    entries = read_tree(history.root, tree.oid)
    names = history.git("ls-tree", "--name-only", "-z", ref).split(b"\0")[:-1]
    assert [os.fsencode(entry.name) for entry in entries] == names
    for entry in entries:
        if entry.kind == "blob" and not set(entry.name) & set('\\\n\t"') and entry.name.isprintable():
            blob = find_in_tree(history.root, commit.oid, RepoPath(entry.name))
            assert read_blob(history.root, blob) == history.git("show", f"{ref}:{entry.name}")
    _check_tags(history)


def _check_tags(history: History) -> None:
    told = {tag.name: tag for tag in read_tags(history.root)}
    assert sorted(told) == sorted(history.git("tag", "--list").decode().split())
    for name, tag in told.items():
        assert tag.target_oid == history.git("rev-parse", f"refs/tags/{name}^{{}}").decode().strip()
        assert tag.is_annotated == (history.git("cat-file", "-t", f"refs/tags/{name}") == b"tag\n")
        if tag.is_annotated:
            found = find_object(history.root, f"refs/tags/{name}")
            detail = read_tag_object(history.root, found.oid)
            raw = history.git("cat-file", "-p", f"refs/tags/{name}").decode()
            assert f"{detail.subject} {detail.body}".split() == raw.partition("\n\n")[2].split()
            assert (detail.tagger, detail.subject.split()) == (tag.tagger, tag.subject.split())


@given(seed=_SEEDS)
@examples(8)
def test_a_forecast_is_what_the_merge_then_does(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    history = make_history(tmp_path_factory.mktemp("h") / "x", seed, "plain")
    history.git("reset", "--quiet", "--hard")
    history.git("clean", "-qfdx")
    before = _objects(history.root)
    for ref in history.refs:
        forecast = analyse_merge(find_repository(history.root), ref)
        assert _objects(history.root) == before, "the forecast left something behind"
        copy = Path(shutil.copytree(history.root, tmp_path_factory.mktemp("c") / "x", symlinks=True))
        merging = History(copy, seed, "plain")
        result = merging.try_git("-c", "merge.ff=true", "merge", "--no-edit", ref)
        conflicts = {e.partition(b"\t")[2] for e in merging.git("ls-files", "-u", "-z").split(b"\0") if e}
        words = result.stdout + result.stderr
        expected = "normal"
        if b"Already up to date" in words:
            expected = "up_to_date"
        elif b"Fast-forward" in words:
            expected = "fast_forward"
        elif b"unrelated histories" in words:
            expected = "unrelated"
        assert forecast.kind == expected, words
        if expected == "normal":
            assert {os.fsencode(name) for name in forecast.conflicts or ()} >= conflicts
            # Local changes can be in the way of a merge that has no conflict.
            if b"would be overwritten by merge" not in words:
                assert bool(forecast.conflicts) == (result.returncode != 0), words


def _objects(root: Path) -> set[str]:
    return {str(path) for path in (root / ".git").rglob("*")}


def test_before_the_first_commit_a_merge_is_unborn(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    git(root, "checkout", "-q", "--orphan", "fresh")
    assert analyse_merge(find_repository(root), "main").kind == "unborn"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("nowhere", "GIT_REF_UNKNOWN"),
        ("--help", "GIT_REF_INVALID"),
        ("a\0b", "GIT_REF_INVALID"),
        ("", "GIT_REF_INVALID"),
    ],
)
def test_names_of_nothing_are_refused(tmp_path: Path, name: str, code: str) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    with pytest.raises(CodePlaneError) as raised:
        find_object(root, name)
    assert raised.value.code == code


def test_a_path_that_is_not_in_a_tree_is_refused(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    with pytest.raises(CodePlaneError) as raised:
        find_in_tree(root, find_object(root, "HEAD").oid, RepoPath("missing"))
    assert raised.value.code == "GIT_PATH_UNKNOWN"


def test_a_submodule_that_is_not_here_is_told_from_a_lost_object(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(root, "commit", "-qm", "module")
    head = find_object(root, "HEAD").oid
    assert find_in_tree(root, head, RepoPath("module")).kind == "commit"
    blob = git(root, "rev-parse", "HEAD:a").strip()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CodePlaneError) as raised:
        find_in_tree(root, head, RepoPath("a"))
    assert raised.value.code == "GIT_CORRUPT"
