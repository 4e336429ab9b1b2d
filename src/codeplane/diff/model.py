"""What is compared and what comes out: definitions with their texts, and how they changed."""

from dataclasses import dataclass, field
from enum import Enum

from codeplane.languages.facts import DefinitionKind

CALLABLE = frozenset({DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.MACRO})
VALUES = frozenset(
    {DefinitionKind.VARIABLE, DefinitionKind.CONSTANT, DefinitionKind.FIELD, DefinitionKind.PROPERTY}
)  # fmt: skip
TYPES = frozenset(
    {DefinitionKind.CLASS, DefinitionKind.INTERFACE, DefinitionKind.STRUCT, DefinitionKind.TRAIT, DefinitionKind.ENUM}
)  # fmt: skip


class ChangeKind(Enum):
    """How a definition changed."""

    ADDED = "added"
    REMOVED = "removed"
    SIGNATURE_CHANGED = "signature_changed"
    BODY_CHANGED = "body_changed"
    RENAMED = "renamed"


class Risk(Enum):
    """How likely it is that code which still compiles behaves differently."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    UNKNOWN = "unknown"


class Visibility(Enum):
    """Who can use a definition; `internal` is the package, crate or module."""

    PUBLIC = "public"
    PROTECTED = "protected"
    INTERNAL = "internal"
    PRIVATE = "private"

    @property
    def is_offered(self) -> bool:
        """Tell whether code outside of the package can depend on it."""
        return self in {Visibility.PUBLIC, Visibility.PROTECTED}


@dataclass(frozen=True, slots=True)
class FilePair:
    """One file in both states; a text is None where there is no such file. `old_path` is its name before a rename."""

    path: str
    status: str
    old: bytes | None
    new: bytes | None
    old_path: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """One definition in one state.

    `own` are the tokens of its text without comments and without the definitions inside it, `notes` its comments.
    `extent` is its text with the statement it belongs to. `members` are the definitions inside it.
    Invariant: two entities are the same object or different definitions.
    """

    path: str
    dialect: str
    kind: DefinitionKind
    name: str
    lexical_path: str
    signature: str
    decorators: tuple[str, ...]
    head: str
    visibility: Visibility
    is_api: bool
    start: int
    extent: bytes
    own: tuple[str, ...]
    notes: tuple[str, ...]
    first: tuple[int, int]
    last: tuple[int, int]
    is_attribute: bool = False
    in_broken_file: bool = False
    members: tuple["Entity", ...] = ()

    @property
    def container(self) -> str:
        """Return the lexical path of the definition around it, empty at the top of a file."""
        return self.lexical_path.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class EntityChange:
    """How one definition differs between the states; one of both sides is None when it was added or removed."""

    old: Entity | None
    new: Entity | None
    kind: ChangeKind
    is_breaking: bool
    risk: Risk
    tags: tuple[str, ...]
    lines_changed: int = 0
    preview: str = ""
    nested: tuple["EntityChange", ...] = ()

    @property
    def entity(self) -> Entity:
        """Return the definition as it is, or as it was when it is gone."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a change has at least one side")
        return found


@dataclass(frozen=True, slots=True)
class FileChange:
    """A changed file whose definitions are the same, or that has none."""

    path: str
    status: str
    category: str
    language: str = ""
    old_path: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs, the most important first; `notes` say what could not be compared."""

    changes: tuple[EntityChange, ...]
    files: tuple[FileChange, ...]
    n_files: int
    notes: tuple[str, ...] = field(default=())
