"""Plan the move of a file, a directory or a top-level symbol, with every import that has to follow."""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.reader import FactReader
from codeplane.languages.catalog import dialect_of, linking_rules
from codeplane.refactor.mentions import mentions_of
from codeplane.refactor.move_go import go_edits
from codeplane.refactor.move_java import java_edits
from codeplane.refactor.move_javascript import javascript_edits
from codeplane.refactor.move_python import python_edits
from codeplane.refactor.move_rust import rust_edits
from codeplane.refactor.move_symbol import move_symbol
from codeplane.refactor.moved_tree import MovedTree
from codeplane.refactor.plan import Draft, Edit, FileMove
from codeplane.refactor.proof import hashes_of, prove

_FOLLOW: Final[Mapping[str, Callable[[MovedTree], Iterator[Edit]]]] = {
    "python": python_edits,
    "javascript": javascript_edits,
    "go": go_edits,
    "java": java_edits,
    "rust": rust_edits,
}
_FAMILY_OF: Final = {"typescript": "javascript", "tsx": "javascript"}


def plan_move(
    reader: FactReader,
    from_path: str,
    to_path: str,
    *,
    tracked_and_clean: Iterable[str] = (),
    others: Iterable[str] = (),
) -> Draft:
    """Return the plan of a move.

    `from_path` is a file, a directory, or `path::Name`. `tracked_and_clean` are the paths that git tracks and that are
    as in its index; `others` are files below `from_path` that the index does not know, which move along.

    Raises:
        CodePlaneError: FILE_NOT_FOUND, REFACTOR_CONFLICT, FILE_EXISTS or INVALID_ARGUMENTS, with the places.
    """
    path, mark, name = from_path.partition("::")
    if mark:
        return move_symbol(reader, path, name, to_path)
    source, target = path.rstrip("/"), to_path.rstrip("/")
    known = _files_below(reader, source)
    moved = sorted({*known, *others})
    if not moved:
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no file or directory {source}.", details={"path": source})
    is_file = moved == [source]
    if is_file and (to_path.endswith("/") or _files_below(reader, target) not in ([], [target])):
        target = posixpath.join(target, posixpath.basename(source))
    _check_target(reader, source, target, is_file=is_file)
    moves = {one: target + one[len(source) :] for one in moved}
    edits, warnings, names = _following(reader, moves, (source, target))
    mentions = tuple(mentions_of(reader, {**names, source: target}, edits))
    return _draft(reader, (source, target), moves, (*edits, *mentions), warnings, frozenset(tracked_and_clean))


def _following(
    reader: FactReader, moves: Mapping[str, str], place: tuple[str, str]
) -> tuple[tuple[Edit, ...], tuple[str, ...], dict[str, str]]:
    """Return the edits that keep all imports right, proved by comparing what names mean; warnings; names of modules."""
    edits: list[Edit] = []
    names: dict[str, str] = {}
    warnings = []
    families = {linking_rules(dialect_of(path)): dialect_of(path) for path in sorted(moves, reverse=True)}
    trees = []
    for rules, dialect in families.items():
        if rules is None:
            continue
        tree = MovedTree(reader, dialect, moves, place)
        edits += _FOLLOW[_FAMILY_OF.get(dialect, dialect)](tree)
        warnings += tree.warnings
        names |= tree.names
        trees.append(tree)
    edits = list(dict.fromkeys(edits))
    for tree in trees:
        prove(reader, tree.language, edits, _file_moves(moves), new_place=tree.new_place)
    plain = sorted(path for path in moves if linking_rules(dialect_of(path)) is None)
    if plain:
        shown = ", ".join(plain[:5]) + (f" and {len(plain) - 5} more" if len(plain) > 5 else "")
        warnings.append(f"Moved without looking inside: {shown}.")
    return tuple(edits), tuple(warnings), names


def _files_below(reader: FactReader, path: str) -> list[str]:
    rows = reader.connection.execute(
        "SELECT path FROM files WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/' ORDER BY path", (path,)
    )
    return [str(row[0]) for row in rows]


def _check_target(reader: FactReader, source: str, target: str, *, is_file: bool) -> None:
    if source == target:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{source} is already there.", details={"path": source})
    if not target or (not is_file and target.startswith(f"{source}/")):
        raise CodePlaneError("INVALID_ARGUMENTS", f"{source} cannot move into itself.", details={"path": target})
    parts = target.split("/")
    around = ["/".join(parts[:number]) for number in range(1, len(parts))]
    holding = [one for one in around if one != source and reader.file_at(one) is not None]
    # A name that differs only in case may be the same file.
    taken = [] if target.lower() == source.lower() else _files_below(reader, target)
    if taken or holding:
        at = (taken or holding)[0]
        raise CodePlaneError("FILE_EXISTS", f"{at} exists already; nothing is overwritten.", details={"path": at})


def _file_moves(moves: Mapping[str, str]) -> tuple[FileMove, ...]:
    return tuple(FileMove(*one) for one in sorted(moves.items()))


def _draft(
    reader: FactReader,
    place: tuple[str, str],
    moves: Mapping[str, str],
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...],
    tracked: frozenset[str],
) -> Draft:
    details = {
        "moved": [
            {"file_moved": True, "from": one, "to": target, "git_mv": one in tracked}
            for one, target in sorted(moves.items())
        ]
    }
    ordered = tuple(sorted(edits, key=lambda one: (one.path, one.start, one.end)))
    return Draft(
        "move",
        f"{place[0]} -> {place[1]}",
        edits=ordered,
        moves=_file_moves(moves),
        warnings=warnings,
        details=details,
        hashes=hashes_of(reader, {*moves, *(one.path for one in ordered)}),
    )
