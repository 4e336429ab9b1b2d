"""Tier 0: ranked full text with tantivy, one document per file; it finds candidates and proves nothing.

Each generation is a directory of its own beside a pointer file, so that a rebuild never touches what readers use.
One document holds the epoch: when it differs from the database's, the index is built again from the pack. The binding
offers no payload of commits, in which the epoch would otherwise stand. Files are known by path; their numbers and units
are the database's, which keeps them current when contexts change.
Words are split at everything that is no letter or digit; names of the file's facts are kept whole and, apart, in their
camel-case parts. Tokenizers by regular expression took ten times as long.
"""

import re
import shutil
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
_EPOCH_KEY: Final = "epoch\0"
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_QUERY_PART: Final = re.compile(r'"([^"]+)"|(\S+)')
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A file as it is indexed; `names` are the identifiers of its facts with blanks between."""

    path: str
    language: str
    text: str
    names: str


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file that fits a query, with its score; higher is better."""

    path: str
    score: float


class LexicalUpdate:
    """Documents on their way into the index; nothing is seen before `commit`, which may come once.

    Invariant: when `is_new`, the generation held nothing before, and every file of the tree has to be put.
    """

    def __init__(self, index: tantivy.Index, directory: Path | None) -> None:
        self.index = index
        self.directory = directory
        self._writer = index.writer(_HEAP_BYTES if directory is not None else _SMALL_HEAP_BYTES, num_threads=1)
        self.put_paths: set[str] = set()

    @property
    def is_new(self) -> bool:
        """Tell whether this fills a generation of its own."""
        return self.directory is not None

    def put(self, document: LexicalDocument) -> None:
        """Add a file, in the place of what was known of it."""
        if not self.is_new:
            self._writer.delete_documents_by_term("path", document.path)
        self.put_paths.add(document.path)
        self._writer.add_document(
            tantivy.Document(
                path=document.path,
                language_family=document.language,
                content=document.text,
                identifiers=document.names,
                parts=" ".join(_parts(document.names)),
            )
        )

    def remove(self, path: str) -> None:
        """Take a file out."""
        self._writer.delete_documents_by_term("path", path)

    def write(self, epoch: int) -> None:
        """Make everything visible as the state of an epoch."""
        self._writer.delete_documents_by_term("path", _EPOCH_KEY)
        self._writer.add_document(tantivy.Document(path=_EPOCH_KEY, epoch=epoch))
        self._writer.commit()
        self._writer.wait_merging_threads()
        self.index.reload()

    def cancel(self) -> None:
        """Drop what was put."""
        with suppress(ValueError):
            self._writer.rollback()


class LexicalIndex:
    """The ranked index of one working tree.

    Invariant: one process writes at a time, because updates happen under the lock of the index database.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._index: tantivy.Index | None = None
        self._opened = ""
        self.healed = ""

    def begin(self, epoch: int) -> LexicalUpdate | None:
        """Begin an update of the state of an epoch; a new generation when that is not held, None when none can be."""
        try:
            index = self._current()
            if index is not None and self._epoch(index) == epoch:
                return LexicalUpdate(index, None)
        except (ValueError, OSError) as error:
            self._report(str(error))
        try:
            return self._begin_generation()
        except (ValueError, OSError) as error:
            _log.warning("the ranked text index could not be begun", extra=fields(reason=str(error)))
            return None

    def finish(self, update: LexicalUpdate, epoch: int) -> None:
        """Make an update the state of an epoch.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it cannot be written.
        """
        try:
            update.write(epoch)
            if update.directory is not None:
                self._point_to(update, update.directory.name)
        except (ValueError, OSError) as error:
            raise CodePlaneError("INDEX_CORRUPT", f"The ranked text index could not be written: {error}") from error

    def holds(self, epoch: int) -> bool:
        """Tell whether the index is the state of an epoch."""
        try:
            index = self._current()
            return index is not None and self._epoch(index) == epoch
        except (ValueError, OSError) as error:
            self._report(str(error))
            return False

    def rank(self, query: str, limit: int, language: str | None) -> list[RankedFile]:
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
        if language is not None:
            term = tantivy.Query.term_query(index.schema, "language_family", language)
            musts.append((tantivy.Occur.Must, tantivy.Query.const_score_query(term, 0.0)))
        searcher = index.searcher()
        hits = []
        for score, address in searcher.search(tantivy.Query.boolean_query(musts), limit).hits:
            document: Any = searcher.doc(address)
            hits.append(RankedFile(document["path"][0], float(score)))
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
        hits = searcher.search(tantivy.Query.term_query(index.schema, "path", _EPOCH_KEY), 1).hits
        if not hits:
            return -1
        document: Any = searcher.doc(hits[0][1])
        return int(document["epoch"][0])

    def _begin_generation(self) -> LexicalUpdate:
        directory = self._directory / f"gen-{RandomIds().new('g')[2:14]}"
        directory.mkdir(parents=True)
        return LexicalUpdate(_registered(tantivy.Index(_schema(), str(directory))), directory)

    def _point_to(self, update: LexicalUpdate, name: str) -> None:
        """Let readers use a new generation, and remove the others."""
        pointer = self._directory / f"{name}.pointer"
        pointer.write_text(name, encoding="utf-8")
        pointer.replace(self._directory / "current")
        self._index, self._opened = update.index, name
        for other in self._directory.glob("gen-*"):
            if other.is_dir() and other.name != name:
                shutil.rmtree(other, ignore_errors=True)

    def _report(self, reason: str) -> None:
        self.healed = "The ranked text index was built again: it could not be read."
        self._index = None
        _log.warning("the ranked text index is built again", extra=fields(reason=reason))


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("epoch", stored=True)
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


def _parts(names: str) -> set[str]:
    """Return the lower-case parts of names that are written in camel case."""
    mixed = " ".join(name for name in names.split() if not name.islower())
    return set(" ".join(_CAMEL.findall(mixed)).lower().split())
