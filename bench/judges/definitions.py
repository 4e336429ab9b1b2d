"""Definitions of a repository, sampled evenly over their kinds, by tree-sitter alone.

The index is not asked: what it does not know must be sampled as well.
"""

import random
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tree_sitter_go
import tree_sitter_java
import tree_sitter_python
import tree_sitter_rust
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

# Grammars by language and by how a file's name ends.
_GRAMMARS = {
    "python": {".py": tree_sitter_python.language},
    "typescript": {
        ".ts": tree_sitter_typescript.language_typescript,
        ".tsx": tree_sitter_typescript.language_tsx,
        ".js": tree_sitter_typescript.language_tsx,
    },
    "go": {".go": tree_sitter_go.language},
    "java": {".java": tree_sitter_java.language},
    "rust": {".rs": tree_sitter_rust.language},
}
# Of each kind the names it defines. A name that two kinds catch has the later one.
_KINDS: dict[str, dict[str, str]] = {
    "python": {
        "function": "(function_definition name: (identifier) @x)",
        "method": """(class_definition body: (block (function_definition name: (identifier) @x)))
            (class_definition body: (block (decorated_definition (function_definition name: (identifier) @x))))""",
        "class": "(class_definition name: (identifier) @x)",
        "local": "(function_definition body: (block (expression_statement (assignment left: (identifier) @x))))",
        "variable": "(module (expression_statement (assignment left: (identifier) @x)))",
        "attribute": """(class_definition body: (block (expression_statement (assignment left: (identifier) @x))))
            ((assignment left: (attribute object: (identifier) @o attribute: (identifier) @x)) (#eq? @o "self"))""",
        "parameter": """(parameters [(identifier) @x (default_parameter name: (identifier) @x)
            (typed_parameter . (identifier) @x) (typed_default_parameter name: (identifier) @x)])""",
        "import alias": "(aliased_import alias: (identifier) @x)",
    },
    "typescript": {
        "function": "(function_declaration name: (identifier) @x)",
        "method": """(method_definition name: (property_identifier) @x)
            (method_signature name: (property_identifier) @x)""",
        "class": "(class_declaration name: (type_identifier) @x)",
        "type": """(interface_declaration name: (type_identifier) @x) (enum_declaration name: (identifier) @x)
            (type_alias_declaration name: (type_identifier) @x)""",
        "attribute": """(public_field_definition name: (property_identifier) @x)
            (property_signature name: (property_identifier) @x)""",
        "local": "(statement_block (lexical_declaration (variable_declarator name: (identifier) @x)))",
        "variable": """(program (lexical_declaration (variable_declarator name: (identifier) @x)))
            (program (export_statement (lexical_declaration (variable_declarator name: (identifier) @x))))""",
        "parameter": "(required_parameter pattern: (identifier) @x) (optional_parameter pattern: (identifier) @x)",
        "type parameter": "(type_parameter name: (type_identifier) @x)",
        "import alias": "(import_specifier alias: (identifier) @x) (namespace_import (identifier) @x)",
    },
    "go": {
        "function": "(function_declaration name: (identifier) @x)",
        "method": "(method_declaration name: (field_identifier) @x) (method_elem name: (field_identifier) @x)",
        "type": "(type_spec name: (type_identifier) @x)",
        "attribute": "(field_declaration name: (field_identifier) @x)",
        "variable": """(source_file (var_declaration (var_spec name: (identifier) @x)))
            (source_file (const_declaration (const_spec name: (identifier) @x)))""",
        "local": "(short_var_declaration left: (expression_list (identifier) @x))",
        # A receiver is not among them: gopls renames it in all methods of the type.
        "parameter": """([(function_declaration parameters: (parameter_list (parameter_declaration name: (_) @x)))
            (method_declaration parameters: (parameter_list (parameter_declaration name: (_) @x)))])""",
        "type parameter": "(type_parameter_declaration name: (identifier) @x)",
        "import alias": "(import_spec name: (package_identifier) @x)",
    },
    "java": {
        "method": "(method_declaration name: (identifier) @x)",
        "class": """(class_declaration name: (identifier) @x) (interface_declaration name: (identifier) @x)
            (enum_declaration name: (identifier) @x) (record_declaration name: (identifier) @x)""",
        "attribute": """(field_declaration declarator: (variable_declarator name: (identifier) @x))
            (enum_constant name: (identifier) @x)""",
        "local": "(local_variable_declaration declarator: (variable_declarator name: (identifier) @x))",
        "parameter": "(formal_parameter name: (identifier) @x)",
        "type parameter": "(type_parameter (type_identifier) @x)",
    },
    "rust": {
        "function": "(function_item name: (identifier) @x)",
        "method": """(impl_item body: (declaration_list (function_item name: (identifier) @x)))
            (trait_item body: (declaration_list [(function_item name: (identifier) @x)
                (function_signature_item name: (identifier) @x)]))""",
        "type": """(struct_item name: (type_identifier) @x) (enum_item name: (type_identifier) @x)
            (trait_item name: (type_identifier) @x) (type_item name: (type_identifier) @x)""",
        "attribute": "(field_declaration name: (field_identifier) @x) (enum_variant name: (identifier) @x)",
        "variable": "(const_item name: (identifier) @x) (static_item name: (identifier) @x)",
        "local": "(let_declaration pattern: (identifier) @x)",
        "parameter": "(parameter pattern: (identifier) @x)",
        "type parameter": "(type_parameter name: (type_identifier) @x)",
        "import alias": "(use_as_clause alias: (identifier) @x)",
    },
}
_FUNCTIONS = frozenset({"function_definition", "function_declaration", "method_declaration", "method_definition",
                        "function_item", "arrow_function", "func_literal", "lambda_expression"})  # fmt: skip
_CLASSES = frozenset({"class_definition", "class_declaration", "interface_declaration", "type_spec", "struct_item"})
# No program may rename these: the language calls them by name.
_FIXED = frozenset({"_", "self", "cls", "main", "init", "constructor", "this", "__all__"})


@dataclass(frozen=True, slots=True)
class Definition:
    """The name of a definition and its place: the line from 1, the column from 0 in characters."""

    kind: str
    name: str
    path: str
    line: int
    column: int


def sample(root: Path, language: str, count: int, seed: int) -> list[Definition]:
    """Return definitions in files that git tracks, of every kind in turn until there are enough of them."""
    by_kind: dict[str, list[Definition]] = defaultdict(list)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    for path in listing.split("\0"):
        if Path(path).suffix in _GRAMMARS[language] and (root / path).is_file():
            for one in definitions((root / path).read_bytes(), path, language):
                by_kind[one.kind].append(one)
    draw = random.Random(seed)
    for kind in sorted(by_kind):
        draw.shuffle(by_kind[kind])
    found: list[Definition] = []
    while len(found) < count and any(by_kind.values()):
        found += [by_kind[kind].pop() for kind in sorted(by_kind) if by_kind[kind]]
    return found[:count]


def definitions(source: bytes, path: str, language: str) -> Iterator[Definition]:
    """Yield the definitions of a file: of a name that is assigned several times in a scope, the first place."""
    grammar = Language(_GRAMMARS[language][Path(path).suffix]())
    tree = Parser(grammar).parse(source)
    nodes: dict[int, tuple[str, Node]] = {}
    for kind, query in _KINDS[language].items():
        for node in QueryCursor(Query(grammar, query)).captures(tree.root_node).get("x", ()):
            nodes[node.start_byte] = (kind, node)
    seen = set()
    for _, (kind, node) in sorted(nodes.items()):
        name = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        home = (kind, name, _scope(node, kind)) if kind in {"attribute", "local", "variable"} else node.start_byte
        if home in seen or name in _FIXED or (name.startswith("__") and name.endswith("__")):
            continue
        seen.add(home)
        row, start = node.start_point
        column = len(source[node.start_byte - start : node.start_byte].decode("utf-8", "replace"))
        yield Definition(kind, name, path, row + 1, column)


def in_comment(root: Path, language: str, path: str, line: int, column: int) -> bool:
    """Tell whether a place is inside a comment: some judges rename there, ours leaves it to the documentation."""
    if Path(path).suffix not in _GRAMMARS[language]:
        return False
    tree, lines = _parsed(root / path, language)
    start = len(lines[line - 1].decode("utf-8", "replace")[:column].encode())
    node = tree.root_node.descendant_for_point_range((line - 1, start), (line - 1, start + 1))
    while node is not None and "comment" not in node.type:
        node = node.parent
    return node is not None


@lru_cache(64)
def _parsed(file: Path, language: str) -> tuple[Tree, list[bytes]]:
    source = file.read_bytes()
    return Parser(Language(_GRAMMARS[language][file.suffix]())).parse(source), source.split(b"\n")


def _scope(node: Node, kind: str) -> int:
    wanted = _CLASSES if kind == "attribute" else _FUNCTIONS
    around = node.parent
    while around is not None and around.type not in wanted:
        around = around.parent
    return around.id if around is not None else 0
