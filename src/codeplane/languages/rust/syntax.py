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
