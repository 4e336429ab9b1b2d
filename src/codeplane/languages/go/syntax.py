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


def _field(name: str) -> int:
    return GO.field_id_for_name(name) or 0


ALIAS_FIELD: Final = _field("alias")
ARGUMENTS_FIELD: Final = _field("arguments")
BODY_FIELD: Final = _field("body")
ELEMENT_FIELD: Final = _field("element")
FIELD_FIELD: Final = _field("field")
FUNCTION_FIELD: Final = _field("function")
INITIALIZER_FIELD: Final = _field("initializer")
KEY_FIELD: Final = _field("key")
LABEL_FIELD: Final = _field("label")
LEFT_FIELD: Final = _field("left")
NAME_FIELD: Final = _field("name")
OPERAND_FIELD: Final = _field("operand")
OPERATOR_FIELD: Final = _field("operator")
PARAMETERS_FIELD: Final = _field("parameters")
PATH_FIELD: Final = _field("path")
RECEIVER_FIELD: Final = _field("receiver")
RESULT_FIELD: Final = _field("result")
RIGHT_FIELD: Final = _field("right")
TYPE_FIELD: Final = _field("type")
TYPE_ARGUMENTS_FIELD: Final = _field("type_arguments")
TYPE_PARAMETERS_FIELD: Final = _field("type_parameters")
VALUE_FIELD: Final = _field("value")
