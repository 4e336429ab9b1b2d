"""Routes of Angular: the whole tree with lazy children, and the route that a path leads to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from codeplane.controller.proof_chains.resolution import PARAMETER, class_at, exported, fold, resolve, values_of
from codeplane.controller.proof_chains.script import (
    At,
    ClassInfo,
    Module,
    arguments_of,
    callee,
    descend,
    field_of,
    properties_of,
    string_of,
    text_of,
)
from codeplane.controller.proof_chains.source_files import SourceFiles

LOADERS: Final = ("loadComponent", "loadChildren")
_WORDS: Final = ("forRoot", "forChild", "provideRouter", "Routes", "Route[]")
_ROOTS: Final = frozenset({"forRoot", "provideRouter"})
_CALLS: Final = _ROOTS | {"forChild"}
_MAX_DEPTH: Final = 12
_MAX_REDIRECTS: Final = 4


@dataclass(frozen=True, slots=True)
class Route:
    """A route object with its full path; `parts` are its segments, `order` its place in the tree."""

    at: At
    parts: tuple[str, ...]
    settings: Mapping[str, Node]
    depth: int
    order: int

    @property
    def path(self) -> str:
        """Return the full path."""
        return "/" + "/".join(self.parts)

    @property
    def is_leaf(self) -> bool:
        """Whether it shows something or leads elsewhere by itself."""
        return bool({"component", "loadComponent", "redirectTo"} & set(self.settings))


def all_routes(files: SourceFiles) -> tuple[Route, ...]:
    """Return all routes, each once for every place in the tree."""
    return files.once("routes", lambda: tuple(_Tree(files).routes()))


def parts_of(path: str) -> tuple[str, ...]:
    """Return the segments of a path; one that holds a part which is not constant is a parameter."""
    plain = path.partition("?")[0].partition("#")[0]
    return tuple(PARAMETER if PARAMETER in part else part for part in plain.split("/") if part not in {"", "."})


def matching_routes(files: SourceFiles, path: str, *, is_relative: bool) -> list[Route]:
    """Return the best route for a path; for one that is relative all whose end fits, and only the best of them.

    More static segments win, then the deeper route, then the order of the tree.
    """
    parts = parts_of(path)
    for _ in range(_MAX_REDIRECTS):
        found = _fitting(files, parts, is_relative=is_relative)
        if not found:
            return []
        target = found[0].settings.get("redirectTo")
        if target is None:
            return found if is_relative else found[:1]
        text = fold(files, At(found[0].at.module, target), None)
        parent = () if text.startswith("/") else found[0].parts[: len(found[0].parts) - _n_own(files, found[0])]
        parts = parent + parts_of(text)
        is_relative = False
    return []


def _n_own(files: SourceFiles, route: Route) -> int:
    path = route.settings.get("path")
    return len(parts_of(fold(files, At(route.at.module, path), None))) if path is not None else 0


def _fitting(files: SourceFiles, parts: tuple[str, ...], *, is_relative: bool) -> list[Route]:
    ranked = []
    for route in all_routes(files):
        own = route.parts[-len(parts) :] if is_relative and parts else route.parts
        n_static = _n_static(own, parts)
        if n_static is not None and route.is_leaf:
            ranked.append(((-n_static, -route.depth, route.order), route))
    best = [route for _, route in sorted(ranked, key=lambda row: row[0])]
    if is_relative and best:
        n_best = _n_static(best[0].parts[-len(parts) :], parts)
        return list({one.path: one for one in best if _n_static(one.parts[-len(parts) :], parts) == n_best}.values())
    return best or _unresolved(files, parts)


def _unresolved(files: SourceFiles, parts: tuple[str, ...]) -> list[Route]:
    """Return the route below which a path lies, whose children are in another application."""
    found = [
        route
        for route in all_routes(files)
        if not route.is_leaf
        and "loadChildren" in route.settings
        and route.parts
        and _n_static(route.parts, parts[: len(route.parts)]) is not None
        and lazy_target(files, route.settings["loadChildren"], route.at.module) is None
    ]
    return found[:1]


def _n_static(route: tuple[str, ...], path: tuple[str, ...]) -> int | None:
    """Return how many static segments of a route a path meets, None when it does not fit."""
    if len(route) != len(path):
        return None
    pairs = list(zip(route, path, strict=True))
    if any(not own.startswith(":") and own != other for own, other in pairs):
        return None
    return sum(not own.startswith(":") for own, _ in pairs)


def lazy_target(files: SourceFiles, loader: Node, module: Module) -> At | None:
    """Return the declaration that a loader imports: `() => import('./a').then(m => m.B)`, or the default of a file."""
    text = string_of(loader)
    if text is not None:
        path, _, name = text.partition("#")
        located = files.locate(module.path, path if path.startswith(".") else f"./{path}")
        target = files.module(located) if located is not None else None
        return exported(files, target, name or "default") if target is not None else None
    for call in descend(loader, "call_expression"):
        source = import_source(call)
        located = files.locate(module.path, source) if source else None
        target = files.module(located) if located is not None else None
        if target is not None:
            return exported(files, target, picked_name(loader))
    return None


def import_source(call: Node) -> str:
    """Return what `import('…')` names, an empty text for other calls."""
    function = call.child_by_field_name("function")
    arguments = arguments_of(call)
    return (string_of(arguments[0]) or "") if function is not None and function.type == "import" and arguments else ""


def picked_name(loader: Node) -> str:
    """Return the name in `.then(m => m.Name)`, `default` when there is none."""
    for call in descend(loader, "call_expression"):
        arguments = arguments_of(call)
        if callee(call)[1] == "then" and arguments:
            body = arguments[0].child_by_field_name("body")
            if body is not None:
                return text_of(field_of(body, "property") or body)
    return "default"


def routes_of_module(files: SourceFiles, info: ClassInfo, depth: int = 0) -> Iterator[At]:
    """Yield the route arrays that an NgModule imports, also through modules that it imports."""
    argument = info.decorators.get("NgModule")
    imports = properties_of(argument).get("imports") if argument is not None else None
    if imports is None or depth > 4:
        return
    for value in values_of(files, At(info.at.module, imports), info):
        for one in value.node.named_children if value.node.type == "array" else ():
            arguments = arguments_of(one) if one.type == "call_expression" else []
            if arguments and callee(one)[1] in _CALLS:
                yield from _arrays(files, At(value.module, arguments[0]))
            elif one.type == "identifier":
                inner = class_at(resolve(files, value.module, text_of(one)))
                yield from routes_of_module(files, inner, depth + 1) if inner is not None else ()


def _arrays(files: SourceFiles, at: At) -> Iterator[At]:
    yield from (value for value in values_of(files, at, None) if value.node.type == "array")


def arrays_of_target(files: SourceFiles, target: At) -> Iterator[At]:
    """Yield the route arrays of what a loader imports: an array, or an NgModule."""
    info = class_at(target)
    if info is not None:
        yield from routes_of_module(files, info)
    elif target.node.type == "variable_declarator":
        value = field_of(target.node, "value")
        yield from _arrays(files, At(target.module, value)) if value is not None else ()
    elif target.node.type == "array":
        yield target


class _Tree:
    """Walks from the roots; an array that no root reaches is a root itself, with the paths as they are written."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._seen: set[tuple[str, int]] = set()
        self._order = 0

    def routes(self) -> Iterator[Route]:
        """Yield the routes in the order of the tree."""
        roots: list[At] = []
        others: list[At] = []
        for module in self._files.modules(_WORDS):
            for call in descend(module.root, "call_expression"):
                name, arguments = callee(call)[1], arguments_of(call)
                if name in _CALLS and arguments:
                    (roots if name in _ROOTS else others).extend(_arrays(self._files, At(module, arguments[0])))
            for node in module.declared.values():
                value = field_of(node, "value")
                if text_of(field_of(node, "type")).strip(": ") in {"Routes", "Route[]"} and value is not None:
                    others.extend(_arrays(self._files, At(module, value)))
        for at in roots:
            yield from self._walk(at, (), 0)
        # Children of a lazy module come before the module's own list of routes, so that only what is left is a root.
        for at in others:
            if at.key not in self._seen:
                yield from self._walk(at, (), 0)

    def _walk(self, array: At, prefix: tuple[str, ...], depth: int) -> Iterator[Route]:
        self._seen.add(array.key)
        if depth > _MAX_DEPTH:
            return
        for node in array.node.named_children:
            if node.type == "spread_element":
                for inner in _arrays(self._files, At(array.module, node.named_children[0])):
                    yield from self._walk(inner, prefix, depth + 1)
            for value in values_of(self._files, At(array.module, node), None) if node.type != "comment" else ():
                if value.node.type == "object":
                    yield from self._route(value, prefix, depth)

    def _route(self, at: At, prefix: tuple[str, ...], depth: int) -> Iterator[Route]:
        settings = properties_of(at.node)
        path = settings.get("path")
        own = parts_of(fold(self._files, At(at.module, path), None)) if path is not None else ()
        if path is None and not {"children", *LOADERS, "component"} & set(settings):
            return
        self._order += 1
        yield Route(at, prefix + own, settings, depth, self._order)
        children = settings.get("children")
        if children is not None:
            for array in _arrays(self._files, At(at.module, children)):
                yield from self._walk(array, prefix + own, depth + 1)
        loader = settings.get("loadChildren")
        target = lazy_target(self._files, loader, at.module) if loader is not None else None
        for array in arrays_of_target(self._files, target) if target is not None else ():
            yield from self._walk(array, prefix + own, depth + 1)
