"""The gate from outside: agents over MCP, a person in a second terminal, and agents that try to be the person."""

import json
import os
import pty
import select
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codeplane.surfaces.cli.govern_demo import play_govern_demo
from support.governed import FILES, INTENTS
from surfaces.support_processes import (
    CPL,
    DEADLINE_SECONDS,
    HttpPeer,
    Sandbox,
    UpServer,
    error_of,
    make_repo,
    make_sandbox,
    run_cpl,
    stdio_peer,
    text_of,
    up,
)

pytestmark = pytest.mark.slow

DELETION = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}
EDIT = {"edits": [{"path": "src/json/provider.py", "expected_content": "str(value)", "new_content": "repr(value)"}]}
OUTSIDE = {"edits": [{"path": "README.md", "expected_content": "# Sample", "new_content": "# X"}]}


def _make_governed(sandbox: Sandbox, directory: Path) -> Path:
    root = make_repo(sandbox, directory / "governed", {name: str(text) for name, text in FILES.items()})
    (root / ".orchestration").mkdir()
    (root / ".orchestration/active_intents.yaml").write_text(INTENTS, encoding="utf-8")
    return root


@pytest.fixture
def governed(sandbox: Sandbox, tmp_path: Path) -> Path:
    return _make_governed(sandbox, tmp_path)


@dataclass(frozen=True, slots=True)
class Scene:
    """A server with an agent that waits for an approval; tests that change nothing share it."""

    sandbox: Sandbox
    root: Path
    server: UpServer
    agent: HttpPeer
    hold_id: str


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("scene")
    with make_sandbox(directory) as sandbox:
        root = _make_governed(sandbox, directory)
        with up(sandbox, root) as server:
            agent = HttpPeer(server.port)
            agent.initialize()
            agent.call("select_active_intent", {"intent_id": "INT-001"})
            yield Scene(sandbox, root, server, agent, _hold_id(agent.call("write_source", DELETION)))


@pytest.fixture
def server(sandbox: Sandbox, governed: Path) -> Iterator[UpServer]:
    with up(sandbox, governed) as running:
        yield running


@pytest.fixture
def agent(server: UpServer) -> HttpPeer:
    peer = HttpPeer(server.port)
    peer.initialize()
    return peer


def _hold_id(result: dict[str, Any]) -> str:
    return str(result["_meta"]["codeplane/error"]["details"]["hold_id"])


def _in_terminal(sandbox: Sandbox, root: Path, *arguments: str) -> str:
    """Run a command at a terminal of its own and type the code that it asks for."""
    process_id, terminal = pty.fork()
    if process_id == 0:
        os.chdir(root)
        os.execvpe(CPL[0], [*CPL, *arguments], sandbox.env)
    shown = b""
    has_typed = False
    while select.select([terminal], [], [], DEADLINE_SECONDS)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
        if not has_typed and b", type " in shown and shown.rstrip().endswith(b":"):
            os.write(terminal, shown.rpartition(b", type ")[2].strip().rstrip(b":") + b"\n")
            has_typed = True
    os.waitpid(process_id, 0)
    os.close(terminal)
    return shown.decode("utf-8", "replace")


def test_the_story_of_the_gate_with_a_person_in_a_second_terminal(
    sandbox: Sandbox, governed: Path, agent: HttpPeer
) -> None:
    assert error_of(agent.call("write_source", EDIT)) == "INTENT_REQUIRED"
    assert text_of(agent.call("select_active_intent", {"intent_id": "INT-001"})).startswith("<intent_context")
    refused = agent.call("write_source", OUTSIDE)
    assert error_of(refused) == "SCOPE_VIOLATION"
    assert "request_scope_expansion" in text_of(refused)
    assert not agent.call("write_source", EDIT).get("isError")
    held = agent.call("write_source", DELETION)
    assert error_of(held) == "APPROVAL_PENDING"

    listed = json.loads(run_cpl(sandbox, governed, "approvals", "list", "--json").stdout)["results"]
    assert [one["id"] for one in listed] == [_hold_id(held)]
    shown = _in_terminal(sandbox, governed, "approvals", "approve", _hold_id(held))
    assert "-X = 1" in shown
    assert "is approved (once)" in shown

    done = agent.call("write_source", DELETION)
    assert not done.get("isError")
    assert not (governed / "src/json/old.py").exists()
    call_id = done["_meta"]["codeplane/meta"]["request_id"]
    explained = run_cpl(sandbox, governed, "explain", call_id, "--json")
    document = json.loads(explained.stdout)
    assert (explained.returncode, document["is_same"], document["inputs"]["selected_intent"]) == (0, True, "INT-001")


def test_a_code_on_standard_input_approves_nothing(scene: Scene) -> None:
    refused = run_cpl(scene.sandbox, scene.root, "approvals", "approve", scene.hold_id, text="0000\n")
    assert "Only a person can" in refused.stderr
    assert error_of(scene.agent.call("write_source", DELETION)) == "APPROVAL_PENDING"


@pytest.mark.parametrize(
    "arguments",
    [
        ("approvals", "approve", "HOLD"),
        ("approvals", "approve", "HOLD", "--for", "session"),
        ("approvals", "deny", "HOLD"),
        ("policy", "accept"),
        ("policy", "mode", "off"),
        ("intent", "add", "INT-9", "mine", "--scope", "**"),
        ("intent", "close", "INT-001", "--status", "abandoned"),
    ],
)
def test_an_agents_shell_is_no_person(scene: Scene, arguments: tuple[str, ...]) -> None:
    before = (scene.root / ".orchestration/active_intents.yaml").read_bytes()
    # A process without a terminal, as an agent's shell starts it; setsid takes the terminal of the test run away.
    command = ("setsid", "-w", *CPL, *(scene.hold_id if one == "HOLD" else one for one in arguments))
    done = subprocess.run(
        command,
        cwd=scene.root,
        env=scene.sandbox.env,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert (done.returncode, "OPERATOR_TOKEN_REQUIRED" in done.stderr) == (2, True)
    assert (scene.root / ".orchestration/active_intents.yaml").read_bytes() == before
    assert error_of(scene.agent.call("write_source", DELETION)) == "APPROVAL_PENDING"


@pytest.mark.parametrize("answer", ["approve", "deny", "revoke"])
@pytest.mark.parametrize("token", [None, "", "wrong", "null"])
def test_rest_answers_need_the_operator_token(scene: Scene, answer: str, token: str | None) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    reply = scene.server.post(f"/approvals/{scene.hold_id}/{answer}", {}, headers)
    assert (reply.status, reply.json["error"]) == (401, "OPERATOR_TOKEN_REQUIRED")
    assert scene.server.get("/approvals", headers).status == 401


def test_a_person_answers_over_rest(sandbox: Sandbox, server: UpServer, agent: HttpPeer) -> None:
    agent.call("select_active_intent", {"intent_id": "INT-001"})
    hold_id = _hold_id(agent.call("write_source", DELETION))
    headers = {"Authorization": f"Bearer {sandbox.token}"}
    assert [one["id"] for one in server.get("/approvals?state=pending", headers).json["results"]] == [hold_id]
    assert server.post(f"/approvals/{hold_id}/later", {}, headers).status == 404
    assert server.post(f"/approvals/{hold_id}/approve", {"minutes": "x"}, headers).status == 400
    assert server.post("/approvals/hold_none/approve", {}, headers).status == 404
    assert server.post(f"/approvals/{hold_id}/approve", {"comment": "fine"}, headers).json["state"] == "approved"
    assert server.post(f"/approvals/{hold_id}/approve", {}, headers).status == 400
    assert not agent.call("write_source", DELETION).get("isError")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("approve", {"id": "HOLD"}),
        ("approvals", {"id": "HOLD"}),
        ("call", {"operation": "approve", "arguments": {"id": "HOLD"}}),
        ("call", {"operation": "approve_calls", "arguments": {"hold_ids": ["HOLD"]}}),
        ("approve_calls", {"hold_ids": ["HOLD"]}),
        ("accept_policy", {}),
    ],
)
def test_no_tool_approves(scene: Scene, tool: str, arguments: dict[str, Any]) -> None:
    assert error_of(scene.agent.call(tool, arguments)) == "UNKNOWN_OPERATION"


@pytest.mark.parametrize(
    ("operation", "argument"), [("read_source", "targets"), ("read_file_full", "path"), ("list_files", "path")]
)
def test_the_state_directory_is_read_by_no_operation(scene: Scene, operation: str, argument: str) -> None:
    token = scene.sandbox.token_file
    link = scene.root / f"src/json/link-{operation}"
    link.symlink_to(token)
    for name in (str(token), os.path.relpath(token, scene.root), f"src/json/link-{operation}"):
        result = scene.agent.call("call", {"operation": operation, "arguments": {argument: name}})
        assert scene.sandbox.token not in text_of(result)


@pytest.mark.parametrize(
    "path",
    [".orchestration/active_intents.yaml", ".orchestration/hook_policy.yaml", ".intentignore", ".cplignore",
     ".claude/settings.json", ".cursor/hooks.json", ".codex/config.toml", ".codeplane/config.yaml", ".git/config"],
)  # fmt: skip
def test_what_decides_over_agents_is_not_changed_by_them(scene: Scene, path: str) -> None:
    for action in ("create", "delete"):
        edit = {"path": path, "action": action, **({"content": "x\n"} if action == "create" else {})}
        assert error_of(scene.agent.call("write_source", {"edits": [edit]})) in {"PROTECTED_PATH", "SECRET_FILE"}
    assert (scene.root / ".orchestration/active_intents.yaml").read_text(encoding="utf-8") == INTENTS


def test_the_socket_takes_no_approvals(scene: Scene) -> None:
    with stdio_peer(scene.sandbox, scene.root) as bridged:
        bridged.initialize()
        names = [tool["name"] for tool in bridged.request("tools/list")["result"]["tools"]]
        assert not [name for name in names if "approv" in name]
        assert bridged.request("approvals/approve", {"id": "x"})["error"]["code"] == -32601


def test_two_servers_see_each_others_approvals(sandbox: Sandbox, governed: Path) -> None:
    with stdio_peer(sandbox, governed) as first:
        first.initialize()
        first.call("select_active_intent", {"intent_id": "INT-001"})
        hold_id = _hold_id(first.call("write_source", DELETION))
        token = {"CODEPLANE_OPERATOR_TOKEN": sandbox.token}
        done = run_cpl(sandbox, governed, "approvals", "approve", hold_id, "--json", env=token)
        assert json.loads(done.stdout)["results"][0]["state"] == "approved"
        assert not first.call("write_source", DELETION).get("isError")


def test_intents_are_managed_on_the_command_line(sandbox: Sandbox, sample_repo: Path) -> None:
    token = {"CODEPLANE_OPERATOR_TOKEN": _token(sandbox, sample_repo)}

    def cpl(*arguments: str) -> Any:
        done = run_cpl(sandbox, sample_repo, "intent", *arguments, "--json", env=token)
        return json.loads(done.stdout)

    assert cpl("list") == {"results": []}
    assert cpl("add", "INT-1", "First", "--scope", "src/**", "--constraint", "keep the API")["selectable"]
    assert cpl("select", "INT-1")["result"]["selected"] == "INT-1"
    assert cpl("check") == {"ok": True, "problems": [], "warnings": []}
    assert cpl("close", "INT-1")["status"] == "done"
    assert cpl("show", "INT-1")["why_not"] == "is done"
    assert cpl("add", "INT-1", "Again", "--scope", "src/**")["error"] == "CONFIG_INVALID"
    assert cpl("show", "INT-7")["error"] == "NOT_FOUND"
    assert cpl("import")["imported"] == []
    shown = json.loads(run_cpl(sandbox, sample_repo, "policy", "show", "--json").stdout)
    assert (shown["mode"], shown["active_intents"], shown["intents_accepted"]) == ("enforce", [], True)
    off = run_cpl(sandbox, sample_repo, "policy", "mode", "off", "--json", env=token)
    assert json.loads(off.stdout)["mode"] == "off"


def _token(sandbox: Sandbox, root: Path) -> str:
    run_cpl(sandbox, root, "task", "list", env={"CODEPLANE_OPERATOR_TOKEN": "make one"})
    if not sandbox.token_file.exists():
        run_cpl(sandbox, root, "call", "describe", env={"CODEPLANE_OPERATOR_TOKEN": "make one"})
    return sandbox.token


def test_the_demo_script_of_the_specification_runs() -> None:
    told: list[str] = []
    steps = play_govern_demo(told.append)
    assert [step.name for step in steps if not step.is_as_specified] == []
    assert len(steps) == 9
