"""One plan before one world, with what several stages ask for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from codeplane.controller.codes import Code, Violation
from codeplane.controller.plan import Node, Plan, digest_of
from codeplane.controller.signature import FEATURES, Signature, has_feature_type
from codeplane.controller.world import KnownFile, World


@dataclass(frozen=True)
class Case:
    """A plan, the world, and the signature after what memories say about the plan's files."""

    plan: Plan
    world: World

    @property
    def changes(self) -> Iterator[Node]:
        """The change nodes."""
        return self.plan.of_kind("change")

    def file_of(self, node: Node) -> KnownFile | None:
        """Return the target file of a change node, if it is in scope and exists."""
        return self.world.files.get(node.target_file)

    def is_done(self, node: Node) -> bool:
        """Tell whether this run has carried out the node already; it was checked against the files of that time."""
        return bool(self.world.done) and digest_of(node.document) in self.world.done

    def is_below(self, anchors: tuple[str, ...]) -> bool:
        """Tell whether one of the anchors contains a target file; no anchor means everywhere."""
        return not anchors or any(_contains(anchor, node.target_file) for anchor in anchors for node in self.changes)

    @cached_property
    def signature(self) -> Signature:
        """The features of the world, with those that enforced memories set, the oldest first."""
        values = {name: getattr(self.world.signature, name) for name in FEATURES.values()}
        for memory in sorted(self.world.memories.values(), key=lambda one: (one.created_at, one.memory_id)):
            signal = memory.signal
            if signal is None or not memory.is_enforced or not has_feature_type(signal.feature, signal.value):
                continue
            if self.is_below(signal.anchors):
                values[FEATURES[signal.feature]] = signal.value
        return Signature(**values)

    def root(self, strategy: str) -> Mapping[str, Any]:
        """Return the names that conditions start from."""
        document = self.plan.document
        return MappingProxyType(
            {"plan": document, "nodes": document["nodes"], "signature": self.signature.as_json(), "strategy": strategy}
        )


def node_fault(code: Code, detail: str, node: Node, name: str, message: str) -> Violation:
    """Return a violation at a field of a node."""
    return Violation(code, detail, message, node.pointer(name), node.node_id)


def _contains(anchor: str, path: str) -> bool:
    directory = anchor.removeprefix("anchor:")
    return directory in {".", path} or path.startswith(f"{directory}/")
