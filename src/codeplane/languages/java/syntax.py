"""The grammar of Java and the one query that finds everything extraction needs."""

from typing import Final

import tree_sitter_java
from tree_sitter import Language, Query

JAVA: Final = Language(tree_sitter_java.language())

QUERY: Final = Query(
    JAVA,
    """
    (identifier) @name
    (type_identifier) @type
    (break_statement (identifier) @label)
    (continue_statement (identifier) @label)
    (switch_label (identifier) @case)
    (method_invocation !object name: (identifier) @call)
    (method_invocation arguments: (argument_list) @arguments)
    [(package_declaration) (import_declaration) (class_declaration) (interface_declaration) (enum_declaration)
     (record_declaration) (annotation_type_declaration) (class_body) (interface_body) (enum_body)
     (annotation_type_body) (enum_constant) (field_declaration) (constant_declaration) (method_declaration)
     (constructor_declaration) (compact_constructor_declaration) (annotation_type_element_declaration)
     (lambda_expression) (block) (for_statement) (enhanced_for_statement) (try_with_resources_statement) (resource)
     (catch_clause) (switch_block) (switch_rule) (local_variable_declaration) (labeled_statement) (type_pattern)
     (record_pattern) (record_pattern_component) (annotation) (module_declaration)
    ] @event
    (object_creation_expression (class_body)) @event
    (instanceof_expression name: (identifier)) @event
    (method_invocation type_arguments: (_)) @event
    (method_reference (type_arguments)) @event
    (scoped_type_identifier [(annotation) (marker_annotation)]) @event
    (ERROR) @error
    (MISSING) @error
    """,
)
