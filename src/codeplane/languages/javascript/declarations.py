"""Read declarations of variables, functions and parameters."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NO_RECEIVER, NONE, BindReason, BindTarget, Definition, DefinitionKind
from codeplane.languages.javascript import loading
from codeplane.languages.javascript.tables import (
    ALIAS_NAME,
    BLOCK,
    CATCH,
    CLASS,
    FOR,
    FUNCTION,
    FUNCTION_NAME,
    HOISTED,
    LEXICAL,
    OWN_NAME,
    PARAMETER,
    SIGNATURE,
    TYPE_PARAMETERS,
    VALUES,
    VAR,
    WITH,
    Place,
    This,
)
from codeplane.languages.javascript.walking import REFERENCE, Walk
from codeplane.languages.nodes import name_of

_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
_VALUES_WITH_BODY: Final = frozenset({*_FUNCTIONS, "class", "object"})
_WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"}
)

Extent = tuple[int, int]


def take_variables(walk: Walk, node: Node) -> bool:
    """Read a `const`, `let`, `using` or `var` declaration with all its declarators."""
    start = node.start_byte
    is_var = node.type == "variable_declaration"
    is_const = not is_var and not walk.text.bytewise.startswith("let", start)
    anchor = walk.anchors.get(start, start)
    for declarator in node.named_children:
        if declarator.type == "variable_declarator":
            walk.anchors[declarator.start_byte] = anchor
            _declare(walk, declarator, is_var=is_var, is_const=is_const)
    return True


def take_for_in(walk: Walk, node: Node) -> bool:
    """Read `for (… of …)` and `for (… in …)`."""
    walk.enter(walk.open_scope(FOR, node.byte_range), this=walk.this)
    left, kind = node.child_by_field_name("left"), node.child_by_field_name("kind")
    if left is None:
        return True
    if kind is None:
        mark_assigned(walk, left)
        return True
    is_var, is_const = kind.type == "var", kind.type == "const"
    for extent in pattern_names(left)[0]:
        _declare_name(walk, extent, is_var=is_var, is_const=is_const)
    return True


def take_for(walk: Walk, node: Node) -> bool:
    """Read the head of a `for (;;)`, whose `let` belongs to the loop."""
    walk.enter(walk.open_scope(FOR, node.byte_range), this=walk.this)
    return True


def take_block(walk: Walk, node: Node) -> bool:
    """Enter a block: the scope prepared for it, or one of its own."""
    start = node.start_byte
    scope = walk.bodies.pop(start, NONE)
    walk.enter(scope if scope != NONE else walk.open_scope(BLOCK, node.byte_range), this=walk.this)
    return True


def take_catch(walk: Walk, node: Node) -> bool:
    """Read a `catch` with what it binds."""
    scope = walk.open_scope(CATCH, node.byte_range)
    walk.enter(scope, this=walk.this)
    parameter, body = node.child_by_field_name("parameter"), node.child_by_field_name("body")
    if parameter is not None:
        for extent in pattern_names(parameter)[0]:
            walk.declare(DefinitionKind.VARIABLE, scope, extent, LEXICAL)
    if body is not None:
        walk.bodies[body.start_byte] = scope
    return True


def take_with(walk: Walk, node: Node) -> bool:
    """Read a `with`: what plain names in its body mean is not known from the syntax."""
    body = node.child_by_field_name("body")
    if body is not None and body.type == "statement_block":
        walk.bodies[body.start_byte] = walk.open_scope(WITH, body.byte_range)
    else:
        walk.enter(walk.open_scope(WITH, node.byte_range), this=walk.this)
    return True


def take_function(walk: Walk, node: Node) -> bool:
    """Read a function declaration or the signature of an overload."""
    name = name_of(node)
    if name is None:
        open_function(walk, node, walk.tables.scopes[walk.scope].path, this=None)
        return True
    outer, text = walk.scope, walk.text.of(name)
    is_signature = node.type == "function_signature"
    path = walk.path_of(outer, text)
    scope = open_function(walk, node, path, this=None)
    number = _overloaded(walk, outer, text)
    if number != NONE and is_signature:
        walk.marks[name.start_byte] = (REFERENCE, outer, VALUES, NO_RECEIVER)
        # Which result a call has depends on the signature it means.
        walk.tables.definitions[number] = walk.tables.definitions[number]._replace(type_ref=NONE)
        return True
    definition = walk.describe(
        *(DefinitionKind.FUNCTION, outer, text, node, name.start_byte),
        body_scope=scope,
        signature=signature_of(walk, node),
        type_ref=result_type(walk, node),
    )
    if number != NONE:
        _replace_signature(walk, number, definition)
    else:
        walk.bind(outer, SIGNATURE if is_signature else FUNCTION_NAME, walk.define(definition))
        _hoist_from_block(walk, outer, text, len(walk.tables.definitions) - 1)
    return True


def take_function_expression(walk: Walk, node: Node) -> bool:
    """Read a function expression or an arrow function."""
    number = walk.named_values.pop(node.start_byte, NONE)
    path = walk.tables.definitions[number].lexical_path if number != NONE else walk.tables.scopes[walk.scope].path
    if node.type == "arrow_function":
        walk.give_body(number, open_function(walk, node, path, this=walk.this))
        return True
    name = name_of(node)
    if name is None:
        walk.give_body(number, open_function(walk, node, path, this=None))
        return True
    own = walk.open_scope(OWN_NAME, node.byte_range, path)
    walk.enter(own, this=None)
    text = walk.text.of(name)
    own_path = walk.path_of(own, text) if number == NONE else path
    scope = open_function(walk, node, own_path, this=None)
    walk.give_body(number, scope)
    start, end = node.byte_range
    definition = Definition(
        DefinitionKind.FUNCTION,
        text,
        walk.path_of(own, text),
        start,
        end,
        name.start_byte,
        own,
        body_scope=scope,
        signature=signature_of(walk, node),
    )
    walk.bind(own, FUNCTION_NAME, walk.define(definition))
    return True


def open_function(walk: Walk, node: Node, path: str, *, this: This | None) -> int:
    """Enter the scope of a function, with its parameters and type parameters bound."""
    scope = walk.open_scope(FUNCTION, node.byte_range, path, holds_var=True)
    walk.enter(scope, this=this)
    if walk.is_typed:
        take_type_parameters(walk, node.child_by_field_name("type_parameters"), scope)
    parameters = node.child_by_field_name("parameters")
    has_defaults = False
    if parameters is not None:
        has_defaults = _take_parameters(walk, parameters, scope)
    elif (single := node.child_by_field_name("parameter")) is not None:
        _bind_parameter(walk, single.byte_range, scope)
    body = node.child_by_field_name("body")
    if body is not None and body.type == "statement_block":
        inner = scope
        if has_defaults:
            inner = walk.open_scope(BLOCK, body.byte_range, path, holds_var=True)
            walk.tables.scopes[inner].parameters = scope
        walk.bodies[body.start_byte] = inner
    return scope


def take_type_parameters(walk: Walk, node: Node | None, scope: int) -> None:
    """Bind type parameters in a scope."""
    for parameter in node.named_children if node is not None else ():
        name = parameter.child_by_field_name("name") if parameter.type == "type_parameter" else None
        if name is not None and name.type == "type_identifier":
            walk.declare(DefinitionKind.TYPE, scope, name.byte_range, ALIAS_NAME)


def open_type_parameters(walk: Walk, node: Node, path: str) -> None:
    """Enter a scope for the type parameters of a class, interface or alias, where it has any."""
    parameters = node.child_by_field_name("type_parameters") if walk.is_typed else None
    if parameters is not None:
        scope = walk.open_scope(TYPE_PARAMETERS, node.byte_range, path)
        take_type_parameters(walk, parameters, scope)
        walk.enter(scope, this=walk.this)


def pattern_names(pattern: Node) -> tuple[list[Extent], bool]:
    """Return the names that a pattern binds, in order, and whether it has defaults or computed keys."""
    names: list[Extent] = []
    has_expressions = False
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind in _NAMES:
            names.append(node.byte_range)
        elif kind in {"assignment_pattern", "object_assignment_pattern"}:
            has_expressions = True
            left = node.child_by_field_name("left")
            waiting.extend([left] if left is not None else ())
        elif kind == "pair_pattern":
            key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            has_expressions = has_expressions or (key is not None and key.type == "computed_property_name")
            waiting.extend([value] if value is not None else ())
        elif kind in {"object_pattern", "array_pattern", "rest_pattern"}:
            waiting.extend(reversed(node.named_children))
    return [extent for extent in names if extent[1] > extent[0]], has_expressions


def mark_assigned(walk: Walk, target: Node) -> None:
    """Remember the plain names to which an assignment writes."""
    if target.type == "identifier":
        walk.tables.assigned.add(target.start_byte)
    elif target.type == "subscript_expression":
        walk.written_subscripts.add(target.byte_range)
    elif target.type in {"object_pattern", "array_pattern"}:
        walk.tables.assigned.update(start for start, _ in pattern_names(target)[0])
    elif target.type in _WRAPPERS and target.named_child_count:
        inner = unwrapped(target)
        if inner.type == "identifier":
            walk.tables.assigned.add(inner.start_byte)


def take_update(walk: Walk, node: Node) -> bool:
    """Read `x++` and `x += 1`."""
    target = node.child_by_field_name("argument") or node.child_by_field_name("left")
    if target is not None:
        mark_assigned(walk, target)
    return True


def unwrapped(node: Node) -> Node:
    """Return an expression without parentheses and type assertions around it."""
    while node.type in _WRAPPERS:
        inner = next((child for child in node.named_children if child.type != "comment"), None)
        if inner is None:
            break
        node = inner
    return node


def literal_of(value: Node | None) -> Node | None:
    """Return the function, class or object that a value is; an object that is asserted to be of a type is that type."""
    if value is None:
        return None
    is_asserted = False
    while value.type in _WRAPPERS:
        parts = [child for child in value.named_children if child.type != "comment"]
        if not parts:
            return None
        is_asserted = is_asserted or (value.type == "as_expression" and len(parts) > 1)
        value = parts[0]
    return value if value.type != "object" or not is_asserted else None


def signature_of(walk: Walk, node: Node) -> str:
    """Return the text of type parameters, parameters and return type of a function."""
    parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    if parameters is None:
        return ""
    first = last = parameters
    if walk.is_typed:
        first = node.child_by_field_name("type_parameters") or first
        last = node.child_by_field_name("return_type") or last
    return walk.text.folded(first.start_byte, last.end_byte)


def plain_type(node: Node | None) -> int:
    """Return the start of the reference that names a type; NONE for all that is not one name.

    What may also be null or undefined is what it is otherwise, because members are reached only then.
    """
    while node is not None:
        kind = node.type
        if kind == "type_identifier":
            return node.start_byte
        if kind in {"generic_type", "nested_type_identifier"}:
            node = node.child_by_field_name("name")
        elif kind in {"type_annotation", "parenthesized_type"}:
            node = next((child for child in node.named_children if child.type != "comment"), None)
        elif kind == "union_type":
            node = _only_part(node)
        else:
            return NONE
    return NONE


def type_of_value(value: Node | None) -> int:
    """Return the start of the reference that names the type of a value: of `new Foo()` and `x as Foo`."""
    while value is not None:
        kind = value.type
        if kind == "new_expression":
            return reference_start(value.child_by_field_name("constructor"))
        if kind == "as_expression":
            parts = [child for child in value.named_children if child.type != "comment"]
            return plain_type(parts[1]) if len(parts) > 1 else NONE
        if kind not in {"parenthesized_expression", "satisfies_expression", "non_null_expression"}:
            return NONE
        value = next((child for child in value.named_children if child.type != "comment"), None)
    return NONE


def called_function(value: Node | None) -> int:
    """Return the start of the reference that names the function whose result a value is, NONE for other values."""
    if value is None or value.type != "call_expression":
        return NONE
    return reference_start(value.child_by_field_name("function"))


def result_type(walk: Walk, function: Node) -> int:
    """Return the start of the reference that names the type of what a function returns."""
    return plain_type(function.child_by_field_name("return_type")) if walk.is_typed else NONE


def reference_start(node: Node | None) -> int:
    """Return the start of the reference that a chain of names ends in, NONE for anything else."""
    if node is None:
        return NONE
    if node.type == "member_expression":
        node = node.child_by_field_name("property")
        return node.start_byte if node is not None else NONE
    return node.start_byte if node.type == "identifier" else NONE


def name_value(walk: Walk, value: Node | None, number: int) -> None:
    """Let a function, class or object expression be the body of a definition."""
    if value is not None and value.type in _VALUES_WITH_BODY:
        walk.named_values[value.start_byte] = number


def kind_of_value(value: Node | None, otherwise: DefinitionKind) -> DefinitionKind:
    """Return what is defined by giving a name to a value."""
    if value is None:
        return otherwise
    if value.type in _FUNCTIONS:
        return DefinitionKind.FUNCTION
    return DefinitionKind.CLASS if value.type == "class" else otherwise


def has_body(value: Node | None) -> bool:
    """Say whether a value is a function, class or object expression."""
    return value is not None and value.type in _VALUES_WITH_BODY


def _declare(walk: Walk, declarator: Node, *, is_var: bool, is_const: bool) -> None:
    name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
    if name is None:
        return
    if value is not None and loading.take_loaded(walk, name, value, is_var=is_var, is_const=is_const):
        return
    if name.type != "identifier":
        for extent in pattern_names(name)[0]:
            _declare_name(walk, extent, is_var=is_var, is_const=is_const)
        return
    _note_value(walk, name, value)
    annotation = declarator.child_by_field_name("type") if walk.is_typed else None
    bare = literal_of(value)
    type_ref = plain_type(annotation) if annotation is not None else type_of_value(value)
    if type_ref == NONE and annotation is None and is_const and walk.is_typed:
        type_ref = called_function(value)
    number = _declare_name(walk, name.byte_range, is_var=is_var, is_const=is_const, type_ref=type_ref)
    if number == NONE:
        return
    if type_ref != NONE and annotation is None and not is_const and not walk.is_typed:
        walk.tables.mutable_types.add(number)
    if not has_body(bare) or bare is None or (bare.type == "object" and annotation is not None):
        return
    definition = walk.tables.definitions[number]
    kind = definition.kind if bare.type == "class" and not is_const else kind_of_value(bare, definition.kind)
    start, end = declarator.byte_range
    is_function = kind is DefinitionKind.FUNCTION
    if is_function:
        type_ref = result_type(walk, bare) if annotation is None else NONE
    walk.tables.definitions[number] = definition._replace(
        kind=kind,
        start=start,
        end=end,
        signature=signature_of(walk, bare) if is_function else "",
        documentation=walk.documentation(start),
        type_ref=type_ref,
    )
    name_value(walk, bare, number)


def _note_value(walk: Walk, name: Node, value: Node | None) -> None:
    """Look for a `require` made by `createRequire`, and for a variable that is also what the module exports."""
    if value is None:
        return
    if value.type == "assignment_expression" and not walk.is_typed and walk.scope == 0:
        target = _inner_target(value)
        if target is not None and walk.text.of(target) == "module.exports":
            walk.exported_targets[target.start_byte] = walk.text.of(name)
    elif value.type == "call_expression" and walk.text.of(name) == "require":
        function = value.child_by_field_name("function")
        if function is not None and walk.text.of(function).endswith("createRequire"):
            walk.tables.makes_require = True


def _inner_target(assignment: Node) -> Node | None:
    """Return the last target of `a = b = value`."""
    node: Node | None = assignment
    target = None
    while node is not None and node.type == "assignment_expression":
        target = node.child_by_field_name("left")
        node = node.child_by_field_name("right")
    return target


def _declare_name(walk: Walk, extent: Extent, *, is_var: bool, is_const: bool, type_ref: int = NONE) -> int:
    """Declare a variable and return its definition, NONE when it is a `var` that is there already."""
    if extent[1] <= extent[0]:
        return NONE
    home = walk.tables.scopes[walk.scope].var_home if is_var else walk.scope
    name = walk.text.cut(*extent)
    if is_var and _is_known_var(walk, home, name):
        walk.marks[extent[0]] = (REFERENCE, home, VALUES, NO_RECEIVER)
        return NONE
    kind = DefinitionKind.CONSTANT if is_const else DefinitionKind.VARIABLE
    return walk.declare(kind, home, extent, VAR if is_var else LEXICAL, type_ref)


def _is_known_var(walk: Walk, home: int, name: str) -> bool:
    """Say whether a `var` is the same variable as an earlier one or as a parameter."""
    row = walk.tables.scopes[home]
    places = row.places.get(name, ())
    if any(place.flavour in {VAR, PARAMETER} for place in places):
        return True
    return row.parameters != NONE and name in walk.tables.scopes[row.parameters].places


def _overloaded(walk: Walk, scope: int, name: str) -> int:
    """Return the definition of which a function of this name is a further declaration, NONE when it is the first."""
    for place in walk.tables.scopes[scope].places.get(name, ()):
        if place.flavour == SIGNATURE:
            return place.target
    return NONE


def _replace_signature(walk: Walk, number: int, definition: Definition) -> None:
    """Let the implementation define a function whose overload signatures came before it."""
    signature = walk.tables.definitions[number]
    walk.tables.demoted.add(signature.name_start)
    documentation = signature.documentation or definition.documentation
    walk.tables.definitions[number] = definition._replace(documentation=documentation, type_ref=NONE)
    walk.marks[definition.name_start] = walk.marks[signature.name_start]


def _hoist_from_block(walk: Walk, scope: int, name: str, number: int) -> None:
    """Remember a function in a block, which sloppy scripts also see from outside of the block."""
    row = walk.tables.scopes[scope]
    if row.kind in {BLOCK, FOR, CATCH} and row.var_home != scope:
        place = Place(HOISTED, BindTarget.DEF, number, BindReason.DEF_IN_SCOPE)
        walk.tables.block_functions.append((row.var_home, name, place))


def _take_parameters(walk: Walk, parameters: Node, scope: int) -> bool:
    """Bind the parameters of a function and say whether any has a default or another expression."""
    has_expressions = False
    for parameter in parameters.named_children:
        kind = parameter.type
        if kind == "identifier":
            _bind_parameter(walk, parameter.byte_range, scope)
        elif kind in {"required_parameter", "optional_parameter"}:
            has_expressions = _take_typed_parameter(walk, parameter, scope) or has_expressions
        else:
            names, has_inner = pattern_names(parameter)
            has_expressions = has_expressions or has_inner
            for extent in names:
                _bind_parameter(walk, extent, scope)
    return has_expressions


def _take_typed_parameter(walk: Walk, parameter: Node, scope: int) -> bool:
    pattern = parameter.child_by_field_name("pattern")
    if pattern is None:
        return False
    names, has_expressions = pattern_names(pattern)
    type_ref = plain_type(parameter.child_by_field_name("type")) if pattern.type == "identifier" else NONE
    for extent in names:
        _bind_parameter(walk, extent, scope, type_ref)
    first = parameter.child(0)
    if first is not None and first.start_byte != pattern.start_byte:
        for child in parameter.children:
            if child.type == "decorator":
                walk.parameter_decorators.add(child.start_byte)
            elif child.type in {"accessibility_modifier", "override_modifier", "readonly"} and names:
                _define_property_of(walk, names[0], type_ref)
                break
            elif child.start_byte >= pattern.start_byte:
                break
    return has_expressions or parameter.child_by_field_name("value") is not None


def _define_property_of(walk: Walk, extent: Extent, type_ref: int) -> None:
    """Define the field that a parameter property makes of a constructor's parameter."""
    class_scope = walk.this.class_scope if walk.this is not None else NONE
    if class_scope != NONE and walk.tables.scopes[class_scope].kind == CLASS:
        number = walk.define_name(DefinitionKind.FIELD, class_scope, extent, type_ref)
        walk.add_member(class_scope, walk.tables.definitions[number].name, is_static=False)


def _bind_parameter(walk: Walk, extent: Extent, scope: int, type_ref: int = NONE) -> None:
    if extent[1] > extent[0]:
        walk.declare(DefinitionKind.PARAMETER, scope, extent, PARAMETER, type_ref)


def _only_part(union: Node) -> Node | None:
    """Return the one part of a union that is not null or undefined, None when there are more."""
    found: Node | None = None
    waiting = [union]
    while waiting:
        node = waiting.pop()
        if node.type == "union_type":
            waiting.extend(node.named_children)
        elif node.type == "comment" or (
            node.type == "literal_type"
            and node.named_child_count
            and node.named_children[0].type in {"null", "undefined"}
        ):
            continue
        elif found is not None:
            return None
        else:
            found = node
    return found
