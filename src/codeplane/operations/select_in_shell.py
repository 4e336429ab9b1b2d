"""`cpl` in an agent's shell: its commands are calls through the door, and one of them selects an intent."""

import shlex
from typing import Final

from codeplane.core.callers import Caller
from codeplane.operations.agent_events import AgentDecision, Reply, ToolKind, ToolUse
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door

_PROGRAM: Final = "cpl"
# What makes more of a command than one program with plain words.
_SHELL: Final = frozenset("\n\r;&|<>$`(){}*?[]~!#\\")


def cpl_words(tool: ToolUse) -> list[str]:
    """Return the words of a command that is one plain call of `cpl`, none for any other."""
    if tool.kind is not ToolKind.COMMAND or _SHELL & set(tool.command):
        return []
    try:
        words = shlex.split(tool.command)
    except ValueError:
        return []
    return words if words[:1] == [_PROGRAM] else []


def selected_in_shell(door: Door, words: list[str], caller: Caller) -> AgentDecision | None:
    """Select an intent for an agent that sends no hook for MCP tools; None for another command of `cpl`.

    The hook knows the agent's session, which the command itself does not.
    """
    is_select = words[1:3] == ["intent", "select"] or (words[1:2] == ["hook"] and words[3:4] == ["select"])
    intents = words[4:] if words[1:2] == ["hook"] else words[3:]
    if not is_select or len(intents) != 1 or intents[0].startswith("-"):
        return None
    answer = dispatch(door, "select_active_intent", {"intent_id": intents[0]}, caller)
    if answer.error is not None:
        return AgentDecision(Reply.DENY, report=answer.error)
    return AgentDecision(context=answer.text())
