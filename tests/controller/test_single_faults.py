"""A plan with one fault gets one code: random faults in valid plans of random shape."""

import copy
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from codeplane.controller.codes import Code
from codeplane.controller.fields import ENVELOPE, NODE_FIELDS, Field, Shape
from codeplane.controller.validation import validate_plan
from support.effort import repeated
from support.plans import contract_plan, contract_world

Document = dict[str, Any]
Fault = Callable[[Document, random.Random], None]
WORLD = contract_world()
# Nothing but a plan's own words can make these codes appear in the fixture world.
OF_THE_WORLD = {Code.PACK, Code.COLLISION, Code.ORIGIN, Code.FEDERATION, Code.CONTRACT, Code.CONFIDENCE}


def valid_plan(chance: random.Random) -> Document:
    """Return a valid plan with a chain of changes to one file, each with its check, and perhaps an effect."""
    source = contract_plan()
    change, check, question, effect = source["nodes"]
    nodes: list[Document] = []
    last: list[str] = []
    for number in range(chance.randint(1, 4)):
        one = {**copy.deepcopy(change), "nodeId": f"c{number}", "dependsOn": list(last)}
        proof = {**copy.deepcopy(check), "nodeId": f"v{number}", "dependsOn": [f"c{number}"]}
        proof["mapsToNodeIds"] = [f"c{number}"]
        last = [f"v{number}"]
        nodes += [one, proof]
    for extra in (question, effect):
        if chance.random() < 0.7:
            nodes.append({**copy.deepcopy(extra), "dependsOn": list(last)})
    chance.shuffle(nodes)
    return {**source, "nodes": nodes}


def _node(plan: Document, chance: random.Random, kind: str) -> Document:
    nodes: list[Document] = [node for node in plan["nodes"] if node["kind"] == kind]
    return chance.choice(nodes)


def _lose_field(plan: Document, chance: random.Random) -> None:
    owner: Document = plan
    fields: tuple[Field, ...] = ENVELOPE
    if chance.random() < 0.7:
        owner = chance.choice(plan["nodes"])
        fields = NODE_FIELDS[owner["kind"]]
    field = chance.choice([one for one in fields if one.is_required])
    values: list[Any] = [None, 1.5, "", " \t"]
    if field.shape is not Shape.VALUE:
        values += [7 if field.shape is not Shape.COUNT else "7", {"a": []} if field.shape is Shape.TEXT else True, [[]]]
    value = chance.choice(["missing", *values])
    if value == "missing":
        del owner[field.name]
    else:
        owner[field.name] = value


def _set(kind: str, name: str, *values: Any) -> Fault:
    def fault(plan: Document, chance: random.Random) -> None:
        _node(plan, chance, kind)[name] = copy.deepcopy(chance.choice(values))

    return fault


def _set_intent(name: str, *values: Any) -> Fault:
    def fault(plan: Document, chance: random.Random) -> None:
        _node(plan, chance, "change")["editIntent"][name] = chance.choice(values)

    return fault


def _set_plan(name: str, *values: Any) -> Fault:
    def fault(plan: Document, chance: random.Random) -> None:
        plan[name] = chance.choice(values)

    return fault


def _spoil_evidence(plan: Document, chance: random.Random) -> None:
    node = _node(plan, chance, "change")
    name, value = chance.choice(
        [
            ("contentHash", "sha256:old"),
            ("traceRef", "tr:run1:99"),
            ("traceRef", "tr:run1:3"),
            ("endLine", 10),
            ("startLine", 0),
            ("file", "src/gone.py"),
        ]
    )
    node["codeEvidence"][0][name] = value


def _forge_citation(plan: Document, chance: random.Random) -> None:
    node = _node(plan, chance, "change")
    node["citations"][0][chance.choice(["ref", "traceRef", "quote"])] = "never seen"


def _cite_expired(plan: Document, chance: random.Random) -> None:
    _node(plan, chance, "change")["citations"].append({"sourceType": "memory", "ref": "mem-expired-1"})


def _break_order(plan: Document, chance: random.Random) -> None:
    _node(plan, chance, "validate")["dependsOn"] = []


def _loop(plan: Document, chance: random.Random) -> None:
    first = next(node for node in plan["nodes"] if node["nodeId"] == "c0")
    first["dependsOn"] = [chance.choice(["c0", "v0", "nobody"])]


def _drop_gate(plan: Document, chance: random.Random) -> None:
    del _node(plan, chance, "side_effect")["commitGateId"]


FAULTS: tuple[tuple[Code, Fault], ...] = (
    (Code.MISSING_FIELDS, _lose_field),
    (Code.MISSING_FIELDS, _loop),
    (Code.MISSING_FIELDS, _set("change", "operation", "edit", "codemod:", "codemod:a/b")),
    (Code.MISSING_FIELDS, _set_plan("planFingerprint", "sha256:00")),
    (Code.MISSING_FIELDS, _set_plan("schemaVersion", "1.0.1", "2")),
    (Code.SCOPE, _set("change", "targetFile", "../x", "/x", "src/*.py", "src/unknown.py", ".git/config", "a\0")),
    (Code.SCOPE, _set("change", "targetSymbols", ["*"], ["monthly_?"], ["a", "b[0]"])),
    (Code.SCOPE, _set_plan("repoSnapshotId", "git:0:clean")),
    (Code.SCOPE, _set_plan("scopeAllowlistRef", "scope:000000000000")),
    (Code.SCOPE, _set_plan("worktreeRoot", "/other", "/repo/")),
    (Code.SCOPE, _set_plan("agentId", "../agent", "a b", "x" * 65)),
    (Code.SCOPE, _set_plan("workId", "w2", "../w1")),
    (Code.EVIDENCE, _spoil_evidence),
    (Code.EVIDENCE, _forge_citation),
    (Code.EVIDENCE, _set("change", "codeEvidence", [])),
    (Code.MEMORY_EXPIRED, _cite_expired),
    (Code.NOT_ATOMIC, _set("change", "atomicityBoundary", "file:src/other.py", "check:x", "symbol:src#a", "file:")),
    (Code.NOT_ATOMIC, _set("validate", "atomicityBoundary", "file:src/billing/rates.py", "check:", "check:a b")),
    (Code.NOT_ATOMIC, _set("change", "targetSymbols", ["monthly_rate"] * 6)),
    (Code.NOT_ATOMIC, _set("side_effect", "atomicityBoundary", "effect:another", "gate-commit-1")),
    (Code.VERIFICATION, _set("change", "verificationHooks", [])),
    (Code.VERIFICATION, _set("validate", "successCriteria", "green", {"type": "exit_code"}, {"type": "luck"}, 0)),
    (Code.VERIFICATION, _set("validate", "successCriteria", {"type": "output_regex", "pattern": "("}, [])),
    (Code.VERIFICATION, _set("validate", "mapsToNodeIds", [], ["nobody"], ["v0"])),
    (Code.VERIFICATION, _set("validate", "verificationHooks", [], [{"hookId": "h", "kind": "lint", "command": ["x"]}])),
    (Code.AMBIGUOUS, _set_intent("summary", "Do it.", "Round it somehow, or not at all.", "Why is it so??", "x" * 501)),
    (Code.AMBIGUOUS, _set_intent("anchors", [], [{"text": "nowhere"}], [{"symbol": "nobody"}])),
    (Code.AMBIGUOUS, _set("change", "correctionCandidateOnFail", "hope", "node:", "node:nobody")),
    (Code.AMBIGUOUS, _set("validate", "expectedFailureSignatures", [])),
    (Code.UNGATED, _drop_gate),
    (Code.UNGATED, _set("side_effect", "commitGateId", "", None)),
    (Code.STRATEGY, _set_plan("knowledgeStrategyId", "ui_aggrid_feature", "none")),
    (Code.STRATEGY, _set_plan("knowledgeStrategyReasons", [], [{"reason": "So it is.", "evidenceRef": "tr:run1:77"}])),
    (Code.POLICY, _set_plan("policyVersionSet", {}, {"policy.generated-readonly": "2"})),
    (Code.ANCHOR, _set("change", "targetSymbols", ["yearly_rate"], ["monthly_rate", "nobody"])),
)  # fmt: skip


def test_one_random_fault_gives_exactly_its_code() -> None:
    chance = random.Random(20)
    n_rounds = repeated(1000) if repeated(1) > 1 else 300
    seen: Counter[Code] = Counter()
    wrong: list[tuple[Code, tuple[str, ...], str]] = []
    while seen.total() < n_rounds:
        plan = valid_plan(chance)
        assert validate_plan(plan, WORLD).is_accepted
        code, fault = chance.choice(FAULTS)
        try:
            fault(plan, chance)
        except IndexError:
            continue  # The plan has no node of that kind.
        verdict = validate_plan(plan, WORLD)
        seen[code] += 1
        if verdict.codes != (code,):
            wrong.append((code, verdict.codes, repr(verdict.violations)[:300]))
    assert len(wrong) <= n_rounds // 100, wrong
    assert set(seen) == set(Code) - OF_THE_WORLD
