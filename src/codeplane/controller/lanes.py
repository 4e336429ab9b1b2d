"""The five retrieval lanes of a context pack, and how their hits are put in one order.

Scores are whole numbers, so that every platform ranks alike. No lane uses embeddings.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from codeplane.controller.knowledge import FileText, Knowledge
from codeplane.controller.words import tokens_of
from codeplane.index.repository_index import RepositoryIndex
from codeplane.index.symbol_search import SymbolHit, symbol_at
from codeplane.languages.facts import DefinitionKind

LANES: Final = ("lexical", "symbol", "policy", "artifact", "episodic")
MAX_HITS: Final = 50
_FUSION: Final = 60
_SCALE: Final = 10**6
_K1: Final = 1.2
_B: Final = 0.75
_PATH_WEIGHT: Final = 5
_PIECE_LINES: Final = 60
_MAX_FILES: Final = 50
_MAX_WORDS: Final = 60
_MAX_DISTANCE: Final = 4
_MAX_DEFINITIONS: Final = 40
_BODIES: Final = frozenset({DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.MACRO})


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a lane found; `text` is what the pack shows of it."""

    lane: str
    rank: int
    hit_id: str
    path: str = ""
    start_line: int = 0
    end_line: int = 0
    symbol: str = ""
    text: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the hit as a pack holds it."""
        found = {
            "lane": self.lane,
            "rank": self.rank,
            "id": self.hit_id,
            "path": self.path or None,
            "startLine": self.start_line or None,
            "endLine": self.end_line or None,
            "symbol": self.symbol or None,
            "text": self.text,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Piece:
    """A definition, or consecutive lines outside of definitions."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    text: str


def lexical_lane(knowledge: Knowledge, index: RepositoryIndex, query: Counter[str], first: Sequence[str]) -> list[Hit]:
    """Rank symbol-sized pieces of files by BM25; `first` are files that are looked at in any case."""
    words = [word for word, _ in sorted(query.items(), key=lambda one: (-one[1], one[0]))[:_MAX_WORDS]]
    paths, counts = index.files_with_any(words, _MAX_FILES) if words else ([], {})
    wanted = [path for path in dict.fromkeys((*first, *paths)) if path in knowledge.allowlist]
    pieces = [piece for path in wanted for piece in pieces_of(path, knowledge.text(path))]
    if not pieces:
        return []
    n_files = max(len(knowledge.allowlist), 1)
    weights = {word: _idf(n_files, counts.get(word, 0)) for word in words if counts.get(word)}
    ranked = rank_pieces(pieces, weights)
    return [
        Hit("lexical", rank, f"{piece.path}:{piece.start_line}", piece.path, piece.start_line, piece.end_line,
            piece.symbol, piece.text)
        for rank, (_score, piece) in enumerate(ranked[:MAX_HITS], 1)
    ]  # fmt: skip


def rank_pieces(pieces: Sequence[Piece], weights: Mapping[str, float]) -> list[tuple[int, Piece]]:
    """Return the pieces that hold a word, the best first."""
    counted = [_counted(piece) for piece in pieces]
    mean = sum(sum(one.values()) for one in counted) / len(counted)
    scored: list[tuple[int, Piece]] = []
    for piece, counts in zip(pieces, counted, strict=True):
        length = sum(counts.values()) / mean if mean else 1.0
        score = sum(
            weight * counts[word] * (_K1 + 1) / (counts[word] + _K1 * (1 - _B + _B * length))
            for word, weight in weights.items()
            if counts[word]
        )
        if score > 0:
            scored.append((round(score * _SCALE), piece))
    return sorted(scored, key=lambda one: (-one[0], one[1].path, one[1].start_line))


def pieces_of(path: str, text: FileText | None) -> Iterator[Piece]:
    """Cut a file into its functions, and what is between them into pieces of at most 60 lines."""
    if text is None or b"\0" in text.data[:8_000]:
        return
    lines = text.data.decode("utf-8", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    spans = sorted((*text.lines_of(one), one.lexical_path) for one in text.definitions if one.kind in _BODIES)
    cut: list[tuple[int, int, str]] = []
    for first, last, name in spans:
        # Functions inside functions belong to the outer one.
        if not cut or first > cut[-1][1]:
            cut.append((first, last, name))
    edges = [(0, 0, ""), *cut, (len(lines) + 1, len(lines) + 1, "")]
    for before, after in pairwise(edges):
        for first in range(before[1] + 1, after[0], _PIECE_LINES):
            last = min(first + _PIECE_LINES - 1, after[0] - 1)
            content = "\n".join(lines[first - 1 : last])
            if content.strip():
                yield Piece(path, first, last, "", content)
        if after[2]:
            yield Piece(path, after[0], after[1], after[2], "\n".join(lines[after[0] - 1 : after[1]]))


def symbol_lane(
    knowledge: Knowledge, index: RepositoryIndex, names: Iterable[str], near: Mapping[str, int]
) -> list[Hit]:
    """Rank definitions by how well their name fits, less their distance to the target symbols (`near`, by id)."""
    found: dict[str, tuple[int, SymbolHit]] = {}
    with index.facts() as reader:
        for wanted in sorted(set(names)):
            for path, file_id, number, name in reader.definitions_like(wanted, _MAX_DEFINITIONS):
                hit = symbol_at(reader, file_id, number) if path in knowledge.allowlist else None
                if hit is None:
                    continue
                node = f"{path}::{hit.lexical_path}"
                points = 3 if name == wanted else 2 if name.lower() == wanted.lower() else 1
                score = points - min(near.get(node, _MAX_DISTANCE), _MAX_DISTANCE)
                if node not in found or found[node][0] < score:
                    found[node] = (score, hit)
        ordered = sorted(found.items(), key=lambda one: (-one[1][0], one[1][1].file.path, one[1][1].line, one[0]))
        return [
            Hit("symbol", rank, node, hit.file.path, hit.line, hit.end_line, hit.lexical_path,
                _head(knowledge.text(hit.file.path), hit.line))
            for rank, (node, (_score, hit)) in enumerate(ordered[:MAX_HITS], 1)
        ]  # fmt: skip


def text_lane(lane: str, texts: Iterable[tuple[str, str]], query: Counter[str]) -> list[Hit]:
    """Rank named texts, such as the sections of a ticket, by BM25 among themselves."""
    pieces = [Piece(name, 0, 0, "", text) for name, text in texts]
    if not pieces:
        return []
    counts = Counter(word for piece in pieces for word in set(tokens_of(piece.text)))
    weights = {word: _idf(len(pieces), counts[word]) for word in query if counts[word]}
    return [
        Hit(lane, rank, piece.path, text=piece.text)
        for rank, (_score, piece) in enumerate(rank_pieces(pieces, weights)[:MAX_HITS], 1)
    ]


def listed_lane(lane: str, items: Iterable[tuple[str, str]]) -> list[Hit]:
    """Keep the order of what is listed: policies, memories."""
    return [Hit(lane, rank, name, text=text) for rank, (name, text) in enumerate(list(items)[:MAX_HITS], 1)]


def fused(lanes: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Join the lanes by reciprocal rank fusion; what several lanes found comes first."""
    scores: dict[tuple[str, int, str], Fraction] = {}
    best: dict[tuple[str, int, str], Hit] = {}
    for hits in lanes:
        for hit in hits:
            key = (hit.path, hit.start_line, hit.hit_id if not hit.path else "")
            scores[key] = scores.get(key, Fraction(0)) + Fraction(1, _FUSION + hit.rank)
            best.setdefault(key, hit)
    return [best[key] for key in sorted(scores, key=lambda one: (-scores[one], one))]


def _counted(piece: Piece) -> Counter[str]:
    counts = Counter(tokens_of(piece.text))
    for word in tokens_of(piece.path):
        counts[word] += _PATH_WEIGHT
    return counts


def _idf(n_documents: int, n_with_word: int) -> float:
    return math.log(1 + (n_documents - n_with_word + 0.5) / (n_with_word + 0.5)) if n_with_word <= n_documents else 0.0


def _head(text: FileText | None, line: int) -> str:
    if text is None:
        return ""
    lines = text.data.decode("utf-8", "replace").split("\n")
    return lines[line - 1].strip()[:160] if 0 < line <= len(lines) else ""
