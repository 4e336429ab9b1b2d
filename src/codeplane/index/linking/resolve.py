"""Follow names through imports, re-exports, members and bases to the definitions they mean."""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any, Final, NamedTuple

from codeplane.index.facts.compiling import CLASS_LIKE
from codeplane.index.facts.outline import (
    ALTERNATIVES,
    ALTERNATIVES_OR_IMPORT,
    DECORATORS,
    INSTANCE_OF,
    OWNER,
    PATH,
    SIGNATURE,
    START,
    Op,
    Outline,
)
from codeplane.index.linking.alternatives import UNDER_CONDITION, alternatives_in
from codeplane.index.linking.stored_links import Chain, Step
from codeplane.index.linking.unit import LinkUnit
from codeplane.languages.facts import AS_TYPE, CALLED, NONE, READ, BindTarget, Certainty, DefinitionKind
from codeplane.languages.linking import Choice, MethodOffer, OpenType

# Beyond this many steps the rest is settled first and the question asked again, so that no stack overflows.
_MAX_DEPTH: Final = 60
_MAX_BASES: Final = 200
_MAX_RESULTS: Final = 30
_KIND: Final = 0
_IMPORT_KIND: Final = 4
_IS_CONDITIONAL: Final = 8
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
_IS_CALLED: Final = frozenset((int(DefinitionKind.FUNCTION), int(DefinitionKind.METHOD)))
# What an assignment defines, in the body of a class or through `self`.
_ASSIGNED: Final = frozenset((int(DefinitionKind.VARIABLE), int(DefinitionKind.CONSTANT)))
_PROPERTY: Final = int(DefinitionKind.PROPERTY)
_TYPE: Final = int(DefinitionKind.TYPE)
_CLASS: Final = int(DefinitionKind.CLASS)
_FUNCTION: Final = int(DefinitionKind.FUNCTION)
_HAS_INSTANCES: Final = frozenset((_CLASS, _FUNCTION))
_OF_INSTANCES: Final = frozenset(
    int(kind) for kind in (DefinitionKind.METHOD, DefinitionKind.PROPERTY, DefinitionKind.FIELD)
)
_OPEN_TO_PARAMETERS: Final = _IS_CALLED | {
    int(kind) for kind in (DefinitionKind.FIELD, DefinitionKind.PROPERTY, DefinitionKind.CONSTANT)
}
_TRAIT: Final = int(DefinitionKind.TRAIT)
_ENUM: Final = int(DefinitionKind.ENUM)
_FIELD: Final = int(DefinitionKind.FIELD)
_INTERFACE: Final = int(DefinitionKind.INTERFACE)
_STATIC: Final = "static"
_DEFAULT: Final = "default"
_WHOLE_MODULE: Final = frozenset({"commonjs", "export_assignment"})
# Imports of a module that give what the module as a whole is set to.
_LOADS_WHOLE: Final = frozenset({"js_require"})
_STATIC_STAR: Final = "java_import_static"
_CERTAIN: Final = int(Certainty.CERTAIN)
_DEF: Final = int(BindTarget.DEF)
_IMPORT: Final = int(BindTarget.IMPORT)


class Tag(IntEnum):
    """What a value is.

    Of ALTERNATIVES the first definition represents all; which one is meant is open, so its members are not looked up.
    MAYBE is the same for a name that may also be an import.
    """

    DEFINITION = 0
    INSTANCE = 1
    MODULE = 2
    ALTERNATIVES = 3
    MAYBE = 4


# As plain numbers: a member of an enumeration takes many times as long to name, compare and write.
_TAG_DEFINITION: Final = int(Tag.DEFINITION)
_TAG_INSTANCE: Final = int(Tag.INSTANCE)
_TAG_MODULE: Final = int(Tag.MODULE)
_TAG_ALTERNATIVES: Final = int(Tag.ALTERNATIVES)
_OPEN_TAGS: Final = {ALTERNATIVES: _TAG_ALTERNATIVES, ALTERNATIVES_OR_IMPORT: int(Tag.MAYBE)}
_OF_SEVERAL: Final = frozenset(_OPEN_TAGS.values())
_STEP_IMPORT: Final = int(Step.IMPORT)
_STEP_STAR: Final = int(Step.STAR)
_STEP_EXPORT: Final = int(Step.EXPORT)
_STEP_MODULE: Final = int(Step.MODULE)
_STEP_MEMBER: Final = int(Step.MEMBER)
_STEP_BASE: Final = int(Step.BASE)
_STEP_TYPE: Final = int(Step.TYPE)
_OP_DEFINITION: Final = int(Op.DEFINITION)
_OP_IMPORT: Final = int(Op.IMPORT)
_OP_FREE: Final = int(Op.FREE)
_OP_MEMBER: Final = int(Op.MEMBER)
_OP_SUPER: Final = int(Op.SUPER)
_OP_OWN: Final = int(Op.OWN)

# What a name means: tag, file, definition; a module has its name in place of the file.
Value = tuple[int, int | str, int]


class Meaning(NamedTuple):
    """What a name means, the chain that proves it, and the modules that were asked on the way.

    `is_bound` says of a name of a module that something binds it there, even if what it means is not known.
    """

    value: Value | None
    chain: Chain
    asked: frozenset[str]
    is_bound: bool = False


class Order(NamedTuple):
    """A type and its bases in the order of look-up, ended by None where not all are known; and the modules asked."""

    types: tuple[tuple[int, int] | None, ...]
    asked: frozenset[str]


# What is asked: a name of a module, or the order of a type by file and definition.
Question = tuple[str, str] | tuple[int, int]

_NONE_ASKED: Final[frozenset[str]] = frozenset()
_NOTHING: Final = Meaning(None, (), _NONE_ASKED)
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
        self._in_circles: set[Question] = set()
        self._located: dict[tuple[str, str], str | None] = {}
        self._types: dict[tuple[int, int], Meaning] = {}
        self._types_in_question: set[tuple[int, int]] = set()
        self._bases: dict[tuple[int, int], tuple[tuple[tuple[int, int] | None, ...], frozenset[str]]] = {}
        self._held: dict[tuple[int, int], frozenset[str]] = {}
        self._members: dict[tuple[int, int, str, int | None, bool, bool | None], Meaning] = {}

    def _outline(self, file_id: int) -> Outline:
        known = self._outlines.get(file_id)
        if known is None:
            known = self._outlines[file_id] = self._unit.outline_of(file_id)
        return known

    def meanings(self, file_id: int) -> list[Meaning]:
        """Return the meaning of every expression of a file; operands come before what is made of them.

        A definition of the file itself need not be among them: it is nothing to link.
        """
        outline = self._outline(file_id)
        found: list[Meaning] = []
        add = found.append
        usages, kinds, members = outline.usages, outline.kinds, outline.members
        instances = outline.definition_rows.column(INSTANCE_OF)
        # The classes of this file that expressions hold an instance of: `self` in most members.
        held: dict[int, int] = {}
        for number, (op, operand, name) in enumerate(outline.expressions):
            if op == _OP_MEMBER:
                if operand in held:
                    add(self._class_member(file_id, held[operand], name, usages.get(number), of_class=False))
                    continue
                holder = found[operand]
                value, chain, asked, _ = holder
                if value is None:
                    add(holder)
                    continue
                member = self._member(value, name, usages.get(number))
                if not chain and not asked:
                    # A member of a definition of this file, as most are.
                    add(member)
                    continue
                asked = member.asked if member.asked >= asked else asked | member.asked
                add(Meaning(member.value, chain + member.chain, asked))
            elif op == _OP_DEFINITION:
                is_value = kinds[operand] in _HOLDS_VALUE and operand not in members
                if is_value and instances[operand] != NONE:
                    held[number] = instances[operand]
                    add(_NOTHING)
                elif self._has_members(outline, operand):
                    add(Meaning((_TAG_DEFINITION, file_id, operand), (), _NONE_ASKED))
                else:
                    add(_NOTHING)
            else:
                add(self._first(file_id, outline, number))
        if not self._unit.rules.exports_are_explicit:
            return found
        return [self._as_definition(one) for one in found]

    @staticmethod
    def _has_members(outline: Outline, number: int) -> bool:
        kind = outline.kinds[number]
        if kind in _CLASS_LIKE or kind == _TYPE or number in outline.type_expressions or number in outline.members:
            return True
        rows = outline.definition_rows
        if kind == _FUNCTION:
            return bool(outline.owned) and rows.column(PATH)[number] in outline.owned
        return bool(rows.column(INSTANCE_OF)[number] != NONE)

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
        answer = Meaning(answer.value, answer.chain, answer.asked | {module}, answer.is_bound)
        if self._leave(key):
            self._answers[key] = answer
        return answer

    def _look_into(self, module: str, name: str) -> Meaning:
        found: Meaning | None = None
        asked = _NONE_ASKED
        for file_id in self._unit.files_of(module):
            meaning, is_bound = self._name_in_file(file_id, name)
            asked |= meaning.asked
            if not is_bound:
                continue
            if found is not None and found.value != meaning.value:
                if not self._is_defined_again(found, meaning):
                    return Meaning(None, (), asked, is_bound=True)
                meaning = Meaning((_TAG_ALTERNATIVES, *found.value[1:]), found.chain, asked) if found.value else found
            found = meaning
        if found is not None:
            return Meaning(found.value, found.chain, asked, is_bound=True)
        submodule = self._unit.linker.submodule(module, name)
        if submodule is not None:
            return Meaning((_TAG_MODULE, submodule, NONE), (), asked | {submodule})
        return Meaning(None, (), asked)

    def _is_defined_again(self, one: Meaning, other: Meaning) -> bool:
        """Tell whether two files of a module define a name each, as they do for different systems (Go)."""
        values = (one.value, other.value)
        return self._unit.rules.members_stand_in_module and all(
            value is not None and value[0] in {_TAG_DEFINITION, _TAG_ALTERNATIVES} for value in values
        )

    def _name_in_file(self, file_id: int, name: str) -> tuple[Meaning, bool]:
        """Return what a file offers under a name, and whether it binds the name at all."""
        outline = self._outline(file_id)
        if self._unit.rules.exports_are_explicit:
            return self._exported(file_id, outline, name)
        bound = outline.file_binds.get(name)
        if self._unit.rules.imports_stay_in_file and (bound is None or bound[0] == _IMPORT):
            return _NOTHING, False
        if bound is None:
            return self._from_stars(file_id, outline, name)
        kind, target, certainty = bound
        meaning = self._target(file_id, kind, target) if certainty == _CERTAIN else _NOTHING
        if certainty in _OPEN_TAGS:
            meaning = Meaning((_OPEN_TAGS[certainty], file_id, target), (), _NONE_ASKED)
        if meaning.value is not None and outline.stars and self._unit.rules.last_star_wins:
            meaning = self._unless_hidden(file_id, outline, name, meaning, _start_of(outline, kind, target))
        elif meaning.value is not None and outline.stars and _is_conditional(outline, kind, target):
            meaning = self._unless_alternative(file_id, outline, name, meaning)
        return meaning, True

    def _unless_alternative(self, file_id: int, outline: Outline, name: str, meaning: Meaning) -> Meaning:
        """Return a meaning unless an import of everything under another condition gives the name as well."""
        other, is_bound = self._from_stars(file_id, outline, name, only_conditional=True)
        is_open = is_bound and other.value != meaning.value
        return Meaning(None if is_open else meaning.value, meaning.chain, meaning.asked | other.asked)

    def _unless_hidden(self, file_id: int, outline: Outline, name: str, meaning: Meaning, start: int) -> Meaning:
        """Return a meaning unless a later import of everything rebinds, or may rebind, the name."""
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
            found = Meaning(meaning.value, ((_STEP_EXPORT, file_id, number), *meaning.chain), meaning.asked)
        if found is not None:
            return found, True
        return self._from_stars(file_id, outline, name) if name != "default" else (_NOTHING, False)

    def _target(self, file_id: int, kind: int, target: int) -> Meaning:
        if kind == _DEF:
            return Meaning((_TAG_DEFINITION, file_id, target), (), _NONE_ASKED)
        return self._import(file_id, target) if kind == _IMPORT else _NOTHING

    def _from_last_star(self, file_id: int, outline: Outline, name: str) -> tuple[Meaning, bool]:
        """Return what the imports of everything give a name; the last one that has it wins.

        One that leads out of the repository after it could hide it, so then nothing is known.
        """
        asked = _NONE_ASKED
        path = self._unit.files[file_id].path
        for number in reversed(outline.stars):
            row = outline.import_rows[number]
            if row[0] != 0:
                continue
            module = self.located(path, row[1])
            if module is None:
                return Meaning(None, (), asked), False
            meaning, is_offered = self._offered_to_stars(module, name)
            asked |= meaning.asked
            if is_offered:
                return Meaning(meaning.value, ((_STEP_STAR, file_id, number), *meaning.chain), asked), True
        return Meaning(None, (), asked), False

    def _from_stars(
        self, file_id: int, outline: Outline, name: str, usage: int | None = None, *, only_conditional: bool = False
    ) -> tuple[Meaning, bool]:
        """Return what the imports of everything give a name, and whether any gives it; several that differ are open.

        One that leads out of the repository cannot have the name as well, because then the code would be wrong; unless
        the two are alternatives, or methods, which are all seen together.
        """
        if self._unit.rules.last_star_wins:
            return self._from_last_star(file_id, outline, name)
        asked = _NONE_ASKED
        found: Meaning | None = None
        is_alternative = is_other_missing = False
        for number in outline.stars:
            row = outline.import_rows[number]
            if row[0] != 0 or (only_conditional and not row[_IS_CONDITIONAL]):
                continue
            offered = self._offered_by_star(file_id, row, name, usage)
            if offered is None:
                is_static = _is_call(usage) and row[_IMPORT_KIND] == _STATIC_STAR
                is_other_missing |= bool(row[_IS_CONDITIONAL]) or is_static
                continue
            asked |= offered.asked
            if not offered.is_bound:
                continue
            if found is not None and found.value != offered.value:
                return Meaning(None, (), asked), True
            found = Meaning(offered.value, ((_STEP_STAR, file_id, number), *offered.chain), asked)
            is_alternative |= bool(row[_IS_CONDITIONAL]) or _is_call(usage)
        if found is None:
            return Meaning(None, (), asked), False
        is_open = is_alternative and is_other_missing
        return Meaning(None if is_open else found.value, found.chain, asked), True

    def _offered_by_star(self, file_id: int, row: tuple[Any, ...], name: str, usage: int | None) -> Meaning | None:
        """Return what one import of everything brings under a name, None when it cannot be followed."""
        path, source = self._unit.files[file_id].path, row[1]
        module = self.located(path, source)
        if module is not None:
            return self._offered_to_stars(module, name)[0]
        separator = self._unit.rules.separator
        if not self._unit.rules.imports_reach_into_types or separator not in source:
            return None
        outer, _, last = source.rpartition(separator)
        holder = self._name_from(path, outer, last)
        if holder.value is None or not self._is_class(holder.value):
            return None
        member = self._member(holder.value, name, usage)
        asked = holder.asked | member.asked
        if member.value is None or not self._is_brought(row, holder.value, member.value):
            # What a type of another file has but may not bring, or an inline module binds by imports, is not known.
            return None
        return Meaning(member.value, (*holder.chain, *member.chain), asked, is_bound=True)

    def _is_brought(self, row: tuple[Any, ...], holder: Value, member: Value) -> bool:
        """Tell whether an import of everything of a type brings a member: its types, its variants or what is static."""
        if row[_IMPORT_KIND] == _STATIC_STAR or member[0] != _TAG_DEFINITION:
            return True
        kind = self._kind(int(member[1]), member[2])
        holder_kind = self._kind(int(holder[1]), holder[2])
        if self._unit.rules.class_scope_is_visible:
            return kind in _CLASS_LIKE
        return kind not in _IS_CALLED if holder_kind == _ENUM else holder_kind not in {_CLASS, _TYPE}

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
        return meaning, meaning.is_bound

    def _import(self, file_id: int, number: int, usage: int | None = None) -> Meaning:
        """Return what an import binds."""
        row = self._outline(file_id).import_rows[number]
        source, imported_name, alias = row[1], row[2], row[3]
        path = self._unit.files[file_id].path
        step = (_STEP_IMPORT, file_id, number)
        if imported_name is None:
            if self._unit.rules.binds_first_part and alias is None:
                source = source.split(self._unit.rules.separator)[0]
            module = self.located(path, source)
            if module is None:
                return _NOTHING
            return Meaning((_TAG_MODULE, module, NONE), (step,), frozenset((module,)))
        meaning = self._name_from(path, source, imported_name, usage)
        return Meaning(meaning.value, (step, *meaning.chain), meaning.asked)

    def _name_from(self, path: str, source: str, name: str, usage: int | None = None) -> Meaning:
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
        meaning = self._member(holder.value, name, usage)
        return Meaning(meaning.value, (*holder.chain, *meaning.chain), holder.asked | meaning.asked)

    def _expression(self, file_id: int, outline: Outline, number: int) -> Meaning:
        """Return the meaning of an expression; a chain of members is followed from its first name on."""
        names = []
        while outline.expression(number)[0] == _OP_MEMBER:
            usage = outline.usages.get(number)
            _, number, name = outline.expression(number)
            names.append((name, usage))
        meaning = self._first(file_id, outline, number)
        for name, usage in reversed(names):
            if meaning.value is None:
                return Meaning(None, (), meaning.asked)
            member = self._member(meaning.value, name, usage)
            meaning = Meaning(member.value, meaning.chain + member.chain, meaning.asked | member.asked)
        return self._as_definition(meaning)

    def _first(self, file_id: int, outline: Outline, number: int) -> Meaning:
        op, operand, name = outline.expression(number)
        if op == _OP_DEFINITION:
            return Meaning((_TAG_DEFINITION, file_id, operand), (), _NONE_ASKED)
        usage = outline.usages.get(number)
        if op == _OP_IMPORT:
            return self._import(file_id, operand, usage)
        if op == _OP_FREE:
            return self._free_name(file_id, outline, number)
        if op == _OP_OWN:
            meaning = self._name_in_file(file_id, name)[0]
            return Meaning(meaning.value, ((_STEP_MODULE, file_id, NONE), *meaning.chain), meaning.asked)
        return self._class_member(file_id, operand, name, usage, skip_own=op == _OP_SUPER)

    def _free_name(self, file_id: int, outline: Outline, number: int) -> Meaning:
        """Return what a name means that nothing in its file binds."""
        _, class_around, name = outline.expression(number)
        usage = outline.usages.get(number)
        rules = self._unit.rules
        asked = _NONE_ASKED
        if class_around != NONE and rules.class_scope_is_visible:
            meaning = self._class_member(file_id, class_around, name, usage)
            asked |= meaning.asked
            if meaning.value is not None:
                return meaning
            if _is_call(usage) and self._may_inherit(file_id, class_around):
                return Meaning(None, (), asked)
        own = self._unit.files[file_id].modules if rules.own_module_before_stars else ()
        others = [one for one in self._unit.linker.implicit_modules(self._unit.files[file_id].path) if one not in own]
        meaning = self._implicit(file_id, own, name, usage)
        # What `export * from` passes on is not seen in the file itself.
        if meaning.value is None and not rules.exports_are_explicit:
            asked |= meaning.asked
            meaning, is_bound = self._from_stars(file_id, outline, name, usage)
            if is_bound:
                return Meaning(meaning.value, meaning.chain, asked | meaning.asked)
        if meaning.value is None:
            asked |= meaning.asked
            meaning = self._implicit(file_id, others, name, usage)
        return Meaning(meaning.value, meaning.chain, asked | meaning.asked)

    def _implicit(self, file_id: int, modules: Iterable[str], name: str, usage: int | None) -> Meaning:
        """Return what a name means in the first of some modules that has it."""
        asked = _NONE_ASKED
        if _is_call(usage):
            # Modules have no methods, where methods are apart.
            return Meaning(None, (), asked)
        for module in modules:
            meaning = self.lookup(module, name)
            asked |= meaning.asked
            if meaning.value is not None:
                return Meaning(meaning.value, ((_STEP_MODULE, file_id, NONE), *meaning.chain), asked)
        return Meaning(None, (), asked)

    def _may_inherit(self, file_id: int, class_around: int) -> bool:
        """Tell whether a class, or one around it, may inherit a name from something that is not known."""
        is_nested = "." in self._outline(file_id).definition_rows.column(PATH)[class_around]
        return is_nested or None in self._order_of(file_id, class_around).types

    def _as_definition(self, meaning: Meaning) -> Meaning:
        """Return what a module as a whole is set to instead of the module, where it was loaded as a whole."""
        if meaning.value is None or meaning.value[0] != _TAG_MODULE or not meaning.chain:
            return meaning
        step, file_id, number = meaning.chain[-1]
        if step != _STEP_IMPORT or self._outline(file_id).import_rows[number][_IMPORT_KIND] not in _LOADS_WHOLE:
            return meaning
        default = self._whole(str(meaning.value[1]))
        if default.value is None:
            return Meaning(meaning.value, meaning.chain, meaning.asked | default.asked)
        return Meaning(default.value, meaning.chain + default.chain, meaning.asked | default.asked)

    def _member(self, holder: Value, name: str, usage: int | None = None) -> Meaning:
        """Return a member of a module, a type or a value of a known type."""
        tag, place, number = holder
        if tag in _OF_SEVERAL:
            return _NOTHING
        if tag == _TAG_MODULE:
            meaning = self.lookup(str(place), name)
            return meaning if meaning.value is not None else self._member_of_default(str(place), name, meaning)
        file_id = int(place)
        outline = self._outline(file_id)
        kind = outline.kinds[number]
        # What is called through the name of a trait is done by one of its implementations.
        is_of_trait = kind == _TRAIT and tag == _TAG_DEFINITION
        is_function = kind == _FUNCTION and self._unit.rules.statics_are_apart
        if not is_of_trait and (tag == _TAG_INSTANCE or is_function or self._is_type(kind)):
            return self._class_member(file_id, number, name, usage, of_class=tag != _TAG_INSTANCE)
        if kind not in _HOLDS_VALUE:
            return _NOTHING
        if number in outline.members:
            return self._class_member(file_id, number, name, usage)
        return self._member_of_value(file_id, outline, number, name, usage)

    def _member_of_value(self, file_id: int, outline: Outline, number: int, name: str, usage: int | None) -> Meaning:
        """Return a member of the type that a variable is declared to hold."""
        instance = self._type_of(file_id, outline, number)
        if instance.value is None:
            return Meaning(None, (), instance.asked)
        meaning = self._class_member(int(instance.value[1]), instance.value[2], name, usage, of_class=False)
        if not instance.chain and not instance.asked:
            return meaning
        return Meaning(meaning.value, (*instance.chain, *meaning.chain), instance.asked | meaning.asked)

    def _type_of(self, file_id: int, outline: Outline, number: int) -> Meaning:
        """Return the type that a variable is declared to hold, or that a function returns."""
        instance_of = outline.definition_rows.column(INSTANCE_OF)[number]
        if instance_of != NONE:
            return Meaning((_TAG_INSTANCE, file_id, instance_of), (), _NONE_ASKED)
        key = (file_id, number)
        known = self._types.get(key)
        if known is not None:
            return known
        if key in self._types_in_question or len(self._types_in_question) > _MAX_RESULTS:
            # What depends on itself, as only wrong code does, and what takes too many steps, has no known type.
            return _NOTHING
        self._types_in_question.add(key)
        answer = self._declared_type(file_id, outline, number)
        self._types_in_question.discard(key)
        if not self._types_in_question and not self._depth:
            self._types[key] = answer
        return answer

    def _declared_type(self, file_id: int, outline: Outline, number: int) -> Meaning:
        expression = outline.type_expressions.get(number, NONE)
        if expression == NONE:
            return _NOTHING
        meaning = self._expression(file_id, outline, expression)
        if meaning.value is None or meaning.value[0] != _TAG_DEFINITION:
            return Meaning(None, (), meaning.asked)
        _, place, definition = meaning.value
        kind = outline.kinds[number]
        if self._kind(int(place), definition) in _IS_CALLED and kind not in _IS_CALLED:
            result = self._type_of(int(place), self._outline(int(place)), definition)
            chain = ((_STEP_TYPE, file_id, number), *meaning.chain, *result.chain)
            return Meaning(result.value, chain, meaning.asked | result.asked)
        holder = self._outline(int(place))
        is_written_out = definition in holder.members
        if not self._is_class(meaning.value) and not is_written_out:
            return Meaning(None, (), meaning.asked)
        row = holder.definition_rows[definition]
        is_parameter = row[_KIND] == _TYPE and not row[SIGNATURE] and not is_written_out
        if is_parameter and kind in _OPEN_TO_PARAMETERS:
            # Only the user of the object or the caller of the function knows the value of a type parameter.
            return Meaning(None, (), meaning.asked)
        chain = ((_STEP_TYPE, file_id, number), *meaning.chain)
        return Meaning((_TAG_INSTANCE, place, definition), chain, meaning.asked)

    def _member_of_default(self, module: str, name: str, missed: Meaning) -> Meaning:
        """Return a member of what a module as a whole is set to (`module.exports = …`)."""
        if not self._unit.rules.exports_are_explicit:
            return missed
        default = self._whole(module)
        if default.value is None:
            return Meaning(None, (), missed.asked | default.asked)
        member = self._member(default.value, name)
        return Meaning(member.value, default.chain + member.chain, missed.asked | default.asked | member.asked)

    def _whole(self, module: str) -> Meaning:
        """Return what a module as a whole is set to, nothing when it is an object of its exports."""
        rows = [row for one in self._unit.files_of(module) for row in self._outline(one).export_rows]
        if not any(row[0] == _DEFAULT and row[4] in _WHOLE_MODULE for row in rows):
            return Meaning(None, (), frozenset((module,)))
        default = self._as_definition(self.lookup(module, _DEFAULT))
        if default.value is None or default.value[0] == _TAG_MODULE:
            return Meaning(None, (), default.asked | {module})
        return default

    def _class_member(
        self,
        file_id: int,
        number: int,
        name: str,
        usage: int | None = None,
        *,
        skip_own: bool = False,
        of_class: bool | None = None,
    ) -> Meaning:
        """Return a member of a type or of its bases, in the order in which the language looks at them.

        `of_class` says whether it is asked of the class itself or of an instance, None when that is not known.
        """
        key = (file_id, number, name, usage, skip_own, of_class)
        known = self._members.get(key)
        if known is None:
            known = self._found_member(file_id, number, name, usage, skip_own=skip_own, of_class=of_class)
            if not self._depth and not self._types_in_question:
                self._members[key] = known
        return known

    def _found_member(
        self, file_id: int, number: int, name: str, usage: int | None, *, skip_own: bool, of_class: bool | None
    ) -> Meaning:
        rules = self._unit.rules
        if rules.nearest_depth_wins:
            return self._least_deep_member(file_id, number, name)
        if rules.choose_method is not None and _is_call(usage):
            return self._method(file_id, number, name, usage or 0, skip_own=skip_own)
        order, asked = self._order_of(file_id, number)
        for position, one in enumerate(order):
            if one is None:
                break
            held = self._held.get(one)
            if held is None:
                held = self._held_names(one)
            if name not in held or (position == 0 and skip_own):
                continue
            places = self._fitting_members(one, name, usage, of_class=of_class)
            if name in self._outline(one[0]).dynamic_members.get(one[1], ()):
                break
            if not places:
                continue
            if self._is_open(places, order[position + 1 :], name):
                break
            step = _STEP_MEMBER if position == 0 else _STEP_BASE
            return Meaning((self._tag_of(places), *places[0]), ((step, file_id, number),), asked)
        return Meaning(None, (), asked)

    def _is_open(self, places: list[tuple[int, int]], bases: tuple[tuple[int, int] | None, ...], name: str) -> bool:
        """Tell whether it cannot be told which of its members a type means by a name."""
        if len(places) > 1:
            return not self._are_alternatives(places)
        return self._kind(*places[0]) in _ASSIGNED and self._has_property(bases, name)

    def _tag_of(self, places: list[tuple[int, int]]) -> int:
        is_one = len(places) == 1 or all(self._kind(*place) == _PROPERTY for place in places)
        return _TAG_DEFINITION if is_one else _TAG_ALTERNATIVES

    def _are_alternatives(self, places: list[tuple[int, int]]) -> bool:
        """Tell whether members of a type are alternatives of one: getter and setter, or one for each condition."""
        if all(self._kind(*place) == _PROPERTY for place in places):
            return True
        file_id, first = places[0]
        rules = self._unit.rules
        if rules.members_stand_in_module:
            # Methods of one type in different files of a package are for different systems (Go).
            owners = {self._outline(file).definition_rows.column(PATH)[one] for file, one in places}
            return len(owners) == 1 and len({file for file, _ in places}) == len(places)
        known = alternatives_in(self._outline(file_id), first, rules)
        return all(file == file_id and one in known for file, one in places)

    def _has_property(self, bases: tuple[tuple[int, int] | None, ...], name: str) -> bool:
        """Tell whether a base has a property of a name: `self.x = …` below it may then be a call of its setter."""
        for one in bases:
            if one is None:
                return False
            held = self._held.get(one)
            if held is None:
                held = self._held_names(one)
            if name in held and any(self._kind(*place) == _PROPERTY for place in self._own_members(*one, name)):
                return True
        return False

    def _fitting_members(
        self, holder: tuple[int, int], name: str, usage: int | None, *, of_class: bool | None
    ) -> list[tuple[int, int]]:
        """Return the members of a name that a type itself has and that can be meant by how it is used."""
        rules = self._unit.rules
        places = self._own_members(*holder, name)
        if places and of_class is not None and rules.statics_are_apart and self._kind(*holder) in _HAS_INSTANCES:
            places = [one for one in places if self._is_static(*one) is of_class]
        if places and rules.methods_are_apart:
            places = [one for one in places if _fits(self._kind(*one), usage, of_class=of_class)]
        return places

    def _method(self, file_id: int, number: int, name: str, n_arguments: int, *, skip_own: bool) -> Meaning:
        """Return the method of a type or of its bases that a call with this number of arguments means."""
        choose = self._unit.rules.choose_method
        order, asked = self._order_of(file_id, number)
        places: list[tuple[int, int]] = []
        offers: list[MethodOffer] = []
        for one in order[1:] if skip_own else order:
            if one is None:
                break
            above = frozenset(base for base in self._order_of(*one).types[1:] if base is not None)
            methods = [place for place in self._own_members(*one, name) if _fits(self._kind(*place), n_arguments)]
            if any(self._kind(*place) != _PROPERTY for place in methods):
                methods = [place for place in methods if self._kind(*place) != _PROPERTY]
            for place in methods:
                row = self._outline(place[0]).definition_rows[place[1]]
                signature = "()" if row[_KIND] == _PROPERTY else row[SIGNATURE]
                offers.append(MethodOffer(signature, row[DECORATORS], one, DefinitionKind(self._kind(*one)), above))
                places.append(place)
        if choose is None or not offers:
            return Meaning(None, (), asked)
        open_types = tuple(self._open_types(order)) if None in order else ()
        chosen = choose(Choice(name, tuple(offers), n_arguments, open_types))
        if chosen is None:
            return Meaning(None, (), asked)
        step = _STEP_MEMBER if offers[chosen].holder == (file_id, number) else _STEP_BASE
        return Meaning((_TAG_DEFINITION, *places[chosen]), ((step, file_id, number),), asked)

    def _open_types(self, order: tuple[tuple[int, int] | None, ...]) -> Iterable[OpenType]:
        """Yield the types of an order that have bases which are not known."""
        for one in order:
            if one is not None:
                bases, _ = self._bases_of(*one)
                row = self._outline(one[0]).definition_rows[one[1]]
                # Bases that are known but contradict each other are as good as unknown.
                if None in bases or len(order) == 2:
                    unknown = bases.index(None) if None in bases else 0
                    yield OpenType(DefinitionKind(row[_KIND]), row[SIGNATURE], unknown)

    def _least_deep_member(self, file_id: int, number: int, name: str) -> Meaning:
        """Return the member of a type or of what it embeds that is the least deep; one of several is not chosen.

        Something unknown may have the member, and then hides what is deeper; beside it the code would be wrong.
        """
        asked = frozenset(self._unit.files[file_id].modules[:1])
        level = [(file_id, number, True)]
        seen: set[tuple[int, int]] = set()
        is_unknown = False
        step = _STEP_MEMBER
        while level and len(seen) < _MAX_BASES:
            found: list[tuple[int, int]] = []
            below: list[tuple[int, int, bool]] = []
            is_unknown_below = False
            while level:
                place, one, has_methods = level.pop()
                if (place, one) in seen:
                    continue
                seen.add((place, one))
                found += self._own_members(place, one, name, with_outside=has_methods)
                row = self._outline(place).definition_rows[one]
                bases, asked_here = self._bases_of(place, one)
                asked |= asked_here
                # An interface has the methods of those it embeds, and a type what it is made of, as their own; but a
                # type that is made of another, and not just another name for it, has none of its methods.
                is_level = row[_KIND] in {_TYPE, _INTERFACE}
                inherits = row[_KIND] != _TYPE or "=" in row[SIGNATURE]
                for base in bases:
                    if base is None:
                        is_unknown |= is_level
                        is_unknown_below |= not is_level
                    else:
                        (level if is_level else below).append((*base, has_methods and inherits if is_level else True))
            if found and self._are_alternatives(places := sorted(set(found), key=found.index)):
                return Meaning((self._tag_of(places), *places[0]), ((step, file_id, number),), asked)
            if found or is_unknown:
                break
            level, is_unknown, step = below, is_unknown_below, _STEP_BASE
        return Meaning(None, (), asked)

    def _bases_of(self, file_id: int, number: int) -> tuple[tuple[tuple[int, int] | None, ...], frozenset[str]]:
        """Return the direct bases of a type, None for one that is not known, and the modules asked."""
        known = self._bases.get((file_id, number))
        if known is not None:
            return known
        outline = self._outline(file_id)
        asked = frozenset(self._unit.files[file_id].modules[:1])
        bases: list[tuple[int, int] | None] = []
        for expression in outline.base_expressions.get(number, ()):
            base = self._expression(file_id, outline, expression) if expression != NONE else _NOTHING
            asked |= base.asked
            is_type = base.value is not None and base.value[0] == _TAG_DEFINITION and self._is_class(base.value)
            bases.append((int(base.value[1]), base.value[2]) if base.value is not None and is_type else None)
        answer = (tuple(bases), asked)
        if not self._depth:
            self._bases[file_id, number] = answer
        return answer

    def _kind(self, file_id: int, number: int) -> int:
        return self._outline(file_id).kinds[number]

    def _is_static(self, file_id: int, number: int) -> bool:
        outline = self._outline(file_id)
        rows = outline.definition_rows
        # What a merged namespace adds belongs to the class, not to its instances.
        is_added = bool(rows.column(OWNER)[number]) and outline.kinds[number] not in _OF_INSTANCES
        return is_added or _STATIC in rows.column(DECORATORS)[number]

    def _held_names(self, holder: tuple[int, int]) -> frozenset[str]:
        """Return all names that a type itself has members of, so that most bases need not be looked at any closer."""
        file_id, number = holder
        outline = self._outline(file_id)
        names = set(outline.members.get(number, ())).union(outline.dynamic_members.get(number, ()))
        names.update(name for _, owned in self._owned_outside(file_id, number) for name in owned)
        found = self._held[holder] = frozenset(names)
        return found

    def _own_members(self, file_id: int, number: int, name: str, *, with_outside: bool = True) -> list[tuple[int, int]]:
        """Return the members of a name in the body of a type and, with those outside, in its file or module."""
        found = [(file_id, one) for one in self._outline(file_id).members.get(number, {}).get(name, ())]
        if with_outside:
            for other, owned in self._owned_outside(file_id, number):
                found.extend((other, one) for one in owned.get(name, ()))
        return found

    def _owned_outside(self, file_id: int, number: int) -> Iterator[tuple[int, dict[str, list[int]]]]:
        """Yield the members of a type that are written outside its body, by file and name."""
        rules = self._unit.rules
        if not rules.members_may_be_outside:
            return
        path = self._outline(file_id).definition_rows.column(PATH)[number]
        others: Iterable[int] = (file_id,)
        if rules.members_stand_in_module:
            modules = self._unit.files[file_id].modules
            others = dict.fromkeys(other for module in modules for other in self._unit.files_of(module)) or others
        for other in others:
            owned = self._outline(other).owned.get(path)
            if owned is not None:
                yield other, owned

    def _order_of(self, file_id: int, number: int) -> Order:
        """Return a type and its bases in the order of look-up; None means unknown bases."""
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
            # The bases of types that are bases of each other are not known, of none of them: which one was asked first
            # must not show.
            level = self._open[key]
            self._lowest_open = min(self._lowest_open, level)
            self._in_circles.update(one for one, other in self._open.items() if other >= level)
            return Order((key, None), frozenset(self._unit.files[file_id].modules[:1]))
        self._enter(key)
        answer = self._work_out_order(file_id, number)
        if key in self._in_circles:
            answer = Order((key, None), answer.asked)
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
            if base.value is None or base.value[0] != _TAG_DEFINITION or not self._is_class(base.value):
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
        """Tell whether a definition is a type that has members: a class or the like, or a name made for one."""
        return value[0] not in _OF_SEVERAL and self._is_type(self._kind(int(value[1]), value[2]))

    def _is_type(self, kind: int) -> bool:
        return kind in _CLASS_LIKE or (kind == _TYPE and not self._unit.rules.exports_are_explicit)


def _start_of(outline: Outline, kind: int, target: int) -> int:
    """Return the offset of a definition or an import."""
    return int(outline.definition_rows.column(START)[target] if kind == _DEF else outline.import_rows[target][6])


def _is_call(usage: int | None) -> bool:
    return usage is not None and usage >= CALLED


def _fits(kind: int, usage: int | None, *, of_class: bool | None = None) -> bool:
    """Tell whether a member of a kind can be used so, in a language that tells methods from fields by it."""
    if usage is None:
        return not of_class or kind != _FIELD
    if usage == AS_TYPE:
        return kind in _CLASS_LIKE or kind == _TYPE
    return kind == _PROPERTY or (kind in _IS_CALLED) == (usage != READ)


def _is_conditional(outline: Outline, kind: int, target: int) -> bool:
    """Tell whether a name is bound under a condition, so that another condition may bind it differently."""
    if kind == _IMPORT:
        return bool(outline.import_rows[target][_IS_CONDITIONAL])
    return kind == _DEF and any(
        one.startswith(UNDER_CONDITION) for one in outline.definition_rows.column(DECORATORS)[target]
    )


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
