"""One suite for every agent: what its hooks send, through the command that `cpl connect` wrote, to a real server.

Where an agent's contract does not permit a scenario, its speaker says so and the scenario ends early; docs/agents.md
lists these.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.agent_connections import connections, hook_commands, installation_of
from codeplane.operations.agent_files import Installation
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.server.operator_token import operator_token
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.doors import call, person, result_of
from support.effort import some_of, spread
from support.governed import FILES, INTENTS
from support.hook_speakers import BLOCKED, RUNS, SPEAKERS, Heard, Said, Sent, Speaker
from surfaces.support_processes import (
    HttpPeer,
    Sandbox,
    UpServer,
    git,
    make_repo,
    make_sandbox,
    run_cpl,
    send_http,
    up,
)

pytestmark = pytest.mark.slow

POLICY = """\
version: 1
rewrites: [{begins: npm install, becomes: ls}]
read_only: {tools: ["tickets__get_*", "mcp__get_*"]}
"""
_NUMBERS = count(1)
# Three forms that have little in common; `make soak` tries all agents.
USUAL = ("claude", "cline", "copilot")
NAMES = some_of(USUAL, [one.agent for one in SPEAKERS if one.agent not in USUAL])
TRIED = [one for one in SPEAKERS if one.agent in NAMES]


@dataclass(frozen=True)
class Site:
    """A repository with all agents connected and a server; `commands` are the installed hooks by agent and event."""

    sandbox: Sandbox
    root: Path
    server: UpServer
    commands: Mapping[str, Mapping[str, str]]

    def person(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.sandbox.token}", "Content-Type": "application/json"}
        reply = send_http(self.server.port, method, path, headers, json.dumps(body or {}).encode())
        assert reply.status < 300, reply.body
        return reply.json


@dataclass(frozen=True)
class Played:
    """One session of an agent at a site."""

    speaker: Speaker
    site: Site
    said: Said

    def send(self, what: str, said: Said, *, raw: bytes | None = None) -> Heard:
        sent = self.speaker.says(what, said)
        done = run_hook(self.site, self.site.commands[self.speaker.agent][sent.event], sent, raw)
        return self.speaker.hears(what, done.returncode, done.stdout.decode(), done.stderr.decode())

    def before(self, tool: tuple[str, dict[str, Any]], subagent: str = "") -> tuple[Said, Heard]:
        call_id = f"call_{next(_NUMBERS)}" if self.speaker.has_call_ids else ""
        said = replace(self.speaker.about(self.said, tool), call_id=call_id, subagent=subagent)
        return said, self.send("before", said)

    def selects(self, intent: str = "INT-001") -> str:
        """Select over MCP, with the hook before it; return what the agent reads."""
        given = {"intent_id": intent}
        # An agent knows the tools of its servers before it calls one.
        peer = HttpPeer(self.site.server.port)
        peer.initialize()
        said, heard = self.before((self.speaker.mcp("codeplane", "select_active_intent"), given))
        assert heard.tool == RUNS, heard
        meta = {self.speaker.sends_call_id_to_mcp: said.call_id} if self.speaker.sends_call_id_to_mcp else {}
        answer = peer.request("tools/call", {"name": "select_active_intent", "arguments": given, "_meta": meta})
        return str(answer["result"]["content"][0]["text"])

    def path(self, name: str) -> str:
        return f"{self.site.root}/{name}"

    @property
    def name(self) -> str:
        return self.speaker.agent

    def blame(self, name: str) -> str:
        """Return why the first line of a file is there."""
        answer = self.site.person("POST", "/operations/trace_blame", {"path": name, "line": 1})
        return json.dumps(answer["result"])


def run_hook(
    site: Site, command: str, sent: Sent, raw: bytes | None = None, cwd: Path | None = None
) -> "subprocess.CompletedProcess[bytes]":
    payload = raw if raw is not None else json.dumps(sent.document).encode()
    return subprocess.run(
        ("sh", "-c", command), cwd=cwd or site.root, env=site.sandbox.env, input=payload, capture_output=True,
        check=False, timeout=60,
    )  # fmt: skip


def installed(root: Path) -> dict[str, dict[str, str]]:
    """Return the hook commands by agent and event, from the agents' own files."""
    with open_workspace(WorkspaceRequest(root)) as workspace:
        return {name: hook_commands(workspace, one) for name, one in connections(workspace).items()}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("hooks")
    with make_sandbox(directory) as sandbox:
        files = {name: str(text) for name, text in FILES.items()}
        setup = {".orchestration/active_intents.yaml": INTENTS, ".orchestration/hook_policy.yaml": POLICY}
        root = make_repo(sandbox, directory / "repo", {**files, **setup})
        token = {"CODEPLANE_OPERATOR_TOKEN": operator_token(sandbox.token_file)}
        assert run_cpl(sandbox, root, "init").returncode == 0
        git(sandbox, root, "add", "--all")
        git(sandbox, root, "commit", "-q", "-m", "set up")
        with pytest.MonkeyPatch.context() as patched:
            for name, value in sandbox.env.items():
                patched.setenv(name, value)
            with open_workspace(WorkspaceRequest(root)) as workspace:
                door = Door(workspace, OPERATIONS)
                result_of(call(door, "accept_policy", by=person()))
                for speaker in TRIED:
                    result_of(call(door, "connect_agent", {"agent": speaker.agent}, by=person()))
            commands = installed(root)
        with up(sandbox, root, "--set", "hooks.wait_seconds=1", env=token) as server:
            yield Site(sandbox, root, server, commands)


@pytest.fixture(params=TRIED, ids=lambda speaker: speaker.agent)
def agent(request: pytest.FixtureRequest, site: Site) -> Iterator[Played]:
    speaker: Speaker = request.param
    played = Played(speaker, site, Said(f"session-{next(_NUMBERS)}", str(site.root)))
    yield played
    # What is still open ends with the turn, so that it concerns no other test.
    played.send("stop", played.said)


@pytest.fixture
def selected(agent: Played) -> Played:
    agent.selects()
    return agent


def answered(
    agent: Played, tool: tuple[str, dict[str, Any]], answer: str, body: Mapping[str, Any]
) -> tuple[Said, Heard]:
    """Send a call that is held, and answer it as a person while its hook waits."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(agent.before, tool)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not waiting.done():
            pending = agent.site.person("GET", "/approvals?state=pending")["results"]
            for hold in pending:
                agent.site.person("POST", f"/approvals/{hold['id']}/{answer}", body)
            time.sleep(0.05)
        return waiting.result()


# Allow, deny, bind


def test_start_and_prompt_tell_the_intents(agent: Played) -> None:
    started = agent.send("start", agent.said).model_reads
    assert ("INT-001 (JSON provider clean-up)" in started) is agent.speaker.tells_at_start
    agent.selects()
    prompt = agent.send("prompt", replace(agent.said, prompt="Clean up src/json/old.py"))
    assert ("Selected intent: INT-001" in prompt.model_reads) is agent.speaker.tells_at_prompt


def test_a_write_without_an_intent_is_denied_with_what_to_do(agent: Played) -> None:
    _, heard = agent.before(agent.speaker.write(agent.path("src/json/a.py"), "x = 1\n"))
    assert heard.tool == BLOCKED
    assert "select_active_intent" in heard.model_reads


def test_after_a_selection_over_mcp_a_native_write_is_allowed(agent: Played) -> None:
    assert "public API unchanged" in agent.selects()
    name, text = f"src/json/{agent.name}.py", f"written_by_{agent.name} = 1\n"
    said, heard = agent.before(agent.speaker.write(agent.path(name), text))
    assert heard.tool == RUNS, heard
    (agent.site.root / name).write_text(text, "utf-8")
    agent.send("after", said)
    assert "INT-001" in agent.blame(name)
    assert f"{agent.name}:" in agent.blame(name)


@pytest.mark.parametrize(
    "path", ["src/payments/index.py", ".claude/settings.local.json", ".env", "src\\payments\\x.py"]
)
def test_what_the_intent_does_not_own_or_nobody_may_write_is_denied(selected: Played, path: str) -> None:
    name = selected.path(path) if "\\" not in path else path
    assert selected.before(selected.speaker.write(name, "x\n"))[1].tool == BLOCKED


def test_reads_and_safe_commands_pass_at_once(agent: Played) -> None:
    for tool in (agent.speaker.read(agent.path("README.md")), agent.speaker.command("git status --short")):
        assert agent.before(tool)[1].tool == RUNS


# Hold


def test_a_held_command_runs_when_a_person_approves_in_time(selected: Played) -> None:
    _, heard = answered(selected, selected.speaker.command("rm -rf build"), "approve", {})
    assert heard.tool == RUNS, heard


def test_a_held_command_is_denied_with_the_persons_words(selected: Played) -> None:
    _, heard = answered(selected, selected.speaker.command("rm -rf src"), "deny", {"comment": "Not the sources."})
    assert heard.tool == BLOCKED
    assert "Not the sources." in heard.model_reads


def test_a_held_command_that_nobody_answers_is_denied_with_its_id_and_passes_later(selected: Played) -> None:
    command = selected.speaker.command(f"rm -rf later-{selected.speaker.agent}")
    _, heard = selected.before(command)
    assert heard.tool == BLOCKED
    hold_id = next(word.strip(".,") for word in heard.model_reads.split() if word.startswith("hold_"))
    selected.site.person("POST", f"/approvals/{hold_id}/approve")
    assert selected.before(command)[1].tool == RUNS


# Rewrite, sub-agent, MCP, shell


def test_a_command_is_rewritten_where_the_agent_can(agent: Played) -> None:
    _, heard = agent.before(agent.speaker.command("npm install"))
    assert heard.tool == RUNS
    if agent.speaker.rewrites:
        assert heard.new_input is not None
        assert "ls" in json.dumps(dict(heard.new_input))
        assert "npm" not in json.dumps(dict(heard.new_input))


def test_a_sub_agent_works_under_its_parents_intent(selected: Played) -> None:
    tool = selected.speaker.write(selected.path(f"src/json/sub_{selected.name}.py"), "x = 1\n")
    assert selected.before(tool, subagent="sub-1" if selected.speaker.has_subagents else "")[1].tool == RUNS


def test_tools_of_other_servers_wait_for_a_person_unless_they_are_listed(selected: Played) -> None:
    assert selected.before((selected.speaker.mcp("tickets", "get_issue"), {"number": 1}))[1].tool == RUNS
    _, heard = answered(selected, (selected.speaker.mcp("tickets", "close_issue"), {"number": 1}), "deny", {})
    assert heard.tool == BLOCKED


def test_what_a_shell_wrote_is_traced_to_its_call(selected: Played) -> None:
    name = f"src/json/by_{selected.name}.py"
    command = f"echo 'made_in_a_shell_by_{selected.name} = 1' > {name}"
    said, heard = answered(selected, selected.speaker.command(command), "approve", {})
    assert heard.tool == RUNS
    subprocess.run(("sh", "-c", command), cwd=selected.site.root, check=True, timeout=30)
    selected.send("after", said)
    assert "INT-001" in selected.blame(name)


# Failures


def test_a_call_that_is_delivered_twice_at_once_is_decided_once(selected: Played) -> None:
    tool = selected.speaker.write(selected.path(f"src/json/twice_{selected.name}.py"), "x = 1\n")
    said = replace(selected.speaker.about(selected.said, tool), call_id="same" if selected.speaker.has_call_ids else "")
    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(lambda _: selected.send("before", said), range(4)))
    assert [one.tool for one in heard] == [RUNS] * 4


MALFORMED = [b"", b"{", b"[]", b"null", b"\xff\xfe{}", b'{"tool_name": 5}', b'{"tool_input": {}}', b"{}" * 50, b'"x"']


@pytest.mark.parametrize("raw", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_event_before_a_tool_lets_nothing_run(agent: Played, raw: bytes) -> None:
    assert agent.send("before", agent.said, raw=raw).tool == BLOCKED


def test_a_huge_input_and_the_other_spelling_are_judged_like_any_other(agent: Played) -> None:
    tool = agent.speaker.write(agent.path("src/json/huge.py"), "x = 1\n" * 1_700_000)
    assert "select_active_intent" in agent.before(tool)[1].model_reads
    sent = agent.speaker.says("before", agent.speaker.about(agent.said, agent.speaker.write("src/json/a.py", "x\n")))
    camel = {_camel(name): value for name, value in sent.document.items()}
    assert "select_active_intent" in agent.send("before", agent.said, raw=json.dumps(camel).encode()).model_reads


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def test_a_tool_that_a_newer_version_may_have_is_held(selected: Played) -> None:
    assert selected.before(("teleport_files", {"to": "mars"}))[1].tool == BLOCKED


def installation_of_site(site: Site) -> Installation:
    with open_workspace(WorkspaceRequest(site.root)) as workspace:
        return installation_of(workspace, "project")


def test_an_event_that_nobody_knows_is_no_opinion(agent: Played) -> None:
    words = installation_of_site(agent.site).words(agent.name, "SomethingNew")
    sent = agent.speaker.says("stop", agent.said)
    document = {**sent.document, "hook_event_name": "SomethingNew"}
    done = run_hook(agent.site, shlex.join(words), Sent("SomethingNew", document))
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_server_that_hangs_lets_no_change_pass(site: Site) -> None:
    """All agents at the same time: each of their hooks waits until it gives the server up."""
    pid = site.server.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(2 * len(TRIED)) as pool:
            agents = [Played(speaker, site, Said("hung", str(site.root))) for speaker in TRIED]
            tools = [(one, tool) for one in agents for tool in (a_write(one), one.speaker.read(one.path("README.md")))]
            heard = list(pool.map(lambda asked: asked[0].before(asked[1])[1].tool, tools))
        assert heard == [BLOCKED, RUNS] * len(agents)
    finally:
        os.kill(pid, signal.SIGCONT)


def a_write(agent: Played) -> tuple[str, dict[str, Any]]:
    """Return a call that would change something."""
    return agent.speaker.write(agent.path("src/json/a.py"), "x = 1\n")


GARBAGE = [b"", b"garbage", b"0 0", b"0 5 0\nab", b"....", b"-1 0 0\n", b"0 0 0 0\n"]


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
def test_a_server_that_answers_garbage_lets_no_change_pass(site: Site, tmp_path: Path, answer: bytes) -> None:
    root = make_repo(site.sandbox, tmp_path / "other")
    with fake_server(root, answer):
        for speaker in spread(TRIED, 1):
            sent = speaker.says("before", speaker.about(Said("g", str(root)), speaker.write("a.txt", "x\n")))
            done = run_hook(site, site.commands[speaker.agent][sent.event], sent, cwd=root)
            assert heard_of(speaker, done).tool == BLOCKED


def heard_of(speaker: Speaker, done: "subprocess.CompletedProcess[bytes]") -> Heard:
    return speaker.hears("before", done.returncode, done.stdout.decode(), done.stderr.decode())


class fake_server:  # noqa: N801 - used like a function, in a `with`.
    """A socket where the server's would be; it reads a little, answers, and closes."""

    def __init__(self, root: Path, answer: bytes) -> None:
        (root / ".codeplane").mkdir()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._place = Path("/tmp") / f"cpl-fake-{os.getpid()}-{next(_NUMBERS)}.sock"
        self._listener.bind(str(self._place))
        (root / ".codeplane/server.sock").symlink_to(self._place)
        self._listener.listen(4)
        self._answer = answer
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.recv(65536)
            connection.sendall(self._answer)
            connection.close()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._place.unlink(missing_ok=True)


@pytest.fixture(params=spread(TRIED, 2), ids=lambda speaker: speaker.agent)
def lonely(request: pytest.FixtureRequest, site: Site) -> Iterator[Played]:
    """Return an agent at a time when no server can be reached."""
    link = site.root / ".codeplane/server.sock"
    hidden = link.with_name("hidden.sock")
    link.rename(hidden)
    try:
        yield Played(request.param, site, Said(f"lonely-{next(_NUMBERS)}", str(site.root)))
    finally:
        hidden.rename(link)


def test_without_a_server_the_hook_decides_by_itself(lonely: Played) -> None:
    """The same rules, a held call denied at once, its request stored for a person."""
    assert "select_active_intent" in lonely.before(a_write(lonely))[1].model_reads
    assert lonely.before(lonely.speaker.read(lonely.path("README.md")))[1].tool == RUNS
    assert lonely.before(lonely.speaker.command(f"cpl hook {lonely.name} select INT-001"))[1].tool == RUNS
    _, held = lonely.before(lonely.speaker.command(f"rm -rf offline-{lonely.name}"))
    assert held.tool == BLOCKED
    assert "hold_" in held.model_reads


def test_a_hook_that_cannot_be_started_blocks(agent: Played, tmp_path: Path) -> None:
    sent = agent.speaker.says("before", agent.speaker.about(agent.said, a_write(agent)))
    command = agent.site.commands[agent.name][sent.event]
    for old, new in (("python -I", "missing-python -I"), ("client.py", "missing.py")):
        broken = with_words(command, old, new, tmp_path)
        assert heard_of(agent.speaker, run_hook(agent.site, broken, sent)).tool == BLOCKED, broken


def with_words(command: str, old: str, new: str, directory: Path) -> str:
    """Return a hook command with other words; of one that is a script, a changed copy."""
    script = Path(command)
    if not script.is_file():
        assert old in command
        return command.replace(old, new)
    text = script.read_text("utf-8")
    assert old in text
    copy = directory / f"{script.name}-{next(_NUMBERS)}"
    copy.write_text(text.replace(old, new), "utf-8")
    copy.chmod(0o755)
    return str(copy)


def test_a_repository_without_codeplane_is_left_alone_by_hooks_of_the_user(agent: Played, tmp_path: Path) -> None:
    root = make_repo(agent.site.sandbox, tmp_path / "other")
    sent = agent.speaker.says("before", agent.speaker.about(agent.said, agent.speaker.write("a.txt", "x\n")))
    command = with_words(agent.site.commands[agent.name][sent.event], f" {agent.site.root} ", " '' ", tmp_path)
    assert heard_of(agent.speaker, run_hook(agent.site, command, sent, cwd=root)).tool == RUNS
    assert not (root / ".codeplane").exists()


def test_an_agent_in_a_repository_inside_of_the_tree_works_under_the_rules_of_the_tree(
    selected: Played, tmp_path: Path
) -> None:
    inner = make_repo(selected.site.sandbox, selected.site.root / f"src/json/inner-{selected.name}-{tmp_path.name}")
    said = replace(selected.said, root=str(inner))
    own = f"src/json/inner_{selected.name}.py"
    for path, expected in ((own, RUNS), ("src/payments/index.py", BLOCKED), (".git/hooks/x", BLOCKED)):
        tool = selected.speaker.write(selected.path(path), "x\n")
        sent = selected.speaker.says("before", selected.speaker.about(replace(said, call_id=path), tool))
        command = selected.site.commands[selected.name][sent.event]
        assert heard_of(selected.speaker, run_hook(selected.site, command, sent, cwd=inner)).tool == expected, path


def test_a_file_of_the_tree_is_judged_from_wherever_the_agent_works(agent: Played, tmp_path: Path) -> None:
    elsewhere = make_repo(agent.site.sandbox, tmp_path / "other")
    said = replace(agent.said, root=str(elsewhere))
    tool = agent.speaker.write(agent.path("src/payments/index.py"), "x\n")
    sent = agent.speaker.says("before", agent.speaker.about(said, tool))
    command = with_words(agent.site.commands[agent.name][sent.event], f" {agent.site.root} ", " '' ", tmp_path)
    assert heard_of(agent.speaker, run_hook(agent.site, command, sent, cwd=elsewhere)).tool == BLOCKED


@pytest.mark.parametrize("speaker", spread(TRIED, 1), ids=lambda speaker: speaker.agent)
def test_a_linked_worktree_has_the_rules_of_its_repository(site: Site, tmp_path: Path, speaker: Speaker) -> None:
    linked = tmp_path / "linked"
    git(site.sandbox, site.root, "worktree", "add", "-q", "--detach", str(linked))
    tool = speaker.write(str(linked / "src/json/a.py"), "x = 1\n")
    sent = speaker.says("before", speaker.about(Said("linked", str(linked)), tool))
    heard = heard_of(speaker, run_hook(site, site.commands[speaker.agent][sent.event], sent, cwd=linked))
    assert heard.tool == BLOCKED
    assert "select_active_intent" in heard.model_reads
    git(site.sandbox, site.root, "worktree", "remove", "--force", str(linked))
