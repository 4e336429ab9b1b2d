"""Haskell."""

from collections.abc import Iterator
from typing import Final

import tree_sitter_haskell
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import NONE, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import child, opens
from codeplane.languages.tables.comments import comment_style
from codeplane.languages.tables.rules import (
    BLOCK,
    CLASS,
    FUNCTION,
    LAMBDA,
    SKIP,
    TAG,
    TYPE,
    VALUE,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import last_named
from codeplane.languages.tables.walking import UNBOUND, Walk

_GRAMMAR: Final = Grammar(tree_sitter_haskell.language())
# Where small names are type variables, which are not looked up among the values.
_TYPES: Final = "types"
_OUTSIDE_OF_PATTERNS: Final = frozenset({"field_name", "name", "type_application", "literal", "wildcard"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a Haskell file."""
    return extract_symbols(source, _RULES, clock)


def _meet_header(walk: Walk, node: Node) -> None:
    module = node.child_by_field_name("module")
    last = last_named(module) if module is not None else None
    if module is None or last is None:
        return
    walk.package = walk.cut(module)
    walk.marks[module.start_byte] = UNBOUND
    walk.define(
        *(DefinitionKind.MODULE, last.byte_range, (node.start_byte, walk.scopes[0].end)),
        path=walk.package,
        is_bound=False,
    )


def _meet_module(walk: Walk, node: Node) -> None:
    """Chain the parts of a module's name."""
    previous = NONE
    for part in node.named_children:
        if previous != NONE:
            walk.receivers[part.start_byte] = previous
        previous = part.start_byte


def _meet_qualified(walk: Walk, node: Node) -> None:
    module, name = node.child_by_field_name("module"), node.child_by_field_name("id")
    last = last_named(module) if module is not None else None
    if last is not None and name is not None:
        walk.receivers[name.start_byte] = last.start_byte


def _meet_projection(walk: Walk, node: Node) -> None:
    """`a.b` is a composition of functions, unless the file asks for it to be a field."""
    if ("fields",) not in walk.notes:
        walk.notes["fields",] = int("OverloadedRecordDot" in walk.bytewise)
    if not walk.notes["fields",]:
        return
    value, name = node.child_by_field_name("expression"), node.child_by_field_name("field")
    if value is not None and name is not None and value.type == "variable":
        walk.receivers[name.start_byte] = value.start_byte


def _meet_import(walk: Walk, node: Node) -> None:
    module, alias = node.child_by_field_name("module"), node.child_by_field_name("alias")
    names = node.child_by_field_name("names")
    if module is None:
        return
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


def _meet_signature(walk: Walk, node: Node) -> None:
    """Begin the definition of what has a signature of its own; in types small names are type variables."""
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
    """Define something, or go on with its definition where its signature or other equations stood before."""
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


def _meet_equation(walk: Walk, node: Node) -> None:
    """Define a function by one of its equations."""
    name, patterns = node.child_by_field_name("name"), node.child_by_field_name("patterns")
    infix = child("infix")(node) if name is None else None
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


def _meet_bind(walk: Walk, node: Node) -> None:
    """Define a variable by its equation, or the variables of a pattern, in a declaration or a statement."""
    name, pattern = node.child_by_field_name("name"), node.child_by_field_name("pattern")
    if name is not None:
        name = _inner_name(name)
        scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
        _define(walk, name, node, DefinitionKind.VARIABLE, scope=scope)
    elif pattern is not None:
        is_statement = node.child_by_field_name("expression") is not None
        visible_from = node.end_byte if is_statement else walk.notes.get(("let", walk.scope), 0)
        _bind_pattern(walk, pattern, walk.scope, DefinitionKind.VARIABLE, visible_from)


def _meet_guard(walk: Walk, node: Node) -> None:
    """Bind what a generator or a pattern guard binds."""
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        _bind_pattern(walk, pattern, walk.scope, DefinitionKind.VARIABLE, node.end_byte)


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


def _meet_comprehension(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    expression = node.child_by_field_name("expression")
    if expression is not None:
        walk.notes["head", scope] = walk.open_scope(LAMBDA, *expression.byte_range)


def _meet_let(walk: Walk, node: Node) -> None:
    """What `let` binds in a block is seen from there on."""
    walk.notes["let", walk.scope] = node.start_byte


def _meet_let_in(walk: Walk, node: Node) -> None:
    walk.open_scope(LAMBDA, *node.byte_range)


def _meet_alternative(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(LAMBDA, *node.byte_range)
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        _bind_pattern(walk, pattern, scope, DefinitionKind.VARIABLE)


def _meet_lambda(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(LAMBDA, *node.byte_range)
    patterns = node.child_by_field_name("patterns")
    if patterns is not None:
        _bind_pattern(walk, patterns, scope, DefinitionKind.PARAMETER)


def _meet_type(walk: Walk, node: Node) -> None:
    """Define a type; what stands after its name is made of types."""
    name = node.child_by_field_name("name")
    if name is None or name.type != "name":
        return
    scope = walk.open_scope(_TYPES, name.end_byte, node.end_byte, walk.cut(name))
    walk.define(DefinitionKind.TYPE, name.byte_range, node.byte_range, body_scope=scope)
    _define_type_parameters(walk, node, scope)


def _define_type_parameters(walk: Walk, node: Node, scope: int) -> None:
    parameters = node.child_by_field_name("patterns")
    for name in parameters.children_by_field_name("bind") if parameters is not None else ():
        if name.type == "variable":
            path = f"{walk.scopes[scope].path}.{walk.cut(name)}"
            walk.define(DefinitionKind.TYPE, name.byte_range, name.byte_range, scope=scope, path=path, space=VALUE)


def _meet_constructor(walk: Walk, node: Node) -> None:
    """Define a constructor, whose name is one of the module."""
    inner = node.child_by_field_name("constructor") or node
    name = inner.child_by_field_name("name") or inner.child_by_field_name("operator")
    if name is not None and name.type in {"constructor", "constructor_operator"}:
        _define_outside(walk, name, node, DefinitionKind.CONSTANT)


def _meet_field(walk: Walk, node: Node) -> None:
    for name in node.children_by_field_name("name"):
        variable = last_named(name) if name.type == "field_name" else None
        if variable is not None:
            _define_outside(walk, variable, node, DefinitionKind.FIELD)


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


def _meet_class(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("declarations")
    if name is None or name.type != "name":
        return
    text = walk.cut(name)
    head = walk.open_scope(_TYPES, name.end_byte, body.start_byte if body is not None else node.end_byte, text)
    members = walk.open_scope(CLASS, *body.byte_range, text) if body is not None else NONE
    walk.define(DefinitionKind.TRAIT, name.byte_range, node.byte_range, body_scope=members)
    _define_type_parameters(walk, node, head)


def _meet_instance(walk: Walk, node: Node) -> None:
    patterns, body = node.child_by_field_name("patterns"), node.child_by_field_name("declarations")
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


def _take_operator(walk: Walk, node: Node) -> int:
    if node.start_byte in walk.marks:
        walk.take(*node.byte_range, VALUE)
    return SKIP


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "variable": VALUE,
            "constructor": VALUE,
            "name": TYPE,
            "module_id": TAG,
            "operator": _take_operator,
            "constructor_operator": _take_operator,
            "header": _meet_header,
            "module": _meet_module,
            "qualified": _meet_qualified,
            "projection": _meet_projection,
            "import": _meet_import,
            "signature": _meet_signature,
            "function": _meet_equation,
            "bind": _meet_bind,
            "generator": _meet_guard,
            "pattern_guard": _meet_guard,
            "match": opens(BLOCK),
            "do": opens(BLOCK),
            "let": _meet_let,
            "let_in": _meet_let_in,
            "list_comprehension": _meet_comprehension,
            "alternative": _meet_alternative,
            "lambda": _meet_lambda,
            "data_type": _meet_type,
            "newtype": _meet_type,
            "type_synonym": _meet_type,
            "type_family": _meet_type,
            "data_family": _meet_type,
            "data_constructor": _meet_constructor,
            "gadt_constructor": _meet_constructor,
            "newtype_constructor": _meet_constructor,
            "field": _meet_field,
            "class": _meet_class,
            "instance": _meet_instance,
            "comment": SKIP,
            "haddock": SKIP,
        },
    ),
    Scoping(
        ordered=frozenset({BLOCK}),
        closed_to_values=frozenset({_TYPES}),
        types_are_values=False,
    ),
    separators=(),
    comments=comment_style("--", block=("{-", "-}")),
)
LANGUAGE: Final = Language("haskell", Depth.SYMBOLS, extract)
