"""Profile `controller` as a client sees it: one tool, complete answers, faults of the protocol."""

import json
import socket
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from surfaces.support_processes import Sandbox, UpServer, send_http, stdio_peer, up
from surfaces.support_sdk import TRANSPORTS, call, sdk_client, text_in, with_client

pytestmark = pytest.mark.slow

ALWAYS = {
    "runSessionId", "workId", "agentId", "state", "capabilities", "verbDescriptions", "scope", "result", "denyReasons",
    "knowledgeStrategy", "budgetStatus", "traceRef", "schemaVersion", "subAgentHints",
}  # fmt: skip


def _turn(server: UpServer, transport: str, **given: Any) -> dict[str, Any]:
    result = call(sdk_client(server, transport, "controller"), "controller_turn", given)
    assert result.structured_content is not None
    assert json.loads(text_in(result)) == result.structured_content
    assert result.is_error == bool(
        result.structured_content["denyReasons"] or "error" in result.structured_content["result"]
    )
    document: dict[str, Any] = dict(result.structured_content)
    assert set(document) >= ALWAYS
    return document


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_profile_has_one_tool_whose_answers_fit_its_schema(shared_server: UpServer, transport: str) -> None:
    async def work(client: Client) -> Any:
        return await client.list_tools()

    tools = with_client(sdk_client(shared_server, transport, "controller"), work).tools
    assert [tool.name for tool in tools] == ["controller_turn"]
    response = _turn(shared_server, transport, verb="list_available_verbs")
    jsonschema.validate(response, tools[0].output_schema)
    assert len(response["result"]["verbs"]) == 14


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "PLAN_SCOPE_VIOLATION"),
        ({"verb": "fly"}, "PLAN_SCOPE_VIOLATION"),
        ({"verb": 7}, "PLAN_SCOPE_VIOLATION"),
        ({"verb": "read_file_lines", "args": []}, "PLAN_MISSING_REQUIRED_FIELDS"),
        ({"verb": "list_available_verbs", "runSessionId": 5}, "PLAN_MISSING_REQUIRED_FIELDS"),
        ({"verb": "list_available_verbs", "workId": "../../etc"}, "PLAN_SCOPE_VIOLATION"),
        ({"verb": "list_available_verbs", "originalPrompt": {}}, "PLAN_MISSING_REQUIRED_FIELDS"),
    ],
)
def test_a_bad_turn_is_a_complete_answer(shared_server: UpServer, given: dict[str, Any], code: str) -> None:
    assert _turn(shared_server, "http", **given)["denyReasons"] == [code]


def test_a_turn_that_the_door_refuses_is_a_complete_answer(shared_server: UpServer) -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    response = _turn(shared_server, "http", verb="list_available_verbs", args={"deep": deep})
    assert response["result"]["error"]["kind"] == "boot_failed"
    assert response["outcome"] == "pack_insufficient"


def test_another_tool_is_a_fault_of_the_protocol(shared_server: UpServer) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root, "--profile", "controller") as peer:
        peer.initialize()
        answer = peer.request("tools/call", {"name": "search", "arguments": {"query": "x"}})
    assert answer["error"]["code"] == -32602


def test_turns_over_rest_are_off_unless_configured_and_then_an_agents(sandbox: Sandbox, sample_repo: Path) -> None:
    given = {"verb": "list_available_verbs", "runSessionId": "r1"}
    with up(sandbox, sample_repo) as server:
        headers = {"authorization": f"Bearer {sandbox.token}"}
        assert server.post("/turn", given, headers).status == 404
    sandbox.global_config.parent.mkdir(parents=True, exist_ok=True)
    sandbox.global_config.write_text("controller:\n  turn_endpoint: true\n", encoding="utf-8")
    port = _free_port()
    with up(sandbox, sample_repo, env={"MCP_DASHBOARD_PORT": str(port)}) as server:
        assert server.post("/turn", given).status == 401
        assert server.post("/turn", given, headers).json["state"] == "PLAN_REQUIRED"
        for path in ("/runs", "/errors", "/policies/pending", "/worktrees", "/controller/analytics", "/runs/r1"):
            assert server.get(path).status == 200
        assert send_http(port, "GET", "/runs", {}).json["runs"][0]["run"] == "r1"
        assert send_http(port, "GET", "/runs", {"origin": "http://evil.example"}).status == 403


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_broken_configuration_answers_every_turn_with_the_cause(sandbox: Sandbox, sample_repo: Path) -> None:
    root = sample_repo
    (root / ".codeplane").mkdir()
    (root / ".codeplane" / "config.yaml").write_text("controller: [broken\n", encoding="utf-8")
    with stdio_peer(sandbox, root, "--profile", "controller") as peer:
        peer.initialize()
        listed = peer.request("tools/list", {})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["controller_turn"]
        assert peer.request("ping", {})["result"] == {}
        given = {"name": "controller_turn", "arguments": {"verb": "list_available_verbs"}}
        result = peer.request("tools/call", given)["result"]
    turn = result["structuredContent"]
    assert (turn["state"], turn["outcome"]) == ("PLAN_REQUIRED", "pack_insufficient")
    assert turn["denyReasons"] == ["PACK_INSUFFICIENT"]
    assert "config.yaml" in turn["result"]["error"]["message"]
