"""The constructs of TOML that a pattern cannot express."""

from tree_sitter import Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.nodes import first_named, last_named
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match


def declare_table(outline: Outline, match: Match) -> int | None:
    """Add a table; one of a list of tables has its index in the path."""
    key = first_named(match.node)
    parts = _parts(outline, key)
    path = _path(outline, parts)
    if match.node.type == "table_array_element":
        outline.n_times[path] = outline.n_times.get(path, 0) + 1
    if key is None or not parts:
        return SKIP
    if path in outline.n_times:
        path += f".{outline.n_times[path] - 1}"
    name = ".".join(parts)
    is_listed = outline.add(DefinitionKind.BLOCK, key.byte_range, match.node.byte_range, name=name, path_name=path)
    return None if is_listed else SKIP


def declare_pair(outline: Outline, match: Match) -> int | None:
    """Add a pair under its whole key."""
    key = first_named(match.node)
    parts = _parts(outline, key)
    is_open = key is not None and bool(parts) and outline.add_key(match.node, key, ".".join(parts))
    return None if is_open else SKIP


def _path(outline: Outline, parts: list[str]) -> str:
    """Return the path of a table; where a part is a list of tables, the last one of it is meant."""
    path = parts[0] if parts else ""
    for part in parts[1:]:
        if path in outline.n_times:
            path += f".{outline.n_times[path] - 1}"
        path += f".{part}"
    return path


def _parts(outline: Outline, key: Node | None) -> list[str]:
    """Return the parts of a key; dotted keys lean to the left, one node per dot."""
    parts: list[str] = []
    while key is not None and key.type == "dotted_key":
        last = last_named(key)
        if last is not None:
            parts.append(outline.text.name(*outline.unquoted(last)))
        key = first_named(key)
    if key is None or key.type not in {"bare_key", "quoted_key"}:
        return []
    parts.append(outline.text.name(*outline.unquoted(key)))
    return parts[::-1]
