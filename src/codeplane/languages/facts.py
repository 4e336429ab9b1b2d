"""What one file says about itself: the result of extracting facts from its syntax, whatever the language.

Everything here depends on the file's bytes alone, never on its path or on other files, so that facts can be shared by
content between branches and working trees. Positions are 1-based lines and 0-based columns in UTF-8 bytes.
Indexes (`scope`, `parent`, `target`) point into the tuples of the same `FileFacts`.
"""

from dataclasses import dataclass
from enum import Enum


class DefinitionKind(Enum):
    """What is defined."""

    MODULE = "module"
    CLASS = "class"
    INTERFACE = "interface"
    ENUM = "enum"
    FUNCTION = "function"
    METHOD = "method"
    PROPERTY = "property"
    VARIABLE = "variable"
    CONSTANT = "constant"
    PARAMETER = "parameter"
    TYPE = "type"


class ReferenceRole(Enum):
    """What an identifier does where it stands."""

    DEFINITION = "DEFINITION"
    REFERENCE = "REFERENCE"
    IMPORT = "IMPORT"
    EXPORT = "EXPORT"


class BindTarget(Enum):
    """What a name is bound to."""

    DEFINITION = "DEF"
    IMPORT = "IMPORT"
    UNKNOWN = "UNKNOWN"


class BindReason(Enum):
    """Why a name is bound."""

    PARAM = "PARAM"
    LOCAL_ASSIGN = "LOCAL_ASSIGN"
    DEF_IN_SCOPE = "DEF_IN_SCOPE"
    IMPORT_ALIAS = "IMPORT_ALIAS"


class Certainty(Enum):
    """Whether the syntax leaves a doubt."""

    CERTAIN = "CERTAIN"
    UNCERTAIN = "UNCERTAIN"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source; the end is exclusive in columns."""

    start_line: int
    start_col: int
    end_line: int
    end_col: int


@dataclass(frozen=True, slots=True)
class Scope:
    """A region in which names are bound; `parent` is None only for the file's own scope, which is number 0."""

    kind: str
    parent: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Definition:
    """Something with a name.

    `scope` is where the name is bound, `body_scope` the scope it opens, if any. `lexical_path` is the dotted nesting,
    such as `Class.method`. `signature` is the text of parameters, return type and bases with white space folded.
    """

    kind: DefinitionKind
    name: str
    lexical_path: str
    span: Span
    name_span: Span
    scope: int
    body_scope: int | None
    signature: str
    decorators: tuple[str, ...] = ()
    documentation: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """An identifier where it stands.

    `receiver` is the source text before the dot for a member access (`self`, `obj.field`), None for a plain name.
    `bind` points to the LocalBind that the language's scoping rules give this name, None when there is none.
    """

    name: str
    span: Span
    scope: int
    role: ReferenceRole
    receiver: str | None = None
    bind: int | None = None


@dataclass(frozen=True, slots=True)
class LocalBind:
    """A name bound in a scope.

    `target` is the index of the definition or import; a name bound several times has one bind per place, and is
    CERTAIN only if the syntax leaves exactly one definition or import it can mean.
    """

    scope: int
    name: str
    target_kind: BindTarget
    target: int | None
    certainty: Certainty
    reason: BindReason


@dataclass(frozen=True, slots=True)
class Import:
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
    span: Span
    is_conditional: bool = False

    @property
    def local_name(self) -> str:
        """Return the name that the import binds; empty for a star import."""
        if self.imported_name == "*":
            return ""
        return self.alias or self.imported_name or self.source.split(".")[0]


@dataclass(frozen=True, slots=True)
class ExportList:
    """An explicit list of exported names, such as a literal `__all__`."""

    names: tuple[str, ...]
    certainty: Certainty
    evidence: str


@dataclass(frozen=True, slots=True)
class DynamicAccess:
    """A place that reads or writes names in ways the syntax does not show."""

    pattern: str
    span: Span
    literals: tuple[str, ...]
    has_non_literal_key: bool


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All facts of one file; `n_errors` counts the places the grammar could not understand."""

    scopes: tuple[Scope, ...]
    definitions: tuple[Definition, ...]
    references: tuple[Reference, ...]
    binds: tuple[LocalBind, ...]
    imports: tuple[Import, ...]
    exports: tuple[ExportList, ...]
    dynamic: tuple[DynamicAccess, ...]
    n_errors: int = 0
    problem: str = ""
