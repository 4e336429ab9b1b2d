"""The origin chain of ag-Grid: from a table to the call that brings its data when a cell is followed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from tree_sitter import Node

from codeplane.controller.proof_chains.angular import (
    COMPONENT,
    Placed,
    components_of_file,
    inputs_of,
    placed_with,
    provided_class,
    selector_of,
    template_path,
)
from codeplane.controller.proof_chains.chains import ChainKind, Ended, Found, LinkType, Via
from codeplane.controller.proof_chains.navigation import Trigger, TriggerSearch, called_of
from codeplane.controller.proof_chains.resolution import (
    PARAMETER,
    class_at,
    classes_called,
    fold,
    injected_in,
    member_of,
    resolve,
    values_of,
)
from codeplane.controller.proof_chains.routes import Route, lazy_target, matching_routes, parts_of
from codeplane.controller.proof_chains.script import (
    At,
    ClassInfo,
    arguments_of,
    callee,
    descend,
    field_of,
    is_function,
    own_member,
    parse_expression,
    parse_statements,
    properties_of,
    string_of,
    text_of,
)
from codeplane.controller.proof_chains.source_files import TEMPLATES, SourceFiles

GRID: Final = "ag-grid-angular"
_COLUMNS: Final = ("[columnDefs]", "columnDefs", "[gridOptions]", "gridOptions")
_COLUMN_KEYS: Final = ("field", "colId")
_RENDERERS: Final = ("cellRenderer", "cellRendererFramework", "cellRendererSelector")
_REGISTERED: Final = ("components", "frameworkComponents")
_EVENTS: Final = ("cellClicked", "rowClicked", "cellDoubleClicked", "rowDoubleClicked")
_WORDS: Final = ("ag-grid", "columnDefs", "ColDef", "cellRenderer", "agInit", "gridOptions")
_INTERFACES: Final = frozenset(
    {"ICellRendererAngularComp", "ICellRendererComp", "ICellRenderer", "AgRendererComponent"}
)
_HTTP: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "request", "jsonp"})
_GRAPHQL: Final = frozenset({"query", "watchQuery", "mutate", "subscribe"})
_MAX_HOPS: Final = 4


@dataclass(frozen=True, slots=True)
class Table:
    """A grid: the element that is told its columns, and the `ag-grid-angular` it stands for."""

    placed: Placed
    grid: Placed
    columns: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a whole array whose columns have no renderer of their own; `holder` says what objects are around."""

    at: At
    array: At
    owner: ClassInfo
    options: tuple[At, ...]


@dataclass(frozen=True, slots=True)
class Renderer:
    """What shows a cell or answers a click on it: a class, a function, or ag-Grid's own renderer."""

    info: ClassInfo | None
    function: At | None
    owner: ClassInfo


def _find_tables(files: SourceFiles, _so_far: tuple[Found, ...]) -> Sequence[Found]:
    return [Found(one.placed.file, one.placed.line, one.placed.element.tag, "", one) for one in all_tables(files)]


def all_tables(files: SourceFiles) -> tuple[Table, ...]:
    """Return the grids that are told their columns by their own component, and the uses of wrappers of the others."""
    return files.once("tables", lambda: tuple(_tables(files)))


def _tables(files: SourceFiles) -> Iterator[Table]:
    for grid in placed_with(files, GRID):
        bound = grid.binding(*_COLUMNS)
        input_name = _forwarded(grid, bound)
        selector = selector_of(grid.owner)
        if not input_name or not selector:
            yield Table(grid, grid, bound)
            continue
        for use in placed_with(files, selector):
            yield Table(use, grid, use.binding(f"[{input_name}]", input_name))


def _forwarded(grid: Placed, bound: str) -> str:
    """Return the input of a wrapper that its grid's columns come from, an empty text when it is no wrapper."""
    member = bound.removeprefix("this.").removesuffix("()").partition("?")[0].partition(".")[0].strip()
    return next((name for name, own in inputs_of(grid.owner).items() if own == member), "")


def _find_columns(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    table: Table = so_far[0].entity
    at = parse_expression(table.placed.file, table.columns, table.placed.line) if table.columns else None
    if at is None:
        return []
    owner = table.placed.owner
    options = tuple(_options(files, table))
    found: list[Found] = []
    for array in _column_arrays(files, at, owner):
        columns = list(_columns_in(files, array, owner))
        rendered = [one for one in columns if _renderer_of(one) is not None]
        plain = [one for one in columns if _renderer_of(one) is None]
        member = table.columns.strip()
        found.extend(_column_found(files, Column(one, array, owner, options), member) for one in rendered)
        handlers = any(True for _ in _handlers(files, table, Column(array, array, owner, options)))
        if plain and (handlers or not rendered):
            # One column stands for all that have no renderer.
            found.append(_column_found(files, Column(plain[0], array, owner, options), member))
    return found


def _column_found(files: SourceFiles, column: Column, member: str) -> Found:
    names = properties_of(column.at.node)
    label = next((names[key] for key in (*_COLUMN_KEYS, "headerName") if key in names), None)
    name = fold(files, At(column.at.module, label), column.owner) if label is not None else "column"
    relation = f"`{member}` holds the column"
    return Found(column.at.module.path, column.at.line, name, relation, column, end_line=column.at.end_line)


def _options(files: SourceFiles, table: Table) -> Iterator[At]:
    """Yield the object literals that configure a grid."""
    for place in {id(table.placed): table.placed, id(table.grid): table.grid}.values():
        for name in ("[gridOptions]", "gridOptions"):
            text = place.element.attributes.get(name)
            at = parse_expression(place.file, text, place.line) if text else None
            for value in values_of(files, at, place.owner) if at is not None else ():
                if value.node.type == "object":
                    yield value


def _column_arrays(files: SourceFiles, at: At, owner: ClassInfo) -> Iterator[At]:
    """Yield the arrays that reach the grid: as a value, by push, and as `columnDefs` of grid options."""
    seen: set[tuple[str, int]] = set()
    member = _member_name(at.node)
    values = list(values_of(files, at, owner))
    for holder in [one for one in values if one.node.type == "object"]:
        inner = properties_of(holder.node).get("columnDefs")
        values.extend(values_of(files, At(holder.module, inner), owner) if inner is not None else ())
    if member:
        values.extend(_assigned(files, owner, member))
    for value in values:
        is_list = value.node.type in {"array", "arguments"} and value.node.named_child_count
        if is_list and value.key not in seen:
            seen.add(value.key)
            yield value


def _member_name(node: Node) -> str:
    if node.type == "call_expression":
        function = field_of(node, "function")
        return _member_name(function) if function is not None else ""
    if node.type == "member_expression":
        return own_member(node) or text_of(field_of(node, "object")).removeprefix("this.")
    return text_of(node) if node.type == "identifier" else ""


def _assigned(files: SourceFiles, owner: ClassInfo, member: str) -> Iterator[At]:
    """Yield what is pushed to a member, set with a signal's `set`, or assigned to its `columnDefs`."""
    module = owner.at.module
    for call in descend(owner.at.node, "call_expression"):
        holder, name = callee(call)
        target = text_of(holder).removeprefix("this.")
        if name in {"push", "unshift"} and target in {member, f"{member}.columnDefs"}:
            arguments = field_of(call, "arguments")
            if arguments is not None and any(one.type == "object" for one in arguments.named_children):
                yield At(module, arguments)
        if name in {"set", "setColumnDefs"} and (target == member or name == "setColumnDefs"):
            for one in arguments_of(call)[:1]:
                yield from values_of(files, At(module, one), owner)
    for assignment in descend(owner.at.node, "assignment_expression"):
        left = text_of(field_of(assignment, "left")).removeprefix("this.").replace("!", "").replace("?", "")
        right = field_of(assignment, "right")
        if left == f"{member}.columnDefs" and right is not None:
            yield from values_of(files, At(module, right), owner)


def _columns_in(files: SourceFiles, array: At, owner: ClassInfo, depth: int = 0) -> Iterator[At]:
    """Yield the columns of an array, groups entered and spread arrays included."""
    for node in array.node.named_children if depth < 6 else ():
        inner = node.named_children[0] if node.type == "spread_element" else node
        for value in values_of(files, At(array.module, inner), owner) if inner.type != "comment" else ():
            if value.node.type == "array":
                yield from _columns_in(files, value, owner, depth + 1)
            elif value.node.type == "object":
                names = properties_of(value.node)
                if _is_column(names):
                    yield value
                children = names.get("children")
                for group in values_of(files, At(value.module, children), owner) if children is not None else ():
                    yield from _columns_in(files, group, owner, depth + 1)


def _is_column(names: object) -> bool:
    keys = set(cast("dict[str, Node]", names))
    return bool(keys & {*_COLUMN_KEYS, *_RENDERERS})


def _renderer_of(column: At) -> Node | None:
    names = properties_of(column.node)
    return next((names[key] for key in _RENDERERS if key in names), None)


def _find_renderers(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found] | Ended:
    table: Table = so_far[0].entity
    column: Column = so_far[1].entity
    value = _renderer_of(column.at)
    if value is None:
        handlers = list(_handlers(files, table, column))
        return handlers or Ended("no_renderer_no_handler")
    names = properties_of(column.at.node)
    relation = next(key for key in _RENDERERS if key in names)
    found: list[Found] = []
    literal = string_of(value)
    if literal is not None:
        return _renderer_by_name(files, table, column, literal)
    for one in values_of(files, At(column.at.module, value), column.owner):
        if relation == "cellRendererSelector" and is_function(one.node):
            found.extend(_selected(files, one, column))
        else:
            found.extend(_as_renderer(one, column.owner, f"`{relation}` names it", Via.AST))
    if not found and value.type == "identifier":
        classes = classes_called(files, text_of(value))
        found.extend(_renderer_found(one, column.owner, f"`{relation}` names it", Via.LEXICAL) for one in classes)
    return found


def _selected(files: SourceFiles, function: At, column: Column) -> Iterator[Found]:
    for node in descend(function.node, "object"):
        component = properties_of(node).get("component")
        for value in values_of(files, At(function.module, component), column.owner) if component is not None else ():
            yield from _as_renderer(value, column.owner, "`cellRendererSelector` chooses it", Via.AST)


def _renderer_by_name(files: SourceFiles, table: Table, column: Column, name: str) -> list[Found]:
    """Return what a name is registered for in `components`, or the only class that is called so."""
    for holder, owner in _registries(files, table, column):
        value = properties_of(holder.node).get(name)
        for one in values_of(files, At(holder.module, value), owner) if value is not None else ():
            found = list(_as_renderer(one, column.owner, f"`components` registers it as '{name}'", Via.AST))
            if found:
                return found
    if name.startswith("ag") and name.endswith("Renderer"):
        own = Renderer(None, None, column.owner)
        relation = "`cellRenderer` names one of ag-Grid's own"
        return [Found(column.at.module.path, column.at.line, name, relation, own)]
    lexical = classes_called(files, name) or classes_called(files, name[:1].upper() + name[1:])
    return [_renderer_found(info, column.owner, f"its name is '{name}'", Via.LEXICAL) for info in lexical]


def _registries(files: SourceFiles, table: Table, column: Column) -> Iterator[tuple[At, ClassInfo]]:
    for holder in column.options:
        names = properties_of(holder.node)
        for key in _REGISTERED:
            for value in values_of(files, At(holder.module, names[key]), column.owner) if key in names else ():
                if value.node.type == "object":
                    yield value, column.owner
    for place in (table.placed, table.grid):
        text = place.binding(*(f"[{key}]" for key in _REGISTERED))
        at = parse_expression(place.file, text, place.line) if text else None
        for value in values_of(files, at, place.owner) if at is not None else ():
            if value.node.type == "object":
                yield value, place.owner


def _as_renderer(value: At, owner: ClassInfo, relation: str, via: Via) -> Iterator[Found]:
    info = class_at(value)
    if info is not None:
        yield _renderer_found(info, owner, relation, via)
    elif is_function(value.node):
        name = text_of(field_of(value.node, "name")) or "inline function"
        yield Found(value.module.path, value.line, name, relation, Renderer(None, value, owner), via)


def _renderer_found(info: ClassInfo, owner: ClassInfo, relation: str, via: Via) -> Found:
    entity = Renderer(info, None, owner)
    return Found(info.at.module.path, info.at.line, info.name, relation, entity, via, end_line=info.at.end_line)


def _handlers(files: SourceFiles, table: Table, column: Column) -> Iterator[Found]:
    """Yield what a grid does at a click: handlers in the template, in its options, or of a column."""
    for place in {id(table.placed): table.placed, id(table.grid): table.grid}.values():
        for event in _EVENTS:
            text = place.element.attributes.get(f"({event})")
            at = parse_statements(place.file, text, place.line) if text else None
            if at is not None:
                entity = Renderer(None, at, place.owner)
                yield Found(place.file, place.line, "default", f"the grid's `{event}` handler", entity)
    for holder in (*column.options, column.at):
        names = properties_of(holder.node) if holder.node.type == "object" else {}
        for event in (f"on{one[0].upper()}{one[1:]}" for one in _EVENTS):
            for value in values_of(files, At(holder.module, names[event]), column.owner) if event in names else ():
                if is_function(value.node):
                    entity = Renderer(None, value, column.owner)
                    yield Found(value.module.path, value.line, "default", f"`{event}` of the grid", entity)


def _find_triggers(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found] | Ended:
    column: Column = so_far[1].entity
    renderer: Renderer = so_far[2].entity
    path = template_path(renderer.info) if renderer.info is not None else ""
    search = TriggerSearch(files, renderer.owner, column.at)
    found = {one.at.key: one for one in search.run(renderer.info, renderer.function)}
    if not found:
        is_unknown = search.has_unknown or (bool(path) and not files.text(path))
        return [] if is_unknown else Ended("no_nav_trigger")
    return [
        Found(one.at.module.path, one.at.line, one.path, one.relation, one, hops=one.hops) for one in found.values()
    ]


def _find_routes(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found] | Ended:
    trigger: Trigger = so_far[3].entity
    if trigger.path.startswith(("http:", "https:", "//", "mailto:", "tel:")):
        return Ended("external_url")
    if set(parts_of(trigger.path)) == {PARAMETER}:
        return []
    found = matching_routes(files, trigger.path, is_relative=trigger.is_relative)
    via = Via.LEXICAL if trigger.is_relative else Via.AST
    relation = f"`{trigger.path}` leads to it"
    return [
        Found(one.at.module.path, one.at.line, one.path, relation, one, via, end_line=one.at.end_line) for one in found
    ]


def _find_components(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    route: Route = so_far[4].entity
    return list(components_of_route(files, route))


def components_of_route(files: SourceFiles, route: Route) -> Iterator[Found]:
    """Yield the class that a route shows."""
    module = route.at.module
    named = route.settings.get("component")
    if named is not None:
        info = class_at(resolve(files, module, text_of(named)))
        lexical = [] if info is not None else classes_called(files, text_of(named))
        for one, via in ((info, Via.AST), *((one, Via.LEXICAL) for one in lexical)):
            if one is not None:
                yield Found(
                    one.at.module.path, one.at.line, one.name, "`component`", one, via, end_line=one.at.end_line
                )
        return
    loader = route.settings.get("loadComponent")
    info = class_at(lazy_target(files, loader, module)) if loader is not None else None
    if info is not None:
        yield Found(info.at.module.path, info.at.line, info.name, "`loadComponent`", info, end_line=info.at.end_line)


def _find_services(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found] | Ended:
    component: ClassInfo = so_far[5].entity
    found: list[tuple[bool, Found]] = []
    is_unknown = False
    for member, (holder, token) in injected_in(files, component).items():
        provided = provided_class(files, holder.at, token)
        if provided is None:
            # A type that is imported from the repository, yet is not there, is no proof of anything.
            is_unknown |= resolve(files, holder.at.module, token) is not None
            continue
        info, via, relation = provided
        calls = tuple(called_of(component, member))
        entity = (info, calls)
        place = Found(info.at.module.path, info.at.line, info.name, relation, entity, via, end_line=info.at.end_line)
        found.append((not calls, place))
    if not found and not is_unknown:
        return Ended("no_service")
    return [place for _, place in sorted(found, key=lambda row: row[0])]


def _find_definitions(files: SourceFiles, so_far: tuple[Found, ...]) -> Sequence[Found]:
    info, calls = so_far[6].entity
    return [found for name in dict.fromkeys(calls) for found in _requests(files, info, name, (), name)]


def _requests(files: SourceFiles, info: ClassInfo, name: str, hops: tuple[str, ...], first: str) -> Iterator[Found]:
    """Yield the requests in a method, also through methods that it calls."""
    member = member_of(files, info, name)
    if member is None or len(hops) > _MAX_HOPS:
        return
    holder, node = member
    for call in descend(node, "call_expression"):
        request = _request_text(files, At(holder.at.module, call), info)
        if request:
            at = At(holder.at.module, call)
            yield Found(at.module.path, at.line, request, f"the component calls `{first}`", None, hops=hops)
            continue
        target, inner = callee(call)
        hop = f"{info.name}.{name} calls {inner}"
        if target is not None and target.type == "this" and inner != name:
            yield from _requests(files, info, inner, (*hops, hop), first)
        injected = injected_in(files, info).get(own_member(target))
        provided = provided_class(files, injected[0].at, injected[1]) if injected is not None else None
        if provided is not None:
            yield from _requests(files, provided[0], inner, (*hops, hop), first)


def _request_text(files: SourceFiles, at: At, info: ClassInfo) -> str:
    """Return verb and address of a call that sends a request, an empty text for other calls."""
    holder, name = callee(at.node)
    arguments = arguments_of(at.node)
    if holder is None:
        is_fetch = name == "fetch" and bool(arguments)
        return f"FETCH {fold(files, At(at.module, arguments[0]), info)}" if is_fetch else ""
    target = text_of(holder).rpartition(".")[2].lower()
    injected = injected_in(files, info).get(own_member(holder), (info, ""))[1]
    if name in _HTTP and arguments and ("http" in target or injected == "HttpClient" or target == "axios"):
        address = arguments[1] if name == "request" and len(arguments) > 1 else arguments[0]
        verb = fold(files, At(at.module, arguments[0]), info) if name == "request" else name
        return f"{verb.upper()} {fold(files, At(at.module, address), info)}"
    if name in _GRAPHQL and ("apollo" in target or "graphql" in target or injected == "Apollo"):
        return f"GRAPHQL {name}"
    return ""


def is_table_surface(files: SourceFiles, path: str) -> bool:
    """Tell whether a file contains a table or a column, or is a renderer."""
    text = files.text(path) if path.endswith((*TEMPLATES, ".ts")) else ""
    if not text:
        return False
    if f"<{GRID}" in text:
        return True
    if path.endswith(TEMPLATES):
        return any(table.placed.file == path for table in _wrapped(files, text))
    has_words = any(word in text for word in _WORDS)
    if has_words and (_arrays_of_columns(files, path) or _local_renderers(files, path)):
        return True
    if f"@{COMPONENT}(" not in text:
        return False
    return any(table.placed.file == path for table in _wrapped(files, text)) or _is_named_as_renderer(files, path)


def _wrapped(files: SourceFiles, text: str) -> Iterator[Table]:
    """Yield the uses of wrappers, if a text has the tag of one."""
    owners = {id(grid.owner): grid.owner for grid in placed_with(files, GRID)}
    if any(f"<{selector_of(owner)}" in text for owner in owners.values() if selector_of(owner)):
        yield from all_tables(files)


def _is_named_as_renderer(files: SourceFiles, path: str) -> bool:
    names = [info.name for info in components_of_file(files, path)]
    texts = [files.text(one) for one in files.containing(("cellRenderer", "frameworkComponents")) if one != path]
    return any(name in text for name in names for text in texts)


def _arrays_of_columns(files: SourceFiles, path: str) -> list[At]:
    """Return the outermost arrays of a file that hold columns."""
    module = files.module(path)
    found: list[At] = []
    for node in descend(module.root, "array") if module is not None else ():
        is_inner = any(one.node.start_byte <= node.start_byte < one.node.end_byte for one in found)
        columns = [one for one in node.named_children if one.type == "object" and _is_columnar(properties_of(one))]
        if columns and not is_inner and module is not None:
            found.append(At(module, node))
    return found


def _is_columnar(names: object) -> bool:
    keys = set(cast("dict[str, Node]", names))
    return bool(keys & {*_COLUMN_KEYS, *_RENDERERS} or {"headerName", "children"} <= keys)


def _local_renderers(files: SourceFiles, path: str) -> list[ClassInfo]:
    module = files.module(path)
    classes = module.classes.values() if module is not None else ()
    return [one for one in classes if "agInit" in one.members or _INTERFACES & set(one.interfaces)]


def _orphans(files: SourceFiles, path: str) -> list[tuple[str, Found, str]]:
    """Return the arrays of columns and the renderers of a file, which chains ought to reach."""
    rows = [
        ("ColumnDef", Found(path, one.line, "columns", "", end_line=one.end_line), "Table")
        for one in _arrays_of_columns(files, path)
    ]
    for info in _local_renderers(files, path):
        place = Found(path, info.at.line, info.name, "", end_line=info.at.end_line)
        rows.append(("CellRenderer", place, "ColumnDef"))
    return rows


ORIGIN: Final = ChainKind(
    "ag_grid_origin",
    (
        LinkType("Table", _find_tables, is_each=True),
        LinkType("ColumnDef", _find_columns, is_each=True),
        LinkType("CellRenderer", _find_renderers),
        LinkType("NavTrigger", _find_triggers, is_each=True),
        LinkType("Route", _find_routes),
        LinkType("Component", _find_components),
        LinkType("Service", _find_services),
        LinkType("Definition", _find_definitions),
    ),
    3,
    is_table_surface,
    _orphans,
)
