"""Running tests through the door, with the real pytest of this environment."""

from pathlib import Path

import pytest

from codeplane.operations.answer import Outcome
from support.doors import call, error_of, result_of
from support.governed import approve
from support.repositories import write
from support.suites import NO_CACHE, NO_PLUGINS, counts, run, run_all, suite

# Fewer characters than this per token in none of our answers.
CHARACTERS_PER_TOKEN = 3
PASSES = "def test_one():\n    assert 1 + 1 == 2\n"
FAILS = "def test_sum():\n    total = 1 + 1\n    assert total == 3\n"
CODE = {
    "pytest.ini": NO_CACHE,
    "shop/__init__.py": "",
    "shop/prices.py": "def price():\n    return 3\n",
    "shop/names.py": "def name():\n    return 'x'\n",
    "tests/test_prices.py": "from shop.prices import price\n\ndef test_price():\n    assert price() == 3\n",
    "tests/test_names.py": "from shop.names import name\n\ndef test_name():\n    assert name() == 'x'\n",
}


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PLUGINS.items():
        monkeypatch.setenv(name, value)


def test_a_green_run_is_told_in_one_line(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": PASSES}) as door:
        answer = call(door, "run_test_targets", {"target_filter": ["."]})
        assert counts(result_of(answer)) == {"passed": 1}
        assert len(answer.text()) <= 60 * CHARACTERS_PER_TOKEN
        assert answer.text().startswith("1 passed in ")


def test_a_failure_names_test_file_line_and_assertion(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": PASSES, "t/test_b.py": FAILS}) as door:
        answer = call(door, "run_test_targets", {"targets": ["."]})
        result = result_of(answer)
        assert counts(result) == {"passed": 1, "failed": 1}
        (failure,) = result["failures"]
        assert (failure["tests"], failure["path"], failure["line"]) == (["t/test_b.py::test_sum"], "t/test_b.py", 3)
        assert "assert 2 == 3" in failure["text"]
        assert len(answer.text()) <= 350 * CHARACTERS_PER_TOKEN
        assert answer.meta.signals is not None
        assert answer.meta.signals.failure_fingerprint


def test_only_tests_that_a_change_affects_are_run(tmp_path: Path) -> None:
    with suite(tmp_path / "r", CODE) as door:
        write(door.workspace.root, {"shop/prices.py": "def price():\n    return 4\n"})
        result = run(door)
        assert counts(result) == {"failed": 1}
        assert result["failures"][0]["tests"] == ["tests/test_prices.py::test_price"]
        assert result["failures"][0]["changed_definitions"] == ["shop/prices.py::price"]
        assert result["selection"]["direct"] == 1
        named = run(door, changed_files=["shop/names.py"])
        assert counts(named) == {"passed": 1}


@pytest.mark.parametrize("operation", ["run_test_targets", "inspect_affected_tests"])
def test_a_name_of_no_file_is_not_taken_for_a_change_without_tests(tmp_path: Path, operation: str) -> None:
    with suite(tmp_path / "r", CODE) as door:
        assert error_of(call(door, operation, {"affected_by": ["HEAD"]})) == "FILE_NOT_FOUND"
        (door.workspace.root / "shop/prices.py").unlink()
        answer = call(door, operation, {"affected_by": ["HEAD", "shop/prices.py"]})
        assert answer.error is None
        assert "there is no file HEAD; it is not counted as changed" in answer.meta.warnings


def test_a_test_file_of_any_name_that_a_runner_takes_is_affected(tmp_path: Path) -> None:
    files = {
        "shop.js": "export function price() { return 3 }\n",
        "package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
        "test/prices.js": "import test from 'node:test'\nimport { price } from '../shop.js'\ntest(String(price()))\n",
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n',
        "src/lib.rs": "pub fn one() -> i32 { 1 }\n",
        "tests/whole.rs": "use shop::one;\n#[test]\nfn b() { assert_eq!(one(), 2); }\n",
    }
    with suite(tmp_path / "r", files) as door:
        for changed, test in (("shop.js", "test/prices.js"), ("src/lib.rs", "tests/whole.rs")):
            found = result_of(call(door, "inspect_affected_tests", {"affected_by": [changed]}))
            assert test in [one["target_id"] for one in found["matches"]]


def test_each_test_is_explained_by_the_changed_file_that_it_reaches(tmp_path: Path) -> None:
    with suite(tmp_path / "r", CODE) as door:
        write(door.workspace.root, {"shop/prices.py": "def price():\n    return 4\n"})
        write(door.workspace.root, {"shop/names.py": "def name():\n    return 'y'\n"})
        found = result_of(call(door, "inspect_affected_tests", {}))["matches"]
        reasons = {one["target_id"]: one["reason"] for one in found}
        assert reasons["tests/test_prices.py"] == "uses price of shop/prices.py"
        assert reasons["tests/test_names.py"] == "uses name of shop/names.py"


def test_files_of_codeplane_do_not_make_a_selection_partial(tmp_path: Path) -> None:
    with suite(tmp_path / "r", CODE) as door:
        write(door.workspace.root, {".cplignore": "*.log\n", "shop/prices.py": "def price():\n    return 4\n"})
        selection = run(door)["selection"]
        assert (selection["changed_files"], selection["confidence"]) == (1, "complete")


def test_without_changes_nothing_is_run_and_the_answer_says_how_to_run_all(tmp_path: Path) -> None:
    with suite(tmp_path / "r", CODE) as door:
        result = run(door)
        assert result["outcome"] == "nothing_run"
        assert "Nothing differs from HEAD" in result["hint"]


def test_a_program_edits_and_runs_the_affected_tests_in_one_call(tmp_path: Path) -> None:
    program = (
        "edit('shop/prices.py', old='return 3', new='return 4')\n"
        "found = tests()\n"
        "print(found['failed'], found['failures'][0]['line'], tests('tests/test_names.py')['passed'])"
    )
    with suite(tmp_path / "r", CODE) as door:
        assert result_of(call(door, "run", {"program": program}))["printed"] == "1 4 1\n"


def test_one_test_is_chosen_by_its_name(tmp_path: Path) -> None:
    two = "def test_one():\n    pass\n\ndef test_two():\n    assert 0\n"
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": two}) as door:
        assert counts(run(door, target_filter=["test_a.py::test_one"])) == {"passed": 1}


def test_a_target_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with suite(tmp_path / "r", CODE) as door:
        assert error_of(call(door, "run_test_targets", {"target_filter": ["tests/test_gone.py"]})) == "FILE_NOT_FOUND"


def test_equal_failures_are_one(tmp_path: Path) -> None:
    many = "import pytest\n\n@pytest.mark.parametrize('n', range(40))\ndef test_n(n):\n    raise KeyError('x')\n"
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": many}) as door:
        result = run_all(door)
        assert [one["count"] for one in result["failures"]] == [40]
        assert counts(result) == {"failed": 40}


def test_further_failures_come_by_cursor_and_nothing_is_run_again(tmp_path: Path) -> None:
    lines = [f"def test_{n}():\n    raise {kind}('{'x' * n}')\n" for n, kind in enumerate(["OSError", "KeyError"] * 20)]
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": "\n".join(lines)}) as door:
        result = run_all(door)
        seen = [one["tests"][0] for one in result["failures"]]
        (door.workspace.root / "test_a.py").unlink()
        while result["pagination"].get("next_cursor"):
            result = run(door, cursor=result["pagination"]["next_cursor"])
            seen += [one["tests"][0] for one in result["failures"]]
        assert len(seen) == len(set(seen)) == 40


def test_a_test_that_passes_when_repeated_is_flaky(tmp_path: Path) -> None:
    flaky = (
        "import os, pathlib\n\ndef test_a():\n    mark = pathlib.Path(os.environ['HOME'], 'was-here')\n"
        "    was = mark.exists()\n    mark.touch()\n    assert was\n"
    )
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": flaky}) as door:
        result = run_all(door, retry_flaky=True)
        assert (result["outcome"], result["flaky"]) == ("passed", ["test_a.py::test_a"])


def test_files_that_tests_leave_behind_are_told(tmp_path: Path) -> None:
    writes = "def test_a():\n    open('left.txt', 'w').write('x')\n    open('kept.txt', 'a').write('x')\n"
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": writes, "kept.txt": ""}) as door:
        write(door.workspace.root, {"kept.txt": "changed before"})
        assert run_all(door)["left_behind"] == ["kept.txt", "left.txt"]


def test_a_missing_runner_is_an_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    files = {"jest.config.js": "", "a.test.js": "test('a', () => {})\n"}
    with suite(tmp_path / "r", files) as door:
        answer = call(door, "run_test_targets", {"target_filter": ["."]})
        assert error_of(answer) == "TEST_RUNNER_NOT_FOUND"
        assert answer.error is not None
        assert "node_modules/.bin/jest" in answer.error.message
        runners = result_of(call(door, "discover_test_targets"))["runners"]
        assert runners[0]["problem"].startswith("Test runner 'jest' not found in PATH")


def test_targets_without_a_runner_are_named_beside_those_that_ran(tmp_path: Path) -> None:
    files = {"jest.config.js": "", "a.test.js": "", "pytest.ini": NO_CACHE, "test_a.py": PASSES}
    with suite(tmp_path / "r", files) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 1}
        assert result["not_run"] == [{"target": "a.test.js", "reason": "jest was not found"}]


def test_a_command_of_the_projects_own_is_told_by_its_exit_code(tmp_path: Path) -> None:
    setting = "tests.custom=[{pattern: 'e2e/*.sh', runner: shell, cmd: [sh, '{path}']}]"
    files = {"e2e/good.sh": "exit 0\n", "e2e/bad way.sh": "echo went wrong\nexit 3\n"}
    with suite(tmp_path / "r", files, (setting,)) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 1, "failed": 1}
        assert result["failures"][0]["tests"] == ["e2e/bad way.sh"]
        assert result["failures"][0]["text"] == "went wrong"


def test_runs_count_as_test_runs_and_not_as_mutations(tmp_path: Path) -> None:
    with suite(tmp_path / "r", CODE, ("tasks.max_test_runs=1",)) as door:
        run_all(door)
        assert error_of(call(door, "run_test_targets", {"target_filter": ["."]})) == "TASK_BUDGET_EXCEEDED"


def test_where_intents_are_in_force_a_run_waits_for_a_person(tmp_path: Path) -> None:
    intents = "active_intents:\n  - {id: INT-1, name: All, status: active, owned_scope: ['**']}\n"
    with suite(tmp_path / "r", CODE) as door:
        write(door.workspace.root, {".orchestration/active_intents.yaml": intents})
        assert error_of(call(door, "run_test_targets", {"target_filter": ["."]})) == "INTENT_REQUIRED"
        result_of(call(door, "select_active_intent", {"intent_id": "INT-1"}))
        held = call(door, "run_test_targets", {"target_filter": ["."]})
        assert held.outcome is Outcome.HELD
        assert held.error is not None
        approve(door.workspace, held.error.details["hold_id"])
        assert counts(run_all(door)) == {"passed": 2}


def test_why_a_test_is_affected_and_what_no_test_covers_is_told(tmp_path: Path) -> None:
    files = {
        **CODE,
        "shop/alone.py": "x = 1\n",
        "shop/cart.py": "from shop.prices import price\n\ndef total():\n    return price()\n",
        "tests/test_cart.py": "from shop.cart import total\n\ndef test_total():\n    assert total()\n",
    }
    with suite(tmp_path / "r", files) as door:
        result = result_of(call(door, "inspect_affected_tests", {"affected_by": ["shop/prices.py"]}))
        tiers = {one["target_id"]: one["tier"] for one in result["matches"]}
        assert tiers == {"tests/test_prices.py": "direct", "tests/test_cart.py": "imports"}
        assert "shop.alone" in result["uncovered_modules"]
        assert result["changed_modules"] == ["shop.prices"]
