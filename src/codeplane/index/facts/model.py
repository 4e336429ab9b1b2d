"""The fact tables of the specification (§7.3), as the bounded queries answer them.

Names and columns are the specification's. Surrogate numbers are made from a file's id and a position in its facts; they
stay valid as long as the file's facts do.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefFact:
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


@dataclass(frozen=True, slots=True)
class RefFact:
    """An identifier where it stands; `target_uid` is what it means when its tier is PROVEN or STRONG."""

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


@dataclass(frozen=True, slots=True)
class ScopeFact:
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


@dataclass(frozen=True, slots=True)
class LocalBindFact:
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


@dataclass(frozen=True, slots=True)
class ImportFact:
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


@dataclass(frozen=True, slots=True)
class ExportSurface:
    """Everything a unit offers, by a hash of its entries."""

    surface_id: int
    unit_id: int
    surface_hash: str
    epoch_id: int


@dataclass(frozen=True, slots=True)
class ExportEntry:
    """One exported name of one module."""

    entry_id: int
    surface_id: int
    module: str
    exported_name: str
    def_uid: str | None
    certainty: str
    evidence_kind: str


@dataclass(frozen=True, slots=True)
class ExportThunk:
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


@dataclass(frozen=True, slots=True)
class AnchorGroup:
    """References of one token and receiver that could not be resolved; exemplars are capped, the count is true."""

    group_id: int
    unit_id: int
    member_token: str
    receiver_shape: str
    total_count: int
    exemplar_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DynamicAccessSite:
    """A place that reads or writes names in ways the syntax does not show."""

    site_id: int
    file_id: int
    unit_id: int | None
    start_line: int
    start_col: int
    pattern_type: str
    extracted_literals: tuple[str, ...]
    has_non_literal_key: bool


@dataclass(frozen=True, slots=True)
class DefSnapshotRecord:
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
