"""The grammar of Go and the one query that finds everything extraction needs."""

from typing import Final

import tree_sitter_go
from tree_sitter import Language, Query

GO: Final = Language(tree_sitter_go.language())

QUERY: Final = Query(
    GO,
    """
    [(identifier) (type_identifier) (package_identifier)] @name
    (field_identifier) @member
    (label_name) @label
    [(package_clause) (import_spec) (function_declaration) (method_declaration) (func_literal) (function_type)
     (method_elem) (type_spec) (type_alias) (struct_type) (interface_type) (block) (for_statement)
     (expression_switch_statement) (type_switch_statement) (expression_case) (type_case) (default_case)
     (communication_case) (range_clause) (short_var_declaration) (receive_statement) (var_spec) (const_spec)
     (labeled_statement) (composite_literal)
    ] @event
    (if_statement initializer: (_)) @event
    (ERROR) @error
    (MISSING) @error
    """,
)
