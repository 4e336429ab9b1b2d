"""Stage 5: the strategy that the signature selects, its proofs, and the events after which it is changed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from codeplane.controller.case import Case, node_fault
from codeplane.controller.codes import Code, Violation
from codeplane.controller.evidence import is_observed, source_key
from codeplane.controller.plan import Node
from codeplane.controller.signature import Signature

MIGRATION: Final = "migration_adp_to_sdf"
AG_GRID: Final = "ui_aggrid_feature"
API_CONTRACT: Final = "api_contract_feature"
DEBUG: Final = "debug_symptom_trace"
# The first strategy whose condition holds is selected; the last one always holds.
SELECTION: Final[Mapping[str, Callable[[Signature], bool]]] = MappingProxyType(
    {
        MIGRATION: lambda signature: signature.migration_adp_detected,
        AG_GRID: lambda signature: signature.mentions_ag_grid,
        API_CONTRACT: lambda signature: signature.has_swagger or signature.contract_anchor_present,
        DEBUG: lambda _: True,
    }
)
_PROOF_CODES: Final = frozenset({Code.ORIGIN, Code.FEDERATION})


def select_strategy(signature: Signature) -> str:
    """Return the strategy for a signature."""
    return next(name for name, fits in SELECTION.items() if fits(signature))


def strategy_of(case: Case) -> str:
    """Return the strategy in force: the one after the last switch, or the one that the signature selects."""
    return case.world.switched_strategy or select_strategy(case.signature)


def check_strategy(case: Case, strategy: str) -> Iterator[Violation]:
    """Yield another strategy than the one in force, reasons that were not observed, and missing proofs."""
    document = case.plan.document
    if document["knowledgeStrategyId"] != strategy:
        message = f"The strategy of this work is {strategy}."
        yield Violation(Code.STRATEGY, "strategy_other", message, "/knowledgeStrategyId", expected=strategy)
    reasons = document["knowledgeStrategyReasons"]
    if not reasons:
        message = "A strategy needs a reason with evidence."
        yield Violation(Code.STRATEGY, "reasons_missing", message, "/knowledgeStrategyReasons")
    for number, reason in enumerate(reasons):
        if not is_observed(reason["evidenceRef"], case.world):
            place = f"/knowledgeStrategyReasons/{number}/evidenceRef"
            yield Violation(Code.STRATEGY, "reason_unobserved", "It names no earlier turn of this work.", place)
    for node in case.changes:
        yield from _check_proofs(node, case)
        if strategy == API_CONTRACT and not _has_operation(node, case):
            message = "No swagger citation names an operation or schema of a fetched API description."
            yield node_fault(Code.CONTRACT, "operation_missing", node, "citations", message)


def is_proved(chains: tuple[str, ...]) -> bool:
    """Tell whether there is a chain and each one is complete, or ends where nothing can follow."""
    return bool(chains) and all(chain == "complete" or chain.startswith("terminated") for chain in chains)


def _check_proofs(node: Node, case: Case) -> Iterator[Violation]:
    file = case.file_of(node)
    if file is None:
        return
    rows = (
        (Code.ORIGIN, case.signature.mentions_ag_grid and file.is_table_surface, file.origin_chains),
        (
            Code.FEDERATION,
            case.signature.crosses_federation_boundary and file.is_federation_surface,
            file.federation_chains,
        ),
    )
    for code, is_needed, chains in rows:
        if is_needed and not is_proved(chains):
            message = f"The proof chain of {node.target_file} is not complete: {', '.join(chains) or 'none built'}."
            yield node_fault(code, "chain_broken", node, "targetFile", message)


def _has_operation(node: Node, case: Case) -> bool:
    return any(
        citation["sourceType"] == "swagger"
        and citation.get("locator") in case.world.specs.get(source_key(citation).removeprefix("swagger:"), frozenset())
        for citation in node.document["citations"]
    )


class Trigger(StrEnum):
    """The events after which another strategy is tried."""

    PLAN_REJECTED = "plan_rejected"
    POLICY_CONFLICT = "policy_conflict"
    REPEATED_FAILURE = "repeated_failure_threshold"
    REPEATED_ACTION = "repeated_action_threshold"
    MISSING_PROOF = "missing_required_proof_chain"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A refused plan: its codes in report order, and the target files of its violations."""

    codes: tuple[Code, ...]
    files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RunHistory:
    """What happened in a session, the newest last."""

    # The refused plans since the last accepted one.
    rejections: tuple[Rejection, ...] = ()
    # Verb and digest of the arguments of each turn.
    actions: tuple[tuple[str, str], ...] = ()
    node_failures: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    conflicting_policies: tuple[tuple[str, str], ...] = ()


def triggers_of(history: RunHistory) -> tuple[Trigger, ...]:
    """Return the triggers that the newest turn sets off."""
    conditions = {
        Trigger.PLAN_REJECTED: _is_repeated([one.codes[:1] for one in history.rejections], 3),
        Trigger.POLICY_CONFLICT: bool(history.conflicting_policies),
        Trigger.REPEATED_FAILURE: any(count >= 3 for count in history.node_failures.values()),
        Trigger.REPEATED_ACTION: _is_repeated(list(history.actions), 4),
        Trigger.MISSING_PROOF: _lacks_proof_again(history.rejections),
    }
    return tuple(trigger for trigger, is_set in conditions.items() if is_set)


def next_strategy(current: str, signature: Signature) -> str:
    """Return the next strategy in the order of selection whose condition holds; the current one if there is none."""
    names = list(SELECTION)
    place = names.index(current)
    return next((name for name in names[place + 1 :] + names[:place] if SELECTION[name](signature)), current)


def _is_repeated(events: list[object], count: int) -> bool:
    return len(events) >= count and len(set(events[-count:])) == 1


def _lacks_proof_again(rejections: tuple[Rejection, ...]) -> bool:
    if not rejections or _PROOF_CODES.isdisjoint(rejections[-1].codes):
        return False
    earlier = [one.files for one in rejections[:-1] if not _PROOF_CODES.isdisjoint(one.codes)]
    return any(rejections[-1].files & files for files in earlier)
