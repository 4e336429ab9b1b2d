"""Identifiers, passed in so that tests and replays get the same ones."""

import secrets
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class IdSource(Protocol):
    """Where the program gets identifiers from."""

    def new(self, prefix: str) -> str:
        """Return a fresh identifier such as `call_4k2…`; unguessable in the real source."""
        ...


@dataclass(frozen=True, slots=True)
class RandomIds:
    """Unguessable identifiers: 26 characters of 5 random bits each."""

    def new(self, prefix: str) -> str:
        """Return a fresh identifier."""
        number = secrets.randbits(130)
        return f"{prefix}_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(0, 130, 5))


@dataclass(slots=True)
class CountingIds:
    """Identifiers that count up, the same in every run."""

    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def new(self, prefix: str) -> str:
        """Return the next identifier."""
        return f"{prefix}_{next(self._numbers):06d}"
