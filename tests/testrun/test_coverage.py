"""Coverage: measured by the project's own runner, told for the change, kept by target."""

import shutil
from pathlib import Path

import pytest

from codeplane.operations.suite_coverage import coverage_book, scope_of
from codeplane.testrun.coverage import CoverageBook, parse_lcov, ranges_of
from support.doors import call, result_of
from support.repositories import write
from support.suites import NO_CACHE, NO_PLUGINS, run, run_all, suite
from support.toolchains import NODE, keep_compiled_libraries

pytestmark = pytest.mark.slow
PRICES = "def price():\n    return 3\n"
CHANGED = "def price(n=1):\n    if n > 9:\n        return 2\n    return 3\n\n\ndef unused():\n    return 0\n"
FILES = {
    "pytest.ini": NO_CACHE,
    "shop/prices.py": PRICES,
    "shop/names.py": "def name():\n    return 'x'\n",
    "tests/test_prices.py": "from shop.prices import price\n\n\ndef test_price():\n    assert price() == 3\n",
    "tests/test_names.py": "from shop.names import name\n\n\ndef test_name():\n    assert name() == 'x'\n",
}
UNITTEST = (
    "import unittest\n\nfrom shop.prices import price\n\n\nclass A(unittest.TestCase):\n"
    "    def test_a(self):\n        price()\n"
)


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PLUGINS.items():
        monkeypatch.setenv(name, value)


def test_changed_lines_that_no_test_runs_are_named_with_their_definitions(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        write(door.workspace.root, {"shop/prices.py": CHANGED})
        answer = call(door, "run_test_targets", {"coverage": True})
        told = result_of(answer)["coverage"]
        assert (told["of_change"], told["covered"], told["lines"]) == (True, 3, 5)
        assert told["files"] == [
            {"path": "shop/prices.py", "covered": 3, "lines": 5, "missed": "3, 8", "definitions": ["price", "unused"]}
        ]
        assert answer.text().split("\n")[-2:] == [
            "coverage: 3 of 5 changed lines",
            " shop/prices.py 3 of 5; not run: 3, 8 (price, unused)",
        ]


def test_which_targets_ran_a_line_is_kept(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        run_all(door, coverage=True)
        book = coverage_book(door.workspace)
        assert book.targets_covering("shop/prices.py", [2]) == ("tests/test_prices.py",)
        assert book.targets_covering("shop/names.py") == ("tests/test_names.py",)
        assert book.targets_covering("shop/gone.py") == ()


def test_without_changes_whole_files_are_counted(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        told = run_all(door, coverage=True)["coverage"]
        assert (told["of_change"], told["covered"], told["lines"]) == (False, 4, 4)


def test_unittest_is_measured_too(tmp_path: Path) -> None:
    files = {"shop/prices.py": PRICES, "tests/test_a.py": UNITTEST}
    with suite(tmp_path / "r", files, ("tests.runners.python=unittest",)) as door:
        write(door.workspace.root, {"shop/prices.py": CHANGED})
        assert run(door, coverage=True)["coverage"]["files"][0]["missed"] == "3, 8"


def test_an_environment_without_coverage_says_so_and_the_tests_run(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {**FILES, "coverage.py": "raise ImportError\n"}) as door:
        result = run_all(door, coverage=True)
        assert result["passed"] == 2
        assert result["coverage"]["problems"] == ["pytest: coverage.py is not in the project's environment"]


def test_a_runner_without_coverage_says_so(tmp_path: Path) -> None:
    setting = "tests.custom=[{pattern: '*.sh', runner: shell, cmd: [sh, '{path}']}]"
    with suite(tmp_path / "r", {"a.sh": "exit 0\n"}, (setting,)) as door:
        assert run_all(door, coverage=True)["coverage"]["problems"] == ["shell: its coverage cannot be measured here"]


GO = {
    "go.mod": "module example.invalid/shop\n\ngo 1.20\n",
    "pkg/a.go": "package pkg\n\nfunc One() int {\n\treturn 1\n}\n\nfunc Two() int {\n\treturn 2\n}\n",
    "pkg/a_test.go": 'package pkg\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n\tOne()\n}\n',
}
JS = "const one = () => 1;\nfunction two() {\n  return 2;\n}\nmodule.exports = { one, two };\n"
OTHERS = {
    "go": ("go", GO, "pkg/a.go", "7-9"),
    "node": (
        "node",
        {"one.js": JS, "a.test.js": 'const test = require("node:test");\ntest("a", () => require("./one").one());\n'},
        "one.js",
        "2-4",
    ),
    "jest": (
        "npm",
        {
            "package.json": '{"jest": {}}',
            "one.js": JS,
            "a.test.js": 'test("a", () => { require("./one").one(); });\n',
            ".gitignore": "node_modules\n.venv\n",
        },
        "one.js",
        "3",
    ),
    "vitest": (
        "npm",
        {
            "vitest.config.js": "export default {};\n",
            "one.js": JS.replace("module.exports =", "export"),
            "a.test.js": 'import {test} from "vitest"; import {one} from "./one.js";\ntest("a", () => { one(); });\n',
            ".gitignore": "node_modules\n.venv\n",
        },
        "one.js",
        "2-4",
    ),
}


def _lacks(program: str) -> bool:
    return shutil.which(program) is None or (program == "npm" and not NODE.is_there)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=f"{name}-left-out" if _lacks(one[0]) else name) for name, one in OTHERS.items()],
)
def test_other_runners_tell_what_their_tests_did_not_run(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, files, path, missed = OTHERS[name]
    if _lacks(program):
        return
    keep_compiled_libraries(monkeypatch)
    with suite(tmp_path / "r", files) as door:
        if program == "npm":
            (door.workspace.root / "node_modules").symlink_to(NODE.directory / "node_modules")
        result = run_all(door, coverage=True)
        assert result["passed"] == 1, result
        found = {one["path"]: one["missed"] for one in result["coverage"]["files"]}
        assert found == {path: missed}, result["coverage"]
        assert result["left_behind"] == []


def test_the_scope_is_the_outermost_directories_of_changed_sources() -> None:
    changed = ["src/a/b.py", "src/a/c/d.py", "lib/x.py", "tests/test_a.py"]
    assert scope_of(changed) == ("lib", "src/a")
    assert scope_of(["setup.py", "src/a.py"]) == scope_of([]) == (".",)


def test_a_damaged_book_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    path.write_text("[]", encoding="utf-8")
    book = CoverageBook(path)
    assert book.targets_covering("a.py") == ()
    book.record({"t": {"a.py": [1, 2, 3, 7]}})
    assert (book.targets_covering("a.py", [7]), book.targets_covering("a.py", [5])) == (("t",), ())


def test_lines_become_ranges_and_lcov_is_read(tmp_path: Path) -> None:
    assert ranges_of([3, 1, 2, 9]) == [[1, 3], [9, 9]]
    (tmp_path / "lcov.info").write_text("SF:a.js\nDA:1,2\nDA:2,0\nend_of_record\n", encoding="utf-8")
    found = parse_lcov(tmp_path, tmp_path)["a.js"]
    assert (set(found.covered), set(found.missed)) == ({1}, {2})
