"""TypeScript and JavaScript modules as far as chains need them: imports, classes, values, and static texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tree_sitter import Node, Parser

from codeplane.core.clock import SystemClock
from codeplane.languages.catalog import load_grammar
from codeplane.languages.nodes import children_of, first_child
from codeplane.languages.parsing import OutOfTimeError, is_tree_too_deep, parse

_TIME_LIMIT_S: Final = 2.0
_WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression", "await_expression"}
)
_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration"})
_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "function_declaration", "method_definition", "generator_function"}
)


class At(NamedTuple):
    """A node and the module that holds it."""

    module: "Module"
    node: Node

    @property
    def line(self) -> int:
        """Return the line in the file, from 1."""
        return self.node.start_point[0] + 1 + self.module.first_line

    @property
    def end_line(self) -> int:
        """Return the last line in the file."""
        return self.node.end_point[0] + 1 + self.module.first_line

    @property
    def key(self) -> tuple[str, int]:
        """Return what distinguishes it from other places."""
        return (self.module.path, self.node.start_byte)


@dataclass(frozen=True, slots=True)
class Imported:
    """What a local name stands for: the name `default`, `*` or another one of a module."""

    source: str
    name: str


@dataclass(slots=True)
class ClassInfo:
    """A class: its decorators with their first argument, its members by name, its base and what it is given."""

    name: str
    at: At
    decorators: dict[str, Node | None] = field(default_factory=dict)
    members: dict[str, Node] = field(default_factory=dict)
    # Decorators of members, by the member's name.
    marks: dict[str, dict[str, Node | None]] = field(default_factory=dict)
    base: str = ""
    interfaces: tuple[str, ...] = ()
    # Names of the types, or tokens, that the constructor and `inject()` give, by the member's name.
    injected: dict[str, str] = field(default_factory=dict)

    @property
    def is_abstract(self) -> bool:
        """Whether no object can be of this class alone."""
        return self.at.node.type == "abstract_class_declaration"


@dataclass(slots=True)
class Module:
    """A parsed file, or an expression of a template (then `first_line` is where it starts, less one)."""

    path: str
    root: Node
    first_line: int = 0
    imports: dict[str, Imported] = field(default_factory=dict)
    declared: dict[str, Node] = field(default_factory=dict)
    classes: dict[str, ClassInfo] = field(default_factory=dict)
    reexports: dict[str, Imported] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    default: Node | None = None


def parse_module(path: str, text: str) -> Module | None:
    """Return a parsed module, None when it cannot be parsed in time."""
    root = _parsed(text)
    if root is None:
        return None
    module = Module(path, root)
    for statement in root.named_children:
        _take_statement(module, statement)
    return module


def parse_expression(path: str, text: str, line: int) -> At | None:
    """Return an expression of a template as a node, None when it is none; a pipe is taken off."""
    root = _parsed(f"({_without_pipe(text)})")
    if root is None or root.has_error:
        return None
    statement = first_child(root)
    inner = first_child(statement) if statement is not None else None
    return At(Module(path, root, first_line=line - 1), unwrapped(inner)) if inner is not None else None


def parse_statements(path: str, text: str, line: int) -> At | None:
    """Return the statements of a template's event handler."""
    root = _parsed(text)
    return At(Module(path, root, first_line=line - 1), root) if root is not None else None


def _parsed(text: str) -> Node | None:
    grammar = load_grammar("typescript")
    clock = SystemClock()
    deadline = clock.monotonic() + _TIME_LIMIT_S

    def is_over() -> bool:
        return clock.monotonic() > deadline

    source = text.encode("utf-8", "replace")
    try:
        root = parse(source, grammar, is_over) if grammar is not None else None
    except OutOfTimeError:
        return None
    if root is None or grammar is None or is_tree_too_deep(root, is_over):
        return None
    # A tree that was read in pieces asks for its pieces whenever a node's text is wanted. The first parse shows that
    # the second one ends.
    return Parser(grammar).parse(source).root_node


def _without_pipe(text: str) -> str:
    """Return an expression without a pipe of Angular behind it; `||` is no pipe."""
    parts = text.replace("||", "\0").split("|")
    return parts[0].replace("\0", "||").strip()


def text_of(node: Node | None) -> str:
    """Return a node's text."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def field_of(node: Node | None, name: str) -> Node | None:
    """Return the child of a field."""
    return node.child_by_field_name(name) if node is not None else None


def unwrapped(node: Node) -> Node:
    """Return an expression without parentheses, casts and `await`."""
    while node.type in _WRAPPERS:
        inner = first_child(node)
        if inner is None:
            return node
        node = inner
    return node


def descend(node: Node, *kinds: str) -> Iterator[Node]:
    """Yield a node and all below it that are of some kinds, in order."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in kinds:
            yield current
        waiting.extend(reversed(current.named_children))


def string_of(node: Node | None) -> str | None:
    """Return the value of a string literal without substitutions, None for anything else."""
    if node is None or node.type not in {"string", "template_string"}:
        return None
    parts = node.named_children
    if any(part.type == "template_substitution" for part in parts):
        return None
    return "".join(text_of(part) for part in parts)


def properties_of(node: Node) -> Mapping[str, Node]:
    """Return the values of an object literal by key; methods are values, `{a}` has the identifier as its value."""
    found: dict[str, Node] = {}
    for child in node.named_children:
        if child.type == "pair":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and value is not None:
                found[string_of(key) or text_of(key)] = unwrapped(value)
        elif child.type == "method_definition":
            found[text_of(child.child_by_field_name("name"))] = child
        elif child.type == "shorthand_property_identifier":
            found[text_of(child)] = child
    return found


def is_function(node: Node) -> bool:
    """Tell whether a node is a function of any kind."""
    return node.type in _FUNCTIONS


def returned(function: Node) -> Iterator[Node]:
    """Yield the expressions that a function returns, those of functions inside it left out."""
    body = function.child_by_field_name("body")
    if body is None:
        return
    if body.type != "statement_block":
        yield unwrapped(body)
        return
    waiting = list(body.named_children)
    while waiting:
        node = waiting.pop(0)
        if node.type == "return_statement":
            value = first_child(node)
            if value is not None:
                yield unwrapped(value)
        elif not is_function(node):
            waiting.extend(node.named_children)


def callee(call: Node) -> tuple[Node | None, str]:
    """Return the object and the name of what a call calls: `(None, f)` for `f()`, `(this.a, b)` for `this.a.b()`."""
    function = call.child_by_field_name("function")
    if function is None:
        return None, ""
    function = unwrapped(function)
    if function.type == "member_expression":
        return function.child_by_field_name("object"), text_of(function.child_by_field_name("property"))
    return None, text_of(function)


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call."""
    return [unwrapped(one) for one in children_of(call.child_by_field_name("arguments"))]


def own_member(node: Node | None) -> str:
    """Return `a` for `this.a`, an empty text for anything else."""
    if node is None or node.type != "member_expression":
        return ""
    holder = node.child_by_field_name("object")
    is_own = holder is not None and holder.type == "this"
    return text_of(node.child_by_field_name("property")) if is_own else ""


def _take_statement(module: Module, statement: Node) -> None:
    if statement.type == "import_statement":
        _take_import(module, statement)
    elif statement.type == "export_statement":
        _take_export(module, statement)
    else:
        _take_declaration(module, statement, statement)


def _take_import(module: Module, statement: Node) -> None:
    source = string_of(statement.child_by_field_name("source"))
    clause = next((child for child in statement.named_children if child.type == "import_clause"), None)
    if source is None or clause is None:
        return
    for child in clause.named_children:
        if child.type == "identifier":
            module.imports[text_of(child)] = Imported(source, "default")
        elif child.type == "namespace_import":
            module.imports[text_of(first_child(child))] = Imported(source, "*")
        for specifier in child.named_children if child.type == "named_imports" else ():
            name = text_of(specifier.child_by_field_name("name"))
            module.imports[text_of(specifier.child_by_field_name("alias")) or name] = Imported(source, name)


def _take_export(module: Module, statement: Node) -> None:
    source = string_of(statement.child_by_field_name("source"))
    declaration = statement.child_by_field_name("declaration")
    clause = next((child for child in statement.named_children if child.type == "export_clause"), None)
    is_default = any(child.type == "default" for child in statement.children)
    if clause is not None:
        for specifier in clause.named_children:
            name = text_of(specifier.child_by_field_name("name"))
            alias = text_of(specifier.child_by_field_name("alias")) or name
            module.reexports[alias] = Imported(source or "", name)
    elif source is not None:
        module.stars.append(source)
    if declaration is not None:
        _take_declaration(module, declaration, statement)
    if is_default:
        module.default = declaration or statement.child_by_field_name("value")


def _take_declaration(module: Module, node: Node, outer: Node) -> None:
    if node.type in _CLASSES:
        info = _class_info(At(module, node), outer)
        module.declared[info.name] = node
        module.classes[info.name] = info
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for one in node.named_children:
            if one.type == "variable_declarator":
                module.declared[text_of(one.child_by_field_name("name"))] = one
    elif node.type in {"function_declaration", "enum_declaration"}:
        module.declared[text_of(node.child_by_field_name("name"))] = node


def _decorator(node: Node) -> tuple[str, Node | None]:
    call = first_child(node)
    if call is None or call.type != "call_expression":
        return text_of(call), None
    arguments = arguments_of(call)
    return text_of(call.child_by_field_name("function")), arguments[0] if arguments else None


def _decorators(node: Node) -> dict[str, Node | None]:
    return dict(_decorator(child) for child in node.named_children if child.type == "decorator")


def _class_info(at: At, outer: Node) -> ClassInfo:
    info = ClassInfo(text_of(at.node.child_by_field_name("name")), at, _decorators(outer) | _decorators(at.node))
    for clause in descend_heritage(at.node):
        if clause.type == "extends_clause":
            info.base = text_of(clause.child_by_field_name("value"))
        else:
            info.interfaces = tuple(text_of(one).partition("<")[0] for one in clause.named_children)
    waiting: dict[str, Node | None] = {}
    for member in children_of(at.node.child_by_field_name("body")):
        if member.type == "decorator":
            waiting.update([_decorator(member)])
            continue
        name = text_of(member.child_by_field_name("name"))
        info.members.setdefault(name, member)
        info.marks.setdefault(name, {}).update(waiting | _decorators(member))
        waiting = {}
        if name == "constructor":
            _take_constructor(info, member)
        _take_injected(info, name, member.child_by_field_name("value"))
    return info


def descend_heritage(node: Node) -> list[Node]:
    """Return the clauses of `extends` and `implements` of a class."""
    heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
    return list(heritage.named_children) if heritage is not None else []


def _take_constructor(info: ClassInfo, member: Node) -> None:
    for parameter in children_of(member.child_by_field_name("parameters")):
        name = text_of(parameter.child_by_field_name("pattern"))
        token = _decorators(parameter).get("Inject")
        annotation = parameter.child_by_field_name("type")
        type_node = first_child(annotation) if annotation is not None else None
        type_name = text_of(type_node).partition("<")[0]
        if name and (token is not None or type_name):
            info.injected[name] = text_of(token) if token is not None else type_name
    # `private api: Api; constructor() { this.api = inject(Api); }`
    for assignment in descend(member, "assignment_expression"):
        name = own_member(assignment.child_by_field_name("left"))
        _take_injected(info, name, assignment.child_by_field_name("right"))


def _take_injected(info: ClassInfo, name: str, value: Node | None) -> None:
    if value is None or not name:
        return
    value = unwrapped(value)
    if value.type == "call_expression" and callee(value) == (None, "inject") and arguments_of(value):
        info.injected[name] = text_of(arguments_of(value)[0])
