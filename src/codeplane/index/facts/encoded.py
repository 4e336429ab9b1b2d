"""From bytes of source to bytes of facts, in one step that any process can do."""

from typing import NamedTuple

from codeplane.index.facts.columns import encode_columns
from codeplane.index.facts.compiling import compile_facts
from codeplane.index.facts.outline import NAME, PATH, SIGNATURE, Outline
from codeplane.index.facts.outline_storage import encode_outline
from codeplane.index.symbol_names import definition_uid, folded, signature_hash
from codeplane.languages.catalog import load_language
from codeplane.languages.facts import FileFacts, no_facts

# A file larger than this is searched as text only: minified bundles and data dumps say nothing that is worth seconds.
MAX_SOURCE_BYTES = 4 * 1024 * 1024
TOO_LARGE = f"larger than {MAX_SOURCE_BYTES // (1024 * 1024)} MB: searched as text only"


class EncodedFacts(NamedTuple):
    """The facts of one text in one language; plain values only, so that they can cross between processes."""

    outline: bytes
    columns: bytes
    link_hash: bytes
    package: str
    problem: str


def encode_facts(source: bytes, dialect: str, known: FileFacts | None = None) -> EncodedFacts | None:
    """Return the facts of a text; None for a language that is known as text only. `known` are its facts, if at hand."""
    language = load_language(dialect)
    if language is None:
        return None
    if len(source) > MAX_SOURCE_BYTES:
        return encoded(no_facts(source, TOO_LARGE), source)
    return encoded(known if known is not None else language.extract(source), source)


def encoded(facts: FileFacts, source: bytes) -> EncodedFacts:
    """Return facts as they are stored."""
    compiled = compile_facts(facts, source)
    outline = compiled.outline
    return EncodedFacts(
        outline=encode_outline(outline),
        columns=encode_columns(compiled.columns),
        link_hash=compiled.link_hash,
        package=outline.package,
        problem=outline.problem,
    )


def named_definitions(file_id: int, home: str, outline: Outline) -> list[tuple[int, int, bytes, int, str, str]]:
    """Return file, number, identity, kind, name and folded name of each definition that other files can name.

    `home` begins the identities of a file: the context it belongs to and its module.
    """
    if not outline.n_visible:
        return []
    column = outline.definition_rows.column
    siblings = outline.siblings.get
    rows = zip(range(outline.n_visible), outline.kinds, column(NAME), column(PATH), column(SIGNATURE), strict=False)
    return [
        (file_id, number, definition_uid(home, f"{kind:d}:{path}:{signature_hash(signature)}:{siblings(number, 0)}"),
         kind, name, folded(name))
        for number, kind, name, path, signature in rows
    ]  # fmt: skip
