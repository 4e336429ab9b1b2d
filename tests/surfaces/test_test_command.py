"""`cpl test`, and what `cpl doctor` says about runners."""

import json
import sys
from pathlib import Path

import pytest

from codeplane.surfaces.cli.main import main
from support.repositories import make_repository, write
from support.suites import IGNORED, NO_CACHE, NO_PLUGINS

pytestmark = pytest.mark.slow
FILES = {
    ".gitignore": IGNORED,
    "pytest.ini": NO_CACHE,
    "shop.py": "def price():\n    return 3\n",
    "tests/test_shop.py": "from shop import price\n\ndef test_price():\n    assert price() == 3\n",
    "tests/test_other.py": "def test_other():\n    pass\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository(tmp_path / "tree", {**FILES})
    (root / ".venv").symlink_to(sys.prefix)
    monkeypatch.chdir(root)
    for name, value in NO_PLUGINS.items():
        monkeypatch.setenv(name, value)
    return root


def out(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    printed = capsys.readouterr()
    return printed.out + printed.err


def test_all_tests_are_run_and_one_line_tells_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "test").startswith("2 passed in ")
    assert out(capsys, "test", "tests/test_other.py").startswith("1 passed in ")
    assert not (tree / "left").exists()


def test_a_failure_ends_with_exit_code_1(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tree, {"shop.py": "def price():\n    return 4\n"})
    printed = out(capsys, "test", "--affected", code=1)
    assert "1 failed in " in printed
    assert "tests/test_shop.py::test_price tests/test_shop.py:4" in printed
    document = json.loads(out(capsys, "test", "--affected", "--json", code=1))
    assert document["result"]["failed"] == 1
    assert out(capsys, "test", "--affected", "tests/test_other.py").startswith("no tests run")


def test_paths_are_those_of_the_current_directory(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree / "tests")
    assert out(capsys, "test", "test_shop.py::test_price").startswith("1 passed in ")


def test_a_terminal_shows_progress(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tree.exists()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "tests [#########################] 2/2" in out(capsys, "test")


def test_doctor_names_runners_and_what_is_missing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert "test runners: pytest; 2 targets" in out(capsys, "doctor")
    write(tree, {"jest.config.js": "", "a.test.js": ""})
    assert "Test runner 'jest' not found in PATH" in out(capsys, "doctor", code=1)
