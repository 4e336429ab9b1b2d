"""`.orchestration/intent_map.md`: which files and symbols each intent has shaped.

One line per file and symbol, sorted, so that the same facts give the same bytes and git can merge two branches.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from codeplane.govern.intents import IntentsDocument
from codeplane.govern.mutation_class import INTENT_EVOLUTION
from codeplane.govern.trace.records import VENDOR

_HEAD: Final = "# Intent map\n\nWritten by CodePlane: which files and symbols each intent has shaped.\n"
# Every line names its intent, because a merge may put it below another heading.
_ENTRY: Final = re.compile(r"- ([A-Za-z0-9][A-Za-z0-9._-]{0,63}): `([^`]+)`(?: · `([^`]+)`)?")
_SCOPE: Final = "scope "

# By intent: pairs of a path and a symbol, which is empty for the file itself.
Places = dict[str, set[tuple[str, str]]]


def places_in(text: str) -> Places:
    """Return what a map says; lines of another form are passed over, so that merged files can be read."""
    found: Places = {}
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry is not None:
            found.setdefault(entry[1], set()).add((entry[2], entry[3] or ""))
    return found


def places_of(records: Iterable[Mapping[str, Any]]) -> Places:
    """Return what records add: the files and symbols of changes that evolve an intent."""
    found: Places = {}
    for record in records:
        ours = record["metadata"][VENDOR]
        intent = ours.get("intent_id")
        if intent is None or ours.get("mutation_class") != INTENT_EVOLUTION:
            continue
        path = str(record["files"][0]["path"]).replace("`", "_")
        found.setdefault(intent, set()).add((path, ""))
        for part in ours.get("modified_ranges", ()):
            symbols = [str(node["symbol"]).replace("`", "_") for node in part.get("ast_nodes", ())]
            found[intent].update((path, symbol) for symbol in symbols)
    return found


def map_text(places: Places, intents: IntentsDocument | None) -> str:
    """Return the map; names and scopes of intents are those of the intents file."""
    parts = [_HEAD]
    known = {one.id: one for one in intents.active_intents} if intents is not None else {}
    for intent in sorted({*places, *known}):
        one = known.get(intent)
        parts.append(f"\n## {intent}{f' {_plain(one.name)}' if one is not None else ''}\n\n")
        parts += [f"{_SCOPE}`{pattern}`\n" for pattern in (sorted(one.owned_scope) if one is not None else ())]
        entries = sorted(places.get(intent, ()))
        parts.append("\n" if entries and one is not None and one.owned_scope else "")
        parts += [f"- {intent}: `{path}`" + (f" · `{symbol}`" if symbol else "") + "\n" for path, symbol in entries]
    return "".join(parts)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[`<>\[\]@#\x00-\x1f]", " ", text).split())
