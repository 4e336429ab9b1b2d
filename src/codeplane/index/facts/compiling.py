"""Turn the facts of a file into what is stored: an outline and columns."""

import hashlib
import marshal
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from typing import Any, Final

from codeplane.index.facts.columns import FIRST_EXPRESSION, LOCAL, OF_CALL, OF_EXPRESSION, Columns
from codeplane.index.facts.outline import ALTERNATIVES, ALTERNATIVES_OR_IMPORT, Expression, Op, Outline, Rows
from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    STAR,
    SUPER,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    FileFacts,
    Import,
    Reference,
    ReferenceRole,
)

# Definitions whose body holds members that others can name.
CLASS_LIKE: Final = frozenset(
    {
        DefinitionKind.MODULE,
        DefinitionKind.CLASS,
        DefinitionKind.INTERFACE,
        DefinitionKind.ENUM,
        DefinitionKind.STRUCT,
        DefinitionKind.TRAIT,
    }
)
# What may have a body of members besides: object literals and types written out.
HOLDS_MEMBERS: Final = CLASS_LIKE | {
    DefinitionKind.TYPE,
    DefinitionKind.VARIABLE,
    DefinitionKind.CONSTANT,
    DefinitionKind.PROPERTY,
    DefinitionKind.FIELD,
}
_LOCAL_KINDS: Final = frozenset(
    {DefinitionKind.PARAMETER, DefinitionKind.VARIABLE, DefinitionKind.CONSTANT, DefinitionKind.TYPE}
)
_WRITES_MEMBERS: Final = frozenset({"setattr", "delattr", "bracket_access", "vars", "exec"})
_OP_OF_TARGET: Final = {BindTarget.DEF: int(Op.DEFINITION), BindTarget.IMPORT: int(Op.IMPORT)}
_MEMBER: Final = int(Op.MEMBER)
_DEF: Final = BindTarget.DEF
_DEFINES: Final = int(ReferenceRole.DEFINITION)
_UNKNOWN: Final = BindTarget.UNKNOWN
_CERTAIN: Final = Certainty.CERTAIN
_INSTANCE_OF: Final = Definition._fields.index("instance_of")
_OWN: Final = int(Op.OWN)
_CODES: Final = {EXPRESSION: OF_EXPRESSION, KEYWORD: OF_CALL}


@dataclass(frozen=True, slots=True)
class CompiledFacts:
    """Outline and columns of one file, and a hash of all that linking can see from other files."""

    outline: Outline
    columns: Columns
    link_hash: bytes


def compile_facts(facts: FileFacts, source: bytes) -> CompiledFacts:
    """Return the stored form of a file's facts.

    Definitions are renumbered: those that others can name come first, so that a change inside a function leaves the
    numbers that other files' links hold as they were.
    """
    n_visible, new = _visible_first(facts)
    targets = [new[one[3]] if one[2] is _DEF else one[3] for one in facts.binds]
    program = _Program(facts, _classes_around(facts), targets)
    columns = program.columns()
    outline = _outline(facts, source, program, n_visible)
    return CompiledFacts(outline, columns, _link_hash(outline, facts.definitions))


def _visible_first(facts: FileFacts) -> tuple[int, list[int]]:
    """Put the definitions that others can name before the local ones, in place.

    Return how many they are and the new number of each definition, which binds and exports still give by the old one.
    """
    outer = _outer_scopes(facts)
    definitions = facts.definitions
    order: list[int] = []
    local: list[int] = []
    for number, one in enumerate(definitions):
        is_local = one[0] in _LOCAL_KINDS and one[6] not in outer
        (local if is_local else order).append(number)
    n_visible = len(order)
    order += local
    new = [NONE] * (len(order) + 1)
    for position, number in enumerate(order):
        new[number] = position
    facts.definitions = [
        one if (one := definitions[number])[_INSTANCE_OF] == NONE else one._replace(instance_of=new[one.instance_of])
        for number in order
    ]
    facts.exports = [
        one._replace(target=new[one.target]) if one.target_kind is BindTarget.DEF else one for one in facts.exports
    ]
    return n_visible, new


class _Program:
    """Collects the expressions of a file while going over its references.

    Invariant: equal expressions that are used alike have one number.
    """

    def __init__(self, facts: FileFacts, classes: list[int], targets: list[int]) -> None:
        self._facts = facts
        self._classes = classes
        self.targets = targets
        self._numbers: dict[tuple[int | str, ...], int] = {}
        self.expressions: list[Expression] = []
        self.uses: list[int] = []
        self.usages: dict[int, int] = {}
        hidden = _names_that_stars_may_hide(facts, targets)
        # What a name bound so means; a definition becomes an expression only when something is asked of it.
        self._bind_expressions: list[Expression | None] = [
            (_OP_OF_TARGET[kind], target, "")
            if certainty is _CERTAIN and kind is not _UNKNOWN
            else (_OWN, NONE, name)
            if scope == 0 and name in hidden
            else None
            for (scope, name, kind, _, certainty, _), target in zip(facts.binds, targets, strict=True)
        ]

    def number_of(self, expression: Expression) -> int:
        """Return the number of an expression, a new one for one not seen before."""
        number = self._numbers.get(expression)
        if number is None:
            number = self._numbers[expression] = len(self.expressions)
            self.expressions.append(expression)
            self.uses.append(0)
        return number

    def number_at(self, expression: Expression, start: int) -> int:
        """Return the number of an expression as the reference at a place uses it."""
        usage = self._facts.usages.get(start)
        if usage is None:
            return self.number_of(expression)
        key = (*expression, usage)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.expressions)
            self.expressions.append(expression)
            self.uses.append(0)
            self.usages[number] = usage
        return number

    def expression_at(self, start: int) -> int:
        """Return the expression of the reference at a place, NONE when it is none that can be followed."""
        references = self._facts.references
        names: list[tuple[str, int]] = []
        while True:
            position = bisect_left(references, start, key=_start_of_reference)
            if position >= len(references) or references[position][0] != start:
                return NONE
            _, name, _, _, receiver, _ = references[position]
            if receiver < 0:
                break
            names.append((name, start))
            start = receiver
        number = self._first_of_chain(references[position])
        for member, place in reversed(names):
            if number == NONE:
                return NONE
            number = self.number_at((_MEMBER, number, member), place)
        return number

    def _first_of_chain(self, reference: Reference) -> int:
        start, name, scope, _, receiver, bind = reference
        if receiver == NO_RECEIVER:
            if bind < 0:
                return self.number_at((Op.FREE, self._classes[scope], name), start)
            expression = self._bind_expressions[bind]
            return NONE if expression is None else self.number_at(expression, start)
        if receiver in _CODES or self._classes[scope] == NONE:
            return NONE
        return self.number_at((Op.SUPER if receiver == SUPER else Op.THIS, self._classes[scope], name), start)

    def columns(self) -> Columns:  # noqa: C901, PLR0912 - one loop over every identifier, where calls would cost
        """Go over all references once; this runs for every identifier of a repository.

        The reference before a dot is nearly always the one just seen, so that only it is remembered.
        """
        facts, uses = self._facts, self.uses
        if not facts.references:
            return self._with_the_rest({}, ((), (), (), (), (), ()), (), [])
        bind_expressions, number_of = self._bind_expressions, self.number_of
        bind_links: list[int | None] = [
            LOCAL if expression is None or expression[0] == Op.DEFINITION else None for expression in bind_expressions
        ]
        fields = tuple(zip(*facts.references, strict=True))
        starts, spelled, _, roles, receivers, binds = fields
        names = {name: number for number, name in enumerate(dict.fromkeys(spelled))}
        links: list[int] = []
        add_link = links.append
        last_start = last_bind = NONE
        last_link = LOCAL
        usages = facts.usages
        for position, (start, receiver, bind) in enumerate(zip(starts, receivers, binds, strict=True)):
            if receiver == NO_RECEIVER and bind >= 0:
                known = bind_links[bind]
                if known != LOCAL and start in usages:
                    known = FIRST_EXPRESSION + self._first_of_chain(facts.references[position])
                elif known is None:
                    expression = bind_expressions[bind]
                    known = FIRST_EXPRESSION + number_of(expression) if expression is not None else LOCAL
                    bind_links[bind] = known
                link = known
            elif receiver >= 0:
                if receiver != last_start:
                    base = self.expression_at(receiver)
                elif last_link >= FIRST_EXPRESSION:
                    base = last_link - FIRST_EXPRESSION
                elif last_link == LOCAL and last_bind >= 0 and (expression := bind_expressions[last_bind]) is not None:
                    base = number_of(expression)
                else:
                    base = NONE
                if base == NONE:
                    link = OF_EXPRESSION
                elif usages:
                    link = FIRST_EXPRESSION + self.number_at((_MEMBER, base, spelled[position]), start)
                else:
                    link = FIRST_EXPRESSION + number_of((_MEMBER, base, spelled[position]))
            elif receiver in _CODES:
                link = _CODES[receiver]
            elif receiver == NO_RECEIVER and roles[position] == _DEFINES:
                # The name of a member where it is defined: no plain name of another file is meant.
                link = LOCAL
            else:
                number = self._first_of_chain(facts.references[position])
                link = OF_EXPRESSION if number == NONE else FIRST_EXPRESSION + number
            if link >= FIRST_EXPRESSION:
                uses[link - FIRST_EXPRESSION] += 1
            add_link(link)
            last_start, last_bind, last_link = start, bind, link
        self._link_doubtful_imports(starts, links)
        return self._with_the_rest(names, fields, list(map(names.__getitem__, spelled)), links)

    def _link_doubtful_imports(self, starts: Sequence[int], links: list[int]) -> None:
        """Let the names in an import statement mean what it imports, even where they are defined elsewhere too."""
        for number, one in enumerate(self._facts.imports):
            if one.certainty is _CERTAIN or one.imported_name in {None, STAR}:
                continue
            for position in range(bisect_left(starts, one.start), bisect_left(starts, one.end)):
                _, name, _, role, receiver, _ = self._facts.references[position]
                is_named = role == ReferenceRole.IMPORT and receiver == NO_RECEIVER
                if is_named and name in {one.imported_name, one.alias} and links[position] == LOCAL:
                    link = self.number_of((_OP_OF_TARGET[BindTarget.IMPORT], number, ""))
                    links[position] = FIRST_EXPRESSION + link
                    self.uses[link] += 1

    def _with_the_rest(
        self,
        names: dict[str, int],
        fields: tuple[tuple[Any, ...], ...],
        name_numbers: Sequence[int],
        links: list[int],
    ) -> Columns:
        facts = self._facts
        starts, _, scopes, roles, _, bind_numbers = fields
        binds: list[tuple[Any, ...]] = list(zip(*facts.binds, strict=True)) if facts.binds else [()] * 6
        bind_scopes, bind_names, bind_kinds, _, bind_doubts, bind_reasons = binds
        kinds, parents, scope_starts, scope_ends = zip(*facts.scopes, strict=True)
        return Columns(
            bind_names=[names.setdefault(name, len(names)) for name in bind_names],
            scope_kinds=[names.setdefault(kind, len(names)) for kind in kinds],
            starts=starts,
            name_numbers=name_numbers,
            reference_scopes=scopes,
            roles=roles,
            links=links,
            bind_numbers=[number + 1 for number in bind_numbers],
            bind_scopes=bind_scopes,
            bind_kinds=bind_kinds,
            bind_targets=[target + 1 for target in self.targets],
            bind_doubts=bind_doubts,
            bind_reasons=bind_reasons,
            scope_parents=[parent + 1 for parent in parents],
            scope_starts=scope_starts,
            scope_ends=scope_ends,
            names=list(names),
        )


def _names_that_stars_may_hide(facts: FileFacts, targets: list[int]) -> frozenset[str]:
    """Return the names of the file's own scope that are in doubt only because everything is imported after them."""
    last_star = max((one.start for one in facts.imports if _hides_names(one)), default=NONE)
    if last_star == NONE:
        return frozenset()
    found: dict[str, int] = {}
    for one, target in zip(facts.binds, targets, strict=True):
        if one.scope != 0:
            break
        found[one.name] = NONE if one.name in found else _start_of_target(facts, one.target_kind, target)
    return frozenset(name for name, start in found.items() if NONE < start < last_star)


def _hides_names(one: Import) -> bool:
    """Tell whether an import rebinds names that are bound above it, as only Python's do."""
    return one.imported_name == STAR and one.scope == 0 and one.kind.startswith("python")


def _start_of_target(facts: FileFacts, kind: BindTarget, target: int) -> int:
    if kind is BindTarget.DEF:
        return facts.definitions[target].start
    return facts.imports[target].start if kind is BindTarget.IMPORT else NONE


def _start_of_reference(reference: Reference) -> int:
    return reference[0]


def _classes_around(facts: FileFacts) -> list[int]:
    """Return for each scope the class-like definition whose body it is or lies in, NONE outside of all."""
    opened_by = {
        one.body_scope: number
        for number, one in enumerate(facts.definitions)
        if one.body_scope != NONE and one.kind in CLASS_LIKE and one.kind is not DefinitionKind.MODULE
    }
    owner_of = _owners(facts)
    found: list[int] = []
    for number, scope in enumerate(facts.scopes):
        around = found[scope.parent] if scope.parent != NONE else NONE
        found.append(opened_by.get(number, owner_of.get(number, around)))
    return found


def _owners(facts: FileFacts) -> dict[int, int]:
    """Return the type of each member that is written outside its type, by body scope, where this file defines it."""
    types = {one.lexical_path: number for number, one in enumerate(facts.definitions) if one.kind in CLASS_LIKE}
    return {
        one.body_scope: types[one.owner]
        for one in facts.definitions
        if one.owner and one.body_scope != NONE and one.owner in types
    }


def _outline(facts: FileFacts, source: bytes, program: _Program, n_visible: int) -> Outline:
    definitions = facts.definitions
    members: dict[int, dict[str, list[int]]] = {}
    owned: dict[str, dict[str, list[int]]] = {}
    by_scope = {
        one.body_scope: number
        for number, one in enumerate(definitions)
        if one.body_scope != NONE and one.kind in HOLDS_MEMBERS
    }
    siblings: dict[int, int] = {}
    seen: dict[tuple[int, str, str], int] = {}
    bases: dict[int, list[int]] = {}
    types: dict[int, int] = {}
    body_of = by_scope.get
    for number, one in enumerate(definitions):
        kind, name, path, _, _, _, scope, _, signature, _, _, owner, base_places, _, type_ref = one
        key = (kind, path, signature)
        n_before = seen.get(key, 0)
        seen[key] = n_before + 1
        if n_before:
            siblings[number] = n_before
        if owner:
            owned.setdefault(owner, {}).setdefault(name, []).append(number)
        elif (holder := body_of(scope)) is not None:
            members.setdefault(holder, {}).setdefault(name, []).append(number)
        if base_places:
            bases[number] = [program.expression_at(start) if start != NONE else NONE for start in base_places]
        if type_ref != NONE:
            types[number] = program.expression_at(type_ref)
    return Outline(
        definition_rows=Rows(len(definitions), list(zip(*definitions, strict=True))),
        lines=Rows(len(definitions), _lines(facts, source)),
        siblings=siblings,
        n_visible=n_visible,
        import_rows=[(*one[:5], int(one.certainty), *one[6:]) for one in facts.imports],
        export_rows=[
            (one.name, int(one.target_kind), one.target, int(one.certainty), one.evidence) for one in facts.exports
        ],
        dynamic_rows=[tuple(one) for one in facts.dynamic],
        expression_columns=list(zip(*program.expressions, strict=True)),
        expression_uses=program.uses,
        n_expressions=len(program.expressions),
        file_binds=_file_binds(facts, program.targets),
        members=members,
        owned=owned,
        base_expressions=bases,
        type_expressions=types,
        dynamic_members=_dynamic_members(facts),
        usages=program.usages,
        stars=[number for number, one in enumerate(facts.imports) if one.imported_name == STAR],
        package=facts.package,
        quality=(facts.n_nodes, facts.n_errors, facts.has_content, facts.n_root_children),
        problem=facts.problem,
    )


def _outer_scopes(facts: FileFacts) -> set[int]:
    """Return the scopes whose names others can reach: the file's own and, from there, bodies of what holds members."""
    outer = {0}
    for one in facts.definitions:
        if one.scope in outer and one.kind in HOLDS_MEMBERS and one.body_scope != NONE:
            outer.add(one.body_scope)
    return outer


def _file_binds(facts: FileFacts, targets: list[int]) -> dict[str, tuple[int, int, int]]:
    """Return what the names of the file's own scope are bound to; the first bind speaks for a name."""
    hidden = _names_that_stars_may_hide(facts, targets)
    found: dict[str, tuple[int, int, int]] = {}
    several: dict[str, list[tuple[int, int]]] = {}
    for one, target in zip(facts.binds, targets, strict=True):
        if one.scope != 0:
            break
        certainty = Certainty.CERTAIN if one.name in hidden else one.certainty
        found.setdefault(one.name, (int(one.target_kind), target, int(certainty)))
        if certainty is not _CERTAIN:
            several.setdefault(one.name, []).append((int(one.target_kind), target))
    last_star = max((one.start for one in facts.imports if _hides_names(one)), default=NONE)
    for name, places in several.items():
        first = min(_start_of_target(facts, BindTarget(kind), target) for kind, target in places)
        if len(places) > 1 and first > last_star:
            found[name] = merged_alternatives(places) or found[name]
    return found


def merged_alternatives(places: list[tuple[int, int]]) -> tuple[int, int, int] | None:
    """Return what a name with several binds, by kind and target, means as one symbol; None when that is unknown."""
    kinds = {kind for kind, _ in places}
    if BindTarget.UNKNOWN in kinds or BindTarget.DEF not in kinds:
        return None
    first = next(target for kind, target in places if kind == BindTarget.DEF)
    return int(BindTarget.DEF), first, ALTERNATIVES_OR_IMPORT if BindTarget.IMPORT in kinds else ALTERNATIVES


def _lines(facts: FileFacts, source: bytes) -> list[Sequence[int] | None]:
    """Return for each definition its first line, the line and column of its name, and its last line, by column."""
    # Lines end at line feeds only, which is how bytes are read by lines.
    starts = list(accumulate(map(len, BytesIO(source)), initial=0))
    firsts: list[int] = []
    name_lines: list[int] = []
    columns: list[int] = []
    lasts: list[int] = []
    n_lines = len(starts)
    for _, _, _, start, end, name_start, *_ in facts.definitions:
        name_line = bisect_right(starts, name_start)
        firsts.append(name_line if start == name_start else bisect_right(starts, start))
        name_lines.append(name_line)
        columns.append(name_start - starts[name_line - 1])
        lasts.append(name_line if name_line < n_lines and end <= starts[name_line] else bisect_right(starts, end))
    return [firsts, name_lines, columns, lasts]


def _dynamic_members(facts: FileFacts) -> dict[int, list[str]]:
    """Return for each class the members that code inside of it also writes by a literal name.

    A computed name may be any, so that it says nothing about one.
    """
    writes = [one for one in facts.dynamic if one.pattern in _WRITES_MEMBERS and not one.has_non_literal_key]
    if not writes:
        return {}
    found: dict[int, set[str]] = {}
    for number, one in enumerate(facts.definitions):
        if one.kind in CLASS_LIKE:
            for access in writes:
                if one.start <= access.start < one.end:
                    found.setdefault(number, set()).update(access.literals)
    return {number: sorted(names) for number, names in found.items()}


def _link_hash(outline: Outline, definitions: list[Definition]) -> bytes:
    """Return a hash of everything that other files' links can depend on; positions are not among it."""
    visible = (
        [(int(row[0]), row[1], row[2], row[8], row[9], row[11], row[13]) for row in definitions[: outline.n_visible]],
        [(number, *row[1:5], row[8]) for number, row in enumerate(outline.import_rows) if row[0] == 0],
        outline.export_rows,
        outline.file_binds,
        outline.members,
        outline.owned,
        {number: [_spelled(outline, one) for one in bases] for number, bases in outline.base_expressions.items()},
        {
            number: _spelled(outline, one)
            for number, one in outline.type_expressions.items()
            if number < outline.n_visible
        },
        outline.dynamic_members,
        outline.package,
    )
    # Without references (version 2): the bytes must not depend on which strings happen to be one object.
    return hashlib.sha256(marshal.dumps(visible, 2)).digest()[:16]


def _spelled(outline: Outline, number: int) -> tuple[int, int, str]:
    """Return an expression without the number that its place in the file gives it."""
    names = []
    while number != NONE and outline.expression(number)[0] == Op.MEMBER:
        _, number, name = outline.expression(number)
        names.append(name)
    op, operand, first = outline.expression(number) if number != NONE else (NONE, NONE, "")
    return int(op), operand, ".".join([first, *reversed(names)])
