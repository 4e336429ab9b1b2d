"""What the controller knows when a plan arrives, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from codeplane.controller.signature import Signature

# Words with which a plan leaves a decision to its executor.
HEDGES: Final = (
    "maybe", "perhaps", "possibly", "probably", "somehow", "etc", "as needed", "if needed", "if necessary",
    "where appropriate", "appropriate", "appropriately", "or similar", "tbd", "todo", "figure out", "decide if",
    "decide whether", "consider", "and/or", "some kind of", "relevant file", "relevant files", "??",
)  # fmt: skip
# Where no plan may create a file.
NEVER_CREATED: Final = (".git/**", ".codeplane/**", ".orchestration/**", ".ai/**")


class MemoryState(StrEnum):
    """The five states of a memory; only provisional and approved ones are enforced."""

    PENDING = "pending"
    PROVISIONAL = "provisional"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


ENFORCED: Final = frozenset({MemoryState.PROVISIONAL, MemoryState.APPROVED})


@dataclass(frozen=True, slots=True)
class KnownFile:
    """An allowlisted file: digest, definitions per symbol, occurrences per anchor text, and its proof chains."""

    content_hash: str
    n_lines: int
    symbols: Mapping[str, int]
    anchors: Mapping[str, int]
    is_table_surface: bool = False
    origin_chains: tuple[str, ...] = ()
    is_federation_surface: bool = False
    federation_chains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn: whose work it was, the sources that its result held, and the text it returned.

    `versions` are the digests of the files that it showed, as they were then.
    """

    work_id: str
    sources: frozenset[str]
    text: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition, and the steps that a plan needs when it holds; without steps the condition itself is the fault."""

    condition: str
    required_steps: tuple[str, ...] = ()
    deny_code: str | None = None
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule of the team with a version that plans must name."""

    policy_id: str
    version: str
    rule: Rule
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Signal:
    """A feature of the signature that a memory sets for the files below its anchors."""

    feature: str
    value: Any
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """What plan validation uses of a memory: its state, its rule or its signal."""

    memory_id: str
    state: MemoryState
    rule: Rule | None = None
    signal: Signal | None = None
    created_at: str = ""

    @property
    def is_enforced(self) -> bool:
        """Whether it counts."""
        return self.state in ENFORCED


@dataclass(frozen=True, slots=True)
class EvidenceMinima:
    """The server's own minimum of sources; a plan can only ask for more."""

    requirement: int = 1
    code: int = 1
    policy: int = 0
    total: int = 2
    allows_single_source: bool = True
    guard_rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredPack:
    """A context pack on disk; `content_hash` is recomputed from its content."""

    content_hash: str
    work_id: str
    repo_snapshot_id: str


@dataclass(frozen=True, slots=True)
class World:
    """Everything that decides about a plan besides the plan."""

    work_id: str
    run_session_id: str
    worktree_root: str
    repo_snapshot_id: str
    scope_allowlist_ref: str
    files: Mapping[str, KnownFile]
    turns: Mapping[str, Turn]
    signature: Signature
    mapped_tests: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    policies: tuple[Policy, ...] = ()
    memories: Mapping[str, Memory] = field(default_factory=lambda: MappingProxyType({}))
    # The operation ids and JSON pointers of each fetched API description.
    specs: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    minima: EvidenceMinima = EvidenceMinima()
    confidence_threshold: int = 50
    is_index_ready: bool = True
    packs: Mapping[str, StoredPack] = field(default_factory=lambda: MappingProxyType({}))
    creatable: tuple[str, ...] = ("**",)
    never_created: tuple[str, ...] = NEVER_CREATED
    # Directories and files that are symlinks out of the working tree.
    links_outside: frozenset[str] = frozenset()
    # "source" and "target", as far as a migration's modules are known.
    migration_modules: frozenset[str] = frozenset()
    hedges: tuple[str, ...] = HEDGES
    # Digests of nodes that were carried out and whose file is as this run left it.
    done: frozenset[str] = frozenset()
    # Set after a switch trigger; otherwise the signature decides.
    switched_strategy: str | None = None
