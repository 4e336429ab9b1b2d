"""Python, as the catalog knows it."""

from typing import Final

from codeplane.languages.language import Depth, Language
from codeplane.languages.python.extract import extract
from codeplane.languages.python.linking import LINKING
from codeplane.languages.python.syntax import PYTHON

LANGUAGE: Final = Language(name="python", depth=Depth.FULL, extract=extract, linking=LINKING, grammar=PYTHON)
