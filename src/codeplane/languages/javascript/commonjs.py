"""Read assignments: to `module.exports` and `exports`, to members of `this`, prototypes and functions."""

import re
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NO_RECEIVER, BindTarget, Definition, DefinitionKind
from codeplane.languages.javascript.declarations import (
    has_body,
    kind_of_value,
    mark_assigned,
    name_value,
    signature_of,
    unwrapped,
)
from codeplane.languages.javascript.loading import DEFAULT, REQUIRE, add_import, literal_argument, literal_text
from codeplane.languages.javascript.tables import FILE, IN_VALUES, NO_SPACE, RawExport
from codeplane.languages.javascript.walking import DEFINITION, Walk

COMMONJS: Final = "commonjs"
INCOMPLETE: Final = "commonjs_incomplete"
_MAX_CHAIN: Final = 20

_NAME: Final = r"[A-Za-z_$][\w$]*"
_EXPORTS: Final = re.compile(rf"(module\.)?exports(?:\.({_NAME}))?")
_THIS_MEMBER: Final = re.compile(rf"this\.({_NAME})")
_OWNED: Final = re.compile(rf"({_NAME})\.(?:prototype\.)?({_NAME})")


def take_assignment(walk: Walk, node: Node) -> bool:
    """Read an assignment."""
    target = node.child_by_field_name("left")
    if target is None:
        return True
    if target.type != "member_expression":
        mark_assigned(walk, target)
        return True
    start, end = target.byte_range
    text = walk.text.bytewise[start:end] if end - start < 200 else ""
    value = _final_value(node)
    match = _EXPORTS.fullmatch(text)
    if match is not None and (match[1] or match[2]):
        _take_export(walk, target, match, value)
        return True
    match = _THIS_MEMBER.fullmatch(text)
    if match is not None:
        if not walk.is_typed and walk.this is not None and not walk.this.is_static:
            walk.tables.this_assignments.append((walk.this.class_scope, match[1], start + match.start(1), end))
        return True
    match = _OWNED.fullmatch(text)
    if match is not None and walk.tables.scopes[walk.scope].kind == FILE:
        is_static = "." in text and not text.startswith("prototype.", match.end(1) + 1)
        _define_owned(walk, match[1], (start + match.start(2), end), value, is_static=is_static)
    return True


def _take_export(walk: Walk, target: Node, match: re.Match[str], value: Node | None) -> None:
    if target.start_byte in walk.exported_targets:
        local = walk.exported_targets.pop(target.start_byte)
        walk.tables.exports.append(RawExport(DEFAULT, local, IN_VALUES, walk.scope, COMMONJS))
        return
    if match[2]:
        if match[2] != "__esModule" and not _is_void(walk, value):
            _export_value(walk, match[2], (target.end_byte - len(match[2]), target.end_byte), value)
        return
    if value is not None and value.type == "object":
        _export_object(walk, value)
    name_start = target.end_byte - len("exports")
    _export_value(walk, DEFAULT, (name_start, target.end_byte), value)


def _export_value(walk: Walk, name: str, extent: tuple[int, int], value: Node | None) -> None:
    """Export what is assigned: what a name means, a loaded module, or a definition made by the assignment itself."""
    is_certain = walk.scope == 0
    if value is not None and value.type == "identifier":
        local = walk.text.of(value)
        walk.tables.exports.append(RawExport(name, local, IN_VALUES, walk.scope, COMMONJS, is_certain=is_certain))
        return
    is_named_by_itself = value is not None and value.type in {"function_expression", "generator_function", "class"}
    if value is not None and is_named_by_itself and name == DEFAULT:
        own = value.child_by_field_name("name")
        if own is not None and own.end_byte > own.start_byte:
            walk.tables.own_name_exports[own.start_byte] = len(walk.tables.exports)
            walk.tables.exports.append(RawExport(name, "", 0, walk.scope, COMMONJS, is_certain=is_certain))
            return
    source = _loaded_source(walk, value)
    if source is not None and value is not None:
        number = add_import(walk, (source, None, None, REQUIRE), value.byte_range)
        walk.tables.loads[value.start_byte] = number, number + 1
        walk.tables.exports.append(RawExport(name, "", 0, walk.scope, COMMONJS, BindTarget.IMPORT, number, is_certain))
        return
    if name == DEFAULT and not (has_body(value) and value is not None and value.type != "object"):
        walk.tables.exports.append(RawExport(name, "", 0, walk.scope, COMMONJS, is_certain=False))
        return
    number = _define_assigned(walk, extent, value)
    walk.tables.exports.append(RawExport(name, "", 0, walk.scope, COMMONJS, BindTarget.DEF, number, is_certain))


def _define_assigned(walk: Walk, extent: tuple[int, int], value: Node | None) -> int:
    """Define what an assignment to an export makes; no plain name means it."""
    start, end = extent
    text = walk.text.cut(start, end)
    kind = kind_of_value(value, DefinitionKind.VARIABLE)
    number = walk.define(
        Definition(
            kind,
            text,
            walk.path_of(walk.scope, text),
            start,
            value.end_byte if value is not None and has_body(value) else end,
            start,
            walk.scope,
            signature=signature_of(walk, value) if value is not None and kind is DefinitionKind.FUNCTION else "",
        )
    )
    walk.marks[start] = (DEFINITION, walk.scope, NO_SPACE, _receiver_before(walk, start))
    name_value(walk, value, number)
    return number


def _receiver_before(walk: Walk, start: int) -> int:
    """Return the start of the name before the dot: of `exports` or `module`, written right before it."""
    text = walk.text.bytewise
    for word in ("exports.", "module."):
        if text.startswith(word, start - len(word)):
            return start - len(word)
    return NO_RECEIVER


def _export_object(walk: Walk, value: Node) -> None:
    """Export the parts of an object that is assigned to `module.exports`."""
    is_certain = walk.scope == 0
    for part in value.named_children:
        if part.type == "shorthand_property_identifier":
            name = walk.text.of(part)
            walk.tables.exports.append(RawExport(name, name, IN_VALUES, walk.scope, COMMONJS, is_certain=is_certain))
        elif part.type == "pair":
            key, inner = part.child_by_field_name("key"), part.child_by_field_name("value")
            name = _key_text(walk, key)
            if key is None or not name:
                walk.tables.exports.append(RawExport("", "", 0, walk.scope, INCOMPLETE, is_certain=False))
                continue
            begin = key.start_byte + (key.type == "string")
            _export_pair(walk, name, (begin, begin + len(name)), unwrapped(inner) if inner is not None else None)
        elif part.type == "method_definition":
            key = part.child_by_field_name("name")
            if key is not None and key.type == "property_identifier":
                walk.tables.own_name_exports[key.start_byte] = len(walk.tables.exports)
                name = walk.text.of(key)
                walk.tables.exports.append(RawExport(name, "", 0, walk.scope, COMMONJS, is_certain=is_certain))
        elif part.type != "comment":
            walk.tables.exports.append(RawExport("", "", 0, walk.scope, INCOMPLETE, is_certain=False))


def _export_pair(walk: Walk, name: str, extent: tuple[int, int], value: Node | None) -> None:
    if value is not None and value.type == "identifier":
        local = walk.text.of(value)
        is_certain = walk.scope == 0
        walk.tables.exports.append(RawExport(name, local, IN_VALUES, walk.scope, COMMONJS, is_certain=is_certain))
        return
    source = _loaded_source(walk, value)
    if source is not None and value is not None:
        number = add_import(walk, (source, None, None, REQUIRE), value.byte_range)
        walk.tables.loads[value.start_byte] = number, number + 1
        target_kind = BindTarget.IMPORT
    else:
        number, target_kind = _define_assigned(walk, extent, value), BindTarget.DEF
    walk.tables.exports.append(RawExport(name, "", 0, walk.scope, COMMONJS, target_kind, number, walk.scope == 0))


def _define_owned(walk: Walk, owner: str, extent: tuple[int, int], value: Node | None, *, is_static: bool) -> None:
    """Define `A.b = function …` and `A.prototype.b = function …` as a method of A itself or of its instances."""
    if value is None or kind_of_value(value, DefinitionKind.VARIABLE) is not DefinitionKind.FUNCTION:
        return
    start, end = extent
    name = walk.text.cut(start, end)
    number = walk.define(
        Definition(
            DefinitionKind.METHOD,
            name,
            f"{owner}.{name}",
            start,
            value.end_byte,
            start,
            walk.scope,
            signature=signature_of(walk, value),
            decorators=("static",) if is_static else (),
            documentation=walk.documentation(start - len(owner) - 1),
            owner=owner,
        )
    )
    name_value(walk, value, number)


def _final_value(assignment: Node) -> Node | None:
    """Return what `a = b = value` assigns; every link of the chain asks, so that a long one is not followed."""
    value = assignment.child_by_field_name("right")
    for _ in range(_MAX_CHAIN):
        if value is None or value.type != "assignment_expression":
            return unwrapped(value) if value is not None else None
        value = value.child_by_field_name("right")
    return None


def _loaded_source(walk: Walk, value: Node | None) -> str | None:
    if value is None or value.type != "call_expression":
        return None
    function = value.child_by_field_name("function")
    if function is None or function.type != "identifier" or walk.text.of(function) != "require":
        return None
    return literal_argument(walk, value)


def _key_text(walk: Walk, key: Node | None) -> str:
    if key is None:
        return ""
    return walk.text.of(key) if key.type == "property_identifier" else literal_text(walk, key) or ""


def _is_void(walk: Walk, value: Node | None) -> bool:
    """Say whether an assignment only prepares an export, as compilers write it: `exports.a = void 0`."""
    return value is None or walk.text.bytewise[value.start_byte : value.end_byte] in {"void 0", "undefined"}
