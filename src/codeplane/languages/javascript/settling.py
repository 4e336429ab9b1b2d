"""Turn the raw rows of a file into references and exports, once all declarations are known."""

from typing import Final

from codeplane.languages.facts import (
    EXPRESSION,
    NONE,
    THIS,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    Export,
    Reference,
)
from codeplane.languages.javascript.commonjs import COMMONJS, INCOMPLETE
from codeplane.languages.javascript.loading import REQUIRE
from codeplane.languages.javascript.scoping import Bindings
from codeplane.languages.javascript.tables import (
    CLASS,
    NAMESPACES,
    NO_SPACE,
    ON_CLASS,
    ON_INSTANCE,
    TYPES,
    VALUES,
    RawExport,
    Tables,
    This,
)
from codeplane.languages.javascript.walking import DEFINITION, REFERENCE

# Names that every class and function has by itself, whatever its instances have.
_OF_EVERY_FUNCTION: Final = frozenset(
    {"apply", "arguments", "bind", "call", "caller", "constructor", "length", "name", "prototype", "toString"}
)


def define_assigned_members(tables: Tables, bindings: Bindings) -> None:
    """Define the members that methods make by assigning to `this`, unless the class or a base of it has them.

    Where a base is elsewhere it may have them: then the definition belongs to the method it is in, so that
    it is not found as a member.
    """
    if not tables.this_assignments:
        return
    wanted = {start for _, _, start, _ in tables.this_assignments}
    rows = {row[0]: number for number, row in enumerate(tables.names) if row[0] in wanted}
    families = _Families(tables, bindings)
    for class_scope, name, start, end in tables.this_assignments:
        scope = tables.scopes[class_scope]
        if start not in rows or scope.members.get(name, 0) & ON_INSTANCE or (class_scope, name) in families.assigned:
            continue
        bases = families.bases_of(class_scope)
        if any(tables.scopes[one].members.get(name, 0) & ON_INSTANCE for one in bases if one != NONE):
            continue
        row = tables.names[rows[start]]
        home = row[2] if NONE in bases else class_scope
        if home == class_scope:
            scope.members[name] = scope.members.get(name, 0) | ON_INSTANCE
        families.assigned.add((class_scope, name))
        path = f"{scope.path}.{name}" if scope.path else name
        tables.definitions.append(Definition(DefinitionKind.FIELD, name, path, start, end, start, home))
        tables.names[rows[start]] = (row[0], row[1], row[2], DEFINITION, row[4], row[5])


class _Families:
    """The classes of a file with their bases, as far as they are in it.

    Invariant: `assigned` has the members that were defined by an assignment, by class scope and name.
    """

    def __init__(self, tables: Tables, bindings: Bindings) -> None:
        self.assigned: set[tuple[int, str]] = set()
        self._binds = bindings
        self._tables = tables
        self._bases: dict[int, list[int]] = {}
        self._classes = {one.body_scope: one for one in tables.definitions if one.kind is DefinitionKind.CLASS}
        starts = {start for one in self._classes.values() for start in one.bases}
        self._base_rows = {row[0]: row for row in tables.names if row[0] in starts} if starts else {}

    def bases_of(self, class_scope: int) -> list[int]:
        """Return the scopes of all bases of a class, NONE for one that is elsewhere."""
        if class_scope in self._bases:
            return self._bases[class_scope]
        found: list[int] = []
        waiting = [class_scope]
        while waiting:
            definition = self._classes.get(waiting.pop())
            for start in definition.bases if definition is not None else (NONE,):
                base = self._body_of(start)
                if base in {NONE, class_scope} or base in found:
                    found.append(NONE)
                    continue
                found.append(base)
                waiting.append(base)
        self._bases[class_scope] = found
        return found

    def _body_of(self, start: int) -> int:
        row = self._base_rows.get(start)
        bind = self._binds.find(row[2], row[1], row[5]) if row is not None and row[5] < NO_SPACE else NONE
        if bind == NONE:
            return NONE
        fact = self._binds.binds[bind]
        if fact.target_kind is not BindTarget.DEF or fact.certainty is not Certainty.CERTAIN:
            return NONE
        definition = self._tables.definitions[fact.target]
        return definition.body_scope if definition.kind is DefinitionKind.CLASS else NONE


def settle_this(tables: Tables) -> None:
    """Let members of `this` that the class cannot be asked for be members of an unknown expression."""
    owned = {one.body_scope for one in tables.definitions if one.kind is DefinitionKind.CLASS}
    for number, this in tables.this_rows:
        start, name, scope, role, receiver, space = tables.names[number]
        is_known = this.class_scope in owned and _class_around(tables, scope) == this.class_scope
        if not is_known or (receiver == THIS and not _has_member(tables, this, name)):
            tables.names[number] = (start, name, scope, role, EXPRESSION, space)


def settle_references(tables: Tables, bindings: Bindings) -> list[Reference]:
    """Return the references; the loop runs for every identifier."""
    keys, find, found = tables.keys, bindings.find, bindings.found
    references: list[Reference] = []
    add = references.append
    for start, name, scope, role, receiver, space in tables.names:
        if space == NO_SPACE:
            bind = NONE
        elif role > DEFINITION and start in keys:
            bind = find(scope, keys[start], space)
        else:
            known = found[space][scope]
            bind = known[name] if name in known else find(scope, name, space)
        add((start, name, scope, role, receiver, bind))
    if tables.demoted:
        _demote(tables, references)
    _cut_members_of_every_function(tables, bindings, references)
    return references


def settle_changes(tables: Tables, bindings: Bindings, references: list[Reference]) -> None:
    """Doubt what was read off a declaration where an assignment may have changed it."""
    changed = {bind for start, _, _, _, _, bind in references if start in tables.assigned and bind != NONE}
    doubtful = _shadowed_loads(tables, references)
    for bind in changed:
        fact = bindings.binds[bind]
        if fact.target_kind is BindTarget.IMPORT and fact.target in tables.mutable_imports:
            doubtful.add(fact.target)
        elif fact.target_kind is BindTarget.DEF and fact.target in tables.mutable_types:
            tables.definitions[fact.target] = tables.definitions[fact.target]._replace(type_ref=NONE)
    if not doubtful:
        return
    for number, fact in enumerate(bindings.binds):
        if fact.target_kind is BindTarget.IMPORT and fact.target in doubtful:
            bindings.binds[number] = fact._replace(certainty=Certainty.UNCERTAIN)
    for number in doubtful:
        tables.imports[number] = tables.imports[number]._replace(certainty=Certainty.UNCERTAIN)


def set_owners(tables: Tables, bindings: Bindings) -> None:
    """Give the members of a further declaration of a class, interface or namespace to the thing they add to."""
    if not bindings.merged:
        return
    for number, definition in enumerate(tables.definitions):
        owner = bindings.merged.get(definition.scope)
        if owner is not None and not definition.owner:
            # The further declaration has the path of the first one.
            path = definition.lexical_path[: -len(definition.name) - 1]
            tables.definitions[number] = definition._replace(owner=path or owner)


def settle_exports(tables: Tables, bindings: Bindings) -> list[Export]:
    """Return the exports with what they mean, each once."""
    wanted = tables.own_name_exports
    by_name_start = {
        one.name_start: number for number, one in enumerate(tables.definitions) if one.name_start in wanted
    }
    raw = list(tables.exports)
    for start, number in tables.own_name_exports.items():
        if start in by_name_start:
            raw[number] = raw[number]._replace(target_kind=BindTarget.DEF, target=by_name_start[start])
        else:
            raw[number] = raw[number]._replace(is_certain=False)
    found = dict.fromkeys(_settled(one, bindings) for one in _joined(raw) if _is_meant(one, bindings))
    several = _names_with_several_targets(found)
    return [one._replace(certainty=Certainty.UNCERTAIN) if one.name in several else one for one in found]


def _class_around(tables: Tables, scope: int) -> int:
    while scope != NONE and tables.scopes[scope].kind != CLASS:
        scope = tables.scopes[scope].parent
    return scope


def _has_member(tables: Tables, this: This, name: str) -> bool:
    """Say whether `this` may have a member: those on the class itself are not inherited blindly."""
    members = tables.scopes[this.class_scope].members.get(name, 0)
    return members == ON_CLASS if this.is_static else not members & ON_CLASS


def _demote(tables: Tables, references: list[Reference]) -> None:
    """Let names of overload signatures be references to the one function that they declare."""
    for number, (start, name, scope, role, receiver, bind) in enumerate(references):
        if role == DEFINITION and start in tables.demoted:
            is_member = tables.names[number][5] == NO_SPACE
            references[number] = (start, name, scope, REFERENCE, THIS if is_member else receiver, bind)


def _cut_members_of_every_function(tables: Tables, bindings: Bindings, references: list[Reference]) -> None:
    """Do not take `A.name` for the field `name` of the instances of A."""
    numbers = [
        number for number, row in enumerate(references) if row[4] >= 0 and row[1] in _OF_EVERY_FUNCTION and row[3] == 0
    ]
    wanted = {references[number][4] for number in numbers}
    receivers = {row[0]: row for row in references if row[0] in wanted} if wanted else {}
    for number in numbers:
        start, name, scope, role, receiver, bind = references[number]
        if receiver in receivers and _may_be_class(tables, bindings, receivers[receiver], name):
            references[number] = (start, name, scope, role, EXPRESSION, bind)


def _may_be_class(tables: Tables, bindings: Bindings, receiver: Reference, name: str) -> bool:
    bind = receiver[5]
    if bind == NONE:
        return receiver[4] >= 0
    fact = bindings.binds[bind]
    if fact.target_kind is BindTarget.IMPORT:
        imported = tables.imports[fact.target]
        return imported.imported_name is not None or imported.kind == REQUIRE
    definition = tables.definitions[fact.target]
    if definition.kind is not DefinitionKind.CLASS:
        return False
    return definition.body_scope == NONE or tables.scopes[definition.body_scope].members.get(name, 0) != ON_CLASS


def _shadowed_loads(tables: Tables, references: list[Reference]) -> set[int]:
    """Return the imports by a `require` that is not the one of the module system."""
    if not tables.loads or tables.makes_require:
        return set()
    return {
        number
        for start, name, _, _, _, bind in references
        if name == "require" and bind != NONE and start in tables.loads
        for number in range(*tables.loads[start])
    }


def _joined(exports: list[RawExport]) -> list[RawExport]:
    """Let a name that is exported as a type and as a value be one export."""
    found: dict[tuple[str, str, int], RawExport] = {}
    for number, one in enumerate(exports):
        key = (one.name, one.local_name, one.scope) if one.local_name else ("", "", number)
        known = found.get(key)
        found[key] = one if known is None else known._replace(spaces=known.spaces | one.spaces)
    return list(found.values())


def _is_meant(raw: RawExport, bindings: Bindings) -> bool:
    """Say whether `module` and `exports` are those of the module system where an export was read."""
    if raw.evidence not in {COMMONJS, INCOMPLETE}:
        return True
    return all(bindings.find(raw.scope, name, VALUES) == NONE for name in ("module", "exports"))


def _settled(raw: RawExport, bindings: Bindings) -> Export:
    certainty = Certainty.CERTAIN if raw.is_certain else Certainty.UNCERTAIN
    if not raw.local_name:
        return Export(raw.name, raw.target_kind, raw.target, certainty, raw.evidence)
    for space in (VALUES, TYPES, NAMESPACES):
        bind = bindings.find(raw.scope, raw.local_name, space) if raw.spaces & 1 << space else NONE
        if bind != NONE:
            fact = bindings.binds[bind]
            certainty = max(certainty, fact.certainty)
            return Export(raw.name, fact.target_kind, fact.target, certainty, raw.evidence)
    return Export(raw.name, BindTarget.UNKNOWN, NONE, Certainty.UNCERTAIN, raw.evidence)


def _names_with_several_targets(exports: dict[Export, None]) -> set[str]:
    """Return the names to which assignments give several meanings; statements cannot."""
    targets: dict[str, set[tuple[int, int]]] = {}
    for one in exports:
        if one.evidence == COMMONJS:
            targets.setdefault(one.name, set()).add((one.target_kind, one.target))
    return {name for name, meanings in targets.items() if len(meanings) > 1}
