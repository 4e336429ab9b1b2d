"""TypeScript with JSX, as the catalog knows it."""

from typing import Final

from codeplane.languages.javascript.extract import extract_tsx
from codeplane.languages.javascript.grammars import TSX
from codeplane.languages.javascript.linking import LINKING
from codeplane.languages.language import Depth, Language

LANGUAGE: Final = Language(name="tsx", depth=Depth.FULL, extract=extract_tsx, linking=LINKING, grammar=TSX.grammar)
