"""Everything the index knows of a repository, without surrogate numbers, epochs and times."""

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.queries import FactQueries
from codeplane.index.facts.reader import FactReader
from codeplane.workspace.workspace import Workspace
from index.evidence import evidence_words


def dump_facts(workspace: Workspace) -> dict[str, list[str]]:
    """Return the logical facts by path, and what units offer under the empty path."""
    with workspace.index.facts() as reader:
        queries = FactQueries(reader)
        rows = reader.connection.execute("SELECT file_id FROM files ORDER BY path").fetchall()
        found = {}
        for (file_id,) in rows:
            file = reader.file(file_id)
            assert file is not None
            found[file.path] = _file_facts(reader, queries, file_id)
        found[""] = _unit_facts(reader, queries)
        return found


def _file_facts(reader: FactReader, queries: FactQueries, file_id: int) -> list[str]:
    file = reader.file(file_id)
    assert file is not None
    unit = reader.connection.execute("SELECT family, root FROM units WHERE unit_id = ?", (file.unit_id,)).fetchone()
    lines = [f"{file.language} {file.modules!r} unit {tuple(unit) if unit else None}"]
    if file.facts_id is None:
        return lines
    view = FileView(reader, file)
    for number in range(len(view.outline.definition_rows)):
        fact = queries.definition(file_id, number)
        assert fact is not None
        lines.append(f"def {fact.def_uid} {fact.kind} {fact.qualified_name} {fact.start_line}-{fact.end_line}")
    for position in range(len(view.columns.starts)):
        ref = queries.reference(view, position)
        target = view.target(position)
        proof = evidence_words(reader, target.chain) if target is not None else []
        where = f"{ref.start_line}:{ref.start_col}"
        lines.append(f"ref {where} {ref.token_text} {ref.role} {ref.ref_tier} {ref.target_uid} {proof}")
    for scope in queries.list_scopes_in_file(file_id):
        lines.append(f"scope {scope.kind} {scope.start_line}-{scope.end_line}")
        lines.extend(
            f"bind {bind.name} {bind.target_kind} {bind.certainty} {bind.reason_code}"
            for bind in queries.list_binds_in_scope(scope.scope_id, 10_000)
        )
    lines.extend(
        f"import {one.source_literal} {one.imported_name} {one.alias} {one.import_kind} {one.certainty}"
        for one in queries.list_imports(file_id, 10_000)
    )
    lines.extend(
        f"dynamic {site.pattern_type} {site.start_line} {site.extracted_literals}"
        for site in queries.list_dynamic_access_sites(file_id, None, 10_000)
    )
    located = reader.connection.execute(
        "SELECT source, module, name FROM located WHERE file_id = ? ORDER BY 1", (file_id,)
    )
    lines.extend(f"located {tuple(row)}" for row in located)
    asked = reader.connection.execute("SELECT module FROM asked WHERE file_id = ? ORDER BY 1", (file_id,))
    lines.extend(f"asked {row[0]}" for row in asked)
    return lines


def _unit_facts(reader: FactReader, queries: FactQueries) -> list[str]:
    lines = []
    for row in reader.connection.execute(
        "SELECT unit_id, family, root, status FROM units ORDER BY family, root"
    ).fetchall():
        lines.append(f"unit {row[1]} {row[2]!r} {row[3]}")
        surface = queries.get_export_surface(row[0])
        lines.append(f"surface {surface.surface_hash if surface else None}")
        lines.extend(
            f"entry {one.module} {one.exported_name} {one.def_uid} {one.certainty} {one.evidence_kind}"
            for one in queries.list_export_entries(row[0], 10_000)
        )
        lines.extend(
            f"thunk {one.module} {one.target_module} {one.mode} {one.explicit_names} {one.alias_map}"
            for one in queries.list_export_thunks(row[0], 10_000)
        )
        lines.extend(
            f"group {one.member_token} {one.receiver_shape} {one.total_count} {len(one.exemplar_ids)}"
            for one in queries.list_anchor_groups(row[0], 10_000)
        )
    links = reader.connection.execute(
        "SELECT target.path, target_number, files.path, uses FROM links JOIN files USING (file_id)"
        " JOIN files AS target ON target.file_id = target_file ORDER BY 1, 2, 3"
    )
    lines.extend(f"link {tuple(row)}" for row in links)
    return lines
