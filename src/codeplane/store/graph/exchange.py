"""Between the seeds and the graph: sync builds the graph, export writes what it has beyond the seeds."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, printable_name
from codeplane.store.graph.graph import Graph, missing_end
from codeplane.store.graph.model import Made, Node, Row, in_order, line_of
from codeplane.store.graph.seeds import SeedRow, Seeds

MAX_SHOWN_ERRORS: Final = 20
_BATCH: Final = 2_000
_LOCK_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did: rows from the seeds, and rows of the old graph that no seed has."""

    generation: int
    n_seeds: int
    n_kept: int
    n_superseded: int


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What to build from; `discards` drops rows that only the graph has; `lock` lets one sync run at a time."""

    seeds: Seeds
    synced_at: str
    lock: Path
    discards: bool = False
    check_cancelled: Callable[[], None] = lambda: None


def sync(graph: Graph, request: SyncRequest) -> Synced:
    """Build a new generation from the seeds and switch to it; on any failure the old one stays.

    Raises:
        CodePlaneError: SEEDS_INVALID with every place, STORE_BUSY, or what the backend raises.
    """
    try:
        with FileLock(request.lock, timeout=_LOCK_SECONDS):
            return _sync(graph, request)
    except Timeout as error:
        raise CodePlaneError("STORE_BUSY", "Another sync of this graph is running.") from error


def _sync(graph: Graph, request: SyncRequest) -> Synced:
    seeds = request.seeds
    raise_seed_errors(list(map(str, seeds.errors)))
    local = [] if request.discards else graph.rows(only_local=True)
    by_id = {one.row.id: one for one in seeds.rows}
    kept = [row for row in local if _is_ahead(row, by_id.get(row.id))]
    raise_seed_errors([*_differing(local, by_id), *_dangling(seeds.rows, kept)])
    replaced = {row.id for row in kept}
    rows = in_order([*(one.row for one in seeds.rows if one.row.id not in replaced), *kept])
    with graph.rebuilding(Made(request.synced_at, seeds.digest)) as put:
        for start in range(0, len(rows), _BATCH):
            request.check_cancelled()
            put(rows[start : start + _BATCH])
    return Synced(graph.status().generation, len(rows) - len(kept), len(kept), len(local) - len(kept))


def raise_seed_errors(problems: Sequence[str]) -> None:
    """Refuse seeds with errors.

    Raises:
        CodePlaneError: SEEDS_INVALID.
    """
    if not problems:
        return
    shown = [*problems[:MAX_SHOWN_ERRORS]]
    more = len(problems) - len(shown)
    if more:
        shown.append(f"and {more} more")
    message = f"{counted(len(problems), 'error')} in the seeds:\n" + "\n".join(shown)
    raise CodePlaneError("SEEDS_INVALID", message, details={"errors": shown})


def _is_ahead(row: Row, seed: SeedRow | None) -> bool:
    return seed is None or row.stamp.version > seed.row.stamp.version


def _differing(local: Iterable[Row], seeds: dict[str, SeedRow]) -> list[str]:
    """Tell which rows of the graph have the version of a seed and other content: one of them would be lost."""
    return [
        f"{seed.place}: {printable_name(row.id)} has version {row.stamp.version} with other content in the graph."
        " Give the seed a higher version, or discard the rows that only the graph has."
        for row in local
        if (seed := seeds.get(row.id)) is not None
        and seed.row.stamp.version == row.stamp.version
        and seed.text != line_of(row)
    ]


def _dangling(seeds: Sequence[SeedRow], kept: Sequence[Row]) -> list[str]:
    """Tell which edges would have no node at an end."""
    final = {one.row.id: one.row for one in seeds} | {row.id: row for row in kept}
    nodes = {row.id for row in final.values() if isinstance(row, Node)}
    places = {one.row.id: str(one.place) for one in seeds}
    return [
        f"{places.get(row.id, 'in the graph')}: The edge {printable_name(row.id)} needs the node"
        f" {printable_name(missing)}, which does not exist."
        for row in in_order(final.values())
        if (missing := missing_end(row, nodes))
    ]


def delta_text(graph: Graph, seeds: Seeds) -> str:
    """Return the rows of the graph that the seeds do not have in this form, as lines of a seed."""
    known = {one.text for one in seeds.rows}
    return "".join(line for row in graph.rows() if (line := line_of(row)) not in known)


def full_text(graph: Graph) -> str:
    """Return every row of the graph as lines of a seed."""
    return "".join(map(line_of, graph.rows()))


def write_export(path: Path, text: str) -> None:
    """Replace a file by the text, at once.

    Raises:
        CodePlaneError: FILE_WRITE_FAILED.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        shown = f"{path.name} cannot be written: {error.strerror or error}."
        raise CodePlaneError("FILE_WRITE_FAILED", shown) from error
