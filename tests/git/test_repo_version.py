"""The version of a repository changes with HEAD, the git index and the submodules, and with nothing else."""

from pathlib import Path

import pytest

from codeplane.git.repo_version import RepoVersion, TrackedView, head_commit
from codeplane.git.repository import find_repository
from support.repositories import git, make_repository, write


def _view(root: Path) -> TrackedView:
    return TrackedView(find_repository(root))


def _head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def test_the_head_is_what_git_says(repo: Path) -> None:
    view = _view(repo)
    assert view.version().head == _head(repo)
    write(repo, {"new.py": "x\n"})
    before = view.version()
    git(repo, "add", "-A")
    assert view.version() != before
    git(repo, "commit", "--quiet", "-m", "more")
    assert view.version().head == _head(repo)


@pytest.mark.parametrize("prepare", [("pack-refs", "--all"), ("checkout", "--quiet", "--detach"), ("gc", "--quiet")])
def test_packed_references_and_a_detached_head_are_read(repo: Path, prepare: tuple[str, ...]) -> None:
    git(repo, *prepare)
    assert head_commit(find_repository(repo)) == _head(repo)


def test_an_unborn_branch_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "fresh")
    assert _view(tmp_path / "fresh").version() == RepoVersion(None, None)


def test_a_linked_worktree_has_its_own_version(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    write(tmp_path / "linked", {"new.py": "x\n"})
    git(tmp_path / "linked", "add", "-A")
    git(tmp_path / "linked", "commit", "--quiet", "-m", "side")
    assert _view(tmp_path / "linked").version().head == _head(tmp_path / "linked")
    assert _view(repo).version().head == _head(repo) != _head(tmp_path / "linked")


def test_a_submodule_counts_once_it_is_checked_out(repo: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {"build/i.py": "i\n"})
    git(repo, "submodule", "--quiet", "add", str(inner), "vendor/sub")
    git(repo, "commit", "--quiet", "-m", "submodule")
    view = _view(repo)
    version = view.version()
    assert [(one.path, one.head) for one in version.submodules] == [("vendor/sub", _head(inner))]
    assert "vendor/sub/build/i.py" in view.paths().files
    assert "vendor/sub/build" in view.paths().directories
    write(repo / "vendor/sub", {"more.py": "m\n"})
    git(repo / "vendor/sub", "add", "-A")
    assert "vendor/sub/more.py" in view.paths().files
    git(repo / "vendor/sub", "commit", "--quiet", "-m", "inside")
    assert view.version() != version
    git(repo, "submodule", "--quiet", "deinit", "--force", "vendor/sub")
    assert view.version().submodules == ()
