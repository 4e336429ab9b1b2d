"""Paths on the command line are relative to the current directory, wherever a command takes one."""

import json
from pathlib import Path

import pytest

from codeplane.surfaces.cli.main import main
from support.repositories import git, make_repository, write


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files: dict[str, str | bytes] = {
        "top.py": "needle = 1\n",
        "sub/inner.py": "needle = 2\n",
        "sub/deep/x.py": "needle = 3\n",
    }
    root = make_repository(tmp_path / "tree", files)
    monkeypatch.chdir(root / "sub")
    return root


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    main([*arguments, "--json"])
    found: dict[str, object] = json.loads(capsys.readouterr().out)["result"]
    return found


def paths(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    found = result(capsys, "search", "needle", *arguments)["results"]
    assert isinstance(found, list)
    return sorted(hit["path"] for hit in found)


@pytest.mark.parametrize(
    ("path", "count"), [(".", 2), ("deep", 1), ("..", 3), ("../sub/deep/", 1), ("{root}/sub/deep", 1)]
)
def test_map_takes_a_path_from_here(tree: Path, capsys: pytest.CaptureFixture[str], path: str, count: int) -> None:
    structure = result(capsys, "map", path.format(root=tree), "-i", "structure")["structure"]
    assert isinstance(structure, dict)
    assert structure["file_count"] == count


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["sub/deep/x.py", "sub/inner.py"]),
        ("inner.py", ["sub/inner.py"]),
        ("./inner.py", ["sub/inner.py"]),
        ("deep/", ["sub/deep/x.py"]),
        ("deep/*.py", ["sub/deep/x.py"]),
        ("../top.py", ["top.py"]),
        ("/top.py", ["top.py"]),
    ],
)
@pytest.mark.usefixtures("tree")
def test_search_takes_globs_from_here(capsys: pytest.CaptureFixture[str], glob: str, found: list[str]) -> None:
    assert paths(capsys, "--path", glob) == found


def test_globs_at_the_root_mean_what_they_meant(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    assert paths(capsys, "--path", "sub") == ["sub/deep/x.py", "sub/inner.py"]
    assert paths(capsys, "--path", "./sub/deep") == ["sub/deep/x.py"]


def test_git_commands_take_paths_from_here(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tree, {"sub/inner.py": "changed = 1\n", "top.py": "changed = 1\n"})
    assert main(["git", "stage", "inner.py"]) == 0
    assert git(tree, "diff", "--cached", "--name-only").split() == ["sub/inner.py"]
    assert main(["git", "stage", "--paths", "../top.py"]) == 0
    assert git(tree, "diff", "--cached", "--name-only").split() == ["sub/inner.py", "top.py"]
    capsys.readouterr()


def test_the_arguments_of_a_call_stay_relative_to_the_root(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (tree / "top.py").exists()
    assert main(["call", "read_source", "targets=top.py"]) == 0
    assert "needle = 1" in capsys.readouterr().out
