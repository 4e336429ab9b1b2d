"""Which names a language allows, and which have a meaning to it that a rename would break."""

import keyword
import re
from typing import Final

from codeplane.core.errors import CodePlaneError


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_JS_IDENTIFIER: Final = re.compile(r"#?[^\W\d$]?[\w$]*")
_SCRIPT_WORDS: Final = (
    "break case catch class const continue debugger default delete do else enum export extends false finally for"
    " function if import in instanceof new null return super switch this throw true try typeof var void while with"
    " yield let static await implements interface package private protected public"
)
_WORDS: Final = {
    "python": frozenset(keyword.kwlist),
    "javascript": _set(_SCRIPT_WORDS),
    "typescript": _set(_SCRIPT_WORDS),
    "go": _set(
        "break case chan const continue default defer else fallthrough for func go goto if import interface map package"
        " range return select struct switch type var _"
    ),
    "rust": _set(
        "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move"
        " mut pub ref return self Self static struct super trait true type unsafe use where while _"
    ),
    "java": _set(
        "abstract assert boolean break byte case catch char class const continue default do double else enum extends"
        " false final finally float for goto if implements import instanceof int interface long native new null package"
        " private protected public return short static strictfp super switch synchronized this throw throws transient"
        " true try void volatile while _"
    ),
}
# Names that the language or its runtime looks up by themselves.
_SPECIAL: Final = {
    "python": re.compile(r"__\w+__"),
    "javascript": re.compile(r"constructor"),
    "typescript": re.compile(r"constructor"),
    "go": re.compile(r"main|init|_"),
    "rust": re.compile(r"main|self|Self"),
}
# Methods through which the standard library of Go uses a type.
GO_INTERFACES: Final = _set(
    "Error String GoString Format Read Write Close Seek ReadFrom WriteTo ReadAt WriteAt ReadByte WriteByte ReadRune"
    " WriteString Flush Len Less Swap Push Pop ServeHTTP RoundTrip MarshalJSON UnmarshalJSON MarshalText UnmarshalText"
    " MarshalBinary UnmarshalBinary Scan Value Is As Unwrap Lock Unlock Header WriteHeader Hijack Deadline Done Err"
)


def check_new_name(language: str, old: str, new: str) -> None:
    """Refuse a name that the language does not allow here.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS.
    """
    shape = _JS_IDENTIFIER if language in {"javascript", "typescript"} else _IDENTIFIER
    if new == old:
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{old}` has that name already.")
    if not new or shape.fullmatch(new) is None or new == "#":
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{new[:60]}` is not an identifier in {language}.")
    if new in _WORDS.get(language, frozenset()):
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{new}` is a keyword in {language}.")
    if old.startswith("#") != new.startswith("#"):
        raise CodePlaneError("INVALID_ARGUMENTS", "A private member keeps its `#`, and no other name can have one.")


def is_special(language: str, name: str) -> bool:
    """Tell whether the language itself calls something by this name."""
    shape = _SPECIAL.get(language)
    return shape is not None and shape.fullmatch(name) is not None
