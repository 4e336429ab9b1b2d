"""Suites that hang, crash, flood, vanish or cannot be collected: each target is answered for, and the rest is run."""

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from codeplane.operations.call_record import CallControls
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from support.doors import call, caller, error_of, open_test_workspace, result_of
from support.repositories import git, make_repository, write
from support.suites import IGNORED, NO_CACHE, NO_PLUGINS, counts, run_all, suite

pytestmark = pytest.mark.slow
GOOD = "def test_good():\n    pass\n"
TEST = {"pytest.ini": NO_CACHE, "test_zz_good.py": GOOD}
NAMES = ("test_zz_good.py", "test_bad.py")


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PLUGINS.items():
        monkeypatch.setenv(name, value)


def _one_process(root: Path) -> None:
    """Let all targets be so cheap that one process runs them."""
    costs = {"version": 1, "seconds": {name: [0.01] for name in NAMES}}
    (root / ".codeplane/test-costs.json").write_text(json.dumps(costs), encoding="utf-8")


def test_a_repository_without_tests_says_so(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {"a.py": "x = 1\n"}) as door:
        result = run_all(door)
        assert (result["outcome"], result["hint"]) == ("nothing_run", "There are no tests here.")


def test_a_test_file_without_tests_is_named(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {**TEST, "test_bad.py": "x = 1\n"}) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 1}
        assert result["not_run"] == [{"target": "test_bad.py", "reason": "no tests in it"}]


def test_a_collection_error_is_told_with_its_line_and_the_rest_runs(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {**TEST, "test_bad.py": "import json\nimport missing_module\n"}) as door:
        _one_process(door.workspace.root)
        result = run_all(door)
        assert counts(result) == {"passed": 1, "errors": 1}
        (failure,) = result["failures"]
        assert (failure["path"], failure["line"]) == ("test_bad.py", 2)
        assert "No module named 'missing_module'" in failure["text"]


def test_a_hanging_test_is_ended_alone(tmp_path: Path) -> None:
    hangs = "import threading\n\ndef test_first():\n    pass\n\ndef test_hangs():\n    threading.Event().wait()\n"
    with suite(tmp_path / "r", {**TEST, "test_bad.py": hangs}) as door:
        _one_process(door.workspace.root)
        result = run_all(door, timeout_sec=1)
        assert counts(result) == {"passed": 2, "errors": 1}
        assert result["failures"][0]["tests"] == ["test_bad.py"]
        assert result["failures"][0]["text"] == "timed out after 1 s"


def test_a_command_of_the_projects_own_that_hangs_is_ended(tmp_path: Path) -> None:
    setting = "tests.custom=[{pattern: '*.sh', runner: shell, cmd: [sh, '{path}'], timeout_sec: 1}]"
    with suite(tmp_path / "r", {"a.sh": "sleep 600\n", "b.sh": "exit 0\n"}, (setting,)) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 1, "errors": 1}
        assert (result["failures"][0]["tests"], result["failures"][0]["text"]) == (["a.sh"], "timed out")


def test_a_run_that_takes_too_long_in_all_is_ended_and_not_called_passed(tmp_path: Path) -> None:
    hangs = "import threading\n\ndef test_hangs():\n    threading.Event().wait()\n"
    with suite(tmp_path / "r", {**TEST, "test_aa.py": hangs}, ("tests.run_sec=2",)) as door:
        result = run_all(door)
        assert result["outcome"] == "failed"
        assert "the whole run took longer than 2 s" in result["failures"][0]["text"]


def test_a_missing_program_of_a_custom_command_is_told(tmp_path: Path) -> None:
    setting = "tests.custom=[{pattern: '*.sh', cmd: [no-such-program, '{path}']}]"
    with suite(tmp_path / "r", {"a.sh": ""}, (setting,)) as door:
        assert error_of(call(door, "run_test_targets", {"target_filter": ["."]})) == "TEST_RUNNER_NOT_FOUND"


def test_a_test_that_kills_its_process_is_blamed_and_the_rest_runs(tmp_path: Path) -> None:
    kills = "import os, signal\n\ndef test_kills():\n    os.killpg(os.getpgrp(), signal.SIGKILL)\n"
    with suite(tmp_path / "r", {**TEST, "test_bad.py": kills}) as door:
        _one_process(door.workspace.root)
        result = run_all(door)
        assert counts(result) == {"passed": 1, "errors": 1}
        assert result["failures"][0]["tests"] == ["test_bad.py"]
        assert "ended by signal 9" in result["failures"][0]["text"]


def test_a_forked_process_that_goes_on_holds_nobody_up(tmp_path: Path) -> None:
    forks = "import os, time\n\ndef test_forks():\n    if os.fork() == 0:\n        time.sleep(600)\n"
    with suite(tmp_path / "r", {**TEST, "test_bad.py": forks}) as door:
        result = run_all(door, timeout_sec=20)
        assert counts(result) == {"passed": 2}


def test_50_megabytes_of_output_do_not_reach_the_answer(tmp_path: Path) -> None:
    prints = "import sys\n\ndef test_prints():\n    sys.__stdout__.write('x' * 50_000_000)\n    assert 0\n"
    with suite(tmp_path / "r", {"pytest.ini": f"{NO_CACHE.strip()} -s\n", "test_bad.py": prints}) as door:
        answer = call(door, "run_test_targets", {"target_filter": ["."]})
        assert counts(result_of(answer)) == {"failed": 1}
        assert len(answer.text()) < 2_000


def test_a_broken_configuration_is_an_error_of_the_runner_with_its_last_lines(tmp_path: Path) -> None:
    with suite(tmp_path / "r", {**TEST, "pytest.ini": "[pytest]\naddopts = --no-such-option\n"}) as door:
        result = run_all(door)
        assert counts(result) == {"errors": 1}
        assert "exit code 4" in result["failures"][0]["text"]
        assert "--no-such-option" in result["failures"][0]["text"]


def test_an_exit_code_of_0_does_not_hide_a_failure(tmp_path: Path) -> None:
    lies = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    with suite(tmp_path / "r", {**TEST, "conftest.py": lies, "test_bad.py": "def test_a():\n    assert 0\n"}) as door:
        assert counts(run_all(door)) == {"passed": 1, "failed": 1}


def test_an_exit_code_without_a_failing_test_is_told(tmp_path: Path) -> None:
    ends = "def pytest_sessionfinish(session):\n    session.exitstatus = 9\n"
    with suite(tmp_path / "r", {**TEST, "conftest.py": ends}) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 1, "errors": 1}
        assert "exit code 9" in result["failures"][0]["text"]


def test_a_file_that_is_deleted_during_the_run_is_named_and_the_rest_runs(tmp_path: Path) -> None:
    deletes = "import os\nos.unlink(os.path.join(os.path.dirname(__file__), 'test_bad.py'))\n"
    with suite(tmp_path / "r", {**TEST, "test_bad.py": GOOD, "conftest.py": deletes}) as door:
        _one_process(door.workspace.root)
        result = run_all(door)
        assert {"target": "test_bad.py", "reason": "its file was deleted"} in result["not_run"]


def test_fail_fast_names_what_was_not_run(tmp_path: Path) -> None:
    fails = "def test_a():\n    assert 0\n"
    files = {"pytest.ini": NO_CACHE, **{f"test_{number}.py": fails for number in range(4)}}
    with suite(tmp_path / "r", files) as door:
        result = run_all(door, fail_fast=True)
        assert 1 <= result["failed"] < 4
        assert result["failed"] + result["not_run_count"] == 4


def test_two_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    results = []
    with suite(tmp_path / "r", {**TEST, "test_bad.py": "def test_a():\n    assert 0\n"}) as door:
        run_all(door)
        threads = [
            threading.Thread(
                target=lambda n=n: results.append(
                    counts(result_of(call(door, "run_test_targets", {"targets": ["."]}, n)))
                )
            )
            for n in ("c1", "c2")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [{"passed": 1, "failed": 1}] * 2


def test_a_cancelled_run_ends_its_processes(tmp_path: Path) -> None:
    hangs = (
        "import os, threading\n\ndef test_a():\n"
        "    open('pid', 'w').write(str(os.getpid()))\n    threading.Event().wait()\n"
    )
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": hangs}) as door:
        mark = door.workspace.root / "pid"
        controls = CallControls(is_cancelled=lambda: mark.exists() and mark.stat().st_size > 0)
        answer = dispatch(door, "run_test_targets", {"target_filter": ["."]}, caller(), controls)
        assert error_of(answer) == "CANCELLED"
        with pytest.raises(ProcessLookupError):
            os.kill(int(mark.read_text("utf-8")), 0)


def test_progress_counts_targets(tmp_path: Path) -> None:
    seen: list[tuple[float, float | None]] = []
    with suite(tmp_path / "r", {**TEST, "test_bad.py": GOOD}) as door:
        controls = CallControls(report_progress=lambda done, total, _text: seen.append((done, total)))
        dispatch(door, "run_test_targets", {"target_filter": ["."]}, caller(), controls)
    assert seen[-1] == (2, 2)


def test_a_linked_worktree_runs_its_own_tests(tmp_path: Path) -> None:
    make_repository(tmp_path / "main", {**TEST, ".gitignore": IGNORED})
    git(tmp_path / "main", "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    write(tmp_path / "linked", {"test_zz_good.py": "def test_other():\n    assert 0\n"})
    (tmp_path / "linked/.venv").symlink_to(sys.prefix)
    with open_test_workspace(tmp_path / "linked") as workspace:
        result = run_all(Door(workspace, OPERATIONS))
        assert result["failures"][0]["tests"] == ["test_zz_good.py::test_other"]


def test_a_test_that_asks_a_person_gets_no_answer_and_holds_nobody_up(tmp_path: Path) -> None:
    asks = (
        "import sys\n\ndef test_stdin():\n    assert sys.__stdin__.read() == ''\n\n"
        "def test_terminal():\n    open('/dev/tty')\n"
    )
    with suite(tmp_path / "r", {"pytest.ini": f"{NO_CACHE.strip()} -s\n", "test_bad.py": asks}) as door:
        result = run_all(door, timeout_sec=20)
        assert counts(result) == {"passed": 1, "failed": 1}
        assert result["failures"][0]["exception_type"] == "OSError"


def test_a_process_that_ends_in_the_middle_with_exit_code_0_is_not_called_passed(tmp_path: Path) -> None:
    ends = "import os\n\ndef test_first():\n    pass\n\ndef test_ends():\n    os._exit(0)\n"
    with suite(tmp_path / "r", {**TEST, "test_bad.py": ends}) as door:
        _one_process(door.workspace.root)
        result = run_all(door)
        assert counts(result) == {"passed": 2, "errors": 1}
        assert "ended in the middle of a test, with exit code 0" in result["failures"][0]["text"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("kill -SEGV $$", "exit code -11"),
        ("echo oops >&2; exit 7", "oops"),
        ('printf \'{"testResults": [\' > "${3#*=}"; exit 0', "jest ended with exit code 0"),
    ],
)
def test_a_runner_that_crashes_or_leaves_half_a_report_is_told(tmp_path: Path, script: str, says: str) -> None:
    with suite(tmp_path / "r", {"jest.config.js": "", "a.test.js": "", ".gitignore": "node_modules\n"}) as door:
        runner = door.workspace.root / "node_modules/.bin/jest"
        runner.parent.mkdir(parents=True)
        runner.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        runner.chmod(0o755)
        result = run_all(door)
        assert result["outcome"] != "passed"
        assert says in json.dumps([result["failures"], result["not_run"]])


def test_odd_names_reach_the_runner_as_they_are(tmp_path: Path) -> None:
    names = ["-test_x/test_dash.py", "a b/test_space.py", "test_$(touch x).py", "test_'\".py"]
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, **dict.fromkeys(names, GOOD)}) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 4}, result
        assert result["left_behind"] == []


def test_coverage_of_a_process_that_is_killed_is_told_as_missing(tmp_path: Path) -> None:
    kills = "import os, signal\n\ndef test_kills():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_bad.py": kills}) as door:
        result = run_all(door, coverage=True)
        assert counts(result) == {"errors": 1}
        assert result["coverage"]["problems"] == ["pytest: the runner wrote no coverage"]


def test_a_process_that_goes_on_after_its_last_test_is_ended_and_no_test_is_blamed(tmp_path: Path) -> None:
    goes_on = "import threading\n\ndef test_a():\n    threading.Thread(target=threading.Event().wait).start()\n"
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_bad.py": goes_on}) as door:
        result = run_all(door, timeout_sec=1)
        assert (counts(result), result["not_run"]) == ({"passed": 1}, [])


def test_a_test_sees_the_colour_settings_of_the_caller_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "PY_COLORS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    checks = "import os\n\ndef test_colours():\n    assert 'NO_COLOR' not in os.environ\n"
    checks += (
        "    assert os.environ['TERM'] == 'xterm'\n\ndef test_red():\n    raise ValueError('\\x1b[31mred\\x1b[0m')\n"
    )
    with suite(tmp_path / "r", {"pytest.ini": NO_CACHE, "test_a.py": checks}) as door:
        result = run_all(door)
        assert counts(result) == {"passed": 1, "failed": 1}
        assert "\x1b" not in result["failures"][0]["text"]
