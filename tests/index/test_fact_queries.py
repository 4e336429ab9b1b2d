"""The bounded queries of the specification, name by name."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts import model
from codeplane.index.facts.queries import MAX_EXEMPLARS, FactQueries
from codeplane.index.linking.stored_links import Tier
from codeplane.workspace.workspace import Workspace
from support.doors import open_test_workspace
from support.repositories import make_repository, write

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "p/__init__.py": "from .a import f, A as B\nfrom .a import *\n__all__ = ['f', 'B']\n",
    "p/a.py": (
        "import os\n\n\nclass A:\n    x = 1\n\n    def m(self, key):\n        value = getattr(self, key)\n"
        "        return self.x, value\n\n\ndef f(a, b=1):\n    return a.go() + a.go()\n"
    ),
    "p/b.py": "from p import f\n\n\ndef g(o):\n    f(o)\n    return o.go()\n",
}

# Section 7.8, line by line: name, parameters.
REQUIRED = [
    ("get_def", ["def_uid"]),
    ("list_defs_by_name", ["unit_id", "name", "limit"]),
    ("list_refs_by_def_uid", ["def_uid", "tier", "limit"]),
    ("list_proven_refs", ["def_uid", "limit"]),
    ("get_scope", ["scope_id"]),
    ("list_scopes_in_file", ["file_id"]),
    ("get_local_bind", ["scope_id", "name"]),
    ("list_binds_in_scope", ["scope_id", "limit"]),
    ("list_imports", ["file_id", "limit"]),
    ("get_import", ["import_uid"]),
    ("get_export_surface", ["unit_id"]),
    ("list_export_entries", ["surface_id", "limit"]),
    ("get_anchor_group", ["unit_id", "member_token", "receiver_shape"]),
    ("list_anchor_groups", ["unit_id", "limit"]),
    ("list_dynamic_access_sites", ["file_id", "unit_id", "limit"]),
]

# Section 7.3, table by table: columns.
TABLES = {
    "DefFact": "def_uid file_id unit_id kind name qualified_name lexical_path start_line start_col end_line end_col"
    " signature_hash display_name",
    "RefFact": "ref_id file_id unit_id scope_id token_text start_line start_col end_line end_col role ref_tier"
    " certainty",
    "ScopeFact": "scope_id file_id unit_id parent_scope_id kind start_line start_col end_line end_col",
    "LocalBindFact": "bind_id file_id unit_id scope_id name target_kind target_uid certainty reason_code",
    "ImportFact": "import_uid file_id unit_id scope_id imported_name alias source_literal import_kind certainty",
    "ExportSurface": "surface_id unit_id surface_hash epoch_id",
    "ExportEntry": "entry_id surface_id exported_name def_uid certainty evidence_kind",
    "ExportThunk": "thunk_id source_unit target_unit mode explicit_names alias_map evidence_kind",
    "AnchorGroup": "group_id unit_id member_token receiver_shape total_count exemplar_ids",
    "DynamicAccessSite": "site_id file_id unit_id start_line start_col pattern_type extracted_literals"
    " has_non_literal_key",
    "DefSnapshotRecord": "id epoch_id file_path kind name lexical_path signature_hash display_name start_line end_line",
}


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Workspace]:
    """Return a workspace whose index is built."""
    with open_test_workspace(make_repository(tmp_path / "repo", FILES)) as workspace:
        workspace.index.refresh()
        yield workspace


@pytest.fixture
def queries(indexed: Workspace) -> Iterator[FactQueries]:
    """Return the queries of one state."""
    with indexed.index.facts() as reader:
        yield FactQueries(reader)


def file_id(queries: FactQueries, path: str) -> int:
    """Return the id of a file."""
    row = queries._reader.connection.execute("SELECT file_id FROM files WHERE path = ?", (path,)).fetchone()
    return int(row[0])


def unit_id(queries: FactQueries) -> int:
    """Return the id of the Python unit."""
    rows = queries._reader.connection.execute("SELECT unit_id FROM units WHERE family = 'python' AND status = 'valid'")
    return int(rows.fetchone()[0])


@pytest.mark.parametrize(("name", "parameters"), REQUIRED, ids=[name for name, _ in REQUIRED])
def test_required_queries_have_the_names_of_the_specification(name: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(FactQueries, name)).parameters)[1:] == parameters


@pytest.mark.parametrize("table", TABLES)
def test_fact_tables_have_the_columns_of_the_specification(table: str) -> None:
    names = list(getattr(model, table)._fields)
    assert [name for name in names if name in TABLES[table].split()] == TABLES[table].split()


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_query_without_a_real_limit_is_refused(queries: FactQueries, limit: int) -> None:
    for ask in (
        lambda: queries.list_defs_by_name(1, "f", limit),
        lambda: queries.list_imports(file_id(queries, "p/a.py"), limit),
        lambda: queries.list_export_entries(1, limit),
        lambda: queries.list_anchor_groups(1, limit),
        lambda: queries.list_dynamic_access_sites(None, None, limit),
    ):
        with pytest.raises(CodePlaneError, match="limit must be between"):
            ask()


def test_a_definition_is_found_by_name_and_by_identity(queries: FactQueries) -> None:
    (found,) = queries.list_defs_by_name(unit_id(queries), "f", 10)
    assert (found.qualified_name, found.kind, found.start_line, found.end_line) == ("p.a.f", "function", 12, 13)
    assert queries.get_def(found.def_uid) == found
    assert queries.get_def("0" * 16) is None
    assert queries.get_def("no uid") is None


def test_a_local_definition_has_an_identity_too(queries: FactQueries) -> None:
    (scope,) = [one for one in queries.list_scopes_in_file(file_id(queries, "p/a.py")) if one.start_line == 7]
    bind = queries.get_local_bind(scope.scope_id, "value")
    assert bind is not None
    assert bind.target_uid is not None
    found = queries.get_def(bind.target_uid)
    assert found is not None
    assert (found.lexical_path, found.start_line) == ("A.m.value", 8)


def test_references_come_by_path_and_say_their_tier(queries: FactQueries) -> None:
    (found,) = queries.list_defs_by_name(unit_id(queries), "f", 10)
    refs = queries.list_refs_by_def_uid(found.def_uid, None, 100)
    assert [(ref.start_line, ref.ref_tier) for ref in refs] == [
        (1, "STRONG"), (3, "STRONG"), (12, "PROVEN"), (1, "STRONG"), (5, "STRONG"),
    ]  # fmt: skip
    assert {ref.target_uid for ref in refs} == {found.def_uid}
    assert len(queries.list_refs_by_def_uid(found.def_uid, Tier.STRONG, 2)) == 2
    assert [ref.role for ref in queries.list_proven_refs(found.def_uid, 10)] == ["DEFINITION"]


def test_scopes_nest_and_binds_belong_to_them(queries: FactQueries) -> None:
    scopes = queries.list_scopes_in_file(file_id(queries, "p/a.py"))
    assert [one.kind for one in scopes] == ["file", "class", "function", "function"]
    assert scopes[0].parent_scope_id is None
    assert scopes[2].parent_scope_id == scopes[1].scope_id
    assert queries.get_scope(scopes[2].scope_id) == scopes[2]
    assert [bind.name for bind in queries.list_binds_in_scope(scopes[0].scope_id, 10)] == ["os", "A", "f"]


def test_imports_have_identities(queries: FactQueries) -> None:
    imports = queries.list_imports(file_id(queries, "p/__init__.py"), 10)
    assert [(one.source_literal, one.imported_name, one.alias) for one in imports] == [
        (".a", "f", None), (".a", "A", "B"), (".a", "*", None),
    ]  # fmt: skip
    assert all(queries.get_import(one.import_uid) == one for one in imports)
    assert queries.get_import("nothing") is None


def test_the_surface_of_a_unit_names_what_modules_offer(queries: FactQueries) -> None:
    surface = queries.get_export_surface(unit_id(queries))
    assert surface is not None
    entries = {(one.module, one.exported_name): one for one in queries.list_export_entries(surface.surface_id, 100)}
    (f,) = queries.list_defs_by_name(unit_id(queries), "f", 10)
    assert entries["p", "f"].def_uid == f.def_uid
    assert (entries["p", "B"].evidence_kind, entries["p.a", "A"].evidence_kind) == ("__all__literal", "default_module")
    modes = [(one.mode, one.target_module) for one in queries.list_export_thunks(unit_id(queries), 10)]
    assert ("ALIAS_MAP", "p.a") in modes or ("REEXPORT_ALL", "p.a") in modes


def test_anchor_groups_count_all_and_show_few(queries: FactQueries) -> None:
    group = queries.get_anchor_group(unit_id(queries), "go", "a.")
    assert group is not None
    assert (group.total_count, len(group.exemplar_ids)) == (2, 2)
    assert queries.get_anchor_group(unit_id(queries), "go", "nothing.") is None
    assert all(len(one.exemplar_ids) <= MAX_EXEMPLARS for one in queries.list_anchor_groups(unit_id(queries), 100))


def test_dynamic_accesses_are_listed_by_file_and_unit(queries: FactQueries) -> None:
    (site,) = queries.list_dynamic_access_sites(None, unit_id(queries), 10)
    assert (site.pattern_type, site.start_line, site.has_non_literal_key) == ("getattr", 8, True)
    assert queries.list_dynamic_access_sites(file_id(queries, "p/b.py"), None, 10) == []


def test_snapshots_keep_definitions_of_the_last_epochs(indexed: Workspace) -> None:
    for number in range(55):
        write(indexed.root, {"p/b.py": f"def g{number}(): pass\n"})
        indexed.index.refresh()
    epoch = indexed.index.store.epoch()
    with indexed.index.facts() as reader:
        queries = FactQueries(reader)
        names = [queries.list_def_snapshots(number, "p/b.py", 10) for number in (epoch, epoch - 49, epoch - 50)]
    assert [[one.name for one in rows] for rows in names] == [["g54"], ["g5"], []]


def test_a_moved_definition_has_a_new_identity_and_a_recorded_successor(indexed: Workspace) -> None:
    with indexed.index.facts() as reader:
        queries = FactQueries(reader)
        (old,) = queries.list_defs_by_name(unit_id(queries), "g", 10)
    (indexed.root / "p/b.py").rename(indexed.root / "p/c.py")
    indexed.index.refresh()
    with indexed.index.facts() as reader:
        queries = FactQueries(reader)
        (new,) = queries.list_defs_by_name(unit_id(queries), "g", 10)
        assert new.def_uid != old.def_uid
        assert queries.successor_of(old.def_uid) == new.def_uid
