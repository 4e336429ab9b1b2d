"""The fact tables of the specification (§7.3), as the bounded queries answer them.

Names and columns are the specification's. Surrogate numbers are made from a file's id and a position in its facts; they
stay valid as long as the file's facts do. Rows are tuples: eleven data classes would take 7 ms of every start.
"""

from typing import NamedTuple


class DefFact(NamedTuple):
    """A definition; columns count bytes from 0, lines from 1."""

    def_uid: str
    file_id: int
    unit_id: int | None
    kind: str
    name: str
    qualified_name: str
    lexical_path: str
    start_line: int
    start_col: int
    end_line: int
    end_col: int
    signature_hash: str
    display_name: str


class RefFact(NamedTuple):
    """An identifier at its place; `target_uid` is what it means when its tier is PROVEN or STRONG."""

    ref_id: int
    file_id: int
    unit_id: int | None
    scope_id: int
    token_text: str
    start_line: int
    start_col: int
    end_line: int
    end_col: int
    role: str
    ref_tier: str
    certainty: str
    target_uid: str | None = None


class ScopeFact(NamedTuple):
    """A lexical scope; `parent_scope_id` is None for the file's own."""

    scope_id: int
    file_id: int
    unit_id: int | None
    parent_scope_id: int | None
    kind: str
    start_line: int
    start_col: int
    end_line: int
    end_col: int


class LocalBindFact(NamedTuple):
    """A name bound in a scope of the same file."""

    bind_id: int
    file_id: int
    unit_id: int | None
    scope_id: int
    name: str
    target_kind: str
    target_uid: str | None
    certainty: str
    reason_code: str


class ImportFact(NamedTuple):
    """An explicit import."""

    import_uid: str
    file_id: int
    unit_id: int | None
    scope_id: int
    imported_name: str | None
    alias: str | None
    source_literal: str
    import_kind: str
    certainty: str


class ExportSurface(NamedTuple):
    """Everything a unit offers, by a hash of its entries."""

    surface_id: int
    unit_id: int
    surface_hash: str
    epoch_id: int


class ExportEntry(NamedTuple):
    """One exported name of one module."""

    entry_id: int
    surface_id: int
    module: str
    exported_name: str
    def_uid: str | None
    certainty: str
    evidence_kind: str


class ExportThunk(NamedTuple):
    """A re-export of names from another module; `target_unit` is None when the module is not in the repository."""

    thunk_id: int
    source_unit: int
    target_unit: int | None
    module: str
    target_module: str
    mode: str
    explicit_names: tuple[str, ...]
    alias_map: dict[str, str]
    evidence_kind: str


class AnchorGroup(NamedTuple):
    """References of one token and receiver that could not be resolved; exemplars are capped, the count is true."""

    group_id: int
    unit_id: int
    member_token: str
    receiver_shape: str
    total_count: int
    exemplar_ids: tuple[int, ...]


class DynamicAccessSite(NamedTuple):
    """A place that reads or writes names in ways the syntax does not show."""

    site_id: int
    file_id: int
    unit_id: int | None
    start_line: int
    start_col: int
    pattern_type: str
    extracted_literals: tuple[str, ...]
    has_non_literal_key: bool


class DefSnapshotRecord(NamedTuple):
    """A definition as it was in an epoch."""

    id: int
    epoch_id: int
    file_path: str
    kind: str
    name: str
    lexical_path: str
    signature_hash: str
    display_name: str
    start_line: int
    end_line: int
