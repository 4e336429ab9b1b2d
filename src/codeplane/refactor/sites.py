"""Where a symbol is named: in code for sure, in code perhaps, and what each place must become."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.index.call_sites import root_of
from codeplane.index.facts.columns import FIRST_EXPRESSION, OF_CALL, OF_EXPRESSION
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import BODY_SCOPE, NAME, NAME_START, OWNER, PATH, SCOPE
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.linking.stored_links import Step, Tier
from codeplane.index.reference_search import Symbol, find_possible_references, reference_positions, symbols_of
from codeplane.index.relations import subclasses, type_graph
from codeplane.index.symbol_search import SymbolHit, symbol_at
from codeplane.languages.catalog import linking_rules
from codeplane.languages.facts import DefinitionKind
from codeplane.refactor.family import Family
from codeplane.refactor.plan import CODE, QUESTION, Edit, edit_at

_MEMBERS: Final = frozenset({DefinitionKind.METHOD, DefinitionKind.PROPERTY, DefinitionKind.FIELD})
_TYPES: Final = frozenset({DefinitionKind.CLASS, DefinitionKind.INTERFACE, DefinitionKind.ENUM})
_CALLABLE: Final = frozenset({DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.PROPERTY})
_VALUES: Final = frozenset({DefinitionKind.VARIABLE, DefinitionKind.CONSTANT, DefinitionKind.PARAMETER})
# Syntax in which one word is both a key and the variable of that name.
_SHORTHAND: Final = frozenset(
    {"shorthand_property_identifier", "shorthand_property_identifier_pattern", "shorthand_field_identifier"}
)
_STEPS: Final = {
    Step.IMPORT: "import",
    Step.STAR: "import of everything",
    Step.EXPORT: "export",
    Step.MODULE: "name of the module",
    Step.MEMBER: "member",
    Step.BASE: "inherited",
    Step.TYPE: "declared type",
}
_RECEIVERS: Final = {
    OF_EXPRESSION: ("its receiver is a computed value", "find the type of the receiver"),
    OF_CALL: ("it is a key or an argument name of something unknown", "find what is called or built there"),
}
_CLASS_FIELDS: Final = re.compile(
    r"\b(?:dataclass|define|frozen|mutable|attrs|attr\.s)\b|\b(?:NamedTuple|BaseModel|TypedDict|Struct)\b"
)


@dataclass(frozen=True)
class Renaming:
    """One rename on its way: what is renamed, and the new name."""

    reader: FactReader
    hit: SymbolHit
    family: Family
    new: str

    @property
    def old(self) -> str:
        """Return the present name."""
        return self.hit.name

    @cached_property
    def symbol(self) -> Symbol:
        """Return all definitions of the family as one symbol."""
        return Symbol(self.hit, tuple(self.family.places), ())

    @cached_property
    def is_member(self) -> bool:
        """Tell whether the symbol is reached through a value or a type."""
        owner = self.reader.outline_of(self.hit.file.file_id).definition_rows.column(OWNER)[self.hit.number]
        return self.family.holder is not None or self.hit.kind in _MEMBERS or bool(owner)

    @cached_property
    def is_local(self) -> bool:
        """Tell whether nothing outside of a function can name the symbol."""
        outline = self.reader.outline_of(self.hit.file.file_id)
        if self.hit.number >= outline.n_visible or self.hit.kind is DefinitionKind.PARAMETER:
            return True
        scope = outline.definition_rows.column(SCOPE)[self.hit.number]
        bodies = zip(outline.definition_rows.column(BODY_SCOPE), outline.kinds, strict=True)
        return self.hit.kind in _VALUES and any(body == scope and kind in _CALLABLE for body, kind in bodies)

    def edit(self, file: FactFile, text: bytes, start: int, **more: object) -> Edit | None:
        """Return the edit of a name at a place; None when another word is there, such as an alias."""
        end = start + len(self.old.encode())
        if text[start:end] != self.old.encode():
            return None
        return edit_at(file.path, text, (start, end), self.new, **more)


def code_sites(renaming: Renaming) -> list[Edit]:
    """Return the edits that are proved, or as good as proved."""
    found: dict[tuple[str, int], Edit] = {}
    for edit in (*_definitions(renaming), *_references(renaming), *_by_language(renaming)):
        found.setdefault((edit.path, edit.start), edit)
    return _with_shorthand(renaming, list(found.values()))


def _definitions(renaming: Renaming) -> Iterator[Edit]:
    reader = renaming.reader
    for place in renaming.family.places:
        file = reader.file(place[0])
        rows = reader.outline_of(place[0]).definition_rows
        if file is None:
            continue
        why = "definition" if place in renaming.family.places[:1] else f"tied to it: {rows.column(PATH)[place[1]]}"
        edit = renaming.edit(file, reader.text(file), int(rows.column(NAME_START)[place[1]]), why=why)
        if edit is not None:
            yield edit


def _references(renaming: Renaming) -> Iterator[Edit]:
    substitutes = renaming.family.substitutes
    for view, position, tier in reference_positions(renaming.reader, renaming.symbol, lambda _path: True, None):
        start = view.columns.starts[position]
        sure = tier
        if tier is Tier.ANCHORED and view.meaning(position)[1] in substitutes:
            # It means the import or its substitute, and both get the new name.
            sure = Tier.STRONG
        if sure > Tier.STRONG:
            continue
        edit = renaming.edit(view.file, view.text, start, tier=sure, why=_evidence(view, position))
        if edit is not None:
            yield edit


def _evidence(view: FileView, position: int) -> str:
    target = view.target(position)
    if target is None:
        return "bound in its scope"
    return ", ".join(dict.fromkeys(_STEPS[Step(step[0])] for step in target.chain))


def _with_shorthand(renaming: Renaming, edits: list[Edit]) -> list[Edit]:
    """Return the edits; where one word is a key and a variable, the key stays."""
    if renaming.hit.file.language not in {"javascript", "typescript", "rust"}:
        return edits
    found = []
    for path, group in _by_path(edits).items():
        file = renaming.reader.file_at(path)
        root = root_of(path, renaming.reader.text(file)) if file is not None else None
        for one in group:
            node = root.descendant_for_byte_range(one.start, one.end) if root is not None else None
            found.append(_expanded(one, node) if node is not None and one.new == renaming.new else one)
    return found


def _expanded(edit: Edit, node: Node) -> Edit:
    parent = node.parent
    is_shorthand = node.type in _SHORTHAND or (parent is not None and parent.type == "shorthand_field_initializer")
    if not is_shorthand or _is_exported_object(parent):
        return edit
    before = f"{edit.old}: "
    return replace(edit, new=before + edit.new, anchor=len(before.encode()))


def _is_exported_object(node: Node | None) -> bool:
    """Tell whether a JavaScript object is what a module exports or loads: its keys are then names of the module."""
    if node is not None and node.type == "object_pattern":
        value = node.parent.child_by_field_name("value") if node.parent is not None else None
        return (
            value is not None
            and value.text is not None
            and re.match(rb"(?:await )?(?:require|import)\(", value.text) is not None
        )
    assignment = node.parent if node is not None and node.type == "object" else None
    left = assignment.child_by_field_name("left") if assignment is not None else None
    return left is not None and left.text in {b"module.exports", b"exports"}


def _commonjs_keys(renaming: Renaming) -> Iterator[Edit]:
    """Yield the names under which a CommonJS module exports the symbol."""
    reader = renaming.reader
    for file_id in dict.fromkeys(place[0] for place in renaming.family.places):
        file = reader.file(file_id)
        rows = reader.outline_of(file_id).export_rows
        if file is None or not any(row[0] == renaming.old and row[4] == "commonjs" for row in rows):
            continue
        text = reader.text(file)
        for node in _descendants(root_of(file.path, text), "property_identifier"):
            parent = node.parent
            is_key = parent is not None and parent.type == "pair" and _is_exported_object(parent.parent)
            owner = parent.child_by_field_name("object") if parent is not None else None
            is_set = owner is not None and owner.text in {b"module.exports", b"exports"}
            edit = (
                renaming.edit(file, text, node.start_byte, tier=Tier.STRONG, why="export") if is_key or is_set else None
            )
            if edit is not None:
                yield edit


def _by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = defaultdict(list)
    for one in edits:
        found[one.path].append(one)
    return found


def _by_language(renaming: Renaming) -> Iterator[Edit]:
    """Yield the sites that only one language has."""
    language = renaming.hit.file.language
    if language == "python":
        yield from _keyword_arguments(renaming)
        yield from _slots(renaming)
    elif language in {"javascript", "typescript"}:
        yield from _commonjs_keys(renaming)
    elif language == "rust":
        yield from _rust_field_shorthand(renaming)
        yield from _rust_format_names(renaming)


class _Callee(NamedTuple):
    """Something whose calls name a parameter or a field."""

    symbol: Symbol
    name: str


def _callees(renaming: Renaming) -> Iterator[_Callee]:
    """Yield the functions and classes whose calls may give the renamed parameter or field by name."""
    reader, hit = renaming.reader, renaming.hit
    outline = reader.outline_of(hit.file.file_id)
    rows = outline.definition_rows
    if hit.kind is DefinitionKind.PARAMETER:
        scope = rows.column(SCOPE)[hit.number]
        for number, body in enumerate(rows.column(BODY_SCOPE)):
            function = symbol_at(reader, hit.file.file_id, number) if body == scope else None
            if function is not None:
                yield from _with_constructed(reader, function)
    elif renaming.family.holder is not None and hit.kind in _VALUES:
        holder = symbol_at(reader, *renaming.family.holder)
        if holder is not None and _CLASS_FIELDS.search(" ".join((holder.signature, *_decorators(reader, holder)))):
            yield from _class_and_subclasses(reader, holder)


def _decorators(reader: FactReader, hit: SymbolHit) -> tuple[str, ...]:
    row = reader.outline_of(hit.file.file_id).definition(hit.number)
    return row.decorators


def _with_constructed(reader: FactReader, function: SymbolHit) -> Iterator[_Callee]:
    yield _callee(reader, function)
    if function.name in {"__init__", "__new__"}:
        for number, members in reader.outline_of(function.file.file_id).members.items():
            if function.number in members.get(function.name, ()):
                holder = symbol_at(reader, function.file.file_id, number)
                if holder is not None:
                    yield from _class_and_subclasses(reader, holder, unless=function.name)


def _class_and_subclasses(reader: FactReader, holder: SymbolHit, unless: str = "") -> Iterator[_Callee]:
    """Yield a class and the subclasses that are built in the same way."""
    yield _callee(reader, holder)
    graph = type_graph(reader, holder.file.language)
    for place in subclasses(graph, [(holder.file.file_id, holder.number)]) if graph is not None else ():
        below = symbol_at(reader, *place)
        if below is not None and not (unless and unless in reader.outline_of(place[0]).members.get(place[1], {})):
            yield _callee(reader, below)


def _callee(reader: FactReader, hit: SymbolHit) -> _Callee:
    return _Callee(symbols_of(reader, [hit])[0], hit.name)


def _keyword_arguments(renaming: Renaming) -> Iterator[Edit]:
    """Yield the names of arguments in calls that are sure to mean the function or class."""
    for callee in _callees(renaming):
        positions = reference_positions(renaming.reader, callee.symbol, lambda _path: True, None)
        by_file: dict[str, tuple[FileView, list[tuple[int, Tier]]]] = {}
        for view, position, tier in positions:
            if tier <= Tier.STRONG:
                by_file.setdefault(view.file.path, (view, []))[1].append((view.columns.starts[position], tier))
        for view, starts in by_file.values():
            root = root_of(view.file.path, view.text) if renaming.old.encode() in view.text else None
            for start, tier in starts if root is not None else ():
                for name in _argument_names(root, start, renaming.old):
                    edit = renaming.edit(
                        view.file, view.text, name, tier=max(tier, Tier.STRONG), why=f"argument of {callee.name}"
                    )
                    if edit is not None:
                        yield edit


def _argument_names(root: Node | None, start: int, name: str) -> Iterator[int]:
    """Yield where arguments of a name are in the call, or in the pattern, of what is named at an offset."""
    node = root.descendant_for_byte_range(start, start + 1) if root is not None else None
    while node is not None and node.parent is not None and node.parent.type in {"attribute", "dotted_name"}:
        node = node.parent
    call = node.parent if node is not None else None
    if call is None or call.type not in {"call", "class_pattern"}:
        return
    arguments = call.child_by_field_name("arguments") or call
    for child in arguments.named_children:
        inner = child.named_children[0] if child.type == "case_pattern" and child.named_children else child
        key = inner.child_by_field_name("name") or (inner.named_children[0] if inner.named_children else None)
        if inner.type in {"keyword_argument", "keyword_pattern"} and key is not None and key.text == name.encode():
            yield key.start_byte


def _slots(renaming: Renaming) -> Iterator[Edit]:
    """Yield the entry of an attribute in `__slots__`."""
    holder, reader = renaming.family.holder, renaming.reader
    for place in [holder] if holder is not None else []:
        file = reader.file(place[0])
        slots = reader.outline_of(place[0]).members.get(place[1], {}).get("__slots__", ())
        if file is None or not slots:
            continue
        text = reader.text(file)
        root = root_of(file.path, text)
        start = reader.outline_of(place[0]).definition_rows.column(NAME_START)[slots[0]]
        node = root.descendant_for_byte_range(start, start + 1) if root is not None else None
        while node is not None and node.type != "assignment":
            node = node.parent
        for inner in _descendants(node, "string_content"):
            if inner.text == renaming.old.encode():
                edit = renaming.edit(file, text, inner.start_byte, tier=Tier.STRONG, why="entry of __slots__")
                if edit is not None:
                    yield edit


def _descendants(node: Node | None, kind: str) -> Iterator[Node]:
    waiting = [node] if node is not None else []
    while waiting:
        one = waiting.pop()
        if one.type == kind:
            yield one
        waiting.extend(reversed(one.children))


def _rust_field_shorthand(renaming: Renaming) -> Iterator[Edit]:
    """Yield the shorthand uses of a field: `P { x }` becomes `P { new: x }`."""
    holder = renaming.family.holder
    hit = (
        symbol_at(renaming.reader, *holder)
        if holder is not None and renaming.hit.kind is DefinitionKind.FIELD
        else None
    )
    if hit is None:
        return
    callee = _callee(renaming.reader, hit)
    for view, position, tier in reference_positions(renaming.reader, callee.symbol, lambda _path: True, None):
        start = view.columns.starts[position]
        root = root_of(view.file.path, view.text) if tier <= Tier.STRONG else None
        node = root.descendant_for_byte_range(start, start + 1) if root is not None else None
        while node is not None and node.type not in {"struct_expression", "struct_pattern", "block"}:
            node = node.parent
        for one in (
            *_descendants(node, "shorthand_field_initializer"),
            *_descendants(node, "shorthand_field_identifier"),
        ):
            if node is not None and node.type != "block" and one.text == renaming.old.encode():
                span = (one.start_byte, one.end_byte)
                before = f"{renaming.new}: "
                yield edit_at(
                    view.file.path, view.text, span, before + renaming.old, tier=Tier.STRONG,
                    why="field in shorthand", anchor=len(before.encode()),
                )  # fmt: skip


def _rust_format_names(renaming: Renaming) -> Iterator[Edit]:
    """Yield `{name}` in the strings of macros, where nothing else of that name is in scope."""
    hit, reader = renaming.hit, renaming.reader
    if hit.kind not in _VALUES:
        return
    view = FileView(reader, hit.file)
    rows = view.outline.definition_rows
    scope = rows.column(SCOPE)[hit.number]
    begin, end = view.columns.scope_starts[scope], view.columns.scope_ends[scope]
    rivals = [one for one, name in enumerate(rows.column(NAME)) if name == hit.name and one != hit.number]
    found = re.compile(rb"\{(" + re.escape(hit.name.encode()) + rb")(?=[:}])")
    root = root_of(hit.file.path, view.text)
    for macro in _descendants(root, "macro_invocation"):
        for text in _descendants(macro, "string_content"):
            if not begin <= text.start_byte < end:
                continue
            for match in found.finditer(view.text, text.start_byte, text.end_byte):
                is_sure = not any(
                    view.columns.scope_starts[rows.column(SCOPE)[one]]
                    <= match.start()
                    < view.columns.scope_ends[rows.column(SCOPE)[one]]
                    for one in rivals
                )
                group = CODE if is_sure else QUESTION
                edit = renaming.edit(
                    hit.file,
                    view.text,
                    match.start(1),
                    tier=Tier.STRONG if is_sure else Tier.ANCHORED,
                    group=group,
                    why="name in a format string",
                    settle="see which variable is in scope",
                )
                if edit is not None:
                    yield edit


def questions(
    renaming: Renaming, files_with: Callable[[str], list[str]], taken: frozenset[tuple[str, int]]
) -> Iterator[Edit]:
    """Yield the uses of the name that may mean the symbol but could not be resolved."""
    if renaming.is_local and renaming.hit.file.language == "rust":
        yield from (one for one in _rust_macro_names(renaming, renaming.hit.file) if (one.path, one.start) not in taken)
        return
    if renaming.is_local and renaming.hit.kind is not DefinitionKind.PARAMETER:
        return
    rules = linking_rules(renaming.hit.file.language)
    names = frozenset(one.name for one in _callees(renaming)) if renaming.hit.kind is DefinitionKind.PARAMETER else None
    is_distinct = "_" in renaming.old.strip("_")
    near = {path for name in names for path in files_with(name)} if names is not None and not is_distinct else None
    for path in files_with(renaming.old):
        file = renaming.reader.file_at(path) if near is None or path in near else None
        if file is None or file.facts_id is None or linking_rules(file.language) is not rules:
            continue
        if rules is None and path != renaming.hit.file.path:
            continue
        possible = find_possible_references(renaming.reader, renaming.symbol, [path], None)
        starts = [one.start for one in possible if (path, one.start) not in taken]
        if starts:
            yield from _questions_in(renaming, FileView(renaming.reader, file), starts, names)
        if names is None:
            for edit in _hidden_uses(renaming, file):
                if (path, edit.start) not in taken:
                    yield edit


def _hidden_uses(renaming: Renaming, file: FactFile) -> Iterator[Edit]:
    """Yield uses that facts do not have: members of object literals, names in the arguments of macros."""
    if file.language == "rust":
        yield from _rust_macro_names(renaming, file)
    elif file.language in {"javascript", "typescript"} and renaming.is_member:
        yield from _object_members(renaming, file)


def _object_members(renaming: Renaming, file: FactFile) -> Iterator[Edit]:
    """Yield the members of objects that may have the type whose member is renamed."""
    outline = renaming.reader.outline_of(file.file_id)
    rows = outline.definition_rows
    typed = {
        number
        for holder, members in outline.members.items()
        if outline.kinds[holder] in _TYPES
        for number in members.get(renaming.old, ())
    }
    text = renaming.reader.text(file)
    for number, name in enumerate(rows.column(NAME)):
        if name == renaming.old and outline.kinds[number] in _MEMBERS and number not in typed:
            edit = renaming.edit(
                file, text, int(rows.column(NAME_START)[number]), group=QUESTION, tier=Tier.ANCHORED,
                why="a member of an object whose type is not known", settle="see where the object is used",
            )  # fmt: skip
            if edit is not None:
                yield edit


def _rust_macro_names(renaming: Renaming, file: FactFile) -> Iterator[Edit]:
    text = renaming.reader.text(file)
    if b"!" not in text:
        return
    known = frozenset(renaming.reader.columns(file.facts_id or 0).starts)
    extent = _scope_extent(renaming) if renaming.is_local else (0, len(text))
    for tree in _descendants(root_of(file.path, text), "token_tree"):
        for node in tree.children:
            if node.type != "identifier" or node.text != renaming.old.encode() or node.start_byte in known:
                continue
            if extent[0] <= node.start_byte < extent[1]:
                edit = renaming.edit(
                    file, text, node.start_byte, group=QUESTION, tier=Tier.ANCHORED,
                    why="in the arguments of a macro", settle="see what the macro makes of its arguments",
                )  # fmt: skip
                if edit is not None:
                    yield edit


def _scope_extent(renaming: Renaming) -> tuple[int, int]:
    outline = renaming.reader.outline_of(renaming.hit.file.file_id)
    columns = renaming.reader.columns(renaming.hit.file.facts_id or 0)
    scope = outline.definition_rows.column(SCOPE)[renaming.hit.number]
    return columns.scope_starts[scope], columns.scope_ends[scope]


def notebook_words(renaming: Renaming, files_with: Callable[[str], list[str]]) -> Iterator[Edit]:
    """Yield the words of notebooks, whose code is text of a JSON file."""
    if renaming.hit.file.language != "python" or renaming.is_local:
        return
    word = re.compile(rb"(?<!\w)" + re.escape(renaming.old.encode()) + rb"(?!\w)")
    for path in files_with(renaming.old):
        file = renaming.reader.file_at(path) if path.endswith(".ipynb") else None
        text = renaming.reader.text(file) if file is not None and file.text_id is not None else b""
        for match in word.finditer(text):
            yield edit_at(
                path, text, match.span(), renaming.new, group=QUESTION, tier=Tier.UNKNOWN,
                why="in a notebook", settle="see whether the cell uses it",
            )  # fmt: skip


def _questions_in(
    renaming: Renaming, view: FileView, starts: list[int], callees: frozenset[str] | None
) -> Iterator[Edit]:
    positions = {start: position for position, start in enumerate(view.columns.starts)}
    # Such a name may reach the function through the `**kwargs` of another one.
    is_distinct = "_" in renaming.old.strip("_")
    for start in starts:
        position = positions[start]
        link = view.columns.links[position]
        if callees is not None and not (link == OF_CALL and (is_distinct or _is_call_of(view, start, callees))):
            continue
        if not renaming.is_member and callees is None and not _may_be_plain(renaming, view, position, link):
            continue
        why, settle = _RECEIVERS.get(link, ("the type of its receiver is not known", "find the type of the receiver"))
        if link >= FIRST_EXPRESSION:
            why = f"`{view.receiver_shape(position)}` has no known type"
        edit = renaming.edit(view.file, view.text, start, group=QUESTION, tier=Tier.ANCHORED, why=why, settle=settle)
        if edit is not None:
            yield edit


def _is_call_of(view: FileView, start: int, names: frozenset[str]) -> bool:
    """Tell whether an argument is in a call of one of these names, or in one that gets one of them."""
    root = root_of(view.file.path, view.text)
    node = root.descendant_for_byte_range(start, start + 1) if root is not None else None
    while node is not None and node.type != "call":
        node = node.parent
    if node is None or node.text is None:
        return False
    words = set(re.findall(r"\w+", node.text[: max(0, start - node.start_byte)].decode("utf-8", "replace")))
    return bool(words & names)


def _may_be_plain(renaming: Renaming, view: FileView, position: int, link: int) -> bool:
    """Tell whether an unresolved use may mean a name of a module: through a module, or an import of everything."""
    if link == OF_CALL:
        return False
    if link >= FIRST_EXPRESSION:
        shape = view.receiver_shape(position)
        module = renaming.hit.file.path.rpartition("/")[2].partition(".")[0]
        return shape != "None" and shape.rstrip(".").rpartition(".")[2] == module
    return bool(view.outline.stars) and link != OF_EXPRESSION
