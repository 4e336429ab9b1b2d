"""What navigates: links of templates, calls of the router, and both behind outputs, callbacks and services."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tree_sitter import Node

from codeplane.controller.proof_chains.angular import (
    Placed,
    outputs_of,
    placed_with,
    provided_class,
    selector_of,
    template_of,
)
from codeplane.controller.proof_chains.resolution import PARAMETER, fold, injected_in, member_of, values_of
from codeplane.controller.proof_chains.script import (
    At,
    ClassInfo,
    arguments_of,
    callee,
    descend,
    is_function,
    own_member,
    parse_expression,
    parse_statements,
    properties_of,
    text_of,
)
from codeplane.controller.proof_chains.source_files import SourceFiles

_CALLS: Final = frozenset({"navigate", "navigateByUrl"})
_MAX_HOPS: Final = 4
# What ag-Grid itself gives a renderer.
_GRID_CALLS: Final = frozenset(
    {"setValue", "getValue", "formatValue", "refreshCell", "registerRowDragger", "setTooltip"}
)


@dataclass(frozen=True, slots=True)
class Trigger:
    """A place that navigates, the path it leads to, and the hops on the way to it."""

    at: At
    path: str
    relation: str
    is_relative: bool = False
    hops: tuple[str, ...] = ()


def called_of(info: ClassInfo, member: str) -> Iterator[str]:
    """Yield the names of the methods that a class calls on one of its members."""
    for call in descend(info.at.node, "call_expression"):
        holder, name = callee(call)
        is_parameter = holder is not None and holder.type == "identifier" and text_of(holder) == member
        if own_member(holder) == member or is_parameter:
            yield name


def _linked(files: SourceFiles, placed: Placed) -> Iterator[Trigger]:
    """Yield the `routerLink` of an element."""
    attributes = placed.element.attributes
    plain = attributes.get("routerLink")
    if plain is not None:
        text = _interpolated(plain)
        at = parse_statements(placed.file, "''", placed.line)
        if at is not None and text:
            yield Trigger(at, text, "`routerLink` in its template", is_relative=not text.startswith("/"))
    bound = attributes.get("[routerLink]")
    at = parse_expression(placed.file, bound, placed.line) if bound else None
    if at is not None:
        text = _commands(files, at, placed.owner)
        if text:
            yield Trigger(at, text, "`routerLink` in its template", is_relative=not text.startswith("/"))


def _interpolated(text: str) -> str:
    parts = text.split("{{")
    return parts[0] + "".join(PARAMETER + part.partition("}}")[2] for part in parts[1:])


def _commands(files: SourceFiles, at: At, owner: ClassInfo | None) -> str:
    """Return the path of a link's commands: a text, or a list whose parts are joined."""
    for value in values_of(files, at, owner):
        if value.node.type == "array":
            parts = [one for one in value.node.named_children if one.type != "comment"]
            if any(one.type in {"object", "spread_element"} for one in parts):
                return ""
            texts = [fold(files, At(value.module, one), owner) for one in parts]
            return "/".join(text.rstrip("/") if text != "/" else "" for text in texts)
    return fold(files, at, owner)


class TriggerSearch:
    """Follows calls from one body to others; no body is entered twice.

    `owner` is the component of the grid, whose methods a renderer may reach over its parameters. `has_unknown` tells
    that something was called which may navigate and cannot be followed.
    """

    def __init__(self, files: SourceFiles, owner: ClassInfo, column: At) -> None:
        self.has_unknown = False
        self._files = files
        self._owner = owner
        self._column = column
        self._seen: set[tuple[str, int]] = set()

    def run(self, info: ClassInfo | None, function: At | None) -> Iterator[Trigger]:
        """Yield what navigates in a renderer: in its template and methods, or in the body of a function."""
        if info is not None:
            for placed in template_of(self._files, info):
                yield from _linked(self._files, placed)
            yield from self.inside(info.at, info, ())
        elif function is not None:
            yield from self.inside(function, self._owner, ())

    def inside(self, body: At, info: ClassInfo, hops: tuple[str, ...]) -> Iterator[Trigger]:
        """Yield what navigates in a body and in what it calls."""
        if body.key in self._seen or len(hops) > _MAX_HOPS:
            return
        self._seen.add(body.key)
        for call in descend(body.node, "call_expression"):
            at = At(body.module, call)
            trigger = self._navigation(at, info)
            if trigger is not None:
                yield replace(trigger, hops=hops)
            else:
                yield from self._called(at, info, hops)

    def _navigation(self, at: At, info: ClassInfo) -> Trigger | None:
        holder, name = callee(at.node)
        arguments = arguments_of(at.node)
        if not arguments:
            return None
        if name == "open" and text_of(holder) == "window":
            return Trigger(at, fold(self._files, At(at.module, arguments[0]), info), "`window.open` in its body")
        if name not in _CALLS or not self._is_router(holder, info):
            return None
        path = _commands(self._files, At(at.module, arguments[0]), info)
        is_relative = name == "navigate" and any("relativeTo" in text_of(one) for one in arguments[1:])
        return Trigger(at, path, f"`router.{name}` in its body", is_relative and not path.startswith("/"))

    def _is_router(self, holder: Node | None, info: ClassInfo) -> bool:
        name = own_member(holder) or text_of(holder)
        injected = injected_in(self._files, info).get(name)
        return injected[1] == "Router" if injected is not None else name.lower().endswith("router")

    def _called(self, at: At, info: ClassInfo, hops: tuple[str, ...]) -> Iterator[Trigger]:
        """Yield what navigates behind a call: an own method, an output, a callback, or a service."""
        holder, name = callee(at.node)
        is_own = holder is None or holder.type == "this"
        member = member_of(self._files, info, name) if is_own else None
        if member is not None:
            if member[1].type == "method_definition":
                yield from self.inside(At(member[0].at.module, member[1]), info, hops)
            return
        self.has_unknown |= name == "dispatch"
        if name == "emit":
            yield from self._emitted(own_member(holder), info, hops)
        path = text_of(at.node.child_by_field_name("function")).replace("?", "").replace("!", "")
        parts = path.removeprefix("this.").split(".")
        if len(parts) > 1 and parts[0].lower().endswith("params"):
            yield from self._passed(parts, hops)
        injected = injected_in(self._files, info).get(own_member(holder))
        provided = provided_class(self._files, injected[0].at, injected[1]) if injected is not None else None
        target = member_of(self._files, provided[0], name) if provided is not None else None
        if provided is not None and target is not None:
            hop = f"{info.name} calls {provided[0].name}.{name}"
            yield from self.inside(At(target[0].at.module, target[1]), provided[0], (*hops, hop))

    def _emitted(self, output: str, info: ClassInfo, hops: tuple[str, ...]) -> Iterator[Trigger]:
        """Yield what parents do when an output is emitted."""
        names = [name for name, member in outputs_of(info).items() if member == output]
        selector = selector_of(info)
        for placed in placed_with(self._files, selector) if selector and names else ():
            for name in names:
                text = placed.element.attributes.get(f"({name})")
                at = parse_statements(placed.file, text, placed.line) if text else None
                if at is not None:
                    hop = f"{info.name} emits {name}, {placed.owner.name} handles it ({placed.file}:{placed.line})"
                    yield from self.inside(at, placed.owner, (*hops, hop))

    def _passed(self, parts: list[str], hops: tuple[str, ...]) -> Iterator[Trigger]:
        """Yield what a renderer reaches over its parameters: the grid's context, or `cellRendererParams`."""
        name = parts[-1]
        if "context" in parts[1:-1]:
            member = member_of(self._files, self._owner, name)
            self.has_unknown |= member is None
            if member is not None:
                hop = f"the grid's context gives {self._owner.name}.{name}"
                yield from self.inside(At(member[0].at.module, member[1]), self._owner, (*hops, hop))
            return
        self.has_unknown |= len(parts) == 2 and name not in _GRID_CALLS
        given = (
            properties_of(self._column.node).get("cellRendererParams") if self._column.node.type == "object" else None
        )
        for value in values_of(self._files, At(self._column.module, given), self._owner) if given is not None else ():
            inner = properties_of(value.node).get(name) if value.node.type == "object" else None
            for one in values_of(self._files, At(value.module, inner), self._owner) if inner is not None else ():
                if is_function(one.node):
                    self.has_unknown = False
                    hop = f"`cellRendererParams` gives {name}"
                    yield from self.inside(one, self._owner, (*hops, hop))
