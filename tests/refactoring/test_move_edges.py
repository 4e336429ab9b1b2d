"""Moves at the edges: names that differ in case, files that are not code, settings, targets that cannot be."""

import sys
from pathlib import Path

import pytest

from codeplane.core.processes import ProcessRequest, run_process
from codeplane.refactor.move import plan_move
from codeplane.refactor.plan import DOCS, QUESTION
from refactoring.planning import move, planned, refused
from support.repositories import make_repository

PKG: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'p'\n\n[project.scripts]\np = 'p.cli:main'\n",
    "p/__init__.py": "from .cli import main as main\n",
    "p/cli.py": '"""The command, p.cli."""\n\n\ndef main():\n    print("ran")\n',
    "settings.py": 'APPS = ["p.cli"]\n',
    "README.md": "Run `p.cli`, or read p/cli.py.\n\n```\npython -m p.cli\n```\n",
}


def test_settings_and_strings_are_questions_and_documentation_has_a_confidence(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PKG))
    draft = planned(root, lambda reader: plan_move(reader, "p/cli.py", "p/command.py"))
    questions = [(one.path, one.new, bool(one.why and one.settle)) for one in draft.edits if one.group == QUESTION]
    assert questions == [("pyproject.toml", "p.command", True), ("settings.py", "p.command", True)]
    documentation = [(one.path, one.line, one.confidence) for one in draft.edits if one.group == DOCS]
    assert documentation == [
        ("README.md", 1, "high"),
        ("README.md", 1, "medium"),
        ("README.md", 4, "high"),
        ("p/cli.py", 1, "medium"),
    ]


def test_a_moved_package_still_runs(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PKG))
    move(root, "p", "lib/tool")
    move(root, "lib/tool/cli.py", "lib/tool/commands/main.py")
    result = run_process(ProcessRequest((sys.executable, "-c", "import lib.tool; lib.tool.main()"), root, 60))
    assert result.stdout_text.strip() == "ran", result.stderr_text


def test_a_name_may_differ_in_case_only(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PKG))
    move(root, "p/cli.py", "p/CLI.py")
    assert (root / "p/__init__.py").read_text() == "from .CLI import main as main\n"


@pytest.mark.parametrize("name", ["notes.ipynb", "data.bin", "table.csv"])
def test_a_file_that_is_not_code_moves_as_it_is_and_that_is_said(name: str, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**PKG, name: "{}\n"})
    draft = move(root, name, f"kept/{name}")
    assert draft.edits == ()
    assert draft.warnings == (f"Moved without looking inside: {name}.",)
    assert (root / "kept" / name).read_text() == "{}\n"


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("p/cli.py", "README.md", "FILE_EXISTS"),
        ("p/cli.py", "README.md/cli.py", "FILE_EXISTS"),
        ("p/cli.py", "p/cli.py", "INVALID_ARGUMENTS"),
        ("p", "p/q", "INVALID_ARGUMENTS"),
        ("p/__init__.py", "p/other.py", "REFACTOR_CONFLICT"),
        ("none", "q", "FILE_NOT_FOUND"),
    ],
)
def test_a_move_that_cannot_be_is_refused(source: str, target: str, code: str, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PKG))
    assert refused(root, lambda reader: plan_move(reader, source, target)).code == code


def test_a_file_goes_into_a_directory_that_exists(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**PKG, "q/__init__.py": ""})
    move(root, "p/cli.py", "q/")
    assert (root / "p/__init__.py").read_text() == "from q.cli import main as main\n"


def test_a_second_move_sees_what_the_first_one_did(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(PKG))
    move(root, "p/cli.py", "p/a.py")
    move(root, "p/a.py", "p/b.py")
    assert (root / "p/__init__.py").read_text() == "from .b import main as main\n"
