"""No document raises an exception: each is refused with a code, a stable word and a place."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from codeplane.controller.fields import ENVELOPE, NODE_FIELDS
from codeplane.controller.plan import Plan
from codeplane.controller.structure import MAX_DEPTH, MAX_NODES, read_plan
from codeplane.controller.validation import Verdict, validate_plan
from support.effort import repeated
from support.plans import contract_plan, contract_world, drop, judge, put

WORLD = contract_world()
PLACES = {"change": 0, "validate": 1, "escalate": 2, "side_effect": 3}
REQUIRED = [
    *(f"/{field.name}" for field in ENVELOPE),
    *(f"/nodes/{PLACES[kind]}/{field.name}" for kind in PLACES for field in NODE_FIELDS[kind] if field.is_required),
]
MISSING = ("PLAN_MISSING_REQUIRED_FIELDS",)


@pytest.mark.parametrize("place", REQUIRED)
def test_a_missing_field_is_named(place: str) -> None:
    verdict = judge(drop(place))
    assert verdict.codes == MISSING
    assert place in {violation.pointer for violation in verdict.violations}


@pytest.mark.parametrize("value", ["", " ", None], ids=["empty", "blank", "null"])
@pytest.mark.parametrize("place", REQUIRED)
def test_a_blank_field_is_named(place: str, value: str | None) -> None:
    verdict = judge(put(place, value))
    assert verdict.codes == MISSING
    assert place in {violation.pointer for violation in verdict.violations}


@pytest.mark.parametrize("value", [7, True, {"a": 1}, ["x", 1]], ids=["number", "flag", "object", "mixed list"])
@pytest.mark.parametrize("place", [one for one in REQUIRED if not one.endswith("successCriteria")])
def test_a_field_of_the_wrong_type_is_named(place: str, value: Any) -> None:
    verdict = judge(put(place, value))
    assert verdict.codes == MISSING
    assert any((violation.pointer or "").startswith(place) for violation in verdict.violations)


@pytest.mark.parametrize("document", [None, 1, "plan", [], [{}], {}, {"nodes": [None, 3, {"kind": ["x"]}]}, b"x"])
def test_what_is_not_a_plan_is_refused(document: Any) -> None:
    assert validate_plan(document, WORLD).codes == MISSING


@pytest.mark.parametrize("value", [1.5, float("nan"), 2**53, -(2**53), "\ud800", b"x", {1: 2}, {"\udfff": 1}, (1,)])
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    assert [one.detail for one in judge_extra(value).violations] == ["not_canonical"]


def judge_extra(value: Any) -> Verdict:
    return validate_plan({**contract_plan(), "extra": value}, WORLD)


def test_a_document_nested_too_deeply_is_refused_without_recursion() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert [one.detail for one in judge_extra(deep).violations] == ["too_deep"]
    shallow: Any = 0
    for _ in range(MAX_DEPTH - 2):
        shallow = {"a": shallow}
    assert judge_extra(shallow).is_accepted


def test_a_huge_text_is_judged() -> None:
    assert judge(put("/nodes/0/whyThisFile", "x" * 5_000_000)).is_accepted
    assert judge(put("/nodes/0/targetFile", "a/" * 500_000)).codes[0] == "PLAN_SCOPE_VIOLATION"
    assert judge(put("/nodes/0/editIntent/summary", "maybe " * 100_000)).codes == ("PLAN_WEAK_MODEL_AMBIGUOUS",)


@pytest.mark.parametrize("place", ["/workId", "/agentId", "/runSessionId", "/nodes/2/nodeId", "/nodes/3/commitGateId"])
@pytest.mark.parametrize("value", ["../x", "a/b", ".hidden", "-x", "a\0", "a\n", "é", "x" * 65, "~", "a b"])
def test_an_id_that_is_a_path_or_no_word_is_a_violation_of_scope(place: str, value: str) -> None:
    verdict = judge(put(place, value))
    assert verdict.codes == ("PLAN_SCOPE_VIOLATION",)
    assert [violation.detail for violation in verdict.violations] == ["id_form"]


def _chain(n_nodes: int) -> dict[str, Any]:
    plan = contract_plan()
    question = plan["nodes"][2]
    plan["nodes"] = [
        {**question, "nodeId": f"q{number}", "dependsOn": [f"q{number - 1}"] if number else []}
        for number in range(n_nodes)
    ]
    return plan


def test_a_plan_of_a_thousand_changes_in_a_row_is_judged() -> None:
    plan = contract_plan()
    change, check = plan["nodes"][:2]
    plan["nodes"] = []
    for number in range(500):
        before = [f"v{number - 1}"] if number else []
        plan["nodes"].append({**copy.deepcopy(change), "nodeId": f"c{number}", "dependsOn": before})
        covers = {"nodeId": f"v{number}", "dependsOn": [f"c{number}"], "mapsToNodeIds": [f"c{number}"]}
        plan["nodes"].append({**copy.deepcopy(check), **covers})
    assert validate_plan(plan, WORLD).is_accepted
    plan["nodes"][500]["dependsOn"] = []
    assert validate_plan(plan, WORLD).codes == ("PLAN_NOT_ATOMIC",)


def test_a_cycle_of_any_length_is_named() -> None:
    for length in (1, 2, 1000):
        plan = _chain(length)
        plan["nodes"][0]["dependsOn"] = [f"q{length - 1}"]
        assert [one.detail for one in validate_plan(plan, WORLD).violations] == ["dependency_cycle"]


def test_a_plan_with_too_many_nodes_is_refused() -> None:
    assert isinstance(read_plan(_chain(MAX_NODES)), Plan)
    assert [one.detail for one in validate_plan(_chain(MAX_NODES + 1), WORLD).violations] == ["nodes_too_many"]


def test_nodes_with_one_id_are_refused() -> None:
    assert judge(put("/nodes/2/nodeId", "n1")).violations[0].detail == "node_duplicate"


JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2.5,
    "",
    "x",
    "auto",
    "n1",
    "../..",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    ["n1"],
)


def _owners(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        if value:
            yield value
        for one in value.values() if isinstance(value, dict) else value:
            yield from _owners(one)


def test_junk_anywhere_in_a_plan_never_raises() -> None:
    chance = random.Random(7)
    for _ in range(repeated(1000)):
        plan = contract_plan()
        for _ in range(chance.randint(1, 3)):
            owner = chance.choice(list(_owners(plan)))
            place = chance.choice(list(owner)) if isinstance(owner, dict) else chance.randrange(len(owner))
            owner[place] = copy.deepcopy(chance.choice(JUNK))
        verdict = validate_plan(plan, WORLD)
        assert verdict.is_accepted == (not verdict.violations)
