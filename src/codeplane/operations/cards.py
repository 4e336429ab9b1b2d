"""Cards: what clients learn about operations before calling them, without importing them.

Those of the catalog are kept in `cards.json`; `make reference` writes it and a test fails when it drifts.
"""

import json
from collections.abc import Mapping

from codeplane.operations.catalog import Catalog, OfferedTools
from codeplane.operations.operation import AnyOperation, Audience
from codeplane.operations.schema import input_schema, result_schema
from codeplane.operations.tool_list import Card, stored_cards


def cards_of(operations: Mapping[str, AnyOperation]) -> tuple[Card, ...]:
    """Return the cards of the tools among these operations, in their order."""
    if isinstance(operations, Catalog):
        return stored_cards()
    if isinstance(operations, OfferedTools):
        foreign = map(_card, operations.foreign().values())
        return (*stored_cards(), *(card for card in foreign if card["upstream"]["state"] in {"pinned", "changed"}))
    return tuple(_card(one) for one in operations.values() if one.audience is Audience.AGENT)


def cards_text(operations: Mapping[str, AnyOperation]) -> str:
    """Return the cards of the tools among these operations as they are stored."""
    return json.dumps(cards_of(dict(operations)), indent=1, ensure_ascii=False) + "\n"


def _card(operation: AnyOperation) -> Card:
    if operation.card is not None:
        return operation.card
    return {
        "name": operation.name,
        "summary": operation.summary,
        "effect": operation.effect.value,
        "mutates": operation.effect.mutates,
        "profiles": sorted(operation.profiles),
        "reaches_network": operation.reaches_network,
        "reaches_all": operation.reaches_all,
        "input_schema": input_schema(operation),
        "result_schema": result_schema(operation),
    }
