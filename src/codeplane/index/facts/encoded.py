"""From bytes of source to bytes of facts, in one step that any process can do."""

import marshal
from collections.abc import Callable
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
    """The facts of one text in one language; plain values only, so that they can cross between processes.

    `names` are all identifiers of the file, for the ranked text index. `nameable` are the definitions that others can
    name, as bytes for `named_definitions`.
    """

    outline: bytes
    columns: bytes
    link_hash: bytes
    package: str
    problem: str
    names: str
    nameable: bytes


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
        names=" ".join(compiled.columns.names),
        nameable=marshal.dumps(_nameable(outline)),
    )


def _nameable(outline: Outline) -> list[tuple[int, str, str]]:
    """Return kind, name and what makes up the identity of each definition that others can name."""
    if not outline.n_visible:
        return []
    column = outline.definition_rows.column
    siblings = outline.siblings.get
    rows = zip(range(outline.n_visible), outline.kinds, column(NAME), column(PATH), column(SIGNATURE), strict=False)
    return [
        (int(kind), name, f"{int(kind)}:{path}:{signature_hash(signature)}:{siblings(number, 0)}")
        for number, kind, name, path, signature in rows
    ]


def named_definitions(
    file_id: int, home: str, nameable: bytes | None, outline: Callable[[], Outline]
) -> list[tuple[int, int, bytes, int, str, str]]:
    """Return file, number, identity, kind, name and folded name of each definition that others can name.

    `home` is what stands before the identities of a file: the context it belongs to and its module. Where they are
    not at hand, they are taken from the outline.
    """
    known = marshal.loads(nameable) if nameable is not None else _nameable(outline())  # noqa: S302 - from our own process
    return [
        (file_id, number, definition_uid(home, identity), kind, name, folded(name))
        for number, (kind, name, identity) in enumerate(known)
    ]
