"""Turn what a walk has found into the facts of a file."""

from operator import itemgetter

from codeplane.languages.facts import EXPRESSION, NO_RECEIVER, NONE, FileFacts, Reference, Scope
from codeplane.languages.queries.scoping import Bindings
from codeplane.languages.queries.walking import DEFINITION, Walk


def symbol_facts(walk: Walk, n_errors: int) -> FileFacts:
    """Return the facts of a file that was walked."""
    bindings = Bindings(walk)
    starts = _make_consistent(walk)
    return FileFacts(
        [Scope(row.kind, row.parent, row.start, row.end) for row in walk.scopes],
        walk.definitions,
        _references(walk, bindings, starts),
        bindings.binds,
        walk.imports,
        package=walk.package,
        n_errors=n_errors,
    )


def _make_consistent(walk: Walk) -> set[int]:
    """Let every definition have its reference, and point to references only; return where these start.

    A name may be a word of the language (`init`), a type one too (`Self`), or be in an error.
    """
    starts = {row[0] for row in walk.names}
    n_names = len(walk.names)
    for number, definition in enumerate(walk.definitions):
        if definition.name_start not in starts:
            row = (definition.name_start, definition.name, definition.scope, DEFINITION, NO_RECEIVER, None, number)
            walk.names.append(row)
            starts.add(definition.name_start)
        if definition.type_ref != NONE and definition.type_ref not in starts:
            walk.definitions[number] = definition._replace(type_ref=NONE)
        if definition.bases and not starts.issuperset(definition.bases):
            bases = tuple(base if base in starts else NONE for base in definition.bases)
            walk.definitions[number] = walk.definitions[number]._replace(bases=bases)
    if len(walk.names) > n_names:
        walk.names.sort(key=itemgetter(0))
    return starts


def _references(walk: Walk, bindings: Bindings, starts: set[int]) -> list[Reference]:
    """Return the references with the binds that the scopes give them."""
    references: list[Reference] = []
    find, bound_names = bindings.find, bindings.names
    for start, name, scope, role, receiver, key, own in walk.names:
        if receiver != NO_RECEIVER:
            bind = NONE
            if receiver >= 0 and receiver not in starts:
                receiver = EXPRESSION  # noqa: PLW2901 - the receiver is in an error
        elif own != NONE:
            bind = bindings.of_definition[own] if own >= 0 else bindings.of_import[NONE - 1 - own]
        else:
            bind = find(scope, key, start) if key is not None and name in bound_names else NONE
        references.append((start, name, scope, role, receiver, bind))
    return references
