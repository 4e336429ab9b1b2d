"""The references of one file beside what they mean."""

from array import array
from collections.abc import Iterator
from typing import Final, Protocol

from codeplane.index.facts.columns import FIRST_EXPRESSION, LOCAL, OF_CALL, OF_EXPRESSION, Columns
from codeplane.index.facts.compiling import merged_alternatives
from codeplane.index.facts.outline import ALTERNATIVES, ALTERNATIVES_OR_IMPORT, NAME, Op, Outline
from codeplane.index.facts.reader import FactFile
from codeplane.index.linking.stored_links import Target, Tier
from codeplane.languages.facts import BindTarget, Certainty, ReferenceRole

_SHAPES: Final = {OF_EXPRESSION: "().", OF_CALL: "(=)"}


class FactSource(Protocol):
    """Where the facts of files come from: the index, or an assumed state of the files."""

    def outline(self, facts_id: int) -> Outline:
        """Return the outline of some facts."""

    def columns(self, facts_id: int) -> Columns:
        """Return the columns of some facts."""

    def resolution(self, file_id: int) -> "tuple[list[Target], array[int]]":
        """Return what the expressions of a file mean."""

    def text(self, file: FactFile) -> bytes:
        """Return the text of a file."""


class FileView:
    """The references of one file with what they mean."""

    def __init__(self, reader: FactSource, file: FactFile) -> None:
        self._reader = reader
        self.file = file
        facts_id = file.facts_id or 0
        self.outline: Outline = reader.outline(facts_id)
        self.columns: Columns = reader.columns(facts_id)
        self._targets, self._numbers = reader.resolution(file.file_id)
        self._text: bytes | None = None

    @property
    def text(self) -> bytes:
        """Return the text, read on first use."""
        if self._text is None:
            self._text = self._reader.text(self.file)
        return self._text

    def positions_meaning(self, target_file: int, number: int) -> list[int]:
        """Return the positions of the references that mean, or in their own file may mean, a definition."""
        wanted = {
            FIRST_EXPRESSION + expression
            for expression, target in enumerate(self._numbers)
            if target
            and self._targets[target - 1].file_id == target_file
            and self._targets[target - 1].number == number
        }
        columns = self.columns
        found = [position for position, link in enumerate(columns.links) if link in wanted] if wanted else []
        if target_file == self.file.file_id:
            binds = {bind + 1 for bind in self._binds_of(number)}
            found += [
                position
                for position, bind in enumerate(columns.bind_numbers)
                if bind in binds and columns.links[position] == LOCAL
            ]
        return sorted(set(found))

    def _binds_of(self, number: int) -> list[int]:
        """Return the first binds of the names that may mean a definition of this file."""
        columns = self.columns
        first: dict[tuple[int, int], int] = {}
        found = []
        for bind, (scope, name) in enumerate(zip(columns.bind_scopes, columns.bind_names, strict=True)):
            head = first.setdefault((scope, name), bind)
            if columns.bind_kinds[bind] == BindTarget.DEF and columns.bind_targets[bind] == number + 1:
                found.append(head)
        return found

    def target(self, position: int) -> Target | None:
        """Return what a reference means through links, None when links say nothing."""
        link = self.columns.links[position]
        if link < FIRST_EXPRESSION or link - FIRST_EXPRESSION >= len(self._numbers):
            return None
        number = self._numbers[link - FIRST_EXPRESSION]
        return self._targets[number - 1] if number else None

    def meaning(self, position: int) -> tuple[Tier, tuple[int, int] | None]:
        """Return tier and definition of a reference."""
        columns = self.columns
        target = self.target(position)
        if target is not None:
            return Tier(target.tier), (target.file_id, target.number)
        bind = columns.bind_numbers[position] - 1
        link = columns.links[position]
        if bind >= 0 and link == LOCAL and columns.bind_doubts[bind] != Certainty.CERTAIN:
            return self._alternative(bind, columns.roles[position])
        if bind >= 0 and link == LOCAL and columns.bind_kinds[bind] == BindTarget.DEF:
            return Tier.PROVEN, (self.file.file_id, columns.bind_targets[bind] - 1)
        if link in {OF_EXPRESSION, OF_CALL} or self._is_member(link):
            return Tier.ANCHORED, None
        return (Tier.ANCHORED if bind >= 0 and link == LOCAL else Tier.UNKNOWN), None

    def _alternative(self, bind: int, role: int) -> tuple[Tier, tuple[int, int] | None]:
        """Return what a name means that is bound several times: its first definition represents all of them.

        Where one of the binds is an import, each use may mean what is imported; the import itself does.
        """
        columns = self.columns
        scope, name = columns.bind_scopes[bind], columns.bind_names[bind]
        if scope == 0:
            merged = self.outline.file_binds.get(columns.names[name])
        else:
            places = [
                (kind, columns.bind_targets[one] - 1)
                for one, kind in enumerate(columns.bind_kinds)
                if columns.bind_scopes[one] == scope
                and columns.bind_names[one] == name
                and columns.bind_doubts[one] != Certainty.CERTAIN
            ]
            merged = merged_alternatives(places) if len(places) > 1 else None
        _, target, certainty = merged or (0, 0, int(Certainty.UNCERTAIN))
        if certainty == ALTERNATIVES:
            return Tier.PROVEN, (self.file.file_id, target)
        if certainty == ALTERNATIVES_OR_IMPORT and role != ReferenceRole.IMPORT:
            return Tier.ANCHORED, (self.file.file_id, target)
        return Tier.ANCHORED, None

    def _is_member(self, link: int) -> bool:
        if link < FIRST_EXPRESSION:
            return False
        return self.outline.expression(link - FIRST_EXPRESSION)[0] in {Op.MEMBER, Op.SUPER, Op.THIS}

    def anchored(self, token: str | None) -> Iterator[tuple[int, str, str]]:
        """Yield position, name and receiver shape of every reference that is ANCHORED."""
        columns = self.columns
        wanted = None
        if token is not None:
            if token not in columns.names:
                return
            wanted = columns.names.index(token)
        for position, name in enumerate(columns.name_numbers):
            if wanted is not None and name != wanted:
                continue
            if self.meaning(position)[0] is Tier.ANCHORED:
                yield position, columns.names[name], self.receiver_shape(position)

    def receiver_shape(self, position: int) -> str:
        """Return the receiver of a reference: `name.`, `().` for an expression, `None` for nothing."""
        link = self.columns.links[position]
        if link < FIRST_EXPRESSION:
            return _SHAPES.get(link, "None")
        op, operand, _ = self.outline.expression(link - FIRST_EXPRESSION)
        if op == Op.MEMBER:
            return f"{self._name_of(operand)}."
        return {Op.SUPER: "super().", Op.THIS: "this."}.get(Op(op), "None")

    def _name_of(self, expression: int) -> str:
        op, operand, name = self.outline.expression(expression)
        if op == Op.DEFINITION:
            return str(self.outline.definition_rows.column(NAME)[operand])
        if op == Op.IMPORT:
            row = self.outline.import_rows[operand]
            return str(row[3] or row[2] or row[1])
        return name
