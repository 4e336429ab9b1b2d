"""A small context pack of real rows, for tests of the cycle in a tree that has no other."""

import sqlite3
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

from codeplane.core.canonical_json import digest


@dataclass(frozen=True)
class PackRequest:
    """What to pack."""

    scope: str
    byte_budget: int
    max_cells: int = 20


@dataclass(frozen=True)
class Pack:
    """What was packed."""

    cells: list[dict[str, Any]]
    experiences: list[dict[str, Any]]
    context_hash: str
    byte_count: int


def build_pack(connection: sqlite3.Connection, request: PackRequest) -> Pack:
    """Return the cells of a scope, the most trusted first."""
    query = "SELECT cell_id AS id, title, trust FROM cells WHERE scope = ? ORDER BY trust DESC, cell_id LIMIT ?"
    cells = [dict(row) for row in connection.execute(query, (request.scope, request.max_cells))]
    return Pack(cells, [], digest({"cells": cells, "experiences": []}), len(str(cells)))


def provide_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the small pack where the cycle looks, unless the real one is there."""
    name = "codeplane.memory.context_pack"
    if find_spec(name) is None:
        module = ModuleType(name)
        vars(module).update(PackRequest=PackRequest, build_pack=build_pack)
        monkeypatch.setitem(sys.modules, name, module)
