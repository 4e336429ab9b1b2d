"""Names of a symbol in comments, docstrings and documentation files, with how likely each means the symbol (§8.11)."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from tree_sitter import Node

from codeplane.index.call_sites import root_of
from codeplane.index.facts.outline import SCOPE
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.linking.stored_links import Tier
from codeplane.languages.facts import DefinitionKind
from codeplane.refactor.plan import DOCS, QUESTION, Edit, edit_at
from codeplane.refactor.settings import DocSweepSettings
from codeplane.refactor.sites import Renaming

HIGH: Final = "high"
MEDIUM: Final = "medium"
LOW: Final = "low"
LEVELS: Final = (HIGH, MEDIUM, LOW)
_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "doc_comment"})
_STRINGS: Final = frozenset(
    {"string", "string_literal", "string_content", "interpreted_string_literal", "template_string"}
)
# Syntax in which a string is the key of a member.
_KEYED: Final = frozenset({"literal_type", "subscript_expression", "lookup_type"})
_FENCE: Final = re.compile(rb"^(```|~~~)", re.MULTILINE)
# A name that prose would hardly hold by chance.
_DISTINCT: Final = re.compile(r"_|[a-z][A-Z]|^[A-Z]\w*[a-z]|\d")
_MAX_FILES: Final = 2_000
# A common word is in every other sentence; more places of low confidence than this help nobody.
_MAX_LOW: Final = 100


def documentation_sites(
    renaming: Renaming, files_with: Callable[[str], list[str]], settings: DocSweepSettings
) -> Iterator[Edit]:
    """Yield the places in comments and documentation, and strings that may name the symbol at run time."""
    if not settings.enabled:
        return
    n_low = 0
    for one in _all_sites(renaming, files_with, tuple(settings.scan_extensions.split())):
        n_low += one.confidence == LOW
        if one.confidence != LOW or n_low <= _MAX_LOW:
            yield one


def _all_sites(renaming: Renaming, files_with: Callable[[str], list[str]], endings: tuple[str, ...]) -> Iterator[Edit]:
    reader = renaming.reader
    paths = [renaming.hit.file.path] if renaming.is_local else files_with(renaming.old)[:_MAX_FILES]
    is_shared = _n_definitions(reader, renaming.old) > len(renaming.family.places)
    for path in paths:
        file = reader.file_at(path)
        if file is None or file.text_id is None:
            continue
        text = reader.text(file)
        if path.endswith(endings) and not renaming.is_local:
            yield from _in_document(renaming, file, text, is_shared=is_shared)
        elif file.facts_id is not None:
            yield from _in_source(renaming, file, text, is_shared=is_shared)


def _words(renaming: Renaming, text: bytes) -> Iterator[re.Match[bytes]]:
    return re.finditer(rb"(?<![\w])" + re.escape(renaming.old.encode()) + rb"(?![\w])", text)


def _in_document(renaming: Renaming, file: FactFile, text: bytes, *, is_shared: bool) -> Iterator[Edit]:
    fences = [one.start() for one in _FENCE.finditer(text)]
    for match in _words(renaming, text):
        is_code = sum(start < match.start() for start in fences) % 2 == 1 or _is_marked(text, match)
        yield _site(renaming, file, text, match, is_code=is_code, is_shared=is_shared)


def _in_source(renaming: Renaming, file: FactFile, text: bytes, *, is_shared: bool) -> Iterator[Edit]:
    root: Node | None = None
    begin, end = _extent(renaming, file)
    code = frozenset(renaming.reader.columns(file.facts_id or 0).starts)
    for match in _words(renaming, text):
        if not begin <= match.start() < end or match.start() in code:
            continue
        root = root or root_of(file.path, text)
        node = root.descendant_for_byte_range(match.start(), match.end()) if root is not None else None
        kind = _text_kind(node)
        if kind == "comment":
            yield _site(renaming, file, text, match, is_code=_is_marked(text, match), is_shared=is_shared)
        elif kind == "string" and not renaming.is_local and _names_symbol(renaming, text, match, node):
            yield edit_at(
                file.path, text, match.span(), renaming.new, group=QUESTION, tier=Tier.ANCHORED,
                why="a string that may name it at run time", settle="see what reads the string",
            )  # fmt: skip


def _extent(renaming: Renaming, file: FactFile) -> tuple[int, int]:
    """Return the part of a file in which text may mean the symbol: for a local name, the function."""
    if not renaming.is_local:
        return 0, 1 << 62
    outline = renaming.reader.outline_of(file.file_id)
    scope = outline.definition_rows.column(SCOPE)[renaming.hit.number]
    columns = renaming.reader.columns(file.facts_id or 0)
    return columns.scope_starts[scope], columns.scope_ends[scope]


def _text_kind(node: Node | None) -> str:
    """Return whether a place is in a comment or docstring, in another string, or in code."""
    while node is not None:
        if node.type in _COMMENTS:
            return "comment"
        if node.type in _STRINGS and node.type != "string_content":
            parent = node.parent
            is_docstring = parent is not None and parent.type == "expression_statement"
            return "comment" if is_docstring else "string"
        if node.type == "interpolation":
            return "code"
        node = node.parent
    return "code"


def _is_marked(text: bytes, match: re.Match[bytes]) -> bool:
    """Tell whether a word is marked as code: in backticks, in a role, in a link of a doc comment, or called."""
    line = text[text.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    after = text[match.end() : match.end() + 2]
    return (
        line.count(b"`") % 2 == 1
        or bool(re.search(rb"(?::\w+:`[~.\w]*|\{@\w+ [\w.#]*|:param [\w ]*|@param )$", line))
        or after == b"()"
        or bool(re.search(rb"\b(?:import|from) [\w., ]*$", line))
    )


def _site(
    renaming: Renaming, file: FactFile, text: bytes, match: re.Match[bytes], *, is_code: bool, is_shared: bool
) -> Edit:
    is_distinct = bool(_DISTINCT.search(renaming.old))
    level = 0 if is_code else 1 if is_distinct else 2
    is_qualified = text[match.start() - 1 : match.start()] == b"."
    if (is_shared and not is_qualified) or (is_code and not is_distinct and renaming.is_member):
        level = min(level + 1, 2)
    why = "marked as code" if is_code else "in prose"
    return edit_at(
        file.path, text, match.span(), renaming.new, group=DOCS, tier=Tier.UNKNOWN, why=why, confidence=LEVELS[level]
    )


def _names_symbol(renaming: Renaming, text: bytes, match: re.Match[bytes], node: Node | None) -> bool:
    """Tell whether a string is a dotted path that ends in the symbol, or a key by which a member is reached."""
    hit = renaming.hit
    while node is not None and node.type in _STRINGS | {"string_fragment"}:
        node = node.parent
    if node is not None and node.type in _KEYED:
        return renaming.is_member
    before = re.search(rb"([\w.]+)\.$", text[max(0, match.start() - 200) : match.start()])
    if before is None:
        line = text[text.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        is_looked_up = re.search(rb"\b(?:getattr|setattr|hasattr|delattr)\([^()]*,\s*['\"]$", line)
        return is_looked_up is not None and renaming.is_member
    owner = hit.container.rpartition(".")[2] or hit.file.path.rpartition("/")[2].partition(".")[0]
    package = hit.file.path.rpartition("/")[0].rpartition("/")[2]
    return before[1].decode().rpartition(".")[2] in {owner, package} - {""}


def _n_definitions(reader: FactReader, name: str) -> int:
    row = reader.connection.execute(
        "SELECT count(*) FROM definitions WHERE name = ? AND kind <> ?", (name, int(DefinitionKind.PARAMETER))
    ).fetchone()
    return int(row[0])
