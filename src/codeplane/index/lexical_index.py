"""Tier 0: ranked full text with tantivy, one document per file; it finds candidates and proves nothing.

Each generation is a directory of its own beside a pointer file, so that a rebuild never touches what readers use.
One document holds the epoch. When it differs from the database's, a ranked question first adds what changed since, or
everything when that is not known: updates of the index never wait for tantivy. The binding offers no payload of
commits, in which the epoch would otherwise be. Files are known by path; their ids and units are the database's.
Words are split at everything that is not a letter or digit; names of the file's facts are kept whole and, apart, in
their camel-case parts. Tokenizers by regular expression took ten times as long.
"""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import tantivy

from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.core.logs import fields, get_logger
from codeplane.index.facts.columns import names_of
from codeplane.index.facts.queries import checked
from codeplane.index.index_store import KEPT_SNAPSHOTS

_log = get_logger(__name__)

_HEAP_BYTES: Final = 64_000_000
_SMALL_HEAP_BYTES: Final = 15_000_000
# Texts wait in memory, thousands of them, until tantivy's own thread has taken them in; a commit waits for it.
_MAX_WAITING_BYTES: Final = 8_000_000
_EPOCH_KEY: Final = "epoch\0"
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_QUERY_PART: Final = re.compile(r'"([^"]+)"|(\S+)')
_WORD: Final = re.compile(r"[^\W_]+")
_GENERATION: Final = re.compile(r"gen-[0-9a-z]+")


class LexicalDocument(NamedTuple):
    """A file as it is ranked: the place of its text in the pack, and the identifiers of its facts, blanks between."""

    path: str
    language: str
    offset: int
    length: int
    names: str


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file that fits a query, with its score; higher is better."""

    path: str
    score: float


def _documents(connection: sqlite3.Connection, wanted: frozenset[str] | None) -> Iterator[LexicalDocument]:
    """Yield the files of these paths, or all, as tantivy takes them."""
    rows = connection.execute(
        "SELECT path, language, offset, length, facts_id FROM files JOIN texts USING (text_id) ORDER BY path"
    ).fetchall()
    for path, language, offset, length, facts_id in rows:
        if wanted is None or path in wanted:
            yield LexicalDocument(path, language, offset, length, names_of(connection, facts_id))


def _write(
    index: tantivy.Index,
    pack: Path,
    documents: Iterable[LexicalDocument],
    gone: Iterable[str],
    epoch: int,
    *,
    is_new: bool,
) -> None:
    """Remove documents, add others and make all of it visible as the state of an epoch.

    A new generation is committed in parts, because it has no readers yet.
    """
    writer = index.writer(_HEAP_BYTES if is_new else _SMALL_HEAP_BYTES, num_threads=1)
    for path in (*gone, _EPOCH_KEY):
        writer.delete_documents_by_term("path", path)
    n_waiting = 0
    with pack.open("rb") as texts:
        for path, language, offset, length, names in documents:
            text = os.pread(texts.fileno(), length, offset).decode("utf-8", "replace")
            writer.add_document(
                tantivy.Document(
                    path=path,
                    language_family=language,
                    content=text,
                    identifiers=names,
                    parts=" ".join(_parts(names)),
                )
            )
            n_waiting += length
            if is_new and n_waiting >= _MAX_WAITING_BYTES:
                writer.commit()
                n_waiting = 0
    writer.add_document(tantivy.Document(path=_EPOCH_KEY, epoch=epoch))
    writer.commit()
    writer.wait_merging_threads()


class LexicalIndex:
    """The ranked index of one working tree.

    Invariant: one process writes at a time, because updates happen under the lock of the index database.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._index: tantivy.Index | None = None
        self._opened = ""
        self.healed = ""

    def follow(self, connection: sqlite3.Connection, pack: Path, epoch: int) -> None:
        """Bring the index to an epoch of the database.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it cannot be written.
        """
        held = self.epoch()
        if held == epoch:
            return
        try:
            if max(0, epoch - KEPT_SNAPSHOTS) < held < epoch:
                rows = connection.execute("SELECT DISTINCT path FROM snapshots WHERE epoch > ?", (held,))
                changed = frozenset(row[0] for row in rows)
                self._write_into_current(pack, _documents(connection, changed), changed, epoch)
            else:
                self._fill_generation(pack, _documents(connection, None), epoch)
        except (ValueError, OSError) as error:
            raise CodePlaneError("INDEX_CORRUPT", f"The ranked text index could not be written: {error}") from error

    def _write_into_current(
        self, pack: Path, documents: Iterable[LexicalDocument], gone: Iterable[str], epoch: int
    ) -> None:
        with _panics_as_errors():
            index = self._current()
            if index is None:
                raise ValueError("it is gone")
            _write(index, pack, documents, gone, epoch, is_new=False)
            index.reload()

    def _fill_generation(self, pack: Path, documents: Iterable[LexicalDocument], epoch: int) -> None:
        directory = self._begin_generation()
        try:
            with _panics_as_errors():
                index = _registered(tantivy.Index(_schema(), str(directory)))
                _write(index, pack, documents, (), epoch, is_new=True)
            self._point_to(directory.name)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    def epoch(self) -> int:
        """Return the epoch of the index, -1 when it cannot be read."""
        try:
            index = self._current()
            return self._epoch(index) if index is not None else -1
        except (ValueError, OSError) as error:
            self._report(str(error))
            return -1

    def rank(self, query: str, limit: int, language: str | None) -> list[RankedFile]:
        """Return at most `limit` files that hold all words of a query, the best first; quotes make a phrase.

        Raises:
            CodePlaneError: INVALID_ARGUMENTS for an invalid limit or a query without words; INDEX_CORRUPT when
                it cannot be read, after which it is built again.
        """
        checked(limit)
        try:
            with _panics_as_errors():
                index = self._current()
                return self._ranked(index, query, limit, language) if index is not None else []
        except (ValueError, OSError) as error:
            self._report(str(error))
            # Without a pointer it has no epoch, so the next question builds it again.
            with suppress(OSError):
                (self._directory / "current").unlink(missing_ok=True)
            raise CodePlaneError("INDEX_CORRUPT", f"The ranked text index cannot be read: {error}") from error

    def _ranked(self, index: tantivy.Index, query: str, limit: int, language: str | None) -> list[RankedFile]:
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

    def rank_any(self, words: Iterable[str], limit: int) -> tuple[list[RankedFile], dict[str, int]]:
        """Return files that hold any of some words, the best first, and how many files hold each word.

        Words are lower case. Raises what `rank` raises.
        """
        try:
            with _panics_as_errors():
                index = self._current()
                return self._ranked_any(index, tuple(words), limit) if index is not None else ([], {})
        except (ValueError, OSError) as error:
            self._report(str(error))
            raise CodePlaneError("INDEX_CORRUPT", f"The ranked text index cannot be read: {error}") from error

    @staticmethod
    def _ranked_any(
        index: tantivy.Index, words: tuple[str, ...], limit: int
    ) -> tuple[list[RankedFile], dict[str, int]]:
        searcher, query = index.searcher(), tantivy.Query
        terms = {
            word: query.boolean_query(
                [
                    (tantivy.Occur.Should, query.term_query(index.schema, "content", word)),
                    (tantivy.Occur.Should, query.term_query(index.schema, "parts", word)),
                ]
            )
            for word in words
        }
        counts = {word: int(searcher.doc_freq("content", word)) for word in terms}
        known = [(tantivy.Occur.Should, one) for word, one in terms.items() if counts[word]]
        if not known:
            return [], counts
        hits = []
        for score, address in searcher.search(query.boolean_query(known), limit).hits:
            document: Any = searcher.doc(address)
            hits.append(RankedFile(document["path"][0], float(score)))
        return sorted(hits, key=lambda hit: (-round(hit.score, 4), hit.path)), counts

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
            with _panics_as_errors():
                self._index = _registered(tantivy.Index.open(str(directory)))
            self._opened = directory.name
        with _panics_as_errors():
            self._index.reload()
        return self._index

    def _generation(self) -> Path | None:
        try:
            name = (self._directory / "current").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None
        directory = self._directory / name
        is_ours = _GENERATION.fullmatch(name) is not None and directory.is_dir() and not directory.is_symlink()
        return directory if is_ours else None

    @staticmethod
    def _epoch(index: tantivy.Index) -> int:
        with _panics_as_errors():
            searcher = index.searcher()
            hits = searcher.search(tantivy.Query.term_query(index.schema, "path", _EPOCH_KEY), 1).hits
            if not hits:
                return -1
            document: Any = searcher.doc(hits[0][1])
            return int(document["epoch"][0])

    def _begin_generation(self) -> Path:
        directory = self._directory / f"gen-{RandomIds().new('g')[2:14]}"
        directory.mkdir(parents=True)
        # Leftovers of failed updates would otherwise add up on a full disk.
        current = self._generation()
        self._remove_others({directory.name, current.name if current is not None else ""})
        return directory

    def _point_to(self, name: str) -> None:
        """Let readers use a new generation, and remove the others."""
        pointer = self._directory / f"{name}.pointer"
        current = self._directory / "current"
        pointer.write_text(name, encoding="utf-8")
        if current.is_dir() and not current.is_symlink():
            shutil.rmtree(current)
        pointer.replace(current)
        self._remove_others({name})

    def _remove_others(self, kept: set[str]) -> None:
        for other in self._directory.glob("gen-*"):
            if other.name in kept:
                continue
            if other.is_dir() and not other.is_symlink():
                shutil.rmtree(other, ignore_errors=True)
            else:
                with suppress(OSError):
                    other.unlink()

    def _report(self, reason: str) -> None:
        self.healed = "The ranked text index was built again: it could not be read."
        self._index = None
        _log.warning("the ranked text index is built again", extra=fields(reason=reason))


@contextmanager
def _panics_as_errors() -> Iterator[None]:
    """Raise ValueError where tantivy panics, as it does on some damaged files, or its documents are not as expected.

    The binding's PanicException cannot be imported and is not an Exception, so nothing else would catch it.
    """
    try:
        yield
    except (RuntimeError, LookupError) as error:
        # A writer that is used up; a document of another schema.
        raise ValueError(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"tantivy gave up: {error}") from error


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
