"""A planned refactoring: what would change, how sure each change is, and what is left to decide."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.reader import line_and_column
from codeplane.index.linking.stored_links import Tier

# The groups of edits; only the first is applied unless the caller chooses otherwise.
CODE: Final = "code"
QUESTION: Final = "question"
DOCS: Final = "docs"
# The states of a plan.
READY: Final = "ready"
NEEDS_DECISION: Final = "needs_decision"
BLOCKED: Final = "blocked"
_MAX_LINE: Final = 160


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace bytes `start` to `end` of a file; a path without a file is created by an edit at 0.

    `anchor` is where in the new text the identifier is that was at `start` before, -1 when it is gone. `line`, `column`
    (in characters) and `text` show the place. `why` is the evidence; of a question, why it is not sure, and `settle`
    says what would settle it. `confidence` is for documentation: high, medium or low.
    """

    path: str
    start: int
    end: int
    old: str
    new: str
    line: int
    column: int
    text: str
    group: str = CODE
    tier: Tier = Tier.PROVEN
    why: str = ""
    settle: str = ""
    confidence: str = ""
    anchor: int = 0


class FileMove(NamedTuple):
    """A file that gets another path; its edits count from the text at the old path."""

    source: str
    target: str


class Candidate(NamedTuple):
    """A definition that the request may mean."""

    uid: str
    path: str
    line: int
    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What a planner found.

    `hashes` are the digests of the files that edits, moves and deletions touch, empty for a file to be created.
    `reasons` name what keeps the plan from being ready; `candidates` are what it could mean instead.
    """

    kind: str
    subject: str
    status: str = READY
    edits: tuple[Edit, ...] = ()
    moves: tuple[FileMove, ...] = ()
    deletes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] | None = None
    hashes: Mapping[str, str] | None = None


def edit_at(path: str, source: bytes, span: tuple[int, int], new: str, **more: Any) -> Edit:
    """Return the edit of a span of a text, with the place it shows."""
    start, end = span
    line, byte_column = line_and_column(source, start)
    begin = start - byte_column
    stop = source.find(b"\n", start)
    whole = source[begin : stop if stop >= 0 else len(source)].decode("utf-8", "replace").rstrip("\r")
    column = len(source[begin:start].decode("utf-8", "replace"))
    first = max(0, column - _MAX_LINE // 2) if len(whole) > _MAX_LINE else 0
    old = source[start:end].decode("utf-8", "replace")
    return Edit(path, start, end, old, new, line, column, whole[first : first + _MAX_LINE].strip(), **more)


def edited(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Return a text with some edits made.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT when two of them overlap.
    """
    parts: list[bytes] = []
    at = 0
    for one in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if one.start < at:
            raise CodePlaneError("REFACTOR_CONFLICT", f"Two edits change the same text at {one.path}:{one.line}.")
        parts += [source[at : one.start], one.new.encode("utf-8", "surrogatepass")]
        at = one.end
    return b"".join([*parts, source[at:]])


def without_overlap(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return edits in order, with cuts that overlap the edit before them made shorter or left out."""
    found: list[Edit] = []
    for one in sorted(edits, key=lambda edit: (edit.path, edit.start, edit.end)):
        before = found[-1] if found and found[-1].path == one.path else None
        if before is None or one.start >= before.end or one.new:
            found.append(one)
        elif one.end > before.end:
            cut = len(one.old.encode("utf-8", "surrogatepass")) - (one.end - before.end)
            old = one.old.encode("utf-8", "surrogatepass")[cut:].decode("utf-8", "replace")
            found.append(replace(one, start=before.end, old=old))
    return tuple(found)


def moved_offset(offset: int, edits: Iterable[Edit]) -> int:
    """Return where an offset of the old text is in the new one; that of an edit is where its anchor is."""
    shift = 0
    for one in edits:
        if one.start == offset < one.end:
            return offset + shift + one.anchor
        if one.end <= offset:
            shift += len(one.new.encode("utf-8", "surrogatepass")) - (one.end - one.start)
    return offset + shift


def as_document(draft: Draft) -> dict[str, Any]:
    """Return a draft as plain values."""
    return asdict(draft)


def from_document(document: Mapping[str, Any]) -> Draft:
    """Return the draft that `as_document` described."""
    return Draft(
        **{
            **document,
            "edits": tuple(Edit(**{**one, "tier": Tier(one["tier"])}) for one in document["edits"]),
            "moves": tuple(FileMove(*one) for one in document["moves"]),
            "deletes": tuple(document["deletes"]),
            "reasons": tuple(document["reasons"]),
            "candidates": tuple(Candidate(*one) for one in document["candidates"]),
            "warnings": tuple(document["warnings"]),
        }
    )
