"""The benchmark of agent tasks, played through on a small repository in both arms."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TASKS = """
[source.small]
url = "https://example.org/small"

[[task]]
id = "fix"
source = "small"
fix = "{fix}"
tests = ["test_total.py"]
run = "{python} test_total.py"
prompt = "total() forgets the last price."

[[task]]
id = "question"
source = "small"
start = "{fix}"
prompt = "Which files use total? One path per line."
answer = ["test_total.py", "shop.py"]
"""
BROKEN = "def total(prices):\n    return sum(prices[:-1])\n"
FIXED = BROKEN.replace("[:-1]", "")
OLD, NEW = "return sum(prices[:-1])", "return sum(prices)"


def _bench(*arguments: object, given: str = "", status: int = 0) -> str:
    command = [sys.executable, "-m", "bench.agent_tasks", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """Return a repository whose second commit is the fix, and the file of its tasks."""
    repo = tmp_path / "small"
    repo.mkdir()

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        return subprocess.run(command, cwd=repo, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    for message, total, test in (("broken", BROKEN, ""), ("SECRET fix", FIXED, "assert total([1, 2]) == 3\n")):
        (repo / "total.py").write_text(total)
        (repo / "shop.py").write_text("from total import total\n")
        (repo / "test_total.py").write_text(f"from total import total\n{test}")
        git("add", "--all")
        git("commit", "-qm", message)
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(TASKS.format(fix=git("rev-parse", "HEAD"), python=sys.executable))
    return repo, tasks


def _prepare(small: tuple[Path, Path], task: str, arm: str) -> Path:
    repo, tasks = small
    play = repo.parent / f"{task}-{arm}"
    _bench("prepare", "--tasks", tasks, "--task", task, "--arm", arm, "--repo", repo, "--into", play)
    return play


def _result(play: Path, answer: str) -> dict[str, Any]:
    _bench("finish", "--in", play, given=answer)
    result: dict[str, Any] = json.loads((play / "result.json").read_text())
    return result


@pytest.mark.slow
def test_a_task_is_played_and_graded_in_both_arms_and_compared(small: tuple[Path, Path]) -> None:
    shell, ours = _prepare(small, "fix", "shell"), _prepare(small, "fix", "codeplane")
    seen = _bench("turn", "--in", shell, given="git log --all --oneline")
    assert "SECRET" not in seen
    _bench("turn", "--in", shell, given="sed -i 's/.:-1.//' total.py; git diff --stat")
    calls: list[dict[str, Any]] = [
        {"tool": "read_source", "arguments": {"targets": ["total.py"]}},
        {"tool": "shell", "arguments": {"command": "echo from the shell"}},
    ]
    seen = _bench("turn", "--in", ours, given=json.dumps(calls))
    assert OLD in seen
    assert "from the shell" in seen
    assert "not readable" in _bench("turn", "--in", ours, given="{")
    edit = {"path": "total.py", "old": OLD, "new": NEW}
    _bench("turn", "--in", ours, given=json.dumps({"tool": "write_source", "arguments": {"edits": [edit]}}))
    results = [_result(play, "done") for play in (shell, ours)]
    assert [(one["solved"], one["calls"], one["turns"], one["tool_errors"]) for one in results] == [
        (True, 2, 2, 0),
        (True, 4, 3, 1),
    ]
    assert not (ours / ".play/mcp.sock").exists()
    rows = json.loads(_bench("report", shell, ours, "--json"))
    assert rows[-1]["ratio"]["calls"] == 2
    assert rows[-1]["ratio"]["context"] == results[1]["context"] / results[0]["context"]
    assert "| fix | 2 / 4 (2.00)" in _bench("report", shell, ours)


def test_an_untouched_checkout_does_not_pass_and_the_real_fix_does(small: tuple[Path, Path]) -> None:
    repo, tasks = small
    told = _bench("verify", "--tasks", tasks, "--task", "fix", "--repo", repo)
    assert "before the fix: False, after: True" in told
    assert "git clone" in _bench("verify", "--tasks", tasks, "--task", "fix", status=1)


def test_an_answer_is_graded_as_a_set_and_context_counts_every_reading(small: tuple[Path, Path]) -> None:
    play = _prepare(small, "question", "shell")
    _bench("turn", "--in", play, given="echo 12345678901234567890")
    result = _result(play, "- `shop.py`\nother.py\nthird.py\n")
    assert (result["solved"], result["recall"]) == (False, 0.5)
    assert result["precision"] == pytest.approx(1 / 3)
    assert result["missing"] == ["test_total.py"]
    text = (play / "PROMPT.md").read_text()
    start = len(text.split("# Task\n\n")[1].split("\n# Tools\n\n")[0]) + len(text.split("# Tools\n\n")[1]) - 1
    (call,) = [json.loads(line) for line in (play / "log.jsonl").read_text().splitlines()]
    assert result["context"] == (start + start + call["chars_in"] + call["chars_out"]) // 4
