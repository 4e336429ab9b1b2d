"""`check`, the verdict in the answer of a change, and the results that are kept of test runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from codeplane.ledger.chain import RowFilter
from codeplane.operations.answer import Outcome
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.main import root as cli
from support.doors import call, error_of, result_of
from support.governed import write_intents
from support.repositories import git, write
from support.suites import NO_CACHE, NO_PLUGINS, run_all, suite

CHARACTERS_PER_TOKEN = 3
FILES = {
    "pytest.ini": NO_CACHE,
    "ruff.toml": "lint.select = ['F']\n",
    "shop/__init__.py": "",
    "shop/prices.py": "def price():\n    return 3\n",
    "tests/test_prices.py": "from shop.prices import price\n\n\ndef test_price():\n    assert price() == 3\n",
}
SAME = "def price():\n    return 1 + 2\n"
INTENTS = "active_intents:\n  - {id: INT-1, name: Prices, status: active, owned_scope: ['shop/**']}\n"
WRONG = "import os\n\n\ndef price():\n    return 4\n"


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PLUGINS.items():
        monkeypatch.setenv(name, value)


def test_a_sound_change_is_ready_in_few_words(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        write(door.workspace.root, {"shop/prices.py": SAME})
        answer = call(door, "check")
        assert result_of(answer)["ready"] is True
        lines = answer.text().split("\n")
        assert lines[0] == "ready to commit"
        assert lines[1].startswith("tests: 1 passed in ")
        assert lines[2:] == ["lint: no findings in 1 file: ruff", "changes: 1 body changed"]
        assert len(answer.text()) <= 60 * CHARACTERS_PER_TOKEN + 30


def test_a_failing_test_and_a_new_finding_keep_a_change_from_being_ready(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        write(door.workspace.root, {"shop/prices.py": WRONG})
        answer = call(door, "check")
        result = result_of(answer)
        assert (result["ready"], result["reasons"]) == (False, ["tests: 1 failed", "lint: 1 new finding"])
        assert "FAILED tests/test_prices.py::test_price tests/test_prices.py:5" in answer.text()
        assert " new shop/prices.py:1:8 F401 `os` imported but unused" in answer.text()
        assert len(answer.text()) <= 350 * CHARACTERS_PER_TOKEN
        assert answer.meta.signals is not None
        assert answer.meta.signals.failure_fingerprint


def test_without_changes_there_is_nothing_to_commit(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        assert result_of(call(door, "check"))["reasons"] == ["nothing differs from HEAD"]


def test_a_missing_runner_is_a_reason_not_an_error(tmp_path: Path) -> None:
    files = {"jest.config.js": "", "a.js": "export const a = 1;\n", "a.test.js": "import {a} from './a.js';\n"}
    with suite(tmp_path / "r", files) as door:
        write(door.workspace.root, {"a.js": "export const a = 2;\n"})
        result = result_of(call(door, "check", {"paths": ["a.js"]}))
        assert result["ready"] is False
        assert result["reasons"][0].startswith("Test runner 'jest' not found in PATH")


def test_a_deleted_file_is_checked_by_the_tests_that_used_it(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        (door.workspace.root / "shop/prices.py").unlink()
        result = result_of(call(door, "check", {"paths": ["shop/prices.py"]}))
        assert (result["ready"], result["reasons"], "lint" in result) == (False, ["tests: 1 with errors"], False)


def test_programs_check_in_one_call(tmp_path: Path) -> None:
    program = "edit('shop/prices.py', old='3', new='4')\nprint(check()['reasons'], check('shop/prices.py')['ready'])"
    with suite(tmp_path / "r", FILES) as door:
        assert result_of(call(door, "run", {"program": program}))["printed"] == "['tests: 1 failed'] False\n"


def test_a_change_is_written_and_checked_in_one_call(tmp_path: Path) -> None:
    edit = {"path": "shop/prices.py", "expected_content": "3", "new_content": "4"}
    with suite(tmp_path / "r", FILES) as door:
        answer = call(door, "write_source", {"edits": [edit], "check": True})
        assert result_of(answer)["check"].startswith("not ready: tests: 1 failed\nFAILED tests/test_prices.py")
        assert "not ready: tests: 1 failed" in answer.text()
        result_of(call(door, "undo", {"operation": result_of(answer)["delta"]["mutation_id"]}))
        assert git(door.workspace.root, "status", "--short") == ""


def test_a_checked_change_is_written_even_where_the_check_waits_for_a_person(tmp_path: Path) -> None:
    edit = {"path": "shop/prices.py", "expected_content": "3", "new_content": "4"}
    with suite(tmp_path / "r", FILES) as door:
        write_intents(door.workspace.root, INTENTS)
        result_of(call(door, "select_active_intent", {"intent_id": "INT-1"}))
        answer = call(door, "write_source", {"edits": [edit], "check": True})
        assert call(door, "check").outcome is Outcome.HELD
        assert result_of(answer)["check"].startswith("The change is written; its check is held: ")
        assert "return 4" in (door.workspace.root / "shop/prices.py").read_text("utf-8")


def test_a_refactoring_is_applied_and_checked_in_one_call(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        plan = result_of(call(door, "refactor_rename", {"symbol": "shop/prices.py::price", "new_name": "cost"}))
        answer = call(door, "refactor_apply", {"refactor_id": plan["refactor_id"], "check": True})
        assert result_of(answer)["check"].startswith("ready to commit\ntests: 1 passed")


def test_the_last_runs_are_kept_with_their_failures(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        assert result_of(call(door, "list_test_runs"))["runs"] == []
        run_all(door)
        write(door.workspace.root, {"shop/prices.py": WRONG})
        run_all(door)
        kept = result_of(call(door, "list_test_runs", {"limit": 5}))
        assert [(one["outcome"], one["passed"], one["failed"]) for one in kept["runs"]] == [
            ("failed", 0, 1),
            ("passed", 1, 0),
        ]
        assert kept["runs"][0]["failures"][0]["tests"] == ["tests/test_prices.py::test_price"]
        told = CliRunner().invoke(cli, ["tests", "last", "--json", "--repo", str(door.workspace.root)])
        assert json.loads(told.output)["result"]["runs"][0]["failed"] == 1


def test_a_damaged_kept_result_is_passed_over_and_old_ones_are_dropped(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {"a.py": ""}) as door:
        results = door.workspace.root / ".codeplane/results"
        results.mkdir()
        for number in range(30):
            (results / f"tests-{number:015d}-x.json").write_text("{", encoding="utf-8")
        run_all(door)
        assert len(list(results.iterdir())) == 20
        assert [one["outcome"] for one in result_of(call(door, "list_test_runs", {"limit": 9}))["runs"]] == [
            "nothing_run"
        ]


def test_a_test_that_was_flaky_is_told_when_it_fails_again(tmp_path: Path) -> None:
    flaky = (
        "import os, pathlib\n\ndef test_a():\n    mark = pathlib.Path(os.environ['HOME'], 'was-here')\n"
        "    was = mark.exists()\n    mark.touch()\n    assert was\n"
    )
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": flaky}) as door:
        assert run_all(door, retry_flaky=True)["flaky"] == ["test_a.py::test_a"]
        Path.home().joinpath("was-here").unlink()
        assert run_all(door)["failures"][0]["flaky_before"] is True
        assert result_of(call(door, "list_test_runs"))["flaky"] == {"test_a.py::test_a": 1}


def test_the_ledger_has_what_failed(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        write(door.workspace.root, {"shop/prices.py": WRONG})
        call_id = call(door, "check").meta.request_id
        noted = _noted(door, call_id)
        assert (noted["outcome"], noted["failed"]) == ("failed", 1)
        assert noted["failures"][0]["test"] == "tests/test_prices.py::test_price"


def test_a_path_outside_is_refused(tmp_path: Path) -> None:
    with suite(tmp_path / "r", FILES) as door:
        assert error_of(call(door, "check", {"affected_by": ["../x.py"]})) == "PATH_OUTSIDE_REPOSITORY"


def _noted(door: Door, call_id: str) -> dict[str, Any]:
    rows = door.workspace.chain.rows(RowFilter(call_id=call_id, limit=10))
    noted = next(row.body["tests"] for row in rows if row.kind == "finished")
    assert isinstance(noted, dict)
    return noted
