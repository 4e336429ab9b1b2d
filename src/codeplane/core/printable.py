"""Text that is safe to show: no control characters that move a terminal's cursor or start a new line for a model."""

import os
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")
LONE_SURROGATE = re.compile("[\\ud800-\\udfff]")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_BLANK_LINES = re.compile(r"\n(?:[ \t\r\f\v]*\n){9,}")
_BLANKS = re.compile(r"[ \t]{200,}")
_CONTROL_IN_TEXT = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")


def printable_name(name: str) -> str:
    """Return a file name on one line; bytes that are not UTF-8 and control characters show as escapes."""
    text = os.fsencode(name).decode("utf-8", errors="backslashreplace")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def printable_text(text: str) -> str:
    """Return text for a terminal; only line ends and tabs are left of the control characters."""
    return _CONTROL_IN_TEXT.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 file`, `2 files`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def both_ends(text: str, most: int) -> str:
    """Return a text without its middle where it is longer than `most`: what comes last is seen, too."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]}\n… {counted(len(text) - most, 'character')} left out here …\n{text[-end:]}"


def without_gaps(text: str) -> str:
    """Return a text in which long runs of blanks and of blank lines are counted: nothing is pushed out of sight."""
    text = _BLANK_LINES.sub(lambda found: f"\n… {found[0].count(chr(10)) - 1} blank lines …\n", text)
    return _BLANKS.sub(lambda found: f" … {len(found[0])} blanks … ", text)


def encodable(value: Any) -> Any:
    """Return text, or a document with texts, in which half a surrogate pair shows as the byte it encodes."""
    if isinstance(value, str):
        return value if value.isascii() else LONE_SURROGATE.sub(_shown_surrogate, value)
    if isinstance(value, Mapping):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(item) for item in value]
    return value


def _shown_surrogate(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def visible_text(text: str) -> str:
    """Return text in which nothing is hidden: invisible and direction-changing characters show as their number."""
    return "".join(char if _is_visible(char) else f"<U+{ord(char):04X}>" for char in text)


def _is_visible(char: str) -> bool:
    # Everything but letters, marks that belong to them, digits, signs and the plain blank, tab and line end.
    return char in "\n\t " or (char.isprintable() and unicodedata.category(char) != "Zs" and char not in _HIDING)


# Printable by Unicode's own rules, and yet invisible.
_HIDING = frozenset("\u115f\u1160\u3164\uffa0\u2800\ufe0e\ufe0f\u034f\u17b4\u17b5") | {
    chr(code) for code in range(0xFE00, 0xFE10)
}


def without_escapes(text: str) -> str:
    """Return a text without the sequences that colour it on a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text
