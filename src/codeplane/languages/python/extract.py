"""Extract the facts of a Python file from its bytes."""

from bisect import bisect_left
from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.binding import settled_imports
from codeplane.languages.facts import (
    NONE,
    Definition,
    DefinitionKind,
    FileFacts,
    Reference,
    ReferenceRole,
    Scope,
    no_facts,
)
from codeplane.languages.parsing import (
    SYSTEM_CLOCK,
    TOO_DEEP,
    IsOver,
    OutOfTimeError,
    capture,
    extract_within_limits,
    outside_errors,
)
from codeplane.languages.python.annotations import narrowed_names
from codeplane.languages.python.dynamic import read_dynamic
from codeplane.languages.python.exports import read_exports
from codeplane.languages.python.nesting import is_indented_too_deeply
from codeplane.languages.python.scoping import Bindings
from codeplane.languages.python.syntax import ERRORS, PYTHON, QUERY
from codeplane.languages.python.tables import USE, NameRow, Tables
from codeplane.languages.python.texts import PythonText
from codeplane.languages.python.walking import walk

# By the action of a name row.
_ROLES: Final = (
    int(ReferenceRole.REFERENCE),
    int(ReferenceRole.DEFINITION),
    int(ReferenceRole.REFERENCE),
    int(ReferenceRole.IMPORT),
    int(ReferenceRole.EXPORT),
    int(ReferenceRole.REFERENCE),
)


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself.

    A file that takes too long or is nested beyond what can be parsed safely gives no facts but a `problem`, never a
    part of its facts.
    """
    if is_indented_too_deeply(source):
        return no_facts(source, TOO_DEEP)
    return extract_within_limits(source, PYTHON, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures = capture(QUERY, root, is_over)
    if root.has_error:
        captures |= capture(ERRORS, root, is_over)
    n_errors = len(captures.get("error", ()))
    if n_errors:
        captures = outside_errors(captures)
    text = PythonText(source)
    tables = walk(root, captures, text, is_over)
    exports = read_exports(tables, root, text)
    if exports or n_errors:
        # Entries of `__all__` were added at the end, and an import statement may have an ERROR between its names.
        tables.names.sort(key=_start_of_row)
    bindings = Bindings(tables)
    references = _references(tables.names, bindings)
    if is_over():
        raise OutOfTimeError
    return FileFacts(
        scopes=[Scope(row.kind, row.parent, *row.extent) for row in tables.scopes],
        definitions=_settled_definitions(tables, text),
        references=references,
        binds=bindings.binds,
        imports=settled_imports(tables.imports, bindings.binds),
        exports=exports,
        dynamic=read_dynamic(tables, bindings, root, text),
        n_errors=n_errors,
    )


def _references(rows: list[NameRow], bindings: Bindings) -> list[Reference]:
    """Return the references; rows come in the order of the source. The loop runs for every identifier."""
    references: list[Reference] = []
    add, roles = references.append, _ROLES
    current, found, visible_from = -1, bindings.found[0], bindings.visible_from[0]
    for start, name, key, scope, action, receiver in rows:
        if key is None:
            add((start, name, scope, roles[action], receiver, NONE))
            continue
        if scope != current:
            current, found, visible_from = scope, bindings.found[scope], bindings.visible_from[scope]
        if visible_from and action == USE and start < visible_from.get(key, 0):
            bind = bindings.find_outside(scope, key)
        else:
            bind = found[key] if key in found else bindings.find(scope, key)
        add((start, name, scope, roles[action], receiver, bind))
    return references


def _settled_definitions(tables: Tables, text: PythonText) -> list[Definition]:
    """Return the definitions; a parameter that is assigned again or asked for its class is not a certain instance."""
    definitions = tables.definitions
    for number in tables.rebound:
        if number >= 0 and (definitions[number].instance_of != NONE or definitions[number].type_ref != NONE):
            definitions[number] = definitions[number]._replace(instance_of=NONE, type_ref=NONE)
    typed = [n for n, one in enumerate(definitions) if one.type_ref != NONE and one.kind is DefinitionKind.PARAMETER]
    narrowed = narrowed_names(text.bytewise) if typed else {}
    for number in typed:
        one = definitions[number]
        start, end = tables.scopes[one.scope].extent
        places = narrowed.get(text.bytewise[one.start : one.end], ())
        if places and bisect_left(places, start) < bisect_left(places, end):
            definitions[number] = one._replace(type_ref=NONE)
    return definitions


def _start_of_row(row: NameRow) -> int:
    return row[0]


DIALECTS: Final = {"python": (extract, PYTHON)}
