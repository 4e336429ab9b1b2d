"""Walking the tree: a fixed order, no links followed, nothing left out in silence."""

import os
from pathlib import Path

import pytest

from codeplane.core.paths import RepoPath
from codeplane.git.repository import TrackedPaths
from codeplane.index.discovery import Entry, LeftOut, walk
from codeplane.index.ignore_rules import IgnoreRules
from support.repositories import write


def _walk(root: Path, start: str = ".", max_depth: int | None = None) -> list[Entry | LeftOut]:
    rules = IgnoreRules(root, lambda: TrackedPaths(frozenset(), frozenset()))
    return list(walk(root, RepoPath.parse(start), rules, max_depth))


def _paths(found: list[Entry | LeftOut]) -> list[str]:
    return [item.path.text for item in found if isinstance(item, Entry)]


def _left_out(found: list[Entry | LeftOut]) -> list[LeftOut]:
    return [item for item in found if isinstance(item, LeftOut)]


def test_names_come_in_byte_order_with_directories_before_their_content(tmp_path: Path) -> None:
    names = ["a/x", "a.py", "B", "_", "a/é", "a/z", "é", "Z/1", "\U0001f600", "\uffee"]
    write(tmp_path, dict.fromkeys(names, ""))
    assert _paths(_walk(tmp_path)) == [
        "B", "Z", "Z/1", "_", "a", "a/x", "a/z", "a/é", "a.py", "é", "\uffee", "\U0001f600",
    ]  # fmt: skip


def test_each_entry_tells_kind_size_and_depth(tmp_path: Path) -> None:
    write(tmp_path, {"d/f.txt": "12345"})
    (tmp_path / "link").symlink_to("d")
    os.mkfifo(tmp_path / "pipe")
    found = [item for item in _walk(tmp_path) if isinstance(item, Entry)]
    assert [(item.path.text, item.kind, item.depth) for item in found] == [
        ("d", "directory", 1), ("d/f.txt", "file", 2), ("link", "symlink", 1), ("pipe", "special", 1),
    ]  # fmt: skip
    assert found[1].size == 5


def test_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"d/f.txt": ""})
    (tmp_path / "d" / "loop").symlink_to("..")
    assert _paths(_walk(tmp_path)) == ["d", "d/f.txt", "d/loop"]


@pytest.mark.parametrize(("depth", "expected"), [(1, ["a"]), (2, ["a", "a/b"]), (3, ["a", "a/b", "a/b/c"])])
def test_the_walk_goes_only_as_deep_as_asked(tmp_path: Path, depth: int, expected: list[str]) -> None:
    write(tmp_path, {"a/b/c/d": ""})
    assert _paths(_walk(tmp_path, max_depth=depth)) == expected


def test_a_walk_from_below_names_paths_from_the_root(tmp_path: Path) -> None:
    write(tmp_path, {"a/b/c": "", "x": ""})
    assert _paths(_walk(tmp_path, "a")) == ["a/b", "a/b/c"]


@pytest.mark.slow
def test_a_tree_deeper_than_the_call_stack_is_walked(tmp_path: Path) -> None:
    directories = [tmp_path / "/".join(["d"] * depth) for depth in range(1, 1101)]
    for directory in directories:
        directory.mkdir()
    assert len(_paths(_walk(tmp_path))) == 1100
    # Others who clean up after the tests do it by recursion.
    for directory in reversed(directories):
        directory.rmdir()


def test_what_is_left_out_names_its_rule_and_where_it_stands(tmp_path: Path) -> None:
    write(tmp_path, {".cplignore": "# mine\nmine.py\n", "mine.py": "", ".env": "", ".git/config": "", "target/x": ""})
    assert _left_out(_walk(tmp_path)) == [
        LeftOut(".env", ".env", "built-in secrets", is_directory=False),
        LeftOut(".git", ".git/", "always", is_directory=True),
        LeftOut("mine.py", "mine.py", ".cplignore:2", is_directory=False),
        LeftOut("target", "target/", "built-in", is_directory=True),
    ]


def test_a_name_that_is_not_utf8_is_named_with_escapes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("", encoding="utf-8")
    (left_out,) = _left_out(_walk(tmp_path))
    assert (left_out.path, left_out.source) == ("caf\\xe9.py", "name")


def test_a_name_that_is_no_repository_path_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"new\nline": "", "back\\slash": ""})
    assert [item.source for item in _left_out(_walk(tmp_path))] == ["name", "name"]


def test_a_directory_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"open/a": "", "shut/b": ""})
    real_scandir = os.scandir

    def scandir(path: Path) -> object:
        if path.name == "shut":
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = _walk(tmp_path)
    assert _left_out(found) == [LeftOut("shut", "unreadable: Permission denied", "file system", is_directory=True)]
    assert _paths(found) == ["open", "open/a", "shut"]


def test_a_decomposed_name_is_shown_composed_and_stands_where_it_sorts(tmp_path: Path) -> None:
    write(tmp_path, {"e\u0301.py": "", "ez.py": "", "f.py": ""})
    assert _paths(_walk(tmp_path)) == ["ez.py", "f.py", "\u00e9.py"]


def test_a_decomposed_directory_can_be_walked_by_its_composed_name(tmp_path: Path) -> None:
    write(tmp_path, {"e\u0301/a.py": ""})
    assert _paths(_walk(tmp_path, "\u00e9")) == ["\u00e9/a.py"]
