"""Scala."""

from collections.abc import Iterator
from typing import Final

import tree_sitter_scala
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import EXPRESSION, NONE, SUPER, THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import (
    bind_name,
    child,
    define_function,
    define_type,
    defines,
    field,
    ignored,
    opens,
)
from codeplane.languages.tables.rules import (
    BLOCK,
    CLASS,
    FUNCTION,
    HEADER,
    LAMBDA,
    MODULE,
    SKIP,
    TYPE,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named, last_named, second_named
from codeplane.languages.tables.walking import AS_KEYWORD, UNBOUND, Walk

_GRAMMAR: Final = Grammar(tree_sitter_scala.language())
_PATTERNS: Final = frozenset(
    {
        "identifiers",
        "tuple_pattern",
        "case_class_pattern",
        "typed_pattern",
        "capture_pattern",
        "infix_pattern",
        "alternative_pattern",
        "given_pattern",
        "named_tuple_pattern",
        "repeat_pattern",
    }
)
_NOT_BINDING: Final = frozenset({"`"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a Scala file."""
    return extract_symbols(source, _RULES, clock)


def _meet_package(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return
    walk.marks[name.start_byte] = UNBOUND
    path = walk.folded(*name.byte_range).replace(" ", "")
    if body is None:
        walk.package = f"{walk.package}.{path}" if walk.package else path
        return
    last = last_named(name) or name
    walk.merged.add(body.start_byte)
    scope = walk.open_scope(MODULE, *body.byte_range, path)
    walk.define(
        *(DefinitionKind.MODULE, last.byte_range, node.byte_range),
        path=walk.path_of(path),
        body_scope=scope,
        is_bound=False,
    )


def _meet_import(walk: Walk, node: Node) -> None:
    """Add the imports of a clause; the paths of several, separated by commas, are one list in the grammar."""
    path: list[Node] = []
    for each in node.children:
        if each.type == ",":
            _add_imported_path(walk, node, path)
            path = []
        elif each.type in {"identifier", "operator_identifier"}:
            path.append(each)
        elif each.type == "namespace_wildcard":
            _add_import(walk, node, path, walk.cut(each) if walk.cut(each) == "given" else "*")
            path = []
        elif each.type in {"as_renamed_identifier", "namespace_selectors"}:
            for selector in [each] if each.type != "namespace_selectors" else each.named_children:
                _add_selected(walk, node, path, selector)
            path = []
    _add_imported_path(walk, node, path)


def _add_imported_path(walk: Walk, node: Node, path: list[Node]) -> None:
    if len(path) > 1:
        _add_import(walk, node, path[:-1], walk.cut(path[-1]), [path[-1]])


def _add_selected(walk: Walk, node: Node, path: list[Node], selector: Node) -> None:
    if selector.type == "namespace_wildcard":
        _add_import(walk, node, path, "*")
    elif selector.type == "identifier":
        _add_import(walk, node, path, walk.cut(selector), [selector])
    elif selector.type in {"arrow_renamed_identifier", "as_renamed_identifier"}:
        name, alias = selector.child_by_field_name("name"), selector.child_by_field_name("alias")
        if name is not None and alias is not None and alias.type == "identifier":
            _add_import(walk, node, path, walk.cut(name), [name, alias])


def _add_import(walk: Walk, node: Node, path: list[Node], name: str, names: list[Node] | None = None) -> None:
    if not path:
        return
    walk.marks[path[0].start_byte] = UNBOUND
    alias = walk.cut(names[-1]) if names is not None and len(names) > 1 else None
    walk.add_import(
        *("scala_import", node.byte_range, ".".join(walk.cut(part) for part in path)),
        imported_name=name,
        alias=alias,
        local_name=(alias or name) if names is not None else "",
        names=[each.start_byte for each in names or ()],
    )


def _type(kind: DefinitionKind) -> Action:
    def meet(walk: Walk, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return
        extends = node.child_by_field_name("extend")
        has_self_type = body is not None and child("self_type")(body) is not None
        members = define_type(
            *(walk, node, kind, name, body),
            bases=_bases(extends),
            has_unseen=extends is not None or has_self_type,
            always_has_members=True,
        )
        is_case = any(each.type == "case" for each in node.children)
        _define_class_parameters(walk, node, members, is_case=is_case)

    return meet


def _bases(extends: Node | None) -> tuple[int, ...]:
    # The words between the types are in the field as well.
    types = extends.children_by_field_name("type") if extends is not None else []
    return tuple(_type_ref(each) for each in types if each.is_named)


def _meet_object(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None:
        extends = node.child_by_field_name("extend")
        define_type(
            *(walk, node, DefinitionKind.CLASS, name, body),
            bases=_bases(extends),
            has_unseen=extends is not None,
            space=VALUE,
        )


def _define_class_parameters(walk: Walk, node: Node, members: int, *, is_case: bool) -> None:
    """Define the parameters of a class, which its whole body sees; some are members as well."""
    header = walk.scopes[members].parent
    for parameters in node.children_by_field_name("class_parameters"):
        for parameter in parameters.named_children:
            name = parameter.child_by_field_name("name") if parameter.type == "class_parameter" else None
            if name is None:
                continue
            is_member = is_case or any(each.type in {"val", "var"} for each in parameter.children)
            text = walk.cut(name)
            walk.define(
                *(DefinitionKind.PROPERTY if is_member else DefinitionKind.PARAMETER, name.byte_range),
                parameter.byte_range,
                path=f"{walk.scopes[members].path}.{text}",
                scope=members if is_member else header,
                type_ref=_type_ref(parameter.child_by_field_name("type")),
                visible_from=0,
            )
            if is_member:
                walk.scopes[header].places[text] = walk.scopes[members].places[text][-1:]


def _type_ref(node: Node | None) -> int:
    """Return where a type is named."""
    while node is not None:
        if node.type == "type_identifier":
            return node.start_byte
        if node.type == "generic_type":
            node = node.child_by_field_name("type")
        elif node.type == "stable_type_identifier":
            node = last_named(node)
        else:
            return NONE
    return NONE


def _meet_enum_case(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        header = walk.open_scope(HEADER, name.end_byte, node.end_byte, walk.cut(name))
        walk.define(DefinitionKind.CONSTANT, name.byte_range, node.byte_range, body_scope=header)


def _meet_class_parameter(walk: Walk, node: Node) -> None:
    """Define the parameter of something that is no class definition: of a case of an enum."""
    name = node.child_by_field_name("name")
    if name is not None and name.start_byte not in walk.marks:
        bind_name(walk, name, node, DefinitionKind.PARAMETER)


def _meet_template_body(walk: Walk, node: Node) -> None:
    """Open the members of something without a name."""
    if node.start_byte not in walk.merged:
        scope = walk.open_scope(CLASS, *node.byte_range)
        walk.scopes[scope].has_unseen = True


def _meet_function(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return
    is_constructor = walk.cut(name) == "this"
    define_function(
        *(walk, node, name, body if body is not None and body.type in {"block", "indented_block"} else None),
        visible_from=0,
        is_bound=not is_constructor,
        end=body.start_byte if body is not None else NONE,
    )


def _meet_given(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    members = NONE
    if body is not None and body.type in {"with_template_body", "template_body"}:
        walk.merged.add(body.start_byte)
        members = walk.open_scope(CLASS, *body.byte_range, walk.cut(name) if name is not None else "")
        walk.scopes[members].has_unseen = True
    if name is not None:
        walk.define(
            *(DefinitionKind.VARIABLE, name.byte_range, node.byte_range),
            body_scope=members,
            type_ref=_type_ref(node.child_by_field_name("return_type")),
        )


def _meet_values(walk: Walk, node: Node) -> None:
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    if pattern is None:
        return
    is_member = walk.is_in_class()
    kind = DefinitionKind.PROPERTY if is_member else DefinitionKind.VARIABLE
    type_ref = _type_ref(node.child_by_field_name("type"))
    names = [pattern] if pattern.type == "identifier" else list(_names_in(walk, pattern))
    for name in names:
        walk.define(
            *(kind, name.byte_range, node.byte_range),
            type_ref=type_ref,
            visible_from=0 if is_member else NONE,
        )


def _names_in(walk: Walk, pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds: those that begin with a small letter."""
    waiting = [pattern]
    while waiting:
        each = waiting.pop()
        if each.type == "identifier":
            first = walk.cut(each)[:1]
            if not first.isupper() and first not in _NOT_BINDING:
                yield each
        elif each.type in _PATTERNS:
            waiting.extend(reversed(each.named_children))


def _meet_case(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    pattern = node.child_by_field_name("pattern")
    for name in _names_in(walk, pattern) if pattern is not None else ():
        bind_name(walk, name, name, scope=scope, visible_from=0)


def _meet_enumerator(walk: Walk, node: Node) -> None:
    pattern, values = first_named(node), second_named(node)
    if pattern is None or values is None:
        return
    for name in _names_in(walk, pattern):
        bind_name(walk, name, node, visible_from=values.end_byte)


def _meet_lambda(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(LAMBDA, *node.byte_range)
    parameter = node.child_by_field_name("parameters")
    if parameter is not None and parameter.type == "identifier":
        bind_name(walk, parameter, parameter, DefinitionKind.PARAMETER, scope=scope)


def _meet_parameter(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "identifier":
        type_ref = _type_ref(node.child_by_field_name("type"))
        bind_name(walk, name, node, DefinitionKind.PARAMETER, type_ref=type_ref)


def _meet_type_parameters(walk: Walk, node: Node) -> None:
    for name in node.children_by_field_name("name"):
        if name.type in {"identifier", "type_identifier"}:
            bind_name(walk, name, name, DefinitionKind.TYPE)


def _meet_infix(walk: Walk, node: Node) -> None:
    """The word between two operands is a member of the first."""
    left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
    if left is None or operator is None or operator.type != "identifier":
        return
    if left.type == "field_expression":
        left = left.child_by_field_name("field") or left
    is_name = left.type == "identifier" and walk.cut(left) not in _WORDS
    walk.receivers[operator.start_byte] = left.start_byte if is_name else EXPRESSION


def _meet_arguments(walk: Walk, node: Node) -> None:
    for each in node.named_children:
        name = each.child_by_field_name("left") if each.type == "assignment_expression" else None
        if name is not None and name.type == "identifier":
            walk.marks[name.start_byte] = AS_KEYWORD


def _take_operator(walk: Walk, node: Node) -> int:
    if node.start_byte in walk.marks:
        walk.take(*node.byte_range, VALUE)
    return SKIP


def _meet_self_type(walk: Walk, node: Node) -> None:
    name = child("identifier")(node)
    if name is not None:
        walk.marks[name.start_byte] = UNBOUND


_WORDS: Final = {"this": THIS, "super": SUPER}
_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "type_identifier": TYPE,
            "operator_identifier": _take_operator,
            "package_clause": _meet_package,
            "import_declaration": _meet_import,
            "class_definition": _type(DefinitionKind.CLASS),
            "trait_definition": _type(DefinitionKind.TRAIT),
            "enum_definition": _type(DefinitionKind.ENUM),
            "object_definition": _meet_object,
            "package_object": _meet_object,
            "simple_enum_case": _meet_enum_case,
            "full_enum_case": _meet_enum_case,
            "class_parameter": _meet_class_parameter,
            "template_body": _meet_template_body,
            "with_template_body": _meet_template_body,
            "self_type": _meet_self_type,
            "function_definition": _meet_function,
            "function_declaration": _meet_function,
            "given_definition": _meet_given,
            "val_definition": _meet_values,
            "var_definition": _meet_values,
            "val_declaration": _meet_values,
            "var_declaration": _meet_values,
            "type_definition": defines(DefinitionKind.TYPE, field("name")),
            "type_parameters": _meet_type_parameters,
            "parameter": _meet_parameter,
            "binding": _meet_parameter,
            "lambda_expression": _meet_lambda,
            "extension_definition": opens(HEADER),
            "case_clause": _meet_case,
            "for_expression": opens(BLOCK),
            "enumerator": _meet_enumerator,
            "block": opens(BLOCK),
            "indented_block": opens(BLOCK),
            "infix_expression": _meet_infix,
            "arguments": _meet_arguments,
            "interpolated_string_expression": ignored(field("interpolator")),
            "comment": SKIP,
            "block_comment": SKIP,
            "string": SKIP,
        },
    ),
    Scoping(ordered=frozenset({FUNCTION, LAMBDA, BLOCK}), doubtful=frozenset({DefinitionKind.FUNCTION})),
    separators=("#", "."),
    words=_WORDS,
)
LANGUAGE: Final = Language("scala", Depth.SYMBOLS, extract)
