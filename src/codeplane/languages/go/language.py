"""Go, as the index sees it."""

from typing import Final

from codeplane.languages.go.extract import extract
from codeplane.languages.go.linking import LINKING
from codeplane.languages.go.syntax import GO
from codeplane.languages.language import Depth, Language

LANGUAGE: Final = Language(name="go", depth=Depth.FULL, extract=extract, linking=LINKING, grammar=GO)
