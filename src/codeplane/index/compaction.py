"""Give back the room of texts and facts that neither a file nor a kept epoch needs any more.

Texts of other branches stay for a while, so that going back to them costs no parsing; they go when they take more
room than what is in use.
"""

import sqlite3

from codeplane.core.logs import fields, get_logger
from codeplane.index.index_store import IndexStore, drawn_pack_name, write_meta
from codeplane.index.text_pack import TextPack

_log = get_logger(__name__)

# So much may be unused whatever the size of the rest.
SPARE_BYTES = 16 * 1024 * 1024

_KEPT_FACTS = (
    "SELECT facts_id FROM files WHERE facts_id IS NOT NULL"
    " UNION SELECT facts_id FROM snapshots WHERE facts_id IS NOT NULL"
)


def is_worthwhile(used_bytes: int, pack_bytes: int) -> bool:
    """Tell whether more of the pack is unused than is in use, and not just a little."""
    return pack_bytes - used_bytes > used_bytes + SPARE_BYTES


def compact(store: IndexStore) -> int:
    """Drop what nobody needs and write the rest of the texts into a new pack; return the bytes given back.

    The old pack stays on disk for readers that still use it, until an index is next opened.
    """
    with store.database.write() as connection:
        store.follow_pack(connection)
        before = _pack_size(connection)
        connection.execute(f"DELETE FROM facts WHERE facts_id NOT IN ({_KEPT_FACTS})")  # noqa: S608 - our own words
        connection.execute(
            "DELETE FROM texts WHERE text_id NOT IN"
            " (SELECT text_id FROM files WHERE text_id IS NOT NULL UNION SELECT text_id FROM facts)"
        )
        pack = TextPack(store.directory / drawn_pack_name())
        rows = connection.execute("SELECT text_id, offset, length FROM texts ORDER BY offset").fetchall()
        moved = []
        with pack.appending(0) as writer, store.pack.mapped(before) as view:
            for text_id, offset, length in rows:
                moved.append((writer.append(bytes(view[offset : offset + length])).offset, text_id))
        connection.executemany("UPDATE texts SET offset = ? WHERE text_id = ?", moved)
        write_meta(connection, {"pack": pack.path.name, "pack_size": str(writer.size), "pack_stamp": pack.stamp()})
    store.pack = pack
    _log.info("the index was compacted", extra=fields(before=before, after=writer.size))
    return before - writer.size


def _pack_size(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = 'pack_size'").fetchone()
    return int(row[0]) if row else 0
