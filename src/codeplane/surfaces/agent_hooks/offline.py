"""Answer a hook without a server: the same decision, made in the hook's own process."""

import os
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.operations.agent_calls import answer_event, as_foreign
from codeplane.operations.catalog import TOOLS
from codeplane.operations.perform import Door
from codeplane.surfaces.agent_hooks.processes import agent_process, has_our_server
from codeplane.surfaces.agent_hooks.translation import claims_ours, read_event, refusal_of, render
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


def answer_offline(agent: str, name: str, payload: bytes, root: str) -> tuple[int, bytes, bytes]:
    """Return exit code, output and error output; a held call is denied at once, its request is stored."""
    adapter, event = read_event(agent, name, payload, agent_process(os.getpid()))
    try:
        with open_workspace(WorkspaceRequest(Path(root))) as workspace:
            door = Door(workspace, TOOLS)
            if claims_ours(adapter, event) and not has_our_server(event.process):
                event = as_foreign(door, event)
            decision = answer_event(door, event)
    except CodePlaneError as error:
        return refusal_of(agent, name, payload, error.message)
    return render(adapter, event, decision)
