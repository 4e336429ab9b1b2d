"""Answer a hook without a server: the same decision, made in the hook's own process."""

import os
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.operations.agent_calls import answer_event
from codeplane.operations.catalog import TOOLS
from codeplane.operations.perform import Door
from codeplane.surfaces.agent_hooks.processes import agent_process
from codeplane.surfaces.agent_hooks.translation import read_event, refusal_of, render
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


def answer_offline(agent: str, name: str, payload: bytes, root: str) -> tuple[int, bytes, bytes]:
    """Return exit code, output and error output; a held call is denied at once, its request is stored."""
    adapter, event = read_event(agent, name, payload, agent_process(os.getpid()))
    try:
        with open_workspace(WorkspaceRequest(Path(event.cwd if event.cwd.startswith(root) else root))) as workspace:
            decision = answer_event(Door(workspace, TOOLS), event)
    except CodePlaneError as error:
        return refusal_of(agent, name, payload, error.message)
    return render(adapter, event, decision)
