"""Scripted models, and real agents driven by them: one file each. `make tools` installs the agents."""

import json
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from support.effort import spread
from support.real_agents import CLAUDE, CLINE, CODEX, COPILOT, GEMINI, OPENCODE, Agent, run
from support.scripted_models import DONE, ScriptedModel

PATCH = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n"
# How each agent's model asks for a file `made.txt` with the line `made`; `REPO` is replaced.
WRITES: dict[Agent, tuple[str, object]] = {
    CLAUDE: ("Write", {"file_path": "REPO/made.txt", "content": "made\n"}),
    CLINE: ("editor", {"path": "REPO/made.txt", "new_text": "made\n"}),
    CODEX: ("apply_patch", PATCH),
    COPILOT: ("create", {"path": "REPO/made.txt", "file_text": "made\n"}),
    GEMINI: ("write_file", {"file_path": "REPO/made.txt", "content": "made\n"}),
    OPENCODE: ("write", {"filePath": "REPO/made.txt", "content": "made\n"}),
}
# `make soak` plays all of them. What is not installed is named in the id, so that a report of the tests shows it.
AGENTS = [
    pytest.param(agent, id=agent.name if agent.is_installed else f"{agent.name}-left-out-without-make-tools")
    for agent in spread(WRITES, 1)
]


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_writes_the_file_that_the_script_asks_for(agent: Agent, repo: Path, tmp_path: Path) -> None:
    if not agent.is_installed:
        return
    name, given = WRITES[agent]
    call = {"name": name, "input": json.loads(json.dumps(given).replace("REPO", str(repo)))}
    finished = run(agent, repo, [call], tmp_path / "home")
    assert (repo / "made.txt").exists(), finished
    assert (repo / "made.txt").read_text("utf-8") == "made\n"
    assert len(finished.model.results) == 1
    assert finished.returncode == 0


class Conversation:
    """An agent without tools of its own: it answers each call with the call's input."""

    def __init__(self, model: ScriptedModel, prompt: str) -> None:
        self.model = model
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]

    def turn(self) -> list[Any]:
        """Ask once; return the inputs of the calls, or the text."""
        body = {"model": "m", "messages": self.messages, "tools": [{"name": "Write", "input_schema": {}}]}
        request = urllib.request.Request(f"{self.model.url}/v1/messages", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as response:
            blocks = json.load(response)["content"]
        self.messages.append({"role": "assistant", "content": blocks})
        calls = [block for block in blocks if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": json.dumps(call["input"])} for call in calls
        ]
        self.messages.append({"role": "user", "content": results or [{"type": "text", "text": "go on"}]})
        return [call["input"] for call in calls] or [blocks[0]["text"]]


def _call(given: object, **more: object) -> dict[str, Any]:
    return {"name": "Write", "input": given, **more}


def test_a_script_is_followed_step_by_step() -> None:
    waited = threading.Event()
    waited.set()
    seen: list[str] = []
    script: list[Any] = [
        _call({"n": 1}),
        [_call({"n": 2}), _call({"n": 3}, wait=lambda: seen.append("asked"))],
        {"say": "so far"},
        _call(lambda results: {"n": len(results)}, wait=waited),
    ]
    with ScriptedModel("anthropic", script) as model:
        conversation = Conversation(model, "go")
        turns = [conversation.turn() for _ in range(6)]
    assert turns == [[{"n": 1}], [{"n": 2}, {"n": 3}], ["so far"], [{"n": 3}], [DONE], [DONE]]
    assert seen == ["asked"]
    assert model.results == ['{"n": 1}', '{"n": 2}', '{"n": 3}']


def test_a_sub_agent_follows_its_own_script() -> None:
    with ScriptedModel("anthropic", [_call({"n": 1})], {"SUB": [_call({"n": 2})]}) as model:
        assert Conversation(model, "go").turn() == [{"n": 1}]
        assert Conversation(model, "SUB: look around").turn() == [{"n": 2}]
