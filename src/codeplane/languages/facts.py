"""What one file says about itself: the result of extracting facts from its syntax, whatever the language.

Everything here depends on the file's bytes alone, never on its path or on other files, so that facts can be shared by
content between branches and working trees. Positions are byte offsets into the file; lines follow from the text, which
is kept beside the facts. Indexes (`scope`, `parent`, `target`, `bind`) point into the lists of the same `FileFacts`.

Rows are tuples because a repository has millions of them: `NamedTuple` where there are few, a plain tuple for
references, of which there is one per identifier.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

# What may be in the `receiver` of a reference besides the start of the reference before the dot.
NO_RECEIVER: Final = -1  # a plain name
EXPRESSION: Final = -2  # something that is not a chain of names: `f().x`, `a[0].x`
KEYWORD: Final = -3  # the name of an argument, a field in a literal, a key: it belongs to something not written here
SUPER: Final = -4  # the bases of the enclosing class: `super().x`
THIS: Final = -5  # an instance of the enclosing class, where the language has a word for it that is not a parameter

NONE: Final = -1  # no scope, no target, no bind
# How a name is used, besides the number of arguments of a call.
CALLED: Final = -1  # as a function, with a number of arguments that is not known
READ: Final = -2  # as a value or as the start of a path, not called
AS_TYPE: Final = -3  # as a type
STAR: Final = "*"  # the imported name of an import of everything


class _Labelled(IntEnum):
    """A small number in storage, a word in answers."""

    @property
    def label(self) -> str:
        """Return the word that the specification uses."""
        return self.name


class DefinitionKind(IntEnum):
    """What is defined."""

    MODULE = 0
    CLASS = 1
    INTERFACE = 2
    ENUM = 3
    FUNCTION = 4
    METHOD = 5
    PROPERTY = 6
    VARIABLE = 7
    CONSTANT = 8
    PARAMETER = 9
    TYPE = 10
    STRUCT = 11
    TRAIT = 12
    FIELD = 13
    MACRO = 14
    HEADING = 15
    KEY = 16
    BLOCK = 17
    STATEMENT = 18

    @property
    def label(self) -> str:
        """Return the word that answers use."""
        return self.name.lower()


class ReferenceRole(_Labelled):
    """What an identifier does in its place."""

    REFERENCE = 0
    DEFINITION = 1
    IMPORT = 2
    EXPORT = 3


class BindTarget(_Labelled):
    """What a name is bound to."""

    DEF = 0
    IMPORT = 1
    UNKNOWN = 2


class BindReason(_Labelled):
    """Why a name is bound."""

    PARAM = 0
    LOCAL_ASSIGN = 1
    DEF_IN_SCOPE = 2
    IMPORT_ALIAS = 3


class Certainty(_Labelled):
    """Whether the syntax leaves a doubt."""

    CERTAIN = 0
    UNCERTAIN = 1


class Scope(NamedTuple):
    """A region in which names are bound; the first row is the file's own, the only one whose parent is NONE."""

    kind: str
    parent: int
    start: int
    end: int


class Definition(NamedTuple):
    """Something with a name.

    `scope` is where the name is bound (for a member: the body of its class), `body_scope` the scope it opens.
    `lexical_path` is the dotted nesting, such as `Class.method`. `signature` is the text of parameters, return type
    and bases with white space folded. `owner` is the lexical path of the type of a member that is outside of the
    type's body (a Go method, a Rust impl item). `bases` are the starts of the references that name the base types, NONE
    for a base that is not a chain of names. A variable may say what it is an instance of: `instance_of` is a definition
    of this file (`self`), `type_ref` the start of the reference that names its declared type, or the function whose
    result it is; the `type_ref` of a function names the type of its result.
    """

    kind: DefinitionKind
    name: str
    lexical_path: str
    start: int
    end: int
    name_start: int
    scope: int
    body_scope: int = NONE
    signature: str = ""
    decorators: tuple[str, ...] = ()
    documentation: str = ""
    owner: str = ""
    bases: tuple[int, ...] = ()
    instance_of: int = NONE
    type_ref: int = NONE


def plain_definition(  # noqa: PLR0913, PLR0917 - the fields of a definition that is little more than its name
    kind: DefinitionKind,
    name: str,
    path: str,
    start: int,
    end: int,
    scope: int,
    instance_of: int = NONE,
    type_ref: int = NONE,
) -> Definition:
    """Return the definition of something that is just a name, such as a parameter.

    By the generated way it takes twice as long, which shows where it is done for every variable.
    """
    fields = (kind, name, path, start, end, start, scope, NONE, "", (), "", "", (), instance_of, type_ref)
    return tuple.__new__(Definition, fields)


# An identifier in its place: start, name, scope, role, receiver, bind.
# `receiver` is the start of the reference before the dot, or one of the codes above; `bind` points to the bind that the
# language's scoping rules give a plain name, NONE when there is none.
Reference = tuple[int, str, int, int, int, int]


class LocalBind(NamedTuple):
    """A name bound in a scope.

    `target` is the index of the definition or import; a name bound several times has one bind per place, and is
    CERTAIN only if the syntax leaves exactly one definition or import it can mean.
    """

    scope: int
    name: str
    target_kind: BindTarget
    target: int
    certainty: Certainty
    reason: BindReason


class Import(NamedTuple):
    """One imported name.

    `source` is the module text as written, dots of a relative import included; `imported_name` is None when the
    module itself is imported and `*` for all of its names; `alias` is the local name if it differs.
    `is_conditional` marks imports inside `if`, `try` and functions.
    """

    scope: int
    source: str
    imported_name: str | None
    alias: str | None
    kind: str
    certainty: Certainty
    start: int
    end: int
    is_conditional: bool = False


class Export(NamedTuple):
    """A name that the file explicitly offers to others, such as an entry of a literal `__all__` or an `export`.

    An empty name says that the list could not be read completely, for the reason given as evidence.
    """

    name: str
    target_kind: BindTarget
    target: int
    certainty: Certainty
    evidence: str


class DynamicAccess(NamedTuple):
    """A place that reads or writes names in ways the syntax does not show."""

    pattern: str
    start: int
    end: int
    literals: tuple[str, ...]
    has_non_literal_key: bool


@dataclass(slots=True)
class FileFacts:
    """All facts of one file.

    References are in the order of the source, binds are sorted by scope. `package` is what the file declares itself to
    belong to (`package a.b;`), empty where a language has no such line. `usages` says how references are used, by their
    start: the number of arguments of a call or one of the codes above; only where a language tells methods from fields
    by it, and only for references that others may have to be asked about. `n_errors` counts the places the grammar
    could not understand; `problem` says why there are no facts, and then there are none at all. `n_nodes`,
    `n_root_children` and `has_content` (something besides comments and errors) tell how well the file parses, and
    `error_starts` where the first few errors are; `parsing` fills them in.
    """

    scopes: list[Scope]
    definitions: list[Definition] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    binds: list[LocalBind] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    exports: list[Export] = field(default_factory=list)
    dynamic: list[DynamicAccess] = field(default_factory=list)
    usages: dict[int, int] = field(default_factory=dict)
    package: str = ""
    n_errors: int = 0
    problem: str = ""
    n_nodes: int = 0
    n_root_children: int = 0
    has_content: bool = False
    error_starts: tuple[int, ...] = ()


def no_facts(source: bytes, problem: str) -> FileFacts:
    """Return what is said of a file that could not be read as its language."""
    return FileFacts([Scope("file", NONE, 0, len(source))], problem=problem)
