"""Finding a repository and reading its head, in every state that git allows."""

import os
import shutil
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.git.repository import find_repository, index_stat, read_head, tracked_paths
from support.repositories import git, make_repository


def _code(start: Path) -> str:
    with pytest.raises(CodePlaneError) as caught:
        find_repository(start)
    return caught.value.code


def test_a_plain_repository_is_found_at_its_top(repo: Path) -> None:
    found = find_repository(repo)
    assert (found.root, found.git_dir, found.common_dir) == (repo, repo / ".git", repo / ".git")
    assert (found.is_linked_worktree, found.worktree_id) == (False, "main")


def test_a_repository_is_found_from_a_directory_below(repo: Path) -> None:
    assert find_repository(repo / "src" / "pkg").root == repo


def test_a_repository_reached_through_a_symlink_has_its_real_root(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo)
    assert find_repository(tmp_path / "link").root == repo


def test_a_repository_in_a_directory_that_is_not_utf8_is_found(tmp_path: Path) -> None:
    root = make_repository(tmp_path / os.fsdecode(b"caf\xe9"), {"a.py": "a\n"})
    assert find_repository(root).root == root


def test_a_branch_with_a_commit_is_read(repo: Path) -> None:
    head = read_head(find_repository(repo))
    assert (head.branch, head.commit, head.is_unborn) == ("main", git(repo, "rev-parse", "HEAD").strip(), False)


def test_a_branch_without_a_commit_is_unborn(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    head = read_head(find_repository(tmp_path))
    assert (head.branch, head.commit, head.is_unborn) == ("main", None, True)


def test_a_detached_head_has_no_branch(repo: Path) -> None:
    git(repo, "checkout", "--quiet", "--detach")
    head = read_head(find_repository(repo))
    assert (head.branch, head.commit) == (None, git(repo, "rev-parse", "HEAD").strip())


def test_a_linked_worktree_knows_its_repository(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    found = find_repository(tmp_path / "linked")
    assert (found.root, found.common_dir) == (tmp_path / "linked", repo / ".git")
    assert (found.is_linked_worktree, found.worktree_id) == (True, "linked")
    assert read_head(found).branch == "side"


def test_a_submodule_is_a_repository_of_its_own(repo: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {"i.py": "i\n"})
    git(repo, "submodule", "--quiet", "add", str(inner), "sub")
    found = find_repository(repo / "sub")
    assert (found.root, found.git_dir) == (repo / "sub", repo / ".git" / "modules" / "sub")
    assert "sub" in tracked_paths(find_repository(repo)).files


def test_a_line_break_in_the_path_is_part_of_it(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "two\nlines", {"a.py": "a\n"})
    (root / "sub").mkdir()
    found = find_repository(root / "sub")
    assert (found.root, found.git_dir, found.common_dir) == (root, root / ".git", root / ".git")


def test_a_bare_repository_is_refused(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    assert _code(tmp_path / "bare.git") == "BARE_REPOSITORY"


def test_a_worktree_of_a_bare_repository_is_found(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    assert find_repository(tmp_path / "tree").root == tmp_path / "tree"


@pytest.mark.parametrize("start", ["", "missing", "file.txt"])
def test_a_place_outside_any_repository_is_refused(tmp_path: Path, start: str) -> None:
    (tmp_path / "file.txt").write_text("text", encoding="utf-8")
    assert _code(tmp_path / start) == "NOT_A_REPOSITORY"


def test_the_inside_of_a_git_directory_is_no_working_tree(repo: Path) -> None:
    assert _code(repo / ".git") == "NOT_A_REPOSITORY"


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"])
def test_variables_that_point_git_elsewhere_are_ignored(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    other = make_repository(tmp_path / "other", {"other.py": "o\n"})
    monkeypatch.setenv(variable, str(other / ".git"))
    found = find_repository(repo)
    assert found.root == repo
    assert "other.py" not in tracked_paths(found).files


@pytest.mark.parametrize("content", ["nonsense\n", "", "ref: \n"])
def test_a_head_that_git_does_not_accept_is_said_to_be_corrupt(repo: Path, content: str) -> None:
    (repo / ".git" / "HEAD").write_text(content, encoding="utf-8")
    assert _code(repo) == "GIT_CORRUPT"


@pytest.mark.parametrize("content", ["0123456789" * 4, "ref: refs/heads/main"])
def test_a_head_that_names_a_lost_commit_is_said_to_be_corrupt(repo: Path, content: str) -> None:
    (repo / ".git" / "HEAD").write_text(content + "\n", encoding="utf-8")
    (repo / ".git" / "refs" / "heads" / "main").write_text("0123456789" * 4 + "\n", encoding="utf-8")
    with pytest.raises(CodePlaneError) as caught:
        read_head(find_repository(repo))
    assert caught.value.code == "GIT_CORRUPT"


def test_a_broken_configuration_is_said_to_be_corrupt(repo: Path) -> None:
    (repo / ".git" / "config").write_text("[core\n", encoding="utf-8")
    assert _code(repo) == "GIT_CORRUPT"


def test_a_machine_without_git_is_told_so(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert _code(repo) == "GIT_UNAVAILABLE"


def test_tracked_paths_hold_every_file_and_every_directory_above(repo: Path) -> None:
    tracked = tracked_paths(find_repository(repo))
    assert tracked.files == {"README.md", "src/app.py", "src/pkg/mod.py", "docs/guide.md"}
    assert tracked.directories == {"src", "src/pkg", "docs"}


def test_tracked_names_with_odd_characters_come_back_as_they_are(tmp_path: Path) -> None:
    names = ["a b.py", 'q"uote.py', "new\nline.py", "é.py", "tab\t.py", os.fsdecode(b"raw\xff.py")]
    repo = make_repository(tmp_path / "odd", dict.fromkeys(names, "x\n"))
    assert tracked_paths(find_repository(repo)).files == set(names)


def test_an_unreadable_index_is_an_error_and_not_an_empty_list(repo: Path) -> None:
    (repo / ".git" / "index").write_bytes(b"garbage")
    with pytest.raises(CodePlaneError) as caught:
        tracked_paths(find_repository(repo))
    assert caught.value.code == "GIT_FAILED"


def test_the_index_has_a_stat_only_when_it_exists(repo: Path, tmp_path: Path) -> None:
    assert index_stat(find_repository(repo)) is not None
    git(tmp_path, "init", "--quiet", "fresh")
    assert index_stat(find_repository(tmp_path / "fresh")) is None


def test_a_repository_that_was_deleted_is_no_repository(repo: Path) -> None:
    shutil.rmtree(repo)
    assert _code(repo) == "NOT_A_REPOSITORY"
