"""What the index needs to know of a language."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tree_sitter import Language as Grammar

from codeplane.languages.facts import FileFacts
from codeplane.languages.linking import LinkingRules


class Depth(Enum):
    """How much is known of a language's files."""

    FULL = "definitions, references, imports, resolved across files"
    SYMBOLS = "definitions, references, scopes, imports"
    STRUCTURE = "structure"
    TEXT = "text only"


@dataclass(frozen=True, slots=True)
class Language:
    """One language; `name` is the word that `file_names.language_of` and answers use.

    Invariant: `linking` and `grammar` are given exactly for languages of full depth.
    """

    name: str
    depth: Depth
    extract: Callable[[bytes], FileFacts]
    linking: LinkingRules | None = None
    grammar: Grammar | None = None
