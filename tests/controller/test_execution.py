"""After acceptance: collisions and closed gates, as in the contract's sequences."""

import pytest

from codeplane.controller.codes import Violation
from codeplane.controller.execution import (
    Owner,
    Progress,
    check_side_effect,
    find_collision,
    find_drift,
    reserved_keys,
)
from codeplane.controller.plan import Plan
from codeplane.controller.structure import read_plan
from support.plans import contract_plan

OWN = Owner("w1", "run1", "n1")
OTHER = Owner("w2", "run9", "n7")
DONE = Progress({"n1": 1, "n2": 2})


def _plan() -> Plan:
    plan = read_plan(contract_plan())
    assert isinstance(plan, Plan)
    return plan


def _named(violation: Violation | None) -> tuple[str, str] | None:
    return None if violation is None else (violation.code, violation.detail)


@pytest.mark.parametrize(
    ("held", "collides"),
    [
        ({}, False),
        ({"file:src/billing/rates.py": OTHER}, True),
        ({"symbol:src/billing/rates.py#monthly_rate": OTHER}, True),
        ({"file:src/billing/rates.py": OWN}, False),
        ({"file:src/billing/other.py": OTHER, "effect:src/billing/rates.py": OTHER}, False),
    ],
)
def test_a_file_that_another_session_holds_is_a_collision(held: dict[str, Owner], collides: bool) -> None:
    keys = reserved_keys(_plan().by_id["n1"])
    expected = ("EXEC_SIDE_EFFECT_COLLISION", "reserved") if collides else None
    assert _named(find_collision(keys, OWN, held)) == expected


def test_symbols_of_one_file_do_not_collide_with_each_other() -> None:
    assert find_collision(frozenset({"symbol:a.py#f"}), OWN, {"symbol:a.py#g": OTHER}) is None
    assert find_collision(frozenset({"symbol:a.py#f"}), OWN, {"symbol:a.py#f": OTHER}) is not None


def test_a_side_effect_takes_its_gate_and_the_files_of_its_payload() -> None:
    plan = _plan()
    assert reserved_keys(plan.by_id["n4"], ["a.py"]) == {"effect:gate-commit-1", "file:a.py"}
    assert reserved_keys(plan.by_id["n2"]) == frozenset()


def test_a_file_edited_by_hand_after_acceptance_is_a_collision() -> None:
    node = _plan().by_id["n1"]
    assert find_drift(node, "sha256:aa01", None) is None
    assert find_drift(node, "sha256:own", "sha256:own") is None
    assert _named(find_drift(node, "sha256:hand", "sha256:own")) == ("EXEC_SIDE_EFFECT_COLLISION", "content_drift")


@pytest.mark.parametrize(
    ("node_id", "effect", "progress", "detail"),
    [
        ("n4", "git_commit", DONE, None),
        ("n4", "git_commit", Progress({}), "node_not_ready"),
        ("n4", "git_commit", Progress({"n1": 1}), "node_not_ready"),
        ("n4", "git_commit", Progress({"n1": 3, "n2": 2}), "check_outdated"),
        ("n4", "git_commit", Progress({"n1": 1, "n2": 2}, frozenset({"gate-commit-1"})), "gate_used"),
        ("n4", "git_commit", Progress({"n1": 1, "n2": 2}, missing_reviews=frozenset({"n1"})), "review_missing"),
        ("n4", "git_branch", DONE, "effect_other"),
        ("n1", "git_commit", DONE, "node_kind"),
    ],
)
def test_a_gate_opens_once_after_everything_before_it(
    node_id: str, effect: str, progress: Progress, detail: str | None
) -> None:
    expected = None if detail is None else ("EXEC_UNGATED_SIDE_EFFECT", detail)
    assert _named(check_side_effect(_plan(), node_id, effect, progress)) == expected


def test_an_unknown_node_is_a_violation_of_scope() -> None:
    assert _named(check_side_effect(_plan(), "n9", "git_commit", DONE)) == ("PLAN_SCOPE_VIOLATION", "node_unknown")
