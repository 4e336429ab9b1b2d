"""Extract the facts of a Java file from its bytes."""

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.block_scopes.damage import repair
from codeplane.languages.block_scopes.tables import settle_binds
from codeplane.languages.block_scopes.texts import SourceText
from codeplane.languages.facts import FileFacts
from codeplane.languages.java.dynamic import read_dynamic
from codeplane.languages.java.hierarchy import Hierarchy
from codeplane.languages.java.names import read_names
from codeplane.languages.java.structure import read_structure
from codeplane.languages.java.syntax import JAVA, QUERY
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, capture, extract_within_limits, outside_errors


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself."""
    return extract_within_limits(source, JAVA, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures = capture(QUERY, root, is_over)
    n_errors = len(captures.get("error", ()))
    if n_errors:
        captures = outside_errors(captures)
    text = SourceText(source)
    structure = read_structure(captures.get("event", []), text, is_over)
    hierarchy = Hierarchy(structure)
    tables = structure.tables
    binds = settle_binds(tables.places, hierarchy.doubtful)
    references, usages = read_names(captures, text, structure, hierarchy, binds, is_over)
    facts = FileFacts(
        scopes=tables.scopes,
        definitions=tables.definitions,
        references=references,
        binds=binds.facts,
        imports=tables.imports,
        dynamic=read_dynamic(references, text),
        usages=usages,
        package=structure.package,
        n_errors=n_errors,
    )
    if n_errors:
        repair(facts)
    return facts
