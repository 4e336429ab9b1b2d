"""What a file offers to others and asks of them: the part of its facts that linking and definition answers need.

An expression says what a name or a chain of names is, in terms of this file: a definition, an import, a name bound
nowhere, a member of another expression. Linking decides what each expression means; references only point to them.
"""

from dataclasses import dataclass
from enum import IntEnum
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

FORMAT: Final = 7


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


@dataclass(slots=True)
class Outline:
    """The outline of one text.

    Rows are plain tuples in the order of the types they become, because linking reads hundreds of thousands of them.
    `file_binds` gives for each name of the file's own scope what it is bound to: target kind, target, certainty.
    `members` gives for each class-like definition its members by name; a name defined several times has several.
    `owned` gives members that stand outside of their type, by the type's lexical path. `usages` says how expressions
    are used, where their language tells methods from fields by it. `base_expressions` gives for each
    class-like definition its bases, NONE for one that is no chain of names. `type_expressions` gives the declared type
    of variables. `dynamic_members` names members that are also assigned dynamically.
    `stars` are the numbers of the imports of everything. `expression_uses` counts the references of each expression.
    `siblings` tells definitions of the same kind, path and signature apart. The first `n_visible` definitions
    can be named by others; the rest are local to functions. `quality` is what the parse tells: nodes, errors, whether
    there is anything but comments and errors, children of the root.
    """

    definition_rows: list[tuple[Any, ...]]
    lines: list[tuple[int, int, int, int]]
    siblings: list[int]
    n_visible: int
    import_rows: list[tuple[Any, ...]]
    export_rows: list[tuple[Any, ...]]
    dynamic_rows: list[tuple[Any, ...]]
    expressions: list[Expression]
    expression_uses: list[int]
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
