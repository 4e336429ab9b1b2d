"""A plan whose structure is sound: its nodes, what depends on what, and its fingerprint."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from codeplane.core.hashing import sha256_bytes

# In place of a value that the controller fills in.
AUTO: Final = "auto"
_NOT_FINGERPRINTED: Final = frozenset({"planFingerprint", "contextPackRef", "contextPackHash"})


@dataclass(frozen=True, slots=True)
class Node:
    """One node; `document` has the fields of its kind, checked."""

    node_id: str
    kind: str
    depends_on: tuple[str, ...]
    place: int
    document: Mapping[str, Any]

    @property
    def target_file(self) -> str:
        """The file of a change node."""
        return str(self.document["targetFile"])

    @property
    def is_creation(self) -> bool:
        """Whether a change node creates its file."""
        return bool(self.document["operation"] == "create_file")

    def pointer(self, name: str) -> str:
        """Return where a field of this node is in the plan."""
        return f"/nodes/{self.place}/{name}"


@dataclass(frozen=True)
class Plan:
    """Nodes in the order of the plan; `ancestors` has one bit per node that a node depends on, through others too.

    Invariant: nodeIds are unique, dependencies exist and have no cycle.
    """

    document: Mapping[str, Any]
    nodes: tuple[Node, ...]
    ancestors: Mapping[str, int]

    def of_kind(self, kind: str) -> Iterator[Node]:
        """Yield the nodes of one kind."""
        return (node for node in self.nodes if node.kind == kind)

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        """The nodes by their ids."""
        return MappingProxyType({node.node_id: node for node in self.nodes})

    def is_after(self, node: Node, other: Node) -> bool:
        """Tell whether `node` depends on `other`, directly or through others."""
        return bool(self.ancestors[node.node_id] >> other.place & 1)

    @cached_property
    def covering(self) -> Mapping[str, tuple[Node, ...]]:
        """The validate nodes of each change node: those that name it and run after it."""
        found: dict[str, list[Node]] = {}
        for check in self.of_kind("validate"):
            for node_id in dict.fromkeys(check.document["mapsToNodeIds"]):
                change = self.by_id.get(node_id)
                if change is not None and change.kind == "change" and self.is_after(check, change):
                    found.setdefault(node_id, []).append(check)
        return MappingProxyType({node_id: tuple(checks) for node_id, checks in found.items()})


def fingerprint_of(document: Mapping[str, Any]) -> str:
    """Return the digest of the plan without its fingerprint and its context pack."""
    return digest_of({name: value for name, value in document.items() if name not in _NOT_FINGERPRINTED})


def digest_of(document: Mapping[str, Any]) -> str:
    """Return `sha256:` and the digest of the document."""
    return f"sha256:{sha256_bytes(canonical_json(document))}"


def canonical_json(document: Mapping[str, Any]) -> bytes:
    """Return the one spelling of a document; unlike RFC 8785 it sorts keys by code point."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def filled(document: Mapping[str, Any], work_id: str, pack_hash: str) -> dict[str, Any]:
    """Return the plan with every `auto` replaced by its value."""
    values = {
        "contextPackHash": pack_hash,
        "contextPackRef": pack_ref(work_id, pack_hash),
        "planFingerprint": fingerprint_of(document),
    }
    return {name: values.get(name, value) if value == AUTO else value for name, value in document.items()}


def pack_ref(work_id: str, pack_hash: str) -> str:
    """Return the short name of a context pack."""
    return f"pack:{work_id}/{pack_hash.removeprefix('sha256:')[:16]}"
