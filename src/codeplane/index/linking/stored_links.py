"""Links as they are stored: what the expressions of a file mean, how sure that is, and the chain that proves it."""

import marshal
from array import array
from enum import IntEnum
from typing import NamedTuple

from codeplane.index.facts.packing import packed, unpacked

# The steps that prove a link: what kind of step, a file, a number.
Chain = tuple[tuple[int, int, int], ...]


class Step(IntEnum):
    """A link of the chain that proves a reference; each step has a file and a number."""

    IMPORT = 0  # the import of that number
    STAR = 1  # the import of everything of that number
    EXPORT = 2  # the explicit export of that number
    MODULE = 3  # a name of the module that the file provides, found without an import in this place
    MEMBER = 4  # a member of the definition of that number
    BASE = 5  # reached through the bases of the definition of that number
    TYPE = 6  # the declared type of the definition of that number


class Tier(IntEnum):
    """How sure a reference is."""

    PROVEN = 0
    STRONG = 1
    ANCHORED = 2
    UNKNOWN = 3


class Target(NamedTuple):
    """What an expression of a file means: a definition, how sure, and the chain that proves it."""

    file_id: int
    number: int
    tier: int
    chain: Chain


def encode_resolution(targets: list[Target], numbers: "array[int]") -> bytes:
    """Return the targets of a file and which expression has which, as bytes; tiers and steps are plain numbers."""
    rows = [(file_id, number, tier, list(chain)) for file_id, number, tier, chain in targets]
    return packed(marshal.dumps((rows, numbers.tobytes())))


def decode_resolution(blob: bytes) -> tuple[list[Target], "array[int]"]:
    """Return targets and, for each expression, the number of its target or 0."""
    rows, data = marshal.loads(unpacked(blob))  # noqa: S302 - our own bytes, checked by their sum
    numbers = array("I", data)
    return [Target(file_id, number, tier, tuple(chain)) for file_id, number, tier, chain in rows], numbers
