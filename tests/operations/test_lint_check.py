"""`lint_check` and `lint_tools` through the door, and `cpl lint`: the slice from a marker to a repaired file."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from codeplane.core.ids import RandomIds
from codeplane.govern.policy_document import POLICY_FILE
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.main import root as cli
from support.doors import call, error_of, open_test_workspace, person, result_of
from support.governed import write_intents
from support.repositories import git, make_repository, write

OLD = "import os\n\nx = 1\n"
CHANGED = "import os\n\nx = 1\nimport sys\ny  = 2\n"
SETTINGS = "[tool.ruff.lint]\nselect = ['F']\n[tool.ruff.format]\n"
FILES: dict[str, str | bytes] = {
    "pyproject.toml": SETTINGS,
    "app.py": OLD,
    "other.py": "import json\n",
    ".gitignore": ".venv\nignored.py\n",
    "notes.txt": "x\n",
}
ALLOWED = "rules:\n  - {id: linters, decide: allow, operations: [lint_check]}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "project", FILES)
    (root / ".venv").mkdir()
    (root / ".venv/bin").symlink_to(Path(sys.executable).parent)
    return root


@pytest.fixture
def project_door(project: Path) -> Iterator[Door]:
    with open_test_workspace(project, ids=RandomIds()) as workspace:
        yield Door(workspace, OPERATIONS)


def lint(door: Door, **arguments: Any) -> Answer:
    return call(door, "lint_check", arguments, by=person())


def rows(answer: Answer) -> list[tuple[str, int, str, bool]]:
    return [(one["path"], one["line"], one["rule"], one["new"]) for one in result_of(answer)["findings"]]


def own_ruff(root: Path, script: str) -> None:
    """Put another ruff into the project's environment."""
    (root / ".venv/bin").unlink()
    write(root, {".venv/bin/ruff": f"#!/bin/sh\n{script}\n"})
    (root / ".venv/bin/ruff").chmod(0o755)


def test_findings_on_changed_lines_come_first_and_only_changed_files_are_checked(project_door: Door) -> None:
    write(project_door.workspace.root, {"app.py": CHANGED})
    answer = lint(project_door)
    assert rows(answer) == [
        ("app.py", 4, "F401", True),
        ("app.py", 5, "format", True),
        ("app.py", 1, "F401", False),
    ]
    assert answer.text().split("\n") == [
        "3 findings (2 new, 3 fixable) in 1 file: ruff 2, ruff format 1",
        " new app.py:4:8 F401 `sys` imported but unused [ruff, fixable]",
        " new app.py:5 format not formatted: 1 line would change [ruff format, fixable]",
        " app.py:1:8 F401 `os` imported but unused [ruff, fixable]",
    ]
    assert git(project_door.workspace.root, "status", "--short") == " M app.py\n"


def test_an_untracked_file_is_new_as_a_whole_and_nothing_changed_is_said(project_door: Door) -> None:
    assert lint(project_door).text() == "no files to check: nothing differs from HEAD"
    write(project_door.workspace.root, {"made.py": "import os\n", "ignored.py": "import os\n"})
    assert rows(lint(project_door)) == [("made.py", 1, "F401", True)]


def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "tree")
    root = tmp_path / "tree"
    write(root, {"ruff.toml": "", "a.py": "import os\n"})
    write(root, {".venv/bin/ruff": Path(sys.executable).parent.joinpath("ruff").read_bytes()})
    (root / ".venv/bin/ruff").chmod(0o755)
    with open_test_workspace(root) as workspace:
        assert ("a.py", 1, "F401", True) in rows(lint(Door(workspace, OPERATIONS)))


@pytest.mark.parametrize("paths", [["other.py"], ["o*.py"], "other.py"])
def test_paths_and_globs_choose_files_whether_changed_or_not(project_door: Door, paths: Any) -> None:
    write(project_door.workspace.root, {"app.py": CHANGED})
    assert rows(lint(project_door, paths=paths)) == [("other.py", 1, "F401", False)]


@pytest.mark.parametrize(
    ("path", "code"), [("othr.py", "FILE_NOT_FOUND"), ("*.rs", "FILE_NOT_FOUND"), ("../x", "PATH_OUTSIDE")]
)
def test_a_path_that_fits_nothing_is_refused(project_door: Door, path: str, code: str) -> None:
    assert error_of(lint(project_door, paths=[path])).startswith(code[:9])


def test_files_without_a_tool_are_told(project_door: Door) -> None:
    assert (
        lint(project_door, paths=["notes.txt"]).text()
        == "no configured tool looks at 1 file (lint_tools or `cpl lint --tools` lists them)"
    )


def test_a_repair_is_one_batch_with_one_undo(project_door: Door) -> None:
    root = project_door.workspace.root
    write(root, {"app.py": CHANGED, "b/other.py": "import sys\r\nx = 1\r\n"})
    (root / "app.py").chmod(0o755)
    answer = lint(project_door, fix=True)
    assert result_of(answer)["total"] == 0
    assert answer.text().split("\n")[:3] == [
        "2 files repaired; no findings in 2 files: ruff, ruff format",
        " app.py repaired +1 -4",
        " b/other.py repaired +0 -1",
    ]
    assert (root / "app.py").read_bytes() == b"x = 1\ny = 2\n"
    assert (root / "b/other.py").read_bytes() == b"x = 1\r\n"
    assert (root / "app.py").stat().st_mode & 0o777 == 0o755
    undone = call(project_door, "undo", {"operation": result_of(answer)["mutation_id"]}, by=person())
    assert undone.outcome is Outcome.FINISHED
    assert (root / "app.py").read_text() == CHANGED
    assert (root / "b/other.py").read_bytes() == b"import sys\r\nx = 1\r\n"


def test_a_repair_that_would_not_parse_is_left_out(project_door: Door) -> None:
    root = project_door.workspace.root
    own_ruff(root, 'case "$*" in *output-format*) echo "[]";; *) cat; echo "def (";; esac')
    write(root, {"app.py": CHANGED})
    answer = lint(project_door, fix=True)
    assert (root / "app.py").read_text() == CHANGED
    assert "mutation_id" not in result_of(answer)
    assert any("would not parse" in one for one in answer.meta.warnings)


def test_a_tool_that_breaks_or_is_missing_is_told_beside_the_findings(project_door: Door) -> None:
    root = project_door.workspace.root
    own_ruff(root, 'case "$1" in check) echo no such option >&2; exit 2;; *) cat;; esac')
    write(root, {"app.py": CHANGED, ".flake8": ""})
    answer = lint(project_door)
    assert {one["tool"]: one["status"] for one in result_of(answer)["tools"]} == {
        "ruff": "failed", "flake8": "missing", "ruff format": "clean",
    }  # fmt: skip
    assert " ruff failed: exit code 2: no such option" in answer.text()
    assert (
        " flake8 missing: `flake8` was not found in .venv/bin/flake8, node_modules/.bin/flake8, PATH" in answer.text()
    )


def test_many_findings_are_delivered_in_pages_without_running_again(project_door: Door) -> None:
    root = project_door.workspace.root
    write(root, {"app.py": "".join(f"import m{n}\n" for n in range(45))})
    first = lint(project_door)
    own_ruff(root, "exit 3")
    found = rows(first)
    assert len(found) == 20
    cursor = result_of(first)["pagination"]["next_cursor"]
    while cursor:
        page = lint(project_door, cursor=cursor)
        assert result_of(page)["total"] == 45
        found += rows(page)
        cursor = result_of(page)["pagination"].get("next_cursor")
    assert [line for _, line, _, _ in found] == list(range(1, 46))


def test_secret_files_are_not_shown_to_a_linter(project_door: Door) -> None:
    write(
        project_door.workspace.root,
        {".env": "A=1\n", ".yamllint": "", "key.yml": "-----BEGIN RSA PRIVATE KEY-----\nx\n"},
    )
    answer = lint(project_door)
    assert "key.yml" in " ".join(answer.meta.incomplete)


def test_an_agent_waits_for_a_person_where_intents_are_in_force(project_door: Door) -> None:
    workspace = project_door.workspace
    write(workspace.root, {"app.py": CHANGED})
    assert result_of(call(project_door, "lint_check", {}))["new"] == 2
    write_intents(workspace.root)
    result_of(call(project_door, "select_active_intent", {"intent_id": "INT-001"}))
    held = call(project_door, "lint_check", {})
    assert error_of(held) == "APPROVAL_PENDING"
    assert held.error is not None
    assert ".venv/bin/ruff check" in held.error.message


def test_configured_tools_are_listed(project_door: Door) -> None:
    write(project_door.workspace.root, {"web/.eslintrc.json": "{}"})
    text = call(project_door, "lint_tools", {}).text()
    assert text.split("\n") == [
        "ruff (linter, can fix) in ., by pyproject.toml [tool.ruff]: .venv/bin/ruff",
        (
            "eslint (linter, can fix) in web, by web/.eslintrc.json: not found in web/.venv/bin/eslint,"
            " web/node_modules/.bin/eslint, .venv/bin/eslint, node_modules/.bin/eslint, PATH"
        ),
        "ruff format (formatter, can fix) in ., by pyproject.toml [tool.ruff.format]: .venv/bin/ruff",
    ]


def test_the_command_says_what_it_found_by_its_exit_code(project: Path) -> None:
    with open_test_workspace(project, ids=RandomIds()) as workspace:
        write(project, {"app.py": CHANGED, POLICY_FILE: ALLOWED})
        result_of(call(Door(workspace, OPERATIONS), "accept_policy", {}, by=person()))

    def run(*words: str) -> tuple[int, str]:
        ended = CliRunner().invoke(cli, ["lint", "--repo", str(project), *words], standalone_mode=False)
        assert ended.exception is None, ended.output
        return ended.return_value, ended.output

    code, text = run()
    assert (code, text.split("\n")[0]) == (1, "3 findings (2 new, 3 fixable) in 1 file: ruff 2, ruff format 1")
    code, text = run("--fix", "app.py")
    assert (code, text.split("\n")[0]) == (0, "1 file repaired; no findings in 1 file: ruff, ruff format")
    code, text = run("--json", "*.py")
    assert (code, json.loads(text)["result"]["total"]) == (1, 1)
    code, text = run("--tools")
    assert (code, text.split(" ")[0]) == (0, "ruff")


def test_what_the_last_call_did_not_have_is_new(project_door: Door) -> None:
    root = project_door.workspace.root
    own_ruff(root, """echo '[]'""")
    lint(project_door, paths=["other.py"])
    found = {"filename": str(root / "other.py"), "location": {"row": 1, "column": 8}, "code": "F401", "message": "gone"}
    own_ruff_again = f"echo '{json.dumps([found])}'\nexit 1"
    write(root, {".venv/bin/ruff": f'#!/bin/sh\n[ "$1" = check ] || exec cat\n{own_ruff_again}\n'})
    assert ("other.py", 1, "F401", True) in rows(lint(project_door, paths=["other.py"]))
    assert ("other.py", 1, "F401", False) in rows(lint(project_door, paths=["other.py"]))
