"""What is compared with nothing at all is named in full, in repositories of both object formats."""

from pathlib import Path

import pytest

from codeplane.git.merging import merged_names
from codeplane.git.switching import names_between
from support.repositories import git, write


@pytest.fixture(params=["sha1", "sha256"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a repository with a commit, and with a branch `alone` that shares nothing with it."""
    git(tmp_path, "init", "-q", "--template=", f"--object-format={request.param}")
    write(tmp_path, {"a": "1\n", "d/b": "2\n"})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "branch", "near")
    git(tmp_path, "checkout", "-q", "--orphan", "alone")
    git(tmp_path, "rm", "-qrf", ".")
    write(tmp_path, {"c": "3\n"})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "alone")
    git(tmp_path, "checkout", "-q", "main")
    return tmp_path


def test_a_switch_from_or_to_nothing_names_every_file(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD").strip()
    assert names_between(root, None, head) == ("a", "d/b")
    assert names_between(root, head, None) == ("a", "d/b")


def test_an_unrelated_branch_among_several_names_all_of_its_files(root: Path) -> None:
    head, near, alone = git(root, "rev-parse", "HEAD", "near", "alone").split()
    assert merged_names(root, head, (near, alone)) == ("c",)
