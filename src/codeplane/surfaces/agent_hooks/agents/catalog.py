"""All agents with hooks; a new one is one file and one line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from codeplane.surfaces.agent_hooks.adapter import Adapter
from codeplane.surfaces.agent_hooks.agents.claude import CLAUDE
from codeplane.surfaces.agent_hooks.agents.cline import CLINE
from codeplane.surfaces.agent_hooks.agents.codex import CODEX
from codeplane.surfaces.agent_hooks.agents.copilot import COPILOT
from codeplane.surfaces.agent_hooks.agents.cursor import CURSOR
from codeplane.surfaces.agent_hooks.agents.gemini import GEMINI
from codeplane.surfaces.agent_hooks.agents.opencode import OPENCODE
from codeplane.surfaces.agent_hooks.agents.vscode import VSCODE

_ALL: Final = (CLAUDE, CLINE, CODEX, COPILOT, CURSOR, GEMINI, OPENCODE, VSCODE)
ADAPTERS: Final[Mapping[str, Adapter]] = MappingProxyType({one.agent: one for one in _ALL})
# Others run hooks from the settings files of these, too.
_SHARED: Final = frozenset({"claude", "copilot", "vscode"})


def speaker_of(adapter: Adapter, document: Mapping[str, Any]) -> Adapter:
    """Return the agent that an event comes from, whatever settings file named its hook."""
    if adapter.agent not in _SHARED:
        return adapter
    if "cursor_version" in document:
        return CURSOR
    if "timestamp" not in document:
        # Only Claude Code tells no time.
        return CLAUDE if "session_id" in document and "hook_event_name" in document else adapter
    return VSCODE if "transcript_path" in document and "session_id" in document else COPILOT
