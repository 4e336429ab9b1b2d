"""Extract the facts of a JavaScript or TypeScript file from its bytes."""

from functools import partial
from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.binding import settled_imports
from codeplane.languages.facts import FileFacts, Scope
from codeplane.languages.javascript.dynamic import read_watched
from codeplane.languages.javascript.grammars import JAVASCRIPT, TSX, TYPESCRIPT, Dialect
from codeplane.languages.javascript.repair import repaired
from codeplane.languages.javascript.scoping import Bindings
from codeplane.languages.javascript.settling import (
    define_assigned_members,
    set_owners,
    settle_changes,
    settle_exports,
    settle_references,
    settle_this,
)
from codeplane.languages.javascript.tables import Tables
from codeplane.languages.javascript.texts import ScriptText
from codeplane.languages.javascript.walking import Walk
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, extract_within_limits

_STRICT: Final = (b"'use strict'", b'"use strict"')


def _read(dialect: Dialect, source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    root, n_errors = repaired(dialect, source, root, is_over)
    walk = Walk(ScriptText(source), root, is_typed=dialect.is_typed)
    walk.run(root, dialect.actions, dialect.handlers, is_over)
    tables = walk.tables
    tables.is_strict = tables.is_strict or source.lstrip().startswith(_STRICT)
    if n_errors or tables.is_unordered:
        _sort_names(tables)
    bindings = Bindings(tables, is_typed=dialect.is_typed)
    define_assigned_members(tables, bindings)
    settle_this(tables)
    read_watched(walk, root, bindings, is_over)
    references = settle_references(tables, bindings)
    settle_changes(tables, bindings, references)
    set_owners(tables, bindings)
    return FileFacts(
        scopes=[Scope(row.kind, row.parent, row.start, row.end) for row in tables.scopes],
        definitions=tables.definitions,
        references=references,
        binds=bindings.binds,
        imports=settled_imports(tables.imports, bindings.binds),
        exports=settle_exports(tables, bindings),
        dynamic=sorted(tables.dynamic, key=lambda access: access.start),
        n_errors=n_errors,
    )


def _sort_names(tables: Tables) -> None:
    """Put the name rows in the order of the source; the numbers of `this` rows follow them."""
    order = sorted(range(len(tables.names)), key=tables.names.__getitem__)
    moved = {old: new for new, old in enumerate(order)}
    tables.names = [tables.names[number] for number in order]
    tables.this_rows = [(moved[number], this) for number, this in tables.this_rows]


def _extract(dialect: Dialect, source: bytes, clock: Clock) -> FileFacts:
    return extract_within_limits(source, dialect.grammar, partial(_read, dialect), clock)


def extract_javascript(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a JavaScript file, with or without JSX."""
    return _extract(JAVASCRIPT, source, clock)


def extract_typescript(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a TypeScript file."""
    return _extract(TYPESCRIPT, source, clock)


def extract_tsx(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a TypeScript file with JSX."""
    return _extract(TSX, source, clock)


DIALECTS: Final = {
    "javascript": (extract_javascript, JAVASCRIPT.grammar),
    "typescript": (extract_typescript, TYPESCRIPT.grammar),
    "tsx": (extract_tsx, TSX.grammar),
}
