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


def affected(
    directory: Path, files: dict[str, str | bytes], changed: str, *names: str
) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Return the confidence, the tests with theirs, and the unknown hops for a change of a file or some of it."""
    with open_test_workspace(make_repository(directory / "repo", files)) as workspace:
        workspace.index.refresh()
        found = workspace.index.affected_tests([changed], {changed: names} if names else None)
    return found.confidence, {one.path: one.confidence for one in found.matches}, found.unknown_hops


FIXTURES: dict[str, str | bytes] = {
    "app/__init__.py": "def create():\n    from . import blog\n    return blog\n",
    "app/blog.py": "from .store import get\ndef show(): return get()\n",
    "app/store.py": "def get(): return 1\n",
    "tests/conftest.py": "import pytest\nfrom app import create\n@pytest.fixture\ndef client(): return create()\n"
    "@pytest.fixture\ndef auth(client): return client\n@pytest.fixture\ndef other(): return 2\n",
    "tests/test_a.py": "def test_a(client): client.show()\n",
    "tests/test_b.py": "def test_b(auth): auth.show()\n",
    "tests/test_c.py": "def test_c(other): pass\n",
    "tests/sub/test_d.py": "import pytest\n@pytest.mark.usefixtures('auth')\ndef test_d(): pass\n",
    "apart/test_e.py": "def test_e(): pass\n",
}


def test_tests_are_reached_through_imports_and_fixtures(tmp_path: Path) -> None:
    confidence, tests, _ = affected(tmp_path, FIXTURES, "app/store.py")
    assert confidence == "complete"
    assert set(tests) == {"tests/test_a.py", "tests/test_b.py", "tests/test_c.py", "tests/sub/test_d.py"}


def test_a_changed_conftest_affects_the_tests_below_it(tmp_path: Path) -> None:
    _, tests, _ = affected(tmp_path, FIXTURES, "tests/conftest.py")
    assert set(tests) == {"tests/test_a.py", "tests/test_b.py", "tests/test_c.py", "tests/sub/test_d.py"}


@pytest.mark.parametrize(
    ("fixture", "expected"),
    [
        ("client", {"tests/test_a.py", "tests/test_b.py", "tests/sub/test_d.py"}),
        ("auth", {"tests/test_b.py", "tests/sub/test_d.py"}),
        ("other", {"tests/test_c.py"}),
    ],
)
def test_a_changed_fixture_affects_the_tests_that_ask_for_it(tmp_path: Path, fixture: str, expected: set[str]) -> None:
    _, tests, _ = affected(tmp_path, FIXTURES, "tests/conftest.py", fixture)
    assert tests == dict.fromkeys(expected, "high")


def test_a_changed_autouse_fixture_affects_every_test_below(tmp_path: Path) -> None:
    text = "import pytest\n@pytest.fixture(autouse=True)\ndef always(): pass\n"
    _, tests, _ = affected(tmp_path, {**FIXTURES, "tests/sub/conftest.py": text}, "tests/sub/conftest.py", "always")
    assert tests == {"tests/sub/test_d.py": "high"}


def test_a_fixture_that_an_autouse_fixture_asks_for_affects_every_test(tmp_path: Path) -> None:
    text = str(FIXTURES["tests/conftest.py"]) + "@pytest.fixture(autouse=True)\ndef always(other): pass\n"
    _, tests, _ = affected(tmp_path, {**FIXTURES, "tests/conftest.py": text}, "tests/conftest.py", "other")
    assert set(tests) == {"tests/test_a.py", "tests/test_b.py", "tests/test_c.py", "tests/sub/test_d.py"}


@pytest.mark.parametrize(
    ("more", "hop"),
    [
        ({"app/blog.py": "@bp.route('/')\ndef show(): pass\n"}, "app/blog.py is called by its address"),
        ({"app/__init__.py": "__import__(name)\n"}, "app/__init__.py imports by a computed name"),
        ({"tests/test_c.py": "import subprocess\n"}, "tests/test_c.py starts programs (subprocess)"),
        ({"tests/conftest.py": "pytest_plugins = ['x']\nimport app\n"}, "tests/conftest.py names plugins"),
        ({"tests/test_c.py": "import lib.blog\n"}, "tests/test_c.py imports lib.blog, which was not found"),
    ],
)  # fmt: skip
def test_a_hop_that_cannot_be_followed_makes_the_answer_partial(
    tmp_path: Path, more: dict[str, str | bytes], hop: str
) -> None:
    confidence, _, hops = affected(tmp_path, {**FIXTURES, **more}, "app/blog.py")
    assert (confidence, hops) == ("partial", (hop,))


GO: dict[str, str | bytes] = {
    "go.mod": "module m\n",
    "a/a.go": "package a\n\nfunc F() {}\n",
    "a/b.go": "package a\n\nfunc G() {}\n",
    "a/errors.go": 'package a\n\nimport "errors"\n\nvar E = errors.New("e")\n',
    "a/a_test.go": 'package a\n\nimport "testing"\n\nfunc TestF(t *testing.T) {}\n',
    "b/b.go": 'package b\n\nimport "m/a"\n\nfunc H() { a.F() }\n',
    "b/b_test.go": 'package b_test\n\nimport (\n\t"testing"\n\t"m/b"\n)\n\nfunc TestH(t *testing.T) { b.H() }\n',
    "c/c.go": "package c\n",
    "c/c_test.go": 'package c\n\nimport "testing"\n\nfunc TestC(t *testing.T) {}\n',
}


def test_a_go_package_affects_its_tests_and_those_of_its_importers(tmp_path: Path) -> None:
    assert affected(tmp_path, GO, "a/b.go") == ("complete", {"a/a_test.go": "high", "b/b_test.go": "low"}, ())


def test_a_changed_go_test_affects_no_importer(tmp_path: Path) -> None:
    assert set(affected(tmp_path, GO, "a/a_test.go")[1]) == {"a/a_test.go"}
