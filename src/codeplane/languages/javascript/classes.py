"""Read classes, interfaces and objects with their members."""

import re
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NO_RECEIVER, NONE, THIS, Definition, DefinitionKind
from codeplane.languages.javascript.declarations import (
    Extent,
    has_body,
    kind_of_value,
    literal_of,
    name_value,
    open_function,
    open_type_parameters,
    plain_type,
    reference_start,
    result_type,
    signature_of,
    type_of_value,
)
from codeplane.languages.javascript.loading import literal_text
from codeplane.languages.javascript.tables import (
    CLASS,
    CLASS_NAME,
    FUNCTION,
    INTERFACE,
    INTERFACE_NAME,
    NO_SPACE,
    OBJECT,
    OWN_NAME,
    VALUES,
    This,
)
from codeplane.languages.javascript.walking import DEFINITION, LEFT_OUT, REFERENCE, Walk
from codeplane.languages.nodes import child_of_kind, name_of

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")
_SIGNATURES: Final = frozenset({"method_signature", "abstract_method_signature"})


def take_class(walk: Walk, node: Node) -> bool:
    """Read a class declaration or expression up to its body."""
    is_expression = node.type == "class"
    name = node.child_by_field_name("name")
    number = walk.named_values.pop(node.start_byte, NONE) if is_expression else NONE
    outer = walk.scope
    outer_path = walk.tables.definitions[number].lexical_path if number != NONE else walk.tables.scopes[outer].path
    text = walk.text.of(name) if name is not None else ""
    if is_expression and text:
        outer = walk.open_scope(OWN_NAME, node.byte_range, outer_path)
        walk.enter(outer, this=walk.this)
    path = outer_path if number != NONE or not text else walk.path_of(outer, text)
    open_type_parameters(walk, node, path)
    body = node.child_by_field_name("body")
    extent = body.byte_range if body is not None else node.byte_range
    scope = walk.open_scope(CLASS, extent, path)
    if body is not None:
        walk.bodies[body.start_byte] = scope
    signature, bases = _heritage(walk, node, name, body)
    if number != NONE:
        known = walk.tables.definitions[number]
        walk.tables.definitions[number] = known._replace(body_scope=scope, signature=signature, bases=bases)
    if text and name is not None:
        decorators, kind = _own_decorators(walk, node), DefinitionKind.CLASS
        definition = walk.describe(
            *(kind, outer, text, node, name.start_byte),
            body_scope=scope,
            signature=signature,
            decorators=decorators,
            bases=bases,
        )
        walk.bind(outer, CLASS_NAME, walk.define(definition))
        if not walk.is_typed:
            walk.marks[name.start_byte] = (DEFINITION, outer, VALUES, NO_RECEIVER)
    walk.decorators.clear()
    return True


def take_class_body(walk: Walk, node: Node) -> bool:
    """Enter the body of a class: what is directly in it are members; `this` is set by each of them."""
    scope = walk.bodies.pop(node.start_byte, NONE)
    if scope == NONE:
        scope = walk.open_scope(CLASS, node.byte_range)
    walk.enter(scope, this=walk.this, container=scope)
    return True


def take_interface(walk: Walk, node: Node) -> bool:
    """Read an interface up to its body."""
    name, body = name_of(node), node.child_by_field_name("body")
    if name is None:
        return True
    outer, text = walk.scope, walk.text.of(name)
    path = walk.path_of(outer, text)
    open_type_parameters(walk, node, path)
    scope = walk.open_scope(INTERFACE, body.byte_range if body is not None else node.byte_range, path)
    if body is not None:
        walk.bodies[body.start_byte] = scope
    clause = child_of_kind(node, "extends_type_clause")
    bases = tuple(plain_type(child) for child in clause.named_children) if clause is not None else ()
    signature = walk.text.folded(name.end_byte, body.start_byte if body is not None else node.end_byte)
    kind = DefinitionKind.INTERFACE
    definition = walk.describe(
        kind, outer, text, node, name.start_byte, body_scope=scope, signature=signature, bases=bases
    )
    walk.bind(outer, INTERFACE_NAME, walk.define(definition))
    return True


def take_members(walk: Walk, node: Node) -> bool:
    """Enter the body of an interface or an object type; one that belongs to nothing named defines no members."""
    scope = walk.bodies.pop(node.start_byte, NONE)
    walk.enter(scope if scope != NONE else walk.scope, this=None, container=scope)
    return True


def take_object(walk: Walk, node: Node) -> bool:
    """Enter an object literal; where it is given a name, its keys are members of that name."""
    number = walk.named_values.pop(node.start_byte, NONE)
    if number == NONE:
        walk.enter(walk.scope, this=walk.this)
        return True
    scope = walk.open_scope(OBJECT, node.byte_range, walk.tables.definitions[number].lexical_path)
    walk.give_body(number, scope)
    walk.enter(scope, this=walk.this, container=scope)
    for part in node.named_children:
        if part.type == "pair":
            _define_pair(walk, part, scope)
        elif part.type == "shorthand_property_identifier" and part.end_byte > part.start_byte:
            walk.define_name(DefinitionKind.PROPERTY, scope, part.byte_range)
    return True


def take_method(walk: Walk, node: Node) -> bool:
    """Read a method, accessor or the signature of one, in a class, an interface or an object."""
    name = node.child_by_field_name("name")
    scope_number = walk.container
    container = walk.tables.scopes[scope_number] if scope_number != NONE else None
    words = _words_before(walk, node, name)
    is_static = "static" in words
    is_in_class = container is not None and container.kind in {CLASS, INTERFACE}
    this = This(scope_number, is_static) if container is not None and container.kind == CLASS else None
    decorators = _modifiers(walk, node, is_static=is_static)
    text, extent = member_name(walk, name)
    home = scope_number if scope_number != NONE else walk.scope
    path = walk.path_of(home, text) if text else walk.tables.scopes[home].path
    scope = open_function(walk, node, path, this=this)
    if extent is None or (scope_number == NONE and node.type != "method_definition"):
        return True
    kind = DefinitionKind.PROPERTY if "get" in words or "set" in words else DefinitionKind.METHOD
    definition = walk.describe(
        *(kind, home, text, node, extent[0]),
        path=path,
        body_scope=scope,
        signature=signature_of(walk, node),
        decorators=decorators,
        type_ref=result_type(walk, node),
    )
    note_text_name(walk, name, extent, home)
    if is_in_class:
        _add_method(walk, home, definition, is_signature=node.type in _SIGNATURES, is_static=is_static)
    else:
        walk.define(definition)
        walk.marks[extent[0]] = (DEFINITION, home, NO_SPACE, NO_RECEIVER)
    return True


def take_field(walk: Walk, node: Node) -> bool:
    """Read a field of a class, or a property of an interface or a named object type."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    home = walk.container
    words = _words_before(walk, node, name)
    is_static = "static" in words
    value = node.child_by_field_name("value")
    bare = literal_of(value)
    text, extent = member_name(walk, name)
    decorators = _modifiers(walk, node, is_static=is_static)
    if home == NONE or extent is None:
        walk.enter(walk.scope, this=walk.this)
        return True
    annotation = node.child_by_field_name("type") if walk.is_typed else None
    type_ref = plain_type(annotation)
    if walk.is_typed and annotation is None:
        type_ref = type_of_value(value)
    is_function = kind_of_value(bare, DefinitionKind.FIELD) is DefinitionKind.FUNCTION
    kind = DefinitionKind.METHOD if is_function else DefinitionKind.FIELD
    signature = signature_of(walk, bare) if is_function and bare is not None else ""
    number = walk.define(
        walk.describe(kind, home, text, node, extent[0], signature=signature, decorators=decorators, type_ref=type_ref)
    )
    _mark_member(walk, home, number, is_static=is_static)
    note_text_name(walk, name, extent, home)
    if has_body(bare) and (is_function or annotation is None):
        name_value(walk, bare, number)
    inner = _object_type(annotation)
    if inner is not None:
        scope = walk.open_scope(INTERFACE, inner.byte_range, walk.path_of(home, text))
        walk.give_body(number, scope)
        walk.bodies[inner.start_byte] = scope
    is_class = walk.tables.scopes[home].kind == CLASS
    walk.enter(walk.scope, this=This(home, is_static) if is_class else walk.this)
    return True


def take_static_block(walk: Walk, node: Node) -> bool:
    """Read a `static { … }` of a class."""
    class_scope = walk.container
    scope = walk.open_scope(FUNCTION, node.byte_range, holds_var=True)
    body = node.child_by_field_name("body")
    if body is not None:
        walk.bodies[body.start_byte] = scope
    walk.enter(scope, this=This(class_scope, True) if class_scope != NONE else None)
    return True


def take_decorator(walk: Walk, node: Node) -> bool:
    """Read a decorator; that of a parameter does not see the parameters."""
    start = node.start_byte
    scope = walk.scope
    if start in walk.parameter_decorators:
        scope = walk.tables.scopes[scope].parent
    elif walk.container != NONE and walk.tables.scopes[walk.container].kind == CLASS:
        walk.decorators.append(walk.text.folded(start + 1, node.end_byte))
    walk.enter(scope, this=walk.this)
    return True


def take_tag(walk: Walk, node: Node) -> bool:
    """Read the name of a JSX element: one in lower case or with a dash is not a reference."""
    name = node.child_by_field_name("name")
    if name is None:
        return True
    start, end = name.byte_range
    text = walk.text.bytewise
    is_built_in = name.type == "identifier" and (text[start].islower() or "-" in text[start:end])
    # The grammar takes `this` in `<this.x>` for a name.
    if is_built_in or (name.type == "member_expression" and text.startswith("this.", start)):
        walk.marks[start] = LEFT_OUT
    return True


def _heritage(walk: Walk, node: Node, name: Node | None, body: Node | None) -> tuple[str, tuple[int, ...]]:
    """Return the text of type parameters and bases, and the starts of the references to the bases."""
    bases: list[int] = []
    heritage = child_of_kind(node, "class_heritage")
    clauses = heritage.named_children if heritage is not None else []
    for clause in clauses:
        if clause.type == "extends_clause":
            bases.extend(reference_start(one) for one in clause.children_by_field_name("value"))
        elif clause.type == "implements_clause":
            bases.extend(plain_type(one) for one in clause.named_children if one.type != "comment")
        elif clause.type != "comment":
            bases.append(reference_start(clause))
    first = node.child_by_field_name("type_parameters") if walk.is_typed else None
    first = first or heritage
    if first is None or body is None:
        return "", tuple(bases)
    begin = first.start_byte if name is None else max(first.start_byte, name.end_byte)
    return walk.text.folded(begin, body.start_byte), tuple(bases)


def _modifiers(walk: Walk, node: Node, *, is_static: bool) -> tuple[str, ...]:
    """Return the decorators of a member; `static` is the first where it belongs to the class itself."""
    decorators = _own_decorators(walk, node)
    return ("static", *decorators) if is_static else decorators


def _own_decorators(walk: Walk, node: Node) -> tuple[str, ...]:
    """Return the decorators written before a declaration, without the at-sign, outermost first."""
    found = [*walk.decorators]
    walk.decorators.clear()
    for child in node.children if walk.text.bytewise[node.start_byte] == "@" else ():
        if child.type != "decorator":
            break
        found.append(walk.text.folded(child.start_byte + 1, child.end_byte))
    return tuple(found)


def member_name(walk: Walk, name: Node | None) -> tuple[str, Extent | None]:
    """Return the name of a member and where it is; a computed name or a number is none."""
    if name is None or name.end_byte <= name.start_byte:
        return "", None
    if name.type in {"property_identifier", "private_property_identifier"}:
        return walk.text.of(name), name.byte_range
    text = literal_text(walk, name)
    if name.type == "string" and text is not None and _IDENTIFIER.fullmatch(text):
        return text, (name.start_byte + 1, name.end_byte - 1)
    return "", None


def note_text_name(walk: Walk, name: Node | None, extent: Extent, scope: int) -> None:
    """Write the row of a member whose name is written as a text."""
    if name is not None and name.type == "string":
        walk.take_text(*extent, scope)


def _words_before(walk: Walk, node: Node, name: Node | None) -> frozenset[str]:
    """Return the words before the name of a member: `static`, `get`, `set` and others."""
    if name is None or name.start_byte == node.start_byte:
        return frozenset()
    begin = node.start_byte
    if walk.text.bytewise[begin] == "@":
        for child in node.children:
            if child.type == "decorator":
                begin = child.end_byte
    return frozenset(walk.text.bytewise[begin : name.start_byte].split())


def _add_method(walk: Walk, home: int, definition: Definition, *, is_signature: bool, is_static: bool) -> None:
    """Define a method, once for all its overload signatures."""
    key = f"{'static ' if is_static else ''}{definition.name}"
    overloads = walk.overloads.setdefault(home, {})
    known = overloads.get(key, NONE)
    if definition.kind is DefinitionKind.PROPERTY or known == NONE:
        number = walk.define(definition)
        _mark_member(walk, home, number, is_static=is_static)
        if is_signature and definition.kind is DefinitionKind.METHOD:
            overloads[key] = number
        return
    if is_signature:
        walk.marks[definition.name_start] = (REFERENCE, home, NO_SPACE, THIS)
        # Which result a call has depends on the signature it means.
        walk.tables.definitions[known] = walk.tables.definitions[known]._replace(type_ref=NONE)
        return
    signature = walk.tables.definitions[known]
    walk.tables.demoted.add(signature.name_start)
    documentation = signature.documentation or definition.documentation
    walk.tables.definitions[known] = definition._replace(documentation=documentation, type_ref=NONE)
    walk.marks[definition.name_start] = (DEFINITION, home, NO_SPACE, NO_RECEIVER)
    del overloads[key]


def _mark_member(walk: Walk, home: int, number: int, *, is_static: bool) -> None:
    """Mark the name of a member as defining; a private one can be looked up from inside of the class."""
    definition = walk.tables.definitions[number]
    walk.add_member(home, definition.name, is_static=is_static)
    if definition.name.startswith("#"):
        walk.bind_private(home, number)
    else:
        walk.marks[definition.name_start] = (DEFINITION, home, NO_SPACE, NO_RECEIVER)


def _define_pair(walk: Walk, pair: Node, home: int) -> None:
    key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
    text, extent = member_name(walk, key)
    if extent is None:
        return
    bare = literal_of(value)
    is_function = kind_of_value(bare, DefinitionKind.PROPERTY) is DefinitionKind.FUNCTION
    kind = DefinitionKind.METHOD if is_function else DefinitionKind.PROPERTY
    signature = signature_of(walk, bare) if is_function and bare is not None else ""
    type_ref = type_of_value(value) if walk.is_typed else NONE
    number = walk.define(walk.describe(kind, home, text, pair, extent[0], signature=signature, type_ref=type_ref))
    walk.marks[extent[0]] = (DEFINITION, home, NO_SPACE, NO_RECEIVER)
    note_text_name(walk, key, extent, home)
    name_value(walk, bare, number)


def _object_type(annotation: Node | None) -> Node | None:
    if annotation is None or annotation.named_child_count != 1:
        return None
    inner = annotation.named_children[0]
    return inner if inner.type == "object_type" else None
