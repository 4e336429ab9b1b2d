"""Give every file its unit: the context that owns it."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.markers import marker_families
from codeplane.index.contexts.model import Context, ContextStatus, ParseQuality, TreeView
from codeplane.index.contexts.nesting import directory_text
from codeplane.index.contexts.router import ContextRouter


class OwnershipInputs(NamedTuple):
    """What decides who owns a file besides the files: texts, what git tracks, and the contexts a person declares."""

    text_of: Callable[[str], str | None]
    holds_tracked: Callable[[str], bool]
    declared: tuple[tuple[str, str], ...]


def is_marker(path: str) -> bool:
    """Tell whether a file marks a context, so that its content may change who owns what."""
    parsed = _parsed(path)
    return parsed is not None and bool(marker_families(parsed))


def assign_units(
    connection: sqlite3.Connection,
    paths: Iterable[str],
    asked: OwnershipInputs,
    quality_of: Callable[[str], ParseQuality | None],
) -> dict[str, int]:
    """Find the contexts, keep them as units, and return the unit of each file that has one."""
    files = tuple(parsed for path in paths if (parsed := _parsed(path)) is not None)

    def is_tracked(directory: RepoPath) -> bool:
        return asked.holds_tracked(directory_text(directory))

    declared = tuple((family, RepoPath.parse(root)) for family, root in asked.declared)
    view = TreeView(
        files, lambda path: asked.text_of(path.text), is_tracked, lambda path: quality_of(path.text), declared
    )
    contexts = discover_contexts(view)
    unit_ids = _keep_units(connection, contexts)
    router = ContextRouter(contexts, is_tracked)
    owned = {}
    for path in files:
        owners = router.contexts_of(path)
        if owners:
            owned[path.text] = unit_ids[owners[0].context_id]
    return owned


def unit_roots(connection: sqlite3.Connection) -> Mapping[int, tuple[str, str]]:
    """Return family and root of each unit that owns files."""
    rows = connection.execute("SELECT unit_id, family, root FROM units WHERE status = ?", (ContextStatus.VALID.value,))
    return {row[0]: (row[1], row[2]) for row in rows}


def _keep_units(connection: sqlite3.Connection, contexts: Iterable[Context]) -> dict[str, int]:
    """Write the contexts as units; one that stays keeps its number."""
    rows = [
        (one.context_id, one.family, directory_text(one.root_path), one.status.value, one.reason) for one in contexts
    ]
    known = {row[0]: row[1] for row in connection.execute("SELECT context_id, unit_id FROM units")}
    gone = known.keys() - {row[0] for row in rows}
    connection.executemany("DELETE FROM units WHERE context_id = ?", [(one,) for one in gone])
    connection.executemany(
        "INSERT INTO units (context_id, family, root, status, reason) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (context_id) DO UPDATE SET status = excluded.status, reason = excluded.reason",
        rows,
    )
    return {row[0]: row[1] for row in connection.execute("SELECT context_id, unit_id FROM units")}


def _parsed(path: str) -> RepoPath | None:
    try:
        return RepoPath.parse(path)
    except CodePlaneError:
        return None
