"""`cpl demo memory`: five phases on a temporary repository, each with its verdict."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.clock import ManualClock, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import CountingIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.demo_command import Say, make_sample
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_json
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

_NOW = "2026-01-15T12:00:00.000Z"
_LESSONS = (
    ("The order total is wrong for empty orders", "Return 0 before the sum", "The test passes"),
    ("The totals test needs a database", "Use the in-memory store", "It runs in a second"),
)


@dataclass(slots=True)
class _Agent:
    """An agent on its own door, and what it has learned of its session."""

    door: Door
    session: int = 0

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result.

        Raises:
            CodePlaneError: what the tool answered.
        """
        answer = dispatch(self.door, name, arguments, Caller(CallerKind.AGENT, "demo", "demo", "demo"))
        if answer.error is not None:
            raise CodePlaneError(answer.error.error, answer.error.message)
        result: dict[str, Any] = answer.envelope()["result"]
        return result

    def phase(self, phase: str, **given: Any) -> dict[str, Any]:
        """Carry out a phase of the cycle."""
        return self.call("guarded_cycle", session_id=self.session, phase=phase, input=given)


def play_memory_demo(say: Say) -> bool:
    """Play the five phases; tell whether all passed."""
    with tempfile.TemporaryDirectory(prefix="codeplane-demo-") as directory:
        root = Path(directory).resolve() / "orders"
        make_sample(root)
        request = WorkspaceRequest(root, ("logging.level=error",), ManualClock(ms_from_iso(_NOW)), CountingIds())
        with open_workspace(request) as workspace:
            agent = _Agent(Door(workspace, OPERATIONS))
            verdicts = [_passed(number, phase, agent, say) for number, phase in enumerate(_PHASES, start=1)]
            return all(verdicts)


def _passed(number: int, phase: Callable[[_Agent], str], agent: _Agent, say: Say) -> bool:
    try:
        say(phase(agent))
    except (CodePlaneError, AssertionError, KeyError, IndexError) as error:
        say(f"DEMO_FAIL_PHASE{number}: {error}")
        return False
    say(f"DEMO_PASS_PHASE{number}")
    return True


def _require(holds: object, what: str) -> None:
    if not holds:
        raise CodePlaneError("INTERNAL_ERROR", what)


def _record(agent: _Agent) -> str:
    for situation, approach, outcome in _LESSONS:
        done = agent.call(
            "record_experience", type="effective", domain="Debugging", situation=situation, approach=approach,
            outcome=outcome, reasoning="Seen in review", tags=["orders"], paths=["src/orders/totals.py"],
        )  # fmt: skip
        _require(done["recorded"], "a lesson was not recorded")
    again = agent.call(
        "record_experience", type="effective", domain="Debugging", situation=_LESSONS[0][0].upper(),
        approach=_LESSONS[0][1], outcome=_LESSONS[0][2], reasoning="Seen in review",
    )  # fmt: skip
    _require(again["duplicate_id"] == 1, "a duplicate was not recognised")
    return "Two lessons recorded; the third said the same as the first and became evidence."


def _find(agent: _Agent) -> str:
    found = agent.call("search_experiences", query="total of empty orders")
    _require(found["sure"] and found["results"][0]["id"] == 1, "the lesson was not found")
    other = agent.call("search_experiences", query="rotate the certificates of the cluster")
    _require(not other["sure"], "a question about something else was answered")
    return "A question finds its lesson; a question about something else is answered with nothing."


def _consolidate(agent: _Agent) -> str:
    done = agent.call("run_consolidation", threshold=1)
    again = agent.call("run_consolidation", threshold=1)
    _require(done["cells_created"] == 2 and again["idempotent"], "consolidation is not idempotent")
    return f"{done['processed']} episodes became {done['cells_created']} cells; a second run changed nothing."


def _cycle(agent: _Agent) -> str:
    agent.session = agent.call("compliance_snapshot")["session_id"]
    try:
        agent.phase("DRAFT", draft="too early")
    except CodePlaneError as error:
        _require(error.code == "PHASE_VIOLATION", error.message)
    agent.phase("ROUTER", user_input="Why is the total wrong?")
    packed = agent.phase("CONTEXT_PACK", paths=["src/orders/totals.py"])
    _require(packed["output"]["packed_cells"], "the pack is empty")
    agent.phase("DRAFT", draft="The total of an empty order must be 0.")
    response = agent.phase("FINALIZE_RESPONSE")["output"]
    return f"A phase out of order was blocked; the answer ends with {response['integrity_line']}."


def _govern(agent: _Agent) -> str:
    verdict: Mapping[str, Any] = agent.phase("GOVERNANCE_VALIDATE")["output"]
    _require(verdict["valid"], f"governance failed: {verdict.get('errors')}")
    agent.phase("MEMORY_UPDATE")
    _require(not agent.door.workspace.memory.database.problems(), "the store is damaged")
    return "The server validated the cycle itself, signed a receipt and a token, and remembered the outcome."


_PHASES = (_record, _find, _consolidate, _cycle, _govern)


@click.command("demo", short_help="Show memory at work on a temporary repository.")
@json_option
def command(as_json: bool) -> int:  # noqa: FBT001 - click passes flags by name.
    """Record, find, consolidate, run a guarded cycle and validate it, on a temporary repository."""
    return show_memory_demo(as_json=as_json)


def show_memory_demo(*, as_json: bool) -> int:
    """Play the demo and show it."""
    story: list[str] = []
    is_fine = play_memory_demo(story.append if as_json else print)
    if as_json:
        print_json({"story": story, "passed": is_fine})
    elif is_fine:
        print("All phases passed.")
    return OK if is_fine else FINDINGS
