"""The texts that files had in earlier epochs of the index, as long as these are kept."""

from collections.abc import Iterator
from typing import NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.index_store import BEFORE_SNAPSHOTS, KEPT_SNAPSHOTS
from codeplane.languages.catalog import dialect_of, load_language


class ChangedText(NamedTuple):
    """A file that differs between two epochs; a text is None where there is no such file, or none with symbols."""

    path: str
    status: str
    old: bytes | None
    new: bytes | None


def check_kept(reader: FactReader, epoch: int) -> None:
    """Refuse an epoch whose files are not known.

    Raises:
        CodePlaneError: EPOCH_NOT_KEPT with the epochs that are.
    """
    rows = reader.connection.execute("SELECT min(epoch) FROM snapshots WHERE epoch > ?", (BEFORE_SNAPSHOTS,)).fetchone()
    first = max(int(rows[0] or reader.epoch), reader.epoch - KEPT_SNAPSHOTS)
    if not first <= epoch <= reader.epoch:
        message = f"Epoch {epoch} is not kept; the index knows epochs {first} to {reader.epoch}."
        raise CodePlaneError("EPOCH_NOT_KEPT", message, details={"first": first, "last": reader.epoch})


def texts_between(reader: FactReader, old: int, new: int) -> Iterator[ChangedText]:
    """Yield the files that differ between two kept epochs, by path."""
    first, last = min(old, new), max(old, new)
    known = {str(row[0]) for row in reader.connection.execute("SELECT path FROM files")}
    states: dict[str, list[tuple[int, int | None]]] = {}
    for path, epoch, facts_id in reader.connection.execute(
        "SELECT path, epoch, facts_id FROM snapshots ORDER BY path, epoch"
    ):
        states.setdefault(path, []).append((epoch, facts_id))
    for path, rows in states.items():
        if not any(first < epoch <= last for epoch, _ in rows):
            continue
        sides = [_at(rows, epoch) for epoch in (old, new)]
        texts = [_text(reader, path, side[1]) if side is not None else None for side in sides]
        if load_language(dialect_of(path)) is None:
            # Such files have no facts, whether they are there or not.
            there = [side is not None and (path in known or side[0] != rows[-1][0]) for side in sides]
        else:
            there = [text is not None for text in texts]
        if any(there) and (not all(there) or texts[0] != texts[1] or texts[0] is None):
            status = "modified" if all(there) else "deleted" if there[0] else "added"
            yield ChangedText(path, status, texts[0], texts[1])


def _at(rows: list[tuple[int, int | None]], epoch: int) -> tuple[int, int | None] | None:
    """Return the row of a file that counts in an epoch, None when the file was not known yet."""
    return next((row for row in reversed(rows) if row[0] <= epoch), None)


def _text(reader: FactReader, path: str, facts_id: int | None) -> bytes | None:
    if facts_id is None:
        return None
    row = reader.connection.execute("SELECT text_id FROM facts WHERE facts_id = ?", (facts_id,)).fetchone()
    return reader.text(FactFile(0, path, "", row[0], facts_id, None, "")) if row else None
