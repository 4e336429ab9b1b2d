"""Follow names through imports, re-exports, members and bases to the definitions they mean."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from codeplane.index.facts.compiling import CLASS_LIKE
from codeplane.index.facts.outline import Op, Outline
from codeplane.index.linking.unit import LinkUnit
from codeplane.languages.facts import NONE, BindTarget, Certainty, DefinitionKind

# Beyond this many steps the rest is settled first and the question asked again, so that no stack overflows.
_MAX_DEPTH: Final = 60
_MAX_BASES: Final = 200
_KIND: Final = 0
_NAME: Final = 1
_INSTANCE_OF: Final = 13
_CLASS_LIKE: Final = frozenset(int(kind) for kind in CLASS_LIKE)
_HOLDS_VALUE: Final = frozenset(
    int(kind)
    for kind in (
        DefinitionKind.VARIABLE,
        DefinitionKind.CONSTANT,
        DefinitionKind.PARAMETER,
        DefinitionKind.FIELD,
        DefinitionKind.PROPERTY,
    )
)
_PROPERTY: Final = int(DefinitionKind.PROPERTY)
_TYPE: Final = int(DefinitionKind.TYPE)
_CLASS: Final = int(DefinitionKind.CLASS)
_DECORATORS: Final = 9
_OWNER: Final = 11
_STATIC: Final = "static"
_DEFAULT: Final = "default"
_WHOLE_MODULE: Final = frozenset({"commonjs", "export_assignment"})
_CERTAIN: Final = int(Certainty.CERTAIN)
_DEF: Final = int(BindTarget.DEF)
_IMPORT: Final = int(BindTarget.IMPORT)


class Step(IntEnum):
    """A link of the chain that proves a reference; each step has a file and a number."""

    IMPORT = 0  # the import of that number
    STAR = 1  # the import of everything of that number
    EXPORT = 2  # the explicit export of that number
    MODULE = 3  # a name of the module that the file provides, found without an import in this place
    MEMBER = 4  # a member of the definition of that number
    BASE = 5  # reached through the bases of the definition of that number
    TYPE = 6  # the declared type of the definition of that number


class Tag(IntEnum):
    """What a value is."""

    DEFINITION = 0
    INSTANCE = 1
    MODULE = 2


# What a name means: tag, file, definition; for a module its name stands in the place of the file.
Value = tuple[int, int | str, int]
Chain = tuple[tuple[int, int, int], ...]


class Meaning(NamedTuple):
    """What a name means, the chain that proves it, and the modules that were asked on the way."""

    value: Value | None
    chain: Chain
    asked: frozenset[str]


class Order(NamedTuple):
    """A type and its bases in the order of look-up, ended by None where not all are known; and the modules asked."""

    types: tuple[tuple[int, int] | None, ...]
    asked: frozenset[str]


# What is asked: a name of a module, or the order of a type by file and definition.
Question = tuple[str, str] | tuple[int, int]

_NOTHING: Final = Meaning(None, (), frozenset())
_NEVER: Final = 1 << 30


class _TooDeepError(Exception):
    """The way is longer than the stack; carries the question to settle first."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Resolver:
    """Answers what names mean in one unit, remembering the answers.

    Invariant: an answer is remembered only when it did not depend on a question that was still open, so that cycles
    of imports give the same answers whatever was asked first.
    """

    def __init__(self, unit: LinkUnit) -> None:
        self._unit = unit
        self._outlines: dict[int, Outline] = {}
        self._answers: dict[tuple[str, str], Meaning] = {}
        self._orders: dict[tuple[int, int], Order] = {}
        self._open: dict[Question, int] = {}
        self._depth = 0
        self._lowest_open = _NEVER
        self._located: dict[tuple[str, str], str | None] = {}

    def _outline(self, file_id: int) -> Outline:
        known = self._outlines.get(file_id)
        if known is None:
            known = self._outlines[file_id] = self._unit.outline_of(file_id)
        return known

    def meanings(self, file_id: int) -> list[Meaning]:
        """Return the meaning of every expression of a file; operands come before what is made of them."""
        outline = self._outline(file_id)
        found: list[Meaning] = []
        add = found.append
        for number, (op, operand, name) in enumerate(outline.expressions):
            if op == Op.MEMBER:
                holder = found[operand]
                if holder.value is None:
                    add(holder)
                    continue
                member = self._member(holder.value, name)
                add(Meaning(member.value, holder.chain + member.chain, holder.asked | member.asked))
            elif op == Op.DEFINITION and not self._has_members(outline, operand):
                add(_NOTHING)
            else:
                add(self._first(file_id, outline, number))
        return found

    @staticmethod
    def _has_members(outline: Outline, number: int) -> bool:
        row = outline.definition_rows[number]
        if row[_KIND] in _CLASS_LIKE or row[_INSTANCE_OF] != NONE:
            return True
        return number in outline.type_expressions or number in outline.members

    def located(self, path: str, source: str) -> str | None:
        """Return the module that an import means by its source text."""
        key = (path, source)
        if key not in self._located:
            self._located[key] = self._unit.linker.locate(path, source)
        return self._located[key]

    def lookup(self, module: str, name: str) -> Meaning:
        """Return what a name of a module means to those who import it."""
        known = self._answers.get((module, name))
        if known is not None:
            return known
        if self._depth:
            return self._lookup(module, name)
        answer = self._settle((module, name))
        return answer if isinstance(answer, Meaning) else _NOTHING

    def _settle(self, question: Question) -> Meaning | Order | None:
        """Answer a question from an empty stack; a way that is too long is settled from its far end."""
        waiting = [question]
        tried: set[Question] = set()
        while True:
            try:
                place, name = waiting[-1]
                answer = self._lookup(place, str(name)) if isinstance(place, str) else self._order(place, int(name))
            except _TooDeepError as error:
                self._depth = 0
                self._open.clear()
                self._lowest_open = _NEVER
                if error.question in tried:
                    return None
                tried.add(error.question)
                waiting.append(error.question)
                continue
            waiting.pop()
            if not waiting:
                return answer

    def _enter(self, question: Question) -> None:
        if self._depth > _MAX_DEPTH:
            raise _TooDeepError(question)
        self._open[question] = self._depth
        self._depth += 1

    def _leave(self, question: Question) -> bool:
        """Close a question and tell whether its answer depends on no other open one."""
        self._depth -= 1
        level = self._open.pop(question)
        if self._lowest_open < level:
            return False
        self._lowest_open = _NEVER
        return True

    def _lookup(self, module: str, name: str) -> Meaning:
        key = (module, name)
        known = self._answers.get(key)
        if known is not None:
            return known
        if key in self._open:
            self._lowest_open = min(self._lowest_open, self._open[key])
            return Meaning(None, (), frozenset((module,)))
        self._enter(key)
        answer = self._look_into(module, name)
        answer = Meaning(answer.value, answer.chain, answer.asked | {module})
        if self._leave(key):
            self._answers[key] = answer
        return answer

    def _look_into(self, module: str, name: str) -> Meaning:
        found: Meaning | None = None
        asked: frozenset[str] = frozenset()
        for file_id in self._unit.files_of(module):
            meaning, is_bound = self._name_in_file(file_id, name)
            asked |= meaning.asked
            if not is_bound:
                continue
            if found is not None and found.value != meaning.value:
                return Meaning(None, (), asked)
            found = meaning
        if found is not None:
            return Meaning(found.value, found.chain, asked)
        submodule = self._unit.linker.submodule(module, name)
        if submodule is not None:
            return Meaning((Tag.MODULE, submodule, NONE), (), asked | {submodule})
        return Meaning(None, (), asked)

    def _name_in_file(self, file_id: int, name: str) -> tuple[Meaning, bool]:
        """Return what a file offers under a name, and whether it binds the name at all."""
        outline = self._outline(file_id)
        if self._unit.rules.exports_are_explicit:
            return self._exported(file_id, outline, name)
        bound = outline.file_binds.get(name)
        if bound is None:
            return self._from_stars(file_id, outline, name)
        kind, target, certainty = bound
        if certainty != _CERTAIN:
            return _NOTHING, True
        meaning = self._target(file_id, kind, target)
        if outline.stars:
            return self._unless_hidden(file_id, outline, name, meaning, _start_of(outline, kind, target)), True
        return meaning, True

    def _unless_hidden(self, file_id: int, outline: Outline, name: str, meaning: Meaning, start: int) -> Meaning:
        """Return a meaning unless an import of everything that stands after it gives, or may give, the name anew."""
        path = self._unit.files[file_id].path
        asked = meaning.asked
        for number in outline.stars:
            row = outline.import_rows[number]
            if row[6] < start or row[0] != 0:
                continue
            module = self.located(path, row[1])
            if module is None:
                return Meaning(None, (), asked)
            offered, is_offered = self._offered_to_stars(module, name)
            asked |= offered.asked
            if is_offered and (offered.value is None or offered.value != meaning.value):
                return Meaning(None, (), asked)
        return Meaning(meaning.value, meaning.chain, asked)

    def _exported(self, file_id: int, outline: Outline, name: str) -> tuple[Meaning, bool]:
        found: Meaning | None = None
        for number, (exported, kind, target, certainty, _evidence) in enumerate(outline.export_rows):
            if exported != name:
                continue
            meaning = self._target(file_id, kind, target) if certainty == _CERTAIN else _NOTHING
            if found is not None and found.value != meaning.value:
                return _NOTHING, True
            found = Meaning(meaning.value, ((Step.EXPORT, file_id, number), *meaning.chain), meaning.asked)
        if found is not None:
            return found, True
        return self._from_stars(file_id, outline, name) if name != "default" else (_NOTHING, False)

    def _target(self, file_id: int, kind: int, target: int) -> Meaning:
        if kind == _DEF:
            return Meaning((Tag.DEFINITION, file_id, target), (), frozenset())
        return self._import(file_id, target) if kind == _IMPORT else _NOTHING

    def _from_stars(self, file_id: int, outline: Outline, name: str) -> tuple[Meaning, bool]:
        """Return what the imports of everything give a name; the last one that has it wins.

        One that leads out of the repository after it could hide it, so then nothing is known.
        """
        asked: frozenset[str] = frozenset()
        path = self._unit.files[file_id].path
        for number in reversed(outline.stars):
            row = outline.import_rows[number]
            if row[0] != 0:
                continue
            module = self.located(path, row[1])
            if module is None:
                if self._unit.rules.exports_are_explicit:
                    continue
                return Meaning(None, (), asked), False
            meaning, is_offered = self._offered_to_stars(module, name)
            asked |= meaning.asked
            if is_offered:
                return Meaning(meaning.value, ((Step.STAR, file_id, number), *meaning.chain), asked), True
        return Meaning(None, (), asked), False

    def _offered_to_stars(self, module: str, name: str) -> tuple[Meaning, bool]:
        """Return what an import of everything takes over under a name, and whether it may take it."""
        if not self._unit.rules.exports_are_explicit:
            listed = _listed_names(self._outline(one) for one in self._unit.files_of(module))
            if name not in listed.names and not listed.is_complete:
                # Whether it is offered is not known, so that nothing may be said about the name.
                return Meaning(None, (), frozenset((module,))), True
            if name not in listed.names and (listed.is_there or name.startswith("_")):
                return Meaning(None, (), frozenset((module,))), False
        meaning = self.lookup(module, name)
        is_offered = meaning.value is not None and (meaning.value[0] != Tag.MODULE or bool(meaning.chain))
        return meaning, is_offered

    def _import(self, file_id: int, number: int) -> Meaning:
        """Return what an import binds."""
        row = self._outline(file_id).import_rows[number]
        source, imported_name, alias = row[1], row[2], row[3]
        path = self._unit.files[file_id].path
        step = (Step.IMPORT, file_id, number)
        if imported_name is None:
            if self._unit.rules.binds_first_part and alias is None:
                source = source.split(self._unit.rules.separator)[0]
            module = self.located(path, source)
            if module is None:
                return _NOTHING
            return Meaning((Tag.MODULE, module, NONE), (step,), frozenset((module,)))
        meaning = self._name_from(path, source, imported_name)
        return Meaning(meaning.value, (step, *meaning.chain), meaning.asked)

    def _name_from(self, path: str, source: str, name: str) -> Meaning:
        """Return a name imported from a module, or from a type inside a module where a language allows that."""
        module = self.located(path, source)
        if module is not None:
            return self.lookup(module, name)
        separator = self._unit.rules.separator
        if not self._unit.rules.imports_reach_into_types or separator not in source:
            return _NOTHING
        outer, _, last = source.rpartition(separator)
        holder = self._name_from(path, outer, last)
        if holder.value is None:
            return Meaning(None, (), holder.asked)
        meaning = self._member(holder.value, name)
        return Meaning(meaning.value, (*holder.chain, *meaning.chain), holder.asked | meaning.asked)

    def _expression(self, file_id: int, outline: Outline, number: int) -> Meaning:
        """Return the meaning of an expression; a chain of members is followed from its first name on."""
        names = []
        while outline.expressions[number][0] == Op.MEMBER:
            _, number, name = outline.expressions[number]
            names.append(name)
        meaning = self._first(file_id, outline, number)
        for name in reversed(names):
            if meaning.value is None:
                return Meaning(None, (), meaning.asked)
            member = self._member(meaning.value, name)
            meaning = Meaning(member.value, meaning.chain + member.chain, meaning.asked | member.asked)
        return meaning

    def _first(self, file_id: int, outline: Outline, number: int) -> Meaning:
        op, operand, name = outline.expressions[number]
        if op == Op.DEFINITION:
            return Meaning((Tag.DEFINITION, file_id, operand), (), frozenset())
        if op == Op.IMPORT:
            return self._import(file_id, operand)
        if op == Op.FREE:
            return self._free_name(file_id, outline, operand, name)
        if op == Op.OWN:
            meaning = self._name_in_file(file_id, name)[0]
            return Meaning(meaning.value, ((Step.MODULE, file_id, NONE), *meaning.chain), meaning.asked)
        return self._class_member(file_id, operand, name, skip_own=op == Op.SUPER)

    def _free_name(self, file_id: int, outline: Outline, class_around: int, name: str) -> Meaning:
        """Return what a name means that nothing in its file binds."""
        asked: frozenset[str] = frozenset()
        if class_around != NONE and self._unit.rules.class_scope_is_visible:
            meaning = self._class_member(file_id, class_around, name)
            asked |= meaning.asked
            if meaning.value is not None:
                return meaning
        # What `export * from` passes on is not seen in the file itself.
        if not self._unit.rules.exports_are_explicit:
            meaning, is_bound = self._from_stars(file_id, outline, name)
            asked |= meaning.asked
            if is_bound:
                return Meaning(meaning.value, meaning.chain, asked)
        for module in self._unit.linker.implicit_modules(self._unit.files[file_id].path):
            meaning = self.lookup(module, name)
            asked |= meaning.asked
            if meaning.value is not None:
                return Meaning(meaning.value, ((Step.MODULE, file_id, NONE), *meaning.chain), asked)
        return Meaning(None, (), asked)

    def _member(self, holder: Value, name: str) -> Meaning:
        """Return a member of a module, a type or a value of a known type."""
        tag, place, number = holder
        if tag == Tag.MODULE:
            meaning = self.lookup(str(place), name)
            return meaning if meaning.value is not None else self._member_of_default(str(place), name, meaning)
        file_id = int(place)
        outline = self._outline(file_id)
        kind = outline.definition_rows[number][_KIND]
        if tag == Tag.INSTANCE or kind in _CLASS_LIKE:
            return self._class_member(file_id, number, name, of_class=tag != Tag.INSTANCE)
        if kind not in _HOLDS_VALUE:
            return _NOTHING
        if number in outline.members:
            return self._class_member(file_id, number, name)
        instance = self._type_of(file_id, outline, number)
        if instance.value is None:
            return Meaning(None, (), instance.asked)
        meaning = self._class_member(int(instance.value[1]), instance.value[2], name, of_class=False)
        return Meaning(meaning.value, (*instance.chain, *meaning.chain), instance.asked | meaning.asked)

    def _type_of(self, file_id: int, outline: Outline, number: int) -> Meaning:
        """Return the type that a variable is declared to hold."""
        instance_of = outline.definition_rows[number][_INSTANCE_OF]
        if instance_of != NONE:
            return Meaning((Tag.INSTANCE, file_id, instance_of), (), frozenset())
        expression = outline.type_expressions.get(number, NONE)
        if expression == NONE:
            return _NOTHING
        meaning = self._expression(file_id, outline, expression)
        if meaning.value is None or meaning.value[0] != Tag.DEFINITION:
            return Meaning(None, (), meaning.asked)
        _, place, definition = meaning.value
        holder = self._outline(int(place))
        kind = holder.definition_rows[definition][_KIND]
        if kind not in _CLASS_LIKE and not (kind == _TYPE and definition in holder.members):
            return Meaning(None, (), meaning.asked)
        chain = ((Step.TYPE, file_id, number), *meaning.chain)
        return Meaning((Tag.INSTANCE, place, definition), chain, meaning.asked)

    def _member_of_default(self, module: str, name: str, missed: Meaning) -> Meaning:
        """Return a member of what a module as a whole is set to (`module.exports = …`)."""
        if not self._unit.rules.exports_are_explicit:
            return missed
        rows = [row for one in self._unit.files_of(module) for row in self._outline(one).export_rows]
        if not any(row[0] == _DEFAULT and row[4] in _WHOLE_MODULE for row in rows):
            return missed
        default = self.lookup(module, _DEFAULT)
        if default.value is None or default.value[0] == Tag.MODULE:
            return Meaning(None, (), missed.asked | default.asked)
        member = self._member(default.value, name)
        return Meaning(member.value, default.chain + member.chain, missed.asked | default.asked | member.asked)

    def _class_member(
        self, file_id: int, number: int, name: str, *, skip_own: bool = False, of_class: bool | None = None
    ) -> Meaning:
        """Return a member of a type or of its bases, in the order in which the language looks at them.

        `of_class` says whether it is asked of the class itself or of an instance, None when that is not known.
        """
        order, asked = self._order_of(file_id, number)
        for position, one in enumerate(order):
            if one is None:
                break
            if position == 0 and skip_own:
                continue
            holder, definition = one
            dynamic = self._outline(holder).dynamic_members.get(definition, ())
            places = self._own_members(holder, definition, name)
            kind = self._outline(holder).definition_rows[definition][_KIND]
            if of_class is not None and self._unit.rules.statics_are_apart and kind == _CLASS:
                places = [one for one in places if self._is_static(*one) is of_class]
            if name in dynamic:
                break
            if not places:
                continue
            place, member = places[0]
            rows = [self._outline(where).definition_rows[what] for where, what in places]
            if len(places) > 1 and any(row[_KIND] != _PROPERTY for row in rows):
                break
            step = Step.MEMBER if position == 0 else Step.BASE
            return Meaning((Tag.DEFINITION, place, member), ((step, file_id, number),), asked)
        return Meaning(None, (), asked)

    def _is_static(self, file_id: int, number: int) -> bool:
        row = self._outline(file_id).definition_rows[number]
        # What a merged namespace adds stands outside of the class and belongs to it, not to its instances.
        return _STATIC in row[_DECORATORS] or bool(row[_OWNER])

    def _own_members(self, file_id: int, number: int, name: str) -> list[tuple[int, int]]:
        outline = self._outline(file_id)
        found = [(file_id, one) for one in outline.members.get(number, {}).get(name, ())]
        type_name = outline.definition_rows[number][_NAME]
        if not self._unit.rules.members_stand_outside:
            return found
        for module in self._unit.files[file_id].modules:
            for other in self._unit.files_of(module):
                owned = self._outline(other).owned.get(type_name, {}).get(name, ())
                found.extend((other, one) for one in owned)
        return found

    def _order_of(self, file_id: int, number: int) -> Order:
        """Return a type and its bases in the order of look-up; None stands for bases that are not known."""
        known = self._orders.get((file_id, number))
        if known is not None:
            return known
        if self._depth:
            return self._order(file_id, number)
        answer = self._settle((file_id, number))
        own = self._unit.files[file_id].modules[:1]
        return answer if isinstance(answer, Order) else Order(((file_id, number), None), frozenset(own))

    def _order(self, file_id: int, number: int) -> Order:
        key = (file_id, number)
        known = self._orders.get(key)
        if known is not None:
            return known
        if key in self._open:
            # A type that is its own base has bases that are not known.
            self._lowest_open = min(self._lowest_open, self._open[key])
            return Order((key, None), frozenset(self._unit.files[file_id].modules[:1]))
        self._enter(key)
        answer = self._work_out_order(file_id, number)
        if self._leave(key):
            self._orders[key] = answer
        return answer

    def _work_out_order(self, file_id: int, number: int) -> Order:
        outline = self._outline(file_id)
        own = (file_id, number)
        asked = frozenset(self._unit.files[file_id].modules[:1])
        lists: list[list[tuple[int, int] | None]] = []
        direct: list[tuple[int, int] | None] = []
        for expression in outline.base_expressions.get(number, ()):
            base = self._expression(file_id, outline, expression) if expression != NONE else _NOTHING
            asked |= base.asked
            if base.value is None or base.value[0] != Tag.DEFINITION or not self._is_class(base.value):
                direct.append(None)
                break
            place = (int(base.value[1]), base.value[2])
            order = self._order_of(*place)
            asked |= order.asked
            lists.append(list(order.types))
            direct.append(place)
        merged = _merge([*lists, direct])
        types = (own, *(merged if merged is not None else (None,)))
        return Order(types if len(types) <= _MAX_BASES else (*types[:_MAX_BASES], None), asked)

    def _is_class(self, value: Value) -> bool:
        return self._outline(int(value[1])).definition_rows[value[2]][_KIND] in _CLASS_LIKE


def _start_of(outline: Outline, kind: int, target: int) -> int:
    """Return where a definition or an import stands."""
    return int(outline.definition_rows[target][3] if kind == _DEF else outline.import_rows[target][6])


class _Listed(NamedTuple):
    """What export lists say: the names in them, whether there is any list, whether all could be read."""

    names: frozenset[str]
    is_there: bool
    is_complete: bool


def _listed_names(outlines: Iterable[Outline]) -> _Listed:
    rows = [row for outline in outlines for row in outline.export_rows]
    is_complete = all(certainty == _CERTAIN for _name, _kind, _target, certainty, _evidence in rows)
    return _Listed(frozenset(row[0] for row in rows if row[0]), bool(rows), is_complete)


def _merge(lists: list[list[tuple[int, int] | None]]) -> list[tuple[int, int] | None] | None:
    """Merge the orders of the bases so that each comes before its own bases; cut at the first unknown one.

    None when no such order exists.
    """
    merged: list[tuple[int, int] | None] = []
    lists = [one for one in lists if one]
    while lists:
        for candidates in lists:
            head = candidates[0]
            if head is None or not any(head in others[1:] for others in lists):
                break
        else:
            return None
        merged.append(head)
        if head is None:
            return merged
        lists = [rest for rest in ([one for one in others if one != head] for others in lists) if rest]
    return merged
