"""What memories do to plans: rules that are enforced, drafts that are not, signals that change the strategy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace, person, result_of
from support.planner import RATES_FILES, Planner
from support.repositories import make_repository

_BELOW = 'any(nodes.change where targetFile ~ "src/billing/**")'
_TESTED = 'any(nodes.validate where any(verificationHooks where kind == "build"))'


@pytest.fixture
def planner(tmp_path: Path) -> Iterator[Planner]:
    with open_test_workspace(make_repository(tmp_path / "rates", RATES_FILES), ids=RandomIds()) as workspace:
        yield Planner(Door(workspace, OPERATIONS))


def _override(planner: Planner, record: dict[str, Any]) -> None:
    """Let a person accept an override file."""
    place = planner.door.workspace.root / ".orchestration/memory/overrides"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{record['id']}.json").write_text(json.dumps(record), encoding="utf-8")
    applied = result_of(call(planner.door, "review_memory", {"apply_overrides": True}, by=person()))["applied"]
    assert [one["problem"] for one in applied] == [None]


def _rule(**more: Any) -> dict[str, Any]:
    return {
        "id": "mem-build",
        "enforcementType": "plan_rule",
        "domainAnchorIds": ["anchor:src/billing"],
        "planRule": {"condition": _BELOW, "requiredSteps": [_TESTED], "denyCode": "PLAN_VERIFICATION_WEAK", **more},
    }


def test_a_rule_that_a_person_wrote_is_enforced_and_reported(planner: Planner) -> None:
    _override(planner, _rule())
    assert planner.codes("submit_execution_plan", planGraph=planner.plan()) == ["PLAN_VERIFICATION_WEAK"]
    assert planner.last["result"]["memoryRuleResults"] == [
        {"memoryId": "mem-build", "condition": _BELOW, "satisfied": False, "denyCode": "PLAN_VERIFICATION_WEAK"}
    ]


def test_a_drafted_rule_denies_nothing_even_when_it_was_approved(planner: Planner) -> None:
    _override(planner, _rule(scaffolded=True, requiredSteps=[]))
    assert planner.codes("submit_execution_plan", planGraph=planner.plan()) == []


def test_rules_are_not_enforced_when_a_person_switched_them_off(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "rates", RATES_FILES)
    overrides = ("memory.friction.enable_plan_rule_mutation=false",)
    with open_test_workspace(root, ids=RandomIds(), overrides=overrides) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        _override(planner, _rule())
        assert planner.codes("submit_execution_plan", planGraph=planner.plan()) == []


def test_a_signal_changes_the_strategy_of_its_folder(planner: Planner) -> None:
    signal = {"featureFlag": "hasSwagger", "value": True, "reason": "The rates follow a contract."}
    _override(
        planner,
        {
            "id": "mem-signal",
            "enforcementType": "strategy_signal",
            "domainAnchorIds": ["anchor:src/billing"],
            "strategySignal": signal,
        },
    )
    codes = planner.codes("submit_execution_plan", planGraph=planner.plan())
    assert "PLAN_STRATEGY_MISMATCH" in codes
    assert planner.last["knowledgeStrategy"]["strategyId"] == "api_contract_feature"
    assert "memory:mem-signal sets hasSwagger=True" in planner.last["knowledgeStrategy"]["reasons"]
