"""The JSON that agents really send, as recorded, means what it says; and what we answer is what they accept."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.errors import ErrorReport
from codeplane.operations.agent_events import NO_OPINION, AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.surfaces.agent_hooks.agents.catalog import ADAPTERS
from codeplane.surfaces.agent_hooks.translation import read_event, render

FIXTURES = Path(__file__).parents[1] / "fixtures/hooks"
OTHERS = {"about", "answers", "init"}
FILES = sorted(path for path in FIXTURES.rglob("*.json") if path.stem not in OTHERS)
GATED = {EventKind.BEFORE_TOOL, EventKind.AFTER_TOOL, EventKind.AFTER_FAILURE, EventKind.PERMISSION}
# Tools of a server that the recordings were made with, and one that exists nowhere else.
FOREIGN = ("lab", "mcp")
WRITES = ("write", "edit", "create", "replace", "patch", "notebook", "editor")
COMMANDS = ("bash", "shell", "command", "terminal")
READS = ("read", "view", "glob", "grep", "search", "list")


def event_of(path: Path) -> AgentEvent:
    agent = path.parent.name
    document = json.loads(path.read_text("utf-8"))
    name = path.stem.removeprefix("event-").split("-")[0]
    if agent == "opencode":
        # As the plugin sends it.
        document = {"directory": "/repo", "parent": "ses_parent" if "subagent" in path.stem else "", **document}
        document.setdefault("input", {"sessionID": document.get("properties", {}).get("sessionID", "")})
    return read_event(agent, name, json.dumps(document).encode())[1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_event_is_understood(path: Path) -> None:
    adapter, event = ADAPTERS[path.parent.name], event_of(path)
    if event.name not in adapter.events:
        assert event.kind is EventKind.OTHER
        return
    assert event.session, event
    if event.kind not in GATED:
        return
    assert event.tool is not None
    told = path.stem.partition("-")[2].lower()
    kind, name = event.tool.kind, event.tool.name.lower()
    if "mcp" in told:
        assert kind in {ToolKind.FOREIGN, ToolKind.OWN, ToolKind.HARMLESS}
    elif any(word in name for word in COMMANDS):
        assert (kind, bool(event.tool.command)) == (ToolKind.COMMAND, True)
    elif any(word in name for word in WRITES) and "task" not in name and name != "todowrite":
        assert kind is ToolKind.WRITE
        assert event.tool.writes or event.tool.deletes
    elif any(word in name for word in READS) and "tool" not in name:
        assert kind in {ToolKind.READ, ToolKind.NETWORK}
    else:
        assert kind is not ToolKind.UNKNOWN, name
    if "subagent" in told and event.agent not in {"gemini", "cursor"}:
        assert event.subagent


def test_every_adapter_has_fixtures_with_version_and_date() -> None:
    for agent in ADAPTERS:
        about = json.loads((FIXTURES / agent / "about.json").read_text("utf-8"))
        assert {"agent", "date", "recorded"} <= about.keys()
        assert len(list((FIXTURES / agent).glob("*.json"))) > 5


def answers(agent: str) -> dict[str, Any]:
    """Return what an agent is told in each case: exit code, output and error output."""
    adapter = ADAPTERS[agent]
    report = ErrorReport("SCOPE_VIOLATION", "Not in scope.", "Select another intent.")
    cases = {
        "allow": (EventKind.BEFORE_TOOL, NO_OPINION),
        "deny": (EventKind.BEFORE_TOOL, AgentDecision(Reply.DENY, report=report)),
        "rewrite": (EventKind.BEFORE_TOOL, AgentDecision(Reply.REWRITE, rewritten={"command": "ls"})),
        "context at start": (EventKind.SESSION_START, AgentDecision(context="facts")),
        "context with prompt": (EventKind.PROMPT, AgentDecision(context="facts")),
        "context after tool": (EventKind.AFTER_TOOL, AgentDecision(context="facts")),
        "go on": (EventKind.STOP, AgentDecision(context="open: tests", goes_on=True)),
    }
    found = {}
    for case, (kind, decision) in cases.items():
        name = next(name for name, known in adapter.events.items() if known is kind)
        event = AgentEvent(agent, kind, name, "s", raw_input={"command": "npm install", "timeout": 5})
        code, out, err = render(adapter, replace(event, tool=None), decision)
        found[case] = {"exit": code, "stdout": json.loads(out) if out else "", "stderr": err.decode()}
    return found


@pytest.mark.parametrize("agent", sorted(ADAPTERS))
def test_answers_have_the_form_that_the_agent_accepts(agent: str) -> None:
    golden = json.loads((FIXTURES / agent / "answers.json").read_text("utf-8"))
    assert answers(agent) == golden["answers"]
    assert {"accepted_by", "date"} <= golden.keys()
