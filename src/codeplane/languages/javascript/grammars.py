"""The three grammars, and for each what the walk does at which kind of node."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language

from codeplane.languages.javascript import classes, commonjs, declarations, dynamic, loading, modules, type_syntax
from codeplane.languages.javascript.walking import (
    FIRST_HANDLER,
    INTO,
    LEAF,
    MEMBER_NAME,
    PRIVATE_NAME,
    SUPER_WORD,
    THIS_WORD,
    TYPE_NAME,
    VALUE_NAME,
    Handler,
)

_N_KINDS: Final = 1 << 16  # ERROR has the last number
_NAMES: Final = MappingProxyType(
    {
        "identifier": VALUE_NAME,
        "shorthand_property_identifier": VALUE_NAME,
        "shorthand_property_identifier_pattern": VALUE_NAME,
        "type_identifier": TYPE_NAME,
        "property_identifier": MEMBER_NAME,
        "private_property_identifier": PRIVATE_NAME,
        "this": THIS_WORD,
        "super": SUPER_WORD,
    }
)
# What has no names in it, or none that are references.
_LEAVES: Final = (
    "comment",
    "escape_sequence",
    "hash_bang_line",
    "html_comment",
    "import_attribute",
    "jsx_namespace_name",
    "jsx_text",
    "meta_property",
    "number",
    "predefined_type",
    "regex",
    "statement_identifier",
    "string",
    "this_type",
)
_HANDLERS: Final[MappingProxyType[str, Handler]] = MappingProxyType(
    {
        "abstract_class_declaration": classes.take_class,
        "abstract_method_signature": classes.take_method,
        "ambient_declaration": modules.take_ambient,
        "arrow_function": declarations.take_function_expression,
        "assignment_expression": commonjs.take_assignment,
        "augmented_assignment_expression": declarations.take_update,
        "call_signature": type_syntax.take_function_type,
        "catch_clause": declarations.take_catch,
        "class": classes.take_class,
        "class_body": classes.take_class_body,
        "class_declaration": classes.take_class,
        "class_static_block": classes.take_static_block,
        "conditional_type": type_syntax.take_conditional,
        "construct_signature": type_syntax.take_function_type,
        "constructor_type": type_syntax.take_function_type,
        "decorator": classes.take_decorator,
        "enum_declaration": type_syntax.take_enum,
        "export_statement": modules.take_export,
        "field_definition": classes.take_field,
        "for_in_statement": declarations.take_for_in,
        "for_statement": declarations.take_for,
        "function_declaration": declarations.take_function,
        "function_expression": declarations.take_function_expression,
        "function_signature": declarations.take_function,
        "function_type": type_syntax.take_function_type,
        "generator_function": declarations.take_function_expression,
        "generator_function_declaration": declarations.take_function,
        "import": loading.take_import_call,
        "import_alias": modules.take_import_alias,
        "import_statement": modules.take_import,
        "index_signature": type_syntax.take_index_signature,
        "infer_type": type_syntax.take_infer,
        "interface_body": classes.take_members,
        "interface_declaration": classes.take_interface,
        "internal_module": type_syntax.take_module,
        "jsx_closing_element": classes.take_tag,
        "jsx_opening_element": classes.take_tag,
        "jsx_self_closing_element": classes.take_tag,
        "lexical_declaration": declarations.take_variables,
        "method_definition": classes.take_method,
        "method_signature": classes.take_method,
        "module": type_syntax.take_module,
        "nested_type_identifier": type_syntax.take_qualified_type,
        "object": classes.take_object,
        "object_type": classes.take_members,
        "property_signature": classes.take_field,
        "public_field_definition": classes.take_field,
        "statement_block": declarations.take_block,
        "subscript_expression": dynamic.take_subscript,
        "switch_body": declarations.take_block,
        "tuple_type": type_syntax.take_tuple,
        "type_alias_declaration": type_syntax.take_alias,
        "update_expression": declarations.take_update,
        "using_declaration": declarations.take_variables,
        "variable_declaration": declarations.take_variables,
        "with_statement": declarations.take_with,
    }
)
_WORD_HANDLERS: Final[MappingProxyType[str, Handler]] = MappingProxyType(
    {"?": type_syntax.take_question, ":": type_syntax.take_colon}
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A grammar with its table of actions by kind of node; handlers are called by the number of their action."""

    grammar: Language
    actions: bytes
    handlers: tuple[Handler, ...]
    is_typed: bool


def _dialect(grammar: Language, *, is_typed: bool) -> Dialect:
    actions = bytearray([LEAF]) * _N_KINDS
    handlers: list[Handler] = [modules.take_import] * FIRST_HANDLER
    for kind in range(grammar.node_kind_count):
        if grammar.node_kind_is_named(kind):
            actions[kind] = INTO
    for name in _LEAVES:
        _set(grammar, actions, name, LEAF)
    for name, action in _NAMES.items():
        _set(grammar, actions, name, action)
    for name, handler in _HANDLERS.items():
        _set(grammar, actions, name, len(handlers))
        handlers.append(handler)
    for name, handler in _WORD_HANDLERS.items() if is_typed else ():
        actions[grammar.id_for_node_kind(name, False) or 0] = len(handlers)
        handlers.append(handler)
    return Dialect(grammar, bytes(actions), tuple(handlers), is_typed)


def _set(grammar: Language, actions: bytearray, name: str, action: int) -> None:
    kind = grammar.id_for_node_kind(name, True)
    if kind:
        actions[kind] = action


JAVASCRIPT: Final = _dialect(Language(tree_sitter_javascript.language()), is_typed=False)
TYPESCRIPT: Final = _dialect(Language(tree_sitter_typescript.language_typescript()), is_typed=True)
TSX: Final = _dialect(Language(tree_sitter_typescript.language_tsx()), is_typed=True)
