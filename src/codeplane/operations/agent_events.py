"""What agents' hooks say and are answered: one form for all agents, whatever their own JSON looks like."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from codeplane.core.errors import ErrorReport


class EventKind(Enum):
    """When an agent calls its hooks."""

    SESSION_START = "session start"
    PROMPT = "prompt submit"
    BEFORE_TOOL = "before tool"
    PERMISSION = "permission request"
    AFTER_TOOL = "after tool"
    AFTER_FAILURE = "after failure"
    BEFORE_COMPACTION = "before compaction"
    SUBAGENT_START = "sub-agent start"
    SUBAGENT_STOP = "sub-agent stop"
    STOP = "stop"
    SESSION_END = "session end"
    SETTINGS_CHANGED = "settings changed"
    OTHER = "other"


class ToolKind(Enum):
    """What a tool of an agent does. HARMLESS ones stay inside of the agent: plans, to-do lists, questions.

    OWN are CodePlane's operations, which the door judges when they arrive. UNKNOWN tools count as dangerous.
    """

    OWN = "own"
    HARMLESS = "harmless"
    READ = "read"
    WRITE = "write"
    COMMAND = "command"
    NETWORK = "network"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement of a text by another, at its first place or everywhere."""

    old: str
    new: str
    is_everywhere: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool. `operation` is its name in policies and records: `claude:Write`, `github__create_issue`.

    Paths are as the agent sent them. `deletes` are those that will be gone. `is_anchored` marks an edit that says which
    text it replaces. `essence` is what makes two calls the same call: without descriptions, time limits and the like.
    `content` is the whole new file, `replacements` are its edits, `patch` is neither, where the agent says so.
    `original` is the file as it was just before the write, which some agents tell afterwards. `directory` is where a
    command runs, when that is not where the agent is.
    """

    name: str
    operation: str
    kind: ToolKind
    essence: Mapping[str, Any]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    is_anchored: bool = False
    command: str = ""
    hosts: tuple[str, ...] = ()
    content: str | None = None
    replacements: tuple[Replacement, ...] = ()
    patch: str = ""
    original: str | None = None
    directory: str = ""

    def new_text(self, old: str) -> str | None:
        """Return what the call would make of a file; None when it does not say."""
        if self.content is not None or not self.replacements:
            return self.content
        text = old
        for one in self.replacements:
            if one.old not in text:
                return None
            text = text.replace(one.old, one.new, -1 if one.is_everywhere else 1)
        return text


def kept_tool(tool: ToolUse) -> dict[str, Any]:
    """Return a call in the form that is kept until it ends."""
    return {**asdict(tool), "kind": tool.kind.value}


def tool_from(kept: Mapping[str, Any]) -> ToolUse:
    """Return a call that was kept."""
    lists = ("reads", "writes", "deletes", "hosts")
    values = {**kept, **{name: tuple(kept[name]) for name in lists}, "kind": ToolKind(kept["kind"])}
    return ToolUse(**{**values, "replacements": tuple(Replacement(**one) for one in kept["replacements"])})


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One event. `session` and `subagent` are the agent's own ids, `call_id` that of the tool call; empty when unknown.

    `files` are those that the agent says are at hand. `is_error` and `output` tell how a tool call ended. `is_repeated`
    marks a stop that a stop hook has caused. `process` names the agent's process, `raw_input` is the tool's input as it
    was sent.
    """

    agent: str
    kind: EventKind
    name: str
    session: str
    call_id: str = ""
    subagent: str = ""
    version: str = ""
    model: str = ""
    cwd: str = ""
    tool: ToolUse | None = None
    prompt: str = ""
    output: str = ""
    is_error: bool = False
    is_repeated: bool = False
    process: str = ""
    raw_input: Mapping[str, Any] = field(default_factory=dict)


class Reply(Enum):
    """What an agent is told to do. ALLOW is told as no opinion, so that the agent's own rules still decide."""

    ALLOW = "allow"
    DENY = "deny"
    HOLD = "hold"
    REWRITE = "rewrite"


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """The answer to an event. `context` is text for the model, `rewritten` the fields of the tool's input that change.

    `goes_on` asks an agent that wanted to stop to read `context` first.
    """

    reply: Reply = Reply.ALLOW
    context: str = ""
    report: ErrorReport | None = None
    hold_id: str = ""
    rewritten: Mapping[str, Any] = field(default_factory=dict)
    goes_on: bool = False

    @property
    def reason(self) -> str:
        """Return why a call is not let through, with what to do now."""
        return self.report.as_text() if self.report is not None else ""


NO_OPINION = AgentDecision()
# The session in whose name `cpl doctor` tries a gate.
CANARY_SESSION = "codeplane-doctor"
