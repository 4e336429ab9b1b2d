"""What a query says about its language as a whole, in the properties of its first pattern."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from codeplane.languages.facts import KEYWORD, SUPER, THIS, DefinitionKind
from codeplane.languages.queries.comments import CommentStyle

# What a name may mean by its syntax alone: something with a value, a type, a tag of C, a member.
VALUE: Final = 0
TYPE: Final = 1
TAG: Final = 2
MEMBER: Final = 3
SPACES: Final = {"value": VALUE, "type": TYPE, "tag": TAG}

# The kinds of scopes.
FILE: Final = "file"
MODULE: Final = "module"
CLASS: Final = "class"
HEADER: Final = "header"
FUNCTION: Final = "function"
LAMBDA: Final = "lambda"
BLOCK: Final = "block"

_TYPE_KINDS: Final = "class interface enum struct trait type"
_RECEIVERS: Final = {"this": THIS, "super": SUPER, "keyword": KEYWORD}


@dataclass(frozen=True, slots=True)
class SymbolRules:
    """How names are found in a language.

    `ordered` are the kinds of scopes in which a name is seen only after its definition. `closed_to_values` are those
    through which only types are looked up further out. `blocked_in` are those through which names of the file and of
    modules are not looked up, because members that are not written there would come first. `doubtful` are the kinds
    that the file or a module never defines for certain, because others of the same name may be elsewhere.
    `assigned_through` are the kinds of scopes whose assignments reach variables around them.
    `types_are_values`: a plain name may mean a type as well. `type_kinds` are the kinds that are looked up as types.

    `separators` are between a receiver and a member, the longest first; `suffixes` may be between the receiver and the
    separator, white space not before those that are `tight`. `leading` says what a member with nothing before its
    separator is. `receiver_words` are names that mean a receiver, where the grammar has no node for them. `names` fits
    what is a name at all.
    `type_steps` says, by the kind of a node, how to get from a type to its name: `here`, `field NAME`, or `first` or
    `last` with the kinds of the children that count.
    """

    comments: CommentStyle
    ordered: frozenset[str]
    closed_to_values: frozenset[str]
    blocked_in: frozenset[str]
    doubtful: frozenset[DefinitionKind]
    assigned_through: frozenset[str]
    types_are_values: bool
    type_kinds: frozenset[DefinitionKind]
    separators: tuple[str, ...]
    suffixes: str
    tight: frozenset[str]
    leading: Mapping[str, int]
    receiver_words: Mapping[str, int]
    names: re.Pattern[str] | None
    type_steps: Mapping[str, tuple[str, tuple[str, ...]]]


def symbol_rules(settings: Mapping[str, str | None], comments: CommentStyle) -> SymbolRules:
    """Read the properties that a query sets for the whole file."""

    def listed(name: str) -> frozenset[str]:
        return frozenset((settings.get(name) or "").split())

    return SymbolRules(
        comments,
        ordered=listed("ordered"),
        closed_to_values=listed("closed-to-values"),
        blocked_in=listed("blocked-in"),
        doubtful=_kinds(settings.get("doubtful")),
        assigned_through=listed("assigned-through"),
        types_are_values="types-apart" not in settings,
        type_kinds=_kinds(settings.get("type-kinds", _TYPE_KINDS)),
        separators=tuple((settings.get("separators") or "").split()),
        suffixes=settings.get("suffixes") or "",
        tight=listed("tight"),
        leading=_receivers(settings.get("leading") or ""),
        receiver_words=_receivers(settings.get("receivers") or ""),
        names=re.compile(settings["names"] or "") if "names" in settings else None,
        type_steps={
            name.removeprefix("type."): (value.split()[0], tuple(value.split()[1:]))
            for name, value in settings.items()
            if value is not None and name.startswith("type.")
        },
    )


def _kinds(text: str | None) -> frozenset[DefinitionKind]:
    return frozenset(DefinitionKind[word.upper()] for word in (text or "").split())


def _receivers(text: str) -> dict[str, int]:
    """Read `. keyword self this` as pairs."""
    listed = text.split()
    return {word: _RECEIVERS[meaning] for word, meaning in zip(listed[::2], listed[1::2], strict=True)}
