"""`cpl memory` as a person and an agent's shell use it."""

import json
from pathlib import Path

import pytest

from surfaces.support_processes import Sandbox, run_cpl

pytestmark = pytest.mark.slow

LESSON = ("effective", "Debugging", "The pool hangs at night", "Close the pool", "It ends", "The lock is copied")


def test_a_lesson_is_recorded_found_and_verified(sandbox: Sandbox, sample_repo: Path) -> None:
    assert run_cpl(sandbox, sample_repo, "memory", "init").returncode == 0
    recorded = run_cpl(sandbox, sample_repo, "memory", "record", *LESSON, "--tags", "pool", "--json")
    assert json.loads(recorded.stdout)["result"]["experience_id"] == 1
    found = run_cpl(sandbox, sample_repo, "memory", "search", "pool hanging")
    assert (found.returncode, "The pool hangs at night" in found.stdout) == (0, True)
    assert run_cpl(sandbox, sample_repo, "memory", "search", "kubernetes").returncode == 1
    assert "Close the pool" in run_cpl(sandbox, sample_repo, "memory", "pack", "the pool hangs").stdout
    assert "SOUND" in run_cpl(sandbox, sample_repo, "memory", "verify").stdout
    assert run_cpl(sandbox, sample_repo, "memory", "doctor").returncode == 0


def test_help_shows_real_limits_and_what_may_be_left_out(sandbox: Sandbox, sample_repo: Path) -> None:
    shown = run_cpl(sandbox, sample_repo, "memory", "record", "--help").stdout
    assert "x>=1" in shown or "1<=x" in shown
    assert "None" not in shown
    assert "[PATH]" in run_cpl(sandbox, sample_repo, "memory", "import", "--help").stdout


def test_what_changes_the_rules_waits_for_a_person(sandbox: Sandbox, sample_repo: Path) -> None:
    held = run_cpl(sandbox, sample_repo, "memory", "preset", "strict")
    assert held.returncode == 2
    assert "APPROVAL_PENDING" in held.stdout
    assert run_cpl(sandbox, sample_repo, "memory", "forget", "1").returncode == 2


def test_the_demo_passes_its_five_phases(sandbox: Sandbox, sample_repo: Path) -> None:
    done = run_cpl(sandbox, sample_repo, "demo", "memory")
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("DEMO_")]
    assert lines == [f"DEMO_PASS_PHASE{number}" for number in range(1, 6)]
