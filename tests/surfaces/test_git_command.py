"""`cpl git`: every tool of agents for people, readable and as JSON."""

import json
from pathlib import Path

import pytest

from codeplane.operations.catalog import TOOLS
from codeplane.surfaces.cli.main import main
from support.repositories import git, make_repository, write


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository(tmp_path / "tree", {"a.txt": "a\n", "b.txt": "b\n"})
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    git(root, "branch", "side")
    monkeypatch.chdir(root)
    return root


def out(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Run a command and return what it printed."""
    assert main(["git", *arguments]) == code
    printed = capsys.readouterr()
    return printed.out + printed.err


def test_there_is_a_command_for_every_git_tool_and_its_help_names_every_parameter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = out(capsys, "--help")
    for name, operation in TOOLS.items():
        if name.startswith("git_"):
            command = name.removeprefix("git_").replace("_", "-")
            assert f"  {command} " in listed
            shown = out(capsys, command, "--help")
            for field in operation.request_type.model_fields:
                assert f"--{field.replace('_', '-')}" in shown, (command, field)


def test_a_change_is_staged_committed_shown_and_undone(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tree, {"a.txt": "changed\n"})
    assert "a.txt" in out(capsys, "status")
    assert "+changed" in out(capsys, "diff")
    done = json.loads(out(capsys, "stage-and-commit", "a.txt", "--message", "Change a", "--json"))["result"]
    assert done["oid"] == git(tree, "rev-parse", "HEAD").strip()
    assert "Change a" in out(capsys, "log", "--limit", "1")
    assert main(["undo", done["delta"]["mutation_id"], "--yes"]) == 0
    assert "changed" in (tree / "a.txt").read_text()
    assert git(tree, "log", "--format=%s").strip() == "first"


def test_words_without_an_option_mean_what_a_person_expects(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out(capsys, "checkout", "side")
    assert git(tree, "branch", "--show-current").strip() == "side"
    write(tree, {"c.txt": "c\n"})
    out(capsys, "stage", "c.txt")
    out(capsys, "commit", "--message", "c")
    out(capsys, "checkout", "main")
    out(capsys, "merge", "side", "--no-ff")
    assert (tree / "c.txt").exists()
    out(capsys, "branch", "create", "third")
    out(capsys, "branch", "delete", "third")
    out(capsys, "merge", "cherry-pick", "--refs", "nowhere", code=2)
    assert "c.txt" in out(capsys, "history", "c.txt", "--json")
    assert json.loads(out(capsys, "log", "--limit", "2", "--json"))["result"]["commits"][0]["parents"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["checkout", "nowhere"], 2, "GIT_REF_UNKNOWN"),
        (["checkout", "a", "b"], 2, "one too many"),
        (["branch", "delete"], 2, "INVALID_ARGUMENTS"),
        (["nothing"], 2, "No such command"),
        (["log", "--limit", "many"], 2, "not a valid integer"),
        (["rebase", "start", "--steps", "{"], 2, "not JSON"),
        (["log", "--limit", "0"], 2, "not in the range"),
    ],
)
def test_mistakes_are_answered_with_what_to_do(
    tree: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert words in out(capsys, *arguments, code=code)
    assert git(tree, "status", "--porcelain") == ""
