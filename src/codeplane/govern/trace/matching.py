"""Who wrote each line of a text, from records alone: evidence, never similarity.

A text that a record left is known line by line: each record tells which lines it put in place of which. Any other
text is compared with such states. A line is taken to be the same one when it is in the same place between lines that
occur once, or when it is distinctive, occurs once and was brought by one owner only. Everything else is unknown.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from codeplane.core.line_matching import matching_blocks
from codeplane.govern.trace.index import Entry, TraceIndex
from codeplane.govern.trace.lines import is_distinctive, keys_of, loose_of, split_lines
from codeplane.govern.trace.records import Hunk

# Owners that are not numbers of records: no record brought the line, and nobody can tell.
UNTRACED: Final = 0
UNSURE: Final = -1
_NO_KEY: Final = b""
# How many records of a session before one may have removed what it brings back elsewhere.
_MOVE_WINDOW: Final = 20
_MAX_STATES: Final = 12
_MIN_SHARE: Final = 0.5
_MIN_SHARED: Final = 3


@dataclass(frozen=True, slots=True)
class Owned:
    """The owner of a line: a record, UNTRACED or UNSURE.

    `via` are records that moved or formatted it, `method` is how it was recognised, `candidates` are records between
    which nobody can decide.
    """

    number: int
    method: str = "exact"
    via: tuple[int, ...] = ()
    candidates: tuple[int, ...] = ()

    def moved_by(self, number: int) -> "Owned":
        """Return the same owner of a line that a record moved or formatted."""
        if number == self.number or number in self.via:
            return self
        return Owned(self.number, self.method, (*self.via, number), self.candidates)


@dataclass(slots=True)
class State:
    """A text line by line: keys and owners; a line of which nothing is known has an empty key."""

    keys: list[bytes] = field(default_factory=list)
    owners: list[Owned] = field(default_factory=list)

    def loose(self) -> list[bytes]:
        """Return the keys without white space."""
        return [loose_of(key) for key in self.keys]


_UNTRACED: Final = Owned(UNTRACED, "none")
_UNSURE: Final = Owned(UNSURE, "none")


class Matcher:
    """Works out states; `read_blob` returns the content of an object of git, None when git does not have it.

    Invariant: a state is worked out from records that are older than its first use, so recursion ends.
    """

    def __init__(self, index: TraceIndex, read_blob: Callable[[str], bytes | None]) -> None:
        self._index = index
        self._read_blob = read_blob
        self._states: dict[str, State] = {}
        self._entries: dict[int, Entry] = {}
        self._busy: set[str] = set()
        self._removed: dict[int, dict[bytes, Owned]] = {}

    def owners_of(self, path: str, blob: str, data: bytes) -> list[Owned]:
        """Return the owner of each line of a text."""
        keys = keys_of(split_lines(data))
        if self._index.producer(blob) is None and self._index.first_use(blob) is None:
            return self._resolved(keys, path, None)
        state = self.state(blob)
        if len(state.keys) != len(keys):
            return [_UNSURE] * len(keys)
        if _NO_KEY not in state.keys:
            return state.owners
        # Git does not have the text that the first record found, as in a shallow clone.
        found = self._resolved(keys, path, None)
        return [
            found[i] if not key else owned for i, (key, owned) in enumerate(zip(state.keys, state.owners, strict=True))
        ]

    def state(self, blob: str) -> State:
        """Return a text that a record left or found."""
        if blob in self._busy:
            # Two files of one call exchanged their contents: nobody can tell which lines moved.
            return State()
        chain: list[Entry] = []
        at: str | None = blob
        while at is not None and at not in self._states and at not in self._busy:
            entry = self._index.producer(at)
            if entry is None:
                self._states[at] = self._base(at)
                break
            entry = self._entries.setdefault(entry.number, entry)
            chain.append(entry)
            at = entry.before
        for entry in reversed(chain):
            before = self._states.get(entry.before or "", State())
            left = entry.after or ""
            self._busy.add(left)
            self._states[left] = self._after(before, entry)
            self._busy.discard(left)
        return self._states[blob]

    def _base(self, blob: str) -> State:
        """Return a state that no record left, from git; its lines may come from states that records left."""
        data = self._read_blob(blob)
        first_use = self._index.first_use(blob)
        user = self._index.entry(first_use) if first_use is not None else None
        if data is None:
            n_lines = user.record.ours.get("before_lines", 0) if user is not None else 0
            return State([_NO_KEY] * n_lines, [_UNSURE] * n_lines)
        keys = keys_of(split_lines(data))
        return State(keys, self._resolved(keys, user.path if user is not None else "", first_use))

    def _after(self, before: State, entry: Entry) -> State:
        """Return the state that a record left."""
        keys, owners = list(before.keys), list(before.owners)
        hunks = entry.record.hunks()
        removed = {} if entry.record.is_outside else self._removed_nearby(entry)
        brought: list[int] = []
        shift = 0
        for hunk in hunks:
            start = hunk.old_start + shift
            old_keys, old_owners = keys[start : start + hunk.n_old], owners[start : start + hunk.n_old]
            new_owners = _in_place(old_keys, old_owners, hunk, entry.number)
            for i, key in enumerate(hunk.keys):
                if new_owners[i].number == entry.number and is_distinctive(loose_of(key)):
                    moved = removed.get(loose_of(key))
                    new_owners[i] = moved.moved_by(entry.number) if moved is not None else new_owners[i]
            keys[start : start + hunk.n_old] = hunk.keys
            owners[start : start + hunk.n_old] = new_owners
            brought += [start + i for i in range(hunk.n_new) if new_owners[i].number == entry.number]
            shift += hunk.n_new - hunk.n_old
        if entry.record.is_outside and brought:
            found = self._resolved(keys, entry.path, entry.number)
            for i in brought:
                if found[i].number not in {UNTRACED, entry.number}:
                    owners[i] = found[i].moved_by(entry.number)
        return State(keys, owners)

    def _removed_nearby(self, entry: Entry) -> dict[bytes, Owned]:
        """Return the lines that this call or the session's calls shortly before took out: they may come back."""
        found: dict[bytes, Owned] = {}
        if not any(is_distinctive(loose_of(key)) for hunk in entry.record.hunks() for key in hunk.keys):
            return found
        others = [one for one in self._index.of_call(entry.call_id) if one.path != entry.path]
        for other in (*self._index.before_in_session(entry, _MOVE_WINDOW), *others, entry):
            for loose, owned in self._removed_by(other).items():
                found.setdefault(loose, owned)
        return found

    def _removed_by(self, entry: Entry) -> dict[bytes, Owned]:
        """Return the distinctive lines that a record took out, with their owners."""
        found = self._removed.get(entry.number)
        if found is not None:
            return found
        found = {}
        kept = self._entries.setdefault(entry.number, entry)
        hunks = [hunk for hunk in kept.record.hunks() if hunk.n_old]
        state = self.state(kept.before) if hunks and kept.before is not None else State()
        for hunk in hunks:
            for i in range(hunk.old_start, min(hunk.old_start + hunk.n_old, len(state.keys))):
                if state.keys[i] and is_distinctive(loose_of(state.keys[i])):
                    found.setdefault(loose_of(state.keys[i]), state.owners[i])
        if not self._busy.intersection({kept.before}):
            self._removed[entry.number] = found
        return found

    def _resolved(self, keys: Sequence[bytes], path: str, before: int | None) -> list[Owned]:
        """Return the owners of a text that no record left, by comparison with states that records left."""
        loose = [loose_of(key) for key in keys]
        wanted = list(dict.fromkeys(one for one in loose if one and is_distinctive(one)))
        introduced = self._index.introductions(wanted, before)
        if not introduced:
            return [_UNTRACED] * len(keys)
        evidence: list[list[Owned]] = [[] for _ in keys]
        for entry, state in self._near_states(introduced):
            pairs = _same_lines(loose, state.loose(), is_same_path=entry.path == path)
            for i, k in pairs:
                owned = state.owners[k]
                method = "aligned" if keys[i] == state.keys[k] else "whitespace"
                evidence[i].append(Owned(owned.number, method, owned.via, owned.candidates))
        decided = [self._decided(found) for found in evidence]
        return self._moved(loose, introduced, decided, path)

    def _near_states(self, introduced: dict[bytes, list[int]]) -> Iterable[tuple[Entry, State]]:
        """Yield states that together hold the lines, the newest first."""
        waiting = set(introduced)
        numbers = sorted({number for found in introduced.values() for number in found}, reverse=True)
        n_states = 0
        for number in numbers:
            brought = {loose for loose in waiting if number in introduced[loose]}
            if not brought:
                continue
            entry = self._entry(number)
            if entry.after is None:
                continue
            state = self.state(entry.after)
            waiting -= brought | set(state.loose())
            yield entry, state
            n_states += 1
            if not waiting or n_states == _MAX_STATES:
                return

    def _entry(self, number: int) -> Entry:
        found = self._entries.get(number)
        if found is None:
            found = self._index.entry(number)
            if found is None:
                raise KeyError(number)
            self._entries[number] = found
        return found

    def _is_traced(self, number: int) -> bool:
        return number > 0 and not self._entry(number).record.is_outside

    def _decided(self, found: list[Owned]) -> Owned | None:
        """Return the owner that the evidence agrees on, None without evidence."""
        if not found:
            return None
        traced = [one for one in found if self._is_traced(one.number)]
        if not traced:
            return min(found, key=lambda one: one.number) if all(one.number >= 0 for one in found) else _UNSURE
        best = min(traced, key=lambda one: one.number)
        earlier = [one for one in found if one.number == UNTRACED or 0 < one.number < best.number]
        rivals = {self._entry(one.number).intent for one in traced}
        if len(rivals) > 1 or any(not self._is_traced(one.number) for one in earlier):
            return Owned(UNSURE, "none", candidates=tuple(sorted({one.number for one in traced})))
        return best

    def _moved(
        self,
        loose: Sequence[bytes],
        introduced: dict[bytes, list[int]],
        decided: list[Owned | None],
        path: str,
    ) -> list[Owned]:
        """Return all owners: lines that are not in their old place are looked for among those that records brought."""
        counts = Counter(loose)
        origins: list[Owned | None] = [
            self._origin(one, introduced) if decided[i] is None and counts[one] == 1 else None
            for i, one in enumerate(loose)
        ]
        result: list[Owned] = []
        for i, owned in enumerate(decided):
            if owned is not None:
                result.append(owned)
                continue
            origin = origins[i]
            if origin is not None and origin.number > 0:
                source = self._entry(origin.number)
                is_sure = source.path == path or self._is_in_run(loose, origins, i)
                result.append(origin if is_sure else Owned(UNSURE, "none", candidates=(origin.number,)))
            elif loose[i] in introduced or not is_distinctive(loose[i]):
                result.append(Owned(UNSURE, "none", candidates=tuple(introduced.get(loose[i], ()))[:5]))
            else:
                result.append(_UNTRACED)
        return result

    def _origin(self, loose: bytes, introduced: dict[bytes, list[int]]) -> Owned | None:
        """Return the one owner of a line that records brought; None when there are several or none."""
        numbers = introduced.get(loose)
        if not numbers:
            return None
        owners: dict[int, Owned] = {}
        for number in numbers:
            entry = self._entry(number)
            state = self.state(entry.after) if entry.after is not None else State()
            for i, key in enumerate(state.keys):
                if key and loose_of(key) == loose:
                    owners.setdefault(state.owners[i].number, state.owners[i])
        if len(owners) != 1:
            return None
        owned = next(iter(owners.values()))
        return Owned(owned.number, "moved", owned.via) if self._is_traced(owned.number) else None

    def _is_in_run(self, loose: Sequence[bytes], origins: Sequence[Owned | None], i: int) -> bool:
        """Tell whether a line moved together with a neighbour that the same record brought beside it."""
        origin = origins[i]
        if origin is None:
            return False
        for step in (-1, 1):
            near = origins[i + step] if 0 <= i + step < len(origins) else None
            if near is not None and near.number == origin.number:
                pair = (loose[i], loose[i + step]) if step > 0 else (loose[i + step], loose[i])
                if any(pair in _pairs(hunk) for hunk in self._entry(origin.number).record.hunks()):
                    return True
        return False


def _pairs(hunk: Hunk) -> set[tuple[bytes, bytes]]:
    loose = [loose_of(key) for key in hunk.keys]
    return set(pairwise(loose))


def _in_place(old_keys: Sequence[bytes], old_owners: Sequence[Owned], hunk: Hunk, number: int) -> list[Owned]:
    """Return the owners of a hunk's lines: lines that differ in white space only keep theirs."""
    owners = [Owned(number)] * hunk.n_new
    if old_keys:
        blocks = matching_blocks([loose_of(key) for key in old_keys], [loose_of(key) for key in hunk.keys])
        for block in blocks:
            for step in range(block.size):
                if old_keys[block.old + step]:
                    owners[block.new + step] = old_owners[block.old + step].moved_by(number)
    return owners


def _same_lines(loose: Sequence[bytes], other: Sequence[bytes], *, is_same_path: bool) -> list[tuple[int, int]]:
    """Return pairs of lines that are the same one; empty when the texts are not versions of one file."""
    blocks = matching_blocks(loose, other)
    counts, other_counts = Counter(loose), Counter(other)

    def is_anchor(one: bytes) -> bool:
        return bool(one) and is_distinctive(one) and counts[one] == 1 and other_counts[one] == 1

    n_shared = sum(1 for block in blocks for i in range(block.size) if is_anchor(loose[block.old + i]))
    n_least = min(sum(map(is_distinctive, filter(None, loose))), sum(map(is_distinctive, filter(None, other))))
    if not n_shared or (not is_same_path and n_shared < max(_MIN_SHARED, _MIN_SHARE * n_least)):
        return []
    return [
        (block.old + i, block.new + i)
        for block in blocks
        if any(is_anchor(loose[block.old + i]) for i in range(block.size))
        for i in range(block.size)
    ]
