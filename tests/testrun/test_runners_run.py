"""Runners whose toolchain is on this machine, run for real."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.repositories import write
from support.suites import NO_CACHE, counts, run_all, suite
from support.toolchains import JAVA_TEST, MAVEN, NODE, POM, Toolchain, keep_compiled_libraries

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Project:
    """A project with one passing and one failing test, and where it fails."""

    program: str
    files: Mapping[str, str]
    test: str
    place: str
    says: str
    overrides: tuple[str, ...] = ()
    toolchain: Toolchain | None = None
    coverage: str = ""

    @property
    def lacks(self) -> str:
        """Return what this machine lacks to run it."""
        if shutil.which(self.program) is None:
            return self.program
        is_there = self.toolchain is None or self.toolchain.is_there
        return "" if is_there or self.toolchain is None else f"make-tools-{self.toolchain.name}"


def _with_toolchain(root: Path, toolchain: Toolchain | None) -> None:
    """Let a project use what `make tools` installed."""
    if toolchain is NODE:
        (root / "node_modules").symlink_to(NODE.directory / "node_modules")
    if toolchain is MAVEN:
        write(root, {".mvn/maven.config": f"-o\n-Dmaven.repo.local={MAVEN.directory / 'repository'}\n"})


MANAGE = (
    "import sys\n\nfrom django.conf import settings\nfrom django.core.management import execute_from_command_line\n\n"
    "settings.configure(DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}})\n"
    "execute_from_command_line(sys.argv)\n"
)
JS_TESTS = 'test("a", () => {});\ntest("b", () => {\n  expect(one()).toBe(2);\n});\n'
JS_IGNORED = "node_modules\n.venv\ncoverage\n"
CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
PROJECTS = {
    "pytest": Project(
        "python3",
        {"pytest.ini": NO_CACHE,
         "tests/test_ü y.py": "def test_a():\n    pass\n\ndef test_b():\n    assert [1] == [2]\n"},
        "tests/test_ü y.py::test_b", "tests/test_ü y.py:5", "assert [1] == [2]",
    ),
    "unittest": Project(
        "python3",
        {
            "tests/__init__.py": "",
            "tests/test_a.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n\n"
            "    def test_b(self):\n        self.assertEqual(1, 2)\n",
        },
        "tests/test_a.py::A::test_b", "tests/test_a.py:8", "AssertionError: 1 != 2", ("tests.runners.python=unittest",),
    ),
    "node:test": Project(
        "node",
        {
            "package.json": '{"type": "module"}',
            "test/a b.test.js": 'import test from "node:test";\nimport assert from "node:assert";\n'
            'test("a", () => {});\ntest("b", () => {\n  assert.strictEqual(1, 2);\n});\n',
        },
        "test/a b.test.js::b", "test/a b.test.js:5", "1 !== 2",
    ),
    "go test": Project(
        "go",
        {
            "go.mod": "module example.invalid/shop\n\ngo 1.20\n",
            "pkg/a.go": "package pkg\n\nfunc One() int { return 1 }\n",
            "pkg/a_test.go": 'package pkg\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n\n'
            'func TestB(t *testing.T) {\n\tif One() != 2 {\n\t\tt.Fatalf("got %d", One())\n\t}\n}\n',
        },
        "pkg::TestB", "pkg/a_test.go:9", "got 1",
    ),
    "cargo test": Project(
        "cargo",
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": "pub fn one() -> i32 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n",
            "tests/whole.rs": "#[test]\nfn b() {\n    assert_eq!(shop::one(), 2);\n}\n",
            ".gitignore": "target\nCargo.lock\n.venv\n",
        },
        "tests/whole.rs::b", "tests/whole.rs:3", "assertion `left == right` failed",
    ),
    "django": Project(
        "python3",
        {
            "manage.py": MANAGE,
            "shop/__init__.py": "",
            "shop/tests.py": "from django.test import TestCase\n\n\nclass Prices(TestCase):\n    def test_a(self):\n"
            "        pass\n\n    def test_b(self):\n        self.assertEqual(1, 2)\n",
        },
        "shop/tests.py::Prices::test_b", "shop/tests.py:9", "AssertionError: 1 != 2",
    ),
    "jest": Project(
        "node",
        {
            "package.json": '{"jest": {}}',
            "one.js": "exports.one = () => 1;\n",
            "a b.test.js": f'const {{one}} = require("./one");\n{JS_TESTS}',
            ".gitignore": JS_IGNORED,
        },
        "a b.test.js::b", "a b.test.js:4", "Expected: 2", toolchain=NODE,
    ),
    "vitest": Project(
        "node",
        {
            "package.json": '{"type": "module"}',
            "vitest.config.js": "export default {};\n",
            "one.js": "export const one = () => 1;\n",
            "a b.test.js": f'import {{expect, test}} from "vitest"; import {{one}} from "./one.js";\n{JS_TESTS}',
            ".gitignore": JS_IGNORED,
        },
        "a b.test.js::b", "a b.test.js:4", "expected 1 to be 2", toolchain=NODE,
    ),
    "mvn test": Project(
        "mvn",
        {
            "pom.xml": POM,
            "src/main/java/shop/Price.java": "package shop;\n\nclass Price {\n    static int one() { return 1; }\n}\n",
            "src/test/java/shop/PriceTest.java": JAVA_TEST % "Price.one()",
            ".gitignore": "target\n.mvn\n.venv\n",
        },
        "shop.PriceTest::b", "src/test/java/shop/PriceTest.java:13", "expected: <2> but was: <1>", toolchain=MAVEN,
    ),
}  # fmt: skip
# What this machine lacks is named in the id, so that a report of the tests shows it.
CASES = [
    pytest.param(name, id=f"{name}-left-out-without-{one.lacks}" if one.lacks else name)
    for name, one in PROJECTS.items()
]


@pytest.mark.parametrize("name", CASES)
def test_a_runner_tells_what_passed_and_where_the_other_test_failed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = PROJECTS[name]
    with suite(tmp_path / "r", project.files, project.overrides) as door:
        if project.lacks:
            # A toolchain without its packages would begin to fetch them.
            if shutil.which(project.program):
                return
            with pytest.raises(AssertionError, match="TEST_RUNNER_NOT_FOUND"):
                run_all(door)
            return
        _with_toolchain(door.workspace.root, project.toolchain)
        keep_compiled_libraries(monkeypatch)
        result = run_all(door)
        assert counts(result) == {"passed": 1, "failed": 1}, result
        assert result["runners"] == [name]
        (failure,) = result["failures"]
        assert failure["tests"] == [project.test]
        assert f"{failure['path']}:{failure['line']}" == project.place
        assert project.says in failure["text"]
        assert result["left_behind"] == []


def test_a_file_of_node_that_cannot_be_loaded_is_an_error_with_its_cause(tmp_path: Path) -> None:
    files = {
        "package.json": '{"type": "module"}',
        "test/a.test.js": 'import test from "node:test";\nimport "../gone.js";\ntest("a", () => {});\n',
    }
    with suite(tmp_path / "r", files) as door:
        if PROJECTS["node:test"].lacks:
            return
        result = run_all(door)
        assert counts(result) == {"errors": 1}
        (failure,) = result["failures"]
        assert failure["tests"] == ["test/a.test.js"]
        assert "Cannot find module" in failure["text"]
