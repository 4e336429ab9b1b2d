"""What names and expressions of scripts mean: declarations across files, values, and texts after constant folding."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.controller.proof_chains.chains import Via
from codeplane.controller.proof_chains.script import (
    At,
    ClassInfo,
    Module,
    arguments_of,
    callee,
    descend,
    field_of,
    is_function,
    own_member,
    properties_of,
    returned,
    string_of,
    text_of,
    unwrapped,
)
from codeplane.controller.proof_chains.source_files import SourceFiles

PARAMETER: Final = ":x"
_MAX_DEPTH: Final = 12
_MAX_EXPRESSIONS: Final = 20_000
# Calls whose first argument is the value, or a function that returns it.
_HOLDERS: Final = frozenset({"signal", "computed", "of", "input", "Object.freeze", "toSignal"})


def resolve(files: SourceFiles, module: Module, name: str, depth: int = 0) -> At | None:
    """Return the declaration that a name of a module means, in this file or in the one it is imported from."""
    if name in module.declared:
        return At(module, module.declared[name])
    imported = module.imports.get(name)
    if imported is None or depth > _MAX_DEPTH:
        return None
    target = _module_of(files, module, imported.source)
    return exported(files, target, imported.name, depth + 1) if target is not None else None


def exported(files: SourceFiles, module: Module, name: str, depth: int = 0) -> At | None:
    """Return the declaration that a module exports under a name."""
    if depth > _MAX_DEPTH:
        return None
    if name == "default" and module.default is not None:
        node = module.default
        return resolve(files, module, text_of(node), depth + 1) if node.type == "identifier" else At(module, node)
    again = module.reexports.get(name)
    if again is not None and again.source:
        target = _module_of(files, module, again.source)
        return exported(files, target, again.name, depth + 1) if target is not None else None
    found = resolve(files, module, again.name if again is not None else name, depth + 1)
    if found is not None:
        return found
    for source in module.stars:
        target = _module_of(files, module, source)
        found = exported(files, target, name, depth + 1) if target is not None else None
        if found is not None:
            return found
    return None


def class_at(at: At | None) -> ClassInfo | None:
    """Return the class that a declaration is."""
    return next((one for one in at.module.classes.values() if one.at.key == at.key), None) if at is not None else None


def class_named(files: SourceFiles, module: Module, name: str) -> tuple[ClassInfo, Via] | None:
    """Return the class that a name means; where its import leads nowhere, the only class of that name."""
    found = class_at(resolve(files, module, name))
    if found is not None:
        return found, Via.AST
    lexical = classes_called(files, name)
    return (lexical[0], Via.LEXICAL) if len(lexical) == 1 else None


def classes_called(files: SourceFiles, name: str) -> list[ClassInfo]:
    """Return all classes of a name."""
    if not name.isidentifier():
        return []
    modules = files.modules((f"class {name}",))
    return [module.classes[name] for module in modules if name in module.classes]


def bases_of(files: SourceFiles, info: ClassInfo) -> Iterator[ClassInfo]:
    """Yield a class and those it extends."""
    for _ in range(_MAX_DEPTH):
        yield info
        found = class_named(files, info.at.module, info.base) if info.base else None
        if found is None:
            return
        info = found[0]


def member_of(files: SourceFiles, info: ClassInfo, name: str) -> tuple[ClassInfo, Node] | None:
    """Return a member of a class or of one it extends."""
    return next(((one, one.members[name]) for one in bases_of(files, info) if name in one.members), None)


def injected_in(files: SourceFiles, info: ClassInfo) -> dict[str, tuple[ClassInfo, str]]:
    """Return what a class is given, by member: the class that says so, and the name of the type or token."""
    found: dict[str, tuple[ClassInfo, str]] = {}
    for one in bases_of(files, info):
        for member, name in one.injected.items():
            found.setdefault(member, (one, name))
    return found


def values_of(files: SourceFiles, at: At, owner: ClassInfo | None) -> list[At]:
    """Return what an expression may be: literals, functions, classes; names, calls and members are followed."""
    return _Values(files).of(at, owner)


def member_values(files: SourceFiles, info: ClassInfo, name: str) -> list[At]:
    """Return what a member of a class may hold: its initialiser, what is assigned to it, what a getter returns."""
    return _Values(files).of_member(info, name)


class _Values:
    """Evaluates expressions, each once: code that refers to itself ends, and costs no more than it is long."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        # An expression that is being evaluated has an empty list here.
        self._known: dict[tuple[str, int, int, int], list[At]] = {}
        self._members: dict[tuple[tuple[str, int], str], list[At]] = {}

    def of(self, at: At, owner: ClassInfo | None) -> list[At]:
        """Return what an expression may be."""
        node = unwrapped(at.node)
        at = At(at.module, node)
        key = (at.module.path, at.module.first_line, node.start_byte, node.end_byte)
        if key not in self._known and len(self._known) < _MAX_EXPRESSIONS:
            self._known[key] = []
            self._known[key] = list(self._evaluated(at, owner))
        return self._known.get(key, [])

    def of_member(self, info: ClassInfo, name: str) -> list[At]:
        """Return what a member of a class may hold."""
        key = (info.at.key, name)
        if key not in self._members:
            self._members[key] = []
            self._members[key] = list(self._member(info, name))
        return self._members[key]

    def _evaluated(self, at: At, owner: ClassInfo | None) -> Iterator[At]:
        node = at.node
        if node.type == "ternary_expression":
            for part in (field_of(node, "consequence"), field_of(node, "alternative")):
                yield from self.of(At(at.module, part), owner) if part is not None else ()
        elif node.type in {"identifier", "shorthand_property_identifier"}:
            yield from self._name(at, owner)
        elif node.type == "member_expression":
            yield from self._property(at, owner)
        elif node.type == "call_expression":
            yield from self._call(at, owner)
        else:
            yield at

    def _name(self, at: At, owner: ClassInfo | None) -> Iterator[At]:
        name = text_of(at.node)
        local = _local_value(at.node, name)
        if local is not None:
            yield from self.of(At(at.module, local), owner)
            return
        found = resolve(self._files, at.module, name)
        if found is not None:
            value = field_of(found.node, "value") if found.node.type == "variable_declarator" else None
            yield from self.of(At(found.module, value), None) if value is not None else (found,)
        elif owner is not None and not at.module.declared and not at.module.imports:
            # A name in a template is a member of its component.
            yield from self.of_member(owner, name)

    def _property(self, at: At, owner: ClassInfo | None) -> Iterator[At]:
        name = text_of(field_of(at.node, "property"))
        holder = field_of(at.node, "object")
        if own_member(at.node) and owner is not None:
            yield from self.of_member(owner, name)
            return
        for value in self.of(At(at.module, holder), owner) if holder is not None else ():
            info = class_at(value)
            if value.node.type == "object":
                inner = properties_of(value.node).get(name)
                yield from self.of(At(value.module, inner), owner) if inner is not None else ()
            elif value.node.type == "enum_declaration":
                rows = [row for row in descend(value.node, "enum_assignment") if text_of(field_of(row, "name")) == name]
                inner = field_of(rows[0], "value") if rows else None
                yield from (At(value.module, inner),) if inner is not None else ()
            elif info is not None:
                yield from self.of_member(info, name)

    def _call(self, at: At, owner: ClassInfo | None) -> Iterator[At]:
        function = field_of(at.node, "function")
        holder, name = callee(at.node)
        arguments = arguments_of(at.node)
        if name == "bind" and holder is not None:
            parts = [holder]
        elif name == "concat" and holder is not None:
            parts = [holder, *arguments]
        else:
            is_holder = text_of(function) in _HOLDERS and bool(arguments)
            source = arguments[0] if is_holder else function
            for value in self.of(At(at.module, source), owner) if source is not None else ():
                # A signal is read by calling it, so that a call of what is no function is the value itself.
                yield from self._results(value, owner) if is_function(value.node) else (value,)
            return
        for part in parts:
            yield from self.of(At(at.module, part), owner)

    def _results(self, function: At, owner: ClassInfo | None) -> Iterator[At]:
        for value in returned(function.node):
            yield from self.of(At(function.module, value), owner)

    def _member(self, info: ClassInfo, name: str) -> Iterator[At]:
        found = member_of(self._files, info, name)
        if found is None:
            return
        holder, member = found
        if member.type == "method_definition":
            is_getter = any(child.type == "get" for child in member.children)
            at = At(holder.at.module, member)
            yield from self._results(at, info) if is_getter else (at,)
            return
        initial = field_of(member, "value")
        yield from self.of(At(holder.at.module, initial), info) if initial is not None else ()
        for one in {one.at.key: one for one in (holder, info)}.values():
            for assignment in descend(one.at.node, "assignment_expression"):
                value = field_of(assignment, "right")
                if own_member(field_of(assignment, "left")) == name and value is not None:
                    yield from self.of(At(one.at.module, value), info)


def fold(files: SourceFiles, at: At, owner: ClassInfo | None, depth: int = 0) -> str:
    """Return the text of an expression; every part that is not constant is `:x`."""
    node = unwrapped(at.node)
    if depth > _MAX_DEPTH:
        return PARAMETER
    if node.type == "template_string":
        return "".join(_fold_piece(files, At(at.module, part), owner, depth) for part in node.named_children)
    if node.type == "binary_expression" and text_of(field_of(node, "operator")) == "+":
        sides = (field_of(node, "left"), field_of(node, "right"))
        return "".join(fold(files, At(at.module, side), owner, depth + 1) for side in sides if side is not None)
    literal = text_of(node) if node.type == "number" else string_of(node)
    if literal is not None:
        return literal
    is_name = node.type in {"identifier", "member_expression"}
    if not is_name or (owner is not None and _is_variable(owner, own_member(node) or text_of(node))):
        return PARAMETER
    values = list(values_of(files, At(at.module, node), owner))
    is_text = len(values) == 1 and values[0].node.type in {"string", "template_string", "number", "binary_expression"}
    return fold(files, values[0], owner, depth + 1) if is_text else PARAMETER


def _is_variable(owner: ClassInfo, member: str) -> bool:
    """Tell whether a member is set from outside or assigned after its declaration."""
    if "Input" in owner.marks.get(member, {}):
        return True
    assigned = (own_member(field_of(one, "left")) for one in descend(owner.at.node, "assignment_expression"))
    return member in assigned


def _fold_piece(files: SourceFiles, at: At, owner: ClassInfo | None, depth: int) -> str:
    if at.node.type != "template_substitution":
        return text_of(at.node)
    inner = at.node.named_children
    return fold(files, At(at.module, inner[0]), owner, depth + 1) if inner else ""


def _local_value(node: Node, name: str) -> Node | None:
    """Return the initialiser of a `const` in the functions around a node."""
    scope = node.parent
    while scope is not None and scope.parent is not None:
        if scope.type == "statement_block":
            for declaration in scope.named_children:
                for one in declaration.named_children if declaration.type == "lexical_declaration" else ():
                    if one.type == "variable_declarator" and text_of(field_of(one, "name")) == name:
                        return field_of(one, "value")
        scope = scope.parent
    return None


def _module_of(files: SourceFiles, module: Module, source: str) -> Module | None:
    path = files.locate(module.path, source)
    return files.module(path) if path is not None else None
