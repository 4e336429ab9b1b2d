"""The cycle without a door: events and phases straight into the store."""

import sqlite3
from collections.abc import Callable

import pytest

from codeplane.memory.governance import Notary
from codeplane.memory.guarded_cycle import CycleParts, PackWish
from codeplane.memory.hook_events import HookMemory
from codeplane.memory.tokens import TokenBox
from codeplane.workspace.workspace import Workspace
from support.simple_packs import Pack, PackRequest, build_pack


@pytest.fixture
def hooks(workspace: Workspace) -> Callable[[str], HookMemory]:
    """Return what makes the memory of a session."""

    def pack(connection: sqlite3.Connection, wish: PackWish) -> Pack:
        return build_pack(connection, PackRequest(wish.scope, wish.byte_budget, wish.max_cells))

    def make(session: str) -> HookMemory:
        notary = Notary(
            workspace.chain, workspace.signing_key(), TokenBox(workspace.places.tokens), session, "main",
            f"call-{workspace.clock.now_ms()}", workspace.clock.now_ms(),
        )  # fmt: skip
        parts = CycleParts(notary, pack, lambda _writing, _scope: None, 2000)
        return HookMemory(workspace.memory, parts, workspace.origin(session))

    return make
