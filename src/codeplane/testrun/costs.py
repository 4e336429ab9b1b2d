"""How long targets took before, kept in `.codeplane/`, and how they are packed for workers."""

import json
import os
import statistics
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from codeplane.testrun.model import Target

_VERSION: Final = 1
_KEPT: Final = 5
_MAX_TARGETS: Final = 20_000


class CostBook:
    """The last durations of each target. It is only advice: a missing or damaged file means that nothing is known."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def priced(self, targets: Sequence[Target]) -> tuple[Target, ...]:
        """Return the targets with the median of their durations; those never run cost 1."""
        known = self._load()
        return tuple(replace(one, cost=_median(known.get(one.target_id, ()))) for one in targets)

    def record(self, seconds: Mapping[str, float]) -> None:
        """Add the durations of a run; of two runs at once the later one wins.

        Raises:
            OSError: it cannot be written.
        """
        known = self._load()
        for target_id, value in seconds.items():
            # What ran last is kept longest.
            known[target_id] = [*known.pop(target_id, ()), round(value, 3)][-_KEPT:]
        kept = dict(list(known.items())[-_MAX_TARGETS:])
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}-{threading.get_ident()}")
        temporary.write_text(json.dumps({"version": _VERSION, "seconds": kept}), encoding="utf-8")
        temporary.replace(self._path)

    def _load(self) -> dict[str, list[float]]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            if document["version"] != _VERSION:
                return {}
            return {str(name): [float(one) for one in values] for name, values in document["seconds"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}


def packed(targets: Sequence[Target], n_workers: int) -> list[list[Target]]:
    """Spread targets over workers so that each has about the same to do: the longest first, each to the least busy.

    A worker runs its targets in their usual order, because tests may depend on what ran before them.
    """
    loads = [0.0] * max(1, n_workers)
    packs: list[list[Target]] = [[] for _ in loads]
    for target in sorted(targets, key=lambda one: (-one.cost, one.target_id)):
        number = loads.index(min(loads))
        packs[number].append(target)
        loads[number] += target.cost
    return [sorted(pack, key=lambda one: one.target_id) for pack in packs if pack]


def _median(values: Sequence[float]) -> float:
    return max(0.01, statistics.median(values)) if values else 1.0
