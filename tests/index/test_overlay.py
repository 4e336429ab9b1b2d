"""Without the overlay, as in continuous integration, only what git tracks is indexed."""

from pathlib import Path

import pytest

from codeplane.workspace.config import has_overlay
from support.doors import open_test_workspace
from support.repositories import git, make_repository, write


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "r", {"a.py": "a = 1\n", "pkg/b.py": "b = 1\n"})
    write(root, {"loose.py": "c = 1\n", "pkg/loose.py": "d = 1\n", "new/e.py": "e = 1\n"})
    return root


def indexed(root: Path) -> set[str]:
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        return set(workspace.index.state().files)


EVERYTHING = {"a.py", "pkg/b.py", "loose.py", "pkg/loose.py", "new/e.py"}


@pytest.mark.parametrize(
    ("setting", "environ", "is_on"),
    [
        ("auto", {}, True),
        ("auto", {"CI": ""}, True),
        ("auto", {"CI": "0"}, True),
        ("auto", {"CI": "False"}, True),
        ("auto", {"CI": "true"}, False),
        ("auto", {"CI": "woodpecker"}, False),
        ("true", {"CI": "true"}, True),
        ("false", {}, False),
    ],
)
def test_the_overlay_is_off_in_continuous_integration(setting: str, environ: dict[str, str], *, is_on: bool) -> None:
    assert has_overlay(setting, environ) is is_on


def test_without_the_overlay_untracked_files_are_left_out_and_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    with open_test_workspace(tree) as workspace:
        workspace.index.refresh()
        state = workspace.index.state()
        left_out = {item.path for item in state.left_out if item.source == "index.overlay"}
        assert workspace.index_summary()["overlay"] is False
    assert set(state.files) == {"a.py", "pkg/b.py"}
    assert left_out == {"loose.py", "pkg/loose.py", "new"}


def test_the_setting_brings_the_overlay_back(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("CODEPLANE__INDEX__OVERLAY", "true")
    assert indexed(tree) == EVERYTHING


def test_an_index_follows_a_changed_overlay(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert indexed(tree) == EVERYTHING
    monkeypatch.setenv("CI", "1")
    assert indexed(tree) == {"a.py", "pkg/b.py"}
    git(tree, "add", "loose.py")
    assert indexed(tree) == {"a.py", "pkg/b.py", "loose.py"}
    monkeypatch.delenv("CI")
    assert indexed(tree) == EVERYTHING
