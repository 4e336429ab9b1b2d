"""Repositories with intents, and people who answer."""

from pathlib import Path

from codeplane.govern.approvals import PersonsAnswer
from codeplane.govern.intents import INTENTS_FILE
from codeplane.workspace.workspace import Workspace
from support.repositories import write

INTENTS = """\
active_intents:
  - id: INT-001
    name: JSON provider clean-up
    status: active
    owned_scope: ["src/json/**", "tests/test_json.py"]
    constraints: ["public API unchanged"]
    acceptance_criteria: ["tests/test_json.py passes"]
    requirements: [REQ-12]
  - id: INT-002
    name: Payments
    status: active
    owned_scope: ["src/payments/**"]
  - id: INT-003
    name: Old work
    status: done
    owned_scope: ["**"]
"""

FILES: dict[str, str | bytes] = {
    "src/json/provider.py": "def dumps(value):\n    return str(value)\n",
    "src/json/old.py": "X = 1\n",
    "src/payments/index.py": "RATE = 2\n",
    "tests/test_json.py": "def test_it():\n    assert True\n",
    "README.md": "# Sample\n",
}


def write_intents(root: Path, text: str = INTENTS) -> None:
    """Write the intents file."""
    write(root, {INTENTS_FILE: text})


def approve(workspace: Workspace, hold_id: str, **said: object) -> None:
    """Answer as a person would."""
    answer = PersonsAnswer(**{"approves": True, "by": "test", **said})  # type: ignore[arg-type]  # test shorthand
    workspace.gate.approvals.decide(hold_id, answer)
