"""What operations on memory share: one transaction whose rows the ledger learns of, and who writes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from codeplane.core.errors import CodePlaneError
from codeplane.memory.store import MemoryStore, Origin, Writing
from codeplane.operations.operation import CallContext


def memory_of(context: CallContext) -> MemoryStore:
    """Return the store of this repository.

    Raises:
        CodePlaneError: CONFIG_INVALID when memory is switched off.
    """
    workspace = context.workspace
    if not workspace.settings.memory.memory_enabled:
        raise CodePlaneError(
            "CONFIG_INVALID", "Memory is switched off.", hint="A person can set memory.memory_enabled."
        )
    return workspace.memory


@contextmanager
def global_reading(context: CallContext) -> Iterator[sqlite3.Connection | None]:
    """Give the memory of all repositories of this user, which is only read; None where a person promoted nothing."""
    place = context.workspace.places.user.global_memory
    if not place.exists():
        yield None
        return
    with closing(MemoryStore(place, context.workspace.clock, None)) as store, store.read() as connection:
        yield connection


@contextmanager
def memory_writing(context: CallContext) -> Iterator[Writing]:
    """Give one transaction of the store; the call's row in the ledger lists what it wrote."""
    with memory_of(context).write(origin_of(context)) as writing:
        yield writing
    if writing.noted:
        context.noted["memory"] = [*context.noted.get("memory", ()), *writing.noted]


def origin_of(context: CallContext) -> Origin:
    """Return where rows of this call come from."""
    return context.workspace.origin(context.session.label, context.caller.client)
