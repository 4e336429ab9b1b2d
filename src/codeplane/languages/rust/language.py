"""Rust, as the index sees it."""

from typing import Final

from codeplane.languages.language import Depth, Language
from codeplane.languages.rust.extract import extract
from codeplane.languages.rust.linking import LINKING
from codeplane.languages.rust.syntax import RUST

LANGUAGE: Final = Language(name="rust", depth=Depth.FULL, extract=extract, linking=LINKING, grammar=RUST)
