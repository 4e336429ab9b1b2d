"""`cpl clear`: remove what can be derived again; with --all everything, after asking."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option
from codeplane.surfaces.cli.person import require_person
from codeplane.surfaces.server.facts import is_served
from codeplane.workspace.places import Places
from codeplane.workspace.removal import forget_ledger
from codeplane.workspace.workspace import locate_places

_DERIVED = (
    "index.db",
    "index.db-wal",
    "index.db-shm",
    "index.db.lock",
    "tantivy",
    "history",
    "logs",
    "work",
    "port",
    "url",
    "server.json",
)


@dataclass(frozen=True, slots=True)
class _Loss:
    path: Path
    what: str


@click.command("clear", short_help="Remove derived data; with --all everything CodePlane stores here.")
@click.option("--all", "everything", is_flag=True, help="Also remove the ledger, memory, undo data and settings.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@repo_option
def command(everything: bool, yes: bool, as_json: bool, start: str) -> int:  # noqa: FBT001 - click passes flags by name.
    """Remove derived data: index, logs, leftovers of a server. Nothing is lost by that.

    With --all everything in `.codeplane/` goes, after a list of what would be lost; only a person can do that.
    Clearing twice is fine.
    """
    places = locate_places(Path(start))
    if is_served(places):
        raise CodePlaneError(
            "SERVER_ALREADY_RUNNING", "A server is running here.", hint="Stop it first, then clear again."
        )
    if not everything:
        packs = [path.name for path in places.private.glob("text-*.pack")]
        removed = [name for name in (*_DERIVED, *packs) if _remove(places.private / name)]
        return _report(removed, as_json=as_json)
    losses = _losses(places)
    if losses and not yes and not _confirmed(losses, as_json=as_json):
        return FINDINGS
    require_person(places, "remove everything that CodePlane stores here for good")
    if places.shared == places.private:
        forget_ledger(places)
    removed = [str(loss.path) for loss in losses] if losses else []
    _remove(places.private)
    return _report(removed or [str(places.private)], as_json=as_json)


def _losses(places: Places) -> list[_Loss]:
    kinds = {
        "ledger.db": "the record of every call",
        "memory.db": "what was learned",
        "undo": "what undo needs",
        "tokens": "workflow tokens",
        "config.yaml": "this tree's settings",
    }
    if places.shared != places.private:
        # A linked worktree: the ledger belongs to the whole repository and stays.
        kinds = {"config.yaml": kinds["config.yaml"]}
    found = [_Loss(places.private / name, what) for name, what in kinds.items() if (places.private / name).exists()]
    damaged = [_Loss(path, "a damaged ledger that was kept") for path in places.private.glob("ledger.db.damaged-*")]
    return found + damaged


def _confirmed(losses: list[_Loss], *, as_json: bool) -> bool:
    lines = [f"  {loss.path.name}: {loss.what}" for loss in losses]
    sys.stderr.write("This would be lost for good:\n" + "\n".join(lines) + "\n")
    if as_json:
        print_json({"removed": [], "would_lose": {loss.path.name: loss.what for loss in losses}})
    if as_json or not sys.stdin.isatty():
        sys.stderr.write("Nothing was removed. Add --yes to remove it.\n")
        return False
    return click.confirm("Remove it?", default=False, err=True)


def _remove(path: Path) -> bool:
    if path.is_symlink() or path.is_file() or path.is_socket():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        return False
    return True


def _report(removed: list[str], *, as_json: bool) -> int:
    if as_json:
        print_json({"removed": removed})
    else:
        sys.stdout.write("Removed: " + ", ".join(removed) + "\n" if removed else "Nothing to remove.\n")
    return OK
