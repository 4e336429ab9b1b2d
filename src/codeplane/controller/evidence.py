"""Stage 3: every change rests on sources that were really read in this work."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from codeplane.controller.case import Case, node_fault
from codeplane.controller.codes import Code, Violation
from codeplane.controller.conditions import ConditionError, ConditionTooCostlyError, holds, parse_condition
from codeplane.controller.plan import Node
from codeplane.controller.world import MemoryState, World
from codeplane.core.hashing import sha256_text

CATEGORY_OF: Final = MappingProxyType(
    {
        "prompt": "requirement",
        "jira": "requirement",
        "swagger": "requirement",
        "doc": "requirement",
        "symptom": "requirement",
        "code": "code",
        "policy": "policy",
        "memory": "policy",
    }
)
MIN_NOTE_CHARACTERS: Final = 20


@dataclass(frozen=True, slots=True)
class NodeEvidence:
    """The distinct sources of a change node as (category, key), what was not counted, and whether the guard is used."""

    sources: frozenset[tuple[str, str]]
    not_counted: tuple[str, ...]
    is_guarded: bool = False

    def count(self, category: str) -> int:
        """Return how many distinct sources of one category there are."""
        return sum(found == category for found, _ in self.sources)


def evidence_of(case: Case, strategy: str) -> Mapping[str, NodeEvidence]:
    """Return the evidence of every change node."""
    found: dict[str, NodeEvidence] = {}
    for node in case.changes:
        counted: set[tuple[str, str]] = set()
        refused: list[str] = []
        by_symbol = case.plan.document["evidencePolicy"]["distinctSourceDefinition"] == "by_symbol"
        for place, category, key, reason in _sources(node, case, by_symbol=by_symbol):
            if reason is None:
                counted.add((category, key))
            else:
                refused.append(f"{place} ({reason})")
        is_guarded = len(counted) == 1 and _is_guard_open(node, case, strategy)
        found[node.node_id] = NodeEvidence(frozenset(counted), tuple(refused), is_guarded)
    return MappingProxyType(found)


def check_evidence(case: Case, evidence: Mapping[str, NodeEvidence]) -> Iterator[Violation]:
    """Yield change nodes with too few sources, a plan with too few policies, and expired memories."""
    asked, minima = case.plan.document["evidencePolicy"], case.world.minima
    floors = (
        ("requirement", max(minima.requirement, asked["minRequirementSources"]), "citations"),
        ("code", max(minima.code, asked["minCodeEvidenceSources"]), "codeEvidence"),
    )
    for node in case.changes:
        known = evidence[node.node_id]
        if known.is_guarded:
            continue
        short = [(name, floor, field) for name, floor, field in floors if known.count(name) < floor]
        if not short and len(known.sources) < minima.total:
            short = [("total", minima.total, "citations")]
        for name, floor, field in short:
            yield _too_few(node, name, floor, field, known)
    yield from _check_policy_sources(evidence, max(minima.policy, asked["minPolicySources"]))
    yield from _check_expired(case)


def check_review(
    plan_fingerprint: str, node_id: str, needs_review: frozenset[str], reviews: frozenset[tuple[str, str]]
) -> Violation | None:
    """Refuse to run a node that was accepted with one source until a person has reviewed it in this plan."""
    if node_id not in needs_review or (plan_fingerprint, node_id) in reviews:
        return None
    message = f"Node {node_id} rests on one source. A person must review it first."
    return Violation(Code.EVIDENCE, "review_missing", message, node_id=node_id)


def is_observed(reference: str, world: World) -> bool:
    """Tell whether `traceRef` or `traceRef#sourceKey` names an earlier turn of this work."""
    trace, mark, key = reference.partition("#")
    turn = world.turns.get(trace)
    return turn is not None and turn.work_id == world.work_id and (not mark or key in turn.sources)


def source_key(citation: Mapping[str, Any]) -> str:
    """Return the key of a citation's source by its origin."""
    kind, ref = citation["sourceType"], citation["ref"]
    name = sha256_text(ref)[:12] if kind == "symptom" else ref
    key = str(ref) if ref.startswith(f"{kind}:") else f"{kind}:{name}"
    return key.partition("#")[0] if kind in {"doc", "swagger"} else key


def _sources(node: Node, case: Case, *, by_symbol: bool) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield place, category, key and the reason why it does not count, of each citation and piece of code."""
    world, is_done = case.world, case.is_done(node)
    for number, citation in enumerate(node.document["citations"]):
        kind, key = citation["sourceType"], source_key(citation)
        reason = _why_not_cited(citation, key, world)
        if by_symbol and kind == "swagger" and citation.get("locator"):
            key = f"{key}#{citation['locator']}"
        yield f"citations/{number}", CATEGORY_OF[kind], key, reason
    for number, code in enumerate(node.document["codeEvidence"]):
        key = f"code:{code['file']}"
        reason = _why_not_observed(code["traceRef"], key, world)
        if reason is None and not is_done:
            reason = _why_not_current(code, world)
        if by_symbol and code.get("symbol"):
            key = f"{key}#{code['symbol']}"
        yield f"codeEvidence/{number}", "code", key, reason


def _why_not_cited(citation: Mapping[str, Any], key: str, world: World) -> str | None:
    kind = citation["sourceType"]
    name = key.partition(":")[2]
    if kind == "policy":
        is_active = any(policy.policy_id == name and policy.is_active for policy in world.policies)
        return None if is_active else "no active policy"
    if kind == "memory":
        memory = world.memories.get(name)
        return None if memory is not None and memory.is_enforced else "no enforced memory"
    reason = _why_not_observed(citation.get("traceRef"), key, world)
    quote = citation.get("quote")
    if reason is None and quote is not None and quote not in world.turns[citation["traceRef"]].text:
        return "the turn did not return the quote"
    return reason


def _why_not_current(code: Mapping[str, Any], world: World) -> str | None:
    shown = world.turns[code["traceRef"]].versions.get(code["file"])
    if shown is not None and shown != code["contentHash"]:
        return "the turn showed another content"
    file = world.files.get(code["file"])
    if file is None or file.content_hash != code["contentHash"]:
        return "the file has another content now"
    return None if 1 <= code["startLine"] <= code["endLine"] <= file.n_lines else "no such lines"


def _why_not_observed(trace: str | None, key: str, world: World) -> str | None:
    turn = world.turns.get(trace or "")
    if turn is None or turn.work_id != world.work_id:
        return "no earlier turn of this work"
    is_there = key in turn.sources or any(source.startswith(f"{key}#") for source in turn.sources)
    return None if is_there else "the turn did not return this source"


def _is_guard_open(node: Node, case: Case, strategy: str) -> bool:
    document, asked = node.document, case.plan.document["evidencePolicy"]
    return (
        case.world.minima.allows_single_source
        and asked["allowSingleSourceWithGuard"]
        and document.get("lowEvidenceGuard") is True
        and document.get("requiresHumanReview") is True
        and len((document.get("uncertaintyNote") or "").strip()) >= MIN_NOTE_CHARACTERS
        and all(
            not rules or any(_is_true(rule, case, strategy, node) for rule in rules)
            for rules in (asked["lowEvidenceGuardRules"], case.world.minima.guard_rules)
        )
    )


def _is_true(rule: str, case: Case, strategy: str, node: Node) -> bool:
    try:
        return holds(parse_condition(rule), case.root(strategy), node.document)
    except (ConditionError, ConditionTooCostlyError):
        return False


def _too_few(node: Node, name: str, floor: int, field: str, known: NodeEvidence) -> Violation:
    refused = f" Not counted: {', '.join(known.not_counted[:5])}." if known.not_counted else ""
    actual = len(known.sources) if name == "total" else known.count(name)
    message = f"Node {node.node_id} needs {floor} distinct {name} sources and has {actual}.{refused}"
    return Violation(Code.EVIDENCE, f"{name}_sources", message, node.pointer(field), node.node_id, floor, actual)


def _check_policy_sources(evidence: Mapping[str, NodeEvidence], floor: int) -> Iterator[Violation]:
    cited = {source for known in evidence.values() for source in known.sources if source[0] == "policy"}
    if len(cited) < floor:
        message = f"The plan needs {floor} distinct policy sources and has {len(cited)}."
        yield Violation(Code.EVIDENCE, "policy_sources", message, "/nodes", None, floor, len(cited))


def _check_expired(case: Case) -> Iterator[Violation]:
    memories = case.world.memories
    expired = {name for name, memory in memories.items() if memory.state is MemoryState.EXPIRED}
    for node in case.changes:
        for number, citation in enumerate(node.document["citations"]):
            if citation["sourceType"] == "memory" and source_key(citation).removeprefix("memory:") in expired:
                message = f"Memory {citation['ref']} has expired."
                yield node_fault(Code.MEMORY_EXPIRED, "memory_expired", node, f"citations/{number}/ref", message)
    for name in sorted(expired & set(case.plan.document["policyVersionSet"])):
        yield Violation(Code.MEMORY_EXPIRED, "memory_expired", f"Memory {name} has expired.", "/policyVersionSet")
