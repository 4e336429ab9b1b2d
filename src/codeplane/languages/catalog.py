"""The languages that have a folder here; one line each.

A language is loaded when its first file is met: importing all thirty grammars would cost every start 60 ms.
"""

from functools import cache
from importlib import import_module
from typing import Final

from codeplane.languages.file_names import UNKNOWN, language_of
from codeplane.languages.language import Language
from codeplane.languages.linking import LinkingRules

LANGUAGES: Final = (
    "c",
    "cpp",
    "csharp",
    "css",
    "dockerfile",
    "elixir",
    "go",
    "graphql",
    "haskell",
    "hcl",
    "html",
    "java",
    "javascript",
    "json",
    "kotlin",
    "lua",
    "markdown",
    "nix",
    "php",
    "python",
    "ruby",
    "rust",
    "scala",
    "shell",
    "sql",
    "svelte",
    "swift",
    "toml",
    "tsx",
    "typescript",
    "yaml",
)
# The folders with the rules of the languages that are linked.
_LINKED_BY: Final = {
    "go": "go",
    "java": "java",
    "javascript": "javascript",
    "python": "python",
    "rust": "rust",
    "tsx": "javascript",
    "typescript": "javascript",
}


@cache
def load_language(name: str) -> Language | None:
    """Return a language by name, None when its files are known as text only."""
    if name not in LANGUAGES:
        return None
    # Only when its first file is met, for the reason above.
    language = import_module(f"codeplane.languages.{name}.language").LANGUAGE
    if not isinstance(language, Language):
        raise TypeError(f"codeplane.languages.{name}.language.LANGUAGE is no Language")
    return language


@cache
def linking_rules(name: str) -> LinkingRules | None:
    """Return how a language is linked, None when it is not; its grammar is not loaded for that."""
    if name not in _LINKED_BY:
        return None
    rules = import_module(f"codeplane.languages.{_LINKED_BY[name]}.linking").LINKING
    if not isinstance(rules, LinkingRules):
        raise TypeError(f"codeplane.languages.{_LINKED_BY[name]}.linking.LINKING are no LinkingRules")
    return rules


def is_text_only(language: str) -> bool:
    """Tell whether files of a known language are searched as text and have no symbols."""
    return language not in LANGUAGES and language not in {UNKNOWN, "text"}


def dialect_of(path: str) -> str:
    """Return the name of the language folder for a file: its language, or the dialect its suffix asks for."""
    return "tsx" if path.lower().endswith(".tsx") else language_of(path)
