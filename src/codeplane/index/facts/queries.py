"""The bounded queries of the specification (§7.8), with its names and limits.

They read what indexing wrote and decide nothing: a tier is what linking stored, never more.
"""

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.exported_names import exported_names
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.model import (
    AnchorGroup,
    DefFact,
    DefSnapshotRecord,
    DynamicAccessSite,
    ExportEntry,
    ExportSurface,
    ExportThunk,
    ImportFact,
    LocalBindFact,
    RefFact,
    ScopeFact,
)
from codeplane.index.facts.outline import Op, Outline
from codeplane.index.facts.reader import FactFile, FactReader, line_and_column
from codeplane.index.linking.stored_links import Target, Tier
from codeplane.index.symbol_names import definition_uid, folded, qualifier, signature_hash
from codeplane.languages.facts import BindReason, BindTarget, Certainty, DefinitionKind, ReferenceRole

MAX_LIMIT: Final = 10_000
MAX_EXEMPLARS: Final = 10
_NUMBERS: Final = 1 << 24
_HEX: Final = 16


class FactQueries:
    """Answers the bounded queries from one state of the index."""

    def __init__(self, reader: FactReader) -> None:
        self._reader = reader

    # Definitions

    def get_def(self, def_uid: str) -> DefFact | None:
        """Return a definition by its identity; one that is local to a function is looked for in all files."""
        uid = _uid_bytes(def_uid)
        if uid is None:
            return None
        place = self.place_of(uid)
        return self.definition(*place) if place is not None else None

    def place_of(self, uid: bytes) -> tuple[int, int] | None:
        """Return file and number of a definition."""
        row = self._reader.connection.execute(
            "SELECT file_id, number FROM definitions WHERE uid = ? ORDER BY file_id LIMIT 1", (uid,)
        ).fetchone()
        return (row[0], row[1]) if row else self._local_place(uid)

    def list_defs_by_name(self, unit_id: int, name: str, limit: int) -> list[DefFact]:
        """Return the definitions of a name in a unit, by path and position."""
        rows = self._reader.connection.execute(
            "SELECT file_id, number FROM definitions JOIN files USING (file_id)"
            " WHERE folded = ? AND name = ? AND unit_id = ? ORDER BY path, number LIMIT ?",
            (folded(name), name, unit_id, checked(limit)),
        ).fetchall()
        return [fact for row in rows if (fact := self.definition(row[0], row[1])) is not None]

    def definition(self, file_id: int, number: int) -> DefFact | None:
        """Return a definition by its place."""
        file = self._reader.file(file_id)
        if file is None or file.facts_id is None:
            return None
        outline = self._reader.outline(file.facts_id)
        if number >= len(outline.definition_rows):
            return None
        one = outline.definition(number)
        text = self._reader.text(file)
        start_line, start_col = line_and_column(text, one.start)
        end_line, end_col = line_and_column(text, one.end)
        uid = self.uid_of(file, outline, number)
        return DefFact(
            uid, file_id, file.unit_id, one.kind.label, one.name,
            f"{qualifier(file.modules, file.path)}.{one.lexical_path}", one.lexical_path,
            start_line, start_col, end_line, end_col, signature_hash(one.signature), display_name(outline, number),
        )  # fmt: skip

    def uid_of(self, file: FactFile, outline: Outline, number: int) -> str:
        """Return the identity of a definition, local ones included."""
        if number < outline.n_visible:
            uid = self._reader.uid(file.file_id, number)
            if uid is not None:
                return uid.hex()
        row = outline.definition_rows[number]
        identity = f"{row[0]}:{row[2]}:{signature_hash(row[8])}:{outline.siblings.get(number, 0)}"
        return definition_uid(self._home(file), identity).hex()

    def _home(self, file: FactFile) -> str:
        row = self._reader.connection.execute(
            "SELECT family, root FROM units WHERE unit_id = ? AND status = 'valid'", (file.unit_id,)
        ).fetchone()
        family, root = row or (_dialect(self._reader, file), "")
        return f"{family}:{root}:{qualifier(file.modules, file.path)}:"

    def _local_place(self, uid: bytes) -> tuple[int, int] | None:
        wanted = uid.hex()
        for file, outline in self._outlines(None):
            for number in range(outline.n_visible, len(outline.definition_rows)):
                if self.uid_of(file, outline, number) == wanted:
                    return file.file_id, number
        return None

    # References

    def list_refs_by_def_uid(self, def_uid: str, tier: Tier | None, limit: int) -> list[RefFact]:
        """Return the references to a definition, by path and position; those of one tier only when it is given.

        ANCHORED are the references in the definition's own file that may mean it.
        """
        uid = _uid_bytes(def_uid)
        place = self.place_of(uid) if uid is not None else None
        if place is None:
            return []
        found = (fact for fact in self.references(*place) if tier is None or fact.ref_tier == tier.name)
        return list(islice(found, checked(limit)))

    def list_proven_refs(self, def_uid: str, limit: int) -> list[RefFact]:
        """Return the references in the definition's own file whose bind proves them."""
        return self.list_refs_by_def_uid(def_uid, Tier.PROVEN, limit)

    def references(self, file_id: int, number: int) -> Iterator[RefFact]:
        """Yield every reference to a definition, by path and position."""
        rows = self._reader.connection.execute(
            "SELECT path, files.file_id FROM links JOIN files USING (file_id)"
            " WHERE target_file = ? AND target_number = ?"
            " UNION SELECT path, file_id FROM files WHERE file_id = ? ORDER BY path",
            (file_id, number, file_id),
        ).fetchall()
        for row in rows:
            file = self._reader.file(row[1])
            if file is not None:
                yield from self._references_in(file, file_id, number)

    def _references_in(self, file: FactFile, target_file: int, number: int) -> Iterator[RefFact]:
        view = FileView(self._reader, file)
        for position in view.positions_meaning(target_file, number):
            yield self.reference(view, position)

    def reference(self, view: FileView, position: int) -> RefFact:
        """Return a reference as a fact."""
        file, columns = view.file, view.columns
        name = columns.names[columns.name_numbers[position]]
        line, column = line_and_column(view.text, columns.starts[position])
        tier, target = view.meaning(position)
        return RefFact(
            _numbered(file.file_id, position), file.file_id, file.unit_id,
            _numbered(file.file_id, columns.reference_scopes[position]), name, line, column, line,
            column + len(name.encode()), ReferenceRole(columns.roles[position]).label, tier.name,
            "CERTAIN" if tier in {Tier.PROVEN, Tier.STRONG} else "UNCERTAIN",
            self.target_uid(*target) if target is not None else None,
        )  # fmt: skip

    # Scopes

    def get_scope(self, scope_id: int) -> ScopeFact | None:
        """Return a scope."""
        file_id, number = divmod(scope_id, _NUMBERS)
        scopes = self.list_scopes_in_file(file_id)
        return scopes[number] if number < len(scopes) else None

    def list_scopes_in_file(self, file_id: int) -> list[ScopeFact]:
        """Return all scopes of a file, outer ones first."""
        file = self._reader.file(file_id)
        if file is None or file.facts_id is None:
            return []
        columns = self._reader.columns(file.facts_id)
        text = self._reader.text(file)
        found = []
        for number, kind in enumerate(columns.scope_kinds):
            parent = columns.scope_parents[number]
            start = line_and_column(text, columns.scope_starts[number])
            end = line_and_column(text, columns.scope_ends[number])
            found.append(
                ScopeFact(
                    _numbered(file_id, number), file_id, file.unit_id,
                    _numbered(file_id, parent - 1) if parent else None, columns.names[kind], *start, *end,
                )
            )  # fmt: skip
        return found

    # Binds

    def get_local_bind(self, scope_id: int, name: str) -> LocalBindFact | None:
        """Return the first bind of a name in a scope."""
        return next((fact for fact in self._binds(scope_id) if fact.name == name), None)

    def list_binds_in_scope(self, scope_id: int, limit: int) -> list[LocalBindFact]:
        """Return the binds of a scope."""
        return list(islice(self._binds(scope_id), checked(limit)))

    def _binds(self, scope_id: int) -> Iterator[LocalBindFact]:
        file_id, scope = divmod(scope_id, _NUMBERS)
        file = self._reader.file(file_id)
        if file is None or file.facts_id is None:
            return
        columns, outline = self._reader.columns(file.facts_id), self._reader.outline(file.facts_id)
        for number, bind_scope in enumerate(columns.bind_scopes):
            if bind_scope != scope:
                continue
            kind = BindTarget(columns.bind_kinds[number])
            target = columns.bind_targets[number] - 1
            uid = None
            if kind is BindTarget.DEF and target >= 0:
                uid = self.uid_of(file, outline, target)
            elif kind is BindTarget.IMPORT and target >= 0:
                uid = _import_uid(file, outline, target)
            yield LocalBindFact(
                _numbered(file_id, number), file_id, file.unit_id, scope_id, columns.names[columns.bind_names[number]],
                kind.label, uid, Certainty(columns.bind_doubts[number]).label,
                BindReason(columns.bind_reasons[number]).label,
            )  # fmt: skip

    # Imports

    def list_imports(self, file_id: int, limit: int) -> list[ImportFact]:
        """Return the imports of a file, in order."""
        file = self._reader.file(file_id)
        if file is None or file.facts_id is None:
            return []
        outline = self._reader.outline(file.facts_id)
        return [_import_fact(file, outline, number) for number in range(min(checked(limit), len(outline.import_rows)))]

    def get_import(self, import_uid: str) -> ImportFact | None:
        """Return an import by its identity, which begins with its file."""
        head, _, _ = import_uid.partition("-")
        file = self._reader.file(int(head, 16)) if head and all(one in "0123456789abcdef" for one in head) else None
        if file is None or file.facts_id is None:
            return None
        outline = self._reader.outline(file.facts_id)
        found = (_import_fact(file, outline, number) for number in range(len(outline.import_rows)))
        return next((fact for fact in found if fact.import_uid == import_uid), None)

    # Exports

    def get_export_surface(self, unit_id: int) -> ExportSurface | None:
        """Return the surface of a unit, None when there is no such unit."""
        row = self._reader.connection.execute("SELECT 1 FROM units WHERE unit_id = ?", (unit_id,)).fetchone()
        if row is None:
            return None
        hashed = hashlib.sha256()
        for entry in self.iterate_export_entries(unit_id):
            hashed.update(f"{entry.module}\0{entry.exported_name}\0{entry.def_uid}\0{entry.certainty}\n".encode())
        epoch = self._reader.connection.execute(
            "SELECT max(epoch) FROM files WHERE unit_id = ?", (unit_id,)
        ).fetchone()[0]
        return ExportSurface(unit_id, unit_id, hashed.hexdigest()[:_HEX], epoch or self._reader.epoch)

    def list_export_entries(self, surface_id: int, limit: int) -> list[ExportEntry]:
        """Return the exported names of a surface, by path and position."""
        return list(islice(self.iterate_export_entries(surface_id), checked(limit)))

    def iterate_export_entries(self, unit_id: int) -> Iterator[ExportEntry]:
        """Yield the exported names of a unit, by path and position."""
        number = 0
        for file, outline in self._outlines(unit_id):
            for entry in self.export_entries_of(file, outline):
                number += 1
                yield entry._replace(entry_id=_numbered(unit_id, number))

    def export_entries_of(self, file: FactFile, outline: Outline) -> Iterator[ExportEntry]:
        """Yield the exported names of one file in its order; `entry_id` counts them from 1."""
        targets, numbers = self._reader.resolution(file.file_id)
        by_expression = {
            (op, operand, name): position for position, (op, operand, name) in enumerate(outline.expressions)
        }
        module, unit_id = qualifier(file.modules, file.path), file.unit_id or 0
        offers = exported_names(file, outline, lambda: self._reader.text(file))
        for number, (name, kind, target, certainty, evidence) in enumerate(offers, start=1):
            uid = None
            if kind == BindTarget.DEF and target >= 0:
                uid = self.uid_of(file, outline, target)
            elif kind == BindTarget.IMPORT:
                own = by_expression.get((int(Op.OWN), -1, name), -1)
                position = by_expression.get((int(Op.IMPORT), target, ""), own)
                is_linked = 0 <= position < len(numbers) and numbers[position]
                uid = self._target_uid(targets[numbers[position] - 1] if is_linked else None)
            label = Certainty(min(certainty, Certainty.UNCERTAIN)).label
            yield ExportEntry(number, unit_id, module, name, uid, label, evidence)

    def list_export_thunks(self, unit_id: int, limit: int) -> list[ExportThunk]:
        """Return the re-exports of a unit, by path and position."""
        return list(islice(self._thunks(unit_id), checked(limit)))

    def _thunks(self, unit_id: int) -> Iterator[ExportThunk]:
        number = 0
        for file, outline in self._outlines(unit_id):
            exported = {row[0] for row in outline.export_rows}
            is_package = file.path.rpartition("/")[2].startswith("__init__.")
            for source, kind, names in _reexports(outline, exported, is_package=is_package):
                number += 1
                target = self._unit_of_module(file.file_id, source)
                aliases = {name: alias for name, alias in names.items() if name != alias}
                mode = "REEXPORT_ALL" if "*" in names else "ALIAS_MAP" if aliases else "EXPLICIT_NAMES"
                explicit = tuple(sorted(names)) if mode == "EXPLICIT_NAMES" else ()
                yield ExportThunk(
                    _numbered(unit_id, number), unit_id, target[0], qualifier(file.modules, file.path), target[1],
                    mode, explicit, dict(sorted(names.items())) if mode == "ALIAS_MAP" else {}, kind,
                )  # fmt: skip

    def _unit_of_module(self, file_id: int, source: str) -> tuple[int | None, str]:
        row = self._reader.connection.execute(
            "SELECT module FROM located WHERE file_id = ? AND source = ?", (file_id, source)
        ).fetchone()
        if row is None or row[0] is None:
            return None, source
        place = self._reader.connection.execute(
            "SELECT unit_id, module FROM files WHERE module = ? OR module LIKE ? OR module LIKE ? LIMIT 1",
            (row[0], f"%\n{row[0]}", f"{row[0]}\n%"),
        ).fetchone()
        return (place[0], qualifier(place[1], "")) if place else (None, source)

    # Anchor groups

    def get_anchor_group(self, unit_id: int, member_token: str, receiver_shape: str) -> AnchorGroup | None:
        """Return the references of a token behind a receiver that could not be resolved."""
        groups = self._anchor_groups(unit_id, member_token)
        return next((group for group in groups if group.receiver_shape == receiver_shape), None)

    def list_anchor_groups(self, unit_id: int, limit: int) -> list[AnchorGroup]:
        """Return the groups of a unit, the largest first."""
        groups = sorted(
            self._anchor_groups(unit_id, None), key=lambda one: (-one.total_count, one.member_token, one.receiver_shape)
        )
        return groups[: checked(limit)]

    def _anchor_groups(self, unit_id: int, token: str | None) -> list[AnchorGroup]:
        counts: dict[tuple[str, str], int] = {}
        exemplars: dict[tuple[str, str], list[int]] = {}
        for file, _ in self._outlines(unit_id):
            if token is not None and token not in self._reader.columns(file.facts_id or 0).names:
                continue
            for position, name, shape in FileView(self._reader, file).anchored(token):
                key = (name, shape)
                counts[key] = counts.get(key, 0) + 1
                kept = exemplars.setdefault(key, [])
                if len(kept) < MAX_EXEMPLARS:
                    kept.append(_numbered(file.file_id, position))
        return [
            AnchorGroup(
                int.from_bytes(hashlib.sha256(f"{unit_id}\0{name}\0{shape}".encode()).digest()[:6]), unit_id, name,
                shape, count, tuple(exemplars[name, shape]),
            )
            for (name, shape), count in counts.items()
        ]  # fmt: skip

    # Dynamic access

    def list_dynamic_access_sites(
        self, file_id: int | None, unit_id: int | None, limit: int
    ) -> list[DynamicAccessSite]:
        """Return dynamic accesses of a file, of a unit, or of everything, by path and position."""
        return list(islice(self._sites(file_id, unit_id), checked(limit)))

    def _sites(self, file_id: int | None, unit_id: int | None) -> Iterator[DynamicAccessSite]:
        for file, outline in self._outlines(unit_id, file_id):
            if not outline.dynamic_rows:
                continue
            text = self._reader.text(file)
            for number in range(len(outline.dynamic_rows)):
                one = outline.dynamic_access(number)
                place = line_and_column(text, one.start)
                yield DynamicAccessSite(
                    _numbered(file.file_id, number), file.file_id, file.unit_id, *place, one.pattern,
                    tuple(one.literals), one.has_non_literal_key,
                )  # fmt: skip

    # Snapshots

    def list_def_snapshots(self, epoch_id: int, file_path: str | None, limit: int) -> list[DefSnapshotRecord]:
        """Return the definitions of files indexed in an epoch, as they were then."""
        rows = self._reader.connection.execute(
            "SELECT path, facts_id FROM snapshots WHERE epoch = ? AND (? IS NULL OR path = ?)"
            " AND facts_id IS NOT NULL ORDER BY path",
            (epoch_id, file_path, file_path),
        ).fetchall()
        found: list[DefSnapshotRecord] = []
        for path, facts_id in rows:
            outline = self._reader.outline(facts_id)
            for number in range(outline.n_visible):
                one = outline.definition(number)
                first, _, _, last = outline.lines[number]
                found.append(
                    DefSnapshotRecord(
                        _numbered(facts_id, number), epoch_id, path, one.kind.label, one.name, one.lexical_path,
                        signature_hash(one.signature), display_name(outline, number), first, last,
                    )
                )  # fmt: skip
                if len(found) >= checked(limit):
                    return found
        return found

    def successor_of(self, def_uid: str) -> str | None:
        """Return the identity that took the place of one that is gone, None when that is not known."""
        uid = _uid_bytes(def_uid)
        row = self._reader.connection.execute(
            "SELECT successor FROM successors WHERE uid = ? ORDER BY epoch DESC LIMIT 1", (uid,)
        ).fetchone()
        return bytes(row[0]).hex() if row else None

    def target_uid(self, file_id: int, number: int) -> str | None:
        """Return the identity of a definition by its place."""
        return self._target_uid(Target(file_id, number, 0, ()))

    def _target_uid(self, target: Target | None) -> str | None:
        if target is None:
            return None
        file = self._reader.file(target.file_id)
        if file is None or file.facts_id is None:
            return None
        return self.uid_of(file, self._reader.outline(file.facts_id), target.number)

    def _outlines(self, unit_id: int | None, file_id: int | None = None) -> Iterator[tuple[FactFile, Outline]]:
        rows = self._reader.connection.execute(
            "SELECT file_id, path, language, text_id, facts_id, unit_id, module FROM files WHERE facts_id IS NOT NULL"
            " AND (? IS NULL OR unit_id = ?) AND (? IS NULL OR file_id = ?) ORDER BY path",
            (unit_id, unit_id, file_id, file_id),
        ).fetchall()
        for row in rows:
            file = FactFile(*row)
            if file.facts_id is not None:
                yield file, self._reader.outline(file.facts_id)


def display_name(outline: Outline, number: int) -> str:
    """Return a definition as people write it: its kind, name and signature."""
    one = outline.definition(number)
    keyword = {"method": "def", "function": "def", "property": "def"}.get(one.kind.label, one.kind.label)
    return f"{keyword} {one.name}{one.signature}"


def checked(limit: int) -> int:
    """Return a limit that is one.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for a limit below 1 or above MAX_LIMIT.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise CodePlaneError("INVALID_ARGUMENTS", f"limit must be between 1 and {MAX_LIMIT}, not {limit}.")
    return limit


def _reexports(outline: Outline, exported: set[str], *, is_package: bool) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield source, evidence and names of each re-export: stars, and names that a package or a list offers on."""
    by_source: dict[tuple[str, str], dict[str, str]] = {}
    for scope, source, name, alias, kind, *_ in outline.import_rows:
        if scope != 0 or name is None:
            continue
        local = alias or name
        if name == "*" or local in exported or is_package or "reexport" in kind:
            by_source.setdefault((source, kind), {})[name] = local
    for (source, kind), names in by_source.items():
        yield source, kind, names


def _import_fact(file: FactFile, outline: Outline, number: int) -> ImportFact:
    one = outline.imported(number)
    return ImportFact(
        _import_uid(file, outline, number), file.file_id, file.unit_id, _numbered(file.file_id, one.scope),
        one.imported_name, one.alias, one.source, one.kind, one.certainty.label,
    )  # fmt: skip


def _import_uid(file: FactFile, outline: Outline, number: int) -> str:
    """Return the identity of an import: its file, what it says, and which of several equal ones it is."""
    row = outline.import_rows[number][1:5]
    before = sum(other[1:5] == row for other in outline.import_rows[:number])
    said = "\0".join([*(str(part) for part in row), str(before)])
    return f"{file.file_id:x}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


def _numbered(file_id: int, number: int) -> int:
    return file_id * _NUMBERS + number


def _uid_bytes(def_uid: str) -> bytes | None:
    try:
        return bytes.fromhex(def_uid) if len(def_uid) == _HEX else None
    except ValueError:
        return None


def _dialect(reader: FactReader, file: FactFile) -> str:
    row = reader.connection.execute("SELECT dialect FROM files WHERE file_id = ?", (file.file_id,)).fetchone()
    return str(row[0]) if row else ""


KINDS: Final = tuple(kind.label for kind in DefinitionKind)
