"""Stages 7 and 8: what the plan builds on exists, and enough of it is known to expect success."""

from collections.abc import Iterator, Mapping
from typing import Final

from codeplane.controller.case import Case
from codeplane.controller.codes import Code, Violation
from codeplane.controller.evidence import NodeEvidence
from codeplane.controller.plan import Node
from codeplane.controller.strategy import AG_GRID, API_CONTRACT, MIGRATION

# The points of a change node.
BASE_POINTS: Final = 30
UNIQUE_SYMBOLS_POINTS: Final = 20
COVERING_TEST_POINTS: Final = 20
THREE_SOURCES_POINTS: Final = 15
TESTED_FILES_POINTS: Final = 15
GUARD_POINTS: Final = -20
FULL_CONFIDENCE: Final = 100


def check_anchors(case: Case, strategy: str) -> Iterator[Violation]:
    """Yield target symbols without a definition, and what the strategy needs and nobody found."""
    for node in case.changes:
        file = case.file_of(node)
        if node.is_creation or file is None or case.is_done(node):
            continue
        for number, symbol in enumerate(node.document["targetSymbols"]):
            if not file.symbols.get(symbol):
                message = f"{node.target_file} does not define {symbol[:80]}."
                place, name = node.pointer(f"targetSymbols/{number}"), f"{node.target_file}#{symbol[:200]}"
                yield Violation(Code.ANCHOR, "symbol_unresolved", message, place, node.node_id, actual=name)
    for name in _missing_for_strategy(case, strategy):
        message = f"The strategy {strategy} needs {name}."
        yield Violation(Code.ANCHOR, "strategy_anchor_unresolved", message, "/knowledgeStrategyId", expected=name)


def confidence_of(case: Case, evidence: Mapping[str, NodeEvidence]) -> int:
    """Return the smallest confidence of a change node; a plan that changes nothing has full confidence."""
    return min((_node_confidence(node, case, evidence[node.node_id]) for node in case.changes), default=FULL_CONFIDENCE)


def check_confidence(case: Case, confidence: int) -> Iterator[Violation]:
    """Yield a confidence below the threshold."""
    threshold = case.world.confidence_threshold
    if confidence < threshold:
        message = f"The confidence is {confidence}, the threshold {threshold}."
        yield Violation(Code.CONFIDENCE, "confidence_low", message, "/nodes", expected=threshold, actual=confidence)


def _missing_for_strategy(case: Case, strategy: str) -> Iterator[str]:
    world = case.world
    if strategy == API_CONTRACT and not any(world.specs.values()):
        yield "an operation"
    if strategy == AG_GRID and not any(file.is_table_surface for file in world.files.values()):
        yield "a table"
    if strategy == MIGRATION:
        yield from (f"a {role} module" for role in ("source", "target") if role not in world.migration_modules)


def _node_confidence(node: Node, case: Case, evidence: NodeEvidence) -> int:
    facts = (
        (_has_unique_symbols(node, case), UNIQUE_SYMBOLS_POINTS),
        (_has_covering_test(node, case), COVERING_TEST_POINTS),
        (len(evidence.sources) >= 3, THREE_SOURCES_POINTS),
        (case.signature.confidence_in_tests >= 2, TESTED_FILES_POINTS),
        (evidence.is_guarded, GUARD_POINTS),
    )
    return BASE_POINTS + sum(points for is_true, points in facts if is_true)


def _has_unique_symbols(node: Node, case: Case) -> bool:
    file, symbols = case.file_of(node), node.document["targetSymbols"]
    if case.is_done(node):
        return bool(symbols)
    return file is not None and bool(symbols) and all(file.symbols.get(symbol) == 1 for symbol in symbols)


def _has_covering_test(node: Node, case: Case) -> bool:
    mapped = case.world.mapped_tests.get(node.target_file, frozenset())
    return any(
        hook["kind"] == "test" and not mapped.isdisjoint(hook.get("covers") or ())
        for check in case.plan.covering.get(node.node_id, ())
        for hook in check.document["verificationHooks"]
    )
