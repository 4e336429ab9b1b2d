"""`cpl demo dashboard`: a sample repository with a day of several agents behind it, and its pages."""

import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from codeplane.controller.evaluation import GoldenTask, base, golden_tasks, play
from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.output import print_json
from codeplane.surfaces.server.client import post_json
from codeplane.surfaces.server.facts import ServerFacts
from codeplane.surfaces.server.foreground import serve_in_foreground
from codeplane.surfaces.server.operator_token import operator_token
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, ensure_ignore_file, open_workspace

_DAY_SECONDS: Final = 7 * 3600
_IDENTITY: Final = (("user.name", "Demo"), ("user.email", "demo@example.invalid"))
_FILES: Final[Mapping[str, str]] = {
    "README.md": "# Orders\n\nA small order service.\n",
    "src/orders/__init__.py": "",
    "src/orders/totals.py": (
        '"""Totals of an order."""\n\n\ndef total(lines):\n'
        '    """Return the sum of quantity times price."""\n'
        "    return sum(quantity * price for quantity, price in lines)\n"
    ),
    "src/orders/discounts.py": (
        '"""Discounts by customer."""\n\n\ndef discount(customer, amount):\n'
        '    """Return what a customer saves."""\n'
        "    return amount * customer.rate\n"
    ),
    "src/payments/__init__.py": "",
    "src/payments/gateway.py": "def charge(card, amount):\n    raise NotImplementedError\n",
    "tests/test_totals.py": (
        "import unittest\n\nfrom src.orders.totals import total\n\n\nclass Totals(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([(2, 5)]), 10)\n\n"
        "    def test_empty(self):\n        self.assertEqual(total([]), 0)\n"
    ),
}
# Name, scope, constraints, how it is known to be done, requirement, status.
_INTENTS: Final = (
    ("Totals with tax", ["src/orders/**", "tests/test_totals.py"], "the signature of total() stays", "REQ-12"),
    ("Discounts by customer group", ["src/orders/discounts.py"], "no database call", "REQ-15"),
    ("Retry failed payments", ["src/payments/**"], "no card number in a log", "REQ-21"),
)
_TAXED: Final = "    return round(sum(quantity * price for quantity, price in lines) * 1.19, 2)"
_TOTALS: Final = "src/orders/totals.py"
_DISCOUNTS: Final = "src/orders/discounts.py"
_SUM: Final = "    return sum(quantity * price for quantity, price in lines)"
_TOTALS_TEST: Final = {"target_filter": ["tests/test_totals.py"]}


def _edit(path: str, before: str, after: str) -> dict[str, Any]:
    return {"edits": [{"path": path, "expected_content": before, "new_content": after}]}


# Who calls what after how many minutes; the last part lets a held call run for that scope.
_Call = tuple[str, float, str, Mapping[str, Any], str]
_CALLS: Final[Sequence[_Call]] = (
    ("claude-code", 4, "describe", {}, ""),
    ("claude-code", 1, "write_source", _edit(_TOTALS, _SUM, _TAXED), ""),
    ("claude-code", 1, "select_active_intent", {"intent_id": "INT-001"}, ""),
    ("claude-code", 1, "search", {"query": "total", "mode": "references"}, ""),
    ("claude-code", 1, "read_source", {"targets": [_TOTALS, "tests/test_totals.py"]}, ""),
    ("claude-code", 3, "write_source", _edit(_TOTALS, _SUM, _TAXED), ""),
    ("claude-code", 1, "run_test_targets", _TOTALS_TEST, "session"),
    (
        "claude-code", 4, "write_source",
        _edit("tests/test_totals.py", "total([(2, 5)]), 10)", "total([(2, 5)]), 11.9)"), "",
    ),
    ("claude-code", 1, "run_test_targets", _TOTALS_TEST, ""),
    ("claude-code", 1, "git_diff", {}, ""),
    (
        "claude-code", 2, "git_stage_and_commit",
        {"message": "Totals include tax", "paths": [_TOTALS, "tests/test_totals.py"]}, "once",
    ),
    ("cursor", 21, "describe", {}, ""),
    ("cursor", 1, "select_active_intent", {"intent_id": "INT-002"}, ""),
    ("cursor", 1, "read_source", {"targets": [_DISCOUNTS]}, ""),
    ("cursor", 2, "write_source", _edit(_TOTALS, _TAXED, _TAXED + "  # net"), ""),
    ("cursor", 1, "write_source", _edit("src/payments/gateway.py", "raise NotImplementedError", "pass"), ""),
    (
        "cursor", 4, "write_source",
        _edit(
            _DISCOUNTS, "    return amount * customer.rate",
            '    if customer.group == "staff":\n        return amount * 0.3\n    return amount * customer.rate',
        ), "",
    ),
    ("cursor", 1, "git_diff", {}, ""),
    ("codex", 38, "describe", {}, ""),
    ("codex", 1, "search", {"query": "charge"}, ""),
    ("codex", 1, "read_source", {"targets": ["src/payments/gateway.py", "src/payments/retry.py"]}, ""),
    ("codex", 1, "select_active_intent", {"intent_id": "INT-003"}, ""),
    (
        "codex", 5, "write_source",
        {"edits": [{
            "path": "src/payments/retry.py", "action": "create",
            "content": "def retry(work, times=3):\n    for _ in range(times):\n        work()\n",
        }]}, "",
    ),
    (
        "codex", 3, "write_source",
        {"edits": [{
            "path": "tests/test_retry.py", "action": "create",
            "content": "import unittest\n\n\nclass Retry(unittest.TestCase):\n    def test_it(self):\n        pass\n",
        }]}, "",
    ),
    ("gemini-cli", 33, "describe", {}, ""),
    ("gemini-cli", 1, "search", {"query": "1.19"}, ""),
    ("gemini-cli", 1, "read_source", {"targets": [_TOTALS]}, ""),
)  # fmt: skip
# The last quarter of an hour.
_LAST_SECONDS: Final = 900
_LAST_CALLS: Final[Sequence[_Call]] = (
    ("gemini-cli", 0, "select_active_intent", {"intent_id": "INT-001"}, ""),
    ("gemini-cli", 0.5, "write_source", _edit(_TOTALS, "* 1.19, 2)", "* 1.19)"), ""),
    ("gemini-cli", 0.5, "run_test_targets", _TOTALS_TEST, "session"),
    ("gemini-cli", 1, "write_source", _edit(_TOTALS, "* 1.19)", "* 1.2)"), ""),
    ("gemini-cli", 0.5, "run_test_targets", _TOTALS_TEST, ""),
    ("codex", 1, "select_active_intent", {"intent_id": "INT-003"}, ""),
    ("codex", 0.5, "read_source", {"targets": ["src/payments/retry.py"]}, ""),
    ("gemini-cli", 0.5, "write_source", _edit(_TOTALS, "* 1.2)", "* 1.2 )"), ""),
    ("gemini-cli", 0.5, "run_test_targets", _TOTALS_TEST, ""),
    ("codex", 0.5, "write_source", _edit("src/payments/retry.py", "times=3", "times=5"), ""),
    ("codex", 0.5, "git_push", {}, ""),
    ("codex", 0.5, "read_source", {"targets": [".env"]}, ""),
    ("claude-code", 1, "select_active_intent", {"intent_id": "INT-001"}, ""),
    ("claude-code", 0.5, "map_repo", {}, ""),
    ("claude-code", 0.5, "read_source", {"targets": [_DISCOUNTS]}, ""),
    ("cursor", 1, "search", {"query": "discount"}, ""),
    ("claude-code", 1, "write_source", {"edits": [{"path": _DISCOUNTS, "action": "delete"}]}, ""),
    ("cursor", 0.5, "select_active_intent", {"intent_id": "INT-002"}, ""),
    ("cursor", 0.5, "git_reset", {"ref": "HEAD~1", "mode": "hard"}, ""),
    ("gemini-cli", 0.5, "write_source", _edit(_TOTALS, "* 1.2 )", "* 1.19, 2)"), ""),
    ("gemini-cli", 0.5, "git_diff", {}, ""),
)  # fmt: skip
_LESSONS: Final = (
    ("The order total is wrong for empty orders", "Return 0 before the sum", "The test passes", _TOTALS),
    ("The totals test needs a database", "Use the in-memory store", "It runs in a second", "tests/test_totals.py"),
    ("A discount was taken twice", "Round once, at the end", "Totals agree with the invoice", _DISCOUNTS),
    ("A payment was charged twice on a retry", "Send an idempotency key", "One charge", "src/payments/gateway.py"),
)


@dataclass
class _DemoClock:
    """A clock that is behind by what is left of the day, and catches up while the day is played."""

    behind_seconds: float = _DAY_SECONDS

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 - round(self.behind_seconds * 1000)

    def monotonic(self) -> float:
        return time.monotonic() + _DAY_SECONDS - self.behind_seconds

    def pass_minutes(self, minutes: float) -> None:
        """Let time pass, never beyond the present."""
        self.behind_seconds = max(0.0, self.behind_seconds - 60 * minutes)


@dataclass
class _Day:
    """The agents of the day and the person who answers them."""

    workspace: Workspace
    clock: _DemoClock
    door: Door = field(init=False)

    def __post_init__(self) -> None:
        self.door = Door(self.workspace, OPERATIONS)

    def play(self, calls: Sequence[_Call]) -> None:
        """Make calls one after the other."""
        for agent, minutes, operation, arguments, approve in calls:
            self.clock.pass_minutes(minutes)
            self.agent(agent, operation, arguments, approve)

    def agent(self, name: str, operation: str, arguments: Mapping[str, Any], approve: str = "") -> Answer:
        """Make a call of an agent; a held one is approved and made again if the script says so."""
        caller = Caller(CallerKind.AGENT, "mcp-http", f"demo:{name}", name)
        answer = dispatch(self.door, operation, arguments, caller)
        hold = answer.error.details.get("hold_id") if answer.error is not None else None
        if hold is None or not approve:
            return answer
        self.clock.pass_minutes(0.5)
        self.person("approve_calls", {"hold_ids": [hold], "scope": approve, "comment": "Go ahead."})
        return dispatch(self.door, operation, arguments, caller)

    def person(self, operation: str, arguments: Mapping[str, Any]) -> Answer:
        """Make a call of the person who owns the repository."""
        caller = Caller(CallerKind.PERSON, "cli", "demo:person", "cpl", proof="the demo's own repository")
        answer = dispatch(self.door, operation, arguments, caller)
        if answer.error is not None:
            raise CodePlaneError(answer.error.error, answer.error.message)
        return answer

    def turn(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a turn of the controller."""
        self.clock.pass_minutes(0.7)
        answer = self.agent("opencode", "controller_turn", given)
        if answer.error is not None:
            raise CodePlaneError(answer.error.error, answer.error.message)
        found: dict[str, Any] = answer.envelope()["result"]
        return found


def play_day(root: Path) -> Workspace:
    """Make the sample repository, play the day in it and return its open workspace."""
    _make_sample(root)
    clock = _DemoClock()
    workspace = open_workspace(WorkspaceRequest(root, ("logging.level=error",), clock))
    ensure_ignore_file(workspace.places)
    day = _Day(workspace, clock)
    _play_controller(day)
    _play_memory(day)
    for number, (name, scope, constraint, requirement) in enumerate(_INTENTS, 1):
        given = {
            "intent_id": f"INT-{number:03}",
            "name": name,
            "owned_scope": scope,
            "constraints": [constraint],
            "requirements": [requirement],
        }
        day.person("add_intent", {**given, "acceptance_criteria": ["the tests pass"]})
    for agent in ("claude", "codex"):
        day.person("connect_agent", {"agent": agent, "is_confirmed": True})
    day.play(_CALLS)
    clock.behind_seconds = min(clock.behind_seconds, _LAST_SECONDS)
    day.play(_LAST_CALLS)
    clock.behind_seconds = 0.0
    return workspace


def _play_controller(day: _Day) -> None:
    """A model gets its plan wrong, is told what to do, and succeeds."""
    vague = [{"path": "/nodes/0/editIntent/summary", "value": "Change the rounding as needed."}]
    never_read = [{"path": "/nodes/0/codeEvidence/0/traceRef", "value": "tr:demo:99"}]
    for run, faults in (("plan-1", vague), ("plan-2", never_read), ("plan-3", vague), ("plan-4", vague)):

        def named(given: Mapping[str, Any], run: str = run) -> dict[str, Any]:
            return day.turn({**given, "runSessionId": run, "workId": "rounding"})

        play(GoldenTask(run, run, ({"plan": faults},), {}, 1), named)
    play(next(one for one in golden_tasks() if one.task_id == "G01"), day.turn)


def _play_memory(day: _Day) -> None:
    for number, (situation, approach, outcome, path) in enumerate(_LESSONS):
        given: dict[str, Any] = {
            "situation": situation,
            "approach": approach,
            "outcome": outcome,
            "reasoning": "Seen in review",
        }
        domain = ("Debugging", "Tools", "Process", "Decision")[number]
        day.clock.pass_minutes(3)
        given |= {"type": "effective", "domain": domain, "tags": ["orders"], "paths": [path]}
        day.agent("claude-code", "record_experience", given)
    day.agent("claude-code", "run_consolidation", {"threshold": 1})
    day.agent("claude-code", "search_experiences", {"query": "order total"})
    day.agent("claude-code", "context_pack", {"query": "total of an order", "paths": [_TOTALS]})


def _make_sample(root: Path) -> None:
    for name, text in (*base()["files"].items(), *_FILES.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings = [("config", name, value) for name, value in _IDENTITY]
    for arguments in (("init", "-q", "-b", "main"), *settings, ("add", "-A"), ("commit", "-q", "-m", "First")):
        result = run_process(ProcessRequest(argv=("git", *arguments), cwd=root, timeout_seconds=30))
        if result.returncode:
            raise CodePlaneError("GIT_FAILED", f"git {arguments[0]} failed: {result.stderr_text.strip()}")


def show_dashboard_demo(*, only_print: bool, as_json: bool) -> None:
    """Play the day, serve its repository until Ctrl+C and open the dashboard, or only print its address."""
    with tempfile.TemporaryDirectory(prefix="codeplane-demo-") as directory:
        if not as_json:
            _say("A sample repository is made, and agents work in it for a day …")
        workspace = play_day(Path(directory).resolve() / "orders")

        def tell(facts: ServerFacts) -> None:
            token = operator_token(workspace.places.user.operator_token)
            address = str(post_json(facts, "/dashboard/login-links", token)["url"])
            if as_json:
                print_json({"url": address})
                sys.stdout.flush()
                return
            _say(f"The dashboard: {address}")
            _say("The address works once, within two minutes. Ctrl+C ends the demo.")
            if not only_print and not webbrowser.open(address):
                _say("There is no browser here; open the address yourself.")

        # The server answers only when the announcement has returned.
        serve_in_foreground(workspace, lambda facts: threading.Thread(target=tell, args=(facts,), daemon=True).start())


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
