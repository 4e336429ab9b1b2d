"""Read a file's text into the definitions that a change can be about: those with a name outside of functions."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.core.clock import SystemClock
from codeplane.diff.model import CALLABLE, Entity, Visibility
from codeplane.diff.places import PROD, category_of
from codeplane.diff.tokens import Tokens
from codeplane.diff.visibility import Around, visibility_of
from codeplane.languages.catalog import dialect_of, load_grammar, load_language
from codeplane.languages.facts import BindTarget, Definition, DefinitionKind, FileFacts
from codeplane.languages.parsing import TIME_LIMIT_S, OutOfTimeError, is_tree_too_deep, parse
from codeplane.languages.source_text import fold

# What formats have instead of symbols, and what belongs to a function.
_NOT_SYMBOLS: Final = frozenset(
    {DefinitionKind.PARAMETER, DefinitionKind.HEADING, DefinitionKind.KEY, DefinitionKind.BLOCK,
     DefinitionKind.STATEMENT}
)  # fmt: skip
_OPEN_SCOPES: Final = frozenset(
    {"file", "class", "interface", "struct", "enum", "trait", "module", "object", "namespace", "type"}
)  # fmt: skip
_CLOSED_SCOPES: Final = frozenset(
    {"function", "lambda", "closure", "block", "comprehension", "arm", "for", "if", "switch", "type_switch", "while"}
)  # fmt: skip
# The part of a statement that belongs to one variable.
_STATEMENTS: Final = frozenset(
    {"assignment", "augmented_assignment", "variable_declarator", "var_spec", "const_spec", "named_expression",
     "assignment_expression", "field_definition", "public_field_definition", "property_declaration", "enum_assignment"}
)  # fmt: skip
_FUNCTION_NODES: Final = ("function", "method", "lambda", "closure", "arrow")
_OVERLOADS: Final = frozenset({"function_signature", "method_signature"})
_WRAPPERS: Final = frozenset({"export_statement", "ambient_declaration"})
# Languages whose modules inside files can be hidden.
_SEALED_MODULES: Final = frozenset({"rust", "javascript", "typescript", "tsx"})
# Definitions inside so many others belong to the innermost of these.
_MAX_DEPTH: Final = 30
_SEPARATORS: Final = frozenset(",;")
_CLOCK: Final = SystemClock()


class FileReading(NamedTuple):
    """The definitions of one text; `problem` says why there are none, `has_symbols` whether its language has any."""

    entities: tuple[Entity, ...] = ()
    has_symbols: bool = False
    n_errors: int = 0
    problem: str = ""
    offered_names: frozenset[str] = frozenset()
    package: str = ""


def read_entities(path: str, source: bytes | None) -> FileReading:
    """Return the definitions at the top of a file, each with those inside it."""
    dialect = dialect_of(path)
    language = load_language(dialect)
    if language is None or source is None:
        return FileReading(has_symbols=False)
    facts = language.extract(source)
    if facts.problem:
        return FileReading(has_symbols=True, problem=facts.problem)
    chosen = _chosen(facts)
    if not chosen:
        has_symbols = not any(one.kind in _NOT_SYMBOLS for one in facts.definitions)
        return FileReading((), has_symbols, facts.n_errors, "", _imported_names(facts), facts.package)
    root = _root_of(dialect, source)
    if root is None:
        return FileReading(has_symbols=True, problem="it could not be parsed in time")
    entities = _Reader(path, dialect, source, facts, root).read(chosen)
    return FileReading(tuple(entities), True, facts.n_errors, "", _imported_names(facts), facts.package)


def _root_of(dialect: str, source: bytes) -> Node | None:
    grammar = load_grammar(dialect)
    deadline = _CLOCK.monotonic() + TIME_LIMIT_S

    def is_over() -> bool:
        return _CLOCK.monotonic() > deadline

    try:
        root = parse(source, grammar, is_over) if grammar is not None else None
    except OutOfTimeError:
        return None
    return None if root is None or is_tree_too_deep(root, is_over) else root


def _chosen(facts: FileFacts) -> list[tuple[int, Definition]]:
    """Return the definitions that are symbols outside of functions, with their numbers, in the order of the source."""
    # A scope that a change can be about is not inside a function.
    is_open: list[bool] = []
    for scope in facts.scopes:
        is_open.append(scope.kind not in _CLOSED_SCOPES and (scope.parent < 0 or is_open[scope.parent]))
    found = []
    for number, one in enumerate(facts.definitions):
        place = facts.scopes[one.scope].parent if one.scope == one.body_scope else one.scope
        scope = facts.scopes[place]
        if one.lexical_path.count(".") > _MAX_DEPTH:
            continue
        is_type_parameter = one.kind is DefinitionKind.TYPE and one.end - one.start == len(one.name.encode())
        if one.kind not in _NOT_SYMBOLS and scope.kind in _OPEN_SCOPES and is_open[place] and not is_type_parameter:
            found.append((number, one))
    return sorted(found, key=lambda row: (row[1].start, -row[1].end))


def _imported_names(facts: FileFacts) -> frozenset[str]:
    """Return the names that others find in the file although it does not define them."""
    imported = {one.alias or one.imported_name or one.source for one in facts.imports if one.scope == 0}
    return frozenset(imported | {one.name for one in facts.exports if one.target_kind is not BindTarget.DEF})


class _Reader:
    """Makes entities from the definitions of one file."""

    def __init__(self, path: str, dialect: str, source: bytes, facts: FileFacts, root: Node) -> None:
        self._path, self._dialect, self._source, self._root = path, dialect, source, root
        self._tokens = Tokens(source, root, dialect)
        self._lines = [0, *accumulate(len(line) + 1 for line in source.split(b"\n"))]
        self._is_broken = facts.n_errors > 0
        is_sealed = dialect == "go" and (facts.package == "main" or "internal" in path.split("/"))
        self._is_api_file = category_of(path) == PROD and not is_sealed
        self._exported = {one.target for one in facts.exports if one.target_kind is BindTarget.DEF}
        exported_names = {one.name for one in facts.exports}
        self._exported_names = exported_names
        has_list = any(one.evidence.startswith("__all__") for one in facts.exports)
        self._listed = frozenset(exported_names) if has_list and "" not in exported_names else None

    def read(self, chosen: list[tuple[int, Definition]]) -> Iterator[Entity]:
        """Yield the definitions at the top, with their members."""
        by_path = {one.lexical_path: number for number, one in chosen if one.body_scope >= 0}
        members: dict[int, list[tuple[int, Definition]]] = {}
        tops = []
        for number, one in chosen:
            around = one.lexical_path.rpartition(".")[0]
            holder = by_path.get(around, by_path.get(one.owner, number)) if around else number
            if holder == number:
                tops.append((number, one))
            else:
                members.setdefault(holder, []).append((number, one))
        for number, one in tops:
            yield from self._with_overloads(number, one, members, Around())

    def _with_overloads(
        self, number: int, one: Definition, members: dict[int, list[tuple[int, Definition]]], around: Around
    ) -> Iterator[Entity]:
        entity = self._entity(number, one, members, around)
        if one.kind in CALLABLE and self._dialect in {"typescript", "tsx"}:
            for start, end, signature in self._overloads(one):
                text = self._source[start:end]
                own, notes = self._tokens.between(start, end, [])
                yield replace(
                    entity, signature=signature, start=start, extent=text, own=own, notes=notes,
                    first=self._place(start), last=self._place(end),
                )  # fmt: skip
        yield entity

    def _entity(
        self, number: int, one: Definition, members: dict[int, list[tuple[int, Definition]]], around: Around
    ) -> Entity:
        start, end, is_attribute = self._extent(one)
        head = self._source[one.start : one.name_start].decode("utf-8", "replace")
        is_exported = number in self._exported or (not one.owner and one.lexical_path in self._exported_names)
        here = around._replace(offered=self._listed, is_offered=is_exported, implements=self._implements(one))
        if self._dialect == "rust":
            head = f"{head} {' '.join(one.decorators)}"
        is_namespace = one.kind is DefinitionKind.MODULE and self._dialect not in _SEALED_MODULES
        visibility = Visibility.PUBLIC if is_namespace else visibility_of(self._dialect, one.name, head, here)
        inside = members.get(number, [])
        below = Around(visibility, DefinitionKind.ENUM if around.kind is DefinitionKind.ENUM else one.kind)
        children = _once([child for row in inside for child in self._with_overloads(*row, members, below)])
        holes = [(child.start, child.start + len(child.extent)) for child in children if not child.is_attribute]
        own, notes = self._tokens.between(start, end, [hole for hole in holes if start <= hole[0] and hole[1] <= end])
        if one.kind is DefinitionKind.MODULE or is_attribute:
            own = ()
        elif children:
            own = tuple(token for token in own if token not in _SEPARATORS)
            # Comments between members are theirs; documentation at the beginning of a type is its own.
            notes = tuple(note for note in notes if note.lstrip("rRuU").startswith(('"', "'")))
        return Entity(
            self._path, self._dialect, one.kind, one.name, one.lexical_path, one.signature, one.decorators, head,
            visibility, self._is_api_file and visibility.is_offered, start, self._source[start:end],
            own, notes, self._place(one.start), self._place(end), is_attribute,
            self._is_broken, tuple(children),
        )  # fmt: skip

    def _extent(self, one: Definition) -> tuple[int, int, bool]:
        """Return the span of a definition with its statement, and whether it is an attribute set in a method."""
        node = self._root.descendant_for_byte_range(one.start, one.end)
        if one.body_scope >= 0 or one.end - one.start != len(one.name.encode()):
            parent = node.parent if node is not None else None
            is_decorated = parent is not None and parent.type == "decorated_definition"
            return parent.start_byte if is_decorated and parent is not None else one.start, one.end, False
        found: Node | None = None
        while node is not None:
            if found is None and node.type in _STATEMENTS:
                found = node
            if node.type.startswith(_FUNCTION_NODES) or node.type.endswith("_closure"):
                return one.start, one.end, True
            if node.type.startswith(("class", "interface", "object", "enum", "struct")):
                break
            node = node.parent
        return (*found.byte_range, False) if found is not None else (one.start, one.end, False)

    def _overloads(self, one: Definition) -> Iterator[tuple[int, int, str]]:
        """Yield the spans and signatures of the declarations before a TypeScript function that has several."""
        node = self._root.descendant_for_byte_range(one.start, one.end)
        while node is not None and node.parent is not None and node.parent.type in _WRAPPERS:
            node = node.parent
        found = []
        before = node.prev_named_sibling if node is not None else None
        while before is not None:
            inner = before
            if before.type in _WRAPPERS and before.named_child_count:
                inner = before.named_children[-1]
            name = inner.child_by_field_name("name")
            if inner.type not in _OVERLOADS or name is None or (name.text or b"").decode() != one.name:
                break
            text = self._source[name.end_byte : inner.end_byte].decode("utf-8", "replace")
            found.append((inner.start_byte, inner.end_byte, fold(text.rstrip(";"))))
            before = before.prev_named_sibling
        return reversed(found)

    def _implements(self, one: Definition) -> bool:
        """Tell whether a Rust function belongs to the implementation of a trait."""
        if self._dialect != "rust" or not one.owner:
            return False
        node = self._root.descendant_for_byte_range(one.start, one.end)
        while node is not None and node.type != "impl_item":
            node = node.parent
        return node is not None and node.child_by_field_name("trait") is not None

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1]


def _once(children: list[Entity]) -> list[Entity]:
    """Leave out attributes that are declared in the class or set a second time."""
    known = {child.lexical_path for child in children if not child.is_attribute}
    found = []
    for child in children:
        if child.is_attribute and child.lexical_path in known:
            continue
        known.add(child.lexical_path)
        found.append(child)
    return found
