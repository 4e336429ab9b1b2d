"""Extract the facts of a Java file from its bytes."""

from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.block_scopes.extraction import block_facts, sound_captures
from codeplane.languages.block_scopes.tables import settle_binds
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import FileFacts
from codeplane.languages.java.dynamic import read_dynamic
from codeplane.languages.java.hierarchy import Hierarchy
from codeplane.languages.java.names import read_names
from codeplane.languages.java.structure import read_structure
from codeplane.languages.java.syntax import JAVA, QUERY
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, extract_within_limits


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself."""
    return extract_within_limits(source, JAVA, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures, n_errors = sound_captures(QUERY, root, is_over)
    text = BlockText(source)
    structure = read_structure(captures.get("event", []), text, is_over)
    hierarchy = Hierarchy(structure)
    tables = structure.tables
    binds = settle_binds(tables.places, hierarchy.doubtful)
    references, usages = read_names(captures, text, structure, hierarchy, binds, is_over)
    facts = block_facts(tables, binds, references, n_errors)
    facts.dynamic = read_dynamic(references, text)
    facts.usages = usages
    facts.package = structure.package
    return facts


DIALECTS: Final = {"java": (extract, JAVA)}
