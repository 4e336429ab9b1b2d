"""What a turn fetches from outside: the hosts, for the gate to judge before the turn, and the kernel that asks them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from codeplane.controller.connectors.failures import ConnectorError
from codeplane.controller.connectors.hosts import hosts_of
from codeplane.controller.connectors.kernel import Kernel
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import FaultError
from codeplane.workspace.workspace import Workspace

_KEPT: Final = "controller.connectors"


def network_of(workspace: Workspace, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hosts of a turn that fetches something; none for what is not configured."""
    settings, arguments = workspace.settings.controller.connectors, given.get("args")
    if given.get("verb") == "fetch_jira_ticket":
        return hosts_of(settings)
    url = arguments.get("specUrl") if isinstance(arguments, Mapping) else None
    if given.get("verb") == "fetch_api_spec" and isinstance(url, str):
        return hosts_of(settings, spec_url=url)
    return ()


def kernel_of(turn: TurnWork) -> Kernel:
    """Return the kernel of this workspace: one, so that its rate limit holds for all turns."""
    workspace = turn.workspace
    kernel = workspace.kept.get(_KEPT)
    if not isinstance(kernel, Kernel):
        cache = workspace.places.private / "work" / ".connectors"
        kernel = Kernel(workspace.settings.controller.connectors, cache, clock=workspace.clock)
        workspace.kept[_KEPT] = kernel
    return kernel


def auth_directory(turn: TurnWork) -> Path:
    """Return where the user keeps tokens."""
    return turn.workspace.places.user.state / "auth"


def fault_of(error: ConnectorError) -> FaultError:
    """Return a failed fetch as the answer tells it."""
    told = error.as_dict()
    return FaultError(
        str(told["kind"]),
        str(told["message"]),
        is_retryable=bool(told["retryable"]),
        attempts=told["attempts"],
        httpStatus=told.get("httpStatus"),
    )
