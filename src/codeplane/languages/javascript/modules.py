"""Read `import` and `export` statements."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import (
    NO_RECEIVER,
    NONE,
    STAR,
    BindTarget,
    Definition,
    DefinitionKind,
    ReferenceRole,
)
from codeplane.languages.javascript.declarations import name_value, pattern_names, signature_of
from codeplane.languages.javascript.loading import DEFAULT, REQUIRE, add_import, bind_import, literal_text
from codeplane.languages.javascript.tables import (
    ANY_SPACE,
    IMPORTED,
    IN_ALL,
    IN_NAMESPACES,
    IN_TYPES,
    IN_VALUES,
    NAMESPACES,
    REEXPORT,
    VALUES,
    RawExport,
)
from codeplane.languages.javascript.walking import DEFINITION, Walk
from codeplane.languages.nodes import child_of_kind

IMPORT: Final = "js_import"
IMPORT_TYPE: Final = "ts_import_type"
REEXPORTED: Final = "js_reexport"
EXPORT_STAR: Final = "js_export_star"
EXPLICIT: Final = "explicit_export"
ASSIGNED: Final = "export_assignment"

_IMPORT_ROLE: Final = int(ReferenceRole.IMPORT)
_EXPORT_ROLE: Final = int(ReferenceRole.EXPORT)
# One grammar takes `default` in a list of exports for a name, the other for a word of its own.
_WORDS: Final = frozenset({"identifier", "default"})
_SPACES_OF_DECLARATION: Final = {
    "class_declaration": IN_VALUES | IN_TYPES,
    "abstract_class_declaration": IN_VALUES | IN_TYPES,
    "interface_declaration": IN_TYPES,
    "type_alias_declaration": IN_TYPES,
    "enum_declaration": IN_ALL,
    "internal_module": IN_VALUES | IN_NAMESPACES,
    "module": IN_VALUES | IN_NAMESPACES,
    "import_alias": IN_ALL,
}


def take_import(walk: Walk, node: Node) -> bool:
    """Read an import statement."""
    walk.tables.is_strict = True
    source = literal_text(walk, node.child_by_field_name("source"))
    clauses = {child.type: child for child in node.named_children}
    if "import_require_clause" in clauses:
        _take_import_require(walk, clauses["import_require_clause"])
    elif source is not None and "import_clause" in clauses:
        second = node.child(1)
        kind = IMPORT_TYPE if second is not None and second.type in {"type", "typeof"} else IMPORT
        _take_import_clause(walk, source, kind, clauses["import_clause"])
    elif source is not None:
        add_import(walk, (source, None, None, IMPORT), node.byte_range)
    return False


def take_import_alias(walk: Walk, node: Node) -> bool:
    """Read `import A = B.C`, which gives another name to a part of a namespace."""
    name = node.named_children[0] if node.named_child_count else None
    if name is None or name.type != "identifier" or name.end_byte <= name.start_byte:
        return True
    walk.declare(DefinitionKind.VARIABLE, walk.scope, name.byte_range, IMPORTED)
    walk.marks[name.start_byte] = (DEFINITION, walk.scope, VALUES, NO_RECEIVER)
    if node.named_child_count > 1:
        walk.marks[node.named_children[1].start_byte] = (0, walk.scope, NAMESPACES, NO_RECEIVER)
    return True


def take_export(walk: Walk, node: Node) -> bool:
    """Read an export statement."""
    walk.tables.is_strict = True
    source = node.child_by_field_name("source")
    if source is not None:
        _take_reexport(walk, node, literal_text(walk, source))
        return False
    declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
    for child in node.children:
        if child.type == "decorator":
            walk.decorators.append(walk.text.folded(child.start_byte + 1, child.end_byte))
    is_default = any(child.type == "default" for child in node.children)
    if declaration is not None:
        walk.anchors[declaration.start_byte] = node.start_byte
        _export_declaration(walk, declaration, is_default=is_default)
        return True
    if value is not None:
        walk.anchors[value.start_byte] = node.start_byte
        _export_value(walk, node, value)
        return True
    clause = child_of_kind(node, "export_clause")
    if clause is not None:
        is_type = any(child.type == "type" for child in node.children)
        for specifier in clause.named_children:
            if specifier.type == "export_specifier":
                _export_local(walk, specifier, is_type=is_type)
        return False
    return _take_odd_export(walk, node)


def take_ambient(walk: Walk, node: Node) -> bool:
    """Read `declare …`: what is declared is documented before that word."""
    if node.named_child_count:
        walk.anchors[node.named_children[0].start_byte] = walk.anchors.get(node.start_byte, node.start_byte)
    return True


def _import_one(walk: Walk, what: tuple[str, str | None, str], imported: Node, local: Node) -> None:
    """Import a name, with a row for each of its identifiers."""
    start, end = local.byte_range
    if end <= start:
        return
    source, imported_name, kind = what
    name = walk.text.cut(start, end)
    alias = name if name != imported_name else None
    number = add_import(walk, (source, imported_name, alias, kind), (imported.start_byte, end))
    bind_import(walk, walk.scope, name, number)
    if imported.start_byte != start and imported.type in _WORDS:
        _row(walk, imported, _IMPORT_ROLE, walk.scope, name)
    _row(walk, local, _IMPORT_ROLE, walk.scope, name)


def _take_import_clause(walk: Walk, source: str, kind: str, clause: Node) -> None:
    for part in clause.named_children:
        if part.type == "identifier":
            _import_one(walk, (source, DEFAULT, kind), part, part)
        elif part.type == "namespace_import":
            name = child_of_kind(part, "identifier")
            if name is not None:
                _import_one(walk, (source, None, kind), name, name)
        elif part.type == "named_imports":
            for specifier in part.named_children:
                if specifier.type == "import_specifier":
                    _take_import_specifier(walk, source, kind, specifier)


def _take_import_specifier(walk: Walk, source: str, kind: str, specifier: Node) -> None:
    name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
    first = specifier.child(0)
    if name is None or specifier.has_error:
        return
    if first is not None and first.type in {"type", "typeof"} and first.start_byte != name.start_byte:
        kind = IMPORT_TYPE
    imported = literal_text(walk, name) if name.type == "string" else walk.text.of(name)
    if imported is not None:
        _import_one(walk, (source, imported, kind), name, alias or name)


def _take_import_require(walk: Walk, clause: Node) -> None:
    source = literal_text(walk, clause.child_by_field_name("source"))
    name = child_of_kind(clause, "identifier")
    if source is not None and name is not None:
        _import_one(walk, (source, None, REQUIRE), name, name)


def _take_reexport(walk: Walk, node: Node, source: str | None) -> None:
    """Read `export … from`: imports that are bound only in a scope of their own, and exports of them."""
    if source is None:
        return
    clause = next((one for one in node.named_children if one.type in {"export_clause", "namespace_export"}), None)
    if clause is None:
        add_import(walk, (source, STAR, None, EXPORT_STAR), node.byte_range)
        return
    scope = walk.open_scope(REEXPORT, node.byte_range)
    if clause.type == "namespace_export":
        name = next((one for one in clause.named_children if one.type in {"identifier", "string"}), None)
        if name is not None:
            _reexport_one(walk, (source, None), name, name, scope)
        return
    for specifier in clause.named_children:
        name = specifier.child_by_field_name("name") if specifier.type == "export_specifier" else None
        if name is not None and not specifier.has_error:
            alias = specifier.child_by_field_name("alias") or name
            _reexport_one(walk, (source, _name_text(walk, name)), name, alias, scope)


def _reexport_one(walk: Walk, what: tuple[str, str | None], name: Node, alias: Node, scope: int) -> None:
    source, imported_name = what
    exported = _name_text(walk, alias)
    if not exported:
        return
    other = exported if exported != imported_name else None
    number = add_import(walk, (source, imported_name, other, REEXPORTED), (name.start_byte, alias.end_byte))
    bind_import(walk, scope, exported, number)
    if name.start_byte != alias.start_byte and name.type in _WORDS:
        _row(walk, name, _IMPORT_ROLE, scope, exported)
    if alias.type in _WORDS:
        role = _IMPORT_ROLE if imported_name is not None and alias.start_byte == name.start_byte else _EXPORT_ROLE
        _row(walk, alias, role, scope, exported)
    if walk.scope == 0:
        walk.tables.exports.append(RawExport(exported, "", 0, 0, EXPLICIT, BindTarget.IMPORT, number))


def _export_local(walk: Walk, specifier: Node, *, is_type: bool) -> None:
    name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
    if name is None or name.type != "identifier" or specifier.has_error:
        return
    first = specifier.child(0)
    is_type = is_type or (first is not None and first.type == "type" and first.start_byte != name.start_byte)
    local = walk.text.of(name)
    _row(walk, name, _EXPORT_ROLE, walk.scope, local)
    if alias is not None and alias.type in _WORDS:
        _row(walk, alias, _EXPORT_ROLE, walk.scope, local)
    if walk.scope == 0 and local:
        exported = _name_text(walk, alias) if alias is not None else local
        spaces = IN_TYPES | IN_NAMESPACES if is_type else IN_ALL
        walk.tables.exports.append(RawExport(exported, local, spaces, 0, EXPLICIT))


def _export_declaration(walk: Walk, declaration: Node, *, is_default: bool) -> None:
    if walk.scope != 0:
        return
    inner: Node | None = declaration
    if declaration.type == "ambient_declaration":
        inner = declaration.named_children[0] if declaration.named_child_count else None
    if inner is None:
        return
    spaces = _SPACES_OF_DECLARATION.get(inner.type, IN_VALUES)
    for name in _declared_names(walk, inner):
        walk.tables.exports.append(RawExport(DEFAULT if is_default else name, name, spaces, 0, EXPLICIT))


def _declared_names(walk: Walk, declaration: Node) -> list[str]:
    if declaration.type in {"lexical_declaration", "variable_declaration", "using_declaration"}:
        patterns = [
            one.child_by_field_name("name") for one in declaration.named_children if one.type == "variable_declarator"
        ]
        extents = [extent for pattern in patterns if pattern is not None for extent in pattern_names(pattern)[0]]
        return [walk.text.cut(*extent) for extent in extents]
    if declaration.type == "import_alias":
        name = declaration.named_children[0] if declaration.named_child_count else None
    else:
        name = declaration.child_by_field_name("name")
    while name is not None and name.type == "nested_identifier":
        name = name.child_by_field_name("object")
    if name is None or name.type not in {"identifier", "type_identifier"} or name.end_byte <= name.start_byte:
        return []
    return [walk.text.of(name)]


def _export_value(walk: Walk, node: Node, value: Node) -> None:
    """Read `export default` of an expression; a function or class without a name is called `default`."""
    is_open = True
    if value.type == "identifier":
        name = walk.text.of(value)
        walk.marks[value.start_byte] = (_EXPORT_ROLE, walk.scope, ANY_SPACE, NO_RECEIVER)
        if walk.scope == 0:
            walk.tables.exports.append(RawExport(DEFAULT, name, IN_ALL, 0, EXPLICIT))
        return
    kinds = {
        "class": DefinitionKind.CLASS,
        "function_expression": DefinitionKind.FUNCTION,
        "generator_function": DefinitionKind.FUNCTION,
    }
    word = next((child for child in node.children if child.type == "default"), None)
    number = NONE
    if value.type in kinds and word is not None and walk.scope == 0:
        is_open = False
        kind = kinds[value.type]
        number = walk.define(
            Definition(
                kind,
                DEFAULT,
                DEFAULT,
                word.start_byte,
                value.end_byte,
                word.start_byte,
                walk.scope,
                signature=signature_of(walk, value) if kind is DefinitionKind.FUNCTION else "",
                documentation=walk.documentation(value.start_byte),
            )
        )
        name_value(walk, value, number)
        walk.take_text(word.start_byte, word.end_byte, walk.scope)
    if walk.scope == 0:
        target_kind = BindTarget.UNKNOWN if number == NONE else BindTarget.DEF
        walk.tables.exports.append(RawExport(DEFAULT, "", 0, 0, EXPLICIT, target_kind, number, not is_open))


def _take_odd_export(walk: Walk, node: Node) -> bool:
    """Read `export = X`; of `export as namespace X` nothing is said."""
    words = {child.type for child in node.children}
    name = next((child for child in node.named_children if child.type != "comment"), None)
    if name is None or "=" not in words:
        return False
    if walk.scope == 0:
        if name.type == "identifier":
            local = walk.text.of(name)
            walk.tables.exports.append(RawExport(DEFAULT, local, IN_ALL, 0, ASSIGNED))
            walk.marks[name.start_byte] = (_EXPORT_ROLE, walk.scope, ANY_SPACE, NO_RECEIVER)
        else:
            walk.tables.exports.append(RawExport(DEFAULT, "", 0, 0, ASSIGNED, is_certain=False))
    return True


def _name_text(walk: Walk, name: Node) -> str:
    return (literal_text(walk, name) or "") if name.type == "string" else walk.text.of(name)


def _row(walk: Walk, name: Node, role: int, scope: int, key: str) -> None:
    """Write the row of an identifier in an import or export, which is looked up by its local name."""
    start, end = name.byte_range
    if end <= start:
        return
    space = VALUES if role == _IMPORT_ROLE else ANY_SPACE
    text = walk.text.cut(start, end)
    walk.tables.names.append((start, text, scope, role, NO_RECEIVER, space))
    if text != key:
        walk.tables.keys[start] = key
