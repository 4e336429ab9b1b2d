"""Cards: what is told of operations before they are called, without importing them.

Those of the catalog are kept in `cards.json`; `make reference` writes it and a test fails when it drifts.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from codeplane.ledger.effects import EffectClass
from codeplane.operations.catalog import Catalog
from codeplane.operations.operation import AnyOperation
from codeplane.operations.schema import input_schema

CARDS_FILE = Path(__file__).with_name("cards.json")


@dataclass(frozen=True, slots=True)
class Card:
    """What a client is told of one operation."""

    name: str
    summary: str
    effect: EffectClass
    profiles: frozenset[str]
    reaches_network: bool
    reaches_all: bool
    input_schema: Mapping[str, Any]


def cards_of(operations: Mapping[str, AnyOperation]) -> tuple[Card, ...]:
    """Return the cards of these operations in their order."""
    if isinstance(operations, Catalog):
        return _stored_cards()
    return tuple(_card(operation) for operation in operations.values())


def cards_text(operations: Mapping[str, AnyOperation]) -> str:
    """Return the cards of these operations as they are stored."""
    rows = [
        {
            "name": operation.name,
            "summary": operation.summary,
            "effect": operation.effect.value,
            "profiles": sorted(operation.profiles),
            "reaches_network": operation.reaches_network,
            "reaches_all": operation.reaches_all,
            "input_schema": input_schema(operation),
        }
        for operation in operations.values()
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


@cache  # A memo of a file that belongs to the program.
def _stored_cards() -> tuple[Card, ...]:
    rows = json.loads(CARDS_FILE.read_text(encoding="utf-8"))
    return tuple(
        Card(**{**row, "effect": EffectClass(row["effect"]), "profiles": frozenset(row["profiles"])}) for row in rows
    )


def _card(operation: AnyOperation) -> Card:
    return Card(
        name=operation.name,
        summary=operation.summary,
        effect=operation.effect,
        profiles=operation.profiles,
        reaches_network=operation.reaches_network,
        reaches_all=operation.reaches_all,
        input_schema=input_schema(operation),
    )
