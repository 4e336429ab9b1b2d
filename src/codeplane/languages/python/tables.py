"""The raw rows that the walk over a file writes down, before it is known what each name means."""

from dataclasses import dataclass, field
from typing import NamedTuple

from codeplane.languages.facts import NONE, BindReason, BindTarget, Definition, Import

FILE = "file"
CLASS = "class"
FUNCTION = "function"
LAMBDA = "lambda"
COMPREHENSION = "comprehension"
TYPE_PARAMETERS = "type_parameters"

# What an identifier does, as the walk sees it.
USE = 0
DEFINES = 1
REBINDS = 2
IMPORTS = 3
EXPORTS = 4
# In quotes: evaluated later, when every name of the file is bound.
QUOTED = 5

_NO_NAMES: frozenset[str] = frozenset()

Extent = tuple[int, int]


# An identifier: start, name, key, scope, action, receiver. The key is the name that scoping rules compare, None where
# they do not apply. A plain tuple, because one is made for every identifier and a named one costs five times as much.
NameRow = tuple[int, str, str | None, int, int, int]


class Place(NamedTuple):
    """A place that binds a name; reads in the same class body or module above `visible_from` do not see it."""

    target_kind: BindTarget
    target: int
    reason: BindReason
    visible_from: int


class Watched(NamedTuple):
    """An identifier that may show dynamic access or exports."""

    start: int
    end: int
    name: str
    key: str | None
    scope: int


class NonlocalBind(NamedTuple):
    """A binding under `nonlocal`, whose scope is known only at the end of the file."""

    scope: int
    key: str
    place: Place


@dataclass(slots=True)
class ScopeRow:
    """A scope while it is being filled."""

    kind: str
    parent: int
    extent: Extent
    path: str
    class_name: str
    places: dict[str, list[Place]] = field(default_factory=dict)
    global_names: frozenset[str] = _NO_NAMES
    nonlocal_names: frozenset[str] = _NO_NAMES
    deleted_names: frozenset[str] = _NO_NAMES
    member_names: frozenset[str] = _NO_NAMES
    self_name: str | None = None
    definition: int = NONE


@dataclass(slots=True)
class Tables:
    """Everything the walk found."""

    scopes: list[ScopeRow] = field(default_factory=list)
    names: list[NameRow] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    rebound: set[int] = field(default_factory=set)
    imports: list[Import] = field(default_factory=list)
    nonlocal_binds: list[NonlocalBind] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)
    last_star_import: int = -1
