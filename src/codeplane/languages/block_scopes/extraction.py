"""The first and the last step of extraction: what the query finds, and the facts of a file."""

from tree_sitter import Node, Query

from codeplane.languages.block_scopes.tables import Binds, BlockTables
from codeplane.languages.facts import EXPRESSION, NONE, FileFacts, Reference
from codeplane.languages.parsing import Captures, IsOver, capture, outside_errors


def sound_captures(query: Query, root: Node, is_over: IsOver) -> tuple[Captures, int]:
    """Return what a query captures outside of errors, and the number of errors.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    captures = capture(query, root, is_over)
    n_errors = len(captures.get("error", ()))
    return (outside_errors(captures) if n_errors else captures), n_errors


def block_facts(tables: BlockTables, binds: Binds, references: list[Reference], n_errors: int) -> FileFacts:
    """Return the facts that all block-scoped languages have."""
    facts = FileFacts(tables.scopes, tables.definitions, references, binds.facts, tables.imports, n_errors=n_errors)
    if n_errors:
        _repair(facts)
    return facts


def _repair(facts: FileFacts) -> None:
    """Cut what leads to identifiers that were left out: receivers become EXPRESSION, types and bases NONE."""
    starts = {reference[0] for reference in facts.references}
    facts.references = [
        one if one[4] < 0 or one[4] in starts else (*one[:4], EXPRESSION, one[5]) for one in facts.references
    ]
    for number, one in enumerate(facts.definitions):
        if (one.type_ref != NONE and one.type_ref not in starts) or not starts.issuperset(one.bases):
            facts.definitions[number] = one._replace(
                type_ref=one.type_ref if one.type_ref in starts else NONE,
                bases=tuple(base if base in starts else NONE for base in one.bases),
            )
