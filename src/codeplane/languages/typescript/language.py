"""TypeScript, as the catalog knows it."""

from typing import Final

from codeplane.languages.javascript.extract import extract_typescript
from codeplane.languages.javascript.grammars import TYPESCRIPT
from codeplane.languages.javascript.linking import LINKING
from codeplane.languages.language import Depth, Language

LANGUAGE: Final = Language(
    name="typescript",
    depth=Depth.FULL,
    extract=extract_typescript,
    linking=LINKING,
    grammar=TYPESCRIPT.grammar,
)
