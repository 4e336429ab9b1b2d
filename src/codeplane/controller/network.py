"""The hosts that a turn would contact, for the gate to judge before the turn."""

from collections.abc import Mapping
from typing import Any

from codeplane.workspace.workspace import Workspace


def network_of(workspace: Workspace, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hosts of a turn that fetches something."""
    del workspace, given
    return ()
