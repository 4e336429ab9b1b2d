"""Prove the gate of a connected agent: send events through the command that is in its settings."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.core.processes import ProcessRequest, ProcessResult, run_process
from codeplane.operations.agent_connections import Connection, hook_commands, path_of
from codeplane.operations.agent_files import AGENT_FILES
from codeplane.operations.codex_trust import unreviewed_hooks
from codeplane.operations.manage_agents import problems_of
from codeplane.surfaces.agent_hooks.agents.catalog import ADAPTERS
from codeplane.surfaces.agent_hooks.samples import sample
from codeplane.workspace.workspace import Workspace

_SECONDS: Final = 30.0
# Nobody may write it, so a gate that works refuses it whatever the rules are.
_FORBIDDEN: Final = ".codeplane/canary"


@dataclass(frozen=True, slots=True)
class GateState:
    """What a canary showed: the gate works when it blocks what is forbidden and lets a read pass."""

    agent: str
    problems: tuple[str, ...]
    gaps: tuple[str, ...]


def gate_state(workspace: Workspace, connection: Connection) -> GateState:
    """Return whether the gate of an agent works, with what it cannot see."""
    row = AGENT_FILES[connection.agent]
    problems = problems_of(workspace, connection.agent)
    sent = sample(connection.agent, str(workspace.root), _FORBIDDEN)
    commands = hook_commands(workspace, connection)
    command = commands.get(sent.event)
    if command is None:
        problems.append(f"There is no hook for {sent.event}: nothing is gated.")
    else:
        refused = _run(command, workspace.root, sent.write)
        if not sent.is_refusal(refused.returncode, refused.stdout_text):
            problems.append("A write that nobody may make was let through.")
        elif "PROTECTED_PATH" not in refused.stdout_text + refused.stderr_text:
            problems.append(f"Every call is refused: {(refused.stderr_text or refused.stdout_text).strip()[:300]}")
        passed = _run(command, workspace.root, sent.read)
        if sent.is_refusal(passed.returncode, passed.stdout_text):
            problems.append(f"A read was refused: {passed.stderr_text.strip()[:300]}")
    if connection.agent == "codex":
        place = next(one for one in connection.digests if one.endswith("hooks.json"))
        problems += unreviewed_hooks(path_of(workspace, place), workspace.root, Path.home())
    return GateState(connection.agent, tuple(problems), (*row.gaps, *ADAPTERS[connection.agent].gaps))


def _run(command: str, root: Path, document: dict[str, object]) -> ProcessResult:
    return run_process(ProcessRequest(("sh", "-c", command), root, _SECONDS, stdin=json.dumps(document).encode()))
