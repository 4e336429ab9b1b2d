"""The plan and the world of the contract, ready for changes by JSON Patch."""

import copy
import json
from pathlib import Path
from typing import Any

from codeplane.controller.signature import FEATURES, Signature
from codeplane.controller.validation import Verdict, validate_plan
from codeplane.controller.world import EvidenceMinima, KnownFile, Memory, MemoryState, Policy, Rule, Turn, World

_CONTRACT = Path(__file__).parents[1] / "controller" / "contract"
# The fixture world does not say how long its files are; its evidence cites lines 1 to 9.
_N_LINES = 9


def contract_plan() -> dict[str, Any]:
    """Return a fresh copy of the minimal valid plan."""
    return dict(_read("plan"))


def contract_cases() -> list[dict[str, Any]]:
    """Return the cases: patches of plan and world, and the codes that must be the answer."""
    return list(_read("cases"))


def contract_world(patch: list[dict[str, Any]] | None = None) -> World:
    """Return the fixture world after a JSON Patch of its document."""
    return _world(patched(_read("world"), patch or []))


def judge(*patch: dict[str, Any], world: World | None = None) -> Verdict:
    """Return the verdict on the valid plan after a JSON Patch."""
    return validate_plan(patched(contract_plan(), list(patch)), world or contract_world())


def put(path: str, value: Any) -> dict[str, Any]:
    """Return the operation that sets a value, or adds it."""
    return {"op": "add", "path": path, "value": value}


def drop(path: str) -> dict[str, Any]:
    """Return the operation that removes a value."""
    return {"op": "remove", "path": path}


def patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    """Return the document after the operations add, replace and remove."""
    result = copy.deepcopy(document)
    for operation in patch:
        *parents, last = operation["path"].lstrip("/").split("/")
        owner = result
        for name in parents:
            owner = owner[int(name)] if isinstance(owner, list) else owner[name]
        if operation["op"] == "remove":
            del owner[int(last) if isinstance(owner, list) else last]
        elif isinstance(owner, dict):
            owner[last] = operation["value"]
        elif last == "-":
            owner.append(operation["value"])
        else:
            owner[int(last)] = operation["value"]
    return result


def _read(name: str) -> Any:
    return json.loads((_CONTRACT / f"{name}.json").read_text(encoding="utf-8"))


def _world(document: dict[str, Any]) -> World:
    work_id = document["workId"]
    policy = document["policy"]
    return World(
        work_id=work_id,
        run_session_id=document["runSessionId"],
        worktree_root=document["worktreeRoot"],
        repo_snapshot_id=document["repoSnapshotId"],
        scope_allowlist_ref=document["scopeAllowlistRef"],
        files={path: _file(one) for path, one in document["files"].items()},
        turns={trace: Turn(work_id, frozenset(sources)) for trace, sources in document["turns"].items()},
        signature=Signature(**{FEATURES[name]: value for name, value in document["signature"].items()}),
        mapped_tests={path: frozenset(tests) for path, tests in document["testMap"].items()},
        policies=tuple(_policy(name, one) for name, one in document["policies"].items()),
        memories={name: Memory(name, MemoryState(state)) for name, state in document["memories"].items()},
        specs={name: frozenset(locators) for name, locators in document["specs"].items()},
        minima=EvidenceMinima(
            policy["minRequirementSources"],
            policy["minCodeEvidenceSources"],
            policy["minPolicySources"],
            policy["minTotalSources"],
            policy["allowSingleSourceWithGuard"],
        ),
        confidence_threshold=document["confidenceThreshold"],
        is_index_ready=not document.get("indexMissing", False),
    )


def _file(document: dict[str, Any]) -> KnownFile:
    return KnownFile(
        document["hash"],
        _N_LINES,
        document["symbols"],
        document["anchors"],
        document.get("tableSurface", False),
        (document["originChain"],) if "originChain" in document else (),
        document.get("federationSurface", False),
        (document["federationChain"],) if "federationChain" in document else (),
    )


def _policy(name: str, document: dict[str, Any]) -> Policy:
    condition = f"any(nodes.change where targetFile ~ {json.dumps(document['denyGlob'])})"
    return Policy(name, document["version"], Rule(condition))
