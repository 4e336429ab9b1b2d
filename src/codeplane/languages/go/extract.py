"""Extract the facts of a Go file from its bytes."""

import re
from typing import Final

from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.block_scopes.extraction import block_facts, sound_captures
from codeplane.languages.block_scopes.tables import settle_binds
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.block_scopes.visibility import Visibility
from codeplane.languages.facts import FileFacts, no_facts
from codeplane.languages.go.dynamic import read_dynamic
from codeplane.languages.go.names import read_names
from codeplane.languages.go.structure import read_structure
from codeplane.languages.go.syntax import GO, QUERY
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, extract_within_limits

_MOD_FILE: Final = re.compile(rb"(?>(?:\s|//[^\n]*\n)*)module\s")


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return what the file says about itself; a `go.mod`, which goes by the same language, says nothing."""
    if _MOD_FILE.match(source):
        return no_facts(source, "")
    return extract_within_limits(source, GO, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures, n_errors = sound_captures(QUERY, root, is_over)
    text = BlockText(source)
    structure = read_structure(captures.get("event", []), text, is_over)
    tables = structure.tables
    binds = settle_binds(tables.places)
    visibility = Visibility(tables.scopes, tables.places, binds.of_place)
    references = read_names(captures, text, structure, binds, visibility, is_over)
    facts = block_facts(tables, binds, references, n_errors)
    facts.dynamic = read_dynamic(references, tables.imports, text)
    facts.package = structure.package
    return facts


DIALECTS: Final = {"go": (extract, GO)}
