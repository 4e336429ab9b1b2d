"""The closed table of rejection codes, and what one refusal says."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final


class Code(StrEnum):
    """Why a plan or a call was refused, in the order in which codes are reported."""

    MISSING_FIELDS = "PLAN_MISSING_REQUIRED_FIELDS"
    SCOPE = "PLAN_SCOPE_VIOLATION"
    EVIDENCE = "PLAN_EVIDENCE_INSUFFICIENT"
    NOT_ATOMIC = "PLAN_NOT_ATOMIC"
    VERIFICATION = "PLAN_VERIFICATION_WEAK"
    STRATEGY = "PLAN_STRATEGY_MISMATCH"
    AMBIGUOUS = "PLAN_WEAK_MODEL_AMBIGUOUS"
    FEDERATION = "PLAN_FEDERATION_PROOF_MISSING"
    ORIGIN = "PLAN_ORIGIN_UNKNOWN"
    POLICY = "PLAN_POLICY_VIOLATION"
    CONTRACT = "PLAN_MISSING_CONTRACT_ANCHOR"
    CONFIDENCE = "PLAN_VALIDATION_CONFIDENCE_TOO_LOW"
    COLLISION = "EXEC_SIDE_EFFECT_COLLISION"
    UNGATED = "EXEC_UNGATED_SIDE_EFFECT"
    MEMORY_EXPIRED = "MEMORY_PROVISIONAL_EXPIRED"
    PACK = "PACK_INSUFFICIENT"
    ANCHOR = "PACK_REQUIRED_ANCHOR_UNRESOLVED"


CODE_ORDER: Final = MappingProxyType({code: place for place, code in enumerate(Code)})


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault: its code, a stable word for it, and where it is."""

    code: Code
    detail: str
    message: str
    pointer: str | None = None
    node_id: str | None = None
    expected: Any = None
    actual: Any = None


def in_report_order(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return the violations sorted by code, node, place and detail."""
    return tuple(
        sorted(
            violations,
            key=lambda one: (CODE_ORDER[one.code], one.node_id or "", one.pointer or "", one.detail, one.message),
        )
    )


def codes_of(violations: Iterable[Violation]) -> tuple[Code, ...]:
    """Return the codes without duplicates, in the order of the table."""
    return tuple(sorted({one.code for one in violations}, key=CODE_ORDER.__getitem__))
