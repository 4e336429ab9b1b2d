"""The graph: build it from the seeds, write what it has beyond them, look at it."""

from typing import Any

from pydantic import Field

from codeplane.core.clock import iso_from_ms
from codeplane.core.printable import counted
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown
from codeplane.operations.models import Request
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.store.graph.exchange import SyncRequest, delta_text, full_text, raise_seed_errors, sync, write_export
from codeplane.store.graph.model import GraphStatus
from codeplane.store.graph.seeds import SEED_FOLDER, read_seeds
from codeplane.workspace.workspace import Workspace

_FAMILY = "graph"
_MAX_ERRORS = 100


class GraphSyncRequest(Request):
    """What happens to rows that no seed has."""

    discard: bool = Field(False, description="Drop the rows that only the graph has; otherwise they are kept.")


class GraphExportRequest(Request):
    """How much."""

    all: bool = Field(False, description="Write every row, not only those that the seeds do not have.")


def _effects(workspace: Workspace, _request: Request) -> Effects:
    host = workspace.graph_host
    return Effects(network=(host,)) if host else Effects()


def _status(context: CallContext, _request: NoArguments) -> Document:
    seeds = read_seeds(context.workspace.root)
    status = context.workspace.graph.status()
    return Document(
        **_described(status),
        seed_rows=len(seeds.rows),
        seed_files=seeds.n_files,
        seed_errors=[str(error) for error in seeds.errors[:_MAX_ERRORS]],
        is_current=bool(status.generation) and not seeds.errors and status.seeds_digest == seeds.digest,
    )


def _described(status: GraphStatus) -> dict[str, Any]:
    return {
        "backend": status.backend,
        "generation": status.generation,
        "synced_at": status.synced_at,
        "nodes": sum(status.labels.values()),
        "edges": sum(status.rels.values()),
        "local_rows": status.n_local,
        "labels": dict(status.labels),
        "relations": dict(status.rels),
    }


def _show_status(result: Document) -> Shown:
    found = result.model_dump()
    facts = [
        (name.replace("_", " "), str(value)) for name, value in found.items() if not isinstance(value, list | dict)
    ]
    counts = [(name, str(n)) for part in ("labels", "relations") for name, n in found[part].items()]
    return (Facts((*facts, *counts)), *found["seed_errors"])


GRAPH_STATUS = Operation(
    name="graph_status",
    family=_FAMILY,
    summary="Show where the graph is, what it holds and whether it matches the seeds.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_status, _effects),
    examples=(Example("Look", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("graph", "status"),
        help="Count nodes and edges, and list errors of the seeds; exit code 1 when there are errors.",
        shows=_show_status,
        is_finding=lambda result: bool(result.model_dump()["seed_errors"]),
    ),
    routes=(Route(method="GET", path="/graph/status", summary="Where the graph is and what it holds."),),
)


def _sync(context: CallContext, request: GraphSyncRequest) -> Document:
    workspace = context.workspace
    seeds = read_seeds(workspace.root)
    # Before anything is opened: a mistake in a seed is told even when the server is not there.
    raise_seed_errors(list(map(str, seeds.errors)))
    workspace.places.graph.mkdir(parents=True, exist_ok=True)
    now = iso_from_ms(workspace.clock.now_ms())
    lock = workspace.places.graph / "sync.lock"
    wanted = SyncRequest(seeds, now, lock, request.discard, context.check_cancelled)
    done = sync(workspace.graph, wanted)
    return Document(
        generation=done.generation,
        seed_rows=done.n_seeds,
        local_rows_kept=done.n_kept,
        local_rows_superseded=done.n_superseded,
        files=seeds.n_files,
    )


def _show_sync(result: Document) -> Shown:
    found = result.model_dump()
    kept = f" {counted(found['local_rows_kept'], 'row')} that no seed has kept." if found["local_rows_kept"] else ""
    rows, files = counted(found["seed_rows"], "row"), counted(found["files"], "seed file")
    return (f"Generation {found['generation']}: {rows} from {files}.{kept}",)


GRAPH_SYNC = Operation(
    name="graph_sync",
    family=_FAMILY,
    summary="Build the graph from the seeds.",
    request_type=GraphSyncRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_sync, _effects),
    examples=(Example("After a pull", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("graph", "sync"),
        help=f"Build the graph from {SEED_FOLDER}/**/*.jsonl; on any error the graph stays as it is.",
        shows=_show_sync,
    ),
    routes=(Route(method="POST", path="/graph/sync", summary="Build the graph from the seeds."),),
)


def _export(context: CallContext, request: GraphExportRequest) -> Document:
    workspace = context.workspace
    seeds = read_seeds(workspace.root)
    text = full_text(workspace.graph) if request.all else delta_text(workspace.graph, seeds)
    target = workspace.places.graph / "out" / ("graph.jsonl" if request.all else "delta.jsonl")
    write_export(target, text)
    return Document(path=target.relative_to(workspace.root).as_posix(), rows=text.count("\n"))


GRAPH_EXPORT = Operation(
    name="graph_export",
    family=_FAMILY,
    summary="Write the rows that the graph has and the seeds do not.",
    request_type=GraphExportRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_export, _effects),
    examples=(Example("What is new", {}), Example("The whole graph", {"all": True})),
    audience=Audience.SHELL,
    command=Command(
        path=("graph", "export"),
        help="Write .codeplane/graph/out/delta.jsonl; move it below the seeds to share it.",
        shows=lambda result: (f"{counted(result.model_dump()['rows'], 'row')} in {result.model_dump()['path']}.",),
    ),
    routes=(Route(method="POST", path="/graph/export", summary="Write the rows that the seeds do not have."),),
)
