"""The grammar, and the one query that finds everything the walk needs.

Measured on Django 5.2 (2,823 files, 18 MB, 4.2 million nodes, 828,000 identifiers), all as multiples of parsing, which
takes 1.9 s: this query 0.56; a query for identifiers alone 0.47; a cursor over all nodes that reads their kind 0.32
to 0.47, to which the dispatch on each node in Python would come; the walk 1.2; binds, references and definitions 0.7.
Extraction as a whole is 3.6 to 3.8, compiled (decision 0017) 2.8 (`bench/extract_python.py`).

Identifiers can also be told from the text alone once the tree has said where strings and comments are, and where words
such as `match` are keywords. That gave the same identifiers but took as long as capturing them, so it is not done.
"""

from typing import Final

import tree_sitter_python
from tree_sitter import Language, Query

PYTHON: Final = Language(tree_sitter_python.language())

QUERY: Final = Query(
    PYTHON,
    """
    (identifier) @identifier
    [(class_definition) (function_definition) (lambda) (list_comprehension) (set_comprehension)
     (dictionary_comprehension) (generator_expression) (import_statement) (import_from_statement)
     (future_import_statement) (global_statement) (nonlocal_statement) (delete_statement) (type_alias_statement)
     (print_statement)
    ] @event
    (assignment) @assignment
    (assignment left: (identifier) @bind)
    (augmented_assignment left: (identifier) @bind)
    (for_statement left: (identifier) @bind)
    (for_in_clause left: (identifier) @bind)
    (pattern_list (identifier) @bind)
    (tuple_pattern (identifier) @bind)
    (list_pattern (identifier) @bind)
    (list_splat_pattern (identifier) @bind)
    (splat_pattern (identifier) @bind)
    (as_pattern_target (identifier) @bind)
    (as_pattern_target [(tuple) (list) (parenthesized_expression)] @target)
    (as_pattern (case_pattern) (identifier) @bind)
    (case_pattern (dotted_name . (identifier) @bind .))
    (union_pattern (dotted_name . (identifier) @bind .))
    (keyword_pattern (identifier) @keyword (dotted_name . (identifier) @bind .)?)
    (named_expression name: (identifier) @walrus)
    (parameters (identifier) @parameter)
    (parameters (list_splat_pattern (identifier) @parameter))
    (lambda_parameters (identifier) @parameter)
    (lambda_parameters (list_splat_pattern (identifier) @parameter))
    (default_parameter name: (identifier) @parameter)
    (typed_default_parameter name: (identifier) @parameter)
    (typed_parameter [(identifier) @parameter (list_splat_pattern (identifier) @parameter)])
    (dictionary_splat_pattern (identifier) @parameter)
    (keyword_argument name: (identifier) @keyword)
    (assignment left: (attribute object: (identifier) attribute: (identifier) @member))
    (pattern_list (attribute object: (identifier) attribute: (identifier) @member))
    (tuple_pattern (attribute object: (identifier) attribute: (identifier) @member))
    (decorator) @decorator
    (type (string) @quoted)
    (subscript subscript: (string) @quoted)
    (binary_operator (string) @quoted)
    """,
)

# Apart, because a search for missing nodes looks at every node, which is a twelfth of what the query above takes.
ERRORS: Final = Query(PYTHON, "[(ERROR) (MISSING)] @error")
