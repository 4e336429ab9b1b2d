"""`cpl demo govern`: the governance specification's demo script, played on a temporary repository with two agents."""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent

from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.one_call import run_once
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller
from codeplane.surfaces.cli.demo_command import Say, make_sample
from codeplane.surfaces.server.embedded import start_embedded
from codeplane.surfaces.server.facts import read_facts
from codeplane.surfaces.server.operator_token import operator_token
from codeplane.workspace.workspace import WorkspaceRequest, locate_places, open_workspace

_INTENTS_FILE = ".orchestration/active_intents.yaml"
_INTENTS = """\
active_intents:
  - id: INT-001
    name: Totals with tax
    status: active
    owned_scope: ["src/orders/**", "tests/test_totals.py"]
    constraints: ["public API unchanged"]
    acceptance_criteria: ["tests/test_totals.py passes"]
    requirements: [REQ-12]
"""
_FILE = "src/orders/totals.py"
_REFACTORING = MappingProxyType({"path": _FILE, "expected_content": "return sum(", "new_content": "return +sum("})
_OUTSIDE = MappingProxyType({"path": "README.md", "expected_content": "# Orders", "new_content": "# Payments"})
_WIDTH = 160
_DELETION = MappingProxyType({"path": "tests/test_totals.py", "action": "delete"})


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step of the script: what was tried, what came of it, and whether that is what has to come."""

    name: str
    told: str
    is_as_specified: bool


def play_govern_demo(say: Say) -> list[DemoStep]:
    """Play the script and return its steps."""
    with tempfile.TemporaryDirectory(prefix="codeplane-demo-") as directory:
        root = Path(directory).resolve() / "orders"
        make_sample(root)
        (root / _INTENTS_FILE).parent.mkdir()
        (root / _INTENTS_FILE).write_text(_INTENTS, encoding="utf-8")
        server = start_embedded(str(root), ("logging.level=error",))
        if server is None:
            raise CodePlaneError("SERVER_ALREADY_RUNNING")
        steps: list[DemoStep] = []
        try:
            asyncio.run(_script(root, _Teller(say, steps)))
        finally:
            server.stop()
        return steps


@dataclass(frozen=True, slots=True)
class _Teller:
    say: Say
    steps: list[DemoStep]

    def tell(self, name: str, told: str, *, is_as_specified: bool) -> None:
        """Say what came of a step and keep it."""
        self.steps.append(DemoStep(name, told, is_as_specified))
        mark = "ok" if is_as_specified else "NOT AS SPECIFIED"
        first, *rest = told.splitlines() or [""]
        self.say(f"{len(self.steps)}. {name}: {mark}")
        for line in [first, *rest][:12]:
            self.say(f"   {line if len(line) <= _WIDTH else line[: _WIDTH - 2] + ' …'}")


async def _script(root: Path, teller: _Teller) -> None:
    facts = None
    while facts is None:
        await asyncio.sleep(0.02)
        facts = read_facts(locate_places(root))
    teller.tell(f"{_INTENTS_FILE} with INT-001", _INTENTS, is_as_specified=(root / _INTENTS_FILE).is_file())
    async with Client(facts.mcp_url) as agent, Client(facts.mcp_url) as other:
        text, _ = await _call(agent, "write_source", {"edits": [dict(_REFACTORING)]})
        teller.tell("a change without an intent is refused", text, is_as_specified="INTENT_REQUIRED" in text)
        text, _ = await _call(agent, "select_active_intent", {"intent_id": "INT-001"})
        teller.tell("the handshake", text, is_as_specified=text.startswith("<intent_context"))
        sha256 = await _hash(agent)
        text, meta = await _call(agent, "write_source", {"edits": [dict(_REFACTORING)]})
        row = _row(root, str(meta.get("request_id")))
        hashes = ", ".join(f"{path} is now {content[:12]}" for path, content in (row.get("after") or {}).items())
        told = f"on record: {row.get('intent')}, by an {row.get('caller')}, {row.get('mutation_class')}; {hashes}"
        is_complete = row.get("intent") == "INT-001" and bool(row.get("after"))
        teller.tell("a change in scope is made and recorded", f"{text}\n{told}", is_as_specified=is_complete)
        text, _ = await _call(agent, "write_source", {"edits": [dict(_OUTSIDE)]})
        teller.tell("a change out of scope is refused", text, is_as_specified="SCOPE_VIOLATION" in text)
        await _call(other, "select_active_intent", {"intent_id": "INT-001"})
        stale = [{"path": _FILE, "expected_file_sha256": sha256, "start_line": 1, "new_content": "X = 1\n"}]
        text, _ = await _call(other, "write_source", {"edits": stale})
        teller.tell("a write over another agent's change is refused", text, is_as_specified="STALE_FILE" in text)
        await _approval(root, agent, teller)


async def _approval(root: Path, agent: Client, teller: _Teller) -> None:
    text, meta = await _call(agent, "write_source", {"edits": [dict(_DELETION)]})
    hold_id = str(meta.get("hold_id"))
    is_held = "APPROVAL_PENDING" in text and (root / "tests/test_totals.py").exists()
    teller.tell("a deletion waits for a person", text, is_as_specified=is_held)
    await asyncio.to_thread(_approve, root, hold_id)
    text, meta = await _call(agent, "write_source", {"edits": [dict(_DELETION)]})
    is_done = not (root / "tests/test_totals.py").exists()
    teller.tell("approved by the person, it runs", text, is_as_specified=is_done)
    found = _looked_up(root, "explain_call", {"call_or_row": str(meta.get("request_id"))})
    decision = found["decision"]
    outcome = "the same" if found["is_same"] else "not the same"
    told = f"{decision['policy']}: {decision['verdict']}; decided again from the record: {outcome}"
    teller.tell("every decision can be explained", told, is_as_specified=found["is_same"])


def _approve(root: Path, hold_id: str) -> None:
    """Answer as the person who owns this account does, with the operator token over REST."""
    import urllib.request  # noqa: PLC0415 - only here, and it takes 60 ms

    facts = read_facts(locate_places(root))
    token = operator_token(locate_places(root).user.operator_token)
    if facts is None:
        raise CodePlaneError("SERVER_LOST")
    request = urllib.request.Request(  # noqa: S310 - our own server on loopback
        f"{facts.url}/approvals/{hold_id}/approve", b"{}", {"authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        answer.read()


async def _call(agent: Client, tool: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    answer: CallToolResult = await agent.call_tool(tool, dict(arguments))
    text = answer.content[0].text if answer.content and isinstance(answer.content[0], TextContent) else ""
    meta = dict(answer.meta or {})
    error = meta.get("codeplane/error") or {}
    return text, {**(meta.get("codeplane/meta") or {}), **(error.get("details") or {})}


async def _hash(agent: Client) -> str:
    text, _ = await _call(agent, "read_source", {"targets": _FILE})
    return text.splitlines()[0].rpartition("sha256=")[2]


def _row(root: Path, call_id: str) -> dict[str, Any]:
    rows = _looked_up(root, "show_rows", {"row_or_call": call_id})["rows"]
    return next((row["body"] for row in rows if row["kind"] == "finished"), {})


def _looked_up(root: Path, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with open_workspace(WorkspaceRequest(root)) as workspace:
        answer = run_once(Door(workspace, OPERATIONS), operation, arguments, cli_caller(workspace))
    return answer.result.model_dump() if answer.result is not None else {}
