"""What a graph consists of, what can be asked of it, and what a backend has to do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol, TypeVar

from codeplane.core.canonical_json import canonical_text

T = TypeVar("T")

MAX_DEPTH: Final = 10
MAX_RESULTS: Final = 10_000
# Rows of these types have their fields beside the five that every row has, not in `props`; their label is their type.
FLAT_TYPES: Final = frozenset({"policy", "recipe"})
_MAX_FACT: Final = 200


@dataclass(frozen=True, slots=True)
class Stamp:
    """What every row says of itself beside its id."""

    type: str
    version: int
    updated_at: str
    updated_by: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node; `is_local` says that it was added to the graph and is not from the seeds."""

    id: str
    label: str
    props: Mapping[str, Any]
    stamp: Stamp
    is_local: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """Return the row as it is written in a seed."""
        if self.stamp.type in FLAT_TYPES:
            return {**self.props, **_head(self.id, self.stamp)}
        return {**_head(self.id, self.stamp), "label": self.label, "props": self.props}


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge between the nodes with the ids `source` and `target`."""

    id: str
    source: str
    rel: str
    target: str
    props: Mapping[str, Any]
    stamp: Stamp
    is_local: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """Return the row as it is written in a seed."""
        ends = {"from": self.source, "rel": self.rel, "to": self.target}
        return {**_head(self.id, self.stamp), **ends, "props": self.props}


Row = Node | Edge


def _head(row_id: str, stamp: Stamp) -> dict[str, Any]:
    return {
        "id": row_id,
        "type": stamp.type,
        "version": stamp.version,
        "updated_at": stamp.updated_at,
        "updated_by": stamp.updated_by,
    }


def line_of(row: Row) -> str:
    """Return a row as one line of a seed; equal rows have equal lines."""
    return canonical_text(row.document) + "\n"


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the order of an export: nodes before edges, each by id."""
    return sorted(rows, key=lambda row: (isinstance(row, Edge), row.id))


def facts_of(props: Mapping[str, Any]) -> list[str]:
    """Return the properties by which nodes can be found: those with a short single value."""
    return [
        fact
        for name, value in props.items()
        if not isinstance(value, list | dict) and len(fact := fact_of(name, value)) <= _MAX_FACT
    ]


def fact_of(name: str, value: object) -> str:
    """Return a property as one text, the same for the same value."""
    return f"{name}={canonical_text(value)}"


class Direction(Enum):
    """Which way edges are followed."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Walk:
    """How far and along which edges; no `rels` means all."""

    depth: int = 1
    direction: Direction = Direction.OUT
    rels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node and how many edges it is away."""

    node: Node
    depth: int


@dataclass(frozen=True, slots=True)
class Path:
    """A way through the graph that meets no node twice; edge i joins nodes i and i + 1."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Found(Sequence[T]):
    """Results in a fixed order; `is_cut` says that the limit left some out."""

    items: tuple[T, ...]
    is_cut: bool = False

    def __getitem__(self, index: Any) -> Any:
        """Return a result, or some of them."""
        return self.items[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.items)


@dataclass(frozen=True, slots=True)
class GraphStatus:
    """Where the graph is and what it holds. Generation 0 is a graph that was never synced."""

    backend: str
    generation: int = 0
    synced_at: str = ""
    seeds_digest: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)
    rels: Mapping[str, int] = field(default_factory=dict)
    n_local: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """What a new generation says of its making."""

    synced_at: str
    seeds_digest: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One edge out of many that a walk meets, from the node where the walk is."""

    near: str
    edge: str
    far: str


class Reading(Protocol):
    """What a backend tells about one generation. Nothing is in an order unless it says so."""

    def status(self) -> GraphStatus:
        """Return what there is."""
        ...

    def nodes(self, ids: Sequence[str]) -> list[Node]:
        """Return the nodes that exist."""
        ...

    def edges(self, ids: Sequence[str], near: Sequence[str] | None = None) -> list[Edge]:
        """Return the edges that exist; `near` names a node of each, which may make it faster."""
        ...

    def find(self, label: str, facts: Sequence[str], limit: int) -> list[Node]:
        """Return nodes in the order of their ids that have this label (empty: any) and all these facts."""
        ...

    def hops(self, ids: Sequence[str], direction: Direction, rels: frozenset[str]) -> list[Hop]:
        """Return the edges at these nodes."""
        ...

    def reach(self, start: str, walk: Walk, limit: int) -> list[Neighbour]:
        """Return the nearest nodes, in the order of depth and id, without the start."""
        ...

    def rows(self, *, only_local: bool) -> list[Row]:
        """Return every row, or those that are not from the seeds."""
        ...


class Backend(Protocol):
    """Where a graph is kept. Names in rows were checked before; lists have no doubles."""

    def read(self, work: Callable[[Reading], T]) -> T:
        """Return what `work` finds out about one generation; it may be called again."""
        ...

    def building(self, made: Made) -> AbstractContextManager[Callable[[Sequence[Row]], None]]:
        """Give a function that puts rows, nodes first, into a new generation; it replaces the old one at the end.

        On any exception, and when the process dies, the old generation stays.
        """
        ...

    def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows of the current generation, nodes first, all or none."""
        ...

    def drop(self) -> None:
        """Remove everything."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
