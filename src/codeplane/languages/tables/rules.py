"""What is said about a language in its table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tree_sitter import Language, Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.tables.comments import SLASHES, CommentStyle
from codeplane.languages.tables.tree import ERROR_KIND, by_kind_id

if TYPE_CHECKING:
    from codeplane.languages.tables.walking import Walk

# What a node that is a name may mean by its kind alone: something with a value, a type, a tag of C, a member.
VALUE: Final = 0
TYPE: Final = 1
TAG: Final = 2
MEMBER: Final = 3
# What an action answers, or stands in the table for, when nothing inside a node counts.
SKIP: Final = 99

# An action is called when the walk comes to a node of its kind, before everything inside.
Action = Callable[["Walk", Node], int | None]

# The kinds of scopes.
FILE: Final = "file"
MODULE: Final = "module"
CLASS: Final = "class"
HEADER: Final = "header"
FUNCTION: Final = "function"
LAMBDA: Final = "lambda"
BLOCK: Final = "block"

TYPE_KINDS: Final = frozenset(
    {
        DefinitionKind.CLASS,
        DefinitionKind.INTERFACE,
        DefinitionKind.ENUM,
        DefinitionKind.STRUCT,
        DefinitionKind.TRAIT,
        DefinitionKind.TYPE,
    }
)


@dataclass(frozen=True, slots=True)
class Scoping:
    """How names are found in a language.

    `ordered` are the kinds of scopes in which a name is seen only after its definition. `closed` are the kinds through
    which no plain name is looked up further out; `closed_to_values` those through which only types are.
    `doubtful` are the kinds that a scope of the file or a module never defines for certain, because others of the same
    name may be elsewhere. `types_are_values`: a plain name may mean a type as well.
    `blocked_in` are the kinds of scopes through which names of the file and of modules are not looked up, because
    members that are not written there would come first.
    """

    ordered: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    closed_to_values: frozenset[str] = frozenset()
    blocked_in: frozenset[str] = frozenset()
    doubtful: frozenset[DefinitionKind] = frozenset()
    types_are_values: bool = True


@dataclass(frozen=True, slots=True)
class SymbolRules:
    """Everything the walk has to know about a language.

    `table` says what each kind of node does: a number for names (`VALUE`, `TYPE`, `TAG`, `MEMBER`), a receiver for the
    words that mean one (`THIS`, `SUPER`), `SKIP`, or an action. `separators` stand between a receiver and a member,
    the longest first; `suffixes` may stand between the receiver and the separator, white space not before those
    that are `tight`. `leading` says what a member with
    nothing before its separator is. `words` are names that mean a receiver, where the grammar has no node for them.
    """

    grammar: Language
    table: Mapping[int, Action | int]
    scoping: Scoping
    separators: tuple[str, ...] = (".",)
    suffixes: str = ""
    tight: frozenset[str] = frozenset()
    leading: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)
    comments: CommentStyle = SLASHES
    type_kinds: frozenset[DefinitionKind] = TYPE_KINDS


def symbol_table(grammar: Language, table: Mapping[str, Action | int]) -> dict[int, Action | int]:
    """Return a table by the numbers of the kinds, in which nothing inside an error counts."""
    return {**by_kind_id(grammar, table), ERROR_KIND: SKIP}
