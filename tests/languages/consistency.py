"""What must hold of the facts of any file, and ways to damage a good one."""

import random
from collections.abc import Iterator

from codeplane.core.clock import ManualClock
from codeplane.languages.facts import NO_RECEIVER, NONE, THIS, BindTarget, Certainty, FileFacts, ReferenceRole

_PIECES = (
    b"(",
    b")",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b";",
    b"\n",
    b'"',
    b"'",
    b"`",
    b"\xff",
    b".",
    b"::",
    b"<",
    b",",
    b"=",
)


class RunawayClock(ManualClock):
    """A clock on which each look takes ten seconds."""

    def monotonic(self) -> float:
        """Return a later time at each call."""
        self.advance(10)
        return super().monotonic()


def check_consistent(facts: FileFacts, source: bytes) -> None:
    """Every index must point somewhere, every offset lie in the file, and references be in order."""
    size = len(source)
    assert facts.scopes[0].parent == NONE
    for number, scope in enumerate(facts.scopes):
        assert scope.parent < number
        assert 0 <= scope.start <= scope.end <= size
        if number:
            outer = facts.scopes[scope.parent]
            assert outer.start <= scope.start <= scope.end <= outer.end
    _check_references(facts, source)
    starts = {one[0] for one in facts.references}
    for definition in facts.definitions:
        assert definition.name
        assert definition.name == _text_at(source, definition.name_start, definition.name)
        assert 0 <= definition.start <= definition.name_start <= definition.end <= size
        assert definition.name_start in starts
        assert 0 <= definition.scope < len(facts.scopes)
        assert NONE <= definition.body_scope < len(facts.scopes)
        assert NONE <= definition.instance_of < len(facts.definitions)
        assert {definition.type_ref, *definition.bases} <= starts | {NONE}
    n_targets = {BindTarget.DEF: len(facts.definitions), BindTarget.IMPORT: len(facts.imports)}
    assert [bind.scope for bind in facts.binds] == sorted(bind.scope for bind in facts.binds)
    for bind in facts.binds:
        if bind.target_kind is BindTarget.UNKNOWN:
            assert (bind.target, bind.certainty) == (NONE, Certainty.UNCERTAIN)
        else:
            assert 0 <= bind.target < n_targets[bind.target_kind]
    assert all(0 <= fact.start <= fact.end <= size for fact in facts.imports)
    assert all(0 <= access.start <= access.end <= size for access in facts.dynamic)


def _check_references(facts: FileFacts, source: bytes) -> None:
    before: set[int] = set()
    last = -1
    for start, name, scope, role, receiver, bind in facts.references:
        assert start > last
        last = start
        assert name
        assert name == _text_at(source, start, name)
        region = facts.scopes[scope]
        assert region.start <= start <= region.end
        assert role in set(ReferenceRole)
        assert receiver in before or THIS <= receiver <= NO_RECEIVER
        assert NONE <= bind < len(facts.binds)
        assert bind == NONE or receiver == NO_RECEIVER
        before.add(start)


def _text_at(source: bytes, start: int, name: str) -> str:
    """Return the text of the length of a name; bytes that are no UTF-8 are as the extraction shows them."""
    if "\ufffd" in name:
        return name
    return source[start : start + len(name.encode())].decode("utf-8", "replace")


def damaged(good: bytes, rounds: int, seed: int, words: tuple[bytes, ...] = ()) -> Iterator[bytes]:
    """Yield copies of a source with pieces cut out and put in."""
    chance = random.Random(seed)
    pieces = _PIECES + words
    for _ in range(rounds):
        copy = bytearray(good)
        for _ in range(chance.randrange(1, 8)):
            place = chance.randrange(len(copy) + 1)
            if chance.random() < 0.5:
                del copy[place : place + chance.randrange(1, 20)]
            else:
                copy[place:place] = chance.choice(pieces)
        yield bytes(copy)


def random_bytes(rounds: int, seed: int) -> Iterator[bytes]:
    """Yield sources without any sense."""
    chance = random.Random(seed)
    for _ in range(rounds):
        yield chance.randbytes(chance.randrange(1, 300))
