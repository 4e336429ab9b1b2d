"""Tier 0: ranked full text with tantivy, one document per file; it finds candidates and proves nothing.

Each generation is a directory of its own beside a pointer file, so that a rebuild never touches what readers use.
A document without a path holds the epoch: when it differs from the database's, the index is built again from the pack.
The binding offers no payload of commits, in which the epoch would otherwise stand.
Words are split at everything that is no letter or digit; names of the file's facts are kept whole and, apart, in their
camel-case parts. Tokenizers by regular expression took ten times as long.
"""

import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tantivy

from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.core.logs import fields, get_logger

_log = get_logger(__name__)

MAX_LIMIT: Final = 10_000
_HEAP_BYTES: Final = 64_000_000
_SMALL_HEAP_BYTES: Final = 15_000_000
_EPOCH_KEY: Final = "epoch"
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_QUERY_PART: Final = re.compile(r'"([^"]+)"|(\S+)')
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A file as it is indexed; `names` are the identifiers of its facts."""

    file_id: int
    unit_id: int | None
    path: str
    language: str
    text: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A file that fits a query, with its score; higher is better."""

    file_id: int
    path: str
    score: float


class LexicalIndex:
    """The ranked index of one working tree.

    Invariant: one process writes at a time, because updates happen under the lock of the index database.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._index: tantivy.Index | None = None
        self._opened = ""
        self.healed = ""

    def bring_to(
        self,
        epoch: int,
        removed: Iterable[str],
        changed: Iterable[LexicalDocument],
        everything: Callable[[], Iterable[LexicalDocument]],
    ) -> None:
        """Take over an update whose epoch follows the one held; otherwise build everything again."""
        try:
            index = self._current()
            if index is not None and self._epoch(index) == epoch - 1:
                self._write(index, epoch, [*removed], changed, _SMALL_HEAP_BYTES)
                return
        except (ValueError, OSError) as error:
            self._report(str(error))
        try:
            self._rebuild(epoch, everything())
        except (ValueError, OSError) as error:
            # Ranking is not what the update is for; whoever asks for it next builds it again and hears of failure.
            _log.warning("the ranked text index could not be written", extra=fields(reason=str(error)))

    def ensure(self, epoch: int, everything: Callable[[], Iterable[LexicalDocument]]) -> None:
        """Build everything again unless the index is at this epoch.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it cannot be built either.
        """
        try:
            index = self._current()
            if index is not None and self._epoch(index) == epoch:
                return
        except (ValueError, OSError) as error:
            self._report(str(error))
        try:
            self._rebuild(epoch, everything())
        except (ValueError, OSError) as error:
            raise CodePlaneError("INDEX_CORRUPT", f"The ranked text index could not be built: {error}") from error

    def lexical_search(self, query: str, limit: int, unit_id: int | None, language: str | None) -> list[LexicalHit]:
        """Return at most `limit` files that hold all words of a query, the best first; quotes make a phrase.

        Raises:
            CodePlaneError: INVALID_ARGUMENTS for a limit that is none or a query without words.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise CodePlaneError("INVALID_ARGUMENTS", f"limit must be between 1 and {MAX_LIMIT}, not {limit}.")
        index = self._current()
        if index is None:
            return []
        parts = [self._part(index.schema, phrase or word) for phrase, word in _QUERY_PART.findall(query)]
        musts = [(tantivy.Occur.Must, part) for part in parts if part is not None]
        if not musts:
            raise CodePlaneError("INVALID_ARGUMENTS", "The query has no word to look for.")
        for field, value in (("unit_id", unit_id), ("language_family", language)):
            if value is not None:
                term = tantivy.Query.term_query(index.schema, field, value)
                musts.append((tantivy.Occur.Must, tantivy.Query.const_score_query(term, 0.0)))
        searcher = index.searcher()
        found = searcher.search(tantivy.Query.boolean_query(musts), limit).hits
        hits = []
        for score, address in found:
            document: Any = searcher.doc(address)
            hits.append(LexicalHit(document["file_id"][0], document["path"][0], float(score)))
        return sorted(hits, key=lambda hit: (-round(hit.score, 4), hit.path))

    def size_bytes(self) -> int:
        """Return how much of the disk the current generation takes."""
        directory = self._generation()
        if directory is None:
            return 0
        total = 0
        for file in directory.iterdir():
            # A merge may remove a file between the listing and the look at it.
            with suppress(OSError):
                total += file.stat().st_size
        return total

    @staticmethod
    def _part(schema: tantivy.Schema, text: str) -> tantivy.Query | None:
        """Return the query for one word or phrase: as a whole name, as words in a row, as parts of names."""
        words = [word.lower() for word in _WORD.findall(text)]
        if not words:
            return None
        query = tantivy.Query
        options = [(tantivy.Occur.Should, query.boost_query(query.term_query(schema, "identifiers", text), 4.0))]
        if len(words) == 1:
            options.append((tantivy.Occur.Should, query.term_query(schema, "content", words[0])))
            options.append((tantivy.Occur.Should, query.term_query(schema, "parts", words[0])))
        else:
            options.append((tantivy.Occur.Should, query.phrase_query(schema, "content", words)))
        return query.boolean_query(options)

    def _current(self) -> tantivy.Index | None:
        """Return the newest generation, opened and up to date; None when there is none."""
        directory = self._generation()
        if directory is None:
            return None
        if self._index is None or self._opened != directory.name:
            self._index = _registered(tantivy.Index.open(str(directory)))
            self._opened = directory.name
        self._index.reload()
        return self._index

    def _generation(self) -> Path | None:
        try:
            name = (self._directory / "current").read_text(encoding="utf-8").strip()
        except OSError:
            return None
        directory = self._directory / name
        return directory if name and "/" not in name and directory.is_dir() else None

    @staticmethod
    def _epoch(index: tantivy.Index) -> int:
        searcher = index.searcher()
        hits = searcher.search(tantivy.Query.term_query(index.schema, "path", _EPOCH_KEY + "\0"), 1).hits
        if not hits:
            return -1
        document: Any = searcher.doc(hits[0][1])
        return int(document["file_id"][0])

    def _rebuild(self, epoch: int, documents: Iterable[LexicalDocument]) -> None:
        """Build a new generation, point to it, and remove the others."""
        name = f"gen-{RandomIds().new('g')[2:14]}"
        directory = self._directory / name
        directory.mkdir(parents=True)
        index = _registered(tantivy.Index(_schema(), str(directory)))
        self._write(index, epoch, [], documents, _HEAP_BYTES)
        pointer = self._directory / f"{name}.pointer"
        pointer.write_text(name, encoding="utf-8")
        pointer.replace(self._directory / "current")
        self._index, self._opened = index, name
        for other in self._directory.glob("gen-*"):
            if other.is_dir() and other.name != name:
                shutil.rmtree(other, ignore_errors=True)

    @staticmethod
    def _write(
        index: tantivy.Index, epoch: int, removed: list[str], documents: Iterable[LexicalDocument], heap_bytes: int
    ) -> None:
        writer = index.writer(heap_bytes, num_threads=1)
        for path in [*removed, _EPOCH_KEY + "\0"]:
            writer.delete_documents_by_term("path", path)
        for one in documents:
            writer.delete_documents_by_term("path", one.path)
            writer.add_document(
                tantivy.Document(
                    file_id=one.file_id,
                    unit_id=one.unit_id or 0,
                    path=one.path,
                    language_family=one.language,
                    content=one.text,
                    identifiers=" ".join(one.names),
                    parts=" ".join(_parts(one.names)),
                )
            )
        writer.add_document(tantivy.Document(file_id=epoch, path=_EPOCH_KEY + "\0"))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    def _report(self, reason: str) -> None:
        self.healed = "The ranked text index was built again: it could not be read."
        self._index = None
        _log.warning("the ranked text index is built again", extra=fields(reason=reason))


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("file_id", stored=True, indexed=True)
    builder.add_integer_field("unit_id", indexed=True)
    builder.add_text_field("path", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language_family", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("content", tokenizer_name="words", index_option="position")
    builder.add_text_field("identifiers", tokenizer_name="names", index_option="basic")
    builder.add_text_field("parts", tokenizer_name="names", index_option="basic")
    return builder.build()


def _registered(index: tantivy.Index) -> tantivy.Index:
    """Give an index its tokenizers, which are not kept on disk."""
    simple = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    index.register_tokenizer("words", simple.filter(tantivy.Filter.remove_long(64)).build())
    whole = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.remove_long(128))
    index.register_tokenizer("names", whole.build())
    return index


def _parts(names: tuple[str, ...]) -> set[str]:
    """Return the lower-case parts of names that are written in camel case."""
    found: set[str] = set()
    for name in names:
        if not name.islower():
            found.update(part.lower() for part in _CAMEL.findall(name))
    return found
