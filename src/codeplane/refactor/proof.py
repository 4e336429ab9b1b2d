"""Prove a plan, and remember the files it was made for."""

from collections.abc import Callable, Iterable

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.reader import FactReader
from codeplane.refactor.checking import Carried, Comparison
from codeplane.refactor.plan import CODE, Edit, FileMove


def prove(
    reader: FactReader,
    language: str,
    edits: Iterable[Edit],
    moves: Iterable[FileMove],
    *,
    carried: Iterable[Carried] = (),
    new_place: Callable[[str], str] | None = None,
) -> None:
    """Compare what every reference means before and after.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT with the places where a name would mean something else.
    """
    code = [one for one in edits if one.group == CODE]
    comparison = Comparison(reader, language, code, moves, carried=carried, new_place=new_place)
    found = [*comparison.differences()]
    places = [f"{one.path}:{one.line}" for one in found]
    said = [str(one) for one in found]
    broken = comparison.new_errors()
    if said or broken:
        said += [f"{path}: would no longer parse" for path in broken]
        raise CodePlaneError(
            "REFACTOR_CONFLICT",
            f"The move cannot be proved: {said[0]}" + (f" (and {len(said) - 1} more places)" if said[1:] else ""),
            details={"places": [*places, *broken], "differences": said},
        )


def hashes_of(reader: FactReader, paths: Iterable[str]) -> dict[str, str]:
    """Return the digests of some files, empty for those that the index has no text of."""
    found = {}
    for path in sorted(set(paths)):
        row = reader.connection.execute(
            "SELECT sha256 FROM files JOIN texts USING (text_id) WHERE path = ?", (path,)
        ).fetchone()
        found[path] = str(row[0]) if row else ""
    return found
