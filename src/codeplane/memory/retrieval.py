"""Which experiences fit a question: rare words and places in common, newer before older; no model, no embeddings.

Scores are fixed-point numbers, so the order is the same in every process. When nothing fits well enough the answer is
empty and says so.
"""

import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

# How many postings a question may look at: rare words first, so common ones cost nothing in a large store.
MAX_POSTINGS: Final = 3_000
MAX_WORDS: Final = 32
_MAX_AGED: Final = 600
_ASSUMED_ROWS: Final = 10
_AGE_WEIGHT: Final = 2.0
_YEAR_MS: Final = 365 * 24 * 3600 * 1000
# The best hit shares at least so much of what the question asks about, or nothing answers it.
SURE_FROM: Final = 0.20
SURE_FROM_WITH_PLACES: Final = 0.46
_WORD = re.compile(r"[^\W_]+")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_STOP = frozenset(
    "the a an of to in for and or on with is was by from that this it as at be are not when which if into than via "
    "their has have had will can cannot after before using use used so do does did i we you my our your what how why "
    "should would could there then also only some all any".split()
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for: a text, the places at hand, and which rows count.

    `before_id` asks as if later rows did not exist; `now_ms` is the time against which rows age.
    """

    text: str = ""
    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    now_ms: int = 0
    domain: str | None = None
    type: str | None = None
    min_confidence: float | None = None
    before_id: int | None = None
    with_archived: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that fits, its score in thousandths, and what it shares with the question."""

    id: int
    score: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, best first; `is_sure` is False when even the best does not answer the question."""

    hits: tuple[Hit, ...]
    total: int
    is_sure: bool


@dataclass(slots=True)
class _Scores:
    text: dict[int, float] = field(default_factory=dict)
    place: dict[int, float] = field(default_factory=dict)
    shared: dict[int, list[str]] = field(default_factory=dict)
    text_asked: float = 0.0
    places_asked: float = 0.0


def find(connection: sqlite3.Connection, question: Question, limit: int, offset: int = 0) -> Found:
    """Return the best rows for a question."""
    n_rows = int(connection.execute("SELECT COALESCE(MAX(id), 0) FROM experiences").fetchone()[0])
    if n_rows == 0:
        return Found((), 0, is_sure=False)
    scores = _Scores()
    _score_words(connection, question, n_rows, scores)
    _score_places(connection, question, n_rows, scores)
    ranked = _ranked(connection, question, scores)
    is_sure = any(_is_answer(scores, hit.id) for hit in ranked[:5])
    return Found(tuple(ranked[offset : offset + limit]), len(ranked), is_sure)


def _is_answer(scores: _Scores, one: int) -> bool:
    """Tell whether a row shares enough with the question; rare words and places weigh more than common ones."""
    share = scores.text.get(one, 0.0) / scores.text_asked
    if not scores.places_asked:
        return share >= SURE_FROM
    return share + scores.place.get(one, 0.0) / scores.places_asked >= SURE_FROM_WITH_PLACES


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a question, each once; hashes and words without content are left out."""
    found = _WORD.findall(_HASH.sub(" ", text.lower()))
    return tuple(dict.fromkeys(word for word in found if word not in _STOP and len(word) > 1))


def rarity(n_with: int, n_rows: int) -> float:
    """Return how much it says that a row has a word or place, as in BM25."""
    # Some more rows are assumed: in a store of three rows a word that all of them have still says something.
    n_all = max(n_rows, n_with) + _ASSUMED_ROWS
    return math.log(1 + (n_all - n_with + 0.5) / (n_with + 0.5))


def _score_words(connection: sqlite3.Connection, question: Question, n_rows: int, scores: _Scores) -> None:
    words = words_of(question.text)
    counts = document_counts(connection, words)
    # A word that no row has says that the question is about something else; one such word is always assumed.
    scores.text_asked = sum(rarity(count, n_rows) for count in counts.values()) + rarity(0, n_rows)
    before = question.before_id if question.before_id is not None else n_rows + 1
    for word in _affordable(counts):
        worth = rarity(counts[word], n_rows)
        for row in connection.execute(_WITH_WORD, (f'"{word}"', before)):
            one = int(row[0])
            scores.text[one] = scores.text.get(one, 0.0) + worth


_WITH_WORD = "SELECT rowid FROM experiences_fts WHERE experiences_fts MATCH ? AND rowid < ?"


def _affordable(counts: Mapping[str, int]) -> list[str]:
    """Return the rarest words whose postings together stay within the limit; at least one."""
    chosen: list[str] = []
    n_postings = 0
    for word, count in sorted(counts.items(), key=lambda pair: (pair[1], pair[0])):
        if count == 0:
            continue
        n_postings += count
        if chosen and (n_postings > MAX_POSTINGS or len(chosen) == MAX_WORDS):
            break
        chosen.append(word)
    return chosen


def document_counts(connection: sqlite3.Connection, words: Iterable[str]) -> dict[str, int]:
    """Return in how many rows each word occurs, in any of its forms."""
    stems = stems_of(words)
    query = "SELECT doc FROM experiences_words WHERE term = ?"
    rows = {word: connection.execute(query, (stem,)).fetchone() for word, stem in stems.items()}
    return {word: int(row[0]) if row is not None else 0 for word, row in rows.items()}


def stems_of(words: Iterable[str]) -> dict[str, str]:
    """Return each word as SQLite's own stemmer stores it."""
    listed = list(words)
    if not listed:
        return {}
    stemmer = sqlite3.connect(":memory:")
    try:
        stemmer.execute("CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'porter unicode61')")
        stemmer.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, instance)")
        stemmer.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(listed))
        return {listed[doc]: str(term) for term, doc in stemmer.execute("SELECT term, doc FROM stems")}
    finally:
        stemmer.close()


def _score_places(connection: sqlite3.Connection, question: Question, n_rows: int, scores: _Scores) -> None:
    places = (*question.paths, *(f"::{symbol}" for symbol in question.symbols))
    for place in dict.fromkeys(places):
        ids = [int(row[0]) for row in connection.execute(_AT_PLACE, (place, question.before_id or n_rows + 1))]
        worth = rarity(len(ids), n_rows)
        scores.places_asked += worth
        for one in ids[:MAX_POSTINGS]:
            scores.place[one] = scores.place.get(one, 0.0) + worth
            scores.shared.setdefault(one, []).append(place)


_AT_PLACE = "SELECT experience_id FROM experience_places WHERE place = ? AND experience_id < ?"


def _ranked(connection: sqlite3.Connection, question: Question, scores: _Scores) -> list[Hit]:
    """Return all rows that count, best first; equal scores put the newer row first."""
    raw = {one: scores.text.get(one, 0.0) + scores.place.get(one, 0.0) for one in scores.text | scores.place}
    # Only the best before ageing can be the best after it; ageing takes away at most a few points.
    kept = sorted(raw, key=lambda one: (-raw[one], -one))[:_MAX_AGED]
    hits: list[Hit] = []
    for row in _rows(connection, kept):
        if not _counts(row, question):
            continue
        age_years = max(0, question.now_ms - int(row["created_at"])) / _YEAR_MS
        score = raw[int(row["id"])] - _AGE_WEIGHT * math.log1p(age_years)
        hits.append(Hit(int(row["id"]), round(score * 1000), tuple(scores.shared.get(int(row["id"]), ()))))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.id))


_FACTS = "SELECT id, created_at, archived_at, domain, type, confidence FROM experiences WHERE id IN ({})"
_AT_ONCE = 500


def _rows(connection: sqlite3.Connection, ids: list[int]) -> Iterable[sqlite3.Row]:
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        yield from connection.execute(_FACTS.format(", ".join("?" * len(part))), part)


def _counts(row: sqlite3.Row, question: Question) -> bool:
    if row["archived_at"] is not None and not question.with_archived:
        return False
    if question.domain is not None and row["domain"] != question.domain:
        return False
    if question.type is not None and row["type"] != question.type:
        return False
    return question.min_confidence is None or (row["confidence"] or 0.0) >= question.min_confidence
