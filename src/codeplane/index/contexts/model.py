"""The nouns of context discovery."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath

_ID_DIGITS = 16


class Tier(Enum):
    """What makes a context: a workspace marker, a package marker, or only the repository's root."""

    WORKSPACE = 1
    PACKAGE = 2
    FALLBACK = 3


class ContextStatus(Enum):
    """What the probe found; a candidate that is still pending is a `Candidate`, so the router never sees one."""

    VALID = "valid"
    FAILED = "failed"
    EMPTY = "empty"
    DETACHED = "detached"


@dataclass(frozen=True, slots=True)
class ParseQuality:
    """What a parse tells about a file.

    `has_named` means a named node that is neither an extra, such as a comment, nor an error.
    """

    n_nodes: int
    n_errors: int
    has_named: bool
    n_root_children: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A directory that may become a context of a family.

    `is_package` tells whether it has the marker of a package that workspaces list, whatever the tier;
    `detached` is why a workspace file does not let it be a context, empty while it is pending.
    Invariant: there is one candidate per family and root.
    """

    family: str
    root: RepoPath
    tier: Tier
    is_package: bool
    detached: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """One package or workspace of a family.

    Globs are relative to the root path, except that the universal excludes are judged on the whole path and never
    hide a directory that holds tracked files.
    Invariant: every exclude glob ends in `/**`, so that it decides on directories.
    """

    context_id: str
    family: str
    root_path: RepoPath
    tier: Tier
    status: ContextStatus
    reason: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeView:
    """What discovery may know of a tree; the files are distinct, their order does not matter.

    `read_text` gives None for what cannot be read; `holds_tracked` is asked about directories; `parse_quality` gives
    None where parsing makes no tree. `declared` are families and roots that a person makes contexts.
    """

    files: tuple[RepoPath, ...]
    read_text: Callable[[RepoPath], str | None]
    holds_tracked: Callable[[RepoPath], bool]
    parse_quality: Callable[[RepoPath], ParseQuality | None]
    declared: tuple[tuple[str, RepoPath], ...] = ()


def context_id_of(family: str, root: RepoPath) -> str:
    """Return an id that stays the same as long as family and root do."""
    return sha256_text(f"{family}\0{root.text}")[:_ID_DIGITS]
