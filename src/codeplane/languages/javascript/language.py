"""JavaScript, as the catalog knows it."""

from typing import Final

from codeplane.languages.javascript.extract import extract_javascript
from codeplane.languages.javascript.grammars import JAVASCRIPT
from codeplane.languages.javascript.linking import LINKING
from codeplane.languages.language import Depth, Language

LANGUAGE: Final = Language(
    name="javascript",
    depth=Depth.FULL,
    extract=extract_javascript,
    linking=LINKING,
    grammar=JAVASCRIPT.grammar,
)
