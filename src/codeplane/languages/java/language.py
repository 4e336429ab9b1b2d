"""Java, as the index sees it."""

from typing import Final

from codeplane.languages.java.extract import extract
from codeplane.languages.java.linking import LINKING
from codeplane.languages.java.syntax import JAVA
from codeplane.languages.language import Depth, Language

LANGUAGE: Final = Language(name="java", depth=Depth.FULL, extract=extract, linking=LINKING, grammar=JAVA)
