"""Compare two states of some files: which definitions changed, how, and how much it matters."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from codeplane.core.line_matching import matching_blocks
from codeplane.diff.entities import FileReading, read_entities
from codeplane.diff.model import (
    CALLABLE,
    TYPES,
    ChangeKind,
    Comparison,
    Entity,
    EntityChange,
    FileChange,
    FilePair,
    Risk,
)
from codeplane.diff.pairing import Pairing, pair_entities
from codeplane.diff.places import category_of
from codeplane.diff.severity import signature_findings
from codeplane.diff.signatures import bases_of, parse_signature
from codeplane.languages.catalog import language_of
from codeplane.languages.facts import DefinitionKind

MINOR_LINES: Final = 3
MAJOR_LINES: Final = 20
_PREVIEW_LINES: Final = 6
_PREVIEW_WIDTH: Final = 120
MEMBERS_CHANGED: Final = "members_changed"
_RISKS: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH, Risk.UNKNOWN)
# Findings that change what a compiler or a reader is told, but not what runs.
_HARMLESS: Final = frozenset({"parameter_type_changed", "return_type_changed", "type_changed", "visibility_changed"})
# Tokens that decide what is executed.
_CONTROL: Final = frozenset(
    {"if", "else", "elif", "switch", "case", "match", "when", "for", "while", "do", "loop", "break", "continue",
     "return", "raise", "throw", "throws", "try", "catch", "except", "finally", "yield", "await", "async", "defer",
     "go", "select", "goto", "with", "unless", "until", "rescue", "ensure", "and", "or", "not", "in", "is", "==", "!=",
     "===", "!==", "<", ">", "<=", ">=", "&&", "||", "!", "??", "?", "+", "-", "/", "%", "+=", "-=", "*=", "/="}
)  # fmt: skip
_CONSTRUCTORS: Final = frozenset({"constructor", "__init__", "__post_init__"})
# Rust methods that a derived trait provides.
_DERIVED: Final = {
    "clone": "Clone", "cmp": "Ord", "default": "Default", "eq": "PartialEq", "fmt": "Debug", "hash": "Hash",
    "partial_cmp": "PartialOrd",
}  # fmt: skip
_BODY_OPENS: Final = frozenset({"{", "\x02", "=>"})


def compare_files(pairs: Sequence[FilePair], check_cancelled: Callable[[], None] = lambda: None) -> Comparison:
    """Return everything that differs between both sides of some files."""
    notes: list[str] = []
    read: list[tuple[FilePair, FileReading, FileReading]] = []
    for pair in pairs:
        check_cancelled()
        old = read_entities(pair.old_path or pair.path, pair.old)
        new = read_entities(pair.path, pair.new)
        notes.extend(_notes_of(pair, old, new))
        read.append((pair, old, new))
    pairing = pair_entities([(pair, old.entities, new.entities) for pair, old, new in read])
    if pairing.is_shortened:
        notes.append("too many definitions were added and removed to look for renames between all of them")
    judge = _Judge(pairing, {pair.old_path or pair.path: new for pair, _, new in read})
    changes: list[EntityChange] = []
    for _, old, new in read:
        changes += judge.changes(old.entities, new.entities)
    told = {one.path for one in _walk(changes)}
    files = [_file_change(pair) for pair, _, _ in read if pair.path not in told and (pair.old_path or "") not in told]
    changes.sort(key=lambda one: (not is_breaking(one), one.entity.path, one.entity.start))
    return Comparison(tuple(changes), tuple(files), len(read), tuple(notes))


def is_breaking(change: EntityChange) -> bool:
    """Tell whether a change or one inside it is breaking."""
    return change.is_breaking or any(is_breaking(one) for one in change.nested)


def all_changes(changes: Iterable[EntityChange]) -> Iterator[EntityChange]:
    """Yield changes and those inside them, without types of which only members changed."""
    for one in changes:
        if MEMBERS_CHANGED not in one.tags:
            yield one
        yield from all_changes(one.nested)


def _walk(changes: Iterable[EntityChange]) -> Iterator[Entity]:
    for one in changes:
        yield from (side for side in (one.old, one.new) if side is not None)
        yield from _walk(one.nested)


def _notes_of(pair: FilePair, old: FileReading, new: FileReading) -> Iterator[str]:
    for side, reading in (("old", old), ("new", new)):
        if reading.problem:
            yield f"{pair.path}: the {side} side was not analysed: {reading.problem}"
    if old.n_errors or new.n_errors:
        sides = [side for side, reading in (("old", old), ("new", new)) if reading.n_errors]
        yield f"{pair.path} has syntax errors ({' and '.join(sides)} side); its changes may be incomplete"


def _file_change(pair: FilePair) -> FileChange:
    language = language_of(pair.path)
    return FileChange(pair.path, pair.status, category_of(pair.path), language, pair.old_path)


class _Judge:
    """Judges pairs of definitions; `readings` are the new sides of files by their old paths."""

    def __init__(self, pairing: Pairing, readings: dict[str, FileReading]) -> None:
        self._pairing = pairing
        self._readings = readings

    def changes(self, olds: Sequence[Entity], news: Sequence[Entity], *, is_whole: bool = False) -> list[EntityChange]:
        """Return what changed among the definitions of one file or type.

        With `is_whole` the type itself was added or removed: then only functions and types inside it are listed.
        """
        found: list[EntityChange] = []
        for new in news:
            old = self._pairing.old_of.get(new)
            change = self._added(new) if old is None else self._changed(old, new)
            if change is not None and (not is_whole or old is not None or _is_listed(new)):
                found.append(change)
        gone = (old for old in olds if old not in self._pairing.new_of)
        found.extend(self._removed(old, news) for old in gone if not is_whole or _is_listed(old))
        return found

    def _added(self, new: Entity) -> EntityChange:
        nested = tuple(self.changes((), new.members, is_whole=True))
        n_lines = new.extent.count(b"\n") + 1
        tags = ("symbol_added",)
        return EntityChange(None, new, ChangeKind.ADDED, False, _worst(new, Risk.LOW), tags, n_lines, "", nested)

    def _removed(self, old: Entity, news: Sequence[Entity]) -> EntityChange:
        nested = tuple(self.changes(old.members, (), is_whole=True))
        why_kept = self._why_still_there(old, news)
        is_breaking = old.is_api and not why_kept
        tags = ("symbol_removed", *([why_kept] if why_kept else []))
        risk = _worst(old, Risk.HIGH if is_breaking else Risk.MEDIUM)
        n_lines = old.extent.count(b"\n") + 1
        return EntityChange(old, None, ChangeKind.REMOVED, is_breaking, risk, tags, n_lines, "", nested)

    def _why_still_there(self, old: Entity, news: Sequence[Entity]) -> str:
        """Return why those who use a removed definition still find one, empty when they do not."""
        if self._is_still_offered(old):
            return "reexported"
        if any(new.name == old.name and new.signature == old.signature for new in news):
            return "alternative_remains"
        parent = self._pairing.parents.get(old)
        later = self._pairing.new_of.get(parent) if parent is not None else None
        derived = _DERIVED.get(old.name) if later is not None and later.dialect == "rust" else None
        if derived and later is not None and any(re.search(rf"\b{derived}\b", one) for one in later.decorators):
            return "inherited"
        return _why_inherited(old)

    def _is_still_offered(self, old: Entity) -> bool:
        """Tell whether the old file still offers the name, by importing it from elsewhere."""
        reading = self._readings.get(old.path)
        return reading is not None and not old.container and old.name in reading.offered_names

    def _changed(self, old: Entity, new: Entity) -> EntityChange | None:
        nested = tuple(self.changes(old.members, new.members))
        same_place = self._pairing.is_same_place(old, new)
        is_moved = not same_place
        is_renamed = old.name != new.name
        if old.extent == new.extent and not is_moved and not is_renamed and not nested and _is_like(old, new):
            return None
        findings = [] if old.is_attribute else signature_findings(old, new)
        tags = [tag for tag, _ in findings]
        body = _body_tags(old, new, has_findings=bool(findings))
        lines, preview = _line_changes(old, new)
        if not (findings or body or is_moved or is_renamed):
            if not nested:
                return None
            risk = max((one.risk for one in nested), key=_RISKS.index)
            is_bad = any(is_breaking(one) for one in nested)
            return EntityChange(old, new, ChangeKind.BODY_CHANGED, is_bad, risk, (MEMBERS_CHANGED,), 0, "", nested)
        kind = ChangeKind.SIGNATURE_CHANGED if findings else ChangeKind.BODY_CHANGED
        is_bad = old.is_api and any(is_it for _, is_it in findings)
        if is_moved or is_renamed:
            kind = ChangeKind.RENAMED
            why_kept = self._why_kept(old, new, is_renamed=is_renamed)
            is_bad |= old.is_api and not why_kept
            tags = [*(["symbol_renamed"] if is_renamed else []), *(["moved"] if is_moved else []), *why_kept, *tags]
        elif findings:
            tags = ["signature_changed", *tags]
        risk = _worst(new if new.in_broken_file else old, _risk(old, new, findings, body))
        tags += body
        if lines and not {"comment_only", "formatting_only"} & set(body):
            tags += ["minor_change"] if lines <= MINOR_LINES else ["major_change"] if lines > MAJOR_LINES else []
        return EntityChange(old, new, kind, is_bad, risk, tuple(dict.fromkeys(tags)), lines, preview, nested)

    def _why_kept(self, old: Entity, new: Entity, *, is_renamed: bool) -> list[str]:
        """Return why those who use a renamed or moved definition still find it, nothing when they do not."""
        if self._is_still_offered(old):
            return ["reexported"]
        if is_renamed:
            return []
        folder, new_folder = (one.path.rpartition("/")[0] for one in (old, new))
        if old.dialect == "go" and folder == new_folder and old.lexical_path == new.lexical_path:
            return ["same_package"]
        parent = self._pairing.parents.get(old)
        later = self._pairing.new_of.get(parent) if parent is not None else None
        if later is not None and new.container:
            bases = {re.split(r"[\[(<]", one)[0].rpartition(".")[2] for one in bases_of(later.signature, later.dialect)}
            if new.container.rpartition(".")[2] in bases:
                return ["inherited"]
        return []


def _why_inherited(entity: Entity) -> str:
    """Return why those who use a removed member still find one: it replaced that of a base, or did nothing."""
    own = entity.own
    calls_base = any(own[i] == "super" and entity.name in own[i + 1 : i + 6] for i in range(len(own)))
    says_so = any(one.startswith("Override") for one in entity.decorators) or "override" in entity.head.split()
    if calls_base or says_so:
        return "inherited"
    is_default = entity.name in _CONSTRUCTORS and not parse_signature(entity.signature, entity.dialect).parameters
    return "inherited" if is_default else ""


def _is_listed(entity: Entity) -> bool:
    return entity.kind in CALLABLE or entity.kind in TYPES or entity.kind is DefinitionKind.PROPERTY


def _is_like(old: Entity, new: Entity) -> bool:
    return old.decorators == new.decorators and old.visibility is new.visibility and old.signature == new.signature


def _body_tags(old: Entity, new: Entity, *, has_findings: bool) -> list[str]:
    if old.is_attribute or new.is_attribute:
        return []
    bodies = _body(old), _body(new)
    # Without findings the declaration differs in its spelling only, where it can be told from the body.
    is_apart = has_findings or old.name != new.name or (old.kind in CALLABLE and all(bodies))
    before, after = bodies if is_apart else (old.own, new.own)
    if before != after:
        is_value = old.kind not in CALLABLE and old.kind not in TYPES and not old.signature
        return ["value_changed" if is_value else "body_logic_changed"]
    if has_findings:
        return []
    if old.notes != new.notes:
        return ["comment_only"]
    is_laid_out_anew = not old.members and not new.members and _own_lines(old) != _own_lines(new)
    return ["formatting_only"] if is_laid_out_anew and old.name == new.name else []


def _body(entity: Entity) -> tuple[str, ...]:
    """Return the tokens behind the declaration: the body of a function or type, the value of a variable."""
    depth = 0
    is_callable = entity.kind in CALLABLE
    is_declared = not is_callable
    opens = _BODY_OPENS if is_callable else {*_BODY_OPENS, "="}
    for number, text in enumerate(entity.own):
        depth += (text in {"(", "["}) - (text in {")", "]"})
        is_declared |= depth == 0 and text == ")"
        if depth == 0 and is_declared and text in opens:
            return entity.own[number:]
    return ()


def _risk(old: Entity, new: Entity, findings: list[tuple[str, bool]], body: list[str]) -> Risk:
    """Return how likely behaviour changed.

    | change | risk |
    |---|---|
    | comments, layout, name or place only | low |
    | types and visibility only | low; a breaking one medium |
    | any other breaking part of the signature | high |
    | other parts of the signature, values, calls and literals of a body | medium |
    | what a body decides: conditions, loops, results, errors, operators | high |
    """
    bad = {tag for tag, is_it in findings if is_it}
    if bad - _HARMLESS:
        return Risk.HIGH
    if "body_logic_changed" in body:
        before, after = (Counter(_body(one) or one.own) for one in (old, new))
        changed = (before - after) + (after - before)
        return Risk.HIGH if not _CONTROL.isdisjoint(changed) else Risk.MEDIUM
    if "value_changed" in body or bad:
        return Risk.MEDIUM
    return Risk.MEDIUM if {tag for tag, _ in findings} - _HARMLESS else Risk.LOW


def _worst(entity: Entity, risk: Risk) -> Risk:
    return Risk.UNKNOWN if entity.in_broken_file else risk


def _own_lines(entity: Entity) -> list[str]:
    """Return the lines of a definition without those of its members."""
    text = entity.extent
    for member in sorted(entity.members, key=lambda one: -one.start):
        at = member.start - entity.start
        if not member.is_attribute and at >= 0 and at + len(member.extent) <= len(text):
            text = text[:at] + text[at + len(member.extent) :]
    lines = text.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return [line.rstrip() for line in lines if not entity.members or line.strip()]


def _line_changes(old: Entity, new: Entity) -> tuple[int, str]:
    """Return how many lines differ, and the first of them."""
    before, after = _own_lines(old), _own_lines(new)
    if before == after:
        return 0, ""
    n_lines = 0
    shown: list[str] = []
    old_at = new_at = 0
    for old_start, new_start, length in [*matching_blocks(before, after), (len(before), len(after), 0)]:
        removed, added = before[old_at:old_start], after[new_at:new_start]
        n_lines += max(len(removed), len(added))
        shown += [f"-{line.strip()}"[:_PREVIEW_WIDTH] for line in removed if line.strip()]
        shown += [f"+{line.strip()}"[:_PREVIEW_WIDTH] for line in added if line.strip()]
        old_at, new_at = old_start + length, new_start + length
    more = [f"({len(shown) - _PREVIEW_LINES} more)"] if len(shown) > _PREVIEW_LINES else []
    return n_lines, "\n".join([*shown[:_PREVIEW_LINES], *more])
