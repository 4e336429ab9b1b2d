"""Find texts that name what moves: documentation, and strings and settings whose meaning no syntax tells."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tree_sitter import Node

from codeplane.index.call_sites import root_of
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.linking.stored_links import Tier
from codeplane.languages.catalog import LANGUAGES
from codeplane.refactor.plan import DOCS, QUESTION, Edit, edit_at

_MAX_MENTIONS: Final = 500
_DOCUMENTS: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt")
# Languages whose files hold settings or data, not code.
_SETTINGS: Final = frozenset({"json", "yaml", "toml", "markdown", "html", "css"})
_FENCES: Final = ("```", "~~~")
_WHY_SETTING: Final = "a setting names it as text; which program reads it is not known"
_WHY_STRING: Final = "a string names it; whether the program uses it as a name is not known"
_WHY_CODE: Final = "code names it by a way that could not be followed"
_SETTLE: Final = "look at what reads this text; include the edit if it means what moves"


def mentions_of(
    reader: FactReader, names: Mapping[str, str], edits: Iterable[Edit], skipped: frozenset[str] = frozenset()
) -> Iterator[Edit]:
    """Yield documentation hits and questions for texts that contain one of the old names.

    `names` gives the new text of each old one: paths and dotted names. What `edits` change is not named again, and the
    paths in `skipped` are not looked at.
    """
    wanted = {old: new for old, new in names.items() if old != new and ("/" in old or "." in old)}
    if not wanted:
        return
    longest_first = sorted(wanted, key=lambda one: (-len(one), one))
    pattern = re.compile(
        rb"(?<![\w/.-])(?:\./)?(" + b"|".join(re.escape(one.encode()) for one in longest_first) + rb")(?![\w-])"
    )
    needles = [one.encode() for one in longest_first]
    taken: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in edits:
        taken[one.path].append((one.start, one.end))
    n_found = 0
    for file in _files_with_text(reader):
        text = reader.text(file)
        if file.path in skipped or not any(needle in text for needle in needles):
            continue
        for match in pattern.finditer(text):
            span = match.span(1)
            if any(start < span[1] and span[0] < end for start, end in taken[file.path]):
                continue
            yield _mention(file, text, span, wanted[match[1].decode()])
            n_found += 1
            if n_found >= _MAX_MENTIONS:
                return


def _files_with_text(reader: FactReader) -> Iterator[FactFile]:
    rows = reader.connection.execute(
        "SELECT file_id, path, language, text_id, facts_id, unit_id, module FROM files"
        " WHERE text_id IS NOT NULL ORDER BY path"
    ).fetchall()
    return (FactFile(*row) for row in rows)


def _mention(file: FactFile, text: bytes, span: tuple[int, int], new: str) -> Edit:
    if file.path.lower().endswith(_DOCUMENTS):
        return _documentation(file.path, text, span, new, _confidence(text, span[0]))
    if file.language not in LANGUAGES or file.language in _SETTINGS:
        return _question(file.path, text, span, new, _WHY_SETTING)
    root = root_of(file.path, text)
    kind = _kind_at(root, span[0]) if root is not None else ""
    if kind == "comment":
        return _documentation(file.path, text, span, new, "medium")
    return _question(file.path, text, span, new, _WHY_STRING if kind == "string" else _WHY_CODE)


def _documentation(path: str, text: bytes, span: tuple[int, int], new: str, confidence: str) -> Edit:
    return edit_at(
        path, text, span, new, group=DOCS, tier=Tier.ANCHORED, why="documentation names it", confidence=confidence,
        anchor=-1,
    )  # fmt: skip


def _question(path: str, text: bytes, span: tuple[int, int], new: str, why: str) -> Edit:
    return edit_at(path, text, span, new, group=QUESTION, tier=Tier.UNKNOWN, why=why, settle=_SETTLE, anchor=-1)


def _confidence(text: bytes, start: int) -> str:
    """Return how sure it is that documentation means code: high in code and links, else medium."""
    begin = text.rfind(b"\n", 0, start) + 1
    before = text[begin:start].decode("utf-8", "replace")
    fences = sum(line.lstrip().startswith(_FENCES) for line in text[:begin].decode("utf-8", "replace").split("\n"))
    in_code = fences % 2 == 1 or before.count("`") % 2 == 1 or before.startswith(("    ", "\t"))
    return "high" if in_code or before.endswith("](") or "import " in before else "medium"


def _kind_at(root: Node, start: int) -> str:
    """Return whether a place is in a comment (documentation in strings included), in a string, or in code."""
    node = root.descendant_for_byte_range(start, start + 1)
    while node is not None:
        if "comment" in node.type:
            return "comment"
        if "string" in node.type and node.parent is not None and "string" not in node.parent.type:
            return "comment" if node.parent.type == "expression_statement" else "string"
        node = node.parent
    return ""
