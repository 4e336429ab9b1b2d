"""Bring the links of a repository up to date after some of its files changed.

Every file's links remember which modules they asked, so that a change of what a file offers reaches exactly the files
that looked at it. When files come or go, every import is located again and those that lead elsewhere are linked again.
"""

import json
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import Final, NamedTuple

from codeplane.index.facts.outline import Outline
from codeplane.index.facts.outline_storage import decode_outline
from codeplane.index.linking.resolve import Meaning, Resolver, Tag
from codeplane.index.linking.stored_links import Chain, Step, Target, Tier, encode_resolution
from codeplane.index.linking.unit import LinkUnit
from codeplane.languages.linking import LinkingRules, UnitView

_MAX_KEPT_OUTLINES: Final = 200
_DEFINITIONS: Final = frozenset({int(Tag.DEFINITION), int(Tag.ALTERNATIVES), int(Tag.MAYBE)})
_MAYBE: Final = int(Tag.MAYBE)
_MEMBER: Final = int(Step.MEMBER)
_PROVEN: Final = int(Tier.PROVEN)
_STRONG: Final = int(Tier.STRONG)
_ANCHORED: Final = int(Tier.ANCHORED)
_MODULES_ASKED: Final = attrgetter("asked")


class TreeFile(NamedTuple):
    """A file once its facts are in the database; those with facts and linking rules can be linked."""

    file_id: int
    path: str
    dialect: str
    facts_id: int | None
    unit_id: int | None
    modules: str
    link_hash: bytes
    package: str


@dataclass(frozen=True, slots=True)
class LinkChanges:
    """What changed since the links were last brought up to date.

    `changed` are files with other facts, `modules` those that offer something else than before or came or went;
    `set_changed` says that imports may lead elsewhere; `everything` asks for all files to be linked again.
    """

    changed: frozenset[int]
    modules: frozenset[str]
    set_changed: bool
    everything: bool


class FamilyLinks:
    """Links the files of one family."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        rules: LinkingRules,
        files: Iterable[TreeFile],
        roots: Iterable[str],
        text_of: Callable[[str], str | None],
        outlines: "OutlineCache",
    ) -> None:
        self._connection = connection
        self._files = {one.file_id: one for one in files}
        packages = {one.path: one.package for one in self._files.values()}
        self.texts_read: set[str] = set()

        def read(path: str) -> str | None:
            self.texts_read.add(path)
            return text_of(path)

        view = UnitView(tuple(sorted(packages)), tuple(sorted(roots)), lambda path: packages.get(path, ""), read)
        self.unit = LinkUnit(
            rules,
            rules.build(view),
            [(one.file_id, one.path) for one in self._files.values()],
            lambda file_id: outlines.outline(self._files[file_id].facts_id or 0),
        )

    def take(self, file: TreeFile) -> None:
        """Use other facts for a file whose place among the modules stays as it is."""
        self._files[file.file_id] = file

    def update(self, changes: LinkChanges) -> set[int]:
        """Link what the changes reach; return the files that were linked."""
        reached = self.reached_by(changes)
        resolver = Resolver(self.unit)
        writer = _LinkWriter(self._connection)
        for file_id in sorted(reached):
            writer.add(file_id, self.unit, resolver)
        writer.write()
        return reached

    def reached_by(self, changes: LinkChanges) -> set[int]:
        """Return the files whose references may mean something else after some changes."""
        if changes.everything:
            return set(self._files)
        reached = set(changes.changed & self._files.keys())
        modules = set(changes.modules)
        if changes.set_changed:
            # A module that came or went is a member of the one above it.
            separator = self.unit.rules.separator
            modules |= {module.rpartition(mark)[0] for module in changes.modules for mark in (separator, "/")}
            led_elsewhere = self._led_elsewhere()
            reached |= led_elsewhere
            # Files that looked through such a file's imports find something else there, too.
            modules |= {module for file_id in led_elsewhere for module in self.unit.files[file_id].modules}
        for module in modules:
            rows = self._connection.execute("SELECT file_id FROM asked WHERE module = ?", (module,))
            reached.update(row[0] for row in rows)
        return reached & self._files.keys()

    def _led_elsewhere(self) -> set[int]:
        """Return the files with an import that means another module than when they were linked."""
        locate, files = self.unit.linker.locate, self.unit.files
        rows = self._connection.execute("SELECT file_id, source, module FROM located")
        return {row[0] for row in rows if row[0] in files and locate(files[row[0]].path, row[1]) != row[2]}


class OutlineCache:
    """Outlines by the facts they belong to, kept for the length of one update; the last used ones for the next."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[int, Outline] = {}

    def outline(self, facts_id: int) -> Outline:
        """Return an outline, reading it when it is first asked for."""
        known = self._known.get(facts_id)
        if known is None:
            row = self._connection.execute("SELECT outline FROM facts WHERE facts_id = ?", (facts_id,)).fetchone()
            known = self._known[facts_id] = decode_outline(row[0])
        return known

    def trim(self) -> None:
        """Forget all but the outlines that were read last."""
        for facts_id in list(self._known)[:-_MAX_KEPT_OUTLINES]:
            del self._known[facts_id]


class _LinkWriter:
    """Collects the rows of many files and writes them together."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._file_ids: list[tuple[int]] = []
        self._resolutions: list[tuple[int, bytes]] = []
        self._links: list[tuple[int, int, int, int]] = []
        self._asked: list[tuple[str, int]] = []
        self._located: list[tuple[int, str, str | None, str]] = []

    def add(self, file_id: int, unit: LinkUnit, resolver: Resolver) -> None:
        """Link one file."""
        outline = unit.outline_of(file_id)
        path = unit.files[file_id].path
        self._file_ids.append((file_id,))
        meanings = resolver.meanings(file_id)
        targets, numbers = resolution_of(file_id, meanings)
        if targets:
            self._resolutions.append((file_id, encode_resolution(targets, numbers)))
        uses: dict[tuple[int, int], int] = defaultdict(int)
        for number, n_uses in compress(zip(numbers, outline.expression_uses, strict=True), numbers):
            if n_uses:
                target = targets[number - 1]
                uses[target.file_id, target.number] += n_uses
        self._links.extend((*key, file_id, n_uses) for key, n_uses in uses.items())
        asked: set[str] = set().union(*set(map(_MODULES_ASKED, meanings)))
        self._asked.extend((module, file_id) for module in asked)
        sources = {row[1] for row in outline.import_rows}
        for source in sources:
            module = resolver.located(path, source)
            self._located.append((file_id, source, module, unit.name_of(module) if module is not None else source))

    def write(self) -> None:
        """Replace the rows of the files that were added."""
        connection = self._connection
        forget_links(connection, self._file_ids)
        insert = connection.executemany
        insert("INSERT INTO resolutions VALUES (?, ?)", self._resolutions)
        insert("INSERT INTO links VALUES (?, ?, ?, ?)", sorted(self._links))
        insert("INSERT INTO asked VALUES (?, ?)", sorted(self._asked))
        located = sorted(self._located, key=lambda row: row[:2])
        insert("INSERT INTO located VALUES (?, ?, ?, ?)", located)


def forget_links(connection: sqlite3.Connection, file_ids: Iterable[tuple[int]]) -> None:
    """Remove what is known about the links of files."""
    gone = json.dumps([file_id for (file_id,) in file_ids])
    if gone == "[]":
        return
    for table in ("resolutions", "links", "asked", "located"):
        # One pass over a table is cheaper than an index on it, which every build would have to fill.
        connection.execute(f"DELETE FROM {table} WHERE file_id IN (SELECT value FROM json_each(?))", (gone,))  # noqa: S608


def resolution_of(file_id: int, meanings: list[Meaning]) -> tuple[list[Target], "array[int]"]:
    """Return the distinct targets of a file's expressions, and for each expression the number of its target or 0."""
    known: dict[tuple[object, Chain], int] = {}
    targets: list[Target] = []
    numbers = array("I")
    add = numbers.append
    for value, chain, _, _ in meanings:
        if not chain or value is None or value[0] not in _DEFINITIONS:
            add(0)
            continue
        key = (value, chain)
        number = known.get(key)
        if number is None:
            tier = _ANCHORED if value[0] == _MAYBE else _tier(file_id, chain, int(value[1]))
            targets.append(Target(int(value[1]), value[2], tier, chain))
            number = known[key] = len(targets)
        add(number)
    return targets, numbers


def _tier(file_id: int, chain: Chain, target_file: int) -> int:
    """Return PROVEN for a member of a class of the same file, STRONG for everything that took another step."""
    is_here = target_file == file_id and all(step[1] == file_id and step[0] == _MEMBER for step in chain)
    return _PROVEN if is_here else _STRONG
