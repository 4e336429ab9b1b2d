"""The raw rows that the walk over a file writes down, before it is known what each name means."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from codeplane.languages.facts import NONE, BindReason, BindTarget, Definition, DynamicAccess, Import

FILE: Final = "file"
FUNCTION: Final = "function"
BLOCK: Final = "block"
CATCH: Final = "catch"
FOR: Final = "for"
WITH: Final = "with"
CLASS: Final = "class"
OBJECT: Final = "object"
INTERFACE: Final = "interface"
ENUM: Final = "enum"
MODULE: Final = "module"
TYPE: Final = "type"
TYPE_PARAMETERS: Final = "type_parameters"
OWN_NAME: Final = "own_name"  # around a named function or class expression: holds only that name
REEXPORT: Final = "reexport"  # an `export … from`: what it names is bound nowhere else

# The spaces in which a name is looked up: TypeScript keeps values, types and namespaces apart.
VALUES: Final = 0
TYPES: Final = 1
NAMESPACES: Final = 2
ANY_SPACE: Final = 3
NO_SPACE: Final = 4

IN_VALUES: Final = 1 << VALUES
IN_TYPES: Final = 1 << TYPES
IN_NAMESPACES: Final = 1 << NAMESPACES
IN_ALL: Final = IN_VALUES | IN_TYPES | IN_NAMESPACES

# Whether a class has a member on its instances, on itself, or both.
ON_INSTANCE: Final = 1
ON_CLASS: Final = 2

# An identifier: start, name, scope, role, receiver, space. A plain tuple, because there is one for every identifier.
NameRow = tuple[int, str, int, int, int, int]


# How a name is declared, which decides with what it may share the name. Plain numbers: the hash of an enum's member is
# computed in Python, and there are several look-ups for every declaration.
VAR: Final = 0
PARAMETER: Final = 1
LEXICAL: Final = 2
FUNCTION_NAME: Final = 3
SIGNATURE: Final = 4
CLASS_NAME: Final = 5
ENUM_NAME: Final = 6
MODULE_NAME: Final = 7
INTERFACE_NAME: Final = 8
ALIAS_NAME: Final = 9
IMPORTED: Final = 10
HOISTED: Final = 11  # a function in a block, as sloppy scripts see it from outside of the block

# The spaces of each flavour, in the order of their numbers.
SPACES_OF: Final = (
    IN_VALUES,
    IN_VALUES,
    IN_VALUES,
    IN_VALUES,
    IN_VALUES,
    IN_VALUES | IN_TYPES,
    IN_ALL,
    IN_VALUES | IN_NAMESPACES,
    IN_TYPES,
    IN_TYPES,
    IN_ALL,
    IN_VALUES,
)


class Place(NamedTuple):
    """A place that binds a name."""

    flavour: int
    target_kind: BindTarget
    target: int
    reason: BindReason


# What is known of an identifier before the walk comes to it: role, scope, space, receiver; a role below 0 leaves it
# out.
Mark = tuple[int, int, int, int]


class This(NamedTuple):
    """What `this` means: the class by its scope, and whether it is the class itself."""

    class_scope: int
    is_static: bool


class RawExport(NamedTuple):
    """A name offered to others, before its meaning is known.

    `local_name` is looked up in `scope`; without one the target is given.
    """

    name: str
    local_name: str
    spaces: int
    scope: int
    evidence: str
    target_kind: BindTarget = BindTarget.UNKNOWN
    target: int = NONE
    is_certain: bool = True


class Watched(NamedTuple):
    """An identifier that may load a module or show dynamic access."""

    start: int
    end: int
    name: str
    scope: int


class ScopeRow:
    """A scope while it is being filled.

    `var_home` is the scope to which a `var` in it belongs; `parameters` the scope of the parameters, where the body of
    a function is a scope of its own.
    """

    __slots__ = ("end", "kind", "members", "parameters", "parent", "path", "places", "start", "var_home")

    def __init__(self, kind: str, parent: int, extent: tuple[int, int], path: str, var_home: int) -> None:
        self.kind = kind
        self.parent = parent
        self.start, self.end = extent
        self.path = path
        self.var_home = var_home
        self.parameters = NONE
        self.places: dict[str, list[Place]] = {}
        self.members: dict[str, int] = {}


@dataclass(slots=True)
class Tables:
    """Everything the walk found.

    - `keys`: for a renamed import or export by its start, the local name that is looked up.
    - `assigned`: the starts of names that are assigned to after their declaration.
    - `demoted`: the starts of names whose definition turned out to be elsewhere.
    - `this_rows`: the numbers of the name rows that are members of `this`, with what it is.
    - `loads`: the range of imports made by the call of `require` or `import` at a start.
    - `mutable_imports`: the imports whose name is a `let` or `var`.
    - `mutable_types`: the definitions whose type is known only if nothing is assigned to them.
    - `block_functions`: functions in blocks, with the scope to which sloppy scripts hoist them.
    - `this_assignments`: the members that methods assign to, by class scope, name and extent.
    - `own_name_exports`: the exports whose target is the definition of the name that starts at a place.
    """

    scopes: list[ScopeRow] = field(default_factory=list)
    names: list[NameRow] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    exports: list[RawExport] = field(default_factory=list)
    dynamic: list[DynamicAccess] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)
    keys: dict[int, str] = field(default_factory=dict)
    assigned: set[int] = field(default_factory=set)
    demoted: set[int] = field(default_factory=set)
    this_rows: list[tuple[int, This]] = field(default_factory=list)
    loads: dict[int, tuple[int, int]] = field(default_factory=dict)
    mutable_imports: set[int] = field(default_factory=set)
    mutable_types: set[int] = field(default_factory=set)
    block_functions: list[tuple[int, str, Place]] = field(default_factory=list)
    this_assignments: list[tuple[int, str, int, int]] = field(default_factory=list)
    own_name_exports: dict[int, int] = field(default_factory=dict)
    is_strict: bool = False
    is_unordered: bool = False
    makes_require: bool = False
