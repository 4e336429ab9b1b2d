"""Parse Python and ask the one query that finds everything the walk needs.

Measured on Django 5.2 (2,823 files, 18 MB, 4.2 million nodes, 828,000 identifiers), all as multiples of parsing, which
takes 1.9 s: this query 0.56; a query for identifiers alone 0.47; a cursor over all nodes that reads their kind 0.32
to 0.47, to which the dispatch on each node in Python would come; the walk 1.2; binds, references and definitions 0.7.
Extraction as a whole is 3.6 to 3.8 (`bench/extract_python.py`).
"""

from collections.abc import Callable
from typing import Final, Literal

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor

PYTHON: Final = Language(tree_sitter_python.language())

# Above this size parsing and querying are watched; below, neither can come near the time limit.
WATCHED_SIZE: Final = 1_000_000
CHUNK: Final = 1 << 16

_QUERY: Final = Query(
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
    (ERROR) @error
    (MISSING) @error
    """,
)

Captures = dict[str, list[Node]]


class OutOfTimeError(Exception):
    """The time for one file is over; never leaves this package."""


def parse(source: bytes, is_over: Callable[[], bool]) -> Node:
    """Return the root of the syntax tree.

    Raises:
        OutOfTimeError: `is_over` said so while parsing.
    """
    parser = Parser(PYTHON)
    if len(source) <= WATCHED_SIZE:
        return parser.parse(source).root_node

    # The binding's own progress callback for parsing crashes the process (tree-sitter 0.26.0), so the file is made to
    # end early instead.
    def read(position: int, _point: Point) -> bytes:
        return b"" if is_over() else source[position : position + CHUNK]

    root = parser.parse(read).root_node
    if is_over():
        raise OutOfTimeError
    return root


def capture(root: Node, source_size: int, is_over: Callable[[], bool]) -> Captures:
    """Return the nodes of each capture name, in no particular order.

    Raises:
        OutOfTimeError: `is_over` said so while searching.
    """
    cursor = QueryCursor(_QUERY)
    if source_size <= WATCHED_SIZE:
        return cursor.captures(root)
    captures = cursor.captures(root, _accept, lambda _offset: is_over())
    if is_over():
        raise OutOfTimeError
    return captures


def _accept(
    predicate: str,  # noqa: ARG001 - the names are the protocol of the binding
    args: list[tuple[str, Literal["capture", "string"]]],  # noqa: ARG001 - as above
    pattern_index: int,  # noqa: ARG001 - as above
    captures: Captures,  # noqa: ARG001 - as above
) -> bool:
    """Stand in the place before the progress callback; the query has no predicates."""
    return True
