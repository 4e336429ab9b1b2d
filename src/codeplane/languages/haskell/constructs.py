"""The constructs of Haskell that a pattern cannot express."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, DefinitionKind
from codeplane.languages.nodes import child_of_kind, last_named
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import BLOCK, CLASS, FUNCTION, LAMBDA, VALUE
from codeplane.languages.queries.walking import UNBOUND, Walk

# Where small names are type variables, which are not looked up among the values.
_TYPES: Final = "types"
_OUTSIDE_OF_PATTERNS: Final = frozenset({"field_name", "name", "type_application", "literal", "wildcard"})


def declare_module(walk: Walk, match: Match) -> None:
    """Define the module, which is the package of the file."""
    module = match["module"]
    last = last_named(module)
    if last is None:
        return
    walk.package = walk.cut(module)
    walk.marks[module.start_byte] = UNBOUND
    walk.define(
        *(DefinitionKind.MODULE, last.byte_range, (match.node.start_byte, walk.scopes[0].end)),
        path=walk.package,
        is_bound=False,
    )


def chain_module(walk: Walk, match: Match) -> None:
    """Chain the parts of a module's name."""
    previous = NONE
    for part in match.node.named_children:
        if previous != NONE:
            walk.receivers[part.start_byte] = previous
        previous = part.start_byte


def chain_qualified(walk: Walk, match: Match) -> None:
    """Let a name be a member of the module before it."""
    last = last_named(match["module"])
    if last is not None:
        walk.receivers[match["name"].start_byte] = last.start_byte


def chain_projection(walk: Walk, match: Match) -> None:
    """`a.b` is a composition of functions, unless the file asks for it to be a field."""
    if ("fields",) not in walk.notes:
        walk.notes["fields",] = int("OverloadedRecordDot" in walk.bytewise)
    if walk.notes["fields",]:
        walk.receivers[match["field"].start_byte] = match["value"].start_byte


def import_names(walk: Walk, match: Match) -> None:
    """Add an import of a module, of everything in it, or of the names that it lists."""
    node, module, alias, names = match.node, match["module"], match.get("alias"), match.get("names")
    source = walk.cut(module)
    walk.marks[module.start_byte] = UNBOUND
    words = {each.type for each in node.children if not each.is_named}
    is_qualified, is_hiding = "qualified" in words, "hiding" in words
    local = walk.cut(alias) if alias is not None else ""
    if names is None or is_hiding or alias is not None:
        is_everything = not is_qualified and (names is None or is_hiding)
        last = last_named(alias) if alias is not None else None
        walk.add_import(
            *("haskell_import", node.byte_range, source),
            imported_name="*" if is_everything else None,
            alias=local or None,
            local_name=local,
            names=[last.start_byte] if last is not None else [],
        )
    for each in names.named_children if names is not None and not is_hiding else ():
        name = each.child_by_field_name("variable") or each.child_by_field_name("type") if each.is_named else None
        if name is not None:
            text = walk.cut(name)
            walk.add_import(
                *("haskell_import", node.byte_range, source),
                imported_name=text,
                local_name="" if is_qualified else text,
                names=[name.start_byte],
            )


def declare_signature(walk: Walk, match: Match) -> None:
    """Begin the definition of what has a signature of its own; in types small names are type variables."""
    node = match.node
    type_node = node.child_by_field_name("type")
    if type_node is not None:
        walk.open_scope(_TYPES, *type_node.byte_range)
    if node.child_by_field_name("expression") is not None or node.child_by_field_name("pattern") is not None:
        return
    several = node.child_by_field_name("names")
    names = (several or node).children_by_field_name("name")
    is_value = type_node is not None and type_node.type in {"name", "apply", "list", "tuple", "qualified"}
    for name in names:
        kind = DefinitionKind.VARIABLE if is_value else DefinitionKind.FUNCTION
        _define(walk, _inner_name(name), node, kind, walk.folded(name.end_byte, node.end_byte).lstrip(": "))


def _inner_name(name: Node) -> Node:
    """Return the operator in `(<+>)`, the variable in backquotes, or the name itself."""
    if name.type in {"prefix_id", "infix_id"}:
        return last_named(name) or name
    return name


def _define(walk: Walk, name: Node, node: Node, kind: DefinitionKind, signature: str = "", scope: int = NONE) -> int:
    """Define something, or go on with its definition whose signature or other equations came before."""
    home = walk.binding_scope()
    text = walk.cut(name)
    known = walk.notes.get((home, text), NONE)
    if known != NONE:
        before = walk.definitions[known]
        is_function = kind is DefinitionKind.FUNCTION and before.kind is DefinitionKind.VARIABLE
        walk.definitions[known] = before._replace(
            end=max(before.end, node.end_byte),
            body_scope=scope if before.body_scope == NONE else before.body_scope,
            kind=kind if is_function else before.kind,
        )
        walk.marks[name.start_byte] = known
        return known
    row = walk.scopes[home]
    is_member = row.kind == CLASS
    is_instance = bool(row.owner)
    number = walk.define(
        *(DefinitionKind.METHOD if is_member else kind, name.byte_range, node.byte_range),
        body_scope=scope,
        signature=signature,
        visible_from=walk.notes.get(("let", home), 0),
        is_bound=not is_instance,
    )
    walk.notes[home, text] = number
    if is_member and not is_instance:
        # The methods of a class are names of the module.
        walk.scopes[0].places.setdefault(text, []).extend(row.places[text][-1:])
    _show_in_head(walk, home, text)
    return number


def declare_equation(walk: Walk, match: Match) -> None:
    """Define a function by one of its equations."""
    node = match.node
    name, patterns = node.child_by_field_name("name"), node.child_by_field_name("patterns")
    infix = child_of_kind(node, "infix") if name is None else None
    operands: list[Node] = [patterns] if patterns is not None else []
    if infix is not None:
        name = infix.child_by_field_name("operator")
        sides = (infix.child_by_field_name("left_operand"), infix.child_by_field_name("right_operand"))
        operands = [side for side in sides if side is not None]
    if name is None:
        return
    name = _inner_name(name)
    scope = walk.open_scope(FUNCTION, node.start_byte, node.end_byte, walk.cut(name))
    _define(walk, name, node, DefinitionKind.FUNCTION, scope=scope)
    for operand in operands:
        _bind_pattern(walk, operand, scope, DefinitionKind.PARAMETER)


def declare_bind(walk: Walk, match: Match) -> None:
    """Define a variable by its equation, or the variables of a pattern, in a declaration or a statement."""
    node = match.node
    name, pattern = node.child_by_field_name("name"), node.child_by_field_name("pattern")
    if name is not None:
        name = _inner_name(name)
        scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
        _define(walk, name, node, DefinitionKind.VARIABLE, scope=scope)
    elif pattern is not None:
        is_statement = node.child_by_field_name("expression") is not None
        visible_from = node.end_byte if is_statement else walk.notes.get(("let", walk.scope), 0)
        _bind_pattern(walk, pattern, walk.scope, DefinitionKind.VARIABLE, visible_from)


def bind_guard(walk: Walk, match: Match) -> None:
    """Bind what a generator or a pattern guard binds."""
    _bind_pattern(walk, match["pattern"], walk.scope, DefinitionKind.VARIABLE, match.node.end_byte)


def _bind_pattern(walk: Walk, pattern: Node, scope: int, kind: DefinitionKind, visible_from: int = 0) -> None:
    for name in _names_in(pattern):
        path = walk.scopes[scope].path
        text = walk.cut(name)
        walk.define(
            *(kind, name.byte_range, name.byte_range),
            scope=scope,
            path=f"{path}.{text}" if path else text,
            visible_from=visible_from,
        )
        _show_in_head(walk, scope, text)


def _names_in(pattern: Node) -> Iterator[Node]:
    """Yield the variables of a pattern."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if node.type == "variable":
            yield node
        elif node.type in {"view_pattern", "signature"}:
            inner = node.child_by_field_name("pattern")
            waiting += [inner] if inner is not None else []
        elif node.type == "field_pattern":
            inner = node.child_by_field_name("pattern") or node.child_by_field_name("field")
            # `R {x}` binds the name of the field.
            waiting += [inner if inner.type != "field_name" else last_named(inner) or inner] if inner else []
        elif node.type not in _OUTSIDE_OF_PATTERNS:
            waiting.extend(reversed(node.named_children))


def _show_in_head(walk: Walk, scope: int, name: str) -> None:
    """Let what the steps of a list comprehension bind be seen before them."""
    head = walk.notes.get(("head", scope), NONE)
    if head != NONE and name in walk.scopes[scope].places:
        walk.scopes[head].places[name] = list(walk.scopes[scope].places[name])


def open_comprehension(walk: Walk, match: Match) -> None:
    """Open a list comprehension and its head, which sees what the steps after it bind."""
    scope = walk.open_scope(BLOCK, *match.node.byte_range)
    expression = match.get("expression")
    if expression is not None:
        walk.notes["head", scope] = walk.open_scope(LAMBDA, *expression.byte_range)


def note_let(walk: Walk, match: Match) -> None:
    """What `let` binds in a block is seen from there on."""
    walk.notes["let", walk.scope] = match.node.start_byte


def open_alternative(walk: Walk, match: Match) -> None:
    """Open an alternative or a lambda and define the variables of its patterns."""
    scope = walk.open_scope(LAMBDA, *match.node.byte_range)
    if (pattern := match.get("pattern")) is not None:
        _bind_pattern(walk, pattern, scope, DefinitionKind.VARIABLE)
    if (parameters := match.get("patterns")) is not None:
        _bind_pattern(walk, parameters, scope, DefinitionKind.PARAMETER)


def declare_type(walk: Walk, match: Match) -> None:
    """Define a type; what follows its name is made of types."""
    name, node = match["name"], match.node
    scope = walk.open_scope(_TYPES, name.end_byte, node.end_byte, walk.cut(name))
    walk.define(DefinitionKind.TYPE, name.byte_range, node.byte_range, body_scope=scope)
    _define_type_parameters(walk, node, scope)


def _define_type_parameters(walk: Walk, node: Node, scope: int) -> None:
    parameters = node.child_by_field_name("patterns")
    for name in parameters.children_by_field_name("bind") if parameters is not None else ():
        if name.type == "variable":
            path = f"{walk.scopes[scope].path}.{walk.cut(name)}"
            walk.define(DefinitionKind.TYPE, name.byte_range, name.byte_range, scope=scope, path=path, space=VALUE)


def declare_constructor(walk: Walk, match: Match) -> None:
    """Define a constructor, whose name is one of the module."""
    node = match.node
    inner = node.child_by_field_name("constructor") or node
    name = inner.child_by_field_name("name") or inner.child_by_field_name("operator")
    if name is not None and name.type in {"constructor", "constructor_operator"}:
        _define_outside(walk, name, node, DefinitionKind.CONSTANT)


def declare_field(walk: Walk, match: Match) -> None:
    """Define the fields of a record, whose names are names of the module."""
    for name in match.node.children_by_field_name("name"):
        variable = last_named(name) if name.type == "field_name" else None
        if variable is not None:
            _define_outside(walk, variable, match.node, DefinitionKind.FIELD)


def _define_outside(walk: Walk, name: Node, node: Node, kind: DefinitionKind) -> None:
    scope = walk.scope
    while walk.scopes[scope].kind == _TYPES:
        scope = walk.scopes[scope].parent
    text = walk.cut(name)
    known = walk.notes.get((scope, text), NONE)
    if kind is DefinitionKind.FIELD and known != NONE:
        # A field that several constructors have is one.
        walk.marks[name.start_byte] = known
        return
    walk.notes[scope, text] = walk.define(
        kind, name.byte_range, node.byte_range, scope=scope, path=walk.path_inside(text)
    )


def declare_class(walk: Walk, match: Match) -> None:
    """Define a type class with its methods."""
    node, name, body = match.node, match["name"], match.get("body")
    text = walk.cut(name)
    head = walk.open_scope(_TYPES, name.end_byte, body.start_byte if body is not None else node.end_byte, text)
    members = walk.open_scope(CLASS, *body.byte_range, text) if body is not None else NONE
    walk.define(DefinitionKind.TRAIT, name.byte_range, node.byte_range, body_scope=members)
    _define_type_parameters(walk, node, head)


def open_instance(walk: Walk, match: Match) -> None:
    """Open the members that an instance gives a type."""
    node, patterns, body = match.node, match.get("patterns"), match.get("body")
    begin = patterns.start_byte if patterns is not None else node.end_byte
    walk.open_scope(_TYPES, begin, body.start_byte if body is not None else node.end_byte)
    if body is None:
        return
    owner = _first_type(walk, patterns) if patterns is not None else ""
    scope = walk.open_scope(CLASS, *body.byte_range, owner)
    walk.scopes[scope].owner = owner or "?"


def _first_type(walk: Walk, node: Node) -> str:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == "name":
            return walk.cut(each)
        waiting.extend(reversed(each.named_children))
    return ""
