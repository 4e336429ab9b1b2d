"""What depends on more than one file's bytes: units, the identities of definitions, links, snapshots of epochs."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from codeplane.index.contexts.model import ParseQuality
from codeplane.index.facts.encoded import named_definitions
from codeplane.index.index_store import (
    BEFORE_SNAPSHOTS,
    DECLARED,
    KEPT_SNAPSHOTS,
    IndexedFile,
    declared_text,
    write_meta,
)
from codeplane.index.linking.update import FamilyLinks, LinkChanges, OutlineCache, TreeFile
from codeplane.index.symbol_names import qualifier
from codeplane.index.units import OwnershipInputs, assign_units, is_marker, unit_roots
from codeplane.languages.catalog import linking_rules
from codeplane.languages.linking import LinkingRules


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What an update found: the files as they were known before, and the paths that differ."""

    known: Mapping[str, IndexedFile]
    added: frozenset[str]
    changed: frozenset[str]
    removed: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Return every path that differs."""
        return self.added | self.changed | self.removed


SELECT_FILES: Final = (
    "SELECT file_id, path, files.dialect, facts_id, unit_id, module, link_hash, package"
    " FROM files LEFT JOIN facts USING (facts_id)"
)


def tree_file(row: tuple[Any, ...]) -> TreeFile:
    """Return a row of `SELECT_FILES`."""
    file_id, path, dialect, facts_id, unit_id, module, link_hash, package = row
    return TreeFile(file_id, path, dialect, facts_id, unit_id, module, link_hash or b"", package or "")


class _Family(NamedTuple):
    """The files that are linked by the same rules; `key` is the name under which things about them are kept."""

    rules: LinkingRules
    files: dict[str, TreeFile]
    roots: tuple[str, ...]
    key: str


@dataclass(slots=True)
class Structure:
    """What an update knows about the whole tree, kept for the next one: building it takes longer than linking a file.

    Invariant: it describes `epoch`; an update that does not follow that epoch builds its own.
    """

    epoch: int
    files: dict[str, TreeFile]
    roots: Mapping[int, tuple[str, str]]
    families: list[tuple[_Family, FamilyLinks]]
    modules: dict[str, str]
    outlines: OutlineCache


class StructureUpdate:
    """Brings everything that depends on more than one file up to date, inside the transaction of an update.

    `kept` is the structure that the update before left, None when there is none; `structure` is the one this leaves.
    """

    def __init__(self, connection: sqlite3.Connection, asked: OwnershipInputs, kept: Structure | None) -> None:
        self._connection = connection
        self._asked = asked
        self._text_of = asked.text_of
        self._kept = kept
        self._outlines = kept.outlines if kept is not None else OutlineCache(connection)
        self.structure = kept

    def run(self, changes: FileChanges, epoch: int) -> bool:
        """Give units, name modules, write definitions and links, keep a snapshot.

        Return whether files other than the changed ones got another unit or module.
        """
        moves_units = bool(changes.added or changes.removed) or self._may_move_units(changes.changed)
        kept = self._kept
        reidentified: set[str] = set()
        if kept is not None and kept.epoch == epoch - 1 and not moves_units and self._takes_over(kept, changes.changed):
            structure = kept
            structure.epoch = epoch
        else:
            if moves_units:
                self._assign_units()
            structure = self._built(epoch)
            reidentified = self._write_modules(structure.files, structure.modules) | {
                path
                for path, one in structure.files.items()
                if path not in changes.known or one.unit_id != changes.known[path].unit_id
            }
        named = changes.added | changes.changed | reidentified
        self.structure = structure
        for family, links in structure.families:
            found = (
                self._content_changes(family, changes)
                if structure is kept
                else self._link_changes(family, changes, reidentified, structure.modules)
            )
            links.update(found)
            self._remember_texts(family, links)
        self._write_unlinked_imports(structure.files, structure.modules, changes.added | changes.changed)
        definitions = self._definitions(structure.files, structure.roots, named)
        self._write_definitions(structure.files, changes, named, definitions, epoch)
        self._take_snapshot(structure.files, changes, epoch)
        self._outlines.trim()
        return not reidentified <= changes.all

    def _built(self, epoch: int) -> Structure:
        """Read the whole tree and build the linkers of its families."""
        files = self._files()
        roots = unit_roots(self._connection)
        families = [(family, self._linker(family)) for family in self._families(files, roots)]
        modules = {
            linked.path: "\n".join(linked.modules) for _, links in families for linked in links.unit.files.values()
        }
        return Structure(epoch, files, roots, families, modules, self._outlines)

    def _takes_over(self, kept: Structure, changed: Iterable[str]) -> bool:
        """Let a kept structure have the new facts of changed files; false when more than facts may be different."""
        fresh = {path: one for path in changed for one in self._files(path).values()}
        read = {family.key: self._texts_read(family) for family, _ in kept.families}
        for path, one in fresh.items():
            old = kept.files.get(path)
            if old is None or (old.facts_id is None) != (one.facts_id is None) or old.package != one.package:
                return False
            for family, _ in kept.families:
                if (family.rules.texts_make_modules and path in family.files) or _configures(
                    family, read[family.key], path
                ):
                    return False
        for path, one in fresh.items():
            kept.files[path] = one
            for family, links in kept.families:
                if path in family.files:
                    family.files[path] = one
                    links.take(one)
        return True

    def _texts_read(self, family: _Family) -> frozenset[str]:
        """Return the files besides the sources that were read in order to link the family."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (f"texts:{family.key}",)).fetchone()
        return frozenset(str(row[0]).split("\n")) if row is not None else frozenset()

    def _remember_texts(self, family: _Family, links: FamilyLinks) -> None:
        """Remember which files besides the sources were read in order to link, such as a configuration that extends."""
        read = sorted(path for path in links.texts_read if path not in family.files)
        if read:
            write_meta(self._connection, {f"texts:{family.key}": "\n".join(read)})

    def _write_unlinked_imports(
        self, files: Mapping[str, TreeFile], linked: Mapping[str, str], paths: Iterable[str]
    ) -> None:
        """Keep what the files of languages that are not linked import, so that it can be listed."""
        rows: list[tuple[int, str, None, str]] = []
        file_ids = []
        for path in paths:
            one = files.get(path)
            if one is None or path in linked or one.facts_id is None:
                continue
            file_ids.append((one.file_id,))
            sources = {row[1] for row in self._outlines.outline(one.facts_id).import_rows}
            rows.extend((one.file_id, source, None, source) for source in sources)
        self._connection.executemany("DELETE FROM located WHERE file_id = ?", file_ids)
        self._connection.executemany("INSERT INTO located VALUES (?, ?, ?, ?)", rows)

    def _may_move_units(self, changed: Iterable[str]) -> bool:
        row = self._connection.execute("SELECT value FROM meta WHERE key = 'probed'").fetchone()
        probed = frozenset(str(row[0]).split("\n")) if row else frozenset()
        return any(path in probed or is_marker(path) for path in changed)

    def _assign_units(self) -> None:
        files = self._files()
        probed: set[str] = set()

        def quality_of(path: str) -> ParseQuality | None:
            probed.add(path)
            facts_id = files[path].facts_id
            return ParseQuality(*self._outlines.outline(facts_id).quality) if facts_id is not None else None

        owned = assign_units(self._connection, files, self._asked, quality_of)
        rows = [(owned.get(path), one.file_id) for path, one in files.items() if owned.get(path) != one.unit_id]
        self._connection.executemany("UPDATE files SET unit_id = ? WHERE file_id = ?", rows)
        write_meta(
            self._connection, {"probed": "\n".join(sorted(probed)), DECLARED: declared_text(self._asked.declared)}
        )

    def _files(self, path: str | None = None) -> dict[str, TreeFile]:
        """Return what is known of every file, or of one."""
        # Two queries, because a condition for both cases would look at every file to find one.
        ask = self._connection.execute
        rows = ask(SELECT_FILES) if path is None else ask(f"{SELECT_FILES} WHERE path = ?", (path,))
        return {row[1]: tree_file(row) for row in rows}

    @staticmethod
    def _families(files: Mapping[str, TreeFile], roots: Mapping[int, tuple[str, str]]) -> list[_Family]:
        """Return the files that are linked together; one that no unit owns is linked by its path and manifests."""
        members: dict[LinkingRules, dict[str, TreeFile]] = {}
        for path, one in files.items():
            rules = linking_rules(one.dialect)
            if rules is None or one.facts_id is None:
                continue
            members.setdefault(rules, {})[path] = one
        found = []
        for rules, group in members.items():
            names = {
                roots[one.unit_id][0] for one in group.values() if one.unit_id is not None and one.unit_id in roots
            }
            family_roots = tuple(sorted({root for name, root in roots.values() if name in names}))
            found.append(_Family(rules, group, family_roots, min(one.dialect for one in group.values())))
        return found

    def _linker(self, family: _Family) -> FamilyLinks:
        files = family.files.values()
        return FamilyLinks(self._connection, family.rules, files, family.roots, self._text_of, self._outlines)

    def _write_modules(self, files: dict[str, TreeFile], modules: Mapping[str, str]) -> set[str]:
        """Keep the modules of each file, in the database and in `files`; return the files that were renamed so."""
        renamed = set()
        for path, one in files.items():
            name = modules.get(path, "")
            if name != one.modules:
                files[path] = one._replace(modules=name)
                renamed.add(path)
        rows = [(files[path].modules, files[path].file_id) for path in renamed]
        self._connection.executemany("UPDATE files SET module = ? WHERE file_id = ?", rows)
        return renamed

    def _definitions(
        self, files: Mapping[str, TreeFile], roots: Mapping[int, tuple[str, str]], paths: Iterable[str]
    ) -> list[tuple[Any, ...]]:
        """Return the rows of the definitions of files."""
        rows: list[tuple[Any, ...]] = []
        for path in sorted(paths):
            one = files.get(path)
            if one is None or one.facts_id is None:
                continue
            family, root = roots.get(one.unit_id or 0, (one.dialect, ""))
            home = f"{family}:{root}:{qualifier(one.modules, path)}:"
            rows += named_definitions(one.file_id, home, self._outlines.outline(one.facts_id))
        return rows

    def _write_definitions(
        self,
        files: Mapping[str, TreeFile],
        changes: FileChanges,
        paths: Iterable[str],
        rows: list[tuple[Any, ...]],
        epoch: int,
    ) -> None:
        """Write the definitions of changed files and remove those of files that are gone."""
        file_ids = [(changes.known[path].file_id,) for path in sorted(changes.removed)]
        file_ids += [(files[path].file_id,) for path in sorted(paths) if path in files and path in changes.known]
        gone = self._identities(file_ids)
        self._connection.executemany("DELETE FROM definitions WHERE file_id = ?", file_ids)
        self._connection.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?)", rows)
        if gone:
            self._record_successors(gone, rows, epoch)

    def _identities(self, file_ids: Iterable[tuple[int]]) -> list[tuple[bytes, int, str]]:
        found: list[tuple[bytes, int, str]] = []
        for (file_id,) in file_ids:
            rows = self._connection.execute("SELECT uid, kind, name FROM definitions WHERE file_id = ?", (file_id,))
            found.extend((row[0], row[1], row[2]) for row in rows)
        return found

    def _record_successors(
        self, before: Iterable[tuple[bytes, int, str]], after: Iterable[tuple[object, ...]], epoch: int
    ) -> None:
        """Remember which definition took the place of one that is gone, where only one can have."""
        new = {(row[3], row[4]): [] for row in after}  # type: dict[tuple[object, object], list[object]]
        uids = set()
        for row in after:
            new[row[3], row[4]].append(row[2])
            uids.add(row[2])
        lost: dict[tuple[object, object], list[bytes]] = {}
        kept: set[object] = set()
        for uid, kind, name in before:
            (kept.add(uid) if uid in uids else lost.setdefault((kind, name), []).append(uid))
        pairs = []
        for key, old in lost.items():
            fresh = [uid for uid in new.get(key, ()) if uid not in kept]
            if len(old) == 1 and len(fresh) == 1:
                pairs.append((old[0], fresh[0], epoch))
        self._connection.executemany("INSERT OR IGNORE INTO successors VALUES (?, ?, ?)", pairs)

    def _link_changes(
        self, family: _Family, changes: FileChanges, reidentified: set[str], modules: Mapping[str, str]
    ) -> LinkChanges:
        members = family.files
        before = {
            path: one
            for path, one in changes.known.items()
            if one.module and linking_rules(one.dialect) == family.rules
        }
        gone = before.keys() - members.keys()
        hashes = self._hashes_before(changes.known, changes.changed & members.keys())
        offers_other = {
            path
            for path in members
            if path in reidentified or (path in changes.changed and members[path].link_hash != hashes.get(path))
        }
        read = self._texts_read(family)
        config_changed = any(_configures(family, read, path) for path in changes.all)
        return LinkChanges(
            changed=frozenset(
                one.file_id for path, one in members.items() if path in changes.changed or path not in before
            ),
            modules=frozenset(
                module
                for path in offers_other | gone
                for text in (
                    modules.get(path, ""),
                    before[path].module if path in before else "",
                )
                for module in text.split("\n")
                if module
            ),
            set_changed=before.keys() != members.keys() or family.rules.texts_make_modules,
            everything=config_changed or self._roots_changed(family),
        )

    def _content_changes(self, family: _Family, changes: FileChanges) -> LinkChanges:
        """Return what changed for a family when no file came, went or moved and all imports mean what they meant."""
        changed = changes.changed & family.files.keys()
        hashes = self._hashes_before(changes.known, changed)
        offers_other = [path for path in changed if family.files[path].link_hash != hashes.get(path)]
        return LinkChanges(
            changed=frozenset(family.files[path].file_id for path in changed),
            modules=frozenset(
                module for path in offers_other for module in family.files[path].modules.split("\n") if module
            ),
            set_changed=False,
            everything=False,
        )

    def _hashes_before(self, known: Mapping[str, IndexedFile], paths: Iterable[str]) -> dict[str, bytes]:
        found = {}
        for path in paths:
            row = self._connection.execute(
                "SELECT link_hash FROM facts WHERE facts_id = ?", (known[path].facts_id,)
            ).fetchone()
            found[path] = row[0] if row else b""
        return found

    def _roots_changed(self, family: _Family) -> bool:
        """Tell whether the roots of a family are others than at its last linking, and remember them."""
        key = f"roots:{family.key}"
        text = "\n".join(family.roots)
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        write_meta(self._connection, {key: text})
        return row is None or row[0] != text

    def _take_snapshot(self, files: Mapping[str, TreeFile], changes: FileChanges, epoch: int) -> None:
        """Remember which facts the files of this epoch had; those of the oldest epochs become the state before."""
        rows = [(epoch, path, files[path].facts_id if path in files else None) for path in sorted(changes.all)]
        self._connection.executemany("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", rows)
        old = (BEFORE_SNAPSHOTS, epoch - KEPT_SNAPSHOTS)
        self._connection.execute(
            "INSERT OR REPLACE INTO snapshots SELECT ?1, path, facts_id FROM snapshots WHERE epoch > ?1 AND epoch <= ?2"
            " ORDER BY epoch",
            old,
        )
        self._connection.execute("DELETE FROM snapshots WHERE epoch > ? AND epoch <= ?", old)


def _configures(family: _Family, texts_read: frozenset[str], path: str) -> bool:
    """Tell whether a file that is not a source of a family decides what the family's imports mean."""
    return path.rpartition("/")[2] in family.rules.config_names or path in texts_read
