"""The map from requirements to tests is true."""

import ast
from pathlib import Path

import pytest

from requirements import REQUIREMENTS

TESTS = Path(__file__).resolve().parent


def _test_names() -> set[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in TESTS.rglob("test_*.py")]
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("requirement", sorted(REQUIREMENTS))
def test_every_requirement_names_tests_that_exist(requirement: str) -> None:
    assert set(REQUIREMENTS[requirement][1]) <= _test_names()
