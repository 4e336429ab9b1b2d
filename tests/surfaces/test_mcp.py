"""MCP over HTTP and over stdio: the same protocol, tools, answers and errors on both."""

import json
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ResourceLink

from codeplane.operations.catalog import TOOLS
from surfaces.support_processes import (
    SAMPLE_FILES,
    HttpPeer,
    OpenPeer,
    UpServer,
    error_of,
    stdio_peer,
    text_of,
    wait_until,
)
from surfaces.support_sdk import TRANSPORTS, call, sdk_client, text_in, with_client

pytestmark = pytest.mark.slow

CORE_TOOLS = [
    "call",
    "git_diff",
    "git_stage_and_commit",
    "read_source",
    "run",
    "search",
    "select_active_intent",
    "undo",
    "write_source",
]
# One correct call of every operation.
CORRECT_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe", {}),
    ("list_files", {"path": "src"}),
    ("read_file_full", {"path": "README.md", "confirm": True}),
    ("git_status", {}),
    ("git_log", {"limit": 1}),
    ("read_source", {"targets": [{"path": "src/app.py"}]}),
    ("reset_budget", {}),
]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_client_gets_the_protocol_version_it_asks_for(open_peer: OpenPeer, version: str) -> None:
    assert open_peer().initialize(version)["result"]["protocolVersion"] == version


def test_client_that_asks_for_an_unknown_version_gets_a_known_one(open_peer: OpenPeer) -> None:
    assert open_peer().initialize("1999-01-01")["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_tools_work_in_every_protocol_version(open_peer: OpenPeer, version: str) -> None:
    peer = open_peer()
    peer.initialize(version)

    assert "A sample repository." in text_of(peer.call("read_source", {"targets": ["README.md"]}))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sdk_client_connects_and_calls_with_its_defaults(shared_server: UpServer, transport: str) -> None:
    result = call(sdk_client(shared_server, transport), "read_source", {"targets": ["README.md"]})

    assert ("A sample repository." in text_in(result), bool(result.is_error)) == (True, False)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_sdk_client_connects_in_both_handshakes(shared_server: UpServer, transport: str, mode: str) -> None:
    async def names(client: Client) -> list[str]:
        return sorted(tool.name for tool in (await client.list_tools()).tools)

    assert with_client(sdk_client(shared_server, transport, mode=mode), names) == CORE_TOOLS


def _tools(open_peer: OpenPeer, profile: str = "") -> list[dict[str, Any]]:
    peer = open_peer(profile)
    peer.initialize()
    tools: list[dict[str, Any]] = peer.request("tools/list")["result"]["tools"]
    return tools


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("", CORE_TOOLS),
        ("core", CORE_TOOLS),
        (
            "full",
            sorted(TOOLS),
        ),
        ("list_files,describe", ["describe", "list_files"]),
    ],
)
def test_profile_decides_which_tools_are_listed(open_peer: OpenPeer, profile: str, names: list[str]) -> None:
    assert sorted(tool["name"] for tool in _tools(open_peer, profile)) == names


def test_core_tool_list_stays_under_1300_tokens(open_peer: OpenPeer) -> None:
    seen_by_model = ("name", "description", "inputSchema")
    tools = [{key: tool[key] for key in seen_by_model} for tool in _tools(open_peer, "core")]
    assert len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) <= 1_300 * 4


def test_unknown_profile_is_refused_with_a_registry_error_over_http(shared_server: UpServer) -> None:
    reply = HttpPeer(shared_server.port, "nonsense").post({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    assert (reply.status, reply.json["error"]) == (400, "UNKNOWN_PROFILE")


def test_unknown_profile_is_refused_with_a_registry_error_over_stdio(shared_server: UpServer) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root, "--profile", "nonsense") as peer:
        refusals = [peer.initialize()["error"]["data"]["error"], peer.request("ping")["error"]["data"]["error"]]
        peer.finish()

    assert (refusals, len(peer.lines)) == (["UNKNOWN_PROFILE"] * 2, 2)


@pytest.mark.parametrize("profile", ['"', "\\", "a\nb", "é", "x" * 5000])
def test_strange_profile_is_refused_over_stdio(shared_server: UpServer, profile: str) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root, "--profile", profile) as peer:
        assert "error" in peer.initialize()


def test_profile_list_may_be_percent_encoded(shared_server: UpServer) -> None:
    peer = HttpPeer(shared_server.port, "list_files%2C%20describe")
    peer.initialize()

    assert len(peer.request("tools/list")["result"]["tools"]) == 2


def test_tool_outside_an_explicit_list_is_refused(open_peer: OpenPeer) -> None:
    peer = open_peer("list_files,describe")
    peer.initialize()

    assert error_of(peer.call("read_source", {"targets": ["README.md"]})) == "UNKNOWN_OPERATION"


def test_explicit_list_without_call_cannot_be_escaped_through_call(open_peer: OpenPeer) -> None:
    peer = open_peer("describe")
    peer.initialize()

    assert error_of(peer.call("call", {"operation": "list_files"})) == "UNKNOWN_OPERATION"


def test_core_tools_have_no_output_schema(open_peer: OpenPeer) -> None:
    assert [tool["name"] for tool in _tools(open_peer, "core") if "outputSchema" in tool] == []


def test_core_answers_have_text_and_no_structured_content(open_peer: OpenPeer) -> None:
    peer = open_peer("core")
    peer.initialize()
    result = peer.call("describe")

    assert ("structuredContent" in result, text_of(result).startswith("{"), len(text_of(result)) < 8_000) == (
        False,
        False,
        True,
    )


def test_core_answers_carry_meta_beside_the_text(open_peer: OpenPeer) -> None:
    peer = open_peer("core")
    peer.initialize()
    result = peer.call("describe")

    meta = result["_meta"]["codeplane/meta"]
    assert (meta["session_id"][:5], meta["complete"], meta["session_id"] in text_of(result)) == ("sess_", True, False)


def test_core_errors_carry_the_error_object_beside_the_text(open_peer: OpenPeer) -> None:
    peer = open_peer("core")
    peer.initialize()
    result = peer.call("read_source", {"targets": ["missing.txt"]})

    assert result["_meta"]["codeplane/error"]["error"] == "FILE_NOT_FOUND"


def test_full_tools_have_an_output_schema(open_peer: OpenPeer) -> None:
    assert [tool["name"] for tool in _tools(open_peer, "full") if "outputSchema" not in tool] == ["call"]


@pytest.mark.parametrize(("name", "arguments"), CORRECT_CALLS)
def test_full_answers_fit_their_output_schema(open_peer: OpenPeer, name: str, arguments: dict[str, Any]) -> None:
    schema = next(tool["outputSchema"] for tool in _tools(open_peer, "full") if tool["name"] == name)
    peer = open_peer("full")
    peer.initialize()

    assert (
        list(jsonschema.Draft202012Validator(schema).iter_errors(peer.call(name, arguments)["structuredContent"])) == []
    )


@pytest.mark.parametrize(("name", "arguments"), CORRECT_CALLS)
def test_arguments_of_correct_calls_fit_the_input_schema(
    open_peer: OpenPeer, name: str, arguments: dict[str, Any]
) -> None:
    schema = next(tool["inputSchema"] for tool in _tools(open_peer, "full") if tool["name"] == name)

    sent = {**arguments, "session_id": "sess_x"}
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(sent)) == []


def test_full_text_is_the_structured_content_as_json(open_peer: OpenPeer) -> None:
    peer = open_peer("full")
    peer.initialize()
    result = peer.call("describe")

    assert json.loads(text_of(result)) == result["structuredContent"]


def test_full_errors_are_the_error_object_with_meta(open_peer: OpenPeer) -> None:
    peer = open_peer("full")
    peer.initialize()
    result = peer.call("read_source", {"targets": ["missing.txt"]})

    document = json.loads(text_of(result))
    assert (result["isError"], document["error"], document["_session"]) == (True, "FILE_NOT_FOUND", document["meta"])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sdk_client_accepts_errors_of_tools_with_an_output_schema(shared_server: UpServer, transport: str) -> None:
    result = call(sdk_client(shared_server, transport, "full"), "read_source", {"targets": ["missing.txt"]})

    assert result.is_error


ANNOTATIONS = {  # readOnlyHint, destructiveHint, openWorldHint
    "read_source": (True, False, False),
    "git_diff": (True, False, False),
    "select_active_intent": (False, False, False),
    "request_scope_expansion": (False, False, False),
    "reset_budget": (False, False, False),
    "write_source": (False, True, False),
    "git_branch": (False, True, False),
    "git_push": (False, True, True),
    "git_pull": (False, True, True),
    "git_submodule": (False, True, True),
    "call": (False, True, True),
}


def test_annotations_tell_what_reads_records_overwrites_and_reaches_the_network(open_peer: OpenPeer) -> None:
    tools = {tool["name"]: tool["annotations"] for tool in _tools(open_peer, "full")}

    hints = ("readOnlyHint", "destructiveHint", "openWorldHint")
    assert {name: tuple(tools[name][hint] for hint in hints) for name in ANNOTATIONS} == ANNOTATIONS


@pytest.mark.parametrize(("name", "arguments"), CORRECT_CALLS)
def test_operation_can_be_called_directly(open_peer: OpenPeer, name: str, arguments: dict[str, Any]) -> None:
    peer = open_peer()
    peer.initialize()

    assert not peer.call(name, arguments)["isError"]


@pytest.mark.parametrize(("name", "arguments"), CORRECT_CALLS)
def test_operation_can_be_called_through_call(open_peer: OpenPeer, name: str, arguments: dict[str, Any]) -> None:
    peer = open_peer()
    peer.initialize()

    assert not peer.call("call", {"operation": name, "arguments": arguments})["isError"]


def _session_of(result: dict[str, Any]) -> str:
    session: str = result["_meta"]["codeplane/meta"]["session_id"]
    return session


def test_calls_of_one_connection_share_a_session(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()

    assert _session_of(peer.call("describe")) == _session_of(peer.call("describe"))


def test_connections_have_sessions_of_their_own(open_peer: OpenPeer) -> None:
    first, second = open_peer(), open_peer()
    first.initialize()
    second.initialize()

    assert _session_of(first.call("describe")) != _session_of(second.call("describe"))


def test_session_is_resumed_on_another_connection_by_its_id(open_peer: OpenPeer) -> None:
    first, second = open_peer(), open_peer()
    first.initialize()
    second.initialize()
    session = _session_of(first.call("describe"))

    assert _session_of(second.call("describe", {"session_id": session})) == session


def test_resumed_session_stays_with_the_connection(open_peer: OpenPeer) -> None:
    first, second = open_peer(), open_peer()
    first.initialize()
    second.initialize()
    session = _session_of(first.call("describe"))
    second.call("call", {"operation": "describe", "arguments": {}, "session_id": session})

    assert _session_of(second.call("describe")) == session


def test_session_is_resumed_across_transports(shared_server: UpServer) -> None:
    http = HttpPeer(shared_server.port)
    http.initialize()
    session = _session_of(http.call("describe"))
    with stdio_peer(shared_server.sandbox, shared_server.root) as stdio:
        stdio.initialize()
        resumed = _session_of(stdio.call("describe", {"session_id": session}))

    assert resumed == session


def test_session_is_resumed_after_its_connection_ended(shared_server: UpServer) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root) as stdio:
        stdio.initialize()
        session = _session_of(stdio.call("describe"))
        stdio.finish()
    http = HttpPeer(shared_server.port)
    http.initialize()

    assert _session_of(http.call("describe", {"session_id": session})) == session


@pytest.mark.parametrize("session", ["sess_wrong", "", 7, ["sess"]])
def test_wrong_session_id_is_refused(open_peer: OpenPeer, session: object) -> None:
    peer = open_peer()
    peer.initialize()

    assert error_of(peer.call("describe", {"session_id": session})) in {"SESSION_NOT_FOUND", "INVALID_ARGUMENTS"}


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("no_such_tool", {}, "UNKNOWN_OPERATION"),
        ("", {}, "UNKNOWN_OPERATION"),
        ("x" * 100_000, {}, "UNKNOWN_OPERATION"),
        ("call", {}, "INVALID_ARGUMENTS"),
        ("call", {"operation": "call"}, "INVALID_ARGUMENTS"),
        ("call", {"operation": "no_such"}, "UNKNOWN_OPERATION"),
        ("read_source", {}, "INVALID_ARGUMENTS"),
        ("read_source", {"targts": ["README.md"]}, "INVALID_ARGUMENTS"),
        ("read_source", {"targets": 7}, "INVALID_ARGUMENTS"),
        ("read_source", {"targets": [{"path": ["README.md"]}]}, "INVALID_ARGUMENTS"),
        ("read_source", {"targets": [{"path": "README.md", "start_line": "first"}]}, "INVALID_ARGUMENTS"),
        ("read_source", {"targets": ["README.md"], "cursor": "nonsense"}, "CURSOR_INVALID"),
        ("read_source", {"targets": ["x" * 10_000_000]}, "PAYLOAD_TOO_LARGE"),
        ("list_files", {"limit": 10**30}, "INVALID_ARGUMENTS"),
        ("list_files", {"depth": 1.5}, "INVALID_ARGUMENTS"),
    ],
    ids=range(15),
)
def test_wrong_call_is_answered_with_a_registry_error(
    open_peer: OpenPeer, name: str, arguments: dict[str, Any], code: str
) -> None:
    peer = open_peer()
    peer.initialize()

    assert error_of(peer.call(name, arguments)) == code


def _nested(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(levels):
        document = {"a": document}
    return document


@pytest.mark.parametrize("levels", [40, 150])
def test_deep_arguments_are_refused_with_a_registry_error(open_peer: OpenPeer, levels: int) -> None:
    peer = open_peer()
    peer.initialize()

    assert error_of(peer.call("describe", _nested(levels))) == "PAYLOAD_TOO_LARGE"


def test_argument_error_shows_the_nearest_name_and_a_correct_call(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()
    text = text_of(peer.call("read_source", {"targts": ["README.md"]}))

    assert ("did you mean `targets`" in text, "A correct call: read_source" in text) == (True, True)


def test_forgiven_arguments_are_told_in_the_answer(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()

    assert "Understood: " in text_of(peer.call("read_source", {"file": "./README.md:1-2"}))


def test_arguments_that_are_no_object_are_told_to_the_model(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()
    result = peer.request("tools/call", {"name": "describe", "arguments": [1]})["result"]

    assert (result["isError"], error_of(result)) == (True, "INVALID_ARGUMENTS")


def test_a_fault_of_the_protocol_carries_the_error_object(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()

    assert peer.request("tools/destroy")["error"]["data"]["error"] == "INVALID_FORMAT"


def test_call_is_not_announced_as_read_only(open_peer: OpenPeer) -> None:
    hints = {tool["name"]: tool["annotations"].get("readOnlyHint", False) for tool in _tools(open_peer, "core")}

    reading = {"git_diff", "read_source", "search"}
    assert hints == {name: name in reading for name in CORE_TOOLS}


def test_unknown_method_is_a_protocol_error(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()

    assert peer.request("tools/destroy")["error"]["code"] == -32601


def test_client_is_served_on_after_every_kind_of_error(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()
    peer.call("no_such_tool")
    peer.request("tools/destroy")
    peer.call("describe", _nested(150))

    assert not peer.call("describe")["isError"]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("profile", ["core", "full"])
def test_large_file_comes_as_a_resource_that_can_be_read(shared_server: UpServer, transport: str, profile: str) -> None:
    async def read(client: Client) -> str:
        result = await client.call_tool("read_file_full", {"path": "src/large.txt", "confirm": True})
        assert isinstance(result, CallToolResult)
        link = next(item for item in result.content if isinstance(item, ResourceLink))
        contents = (await client.read_resource(link.uri)).contents[0]
        return str(getattr(contents, "text", ""))

    assert with_client(sdk_client(shared_server, transport, profile), read) == SAMPLE_FILES["src/large.txt"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".env", "SECRET_FILE"),
        ("%2Eenv", "SECRET_FILE"),
        ("../../etc/passwd", "PATH_OUTSIDE_REPOSITORY"),
        ("%2E%2E/%2E%2E/etc/passwd", "PATH_OUTSIDE_REPOSITORY"),
        ("/etc/passwd", "PATH_OUTSIDE_REPOSITORY"),
        ("missing.txt", "FILE_NOT_FOUND"),
        ("src", "NOT_A_FILE"),
        ("a%00b", "PATH_INVALID"),
        ("%FF%FE", None),
        ("", None),
    ],
)
def test_resource_that_may_not_be_read_is_refused(open_peer: OpenPeer, path: str, code: str | None) -> None:
    peer = open_peer()
    peer.initialize()
    error = peer.request("resources/read", {"uri": f"codeplane://file/{path}"})["error"]

    assert (error["code"], code in {None, error["data"]["error"]}) == (-32602, True)


def test_resource_of_another_scheme_is_refused(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()

    assert peer.request("resources/read", {"uri": "file:///etc/passwd"})["error"]["code"] == -32602


def test_resource_template_is_listed(open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()
    templates = peer.request("resources/templates/list")["result"]["resourceTemplates"]

    assert [item["uriTemplate"] for item in templates] == ["codeplane://file/{+path}"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sdk_client_is_told_why_a_resource_is_refused(shared_server: UpServer, transport: str) -> None:
    async def read(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("codeplane://file/.env")
        return str(caught.value)

    assert ".env" in with_client(sdk_client(shared_server, transport), read)


def test_calls_are_recorded_with_their_session_label(shared_server: UpServer, open_peer: OpenPeer) -> None:
    peer = open_peer()
    peer.initialize()
    request_id = peer.call("list_files")["_meta"]["codeplane/meta"]["request_id"]

    rows = wait_until(
        lambda: [r for r in shared_server.get("/operations").json["results"] if r["call_id"] == request_id],
        "the call is recorded",
    )
    assert (rows[0]["kind"], rows[0]["session"][:2]) == ("finished", "s-")
