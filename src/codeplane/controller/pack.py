"""The context pack: what the executor of a plan needs to know, in nine sections and within a budget."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.controller.knowledge import Knowledge, pack_hash
from codeplane.controller.lanes import (
    LANES,
    Hit,
    fused,
    lexical_lane,
    listed_lane,
    symbol_lane,
    text_lane,
)
from codeplane.controller.plan import Plan, canonical_json, pack_ref
from codeplane.controller.symbol_graph import EDGE_TYPES, GraphQuery, trace
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.validation import Verdict
from codeplane.controller.words import query_tokens
from codeplane.index.symbol_search import SymbolScope, find_symbols
from codeplane.memory.anchors import contains, depth_of
from codeplane.memory.records import ENFORCED

SECTIONS: Final = (
    "header",
    "constraints",
    "policies",
    "strategy",
    "anchors",
    "allowed",
    "validation",
    "missingness",
    "activeMemories",
)
# What an accepted plan opens.
EXECUTION_VERBS: Final = (
    "apply_code_patch",
    "run_sandboxed_code",
    "execute_gated_side_effect",
    "run_automation_recipe",
)
_BYTES_PER_TOKEN: Final = 4
# What the header and the count of dropped hits add once the pack is full.
_LATER_BYTES: Final = 512
_NEAR_NODES: Final = 60
_MEMORY_FIELDS: Final = (
    "id",
    "enforcementType",
    "trigger",
    "phase",
    "state",
    "domainAnchorIds",
    "rejectionCodes",
    "fewShot",
    "planRule",
    "strategySignal",
    "note",
)


@dataclass(frozen=True, slots=True)
class PackQuery:
    """What is looked for: texts, names of symbols and files."""

    texts: tuple[str, ...]
    names: tuple[str, ...]
    files: tuple[str, ...]


def query_of(plan: Plan, work_text: str) -> PackQuery:
    """Return what the plan and its work say about the code they are about."""
    texts, names, files = [work_text], [], []
    for node in plan.of_kind("change"):
        document = node.document
        stem = node.target_file.rpartition("/")[2].partition(".")[0]
        texts += [document["whyThisFile"], document["editIntent"]["summary"], stem, *document["targetSymbols"]]
        names += [symbol.rpartition(".")[2] for symbol in document["targetSymbols"]]
        files.append(node.target_file)
    return PackQuery(tuple(texts), tuple(dict.fromkeys(names)), tuple(dict.fromkeys(files)))


def retrieve(knowledge: Knowledge, turn: TurnWork, query: PackQuery) -> dict[str, list[Hit]]:
    """Return the hits of every lane."""
    index = turn.workspace.index
    counted = query_tokens(query.texts)
    identifiers = [word for text in query.texts for word in _identifiers(text)]
    near = _distances(turn, query)
    lanes = {
        "lexical": lexical_lane(knowledge, index, counted, query.files),
        "symbol": symbol_lane(knowledge, index, (*query.names, *identifiers), near),
        "policy": listed_lane("policy", _policies(knowledge)),
        "artifact": text_lane("artifact", _artifacts(turn), counted),
        "episodic": listed_lane("episodic", _episodes(knowledge, query.files)),
    }
    return {lane: lanes[lane] for lane in LANES}


def build_pack(turn: TurnWork, plan: Plan, verdict: Verdict) -> dict[str, Any]:
    """Return the pack of an accepted plan; the same work, snapshot, plan and memories give the same hash."""
    knowledge = turn.knowledge
    query = query_of(plan, knowledge.work_text)
    lanes = retrieve(knowledge, turn, query)
    memories = _active_memories(knowledge, query.files)
    pack: dict[str, Any] = {
        "header": _header(turn, verdict),
        "constraints": _constraints(turn),
        "policies": [
            {"id": one.policy_id, "version": one.version, "condition": one.rule.condition}
            for one in knowledge.policies
            if one.is_active
        ],
        "strategy": dict(turn.record.knowledge),
        "anchors": {"required": _required(plan), "hits": [], "ranking": []},
        "allowed": {
            "files": sorted(query.files),
            "scopeAllowlistRef": knowledge.scope_ref,
            "capabilities": list(EXECUTION_VERBS),
        },
        "validation": [
            {"nodeId": node.node_id, "hooks": [hook["hookId"] for hook in node.document["verificationHooks"]],
             "successCriteria": node.document["successCriteria"]}
            for node in sorted(plan.of_kind("validate"), key=lambda one: one.node_id)
        ],
        "missingness": {"dropped": {}, "escalations": sorted(one.node_id for one in plan.of_kind("escalate"))},
        "activeMemories": memories,
    }  # fmt: skip
    _fill(pack, lanes, knowledge.settings.pack_tokens * _BYTES_PER_TOKEN)
    content_hash = pack_hash(pack)
    header = pack["header"] | {
        "contextPackHash": content_hash,
        "createdAt": turn.now,
        "traceRef": turn.record.trace_ref(),
    }
    return pack | {"header": header}


def store_pack(turn: TurnWork, pack: Mapping[str, Any]) -> str:
    """Keep a pack and return its hash."""
    content_hash = str(pack["header"]["contextPackHash"])
    turn.files.write(turn.files.place / "context" / f"{content_hash.removeprefix('sha256:')}.json", pack)
    return content_hash


def summary_of(pack: Mapping[str, Any], work_id: str) -> dict[str, Any]:
    """Return what an answer tells about a pack: where the hits are, without their text."""
    content_hash = str(pack["header"]["contextPackHash"])
    hits = [{name: value for name, value in hit.items() if name != "text"} for hit in pack["anchors"]["hits"]]
    return {
        "contextPackRef": pack_ref(work_id, content_hash),
        "contextPackHash": content_hash,
        "tokens": len(canonical_json(pack)) // _BYTES_PER_TOKEN,
        "hits": hits,
        "ranking": pack["anchors"]["ranking"],
        "dropped": pack["missingness"]["dropped"],
        "activeMemories": [one["id"] for one in pack["activeMemories"]],
    }


def _fill(pack: dict[str, Any], lanes: Mapping[str, list[Hit]], room: int) -> None:
    """Take hits from the lanes in turn until the pack is full; a hit goes in whole or not at all."""
    used = len(canonical_json(pack)) + _LATER_BYTES
    taken: dict[str, list[Hit]] = {lane: [] for lane in lanes}
    dropped = dict.fromkeys(lanes, 0)
    for place in range(max((len(hits) for hits in lanes.values()), default=0)):
        for lane, hits in lanes.items():
            if place >= len(hits):
                continue
            # The ranking names the hit once more.
            size = len(canonical_json(hits[place].as_json())) + len(hits[place].hit_id.encode()) + 4
            if used + size > room:
                dropped[lane] += 1
                continue
            used += size
            taken[lane].append(hits[place])
    anchors = pack["anchors"]
    anchors["hits"] = [hit.as_json() for lane in lanes for hit in taken[lane]]
    anchors["ranking"] = [hit.hit_id for hit in fused(taken.values())]
    pack["missingness"]["dropped"] = {lane: n for lane, n in dropped.items() if n}


def _header(turn: TurnWork, verdict: Verdict) -> dict[str, Any]:
    record = turn.record
    return {
        "schemaVersion": "1.0.0",
        "workId": record.work_id,
        "runSessionId": record.run_id,
        "repoSnapshotId": turn.knowledge.snapshot_id,
        "scopeAllowlistRef": turn.knowledge.scope_ref,
        "planFingerprint": verdict.fingerprint,
    }


def _constraints(turn: TurnWork) -> dict[str, Any]:
    prompts = turn.files.prompts()
    return {
        "originalPrompt": prompts["originalPrompt"][:4_000],
        "laterPrompts": len(prompts["promptHistory"]),
        "tickets": sorted(one["key"] for one in turn.knowledge.tickets),
        "specs": sorted(turn.knowledge.specs),
        "conflicts": [list(one) for one in turn.record.conflicts],
    }


def _required(plan: Plan) -> list[dict[str, str]]:
    found = {
        (("symbol", f"{node.target_file}#{symbol}"), node.node_id)
        for node in plan.of_kind("change")
        for symbol in node.document["targetSymbols"]
    }
    return [
        {"anchorType": kind, "anchorId": anchor, "requiredBy": node_id} for (kind, anchor), node_id in sorted(found)
    ]


def _distances(turn: TurnWork, query: PackQuery) -> dict[str, int]:
    """Return how far definitions are from the target symbols: 0 for themselves, 1 and 2 for neighbours."""
    found: dict[str, int] = {}
    with turn.workspace.index.facts() as reader:
        names = turn.workspace.index.symbol_names
        starts = [
            hit
            for name in query.names
            for path in query.files
            for hit in find_symbols(reader, f"{path}::{name}", SymbolScope(), lambda: names(reader), parts_until=0)[:1]
        ]
        for depth in (0, 1, 2):
            asked = GraphQuery(depth, "both", frozenset(EDGE_TYPES), _NEAR_NODES)
            for node in trace(reader, starts, asked, lambda path: path in turn.knowledge.allowlist).nodes:
                found.setdefault(node, depth)
    return found


def _policies(knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    active = sorted((one for one in knowledge.policies if one.is_active), key=lambda one: (one.version, one.policy_id))
    for one in active:
        yield f"policy:{one.policy_id}", one.rule.condition


def _artifacts(turn: TurnWork) -> Iterator[tuple[str, str]]:
    for ticket in turn.knowledge.tickets:
        key = ticket["key"]
        yield f"jira:{key}#summary", str(ticket.get("summary") or "")
        yield f"jira:{key}#description", str(ticket.get("descriptionText") or "")
        for number, criterion in enumerate(ticket.get("acceptanceCriteria", ())):
            yield f"jira:{key}#criterion-{number + 1}", str(criterion)
    for spec in turn.files.fetched("spec"):
        for operation in spec.get("operations", ()):
            name = operation.get("operationId") or operation.get("path")
            words = (operation.get("method"), operation.get("path"), operation.get("summary"), name)
            yield f"swagger:{spec['specId']}#{name}", " ".join(str(word) for word in words if word)


def _episodes(knowledge: Knowledge, files: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for one in _enforced(knowledge, files):
        shot = one.get("fewShot") or {}
        yield f"memory:{one['id']}", str(one.get("note") or shot.get("instruction") or ", ".join(one["rejectionCodes"]))


def _enforced(knowledge: Knowledge, files: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the enforced memories about some files: deepest anchor first, then newest, then id."""
    found = []
    for one in knowledge.memories.values():
        anchors = [anchor for anchor in one["domainAnchorIds"] if any(contains(anchor, path) for path in files)]
        if one["state"] in ENFORCED and anchors:
            found.append((one, max(map(depth_of, anchors))))
    found.sort(key=lambda pair: pair[0]["id"])
    found.sort(key=lambda pair: pair[0]["createdAt"], reverse=True)
    found.sort(key=lambda pair: -pair[1])
    return [one for one, _depth in found]


def _active_memories(knowledge: Knowledge, files: tuple[str, ...]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = [
        {name: one[name] for name in _MEMORY_FIELDS if name in one} for one in _enforced(knowledge, files)
    ]
    return sorted(kept, key=lambda one: one["id"])


def _identifiers(text: str) -> Iterator[str]:
    """Yield words that look like names of code: with an underscore, a capital inside, or a dot."""
    for word in text.replace("`", " ").replace("(", " ").replace(")", " ").split():
        name = word.strip(".,:;!?'\"[]{}").rpartition(".")[2]
        if name.isidentifier() and ("_" in name or not (name.islower() or name.istitle())):
            yield name
