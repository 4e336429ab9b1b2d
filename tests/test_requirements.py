"""The map from requirements to tests is true."""

import ast
from pathlib import Path

from requirements import REQUIREMENTS

TESTS = Path(__file__).resolve().parent


def test_every_requirement_names_tests_that_exist() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in TESTS.rglob("test_*.py")]
    known = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    missing = {key: sorted(set(names) - known) for key, (_, names) in REQUIREMENTS.items()}
    assert {key: names for key, names in missing.items() if names} == {}
