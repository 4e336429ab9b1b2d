"""What an edit touched, from the bytes before and after: symbols, and places that no longer parse."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codeplane.core.line_matching import Block, matching_blocks
from codeplane.index.facts.encoded import MAX_SOURCE_BYTES
from codeplane.languages.catalog import dialect_of, load_language
from codeplane.languages.facts import Definition, DefinitionKind, FileFacts

_WITHOUT_LOCALS = frozenset(DefinitionKind) - {DefinitionKind.PARAMETER}


@dataclass(frozen=True, slots=True)
class Touched:
    """The paths of definitions in changed lines, the lines of new syntax errors, and the facts of the new text."""

    symbols: tuple[str, ...] = ()
    error_lines: tuple[int, ...] = ()
    facts: FileFacts | None = None


def touched_by(
    path: str,
    before: bytes | None,
    after: bytes | None,
    old_lines: Sequence[tuple[int, int]],
    new_lines: Sequence[tuple[int, int]],
    known: Callable[[str, bytes], list[Definition] | None] = lambda _path, _source: None,
) -> Touched:
    """Return what changed between two texts of a file; lines are those of the edits, before and after.

    The old text is parsed only when `known` does not have its definitions, or for the errors that it had already.
    """
    language = load_language(dialect_of(path))
    if language is None or len(before or b"") + len(after or b"") > MAX_SOURCE_BYTES:
        return Touched()
    new = language.extract(after) if after is not None else None
    old = None
    definitions = known(path, before) if before is not None and old_lines else []
    if before is not None and (definitions is None or (new is not None and new.n_errors)):
        old = language.extract(before)
        definitions = old.definitions
    names = dict.fromkeys(
        [
            *(_named(definitions or [], before, old_lines) if before is not None else ()),
            *(_named(new.definitions, after, new_lines) if new is not None and after is not None else ()),
        ]
    )
    errors: tuple[int, ...] = ()
    if new is not None and after is not None and new.n_errors > (old.n_errors if old is not None else 0):
        old_texts = (
            {_line_text(before, start) for start in old.error_starts}
            if old is not None and before is not None
            else set()
        )
        lines = {
            after.count(b"\n", 0, start) + 1 for start in new.error_starts if _line_text(after, start) not in old_texts
        }
        errors = tuple(sorted(lines)) or tuple(sorted(after.count(b"\n", 0, one) + 1 for one in new.error_starts))[:1]
    return Touched(tuple(names), errors, new)


def changed_symbols(path: str, before: bytes | None, after: bytes | None) -> list[str]:
    """Return the nameable definitions whose text differs; one that contains a changed definition is not listed."""
    language = load_language(dialect_of(path))
    if language is None or before == after or len(before or b"") + len(after or b"") > MAX_SOURCE_BYTES:
        return []
    old = _texts_of(language.extract(before), before) if before is not None else {}
    new = _texts_of(language.extract(after), after) if after is not None else {}
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    holders = {name[:at] for name in changed for at, character in enumerate(name) if character == "."}
    return [name for name in changed if name not in holders]


def is_same_outside_definitions(path: str, before: bytes | None, after: bytes | None) -> bool:
    """Tell whether two texts of a file differ in nothing but its nameable definitions and white space."""
    language = load_language(dialect_of(path))
    if language is None or before is None or after is None or len(before) + len(after) > MAX_SOURCE_BYTES:
        return False
    return _outside(language.extract(before), before) == _outside(language.extract(after), after)


def _outside(facts: FileFacts, source: bytes) -> bytes:
    outer = {0, *(one.body_scope for one in facts.definitions if one.kind in _HOLDERS)}
    parts, end = [], 0
    for one in sorted(facts.definitions, key=lambda one: one.start):
        if one.scope in outer and one.kind in _WITHOUT_LOCALS and one.start >= end:
            parts.append(source[end : one.start])
            end = one.end
    return b" ".join(b"".join([*parts, source[end:]]).split())


def _texts_of(facts: FileFacts, source: bytes) -> dict[str, list[bytes]]:
    outer = {0, *(one.body_scope for one in facts.definitions if one.kind in _HOLDERS)}
    found: dict[str, list[bytes]] = {}
    for one in facts.definitions:
        if one.scope in outer and one.kind in _WITHOUT_LOCALS:
            found.setdefault(one.lexical_path, []).append(source[one.start : one.end])
    return found


def _named(definitions: Sequence[Definition], source: bytes, lines: Sequence[tuple[int, int]]) -> list[str]:
    """Return the innermost definitions that others can name around changed lines, and those inside them."""
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    outer = {0, *(one.body_scope for one in definitions if one.kind in _HOLDERS)}
    found: dict[str, None] = {}
    for first, last in lines:
        begin, end = starts[min(first, len(starts)) - 1], starts[min(max(first, last), len(starts) - 1)]
        visible = [one for one in definitions if one.scope in outer and one.kind in _WITHOUT_LOCALS]
        inside = [one for one in visible if begin <= one.name_start < end]
        around = [one for one in visible if one.start <= begin and end <= one.end + 1 and one not in inside]
        if around:
            found[min(around, key=lambda one: one.end - one.start).lexical_path] = None
        found |= dict.fromkeys(one.lexical_path for one in inside)
    return list(found)


_HOLDERS = frozenset(
    {
        DefinitionKind.MODULE,
        DefinitionKind.CLASS,
        DefinitionKind.INTERFACE,
        DefinitionKind.ENUM,
        DefinitionKind.STRUCT,
        DefinitionKind.TRAIT,
    }
)


def _line_text(source: bytes, offset: int) -> bytes:
    end = source.find(b"\n", offset)
    return source[source.rfind(b"\n", 0, offset) + 1 : end if end >= 0 else len(source)].strip()


def touched_between(path: str, before: bytes | None, after: bytes | None) -> Touched:
    """As `touched_by`, for texts of which nobody knows which lines were edited."""
    old, new = (before or b"").split(b"\n"), (after or b"").split(b"\n")
    old_lines, new_lines, at_old, at_new = [], [], 0, 0
    for block in [*matching_blocks(old, new), Block(len(old), len(new), 0)]:
        if block.old > at_old:
            old_lines.append((at_old + 1, block.old))
        if block.new > at_new:
            new_lines.append((at_new + 1, block.new))
        at_old, at_new = block.old + block.size, block.new + block.size
    return touched_by(path, before, after, old_lines, new_lines)
