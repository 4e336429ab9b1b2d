"""HTML."""

import re
from typing import Final

import tree_sitter_html
from tree_sitter import Language as Grammar

from codeplane.core.clock import Clock
from codeplane.languages.facts import FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.markup import element_action
from codeplane.languages.tables.outline import extract_outline, outline_rules, skip

# A name with a hyphen is an element of one's own.
_OWN_ELEMENT: Final = re.compile(r"[A-Za-z][^\s/>]*-")


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the headings, the elements with an id and the custom elements of an HTML file."""
    return extract_outline(source, _RULES, clock)


_ADD_ELEMENT: Final = element_action(_OWN_ELEMENT)
_RULES: Final = outline_rules(
    Grammar(tree_sitter_html.language()),
    {
        "element": _ADD_ELEMENT,
        "script_element": _ADD_ELEMENT,
        "style_element": _ADD_ELEMENT,
        "start_tag": skip,
        "self_closing_tag": skip,
        "end_tag": skip,
    },
)
LANGUAGE: Final = Language("html", Depth.STRUCTURE, extract)
