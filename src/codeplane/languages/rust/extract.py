"""Extract the facts of a Rust file from its bytes."""

from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.block_scopes.extraction import block_facts, sound_captures
from codeplane.languages.block_scopes.tables import settle_binds
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import FileFacts
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, extract_within_limits
from codeplane.languages.rust.names import read_names
from codeplane.languages.rust.settling import Settled
from codeplane.languages.rust.structure import read_structure
from codeplane.languages.rust.syntax import QUERY, RUST


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself."""
    return extract_within_limits(source, RUST, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures, n_errors = sound_captures(QUERY, root, is_over)
    text = BlockText(source)
    structure = read_structure(captures.get("event", []), captures.get("keyword", []), text, is_over)
    settled = Settled(structure)
    tables = structure.tables
    binds = settle_binds(tables.places, settled.doubtful)
    references, usages = read_names(captures, text, structure, settled, binds, is_over)
    facts = block_facts(tables, binds, references, n_errors)
    facts.usages = usages
    return facts


DIALECTS: Final = {"rust": (extract, RUST)}
