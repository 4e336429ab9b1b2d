"""`cpl status`: one view of server, repository, ledger and settings, with or without a running server."""

import sys
import time
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import click

from codeplane.core.clock import local_time_of
from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import tail_lines
from codeplane.core.printable import counted
from codeplane.core.version import VERSION
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import (
    json_option,
    print_facts,
    print_json,
    print_table,
    repo_option,
    set_option,
)
from codeplane.surfaces.server.client import get_json
from codeplane.surfaces.server.facts import is_served, read_facts
from codeplane.workspace.config import load_workspace_settings
from codeplane.workspace.places import Places
from codeplane.workspace.workspace import WorkspaceRequest, locate_places, open_workspace

_LOG_LINES = 50
_SHOWN_CONTEXTS = 5


@click.command("status", short_help="Show the server, the repository and the settings.")
@click.option("--verbose", "-v", is_flag=True, help="Also the settings and the last 50 lines of the server's log.")
@click.option("--follow", "-f", is_flag=True, help="Keep printing the server's log until Ctrl+C.")
@json_option
@repo_option
@set_option
def command(verbose: bool, follow: bool, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show whether a server runs, which repository this is, and where each setting comes from (--json)."""
    places = locate_places(Path(start))
    document = collect_status(places, overrides)
    if as_json:
        if verbose:
            document["log"] = list(tail_lines(places.server_log, _LOG_LINES))
        print_json(document)
        return OK
    _print_status(document, places, verbose=verbose)
    if follow:
        _follow(places.server_log)
    return OK


def collect_status(places: Places, overrides: tuple[str, ...]) -> dict[str, Any]:
    """Return the whole status as one document."""
    loaded = load_workspace_settings(places, overrides)
    served = is_served(places)
    facts = read_facts(places) if served else None
    document: dict[str, Any] = {
        "version": VERSION,
        "repo_root": str(places.root),
        "initialised": places.ledger.exists(),
        "server": {"running": served},
        "index": {"status": "not built yet"},
        "paths": {
            "private": str(places.private),
            "ledger": str(places.ledger),
            "log": str(places.server_log),
            "config": str(places.config_file),
            "global_config": str(places.user.config_file),
        },
    }
    if facts is not None:
        document["server"] |= {"pid": facts.pid, "url": facts.url, "mode": facts.mode}
        document |= _from_server(facts)
    elif places.ledger.exists():
        document |= _from_ledger(places, overrides)
    document["settings"] = {
        key: {"value": _plain(origin.value), "from": origin.where} for key, origin in sorted(loaded.origins.items())
    }
    return document


def _from_server(facts: Any) -> dict[str, Any]:
    try:
        found = get_json(facts, "/status")
    except CodePlaneError as error:
        return {"last_error": error.report().as_dict()}
    return {key: value for key, value in found.items() if key != "version"}


def _from_ledger(places: Places, overrides: tuple[str, ...]) -> dict[str, Any]:
    with open_workspace(WorkspaceRequest(places.root, overrides)) as workspace:
        return {
            "repo_id": workspace.repo_id,
            "repo_fingerprint": workspace.fingerprint(),
            **workspace.head_summary(),
            "worktree": workspace.repository.worktree_id,
            "ledger_rows": workspace.chain.last_seq(),
            "open_calls": len(workspace.chain.open_calls()),
            "leases": workspace.leases(),
            "undo": workspace.undo_summary(),
            "governance": workspace.governance_summary(),
            "index": workspace.index_summary(),
            "last_reconcile": None,
            "last_error": None,
            "sessions": [],
        }


def _commit_line(document: dict[str, Any]) -> str:
    if "commit" not in document:
        return "unknown until set up"
    commit = (document["commit"] or "none yet")[:12]
    return f"{commit} on {document['branch'] or 'no branch'}"


def _index_line(index: dict[str, Any]) -> str:
    if index["status"] == "building":
        return f"building, {index['progress']['done']} of {counted(index['progress']['total'], 'file')}"
    if not index.get("epoch"):
        return str(index["status"])
    size = f"{index['size_bytes'] / 1e6:.1f} MB"
    held = f"{counted(index['files'], 'file')}, {counted(index['definitions'], 'definition')}"
    text = f"{held} at epoch {index['epoch']}, {size}"
    return f"{text}; {index['healed']}" if index.get("healed") else text


def _undo_line(undo: dict[str, Any]) -> str:
    if not undo.get("batches"):
        return "nothing to undo"
    sizes = f"{undo['size_bytes'] / 1e6:.1f} of at most {undo['limit_bytes'] / 1e6:.0f} MB"
    return f"{undo['batches']} batch{'es' * (undo['batches'] != 1)} of changes, {sizes}"


def _governance_line(governance: dict[str, Any]) -> str:
    if governance.get("mode") != "enforce":
        return "intents are not asked for"
    active, waiting = governance["active_intents"], governance["pending_approvals"]
    text = f"intents in force: {', '.join(active) or 'none active'}"
    problem = f"; {governance['problem'].splitlines()[0]}" if governance["problem"] else ""
    return text + (f"; {waiting} waiting for a person (`cpl approvals list`)" if waiting else "") + problem


def _overlay(index: dict[str, Any]) -> list[tuple[str, str]]:
    if index.get("overlay", True):
        return []
    return [("overlay", "off: files that git does not track are not indexed (`index.overlay: true` adds them)")]


def context_lines(index: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the contexts of code that do not own their files, with the reason; the others by number."""
    contexts = index.get("contexts") or []
    refused = [one for one in contexts if one["status"] in {"detached", "failed"}]
    valid = sum(one["status"] == "valid" for one in contexts)
    text = f"{valid} valid" if contexts else ""
    for one in refused[:_SHOWN_CONTEXTS]:
        text += f"; {one['root']} ({one['family']}) {one['status']}: {one['reason']}"
    if len(refused) > _SHOWN_CONTEXTS:
        text += f"; {len(refused) - _SHOWN_CONTEXTS} more"
    return [("contexts", text)] if text else []


def _gaps(index: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the index does not hold and why; what is always left out goes without saying."""
    labels = (("not searched", "not_searched"), ("left out", "left_out"), ("as text only", "text_only_languages"))
    found = []
    for label, key in labels:
        counts = {reason: count for reason, count in index.get(key, {}).items() if not reason.endswith("(always)")}
        if counts:
            found.append((label, ", ".join(f"{count} {reason}" for reason, count in counts.items())))
    return found


def _local(iso: str | None) -> str | None:
    return local_time_of(iso) if iso else None


def _last_update(document: dict[str, Any]) -> str:
    written = document["index"].get("last_update")
    return f"last changed {_local(written)}" if written else "not built yet"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(item) for name, item in asdict(value).items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _print_status(document: dict[str, Any], places: Places, *, verbose: bool) -> None:
    server = document["server"]
    running = "not running (`cpl up`)"
    if server["running"]:
        running = f"running at {server['url']} (pid {server['pid']})" if "url" in server else "running, address unknown"
    error = document.get("last_error")
    print_facts(
        [
            ("repository", document["repo_root"]),
            ("commit", _commit_line(document)),
            ("set up", "yes" if document["initialised"] else "no (`cpl init`)"),
            ("server", running),
            ("governance", _governance_line(document.get("governance", {}))),
            ("fingerprint", str(document.get("repo_fingerprint", "unknown"))[:16]),
            ("index", _index_line(document["index"])),
            *_overlay(document["index"]),
            *_gaps(document["index"]),
            *context_lines(document["index"]),
            (
                "last reconcile",
                _local(document.get("last_reconcile")) or f"with the next call; {_last_update(document)}",
            ),
            ("ledger", counted(document.get("ledger_rows", 0), "row")),
            ("undo", _undo_line(document.get("undo") or {})),
            ("last error", f"{error['error']}: {error.get('message', '')}" if error else "none"),
        ]
    )
    sessions = document.get("sessions") or []
    if sessions:
        rows = [[s["label"], s["client"], s["opened"], s["last_seen"]] for s in sessions]
        print_table(["session", "client", "opened", "last seen"], rows)
    if verbose:
        rows = [[key, str(item["value"]), item["from"]] for key, item in document["settings"].items()]
        print_table(["setting", "value", "from"], rows)
        for line in tail_lines(places.server_log, _LOG_LINES):
            sys.stdout.write(line + "\n")


def _follow(path: Path) -> None:
    """Print what is appended to the log, also after it was rotated."""
    position = path.stat().st_size if path.exists() else 0
    try:
        while True:
            size = path.stat().st_size if path.exists() else 0
            position = 0 if size < position else position
            if size > position:
                with path.open(encoding="utf-8", errors="replace") as file:
                    file.seek(position)
                    sys.stdout.write(file.read())
                    position = file.tell()
                sys.stdout.flush()
            time.sleep(0.2)
    except KeyboardInterrupt:
        return
