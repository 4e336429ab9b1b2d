"""Attempts to get round the controller: nothing may be written, committed or counted that no accepted plan covers."""

import copy
import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_bytes
from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import call, error_of, open_test_workspace, result_of
from support.effort import repeated
from support.planner import PATCH, RATES_FILES, TARGET, Planner, check_node, commit_node, recipe, with_node
from support.repositories import git, make_repository

OUTSIDE = ("../x", "/etc/passwd", "src/../../x", ".git/config", ".codeplane/config.yaml", "src/*.py", "src\\x", "", ".")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = make_repository(tmp_path / "rates", RATES_FILES)
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    with open_test_workspace(root, ids=RandomIds()) as opened:
        yield opened


@pytest.fixture
def planner(workspace: Workspace) -> Planner:
    return Planner(Door(workspace, OPERATIONS))


def _tree(workspace: Workspace) -> tuple[str, str]:
    status = git(workspace.root, "status", "--porcelain", "-uall")
    return git(workspace.root, "rev-parse", "HEAD"), status + git(workspace.root, "diff")


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(plan: dict[str, Any]) -> None:
        owner: Any = plan
        *parents, last = path.split("/")
        for name in parents:
            owner = owner[int(name)] if isinstance(owner, list) else owner[name]
        owner[int(last) if isinstance(owner, list) else last] = value

    return change


# Plans that reach for more than they may; each must be refused.
PLANS: dict[str, Callable[[dict[str, Any]], None]] = {
    **{f"target {name!r}": _set("nodes/0/targetFile", name) for name in OUTSIDE},
    **{f"symbol {name!r}": _set("nodes/0/targetSymbols", [name]) for name in ("*", "monthly_?ate", "[a-z]*")},
    **{f"id {name!r}": _set("nodes/0/nodeId", name) for name in ("../n1", "n/1", "", "n" * 65, "-n")},
    **{f"gate {name!r}": _set("nodes/2/commitGateId", name) for name in ("../g", "", "g/1")},
    "another snapshot": _set("repoSnapshotId", "git:" + "0" * 40 + ":clean"),
    "another allowlist": _set("scopeAllowlistRef", "scope:000000000000"),
    "another root": _set("worktreeRoot", "/"),
    "another work": _set("workId", "w2"),
    "another session": _set("runSessionId", "run2"),
    "a forged fingerprint": _set("planFingerprint", "sha256:" + "0" * 64),
    "a forged pack": _set("contextPackHash", "sha256:" + "0" * 64),
    "a turn that never was": _set("nodes/0/codeEvidence/0/traceRef", "tr:run1:999"),
    "a turn of another session": _set("nodes/0/codeEvidence/0/traceRef", "tr:other:1"),
    "another content": _set("nodes/0/codeEvidence/0/contentHash", "sha256:" + "0" * 64),
    "lines that are not there": _set("nodes/0/codeEvidence/0/endLine", 999),
    "code that was not read": _set("nodes/0/codeEvidence/0/file", "conftest.py"),
    "an invented quote": _set("nodes/0/citations/0/quote", "We agreed on four decimals."),
    "an invented ticket": _set("nodes/0/citations", [{"sourceType": "jira", "ref": "PROJ-1", "traceRef": "tr:run1:1"}]),
    "an invented policy": _set("nodes/0/citations", [{"sourceType": "policy", "ref": "policy.x"}]),
    "an invented memory": _set("nodes/0/citations", [{"sourceType": "memory", "ref": "mem-1"}]),
    "no check": _set("nodes/1/mapsToNodeIds", []),
    "a check that does not run after": _set("nodes/1/dependsOn", []),
    "a check that always passes": _set("nodes/1/verificationHooks/0/command", ["true"]),
    "a lower minimum": _set("evidencePolicy/minCodeEvidenceSources", -1),
    "its own guard": _set("nodes/0/citations", []),
    "an effect that does not wait": _set("nodes/2/dependsOn", ["n1"]),
    "a cycle": _set("nodes/0/dependsOn", ["n3"]),
    "an unknown operation": _set("nodes/0/operation", "shell"),
    "an ambiguous anchor": _set("nodes/0/editIntent/anchors", [{"text": "r"}]),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_reaches_for_more_is_refused(planner: Planner, workspace: Workspace, name: str) -> None:
    before = _tree(workspace)
    plan = copy.deepcopy(planner.plan())
    PLANS[name](plan)
    response = planner.turn("submit_execution_plan", {"planGraph": plan})
    assert response["denyReasons"], name
    assert response["state"] == "PLAN_REQUIRED"
    assert planner.patch()["denyReasons"]
    assert _tree(workspace) == before


# Calls after acceptance that reach for more than the node allows; each must be denied and write nothing.
_OTHER = "tests/test_rates.py"
_CODEMOD = {"type": "codemod", "codemodId": "rename_identifier_in_file", "params": {"from": "amount", "to": "x"}}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"patch {name!r}": ("apply_code_patch", {"planNodeId": "n1", "targetFile": name, "edits": PATCH})
        for name in (*OUTSIDE, _OTHER, "new.py")
        if name
    },
    **{
        f"node {name!r}": ("apply_code_patch", {"planNodeId": name, "targetFile": TARGET, "edits": PATCH})
        for name in ("n2", "n3", "n9", "../n1")
    },
    "another type of edit": (
        "apply_code_patch",
        {"planNodeId": "n1", "targetFile": TARGET, "edits": [_CODEMOD]},
    ),
    "a text that is not there": (
        "apply_code_patch", {"planNodeId": "n1", "targetFile": TARGET, "edits": [{**PATCH[0], "find": "nothing"}]},
    ),
    "no change": (
        "apply_code_patch",
        {"planNodeId": "n1", "targetFile": TARGET, "edits": [{**PATCH[0], "replace": PATCH[0]["find"]}]},
    ),
    "commit at once": ("execute_gated_side_effect", {"planNodeId": "n3", "sideEffectType": "git_commit"}),
    "another effect": ("execute_gated_side_effect", {"planNodeId": "n3", "sideEffectType": "git_push"}),
    "an effect of a change": ("execute_gated_side_effect", {"planNodeId": "n1", "sideEffectType": "git_commit"}),
    "an unknown recipe": ("run_automation_recipe", recipe("n2", "rm_rf")),
    "an unknown hook": ("run_automation_recipe", recipe("n2", hookIds=["h9"])),
    "more parameters": ("run_automation_recipe", recipe("n2", hookIds=["h2"], shell="id")),
    "a foreign bundle": (
        "run_automation_recipe", {**recipe("n2", hookIds=["h2"]), "artifactBundleRef": "bundle:w9/n2/1"},
    ),
    "a recipe on another file": (
        "run_automation_recipe",
        recipe("n1", "replace_lexeme_in_file", **{"file": _OTHER, "from": "assert", "to": "x", "expectCount": 1}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_reaches_for_more_is_denied(planner: Planner, workspace: Workspace, name: str) -> None:
    planner.accepted()
    before = _tree(workspace)
    verb, args = CALLS[name]
    response = planner.turn(verb, args)
    assert response["denyReasons"] or "error" in response["result"]
    assert _tree(workspace) == before


SANDBOX = {
    "a loop": "while True:\n    pass",
    "memory": "x = [0]\nwhile True:\n    x = x + x\nreturn len(x)",
    "recursion": "def f(n):\n    return f(n + 1)\nreturn f(0)",
    "a file": "return open('/etc/passwd').read()",
    "an import": "import os\nreturn os.listdir('/')",
    "a process": "import subprocess\nreturn subprocess.run(['id'])",
    "a dunder": "return ().__class__.__bases__[0].__subclasses__()",
    "eval": "return eval('1+1')",
    "a placeholder": "return 'done'",
    "its own inputs": "return inputs",
    "another shape": "return [1]",
    "not Python": "return (",
    "a way out of the function": "return 1\nimport os",
    "a regex that backtracks": "import re\nreturn re.match('(a+)+$', 'a' * 40 + 'b') is None",
}


@pytest.mark.parametrize("name", SANDBOX)
def test_code_in_the_sandbox_does_no_harm(planner: Planner, workspace: Workspace, name: str) -> None:
    planner.accepted()
    before = _tree(workspace)
    args = {
        "planNodeId": "n1", "code": SANDBOX[name], "declaredInputs": {"a": 1}, "timeoutMs": 500, "memoryMb": 32,
        "expectedReturn": {"type": "object"},
    }  # fmt: skip
    response = planner.turn("run_sandboxed_code", args)
    assert response["denyReasons"] or "error" in response["result"]
    assert _tree(workspace) == before


def test_evidence_expires_with_the_file(planner: Planner, workspace: Workspace) -> None:
    plan = planner.plan()
    (workspace.root / TARGET).write_text(
        "def monthly_rate(amount):\n    return round(amount / 12, 1)\n", encoding="utf-8"
    )
    codes = planner.codes("submit_execution_plan", planGraph=plan)
    assert "PLAN_EVIDENCE_INSUFFICIENT" in codes
    assert "PLAN_SCOPE_VIOLATION" in codes


def test_a_symlink_that_appears_after_acceptance_is_not_followed(
    planner: Planner, workspace: Workspace, tmp_path: Path
) -> None:
    planner.accepted()
    outside = tmp_path / "outside.py"
    outside.write_text((workspace.root / TARGET).read_text(encoding="utf-8"), encoding="utf-8")
    (workspace.root / TARGET).unlink()
    (workspace.root / TARGET).symlink_to(outside)
    digest = sha256_bytes(outside.read_bytes())
    response = planner.patch()
    assert response["denyReasons"] or "error" in response["result"]
    assert sha256_bytes(outside.read_bytes()) == digest


def test_two_sessions_never_both_patch_a_file(planner: Planner) -> None:
    other = Planner(planner.door, "run2", "w2", "c2")
    planner.accepted()
    other.accepted()
    answers: list[dict[str, Any]] = []
    start = threading.Barrier(2)

    def patch(one: Planner, text: str) -> None:
        start.wait()
        answers.append(one.patch(edits=[{**PATCH[0], "replace": text}]))

    threads = [
        threading.Thread(target=patch, args=(planner, "round(amount / 12, 4)")),
        threading.Thread(target=patch, args=(other, "round(amount / 12, 5)")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [one for one in answers if not one["denyReasons"] and "error" not in one["result"]]
    assert len(done) == 1
    refused = next(one for one in answers if one not in done)
    assert refused["denyReasons"] == ["EXEC_SIDE_EFFECT_COLLISION"]


def test_a_gate_is_used_once_even_by_two_turns_at_once(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    planner.patch()
    planner.validate()
    planner.turn("write_scratch_file", {"relativePath": "message.txt", "content": "once"})
    n_before = len(git(workspace.root, "rev-list", "HEAD").split())
    args = {"planNodeId": "n3", "sideEffectType": "git_commit"}
    twins = [Planner(planner.door, connection=f"c{number}") for number in range(2)]
    threads = [threading.Thread(target=one.turn, args=("execute_gated_side_effect", args)) for one in twins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(git(workspace.root, "rev-list", "HEAD").split()) == n_before + 1
    assert sorted(len(one.last["denyReasons"]) for one in twins) == [0, 1]


def test_a_node_that_fails_three_times_is_exhausted_and_two_end_the_run(planner: Planner) -> None:
    broken = [{**PATCH[0], "replace": "round(amount / 12, 4"}]
    planner.accepted()
    for _ in range(3):
        assert planner.patch(edits=broken)["result"]["error"]["kind"] == "syntax_error"
    assert planner.patch()["denyReasons"] == ["PLAN_SCOPE_VIOLATION"]
    assert planner.details() == ["node_exhausted"]


def test_a_planted_token_is_in_no_answer_and_no_file(planner: Planner, workspace: Workspace) -> None:
    token = "ghp_" + "Ab1" * 12
    planner.accepted()
    planner.turn("write_scratch_file", {"relativePath": "n.txt", "content": "x"})
    response = planner.turn(
        "run_sandboxed_code", {"planNodeId": "n1", "code": f"return {{'t': '{token}'}}"}, originalPrompt="again"
    )
    assert token not in json.dumps(response)
    place = workspace.places.private / "work"
    texts = [one.read_text(encoding="utf-8", errors="replace") for one in place.rglob("*") if one.is_file()]
    assert not any(token in text for text in texts)


def _values(random_source: random.Random) -> Any:
    return random_source.choice(
        [
            None,
            True,
            -1,
            0,
            10**30,
            1.5,
            "",
            " ",
            "x" * 5_000,
            "../x",
            "\0",
            "\ud800x"[1:],
            [],
            [[]],
            {},
            {"a": {}},
            "auto",
        ]
    )


@pytest.mark.slow
def test_random_turns_are_always_answered_and_change_nothing(planner: Planner, workspace: Workspace) -> None:
    source = random.Random(7)
    before = _tree(workspace)
    verbs = [*_VERBS, "nonsense"]
    plan = planner.plan()
    for number in range(repeated(40)):
        args = {name: _values(source) for name in source.sample(_NAMES, 4)}
        if source.random() < 0.3:
            args["planGraph"] = with_node(plan, source.randrange(3), **{source.choice(_FIELDS): _values(source)})
        one = Planner(planner.door, f"r{number}", f"w{number}")
        answer = call(
            one.door, "controller_turn", {"runSessionId": f"r{number}", "verb": source.choice(verbs), "args": args}
        )
        if answer.error is None:
            assert set(result_of(answer)) >= {"state", "denyReasons", "result", "traceRef"}
        else:
            # Refused before the turn: a number that JSON cannot carry.
            assert error_of(answer) == "INVALID_ARGUMENTS"
    assert _tree(workspace) == before


_VERBS = (
    "list_available_verbs", "list_scoped_files", "list_directory_contents", "read_file_lines",
    "lookup_symbol_definition", "trace_symbol_graph", "search_codebase_text", "fetch_jira_ticket", "fetch_api_spec",
    "get_original_prompt", "write_scratch_file", "submit_execution_plan", "request_evidence_guidance",
    "apply_code_patch", "run_sandboxed_code", "execute_gated_side_effect", "run_automation_recipe",
)  # fmt: skip
_NAMES = (
    "targetDir", "targetFile", "startLine", "endLine", "symbol", "query", "depth", "limit", "pattern", "regex",
    "ticketKey", "specUrl", "relativePath", "content", "planGraph", "blockingReasons", "planNodeId", "edits", "code",
    "sideEffectType", "recipeId", "params", "cursor", "prefix",
)  # fmt: skip
_FIELDS = (
    "targetFile", "targetSymbols", "editIntent", "citations", "codeEvidence", "verificationHooks", "dependsOn",
    "nodeId", "kind", "atomicityBoundary", "operation",
)  # fmt: skip


def test_a_plan_of_a_thousand_nodes_is_answered(planner: Planner) -> None:
    plan = planner.plan()
    more = [check_node(f"c{number}", ["n1"]) for number in range(1_000)]
    plan["nodes"] = [plan["nodes"][0], *more, commit_node("n3", ["c0"])]
    response = planner.turn("submit_execution_plan", {"planGraph": plan})
    assert response["denyReasons"] == ["PLAN_SCOPE_VIOLATION"] or response["result"]["accepted"]
