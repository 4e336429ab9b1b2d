"""Find which definition of the new state is which one of the old.

First by name inside the same file or class, overloads by the likeness of their signatures. What is left is compared by
structure, over all files: the most similar pair is taken first, types before their members.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from codeplane.diff.model import CALLABLE, TYPES, VALUES, Entity, FilePair

# More pairs than this are not compared one by one; definitions of the same name still are.
MAX_PAIRS: Final = 40_000
# More pairs of equal names than this are taken in their order.
MAX_OVERLOADS: Final = 10_000
_SAME_NAME: Final = 0.5
_OTHER_NAME: Final = 0.75
_TINY: Final = 14
_TINY_LIKENESS: Final = 0.9
_VALUE_TOKENS: Final = 6
_SCRIPTS: Final = frozenset({"javascript", "typescript", "tsx"})

Bag = Counter[tuple[str, str]]


@dataclass(slots=True)
class Pairing:
    """What belongs together.

    Invariant: `new_of` and `old_of` are inverse to each other. `parents` has the definition around each.
    """

    files: dict[str, str] = field(default_factory=dict)
    new_of: dict[Entity, Entity] = field(default_factory=dict)
    old_of: dict[Entity, Entity] = field(default_factory=dict)
    parents: dict[Entity, Entity] = field(default_factory=dict)
    is_shortened: bool = False

    def join(self, old: Entity, new: Entity) -> None:
        """Pair two definitions, and their members by name."""
        self.new_of[old] = new
        self.old_of[new] = old
        self.join_by_name(old.members, new.members)

    def join_by_name(self, olds: Iterable[Entity], news: Iterable[Entity]) -> None:
        """Pair the definitions of one file or type that have the same name."""
        groups: dict[str, tuple[list[Entity], list[Entity]]] = {}
        for side, entities in enumerate((olds, news)):
            for one in entities:
                if one not in self.new_of and one not in self.old_of:
                    groups.setdefault(one.lexical_path.rpartition(".")[2], ([], []))[side].append(one)
        for before, after in groups.values():
            for old, new in _best_first(before, after):
                self.join(old, new)

    def is_same_place(self, old: Entity, new: Entity) -> bool:
        """Tell whether a pair is in the same file or type as before, also where that has another name."""
        parent = self.parents.get(old)
        if parent is not None and self.new_of.get(parent) is self.parents.get(new, new):
            return True
        return self.files.get(new.path) == old.path and old.container == new.container


def pair_entities(pairs: Sequence[tuple[FilePair, tuple[Entity, ...], tuple[Entity, ...]]]) -> Pairing:
    """Return which definitions are the same in both states."""
    found = Pairing({pair.path: pair.old_path or pair.path for pair, _, _ in pairs})
    for _, olds, news in pairs:
        for one in (*olds, *news):
            _note_parents(found, one)
    for _, olds, news in pairs:
        by_container: dict[str, tuple[list[Entity], list[Entity]]] = {}
        for side, entities in enumerate((olds, news)):
            for one in entities:
                by_container.setdefault(one.container, ([], []))[side].append(one)
        for before, after in by_container.values():
            found.join_by_name(before, after)
    for wants_types in (True, False):
        _join_similar(found, pairs, wants_types=wants_types)
    return found


def _note_parents(found: Pairing, entity: Entity) -> None:
    for member in entity.members:
        found.parents[member] = entity
        _note_parents(found, member)


def walk(entities: Iterable[Entity]) -> Iterator[Entity]:
    """Yield definitions and all that are inside them."""
    for one in entities:
        yield one
        yield from walk(one.members)


def _best_first(olds: list[Entity], news: list[Entity]) -> Iterator[tuple[Entity, Entity]]:
    """Yield pairs of overloads: those of the same signature, then the most alike."""
    if len(olds) == 1 and len(news) == 1:
        yield olds[0], news[0]
        return
    if len(olds) * len(news) > MAX_OVERLOADS:
        yield from zip(olds, news, strict=False)
        return
    ranked = sorted(
        (-_overload_likeness(old, new), abs(i - k), i, k)
        for i, old in enumerate(olds)
        for k, new in enumerate(news)
    )  # fmt: skip
    used: set[tuple[int, int]] = set()
    for _, _, i, k in ranked:
        if (0, i) not in used and (1, k) not in used:
            used |= {(0, i), (1, k)}
            yield olds[i], news[k]


def _overload_likeness(old: Entity, new: Entity) -> float:
    if old.signature == new.signature and old.kind is new.kind:
        return 2.0 + (old.own == new.own)
    return _likeness(_words(old.signature), _words(new.signature)) + (old.decorators == new.decorators) / 2


def _join_similar(
    found: Pairing, pairs: Sequence[tuple[FilePair, tuple[Entity, ...], tuple[Entity, ...]]], *, wants_types: bool
) -> None:
    olds = [one for _, before, _ in pairs for one in walk(before) if _is_open(found, one, wants_types=wants_types)]
    news = [one for _, _, after in pairs for one in walk(after) if _is_open(found, one, wants_types=wants_types)]
    found.is_shortened |= (is_short := len(olds) * len(news) > MAX_PAIRS)
    bags = {one: _bag(one) for one in (*olds, *news)}
    by_name: dict[str, list[int]] = {}
    for number, new in enumerate(news):
        by_name.setdefault(new.name, []).append(number)
    ranked = []
    for i, old in enumerate(olds):
        for k in by_name.get(old.name, ()) if is_short else range(len(news)):
            score = _score(found, old, news[k], bags)
            if score > 0:
                ranked.append((-score, i, k))
    for _, i, k in sorted(ranked):
        if olds[i] not in found.new_of and news[k] not in found.old_of:
            found.join(olds[i], news[k])


def _is_open(found: Pairing, entity: Entity, *, wants_types: bool) -> bool:
    is_known = entity in found.new_of or entity in found.old_of
    return not is_known and not entity.is_attribute and (entity.kind in TYPES) == wants_types


def _score(found: Pairing, old: Entity, new: Entity, bags: dict[Entity, Bag]) -> float:
    """Return how alike two definitions are, 0 when they are not the same one under another name or place."""
    if not _is_comparable(old, new):
        return 0.0
    before, after = bags[old], bags[new]
    n_before, n_after = before.total(), after.total()
    has_same_name = old.name == new.name
    needed = _SAME_NAME if has_same_name else _OTHER_NAME
    is_tiny = min(n_before, n_after) < _TINY
    is_same_place = found.is_same_place(old, new)
    if is_tiny:
        needed = _TINY_LIKENESS if has_same_name or is_same_place else 2.0
    if 2 * min(n_before, n_after) < needed * (n_before + n_after):
        return 0.0
    likeness = _likeness(before, after)
    if likeness < needed or (is_tiny and not has_same_name and old.signature != new.signature):
        return 0.0
    if old.kind in VALUES and not _is_telling(old, new):
        return 0.0
    return likeness + 0.3 * has_same_name + 0.1 * is_same_place + 0.05 * (old.signature == new.signature)


def _is_comparable(old: Entity, new: Entity) -> bool:
    if old.dialect != new.dialect and not {old.dialect, new.dialect} <= _SCRIPTS:
        return False
    return old.kind is new.kind or {old.kind, new.kind} <= CALLABLE or {old.kind, new.kind} <= TYPES


def _is_telling(old: Entity, new: Entity) -> bool:
    """Tell whether equal values say that two variables are the same: only values of some length do."""
    same = [token for token in old.own if token != old.name] == [token for token in new.own if token != new.name]
    return same and len(old.own) >= _VALUE_TOKENS


def _bag(entity: Entity) -> Bag:
    """Return the pairs of neighbouring tokens, whatever the definition's own name."""
    bag: Bag = Counter()
    for one in walk((entity,)):
        texts = ["" if text == entity.name else text for text in one.own]
        bag.update(pairwise(texts))
    return bag


def _words(text: str) -> Bag:
    words = text.replace("(", " ( ").replace(",", " , ").replace(")", " ) ").split()
    return Counter(pairwise(words))


def _likeness(first: Bag, second: Bag) -> float:
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0
