"""Who can use a definition, by the rules of its language."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from codeplane.diff.model import Visibility
from codeplane.languages.facts import DefinitionKind

_PUBLIC, _PROTECTED = Visibility.PUBLIC, Visibility.PROTECTED
_INTERNAL, _PRIVATE = Visibility.INTERNAL, Visibility.PRIVATE
_ORDER: Final = (_PRIVATE, _INTERNAL, _PROTECTED, _PUBLIC)
_WORD: Final = re.compile(r"pub\s*\([^)]*\)|[\w#]+")
_ANNOTATION: Final = re.compile(r'@[\w.]+(?:\((?:[^()"]|"[^"]*")*\))?')


class _Rule(NamedTuple):
    """What a definition is without a word, what a member is, and which words say something else."""

    alone: Visibility
    member: Visibility | None
    words: Mapping[str, Visibility]


_COMMON: Final = {"public": _PUBLIC, "protected": _PROTECTED, "private": _PRIVATE, "internal": _INTERNAL}
# A member without a rule of its own is as visible as what it is in.
_RULES: Final[Mapping[str, _Rule]] = MappingProxyType(
    {
        "java": _Rule(_INTERNAL, _INTERNAL, _COMMON),
        "csharp": _Rule(_INTERNAL, _PRIVATE, _COMMON),
        "kotlin": _Rule(_PUBLIC, _PUBLIC, _COMMON),
        "scala": _Rule(_PUBLIC, _PUBLIC, _COMMON),
        "swift": _Rule(_INTERNAL, _INTERNAL, {**_COMMON, "open": _PUBLIC, "fileprivate": _PRIVATE}),
        "php": _Rule(_PUBLIC, _PUBLIC, _COMMON),
        "rust": _Rule(_PRIVATE, _PRIVATE, {"pub": _PUBLIC, "macro_export": _PUBLIC}),
        "c": _Rule(_PUBLIC, None, {"static": _PRIVATE}),
        "cpp": _Rule(_PUBLIC, None, {"static": _PRIVATE}),
        "lua": _Rule(_PUBLIC, None, {"local": _PRIVATE}),
        "elixir": _Rule(_PUBLIC, _PUBLIC, {"defp": _PRIVATE, "defmacrop": _PRIVATE}),
        "javascript": _Rule(_PRIVATE, _PUBLIC, _COMMON),
        "typescript": _Rule(_PRIVATE, _PUBLIC, _COMMON),
        "tsx": _Rule(_PRIVATE, _PUBLIC, _COMMON),
    }
)
_ANY: Final = _Rule(_PUBLIC, None, {})
_SCRIPTS: Final = frozenset({"javascript", "typescript", "tsx"})
# Members of these are as visible as they are, whatever the language.
_OPEN_KINDS: Final = frozenset({DefinitionKind.INTERFACE, DefinitionKind.TRAIT, DefinitionKind.ENUM})


class Around(NamedTuple):
    """What is around a definition: its container, if any; its file's list of offered names, if it has one."""

    visibility: Visibility | None = None
    kind: DefinitionKind | None = None
    offered: frozenset[str] | None = None
    is_offered: bool = False
    implements: bool = False


def visibility_of(dialect: str, name: str, head: str, around: Around) -> Visibility:
    """Return who can use a definition; `head` is the text before its name."""
    own = _own_visibility(dialect, name, head, around)
    if around.visibility is None:
        return own
    return min(own, around.visibility, key=_ORDER.index)


def is_narrower(new: Visibility, old: Visibility) -> bool:
    """Tell whether fewer can use it than before."""
    return _ORDER.index(new) < _ORDER.index(old)


def _own_visibility(dialect: str, name: str, head: str, around: Around) -> Visibility:
    is_member = around.visibility is not None
    if dialect == "python":
        return _python(name, around, is_member=is_member)
    if dialect == "go":
        return _PUBLIC if name[:1].isupper() else _INTERNAL
    if dialect in _SCRIPTS and not is_member:
        return _PUBLIC if around.is_offered else _PRIVATE
    if is_member and (around.kind in _OPEN_KINDS or around.implements):
        return _PUBLIC
    return _PRIVATE if name.startswith("#") else _by_words(dialect, head, is_member=is_member)


def _by_words(dialect: str, head: str, *, is_member: bool) -> Visibility:
    rule = _RULES.get(dialect, _ANY)
    for word in _WORD.findall(_ANNOTATION.sub(" ", head)):
        if word in rule.words:
            return rule.words[word]
        if dialect == "rust" and word.startswith("pub"):
            return _INTERNAL
    default = rule.member if is_member else rule.alone
    return _PUBLIC if default is None else default


def _python(name: str, around: Around, *, is_member: bool) -> Visibility:
    if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
        return _PRIVATE
    if not is_member and around.offered is not None and name not in around.offered:
        return _INTERNAL
    return _PUBLIC
