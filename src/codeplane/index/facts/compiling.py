"""Turn the facts of a file into what is stored: an outline and columns."""

import hashlib
import marshal
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

from codeplane.index.facts.columns import FIRST_EXPRESSION, LOCAL, OF_CALL, OF_EXPRESSION, Columns
from codeplane.index.facts.outline import Expression, Op, Outline
from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    STAR,
    SUPER,
    BindTarget,
    Certainty,
    DefinitionKind,
    FileFacts,
    Import,
    Reference,
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
_OP_OF_TARGET: Final = {BindTarget.DEF: Op.DEFINITION, BindTarget.IMPORT: Op.IMPORT}
_MEMBER: Final = Op.MEMBER
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
    targets = [new[one[3]] if one[2] is BindTarget.DEF else one[3] for one in facts.binds]
    program = _Program(facts, _classes_around(facts), targets)
    columns = program.columns()
    outline = _outline(facts, source, program, n_visible)
    return CompiledFacts(outline, columns, _link_hash(outline))


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
        one if (one := definitions[number]).instance_of == NONE else one._replace(instance_of=new[one.instance_of])
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
            if certainty is Certainty.CERTAIN and kind is not BindTarget.UNKNOWN
            else (Op.OWN, NONE, name)
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
        bind_expressions, number_of = self._bind_expressions, self.number_of
        bind_links: list[int | None] = [
            LOCAL if expression is None or expression[0] is Op.DEFINITION else None for expression in bind_expressions
        ]
        names: dict[str, int] = {}
        name_numbers: list[int] = []
        links: list[int] = []
        add_name, add_link, name_number = name_numbers.append, links.append, names.setdefault
        last_start = last_bind = NONE
        last_link = LOCAL
        usages = facts.usages
        for reference in facts.references:
            start, name, _scope, _role, receiver, bind = reference
            add_name(name_number(name, len(names)))
            if receiver == NO_RECEIVER and bind >= 0:
                known = bind_links[bind]
                if known != LOCAL and start in usages:
                    known = FIRST_EXPRESSION + self._first_of_chain(reference)
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
                    link = FIRST_EXPRESSION + self.number_at((_MEMBER, base, name), start)
                else:
                    link = FIRST_EXPRESSION + number_of((_MEMBER, base, name))
            elif receiver in _CODES:
                link = _CODES[receiver]
            else:
                number = self._first_of_chain(reference)
                link = OF_EXPRESSION if number == NONE else FIRST_EXPRESSION + number
            if link >= FIRST_EXPRESSION:
                uses[link - FIRST_EXPRESSION] += 1
            add_link(link)
            last_start, last_bind, last_link = start, bind, link
        return self._with_the_rest(names, name_numbers, links)

    def _with_the_rest(self, names: dict[str, int], name_numbers: list[int], links: list[int]) -> Columns:
        facts = self._facts
        if facts.references:
            starts, _, scopes, roles, _, bind_numbers = zip(*facts.references, strict=True)
        else:
            starts = scopes = roles = bind_numbers = ()
        if facts.binds:
            bind_scopes, bind_names, bind_kinds, _, bind_doubts, bind_reasons = zip(*facts.binds, strict=True)
        else:
            bind_scopes = bind_names = bind_kinds = bind_doubts = bind_reasons = ()
        return Columns(
            bind_names=[names.setdefault(name, len(names)) for name in bind_names],
            scope_kinds=[names.setdefault(one.kind, len(names)) for one in facts.scopes],
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
            scope_parents=[one.parent + 1 for one in facts.scopes],
            scope_starts=[one.start for one in facts.scopes],
            scope_ends=[one.end for one in facts.scopes],
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
    """Say whether an import gives names anew that stand above it, as only Python's do."""
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
    """Return for the body of each member that stands outside of its type that type, where this file defines it."""
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
    siblings: list[int] = []
    seen: dict[tuple[int, str, str], int] = {}
    bases: dict[int, list[int]] = {}
    types: dict[int, int] = {}
    for number, one in enumerate(definitions):
        key = (int(one.kind), one.lexical_path, one.signature)
        siblings.append(seen.get(key, 0))
        seen[key] = siblings[-1] + 1
        if one.owner:
            owned.setdefault(one.owner, {}).setdefault(one.name, []).append(number)
        elif one.scope in by_scope:
            members.setdefault(by_scope[one.scope], {}).setdefault(one.name, []).append(number)
        if one.bases:
            bases[number] = [program.expression_at(start) if start != NONE else NONE for start in one.bases]
        if one.type_ref != NONE:
            types[number] = program.expression_at(one.type_ref)
    return Outline(
        definition_rows=[(int(one.kind), *one[1:]) for one in definitions],
        lines=_lines(facts, source),
        siblings=siblings,
        n_visible=n_visible,
        import_rows=[(*one[:5], int(one.certainty), *one[6:]) for one in facts.imports],
        export_rows=[
            (one.name, int(one.target_kind), one.target, int(one.certainty), one.evidence) for one in facts.exports
        ],
        dynamic_rows=[tuple(one) for one in facts.dynamic],
        expressions=[(int(op), number, name) for op, number, name in program.expressions],
        expression_uses=program.uses,
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
    for one, target in zip(facts.binds, targets, strict=True):
        if one.scope != 0:
            break
        certainty = Certainty.CERTAIN if one.name in hidden else one.certainty
        found.setdefault(one.name, (int(one.target_kind), target, int(certainty)))
    return found


def _lines(facts: FileFacts, source: bytes) -> list[tuple[int, int, int, int]]:
    """Return for each definition its first line, the line and column of its name, and its last line."""
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for one in facts.definitions:
        name_line = bisect_right(starts, one.name_start)
        first = name_line if one.start == one.name_start else bisect_right(starts, one.start)
        last = name_line if one.end <= starts[name_line] else bisect_right(starts, one.end)
        found.append((first, name_line, one.name_start - starts[name_line - 1], last))
    return found


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


def _link_hash(outline: Outline) -> bytes:
    """Return a hash of everything that other files' links can depend on; positions are not among it."""
    visible = (
        [
            (row[0], row[1], row[2], row[8], row[9], row[11], row[13])
            for row in outline.definition_rows[: outline.n_visible]
        ],
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
    while number != NONE and outline.expressions[number][0] == Op.MEMBER:
        _, number, name = outline.expressions[number]
        names.append(name)
    op, operand, first = outline.expressions[number] if number != NONE else (NONE, NONE, "")
    return op, operand, ".".join([first, *reversed(names)])
