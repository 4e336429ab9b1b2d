"""A planner that drives the controller: it reads, cites what it read, and builds plans of any size."""

import copy
from dataclasses import dataclass, field
from typing import Any

from codeplane.operations.perform import Door
from support.doors import call, result_of

RATES = 'def monthly_rate(amount):\n    """Return the rate."""\n    return round(amount / 12, 1)\n'
RATES_FILES: dict[str, str | bytes] = {
    "src/__init__.py": "",
    "src/billing/__init__.py": "",
    "src/billing/rates.py": RATES,
    "src/billing/notes.txt": "rates are rounded\n",
    "tests/test_rates.py": (
        "from src.billing.rates import monthly_rate\n\n\n"
        "def test_monthly_rate():\n    assert monthly_rate(1) == 0.0833\n"
    ),
    "conftest.py": "",
}
PROMPT = "Monthly rate is rounded wrongly for amounts below one cent."
PATCH = [{"type": "replace_text", "find": "round(amount / 12, 1)", "replace": "round(amount / 12, 4)"}]
TARGET = "src/billing/rates.py"


@dataclass
class Planner:
    """One run session of a work, as an agent drives it."""

    door: Door
    run_id: str = "run1"
    work_id: str = "w1"
    connection: str = "c1"
    last: dict[str, Any] = field(default_factory=dict)

    def turn(self, verb: Any, args: Any = None, **more: Any) -> dict[str, Any]:
        """Make a turn and return the whole envelope."""
        given = {"runSessionId": self.run_id, "workId": self.work_id, "agentId": "agent1", "verb": verb, **more}
        if args is not None:
            given["args"] = args
        self.last = result_of(call(self.door, "controller_turn", given, self.connection))
        return self.last

    def result(self, verb: str, **args: Any) -> dict[str, Any]:
        """Make a turn that must be allowed, and return its result."""
        response = self.turn(verb, args)
        assert response["denyReasons"] == [], response["result"]
        assert "error" not in response["result"], response["result"]
        found: dict[str, Any] = response["result"]
        return found

    def codes(self, verb: str, **args: Any) -> list[str]:
        """Make a turn and return its codes."""
        codes: list[str] = self.turn(verb, args)["denyReasons"]
        return codes

    def details(self) -> list[str]:
        """Return the details of the last turn's violations."""
        return [one["detail"] for one in self.last["result"].get("violations", ())]

    def start(self) -> str:
        """Give the prompt and return the reference of the turn that shows it."""
        return str(self.turn("get_original_prompt", originalPrompt=PROMPT)["traceRef"])

    def read(self, path: str = TARGET) -> dict[str, Any]:
        """Read a file and return it as code evidence."""
        found = self.result("read_file_lines", targetFile=path)
        return {
            "file": path,
            "startLine": 1,
            "endLine": max(1, found["totalLines"]),
            "contentHash": found["contentHash"],
            "traceRef": self.last["traceRef"],
        }

    def plan(self, **change: Any) -> dict[str, Any]:
        """Return a valid plan for the rates: change, validate, commit."""
        prompt = self.start()
        evidence = self.read()
        self.read("tests/test_rates.py")
        envelope = self.result("list_scoped_files")["planEnvelope"]
        strategy = self.last["knowledgeStrategy"]["strategyId"]
        nodes = [
            change_node("n1", TARGET, prompt, evidence, **change),
            check_node("n2", ["n1"]),
            commit_node("n3", ["n2"]),
        ]
        return {
            **envelope,
            "knowledgeStrategyId": strategy,
            "knowledgeStrategyReasons": [{"reason": "The prompt reports a wrong result.", "evidenceRef": prompt}],
            "sourceTraceRefs": [prompt, evidence["traceRef"]],
            "nodes": nodes,
        }

    def accepted(self, **change: Any) -> dict[str, Any]:
        """Submit a valid plan and return the accepted one."""
        plan: dict[str, Any] = self.result("submit_execution_plan", planGraph=self.plan(**change))["acceptedPlan"]
        return plan

    def patch(self, **more: Any) -> dict[str, Any]:
        """Apply the patch of n1."""
        return self.turn("apply_code_patch", {"planNodeId": "n1", "targetFile": TARGET, "edits": PATCH, **more})

    def validate(self) -> dict[str, Any]:
        """Run the hook of n2."""
        return self.turn("run_automation_recipe", recipe("n2", hookIds=["h2"]))

    def commit(self) -> dict[str, Any]:
        """Write the message and commit."""
        self.turn("write_scratch_file", {"relativePath": "message.txt", "content": "billing: four decimals"})
        return self.turn("execute_gated_side_effect", {"planNodeId": "n3", "sideEffectType": "git_commit"})


def recipe(node_id: str, recipe_id: str = "run_targeted_validation", **params: Any) -> dict[str, Any]:
    """Return the arguments of a recipe."""
    return {
        "recipeId": recipe_id,
        "planNodeId": node_id,
        "artifactBundleRef": "auto",
        "diffSummaryRef": "auto",
        "params": params,
    }


def change_node(node_id: str, path: str, prompt: str, evidence: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a change node for the rates."""
    return {
        **_common(node_id, [], f"file:{path}"),
        "kind": "change",
        "operation": "replace_text",
        "targetFile": path,
        "targetSymbols": ["monthly_rate"],
        "whyThisFile": "It holds the only function that computes the monthly rate.",
        "editIntent": {
            "summary": "Round the monthly rate to four decimals instead of one.",
            "anchors": [{"text": "round(amount / 12, 1)"}],
        },
        "citations": [{"sourceType": "prompt", "ref": "prompt:original", "traceRef": prompt}],
        "codeEvidence": [evidence],
        "verificationHooks": [hook("h1")],
        **more,
    }


def check_node(node_id: str, covers: list[str], **more: Any) -> dict[str, Any]:
    """Return a validate node."""
    return {
        **_common(node_id, covers, "check:rates"),
        "kind": "validate",
        "verificationHooks": [hook("h2")],
        "mapsToNodeIds": covers,
        "successCriteria": {"type": "exit_code", "equals": 0},
        **more,
    }


def commit_node(node_id: str, after: list[str], **more: Any) -> dict[str, Any]:
    """Return a side_effect node that commits."""
    return {
        **_common(node_id, after, "effect:gate-1"),
        "kind": "side_effect",
        "sideEffectType": "git_commit",
        "sideEffectPayloadRef": "scratch:message.txt",
        "commitGateId": "gate-1",
        **more,
    }


def hook(hook_id: str) -> dict[str, Any]:
    """Return a hook that runs the tests of the rates."""
    return {
        "hookId": hook_id,
        "kind": "test",
        "command": ["pytest", "-q", "tests/test_rates.py"],
        "covers": ["tests/test_rates.py"],
    }


def with_node(plan: dict[str, Any], place: int, **changes: Any) -> dict[str, Any]:
    """Return a copy of a plan with one node changed."""
    changed = copy.deepcopy(plan)
    changed["nodes"][place] |= changes
    return changed


def _common(node_id: str, depends_on: list[str], boundary: str) -> dict[str, Any]:
    return {
        "nodeId": node_id,
        "dependsOn": depends_on,
        "atomicityBoundary": boundary,
        "expectedFailureSignatures": [{"signature": "AssertionError", "meaning": "rounding still wrong"}],
        "correctionCandidateOnFail": "revert",
    }
