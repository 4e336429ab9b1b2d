"""The cycle without a door: events and phases straight into the store."""

from collections.abc import Callable

import pytest

from codeplane.memory.governance import Notary
from codeplane.memory.guarded_cycle import CycleParts
from codeplane.memory.hook_events import HookMemory
from codeplane.memory.tokens import TokenBox
from codeplane.workspace.workspace import Workspace


@pytest.fixture
def hooks(workspace: Workspace) -> Callable[[str], HookMemory]:
    """Return what makes the memory of a session."""

    def make(session: str) -> HookMemory:
        notary = Notary(
            workspace.chain, workspace.signing_key(), TokenBox(workspace.places.tokens), session, "main",
            f"call-{workspace.clock.now_ms()}", workspace.clock.now_ms(),
        )  # fmt: skip
        parts = CycleParts(notary, workspace.settings.memory)
        return HookMemory(workspace.memory, parts, workspace.origin(session))

    return make
