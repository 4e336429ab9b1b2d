"""Runners whose toolchain is on this machine, run for real."""

import os
import pwd
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.suites import NO_CACHE, counts, run_all, suite

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
}  # fmt: skip
# What this machine lacks is named in the id, so that a report of the tests shows it.
CASES = [
    pytest.param(name, id=name if shutil.which(one.program) else f"{name}-left-out-without-{one.program}")
    for name, one in PROJECTS.items()
]


@pytest.mark.parametrize("name", CASES)
def test_a_runner_tells_what_passed_and_where_the_other_test_failed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = PROJECTS[name]
    with suite(tmp_path / "r", project.files, project.overrides) as door:
        if not shutil.which(project.program):
            with pytest.raises(AssertionError, match="TEST_RUNNER_NOT_FOUND"):
                run_all(door)
            return
        # Toolchains keep themselves, and what they have compiled of their own libraries, in the user's directory.
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        kept = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "GOCACHE": ".cache/go-build"}
        for variable, directory in kept.items():
            monkeypatch.setenv(variable, os.environ.get(variable, str(home / directory)))
        result = run_all(door)
        assert counts(result) == {"passed": 1, "failed": 1}, result
        assert result["runners"] == [name]
        (failure,) = result["failures"]
        assert failure["tests"] == [project.test]
        assert f"{failure['path']}:{failure['line']}" == project.place
        assert project.says in failure["text"]
        assert result["left_behind"] == []
