"""What a file offers to others: the rule of each language, read from a definition's name and the words before it."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from codeplane.languages.facts import Import

_MACRO: Final = "macro_rules!"
_ANNOTATION: Final = re.compile(r'@[\w.]+(?:\((?:[^()"]|"[^"]*")*\))?|/\*.*?\*/|//[^\n]*', re.DOTALL)
_PUBLIC: Final = re.compile(r"\bpublic\b")
_RUST_PUBLIC: Final = re.compile(r"\bpub\b(?!\s*\()")
_RUST_USE: Final = re.compile(r"(?P<public>\bpub\s+)?(?P<limited>\bpub\s*\([^)]*\)\s*)?\b(?:use|extern\s+crate)\b")
# A `use` list that is longer than this is not seen to its beginning.
_MAX_USE: Final = 4_000


class PublicNames(NamedTuple):
    """Which names of a file's own scope others may use.

    `is_public` gets a definition's name, the text from its start to its name, and its decorators. `is_reexport` gets an
    import, the text of the file up to the end of the import, and whether the file is the first of a package.
    """

    is_public: Callable[[str, str, tuple[str, ...]], bool]
    is_reexport: Callable[[Import, bytes, bool], bool]


def public_names(language: str) -> PublicNames | None:
    """Return the rule of a language, None when no rule is known for it."""
    return _RULES.get(language)


def is_rust_public(head: str) -> bool:
    """Tell whether the words before a Rust name make it public for other crates."""
    return _RUST_PUBLIC.search(head) is not None


def _capital(name: str, _head: str, _decorators: tuple[str, ...]) -> bool:
    return name[:1].isupper()


def _java_public(_name: str, head: str, _decorators: tuple[str, ...]) -> bool:
    return _PUBLIC.search(_ANNOTATION.sub(" ", head)) is not None


def _no_underscore(name: str, _head: str, _decorators: tuple[str, ...]) -> bool:
    return not name.startswith("_")


def _rust_public(_name: str, head: str, decorators: tuple[str, ...]) -> bool:
    if head.lstrip().startswith(_MACRO):
        return any(one.startswith("macro_export") for one in decorators)
    return is_rust_public(head)


def _never(_name: str, _head: str, _decorators: tuple[str, ...]) -> bool:
    return False


def _no_reexport(_one: Import, _text: bytes, _is_package: bool) -> bool:  # noqa: FBT001 - the same for all languages
    return False


def _marked_reexport(one: Import, _text: bytes, _is_package: bool) -> bool:  # noqa: FBT001 - the same for all languages
    return one.kind == "js_export_star"


def _python_reexport(one: Import, text: bytes, is_package: bool) -> bool:  # noqa: FBT001 - the same for all languages
    """Take `x as x` anywhere, and in a package's first file what comes from the package itself."""
    if one.imported_name is None:
        return False
    words = text[one.start : one.end].split()
    if len(words) == 3 and words[1] == b"as" and words[0] == words[2]:
        return True
    return is_package and one.source.startswith(".") and not one.source.startswith("..")


def _rust_reexport(one: Import, text: bytes, _is_package: bool) -> bool:  # noqa: FBT001 - the same for all languages
    if one.kind == "rust_mod":
        return is_rust_public(text[one.start : one.end].decode("utf-8", "replace"))
    before = text[max(0, one.start - _MAX_USE) : one.start].decode("utf-8", "replace")
    last = None
    for last in _RUST_USE.finditer(before):  # noqa: B007 - the last one counts
        pass
    return last is not None and last["public"] is not None and last["limited"] is None


_JAVASCRIPT: Final = PublicNames(_never, _marked_reexport)
_RULES: Final[Mapping[str, PublicNames]] = MappingProxyType(
    {
        "go": PublicNames(_capital, _no_reexport),
        "java": PublicNames(_java_public, _no_reexport),
        "javascript": _JAVASCRIPT,
        "python": PublicNames(_no_underscore, _python_reexport),
        "rust": PublicNames(_rust_public, _rust_reexport),
        "svelte": _JAVASCRIPT,
        "tsx": _JAVASCRIPT,
        "typescript": _JAVASCRIPT,
    }
)
