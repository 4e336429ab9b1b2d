"""Words of queries and of code, as the lanes of a context pack compare them."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*|\d+")
_MAX_KEPT: Final = 100_000
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
# Words that say nothing about code.
STOP_WORDS: Final = frozenset(
    """
    a an and are as at be but by can do does for from has have if in into is it its no not of on one only or our
    should so some such than that the their then there these this to was we when where which will with without
    self def return none true false import class function const let var new
    """.split()
)


def tokens_of(text: str) -> list[str]:
    """Return the lower-case identifiers of a text, each whole and in its camel-case and snake-case parts."""
    found: list[str] = []
    for name in _IDENTIFIER.findall(text):
        found += _tokens_of_name(name)
    return found


@lru_cache(_MAX_KEPT)  # A memo of a pure function: the same names come again and again.
def _tokens_of_name(name: str) -> tuple[str, ...]:
    whole = name.lower()
    parts = tuple(part.lower() for part in _PART.findall(name))
    return (whole,) if parts == (whole,) else (whole, *parts)


def query_tokens(texts: Iterable[str]) -> Counter[str]:
    """Return the tokens of a query with their counts; stop words and single letters do not count."""
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update(one for one in tokens_of(text) if len(one) > 1 and one not in STOP_WORDS)
    return counted
