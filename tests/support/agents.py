"""Events of agents in our own form, and the work that an agent does between them."""

import subprocess
from dataclasses import replace

from codeplane.core.callers import Caller
from codeplane.govern.approvals import PersonsAnswer
from codeplane.operations.agent_calls import answer_event, caller_of
from codeplane.operations.agent_events import (
    AgentDecision,
    AgentEvent,
    EventKind,
    Replacement,
    Reply,
    ToolKind,
    ToolUse,
)
from codeplane.operations.perform import Door
from support.doors import call, result_of


class PlayedAgent:
    """An agent of which only the events are real to CodePlane; `does` carries a tool call out as agents do."""

    def __init__(self, door: Door, session: str = "sess-1", subagent: str = "", agent: str = "claude") -> None:
        self.door = door
        self.root = door.workspace.root
        self.event = AgentEvent(
            agent, EventKind.OTHER, "", session, subagent=subagent, version="2.1", cwd=str(self.root)
        )
        self._n_calls = 0

    @property
    def caller(self) -> Caller:
        """Return the agent as the door knows it."""
        return caller_of(self.door, self.event)

    @property
    def label(self) -> str:
        """Return the public name of its session."""
        return self.door.workspace.sessions.find(self.caller).session.label

    def tells(self, kind: EventKind, **said: object) -> AgentDecision:
        """Send an event."""
        return answer_event(self.door, replace(self.event, kind=kind, name=kind.value, **said))  # type: ignore[arg-type]  # test shorthand

    def selects(self, intent: str = "INT-001") -> None:
        """Select an intent, as over MCP once the sessions are bound."""
        result_of(call(self.door, "select_active_intent", {"intent_id": intent}, by=self.caller))

    def asks(self, tool: ToolUse, call_id: str = "") -> AgentDecision:
        """Send the event before a tool."""
        return self.tells(EventKind.BEFORE_TOOL, tool=tool, call_id=call_id)

    def reports(self, tool: ToolUse, call_id: str = "", **said: object) -> AgentDecision:
        """Send the event after a tool."""
        return self.tells(EventKind.AFTER_TOOL, tool=tool, call_id=call_id, **said)

    def does(self, tool: ToolUse) -> AgentDecision:
        """Ask, work if that is allowed, and report; return the last answer."""
        self._n_calls += 1
        call_id = f"toolu_{self.event.session}_{self._n_calls}"
        answer = self.asks(tool, call_id)
        if answer.reply is not Reply.ALLOW:
            return answer
        self.works(tool)
        return self.reports(tool, call_id)

    def works(self, tool: ToolUse) -> None:
        """Carry out a tool call."""
        if tool.command:
            subprocess.run(("sh", "-c", tool.command), cwd=self.root, check=False, timeout=30, capture_output=True)
        for name in tool.writes:
            place = self.root / name
            old = place.read_text(encoding="utf-8") if place.exists() else ""
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(tool.new_text(old) or "", encoding="utf-8")
        for name in tool.deletes:
            (self.root / name).unlink()


def shell(command: str) -> ToolUse:
    """Return a shell command of an agent."""
    return ToolUse("Bash", "claude:Bash", ToolKind.COMMAND, {"command": command}, command=command)


def edit(path: str, old: str, new: str) -> ToolUse:
    """Return an edit of a file by old and new text."""
    essence = {"path": path, "old": old, "new": new}
    replacements = (Replacement(old, new),)
    return ToolUse(
        "Edit", "claude:Edit", ToolKind.WRITE, essence, writes=(path,), is_anchored=True, replacements=replacements
    )


def write_file(path: str, content: str) -> ToolUse:
    """Return a write of a whole file."""
    return ToolUse(
        "Write", "claude:Write", ToolKind.WRITE, {"path": path, "content": content}, writes=(path,), content=content
    )


def read_file(path: str) -> ToolUse:
    """Return a read of a file."""
    return ToolUse("Read", "claude:Read", ToolKind.READ, {"path": path}, reads=(path,))


def foreign(name: str, **arguments: object) -> ToolUse:
    """Return a call of another MCP server's tool."""
    return ToolUse(f"mcp__{name}", name, ToolKind.FOREIGN, arguments)


def approved(door: Door, answer: AgentDecision, scope: str = "once") -> None:
    """Approve the call that an answer holds."""
    assert answer.hold_id, answer
    door.workspace.gate.approvals.decide(answer.hold_id, PersonsAnswer(approves=True, by="test", scope=scope))
