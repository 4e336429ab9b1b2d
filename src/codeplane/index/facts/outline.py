"""What a file offers to others and asks of them: the part of its facts that linking and definition answers need.

An expression says what a name or a chain of names is, in terms of this file: a definition, an import, a name bound
nowhere, a member of another expression. Linking decides what each expression means; references only point to them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

from codeplane.languages.facts import (
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    DynamicAccess,
    Export,
    Import,
)

FORMAT: Final = 15

# How sure a name of the file's own scope is, besides the values of `Certainty`: several definitions under different
# conditions are alternatives of one symbol; one of them may also be an import.
ALTERNATIVES: Final = 2
ALTERNATIVES_OR_IMPORT: Final = 3

# The columns of definitions that are asked for by themselves.
NAME: Final = Definition._fields.index("name")
PATH: Final = Definition._fields.index("lexical_path")
START: Final = Definition._fields.index("start")
NAME_START: Final = Definition._fields.index("name_start")
SCOPE: Final = Definition._fields.index("scope")
BODY_SCOPE: Final = Definition._fields.index("body_scope")
SIGNATURE: Final = Definition._fields.index("signature")
DECORATORS: Final = Definition._fields.index("decorators")
DOCUMENTATION: Final = Definition._fields.index("documentation")
OWNER: Final = Definition._fields.index("owner")
INSTANCE_OF: Final = Definition._fields.index("instance_of")
# And of lines.
NAME_LINE: Final = 1
NAME_COLUMN: Final = 2
LAST_LINE: Final = 3


class Op(IntEnum):
    """How an expression is made; the comment names its operands."""

    DEFINITION = 0  # definition, -
    IMPORT = 1  # import, -
    FREE = 2  # class around or NONE, name
    MEMBER = 3  # expression, name
    SUPER = 4  # class around, name
    THIS = 5  # class around, name
    OWN = 6  # -, name: a name of the file's own scope that a later import of everything may hide


# An expression: operation, number, name; the name is empty where the operation takes none.
Expression = tuple[int, int, str]


class Rows(Sequence[tuple[Any, ...]]):
    """Rows that are kept by column; a column that is None is made by `make` when it is first asked for."""

    __slots__ = ("_columns", "_length", "_make")

    def __init__(
        self,
        length: int,
        columns: list[Sequence[Any] | None],
        make: "Callable[[Rows, int], Sequence[Any]] | None" = None,
    ) -> None:
        self._length = length
        self._columns = columns
        self._make = make

    def column(self, number: int) -> Sequence[Any]:
        """Return one field of all rows."""
        if not self._length:
            return ()
        found = self._columns[number]
        if found is None:
            found = self._columns[number] = self._make(self, number) if self._make is not None else ()
        return found

    def columns(self) -> list[Sequence[Any]]:
        """Return all fields."""
        return [self.column(number) for number in range(len(self._columns))]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return list(self)[number]
        return tuple([self.column(one)[number] for one in range(len(self._columns))])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns(), strict=True)


@dataclass
class Outline:
    """The outline of one text.

    Rows are plain tuples in the order of the types they become, because linking reads hundreds of thousands of them.
    `lines` gives for each definition its first line, the line and column of its name, and its last line.
    `file_binds` gives for each name of the file's own scope what it is bound to: target kind, target, certainty; of
    alternatives it gives the first definition.
    `members` gives for each class-like definition its members by name; a name defined several times has several.
    `owned` gives members that are written outside their type, by the type's lexical path. `usages` says how expressions
    are used, where their language tells methods from fields by it. `base_expressions` gives for each
    class-like definition its bases, NONE for one that is not a chain of names. `type_expressions` gives the declared
    type of variables. `dynamic_members` names members that are also assigned dynamically.
    `stars` are the numbers of the imports of everything. `expression_uses` counts the references of each expression.
    `siblings` tells definitions of the same kind, path and signature apart; the first of them is not in it. The first
    `n_visible` definitions can be named by others; the rest are local to functions. `quality` is what the parse tells:
    nodes, errors, whether there is anything but comments and errors, children of the root.
    """

    definition_rows: Rows
    lines: Rows
    siblings: dict[int, int]
    n_visible: int
    import_rows: list[tuple[Any, ...]]
    export_rows: list[tuple[Any, ...]]
    dynamic_rows: list[tuple[Any, ...]]
    expression_columns: Sequence[Sequence[Any]]
    expression_uses: Sequence[int]
    n_expressions: int
    file_binds: dict[str, tuple[int, int, int]]
    members: dict[int, dict[str, list[int]]]
    owned: dict[str, dict[str, list[int]]]
    base_expressions: dict[int, list[int]]
    type_expressions: dict[int, int]
    dynamic_members: dict[int, list[str]]
    usages: dict[int, int]
    stars: list[int]
    package: str
    quality: tuple[int, int, bool, int]
    problem: str

    @cached_property
    def kinds(self) -> Sequence[int]:
        """Return the kind of each definition."""
        return self.definition_rows.column(0)

    @property
    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions; kept as rows, those of Django took 15 MB while it was linked."""
        return zip(*self.expression_columns, strict=True)

    def expression(self, number: int) -> Expression:
        """Return an expression."""
        ops, operands, names = self.expression_columns
        return ops[number], operands[number], names[number]

    def definition(self, number: int) -> Definition:
        """Return a definition."""
        row = self.definition_rows[number]
        return Definition(DefinitionKind(row[0]), *row[1:])

    def imported(self, number: int) -> Import:
        """Return an import."""
        scope, source, name, alias, kind, certainty, start, end, is_conditional = self.import_rows[number]
        return Import(scope, source, name, alias, kind, Certainty(certainty), start, end, is_conditional)

    def exported(self, number: int) -> Export:
        """Return an export."""
        name, target_kind, target, certainty, evidence = self.export_rows[number]
        return Export(name, BindTarget(target_kind), target, Certainty(certainty), evidence)

    def dynamic_access(self, number: int) -> DynamicAccess:
        """Return a dynamic access."""
        return DynamicAccess(*self.dynamic_rows[number])
