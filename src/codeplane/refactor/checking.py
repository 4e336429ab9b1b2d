"""Compare what every reference means before and after a planned change; nothing else proves that a plan is right."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from codeplane.index.facts.columns import FIRST_EXPRESSION
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import NAME, NAME_START, OWNER, SCOPE, SIGNATURE, Outline
from codeplane.index.facts.reader import FactReader, Place, line_and_column
from codeplane.index.linking.stored_links import Tier
from codeplane.index.method_shapes import has_same_parameters
from codeplane.index.what_if import WhatIf
from codeplane.languages.catalog import linking_rules
from codeplane.refactor.plan import Edit, FileMove, edited

_MAX_DIFFERENCES = 20
# A definition by the path of its file and where its name starts.
_Spot = tuple[str, int]


class Difference(NamedTuple):
    """A place where a name would mean something else."""

    path: str
    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.why}: {self.text}"


class Carried(NamedTuple):
    """A piece of a file that goes to another: its old span, and where in the new text of the target it begins.

    `inner` are the edits inside the piece, counted in the old text.
    """

    source: str
    start: int
    end: int
    target: str
    at: int
    inner: tuple[Edit, ...] = ()


class Offsets:
    """Where the offsets of an old text are in the new one; None for one that an edit removes."""

    def __init__(self, edits: Iterable[Edit]) -> None:
        self._edits = sorted(edits, key=lambda one: (one.start, one.end))
        self._starts = [one.start for one in self._edits]
        self._shifts = [0]
        for one in self._edits:
            grown = len(one.new.encode("utf-8", "surrogatepass")) - (one.end - one.start)
            self._shifts.append(self._shifts[-1] + grown)

    def key(self, offset: int) -> int | None:
        """Return where the text that replaces a name begins: of `name: other` where the key is."""
        number = bisect_right(self._starts, offset)
        is_edit = number > 0 and self._starts[number - 1] == offset
        return offset + self._shifts[number - 1] if is_edit else None

    def new(self, offset: int) -> int | None:
        """Return the new offset."""
        number = bisect_right(self._starts, offset)
        if number == 0:
            return offset
        last = self._edits[number - 1]
        if last.start == offset < last.end:
            return offset + self._shifts[number - 1] + last.anchor if last.new and last.anchor >= 0 else None
        return None if offset < last.end else offset + self._shifts[number]


class Comparison:
    """One planned change, before and after.

    `new_place` gives the path of a moved directory, so that the roots of contexts move with it.

    Invariant: a difference is reported unless both sides mean the same definition, found again by its place.
    """

    def __init__(  # noqa: PLR0913 - the parts of a change
        self,
        reader: FactReader,
        language: str,
        edits: Iterable[Edit],
        moves: Iterable[FileMove] = (),
        deletes: Iterable[str] = (),
        *,
        carried: Iterable[Carried] = (),
        new_place: Callable[[str], str] | None = None,
    ) -> None:
        self._reader = reader
        self._language = language
        self._edits: dict[str, list[Edit]] = defaultdict(list)
        for one in edits:
            self._edits[one.path].append(one)
        self._moves = {one.source: one.target for one in moves}
        self._offsets = {path: Offsets(found) for path, found in self._edits.items()}
        self._carried = [(one, Offsets(one.inner)) for one in carried]
        self._positions: dict[str, dict[int, int]] = {}
        self._deletes = frozenset(deletes)
        self._asked: frozenset[tuple[str, int]] = frozenset()
        self.state = WhatIf(reader, language, self._texts(self._deletes), new_place)

    def _texts(self, deletes: frozenset[str]) -> dict[str, bytes | None]:
        texts: dict[str, bytes | None] = dict.fromkeys((*deletes, *self._moves), None)
        for path in {*self._edits, *self._moves}:
            file = self._reader.file_at(path)
            source = self._reader.text(file) if file is not None and file.text_id is not None else b""
            texts[self._moves.get(path, path)] = edited(source, self._edits.get(path, ()))
        return texts

    def differences(
        self, words: frozenset[str] | None = None, asked: frozenset[tuple[str, int]] = frozenset()
    ) -> list[Difference]:
        """Return the places where something would mean something else, up to a limit.

        With `words`, files that are not edited and contain none of them are not looked at. `asked` are places that
        mean nothing known and are listed as questions, whatever they would mean.
        """
        self._asked = asked
        found: list[Difference] = []
        touched = {*self._edits, *self._moves}
        back = {target: source for source, target in self._moves.items()}
        for path in sorted({*touched, *(back.get(path, path) for path in self.state.reached)}):
            if path in touched:
                found += self._in_touched(path)
            elif words is None or self._has_word(path, words):
                found += self._in_other(path)
            if len(found) >= _MAX_DIFFERENCES:
                break
        return found[:_MAX_DIFFERENCES]

    def new_errors(self) -> list[str]:
        """Return the places where a changed file would no longer parse."""
        found = []
        for path, facts in self.state.assumed_facts():
            file = self._reader.file_at(next((old for old, new in self._moves.items() if new == path), path))
            before = self._reader.outline(file.facts_id).quality[1] if file is not None and file.facts_id else 0
            if facts.n_errors > before:
                found.append(path)
        return found

    def _has_word(self, path: str, words: frozenset[str]) -> bool:
        file = self._reader.file_at(path)
        text = self._reader.text(file) if file is not None else b""
        return any(word.encode() in text for word in words)

    def _view(self, path: str) -> FileView | None:
        file = self._reader.file_at(path)
        return FileView(self._reader, file) if file is not None and file.facts_id is not None else None

    def _in_touched(self, path: str) -> Iterator[Difference]:
        before, after = self._view(path), self.state.view(self._moves.get(path, path))
        if before is None or after is None:
            return
        yield from self._clashes(before, after)
        views = {after.file.path: after}
        for position, start in enumerate(before.columns.starts):
            spot = self._new(path, start)
            if spot is None or (path, start) in self._asked:
                continue
            if spot[0] not in views and (view := self.state.view(spot[0])) is not None:
                views[spot[0]] = view
            other = self._position(views[spot[0]], spot[1]) if spot[0] in views else None
            if other is None:
                yield _difference(before, start, "is no longer read as a name")
                continue
            problem = self._problem(before.meaning(position), views[spot[0]].meaning(other))
            if problem:
                yield _difference(before, start, problem)

    def _position(self, view: FileView, start: int) -> int | None:
        """Return the number of the reference that begins at an offset."""
        known = self._positions.get(view.file.path)
        if known is None:
            known = {one: position for position, one in enumerate(view.columns.starts)}
            self._positions[view.file.path] = known
        return known.get(start)

    def _in_other(self, path: str) -> Iterator[Difference]:
        """Compare a file that is not edited, by its expressions."""
        file = self._reader.file_at(path)
        if file is None or file.facts_id is None:
            return
        old_targets, old_numbers = self._reader.resolution(file.file_id)
        new_targets, new_numbers = self.state.resolution(file.file_id)
        if old_numbers == new_numbers and old_targets == new_targets:
            return
        problems: dict[tuple[int, int], str] = {}
        wrong: dict[int, str] = {}
        n_all = max(len(old_numbers), len(new_numbers))
        for expression in range(n_all):
            pair = (
                old_numbers[expression] if expression < len(old_numbers) else 0,
                new_numbers[expression] if expression < len(new_numbers) else 0,
            )
            if pair not in problems:
                old = old_targets[pair[0] - 1] if pair[0] else None
                new = new_targets[pair[1] - 1] if pair[1] else None
                problems[pair] = self._problem(
                    (Tier(old.tier), old[:2]) if old is not None else (Tier.UNKNOWN, None),
                    (Tier(new.tier), new[:2]) if new is not None else (Tier.UNKNOWN, None),
                )
            if problems[pair]:
                wrong[expression] = problems[pair]
        if wrong:
            before = FileView(self._reader, file)
            for position, link in enumerate(before.columns.links):
                if link - FIRST_EXPRESSION in wrong and (path, before.columns.starts[position]) not in self._asked:
                    yield _difference(before, before.columns.starts[position], wrong[link - FIRST_EXPRESSION])

    def _problem(self, old: tuple[Tier, Place | None], new: tuple[Tier, Place | None]) -> str:
        """Return what is wrong when a name meant one thing and now means another; empty when nothing is."""
        was = self._expected(old[1]) if old[1] is not None else None
        now = self._spot(new[1]) if new[1] is not None else None
        if was == now or (old[1] is not None and was is None):
            return ""
        if was is None:
            return f"would mean a definition of {now[0]}" if now is not None else ""
        if old[0] > Tier.STRONG:
            return ""
        return f"would mean another definition of {now[0]}" if now is not None else "would lose its definition"

    def _expected(self, place: Place) -> _Spot | None:
        """Return where a definition of the old state is in the new one; None when the change removes it."""
        file = self._reader.file(place[0])
        if file is None:
            return None
        return self._new_definition(file.path, self._reader.outline_of(place[0]), place[1])

    def _new_definition(self, path: str, outline: Outline, number: int) -> _Spot | None:
        """Return where the name of a definition is in the new text; a property in shorthand stays at its key."""
        start = int(outline.definition_rows.column(NAME_START)[number])
        new_start, offsets = self._new(path, start), self._offsets.get(path)
        key = offsets.key(start) if offsets is not None else None
        new_path = self._moves.get(path, path)
        if key is None or new_start is None or new_start == (new_path, key):
            return new_start
        after = self.state.outline_of(new_path)
        pairs = zip(after.definition_rows.column(NAME_START), after.kinds, strict=True)
        return (new_path, key) if (key, outline.kinds[number]) in set(pairs) else new_start

    def _spot(self, place: Place) -> _Spot:
        path = self.state.path_of(place[0])
        return path, int(self.state.outline_of(path).definition_rows.column(NAME_START)[place[1]])

    def _new(self, path: str, offset: int) -> _Spot | None:
        """Return where a place of the old texts is in the new ones; None when it is gone."""
        if path in self._deletes:
            return None
        for one, inner in self._carried:
            if one.source == path and one.start <= offset < one.end:
                moved = inner.new(offset)
                return (one.target, one.at + moved - one.start) if moved is not None else None
        offsets = self._offsets.get(path)
        new = offsets.new(offset) if offsets is not None else offset
        return (self._moves.get(path, path), new) if new is not None else None

    def _clashes(self, before: FileView, after: FileView) -> Iterator[Difference]:
        """Yield definitions that would vanish or get a name that another one of their scope has."""
        rows = before.outline.definition_rows
        spots = [self._new_definition(before.file.path, before.outline, number) for number in range(len(rows))]
        known: dict[str, set[int]] = {}
        for number, spot in enumerate(spots):
            if spot is None:
                continue
            if spot[0] not in known:
                outline = after.outline if spot[0] == after.file.path else self.state.outline_of(spot[0])
                known[spot[0]] = set(outline.definition_rows.column(NAME_START))
            if spot[1] not in known[spot[0]]:
                yield _difference(before, rows.column(NAME_START)[number], "would no longer be a definition")
        old_groups = {start: key for key, group in _groups(before.outline).items() for start, _ in group}
        back = {
            spot[1]: old
            for spot, old in zip(spots, rows.column(NAME_START), strict=True)
            if spot is not None and spot[0] == after.file.path
        }
        for group in _groups(after.outline).values():
            keys = {old_groups[back[start]] for start, _ in group if start in back}
            if len(keys) > 1 and not self._may_share_a_name([number for _, number in group], after.outline):
                first = min(start for start, _ in group if start in back)
                yield _difference(before, back[first], "another definition of its scope has the new name")

    def _may_share_a_name(self, numbers: list[int], outline: Outline) -> bool:
        """Tell whether definitions of one name are overloads."""
        rules = linking_rules(self._language)
        if rules is None or rules.choose_method is None:
            return False
        signatures = [str(outline.definition_rows.column(SIGNATURE)[one]) for one in numbers]
        return all("(" in one for one in signatures) and not any(
            has_same_parameters(one, other) for i, one in enumerate(signatures) for other in signatures[:i]
        )


def _groups(outline: Outline) -> dict[tuple[object, ...], list[tuple[int, int]]]:
    """Return the definitions that have scope, name and owner in common, by where their names start."""
    rows = outline.definition_rows
    found: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    columns = zip(rows.column(SCOPE), rows.column(NAME), rows.column(OWNER), rows.column(NAME_START), strict=True)
    for number, (scope, name, owner, start) in enumerate(columns):
        found[scope, name, owner].append((int(start), number))
    return found


def _difference(view: FileView, start: int, why: str) -> Difference:
    line, column = line_and_column(view.text, start)
    end = view.text.find(b"\n", start)
    text = view.text[start - column : end if end >= 0 else len(view.text)].decode("utf-8", "replace").strip()
    return Difference(view.file.path, line, text[:160], why)
