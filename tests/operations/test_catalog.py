"""The catalog knows every operation and imports those that are asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import codeplane.operations
from codeplane.core.errors import CodePlaneError
from codeplane.operations.cards import cards_of
from codeplane.operations.catalog import OPERATIONS, ROUTED, Catalog, module_of
from codeplane.operations.perform import Door
from support.doors import call, error_of

LIST_TOOLS = """
import sys
import codeplane.surfaces.server.embedded
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.profiles import profile_for
assert len(profile_for("core", OPERATIONS).tools) == 9
assert "search" in OPERATIONS and "nothing" not in OPERATIONS
print(*sys.modules)
"""
# What only calls need: the index, what edits, what judges commands, and the packages behind them.
FOR_CALLS = (
    "codeplane.edit.editor",
    "codeplane.git.state",
    "codeplane.govern.shell_risk.classifier",
    "codeplane.index.repository_index",
    "codeplane.ledger.retention",
    "codeplane.workspace.git_bracket",
    "tantivy",
    "tree_sitter",
    "zstandard",
)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_of_the_catalog_loads(name: str) -> None:
    assert OPERATIONS[name].name == name


def test_every_operation_that_is_written_is_in_the_catalog() -> None:
    modules = Path(codeplane.operations.__file__).parent.glob("*.py")
    written = {path.stem for path in modules if " = Operation(\n" in path.read_text(encoding="utf-8")}
    modules_of_catalog = {module_of(name) for name in OPERATIONS}
    assert written == {one.rpartition(".")[2] for one in modules_of_catalog if ".operations." in one}


def test_a_server_that_lists_its_tools_has_imported_nothing_that_only_calls_need() -> None:
    listed = subprocess.run([sys.executable, "-c", LIST_TOOLS], capture_output=True, text=True, check=True, timeout=60)
    imported = set(listed.stdout.split())
    assert "codeplane.surfaces.mcp.binding" in imported
    assert not imported & {*FOR_CALLS, *map(module_of, OPERATIONS)}


def test_the_cards_in_store_are_those_of_the_operations() -> None:
    assert cards_of(OPERATIONS) == cards_of(dict(OPERATIONS))


def test_an_operation_that_cannot_be_imported_is_an_answer(door: Door) -> None:
    broken = Door(door.workspace, Catalog(("not_written",)))
    assert error_of(call(broken, "not_written")) == "INTERNAL_ERROR"
    assert error_of(call(broken, "search")) == "UNKNOWN_OPERATION"
    with pytest.raises(CodePlaneError, match="not_written cannot be loaded"):
        broken.operations["not_written"]


def test_every_address_that_an_operation_declares_is_served() -> None:
    assert {name for name in OPERATIONS if OPERATIONS[name].routes} <= set(ROUTED)
