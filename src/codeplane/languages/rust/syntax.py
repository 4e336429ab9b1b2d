"""The grammar of Rust and the one query that finds everything extraction needs."""

from typing import Final

import tree_sitter_rust
from tree_sitter import Language, Query

RUST: Final = Language(tree_sitter_rust.language())

QUERY: Final = Query(
    RUST,
    """
    [(identifier) (shorthand_field_identifier)] @name
    (type_identifier) @type
    (field_identifier) @member
    [(self) (super) (crate)] @keyword
    [(use_declaration) (extern_crate_declaration) (mod_item) (struct_item) (union_item) (enum_item) (type_item)
     (associated_type) (const_item) (static_item) (trait_item) (impl_item) (function_item) (function_signature_item)
     (macro_definition) (macro_invocation) (attribute_item) (inner_attribute_item) (closure_expression) (block)
     (match_arm) (for_expression) (let_declaration) (let_condition) (struct_expression) (label) (function_type)
     (type_binding) (field_declaration_list) (enum_variant_list) (enum_variant) (declaration_list)
    ] @event
    (if_expression condition: [(let_condition) (let_chain)]) @event
    (while_expression condition: [(let_condition) (let_chain)]) @event
    (scoped_identifier path: (generic_type)) @event
    (scoped_type_identifier path: (generic_type)) @event
    (ERROR) @error
    (MISSING) @error
    """,
)


def _field(name: str) -> int:
    return RUST.field_id_for_name(name) or 0


ALIAS_FIELD: Final = _field("alias")
ALTERNATIVE_FIELD: Final = _field("alternative")
ARGUMENT_FIELD: Final = _field("argument")
BODY_FIELD: Final = _field("body")
BOUNDS_FIELD: Final = _field("bounds")
CONSEQUENCE_FIELD: Final = _field("consequence")
FIELD_FIELD: Final = _field("field")
FUNCTION_FIELD: Final = _field("function")
LIST_FIELD: Final = _field("list")
MACRO_FIELD: Final = _field("macro")
NAME_FIELD: Final = _field("name")
PARAMETERS_FIELD: Final = _field("parameters")
PATH_FIELD: Final = _field("path")
PATTERN_FIELD: Final = _field("pattern")
RETURN_TYPE_FIELD: Final = _field("return_type")
TRAIT_FIELD: Final = _field("trait")
TYPE_FIELD: Final = _field("type")
TYPE_PARAMETERS_FIELD: Final = _field("type_parameters")
VALUE_FIELD: Final = _field("value")
