"""Extract the facts of a Go file from its bytes."""

import re
from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.block_scopes.damage import repair
from codeplane.languages.block_scopes.tables import settle_binds
from codeplane.languages.block_scopes.texts import SourceText
from codeplane.languages.block_scopes.visibility import Visibility
from codeplane.languages.facts import FileFacts, no_facts
from codeplane.languages.go.dynamic import read_dynamic
from codeplane.languages.go.names import read_names
from codeplane.languages.go.structure import read_structure
from codeplane.languages.go.syntax import GO, QUERY
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, capture, extract_within_limits, outside_errors

_MOD_FILE: Final = re.compile(rb"(?>(?:\s|//[^\n]*\n)*)module\s")


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself; a `go.mod`, which goes by the same language, says nothing."""
    if _MOD_FILE.match(source):
        return no_facts(source, "")
    return extract_within_limits(source, GO, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures = capture(QUERY, root, is_over)
    n_errors = len(captures.get("error", ()))
    if n_errors:
        captures = outside_errors(captures)
    text = SourceText(source)
    structure = read_structure(captures.get("event", []), text, is_over)
    tables = structure.tables
    binds = settle_binds(tables.places)
    visibility = Visibility(tables.scopes, tables.places, binds.of_place)
    references = read_names(captures, text, structure, binds, visibility, is_over)
    facts = FileFacts(
        scopes=tables.scopes,
        definitions=tables.definitions,
        references=references,
        binds=binds.facts,
        imports=tables.imports,
        dynamic=read_dynamic(references, tables.imports, text),
        package=structure.package,
        n_errors=n_errors,
    )
    if n_errors:
        repair(facts)
    return facts
