"""Tickets and API descriptions inside turns: what they change about strategy and evidence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from controller.connectors.loopback import TOKEN, as_json, running_peer, write_token
from support.doors import open_test_workspace
from support.planner import RATES_FILES, Planner, with_node
from support.repositories import make_repository

SPEC = {
    "openapi": "3.0.0",
    "info": {"title": "Rates", "version": "1"},
    "paths": {"/rates": {"get": {"operationId": "getRates", "responses": {"200": {"description": "ok"}}}}},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {**RATES_FILES, "api/openapi.json": json.dumps(SPEC)}
    return make_repository(tmp_path / "rates", files)


@pytest.fixture
def planner(root: Path) -> Iterator[Planner]:
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        yield Planner(Door(workspace, OPERATIONS))


def test_without_a_configuration_no_host_is_contacted(planner: Planner) -> None:
    for verb, args in (
        ("fetch_jira_ticket", {"ticketKey": "PROJ-7"}),
        ("fetch_api_spec", {"specUrl": "https://api.example/openapi.json"}),
    ):
        response = planner.turn(verb, args)
        assert response["denyReasons"] == []
        assert response["result"]["error"]["kind"] in {"not_configured", "host_not_allowed"}


def test_a_description_in_the_tree_selects_the_contract_strategy(planner: Planner) -> None:
    result = planner.result("fetch_api_spec", specUrl="api/openapi.json")
    fetched = planner.last["traceRef"]
    assert [one["operationId"] for one in result["spec"]["operations"]] == ["getRates"]
    assert planner.last["knowledgeStrategy"]["strategyId"] == "api_contract_feature"
    plan = planner.plan()
    assert plan["knowledgeStrategyId"] == "api_contract_feature"
    assert planner.codes("submit_execution_plan", planGraph=plan) == ["PLAN_MISSING_CONTRACT_ANCHOR"]
    assert planner.last["suggestedAction"]["verb"] == "fetch_api_spec"
    cited = {"sourceType": "swagger", "ref": result["sourceKey"], "traceRef": fetched, "locator": "getRates"}
    with_anchor = with_node(plan, 0, citations=[*plan["nodes"][0]["citations"], cited])
    assert planner.codes("submit_execution_plan", planGraph=with_anchor) == []


def test_a_ticket_is_evidence_and_its_token_is_nowhere(root: Path) -> None:
    issue: dict[str, Any] = {
        "key": "PROJ-7",
        "fields": {"summary": "Round to four decimals", "description": None, "status": {"name": "Open"}},
    }
    with running_peer() as peer:
        for path in ("/rest/api/3/issue/PROJ-7", "/rest/api/3/field"):
            peer.answers(path, as_json(issue if "issue" in path else []))
        overrides = (f"controller.connectors.jira.base_url={peer.url('/')}",)
        with open_test_workspace(root, ids=RandomIds(), overrides=overrides) as workspace:
            workspace.places.user.state.mkdir(parents=True, exist_ok=True)
            write_token(workspace.places.user.state / "auth")
            planner = Planner(Door(workspace, OPERATIONS))
            ticket = planner.result("fetch_jira_ticket", ticketKey="PROJ-7")["ticket"]
            fetched = planner.last["traceRef"]
            plan = planner.plan()
            cited = {"sourceType": "jira", "ref": "PROJ-7", "traceRef": fetched}
            assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, citations=[cited])) == []
            private = workspace.places.private
    kept = [one.read_bytes() for one in private.rglob("*") if one.is_file()]
    assert ticket["summary"] == "Round to four decimals"
    assert not any(TOKEN.encode() in one for one in kept)
