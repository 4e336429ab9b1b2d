"""Which tests a change may affect."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.index.facts.reader import FactReader
from codeplane.index.impact import affected_tests, imported_sources, uncovered_modules
from support.doors import open_test_workspace
from support.repositories import make_repository

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "src/p/__init__.py": "",
    "src/p/a.py": "def f(): pass\n",
    "src/p/b.py": "from .a import f\n",
    "src/p/lonely.py": "x = 1\n",
    "src/p/sub/__init__.py": "",
    "src/p/sub/c.py": "y = 1\n",
    "tests/test_exact.py": "from p.a import f\n",
    "tests/test_parent.py": "import p.sub\n",
    "tests/test_uses.py": "from p import b\nb.f()\n",
    "tests/test_other.py": "import os\n",
    "docs/notes.md": "# n\n",
}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[FactReader]:
    """Return a reader of a small package with tests."""
    with open_test_workspace(make_repository(tmp_path / "repo", FILES)) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            yield reader


def test_an_exact_import_is_sure(reader: FactReader) -> None:
    found = affected_tests(reader, ["src/p/a.py"])
    assert {one.path: one.confidence for one in found.matches}["tests/test_exact.py"] == "high"
    assert (found.confidence, found.changed_modules) == ("complete", ("p.a",))


def test_a_use_through_another_module_is_sure(reader: FactReader) -> None:
    found = {one.path: one for one in affected_tests(reader, ["src/p/a.py"]).matches}
    assert found["tests/test_uses.py"].confidence == "high"
    assert "uses what src/p/a.py defines" in found["tests/test_uses.py"].reason


@pytest.mark.parametrize("changed", ["src/p/sub/c.py", "src/p/__init__.py"])
def test_parents_and_children_match_with_low_confidence(reader: FactReader, changed: str) -> None:
    found = {one.path: one.confidence for one in affected_tests(reader, [changed]).matches}
    assert found["tests/test_parent.py"] == "low"
    assert "tests/test_other.py" not in found


def test_nothing_changed_is_complete_and_empty(reader: FactReader) -> None:
    found = affected_tests(reader, [])
    assert (found.confidence, found.matches) == ("complete", ())


def test_a_file_without_a_module_makes_the_answer_partial(reader: FactReader) -> None:
    found = affected_tests(reader, ["docs/notes.md", "nowhere.py"])
    assert (found.confidence, found.unresolved_files) == ("partial", ("docs/notes.md", "nowhere.py"))


def test_a_computed_import_in_a_test_makes_the_answer_partial(tmp_path: Path) -> None:
    files = {**FILES, "tests/test_dynamic.py": "import importlib\nimportlib.import_module(name)\n"}
    with open_test_workspace(make_repository(tmp_path / "repo", files)) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            found = affected_tests(reader, ["src/p/a.py"])
    assert (found.confidence, found.computed_imports) == ("partial", ("tests/test_dynamic.py",))


def test_sources_of_tests_are_files_and_directories(reader: FactReader) -> None:
    found = imported_sources(reader, ["tests/test_exact.py"])
    assert (found.source_modules, found.source_files, found.source_dirs) == (("p.a",), ("src/p/a.py",), ("src/p",))


def test_modules_that_no_test_touches_are_named(reader: FactReader) -> None:
    assert uncovered_modules(reader) == ()


def test_a_lonely_package_is_uncovered(tmp_path: Path) -> None:
    files = {**FILES, "src/q/__init__.py": "", "src/q/z.py": "x = 1\n"}
    with open_test_workspace(make_repository(tmp_path / "repo", files)) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            assert uncovered_modules(reader) == ("q", "q.z")
