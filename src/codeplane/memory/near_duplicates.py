"""Which recorded texts say the same: MinHash finds candidates among all rows, exact rules decide.

Two texts are duplicates only when their identifiers, numbers, paths, quoted values and negations are equal; texts that
differ in one of these are similar, never duplicates.
"""

import hashlib
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Few bands: each is a row of its own in the store, and eight already find texts with four fifths in common.
_BANDS: Final = 8
_ROWS: Final = 4
_MERSENNE: Final = (1 << 61) - 1
SIMILAR_FROM: Final = 0.5
_SAME_FROM: Final = 0.62
# In a short text every word counts.
_FEW_WORDS: Final = 8
_SAME_IF_SHORT: Final = 0.85
MAX_CANDIDATES: Final = 50

_LEADING_BRANCH = re.compile(r"^\s*\[[\w./-]+\]\s*")
_TRAILER = re.compile(
    r"(?im)^\s*(?:backport of\b.*|signed-off-by:.*|co-authored-by:.*|reviewed-by:.*|thanks\b.*|(?:closes|fixes|refs?|"
    r"see|ticket|issue)\s*:?\s*#?[\w-]*\d+[.)]?)\s*$"
)
_FACT = re.compile(
    r"`[^`\n]+`|\"[^\"\n]{1,80}\"|(?<![\w/])(?:\.{0,2}/)?[\w.-]+(?:/[\w.*-]+)+/?|--?[A-Za-z][\w-]*(?=[=\s]|$)"
    r"|v?\d+(?:[.,:]\d+)*\w*|\b\w*[a-z]\w*(?:\.\w+)+|\b\w+_\w*\b|\b_\w+\b|\b[A-Za-z]*[a-z][A-Z]\w*\b|\b[A-Z]\w*[A-Z]\w*\b"
    r"|#\d+|\b\w+\(\)"
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?")
_NEGATION = frozenset(
    "not no never none without cannot neither nor avoid don't doesn't didn't isn't aren't wasn't won't can't couldn't "
    "shouldn't wouldn't mustn't stop disable disabled disables unless except".split()
)
# Words whose exchange turns the meaning; a text that has one more of them says something else.
_POLAR = frozenset(
    "on off before after first last only always more less fewer above below up down increase decrease raise lower "
    "minimum maximum min max enable enabled allow deny accept reject include exclude add remove start".split()
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_FILLER = frozenset(
    "a an the of to in on at by for and or with from as is are was were be been being it its this that these those "
    "then so just really very simply basically actually please note also we you i our your they their there here "
    "which who will would can could should may might do does did has have had when while if into than via all".split()
)
_QUOTES = str.maketrans(
    {
        "\u201c": '"',
        "\u201d": '"',
        "\u2018": "'",
        "\u2019": "'",
        "\u2013": "-",
        "\u2014": "-",
        "\u2026": " ",
        "\u00a0": " ",
    }
)
_MARKDOWN = re.compile(r"(?m)^\s*(?:[-*+>]|\d+[.)]|#{1,6})\s+|\*\*|__(?=\w)|(?<=\w)__")


@dataclass(frozen=True, slots=True)
class Shape:
    """What is compared of a text: its content words, and the facts that must be equal."""

    words: frozenset[str]
    facts: frozenset[str]
    n_negations: int
    normal: str = ""
    sentences: frozenset[tuple[str, ...]] = frozenset()


def shape_of(text: str) -> Shape:
    """Return what is compared of a text; marks of backports, trailers, markdown and filler words do not count."""
    plain = unicodedata.normalize("NFC", text.translate(_QUOTES))
    plain = _MARKDOWN.sub(" ", _TRAILER.sub("", _LEADING_BRANCH.sub("", plain)))
    facts = frozenset(found.strip("`\"'.,:;()") for found in _FACT.findall(plain)) - {""}
    words = [word.lower() for word in _WORD.findall(plain)]
    n_negations = sum(word in _NEGATION or word.startswith("non") for word in words)
    content = frozenset(stem(word) for word in words if word not in _FILLER)
    sentences = (tuple(word.lower() for word in _WORD.findall(part)) for part in _SENTENCE_END.split(plain))
    polar = frozenset(f"{word}" for word in words if word in _POLAR)
    return Shape(content or frozenset(words), facts | polar, n_negations, _normal(plain), frozenset(sentences))


def _normal(plain: str) -> str:
    """Return the text without case, line breaks and the punctuation of sentences."""
    return " ".join(token for part in plain.lower().split() if (token := part.strip(".,;:!?()[]`*\"'")))


def similarity(first: Shape, second: Shape) -> float:
    """Return the share of content words that two texts have in common; symmetric, from 0 to 1."""
    union = len(first.words | second.words)
    return len(first.words & second.words) / union if union else 1.0


def is_duplicate(first: Shape, second: Shape) -> bool:
    """Tell whether two texts say the same."""
    if first.normal == second.normal:
        return True
    if first.facts != second.facts or first.n_negations != second.n_negations:
        return False
    is_short = min(len(first.words), len(second.words)) < _FEW_WORDS
    if similarity(first, second) < (_SAME_IF_SHORT if is_short else _SAME_FROM) or _is_reordered(first, second):
        return False
    # A word that was exchanged for another may turn the meaning; words that were only added seldom do.
    only_first, only_second = first.words - second.words, second.words - first.words
    return not only_first or not only_second


def _is_reordered(first: Shape, second: Shape) -> bool:
    """Tell whether a sentence has the same words in another order: `A overrides B` against `B overrides A`."""
    orders = {tuple(sorted(sentence)): sentence for sentence in first.sentences}
    return any(orders.get(tuple(sorted(one)), one) != one for one in second.sentences)


def bands_of(shape: Shape) -> tuple[int, ...]:
    """Return the buckets that a text falls into; texts with most words in common share one."""
    hashes = [_word_hash(word) for word in sorted(shape.words)] or [0]
    least = [min((a * one + b) % _MERSENNE for one in hashes) for a, b in _permutations()]
    return tuple(_band(i, tuple(least[i * _ROWS : (i + 1) * _ROWS])) for i in range(_BANDS))


def candidates(connection: sqlite3.Connection, bands: Iterable[int]) -> list[int]:
    """Return the experiences that share a bucket, those that share most first."""
    marks = tuple(bands)
    query = (
        "SELECT experience_id, COUNT(*) AS n FROM experience_bands WHERE band IN "  # noqa: S608 - question marks only.
        f"({', '.join('?' * len(marks))}) GROUP BY experience_id ORDER BY n DESC, experience_id LIMIT ?"
    )
    return [int(row[0]) for row in connection.execute(query, (*marks, MAX_CANDIDATES))]


def stem(word: str) -> str:
    """Return a word without its common endings."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _word_hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big")


def _band(number: int, values: tuple[int, ...]) -> int:
    text = f"{number}:{values}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big", signed=True)


@lru_cache(maxsize=1)  # A memo of constants.
def _permutations() -> tuple[tuple[int, int], ...]:
    pairs = []
    for i in range(_BANDS * _ROWS):
        data = hashlib.blake2b(f"permutation {i}".encode(), digest_size=16).digest()
        pairs.append((int.from_bytes(data[:8], "big") % _MERSENNE | 1, int.from_bytes(data[8:], "big") % _MERSENNE))
    return tuple(pairs)
