"""Read modules that are loaded by a call: `require('m')` and `await import('m')`."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import (
    NO_RECEIVER,
    BindReason,
    BindTarget,
    Certainty,
    DynamicAccess,
    Import,
    ReferenceRole,
)
from codeplane.languages.javascript.tables import IMPORTED, VALUES, Place
from codeplane.languages.javascript.walking import LEFT_OUT, Walk

REQUIRE: Final = "js_require"
DYNAMIC: Final = "js_dynamic_import"
DEFAULT: Final = "default"
_IMPORT_ROLE: Final = int(ReferenceRole.IMPORT)
_PREFIXES: Final = ("require", "await", "(await")


def take_loaded(walk: Walk, name: Node, value: Node, *, is_var: bool, is_const: bool) -> bool:
    """Bind what a declaration takes from a loaded module; false when it does no such thing."""
    if not walk.text.bytewise.startswith(_PREFIXES, value.start_byte):
        return False
    member: str | None = None
    call = value
    if value.type == "member_expression":
        holder, part = value.child_by_field_name("object"), value.child_by_field_name("property")
        if holder is None or part is None or part.type != "property_identifier":
            return False
        call, member = holder, walk.text.of(part)
    source, kind = _loaded(walk, call)
    if source is None:
        return False
    first = len(walk.tables.imports)
    if name.type == "identifier":
        _bind(walk, name, (source, member, kind), is_var=is_var, is_const=is_const)
    elif name.type == "object_pattern" and member is None and _are_plain(name):
        for part in name.named_children:
            _bind_part(walk, part, (source, kind), is_var=is_var, is_const=is_const)
    else:
        return False
    walk.tables.loads[_call_start(call)] = first, len(walk.tables.imports)
    return True


def take_import_call(walk: Walk, node: Node) -> bool:
    """Read the word `import` of `import('m')` where its value is not bound by a declaration."""
    call = node.parent
    if call is None or call.type != "call_expression" or node.start_byte in walk.tables.loads:
        return False
    source = literal_argument(walk, call)
    if source is not None:
        add_import(walk, (source, None, None, DYNAMIC), call.byte_range)
    else:
        start, end = call.byte_range
        walk.tables.dynamic.append(DynamicAccess("dynamic_import", start, end, (), True))
    return False


def add_import(walk: Walk, what: tuple[str, str | None, str | None, str], extent: tuple[int, int]) -> int:
    """Add an import given by source, imported name, alias and kind, and return its number."""
    source, imported_name, alias, kind = what
    start, end = extent
    walk.tables.imports.append(
        Import(walk.scope, source, imported_name, alias, kind, Certainty.CERTAIN, start, end, walk.scope != 0)
    )
    return len(walk.tables.imports) - 1


def bind_import(walk: Walk, scope: int, name: str, number: int) -> None:
    """Bind a name to an import."""
    place = Place(IMPORTED, BindTarget.IMPORT, number, BindReason.IMPORT_ALIAS)
    walk.tables.scopes[scope].places.setdefault(name, []).append(place)


def literal_argument(walk: Walk, call: Node) -> str | None:
    """Return the text of the one literal string that a call is given, None for anything else."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None or arguments.type != "arguments":
        return None
    values = [child for child in arguments.named_children if child.type != "comment"]
    return literal_text(walk, values[0]) if values else None


def literal_text(walk: Walk, node: Node | None) -> str | None:
    """Return the content of a string without escapes or substitutions, None for anything else."""
    if node is None or node.type not in {"string", "template_string"} or node.end_byte - node.start_byte < 2:
        return None
    if any(child.type != "string_fragment" for child in node.named_children):
        return None
    text = walk.text.cut(node.start_byte + 1, node.end_byte - 1)
    return text if "\n" not in text else None


def _loaded(walk: Walk, call: Node) -> tuple[str | None, str]:
    """Return the source and kind of import that a call makes, no source when it loads no module."""
    if call.type == "parenthesized_expression" and call.named_child_count == 1:
        call = call.named_children[0]
    kind = REQUIRE
    if call.type == "await_expression" and call.named_child_count == 1:
        call, kind = call.named_children[0], DYNAMIC
    function = call.child_by_field_name("function") if call.type == "call_expression" else None
    if function is None:
        return None, kind
    if kind == DYNAMIC:
        is_load = function.type == "import"
    else:
        is_load = function.type == "identifier" and walk.text.of(function) == "require"
    return (literal_argument(walk, call) if is_load else None), kind


def _call_start(call: Node) -> int:
    """Return where the word `require` or `import` of a load is."""
    while call.type in {"parenthesized_expression", "await_expression"}:
        call = call.named_children[0]
    return call.start_byte


def _are_plain(pattern: Node) -> bool:
    """Say whether all parts of a pattern are just names, renamed or not."""
    for part in pattern.named_children:
        if part.type == "pair_pattern":
            key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
            if key is None or key.type != "property_identifier" or value is None or value.type != "identifier":
                return False
        elif part.type not in {"shorthand_property_identifier_pattern", "comment"}:
            return False
    return pattern.named_child_count > 0


def _bind_part(walk: Walk, part: Node, what: tuple[str, str], *, is_var: bool, is_const: bool) -> None:
    source, kind = what
    if part.type == "comment":
        return
    if part.type == "shorthand_property_identifier_pattern":
        name = walk.text.of(part)
        _bind(walk, part, (source, name, kind), is_var=is_var, is_const=is_const)
        return
    key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
    if key is not None and value is not None:
        imported, local = walk.text.of(key), walk.text.of(value)
        _bind(walk, value, (source, imported, kind), is_var=is_var, is_const=is_const)
        walk.marks[key.start_byte] = walk.marks.get(value.start_byte, LEFT_OUT)
        walk.tables.keys[key.start_byte] = local


def _bind(walk: Walk, name: Node, what: tuple[str, str | None, str], *, is_var: bool, is_const: bool) -> None:
    start, end = name.byte_range
    if end <= start:
        return
    source, imported_name, kind = what
    home = walk.tables.scopes[walk.scope].var_home if is_var else walk.scope
    local = walk.text.cut(start, end)
    number = add_import(walk, (source, imported_name, local if local != imported_name else None, kind), (start, end))
    if not is_const:
        walk.tables.mutable_imports.add(number)
    if home != walk.scope:
        walk.tables.imports[number] = walk.tables.imports[number]._replace(scope=home)
    bind_import(walk, home, local, number)
    walk.marks[start] = (_IMPORT_ROLE, home, VALUES, NO_RECEIVER)
