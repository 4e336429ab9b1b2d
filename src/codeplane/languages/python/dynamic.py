"""Find places that read or write names in ways the syntax does not show."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, BindTarget, DynamicAccess
from codeplane.languages.python.scoping import Bindings
from codeplane.languages.python.tables import Tables, Watched
from codeplane.languages.python.texts import PythonText

# Which argument holds the name that is accessed.
_KEY_ARGUMENT: Final = {
    "getattr": 1,
    "setattr": 1,
    "hasattr": 1,
    "delattr": 1,
    "eval": 0,
    "exec": 0,
    "__import__": 0,
    "import_module": 0,
}
_NAMESPACES: Final = frozenset({"globals", "locals", "vars"})


def read_dynamic(tables: Tables, bindings: Bindings, root: Node, text: PythonText) -> list[DynamicAccess]:
    """Return the dynamic accesses in the order of the source; names that the file defines itself are not meant."""
    found = []
    for watched in tables.watched:
        if watched.name == "__all__" or not _is_meant(watched, bindings, tables):
            continue
        node = root.descendant_for_byte_range(watched.start, watched.end)
        access = _access(node, watched.name, text) if node is not None else None
        if access is not None:
            found.append(access)
    return sorted(found, key=lambda access: (access.start, access.end))


def _is_meant(watched: Watched, bindings: Bindings, tables: Tables) -> bool:
    """Say whether a watched name is the builtin, or `import_module` of importlib."""
    if watched.key is None:
        return True
    bind = bindings.find(watched.scope, watched.key)
    if watched.name != "import_module":
        return bind == NONE
    if bind == NONE:
        return False
    meaning = bindings.binds[bind]
    if meaning.target_kind is not BindTarget.IMPORT:
        return False
    return tables.imports[meaning.target].source == "importlib"


def _access(node: Node, name: str, text: PythonText) -> DynamicAccess | None:
    whole = node.parent if node.parent is not None and node.parent.type == "attribute" else node
    if whole is not node and whole.start_byte == node.start_byte:
        whole = node
    outer = whole.parent
    if name == "__dict__":
        if outer is None or outer.type != "subscript" or outer.start_byte != whole.start_byte:
            return None
        return _describe("bracket_access", outer, outer.child_by_field_name("subscript"), text)
    is_called = outer is not None and outer.type == "call" and outer.start_byte == whole.start_byte
    if outer is None or not is_called:
        return _describe(name, node, None, text) if name in _KEY_ARGUMENT and _is_value(node) else None
    if name in _NAMESPACES:
        around = outer.parent
        if around is not None and around.type == "subscript" and around.start_byte == outer.start_byte:
            return _describe(name, around, around.child_by_field_name("subscript"), text)
        return _describe(name, outer, None, text)
    arguments = outer.child_by_field_name("arguments")
    values = [child for child in arguments.named_children if child.type != "comment"] if arguments is not None else []
    position = _KEY_ARGUMENT[name]
    return _describe(name, outer, values[position] if position < len(values) else None, text)


def _is_value(node: Node) -> bool:
    """Say whether a name is passed on as a value, not imported, bound or deleted."""
    return node.parent is not None and node.parent.type in {"argument_list", "assignment", "keyword_argument"}


def _describe(pattern: str, node: Node, key: Node | None, text: PythonText) -> DynamicAccess:
    content = key.named_child(1) if key is not None and key.type == "string" and key.named_child_count == 3 else None
    start, end = node.byte_range
    if content is None or content.type != "string_content" or content.named_child_count:
        return DynamicAccess(pattern, start, end, (), True)
    return DynamicAccess(pattern, start, end, (text.of(content),), False)
