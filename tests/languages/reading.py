"""Facts as a test wants to read them: with lines instead of offsets and receivers as text."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    SUPER,
    THIS,
    Definition,
    DynamicAccess,
    Export,
    FileFacts,
    Import,
    LocalBind,
    ReferenceRole,
    Scope,
)

_CODES = {EXPRESSION: "…", KEYWORD: "()", SUPER: "super()", THIS: "this"}


class Span(NamedTuple):
    """A stretch of source in 1-based lines and 0-based byte columns."""

    start_line: int
    start_col: int
    end_line: int
    end_col: int


class ReadReference(NamedTuple):
    """A reference with its place and the text of its receiver."""

    name: str
    span: Span
    scope: int
    role: ReferenceRole
    receiver: str | None
    bind: int | None


@dataclass
class ReadFacts:
    """The facts of a file beside its source."""

    facts: FileFacts
    source: bytes

    def __post_init__(self) -> None:
        self._starts = [0]
        for line in self.source.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def span(self, start: int, end: int) -> Span:
        """Return lines and columns of two offsets."""
        first, last = (bisect_right(self._starts, offset) for offset in (start, end))
        return Span(first, start - self._starts[first - 1], last, end - self._starts[last - 1])

    def line(self, offset: int) -> int:
        """Return the line of an offset."""
        return self.span(offset, offset).start_line

    @property
    def references(self) -> list[ReadReference]:
        """Return the references with lines."""
        by_start = {row[0]: row for row in self.facts.references}

        def text_of(receiver: int) -> str | None:
            parts: list[str] = []
            while receiver >= 0:
                row = by_start[receiver]
                parts.append(row[1])
                receiver = row[4]
            if receiver != NO_RECEIVER:
                parts.append(_CODES[receiver])
            return ".".join(reversed(parts)) or None

        return [
            ReadReference(
                name,
                self.span(start, start + len(name.encode())),
                scope,
                ReferenceRole(role),
                text_of(receiver),
                None if bind == NONE else bind,
            )
            for start, name, scope, role, receiver, bind in self.facts.references
        ]

    @property
    def definitions(self) -> list[Definition]:
        """Return the definitions."""
        return self.facts.definitions

    @property
    def binds(self) -> list[LocalBind]:
        """Return the binds."""
        return self.facts.binds

    @property
    def scopes(self) -> list[Scope]:
        """Return the scopes."""
        return self.facts.scopes

    @property
    def imports(self) -> list[Import]:
        """Return the imports."""
        return self.facts.imports

    @property
    def exports(self) -> list[Export]:
        """Return the exports."""
        return self.facts.exports

    @property
    def dynamic(self) -> list[DynamicAccess]:
        """Return the dynamic accesses."""
        return self.facts.dynamic
